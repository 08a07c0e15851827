# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Path entries and what placeholders stand for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aasm.errors import InternalError, PolicyError, UsageError
from aasm.policy import places
from aasm.policy.places import (
    PathValue,
    Placed,
    Places,
    command_line_entry,
    expand,
    host_places,
    path_value,
    place,
    system_entry,
    system_paths,
)
from aasm.policy.values import Entry, Listing

HERE = Places("/w", "/h/", ("/usr", "/etc/hosts"))


def path_entry(text: str, where: str = "p.yaml:4:7", optional: bool = False) -> Entry:
    """Return the entry of a document that says `text` at this place."""
    return Entry(text, path_value(text, where), (where,), optional)


@pytest.mark.parametrize(
    ("text", "placeholder", "rest", "paths"),
    [
        ("/", None, "/", ("/",)),
        ("/usr//lib/.", None, "/usr//lib/.", ("/usr//lib/.",)),
        ("/a b/..c/c..", None, "/a b/..c/c..", ("/a b/..c/c..",)),
        ("${workdir}", "workdir", "", ("/w",)),
        ("${workdir}/out", "workdir", "/out", ("/w/out",)),
        ("${home}", "home", "", ("/h",)),
        ("${home}/.cache", "home", "/.cache", ("/h/.cache",)),
        ("${system}", "system", "", ("/usr", "/etc/hosts")),
    ],
)
def test_entries_are_kept_as_written_and_expanded_apart(
    text: str, placeholder: str, rest: str, paths: "tuple[str, ...]"
) -> None:
    entry = path_entry(text)
    assert entry.value == PathValue(placeholder, rest)
    assert (entry.text, entry.where) == (text, "p.yaml:4:7")
    assert expand(entry, HERE) == paths
    placed = place(Listing((entry,), ("p.yaml:4:1",)), HERE, follow=False)
    assert placed.origins == ("p.yaml:4:1",)
    assert placed.entries == tuple(entry._replace(value=Placed(path, path)) for path in paths)


def test_the_root_as_a_place_gives_no_double_slash() -> None:
    at_root = Places("/", "", ())
    assert expand(path_entry("${workdir}"), at_root) == ("/",)
    assert expand(path_entry("${workdir}/a"), at_root) == ("/a",)


def test_an_unknown_home_is_an_error_only_where_it_is_used() -> None:
    entry = path_entry("${home}/x", "p.yaml:2:3")
    with pytest.raises(PolicyError, match=r"^p\.yaml:2:3: no home directory is known for \$\{home\}; set HOME"):
        expand(entry, Places("/w", "", ()))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "an empty path"),
        ("a", 'the path "a" is relative'),
        ("./a", 'the path "./a" is relative'),
        (".", 'the path "." is relative'),
        ("..", 'the path ".." is relative'),
        (" /a", 'the path " /a" is relative'),
        ("~", '~ is not replaced in the path "~"'),
        ("~/a", '~ is not replaced in the path "~/a"'),
        ("/a/..", 'the path "/a/.." contains ..'),
        ("/../a", 'the path "/../a" contains ..'),
        ("${home}/../a", 'the path "${home}/../a" contains ..'),
        ("/a\0b", "a NUL in the path"),
        ("${home}/\0", "a NUL in the path"),
        ("$HOME/a", 'a $ in the path "$HOME/a"'),
        ("/a/${home}", 'a $ in the path "/a/${home}"'),
        ("${home}/${workdir}", 'a $ in the path "${home}/${workdir}"'),
        ("${home}$", 'a $ in the path "${home}$"'),
        ("${HOME}/a", 'a $ in the path "${HOME}/a"'),
        ("${other}", 'a $ in the path "${other}"'),
        ("${home", 'a $ in the path "${home"'),
        ("/a$", 'a $ in the path "/a$"'),
        ("${home}a", "text behind ${home} that does not begin with /"),
        ("${workdir} ", "text behind ${workdir} that does not begin with /"),
        ("${system}/lib", "text behind ${system}"),
        ("${system}x", "text behind ${system}"),
    ],
)
def test_what_is_no_path_entry_is_refused_at_its_place(text: str, what: str) -> None:
    with pytest.raises(PolicyError) as caught:
        path_value(text, "p.yaml:4:7")
    assert caught.value.where == "p.yaml:4:7"
    assert caught.value.what.startswith(what)
    assert caught.value.remedy


def test_a_path_of_the_command_line_is_taken_literally() -> None:
    entry = command_line_entry("/a/${home}/$x", "--read")
    assert (entry.text, entry.where) == ("/a/${home}/$x", "--read")
    assert expand(entry, HERE) == ("/a/${home}/$x",)
    assert system_entry("--system") == Entry("${system}", PathValue("system", ""), ("--system",))


@pytest.mark.parametrize("path", ["", "a", "/a/../b", "/a\0b"])
def test_a_path_of_the_command_line_is_checked_too(path: str) -> None:
    with pytest.raises(UsageError) as caught:
        command_line_entry(path, "--write")
    assert caught.value.where == "--write"
    assert caught.value.remedy


def test_an_optional_entry_is_left_out_where_the_path_is_missing_and_another_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to("none")
    names = ("there", "none", "file/below", "dangling")
    for optional, kept in ((True, ("there",)), (False, names)):
        entries = tuple(path_entry(f"{tmp_path}/{name}", optional=optional) for name in names)
        placed = place(Listing(entries, ()), HERE, follow=False)
        assert [entry.value.path for entry in placed.entries] == [f"{tmp_path}/{name}" for name in kept]
        assert all(entry.optional is optional for entry in placed.entries)


def test_a_path_is_followed_to_where_it_leads_when_that_is_asked_for(tmp_path: Path) -> None:
    folder = os.path.realpath(tmp_path)
    os.mkdir(f"{folder}/real")
    os.symlink("real", f"{folder}/link")
    listing = Listing((path_entry(f"{folder}/link/not-yet"),), ())
    for follow, real in ((True, f"{folder}/real/not-yet"), (False, f"{folder}/link/not-yet")):
        (entry,) = place(listing, HERE, follow).entries
        assert entry.value == Placed(f"{folder}/link/not-yet", real)


def test_the_system_is_what_exists_of_it() -> None:
    found = system_paths()
    assert "/usr" in found
    assert all(os.path.isabs(path) and os.path.exists(path) for path in found)
    assert len(set(found)) == len(found)


def test_the_system_leaves_secrets_out() -> None:
    granted = [os.path.realpath(path) for path in system_paths()]
    secrets = [
        "/etc",
        "/etc/shadow",
        "/etc/ssl/private",
        "/etc/machine-id",
        "/etc/ssh",
        "/root",
        "/home",
        "/proc",
        "/opt",
    ]
    for secret in secrets:
        assert not [path for path in granted if secret == path or secret.startswith(path.rstrip("/") + "/")]


def test_a_name_that_ends_with_a_star_takes_every_name_that_begins_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("java-21", "java-17", "jav", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "java-dangling").symlink_to("none")
    monkeypatch.setattr(places, "_SYSTEM", (f"{tmp_path}/java-*", f"{tmp_path}/none/x-*", f"{tmp_path}/missing"))
    assert system_paths() == (f"{tmp_path}/java-17", f"{tmp_path}/java-21")


def test_places_of_this_host() -> None:
    here = host_places("/w", "/h")
    assert (here.workdir, here.home, here.system) == ("/w", "/h", system_paths())
    assert host_places("/w", "relative").home == ""
    assert host_places("/w", "").home == ""
    with pytest.raises(InternalError):
        host_places("w", "/h")
