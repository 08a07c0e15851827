# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Patterns of documents: which are read, and how many, so that no document takes long."""

from __future__ import annotations

import json
import re
import time
from typing import List

import pytest
from bench import documents

from aasm.errors import PolicyError
from aasm.policy.document import examine, validate
from aasm.policy.reader import read_document


def faults_of(patterns: List[str]) -> List[PolicyError]:
    return examine(read_document(json.dumps({"data": {"sensitive_patterns": patterns}}).encode(), "p"))[1]


SHAPES = "wrong patterns, one pattern, wide patterns, patterns of groups, short patterns".split(", ")


@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_document_of_patterns_is_answered_in_time(shape: str) -> None:
    """By processor time, with slack: the longest takes 0.4 s. To make code of the wide ones takes a minute."""
    data = documents.filled(documents.SHAPES[".yaml"][shape], documents.LARGEST)
    start = time.process_time()
    _, faults = examine(read_document(data, "p"))
    assert time.process_time() - start < 2.0
    assert faults


def test_wide_patterns_are_accepted_and_so_is_an_ordinary_list() -> None:
    wide = ["(?i)" + documents.WIDE * 220] * 10
    many = [f"{number:03}" + r"(?:[a-z]{3}|\d+)-" * 11 + "x" * 10 for number in range(200)]
    assert {len(text) for text in many} == {200}
    for patterns in (wide, many, ["x" * 4096] * 16):
        assert faults_of(patterns) == []


@pytest.mark.parametrize(("text", "read"), [("x" * 4096, 16), ("x", 4096), ("x" * 17, 3855)])
def test_patterns_beyond_what_is_read_are_one_fault(text: str, read: int) -> None:
    (fault,) = faults_of([text] * read + ["x" * 4096, "(", "("])  # what follows is not looked at
    column = len('{"data": {"sensitive_patterns": [') + read * len(f'"{text}", ') + 1
    assert fault.where == f"p:1:{column}"
    assert "the patterns of the document count more than 65536 characters" in fault.what
    assert faults_of([text] * read) == []


BEHIND = "(?<=a) (?<!a|b) (?<=(?:a|b)c) (?<=(a)|b) ((?<=a{3})) (?:(?<=a)|b)* a(?=(?<!b)) (?<=(?=a*)b)".split()
UNFIXED = "(?<=a*) (?<!a|bc) ((?<=a?)) x(?:y|(?<=a+)) (?=(?<!a{1,2})) (?<=(?<=a*)b) (?:(?:(?<!ab?)){2})+".split()


@pytest.mark.parametrize("text", BEHIND)
def test_what_looks_behind_is_read(text: str) -> None:
    assert re.compile(text) and faults_of([text]) == []


@pytest.mark.parametrize("text", UNFIXED)
def test_what_only_the_compiler_of_re_refuses_is_refused(text: str) -> None:
    with pytest.raises(re.error):
        re.compile(text)
    (fault,) = faults_of([text])
    assert "no fixed width" in fault.what


@pytest.mark.parametrize("text", ["(?u)(?a)x", "(?<=a{4294967294})", "(" * 1500 + ")" * 1500])
def test_what_re_raises_anything_for_is_no_pattern(text: str) -> None:
    (fault,) = faults_of([text])
    assert "is no regular expression" in fault.what


FAULTS_OF_ONE_VALUE = [
    ('{"filesystem": {"read": {"allow": [{"path": "rel", "optional": "yep", "foo": 1}]}}}', ["foo", "rel", "optional"]),
    ('{"schedule": {"active_hours": {"start": "18:00", "end": "08:00", "timezone": "Mars/X"}}}', ["ends at", "Mars/X"]),
    ('{"schedule": {"active_hours": {"start": "x", "end": 1, "zone": "UTC"}}}', ['"zone"', '"x"', "end"]),
]


@pytest.mark.parametrize(("text", "said"), FAULTS_OF_ONE_VALUE)
def test_of_a_value_of_several_parts_every_fault_is_told(text: str, said: List[str]) -> None:
    policy, faults = examine(read_document(text.encode(), "p"))
    found = " | ".join(map(str, faults))
    assert len(faults) == len(said) and all(word in found for word in said), found
    with pytest.raises(PolicyError):
        validate(read_document(text.encode(), "p"))
