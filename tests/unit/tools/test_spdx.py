# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The document: what it says of each kind of files, identifiers, names, types and dates."""

from __future__ import annotations

import json
import re
from typing import List

import pytest
import sbom
import spdx
from support.small_tree import DATE, ENTRIES, FILES, GOOD, HEADER, VERSION


def test_a_good_document_has_no_fault() -> None:
    assert sbom.faults(sbom.render(GOOD), ENTRIES) == []
    assert json.loads(sbom.render(GOOD)) == GOOD


def test_the_order_of_the_entries_is_of_no_account() -> None:
    assert sbom.document(reversed(ENTRIES), sbom.TREE, DATE, VERSION) == GOOD


def test_each_file_and_each_relationship_is_one_line() -> None:
    lines = sbom.render(GOOD).decode("ascii").splitlines()
    assert len([line for line in lines if line.startswith('    {"fileName": "./')]) == len(FILES)
    assert len([line for line in lines if line.startswith('    {"spdxElementId": "')]) == len(FILES) + 2


def test_the_namespace_is_of_the_content_and_no_host() -> None:
    namespace = re.compile(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    others = [
        GOOD,
        sbom.document(ENTRIES, sbom.TREE, "2026-11-30T08:00:01Z", VERSION),
        sbom.document(ENTRIES[1:], sbom.TREE, DATE, VERSION),
        sbom.document(ENTRIES, sbom.ZIPAPP, DATE, VERSION),
        sbom.document(ENTRIES, sbom.TREE, DATE, "7.8.10"),
    ]
    found = [other["documentNamespace"] for other in others]
    assert all(namespace.fullmatch(one) for one in found) and len(set(found)) == len(others)


NAMES = (
    "a/b", "a-b", "a-2fb", "a_b", "a.b", "A/b", "a//b", "a b", "\u00fc", "u\u0308", "__init__", "-", "--", "_",
    "\U0001f600",
)  # fmt: skip


def test_no_two_names_have_one_id_and_every_id_is_of_the_signs_that_may_be_in_it() -> None:
    found = [spdx.file_id(name) for name in NAMES]
    assert len(set(found)) == len(NAMES)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in found)


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "./a", "a/../b", "a\nb", "a\udc80", "a\0"])
def test_what_is_no_name_of_a_file_is_refused(name: str) -> None:
    with pytest.raises(sbom.SbomError, match="a name that cannot be listed"):
        sbom.document([(name, b"")], sbom.WHEEL, DATE, "1")


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(sbom.SbomError, match=r"^a: a name that cannot be listed"):
        sbom.document([("a", b"1"), ("a", b"2")], sbom.WHEEL, DATE, "1")


@pytest.mark.parametrize(
    ("name", "data", "types"),
    [
        ("aasm/run.py", b"", ["SOURCE", "TEXT"]),
        (".ci/run", b"#!/bin/sh\n", ["SOURCE", "TEXT"]),
        ("docs/x.md", b"", ["DOCUMENTATION", "TEXT"]),
        ("docs/man/aasm.1", b"", ["DOCUMENTATION", "TEXT"]),
        ("docs/completions/_aasm", b"#compdef aasm\n", ["SOURCE", "TEXT"]),
        ("a_aasm", b"x", ["TEXT"]),
        ("tests/x.bin", b"\0", ["BINARY"]),
        ("NOTICE", b"aasm\n", ["TEXT"]),
    ],
)  # fmt: skip
def test_what_a_file_is(name: str, data: bytes, types: List[str]) -> None:
    assert spdx.file_types(name, data) == types


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [
        (sbom.WHEEL, ["aasm-7.8.9.dist-info/RECORD", "aasm-7.8.9.dist-info/sboms/aasm.spdx.json"]),
        (sbom.ZIPAPP, [sbom.NAME]),
        (sbom.TREE, ["PKG-INFO", "REVISION", sbom.NAME]),
    ],
)
def test_an_archive_lists_all_but_itself_and_what_cannot_be_listed(kind: str, left_out: List[str]) -> None:
    inside = [("aasm/__init__.py", FILES["aasm/__init__.py"]), ("x/WHEEL", b"Wheel-Version: 1.0\n")]
    made = sbom.document([*inside, *((name, b"x") for name in left_out)], kind, DATE, VERSION)
    assert made == sbom.document(inside, kind, DATE, VERSION)
    assert [item["fileName"] for item in made["files"]] == ["./aasm/__init__.py", "./x/WHEEL"]
    code = made["packages"][0]["packageVerificationCode"]
    assert code["packageVerificationCodeExcludedFiles"] == [f"./{name}" for name in left_out]
    assert sbom.faults(sbom.render(made), inside, kind) == []
    other = next(one for one in spdx.KINDS if one != kind)
    assert sbom.faults(sbom.render(made), inside, other) != []


def test_a_file_that_states_nothing_is_said_to_state_nothing() -> None:
    made = sbom.document([("x/WHEEL", b"Wheel-Version: 1.0\n"), ("aasm/a.py", HEADER)], sbom.WHEEL, DATE, "1")
    ours, other = made["files"]
    assert (ours["licenseInfoInFiles"], ours["copyrightText"]) == (["Apache-2.0"], "Copyright 2026 The aasm authors")
    assert (other["licenseInfoInFiles"], other["copyrightText"]) == (["NONE"], "NONE")
    assert other["licenseConcluded"] == "Apache-2.0"
    assert made["packages"][0]["licenseInfoFromFiles"] == ["Apache-2.0", "NONE"]


@pytest.mark.parametrize("text", ["1980-01-01T00:00:00Z", DATE, "9999-12-31T23:59:59Z"])
def test_a_date_goes_both_ways(text: str) -> None:
    assert sbom.stamp(sbom.seconds(text)) == text
    assert sbom.date_of(sbom.render(sbom.document(ENTRIES, sbom.TREE, text, "1"))) == sbom.seconds(text)


def test_a_date_before_zip_archives_is_the_first_that_they_can_state() -> None:
    assert sbom.stamp(0) == "1980-01-01T00:00:00Z"
