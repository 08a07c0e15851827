# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a canary is evidence of: of the domain it exercises, where the plan enforces all that was asked of that."""

from __future__ import annotations

import itertools
from typing import Dict, List, Mapping, Optional, Tuple

import pytest
from support.contract import NETWORK, READ, RESOURCE, WRITE, outcome, wanted
from support.reports import CASES, LAUNCHED
from support.runs import after, before, ended, record, resolution, run_of

from aasm import evidence
from aasm._sys.boundary import CANARIES
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.evidence import ClaimTerm, EvidenceBasis, EvidenceKind, asserts_coverage
from aasm.model.plan import Outcome, OutcomeKind
from aasm.model.record import Ending
from aasm.model.report import DomainLine, IsolationReport
from aasm.model.requirements import Requirement, ResourceLimits, ceilings
from aasm.model.resolved import SpawnSpec
from aasm.run import Resolution

SYSCALL = Domain.SYSCALL
ENFORCED, OBSERVED, DEGRADED, UNMET = OutcomeKind
SPEAKS_OF: Dict[str, Optional[Domain]] = {
    "file_read": READ, "file_write": WRITE, "open_files": RESOURCE, "file_size": RESOURCE, "call": None,
}  # fmt: skip
SPEC = SpawnSpec(b"", b"", False, (), (), ())
ALL_HELD = dict.fromkeys(CANARIES, "held")


def exercised(*found: str, outcomes: Tuple[Outcome, ...]) -> List[Tuple[Optional[Domain], ClaimTerm]]:
    """Return what the canaries that held are evidence of, beside such a plan."""
    run = run_of(*outcomes)
    known = record()._replace(canaries=dict.fromkeys(found, "held"))
    records = evidence.collect(run, SPEC, known).records
    return [(item.domain, item.claim) for item in records if item.kind is EvidenceKind.EXERCISED]


def closed(found: Resolution, canaries: Mapping[str, str]) -> IsolationReport:
    """Return the report of a run that exited, with these canaries."""
    return ended(found, Ending.EXITED, canaries)


def line_of(report: IsolationReport, domain: Domain) -> DomainLine:
    return report.domains[DOMAINS.index(domain)]


def asked(domain: Domain, *limits: str) -> Requirement:
    """Return a requirement of a domain; of `resource`, one with these ceilings in it."""
    return wanted(domain, scope=ceilings(ResourceLimits(**dict.fromkeys(limits, 5)))) if limits else wanted(domain)


CEILING = {"open_files": "max_open_files", "file_size": "max_file_size_bytes"}


def enforced(canary: str, kind: OutcomeKind = ENFORCED) -> Outcome:
    """Return an outcome of what a canary exercises."""
    domain = SPEAKS_OF[canary] or SYSCALL
    made = outcome(domain, kind)
    limits = (CEILING[canary],) if canary in CEILING else ()
    return made._replace(requirement=asked(domain, *limits))


def test_every_canary_of_the_launcher_is_known() -> None:
    assert sorted(SPEAKS_OF) == sorted(CANARIES) == sorted(evidence._CANARIES)


@pytest.mark.parametrize("kind", list(OutcomeKind), ids=lambda kind: str(kind.value))
@pytest.mark.parametrize("canary", CANARIES)
def test_a_canary_speaks_only_where_the_plan_enforces(canary: str, kind: OutcomeKind) -> None:
    domain = SPEAKS_OF[canary] if kind is ENFORCED else None
    assert exercised(canary, outcomes=(enforced(canary, kind),)) == [(domain, ClaimTerm.OBSERVED)]
    assert exercised(canary, outcomes=(outcome(NETWORK),)) == [(None, ClaimTerm.OBSERVED)]  # nobody asked about its own


@pytest.mark.parametrize("canary, kind", list(itertools.product(("file_read", "open_files"), list(OutcomeKind)[1:])))
def test_one_that_is_enforced_lends_nothing_to_a_weaker_one_of_its_domain(canary: str, kind: OutcomeKind) -> None:
    held, weaker = enforced(canary), enforced(canary, kind)
    for outcomes in ((held, weaker), (weaker, held)):
        assert exercised(canary, outcomes=outcomes) == [(None, ClaimTerm.OBSERVED)]
    assert exercised(canary, outcomes=(held, held)) == [(SPEAKS_OF[canary], ClaimTerm.OBSERVED)]


# --- the call ---

CALLS = "syscalls:\n  allow: [read, write, openat]\n"


def test_the_call_is_refused_by_the_floor_and_is_evidence_of_no_list_of_calls() -> None:
    """With a filter that had no list at all it would be refused just the same."""
    found = resolution(policy=CALLS)
    assert found.run.plan is not None and [item.kind for item in found.run.plan.outcomes] == [ENFORCED]
    line = line_of(closed(found, ALL_HELD), SYSCALL)
    assert (line.claim, line.basis, line.expected) == (
        ClaimTerm.PLANNED, EvidenceBasis.SETUP_ONLY, ClaimTerm.PLANNED,
    )  # fmt: skip
    assert not any(text.startswith(EvidenceKind.EXERCISED.value) for text in line.sources)


@pytest.mark.parametrize("name", LAUNCHED)
def test_what_the_call_showed_changes_no_line_of_any_report(name: str) -> None:
    found = LAUNCHED[name]()
    assert after(found, call="held") == after(found)
    others = {canary: "held" for canary in CANARIES if canary != "call"}
    assert closed(found, ALL_HELD) == closed(found, others)


# --- ceilings ---

FILES, SIZE = "max_open_files", "max_file_size_bytes"


@pytest.mark.parametrize(
    "stated, held, claim",
    [
        ((FILES,), ("open_files",), ClaimTerm.OBSERVED),
        ((SIZE,), ("file_size",), ClaimTerm.OBSERVED),
        ((FILES,), ("file_size",), ClaimTerm.PLANNED),
        ((FILES,), (), ClaimTerm.PLANNED),
        ((FILES, SIZE), ("open_files",), ClaimTerm.PLANNED),
        ((FILES, SIZE), ("file_size",), ClaimTerm.PLANNED),
        ((FILES, SIZE), ("open_files", "file_size"), ClaimTerm.OBSERVED),
        ((FILES, "max_wall_clock_seconds"), ("open_files",), ClaimTerm.PLANNED),  # the clock did not speak
        ((FILES, "max_cpu_seconds"), ("open_files",), ClaimTerm.UNMEASURED),  # what nothing holds is the weakest
    ],
)
def test_one_ceiling_lends_its_canary_to_no_other(
    stated: Tuple[str, ...], held: Tuple[str, ...], claim: ClaimTerm
) -> None:
    found = resolution(ceilings=ResourceLimits(**dict.fromkeys(stated, 5)))
    line = line_of(closed(found, dict.fromkeys(held, "held")), RESOURCE)
    assert line.claim is claim
    assert asserts_coverage(claim) is (line.basis is EvidenceBasis.RUNTIME_WITHOUT_DECISION)


@pytest.mark.parametrize("held", [("open_files",), ("file_size",), ("open_files", "file_size")], ids="+".join)
def test_a_requirement_of_two_ceilings_is_exercised_when_both_are(held: Tuple[str, ...]) -> None:
    both = outcome(RESOURCE)._replace(requirement=asked(RESOURCE, FILES, SIZE))
    domain = RESOURCE if len(held) == 2 else None
    assert exercised(*held, outcomes=(both,)) == [(domain, ClaimTerm.OBSERVED)] * len(held)


def test_a_ceiling_without_a_number_is_exercised_by_nothing() -> None:
    whole = outcome(RESOURCE)._replace(requirement=asked(RESOURCE))
    assert exercised("open_files", "file_size", outcomes=(whole,)) == [(None, ClaimTerm.OBSERVED)] * 2


# --- taking a canary away takes its claim away ---


@pytest.mark.parametrize("result", ["not_applicable", "inconclusive"])
@pytest.mark.parametrize("taken", [name for name, domain in SPEAKS_OF.items() if domain])
def test_without_its_canary_no_domain_is_claimed_to_be_covered(taken: str, result: str) -> None:
    domain = SPEAKS_OF[taken]
    assert domain is not None
    limits = ResourceLimits(**{CEILING[taken]: 5}) if taken in CEILING else ResourceLimits()
    found = resolution(ceilings=limits)
    whole, without = closed(found, ALL_HELD), closed(found, {**ALL_HELD, taken: result})
    assert asserts_coverage(line_of(whole, domain).claim)
    assert not asserts_coverage(line_of(without, domain).claim)
    others = [(a.claim, b.claim) for a, b in zip(whole.domains, without.domains) if a.domain is not domain]
    assert all(before is later for before, later in others)


@pytest.mark.parametrize("name", CASES)
def test_what_has_no_boundary_or_was_refused_has_no_sources(name: str) -> None:
    found = CASES[name]()
    assert any(line.sources for line in before(found.run).domains) is (found.run.plan is not None)
