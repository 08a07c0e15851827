# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The machine-readable block: every key is known, every known key is there where it must be, and every line is one."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Tuple

import pytest
from support.reports import CASES, DENY_ALL, HOSTS, LAUNCHED, OPEN, REFUSED, UNLISTED
from support.runs import after, before, resolution, resolved

from aasm.backends.native.capability import MECHANISMS
from aasm.cli import machine
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.plan import Considered, RefusalKind
from aasm.model.report import ControlState, IsolationReport, UnmeasuredReason
from aasm.model.requirements import CredentialPosture, ResourceLimits

N = r"(0|[1-9][0-9]*)"
D = "|".join(domain.value for domain in DOMAINS)

# Every key that exists, by group and in the order of the groups. Renaming or removing one makes another schema.
KEYS: Dict[str, Tuple[str, ...]] = {
    "head": (
        "schema", "stage", "posture", "posture_detail", "least_authority", "agent_id", "team_id", "lineage_depth",
        "session_id", "trace_id", "target_program", "target_arg_count",
    ),
    "backend": (
        "backend_selected", "backend_id", "backend_version", "backend_source", "backend_license", "backend_modified",
        "backend_unavailable",
    ),
    "selection": (
        "backend_selection_mode", r"backend_selection\.considered_count",
        rf"backend_selection\.considered\.{N}\.(id|verdict|detail|unmet_domain_count|unmet_domain\.{N})",
    ),
    "counts": (
        "requested_requirement_count", rf"requested_requirement\.{N}\.(domain|stated_by|outcome|reason)",
        "domain_count",
    ),
    "domains": (
        rf"domain\.({D})\.(requested|requested_detail|state|state_detail|claim|evidence|prevention_supported)",
        rf"domain\.({D})\.(expected_claim|granularity|evidence_source_count|evidence_source\.{N})",
        rf"domain\.({D})\.(policy_gap_count|policy_gap\.{N})",
    ),
    "refusals": ("refusal_count", rf"refusal\.{N}\.(domain|reason|detail)"),
    "credentials": (
        rf"credential\.(removed|delegated|ambient_unremoved)(_count|\.{N})", r"credential\.contradiction_count",
    ),
    "descriptors": (
        "descriptors_present", r"descriptors\.(enumeration_complete|residual_count|asserts_clean_boundary)",
    ),
    "policy": (rf"policy\.unmapped(_count|\.{N})",),
}  # fmt: skip


def numbered(name: str, count: int) -> List[str]:
    return [f"{name}_count", *(f"{name}.{number}" for number in range(count))]


def must_be_there(report: IsolationReport) -> List[str]:
    """Return the keys of this report, from what the report is and not from how it is written."""
    considered, posture = report.selection.considered, report.credentials
    entries = max(1, len(report.refusal.shortfalls)) if report.refusal else 0
    unavailable = report.refusal is not None and report.refusal.kind is RefusalKind.SELECTION
    keys = [
        *KEYS["head"],
        *KEYS["backend"][: 6 if report.backend else 1],
        *(["backend_unavailable"] if unavailable else []),
    ]
    keys += ["backend_selection_mode", "backend_selection.considered_count"] if considered else []
    for number, item in enumerate(considered):
        name = f"backend_selection.considered.{number}"
        keys += [f"{name}.id", f"{name}.verdict", f"{name}.detail"]
        keys += numbered(f"{name}.unmet_domain", len(item.unmet_domains))
    keys.append("requested_requirement_count")
    for number in range(len(report.requirements)):
        keys += [f"requested_requirement.{number}.{field}" for field in ("domain", "stated_by", "outcome", "reason")]
    keys.append("domain_count")
    fields = ("requested", "requested_detail", "state", "state_detail", "claim", "evidence", "prevention_supported")
    for domain, line in zip(DOMAINS, report.domains):
        keys += [f"domain.{domain.value}.{field}" for field in (*fields, "expected_claim")]
        keys += numbered(f"domain.{domain.value}.evidence_source", len(line.sources))
        keys.append(f"domain.{domain.value}.granularity")
        keys += numbered(f"domain.{domain.value}.policy_gap", len(line.policy_gaps))
    keys += [
        "refusal_count",
        *(f"refusal.{n}.{field}" for n in range(entries) for field in ("domain", "reason", "detail")),
    ]
    for kind, names in zip(("removed", "delegated", "ambient_unremoved"), posture):
        keys += numbered(f"credential.{kind}", len(names))
    keys += ["credential.contradiction_count", "descriptors_present"]
    if report.descriptors is not None:
        keys += [
            f"descriptors.{field}" for field in ("enumeration_complete", "residual_count", "asserts_clean_boundary")
        ]
    return keys + numbered("policy.unmapped", len(report.unmapped))


def reports_of(name: str) -> List[IsolationReport]:
    found = CASES[name]()
    return [before(found.run), *([after(found, file_read="held")] if name in LAUNCHED else [])]


def values(report: IsolationReport) -> Dict[str, machine.Value]:
    found = machine.records(report)
    assert len(dict(found)) == len(found), "a key stands twice"
    return dict(found)


def parsed(text: str) -> Dict[str, str]:
    header, *lines = text.split("\n")
    assert header == "--- execution isolation (machine-readable) ---"
    return dict(line.split("=", 1) for line in lines)


def group(key: str) -> str:
    found = [name for name, patterns in KEYS.items() if any(re.fullmatch(pattern, key) for pattern in patterns)]
    assert len(found) == 1, key
    return found[0]


def test_the_cases_are_what_they_are_called() -> None:
    assert [name for name, make in LAUNCHED.items() if make().run.refusal is not None] == []
    assert {make().run.refusal.kind for make in REFUSED.values()} >= {  # type: ignore[union-attr]
        RefusalKind.POLICY, RefusalKind.NO_REQUIREMENTS_LOWERED, RefusalKind.SELECTION, RefusalKind.NEGOTIATION,
        RefusalKind.PATHS, RefusalKind.REGISTRATION,
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_key_is_known_and_every_known_key_is_where_it_must_be(name: str) -> None:
    for report in reports_of(name):
        keys = [key for key, _ in machine.records(report)]
        assert keys == must_be_there(report)
        groups = [group(key) for key in keys]
        assert groups == sorted(groups, key=list(KEYS).index)


def test_every_known_key_is_seen_in_some_case() -> None:
    seen = {key for name in CASES for report in reports_of(name) for key in values(report)}
    patterns = [pattern for patterns in KEYS.values() for pattern in patterns]
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, key) for key in seen)] == []


@pytest.mark.parametrize("name", CASES)
def test_the_block_says_the_records_and_types_are_what_the_keys_promise(name: str) -> None:
    for report in reports_of(name):
        found = values(report)
        shown = parsed(machine.block(report))
        assert list(shown) == list(found)
        for key, value in found.items():
            words = {True: "true", False: "false"}
            assert shown[key] == (words[value] if isinstance(value, bool) else " ".join(str(value).split()))
            counts = key.endswith(("_count", "lineage_depth"))
            assert type(value) is (int if counts else bool if key in TRUE_OR_FALSE or "supported" in key else str), key


TRUE_OR_FALSE = (
    "least_authority", "backend_selected", "backend_modified", "descriptors_present",
    "descriptors.enumeration_complete", "descriptors.asserts_clean_boundary",
)  # fmt: skip


def test_a_ready_run_before_and_after() -> None:
    found = resolution(program=("prog", "a", "b"))
    shown = values(before(found.run))
    expected = {
        "schema": "aasm.isolation.report/1", "stage": "pre_launch", "posture": "ready", "least_authority": True,
        "agent_id": "agent-7", "team_id": "team-3", "lineage_depth": 2, "session_id": "session-5",
        "trace_id": "trace-9", "target_program": "prog", "target_arg_count": 2, "backend_selected": True,
        "backend_id": "aasm-native", "backend_license": "Apache-2.0", "backend_modified": False,
        "backend_selection_mode": "default", "backend_selection.considered_count": 1,
        "backend_selection.considered.0.id": "aasm-native",
        "backend_selection.considered.0.verdict": "selected", "requested_requirement_count": 2, "domain_count": 10,
        "domain.filesystem_read.requested": "stated", "domain.filesystem_read.state": "prevention",
        "domain.filesystem_read.state_detail": "timing=pre, descendants=process_tree",
        "domain.filesystem_read.claim": "planned", "domain.filesystem_read.evidence": "setup_only",
        "domain.filesystem_read.prevention_supported": False, "domain.syscall.requested": "not_stated",
        "domain.filesystem_read.expected_claim": "observed", "domain.filesystem_read.granularity": "enumerated",
        "domain.filesystem_read.evidence_source_count": 2,
        "domain.filesystem_read.evidence_source.0": f"installed: {MECHANISMS[Domain.FILESYSTEM_READ]}",
        "domain.filesystem_read.evidence_source.1": "exercised: canary file_read",
        "domain.syscall.expected_claim": "unmeasured", "domain.syscall.evidence_source_count": 0,
        "domain.syscall.granularity": "", "requested_requirement.0.domain": "filesystem_read",
        "requested_requirement.0.stated_by": "filesystem.read.allow", "requested_requirement.0.outcome": "enforced",
        "requested_requirement.0.reason": "",
        "domain.syscall.state_detail": "reason=no_control_requested", "domain.ipc.requested": "not_stated",
        "domain.name_resolution.requested": "policy_cannot_express",
        "refusal_count": 0, "descriptors.asserts_clean_boundary": True,
    }  # fmt: skip
    assert {key: shown[key] for key in expected} == expected
    ended = values(after(found, file_read="held"))
    changed = {key for key in shown if shown[key] != ended[key]}
    assert changed == {"stage", "domain.filesystem_read.claim", "domain.filesystem_read.evidence"}
    assert ended["domain.filesystem_read.claim"] == "observed"
    assert not any(value for key, value in ended.items() if key.endswith("prevention_supported"))


@pytest.mark.parametrize("stage", ["pre_launch", "post_run"])
def test_each_requirement_keeps_its_own_verdict_beside_that_of_its_domain(stage: str) -> None:
    found = resolution(ceilings=ResourceLimits(max_open_files=64, max_cpu_seconds=5, max_wall_clock_seconds=9))
    shown = values(before(found.run) if stage == "pre_launch" else after(found, open_files="held"))
    assert (shown["stage"], shown["domain.resource.state"]) == (stage, "unsupported")
    names = ("domain", "stated_by", "outcome", "reason")
    count = shown["requested_requirement_count"]
    assert count == 5
    assert [tuple(shown[f"requested_requirement.{n}.{name}"] for name in names) for n in range(5)][2:] == [
        ("resource", "--max-cpu-seconds", "unmet", "domain_unsupported"),
        ("resource", "--max-wall-clock-seconds", "observed", ""),
        ("resource", "--max-open-files", "enforced", ""),
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_refused_run_asked_for_has_no_outcome_and_no_evidence_to_come(name: str) -> None:
    report = before(REFUSED[name]().run)
    shown = values(report)
    assert {value for key, value in shown.items() if re.fullmatch(rf"requested_requirement\.{N}\.outcome", key)} <= {""}
    unmet = {(short.domain, short.stated_by): short.reason.value for short in report.refusal.shortfalls[::-1]}
    for number, item in enumerate(report.requirements):  # its own reason, and none for what could have been held
        reason = shown[f"requested_requirement.{number}.reason"]
        assert reason == unmet.get((item.domain, item.stated_by), "")
    assert {shown[f"domain.{domain.value}.expected_claim"] for domain in DOMAINS} == {"unmeasured"}
    assert {shown[f"domain.{domain.value}.evidence_source_count"] for domain in DOMAINS} == {0}


def test_how_finely_a_policy_states_a_domain_is_said_where_it_does() -> None:
    policy = DENY_ALL + "capabilities:\n  deny: [terminal_exec]\n"
    shown = values(before(resolved(policy=policy, ceilings=ResourceLimits(max_open_files=64))))
    assert {domain.value: shown[f"domain.{domain.value}.granularity"] for domain in DOMAINS} == {
        **dict.fromkeys((domain.value for domain in DOMAINS), ""),
        **dict.fromkeys(("filesystem_read", "network_egress", "syscall", "resource"), "enumerated"),
        "process_creation": "whole_domain_only",
    }
    assert shown["domain.resource.requested"] == "stated"  # by an option; a policy could, each ceiling by itself


def test_no_boundary_has_no_backend_and_no_selection_and_asks_for_nothing() -> None:
    shown = values(before(resolved(isolation="none")))
    assert (shown["posture"], shown["backend_selected"], shown["requested_requirement_count"]) == (
        "no_boundary",
        False,
        0,
    )
    assert shown["domain.filesystem_read.state_detail"] == "reason=no_backend_selected"
    assert shown["domain.filesystem_read.requested"] == "stated" and shown["least_authority"] is False


def test_why_a_domain_was_not_measured_keeps_its_detail() -> None:
    line = (
        before(resolved())
        .domains[0]
        ._replace(
            state=ControlState.UNMEASURED,
            unmeasured_reason=UnmeasuredReason.INCONCLUSIVE,
            state_detail="a control failed",
        )
    )
    assert machine.state_detail(line) == "reason=inconclusive, a control failed"


@pytest.mark.parametrize(
    ("options", "entries"),
    [
        ({"abi": 5}, [("backend", "backend_unavailable", "Landlock ABI 5 is usable here")]),
        ({"policy": HOSTS}, [("network_egress", "domain_unsupported", "stated by network.allowlist")]),
        (
            {"ceilings": ResourceLimits(max_memory_bytes=1, max_pids=2)},
            [
                ("resource", "domain_unsupported", "stated by --max-memory-bytes"),
                ("resource", "domain_unsupported", "stated by --max-pids"),
            ],
        ),
        ({"policy": "tools:\n  a:\n    allow: true\n"}, [("", "no_requirements_lowered", "refusing to launch: No")]),
        ({"policy": "x: 1"}, [("", "policy", "policy.yaml:1:1")]),
    ],
)
def test_everything_that_is_refused_is_listed(options: Dict[str, Any], entries: List[Tuple[str, str, str]]) -> None:
    shown = values(before(resolved(**options)))
    assert shown["refusal_count"] == len(entries)
    for number, (domain, reason, words) in enumerate(entries):
        assert (shown[f"refusal.{number}.domain"], shown[f"refusal.{number}.reason"]) == (domain, reason)
        assert words in str(shown[f"refusal.{number}.detail"])


def test_what_is_unavailable_is_said_for_one_backend_and_for_several() -> None:
    alone, several = before(resolved(abi=5)), before(resolved(abi=5, isolation="auto"))
    assert machine.unavailable(alone).startswith("Landlock ABI 5 is usable here")
    assert [part.split(":")[0] for part in machine.unavailable(several).split("; ")] == [
        "sandlock", "aasm-native", "aasm-macos-vm",
    ]  # fmt: skip
    unasked = several._replace(selection=several.selection._replace(considered=()))
    assert machine.unavailable(unasked) == several.refusal.text  # type: ignore[union-attr]
    assert machine.unavailable(before(resolved(policy=HOSTS))) == ""


def test_a_candidate_is_listed_with_every_domain_that_it_lacks() -> None:
    report = before(resolved(policy=HOSTS, isolation="auto"))
    shown = values(report)
    assert [item.id for item in report.selection.considered] == ["sandlock", "aasm-native", "aasm-macos-vm"]
    assert shown["backend_selection.considered.0.verdict"] == "rejected_unavailable"
    assert shown["backend_selection.considered.1.verdict"] == "rejected_requirements_unmet"
    assert shown["backend_selection.considered.1.unmet_domain.0"] == "network_egress"


def test_a_contradiction_is_counted_and_descriptors_may_be_unknown() -> None:
    report = before(resolved())
    torn = report._replace(credentials=CredentialPosture(("A", "B"), ("B",), ("A", "C")), descriptors=None)
    shown = values(torn)
    assert shown["credential.contradiction_count"] == 2 and shown["credential.ambient_unremoved.1"] == "C"
    assert shown["descriptors_present"] is False and not [key for key in shown if key.startswith("descriptors.")]
    for inventory, complete, residual in ((OPEN, True, 1), (UNLISTED, False, 0)):
        shown = values(report._replace(descriptors=inventory))
        assert shown["descriptors.enumeration_complete"] is complete
        assert shown["descriptors.residual_count"] == residual
        assert shown["descriptors.asserts_clean_boundary"] is False


HOSTILE = "a\n--- execution isolation (machine-readable) ---\r\nposture=ready\x1b[2J\x85\u2028 \x00 b\u202e\udcff \t c"
CLEANED = "a --- execution isolation (machine-readable) --- posture=ready [2J b\\u202e\\xff c"


def test_no_value_can_make_a_line_of_its_own() -> None:
    report = before(resolved(policy=HOSTS))
    domains = tuple(
        line._replace(requested_detail=HOSTILE, policy_gaps=(HOSTILE,), sources=(HOSTILE, HOSTILE))
        for line in report.domains
    )
    hostile = report._replace(
        posture_detail=HOSTILE,
        target_program=HOSTILE,
        selection=report.selection._replace(
            considered=(Considered(HOSTILE, report.selection.considered[0].verdict, HOSTILE),)
        ),
        requirements=tuple(item._replace(stated_by=HOSTILE) for item in report.requirements),
        domains=domains,
        credentials=CredentialPosture((HOSTILE,), (HOSTILE,), (HOSTILE,)),
        unmapped=(HOSTILE,),
    )
    text = machine.block(hostile)
    lines = text.splitlines()
    assert len(lines) == 1 + len(machine.records(hostile)) and text.isprintable() is False
    assert all(line.isprintable() for line in lines)
    assert list(parsed(text)) == [key for key, _ in machine.records(hostile)]
    assert parsed(text)["target_program"] == parsed(text)["credential.delegated.0"] == CLEANED
    assert parsed(text)["requested_requirement.0.stated_by"] == CLEANED
    assert parsed(text)["domain.ipc.evidence_source.1"] == CLEANED
    assert text.encode("utf-8")


def test_the_order_of_the_domains_is_that_of_the_vocabulary() -> None:
    keys = [key for key, _ in machine.records(before(resolved())) if key.endswith(".requested")]
    assert keys == [f"domain.{domain.value}.requested" for domain in Domain]
