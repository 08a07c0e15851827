# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The isolation report: for each domain what was requested beside what was planned and achieved."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from .descriptors import DescriptorInventory
from .domains import BackendCapabilities, CapabilityDomain
from .evidence import ClaimTerm, EvidenceBasis
from .grants import Grant
from .plan import Outcome, Refusal, Selection
from .requirements import CredentialPosture, Identity, Requirement

REPORT_SCHEMA = "aasm.isolation.report/1"


class RequestedControl(Enum):
    """What the run asked about a domain. The last three are three different silences."""

    STATED = "stated"
    NOT_STATED = "not_stated"
    POLICY_CANNOT_EXPRESS = "policy_cannot_express"
    NOT_DERIVED = "not_derived"  # no policy was lowered at all, so nobody knows


class ScopeGranularity(Enum):
    """How finely the policy format can state a domain."""

    ENUMERATED = "enumerated"
    WHOLE_DOMAIN_ONLY = "whole_domain_only"


class Coverage(NamedTuple):
    """What the policy says about one domain, and what it cannot say."""

    domain: CapabilityDomain
    requested: RequestedControl
    detail: str
    granularity: ScopeGranularity | None = None  # of a stated domain that a policy node states
    gaps: tuple[str, ...] = ()  # what the policy format cannot express about a stated domain


class ControlState(Enum):
    """What the plan makes of a domain, weakest first: several requirements fold to the minimum."""

    UNSUPPORTED = "unsupported"
    DEGRADED = "degraded"
    UNMEASURED = "unmeasured"
    OBSERVE_ONLY = "observe_only"
    PREVENTION = "prevention"


CONTROL_STATES = tuple(ControlState)


class UnmeasuredReason(Enum):
    """Why a domain is unmeasured."""

    NO_BACKEND_SELECTED = "no_backend_selected"
    NO_CONTROL_REQUESTED = "no_control_requested"
    INCONCLUSIVE = "inconclusive"


class ReportStage(Enum):
    """Before the launch nothing may claim coverage; afterwards only what was measured."""

    PRE_LAUNCH = "pre_launch"
    POST_RUN = "post_run"


class ReportedPosture(Enum):
    """How the run as a whole stands. Asking for nothing is `no_boundary`, never `ready`."""

    READY = "ready"
    DEGRADED = "degraded"
    REFUSED = "refused"
    NO_BOUNDARY = "no_boundary"


class DomainLine(NamedTuple):
    """Everything said about one domain."""

    domain: CapabilityDomain
    requested: RequestedControl
    requested_detail: str
    state: ControlState
    state_detail: str
    unmeasured_reason: UnmeasuredReason | None
    claim: ClaimTerm
    basis: EvidenceBasis
    prevention_supported: bool
    policy_gaps: tuple[str, ...]
    expected: ClaimTerm = ClaimTerm.UNMEASURED  # what the plan can come to in this run, at the most
    sources: tuple[str, ...] = ()  # what will give evidence: what is installed, and what exercises it
    granularity: ScopeGranularity | None = None


class IsolationReport(NamedTuple):
    """The whole report. `domains` always has all ten lines, in the order of the vocabulary."""

    stage: ReportStage
    posture: ReportedPosture
    posture_detail: str
    identity: Identity
    target_program: str
    target_arg_count: int
    backend: BackendCapabilities | None
    selection: Selection
    refusal: Refusal | None
    requirements: tuple[Requirement, ...]  # the requested capability set
    outcomes: tuple[Outcome, ...]  # what the plan makes of each of them; empty without a plan
    domains: tuple[DomainLine, ...]
    credentials: CredentialPosture
    descriptors: DescriptorInventory | None
    grants: tuple[Grant, ...]
    limits: tuple[str, ...]  # what is not held within the domains that are required
    floor: tuple[str, ...]
    unmapped: tuple[str, ...]

    @property
    def least_authority(self) -> bool:
        """Say whether there is a boundary and nothing inherited was left to the program: no name, no descriptor."""
        bounded = self.posture in (ReportedPosture.READY, ReportedPosture.DEGRADED)
        clean = self.descriptors is not None and self.descriptors.asserts_clean_boundary
        return bounded and clean and not self.credentials.ambient_unremoved
