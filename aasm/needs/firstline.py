# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the first line of a script asks for: its interpreter, and the program that env starts. Pure.

Read as the kernel reads it (load_script() of fs/binfmt_script.c) and as env(1) of GNU coreutils splits it.
"""

from __future__ import annotations

import os
import re
from typing import Mapping, NamedTuple, Optional, Tuple

FIRST_BYTES = 256  # BINPRM_BUF_SIZE, linux/binfmts.h, since Linux 5.1
DEFAULT_PATH = "/bin:/usr/bin"  # confstr(3), _CS_PATH: what execvp(3) takes without PATH
Changes = Tuple[Tuple[str, Optional[str]], ...]  # variables in their order, with None for one that is taken away


class FirstLine(NamedTuple):
    """What a script names behind `#!`: a path, and at most one argument."""

    interpreter: str
    argument: str


class EnvCommand(NamedTuple):
    """What env starts; `folder` is where it goes first. `emptied`: it takes every variable away, before `changes`."""

    program: str
    changes: Changes = ()
    folder: str = ""
    emptied: bool = False

    def variables(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of what is started."""
        made = {} if self.emptied else dict(before)
        for name, value in self.changes:
            made.pop(name, None)
            if value is not None:
                made[name] = value
        return made


def first_line(head: bytes) -> FirstLine | None:
    """Return what the first bytes of a script name; None where the kernel refuses them."""
    buffer = head[:FIRST_BYTES].ljust(FIRST_BYTES, b"\0")
    line, newline, _ = buffer[2:].partition(b"\n")
    if not newline or b"\0" in line:
        line = buffer[2:-1]
        if not re.search(rb"[ \t\0]", buffer[2:].lstrip(b" \t")):
            return None  # the path may go on behind these bytes
    found = re.match(rb"[ \t]*([^ \t\0]+)(?:[ \t]+([^\0]*))?", line.rstrip(b" \t"))
    return FirstLine(os.fsdecode(found[1]), os.fsdecode(found[2] or b"")) if found else None


# --- env ----------------------------------------------------------------------------------------------

# The options of env that matter, by what their letter does; the other long ones take a value only behind `=`.
_LETTERS_ALONE, _LETTERS_WITH_VALUE = "iv0", "uCSa"
_LONG = {
    "ignore-environment": "i",
    "debug": "v",
    "null": "0",
    "unset": "u",
    "chdir": "C",
    "split-string": "S",
    "argv0": "a",
    "block-signal": "",
    "default-signal": "",
    "ignore-signal": "",
    "list-signal-handling": "",
}


def env_command(argument: str) -> EnvCommand:
    """Return what env starts when it is given `argument` by a first line; no program when it names none.

    Raises ValueError, with the reason, for what env refuses and for what depends on its environment.
    """
    words = [argument] if argument else []
    changes: list[tuple[str, str | None]] = []
    folder, emptied = "", False
    for letter, value in _options(words):
        emptied = emptied or letter == "i"
        folder = value if letter == "C" else folder
        changes += [(value, None)] if letter == "u" else []
    if words[:1] == ["-"]:
        emptied = True
        del words[0]
    while words and "=" in words[0]:
        name, _, text = words.pop(0).partition("=")
        changes.append((name, text))
    return EnvCommand(words[0] if words else "", tuple(changes), folder, emptied)


def _options(words: list[str]) -> list[tuple[str, str]]:
    """Take the options off the front of `words`, splitting what -S holds; return each letter with its value."""
    found = []
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        for letter, value in _long(word, words) if word.startswith("--") else _cluster(word[1:], words):
            if letter == "S":
                words[:0] = _split(value)
            found.append((letter, value))
    return found


def _long(word: str, words: list[str]) -> list[tuple[str, str]]:
    name, given, value = word[2:].partition("=")
    matching = [letter for long, letter in _LONG.items() if long.startswith(name)]
    if len(matching) != 1:
        raise ValueError(f"env has no option {word}")
    if matching[0] and matching[0] in _LETTERS_WITH_VALUE and not given:
        value = _value(word, words)
    return [(matching[0], value)]


def _cluster(letters: str, words: list[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for index, letter in enumerate(letters):
        if letter in _LETTERS_WITH_VALUE:
            return [*found, (letter, letters[index + 1 :] or _value(f"-{letter}", words))]
        if letter not in _LETTERS_ALONE:
            raise ValueError(f"env has no option -{letter}; without -S it takes the whole line for one argument")
        found.append((letter, ""))
    return found


def _value(option: str, words: list[str]) -> str:
    if not words:
        raise ValueError(f"env gets no value for {option}")
    return words.pop(0)


_PIECE = re.compile(
    r"(?P<escape>\\.?)|(?P<quote>['\"])|(?P<variable>\$)|(?P<blank>[ \t\n\v\f\r]+)|(?P<comment>#)"
    r"|[^\\'\"$ \t\n\v\f\r#]+",
    re.DOTALL,
)
_ESCAPES = {"_": " ", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", **{char: char for char in "\\'\"#$"}}


def _split(text: str) -> list[str]:
    """Return the words of what stands behind -S."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    for piece in _PIECE.finditer(text):
        kind, part = piece.lastgroup, piece.group()
        if kind == "escape" and quote == "'" and part not in ("\\\\", "\\'"):
            kind = None
        if (kind == "blank" or part == "\\_") and not quote:
            words, word = words if word is None else [*words, word], None
        elif kind == "quote" and quote in ("", part):
            quote, word = part if not quote else "", word or ""
        elif part == "\\c" and kind == "escape" and not quote or kind == "comment" and word is None and not quote:
            break
        elif kind == "escape":
            word = (word or "") + _escaped(part)
        elif kind == "variable" and quote != "'":
            raise ValueError("env takes a word from its environment, which is not known here")
        else:
            word = (word or "") + part
    if quote:
        raise ValueError(f"env misses a closing {quote}")
    return words if word is None else [*words, word]


def _escaped(part: str) -> str:
    if part[1:] not in _ESCAPES:
        raise ValueError(f"env does not know the escape {part}")
    return _ESCAPES[part[1:]]
