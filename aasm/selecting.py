# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The selection of a backend: one that is pinned, the default, or the first candidate that can hold the run.

There is no fallback, neither to another class nor to no boundary. A refusal is a value here.
"""

from __future__ import annotations

from typing import NamedTuple

from . import backends
from ._sys.probe import HostFacts
from .backends.base import Backend
from .errors import one_line
from .model.domains import BackendCapabilities
from .model.plan import (
    CandidateVerdict,
    Considered,
    EnforcementPlan,
    Refusal,
    RefusalKind,
    Selection,
    SelectionMode,
    Shortfall,
)
from .model.request import Request
from .model.requirements import Requirement, RequirementPosture, RuntimeRequirements
from .planner import Verdict, evaluate, subject
from .stating import Stated


class Chosen(NamedTuple):
    """What became of the selection: a backend with its plan, a refusal, or neither when no boundary is asked for."""

    selection: Selection
    backend: Backend | None = None
    plan: EnforcementPlan | None = None
    refusal: Refusal | None = None


def choose(request: Request, stated: Stated, host: HostFacts) -> Chosen:
    """Return the backend and the plan that hold what is stated, or the refusal."""
    mode = _mode(request)
    if request.isolation == "none":
        return Chosen(Selection(mode))
    if stated.refusal is not None:
        return Chosen(Selection(mode), refusal=stated.refusal)
    if not any(item.posture is RequirementPosture.REQUIRED for item in stated.lowered.requirements):
        return Chosen(Selection(mode), refusal=_nothing_lowered(stated))
    return _walk(_candidates(request), stated.lowered.requirements, host, mode)


def _mode(request: Request) -> SelectionMode:
    if request.backend is not None:
        return SelectionMode.EXPLICIT
    return SelectionMode.AUTOMATIC if request.isolation == "auto" else SelectionMode.DEFAULT


def _candidates(request: Request) -> tuple[str, ...]:
    if request.backend is not None:
        return (request.backend,)
    return backends.IDS if request.isolation == "auto" else (backends.DEFAULT,)


def _walk(ids: tuple[str, ...], requirements: tuple[Requirement, ...], host: HostFacts, mode: SelectionMode) -> Chosen:
    considered: tuple[Considered, ...] = ()
    refusals: list[Refusal] = []
    for backend_id in ids:  # lazily: a later one is not even imported once an earlier one is eligible
        backend = backends.backend(backend_id)
        verdict = _verdict(backend, requirements, host)
        considered += (_considered(backend_id, verdict),)
        if isinstance(verdict, EnforcementPlan):
            return Chosen(Selection(mode, considered), backend, verdict)
        refusals.append(verdict)
    return Chosen(Selection(mode, considered), refusal=_refusal(ids, refusals, mode))


def _verdict(backend: Backend, requirements: tuple[Requirement, ...], host: HostFacts) -> Verdict:
    found: BackendCapabilities = backend.narrow(backend.capabilities(host), requirements)
    return evaluate(found, RuntimeRequirements(requirements), backend.floor())


def _considered(backend_id: str, verdict: Verdict) -> Considered:
    if isinstance(verdict, EnforcementPlan):
        return Considered(backend_id, CandidateVerdict.SELECTED)
    if verdict.kind is RefusalKind.SELECTION:
        return Considered(backend_id, CandidateVerdict.REJECTED_UNAVAILABLE, verdict.text)
    unmet = tuple(dict.fromkeys(item.domain for item in verdict.shortfalls if item.domain))
    detail = "; ".join(f"{subject(item)}: {item.detail}" for item in verdict.shortfalls)
    return Considered(backend_id, CandidateVerdict.REJECTED_REQUIREMENTS_UNMET, detail, unmet)


# --- refusals ---------------------------------------------------------------------------------------


def _nothing_lowered(stated: Stated) -> Refusal:
    text = (
        f"refusing to launch: NoRequirementsLowered: an execution-isolation boundary was requested and the policy "
        f"({one_line(stated.policy.source)}) states nothing that a boundary could hold; state filesystem, network, "
        f"ipc, credentials, syscalls or max_open_files, or deny a capability that stands for a whole domain, or re-run "
        f"with `--isolation none` to launch unconfined deliberately"
    )
    return Refusal(RefusalKind.NO_REQUIREMENTS_LOWERED, text)


def _refusal(ids: tuple[str, ...], refusals: list[Refusal], mode: SelectionMode) -> Refusal:
    """Return one refusal that names every candidate and everything that each of them lacks."""
    asked = "refusing to launch: an execution-isolation boundary was requested and"
    found = [_why(backend_id, refusal) for backend_id, refusal in zip(ids, refusals)]
    lines = [f"{asked} {found[0]}"] if len(found) == 1 else [f"{asked} no backend can hold it.", *found]
    pin = "Leave `--isolation-backend` out, change" if mode is SelectionMode.EXPLICIT else "Change"
    lines.append(f"There is no fallback. {pin} the policy, the ceilings or the host,")
    lines.append("or re-run with `--isolation none` to launch unconfined deliberately.")
    unmet: tuple[Shortfall, ...] = tuple(item for refusal in refusals for item in refusal.shortfalls)
    kinds = {refusal.kind for refusal in refusals}
    kind = kinds.pop() if len(kinds) == 1 else RefusalKind.NEGOTIATION
    return Refusal(kind, "\n".join(lines), unmet)


def _why(backend_id: str, refusal: Refusal) -> str:
    if refusal.kind is RefusalKind.SELECTION:
        return f"the `{backend_id}` backend cannot be selected on this host: {one_line(refusal.text)}"
    return refusal.text
