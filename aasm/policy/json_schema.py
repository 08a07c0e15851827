# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema (draft 2020-12) of a policy, made of the table of keys. Pure.

Whatever document.py accepts, the schema accepts. The reverse cannot be promised: conditions, regular expressions, hosts
and what one value means beside another are beyond it. Patterns are read alike by ECMA-262 and by Python's re.
"""

from __future__ import annotations

from typing import Any, Callable, Container, Dict, List, Mapping, Tuple

from ..model import privileges
from ..model.domains import DOMAINS
from . import calls, kinds
from .descriptions import DESCRIPTIONS, LEASE, TOOL, Description
from .expression import MAX_TEXT
from .kinds import Kind
from .node import MAX_INTEGER
from .schema import AUTHORITY, LEASE_KEYS, LEASES, SCOPE, TOOL_KEYS, TOOLS, TREE, Branch, Key
from .vocabulary import (
    API_VERSION,
    CAPABILITIES,
    CREDENTIAL_ACTIONS,
    ENVELOPE_KEYS,
    EXCEED_ACTIONS,
    GLOBAL_SCOPE,
    KIND,
    METADATA_KEYS,
    NAMED_CAPABILITIES,
    NAMED_SCOPES,
    POSTURES,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = Dict[str, Any]

_FILLED: Schema = {"type": "string", "minLength": 1}
_NO_PARENT = r"(?!(?:[\s\S]*/)?\.\.(?:/|$))"  # ahead: no component is ..
_PLACED = r"(?:\$\{(?:workdir|home)\}(?:/[^$\0]*)?|/[^$\0]*)$"
_HOST = r"^(?:\*|(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:.]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$"


def schema(refused_calls: Container[str] = ()) -> Schema:
    """Return the schema. `refused_calls` are those that no policy may allow, as document.validate takes them."""
    envelope = {"anyOf": [{"required": [key]} for key in ENVELOPE_KEYS]}
    return {
        "$schema": DIALECT,
        "title": f"{KIND} {API_VERSION}",
        "description": "What a program may do, as aasm reads it: an envelope with the keys below spec, or these alone.",
        "type": "object",
        "if": envelope,
        "then": {"$ref": "#/$defs/envelope"},
        "else": {"$ref": "#/$defs/spec"},
        "$defs": {"envelope": _envelope(), "spec": _spec(), **_definitions(refused_calls)},
    }


# --- maps -------------------------------------------------------------------------------------------


def _map(properties: Mapping[str, Schema], required: Tuple[str, ...] = ()) -> Schema:
    made: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**made, "required": list(required)} if required else made


def _envelope() -> Schema:
    metadata = {name: _described(f"metadata.{name}", dict(_FILLED)) for name in METADATA_KEYS}
    properties = {
        "apiVersion": _described("apiVersion", {"const": API_VERSION}),
        "kind": _described("kind", {"const": KIND}),
        "metadata": _map(metadata),
        "spec": _described("spec", {"$ref": "#/$defs/spec"}),
    }
    return _map(properties, ("apiVersion", "kind", "spec"))


def _spec() -> Schema:
    sections = {name: _branch(due, name) for name, due in TREE.items()}
    lease = _map({name: _value(key, LEASE + name) for name, key in LEASE_KEYS.items()}, ("domain",))
    leases = _map({LEASES: {"type": "array", "items": lease}}, (LEASES,))
    tool = _map({name: _value(key, TOOL + name) for name, key in TOOL_KEYS.items()})
    tools = {"type": "object", "propertyNames": {"minLength": 1}, "additionalProperties": tool}
    spelled = "|".join(prefix + (kinds.ID if prefix in kinds.STATED else "[^ ]+") for prefix in NAMED_SCOPES)
    scope = _described(SCOPE, {"type": "string", "pattern": f"^(?:{GLOBAL_SCOPE}|{spelled})$"})
    return _map({SCOPE: scope, **sections, TOOLS: tools, AUTHORITY: leases})


def _branch(due: object, label: str) -> Schema:
    if isinstance(due, Key):
        return _value(due, label)
    assert isinstance(due, dict)
    branch: Branch = due
    return _map({name: _branch(inner, f"{label}.{name}") for name, inner in branch.items()})


def _value(key: Key, label: str) -> Schema:
    one = _readable if label == "filesystem.write.allow" else _KINDS[key.kind.words]
    return _described(label, {"type": "array", "items": one()} if key.kind.many else one())


def _readable() -> Schema:
    """Return what may be written: any path but the system, which may only be read."""
    return {"$ref": "#/$defs/writable"}


def _described(label: str, made: Schema) -> Schema:
    return {**made, "description": words(DESCRIPTIONS[label])}


def words(item: Description) -> str:
    """Return a description as one text."""
    return f"{item.effect} Absent: {item.default}. Acted on by {item.held_by}."


# --- values -----------------------------------------------------------------------------------------


def _definitions(refused_calls: Container[str]) -> Schema:
    return {
        "path": _path(rf"^{_NO_PARENT}(?:\$\{{system\}}$|{_PLACED})"),
        "writable": _path(f"^{_NO_PARENT}{_PLACED}"),
        "syscall": {"enum": _permitted(refused_calls)},
    }


def _path(pattern: str) -> Schema:
    text = {"type": "string", "pattern": pattern}
    return {"anyOf": [text, _map({"path": text, "optional": {"type": "boolean"}}, ("path",))]}


def _permitted(refused_calls: Container[str]) -> List[str]:
    names = calls.spellings()
    return [name for name in names if not any(call in refused_calls for call in calls.expand(name))]


def _hours() -> Schema:
    clock = {"type": "string", "pattern": f"^{kinds.TIME_OF_DAY}$"}
    return _map({"start": clock, "end": clock, "timezone": _matching(kinds.ZONE)}, ("start", "end"))


def _matching(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def _capability() -> Schema:
    prefixes = "|".join(prefix.rstrip(":") for prefix in NAMED_CAPABILITIES)
    return {"anyOf": [{"enum": list(CAPABILITIES)}, {"type": "string", "pattern": rf"^(?:{prefixes}):[\s\S]"}]}


def _lease_scope() -> Schema:
    return {"anyOf": [{"const": "whole"}, {"type": "array", "minItems": 1, "items": dict(_FILLED)}]}


def _count(most: int = MAX_INTEGER) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": most}


def _enum(values: Tuple[str, ...]) -> Callable[[], Schema]:
    return lambda: {"enum": list(values)}


_DOMAINS = _enum(tuple(domain.value for domain in DOMAINS))
_PRIVILEGES = _enum(tuple(name for name in privileges.NAMES if name not in privileges.NEVER))


def _table(*rows: Tuple[Kind, Callable[[], Schema]]) -> Mapping[str, Callable[[], Schema]]:
    return {kind.words: made for kind, made in rows}


# Of each kind what one value is; of a list, one entry.
_KINDS = _table(
    (kinds.PATHS, lambda: {"$ref": "#/$defs/path"}),
    (kinds.HOSTS, lambda: {"type": "string", "pattern": _HOST}),
    (kinds.PORTS, lambda: _count(65535)),
    (kinds.VARIABLES, lambda: _matching(kinds.VARIABLE)),
    (kinds.PRIVILEGES, _PRIVILEGES),
    (kinds.CAPABILITIES, _capability),
    (kinds.SYSCALLS, lambda: {"$ref": "#/$defs/syscall"}),
    (kinds.PATTERNS, lambda: dict(_FILLED)),
    (kinds.WORDS, lambda: dict(_FILLED)),
    (kinds.DOMAINS_OF_TOOL, _DOMAINS),
    (kinds.WORD, lambda: dict(_FILLED)),
    (kinds.COUNT, _count),
    (kinds.AMOUNT, lambda: {"type": "number", "minimum": 0}),
    (kinds.TRUTH, lambda: {"type": "boolean"}),
    (kinds.CONDITION, lambda: {**_FILLED, "maxLength": MAX_TEXT}),
    (kinds.HOURS, _hours),
    (kinds.TIMEZONE, lambda: _matching(kinds.ZONE)),
    (kinds.DURATION, lambda: _matching(kinds.SPANS)),
    (kinds.DOMAIN, _DOMAINS),
    (kinds.LEASE_SCOPE, _lease_scope),
    (kinds.EXCEED_ACTION, _enum(EXCEED_ACTIONS)),
    (kinds.CREDENTIAL_ACTION, _enum(CREDENTIAL_ACTIONS)),
    (kinds.POSTURE, _enum(POSTURES)),
)
