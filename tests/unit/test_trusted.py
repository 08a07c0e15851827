# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the next run relies on: what is found by name or through a link. The refusals are in kernel/test_trust.py."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Dict, List, Optional

import pytest
from support.elf_files import DT_NEEDED, Form, elf_file, form_of
from support.runs import request

from aasm import trusted
from aasm.needs import elf, needs
from aasm.policy import grants
from aasm.surroundings import Surroundings

HERE = form_of(os.path.realpath(sys.executable))


def around(environ: Optional[Dict[str, str]] = None, cwd: str = "/nowhere/here") -> Surroundings:
    given = {os.fsencode(name): os.fsencode(value) for name, value in (environ or {}).items()}
    return Surroundings(given, "/nowhere/home", cwd, "/nowhere/state")


def listed(here: Surroundings) -> List[grants.Trusted]:
    return trusted.trusted(request(), here, ())


def test_all_that_kernel_and_loader_open_before_this_python_runs_is_listed() -> None:
    """By the names under which they open it: needs() follows the loader step by step."""
    known = {item.path for item in listed(around())}
    folders = {item.path for item in listed(around()) if not item.inside}
    for need in needs(sys.executable, "", "/"):
        assert need.path in known or os.path.dirname(need.path) in folders, need


def test_nothing_is_listed_twice_for_one_reason_and_every_path_is_absolute() -> None:
    found = listed(around({"LD_LIBRARY_PATH": "a:b", "LD_PRELOAD": "x.so ./y.so"}, cwd=""))
    assert all(item.path.startswith("/") for item in found)
    assert len({(item.path, item.what, item.inside) for item in found}) >= len(found) - 2  # sys.prefix may be two


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        (elf_file(loader="/lib64/ld.so", form=HERE), ("/lib64/ld.so", ())),
        (elf_file(["libc.so.6"], "liba.so", form=HERE), ("", ())),
        (elf_file(runpath="/a:/b", form=HERE), ("", ("/a", "/b"))),
        (elf_file(rpath="/a", form=HERE), ("", ("/a",))),
        (elf_file(runpath="$ORIGIN/../lib::${ORIGIN}:$ORIGINAL", form=HERE), ("", ("O/../lib", "O", "$ORIGINAL"))),
        (elf_file(loader="/l", runpath="/r", form=HERE, more=[(DT_NEEDED, "x")] * 300), ("/l", ("/r",))),
        (b"", ("", ())),
        (b"#!/bin/sh\n", ("", ())),
        (elf_file(loader="/l", form=HERE)[:70], ("", ())),
        (elf_file(loader="/l", form=HERE)[:70].ljust(4096, b"\xff"), ("", ())),
    ],
)
def test_what_a_file_asks_its_loader_for(tmp_path: Path, made: bytes, asked: object) -> None:
    file = tmp_path / "file"
    file.write_bytes(made)
    loader, folders = trusted._asked_of_the_loader(str(file))
    assert (loader, tuple(folder.replace(str(tmp_path), "O") for folder in folders)) == asked


def test_what_cannot_be_read_asks_for_nothing(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing (deleted)"):
        assert trusted._asked_of_the_loader(str(path)) == ("", ())


def test_the_other_size_of_word_is_read_as_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    form = Form(32, "<", 3) if HERE.bits == 64 else Form()
    layouts = ("=28xI10xHH", "=III4xI12x", "=II") if HERE.bits == 64 else ("=32xQ14xHH", "=I4xQQ8xQ16x", "=QQ")
    for name, layout in zip(("_HEADER", "_SEGMENT", "_ENTRY"), layouts):
        monkeypatch.setattr(trusted, name, struct.Struct(layout))
    (tmp_path / "file").write_bytes(elf_file(loader="/lib/ld-linux.so.2", runpath="/r", form=form))
    assert trusted._asked_of_the_loader(str(tmp_path / "file")) == ("/lib/ld-linux.so.2", ("/r",))


def test_the_source_has_both_layouts() -> None:
    text = Path(trusted.__file__).read_text(encoding="utf-8")
    assert all(text.count(layout) == 1 for layout in ('"=28xI10xHH"', '"=III4xI12x"', '"=32xQ14xHH"', '"=I4xQQ8xQ16x"'))


def test_the_variables_of_the_loader_count() -> None:
    environ = {"LD_LIBRARY_PATH": "/one;two:", "LD_PRELOAD": "/p.so q.so:./r.so", "LD_AUDIT": "/s.so"}
    found = {(item.path, item.inside) for item in listed(around(environ))}
    folders = {("/one", False), ("/nowhere/here/two", False), ("/nowhere/here/", False)}
    files = {("/p.so", True), ("/nowhere/here/./r.so", True), ("/s.so", True)}
    assert folders | files <= found
    assert not [path for path, _ in found if path.endswith("q.so")]  # by name alone: looked for in the directories
    without = {(item.path, item.inside) for item in listed(around())}
    assert not (folders | files) & without


def test_the_directories_of_the_cache(tmp_path: Path) -> None:
    host = Path("/etc/ld.so.cache")
    lines = elf.cached(host.read_bytes(), HERE.order) if host.exists() else {}
    assert set(trusted._cached_folders()) >= {os.path.dirname(line.path) for each in lines.values() for line in each}
    made = tmp_path / "cache"
    made.write_bytes(b"glibc-ld.so.cache1.1\0\1\2/\0a.so\0/srv/a/a.so\0b.so\0/srv/a/b.so\0c\0/c/d/c\0d\0/d\0")
    assert set(trusted._cached_folders(str(made))) == {"/srv/a", "/c/d"}
    assert trusted._cached_folders(str(tmp_path / "missing")) == []


def test_a_loaded_module_that_is_a_link_is_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real, package = tmp_path / "real", tmp_path / "package"
    real.mkdir()
    for name in ("one.py", "two.py"):
        (real / name).touch()
    package.symlink_to(real)
    link = tmp_path / "link.py"
    link.symlink_to(real / "one.py")
    for number, path in enumerate((link, real / "two.py", package / "one.py")):
        module = ModuleType(f"made{number}")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, f"made{number}", module)
    found = trusted._links_to_modules()
    assert {path for path in found if path.startswith(str(tmp_path))} == {str(link), str(package)}


def started(monkeypatch: pytest.MonkeyPatch, file: Optional[str]) -> None:
    main = ModuleType("__main__")
    main.__file__ = file
    monkeypatch.setitem(sys.modules, "__main__", main)


@pytest.mark.parametrize(
    ("first", "named"),
    [
        ("#!/opt/py -I\n", ["/opt/py"]),
        ("#! /usr/bin/env python3\n", ["/usr/bin/env"]),
        ("#!py\n", ["/nowhere/here/py"]),
        ("#!\n", []),
        ("import sys\n", []),
        ("#!/a\0b c\n", ["/a"]),
        ("#!/" + "x" * 300 + "\n", ["/" + "x" * 253]),
    ],
)
def test_the_script_and_what_its_first_line_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: str, named: List[str]
) -> None:
    script = tmp_path / "aasm"
    script.write_text(first + "pass\n")
    started(monkeypatch, str(script))
    assert trusted._script("/nowhere/here") == [str(script), *named]


def test_a_script_that_is_a_pipe_or_a_directory_is_listed_and_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = os.open(tmp_path / "pipe", os.O_RDWR)  # so that a read would wait
    for path in (tmp_path / "pipe", tmp_path):
        started(monkeypatch, str(path))
        assert trusted._script("/nowhere") == [str(path)]
    os.close(writer)


def test_without_a_script_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for file, cwd, found in (
        (None, "/w", []),
        ("aasm", "", []),
        ("aasm", "/nowhere", ["/nowhere/aasm"]),
        ("/nowhere/a", "", ["/nowhere/a"]),
    ):
        started(monkeypatch, file)
        assert trusted._script(cwd) == found
