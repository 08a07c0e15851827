# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is changed in an SBOM, or in the files that it lists, is found and told."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Dict, Iterator, Tuple

import pytest
import sbom
from support.small_tree import BYTES_ONLY, ENTRIES, FILES, GOOD, HEADER, VERSION


def places(value: Any, path: Tuple[Any, ...] = ()) -> Iterator[Tuple[Any, ...]]:
    """Yield the way to every value in a JSON value, itself included."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def at(value: Any, path: Tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def others(value: Any) -> Iterator[Tuple[str, Any]]:
    """Yield values that differ from `value` in one thing, whatever it is, and what that is called."""
    yield from (("null", None), ("a number", 1), ("text", "x"), ("an empty list", []), ("an empty object", {}))
    if isinstance(value, str):
        yield from (("longer", value + "x"), ("shorter", value[:-1]), ("other case", value.swapcase()), ("empty", ""))
        yield from (("with a blank", f" {value}"), ("a list of it", [value]))
    if isinstance(value, bool):
        yield from (("the other", not value), ("as a number", int(value)))
    if isinstance(value, dict):
        yield "an unknown key", {**value, "unknown": "x"}
        for key in value:
            yield f"without {key}", {name: one for name, one in value.items() if name != key}
            yield f"{key} renamed", {(f"{name}x" if name == key else name): one for name, one in value.items()}
    if isinstance(value, list):
        yield "one more", [*value, "x"]
        for number, one in enumerate(value):
            yield f"without {number}", value[:number] + value[number + 1 :]
            yield f"{number} twice", [*value[: number + 1], one, *value[number + 1 :]]
            if number:
                yield f"{number} first", [one, *value[:number], *value[number + 1 :]]


def changed() -> Iterator[Tuple[str, Any]]:
    """Yield the good document with one change, for every value in it and everything that can be done to it."""
    for path in places(GOOD):
        for word, other in others(at(GOOD, path)):
            if other != at(GOOD, path) or type(other) is not type(at(GOOD, path)):
                mutated = copy.deepcopy(GOOD) if path else other
                if path:
                    at(mutated, path[:-1])[path[-1]] = other
                yield f"{'.'.join(map(str, path))}: {word}", mutated


def test_every_change_of_every_value_is_found_and_told_for_what_it_is() -> None:
    changes = dict(changed())
    said = {name: sbom.faults(json.dumps(mutated).encode(), ENTRIES) for name, mutated in changes.items()}
    assert len(changes) > 1000
    assert [name for name, found in said.items() if not found or BYTES_ONLY in found] == []


def test_the_order_of_keys_is_found_in_the_bytes() -> None:
    for path in places(GOOD):
        if isinstance(at(GOOD, path), dict):
            mutated = copy.deepcopy(GOOD)
            found = at(mutated, path)
            first = next(iter(found))
            found[first] = found.pop(first)
            assert sbom.faults(sbom.render(mutated), ENTRIES) == [BYTES_ONLY], path


def test_every_key_that_stands_twice_is_found() -> None:
    for path in places(GOOD):
        for key in at(GOOD, path) if isinstance(at(GOOD, path), dict) else ():
            mutated = copy.deepcopy(GOOD)
            found = at(mutated, path)
            found[f"{key}!twice"] = found[key]
            data = json.dumps(mutated).replace("!twice", "").encode()
            assert f'"{key}" stands 2 times in one object' in sbom.faults(data, ENTRIES), (path, key)


# What the published validator (pyspdxtools 0.8.5) accepts, and each fault with the words that tell it.
ACCEPTED_ELSEWHERE: Dict[str, Tuple[Callable[[Any], Any], str]] = {
    "a wrong verification code": (
        lambda made: made["packages"][0]["packageVerificationCode"].update(packageVerificationCodeValue="0" * 40),
        "packageVerificationCodeValue: ",
    ),
    "no verification code": (
        lambda made: made["packages"][0].pop("packageVerificationCode"),
        'packages: "SPDXRef-Package-aasm": "packageVerificationCode" is missing',
    ),
    "a file name without its beginning": (
        lambda made: made["files"][0].update(fileName="LICENSE"),
        'files: "LICENSE" is unknown',
    ),
    "an unknown key": (lambda made: made.update(extra="x"), '"extra" is unknown'),
    "a wrong hash": (
        lambda made: made["files"][0]["checksums"][1].update(checksumValue="0" * 64),
        'files: "./LICENSE".checksums: "SHA256".checksumValue: ',
    ),
    "a file that is left out": (
        lambda made: [made["files"].pop(0), made["relationships"].pop(2)],
        'files: "./LICENSE" is missing',
    ),
    "another date": (
        lambda made: made["creationInfo"].update(created="2026-11-29T08:00:00Z"),
        "documentNamespace: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED_ELSEWHERE)
def test_what_others_accept_is_told_here(name: str) -> None:
    change, words = ACCEPTED_ELSEWHERE[name]
    mutated = copy.deepcopy(GOOD)
    change(mutated)
    assert [one for one in sbom.faults(sbom.render(mutated), ENTRIES) if words in one]


def test_all_faults_are_told_at_once() -> None:
    mutated = copy.deepcopy(GOOD)
    together = ["a wrong verification code", "an unknown key", "a file that is left out", "another date"]
    for name in together:
        ACCEPTED_ELSEWHERE[name][0](mutated)
    found = "\n".join(sbom.faults(sbom.render(mutated), ENTRIES))
    assert [name for name in together if ACCEPTED_ELSEWHERE[name][1] not in found] == []


@pytest.mark.parametrize(
    "created",
    [
        "", "2026-11-30", "2026-11-30T08:00:00", "2026-11-30T08:00:00.0Z", "2026-11-30T08:00:00+00:00",
        "2026-11-30t08:00:00z", "2026-02-30T08:00:00Z", "2026-11-30T24:00:00Z", "2026-11-30T08:00:60Z",
        "1979-12-31T23:59:59Z", "2026-1-30T8:0:0Z", "\u0662026-11-30T08:00:00Z", " 2026-11-30T08:00:00Z",
        "20261-11-30T08:00:00Z",
    ],
)  # fmt: skip
def test_what_is_no_date_is_told_even_where_all_else_agrees(created: str) -> None:
    made = sbom.document(ENTRIES, sbom.TREE, created, VERSION)
    assert [one for one in sbom.faults(sbom.render(made), ENTRIES) if one.startswith("creationInfo.created: no date")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda files: files.update({"new_file": b""}), '"./new_file" is missing'),
        (lambda files: files.pop("tests/a_b.json"), '"./tests/a_b.json" is unknown'),
        (lambda files: files.update({"tests/a_b.json": b"[]\n"}), '"./tests/a_b.json".checksums: "SHA1"'),
        (lambda files: files.update({"aasm/__init__.py": HEADER + b'__version__ = "7.9"\n'}), "aasm-7.8.9-tree"),
        (lambda files: files.pop("REUSE.toml"), '"./tests/a_b.json".licenseInfoInFiles: "NONE" is missing'),
    ],
)
def test_every_change_of_the_tree_is_told(change: Callable[[Dict[str, bytes]], Any], words: str) -> None:
    files = dict(FILES)
    change(files)
    assert [one for one in sbom.faults(sbom.render(GOOD), files.items()) if words in one]
