# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Text in quotes: the double quotes of YAML and of JSON, which differ in one table, and the single quotes of YAML.

Each function takes a text and the position of the opening quote and returns the value and the position behind the
closing quote. `fail(position, what, remedy)` must raise. A quoted text never goes over a line end.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, List, NamedTuple, NoReturn, Pattern, Tuple

Fail = Callable[[int, str, str], NoReturn]


class Style(NamedTuple):
    """What may follow a backslash: one letter for one character, or a letter and that many hex digits."""

    letters: Dict[str, str]
    digits: Dict[str, int]
    pairs: bool  # two \u escapes may stand for one character beyond U+FFFF
    run: Pattern[str]  # characters that stand for themselves


COMMON = {"\\": "\\", '"': '"', "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MORE = {"0": "\0", "e": "\x1b", "a": "\a", "v": "\v"}
YAML = Style({**COMMON, **_MORE}, {"x": 2, "u": 4, "U": 8}, False, re.compile('[^"\\\\\n]*'))  # YAML 1.2.2, section 5.7

_HEX = frozenset("0123456789abcdefABCDEF")


def double_quoted(text: str, start: int, style: Style, fail: Fail) -> Tuple[str, int]:
    """Read `"..."` with the escapes of `style`."""
    parts: List[str] = []
    at = start + 1
    while True:
        run = style.run.match(text, at)
        assert run is not None  # the pattern takes an empty run as well
        parts.append(run.group())
        at = run.end()
        mark = text[at : at + 1]
        if mark == '"':
            return "".join(parts), at + 1
        if mark == "\t":
            fail(at, "a tab inside double quotes", "write it as \\t")
        if mark != "\\":
            fail(start, "the double quote is not closed on its line", 'close it with ", and write \\n for a line end')
        char, at = _escape(text, at, style, fail)
        parts.append(char)


def single_quoted(text: str, start: int, fail: Fail) -> Tuple[str, int]:
    """Read `'...'`, in which `''` stands for one quote."""
    at = text.find("'", start + 1)
    while at != -1 and text[at + 1 : at + 2] == "'":
        at = text.find("'", at + 2)
    if at == -1:
        fail(start, "the single quote is not closed on its line", "close it with ', and write '' for a quote inside")
    return text[start + 1 : at].replace("''", "'"), at + 1


def _escape(text: str, at: int, style: Style, fail: Fail) -> Tuple[str, int]:
    letter = text[at + 1 : at + 2]
    if letter in style.letters:
        return style.letters[letter], at + 2
    if letter not in style.digits:
        known = " ".join("\\" + letter for letter in (*style.letters, *style.digits))
        fail(at, f'"\\{letter}" is not an escape of this format', f"use one of {known}, or \\\\ for a backslash")
    end = at + 2 + style.digits[letter]
    code = _hex(text, at, end, fail)
    if style.pairs and 0xD800 <= code < 0xDC00 and text.startswith("\\u", end):
        second = _hex(text, end, end + 6, fail)
        if 0xDC00 <= second < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)), end + 6
    if 0xD800 <= code < 0xE000:
        fail(at, f"the surrogate {text[at:end]} is half a character", "write the character itself")
    if code > 0x10FFFF:
        fail(at, f"{text[at:end]} is beyond the last character U+10FFFF", "write the character itself")
    return chr(code), end


def _hex(text: str, at: int, end: int, fail: Fail) -> int:
    digits = text[at + 2 : end]
    if len(digits) != end - at - 2 or not _HEX.issuperset(digits):
        fail(at, f"\\{text[at + 1]} needs {end - at - 2} hexadecimal digits", "write all of them")
    return int(digits, 16)
