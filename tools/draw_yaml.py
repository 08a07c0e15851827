# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""YAML documents by lot for tools/gen_yaml_cases.py: near to what is read, with something odd here and there.

Texts only: nothing here knows how a document is read, or by whom.
"""

from __future__ import annotations

import random
import re
from typing import List

# Plain and quoted texts, whole lists and maps, and the places where each of them may stand.
SCALARS = (
    "a b text key true false null True FALSE Null yes No on OFF y N ~ = << < - -- --- ... .. . : :: ? ?a a? a?b a:b a: "
    ":a ::b a#b #a & &a * *a ! !a !!str | > |- % @ ` , [ ] { } a,b a, a]b a}b 0 -0 1 -1 +1 00 01 -01 007 08 0o7 0O7 "
    "0x1 0xG 0b1 0b2 1_0 _1 1_ 1,0 1e3 1E-3 e3 1e 1.0e3 1.e3 .1e3 1.0 -1.0 +1.0 0.0 -0.0 00.0 01.5 1. .5 -.5 -. ._ "
    "._1 1._ 1.0_ 1.2.3 -1x -.x .inf -.Inf +.INF .nan .NaN inf nan 1:2 1:20 22:30 22:60 -1:20 1:20.5 190:20:30 1: "
    "2026-01-02 2026-1-2 2026-13-45 2026-01-02T03:04:05Z 9007199254740991 9007199254740992 0.1 100.00 x-y a.b a/b "
    "http://x //x \\ \\n a'b 'a '' 'a' 'a''b' 'a'' \" a\"b \"a\" \"\" \"a\\\"b\" \"\\n\" \"\\x41\" \"\\u0041\" "
    "\"\\/\" \"\\N\" '#' 'a:' '-' ${x} (a) a;b ^a a=b a|b a>b a&b a*b a!b a%b a@b a`b <<a =a \u00e9 \U0001f600 "
    "\u00a0 \u200b \u0661"
).split(" ") + [
    "a b", "a  b", "a #b", "a: b", "a :b", "a : b", "- a", "? a", "1 2", "true x", "2026-01-02 03:04:05", "[a, b]",
    "[a,b]", "[ a ]", "[a, ]", "[]", "[ ]", "{a: 1}", "{a: b, c: d}", "{a: }", "{a}", "{a:1}", '{"a": 1}', "[a: 1]",
    "{a: [b, {c: d}]}", "[[a], [b]]", "[1, 1.0, true, null, '1']", "'a b'", '"a b"', "' '", "'a #b'", "'a\tb'",
    '"a\\tb"', '"\\U0001f600"', '"\\0"',
]  # fmt: skip
CONTEXTS = (
    "a: %s\n", "- %s\n", "a: [%s]\n", "a: {b: %s}\n", "%s: a\n", "a: {%s: b}\n", "a:\n  %s\nb: 1\n", "a: %s # c\n",
)  # fmt: skip
_KEYS = (
    "a b c k a-b a.b a/b 'a' \"a\" \"a: b\" \"\\x61\" '*' '' 'true' '1' \u00e9 a\"b a:b a#b $ (a) 1 1.0 true null on y "
    "~ << [a] {a} *a &a !a ? - -a 2026-01-02 a,b a?"
).split(" ") + ["a b", "a # b"]
_COMMENTS = ("# c", "#", "#c", "# a: b", "# - x", "# 'x", '# "', "# [", "#:", "# ---")
_HEADS = ("|", ">", "|-", ">-", "|", ">", "|-", ">-", "|+", ">+", "|1", "|2-", "| a")
_PIECES = list(" \t\n:-#?,[]{}&*!|>'\"%@`\\~=+._01aey<") + [
    "  ", "\n\n", "\n  ", "\n  \n", "\r\n", "\r", ": ", " # c", "- ", "-\n", "---", "\n---\n", "\n...\n", "\n# c\n",
    "\n  # c\n", "\x85", "\u2028", "\ufeff", "\x00", "\x7f", "\u00e9", "a: 1\n", "  a: 1\n", "- a\n", "|\n", ">-\n",
    "''", '""', "\\\n", "<<: ", "&a ", "*a", "!!str ", "? ", "%YAML 1.1\n---\n", ", ",
]  # fmt: skip


class Draw:
    """One document by lot."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: List[str] = []

    def odd(self, share: float) -> bool:
        return self.rng.random() < share

    def document(self) -> str:
        pick = self.rng.choice
        if self.odd(0.06):
            self.lines.append(pick(("---", "--- # c", "# c", "", "  ", "%YAML 1.2", "--- a", "---a", "--- {a: 1}")))
        self.block(pick((0, 0, 0, 0, 1, 2)), 0)
        if self.odd(0.06):
            self.lines.append(pick(("...", "---", "# c", "  ", "\t", "  # c", "b", "b: 1", "- b")))
        text = "\n".join(self.lines) + pick(("\n", "\n", "\n", "", "\n\n", "\n  "))
        return text.replace("\n", "\r\n") if self.odd(0.04) else text

    def noise(self, indent: int) -> None:
        while self.odd(0.15):
            blanks = " " * self.rng.choice((0, indent, indent, indent + 1, self.rng.randrange(5)))
            self.lines.append(blanks + self.rng.choice(("", *_COMMENTS)))

    def tail(self) -> str:
        return self.rng.choice((" ", " # c", " #", "# c", "\t", " \t# c")) if self.odd(0.08) else ""

    def block(self, indent: int, depth: int) -> None:
        items = self.odd(0.3)
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            self.noise(indent)
            if items:
                self.item(indent, depth)
            else:
                self.member(" " * indent, indent, depth)

    def member(self, lead: str, indent: int, depth: int) -> None:
        key = self.rng.choice(_KEYS[:8]) + self.rng.choice("123") if self.odd(0.8) else self.rng.choice(_KEYS)
        colon = self.rng.choice((" :", ":\t", "::", "")) if self.odd(0.03) else ":"
        self.value(lead + key + colon, indent, depth)

    def item(self, indent: int, depth: int) -> None:
        lead, gap = " " * indent + "-", self.rng.choice((" ", " ", " ", "  ", ""))
        if self.odd(0.3) and gap:
            inner = indent + 1 + len(gap)
            self.member(lead + gap, inner, depth + 1)
            if self.odd(0.5):
                self.noise(inner)
                self.member(" " * (inner + self.rng.choice((0, 0, 0, 0, 1, -1))), inner, depth + 1)
        else:
            self.value(lead, indent, depth)

    def value(self, lead: str, indent: int, depth: int) -> None:
        if self.odd(0.2) and depth < 3:
            self.lines.append(lead + self.tail())
            self.block(indent + self.rng.choice((0, 1, 2, 2, 4)), depth + 1)
        elif self.odd(0.2):
            self.text(lead, indent)
        elif self.odd(0.12):
            self.lines.append(lead + self.tail())
            self.noise(indent + 2)
            self.lines.append(" " * (indent + 2) + self.scalar(1) + self.tail())
        else:
            self.lines.append(lead + " " * self.rng.choice((1, 1, 1, 2, 0)) + self.scalar(0) + self.tail())

    def scalar(self, depth: int) -> str:
        if self.odd(0.3) or depth > 2:
            return self.rng.choice(("a", "b", "text", "1", "true", "'a'", '"a"', "a b", "null", "1.0"))
        if self.odd(0.6):
            return self.rng.choice(SCALARS)
        if self.odd(0.2):
            return re.sub("[\r\n]", " ", "".join(self.rng.choice(_PIECES) for _ in range(3)))
        comma, gap = self.rng.choice((", ", ", ", ",", " , ")), self.rng.choice(("", "", " "))
        colon = ": " if self.odd(0.9) else self.rng.choice((":", " : "))
        keys = [self.rng.choice(_KEYS) + colon if self.odd(0.9) else "" for _ in range(self.rng.choice((0, 1, 2, 2)))]
        if self.odd(0.6):
            return "[" + gap + comma.join(self.scalar(depth + 1) for _ in keys) + gap + "]"
        return "{" + gap + comma.join(key + self.scalar(depth + 1) for key in keys) + gap + "}"

    def text(self, lead: str, indent: int) -> None:
        self.lines.append(lead + " " + self.rng.choice(_HEADS) + self.tail())
        deep = indent + self.rng.choice((1, 2, 2, 3))
        for _ in range(self.rng.randrange(5)):
            blanks = " " * (deep + self.rng.choice((0, 0, 0, 0, 1, 2, -1)))
            word = self.rng.choice(("", "", "a", "b c", "# no", "a: b", "- a", "'", "[", "a  ", "\ta", "a\tb", None))
            self.lines.append("" if self.odd(0.15) else blanks + (self.rng.choice(SCALARS) if word is None else word))


def mutated(rng: random.Random, text: str) -> str:
    """Return the text with one to three faults."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, lines = rng.randrange(len(text) + 1), text.split("\n")
        one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.randrange(7)
        if kind < 3:
            text = text[:at] + rng.choice(_PIECES) + text[at + kind // 2 :]
        elif kind == 3:
            text = text[:at] + text[at + 1 :]
        elif kind == 4:
            lines[one], lines[other] = lines[other], lines[one]
        elif kind == 5:
            line = lines[one]
            lines[one] = rng.choice((" " + line, "  " + line, line[1:], line + rng.choice(_PIECES)))
        else:
            lines.insert(other, lines[one])
        text = text if kind < 4 else "\n".join(lines)
    return text
