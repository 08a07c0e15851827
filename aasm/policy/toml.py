# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""TOML 1.0 with positions, from Python 3.11 on: the standard library's tomllib says what a document means.

tomllib tells no positions, takes any depth, and later versions read more than TOML 1.0. So toml_structure.py reads the
text first: it gives the places, and the limit of depth before tomllib sees the text. A document is accepted when both
find the same structure. Refused beside syntax errors: nan, infinities, dates and times, integers beyond 2^53-1. It
builds nodes and must not know what a policy is. Work is linear in the size of the text.
"""

from __future__ import annotations

import gc
import re
import sys
from bisect import bisect_right
from math import isfinite
from typing import Any, Callable, Dict, List, NoReturn, Tuple, Union

from ..errors import PolicyError
from .node import MAX_INTEGER, TOO_LARGE, Member, Members, Node, shown
from .toml_structure import ESCAPES, QUOTED, VALUE, WORD, Array, Place, Structure, Words, words

Loads = Callable[[str], Any]

_NO_VALUE = ("Invalid value", "Invalid date", "Expected newline", "Unclosed")  # how tomllib says that a word is none
_MEANING: Words = {  # what tomllib finds wrong with a statement whose structure is right
    "Cannot declare": ("this table is declared already", "keep one of the two"),
    "Cannot redefine": ("the dotted key reaches into a table with a header of its own", "put it below that header"),
}


def parse(text: str, name: str) -> Node:
    """Return the root (a map) of the TOML document `text`, or raise PolicyError.

    A value has its own position. A table that headers or dotted keys make has that of the key that names it first, the
    root that of the first key.
    """
    loads = _loads(name)
    collects = gc.isenabled()
    gc.disable()  # no garbage arises in cycles here, and visiting the growing trees again and again doubles the time
    try:
        return _read(text, name, loads)
    finally:
        if collects:
            gc.enable()


def _read(text: str, name: str, loads: Loads) -> Node:
    structure = Structure(text, name, loads)
    places = structure.document()
    try:
        data = loads(text)
    except ValueError as problem:
        _refused(structure, str(problem))
    return _Nodes(structure).node(data, places, *structure.place(places.at))


def _loads(name: str) -> Loads:
    if sys.version_info >= (3, 11):
        import tomllib  # only here: older Pythons have none

        return tomllib.loads
    raise PolicyError("TOML needs Python 3.11", name, "write it in YAML or JSON, or use a newer Python")


def _refused(structure: Structure, problem: str) -> NoReturn:
    """Raise the PolicyError for what tomllib said of a document whose structure is right."""
    found = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", problem)
    at = len(structure.text)
    if found and found.group(1):
        at = structure.starts[int(found.group(1)) - 1] + int(found.group(2)) - 1
    if found and problem.startswith(tuple(ESCAPES)):
        structure.fail(at, *words(problem, ESCAPES))
    if found and problem.startswith(_NO_VALUE):
        _no_value(structure, at)
    statement = structure.statements[max(bisect_right(structure.statements, at) - 1, 0)]
    structure.fail(statement, *words(problem[: found.start()] if found else problem, _MEANING))


def _no_value(structure: Structure, at: int) -> NoReturn:
    """Refuse the word that begins at `at` or before."""
    line = structure.starts[bisect_right(structure.starts, at) - 1]
    start = 1 + max(line - 1, *(structure.text.rfind(mark, line, at) for mark in " \t,[{="))
    found = WORD.match(structure.text, start)
    structure.fail(start, f"{shown(found.group() if found else '')} is not a TOML value", VALUE)


class _Nodes:
    """What tomllib read, joined with the places that the structure gave."""

    def __init__(self, structure: Structure) -> None:
        self.place, self.fail = structure.place, structure.fail

    def node(self, value: Any, place: Place, line: int, column: int) -> Node:
        if isinstance(place, int):
            return Node(self.scalar(value, place), line, column)
        if isinstance(place, Array):
            if not isinstance(value, list) or len(value) != len(place.items):
                self.differs(place.at)
            return Node(self.items(value, place.items), line, column)
        if not isinstance(value, dict) or value.keys() != place.members.keys():
            self.differs(place.at)
        return Node(self.members(value, place.members), line, column)

    def items(self, value: List[Any], places: List[Place]) -> Tuple[Node, ...]:
        nodes: List[Node] = []
        for inner, place in zip(value, places):
            line, column = self.place(place if isinstance(place, int) else place.at)
            nodes.append(self.node(inner, place, line, column))
        return tuple(nodes)

    def members(self, value: Dict[str, Any], places: Dict[str, Tuple[int, Place]]) -> Members:
        members: Members = {}
        for name, inner in value.items():
            at, place = places[name]
            line, column = self.place(at)
            behind = (place if isinstance(place, int) else place.at) - at  # a value begins on the line of its key
            members[name] = Member(Node(name, line, column), self.node(inner, place, line, column + behind))
        return members

    def scalar(self, value: Any, at: int) -> Union[str, int, float]:
        if isinstance(value, (str, bool)):
            return value
        if isinstance(value, int):
            if abs(value) > MAX_INTEGER:
                self.fail(at, TOO_LARGE, QUOTED)
            return value
        if isinstance(value, float):
            if not isfinite(value):
                self.fail(at, "the number is too large, infinite or none", "write a number, or the text in quotes")
            return value
        if isinstance(value, (list, dict)):
            self.differs(at)
        self.fail(at, "dates and times are not read", QUOTED)

    def differs(self, at: int) -> NoReturn:
        self.fail(at, "this Python reads a structure here that TOML 1.0 does not have", "write it in YAML or JSON")
