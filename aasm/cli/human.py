# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The isolation report for a person: a section of the dry run, and one line for a terminal. Pure.

It says what the keys of machine.py say, and what a plan holds beside them; it decides nothing and never says more than
the report claims. A live launch imports this module.
"""

from __future__ import annotations

from typing import Iterable, Iterator, List, Tuple

from ..model.ambient import CONTROLLED_BY, authority_kind
from ..model.descriptors import Descriptor
from ..model.domains import BackendCapabilities, Provenance
from ..model.evidence import asserts_coverage
from ..model.grants import Grant
from ..model.plan import Considered, Outcome, OutcomeKind
from ..model.report import (
    REPORT_SCHEMA,
    ControlState,
    DomainLine,
    IsolationReport,
    ReportedPosture,
    ReportStage,
    RequestedControl,
)
from ..model.requirements import CAPABILITY, Identity, Requirement, permitted_of
from ..model.resolved import ResolvedRun
from ..policy.lowering import describe
from .machine import flat, refusals, state_detail, unavailable

POSTURES = {
    ReportedPosture.READY: "READY",
    ReportedPosture.DEGRADED: "DEGRADED",
    ReportedPosture.REFUSED: "REFUSED",
    ReportedPosture.NO_BOUNDARY: "NO BOUNDARY ESTABLISHED",
}

NO_BOUNDARY = "aasm: no boundary was established (--isolation none): the program has all of this user's rights"


# --- one line for a terminal ------------------------------------------------------------------------


def summary(report: IsolationReport) -> str:
    """Return the report of one stage as one line."""
    if report.refusal is not None:
        return f"aasm: refused: {flat(report.posture_detail)}"
    if report.backend is None:
        return NO_BOUNDARY
    if report.stage is ReportStage.POST_RUN:
        return f"aasm: {_measured(report)}"
    return f"aasm: boundary planned by {report.backend.provenance.id}: {_planned(report)}"


def _measured(report: IsolationReport) -> str:
    """Return what this run measured, and apart from it what was asked and nothing measured."""
    stated = _stated(report)
    seen = [f"{line.domain.value} {line.claim.value}" for line in stated if asserts_coverage(line.claim)]
    rest = [f"{line.domain.value} {line.claim.value}" for line in stated if not asserts_coverage(line.claim)]
    words = f"measured in this run: {', '.join(seen)}" if seen else "nothing was measured in this run"
    return words + (f"; not measured: {', '.join(rest)}" if rest else "")


def _planned(report: IsolationReport) -> str:
    parts = (
        ("", [ControlState.PREVENTION]),
        ("; only observed: ", [ControlState.OBSERVE_ONLY]),
        ("; not held as asked: ", [*SHORT, ControlState.UNMEASURED]),
    )
    names = [(title, [x.domain.value for x in _stated(report) if x.state in states]) for title, states in parts]
    held = "" if names[0][1] else "nothing"
    return held + "".join(title + ", ".join(found) for title, found in names if found)


def _stated(report: IsolationReport) -> list[DomainLine]:
    return [line for line in report.domains if line.requested is RequestedControl.STATED]


SHORT = (ControlState.DEGRADED, ControlState.UNSUPPORTED)


# --- the section of the dry run ---------------------------------------------------------------------


def section(report: IsolationReport, run: ResolvedRun, euid: int) -> list[str]:
    """Return the lines of the section without its header; `run` is the one that the report is about."""
    return [
        *_head(report),
        *_identity(report.identity),
        *_backend(report.backend, unavailable(report)),
        *_selection(report),
        *_requested(run),
        *_table(report),
        *_lists(report, euid),
    ]


def _pair(label: str, value: str) -> str:
    return f"{label + ':':16} {value}"


def _head(report: IsolationReport) -> list[str]:
    first, *rest = report.posture_detail.splitlines() or [""]
    lines = [
        _pair("schema", REPORT_SCHEMA),
        _pair("stage", report.stage.value),
        _pair("posture", POSTURES[report.posture]),
        _pair("detail", first),
        *(f"{'':16} {line}" for line in rest),
    ]
    lines += [_pair("refused by", report.refusal.kind.value)] if report.refusal else []
    target = f"{report.target_program} with {report.target_arg_count} argument(s)"
    return [*lines, _pair("target", target), _pair("least authority", "yes" if report.least_authority else "no")]


def _identity(identity: Identity) -> list[str]:
    return [
        _pair("agent", identity.agent_id),
        _pair("team", identity.team_id or "none"),
        _pair("lineage", " > ".join(identity.lineage) or "none"),
        _pair("session", identity.session_id),
        _pair("trace", identity.trace_id),
    ]


def _backend(found: BackendCapabilities | None, reason: str) -> list[str]:
    line = _pair("backend", provenance(found.provenance) if found else "none")
    return [line, _pair("unavailable", reason)] if reason else [line]


def provenance(came: Provenance) -> str:
    """Return where a backend comes from, as one line."""
    modified = "modified" if came.modified else "not modified"
    return f"{came.id} {came.version} (source: {came.source}; license: {came.license}; {modified})"


def _selection(report: IsolationReport) -> list[str]:
    considered = report.selection.considered
    if not considered:
        return []
    return [_pair("selection", report.selection.mode.value), *(f"  {_candidate(item)}" for item in considered)]


def _candidate(item: Considered) -> str:
    unmet = f" ({', '.join(domain.value for domain in item.unmet_domains)})" if item.unmet_domains else ""
    return f"{item.id}: {item.verdict.value}{unmet}" + (f": {flat(item.detail)}" if item.detail else "")


# --- the requested capability set -------------------------------------------------------------------

HOLDS = {
    OutcomeKind.ENFORCED: "would be held by",
    OutcomeKind.OBSERVED: "would be watched by",
    OutcomeKind.DEGRADED: "is not held as asked, by its own permission",
    OutcomeKind.UNMET: "is not held, by its own permission",
}


def asked(run: ResolvedRun) -> list[tuple[Requirement, Outcome | None]]:
    """Return each requirement with what the plan makes of it: None where there is no plan."""
    outcomes = {outcome.requirement: outcome for outcome in run.plan.outcomes} if run.plan else {}
    return [(item, outcomes.get(item)) for item in run.spec.requirements]


def _requested(run: ResolvedRun) -> list[str]:
    found = asked(run)
    if found:
        return ["requested capability set:", *(f"  {_requirement(item, outcome)}" for item, outcome in found)]
    if run.isolation == "none":
        return ["requested capability set: empty (--isolation none: no control is asked for, and nothing is enforced)"]
    if any(item.requested is RequestedControl.NOT_DERIVED for item in run.coverage):
        return ["requested capability set: unknown (no policy was lowered)"]
    return ["requested capability set: empty"]


def _requirement(item: Requirement, outcome: Outcome | None) -> str:
    line = f"{item.domain.value}: {describe(item)}" + (f"; stated by {item.stated_by}" if item.stated_by else "")
    if outcome is None:
        return line
    return f"{line}; {HOLDS[outcome.kind]}" + (f": {outcome.lowering}" if outcome.lowering else "")


# --- the table of the ten domains -------------------------------------------------------------------

COLUMNS = ("DOMAIN", "REQUESTED", "STATE", "CLAIM", "EVIDENCE")


def row(line: DomainLine) -> tuple[str, ...]:
    """Return what the table says about one domain, in the order of its columns."""
    return line.domain.value, line.requested.value, line.state.value, line.claim.value, line.basis.value


def _table(report: IsolationReport) -> list[str]:
    rows = [COLUMNS, *map(row, report.domains)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(word.ljust(width) for word, width in zip(words, widths)).rstrip() for words in rows]


# --- lists, each only when there is something to say ------------------------------------------------

Lists = List[Tuple[str, Iterable[str]]]


def _lists(report: IsolationReport, euid: int) -> Iterator[str]:
    for title, items in (*_about_domains(report), *_about_the_run(report, euid)):
        lines = [f"  {item}" for item in items]
        yield from [f"{title}:", *lines] if lines else ()


def _about_domains(report: IsolationReport) -> Lists:
    return [
        ("degraded or unsupported", _with_state(report, SHORT)),
        ("refused", map(_refused, refusals(report))),
        (
            'policy cannot express (which never means "no restriction needed")',
            _with_request(report, RequestedControl.POLICY_CANNOT_EXPRESS),
        ),
        ("not derived (nobody knows what is asked)", _with_request(report, RequestedControl.NOT_DERIVED)),
        ("not stated", _with_request(report, RequestedControl.NOT_STATED)),
        (
            "partially expressible",
            (f"{line.domain.value}: {gap}" for line in report.domains for gap in line.policy_gaps),
        ),
        ("evidence to come", (f"{line.domain.value}: {_expected(line)}" for line in report.domains if line.sources)),
        ("unmeasured", _with_state(report, (ControlState.UNMEASURED,))),
    ]


def _expected(line: DomainLine) -> str:
    return f"{line.expected.value} at the most ({'; '.join(line.sources)})"


def _refused(entry: tuple[str, str, str]) -> str:
    domain, reason, detail = entry
    return f"{domain or 'the run'}: {reason}: {flat(detail)}"


def _with_state(report: IsolationReport, states: tuple[ControlState, ...]) -> Iterator[str]:
    return (f"{line.domain.value}: {state_detail(line)}" for line in report.domains if line.state in states)


def _with_request(report: IsolationReport, requested: RequestedControl) -> Iterator[str]:
    return (f"{line.domain.value}: {line.requested_detail}" for line in report.domains if line.requested is requested)


def _about_the_run(report: IsolationReport, euid: int) -> Lists:
    return [
        ("not acted on", report.unmapped),
        (
            "residual ambient authority",
            (*map(_ambient, report.credentials.ambient_unremoved), *map(_descriptor, residual(report))),
        ),
        ("descriptors that could not be listed", _unlisted(report)),
        ("not held", not_held(report, euid)),
        ("grants", map(_grant, report.grants)),
        ("floor", report.floor),
    ]


def residual(report: IsolationReport) -> tuple[Descriptor, ...]:
    """Return the descriptors that reach the program although nobody delegated them."""
    return report.descriptors.residual if report.descriptors else ()


def _ambient(name: str) -> str:
    kind = authority_kind(name.encode("utf-8", "surrogateescape"))
    if kind is None:
        return name
    return f"{name}: {kind.value} ({', '.join(domain.value for domain in CONTROLLED_BY[kind])})"


def _descriptor(item: Descriptor) -> str:
    return f"descriptor {item.number}: {item.disposition.value}: {item.reason}"


def _unlisted(report: IsolationReport) -> list[str]:
    return [report.descriptors.not_enumerable] if report.descriptors and not report.descriptors.complete else []


ROOT = "the program has no capability: files of other users are out of its reach even inside the grants"


def not_held(report: IsolationReport, euid: int) -> tuple[str, ...]:
    """Return what is not held within the domains that are required, and what becomes of a program of root."""
    if report.backend is None or euid != 0:
        return report.limits
    kept = [name for item in report.requirements for name in permitted_of(CAPABILITY, item.scope)]
    words = f"the program keeps {', '.join(kept)}, as far as this process has it" if kept else ROOT
    return (*report.limits, words)


def _grant(item: Grant) -> str:
    given = (("read", item.read), ("write", item.write), ("execute", item.execute))
    verbs = ",".join(word for word, is_given in given if is_given) or "nothing"
    return f"{verbs:18} {item.path} ({item.origin})"
