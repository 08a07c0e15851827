# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The structure of a TOML 1.0 document: its keys, and where everything in it begins.

Read are keys, quotes, brackets and ends of lines, not what a value means. Refused is what breaks the structure, with
both lines where two are at odds, and more than MAX_DEPTH levels. It must not decide what a value is. Work is linear in
the size of the text, and recursion ends at MAX_DEPTH.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, Callable, Dict, List, NoReturn, Tuple, Union

from ..errors import PolicyError
from .node import DEEP, FLATTEN, MAX_DEPTH, shown

Path = List[Tuple[str, int]]  # the parts of a dotted key, each with its position in the text
Words = Dict[str, Tuple[str, str]]

_BLANK = re.compile(r"[ \t]*")
_GAP = re.compile(r"[ \t\n]*(?:#[^\n]*[ \t\n]*)*")
_LINE_END = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n" + _GAP.pattern + r"|\Z)")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_BARE_KEY = re.compile("[A-Za-z0-9_-]+")
WORD = re.compile(r"[^ \t\n,\]}#]*(?: [0-9]{2}:[^ \t\n,\]}#]*)?")  # a date and its time may stand apart
_MAX_PARTS = 6  # of one dotted key; for each key below a header tomllib takes all steps of the header again
_LONGEST_WORD = 400  # characters; no exact double needs more to be told apart, and int() of a long text is slow
# Most values have this form; what fits is read in one step, and everything else takes the long way.
_SIMPLE = r"""(?:(
    (?: [^ \t\n,\]}\#\[{"'][^ \t\n,\]}\#]{0,%d} (?![ ][0-9]{2}:) | "[^"\\\n]*" (?!") | '[^'\n]*' (?!') )
    (?= [ \t\n,\]}\#] | \Z )
))""" % (_LONGEST_WORD - 1)
_SIMPLE_PAIR = re.compile(r"([A-Za-z0-9_-]+)[ \t]*=[ \t]*" + _SIMPLE + "?", re.VERBOSE)
_SIMPLE_ITEM = re.compile(r"[ \t\n]*" + _SIMPLE + r"[ \t\n]*([,\]])", re.VERBOSE)
_BODIES = {  # what may stand between the quotes
    '"': re.compile(r'[^"\\\n]*(?:\\[btnfr"\\uU][^"\\\n]*)*'),
    "'": re.compile(r"[^'\n]*"),
    '"""': re.compile(r'[^"\\]*(?:(?:\\[btnfr"\\uU \t\n]|""?(?!"))[^"\\]*)*'),
    "'''": re.compile(r"[^']*(?:''?(?!')[^']*)*"),
}
_KEY = "write key = value, the key of letters, digits, - and _, or in quotes"
VALUE = "write a number, true, false, or a text in quotes"
QUOTED = "write it in quotes"
_ESCAPE = 'use one of \\b \\t \\n \\f \\r \\" \\u \\U, or \\\\ for a backslash'
ESCAPES: Words = {  # what tomllib finds wrong with an escape: how it begins to say so, our words, and the remedy
    "Invalid hex": ("\\u needs 4 hexadecimal digits, \\U 8", "write all of them"),
    "Escaped character": ("the escape names no character", "write the character itself"),
    "Unescaped": ("a backslash that begins no escape", "write \\\\ for a backslash"),
}


class Array:
    """Where the items of a list are. `open` while headers may add items."""

    __slots__ = ("at", "items", "open")

    def __init__(self, at: int, open: bool) -> None:
        self.at, self.open = at, open
        self.items: List[Place] = []


class Table:
    """Where the keys of a map are, and what belongs to them. `open` while later keys and headers may add to it."""

    __slots__ = ("at", "depth", "members", "open")

    def __init__(self, at: int, depth: int) -> None:
        self.at, self.depth, self.open = at, depth, True
        self.members: Dict[str, Tuple[int, Place]] = {}


Place = Union[int, Array, Table]  # int: the position of a text, a number, true or false


def words(problem: str, table: Words) -> Tuple[str, str]:
    """Return what is wrong, and the remedy; what `table` does not know is told in tomllib's words."""
    known = (row for begin, row in table.items() if problem.startswith(begin))
    return next(known, (f"not TOML: {shown(problem)}", "correct the statement"))


class Structure:
    """The statements of a document, and the places of all that they name. `loads` reads the escapes of a key."""

    def __init__(self, text: str, name: str, loads: Callable[[str], Any]) -> None:
        self.text, self.name, self.loads = text, name, loads
        self.starts = [0]  # of the lines
        self.starts.extend(found.end() for found in re.finditer("\n", text))
        self.statements: List[int] = []  # where the keys of the statements begin

    # places

    def place(self, at: int) -> Tuple[int, int]:
        line = bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def fail(self, at: int, what: str, remedy: str) -> NoReturn:
        line, column = self.place(at)
        raise PolicyError(what, f"{self.name}:{line}:{column}", remedy)

    def due(self, at: int, what: str, remedy: str) -> NoReturn:
        """Refuse what stands at `at` in the place of `what`."""
        mark = self.text[at : at + 1]
        before = "the end of the document" if not mark else "the end of the line" if mark == "\n" else shown(mark)
        self.fail(at, f"{what} is due before {before}", remedy)

    def blank(self, at: int) -> int:
        """Return the position behind blanks and tabs."""
        if self.text[at : at + 1] not in (" ", "\t"):
            return at
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def gap(self, at: int) -> int:
        """Return the position behind blanks, ends of lines and comments."""
        if self.text[at : at + 1] not in (" ", "\n", "\t", "#"):
            return at
        found = _GAP.match(self.text, at)
        return found.end() if found else at

    # statements

    def document(self) -> Table:
        at = self.gap(0)
        if at == len(self.text):
            self.fail(0, "the document is empty", "state at least one rule")
        root = table = Table(at, 1)
        while at < len(self.text):
            if self.text[at] == "[":
                table, at = self.header(root, at)
            else:
                self.statements.append(at)
                at = self.pair(table, at)
            at = self.line_end(at)
        root.at = self.statements[0]
        return root

    def line_end(self, at: int) -> int:
        """Return where the next statement begins; nothing but a comment may stand between it and `at`."""
        found = _LINE_END.match(self.text, at)
        if not found:
            self.due(self.blank(at), "the end of the line", "write one key = value on a line, and text in quotes")
        return found.end()

    def header(self, root: Table, start: int) -> Tuple[Table, int]:
        """Read `[path]` or `[[path]]`, and return the table that the next lines fill."""
        brackets = 2 if self.text.startswith("[[", start) else 1
        at = self.blank(start + brackets)
        self.statements.append(at)
        path, at = self.path(at)
        if not self.text.startswith("]" * brackets, at):
            self.due(at, "]" * brackets, "write [table], or [[table]] for one more entry of a list")
        if brackets == 1:
            return self.descend(root, path), at + 1
        return self.append(self.descend(root, path[:-1]), *path[-1]), at + 2

    def pair(self, table: Table, at: int) -> int:
        """Read `path = value` into `table`."""
        place: Place
        simple = _SIMPLE_PAIR.match(self.text, at)
        if simple:
            name, key, place, end = simple.group(1), at, simple.start(2), simple.end()
            if place == -1:
                place, end = self.value(end, table.depth + 1)
        else:
            path, at = self.path(at)
            if self.text[at : at + 1] != "=":
                self.due(at, "=", _KEY)
            table = self.descend(table, path[:-1])
            name, key = path[-1]
            place, end = self.value(self.blank(at + 1), table.depth + 1)
        if name in table.members:
            line, _ = self.place(table.members[name][0])
            self.fail(key, f"duplicate key {shown(name)}, first on line {line}", "keep one of the two")
        table.members[name] = key, place
        return end

    # keys

    def path(self, at: int) -> Tuple[Path, int]:
        """Read the dotted key at `at`, and return its parts and the position of what follows."""
        path: Path = []
        while True:
            if len(path) == _MAX_PARTS:
                self.fail(at, f"a dotted key of more than {_MAX_PARTS} parts", "nest it in tables")
            name, end = self.part(at)
            path.append((name, at))
            dot = _DOT.match(self.text, end)
            if not dot:
                return path, self.blank(end)
            at = dot.end()

    def part(self, at: int) -> Tuple[str, int]:
        found = _BARE_KEY.match(self.text, at)
        if found:
            return found.group(), found.end()
        mark = self.text[at : at + 1]
        if mark != '"' and mark != "'":
            self.due(at, "a key", _KEY)
        end = self.quoted(at, mark)
        if mark == "'" or "\\" not in self.text[at:end]:
            return self.text[at + 1 : end - 1], end
        try:
            return next(iter(self.loads(self.text[at:end] + "=0"))), end
        except ValueError as problem:
            self.fail(at, *words(str(problem), ESCAPES))

    def descend(self, table: Table, path: Path) -> Table:
        """Return the table that `path` names below `table`; the tables on the way are made, or there already."""
        for name, at in path:
            known = table.members.get(name)
            if known is None:
                below: Place = self.new(at, table.depth + 1)
                table.members[name] = at, below
            else:
                below = known[1]
                if isinstance(below, Array) and below.open:
                    below = below.items[-1]
            if not isinstance(below, Table) or not below.open:
                self.taken(table, name, at)
            table = below
        return table

    def append(self, table: Table, name: str, at: int) -> Table:
        """Return a new table at the end of the list `name` in `table`."""
        if name not in table.members:
            table.members[name] = at, Array(at, True)
        items = table.members[name][1]
        if not isinstance(items, Array) or not items.open:
            self.taken(table, name, at)
        new = self.new(at, table.depth + 2)
        items.items.append(new)
        return new

    def new(self, at: int, depth: int) -> Table:
        if depth > MAX_DEPTH:
            self.fail(at, DEEP, FLATTEN)
        return Table(at, depth)

    def taken(self, table: Table, name: str, at: int) -> NoReturn:
        line, _ = self.place(table.members[name][0])
        self.fail(at, f"the key {shown(name)} holds something else since line {line}", "take another key")

    # values

    def value(self, at: int, depth: int) -> Tuple[Place, int]:
        """Read the value that begins at `at`; a list or map there would be on level `depth`."""
        first = self.text[at : at + 1]
        if first == '"' or first == "'":
            return at, self.quoted(at, first * 3 if self.text.startswith(first * 3, at) else first)
        if first == "[" or first == "{":
            if depth > MAX_DEPTH:
                self.fail(at, DEEP, FLATTEN)
            return self.items(at, depth) if first == "[" else self.members(at, depth)
        found = WORD.match(self.text, at)
        end = found.end() if found else at
        if end == at:
            self.due(at, "a value", VALUE)
        if end - at > _LONGEST_WORD:
            self.fail(at, f"a value of more than {_LONGEST_WORD} characters outside quotes", QUOTED)
        return at, end

    def items(self, start: int, depth: int) -> Tuple[Place, int]:
        array = Array(start, False)
        add, text = array.items.append, self.text
        at = start + 1
        while True:
            simple = _SIMPLE_ITEM.match(text, at)
            while simple:
                add(simple.start(1))
                at = simple.end()
                if simple.group(2) == "]":
                    return array, at
                simple = _SIMPLE_ITEM.match(text, at)
            at = self.gap(at)
            if text[at : at + 1] == "]":
                return array, at + 1
            self.unclosed(start, at)
            place, at = self.value(at, depth + 1)
            add(place)
            at = self.gap(at)
            if text[at : at + 1] == "]":
                return array, at + 1
            self.unclosed(start, at)
            if text[at] != ",":
                self.due(at, "a comma or ]", "separate entries with commas")
            at += 1

    def members(self, start: int, depth: int) -> Tuple[Place, int]:
        """Read a map in braces: all on one line, and no comma before the closing one."""
        table = Table(start, depth)
        at = self.blank(start + 1)
        closed = self.text.startswith("}", at)
        while not closed:
            at = self.blank(self.pair(table, at))
            mark = self.text[at : at + 1]
            closed = mark == "}"
            if not closed:
                if mark != ",":
                    self.due(at, "a comma or }", "close the map on its line, or write it below a [table] line")
                at = self.blank(at + 1)
        table.open = False
        return table, at + 1

    def unclosed(self, start: int, at: int) -> None:
        """Refuse the end of the text before the bracket at `start` has closed."""
        if at >= len(self.text):
            self.fail(start, f"the {self.text[start]} is never closed", "close it")

    def quoted(self, at: int, quotes: str) -> int:
        """Return the position behind the text that `quotes` open at `at`."""
        found = _BODIES[quotes].match(self.text, at + len(quotes))
        end = found.end() if found else at
        if not self.text.startswith(quotes, end):
            escape = self.text[end : end + 2]
            if len(escape) == 2 and escape[0] == "\\" and escape[1] != "\n":
                self.fail(end, f"{shown(escape)} is not an escape of TOML", _ESCAPE)
            what = "are never closed" if len(quotes) == 3 else "is not closed on its line"
            self.fail(at, f"the {quotes} {what}", "close it")
        end += len(quotes)
        if len(quotes) == 3:  # the text itself may end with two quotes more
            end += len(self.text[end : end + 2]) - len(self.text[end : end + 2].lstrip(quotes[0]))
        return end
