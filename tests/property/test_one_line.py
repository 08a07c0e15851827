# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What is printed of any text at all: every character there is, and many texts by lot, the short ways included."""

from __future__ import annotations

import random
import sys
import unicodedata
from typing import Iterator, List

import pytest

from aasm.cli.machine import flat
from aasm.errors import one_line

# Every character of the first plane, and one of each hundred behind it, where whole blocks are alike.
EVERY = [chr(code) for code in (*range(0x10000), *range(0x10000, sys.maxunicode + 1, 97))]
# What texts by lot are made of: what has a way of its own, and what sends the whole text another way.
PARTS = (
    "", " ", "  ", "   ", "a", "word", "é", "\U0001f600", "=", "\\x0a", "\n", "\r\n", "\t", "\x0b", "\x0c", "\0",
    "\x1b[2J", "\x1c", "\x7f", "\x80", "\x85", "\x9f", "\xa0", "\xad", "\u200b", "\u2003", "\u2028", "\u2029", "\u202e",
    "\u3000", "\ufeff", "\ud800", "\udc7f", "\udc80", "\udcff", "\udd00", "\udfff", "\U000e0001", "\U0010ffff",
)  # fmt: skip


def spelled(char: str) -> str:
    """Return how one character is printed, by its category: what prints is itself, and the space is."""
    code, category = ord(char), unicodedata.category(char)
    if char == " " or category[0] not in "CZ":
        return char
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def flattened(text: str) -> str:
    """Return a text as a value of the block: ends of lines and other controls are spaces, and no two stand together."""
    spaced = "".join(" " if ord(char) < 0x20 or 0x7F <= ord(char) <= 0x9F else char for char in text)
    return "".join(map(spelled, " ".join(spaced.split())))


def by_lot(seed: str, number: int) -> Iterator[str]:
    rng = random.Random(seed)
    for _ in range(number):
        yield "".join(rng.choice(PARTS) for _ in range(rng.randrange(12)))


def mixed(seed: str) -> List[str]:
    """Return texts of any characters at all, of several lengths."""
    rng = random.Random(seed)
    return ["".join(rng.choice(EVERY) for _ in range(size)) for size in (1, 2, 3, 10, 100) for _ in range(100)]


def test_every_character_is_itself_or_spelled_out() -> None:
    assert [char for char in EVERY if one_line(char) != spelled(char)] == []
    assert one_line("".join(EVERY)) == "".join(map(spelled, EVERY))


def test_every_character_is_flattened_alone_and_between_words() -> None:
    assert [char for char in EVERY if flat(char) != flattened(char)] == []
    assert [char for char in EVERY if flat(f" a{char} b ") != flattened(f" a{char} b ")] == []
    assert flat("".join(EVERY)) == flattened("".join(EVERY))


@pytest.mark.parametrize("number", range(4))
def test_texts_by_lot_come_out_as_they_would_character_by_character(number: int) -> None:
    plain = 0
    for text in (*by_lot(f"lines {number}", 3000), *mixed(f"mixed {number}")):
        assert one_line(text) == "".join(map(spelled, text)), ascii(text)
        assert flat(text) == flattened(text), ascii(text)
        plain += text.isprintable()
    assert 100 < plain < 3000  # both ways were gone


def test_what_comes_out_is_one_line_and_stays_as_it_is() -> None:
    for text in (*by_lot("again", 3000), *mixed("again")):
        for made in (one_line(text), flat(text)):
            assert made.isprintable() and len(made.splitlines()) <= 1
            assert one_line(made) == made == made.encode("utf-8").decode("utf-8")
        assert flat(flat(text)) == flat(text) and "  " not in flat(text) and flat(text) == flat(text).strip()


def test_no_two_bytes_look_alike() -> None:
    """A text of bytes that are no UTF-8 can be told from every other such text."""
    texts = [bytes([byte]).decode("utf-8", "surrogateescape") for byte in range(256)]
    assert len({one_line(text) for text in texts}) == 256
