# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Renders a resolved run for a dry run, as text or as one JSON object. Decides nothing and reads nothing else.

`facts` says everything once. JSON is those facts as they are, and the text is made of them, so neither can say what the
other does not. No value that may be a secret is among them.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, Mapping

from .. import evidence
from .._sys import process
from ..backends.base import LaunchFacts
from ..errors import RefusalError, UsageError, one_line
from ..model.grants import Grant
from ..model.plan import EnforcementPlan, Outcome
from ..model.report import REPORT_SCHEMA, IsolationReport, ReportedPosture, ReportStage
from ..model.requirements import Identity, Requirement, permitted, stated_ceilings
from ..model.resolved import ResolvedRun
from ..model.sections import FidelityState, ManagedSettings
from ..policy.lowering import describe
from ..run import Resolution
from . import human, machine, sections
from .masking import MASK, REMOVED, variables

SCHEMA = "aasm.run.preview/1"
TITLE = "--- aasm run dry-run ---"
LEASE_PLAN = "--- lease plan (PLAN: point-in-time, not authorization) ---"
NO_DID = "<no-durable-identity-key>"  # nothing here holds a key that would outlive the run
SHOWN = 1024  # characters of managed settings
FIDELITY = {"verbatim": "verbatim", "from_adapter": "from adapter", "degraded": "DEGRADED"}

Facts = Dict[str, Any]


def render(found: Resolution) -> str:
    """Return every section of the preview as text; those of a refused run too."""
    report = _report(found.run)
    return _joined(_sections(facts(found), human.section(report, found.run, found.host.euid)))


def as_json(found: Resolution) -> str:
    """Return the same as one JSON object in ASCII; bytes that are no UTF-8 are spelled out in it, as in the text."""
    return _json(facts(found))


def refused(identity: Identity, reason: str, in_json: bool = False) -> str:
    """Return the preview of a run that could not even be resolved, as text or as JSON: who asked, and why not."""
    made = _unresolved(identity, reason)
    if in_json:
        return _json(made)
    first, *rest = reason.splitlines() or [""]
    posture = human.POSTURES[ReportedPosture.REFUSED]
    words = [f"posture: {posture}", f"detail:  {first}", *(f"         {line}" for line in rest)]
    return _joined(_opening(made) + _isolation(made, words))


def order(found: Resolution) -> bytes:
    """Return the order that a launch would send to the launcher. RefusalError when it would refuse."""
    if found.run.refusal is not None:
        raise RefusalError(found.run.refusal.text)
    if found.backend is None:
        raise UsageError("without a boundary there is no order", "--show-order", "ask for --isolation process")
    launch = LaunchFacts(found.host, process.blocked_signals(), b"aasm-by-hand")
    return found.backend.prepare(found.run, launch).order


def _report(run: ResolvedRun) -> IsolationReport:
    return evidence.report(run, evidence.planned(run), ReportStage.PRE_LAUNCH)


def _json(made: Facts) -> str:
    import json  # only here: most previews are read by people

    return json.dumps(_text(made), sort_keys=True, indent=2)


def _text(value: Any) -> Any:
    """Return `value` with the bytes that are no UTF-8 spelled out: JSON has no word for them."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {_text(name): _text(item) for name, item in value.items()}
    return [_text(item) for item in value] if isinstance(value, list) else value


# --- the facts --------------------------------------------------------------------------------------


def facts(found: Resolution) -> Facts:
    """Return everything that the preview says, in plain values and by section."""
    run, report, fidelity = found.run, _report(found.run), sections.fidelity(found.run)
    return {
        "schema": SCHEMA,
        "identity": _identity(run.identity),
        "preview_fidelity": _stated(fidelity.state.value, fidelity.detail),
        "protection": _stated(sections.PROTECTION.state.value, sections.PROTECTION.detail),
        "policy": {"state": run.policy.state, "source": run.policy.source, "detail": run.policy.detail},
        "isolation": dict(machine.records(report)),
        "lineage": list(run.identity.lineage),
        "requirements": [_requirement(item, outcome) for item, outcome in human.asked(run)],
        "grants": [_grant(item) for item in run.grants],
        "not_held": list(human.not_held(report, found.host.euid)),
        "floor": list(report.floor),
        "descriptors": _descriptors(report),
        "managed_settings": _settings(sections.settings(run)),
        "launch_command": _command(run),
        "environment": [item._asdict() for item in variables(run)],
        "lease_plan": {"plan": "not available", "reason": sections.LEASE_PLAN.unavailable},
        "refusal": {"kind": run.refusal.kind.value, "text": run.refusal.text} if run.refusal else None,
    }


def _grant(grant: Grant) -> Facts:
    verbs = {"read": grant.read, "write": grant.write, "execute": grant.execute}
    return {"path": grant.path, **verbs, "origin": grant.origin}


def _unresolved(identity: Identity, reason: str) -> Facts:
    isolation = {
        "schema": REPORT_SCHEMA,
        "stage": ReportStage.PRE_LAUNCH.value,
        "posture": ReportedPosture.REFUSED.value,
        "posture_detail": reason,
    }
    return {
        "schema": SCHEMA,
        "identity": _identity(identity),
        "preview_fidelity": _stated(
            FidelityState.DEGRADED.value, "the run could not be resolved: nothing else is known"
        ),
        "isolation": isolation,
        "refusal": {"kind": None, "text": reason},
    }


def _identity(identity: Identity) -> Facts:
    return {
        "agent_id": identity.agent_id,
        "agent_did": NO_DID,
        "trace_id": identity.trace_id,
        "session_id": identity.session_id,
    }


def _stated(state: str, detail: str) -> Facts:
    return {"state": state, "detail": detail}


def _requirement(item: Requirement, outcome: Outcome | None) -> Facts:
    limits = item.scope.limits
    return {
        "domain": item.domain.value,
        "detail": describe(item),
        "permitted": list(permitted(item.scope)),
        "limits": stated_ceilings(limits) if limits else {},
        "stated_by": item.stated_by,
        "outcome": outcome.kind.value if outcome else None,
        "lowering": outcome.lowering if outcome else None,
    }


def _descriptors(report: IsolationReport) -> Facts:
    residual = [
        {"number": item.number, "disposition": item.disposition.value, "reason": item.reason}
        for item in human.residual(report)
    ]
    return {"residual": residual, "not_enumerable": report.descriptors.not_enumerable if report.descriptors else ""}


def _settings(settings: ManagedSettings) -> Facts:
    left_out = max(0, len(settings.text) - SHOWN)
    return {"text": settings.text[:SHOWN], "characters_left_out": left_out, "detail": settings.detail}


def _command(run: ResolvedRun) -> Facts:
    limits = stated_ceilings(run.ceilings)
    return {
        "working_dir": run.working_dir.path,
        "command": " ".join(map(_quoted, run.argv)),
        "argv": [os.fsdecode(item) for item in run.argv],
        "ceilings": [
            {"name": name, "value": value, "kept_by": _keeper(run.plan, name)} for name, value in limits.items()
        ],
    }


def _keeper(plan: EnforcementPlan | None, name: str) -> str:
    """Return in the backend's words what keeps a ceiling, or that nothing does."""
    for outcome in plan.outcomes if plan else ():
        limits = outcome.requirement.scope.limits
        if limits is not None and name in stated_ceilings(limits):
            return f"nothing ({outcome.shortfall.detail})" if outcome.shortfall else outcome.lowering
    return "nothing (there is no plan)"


def _quoted(word: bytes) -> str:
    """Return a word as a POSIX shell takes it back; one that would not print, in POSIX.1-2024's dollar quotes."""
    text = os.fsdecode(word)
    if text.isprintable():
        from shlex import quote  # only here: a live launch quotes nothing

        return f"'{text}'" if text and quote(text) == text and "=" in text else quote(text)
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./=:,+@%"
    return "$'" + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in word) + "'"


# --- the text ---------------------------------------------------------------------------------------


def _joined(lines: List[str]) -> str:
    return "\n".join(map(one_line, lines))


def _sections(made: Facts, isolation: List[str]) -> List[str]:
    return [
        *_opening(made),
        *_section("--- protection ---", _pairs(made["protection"])),
        *_section("--- policy ---", _pairs(made["policy"])),
        *_isolation(made, isolation),
        *_section("--- managed settings ---", _settings_text(made["managed_settings"])),
        *_section("--- launch command ---", _command_text(made["launch_command"])),
        *_section("--- environment ---", map(_variable, made["environment"])),
        *_section(LEASE_PLAN, _pairs(made["lease_plan"], 0)),
    ]


def _section(header: str, lines: Iterable[str]) -> List[str]:
    return ["", header, *lines]


def _opening(made: Facts) -> List[str]:
    fidelity = made["preview_fidelity"]
    shown = {**fidelity, "state": FIDELITY[fidelity["state"]]}
    return [TITLE, *_pairs(made["identity"], 12), *_section("--- preview fidelity ---", _pairs(shown))]


def _isolation(made: Facts, words: List[str]) -> List[str]:
    keys = machine.written(made["isolation"].items())
    return [*_section("--- execution isolation ---", words), *_section(machine.HEADER, keys)]


def _pairs(values: Mapping[str, object], width: int = 7) -> List[str]:
    return [f"{name + ':':<{width}} {value}" for name, value in values.items()]


def _settings_text(settings: Facts) -> List[str]:
    """Return the settings, indented: no line of theirs can be taken for a header of ours."""
    if not settings["text"]:
        return [f"<{settings['detail']}>"]
    lines = [f"  {line}" for line in settings["text"].split("\n")]
    more = settings["characters_left_out"]
    return [*lines, f"<truncated: {more} more character(s)>"] if more else lines


def _command_text(command: Facts) -> List[str]:
    lines = _pairs({"working_dir": command["working_dir"], "command": command["command"]}, 12)
    return lines + [f"{item['name']}: {item['value']}, kept by {item['kept_by']}" for item in command["ceilings"]]


def _variable(item: Facts) -> str:
    if item["origin"] == REMOVED:
        return f"{item['name']}=<removed>"
    value = MASK if item["value"] is None else item["value"]
    return f"{item['name']}={value}  ({item['origin']})"
