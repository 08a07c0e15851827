# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON: exact bytes, and everything that is not admitted, on the way out and on the way in."""

from __future__ import annotations

import enum
import hashlib
import json
from pathlib import Path
from typing import Any, List, Tuple

import pytest

from aasm.errors import ReceiptError
from aasm.receipt.canonical import MAX_BYTES, MAX_DEPTH, MAX_INTEGER, canonical, decode, digest

VECTORS = Path(__file__).resolve().parents[2] / "golden" / "receipt" / "canonical-jq-1.6.txt"


def vectors() -> List[Tuple[str, str]]:
    lines = VECTORS.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    return list(zip(lines[::2], lines[1::2]))


def nested(depth: int) -> Any:
    value: Any = 0
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(("text", "expected"), vectors())
def test_bytes_are_those_that_jq_printed(text: str, expected: str) -> None:
    assert canonical(decode(text.encode())) == expected.encode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, b"{}"),
        ([], b"[]"),
        ({"b": 1, "a": [True, False, None], "_": {}}, b'{"_":{},"a":[true,false,null],"b":1}'),
        ("/\u2028\U0001f600é", b'"/\xe2\x80\xa8\xf0\x9f\x98\x80\xc3\xa9"'),
        ('\0\x1f\b\f\n\r\t"\\', b'"\\u0000\\u001f\\b\\f\\n\\r\\t\\"\\\\"'),
        (MAX_INTEGER, b"9007199254740991"),
        (-MAX_INTEGER, b"-9007199254740991"),
    ],
)
def test_exact_bytes(value: Any, expected: bytes) -> None:
    assert canonical(value) == expected


class _Text(str):
    pass


class _Number(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.0, "type float"),
        (float("nan"), "type float"),
        (b"x", "type bytes"),
        ((1,), "type tuple"),
        (_Text("x"), "type _Text"),
        (_Number.ONE, "type _Number"),
        (MAX_INTEGER + 1, "2^53-1"),
        (-MAX_INTEGER - 1, "2^53-1"),
        ("a\x7fb", "DEL"),
        ("\ud800", "lone surrogate"),
        ("\udcff", "lone surrogate"),
        ({"A": 1}, "the key"),
        ({"a-b": 1}, "the key"),
        ({"": 1}, "the key"),
        ({"é": 1}, "the key"),
        ({"a\n": 1}, "the key"),
        ({1: 1}, "the key"),
        ({None: 1}, "the key"),
        (nested(MAX_DEPTH + 1), "deeper"),
    ],
)
def test_nothing_else_has_a_canonical_form(value: Any, words: str) -> None:
    for holder in (value, [value], {"x": value}):
        with pytest.raises(ReceiptError) as caught:
            canonical(holder)
        assert "\n" not in str(caught.value)
        if holder is value:
            assert words in str(caught.value)


def test_nesting_up_to_the_limit_is_admitted_both_ways() -> None:
    value = nested(MAX_DEPTH)
    assert decode(canonical(value)) == value


def test_the_digest_is_the_plain_sha256_of_the_bytes() -> None:
    value = {"b": "é", "a": 1}
    assert digest(value) == "sha256:" + hashlib.sha256('{"a":1,"b":"é"}'.encode()).hexdigest()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b'{"a":1}x', "Extra data"),
        (b"1 2", "Extra data"),
        (b'{"a":1,"a":1}', "occurs twice"),
        (b'{"a":1,"\\u0061":2}', "occurs twice"),
        (b'[{"b":{"a":1,"c":2,"a":1}}]', "occurs twice"),
        (b"NaN", "not an integer"),
        (b"[Infinity]", "not an integer"),
        (b"[-Infinity]", "not an integer"),
        (b"1.0", "not an integer"),
        (b"1e3", "not an integer"),
        (b"-0", "not an integer within"),
        (b"9007199254740992", "2^53-1"),
        (b"-9007199254740992", "2^53-1"),
        (b"1" * 100_000, "2^53-1"),
        (b'"\\ud800"', "surrogate"),
        (b'{"\\udfff":1}', "surrogate"),
        (b'"\\ude00\\ud83d"', "surrogate"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xc0\xaf"', "not UTF-8"),
        (b"\xef\xbb\xbf{}", "BOM"),
        (b'"a\nb"', "Invalid control character"),
        (b'"\\x41"', "Invalid \\escape"),
        (b"'a'", "Expecting value"),
        (b"[1,]", "not the JSON"),
        (b"\0", "Expecting value"),
        (b"[" * 100_000, "deeper"),
        (b"[" * 200 + b"]" * 200, "deeper"),
        (b'{"a":' * 65 + b"1" + b"}" * 65, "deeper"),
        (b" " * (MAX_BYTES + 1), "more than"),
    ],
)
def test_reading_is_strict(data: bytes, words: str) -> None:
    with pytest.raises(ReceiptError) as caught:
        decode(data, "the file")
    line = str(caught.value)
    assert line.startswith("the file: ")
    assert "\n" not in line and len(line) < 200
    assert words in line


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b' \t\r\n{ "a" : [ ] } \n', {"a": []}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\/\\u00e9"', "/é"),
        (b'{"A b":0}', {"A b": 0}),  # no canonical form, but it can be read and judged
        (b"[true,false,null,-5]", [True, False, None, -5]),
    ],
)
def test_what_is_admitted_is_read(data: bytes, value: Any) -> None:
    assert decode(data) == value


def test_canonical_bytes_are_read_back_as_what_they_were() -> None:
    value = {"a": ["\0\x1f é\U0010ffff", -1, None, True, {"b_9": {}}]}
    assert decode(canonical(value)) == value
    assert json.loads(canonical(value)) == value
