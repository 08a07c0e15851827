# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs made to claim too much, one at least for every rule: the checker finds each, by the rule that it breaks."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

import pytest
from project import ROOT
from support.claim_outputs import judge_dry_run, judge_json, judge_stderr
from support.claim_records import judge_ledger, judge_receipt, judge_status, judge_verdict, said_in_receipt
from support.claims import PREVENTION, RULES, Finding, judge_block, judge_summary, only, said_in, split_block
from support.reports import CASES
from support.runs import after, before, resolution, spawn_spec

from aasm import evidence
from aasm.cli import machine, preview
from aasm.model.record import Ending, RunRecord
from aasm.model.report import IsolationReport, ReportStage
from aasm.origin import UNKNOWN
from aasm.receipt import build
from aasm.receipt.canonical import digest
from aasm.sealing import receipt_facts

READ, WRITE, CALL, IPC = (f"domain.{name}" for name in ("filesystem_read", "filesystem_write", "syscall", "ipc"))
RUNTIME, DECISION = "runtime_without_decision", "decision"
CONTROL = "timing=pre, descendants=process_tree"


def rules(found: Sequence[Finding]) -> Set[str]:
    return {item.rule for item in found}


def keys(report: IsolationReport) -> Dict[str, str]:
    return dict(split_block(machine.block(report).split("\n")[1:])[0])


REPORTS: Dict[str, Dict[str, str]] = {
    "ready": keys(before(CASES["ready"]().run)),
    "ended": keys(after(CASES["ready"](), file_read="held")),
    "degraded": keys(before(CASES["degraded"]().run)),
    "none": keys(before(CASES["no boundary"]().run)),
    "refused": keys(before(CASES["refused: hosts"]().run)),
}

# (rule, report, what is changed in its block)
BLOCKS: Tuple[Tuple[str, str, Dict[str, str]], ...] = (
    ("form", "ready", {f"{READ}.claim": "stopped"}),
    ("form", "ready", {f"{READ}.policy_gap_count": "3"}),
    ("form", "ready", {"stage": "during"}),
    ("form", "ready", {"domain.clipboard.requested": "stated"}),
    ("form", "ready", {"least_authority": "certainly"}),
    ("coverage", "ended", {f"{WRITE}.claim": "observed"}),
    ("coverage", "ended", {f"{CALL}.claim": "detected"}),
    ("prevention", "ended", {f"{READ}.claim": PREVENTION}),
    ("prevention", "ended", {f"{READ}.claim": PREVENTION, f"{READ}.evidence": DECISION}),
    ("prevention", "ended", {f"{READ}.claim": PREVENTION, f"{READ}.prevention_supported": "true"}),
    ("supported", "ended", {f"{READ}.prevention_supported": "true"}),
    ("decision", "ended", {f"{READ}.claim": "evaluated"}),
    ("silence", "ended", {f"{CALL}.claim": "observed", f"{CALL}.evidence": RUNTIME}),
    ("silence", "ended", {f"{READ}.state": "unsupported"}),
    ("degraded", "degraded", {f"{IPC}.state_detail": "planned=prevent_before_effect"}),
    ("degraded", "degraded", {f"{IPC}.prevention_supported": "true", f"{IPC}.evidence": DECISION}),
    ("degraded", "ended", {f"{READ}.claim": "degraded"}),
    ("intention", "ready", {f"{CALL}.claim": "planned"}),
    ("intention", "ready", {f"{READ}.evidence": "none"}),
    ("expected", "ended", {f"{READ}.expected_claim": "planned"}),
    ("expected", "ready", {f"{CALL}.expected_claim": "observed"}),
    ("expected", "ready", {f"{READ}.expected_claim": PREVENTION}),
    ("expected", "ready", {f"{READ}.evidence_source.1": "installed: it will surely do"}),
    ("weakest", "ready", {"requested_requirement.0.outcome": "unmet"}),
    ("weakest", "degraded", {f"{IPC}.state": "prevention", f"{IPC}.state_detail": CONTROL}),
    ("weakest", "refused", {"requested_requirement.0.outcome": "enforced"}),
    ("weakest", "ready", {"requested_requirement.0.domain": "syscall"}),
    ("asked", "ready", {f"{CALL}.state": "prevention", f"{CALL}.state_detail": CONTROL}),
    ("asked", "ready", {f"{READ}.state_detail": "timing=post, descendants=process_tree"}),
    ("asked", "ready", {f"{READ}.state_detail": "timing=pre, descendants=unmeasured"}),
    ("asked", "ready", {f"{CALL}.state_detail": ""}),
    ("backend", "none", {f"{READ}.state": "prevention", f"{READ}.state_detail": CONTROL}),
    ("backend", "none", {f"{READ}.evidence": RUNTIME}),
    ("backend", "none", {"posture": "ready"}),
    ("stage", "ready", {f"{READ}.claim": "observed", f"{READ}.evidence": RUNTIME}),
    ("stage", "ready", {f"{READ}.evidence": RUNTIME}),
    ("ready", "degraded", {"posture": "ready"}),
    ("ready", "ready", {"credential.ambient_unremoved_count": "1", "credential.ambient_unremoved.0": "A_TOKEN"}),
    ("ready", "ready", {f"{WRITE}.state": "unmeasured", f"{WRITE}.state_detail": "reason=no_control_requested"}),
    ("ready", "none", {"posture": "ready"}),
    ("authority", "none", {"least_authority": "true"}),
    ("authority", "ready", {"descriptors.residual_count": "1"}),
    ("authority", "ready", {"descriptors.enumeration_complete": "false"}),
    ("refused", "refused", {"posture": "degraded"}),
    ("refused", "ready", {"posture": "refused"}),
    ("no boundary", "ready", {"posture": "no_boundary"}),
    ("no boundary", "none", {"requested_requirement_count": "2"}),
    ("selection", "ready", {"backend_selection.considered.0.verdict": "rejected_unavailable"}),
    ("selection", "ready", {"backend_id": "sandlock"}),
    ("word", "ready", {"posture_detail": "the program is safely contained"}),
    ("word", "ready", {f"{READ}.policy_gap.0": "every other read was blocked"}),
    ("word", "ready", {f"{READ}.state_detail": f"{CONTROL}, which guarantees it"}),
    ("word", "refused", {"refusal.0.detail": "the network was denied_before_execution"}),
)  # fmt: skip


@pytest.mark.parametrize("name", REPORTS)
def test_the_blocks_are_sound_before_they_are_doctored(name: str) -> None:
    assert only(judge_block(list(REPORTS[name].items()))) == []


@pytest.mark.parametrize(("rule", "name", "changes"), BLOCKS)
def test_a_block_that_claims_more_is_found(rule: str, name: str, changes: Dict[str, str]) -> None:
    assert rule in rules(judge_block(list({**REPORTS[name], **changes}.items())))


def test_a_block_has_each_key_once_and_none_is_missing() -> None:
    records = list(REPORTS["ready"].items())
    assert rules(judge_block([*records, ("posture", "ready")])) == {"form"}
    for number, (key, _) in enumerate(records):
        needed = key.startswith("domain.") and not key[-1].isdigit()
        assert not needed or rules(judge_block(records[:number] + records[number + 1 :])) == {"form"}, key


# --- the dry run ------------------------------------------------------------------------------------

TEXTS = {name: preview.render(CASES[name]()) for name in ("ready", "degraded", "ceilings, held and not", "no boundary")}
LIMITED = "ceilings, held and not"
# (rule, case, what stands there, what it is replaced by)
DRY_RUNS: Tuple[Tuple[str, str, str, str], ...] = (
    ("section", "ready", "prevention  planned     setup_only", "prevention  observed    decision"),
    ("section", "degraded", "posture:         DEGRADED", "posture:         READY"),
    ("section", "ready", "stage:           pre_launch", "stage:           post_run"),
    ("section", "no boundary", "least authority: no", "least authority: yes"),
    ("section", "no boundary", "backend:         none", "backend:         aasm-native 1 (in tree)"),
    ("section", "degraded", "degraded or unsupported:\n  ipc: ", "degraded or unsupported:\n  syscall: "),
    ("section", "ready", "filesystem_read: observed at the most (", "filesystem_read: detected at the most ("),
    ("section", "ready", "\nunmeasured:\n", "\nnothing to worry about:\n"),
    ("section", "ready", "--- lease plan (PLAN: point-in-time, not authorization) ---", "--- lease plan ---"),
    ("refused", "ready", "target:          true", "refused by:      policy\ntarget:          true"),
    ("row", LIMITED, "; is not held, by its own permission", "; would be held by"),
    ("row", "degraded", "; is not held as asked, by its own permission", "; would be watched by"),
    ("row", "ready", "; would be held by: a Landlock ruleset", "; a Landlock ruleset"),
    ("row", "no boundary", "command:     true", "command:     true\nmax_pids: 3, kept by RLIMIT_NPROC"),
    ("backend", "no boundary", "unmeasured:\n", "floor:\n  mounts\nunmeasured:\n"),
    ("form", "ready", "lineage_depth=2", "lineage depth: 2"),
    ("word", "ready", "state:  unprotected", "state:  protected"),
    ("word", "ready", "the policy states rules", "the policy enforces rules"),
    ("word", "no boundary", "nothing is enforced)", "all of it is enforced)"),
    ("word", "ready", "  mounts: mount", "  a safe file system; mounts: mount"),
    ("word", LIMITED, "kept by nothing (", "kept by nothing, which is impossible ("),
)


@pytest.mark.parametrize(("rule", "name", "there", "instead"), DRY_RUNS)
def test_a_dry_run_that_claims_more_is_found(rule: str, name: str, there: str, instead: str) -> None:
    assert there in TEXTS[name] and judge_dry_run(TEXTS[name]) == []
    assert rule in rules(judge_dry_run(TEXTS[name].replace(there, instead)))


def _outcome(loaded: Dict[str, Any], number: int, outcome: str) -> None:
    loaded["requirements"][number]["outcome"] = outcome


JSONS: Tuple[Tuple[str, str, Callable[[Dict[str, Any]], Any]], ...] = (
    ("coverage", "ready", lambda x: x["isolation"].update({f"{READ}.claim": "observed"})),
    ("form", "ready", lambda x: x["isolation"].pop(f"{READ}.evidence")),
    ("row", LIMITED, lambda x: _outcome(x, 2, "enforced")),
    ("row", "refused: hosts", lambda x: _outcome(x, 0, "enforced")),
    ("row", "ready", lambda x: _outcome(x, 0, "observed")),
    ("row", "no boundary", lambda x: x["launch_command"]["ceilings"].append({"kept_by": "the kernel"})),
    ("word", "ready", lambda x: x["not_held"].append("nothing else: it is secure")),
    ("word", "ready", lambda x: x["lease_plan"].update(reason="all access is denied")),
    ("word", "refused: hosts", lambda x: x["refusal"].update(text="the hosts are guaranteed to be out of reach")),
)


@pytest.mark.parametrize(("rule", "name", "change"), JSONS)
def test_a_dry_run_as_json_that_claims_more_is_found(rule: str, name: str, change: Callable[[Any], Any]) -> None:
    loaded = json.loads(preview.as_json(CASES[name]()))
    assert judge_json(json.dumps(loaded)) == []
    change(loaded)
    assert rule in rules(judge_json(json.dumps(loaded)))


# --- lines of a launch ------------------------------------------------------------------------------

FOUND = resolution(policy="filesystem:\n  read:\n    allow: [/usr]\nnetwork:\n  allowlist: []\n")
RECORD = RunRecord(Ending.EXITED, 0, None, 0, "exec", 0, True, {"file_read": "held", "call": "held"}, 1, 2, None, 0)


def sample() -> Dict[str, Any]:
    """Return the receipt of a run that read files inside its boundary and had no network."""
    spec = spawn_spec(FOUND)
    collected = evidence.collect(FOUND.run, spec, RECORD)
    report = evidence.report(FOUND.run, collected, ReportStage.POST_RUN)
    facts = receipt_facts(FOUND.run, spec, RECORD, collected, report, FOUND.host, UNKNOWN, 3)
    return copy.deepcopy(build.make(facts, 4).envelope)


BODY = sample()["body"]
PLANNED = "aasm: boundary planned by aasm-native: "
MEASURED = "aasm: measured in this run: "
SUMMARIES = (
    PLANNED + "filesystem_read",
    PLANNED + "filesystem_read, network_egress, syscall",
    PLANNED + "filesystem_read; only observed: network_egress",
    PLANNED + "filesystem_read, network_egress; all safe: ipc",
    "aasm: boundary planned by sandlock: filesystem_read, network_egress",
    MEASURED + "filesystem_read observed, network_egress observed",
    MEASURED + "filesystem_read observed, network_egress planned",
    MEASURED + "filesystem_read denied_before_execution; not measured: network_egress planned",
    MEASURED + "filesystem_read observed; not measured: network_egress observed",
    MEASURED + "filesystem_read observed",
    "aasm: nothing was measured in this run",
    "aasm: no boundary was established (--isolation none): the program has all of this user's rights",
    "aasm: refused: the network",
)


def test_a_line_for_a_terminal_may_say_what_the_report_says() -> None:
    said = said_in_receipt(BODY)
    for line in (
        PLANNED + "filesystem_read, network_egress",
        MEASURED + "filesystem_read observed; not measured: network_egress planned",
    ):
        assert only(judge_summary(line, said)) == []
    degraded = said_in(REPORTS["degraded"])
    assert only(judge_summary(PLANNED + "filesystem_read; not held as asked: ipc", degraded)) == []


@pytest.mark.parametrize("line", SUMMARIES)
def test_a_line_for_a_terminal_that_says_more_is_found(line: str) -> None:
    assert rules(judge_stderr(line, BODY)) == {"summary"}


def test_what_was_measured_cannot_be_said_before_the_run() -> None:
    line = "aasm: nothing was measured in this run; not measured: filesystem_read planned, filesystem_write planned"
    assert rules(list(judge_summary(line, said_in(REPORTS["ready"])))) == {"summary"}


@pytest.mark.parametrize(
    "line",
    [
        "aasm: your files are safe",
        "warning: without network rules the program is sandboxed all the same",
        "note: 3 writes were blocked",
        "error: /x: the write was prevented; nothing is to be done",
        "warning: filesystem_read was denied_before_execution",
        "warning: the receipt proves it",
    ],
)
def test_a_word_that_claims_is_found_in_any_line(line: str) -> None:
    assert "word" in rules(judge_stderr(line, BODY))
    assert rules(judge_stderr(line)) <= {"word", "summary"} and rules(judge_stderr(line))


def test_a_receipt_that_is_named_must_be_there() -> None:
    assert rules(judge_stderr("aasm: receipt: /r.json")) == {"account"}
    assert judge_stderr("aasm: receipt: /r.json", BODY) == []


def test_a_block_in_standard_error_is_judged_where_it_ends() -> None:
    text = machine.block(before(CASES["ready"]().run))
    assert only(judge_stderr(f"warning: a\n{text}\naasm: refused: no\n")) == []
    assert rules(judge_stderr(text.replace("claim=planned", "claim=observed"))) == {"coverage", "stage"}


# --- receipts, ledger, status, verdict --------------------------------------------------------------


def _domain(body: Dict[str, Any], name: str, **changes: Any) -> None:
    next(item for item in body["domains"] if item["domain"] == name).update(changes)


def _ref(body: Dict[str, Any], kind: str, domain: Any, claim: str) -> None:
    body["evidence_refs"].append({"kind": kind, "domain": domain, "claim": claim, "detail_digest": "sha256:0"})


NET, SUPPORTED = "network_egress", {"evidence_basis": DECISION, "prevention_supported": True}
RECEIPTS: Tuple[Tuple[str, Callable[[Dict[str, Any]], Any]], ...] = (
    ("coverage", lambda b: _domain(b, NET, claim="observed")),
    ("records", lambda b: _domain(b, NET, claim="observed", evidence_basis=RUNTIME)),
    ("records", lambda b: _domain(b, "filesystem_read", claim="detected")),
    ("records", lambda b: _domain(b, "filesystem_read", claim=PREVENTION, **SUPPORTED)),
    ("records", lambda b: _domain(b, NET, independently_verified=True)),
    ("records", lambda b: _ref(b, "exercised", NET, "observed")),
    ("records", lambda b: _ref(b, "exercised", "resource", "detected")),
    ("records", lambda b: b["boundary"].update(sealed=False)),
    ("records", lambda b: b["boundary"]["canaries"][0].update(result="breached")),
    ("records", lambda b: b["boundary"]["canaries"][0].update(result="inconclusive")),
    ("prevention", lambda b: _domain(b, "filesystem_read", claim=PREVENTION)),
    ("supported", lambda b: _domain(b, "filesystem_read", prevention_supported=True)),
    ("silence", lambda b: _domain(b, "filesystem_read", state="unmeasured")),
    ("asked", lambda b: _domain(b, "filesystem_read", requested="not_stated")),
    ("form", lambda b: b["domains"].pop()),
    ("backend", lambda b: b.update(backend=None)),
    ("shortfall", lambda b: _domain(b, NET, state="unsupported", claim="unmeasured")),
    ("shortfall", lambda b: b["degraded"].append({"domain": NET, "kind": "not_measured", "detail": None})),
    ("word", lambda b: b["boundary"]["floor"].append({"kind": "value", "value": "everything is blocked"})),
    ("word", lambda b: b["execution"].update(no_code_detail={"kind": "value", "value": "ended safely"})),
    ("word", lambda b: b["producer"].update(component="a secure launcher")),
    ("seal", lambda b: None),
)  # fmt: skip


def test_a_receipt_is_sound_before_it_is_doctored() -> None:
    assert only(judge_receipt(sample())) == []
    assert {item["claim"] for item in BODY["domains"]} == {"observed", "planned", "unmeasured"}


def test_with_a_decision_record_prevention_may_be_claimed_and_without_it_not() -> None:
    envelope = json.loads((ROOT / "tests/golden/receipt/sample.execution-receipt.json").read_text(encoding="utf-8"))
    body = envelope["body"]
    assert PREVENTION in {item["claim"] for item in body["domains"]} and only(judge_receipt(envelope)) == []
    body["evidence_refs"] = [item for item in body["evidence_refs"] if item["kind"] != "decision"]
    envelope["seal"]["digest"] = digest(body)
    assert rules(judge_receipt(envelope)) == {"records"}


@pytest.mark.parametrize(("rule", "change"), RECEIPTS)
def test_a_receipt_that_claims_more_is_found(rule: str, change: Callable[[Dict[str, Any]], Any]) -> None:
    envelope = sample()
    change(envelope["body"])
    envelope["seal"]["digest"] = "sha256:" + "0" * 64 if rule == "seal" else digest(envelope["body"])
    assert rule in rules(judge_receipt(envelope))


def entry(event: str, seq: int, **changes: Any) -> Dict[str, Any]:
    detail = {"kind": "value", "value": "exec true"}
    return {"event": event, "seq": seq, "run_id": "r", "receipt": None, "detail": detail, **changes}


BEGUN = entry("registered", 1)
BLOCKED = {"detail": {"kind": "value", "value": "two writes were blocked"}}
LEDGERS: Tuple[Tuple[str, List[Dict[str, Any]]], ...] = (
    ("account", [entry("ended", 1)]),
    ("account", [BEGUN, entry("succeeded", 2)]),
    ("account", [BEGUN, entry("ended", 2, receipt="sha256:other")]),
    ("account", [BEGUN, entry("not_started", 2, receipt="sha256:there")]),
    ("account", [BEGUN, entry("ended", 2, run_id="another")]),
    ("word", [entry("refused", 1, **BLOCKED)]),
)


@pytest.mark.parametrize(("rule", "lines"), LEDGERS)
def test_a_ledger_that_says_more_is_found(rule: str, lines: List[Dict[str, Any]]) -> None:
    assert rules(judge_ledger(lines, ["sha256:there"])) == {rule}
    assert judge_ledger([BEGUN, entry("ended", 2, receipt="sha256:there")], ["sha256:there"]) == []


STATUS = {"origin": "program", "ending": "exited", "run_id": BODY["run_id"], "receipt": "/r.json"}


@pytest.mark.parametrize(
    "changes",
    [
        {"ending": "refused"}, {"origin": "launcher"}, {"run_id": "another"}, {"ending": "wall_clock"},
        {"ending": "succeeded"}, {"origin": "kernel"},
    ],
)  # fmt: skip
def test_a_status_line_that_says_more_is_found(changes: Dict[str, str]) -> None:
    assert judge_status(STATUS, BODY) == []
    assert rules(judge_status({**STATUS, **changes}, BODY)) == {"account"}
    assert rules(judge_status(STATUS, None)) == {"account"}


VERDICT = (
    "seal: holds (the body is sha256:0)\ndefects: none\ntrustworthy: true (the seal holds and no rule is broken)\n"
)


@pytest.mark.parametrize(
    ("rule", "text", "sound"),
    [
        ("trust", VERDICT, False),
        ("trust", VERDICT.replace("holds (", "mismatch ("), True),
        ("trust", VERDICT.replace("none", "1"), True),
        ("word", VERDICT + "note: it is tamper-proof\n", True),
    ],
)
def test_a_verdict_that_says_more_is_found(rule: str, text: str, sound: bool) -> None:
    assert judge_verdict(VERDICT, True) == []
    assert rules(judge_verdict(text, sound)) == {rule}


def test_every_rule_has_a_doctored_output() -> None:
    tables = (BLOCKS, DRY_RUNS, JSONS, RECEIPTS, LEDGERS)
    assert {row[0] for table in tables for row in table} | {"summary", "trust"} == set(RULES)
