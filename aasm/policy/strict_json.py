# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""JSON (RFC 8259) with positions, and as strict as the YAML subset.

Refused beside syntax errors: duplicate keys, lone surrogates, NaN and infinities, numbers that overflow, integers
beyond 2^53-1, more than MAX_DEPTH levels, text after the document. It builds nodes and must not know what a policy
is. Work is linear in the size of the text, and recursion ends at MAX_DEPTH.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import List, NoReturn, Tuple

from ..errors import PolicyError
from .node import DEEP, FLATTEN, MAX_DEPTH, MAX_INTEGER, TOO_LARGE, Members, Node, Value, add_member, shown
from .quoted import COMMON, Style, double_quoted

_TEXT = Style(COMMON, {"u": 4}, True, re.compile('[^"\\\\\n\t]*'))  # RFC 8259, section 7
_BLANK = re.compile("[ \t\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?(?![0-9.eE+-])")
_WORD = re.compile('[^ \t\n,:\\[\\]{}"]*')
_WORDS = {"true": True, "false": False, "null": None}
_LONGEST_NUMBER = 400  # characters; no exact double needs more to be told apart, and int() of a long text is slow


def parse(text: str, name: str) -> Node:
    """Return the root (a map or a list) of the JSON document `text`, or raise PolicyError at its first fault."""
    return _Text(text, name).root()


class _Text:
    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.starts = [0]  # of the lines
        self.starts.extend(found.end() for found in re.finditer("\n", text))

    def place(self, at: int) -> Tuple[int, int]:
        line = bisect_right(self.starts, at)
        return line, at - self.starts[line - 1] + 1

    def fail(self, at: int, what: str, remedy: str) -> NoReturn:
        line, column = self.place(at)
        raise PolicyError(what, f"{self.name}:{line}:{column}", remedy)

    def node(self, value: Value, at: int) -> Node:
        line, column = self.place(at)
        return Node(value, line, column)

    def skip(self, at: int) -> int:
        if self.text[at : at + 1] not in (" ", "\n", "\t"):
            return at
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def root(self) -> Node:
        at = self.skip(0)
        if at == len(self.text):
            self.fail(0, "the document is empty", "state at least one rule")
        if self.text[at] not in "{[":
            self.fail(at, "the document is not a map", "begin it with {")
        node, end = self.value(at, 1)
        end = self.skip(end)
        if end != len(self.text):
            self.fail(end, "text after the end of the document", "keep one document")
        return node

    def value(self, at: int, depth: int) -> Tuple[Node, int]:
        """Read the value that begins at `at`; a list or map there would be on level `depth`."""
        first = self.text[at : at + 1]
        if first == '"':
            text, end = double_quoted(self.text, at, _TEXT, self.fail)
            return self.node(text, at), end
        if first == "{" or first == "[":
            if depth > MAX_DEPTH:
                self.fail(at, DEEP, FLATTEN)
            return self.members(at, depth) if first == "{" else self.items(at, depth)
        return self.word(at)

    def items(self, start: int, depth: int) -> Tuple[Node, int]:
        items: List[Node] = []
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "]":
            return self.node((), start), at + 1
        while True:
            node, at = self.value(at, depth + 1)
            items.append(node)
            at = self.skip(at)
            if self.closes(start, at, "]"):
                return self.node(tuple(items), start), at + 1
            at = self.skip(at + 1)

    def members(self, start: int, depth: int) -> Tuple[Node, int]:
        members: Members = {}
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "}":
            return self.node(members, start), at + 1
        while True:
            key, at = self.key(start, at)
            node, at = self.value(at, depth + 1)
            add_member(self.name, members, key, node)
            at = self.skip(at)
            if self.closes(start, at, "}"):
                return self.node(members, start), at + 1
            at = self.skip(at + 1)

    def key(self, start: int, at: int) -> Tuple[Node, int]:
        """Return the key at `at` and the position of its value."""
        if self.text[at : at + 1] != '"':
            self.open(start, at)
            self.fail(at, f"a key in double quotes is due before {shown(self.text[at])}", 'write "key": value')
        text, end = double_quoted(self.text, at, _TEXT, self.fail)
        colon = self.skip(end)
        if self.text[colon : colon + 1] != ":":
            self.open(start, colon)
            self.fail(colon, "a colon is due behind the key", 'write "key": value')
        return self.node(text, at), self.skip(colon + 1)

    def closes(self, start: int, at: int, bracket: str) -> bool:
        """Return whether what opened at `start` closes at `at`; else a comma must stand there."""
        mark = self.text[at : at + 1]
        if mark != bracket and mark != ",":
            self.open(start, at)
            self.fail(at, f"a comma or {bracket} is due before {shown(mark)}", "separate entries with commas")
        return mark == bracket

    def open(self, start: int, at: int) -> None:
        """Refuse the end of the text before the bracket at `start` has closed."""
        if at >= len(self.text):
            self.fail(start, f"the {self.text[start]} is never closed", "close it")

    def word(self, at: int) -> Tuple[Node, int]:
        """Read a number, true, false or null."""
        number = _NUMBER.match(self.text, at)
        if number:
            return self.number(number.group(), bool(number.group(1) or number.group(2)), at), number.end()
        found = _WORD.match(self.text, at)
        word = found.group() if found else ""
        if word in _WORDS:
            return self.node(_WORDS[word], at), at + len(word)
        if not word:
            self.fail(min(at, len(self.text)), "a value is due here", "write one, or take the comma or colon out")
        remedy = "write a number, true, false, null, or a text in double quotes"
        self.fail(at, f"{shown(word)} is not a JSON value", remedy)

    def number(self, text: str, is_float: bool, at: int) -> Node:
        if len(text) > _LONGEST_NUMBER:
            self.fail(at, f"a number of more than {_LONGEST_NUMBER} characters", "write it in quotes")
        value = float(text) if is_float else int(text)
        if value in (float("inf"), float("-inf")):
            self.fail(at, "the number is too large", "write it in quotes")
        if not is_float and abs(value) > MAX_INTEGER:
            self.fail(at, TOO_LARGE, "write a smaller one, or in quotes what is no number")
        return self.node(value, at)
