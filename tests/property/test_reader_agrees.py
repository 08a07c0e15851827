# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The reader accepts only what independent YAML readers read alike, and reads what the format promises.

The cases are data: documents beside the value that four readers of three families agree on, or beside none where they
differ or one of them refuses (tools/gen_yaml_cases.py says which readers, and how the cases were made).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from aasm.errors import PolicyError
from aasm.policy.node import to_data
from aasm.policy.reader import read_document

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "yaml"
PROMISED = "promised: "  # begins the names of the groups whose documents must be read
Seen = Tuple[Any, ...]  # (value,), or () for what is refused
Case = Tuple[str, Seen]


def loaded() -> Dict[str, List[Case]]:
    groups: Dict[str, List[Case]] = {}
    for name in ("written.json", "drawn.json"):
        stored = json.loads((GOLDEN / name).read_text(encoding="utf-8"))["groups"]
        groups.update({group: [(case[0], tuple(case[1:])) for case in cases] for group, cases in stored.items()})
    return groups


GROUPS = loaded()


def ours(document: str) -> Seen:
    try:
        return (to_data(read_document(document.encode("utf-8", "surrogateescape"), "p.yaml").root),)
    except PolicyError as problem:
        assert problem.where.startswith("p.yaml") and problem.remedy, document
        return ()


def spelled(seen: Seen) -> str:
    """Return what is seen so that 1, 1.0, true and "1" differ, and the order of keys counts."""
    return json.dumps(seen)


def misread(cases: List[Case], read: Callable[[str], Seen] = ours) -> Iterator[Tuple[str, Seen, Seen]]:
    """Yield (document, what is seen, what the readers agree on) for each that is accepted and should not be, or so."""
    for document, agreed in cases:
        seen = read(document)
        if seen and spelled(seen) != spelled(agreed):
            yield document, seen, agreed


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_accepted_is_what_every_reader_sees(group: str) -> None:
    assert list(misread(GROUPS[group])) == []


@pytest.mark.parametrize("group", [group for group in GROUPS if group.startswith(PROMISED)])
def test_what_the_format_promises_is_read(group: str) -> None:
    assert [document for document, agreed in GROUPS[group] if not agreed] == [], "no reader's own: not to be promised"
    assert [document for document, _ in GROUPS[group] if not ours(document)] == []


@pytest.mark.parametrize("group", [group for group in GROUPS if group.startswith(PROMISED)])
def test_the_kind_of_line_end_does_not_count(group: str) -> None:
    for document, agreed in GROUPS[group]:
        other = document.replace("\r\n", "\n").replace("\n", "\r\n")
        assert spelled(ours(other)) == spelled(agreed), document


def test_there_are_many_cases_of_each_kind() -> None:
    cases = [case for group in GROUPS.values() for case in group]
    read = sum(bool(ours(document)) for document, _ in cases)
    differ = sum(not agreed for _, agreed in cases)
    assert read > 3000 and differ > 3000 and len(cases) > 8000
    assert len({document for document, _ in GROUPS["drawn"]}) == len(GROUPS["drawn"])


WRONG = ('["a"]', "[1]", "[true]", '["1"]', "[-1.0]", '{"a": 1.0, "b": 2}', '{"b": 2, "a": 1}', "{}", "null")


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_value_is_noticed(wrong: str) -> None:
    for right in ("[1.0]", '{"a": 1, "b": 2}'):
        agreed = (json.loads(right),)
        assert len(list(misread([("a", agreed)], lambda document: (json.loads(wrong),)))) == 1
        assert list(misread([("a", agreed)], lambda document: ())) == []
    assert len(list(misread([("a", ())], lambda document: (json.loads(wrong),)))) == 1
