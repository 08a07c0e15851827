# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a reader gives: values that know their line and column, the limits of a document, plain data.

Both readers build these values, so that every later complaint can name file:line:column. Nothing here parses.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, NoReturn, Tuple, Union

from ..errors import PolicyError

SUFFIXES = (".yaml", ".yml", ".json", ".toml")  # of files that are policies, in a directory of them
MAX_BYTES = 1 << 20  # of a document as it lies in the file
MAX_DEPTH = 32  # maps and lists inside each other, the root included
MAX_INTEGER = 2**53 - 1  # what every reader of numbers holds exactly (RFC 8259, section 6)
MAX_KEY = 1024  # UTF-16 units of a YAML key as written; readers in the field give up beyond that
DEEP = f"more than {MAX_DEPTH} maps and lists inside each other"
FLATTEN = "flatten the document"
TOO_LARGE = "the number is larger than 2^53-1, which not every reader holds exactly"
SHOWN = 60  # characters of a text that an error line quotes


class Node(NamedTuple):
    """One value. `line` and `column` count from 1, columns in characters.

    A value that is missing after its key (null) has the position of that key, after a dash that of the dash.
    """

    value: "Value"
    line: int
    column: int


class Member(NamedTuple):
    """One entry of a map: the key (its value is a str) and what belongs to it."""

    key: Node
    node: Node


Members = Dict[str, Member]
Value = Union[None, bool, int, float, str, Tuple[Node, ...], Members]


class Document(NamedTuple):
    """A document as it was read. `root` is a map or a list, `format` is "yaml" or "json"."""

    root: Node
    text_name: str
    format: str


def where(name: str, node: Node) -> str:
    """Return file:line:column of `node` in the document called `name`."""
    return f"{name}:{node.line}:{node.column}"


def refuse(name: str, node: Node, what: str, remedy: str) -> NoReturn:
    """Raise the PolicyError that points at `node`."""
    raise PolicyError(what, where(name, node), remedy)


def shown(text: str) -> str:
    """Return `text` in quotes, cut to what fits into an error line."""
    quote = "'" if '"' in text[:SHOWN] else '"'
    return quote + (text if len(text) <= SHOWN else text[:SHOWN] + "...") + quote


def to_data(node: Node) -> Any:
    """Return the plain data: dict, list, str, int, float, bool or None, without positions."""
    value = node.value
    if isinstance(value, dict):
        return {name: to_data(member.node) for name, member in value.items()}
    if isinstance(value, tuple):
        return [to_data(item) for item in value]
    return value


def add_member(name: str, members: Members, key: Node, node: Node) -> None:
    """Put `key: node` into `members`; a key that is there already is refused, with the line of the first."""
    text = key.value
    assert isinstance(text, str)
    if text in members:
        first = members[text].key
        refuse(name, key, f"duplicate key {shown(text)}, first on line {first.line}", "keep one of the two")
    members[text] = Member(key, node)
