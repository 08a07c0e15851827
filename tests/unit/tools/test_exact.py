# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Strict JSON, and the words in which differences between two values are told."""

from __future__ import annotations

import copy
import json
from typing import Any, List

import exact
import pytest

WANTED = {"a": "x", "list": [{"SPDXID": "one", "n": 1}, {"SPDXID": "two", "n": 2}], "flag": True, "words": ["p", "q"]}


def changed(**parts: Any) -> Any:
    return {**copy.deepcopy(WANTED), **parts}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (WANTED, []),
        (changed(a="y"), ['a: "y" must be "x"']),
        (changed(a=None), ['a: null must be "x"']),
        (changed(flag=1), ["flag: 1 must be true"]),
        (changed(more=1), ['"more" is unknown']),
        ({key: value for key, value in WANTED.items() if key != "a"}, ['"a" is missing']),
        (changed(words=["q", "p"]), ["words: out of order"]),
        (changed(words=["p"]), ['words: "q" is missing']),
        (changed(words=["p", "q", "r"]), ['words: "r" is unknown']),
        (changed(words=["p", "q", "p"]), ['words: "p" stands 2 times']),
        (changed(words={"p": "q"}), ['words: {"p": "q"} must be ["p", "q"]']),
        (changed(list=[{"SPDXID": "one", "n": 1}, {"SPDXID": "two", "n": 3}]), ['list: "two".n: 3 must be 2']),
        (changed(list=[{"SPDXID": "two", "n": 2}, {"SPDXID": "one", "n": 1}]), ["list: out of order"]),
        (changed(list=[{"SPDXID": "one", "n": 1}]), ['list: "two" is missing']),
        (changed(list=[*WANTED["list"], {"n": 3}]), ['list: {"n": 3} is unknown']),  # type: ignore[misc]
        ([], [f"[] must be {json.dumps(WANTED, sort_keys=True)[:90]}..."]),
        (changed(a="y\n\u2028"), ['a: "y\\n\\u2028" must be "x"']),
    ],
)
def test_a_difference_is_told_with_its_place(found: Any, said: List[str]) -> None:
    assert list(exact.differences(found, WANTED)) == said


def test_what_is_wanted_twice_may_stand_twice() -> None:
    assert list(exact.differences(["p", "p"], ["p", "p"])) == []
    assert list(exact.differences(["p"], ["p", "p"], "at")) == ['at: "p" stands 1 times']


@pytest.mark.parametrize("data", [b"{}", b'{"a": [1, -2.5, null, true, "\\u00fc"]}', b' "x" ', "\"\u00fc\"".encode()])
def test_json_is_read(data: bytes) -> None:
    assert exact.parsed(data) == (json.loads(data), [])


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a": 1, "a": 1}', ['"a" stands 2 times in one object']),
        (b'{"a": 1, "\\u0061": 1, "a": 2}', ['"a" stands 3 times in one object']),
        (b'[{"b": {"a": 1, "a": 2}, "b": 1}, {"a": 1}]', [f'"{key}" stands 2 times in one object' for key in "ab"]),
    ],
)
def test_keys_that_stand_twice_are_told(data: bytes, said: List[str]) -> None:
    assert exact.parsed(data)[1] == said


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"{} {}", b"{'a': 1}", b"[1,]", b"nul", b"NaN", b"[Infinity]", b"-Infinity", b"\xef\xbb\xbf{}",
        b"\xff", b'"a\nb"', b"[" * 99999, b'{"a":' * 99999, "{}".encode("utf-16"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_one_line(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^no JSON[^\n]*\Z"):
        exact.parsed(data)
