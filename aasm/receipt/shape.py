# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The shape of a receipt as one table, and the pass that compares any decoded value with it.

A missing field, a wrong type and an unknown token are defects: they fail closed. An unknown extra field is a note: it
is kept and judged by nothing. No check raises, whatever it is given.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Callable, Mapping, NamedTuple

from ..model import domains as _domains, evidence as _evidence, plan as _plan, report as _report
from . import facts

LIMIT = 100  # of defects and of notes: a hostile receipt could have a million


class Defect(NamedTuple):
    """One rule that a receipt breaks, with the place and the reason."""

    rule: str
    text: str


class Findings:
    """Defects and notes in the order they were found, each kind bounded by LIMIT."""

    def __init__(self) -> None:
        self.defects: list[Defect] = []
        self.notes: list[str] = []

    @property
    def full(self) -> bool:
        """Say whether further defects would only be counted as `the rest`."""
        return len(self.defects) > LIMIT

    def defect(self, rule: str, text: str) -> None:
        """Add a defect; past the limit nothing is added, and the last one says so."""
        if len(self.defects) < LIMIT:
            self.defects.append(Defect(rule, text))
        elif len(self.defects) == LIMIT:
            self.defects.append(Defect("Shape", f"more than {LIMIT} defects; the rest is not listed"))

    def note(self, text: str) -> None:
        """Add a note, bounded in the same way."""
        if len(self.notes) < LIMIT:
            self.notes.append(text)
        elif len(self.notes) == LIMIT:
            self.notes.append(f"more than {LIMIT} notes; the rest is not listed")


Check = Callable[[object, str, Findings], None]

_SHOWN = 80  # characters; a digest has 71
_JSON_KINDS = {dict: "an object", list: "a list", bool: "true or false", int: "a number", type(None): "null"}


def show(value: object) -> str:
    """Return a short description of a value from a receipt that nobody vouches for."""
    if type(value) is str:
        return f"`{value[:_SHOWN]}`" + ("..." if len(value) > _SHOWN else "")
    return _JSON_KINDS.get(type(value), "something else")


def check_envelope(value: object, findings: Findings) -> None:
    """Add to `findings` everything in which `value` differs from the shape of a receipt."""
    ENVELOPE(value, "receipt", findings)


def _plain(expected: str, holds: Callable[[Any], bool]) -> Check:
    def check(value: object, where: str, findings: Findings) -> None:
        if not holds(value):
            findings.defect("Shape", f"{where} is {show(value)}, expected {expected}")

    return check


def _is_digest(value: object) -> bool:
    if type(value) is not str or len(value) != 71 or not value.startswith("sha256:"):
        return False
    return value[7:].strip("0123456789abcdef") == ""


def _is_name(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= 256 and value.isascii() and value.isprintable()


def _term(*tokens: str) -> Check:
    return _plain("one of " + ", ".join(tokens), lambda value: type(value) is str and value in tokens)


def _member(vocabulary: type[Enum]) -> Check:
    return _term(*(str(member.value) for member in vocabulary))


def _nullable(inner: Check) -> Check:
    def check(value: object, where: str, findings: Findings) -> None:
        if value is not None:
            inner(value, where, findings)

    return check


def _each(inner: Check) -> Check:
    def check(value: object, where: str, findings: Findings) -> None:
        if type(value) is not list:
            findings.defect("Shape", f"{where} is {show(value)}, expected a list")
            return
        for index, item in enumerate(value):
            if findings.full:
                return
            inner(item, f"{where}[{index}]", findings)

    return check


_NO_FIELDS: Mapping[str, Check] = {}


def _record(fields: Mapping[str, Check], later: Mapping[str, Check] = _NO_FIELDS) -> Check:
    """Return the check of an object; `later` are fields that older receipts of this schema lack."""
    known = {**fields, **later}

    def check(value: object, where: str, findings: Findings) -> None:
        if type(value) is not dict:
            findings.defect("Shape", f"{where} is {show(value)}, expected an object")
            return
        for name, inner in known.items():
            if name in value:
                inner(value[name], f"{where}.{name}", findings)
            elif name in fields:
                findings.defect("Shape", f"{where}.{name} is missing")
        if not known.keys() >= value.keys():
            _note_unknown(value, known, where, findings)

    return check


def _note_unknown(value: dict[str, object], fields: Mapping[str, Check], where: str, findings: Findings) -> None:
    for name in value:
        if name not in fields:
            findings.note(f"{where}: the field {show(name)} is unknown; it is kept and judged by no rule")


def _variant(cases: Mapping[str, Mapping[str, Check]]) -> Check:
    """Return the check of an object whose `kind` decides which further fields it has."""
    known = _term(*cases)
    records = {kind: _record({"kind": known, **fields}) for kind, fields in cases.items()}

    def check(value: object, where: str, findings: Findings) -> None:
        kind = value.get("kind") if type(value) is dict else None
        if type(kind) is str and kind in records:
            records[kind](value, where, findings)
        elif type(value) is dict:
            known(kind, f"{where}.kind", findings)
        else:
            findings.defect("Shape", f"{where} is {show(value)}, expected an object")

    return check


_count = _plain("a number, 0 or more", lambda value: type(value) is int and value >= 0)
_integer = _plain("a number", lambda value: type(value) is int)
_flag = _plain("true or false", lambda value: type(value) is bool)
_string = _plain("a text", lambda value: type(value) is str)
_name = _plain("a name of 1 to 256 printable ASCII characters", _is_name)
_digest = _plain("sha256: and 64 hexadecimal digits", _is_digest)
_nothing = _plain("null, the only value known to this release", lambda value: value is None)
_text = _variant({"token": {"value": _string}, "value": {"value": _string}, "withheld": {"value": _nothing}})
_domain = _member(_domains.CapabilityDomain)
_claim = _member(_evidence.ClaimTerm)
_reason = _member(_report.UnmeasuredReason)

_IDENTITY = {"agent_id": _text, "team_id": _nullable(_text), "lineage": _each(_text), "depth": _count}
_PRODUCER = {"component": _name, "release": _name, "source_revision": _nullable(_name)}
_PRODUCER_LATER = {"code_digest": _nullable(_digest)}
_POLICY = {
    "canonical_digest": _nullable(_digest),
    "source": _text,
    "resolution": _term(*facts.RESOLUTIONS),
    "unmapped": _each(_text),
}
_SPEC = {
    "digest": _digest,
    "program": _text,
    "arg_count": _count,
    "argv_digest": _digest,
    "working_dir_digest": _digest,
    "required_count": _count,
    "optional_count": _count,
    "degrade_if_unavailable_count": _count,
}
_CONSIDERED = {"id": _name, "verdict": _member(_plan.CandidateVerdict), "unmet_domains": _each(_domain)}
_BACKEND = {
    "id": _name,
    "version": _text,
    "provenance_source": _text,
    "provenance_license": _text,
    "provenance_modified": _flag,
    "platform_boundary": _member(_domains.PlatformBoundary),
    "selection_mode": _member(_plan.SelectionMode),
    "considered": _each(_record(_CONSIDERED)),
}
_BASIS: dict[str, dict[str, Check]] = {
    "measured": {"source": _text},
    "asserted": {"by": _text},
    "unmeasured": {"reason": _reason, "detail": _text},
}
_HOST_FACT = {"name": _name, "value": _nullable(_text), "basis": _variant(_BASIS)}
_LEASE = {
    "lease_id": _name,
    "digest": _digest,
    "domain": _domain,
    "derived_from_lease_id": _nullable(_name),
    "inheritance_mode": _term(*facts.INHERITANCE_MODES),
}
_DOMAIN_LINE = {
    "domain": _domain,
    "requested": _member(_report.RequestedControl),
    "state": _member(_report.ControlState),
    "claim": _claim,
    "evidence_basis": _member(_evidence.EvidenceBasis),
    "unmeasured_reason": _nullable(_reason),
    "unmeasured_detail": _nullable(_text),
    "residual_policy_gaps": _each(_text),
    "prevention_supported": _flag,
    "independently_verified": _flag,
}
_CREDENTIALS = {"removed": _each(_text), "delegated": _each(_text), "ambient_unremoved": _each(_text)}
_CANARY = {"name": _name, "result": _member(facts.CanaryResult), "detail": _nullable(_text)}
_BOUNDARY = {"sealed": _flag, "canaries": _each(_record(_CANARY)), "floor": _each(_text), "survivors_killed": _count}
_TERMINATION: dict[str, dict[str, Check]] = {
    "self_exited": {},
    "wall_clock_ceiling_exceeded": {"ceiling_secs": _count, "termination_delivered": _flag, "detail": _text},
    "operator_requested": {"forwarded": _flag},
}
_EXECUTION = {
    "started_at_unix_secs": _integer,
    "ended_at_unix_secs": _integer,
    "exit_code": _nullable(_integer),
    "no_code_detail": _nullable(_text),
    "termination": _variant(_TERMINATION),
}
_DEGRADED = {"domain": _nullable(_domain), "kind": _member(facts.DegradedKind), "detail": _text}
_EVIDENCE_REF = {
    "kind": _member(_evidence.EvidenceKind),
    "domain": _nullable(_domain),
    "claim": _claim,
    "detail_digest": _digest,
}

BODY: dict[str, Check] = {
    "run_id": _name,
    "trace_id": _name,
    "recorded_at_unix_secs": _integer,
    "asserted_identity": _record(_IDENTITY),
    "producer": _record(_PRODUCER, _PRODUCER_LATER),
    "policy": _record(_POLICY),
    "spec": _record(_SPEC),
    "backend": _nullable(_record(_BACKEND)),
    "host": _each(_record(_HOST_FACT)),
    "runtime_image": _nothing,
    "leases": _each(_record(_LEASE)),
    "domains": _each(_record(_DOMAIN_LINE)),
    "credentials": _record(_CREDENTIALS),
    "workspace": _nullable(_record({"not_transactional": _each(_string)})),
    "host_capability": _nothing,
    "boundary": _record(_BOUNDARY),
    "execution": _record(_EXECUTION),
    "degraded": _each(_record(_DEGRADED)),
    "withheld_fields": _each(_string),
    "evidence_refs": _each(_record(_EVIDENCE_REF)),
    "construction_defects": _each(_name),
}
_SEAL = {
    "kind": _term(facts.SEAL_KIND),
    "digest": _digest,
    "sealed_by": _name,
    "sealed_at_unix_secs": _integer,
    "canonical_form": _term(facts.CANONICAL_FORM),
}
ENVELOPE: Check = _record({"schema": _name, "seal": _record(_SEAL), "body": _record(BODY)})
