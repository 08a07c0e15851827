# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes to text: size, encoding, and the characters that readers or people judge differently."""

from __future__ import annotations

import pytest

from aasm.errors import PolicyError
from aasm.policy.node import MAX_BYTES
from aasm.policy.text import decode


def refusal(data: bytes) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        decode(data, "p")
    return caught.value


def test_text_with_either_line_end_is_read() -> None:
    assert decode(b"a: 1\r\nb: 2\n", "p") == "a: 1\nb: 2\n"


def test_the_largest_document_is_read_and_one_byte_more_is_not() -> None:
    assert len(decode(b"#" * MAX_BYTES, "p")) == MAX_BYTES
    error = refusal(b"#" * (MAX_BYTES + 1))
    assert (error.what, error.where) == ("the document is larger than 1 MiB", "p")


@pytest.mark.parametrize(
    ("data", "where", "what"),
    [
        (b"\xef\xbb\xbfa: 1", "p:1:1", "the document begins with a byte order mark"),
        (b"a: 1\nb: \xff", "p:2:4", "the byte 0xff is not UTF-8"),
        ("gr\u00fc\u00df: ".encode() + b"\xe4\n", "p:1:7", "the byte 0xe4 is not UTF-8"),
        (b"a: \xed\xa0\x80", "p:1:4", "the byte 0xed is not UTF-8"),
        (b"\xff\xfea\x00", "p:1:1", "the byte 0xff is not UTF-8"),
        (b"a: 1\rb: 2\n", "p:1:5", "a carriage return without a line feed"),
        (b"a: 1\r", "p:1:5", "a carriage return without a line feed"),
        ("a: 1 # x\u0085b: 2".encode(), "p:1:9", "U+0085 ends a line for some readers only"),
        ("a: 1\u2028b: 2".encode(), "p:1:5", "U+2028 ends a line for some readers only"),
        ("a: 1\nb: '\u2029'".encode(), "p:2:5", "U+2029 ends a line for some readers only"),
        ("# \u202e".encode(), "p:1:3", "U+202E changes the order in which text is shown"),
        ("a: \u2066x\u2069".encode(), "p:1:4", "U+2066 changes the order in which text is shown"),
        ("a: \u200fx".encode(), "p:1:4", "U+200F changes the order in which text is shown"),
        ("a: x\ufeff".encode(), "p:1:5", "a byte order mark inside the document"),
        (b"a: \x00", "p:1:4", "the control character U+0000"),
        (b"a: \x1b[31m", "p:1:4", "the control character U+001B"),
        (b"a: \x7f", "p:1:4", "the control character U+007F"),
        ("a: \u0080".encode(), "p:1:4", "the control character U+0080"),
        ("a: \uffff".encode(), "p:1:4", "the control character U+FFFF"),
    ],
)
def test_unfit_characters_are_refused_with_line_and_column(data: bytes, where: str, what: str) -> None:
    error = refusal(data)
    assert (error.where, error.what) == (where, what)
    assert error.remedy


def test_other_characters_are_fit() -> None:
    text = "tab\t blank\u00a0 \u3000 soft\u00ad joiner\u200d \ue000 \ufffd \U0001f600 \U0001fffe"
    assert decode(text.encode(), "p") == text
