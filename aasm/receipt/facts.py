# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The words of a receipt that no other stage has, and the values that a receipt is built from. Decides nothing."""

from __future__ import annotations

from enum import Enum
from typing import Iterable, NamedTuple

from ..model.evidence import EnforcementEvidence
from ..model.record import Ending, RunRecord
from ..model.report import IsolationReport, UnmeasuredReason
from ..model.requirements import ExecutionSpec

SCHEMA = "aasm.execution.receipt/1"
SEAL_KIND = "content_digest_sha256"
SEALED_BY = "aasm"
CANONICAL_FORM = "json/sorted-keys/compact/integers-only"


class TextKind(Enum):
    """What a tagged text is. A withheld one has no value at all, not even a part of it."""

    TOKEN = "token"
    VALUE = "value"
    WITHHELD = "withheld"


class FactBasis(Enum):
    """Why a host fact is believed: found out on this very run, stated by somebody, or not at all."""

    MEASURED = "measured"
    ASSERTED = "asserted"
    UNMEASURED = "unmeasured"


class DegradedKind(Enum):
    """In what way a run fell short of what was asked, or a receipt of what could be said."""

    CONTROL_SHORTFALL = "control_shortfall"
    CONTROL_UNSUPPORTED = "control_unsupported"
    NOT_MEASURED = "not_measured"
    UNREMOVED_AMBIENT_AUTHORITY = "unremoved_ambient_authority"
    FIELD_WITHHELD = "field_withheld"
    FACT_UNAVAILABLE = "fact_unavailable"


class CanaryResult(Enum):
    """What became of one canary: `held` means that the boundary refused it."""

    NOT_APPLICABLE = "not_applicable"
    INCONCLUSIVE = "inconclusive"
    HELD = "held"
    BREACHED = "breached"


class Termination(Enum):
    """Who ended the program."""

    SELF_EXITED = "self_exited"
    WALL_CLOCK_CEILING_EXCEEDED = "wall_clock_ceiling_exceeded"
    OPERATOR_REQUESTED = "operator_requested"


RESOLUTIONS = ("enforced", "permissive", "unconfigured", "load_failed")
INHERITANCE_MODES = ("none", "same", "narrower", "independently_approved")
NOT_TRANSACTIONAL = (
    "network_side_effects",
    "database_side_effects",
    "paths_outside_declared_surface",
    "processes_and_ipc",
)


class HostFact(NamedTuple):
    """One fact about the host. Build it with `measured`, `asserted` or `unmeasured`; `name` is of a-z, 0-9 and _."""

    name: str
    value: str | None
    basis: FactBasis
    origin: str  # measured: the source; asserted: who says so; unmeasured: the detail
    reason: UnmeasuredReason | None = None


def measured(name: str, value: str, source: str) -> HostFact:
    """Return a fact that `source` (a file or a call) gave on this run."""
    return HostFact(name, value, FactBasis.MEASURED, source)


def asserted(name: str, value: str, by: str) -> HostFact:
    """Return a fact that nothing probed: `by` states it."""
    return HostFact(name, value, FactBasis.ASSERTED, by)


def unmeasured(name: str, reason: UnmeasuredReason, detail: str) -> HostFact:
    """Return a fact that is not known, with the reason."""
    return HostFact(name, None, FactBasis.UNMEASURED, detail, reason)


class PolicyFacts(NamedTuple):
    """Which policy held. `digest` is of its canonical form, None when there was no policy."""

    digest: str | None
    source: str
    resolution: str  # one of RESOLUTIONS


class Canary(NamedTuple):
    """One attempt, inside the boundary of this run, at something that the boundary must refuse."""

    name: str
    result: CanaryResult
    detail: str = ""


class Execution(NamedTuple):
    """How the program ran and ended. Times are seconds since 1970; `ended_at` is `started_at` plus monotonic time."""

    started_at: int
    ended_at: int
    exit_code: int | None
    no_code_detail: str = ""  # why there is no exit code
    termination: Termination = Termination.SELF_EXITED
    ceiling_secs: int = 0  # of an exceeded wall-clock ceiling, with the next two
    termination_delivered: bool = False
    termination_detail: str = ""
    forwarded: bool = False  # of an operator's request: whether the signal was passed on to the program


def execution_of(record: RunRecord, ceiling_secs: int | None) -> Execution:
    """Return how the run of `record` went, in the words of a receipt; `ceiling_secs` is its wall-clock ceiling."""
    no_code = "" if record.signal is None else f"ended by signal {record.signal}"
    if record.code is None and not no_code:
        no_code = f"no exit code was seen ({record.ending.value})"
    made = Execution(record.started_at, record.ended_at, record.code, no_code)
    if record.ending is Ending.WALL_CLOCK:
        detail = no_code or f"ended with code {record.code} within the grace after SIGTERM"
        made = made._replace(termination=Termination.WALL_CLOCK_CEILING_EXCEEDED, ceiling_secs=ceiling_secs or 0)
        return made._replace(termination_delivered=True, termination_detail=detail)
    if record.forwarded is not None:
        return made._replace(termination=Termination.OPERATOR_REQUESTED, forwarded=True)
    return made


def canaries_of(record: RunRecord, reasons: Iterable[tuple[str, str]]) -> tuple[Canary, ...]:
    """Return the canaries of a run; `reasons` says of each name why it was not tried, "" when it was."""
    stated = dict(reasons)
    return tuple(
        Canary(name, CanaryResult(result), stated.get(name) or _CANARY_DETAIL.get(result, ""))
        for name, result in record.canaries.items()
    )


_CANARY_DETAIL = {CanaryResult.INCONCLUSIVE.value: "it was impossible before the boundary as well, or failed otherwise"}


class ReceiptFacts(NamedTuple):
    """Everything that one receipt is built from. The report is the one made after the run."""

    recorded_at: int  # seconds since 1970
    release: str
    source_revision: str | None
    code_digest: str | None
    policy: PolicyFacts
    spec: ExecutionSpec
    report: IsolationReport
    evidence: EnforcementEvidence
    host: tuple[HostFact, ...]
    sealed: bool  # the launcher reported a sealed boundary
    canaries: tuple[Canary, ...]
    execution: Execution
    survivors_killed: int
