# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The libraries that `aasm policy explain --program` lists are those that a launch loads, however they are found."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Dict, List, Sequence, Set

import pytest
from support.elf_files import write_program
from support.inside import grants, policy
from support.launch import Lab
from support.program_asked import Both, both, copied, mark

PASSED_ON = ["LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT"]


# --- where libraries are looked for -------------------------------------------------------------------

LIBRARY = "libc.so.6"
SPELLED = {  # LD_LIBRARY_PATH, and the directory from which the library comes: "" is the system's
    "{ws}/open": "open",
    "{ws}/open:{ws}/second": "open",
    "{ws}/second:{ws}/open": "second",
    "{ws}/closed": "",
    "{ws}/closed:{ws}/open": "open",
    "{ws}/closed;{ws}/second": "second",
    "/none;;open": "open",
    "open": "open",
    ":": "",
    "": "",
    "{ws}/unreadable:{ws}/open": "open",
    "{ws}/shut:{ws}/open": "open",
    "$ORIGIN/open": "open",
    "${{ORIGIN}}/second": "second",
    "{ws}/open/": "open",
}


def libraries_of(lab: Lab) -> Dict[str, Path]:
    """Put copies of the C library into directories of the workspace, a program beside them; return where they lie."""
    copied("cat", lab.workspace / "cat")
    places = {name: lab.workspace / name for name in ("open", "second", "closed", "unreadable", "shut")}
    for place in places.values():
        copied(library(LIBRARY), place / LIBRARY)
    os.chmod(places["unreadable"] / LIBRARY, 0o000)
    os.chown(places["unreadable"] / LIBRARY, *((0, 0) if lab.user.uid is not None else (65534, 65534)))
    places["shut"].chmod(0o600)
    return places


def library(name: str) -> str:
    """Return the path of a library that this interpreter's host has."""
    found = subprocess.run(["/bin/cat", "/proc/self/maps"], stdout=subprocess.PIPE, check=True).stdout.decode()
    folder = next(os.path.dirname(line.split()[-1]) for line in found.splitlines() if line.endswith(f"/{LIBRARY}"))
    return os.path.join(folder, name)


def opening(lab: Lab, places: Dict[str, Path], names: Sequence[str] = PASSED_ON) -> str:
    read = [places["open"], places["second"], places["unreadable"], places["shut"], lab.workspace / "cat", "/proc"]
    section = grants([*read, *lab.workspace.glob("script")])
    return policy(filesystem=section, credentials={"environment": {"allow": ["PATH", *names]}})


def mapped(found: Both) -> Set[str]:
    """Return the libraries that the launched program had, from its own /proc/self/maps."""
    paths = {line.split()[-1] for line in found.done.stdout.splitlines() if ".so" in line}
    return {path for path in paths if "/ld-" not in path}


def promised(found: Both) -> Set[str]:
    """Return the libraries that explain says it has."""
    assert found.answers is not None, found.said
    told = [one for one in found.answers if one["action"] == "read" and one["allowed"] and ".so" in one["subject"]]
    return {os.path.realpath(one["subject"]) for one in told if "cache" not in one["note"] + one["subject"]} - {""}


@pytest.mark.parametrize("spelled", SPELLED)
def test_libraries_come_from_where_the_variable_says(lab: Lab, spelled: str) -> None:
    places = libraries_of(lab)
    value = spelled.format(ws=lab.workspace)
    argv = (str(lab.workspace / "cat"), "/proc/self/maps")
    found = both(lab, opening(lab, places), *argv, LD_LIBRARY_PATH=value)
    found.expect(starts=True)
    expected = str(places[SPELLED[spelled]] / LIBRARY) if SPELLED[spelled] else library(LIBRARY)
    assert promised(found) == mapped(found) == {expected}
    alone = both(lab, opening(lab, places, []), *argv, LD_LIBRARY_PATH=value)
    assert promised(alone) == mapped(alone) == {library(LIBRARY)}


def test_env_sets_the_variables_of_what_it_starts(lab: Lab) -> None:
    places = libraries_of(lab)
    lines = {
        f"LD_LIBRARY_PATH={places['open']} {lab.workspace}/cat": {str(places["open"] / LIBRARY), library(LIBRARY)},
        f"-u LD_LIBRARY_PATH {lab.workspace}/cat": {str(places["second"] / LIBRARY), library(LIBRARY)},
        f"-i {lab.workspace}/cat": {str(places["second"] / LIBRARY), library(LIBRARY)},
    }
    for line, expected in lines.items():
        script = write_program(lab.workspace / "script", f"#!/usr/bin/env -S {line} /proc/self/maps\n".encode())
        given = {} if line.startswith("LD") else {"LD_LIBRARY_PATH": str(places["second"])}
        found = both(lab, opening(lab, places), script, **given)
        found.expect(starts=True)
        env_too = {path for path in promised(found) if path in expected}
        assert env_too == expected and mapped(found) <= expected, line


def test_a_library_that_may_nowhere_be_read_is_listed_where_it_would_be(lab: Lab) -> None:
    places = libraries_of(lab)
    loader = os.path.realpath(next(path for path in json_answers(lab, places) if "/ld-" in path))
    cat = lab.workspace / "cat"
    text = policy(
        filesystem={"read": {"allow": [str(cat), loader, "/proc"]}},
        credentials={"environment": {"allow": ["LD_LIBRARY_PATH"]}},
    )
    found = both(lab, text, str(cat), "/proc/self/maps", LD_LIBRARY_PATH=str(places["closed"]))
    found.expect(starts=False)
    assert found.answers is not None
    refused = [answer["subject"] for answer in found.answers if not answer["allowed"]]
    assert str(places["closed"] / LIBRARY) in refused and library(LIBRARY) not in refused


def json_answers(lab: Lab, places: Dict[str, Path]) -> List[str]:
    return both(lab, opening(lab, places), str(lab.workspace / "cat"), "/dev/null").subjects


def test_the_cache_may_be_missing_where_the_default_directories_are_enough(lab: Lab) -> None:
    places = libraries_of(lab)
    loader = os.path.realpath(next(path for path in json_answers(lab, places) if "/ld-" in path))
    read = [str(lab.workspace / "cat"), loader, os.path.dirname(library(LIBRARY)), "/proc"]
    found = both(lab, policy(filesystem={"read": {"allow": read}}), str(lab.workspace / "cat"), "/proc/self/maps")
    found.expect(starts=True)
    assert promised(found) == mapped(found) == {library(LIBRARY)}


PRELOADED = {  # LD_PRELOAD, and whether the library is there then
    "{ws}/open/libm.so.6": True,
    "/none/such.so {ws}/open/libm.so.6": True,
    "libnone.so:{ws}/open/libm.so.6": True,
    "{ws}/closed/libm.so.6": False,
    "{ws}/open/text.so": False,
    "": False,
}


@pytest.mark.parametrize("spelled", PRELOADED)
def test_what_is_loaded_first_is_there_when_it_can_be_and_else_nothing_fails(lab: Lab, spelled: str) -> None:
    places = libraries_of(lab)
    for name in ("open", "closed"):
        copied(library("libm.so.6"), places[name] / "libm.so.6")
    lab.file(places["open"] / "text.so", "text")
    argv = (str(lab.workspace / "cat"), "/proc/self/maps")
    found = both(lab, opening(lab, places), *argv, LD_PRELOAD=spelled.format(ws=lab.workspace))
    found.expect(starts=True)
    more = {str(places["open"] / "libm.so.6")} if PRELOADED[spelled] else set()
    assert mapped(found) == {library(LIBRARY), *more} and more <= promised(found)
    assert str(places["closed"] / "libm.so.6") not in promised(found)


def test_a_loader_that_is_on_its_guard_hears_no_variable(lab: Lab) -> None:
    places = libraries_of(lab)
    mark(str(lab.workspace / "cat"), 0, True)
    argv = (str(lab.workspace / "cat"), "/proc/self/maps")
    found = both(lab, opening(lab, places), *argv, LD_LIBRARY_PATH=str(places["open"]))
    found.expect(starts=True)
    hears = lab.user.uid is None
    assert promised(found) == mapped(found) == {str(places["open"] / LIBRARY) if hears else library(LIBRARY)}


def test_what_another_variable_does_is_not_known(lab: Lab) -> None:
    places = libraries_of(lab)
    found = both(lab, opening(lab, places), str(lab.workspace / "cat"), "/dev/null", LD_AUDIT="/none/such.so")
    assert found.answers is not None and found.code == 1
    (unknown,) = [answer for answer in found.answers if not answer["allowed"]]
    assert unknown["subject"] == "LD_AUDIT" and unknown["why"].startswith("not known: ")
