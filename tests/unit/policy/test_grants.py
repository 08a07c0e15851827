# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Grants are pinned to objects; links that a program could have planted, and what we trust ourselves, are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aasm.errors import PolicyError
from aasm.model.grants import beneath, covers, executes
from aasm.policy.grants import Trusted, Wanted, check_place, check_trusted, resolve, within_reach
from aasm.policy.walk import walk


def wanted(path: Path | str, read: bool = True, write: bool = False, execute: bool = False) -> Wanted:
    return Wanted(str(path), read, write, "policy.yaml:3:7", execute)


def write_to(path: Path | str) -> Wanted:
    return wanted(path, write=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


def test_a_grant_names_the_object_and_its_origin(place: Path) -> None:
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    (grant,) = resolve([wanted(place / "link")])
    found = os.stat(place / "real")
    assert grant.path == str(place / "real")
    assert (grant.device, grant.inode, grant.is_directory) == (found.st_dev, found.st_ino, True)
    assert grant.origin == "policy.yaml:3:7"
    assert (grant.read, grant.write, grant.execute) == (True, False, False)


def test_two_entries_for_one_object_become_one_grant_with_both_verbs(place: Path) -> None:
    (grant,) = resolve([wanted(place), wanted(f"{place}//.", read=False, write=True)])
    assert grant.read and grant.write and not grant.execute
    every = [wanted(place), wanted(place, read=False, write=True), wanted(place, read=False, execute=True)]
    for first in range(3):
        (grant,) = resolve(every[first:] + every[:first])
        assert grant.read and grant.write and grant.execute


def test_a_path_that_leads_elsewhere_than_when_it_was_compared_is_refused(place: Path) -> None:
    for name in ("real", "other"):
        (place / name).mkdir()
    (place / "link").symlink_to("real")
    asked = wanted(place / "link")._replace(expected=str(place / "real"))
    (grant,) = resolve([asked])
    assert grant.path == str(place / "real")
    (place / "link").unlink()
    (place / "link").symlink_to("other")
    with pytest.raises(PolicyError, match="leads elsewhere than a moment ago") as caught:
        resolve([asked])
    assert caught.value.where == "policy.yaml:3:7"


def test_a_missing_path_names_the_entry_and_the_remedy(place: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        resolve([wanted(place / "absent")])
    assert str(caught.value).startswith("policy.yaml:3:7: ") and "absent" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "top", "inside"),
    [
        ("/ws", "/ws", True), ("/ws/a", "/ws", True), ("/ws-evil", "/ws", False), ("/w", "/ws", False),
        ("/", "/ws", False), ("/anything", "/", True),
    ],
)  # fmt: skip
def test_containment_is_by_whole_components(path: str, top: str, inside: bool) -> None:
    assert beneath(path, top) is inside


def test_a_write_grant_is_no_read_grant(place: Path) -> None:
    grants = resolve([wanted(place, read=False, write=True)])
    assert covers(grants, str(place / "x"), write=True) and not covers(grants, str(place / "x"), write=False)


def test_what_may_be_executed_is_no_part_of_reading_or_writing(place: Path) -> None:
    grants = resolve([wanted(place, write=True)])
    assert not executes(grants, str(place / "x"))
    grants = resolve([wanted(place, read=False, execute=True)])
    assert executes(grants, str(place / "x")) and not executes(grants, f"{place}-evil")
    assert not covers(grants, str(place / "x"), write=False) and not covers(grants, str(place / "x"), write=True)


def test_a_link_beneath_a_write_grant_is_refused_wherever_it_stands_in_the_path(place: Path) -> None:
    (place / "ws" / "sub").mkdir(parents=True)
    (place / "elsewhere" / "deep").mkdir(parents=True)
    (place / "ws" / "link").symlink_to(place / "elsewhere")
    for path in (place / "ws" / "link", place / "ws" / "link" / "deep", place / "ws" / "sub" / ".." / "link"):
        asked = [write_to(place / "ws"), wanted(path)]
        with pytest.raises(PolicyError, match="symbolic link"):
            resolve(asked)


def test_a_link_that_leads_through_a_writable_link_is_refused(place: Path) -> None:
    (place / "ws").mkdir()
    (place / "elsewhere").mkdir()
    (place / "ws" / "planted").symlink_to(place / "elsewhere")
    (place / "outer").symlink_to(place / "ws" / "planted")
    asked = [write_to(place / "ws"), wanted(place / "outer")]
    with pytest.raises(PolicyError, match="planted"):
        resolve(asked)


def test_links_that_no_program_may_write_are_followed(place: Path) -> None:
    (place / "ws").mkdir()
    (place / "target").mkdir()
    (place / "link").symlink_to("target")
    (place / "to_ws").symlink_to("ws")
    asked = [write_to(place / "to_ws"), wanted(place / "link"), wanted(place / "ws")]
    assert {grant.path for grant in resolve(asked)} == {str(place / "ws"), str(place / "target")}


def test_a_working_directory_that_is_reached_through_a_planted_link_is_refused(place: Path) -> None:
    (place / "ws").mkdir()
    (place / "elsewhere").mkdir()
    (place / "ws" / "link").symlink_to(place / "elsewhere")
    grants = resolve([write_to(place / "ws")])
    check_place(walk(str(place / "ws")), grants, "--workdir")
    with pytest.raises(PolicyError, match="symbolic link"):
        check_place(walk(str(place / "ws" / "link")), grants, "--workdir")


def test_something_trusted_behind_a_link_that_may_be_written_is_refused(place: Path) -> None:
    (place / "ws").mkdir()
    (place / "state").mkdir()
    (place / "ws" / "link").symlink_to(place / "state")
    grants = resolve([write_to(place / "ws")])
    check_trusted(grants, [Trusted(str(place / "state"), "the ledger", True)])
    with pytest.raises(PolicyError, match="the ledger"):
        check_trusted(grants, [Trusted(str(place / "ws" / "link"), "the ledger", True)])
    with pytest.raises(PolicyError, match="the ledger"):
        check_trusted(grants, [Trusted(str(place / "ws" / "not" / "there" / "yet"), "the ledger", True)])


@pytest.mark.parametrize("path", ["/proc/self", "/proc/self/fd", "/dev/fd", "/proc/thread-self"])
def test_a_grant_on_one_process_of_proc_is_refused(path: str) -> None:
    with pytest.raises(PolicyError, match="one process"):
        resolve([wanted(path)])


def test_a_loop_of_links_is_refused_and_does_not_hang(place: Path) -> None:
    (place / "a").symlink_to("b")
    (place / "b").symlink_to("a")
    with pytest.raises(PolicyError):
        resolve([wanted(place / "a")])


@pytest.mark.parametrize(
    ("inside", "grant", "refused"),
    [
        (False, "", True), (False, "code", True), (False, "code/sub", False),
        (True, "code/sub", True), (True, "other", False),
    ],
)  # fmt: skip
def test_what_the_next_run_trusts_may_not_be_written(place: Path, inside: bool, grant: str, refused: bool) -> None:
    for name in ("code/sub", "other"):
        (place / name).mkdir(parents=True)
    grants = resolve([write_to(place / grant)])
    trusted = [Trusted(str(place / "code"), "our code", inside)]
    if refused:
        with pytest.raises(PolicyError, match="our code"):
            check_trusted(grants, trusted)
    else:
        check_trusted(grants, trusted)
    check_trusted([g._replace(write=False) for g in grants], trusted)


def test_trusted_places_are_compared_as_what_they_are_and_not_as_they_are_spelled(place: Path) -> None:
    (place / "code").mkdir()
    (place / "alias").symlink_to("code")
    with pytest.raises(PolicyError):
        check_trusted(resolve([write_to(place / "code")]), [Trusted(str(place / "alias"), "our code", False)])


def test_what_is_within_reach_of_a_writer_is_judged_by_what_things_are(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ws/sub", "ws-evil", "etc"):
        (place / name).mkdir(parents=True)
    (place / "ws" / "policy").write_text("")
    (place / "etc" / "policy").write_text("")
    (place / "etc" / "to_ws").symlink_to(place / "ws" / "policy")
    (place / "ws" / "to_etc").symlink_to(place / "etc" / "policy")
    monkeypatch.chdir(place)
    top = [str(place / "ws")]
    for path in (place / "ws" / "policy", place / "etc" / "to_ws", place / "ws" / "to_etc", place / "ws" / "none"):
        assert within_reach(str(path), top), path
    assert within_reach("ws/policy", top) and within_reach(str(place / "ws" / "policy"), ["/"])
    assert within_reach(str(place / "ws"), [str(place / "ws" / "sub")])
    for path in (place / "etc" / "policy", place / "ws-evil", place / "none"):
        assert not within_reach(str(path), top), path
    assert not within_reach(str(place / "ws" / "policy"), [])
