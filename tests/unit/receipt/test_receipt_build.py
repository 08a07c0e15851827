# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Building a receipt: every field, what never gets in, degraded conditions, withheld text, the mark of a defect."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest
import receipt_samples as samples

from aasm.model.domains import DOMAINS, CapabilityDomain
from aasm.model.evidence import ClaimTerm, EvidenceKind, EvidenceRecord
from aasm.model.record import Ending
from aasm.model.report import ControlState, UnmeasuredReason
from aasm.model.requirements import CredentialPosture, ExecutionSpec, Requirement
from aasm.receipt import build, facts, shape
from aasm.receipt.canonical import digest

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "receipt" / "sample.execution-receipt.json"
SECRET = "pass" + "word=hunter2"
READ, WRITE, NETWORK = samples.READ, samples.WRITE, CapabilityDomain.NETWORK_EGRESS


def body_of(base: facts.ReceiptFacts = samples.FACTS) -> Dict[str, Any]:
    return build.build(base)


def kinds(body: Dict[str, Any]) -> List[Any]:
    return [(item["domain"], item["kind"]) for item in body["degraded"]]


def test_the_receipt_is_the_golden_one() -> None:
    receipt = build.make(samples.FACTS, samples.SEALED_AT)
    assert receipt.data == GOLDEN.read_bytes()
    assert receipt.defects == ()


def test_the_body_has_every_field_and_no_other() -> None:
    assert set(body_of()) == set(shape.BODY)


def test_the_envelope_seals_the_body_and_nothing_else() -> None:
    receipt = build.make(samples.FACTS, 17)
    assert set(receipt.envelope) == {"schema", "seal", "body"}
    assert receipt.envelope["seal"]["digest"] == receipt.digest == digest(receipt.envelope["body"])
    assert receipt.envelope["seal"]["sealed_at_unix_secs"] == 17
    assert receipt.data.endswith(b"}\n") and json.loads(receipt.data) == receipt.envelope


def test_arguments_selectors_and_places_are_digests_and_counts() -> None:
    text = build.make(samples.FACTS, samples.SEALED_AT).data.decode()
    for hidden in ("hunter2", "password", "/usr", "/srv/build", "permit-only"):
        assert hidden not in text
    spec = body_of()["spec"]
    argv = b"/usr/bin/make\0test\0--password=hunter2-never-seen\0"  # as in /proc/PID/cmdline
    assert spec["argv_digest"] == "sha256:" + hashlib.sha256(argv).hexdigest()
    assert spec["working_dir_digest"] == "sha256:" + hashlib.sha256(b"/srv/build").hexdigest()
    assert (spec["program"]["value"], spec["arg_count"]) == ("make", 2)
    counts = (spec["required_count"], spec["optional_count"], spec["degrade_if_unavailable_count"])
    assert counts == (2, 0, 1)


def test_bytes_that_are_not_utf8_are_digested_as_bytes_and_shown_as_one_line() -> None:
    spec = samples.SPEC._replace(program="/bin/\udcff\n", args=("\udcfe",), working_dir="/\udcfd")
    found = body_of(samples.FACTS._replace(spec=spec))["spec"]
    assert found["program"]["value"] == "\\xff\\x0a"
    assert found["argv_digest"] == "sha256:" + hashlib.sha256(b"/bin/\xff\n\0\xfe\0").hexdigest()
    assert found["working_dir_digest"] == "sha256:" + hashlib.sha256(b"/\xfd").hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"args": ("test",)},
        {"args": ("test", "--password=other")},
        {"program": "/bin/make"},
        {"working_dir": "/"},
        {"identity": samples.IDENTITY._replace(team_id=None)},
        {"identity": samples.IDENTITY._replace(lineage=())},
        {"requirements": samples.REQUIREMENTS[:2]},
        {"requirements": (samples.REQUIREMENTS[0]._replace(stated_by="x"), *samples.REQUIREMENTS[1:])},
        {"requirements": (samples.REQUIREMENTS[1], samples.REQUIREMENTS[0], samples.REQUIREMENTS[2])},
        {"credentials": samples.CREDENTIALS._replace(delegated=())},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_spec_digest_covers_every_part_of_the_spec(change: Dict[str, Any]) -> None:
    changed = samples.FACTS._replace(spec=samples.SPEC._replace(**change))
    assert body_of(changed)["spec"]["digest"] != body_of()["spec"]["digest"]


def test_the_projection_knows_every_field_of_the_spec() -> None:
    """A field that is added to these types must be added to the digest too, or be named here with a reason."""
    assert ExecutionSpec._fields == ("program", "args", "working_dir", "identity", "requirements", "credentials")
    assert Requirement._fields == ("domain", "scope", "intent", "posture", "descendants", "stated_by")
    assert set(build._requirement(samples.REQUIREMENTS[0])) == {
        "domain", "intent", "posture", "descendants", "stated_by",
        "whole", "selector_count", "selectors_digest", "limits",
    }  # fmt: skip
    assert CredentialPosture._fields == ("removed", "delegated", "ambient_unremoved")


def test_all_ten_domains_are_there_in_order() -> None:
    assert [item["domain"] for item in body_of()["domains"]] == [domain.value for domain in DOMAINS]


def test_a_decision_flips_only_its_own_domain() -> None:
    supported = [item["domain"] for item in body_of()["domains"] if item["prevention_supported"]]
    assert supported == ["filesystem_write"]
    bases = {item["domain"]: item["evidence_basis"] for item in body_of()["domains"]}
    assert bases["filesystem_read"] == "runtime_without_decision"
    assert bases["resource"] == "setup_only"
    assert bases["syscall"] == "none"


def test_outside_confirmation_is_said_and_prevents_nothing() -> None:
    record = EvidenceRecord(EvidenceKind.INDEPENDENT_VERIFICATION, READ, ClaimTerm.OBSERVED, "seen from outside")
    evidence = samples.EVIDENCE._replace(records=(*samples.EVIDENCE.records, record))
    found = samples.domain_of(body_of(samples.FACTS._replace(evidence=evidence)), READ)
    assert found["independently_verified"] is True and found["prevention_supported"] is False
    assert samples.domain_of(body_of(), READ)["independently_verified"] is False


@pytest.mark.parametrize(
    ("state", "reason", "kind"),
    [
        (ControlState.DEGRADED, None, "control_shortfall"),
        (ControlState.UNSUPPORTED, None, "control_unsupported"),
        (ControlState.UNMEASURED, UnmeasuredReason.INCONCLUSIVE, "not_measured"),
        (ControlState.UNMEASURED, UnmeasuredReason.NO_BACKEND_SELECTED, "not_measured"),
        (ControlState.UNMEASURED, UnmeasuredReason.NO_CONTROL_REQUESTED, None),
        (ControlState.OBSERVE_ONLY, None, None),
        (ControlState.PREVENTION, None, None),
    ],
)
def test_shortcomings_become_conditions(
    state: ControlState, reason: Optional[UnmeasuredReason], kind: Optional[str]
) -> None:
    changed = samples.line(NETWORK, state=state, unmeasured_reason=reason, state_detail="why it is so")
    body = body_of(samples.with_line(changed))
    assert [found for domain, found in kinds(body) if domain == NETWORK.value] == ([kind] if kind else [])
    detail = samples.domain_of(body, NETWORK)["unmeasured_detail"]
    assert detail == ({"kind": "value", "value": "why it is so"} if reason else None)


def test_authority_that_was_left_and_unknown_facts_become_conditions() -> None:
    posture = CredentialPosture(ambient_unremoved=("KUBECONFIG", "SSH_AUTH_SOCK"))
    unknown = facts.unmeasured("kernel_release", UnmeasuredReason.INCONCLUSIVE, "uname failed")
    base = samples.FACTS._replace(
        report=samples.REPORT._replace(credentials=posture), host=(*samples.FACTS.host, unknown)
    )
    body = body_of(base)
    assert ("credential", "unremoved_ambient_authority") in kinds(body)
    assert (None, "fact_unavailable") in kinds(body)
    assert body["host"][-1] == {
        "name": "kernel_release",
        "value": None,
        "basis": {
            "kind": "unmeasured",
            "reason": "inconclusive",
            "detail": {"kind": "value", "value": "uname failed"},
        },
    }
    assert build.make(base, 1).defects == ()


WITHHELD = [
    (samples.FACTS._replace(policy=samples.FACTS.policy._replace(source=SECRET)), "policy.source"),
    (samples.FACTS._replace(report=samples.REPORT._replace(unmapped=("a", SECRET))), "policy.unmapped[1]"),
    (samples.FACTS._replace(spec=samples.SPEC._replace(program=SECRET)), "spec.program"),
    (
        samples.FACTS._replace(spec=samples.SPEC._replace(identity=samples.IDENTITY._replace(lineage=(SECRET,)))),
        "asserted_identity.lineage[0]",
    ),
    (samples.with_line(samples.LINES[samples.RESOURCE]._replace(state_detail=SECRET)), "degraded[0].detail"),
    (samples.FACTS._replace(host=(facts.measured("kernel_release", SECRET, "x"),)), "host[0].value"),
    (
        samples.with_line(samples.line(NETWORK, unmeasured_reason=UnmeasuredReason.INCONCLUSIVE, state_detail=SECRET)),
        "domains[2].unmeasured_detail",
    ),
]


@pytest.mark.parametrize(("base", "path"), WITHHELD, ids=[path for _, path in WITHHELD])
def test_a_credential_in_free_text_is_withheld_listed_and_a_condition(base: facts.ReceiptFacts, path: str) -> None:
    receipt = build.make(base, 1)
    body = receipt.envelope["body"]
    assert path in body["withheld_fields"]
    noted = [item["detail"] for item in body["degraded"] if item["kind"] == "field_withheld"]
    assert {"kind": "token", "value": path} in noted
    assert b"hunter2" not in receipt.data
    assert receipt.defects == ()


def test_a_domain_with_withheld_text_claims_no_prevention() -> None:
    changed = samples.LINES[WRITE]._replace(policy_gaps=(SECRET,))
    receipt = build.make(samples.with_line(changed), 1)
    found = samples.domain_of(receipt.envelope["body"], WRITE)
    assert (found["claim"], found["evidence_basis"]) == ("evaluated", "decision")
    assert ("filesystem_write", "field_withheld") in kinds(receipt.envelope["body"])
    assert receipt.defects == ()


def test_a_receipt_that_breaks_a_rule_is_made_all_the_same_and_marked() -> None:
    lying = samples.LINES[READ]._replace(claim=ClaimTerm.DENIED_BEFORE_EXECUTION)
    receipt = build.make(samples.with_line(lying), 1)
    assert {defect.rule for defect in receipt.defects} == {"R2"}
    assert receipt.envelope["body"]["construction_defects"] == ["R2"]
    assert receipt.envelope["seal"]["digest"] == digest(receipt.envelope["body"])


def test_without_a_backend_there_is_none_in_the_receipt() -> None:
    lines = tuple(samples.line(domain, unmeasured_reason=UnmeasuredReason.NO_BACKEND_SELECTED) for domain in DOMAINS)
    report = samples.REPORT._replace(backend=None, domains=lines, floor=())
    none = samples.EVIDENCE._replace(records=())
    receipt = build.make(samples.FACTS._replace(report=report, evidence=none, sealed=False, canaries=()), 1)
    assert receipt.envelope["body"]["backend"] is None
    assert receipt.defects == ()


@pytest.mark.parametrize(
    ("changes", "ceiling", "expected"),
    [
        ({"code": 3}, None, (3, None, {"kind": "self_exited"})),
        (
            {"ending": Ending.KILLED, "code": None, "signal": 9},
            None,
            (None, {"kind": "value", "value": "ended by signal 9"}, {"kind": "self_exited"}),
        ),
        (
            {"ending": Ending.WALL_CLOCK, "code": None, "signal": 15},
            60,
            (
                None,
                {"kind": "value", "value": "ended by signal 15"},
                {
                    "kind": "wall_clock_ceiling_exceeded",
                    "ceiling_secs": 60,
                    "termination_delivered": True,
                    "detail": {"kind": "value", "value": "ended by signal 15"},
                },
            ),
        ),
        (
            {"code": 0, "forwarded": 15},
            None,
            (0, None, {"kind": "operator_requested", "forwarded": True}),
        ),
        (
            {"ending": Ending.KILLED, "code": None},
            None,
            (None, {"kind": "value", "value": "no exit code was seen (killed)"}, {"kind": "self_exited"}),
        ),
    ],
)
def test_how_the_program_ended(changes: Dict[str, Any], ceiling: Optional[int], expected: Any) -> None:
    record = samples.RECORD._replace(**changes)
    base = samples.FACTS._replace(execution=facts.execution_of(record, ceiling))
    found = body_of(base)["execution"]
    assert (found["exit_code"], found["no_code_detail"], found["termination"]) == expected
    assert (found["started_at_unix_secs"], found["ended_at_unix_secs"]) == (record.started_at, record.ended_at)
    assert build.make(base, 1).defects == ()


def test_canaries_carry_their_reasons() -> None:
    results = {"file_read": "not_applicable", "call": "held", "open_files": "inconclusive"}
    record = samples.RECORD._replace(canaries=results)
    canaries = facts.canaries_of(record, (("file_read", "the grants cover it"), ("call", ""), ("open_files", "")))
    found = body_of(samples.FACTS._replace(canaries=canaries))["boundary"]["canaries"]
    assert found == [
        {"name": "file_read", "result": "not_applicable", "detail": {"kind": "value", "value": "the grants cover it"}},
        {"name": "call", "result": "held", "detail": None},
        {
            "name": "open_files",
            "result": "inconclusive",
            "detail": {"kind": "value", "value": "it was impossible before the boundary as well, or failed otherwise"},
        },
    ]


def test_the_words_for_canaries_are_those_of_the_launcher() -> None:
    from aasm._sys import boundary

    assert {result.value for result in facts.CanaryResult} == set(boundary.CANARY_RESULTS)


def test_building_changes_nothing_and_repeats() -> None:
    assert build.make(samples.FACTS, 1).data == build.make(samples.FACTS, 1).data
