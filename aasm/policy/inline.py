# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What stands on one line of a YAML document: keys, scalars, lists in `[ ]`, maps in `{ }`, comments.

Positions are 0-based offsets into the line; errors and nodes carry 1-based columns. Nothing here knows about
indentation or other lines.
"""

from __future__ import annotations

import re
from typing import List, NoReturn, Optional, Tuple

from ..errors import PolicyError
from .node import DEEP, FLATTEN, MAX_DEPTH, MAX_KEY, Members, Node, Value, add_member, shown
from .quoted import YAML, double_quoted, single_quoted
from .scalars import Unsure, resolve

# What a character at the start of a plain text means in YAML (1.2.2, section 5.3), and what to write instead.
_QUOTE = "write the text in quotes"
_COMMA = "separate entries with commas, or write the text in quotes"
_ONE_KEY = "put one key on a line, and write texts with a colon in quotes"
_INDICATORS = {
    "-": ("a plain text cannot begin with -", _QUOTE),
    "?": ("explicit keys (?) are not read", "write key: value, or the text in quotes"),
    ":": ("a plain text or key cannot begin with :", _QUOTE),
    ",": ("a value is due here", "take the surplus comma out, or write the text in quotes"),
    "[": ("a list cannot be a key", "use a text as the key"),
    "{": ("a map cannot be a key", "use a text as the key"),
    "]": ("a value is due here", "take the comma or bracket out, or write the text in quotes"),
    "}": ("a key is due here", "take the comma or brace out, or write the text in quotes"),
    "#": ("a plain text cannot begin with #", _QUOTE),
    "&": ("anchors (&) are not read", "write the value out, or the text in quotes"),
    "*": ("aliases (*) are not read", "write the value out, or the text in quotes"),
    "!": ("tags (!) are not read", "write the value plainly, or the text in quotes"),
    "|": ("a block text (|) begins on the line of its key or dash, and outside [ ] and { }", _QUOTE),
    ">": ("a block text (>) begins on the line of its key or dash, and outside [ ] and { }", _QUOTE),
    "%": ("directives (%) are not read", "take the line out, or write the text in quotes"),
    "@": ("a plain text cannot begin with @", _QUOTE),
    "`": ("a plain text cannot begin with `", _QUOTE),
}
_NUMBER_AFTER_MINUS = frozenset("0123456789.")
_BLANK_BEFORE_COLON = ("a blank between a key and its colon", "put the colon right behind the key")
_NO_BLANK_AFTER_COLON = ("a blank is missing behind the colon of a key", "write key: value, or the text in quotes")
_FLOW_END = re.compile(r"[,\[\]{}?]| #|:(?=[ ,\[\]{}]|$)")


class Line:
    """One line without its line end and trailing blanks, and where it stands."""

    __slots__ = ("name", "number", "text")

    def __init__(self, name: str, number: int, text: str) -> None:
        self.name, self.number, self.text = name, number, text

    def fail(self, at: int, what: str, remedy: str) -> NoReturn:
        raise PolicyError(what, f"{self.name}:{self.number}:{at + 1}", remedy)

    def node(self, value: Value, at: int) -> Node:
        return Node(value, self.number, at + 1)

    def skip(self, at: int) -> int:
        """Return the position of the first character from `at` that is not a blank."""
        text = self.text
        while text[at : at + 1] == " ":
            at += 1
        return at

    def no_tab(self, start: int, end: int) -> None:
        """Refuse a tab between the two positions."""
        tab = self.text.find("\t", start, end)
        if tab != -1:
            self.fail(tab, "a tab outside quotes and block texts", "use blanks")

    def ends(self, at: int) -> None:
        """Refuse everything from `at` but blanks and a comment that a blank sets off."""
        text = self.text
        if at == len(text):
            return
        self.no_tab(at, len(text))
        after = self.skip(at)
        if text[after] == "#" and after > at:
            return
        if text[after] == ":":
            self.fail(after, "a colon after a complete value", _ONE_KEY)
        remedy = "take it out, or put all of the text into quotes; a comment needs a blank before its #"
        self.fail(after, f"text after a complete value: {shown(text[after:])}", remedy)

    def nothing(self, at: int) -> bool:
        """Return whether only blanks and a comment follow from `at`, a position behind a colon or a dash."""
        after = self.skip(at)
        self.no_tab(after, after + 1)
        if self.text[after : after + 1] not in ("", "#"):
            return False
        self.no_tab(after, len(self.text))
        return True

    # keys of block maps

    def key(self, at: int) -> Optional[Tuple[Node, int]]:
        """Return the key that begins at `at` and the position behind its colon, or None when no key stands here."""
        first = self.text[at]
        if first in "\"'":
            return self._quoted_key(at)
        if first in "[{":
            return None
        end = self._plain_key_end(at)
        if end == -1:
            return None
        if end == at:
            self.fail(at, *_INDICATORS[":"])
        return self._checked_key(self.plain(at, end), at, end), end + 1

    def _quoted_key(self, at: int) -> Optional[Tuple[Node, int]]:
        value, end = self.quoted(at)
        after = self.skip(end)
        if self.text[after : after + 1] != ":":
            return None
        if after > end:
            self.fail(end, *_BLANK_BEFORE_COLON)
        if self.text[after + 1 : after + 2] not in ("", " "):
            self.no_tab(after, len(self.text))
            self.fail(after, *_NO_BLANK_AFTER_COLON)
        return self._checked_key(self.node(value, at), at, end), after + 1

    def _plain_key_end(self, at: int) -> int:
        text = self.text
        comment, colon = text.find(" #", at), text.find(": ", at)
        if colon == -1 and text.endswith(":"):
            colon = len(text) - 1
        return -1 if comment != -1 and comment < colon else colon

    def _checked_key(self, key: Node, at: int, end: int) -> Node:
        if self.text[end - 1] == " ":
            self.fail(end - 1, *_BLANK_BEFORE_COLON)
        if 2 * (end - at) > MAX_KEY and len(self.text[at:end].encode("utf-16-le")) > 2 * MAX_KEY:
            self.fail(at, f"a key of more than {MAX_KEY} characters", "shorten it")
        if not isinstance(key.value, str):
            self.fail(at, f"a key must be a text, and {self.text[at:end]} is none", f'write "{self.text[at:end]}"')
        return key

    # values

    def value(self, at: int, depth: int) -> Tuple[Node, int]:
        """Read the scalar, list or map that begins at `at`; outside brackets, so that it ends with the line."""
        first = self.text[at]
        if first in "\"'":
            text, end = self.quoted(at)
            return self.node(text, at), end
        if first in "[{":
            node, end = self.flow(at, depth)
            if self.text[self.skip(end) :].startswith(":"):
                self.fail(at, *_INDICATORS[first])
            return node, end
        comment = self.text.find(" #", at)
        end = len(self.text) if comment == -1 else comment
        inner = self.text.find(": ", at, end)
        if inner != -1 or self.text[end - 1] == ":":
            self.plain(at, end)  # what else is wrong with it comes first
            inner = end - 1 if inner == -1 else inner
            self.fail(inner, "a second colon on the line of a key", _ONE_KEY)
        return self.plain(at, end), end

    def quoted(self, at: int) -> Tuple[str, int]:
        if self.text[at] == "'":
            return single_quoted(self.text, at, self.fail)
        return double_quoted(self.text, at, YAML, self.fail)

    def plain(self, at: int, end: int) -> Node:
        """Return the value of the plain text between the positions; blanks before `end` do not belong to it."""
        text = self.text[at:end].rstrip(" ")
        if "\t" in text:
            self.no_tab(at, end)
        first = text[:1]
        if first in _INDICATORS and not (first == "-" and text[1:2] in _NUMBER_AFTER_MINUS):
            self.fail(at, *_INDICATORS[first])
        try:
            value = resolve(text)
        except Unsure as problem:
            self.fail(at, problem.what, problem.remedy)
        if first == "-" and isinstance(value, str):
            self.fail(at, *_INDICATORS[first])
        return Node(value, self.number, at + 1)

    # lists and maps in brackets

    def flow(self, at: int, depth: int) -> Tuple[Node, int]:
        """Read the list or map whose bracket stands at `at`; it closes on this line."""
        if depth > MAX_DEPTH:
            self.fail(at, DEEP, FLATTEN)
        return self._flow_list(at, depth) if self.text[at] == "[" else self._flow_map(at, depth)

    def _flow_list(self, start: int, depth: int) -> Tuple[Node, int]:
        items: List[Node] = []
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "]":
            return self.node((), start), at + 1
        while True:
            node, at = self._flow_value(start, at, depth)
            items.append(node)
            at = self.skip(at)
            if self._closes(start, at, "]"):
                return self.node(tuple(items), start), at + 1
            at = self.skip(at + 1)

    def _flow_map(self, start: int, depth: int) -> Tuple[Node, int]:
        members: Members = {}
        at = self.skip(start + 1)
        if self.text[at : at + 1] == "}":
            return self.node(members, start), at + 1
        while True:
            key, at = self._flow_key(start, at)
            at = self.skip(at)
            if self.text[at : at + 1] in (",", "}"):
                node = key._replace(value=None)
            else:
                node, at = self._flow_value(start, at, depth)
                at = self.skip(at)
            add_member(self.name, members, key, node)
            if self._closes(start, at, "}"):
                return self.node(members, start), at + 1
            at = self.skip(at + 1)

    def _flow_key(self, start: int, at: int) -> Tuple[Node, int]:
        if self.text[at : at + 1] in ("'", '"'):
            value, end = self.quoted(at)
            key, after = self.node(value, at), self.skip(end)
            if after > end and self.text[after : after + 1] == ":":
                self.fail(end, *_BLANK_BEFORE_COLON)
        else:
            end = self._flow_plain_end(start, at)
            key = self.plain(at, end)
        if self.text[end : end + 1] != ":":
            self._open(start, end)
            colon = self.text.find(":", at, end)
            if colon != -1 and key.value == self.text[at:end]:
                self.fail(colon, *_NO_BLANK_AFTER_COLON)
            self.fail(at, "a key in { } without a colon and a value", "write {key: value}")
        if self.text[end + 1 : end + 2] != " ":
            self._open(start, end + 1)
            self.fail(end, *_NO_BLANK_AFTER_COLON)
        return self._checked_key(key, at, end), end + 1

    def _flow_value(self, start: int, at: int, depth: int) -> Tuple[Node, int]:
        first = self.text[at : at + 1]
        if first == "[" or first == "{":
            return self.flow(at, depth + 1)
        if first == '"' or first == "'":
            text, end = self.quoted(at)
            return self.node(text, at), end
        end = self._flow_plain_end(start, at)
        return self.plain(at, end), end

    def _flow_plain_end(self, start: int, at: int) -> int:
        text = self.text
        if text[at : at + 1] in ("", "#", "\t"):
            self._open(start, at)
        found = _FLOW_END.search(text, at)
        end = found.start() if found else len(text)
        if text[end : end + 1] == "?" and end > at:
            self.fail(end, "a question mark in a plain text inside [ ] or { }", _QUOTE)
        return max(end, at + 1)  # an indicator at the start is refused by its own words

    def _open(self, start: int, at: int) -> None:
        """Refuse the end of the line (or a comment) before the bracket at `start` has closed."""
        text = self.text
        if at >= len(text) or (text[at] == "#" and text[at - 1] == " ") or text.startswith(" #", at):
            self.fail(start, f"the {text[start]} is not closed on its line", "close it on the line on which it opens")
        self.no_tab(at, at + 1)

    def _closes(self, start: int, at: int, bracket: str) -> bool:
        """Return whether the collection opened at `start` closes at `at`; else a comma must stand there."""
        mark = self.text[at : at + 1]
        if mark == bracket:
            return True
        if mark != ",":
            self._open(start, at)
            if mark == ":":
                self.fail(at, "a colon after a value inside brackets", "write a map in { }, or the text in quotes")
            self.fail(at, f"a comma or {bracket} is due before {shown(mark)}", _COMMA)
        return False
