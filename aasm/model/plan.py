# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What negotiation and selection decide: a plan, or a refusal that lists everything unmet. All of them are values."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .domains import BackendCapabilities, CapabilityDomain, DecisionTiming, DescendantCoverage
from .evidence import ClaimTerm
from .requirements import Requirement


class RefusalReason(Enum):
    """Why a requirement cannot be met. The order is the order of the checks."""

    BACKEND_UNAVAILABLE = "backend_unavailable"
    NO_CAPABILITY_REPORTED = "no_capability_reported"
    DOMAIN_UNSUPPORTED = "domain_unsupported"
    OBSERVE_ONLY_FOR_PREVENTION_REQUIREMENT = "observe_only_for_prevention_requirement"
    DECISION_TOO_LATE = "decision_too_late"
    DECISION_NOT_SYNCHRONOUS = "decision_not_synchronous"
    NO_EVIDENCE_PRODUCED = "no_evidence_produced"
    PREREQUISITE_UNSATISFIED = "prerequisite_unsatisfied"
    DESCENDANT_COVERAGE_INSUFFICIENT = "descendant_coverage_insufficient"
    EVIDENCE_QUALITY_BELOW_MINIMUM = "evidence_quality_below_minimum"


class Shortfall(NamedTuple):
    """One requirement that cannot be met, with the reason as a token and in words."""

    domain: CapabilityDomain | None  # None only when the backend as a whole is unavailable
    reason: RefusalReason
    detail: str
    stated_by: str = ""  # the policy node or option that asked


class OutcomeKind(Enum):
    """What a plan makes of one requirement. Only `enforced` is prevention."""

    ENFORCED = "enforced"
    OBSERVED = "observed"
    DEGRADED = "degraded"
    UNMET = "unmet"


OUTCOME_CEILING = {
    OutcomeKind.ENFORCED: ClaimTerm.DENIED_BEFORE_EXECUTION,
    OutcomeKind.OBSERVED: ClaimTerm.OBSERVED,
    OutcomeKind.DEGRADED: ClaimTerm.DEGRADED,
    OutcomeKind.UNMET: ClaimTerm.UNMEASURED,
}


class Outcome(NamedTuple):
    """The result of negotiating one requirement. A degraded one carries both levels: asked and achieved.

    `timing` and `descendants` are what is achieved; `none` and `unmeasured` when that is nothing.
    """

    requirement: Requirement
    kind: OutcomeKind
    timing: DecisionTiming
    descendants: DescendantCoverage
    shortfall: Shortfall | None  # of degraded and unmet outcomes
    lowering: str  # the backend's own words about what it will do; of shortfalls too


class LaunchPosture(Enum):
    """How a planned launch stands. A refused launch is no plan, so it is not listed here."""

    READY = "ready"
    DEGRADED = "degraded"


class EnforcementPlan(NamedTuple):
    """What one backend will hold for one run."""

    backend: BackendCapabilities
    outcomes: tuple[Outcome, ...]
    floor: tuple[str, ...] = ()  # what the backend refuses by itself; policy never asked for it

    @property
    def shortfalls(self) -> tuple[Shortfall, ...]:
        """Return what is not met, by permission of the requirements themselves."""
        return tuple(outcome.shortfall for outcome in self.outcomes if outcome.shortfall)

    @property
    def posture(self) -> LaunchPosture:
        """Return `ready` only when every requirement is met."""
        return LaunchPosture.DEGRADED if self.shortfalls else LaunchPosture.READY


class RefusalKind(Enum):
    """At which gate a launch was refused. Every one of them comes before anything untrusted starts."""

    POLICY = "policy"
    NO_REQUIREMENTS_LOWERED = "no_requirements_lowered"
    SELECTION = "selection"
    NEGOTIATION = "negotiation"
    EVIDENCE_MINIMUM = "evidence_minimum"
    PATHS = "paths"
    REGISTRATION = "registration"


class Refusal(NamedTuple):
    """A launch that does not happen. `shortfalls` lists all, not only the first.

    `text` is for a person and may have several lines: what comes from outside is in it as `errors.one_line` has it.
    """

    kind: RefusalKind
    text: str
    shortfalls: tuple[Shortfall, ...] = ()


# --- selection ---------------------------------------------------------------------------------


class SelectionMode(Enum):
    """Who chose the backend: the operator by name, the walk over the candidates, or nobody in particular."""

    EXPLICIT = "explicit"
    AUTOMATIC = "automatic"
    DEFAULT = "default"


class CandidateVerdict(Enum):
    """What became of one candidate."""

    SELECTED = "selected"
    REJECTED_UNAVAILABLE = "rejected_unavailable"
    REJECTED_REQUIREMENTS_UNMET = "rejected_requirements_unmet"


class Considered(NamedTuple):
    """One candidate that was asked, and why it was turned down. One that was never asked is not listed."""

    id: str
    verdict: CandidateVerdict
    detail: str = ""
    unmet_domains: tuple[CapabilityDomain, ...] = ()


class Selection(NamedTuple):
    """How the backend was chosen, and every candidate that was asked, in order."""

    mode: SelectionMode
    considered: tuple[Considered, ...] = ()
