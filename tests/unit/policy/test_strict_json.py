# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""JSON as strict as the YAML subset: every refusal at its place, positions, and agreement with the standard reader."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from aasm.errors import PolicyError
from aasm.policy.node import MAX_DEPTH, to_data
from aasm.policy.reader import read_document


def read(text: str) -> Any:
    return to_data(read_document(text.encode(), "p.json").root)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", "1:1", "the document is empty"),
        (" \n\t", "1:1", "the document is empty"),
        ("1", "1:1", "the document is not a map"),
        ('"a"', "1:1", "the document is not a map"),
        ("{}{}", "1:3", "text after the end of the document"),
        ("{}\n x", "2:2", "text after the end of the document"),
        ("{", "1:1", "the { is never closed"),
        ('{"a": 1', "1:1", "the { is never closed"),
        ('{"a": 1,', "1:1", "the { is never closed"),
        ('{"a"', "1:1", "the { is never closed"),
        ("[1", "1:1", "the [ is never closed"),
        ("[1,", "1:4", "a value is due here"),
        ('{"a":', "1:6", "a value is due here"),
        ("[1,]", "1:4", "a value is due here"),
        ("[,1]", "1:2", "a value is due here"),
        ("[1 2]", "1:4", 'a comma or ] is due before "2"'),
        ("[1}", "1:3", 'a comma or ] is due before "}"'),
        ('{"a": 1]', "1:8", 'a comma or } is due before "]"'),
        ('{"a": 1,}', "1:9", 'a key in double quotes is due before "}"'),
        ("{a: 1}", "1:2", 'a key in double quotes is due before "a"'),
        ("{1: 1}", "1:2", 'a key in double quotes is due before "1"'),
        ('{"a" 1}', "1:6", "a colon is due behind the key"),
        ('{"a": 1, "b": {"a": 2, "a": 3}}', "1:24", 'duplicate key "a", first on line 1'),
        ('{"ab": 1,\n "\\u0061b": 2}', "2:2", 'duplicate key "ab", first on line 1'),
        ("[NaN]", "1:2", '"NaN" is not a JSON value'),
        ("[Infinity]", "1:2", '"Infinity" is not a JSON value'),
        ("[-Infinity]", "1:2", '"-Infinity" is not a JSON value'),
        ("[True]", "1:2", '"True" is not a JSON value'),
        ("[nul]", "1:2", '"nul" is not a JSON value'),
        ("['a']", "1:2", "\"'a'\" is not a JSON value"),
        ("[01]", "1:2", '"01" is not a JSON value'),
        ("[+1]", "1:2", '"+1" is not a JSON value'),
        ("[.5]", "1:2", '".5" is not a JSON value'),
        ("[5.]", "1:2", '"5." is not a JSON value'),
        ("[1e]", "1:2", '"1e" is not a JSON value'),
        ("[0x1]", "1:3", 'a comma or ] is due before "x"'),
        ("[1e999]", "1:2", "the number is too large"),
        ("[-1e999]", "1:2", "the number is too large"),
        ("[9007199254740992]", "1:2", "the number is larger than 2^53-1"),
        ("[-9007199254740992]", "1:2", "the number is larger than 2^53-1"),
        ("[" + "1" * 5000 + "]", "1:2", "a number of more than 400 characters"),
        ('["a', "1:2", "the double quote is not closed on its line"),
        ('["a\nb"]', "1:2", "the double quote is not closed on its line"),
        ('["a\tb"]', "1:4", "a tab inside double quotes"),
        ('["\\x41"]', "1:3", '"\\x" is not an escape'),
        ('["\\u12"]', "1:3", "\\u needs 4 hexadecimal digits"),
        ('["\\ud800"]', "1:3", "the surrogate \\ud800 is half a character"),
        ('["\\ud800\\u0041"]', "1:3", "the surrogate \\ud800 is half a character"),
        ('["\\ude00\\ud83d"]', "1:3", "the surrogate \\ude00 is half a character"),
        ('["\\ud800\\u"]', "1:9", "\\u needs 4 hexadecimal digits"),
        ('{"\\ud800": 1}', "1:3", "the surrogate \\ud800 is half a character"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "1:33", "more than 32 maps and lists"),
        ('{"a":' * 5000, "1:161", "more than 32 maps and lists"),
        ("// c\n{}", "1:1", "the document is not a map"),
        ('{"a": 1 /* c */}', "1:9", 'a comma or } is due before "/"'),
        ('{"a": "\u202e"}', "1:8", "U+202E changes the order"),
        ("\ufeff{}", "1:1", "the document begins with a byte order mark"),
    ],
)
def test_refusals_name_their_place(text: str, place: str, what: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read(text)
    assert caught.value.where == f"p.json:{place}"
    assert caught.value.what.startswith(what)
    assert caught.value.remedy


def test_the_deepest_document_is_read() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH) == json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)


def test_nodes_know_their_line_and_column() -> None:
    root = read_document(b'\n {"a": [1,\n  "b"], "c": {}}', "p").root
    assert (root.line, root.column) == (2, 2)
    assert isinstance(root.value, dict)
    first = root.value["a"]
    assert (first.key.line, first.key.column, first.node.line, first.node.column) == (2, 3, 2, 8)
    assert isinstance(first.node.value, tuple)
    assert [(item.value, item.line, item.column) for item in first.node.value] == [(1, 2, 9), ("b", 3, 3)]
    assert (root.value["c"].key.line, root.value["c"].key.column) == (3, 9)


def random_value(source: random.Random, depth: int) -> Any:
    kind = source.randrange(7 if depth < 4 else 5)
    if kind == 0:
        return source.choice([None, True, False])
    if kind == 1:
        return source.randrange(-(2**53) + 1, 2**53)
    if kind == 2:
        return source.choice([0.0, -1.5, 1e300, 5e-324, 0.1, 123456.789])
    if kind in (3, 4):
        return "".join(
            source.choice('ab"\\/\n\t\r\b\f\u00e9\u65e5\U0001f600\u2028 ') for _ in range(source.randrange(6))
        )
    if kind == 5:
        return [random_value(source, depth + 1) for _ in range(source.randrange(4))]
    return {f"k{number}\u00e9": random_value(source, depth + 1) for number in range(source.randrange(4))}


@pytest.mark.parametrize("seed", range(40))
def test_it_reads_what_the_standard_reader_reads(seed: int) -> None:
    source = random.Random(seed)
    value = {"top": random_value(source, 0), "next": [random_value(source, 1) for _ in range(5)]}
    for indent in (None, 1):
        text = json.dumps(value, ensure_ascii=True, indent=indent)
        found = read(text)
        assert repr(found) == repr(json.loads(text)) == repr(value)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_document_is_refused_or_read_like_the_standard_reader_does(seed: int) -> None:
    source = random.Random(seed)
    whole = json.dumps({"a": [1, {"b": "c\n"}, None], "d": -1.5e3, "e": {}})
    for _ in range(100):
        at = source.randrange(len(whole))
        text = (
            whole[:at] + source.choice(["", ",", ":", "{", "]", '"', "\\", "0", "-", " ", "e", "."]) + whole[at + 1 :]
        )
        try:
            found = read(text)
        except PolicyError:
            continue
        assert repr(found) == repr(json.loads(text))
