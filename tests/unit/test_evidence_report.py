# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The report as a whole: its posture, what is left to the program, and four silences that are never one."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

import pytest
from support.contract import NETWORK, READ, RESOURCE, WRITE, wanted
from support.runs import CLEAN, IDENTITY, after, before, resolution, resolved

from aasm.model.descriptors import Descriptor, DescriptorDisposition, DescriptorInventory
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.evidence import CLAIM_RANK, ClaimTerm
from aasm.model.plan import EnforcementPlan, Refusal, RefusalKind, SelectionMode
from aasm.model.report import (
    ControlState,
    DomainLine,
    IsolationReport,
    ReportedPosture,
    ReportStage,
    RequestedControl,
    UnmeasuredReason,
)
from aasm.model.requirements import CredentialPosture, RequirementPosture as Posture, ResourceLimits
from aasm.model.resolved import ResolvedRun

READY, DEGRADED, REFUSED, NO_BOUNDARY = ReportedPosture
STATED, NOT_STATED, CANNOT_EXPRESS, NOT_DERIVED = RequestedControl


def left_over(run: ResolvedRun, *names: str) -> ResolvedRun:
    """Return the run with inherited authority that was not removed."""
    return run._replace(spec=run.spec._replace(credentials=CredentialPosture(ambient_unremoved=names)))


def line_of(report: IsolationReport, domain: Domain) -> DomainLine:
    return report.domains[DOMAINS.index(domain)]


# --- posture ---

OPTIONAL = wanted(NETWORK, posture=Posture.OPTIONAL)
UNMET = wanted(Domain.IPC, posture=Posture.OPTIONAL)
PERMITTED = wanted(Domain.IPC, posture=Posture.DEGRADE_IF_UNAVAILABLE)
REFUSED_PATHS = Refusal(RefusalKind.PATHS, "a path cannot be granted")


class Standing(NamedTuple):
    """How a run stands: the run, its posture, whether nothing was left to the program, and words of the detail."""

    run: ResolvedRun
    posture: ReportedPosture
    least_authority: bool
    words: str


STANDINGS: Dict[str, Standing] = {
    "all met": Standing(resolved(), READY, True, "every requirement has a control"),
    "an optional one that is met": Standing(resolved([wanted(), OPTIONAL]), READY, True, "every requirement"),
    "one unmet as permitted": Standing(resolved([wanted(), UNMET]), DEGRADED, True, "1 requirement(s) are not met"),
    "one degraded as permitted": Standing(resolved([wanted(), PERMITTED]), DEGRADED, True, "1 requirement(s)"),
    "both": Standing(resolved([wanted(), UNMET, PERMITTED]), DEGRADED, True, "2 requirement(s)"),
    "authority left": Standing(left_over(resolved(), "GH_TOKEN"), DEGRADED, False, "inherited authority"),
    "authority left, and one unmet": Standing(
        left_over(resolved([wanted(), UNMET]), "GH_TOKEN"), DEGRADED, False, "1 requirement(s)"
    ),
    "no boundary": Standing(resolved(isolation="none"), NO_BOUNDARY, False, "all of this user's rights"),
    "no boundary, and authority left": Standing(
        left_over(resolved(isolation="none"), "GH_TOKEN"), NO_BOUNDARY, False, "no isolation was requested"
    ),
    "no backend": Standing(resolved(abi=4), REFUSED, False, "cannot be selected on this host"),
    "a required one unmet": Standing(resolved([wanted(Domain.IPC)]), REFUSED, False, "cannot meet what is required"),
    "refused paths": Standing(resolved(refusal=REFUSED_PATHS), REFUSED, False, "a path cannot be granted"),
    "refused, and authority left": Standing(left_over(resolved(abi=4), "GH_TOKEN"), REFUSED, False, "cannot be"),
    "nothing to load": Standing(resolved(policy="tools:\n  a:\n    allow: true\n"), REFUSED, False, "NoRequirements"),
}


@pytest.mark.parametrize("case", STANDINGS)
def test_how_a_run_stands(case: str) -> None:
    standing = STANDINGS[case]
    report = before(standing.run)
    assert (report.posture, report.least_authority) == (standing.posture, standing.least_authority)
    assert standing.words in report.posture_detail


def test_every_posture_is_met() -> None:
    assert {standing.posture for standing in STANDINGS.values()} == set(ReportedPosture)


def test_asking_for_nothing_is_never_ready() -> None:
    assert before(resolved(isolation="none")).posture is NO_BOUNDARY
    run = resolved()
    assert run.plan is not None
    nothing = run._replace(plan=EnforcementPlan(run.plan.backend, ()), spec=run.spec._replace(requirements=()))
    assert before(nothing).posture is not READY


@pytest.mark.parametrize(
    "inventory, least",
    [
        (CLEAN, True),
        (DescriptorInventory((*CLEAN.descriptors, Descriptor(9, DescriptorDisposition.CLOSED_BEFORE_EXEC))), True),
        (DescriptorInventory((Descriptor(9, DescriptorDisposition.RESIDUAL_UNCLOSABLE, "open"),)), False),
        (DescriptorInventory((Descriptor(9, DescriptorDisposition.UNMEASURED, "unknown"),)), False),
        (DescriptorInventory((), "/proc is not mounted"), False),
    ],
)
def test_a_descriptor_that_is_left_or_unknown_is_authority_too(inventory: DescriptorInventory, least: bool) -> None:
    assert before(resolved(descriptors=inventory)).least_authority is least


def test_an_inventory_that_is_missing_asserts_nothing() -> None:
    assert before(resolved()).least_authority
    assert not before(resolved())._replace(descriptors=None).least_authority


# --- what belongs to a report ---


@pytest.mark.parametrize("stage", list(ReportStage), ids=lambda stage: str(stage.value))
def test_the_report_repeats_the_run_and_adds_nothing(stage: ReportStage) -> None:
    found = resolution(ceilings=ResourceLimits(max_open_files=64))
    report = before(found.run) if stage is ReportStage.PRE_LAUNCH else after(found)
    run = found.run
    assert run.plan is not None and report.stage is stage
    assert (report.identity, report.target_program, report.target_arg_count) == (IDENTITY, "true", 0)
    assert report.backend == run.plan.backend and report.selection == run.selection
    assert report.requirements == run.spec.requirements and len(report.requirements) == 3
    assert (report.floor, report.grants, report.descriptors) == (run.plan.floor, run.grants, run.descriptors)
    assert report.refusal is None


def test_without_a_boundary_nothing_is_requested_and_no_backend_is_named() -> None:
    report = before(resolved(isolation="none", ceilings=ResourceLimits(max_open_files=64)))
    assert report.requirements == () and report.backend is None and report.floor == () and report.limits == ()
    assert report.selection.considered == () and report.selection.mode is SelectionMode.DEFAULT
    assert {line.unmeasured_reason for line in report.domains} == {UnmeasuredReason.NO_BACKEND_SELECTED}
    assert {line.state for line in report.domains} == {ControlState.UNMEASURED}


# --- why a domain is unmeasured ---


@pytest.mark.parametrize(
    "run, domain, reason",
    [
        (resolved(), NETWORK, UnmeasuredReason.NO_CONTROL_REQUESTED),
        (resolved(), READ, None),
        (resolved(isolation="none"), READ, UnmeasuredReason.NO_BACKEND_SELECTED),
        (resolved(isolation="none"), NETWORK, UnmeasuredReason.NO_BACKEND_SELECTED),
        (resolved(abi=4), READ, UnmeasuredReason.NO_BACKEND_SELECTED),
        (resolved([wanted(Domain.IPC), wanted()]), Domain.IPC, None),
        (resolved([wanted(Domain.IPC), wanted()]), READ, UnmeasuredReason.NO_BACKEND_SELECTED),
        (resolved(refusal=REFUSED_PATHS), READ, UnmeasuredReason.NO_BACKEND_SELECTED),
    ],
)
def test_a_domain_is_unmeasured_for_exactly_one_reason(
    run: ResolvedRun, domain: Domain, reason: Optional[UnmeasuredReason]
) -> None:
    line = line_of(before(run), domain)
    assert line.unmeasured_reason is reason
    assert (line.state is ControlState.UNMEASURED) is (reason is not None)


def test_blocked_unsupported_and_unmeasured_stay_three_states() -> None:
    report = before(resolved([wanted(), wanted(Domain.IPC, posture=Posture.OPTIONAL)]))
    states = [line_of(report, domain).state for domain in (READ, Domain.IPC, WRITE)]
    assert states == [ControlState.PREVENTION, ControlState.UNSUPPORTED, ControlState.UNMEASURED]


# --- four silences ---

CAPABLE: Dict[str, Any] = {"abi": 9}
RUNS = {
    "stated": resolved(**CAPABLE),
    "not derived": resolved(policy="filesystem: [", **CAPABLE),
    "without a boundary": resolved(isolation="none", **CAPABLE),
}


@pytest.mark.parametrize(
    "case, domain, requested",
    [
        ("stated", READ, STATED),
        ("stated", NETWORK, NOT_STATED),
        ("stated", Domain.IPC, NOT_STATED),
        ("stated", RESOURCE, NOT_STATED),
        ("stated", Domain.NAME_RESOLUTION, CANNOT_EXPRESS),
        ("stated", Domain.WORKSPACE_TRANSACTION, CANNOT_EXPRESS),
        ("not derived", READ, NOT_DERIVED),
        ("not derived", Domain.IPC, NOT_DERIVED),
        ("without a boundary", READ, STATED),  # the policy says it, and nothing holds it
        ("without a boundary", Domain.CREDENTIAL, NOT_STATED),
        ("without a boundary", Domain.NAME_RESOLUTION, CANNOT_EXPRESS),
    ],
)
def test_what_was_asked_is_one_of_four(case: str, domain: Domain, requested: RequestedControl) -> None:
    assert line_of(before(RUNS[case]), domain).requested is requested


def test_the_four_silences_are_told_apart_in_words() -> None:
    lines = [line_of(before(RUNS["stated"]), domain) for domain in (READ, NETWORK, Domain.NAME_RESOLUTION)]
    lines.append(line_of(before(RUNS["not derived"]), READ))
    assert [line.requested for line in lines] == list(RequestedControl)
    details = [line.requested_detail for line in lines]
    assert len(set(details)) == 4 and all(details)
    for detail in details[2:]:  # neither of them may be read as "no restriction is needed"
        assert "restrict" not in detail and "no policy" in detail


EVERYTHING = (
    "filesystem: {read: {allow: [/usr]}, write: {allow: []}}\nnetwork: {allowlist: []}\n"
    "capabilities: {deny: [terminal_exec]}\nsyscalls: {allow: [read]}\n"
)


@pytest.mark.parametrize("abi", range(10))
@pytest.mark.parametrize("isolation", ["none", "process", "auto"])
def test_what_a_policy_does_not_or_cannot_express_never_becomes_prevented(abi: int, isolation: str) -> None:
    found = resolution(policy=EVERYTHING, abi=abi, isolation=isolation)
    reports = [before(found.run)]
    if found.run.plan is not None:
        reports.append(after(found, file_read="held", file_write="held", call="held"))
    silent = {
        Domain.NAME_RESOLUTION: CANNOT_EXPRESS, Domain.IPC: NOT_STATED, Domain.CREDENTIAL: NOT_STATED,
        RESOURCE: NOT_STATED, Domain.WORKSPACE_TRANSACTION: CANNOT_EXPRESS,
    }  # fmt: skip
    unexpressed = [line for report in reports for line in report.domains if line.requested is not STATED]
    assert [(line.domain, line.requested) for line in unexpressed] == list(silent.items()) * len(reports)
    for line in unexpressed:
        assert line.state is ControlState.UNMEASURED and not line.prevention_supported
        assert line.claim is ClaimTerm.UNMEASURED


@pytest.mark.parametrize("case", STANDINGS)
def test_no_report_before_a_launch_asserts_coverage_or_says_less_than_all_ten(case: str) -> None:
    report = before(STANDINGS[case].run)
    assert tuple(line.domain for line in report.domains) == DOMAINS
    assert {CLAIM_RANK[line.claim] for line in report.domains} == {0}
    assert not any(line.prevention_supported for line in report.domains)


# --- gaps ---


def test_the_gaps_of_the_policy_format_are_said_where_a_domain_is_stated() -> None:
    more = "ipc: {unix: {allow: []}}\ncredentials: {environment: {allow: [A]}}\nresources: {max_open_files: 9}\n"
    report = before(resolved(policy=EVERYTHING + more, abi=9))
    gaps: Dict[Domain, Tuple[str, ...]] = {line.domain: line.policy_gaps for line in report.domains}
    stated = (READ, WRITE, NETWORK, Domain.SYSCALL, Domain.PROCESS_CREATION, Domain.IPC, Domain.CREDENTIAL)
    assert all(gaps[domain] for domain in stated)
    assert not any(gaps[domain] for domain in DOMAINS if domain not in stated)
    assert line_of(before(resolved()), NETWORK).policy_gaps == ()
