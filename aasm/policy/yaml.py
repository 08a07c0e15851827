# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML subset: a document is accepted only if every YAML reader in the field sees the same value.

This file holds the lines and their indentation: block maps, block lists, block texts, the document as a whole; what
stands on one line is in inline.py. It builds nodes and must not know what a policy is. Work is linear in the size of
the text, and recursion ends at MAX_DEPTH.
"""

from __future__ import annotations

from typing import List, NoReturn, Tuple

from .inline import Line
from .node import DEEP, FLATTEN, MAX_DEPTH, Members, Node, add_member

_END = -1  # the indentation behind the last line
_MARKS = ("---", "...", "%")  # at the start of a line
Key = Tuple[Node, int]  # and the position behind its colon


def parse(text: str, name: str) -> Node:
    """Return the root (a map or a list) of the YAML document `text`, or raise PolicyError at its first fault."""
    return _Document(text, name).root()


class _Document:
    """The lines, and the significant one at hand: `line` with its `indent` (blanks before its first character)."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines = text.split("\n")
        self.row = -1
        self.indent = _END
        self.line = Line(name, 1, "")
        self.begun = False  # a significant line was there

    def root(self) -> Node:
        self.advance()
        self.start_marker()
        if self.indent == _END:
            self.line.fail(0, "the document is empty", "state at least one rule")
        node = self.block(1)
        if not isinstance(node.value, (dict, tuple)):
            self.line = Line(self.name, node.line, self.lines[node.line - 1])
            self.no_key(node.column - 1, "the document is one single value")
        if self.indent != _END:
            self.misplaced()
        return node

    # lines

    def advance(self, row: int = _END) -> None:
        """Go to the next line that is neither blank nor a comment; with `row`, to the first such from there on."""
        self.row = self.row + 1 if row == _END else row
        while self.row < len(self.lines):
            raw = self.lines[self.row]
            body = raw.lstrip(" ")
            if body and body[0] != "#":
                self.take(raw, len(raw) - len(body))
                return
            if "\t" in raw:
                Line(self.name, self.row + 1, raw).no_tab(0, len(raw))
            self.row += 1
        self.indent = _END

    def take(self, raw: str, indent: int) -> None:
        """Make `raw` the line at hand."""
        self.indent = indent
        self.line = Line(self.name, self.row + 1, raw.rstrip(" "))
        if raw[indent] == "\t":
            self.line.no_tab(indent, indent + 1)
        if not indent and raw.startswith(_MARKS):
            self.marker(raw)
        self.begun = True

    def marker(self, raw: str) -> None:
        """Refuse what divides or describes documents; a `---` before everything else is allowed."""
        if _is_marker(raw, "..."):
            self.line.fail(0, "the end marker ... is not read", "take it out")
        if raw[0] == "%":
            self.line.fail(0, "directives (%) are not read", "take the line out")
        if self.begun and _is_marker(raw, "---"):
            self.line.fail(0, "a second document in one file", "keep one document")

    def start_marker(self) -> None:
        """Step over the one `---` that may stand before everything else."""
        if self.indent or not _is_marker(self.line.text, "---"):
            return
        if not self.line.nothing(3):
            self.line.fail(self.line.skip(3), "text on the line of ---", "begin the document on the next line")
        self.advance()

    # blocks

    def block(self, depth: int) -> Node:
        """Read the map, list or one-line value that begins at the line at hand, and go behind it."""
        at, line = self.indent, self.line
        if _is_dash(line.text, at):
            return self.sequence(at, depth)
        first = line.key(at)
        if first is not None:
            return self.mapping(at, depth, first)
        node, end = line.value(at, depth)
        if depth > 1 and line.text[at] not in "\"'[{":
            what = "a plain value on a line of its own, which some readers join with what stands above it"
            line.fail(at, what, "write it on the line of its key or dash, or in quotes")
        line.ends(end)
        self.advance()
        return node

    def mapping(self, column: int, depth: int, first: Key) -> Node:
        """Read the map whose first key was found at `column` of the line at hand."""
        self.limit(column, depth)
        members: Members = {}
        start = self.line.node(members, column)
        key, at = first
        add_member(self.name, members, key, self.member(key, at, column, depth))
        while self.indent == column:
            key, at = self.key(column)
            add_member(self.name, members, key, self.member(key, at, column, depth))
        if self.indent > column:
            self.misplaced()
        return start

    def key(self, column: int) -> Key:
        line = self.line
        if _is_dash(line.text, column):
            line.fail(column, "a list item where a key is due", "indent the list below its key")
        found = line.key(column)
        if found is None:
            self.no_key(column, "a key is due here")
        return found

    def sequence(self, column: int, depth: int) -> Node:
        """Read the list whose dashes stand at `column`."""
        self.limit(column, depth)
        items: List[Node] = []
        start = self.line.node((), column)
        while self.indent == column and _is_dash(self.line.text, column):
            items.append(self.item(column, depth))
        if self.indent > column:
            self.misplaced()
        return start._replace(value=tuple(items))

    def member(self, key: Node, at: int, column: int, depth: int) -> Node:
        """Read what belongs to `key`, which ended at `at` of the line at hand, in a map at `column`."""
        if not self.line.nothing(at):
            return self.one_value(self.line.skip(at), column, depth)
        self.advance()
        if self.indent > column or (self.indent == column and _is_dash(self.line.text, column)):
            return self.block(depth + 1)
        return key._replace(value=None)

    def item(self, column: int, depth: int) -> Node:
        """Read what belongs to the dash at `column` of the line at hand."""
        line, at = self.line, column + 1
        if line.nothing(at):
            self.advance()
            if self.indent <= column:
                return line.node(None, column)
            self.no_inner_dash(self.indent)
            return self.block(depth + 1)
        at = line.skip(at)
        self.no_inner_dash(at)
        first = None if line.text[at] in "|>" else line.key(at)
        if first is not None:
            return self.mapping(at, depth + 1, first)
        return self.one_value(at, column, depth)

    def one_value(self, at: int, column: int, depth: int) -> Node:
        """Read the value that begins at `at` behind a key or a dash; its parent stands at `column`."""
        line = self.line
        if line.text[at] in "|>":
            from .block import block_text  # only here: most policies hold none, and every launch pays for imports

            value, row = block_text(self.lines, line, at, column)
            self.advance(row)
            return line.node(value, at)
        node, end = line.value(at, depth + 1)
        line.ends(end)
        self.advance()
        return node

    # refusals

    def limit(self, column: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.line.fail(column, DEEP, FLATTEN)

    def no_inner_dash(self, at: int) -> None:
        if _is_dash(self.line.text, at):
            self.line.fail(at, "a list directly inside a list item", "write the inner list in [ ] on one line")

    def misplaced(self) -> NoReturn:
        what = "this line is indented like no open level, and the value above it is complete"
        self.line.fail(self.indent, what, "align it with its level; write a value on one line, or as a >- block text")

    def no_key(self, at: int, what: str) -> NoReturn:
        """Refuse the line at hand, which should hold `key: value`, naming the likely reason."""
        line = self.line
        line.no_tab(at, len(line.text))
        comment = line.text.find(" #", at)
        colon = line.text.find(":", at, len(line.text) if comment == -1 else comment)
        if colon != -1 and line.text[at] not in "\"'[{":
            line.fail(colon, "a blank is missing behind the colon of a key", "write key: value, or the text in quotes")
        line.fail(at, what, "write key: value")


def _is_marker(text: str, marker: str) -> bool:
    return text == marker or text.startswith((marker + " ", marker + "\t"))


def _is_dash(text: str, at: int) -> bool:
    return text[at : at + 1] == "-" and text[at + 1 : at + 2] in ("", " ")
