# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy validate`: every fault of policy files, each with its line. Does not ask what a host can hold."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..backends.native.floor import REFUSED_CALLS
from ..errors import INVALID, OK, PolicyError, one_line, short
from ..model.requirements import RequirementPosture
from ..policy import load, locate, unmapped
from ..policy.document import examine
from ..policy.lowering import lower
from ..policy.places import Places
from ..policy.reader import contents, read_document
from . import note, say
from .parsing import Parser
from .policy import add_json, as_json, parser

SCHEMA = "aasm.policy.validation/1"
BEFORE, BEHIND = 60, 40  # characters of a long line that are shown on each side of a fault
CUT = "..."
INDENT = "    "


class Checked(NamedTuple):
    """What was found out about one file. `text` is what it holds, empty where it could not be read."""

    file: str
    faults: Tuple[PolicyError, ...]
    text: str = ""
    sections: Tuple[str, ...] = ()  # in which it states a rule
    held: bool = False  # whether a boundary could hold any of it
    unmapped: Tuple[str, ...] = ()


class Place(NamedTuple):
    """Where a fault is, from 1; `line` is that line of the file."""

    number: int
    column: int
    line: str


def main(args: List[str]) -> int:
    """Carry out `policy validate`; return 0 when every file is valid, 1 when any is not or cannot be read."""
    options = _parser().parse_args(args)
    found = (item for place in options.files for item in check(place))
    valid = _print_json(tuple(found)) if options.json else _print(found)
    return OK if valid else INVALID


def _parser() -> Parser:
    made = parser(
        "validate",
        "[--json] FILE...",
        "Say of each FILE whether it is a valid policy, with every fault at once. What cannot be read to its end as "
        "YAML, JSON or TOML has one fault. Of a directory every policy in it is judged.",
        "Exit status: 0 when all are valid, 1 when one is not or cannot be read, 2 for a wrong command line.",
    )
    add_json(made)
    made.add_argument("files", nargs="+", metavar="FILE", help="a policy, or a directory of them")
    return made


def check(place: str) -> Iterator[Checked]:
    """Yield what there is to say about a file, or about every policy in a directory."""
    try:
        paths = locate.files(locate.Located((place,), "FILE"))
    except PolicyError as problem:
        yield Checked(place, (problem,))
        return
    yield from map(_checked, paths)


def _checked(path: str) -> Checked:
    data = b""
    try:
        data = contents(path)
        document = read_document(data, path)
    except PolicyError as problem:
        return Checked(path, (problem,), _text(data))
    policy, faults = examine(document, REFUSED_CALLS)
    if faults:
        return Checked(path, tuple(faults), _text(data))
    lowered = lower(load.placed(policy, Places("/", "/", ()))).requirements
    held = any(item.posture is RequirementPosture.REQUIRED for item in lowered)
    return Checked(path, (), "", load.dimensions(policy), held, unmapped.statements(policy))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def places(found: Checked) -> Iterator[Optional[Place]]:
    """Yield the place of each fault of a file; None where it is about the file as a whole."""
    lines = found.text.split("\n")
    for fault in found.faults:
        begin = len(found.file) + 1
        numbers = re.fullmatch("([0-9]+):([0-9]+)", fault.where[begin:])
        if numbers is None or not fault.where.startswith(found.file + ":"):
            yield None
            continue
        number, column = map(int, numbers.groups())
        yield Place(number, column, lines[number - 1] if number <= len(lines) else "")


# --- text -------------------------------------------------------------------------------------------


def _print(found: Iterator[Checked]) -> bool:
    valid = True
    for item in found:
        valid = valid and not item.faults
        for fault, place in zip(item.faults, places(item)):
            note([f"error: {fault}", *(excerpt(place) if place else ())], patience=None)
        if not item.faults:
            say("\n".join(map(one_line, _lines(item))))
    return valid


def excerpt(place: Place) -> Sequence[str]:
    """Return the line of a fault and a caret below its column; of a long line what is around it."""
    at = place.column - 1
    start, end = max(0, at - BEFORE), at + BEHIND
    before = (CUT if start else "") + one_line(place.line[start:at])
    behind = one_line(place.line[at:end]) + (CUT if end < len(place.line) else "")
    return (INDENT + before + behind, INDENT + " " * _columns(before) + "^")


def _columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a wide character, none for one that combines."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # only here: few lines need it

    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)


def _lines(found: Checked) -> Iterator[str]:
    yield f"{found.file}: valid"
    if not found.held:
        yield "  by itself it states nothing that a boundary could hold, so no launch inside one starts with it alone"
    if found.unmapped:
        yield "  statements that no launch of this release acts on:"
    yield from (f"    {short(text)}" for text in found.unmapped)


# --- JSON -------------------------------------------------------------------------------------------


def _print_json(found: Sequence[Checked]) -> bool:
    valid = not any(item.faults for item in found)
    say(as_json({"schema": SCHEMA, "valid": valid, "files": [_facts(item) for item in found]}))
    return valid


def _facts(found: Checked) -> Dict[str, Any]:
    return {
        "file": found.file,
        "valid": not found.faults,
        "faults": [_fault(fault, place) for fault, place in zip(found.faults, places(found))],
        "sections": found.sections,
        "held": found.held,
        "unmapped": found.unmapped,
    }


def _fault(fault: PolicyError, place: Optional[Place]) -> Dict[str, Any]:
    return {
        "what": fault.what,
        "remedy": fault.remedy,
        "line": place and place.number,
        "column": place and place.column,
        "text": place and excerpt(place)[0][len(INDENT) :],
    }
