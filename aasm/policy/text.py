# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes to text: size, UTF-8, and no character that one reader takes for a line end and another for a letter.

The same rules hold for YAML and JSON, so that a line number means one thing. Nothing here knows either grammar.
"""

from __future__ import annotations

import re

from ..errors import PolicyError
from .node import MAX_BYTES

_ASCII = bytes((9, 10, *range(32, 127)))  # fit without a closer look

# Allowed are tab, line feed, a carriage return before a line feed, and what prints (YAML 1.1 and 1.2, c-printable)
# minus what hides text from a human reader or ends a line for some readers only.
_UNFIT = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
    "|\r(?!\n)"
)
_LINE_ENDS = {"\x85": "U+0085", "\u2028": "U+2028", "\u2029": "U+2029"}
_ORDER_CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def decode(data: bytes, name: str) -> str:
    """Return the text of `data` with line feeds as line ends, or raise PolicyError naming the first unfit place."""
    if len(data) > MAX_BYTES:
        raise PolicyError("the document is larger than 1 MiB", name, "split it or leave out what is not policy")
    if data.startswith(b"\xef\xbb\xbf"):
        raise PolicyError("the document begins with a byte order mark", f"{name}:1:1", "save it as UTF-8 without it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        place = _place(data[: problem.start].decode("utf-8"))
        what = f"the byte 0x{data[problem.start]:02x} is not UTF-8"
        raise PolicyError(what, f"{name}:{place}", "save the document as UTF-8") from None
    unfit = re.search(_UNFIT, text) if data.translate(None, _ASCII) else None
    if unfit:
        what, remedy = _complaint(unfit.group()[0])
        raise PolicyError(what, f"{name}:{_place(text[: unfit.start()])}", remedy)
    return text.replace("\r\n", "\n")


def _place(before: str) -> str:
    return f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def _complaint(char: str) -> tuple[str, str]:
    if char == "\r":
        return "a carriage return without a line feed", "end lines with LF or CRLF"
    if char in _LINE_ENDS:
        return f"{_LINE_ENDS[char]} ends a line for some readers only", "end lines with LF or CRLF"
    if char in _ORDER_CONTROLS:
        return f"U+{ord(char):04X} changes the order in which text is shown", "take it out"
    if char == "\ufeff":
        return "a byte order mark inside the document", "take it out"
    return f"the control character U+{ord(char):04X}", "take it out, or write it as an escape in double quotes"
