# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A small judge of JSON Schema (draft 2020-12): the keywords that the schema of a policy uses, and no others.

A keyword that it does not know is an error: nothing may pass because nobody looked. Equality is by type as well, since
Python's true is 1.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, Mapping

Schema = Mapping[str, Any]

ANNOTATIONS = ("$schema", "title", "description", "$defs")
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: _TYPES["number"](value) and value == int(value),
}


def accepts(schema: Schema, value: Any) -> bool:
    """Say whether a document is valid against a schema; ValueError for a keyword that is not known here."""
    return _holds(schema, schema, value)


def keywords(schema: Any) -> Iterator[str]:
    """Yield every keyword that a schema uses, those of the schemas in it included."""
    if not isinstance(schema, dict):
        return
    for keyword, inner in schema.items():
        yield keyword
        if keyword in ("properties", "$defs"):
            inner = list(inner.values())
        for item in inner if isinstance(inner, list) else [inner]:
            yield from keywords(item)


def _holds(root: Schema, schema: Schema, value: Any) -> bool:
    for keyword, argument in schema.items():
        if keyword in ANNOTATIONS or keyword in ("then", "else"):
            continue
        judge = _JUDGES.get(keyword)
        if judge is None:
            raise ValueError(f"the keyword {keyword} is not known")
        if not judge(root, schema, argument, value):
            return False
    return True


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _ref(root: Schema, schema: Schema, argument: str, value: Any) -> bool:
    found: Any = root
    for part in argument.split("/")[1:]:
        found = found[part]
    return _holds(root, found, value)


def _conditional(root: Schema, schema: Schema, argument: Schema, value: Any) -> bool:
    branch = "then" if _holds(root, argument, value) else "else"
    return _holds(root, schema.get(branch, {}), value)


def _properties(root: Schema, schema: Schema, argument: Schema, value: Any) -> bool:
    inner = value.items() if isinstance(value, dict) else ()
    return all(_holds(root, argument[name], item) for name, item in inner if name in argument)


def _additional(root: Schema, schema: Schema, argument: Any, value: Any) -> bool:
    known = schema.get("properties", {})
    others = [item for name, item in value.items() if name not in known] if isinstance(value, dict) else []
    return not others if argument is False else all(_holds(root, argument, item) for item in others)


def _of(wanted: str, judge: Callable[[Any, Any], bool]) -> Callable[[Schema, Schema, Any, Any], bool]:
    """Return the judge of a keyword that says nothing about values of another type."""

    def holds(root: Schema, schema: Schema, argument: Any, value: Any) -> bool:
        return not _TYPES[wanted](value) or judge(argument, value)

    return holds


_JUDGES: Dict[str, Callable[[Schema, Schema, Any, Any], bool]] = {
    "$ref": _ref,
    "if": _conditional,
    "anyOf": lambda root, schema, argument, value: any(_holds(root, inner, value) for inner in argument),
    "type": lambda root, schema, argument, value: _TYPES[argument](value),
    "const": lambda root, schema, argument, value: _same(argument, value),
    "enum": lambda root, schema, argument, value: any(_same(item, value) for item in argument),
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": lambda root, schema, argument, value: all(
        _holds(root, argument, name) for name in (value if isinstance(value, dict) else ())
    ),
    "items": lambda root, schema, argument, value: all(
        _holds(root, argument, item) for item in (value if isinstance(value, list) else ())
    ),
    "required": _of("object", lambda argument, value: set(argument) <= set(value)),
    "minItems": _of("array", lambda argument, value: len(value) >= argument),
    "minLength": _of("string", lambda argument, value: len(value) >= argument),
    "maxLength": _of("string", lambda argument, value: len(value) <= argument),
    "pattern": _of("string", lambda argument, value: re.search(argument, value) is not None),
    "minimum": _of("number", lambda argument, value: bool(value >= argument)),
    "maximum": _of("number", lambda argument, value: bool(value <= argument)),
}
