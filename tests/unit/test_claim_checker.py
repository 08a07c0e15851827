# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""No output of any run claims more than its evidence: dry runs, blocks, lines for a terminal, receipts.

That the checker finds what it is for is in test_claim_doctored.py; here the code itself is made to claim too much.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Dict, Iterator, Tuple, Type

import pytest
import support.claim_outputs as outputs
import support.claim_records as records
import support.claims as claims
from support.claims import Finding, judge_block, judge_summary, only, said_in, split_block
from support.reports import CASES
from support.runs import IDENTITY, before, resolution, spawn_spec

from aasm import evidence
from aasm.cli import human, machine, preview
from aasm.governance import ledger
from aasm.model import domains, evidence as words, plan, report
from aasm.model.record import Ending, RunRecord
from aasm.model.requirements import ResourceLimits
from aasm.origin import UNKNOWN
from aasm.receipt import build
from aasm.receipt.facts import RESOLUTIONS
from aasm.run import Resolution
from aasm.sealing import receipt_facts

Report = report.IsolationReport
CANARIES = ({}, dict.fromkeys(evidence._CANARIES, "held"), {"file_read": "held", "file_write": "inconclusive"})
# Every vocabulary that the checker has once more, and the code's: a new word is looked at here first.
VOCABULARIES: Tuple[Tuple[Tuple[str, ...], Type[Enum]], ...] = (
    (claims.DOMAINS, domains.CapabilityDomain),
    (claims.CLAIMS, words.ClaimTerm),
    (claims.STATES, report.ControlState),
    (claims.BASES, words.EvidenceBasis),
    (claims.REQUESTED, report.RequestedControl),
    (claims.STAGES, report.ReportStage),
    (claims.POSTURES, report.ReportedPosture),
    (claims.REASONS, report.UnmeasuredReason),
    (tuple(outputs.POSTURES), report.ReportedPosture),
    (tuple(records.KINDS), words.EvidenceKind),
    (records.EVENTS, ledger.Event),
    (records.ENDINGS["program"] + records.ENDINGS["launcher"][:-1], Ending),
)


@pytest.mark.parametrize(("known", "code"), VOCABULARIES, ids=lambda item: getattr(item, "__name__", ""))
def test_the_checker_knows_the_words_of_the_code(known: Tuple[str, ...], code: Type[Enum]) -> None:
    assert set(known) == {item.value for item in code}


def test_the_checker_knows_the_other_words_too() -> None:
    assert tuple(term.value for term in words.ClaimTerm if words.asserts_coverage(term)) == claims.COVERAGE
    assert {kind.value: basis.value for kind, basis in words.BASIS_OF_KIND.items()} == records.KINDS
    spoken_for = {name: found.domain.value if found.domain else None for name, found in evidence._CANARIES.items()}
    assert spoken_for == records.CANARIES
    assert outputs.POLICY_STATES == RESOLUTIONS
    assert {state.value: text for state, text in human.POSTURES.items()} == outputs.POSTURES


# --- every output of every case ---------------------------------------------------------------------


def reports(found: Resolution) -> Iterator[Tuple[Report, RunRecord]]:
    """Yield the report of each way in which a run can end, with its record."""
    sealed, clock = found.run.plan is not None, found.run.ceilings.max_wall_clock_seconds is not None
    for ending in (Ending.EXITED, Ending.KILLED, *([Ending.WALL_CLOCK] if clock else [])):
        for canaries in CANARIES if sealed else CANARIES[:1]:
            killed = ending is not Ending.EXITED
            code, number = (None, 15) if killed else (3, None)
            record = RunRecord(ending, code, number, 0, "exec", 0, sealed, canaries, 10, 20, None, 1)
            collected = evidence.collect(found.run, spawn_spec(found), record)
            yield evidence.report(found.run, collected, report.ReportStage.POST_RUN), record


def said(made: Report) -> claims.Said:
    return said_in(dict(split_block(machine.block(made).split("\n")[1:])[0]))


def receipt(found: Resolution, made: Report, record: RunRecord) -> Dict[str, Any]:
    collected = evidence.collect(found.run, spawn_spec(found), record)
    facts = receipt_facts(found.run, spawn_spec(found), record, collected, made, found.host, UNKNOWN, 30)
    return build.make(facts, 31).envelope


def everything_said(found: Resolution) -> Iterator[Finding]:
    """Yield what is found in everything that is said of one run, but for the lines of a terminal."""
    yield from outputs.judge_dry_run(preview.render(found))
    for made, record in reports(found) if found.run.refusal is None else ():
        yield from outputs.judge_stderr(machine.block(made))
        yield from records.judge_receipt(receipt(found, made, record))
    yield from outputs.judge_stderr(machine.block(before(found.run)))
    yield from outputs.judge_json(preview.as_json(found))


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_is_said_of_a_run_outruns_its_evidence(name: str) -> None:
    assert only(everything_said(CASES[name]())) == []


@pytest.mark.parametrize("name", CASES)
def test_no_line_for_a_terminal_outruns_the_report(name: str) -> None:
    found = CASES[name]()
    shown = [before(found.run), *((made for made, _ in reports(found)) if found.run.refusal is None else ())]
    assert only(wrong for made in shown for wrong in judge_summary(human.summary(made), said(made))) == []


def test_a_run_that_could_not_be_resolved_claims_nothing() -> None:
    reason = "/x: cannot be read: Permission denied; name a file that you may read"
    assert only(outputs.judge_dry_run(preview.refused(IDENTITY, reason))) == []
    assert only(outputs.judge_json(preview.refused(IDENTITY, reason, in_json=True))) == []
    for text in ("the program is safely contained", "every write was blocked"):
        assert {item.rule for item in outputs.judge_dry_run(preview.refused(IDENTITY, text))} == {"word"}
        assert {item.rule for item in outputs.judge_json(preview.refused(IDENTITY, text, in_json=True))} == {"word"}


# --- the code made to claim too much ----------------------------------------------------------------


def _denied(found: words.EnforcementEvidence, domain: domains.CapabilityDomain) -> words.ClaimTerm:
    return words.ClaimTerm.DENIED_BEFORE_EXECUTION


def _unbounded(claim: words.ClaimTerm, state: report.ControlState, stage: report.ReportStage) -> words.ClaimTerm:
    return claim


def _ready(run: Any) -> Tuple[report.ReportedPosture, str]:
    return report.ReportedPosture.READY, "every requirement has a control that can meet it"


def _held(run: Any, record: RunRecord) -> Iterator[words.EvidenceRecord]:
    network = domains.CapabilityDomain.NETWORK_EGRESS
    yield words.EvidenceRecord(words.EvidenceKind.EXERCISED, network, words.ClaimTerm.OBSERVED, "")


_DEGRADED, _UNMET = plan.OutcomeKind.DEGRADED, plan.OutcomeKind.UNMET
# (module, name, what it is replaced by, the rule that must notice)
WEAKENED: Tuple[Tuple[Any, str, Any, str], ...] = (
    (evidence, "claim_for", _denied, "prevention"),
    (evidence, "bounded", _unbounded, "silence"),
    (evidence, "_posture", _ready, "ready"),
    (evidence, "_planned_claim", lambda outcome: plan.OUTCOME_CEILING[plan.OutcomeKind.ENFORCED], "coverage"),
    (evidence, "_exercised", _held, "records"),
    (evidence, "supports_prevention_claim", lambda found, domain: True, "supported"),
    (evidence, "basis_for", lambda found, domain: words.EvidenceBasis.DECISION, "stage"),
    (evidence, "_weakest", lambda run, domain: run.plan.outcomes[0] if run.plan else None, "asked"),
    (build, "supports_prevention_claim", lambda found, domain: True, "records"),
    (build, "_conditions", lambda facts: iter(()), "shortfall"),
    (build, "digest", lambda body: "sha256:" + "0" * 64, "seal"),
    (human, "HOLDS", {**human.HOLDS, _DEGRADED: "would be held by", _UNMET: "would be held by"}, "row"),
    (human, "row", lambda line: (line.domain.value, "stated", "prevention", "observed", "decision"), "section"),
    (human, "POSTURES", dict.fromkeys(report.ReportedPosture, "READY"), "section"),
    (preview, "_keeper", lambda made, name: "the kernel, which guarantees it", "word"),
    (preview, "LEASE_PLAN", "--- what is protected ---", "section"),
)


CLOCK_AND_MORE = ResourceLimits(max_open_files=9, max_cpu_seconds=9, max_wall_clock_seconds=9)
SHOWN = (
    resolution(ceilings=CLOCK_AND_MORE),
    *(CASES[name]() for name in ("ceilings, held and not", "degraded", "everything denied", "no boundary")),
)


@pytest.mark.parametrize("found", SHOWN[:1])
def test_what_is_shown_of_weakened_code_is_sound_before(found: Resolution) -> None:
    assert only(everything_said(found)) == []


@pytest.mark.parametrize(("module", "name", "weaker", "rule"), WEAKENED, ids=[row[1] for row in WEAKENED])
def test_code_that_claims_too_much_is_noticed(
    module: Any, name: str, weaker: Callable[..., Any], rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, weaker)
    assert any(item.rule == rule for made in SHOWN for item in everything_said(made))


def test_a_block_is_judged_by_its_records_alone() -> None:
    text = machine.block(before(CASES["ready"]().run))
    recorded, rest = split_block([*text.split("\n")[1:], "aasm: receipt: /a=b", "x=y"])
    assert rest == ["aasm: receipt: /a=b", "x=y"] and only(judge_block(recorded)) == []
