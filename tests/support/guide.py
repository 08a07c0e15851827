# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/audit-guide.md as values, for the tests that hold them to the code and to real runs."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Tuple

from project import ROOT

PAGE = ROOT / "docs" / "audit-guide.md"
TEXT = PAGE.read_text(encoding="utf-8")

CODE = re.compile(r"`([^`]+)`")
_CLAIM = re.compile(r"^\| ([A-H]\d+)†? \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


class Claim(NamedTuple):
    """One row of the claims: its number, its sentence, the places in the code, the tests."""

    number: str
    sentence: str
    places: Tuple[str, ...]
    tests: Tuple[str, ...]


def claims(text: str = TEXT) -> List[Claim]:
    """Return the rows of all tables of claims."""
    return [Claim(n, sentence, _codes(where), _codes(by)) for n, sentence, where, by in _CLAIM.findall(text)]


def _codes(cell: str) -> Tuple[str, ...]:
    return tuple(CODE.findall(cell))


def table(first: str, text: str = TEXT) -> List[List[str]]:
    """Return the cells of the rows of the table whose first column has the title `first`."""
    found = re.search(rf"^\| {re.escape(first)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert found, f"there is no table that begins with {first}"
    return [line.strip("|").strip().split(" | ") for line in found[1].splitlines()]
