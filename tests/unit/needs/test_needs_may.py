# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What is taken when some files cannot be opened, and what variables do: with loaders of our own, glibc's and musl's.

tests/kernel/test_explain_program.py compares the same with launches.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

import pytest
from support.elf_files import elf_file, form_of, write_program

from aasm.needs import OPTIONAL, Need, needs

HOST = form_of(sys.executable)


class Where:
    """A program with a loader of our own beside it, and directories of libraries."""

    def __init__(self, root: Path, loader: str) -> None:
        self.root = root
        texts = f"\0{root}/lib/\0{root}/usr/lib/\0\0{root}/etc/ld.so.cache\0{root}/etc/ld.so.preload\0"
        self.loader = write_program(root / "lib" / loader, elf_file(soname=loader, form=HOST) + texts.encode())
        (root / "etc").mkdir()

    def put(self, *paths: str, needed: Sequence[str] = ()) -> None:
        for path in paths:
            write_program(self.root / path, elf_file(needed, os.path.basename(path), form=HOST))

    def found(
        self, variables: Dict[str, str], *needed: str, refused: Sequence[str] = (), **paths: Optional[str]
    ) -> List[str]:
        """Return what the program takes behind itself and its loader; what is missing has a question mark."""
        listed = self.listed(variables, *needed, refused=refused, **paths)
        told = [(os.path.join(self.root, need.path), need.missing) for need in listed if "cache" not in need.path]
        return [os.path.relpath(path, self.root) + "?" * missing for path, missing in told]

    def listed(
        self, variables: Dict[str, str], *needed: str, refused: Sequence[str] = (), **paths: Optional[str]
    ) -> Tuple[Need, ...]:
        rpath, runpath = paths.get("rpath"), paths.get("runpath")
        program = write_program(self.root / "program", elf_file(needed, "", rpath, runpath, self.loader, HOST))
        closed = [str(self.root / path) for path in refused]
        return needs(program, "", str(self.root), variables, lambda path, right: path not in closed)[2:]


@pytest.fixture
def glibc(tmp_path: Path) -> Where:
    return Where(tmp_path, "ld.so")


@pytest.fixture
def musl(tmp_path: Path) -> Where:
    return Where(tmp_path, "ld-musl-mine.so.1")


def test_the_variable_stands_behind_rpath_and_before_runpath(glibc: Where) -> None:
    glibc.put("rpath/liba.so", "given/liba.so", "runpath/liba.so", "lib/liba.so")
    given = {"LD_LIBRARY_PATH": f"{glibc.root}/given"}
    assert glibc.found(given, "liba.so", rpath=f"{glibc.root}/rpath") == ["rpath/liba.so"]
    assert glibc.found(given, "liba.so", runpath=f"{glibc.root}/runpath") == ["given/liba.so"]
    assert glibc.found({}, "liba.so", runpath=f"{glibc.root}/runpath") == ["runpath/liba.so"]
    assert glibc.found(given, "liba.so") == ["given/liba.so"]


def test_musl_hears_the_variable_before_all_others_and_expands_nothing(musl: Where) -> None:
    musl.put("rpath/liba.so", "given/liba.so")
    assert musl.found({"LD_LIBRARY_PATH": "/none:\ngiven\n"}, "liba.so", rpath="$ORIGIN/rpath") == ["given/liba.so"]
    for text in ("$ORIGIN/given", "/none;given", ""):
        assert musl.found({"LD_LIBRARY_PATH": text}, "liba.so", rpath="$ORIGIN/rpath") == ["rpath/liba.so"]


@pytest.mark.parametrize("name", ["glibc", "musl"])
def test_a_loader_goes_on_behind_what_it_may_not_open(name: str, request: pytest.FixtureRequest) -> None:
    where: Where = request.getfixturevalue(name)
    where.put("one/liba.so", "two/liba.so", "three/liba.so")
    given = {"LD_LIBRARY_PATH": ":".join(f"{where.root}/{name}" for name in ("one", "two", "three"))}
    assert where.found(given, "liba.so", refused=["one/liba.so"]) == ["two/liba.so"]
    assert where.found(given, "liba.so", refused=["one/liba.so", "two/liba.so"]) == ["three/liba.so"]
    every = [f"{name}/liba.so" for name in ("one", "two", "three")]
    assert where.found(given, "liba.so", refused=every) == ["one/liba.so"]  # what it would take is what is told


def test_what_is_refused_and_optional_brings_nothing_with_it(glibc: Where) -> None:
    glibc.put("lib/liba.so", needed=["libb.so"])
    glibc.put("lib/libb.so", "lib/libc.so")
    given = {"LD_PRELOAD": f"{glibc.root}/lib/liba.so libnone.so"}
    assert glibc.found(given, "libc.so") == ["lib/liba.so", "libnone.so?", "lib/libc.so", "lib/libb.so"]
    assert glibc.found(given, "libc.so", refused=["lib/liba.so"]) == ["lib/liba.so", "libnone.so?", "lib/libc.so"]
    listed = glibc.listed(given, "libc.so", refused=["lib/liba.so"])
    assert [need.why.startswith(OPTIONAL) for need in listed if need.path.endswith(".so")] == [True, True, False]
    both = glibc.found(given, "liba.so", refused=["lib/liba.so"])
    assert both == ["lib/liba.so", "libnone.so?", "lib/libb.so"]  # and what is needed as well is told with its own


def test_a_list_of_libraries_that_may_not_be_read_loads_none(glibc: Where) -> None:
    glibc.put("lib/liba.so")
    (glibc.root / "etc" / "ld.so.preload").write_text("liba.so")
    assert glibc.found({}) == ["etc/ld.so.preload", "lib/liba.so"]
    assert glibc.found({}, refused=["etc/ld.so.preload"]) == ["etc/ld.so.preload"]


def test_a_cache_that_may_not_be_read_is_told_and_not_used(glibc: Where) -> None:
    glibc.put("lib/liba.so")
    (glibc.root / "etc" / "ld.so.cache").write_bytes(b"x" * (5 << 20))  # to read it would be an error
    listed = glibc.listed({}, "liba.so", refused=["etc/ld.so.cache"])
    assert [(os.path.basename(need.path), need.missing) for need in listed] == [
        ("ld.so.cache", False), ("liba.so", False)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"LD_AUDIT": "liba.so"}, "LD_AUDIT"),
        ({"LD_HWCAP_MASK": "0"}, "LD_HWCAP_MASK"),
        ({"LD_ASSUME_KERNEL": "2.6.0"}, "LD_ASSUME_KERNEL"),
        ({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"}, "GLIBC_TUNABLES"),
        ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}, None),
        ({"LD_AUDIT": "", "LD_BIND_NOW": "1", "LD_DEBUG": "files"}, None),
    ],
)
def test_other_variables_are_told_as_not_known(
    variables: Dict[str, str], told: Optional[str], glibc: Where, tmp_path_factory: pytest.TempPathFactory
) -> None:
    listed = glibc.listed(variables)
    assert [need.path for need in listed] == ([told] if told else [])
    assert all(need.refused.startswith("not known: ") and not need.missing for need in listed)
    other = Where(tmp_path_factory.mktemp("musl"), "ld-musl-mine.so.1")
    assert other.listed(variables) == ()


def test_env_hands_on_what_it_leaves(glibc: Where) -> None:
    glibc.put("given/liba.so", "lib/liba.so")
    program = write_program(glibc.root / "tool", elf_file(["liba.so"], loader=glibc.loader, form=HOST))
    given = {"LD_LIBRARY_PATH": f"{glibc.root}/given", "PATH": "/none"}
    expected = {
        f"-S {program}": "given",
        f"-S -i {program}": "lib",
        f"-S -u LD_LIBRARY_PATH {program}": "lib",
        f"-S LD_LIBRARY_PATH={glibc.root}/lib {program}": "lib",
        f"-S -C {glibc.root} LD_LIBRARY_PATH=given ./tool": "given",
    }
    for line, folder in expected.items():
        script = write_program(glibc.root / "script", f"#!/usr/bin/env {line}\n".encode())
        found = [need.path for need in needs(script, "/none", "/", given) if need.path.endswith("/liba.so")]
        assert found == [f"{glibc.root}/{folder}/liba.so"], line


def test_a_name_with_a_slash_is_told_where_it_may_not_be_opened(glibc: Where) -> None:
    glibc.put("own/liba.so", needed=["libb.so"])
    glibc.put("lib/libb.so")
    name = f"{glibc.root}/own/liba.so"
    assert glibc.found({}, name, refused=["own/liba.so"]) == ["own/liba.so", "lib/libb.so"]
    assert [need.missing for need in glibc.listed({}, name, refused=["own/liba.so"])][0] is False
