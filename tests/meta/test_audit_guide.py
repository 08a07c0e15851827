# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""docs/audit-guide.md names what is there: places, tests, decisions, the order of reading; and it stays short."""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from pathlib import Path
from typing import Iterator, List, Set

import gen_audit_guide as gen
import pytest
from project import PACKAGE, ROOT, parsed
from support.guide import CODE, PAGE, TEXT, Claim, claims

ROWS = claims()
WORDS = 6000  # half an hour for whoever reads two hundred in a minute, and as much for the tables
PER_ROW = 40  # a claim is one plain sentence
PATH = re.compile(r"(?:[\w-]+/)*[\w-]+\.py")


@functools.lru_cache(maxsize=None)
def names_in(path: Path) -> Set[str]:
    """Return what a module defines at its top, those parts of it included that only some hosts have."""
    return set(_defined(parsed(path).body))


def _defined(body: List[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.If):
            yield from _defined(node.body)
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def place(name: str) -> Path:
    """Return the file that a path of the guide means: beneath the package, or the path of a tool or test."""
    return ROOT / (name if name.split("/")[0] in ("tools", "tests", "docs", PACKAGE) else f"{PACKAGE}/{name}")


def test_the_rows_are_numbered_and_each_has_a_place_and_a_test() -> None:
    assert len(ROWS) >= 80
    letters = "".join(dict.fromkeys(row.number[0] for row in ROWS))
    assert letters == "ABCDEFG"
    assert len(ROWS) == len(re.findall(r"^\| [A-Z]\d", TEXT, re.MULTILINE)), "a row that is not read as one"
    for letter in letters:
        numbers = [int(row.number[1:]) for row in ROWS if row.number[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1)), letter
    assert [row.number for row in ROWS if not row.places or not row.tests] == []
    assert [row.number for row in ROWS if len(row.sentence.split()) > PER_ROW] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_every_place_and_every_test_exists(row: Claim) -> None:
    for text in row.places:
        path, colon, name = text.partition(":")
        assert colon and place(path).is_file() and name in names_in(place(path)), text
    for text in row.tests:
        path, colons, name = text.partition("::")
        assert path.startswith("tests/") and colons and name.startswith("test_"), text
        assert (ROOT / path).is_file() and name in names_in(ROOT / path), text


def test_the_tests_that_commands_name_exist() -> None:
    named = re.findall(r"pytest -q (\S+)::(\w+)", TEXT)
    assert len(named) >= 2
    assert [f"{path}::{name}" for path, name in named if name not in names_in(ROOT / path)] == []


def test_every_file_that_is_named_in_words_exists() -> None:
    prose = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    spans = CODE.findall(re.sub(r"^ {4}.*$", "", prose, flags=re.MULTILINE))
    named = {path for span in spans if "{" not in span and "*" not in span for path in PATH.findall(span)}
    assert len(named) > 30 and [name for name in sorted(named) if not place(name).is_file()] == []


def test_every_decision_has_its_claim_or_its_link() -> None:
    decisions = {path.name for path in (ROOT / "docs" / "adr").glob("*.md")}
    assert decisions - set(re.findall(r"\(adr/([\w-]+\.md)\)", TEXT)) == set()


def test_the_reading_order_has_every_file_once_and_is_up_to_date() -> None:
    files = {path.relative_to(ROOT / PACKAGE).as_posix() for path in (ROOT / PACKAGE).rglob("*.py")}
    listed = [name for names in gen.ordered(sorted(gen.texts_of(ROOT))) for name in names]
    assert len(listed) == len(set(listed)) and set(listed) == files | {"py.typed"}
    assert gen.main(["--check"]) == 0


def test_the_page_is_read_in_less_than_an_hour() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) <= WORDS


def test_what_was_seen_to_fail_is_counted() -> None:
    stated = re.search(r"Of the (\d+) rows, (\d+) have a †", TEXT)
    assert stated, "how many rows were tried?"
    seen = len(re.findall(r"^\| [A-G]\d+† \|", TEXT, re.MULTILINE))
    assert (int(stated[1]), int(stated[2])) == (len(ROWS), seen)


def test_the_digest_of_the_licence_is_that_of_the_file() -> None:
    digest = hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest()
    assert f"\n{digest}  LICENSE\n" in TEXT
