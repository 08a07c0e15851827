# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where loaders look: drawn trees of libraries as the loader of this host lists them, and loaders of our own.

A loader of our own is an ELF file that holds texts and no code: its directories, its cache and its list of libraries
to load first lie in a temporary directory.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple

import pytest
from support.elf_files import Entry, Form, elf_file, form_of, write_program

from aasm.errors import HostError
from aasm.needs import OPTIONAL, Need, elf, linking, needs

HOST = form_of(sys.executable)
OTHER_CLASS = Form(96 - HOST.bits, HOST.order, HOST.machine)
OTHER_MACHINE = Form(HOST.bits, HOST.order, 22)
NODEFLIB: List[Entry] = [(0x6FFFFFFB, 0x800)]
TREES = 80


def host_loader() -> str:
    data = Path(sys.executable).read_bytes()
    return elf.loader_of(lambda offset, size: data[offset : offset + size], sys.executable)


# --- drawn trees --------------------------------------------------------------------------------------

FOLDERS = ("a", "b", "a/sub", "lib", "b/glibc-hwcaps/x86-64-v2", "b/glibc-hwcaps/x86-64-v3", "b/glibc-hwcaps/x86-64-v4")
NAMES = tuple(f"lib{number}.so" for number in range(6))
PATHS = (
    "$ORIGIN", "${ORIGIN}/../b", "$ORIGIN/sub", "{}/a", "{}/b/", "{}//a/./sub", "{}/link", "a", "", "/no", "{}/$NO",
)  # fmt: skip
EXTRA = ("libc.so.6", "missing.so", "./a/lib0.so", "b/lib1.so", "$ORIGIN/lib2.so", "{}/a/lib3.so")


BY_VARIABLE = f"{OPTIONAL}named by LD_PRELOAD"


class Tree:
    """A directory with libraries that need each other, drawn from a seed."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.draw = root, random.Random(seed)
        for folder in FOLDERS:
            (root / folder).mkdir(parents=True)
            for name in NAMES:
                if self.draw.random() < 0.3:
                    self.shared_object(root / folder / name)
        os.symlink("b", root / "link")
        own = self.needed() + self.needed()
        self.program = write_program(root / "a" / "program", self.file(host_loader(), own))
        self.variables: Dict[str, str] = {}
        if self.draw.random() < 0.6:
            folders = (self.paths() or "") + self.draw.choice((":", ";", "")) + (self.paths() or "")
            self.variables["LD_LIBRARY_PATH"] = folders
        if own and self.draw.random() < 0.4:  # of a program that needs nothing the loader lists nothing
            self.variables["LD_PRELOAD"] = self.draw.choice((" ", ":", "  :")).join(self.needed() + self.needed())

    def shared_object(self, path: Path) -> None:
        kind = self.draw.randrange(10)
        others = sorted(self.root.rglob("lib*.so"))
        if kind == 0 and others:
            os.symlink(self.draw.choice(others), path)
        elif kind < 3:
            write_program(path, elf_file(form=(OTHER_CLASS, OTHER_MACHINE)[kind - 1]))
        else:
            write_program(path, self.file("", self.needed(), self.draw.choice(("", path.name, path.name))))

    def file(self, loader: str, needed: List[str], soname: str = "") -> bytes:
        runpath = self.paths() if self.draw.random() < 0.4 else None
        more = NODEFLIB if self.draw.random() < 0.1 else []
        return elf_file(needed, soname, self.paths(), runpath, loader, HOST, more)

    def needed(self) -> List[str]:
        chosen = [self.draw.choice(NAMES if self.draw.random() < 0.7 else EXTRA) for _ in range(self.draw.randrange(4))]
        return [name.replace("{}", str(self.root)) for name in chosen]

    def paths(self) -> Optional[str]:
        chosen = [self.draw.choice(PATHS) for _ in range(self.draw.randrange(4))]
        return ":".join(chosen).replace("{}", str(self.root)) if chosen else None


def listed(tree: Tree) -> Tuple[List[str], Set[str]]:
    """Return what the loader of this host lists: the paths that it loads in their order, and what it does not find."""
    variables = {**tree.variables, "LD_TRACE_LOADED_OBJECTS": "1"}
    done = subprocess.run(
        [tree.program], env=variables, cwd=tree.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True
    )
    text = os.fsdecode(done.stdout)
    loaded = [path for path in re.findall(r"^\t(?:.* => )?(\S*/\S+) \(0x", text, re.MULTILINE) if "/ld-" not in path]
    lost = re.findall(r"^\t(\S+) => not found$", text, re.MULTILINE)
    return [whole(path, tree) for path in loaded], {whole(name, tree) if "/" in name else name for name in lost}


def whole(path: str, tree: Tree) -> str:
    return os.path.join(str(tree.root), path[2:] if path.startswith("./") else path).replace("/./a/", "/a/")


def told(tree: Tree) -> Tuple[List[str], Set[str]]:
    """Return the same from `needs`: a file that is reached in two ways is loaded once."""
    listed = needs(tree.program, "", str(tree.root), tree.variables)
    found = [
        need for need in listed if need.why.startswith("needed by" if need.missing else ("needed by", BY_VARIABLE))
    ]
    first: Dict[str, str] = {}
    for need in found:
        if not need.missing:
            first.setdefault(os.path.realpath(need.path), need.path.replace("/./a/", "/a/"))
    return list(first.values()), {need.path.replace("/./a/", "/a/") for need in found if need.missing}


def test_drawn_trees_are_loaded_as_the_loader_of_this_host_does_it(tmp_path: Path) -> None:
    sizes, heard = [], 0
    for seed in range(TREES):
        tree = Tree(tmp_path / str(seed), seed)
        expected = listed(tree)
        assert told(tree) == expected, seed
        heard += bool(tree.variables)
        sizes.append(len(expected[0]))
        shutil.rmtree(tree.root)
    assert sum(sizes) > TREES and max(sizes) > 4 and heard > TREES // 2


# --- loaders of our own -------------------------------------------------------------------------------


class Place:
    """A loader whose directories are `lib` and `usr/lib`, with libraries and a program beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache, self.preload = f"{root}/etc/ld.so.cache", f"{root}/etc/ld.so.preload"
        (root / "etc").mkdir()
        texts = f"\0{root}/lib/\0{root}/usr/lib/\0\0{self.cache}\0{self.preload}\0x86-64-v3:x86-64-v2\0"
        self.loader = write_program(root / "ld.so", elf_file(soname="ld.so", form=HOST) + texts.encode())

    def shared_object(self, path: str, *needed: str, form: Form = HOST) -> str:
        return write_program(self.root / path, elf_file(needed, os.path.basename(path), form=form))

    def needs(self, *needed: str, more: Optional[List[Entry]] = None, rpath: Optional[str] = None) -> Tuple[Need, ...]:
        """Return what a program with these needs takes behind itself and its loader."""
        data = elf_file(needed, loader=self.loader, form=HOST, more=more or [], rpath=rpath)
        return needs(write_program(self.root / "program", data), "", str(self.root))[2:]

    def paths(self, *needed: str, more: Optional[List[Entry]] = None, rpath: Optional[str] = None) -> List[str]:
        """Return the libraries that are found, relative to the place."""
        found = [need for need in self.needs(*needed, more=more, rpath=rpath) if need.path.endswith(".so")]
        return [os.path.relpath(need.path, self.root) for need in found if not need.missing]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def write_cache(place: Place, folder: str, *names: str) -> None:
    """Let ldconfig write the cache for a directory, and name these libraries anew in it."""
    (place.root / "conf").write_text(f"{place.root}/{folder}\n")
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin") or "ldconfig"
    subprocess.run([program, "-X", "-C", place.cache, "-f", str(place.root / "conf")], check=True)
    found = elf.cached(Path(place.cache).read_bytes(), HOST.order)
    assert all(name in found for name in names)


def test_the_default_directories_are_those_of_the_loader(place: Place) -> None:
    place.shared_object("lib/liba.so")
    for name in ("liba.so", "libb.so"):
        place.shared_object(f"usr/lib/{name}", form=HOST)
    place.shared_object("lib64/libc.so")
    assert place.paths("liba.so", "libb.so", "libc.so") == ["lib/liba.so", "usr/lib/libb.so"]


def test_a_cache_that_is_absent_is_said_and_is_no_problem(place: Place) -> None:
    place.shared_object("lib/liba.so")
    cache, library = place.needs("liba.so")
    assert (cache.path, cache.missing) == (place.cache, True) and cache.why.startswith(OPTIONAL)
    assert library == Need(f"{place.root}/lib/liba.so", "read", f"needed by {place.root}/program", False)


def test_the_cache_is_not_needed_where_nothing_is_looked_up_in_it(place: Place) -> None:
    place.shared_object("own/liba.so")
    assert [need.path for need in place.needs("liba.so", rpath="$ORIGIN/own")] == [f"{place.root}/own/liba.so"]
    assert place.needs() == ()


def test_the_cache_comes_before_the_default_directories(place: Place) -> None:
    place.shared_object("lib/liba.so")
    place.shared_object("other/liba.so")
    write_cache(place, "other", "liba.so")
    assert place.paths("liba.so") == ["other/liba.so"]
    os.unlink(place.root / "other" / "liba.so")
    assert place.paths("liba.so") == ["lib/liba.so"]


def test_the_cache_has_libraries_for_this_processor(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for level in ("", "glibc-hwcaps/x86-64-v2/", "glibc-hwcaps/x86-64-v3/", "glibc-hwcaps/x86-64-v4/"):
        place.shared_object(f"other/{level}liba.so")
        place.shared_object(f"own/{level}libb.so")
    write_cache(place, "other", "liba.so")
    for usable, below in ((("x86-64-v3", "x86-64-v2"), "glibc-hwcaps/x86-64-v3/"), ((), "")):
        monkeypatch.setattr(linking, "_usable", lambda levels, usable=usable: usable)
        expected = [f"other/{below}liba.so", f"own/{below}libb.so"]
        assert place.paths("liba.so", "libb.so", rpath="$ORIGIN/own") == expected


def test_a_program_can_forgo_the_default_directories(place: Place) -> None:
    place.shared_object("lib/liba.so")
    place.shared_object("other/libb.so")
    write_cache(place, "lib", "liba.so")
    assert place.paths("liba.so") == ["lib/liba.so"]
    assert place.paths("liba.so", more=NODEFLIB) == []
    write_cache(place, "other", "libb.so")
    assert place.paths("libb.so", more=NODEFLIB) == ["other/libb.so"]


def test_a_cache_that_is_too_large_or_damaged(place: Place) -> None:
    place.shared_object("lib/liba.so")
    Path(place.cache).write_bytes(b"damaged")
    assert place.paths("liba.so") == ["lib/liba.so"]
    os.truncate(place.cache, 5 << 20)
    with pytest.raises(HostError, match="is larger than 4194304 bytes"):
        place.needs("liba.so")


def test_libraries_of_another_class_or_machine_are_passed_over(place: Place) -> None:
    place.shared_object("lib/liba.so", form=OTHER_CLASS)
    place.shared_object("lib/libb.so", form=OTHER_MACHINE)
    for name in ("liba.so", "libb.so"):
        place.shared_object(f"usr/lib/{name}")
    assert place.paths("liba.so", "libb.so") == ["usr/lib/liba.so", "usr/lib/libb.so"]


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF"])
def test_a_library_that_is_none_ends_it(content: bytes, place: Place) -> None:
    write_program(place.root / "lib" / "liba.so", content)
    place.shared_object("usr/lib/liba.so")
    with pytest.raises(HostError, match="/lib/liba.so: is no library that the loader takes"):
        place.needs("liba.so")


def test_a_fifo_is_no_library_and_nobody_waits_for_it(place: Place) -> None:
    (place.root / "lib").mkdir()
    os.mkfifo(place.root / "lib" / "liba.so")
    with pytest.raises(HostError, match="is not a regular file"):
        place.needs("liba.so")


def test_what_is_found_nowhere_is_said_by_its_name(place: Place) -> None:
    place.shared_object("lib/liba.so", "libgone.so", "./gone/libb.so")
    missing = [need for need in place.needs("liba.so") if need.missing and not need.why.startswith(OPTIONAL)]
    why = f"needed by {place.root}/lib/liba.so; the loader finds it nowhere"
    assert missing == [
        Need("libgone.so", "read", why, True),
        Need(f"{place.root}/gone/libb.so", "read", why, True),
    ]


def test_the_loader_itself_and_the_vdso_are_not_looked_for(place: Place) -> None:
    assert place.needs("ld.so", place.loader, "linux-vdso.so.1") == ()


def test_what_a_filter_names_is_needed_and_an_auxiliary_is_not(place: Place) -> None:
    place.shared_object("lib/liba.so")
    found = place.needs(more=[(0x7FFFFFFF, "liba.so"), (0x7FFFFFFD, "libgone.so")])
    assert [(need.path, need.missing, need.why.startswith(OPTIONAL)) for need in found[1:]] == [
        (f"{place.root}/lib/liba.so", False, False),
        ("libgone.so", True, True),
    ]


# --- loaded before all others -------------------------------------------------------------------------


def test_a_list_of_libraries_to_load_first(place: Place) -> None:
    for name in ("liba.so", "libb.so", "libc.so"):
        place.shared_object(f"lib/{name}")
    place.shared_object("own/libd.so", "libc.so")
    Path(place.preload).write_text(f"# comment libx.so\nlibb.so:{place.root}/own/libd.so\tlibgone.so # and so on\n")
    found = place.needs("liba.so")
    assert found[0].path == place.preload and found[0].why.startswith(OPTIONAL) and not found[0].missing
    assert [os.path.basename(need.path) for need in found[1:]] == [
        "ld.so.cache", "libb.so", "libd.so", "libgone.so", "liba.so", "libc.so"
    ]  # fmt: skip
    optional = [os.path.basename(need.path) for need in found if need.why.startswith(OPTIONAL)]
    assert optional == ["ld.so.preload", "ld.so.cache", "libb.so", "libd.so", "libgone.so"]


def test_what_is_loaded_first_and_needed_as_well_is_not_optional(place: Place) -> None:
    place.shared_object("lib/liba.so")
    Path(place.preload).write_text("liba.so libgone.so")
    found = place.needs("liba.so", "libgone.so")[2:]
    assert [(os.path.basename(need.path), need.missing) for need in found] == [("liba.so", False), ("libgone.so", True)]
    assert all(need.why.startswith(f"needed by {place.root}/program") for need in found)


def test_a_damaged_library_in_the_list_is_ignored(place: Place) -> None:
    write_program(place.root / "lib" / "liba.so", b"text")
    Path(place.preload).write_text("liba.so")
    assert [(need.path, need.missing) for need in place.needs()][1:] == [(place.cache, True), ("liba.so", True)]


# --- musl ---------------------------------------------------------------------------------------------


class MuslPlace(Place):
    """The same with a loader that is named as musl's are."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.loader = write_program(root / "lib" / "ld-musl-mine.so.1", elf_file(form=HOST))
        self.list = f"{root}/etc/ld-musl-mine.path"


@pytest.fixture
def musl(tmp_path: Path) -> MuslPlace:
    return MuslPlace(tmp_path)


def test_musl_reads_a_list_of_directories_and_no_cache(musl: MuslPlace) -> None:
    musl.shared_object("x/liba.so")
    musl.shared_object("y/libb.so")
    Path(musl.list).write_text(f"{musl.root}/x:/nowhere\n{musl.root}/y\n")
    assert [(need.path, need.missing) for need in musl.needs("liba.so", "libb.so")] == [
        (musl.list, False),
        (f"{musl.root}/x/liba.so", False),
        (f"{musl.root}/y/libb.so", False),
    ]


def test_musl_without_a_list_has_its_own_directories(musl: MuslPlace) -> None:
    (missing,) = musl.needs("libnowhere-at-all.so")
    assert missing.missing and missing.path == "libnowhere-at-all.so"
    Path(musl.list).write_text("")
    assert musl.paths("libz.so.1") == []


def test_musl_is_all_of_the_c_library(musl: MuslPlace) -> None:
    assert musl.needs("libc.so", "libc.musl-mine.so.1", "libm.so.6", "libpthread.so.0", musl.loader) == ()
    assert [need.path for need in musl.needs("libcrypt.so")] == ["libcrypt.so"]


def test_musl_hands_down_both_kinds_of_paths_and_expands_them_only(musl: MuslPlace) -> None:
    musl.shared_object("own/libb.so")
    data = elf_file(["libb.so", "$ORIGIN/libb.so"], runpath="$ORIGIN/../nothing", form=HOST)
    write_program(musl.root / "own" / "liba.so", data)
    found = musl.needs("liba.so", rpath="/ignored", more=[(29, "${ORIGIN}/own")])
    assert [os.path.relpath(need.path, musl.root) for need in found] == [
        "own/liba.so", "own/libb.so", "$ORIGIN/libb.so"
    ]  # fmt: skip
    assert musl.paths("liba.so", rpath="$LIB:$ORIGIN/own") == []


def test_musl_looks_no_further_than_the_first_file(musl: MuslPlace) -> None:
    musl.shared_object("own/liba.so", form=OTHER_CLASS)
    with pytest.raises(HostError, match="is no library that the loader takes, and it looks no further"):
        musl.needs("liba.so", rpath="$ORIGIN/own")
