# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Plain (unquoted) YAML scalars: accepted only when YAML 1.1 and YAML 1.2 readers see the same value.

Pure functions over one text; positions are the caller's business.
"""

from __future__ import annotations

import re
from typing import Dict, Tuple, Union

from .node import MAX_INTEGER, TOO_LARGE

Scalar = Union[None, bool, int, float, str]

_WORDS: Dict[str, Scalar] = {"true": True, "false": False, "null": None}
_UNSURE_WORDS = frozenset("true false null yes no on off y n".split())  # in any case, unless in _WORDS
_LONGEST_WORD = 5
_NUMBER_START = frozenset("0123456789+-.")
_NUMBER_CHARS = frozenset("0123456789abcdefoxABCDEFOX_+-.:")
_LONGEST_NUMBER = 64  # characters; what is longer and made of these is refused, so that no pattern meets a long text

_INTEGER = re.compile("-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")

_DATE = re.compile("[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[Tt \t]")  # how a date with a time begins
_DATE_UNSURE = "a date is a text for some readers and a time for others"

# What some reader takes for a number or a time; wider than any one reader on purpose. Matched without regard to case,
# and compiled only when a text looks like a number and is none: most documents never do.
_UNSURE_NUMBERS: Tuple[Tuple[str, str], ...] = (
    (r"[-+]?\.(?:inf|nan)", "infinity and not-a-number have no JSON form"),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?", _DATE_UNSURE),
    (r"[-+]?[0-9_]+(?::[0-9_]+)+(?:\.[0-9_]*)?", "a number with colons is base 60 for some readers, a text for others"),
    (r"[-+]?0(?:x[0-9a-f_]+|o[0-7_]+|b[01_]+)", "only decimal numbers mean the same to every reader"),
    (r"[-+]?(?=[0-9.]*_)[0-9.][0-9._]*(?:e[-+]?[0-9_]+)?", "an underscore in a number is not read by every reader"),
    (r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)e[-+]?[0-9]+", "an exponent is not read by every reader"),
    (r"\+[0-9._].*", "a plus sign before a number is not read by every reader"),
    (r"[-+]?(?:\.[0-9]+|[0-9]+\.)", "a number needs digits on both sides of its point"),
    (r"-?0[0-9]+(?:\.[0-9]+)?", "a leading zero makes a number octal for some readers"),
)


class Unsure(ValueError):
    """A text that readers disagree about. `what` says why, `remedy` how to write what was meant."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy


def resolve(text: str) -> Scalar:
    """Return the value of the plain scalar `text` (not empty, no indicator at its start), or raise Unsure."""
    if text[0] in _NUMBER_START:
        return _numeric(text)
    if len(text) > _LONGEST_WORD:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text.lower() in _UNSURE_WORDS:
        raise Unsure(f"{text} is a text for some readers, true, false or null for others", _word_remedy(text))
    if text == "~":
        raise Unsure("~ is a text for some readers and null for others", 'write null, or "~" for the text')
    if text == "=" or text == "<<":
        raise Unsure(f"{text} has a meaning of its own for some readers", f'write "{text}" for the text')
    return text


def _word_remedy(text: str) -> str:
    meant = {"y": "true", "yes": "true", "on": "true", "n": "false", "no": "false", "off": "false"}
    word = text.lower()
    return f'write {meant.get(word, word)}, or "{text}" for the text'


def _numeric(text: str) -> Scalar:
    if len(text) > _LONGEST_NUMBER:
        if _NUMBER_CHARS.issuperset(text):
            raise Unsure("a number may have 64 characters at most", "write the text in quotes")
        if _DATE.match(text):
            raise Unsure(_DATE_UNSURE, "write the text in quotes")
        return text
    if _INTEGER.fullmatch(text):
        if abs(int(text)) > MAX_INTEGER:
            raise Unsure(TOO_LARGE, "write a smaller one, or in quotes what is no number")
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    for pattern, why in _UNSURE_NUMBERS:
        if re.fullmatch(pattern, text, re.IGNORECASE):
            raise Unsure(why, "write a plain decimal number, or the text in quotes")
    return text
