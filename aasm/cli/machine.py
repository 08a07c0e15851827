# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The isolation report as keys and values for scripts. Pure; it decides nothing and leaves nothing out.

The keys are those of REPORT_SCHEMA: further ones may come, and renaming or removing one makes another schema. Every
list has a count and is numbered from 0; a key is of a-z, 0-9, `_` and `.`. A live launch imports this module.
"""

from __future__ import annotations

from typing import Iterable, List, Tuple, Union

from ..errors import one_line
from ..model.ambient import contradictions
from ..model.plan import CandidateVerdict, Considered, Outcome, RefusalKind, Shortfall
from ..model.report import REPORT_SCHEMA, DomainLine, IsolationReport
from ..model.requirements import Requirement

HEADER = "--- execution isolation (machine-readable) ---"

Value = Union[str, int, bool]
Record = Tuple[str, Value]


def block(report: IsolationReport) -> str:
    """Return the header and one `key=value` line for each record: no line of it can be taken for another."""
    return "\n".join([HEADER, *written(records(report))])


def written(found: Iterable[Record]) -> list[str]:
    """Return records as lines: booleans are true and false, and every value is one line without control characters."""
    return [f"{key}={_text(value)}" for key, value in found]


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return flat(str(value))


def flat(text: str) -> str:
    """Return `text` as one line: controls become spaces, spaces collapse, and what cannot print is spelled out."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    spaced = "".join(" " if char < " " or "\x7f" <= char < "\xa0" else char for char in text)
    return one_line(" ".join(spaced.split()))


def records(report: IsolationReport) -> list[Record]:
    """Return every key of the report with its value, in the order of the groups."""
    found = [*_head(report), *_backend(report), *_selection(report), *_counts(report)]
    for line in report.domains:
        found += _domain(line)
    return [*found, *_refusals(report), *_credentials(report), *_descriptors(report), *_policy(report)]


def _listed(name: str, items: Iterable[str]) -> list[Record]:
    """Return the count of a list and its items."""
    texts = list(items)
    return [(f"{name}_count", len(texts)), *((f"{name}.{number}", text) for number, text in enumerate(texts))]


# --- the run ----------------------------------------------------------------------------------------


def _head(report: IsolationReport) -> list[Record]:
    identity = report.identity
    return [
        ("schema", REPORT_SCHEMA),
        ("stage", report.stage.value),
        ("posture", report.posture.value),
        ("posture_detail", report.posture_detail),
        ("least_authority", report.least_authority),
        ("agent_id", identity.agent_id),
        ("team_id", identity.team_id or ""),
        ("lineage_depth", len(identity.lineage)),
        ("session_id", identity.session_id),
        ("trace_id", identity.trace_id),
        ("target_program", report.target_program),
        ("target_arg_count", report.target_arg_count),
    ]


def _backend(report: IsolationReport) -> list[Record]:
    found: List[Record] = [("backend_selected", report.backend is not None)]
    if report.backend is not None:
        fields = report.backend.provenance._asdict()  # id, version, source, license, modified
        found += [(f"backend_{name}", value) for name, value in fields.items()]
    reason = unavailable(report)
    return [*found, ("backend_unavailable", reason)] if reason else found


def unavailable(report: IsolationReport) -> str:
    """Return why no backend could be selected on this host, or an empty text when that is not what refused the run."""
    if report.refusal is None or report.refusal.kind is not RefusalKind.SELECTION:
        return ""
    turned_down = [
        item for item in report.selection.considered if item.verdict is CandidateVerdict.REJECTED_UNAVAILABLE
    ]
    if len(turned_down) == 1:
        return turned_down[0].detail
    return "; ".join(f"{item.id}: {item.detail}" for item in turned_down) or report.refusal.text


def _selection(report: IsolationReport) -> list[Record]:
    considered = report.selection.considered
    if not considered:
        return []
    found: List[Record] = [("backend_selection_mode", report.selection.mode.value)]
    found.append(("backend_selection.considered_count", len(considered)))
    for number, item in enumerate(considered):
        found += _candidate(f"backend_selection.considered.{number}", item)
    return found


def _candidate(name: str, item: Considered) -> list[Record]:
    return [
        (f"{name}.id", item.id),
        (f"{name}.verdict", item.verdict.value),
        (f"{name}.detail", item.detail),
        *_listed(f"{name}.unmet_domain", (domain.value for domain in item.unmet_domains)),
    ]


# --- what was asked, and what became of it ----------------------------------------------------------


def _counts(report: IsolationReport) -> list[Record]:
    found: List[Record] = [("requested_requirement_count", len(report.requirements))]
    outcomes = {outcome.requirement: outcome for outcome in report.outcomes}
    for number, item in enumerate(report.requirements):
        found += _requirement(f"requested_requirement.{number}", item, outcomes.get(item), _unmet(report, item))
    return [*found, ("domain_count", len(report.domains))]


def _unmet(report: IsolationReport, item: Requirement) -> str:
    """Return why a requirement cannot be met, in a plan that lives with it or in the refusal."""
    refused = report.refusal.shortfalls if report.refusal else ()
    planned = [outcome.shortfall for outcome in report.outcomes if outcome.shortfall and outcome.requirement == item]
    found = [short for short in refused if (short.domain, short.stated_by) == (item.domain, item.stated_by)]
    return next((short.reason.value for short in (*planned, *found)), "")


def _requirement(name: str, item: Requirement, outcome: Outcome | None, reason: str) -> list[Record]:
    """Return one requirement with its own verdict: that of its domain is the weakest of them all."""
    return [
        (f"{name}.domain", item.domain.value),
        (f"{name}.stated_by", item.stated_by),
        (f"{name}.outcome", outcome.kind.value if outcome else ""),
        (f"{name}.reason", reason),
    ]


def _domain(line: DomainLine) -> list[Record]:
    name = f"domain.{line.domain.value}"
    return [
        (f"{name}.requested", line.requested.value),
        (f"{name}.requested_detail", line.requested_detail),
        (f"{name}.state", line.state.value),
        (f"{name}.state_detail", state_detail(line)),
        (f"{name}.claim", line.claim.value),
        (f"{name}.evidence", line.basis.value),
        (f"{name}.prevention_supported", line.prevention_supported),
        (f"{name}.expected_claim", line.expected.value),
        *_listed(f"{name}.evidence_source", line.sources),
        (f"{name}.granularity", line.granularity.value if line.granularity else ""),
        *_listed(f"{name}.policy_gap", line.policy_gaps),
    ]


def state_detail(line: DomainLine) -> str:
    """Return what the state of a domain rests on; of an unmeasured one, why nothing measured it."""
    if line.unmeasured_reason is None:
        return line.state_detail
    reason = f"reason={line.unmeasured_reason.value}"
    return f"{reason}, {line.state_detail}" if line.state_detail else reason


def refusals(report: IsolationReport) -> list[tuple[str, str, str]]:
    """Return domain, reason and detail of everything for which the run is refused; empty when it is not.

    What makes the whole backend unavailable is about `backend`; a refusal that lists nothing is about no domain.
    """
    refusal = report.refusal
    if refusal is None:
        return []
    if not refusal.shortfalls:
        return [("", refusal.kind.value, refusal.text)]
    return [_shortfall(item) for item in refusal.shortfalls]


def _shortfall(item: Shortfall) -> tuple[str, str, str]:
    detail = f"{item.detail}; stated by {item.stated_by}" if item.stated_by else item.detail
    return item.domain.value if item.domain else "backend", item.reason.value, detail


def _refusals(report: IsolationReport) -> list[Record]:
    entries = refusals(report)
    found: List[Record] = [("refusal_count", len(entries))]
    for number, entry in enumerate(entries):
        names = (f"refusal.{number}.{field}" for field in ("domain", "reason", "detail"))
        found += zip(names, entry)
    return found


# --- what is inherited, and what was left out -------------------------------------------------------


def _credentials(report: IsolationReport) -> list[Record]:
    posture = report.credentials
    found = [record for name, names in posture._asdict().items() for record in _listed(f"credential.{name}", names)]
    return [*found, ("credential.contradiction_count", len(contradictions(posture)))]


def _descriptors(report: IsolationReport) -> list[Record]:
    inventory = report.descriptors
    if inventory is None:
        return [("descriptors_present", False)]
    return [
        ("descriptors_present", True),
        ("descriptors.enumeration_complete", inventory.complete),
        ("descriptors.residual_count", len(inventory.residual)),
        ("descriptors.asserts_clean_boundary", inventory.asserts_clean_boundary),
    ]


def _policy(report: IsolationReport) -> list[Record]:
    return _listed("policy.unmapped", report.unmapped)
