# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The claim rules: what a receipt may say, as one table. Run when a receipt is made and again when it is verified.

They say nothing about the seal, and the seal says nothing about them. Pure; no rule raises, and none takes more than
linear time, whatever the value: each reads through `View`, which hands out only what has the right type.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Callable, Iterator, NamedTuple

from ..model.domains import DOMAINS
from ..model.evidence import BASES, BASIS_OF_KIND, ClaimTerm, EvidenceBasis, EvidenceKind, asserts_coverage
from .facts import NOT_TRANSACTIONAL, SCHEMA, DegradedKind
from .shape import LIMIT, Defect, Findings, check_envelope, show

_PREVENTION = ClaimTerm.DENIED_BEFORE_EXECUTION.value
_COVERAGE = tuple(term.value for term in ClaimTerm if asserts_coverage(term))
_RANKS = {basis.value: rank for rank, basis in enumerate(BASES)}
_RANK_OF_KIND = {kind.value: _RANKS[basis.value] for kind, basis in BASIS_OF_KIND.items()}
_RUNTIME = _RANKS[EvidenceBasis.RUNTIME_WITHOUT_DECISION.value]
_MOST_WITHHELD = 1000
_BARS_PREVENTION = tuple(
    kind.value
    for kind in (
        DegradedKind.CONTROL_SHORTFALL,
        DegradedKind.CONTROL_UNSUPPORTED,
        DegradedKind.NOT_MEASURED,
        DegradedKind.FIELD_WITHHELD,
    )
)


class View(NamedTuple):
    """The parts of a receipt that rules look at; whatever has the wrong type is left out (the shape reports it)."""

    schema: object
    body: dict[str, Any]
    domains: list[dict[str, Any]]
    conditions: dict[str, list[str]]  # domain -> kinds of degraded conditions
    withheld_noted: bool  # whether any condition is field_withheld
    shown: dict[str, int]  # domain -> rank of the strongest record that evidence_refs list for it
    refused: set[str]  # domains with a decision record of a refusal


def view(envelope: object) -> View:
    """Return the view of any decoded value."""
    outer = _object(envelope)
    body = _object(outer.get("body"))
    conditions: dict[str, list[str]] = {}
    kinds = [(_token(item, "domain"), _token(item, "kind")) for item in _objects(body.get("degraded"))]
    for domain, kind in kinds:
        conditions.setdefault(domain, []).append(kind)
    withheld = any(kind == DegradedKind.FIELD_WITHHELD.value for _, kind in kinds)
    shown, refused = _records(_objects(body.get("evidence_refs")))
    return View(outer.get("schema"), body, _objects(body.get("domains")), conditions, withheld, shown, refused)


def _records(listed: list[dict[str, Any]]) -> tuple[dict[str, int], set[str]]:
    shown: dict[str, int] = {}
    refused = set()
    for item in listed:
        domain, kind = _token(item, "domain"), _token(item, "kind")
        shown[domain] = max(shown.get(domain, 0), _RANK_OF_KIND.get(kind, 0))
        if kind == EvidenceKind.DECISION.value and item.get("claim") == _PREVENTION:
            refused.add(domain)
    return shown, refused


class Rule(NamedTuple):
    """One rule. `broken` yields a sentence for each place at which a receipt breaks it."""

    id: str
    text: str
    broken: Callable[[View], Iterator[str]]


def judge(envelope: object) -> tuple[tuple[Defect, ...], tuple[str, ...]]:
    """Return the defects and the notes of a decoded receipt: first those of its shape, then those of its claims."""
    findings = Findings()
    check_envelope(envelope, findings)
    seen = view(envelope)
    for rule in RULES:
        for text in islice(rule.broken(seen), LIMIT):
            findings.defect(rule.id, text)
    return tuple(findings.defects), tuple(findings.notes)


def withheld_paths(value: object, path: str = "") -> Iterator[str]:
    """Yield the path of each withheld text beneath `value`, as jq writes it without the leading dot."""
    if type(value) is dict:
        if value.get("kind") == "withheld":
            yield path
        for key, item in value.items():
            if type(item) is dict or type(item) is list:
                name = key[:64]  # no field has a longer name; a hostile one must not be copied a million times
                yield from withheld_paths(item, f"{path}.{name}" if path else name)
    elif type(value) is list:
        for index, item in enumerate(value):
            yield from withheld_paths(item, f"{path}[{index}]")


def _object(value: object) -> dict[str, Any]:
    return value if type(value) is dict else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if type(item) is dict] if type(value) is list else []


def _token(item: dict[str, Any], name: str) -> str:
    """Return the text at `name`, or the empty text for anything else; null domains become the empty text too."""
    value = item.get(name)
    return value if type(value) is str else ""


def _about(line: dict[str, Any]) -> str:
    return f"domain {show(line.get('domain'))}"


def _unknown_schema(seen: View) -> Iterator[str]:
    if seen.schema != SCHEMA:
        yield f"the schema is {show(seen.schema)}, this release knows {SCHEMA}"


def _ten_domains(seen: View) -> Iterator[str]:
    stated = [line.get("domain") for line in seen.domains]
    for domain in DOMAINS:
        count = stated.count(domain.value)
        if count != 1:
            yield f"domain `{domain.value}` is " + ("missing" if count == 0 else f"there {count} times")


def _coverage_needs_evidence(seen: View) -> Iterator[str]:
    for line in seen.domains:
        rank = _RANKS.get(_token(line, "evidence_basis"), 0)
        if line.get("claim") in _COVERAGE and rank < _RUNTIME:
            yield f"{_about(line)}: the claim {show(line['claim'])} rests on {show(line.get('evidence_basis'))}"
        if rank > seen.shown.get(_token(line, "domain"), 0):
            stated = show(line["evidence_basis"])
            yield f"{_about(line)}: the basis {stated} is above that of the records in evidence_refs"


def _prevention_needs_decision(seen: View) -> Iterator[str]:
    for line in seen.domains:
        if line.get("claim") == _PREVENTION and line.get("evidence_basis") != EvidenceBasis.DECISION.value:
            yield f"{_about(line)}: prevention is claimed on {show(line.get('evidence_basis'))}"
        if line.get("claim") == _PREVENTION and line.get("prevention_supported") is not True:
            yield f"{_about(line)}: prevention is claimed and prevention_supported is not true"


def _support_needs_decision(seen: View) -> Iterator[str]:
    for line in seen.domains:
        if line.get("prevention_supported") is not True:
            continue
        if line.get("evidence_basis") != EvidenceBasis.DECISION.value:
            yield f"{_about(line)}: prevention_supported rests on {show(line.get('evidence_basis'))}"
        if _token(line, "domain") not in seen.refused:
            yield f"{_about(line)}: prevention_supported without a decision record of a refusal in evidence_refs"


def _degraded_claims_no_prevention(seen: View) -> Iterator[str]:
    for line in seen.domains:
        if line.get("claim") != _PREVENTION:
            continue
        for kind in _BARS_PREVENTION:
            if kind in seen.conditions.get(_token(line, "domain"), ()):
                yield f"{_about(line)}: prevention is claimed beside the condition `{kind}`"
        if line.get("state") != "prevention":
            yield f"{_about(line)}: prevention is claimed in the state {show(line.get('state'))}"


def _no_backend_no_coverage(seen: View) -> Iterator[str]:
    for line in seen.domains if seen.body.get("backend") is None else ():
        if line.get("claim") in _COVERAGE:
            yield f"{_about(line)}: the claim {show(line['claim'])} without a backend"


def _silence_claims_nothing(seen: View) -> Iterator[str]:
    for line in seen.domains:
        if line.get("state") in ("unmeasured", "unsupported") and line.get("claim") in _COVERAGE:
            yield f"{_about(line)}: the claim {show(line['claim'])} in the state {show(line['state'])}"


def _withheld_is_recorded(seen: View) -> Iterator[str]:
    listed = seen.body.get("withheld_fields")
    names = {name for name in listed if type(name) is str} if type(listed) is list else set()
    rest = {key: item for key, item in seen.body.items() if key != "withheld_fields"}
    found = set(islice(withheld_paths(rest), _MOST_WITHHELD + 1))
    if len(found) > _MOST_WITHHELD:
        yield f"more than {_MOST_WITHHELD} texts are withheld"
        return
    for path in sorted(found - names):
        yield f"{show(path)} is withheld and not listed in withheld_fields"
    for path in sorted(names - found):
        yield f"withheld_fields lists {show(path)}, where nothing is withheld"
    if found and not seen.withheld_noted:
        yield "text is withheld and degraded has no condition `field_withheld`"


def _time_runs_forward(seen: View) -> Iterator[str]:
    execution = _object(seen.body.get("execution"))
    start, end = execution.get("started_at_unix_secs"), execution.get("ended_at_unix_secs")
    if type(start) is int and type(end) is int and start > end:
        yield f"the run ended at {end}, before it started at {start}"


def _workspace_states_its_limits(seen: View) -> Iterator[str]:
    workspace = seen.body.get("workspace")
    if workspace is None:
        return
    stated = _object(workspace).get("not_transactional")
    for token in NOT_TRANSACTIONAL:
        if type(stated) is not list or token not in stated:
            yield f"workspace.not_transactional lacks `{token}`"


def _sealed_boundary_held(seen: View) -> Iterator[str]:
    boundary = _object(seen.body.get("boundary"))
    if boundary.get("sealed") is not True:
        return
    if seen.body.get("backend") is None:
        yield "boundary.sealed is true without a backend"
    for canary in _objects(boundary.get("canaries")):
        if canary.get("result") == "breached":
            yield f"boundary.sealed is true and the canary {show(canary.get('name'))} was breached"


def _writer_found_nothing(seen: View) -> Iterator[str]:
    found = seen.body.get("construction_defects")
    for rule in found if type(found) is list else ():
        yield f"the writer itself found that {show(rule)} is broken"


RULES = (
    Rule("UnknownSchema", "The schema of the envelope is known.", _unknown_schema),
    Rule("R0", "Each of the ten domains is there, once.", _ten_domains),
    Rule(
        "R1",
        "A claim that asserts coverage rests on run-time evidence at least, and no evidence basis is above what"
        " evidence_refs show.",
        _coverage_needs_evidence,
    ),
    Rule(
        "R2",
        "The prevention claim rests on a decision, and prevention_supported agrees.",
        _prevention_needs_decision,
    ),
    Rule(
        "R2b",
        "prevention_supported rests on a decision: a record in evidence_refs of a refusal in that very domain.",
        _support_needs_decision,
    ),
    Rule(
        "R3",
        "A domain with a condition of shortfall, missing support, missing measurement or withheld text, or in another"
        " state than prevention, carries no prevention claim.",
        _degraded_claims_no_prevention,
    ),
    Rule("R4", "Without a backend no domain claims coverage.", _no_backend_no_coverage),
    Rule("R5", "A domain in the state unmeasured or unsupported claims no coverage.", _silence_claims_nothing),
    Rule(
        "R6",
        "Every withheld text is listed in withheld_fields and in degraded, and nothing else is.",
        _withheld_is_recorded,
    ),
    Rule("R7", "The run started no later than it ended.", _time_runs_forward),
    Rule("R8", "A workspace states everything that is not transactional.", _workspace_states_its_limits),
    Rule("B1", "A sealed boundary has a backend and no breached canary.", _sealed_boundary_held),
    Rule("B2", "The writer found no defect in the receipt when it made it.", _writer_found_nothing),
)
