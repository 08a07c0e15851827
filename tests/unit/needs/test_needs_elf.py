# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Facts from bytes: hand-made files of every form, damaged ones, and ones that were made to hurt."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Dict, List, Set, Tuple

import pytest
from support.elf_files import DT_NEEDED, DT_STRTAB, PT_DYNAMIC, Entry, Form, elf_file, form_of, write_program

from aasm.errors import AasmError, HostError
from aasm.needs import Unclear, elf, needs

HOST = form_of(sys.executable)
FORMS = [Form(bits, order, machine) for bits in (32, 64) for order in "<>" for machine in (3, 62, 183, 243)]
FLIPS = 3000
LONGEST = 4.0  # seconds of processor time; on a quiet machine the longest takes a fifth of that
CACHE_MAGIC = b"glibc-ld.so.cache1.1"


def reader(data: bytes) -> elf.Read:
    return lambda offset, most: data[offset : offset + most]


def facts(data: bytes) -> Tuple[str, elf.Dynamic]:
    return elf.loader_of(reader(data), "file"), elf.dynamic_of(reader(data), "file")


# --- what is in a file --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form_is_read(form: Form) -> None:
    more: List[Entry] = [(0x6FFFFFFB, 0x800), (0x7FFFFFFD, "libauxiliary.so"), (0x7FFFFFFF, "libfilter.so")]
    data = elf_file(["liba.so", "libb.so"], "libme.so", "/r:/p", "/run", "/lib/ld.so", form, more)
    assert elf.kind_of(data[:20]) == elf.Kind(form.bits, form.order, form.machine)
    assert facts(data) == (
        "/lib/ld.so",
        elf.Dynamic(("liba.so", "libb.so", "libfilter.so"), ("libauxiliary.so",), "libme.so", "/r:/p", "/run", False),
    )


def test_what_is_absent_is_absent() -> None:
    assert facts(elf_file()) == ("", elf.Dynamic())
    assert facts(elf_file(runpath=""))[1].runpath == ""


def test_names_are_bytes_that_come_back() -> None:
    (name,) = facts(elf_file([os.fsdecode(b"lib\xff\xe9.so")]))[1].needed
    assert os.fsencode(name) == b"lib\xff\xe9.so"


@pytest.mark.parametrize("head", [b"", b"\x7fELF", b"#!/bin/sh\n" * 3, bytes(64), b"\x7fELF\x03\x01" + bytes(58)])
def test_what_is_no_elf_file_has_no_kind(head: bytes) -> None:
    assert elf.kind_of(head) is None


def test_a_real_program_has_what_readelf_says() -> None:
    done = subprocess.run(["readelf", "-d", sys.executable], stdout=subprocess.PIPE, check=False, text=True)
    expected = [line.split("[")[1][:-1] for line in done.stdout.splitlines() if "(NEEDED)" in line]
    assert list(facts(Path(sys.executable).read_bytes())[1].needed) == expected


# --- damage -------------------------------------------------------------------------------------------


def damaged(data: bytes) -> str:
    with pytest.raises(HostError) as caught:
        facts(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def patched(data: bytes, position: int, layout: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, position, value)
    return bytes(changed)


WHOLE = elf_file(["liba.so"], loader="/lib/ld.so")
SEGMENTS = 64  # PT_PHDR, PT_INTERP, PT_LOAD, PT_DYNAMIC; each 56 bytes
INTERP, LOAD, DYNAMIC = SEGMENTS + 56, SEGMENTS + 112, SEGMENTS + 168


@pytest.mark.parametrize(
    ("position", "layout", "value", "says"),
    [
        (16, "<H", 4, "is an ELF file that is neither a program nor a library"),
        (32, "<Q", 1 << 63, "is damaged: it has no program headers where it should"),
        (32, "<Q", (1 << 64) - 1, "is damaged: it has no program headers where it should"),
        (54, "<H", 57, "is damaged: it has no program headers where it should"),
        (56, "<H", 0, "is damaged: it has no program headers where it should"),
        (56, "<H", 0xFFFF, "is damaged: it has no program headers where it should"),
        (INTERP + 8, "<Q", (1 << 64) - 1, "is damaged: it names no loader where it should"),
        (INTERP + 32, "<Q", 1 << 62, "is damaged: it names no loader where it should"),
        (INTERP + 32, "<Q", 1, "is damaged: it names no loader where it should"),
        (INTERP + 32, "<Q", 5, "is damaged: it names no loader where it should"),
        (LOAD + 32, "<Q", 0, "is damaged: it refers to the address"),
        (LOAD + 8, "<Q", 1 << 62, "is damaged: it has a dynamic section without an end"),
        (DYNAMIC + 16, "<Q", 1 << 63, "is damaged: it refers to the address 0x8000000000000000, where it has nothing"),
    ],
)
def test_damage_is_named(position: int, layout: str, value: int, says: str) -> None:
    assert damaged(patched(WHOLE, position, layout, value)).startswith(f"file: {says}")


def test_too_many_libraries_are_refused() -> None:
    assert "names more than 1024 libraries" in damaged(elf_file(["x"] * 1025))
    assert len(facts(elf_file(["x"] * 1024))[1].needed) == 1024


def test_names_outside_the_file_or_without_an_end_are_refused() -> None:
    assert "refers to the address" in damaged(elf_file(more=[(DT_NEEDED, 1 << 40)]))
    assert "a name without an end" in damaged(elf_file(["x" * 5000]))
    assert "a name without an end" in damaged(elf_file(rpath="x" * 70000))
    no_strings = elf_file(["liba.so"]).replace(struct.pack("<Q", DT_STRTAB), struct.pack("<Q", 0x70000000), 1)
    assert facts(no_strings)[1].needed != ("liba.so",)


def test_a_file_cut_at_any_byte_is_an_error_or_an_answer() -> None:
    for size in range(len(WHOLE)):
        try:
            facts(WHOLE[:size])
        except HostError as problem:
            assert "\n" not in str(problem)
        else:
            raise AssertionError(size)  # the last byte ends the last name


def flipped(data: bytes, places: List[int], draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        changed[draw.choice(places)] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    return bytes(changed)


def telling_places(data: bytes) -> List[int]:
    """Return where the headers, the dynamic section and the strings of a 64-bit file of this host are."""
    places = list(range(1024))
    kind, segments = elf._segments(reader(data), "file")
    for one in segments:
        if one.type == PT_DYNAMIC:
            places += range(one.offset, one.offset + one.size)
            entries = elf._entries(data[one.offset : one.offset + one.size], kind, "file")
            places += range(dict(entries)[DT_STRTAB], dict(entries)[DT_STRTAB] + 256)
    return places


def test_flipped_bytes_of_a_real_program_end_in_an_error_or_an_answer() -> None:
    data = Path(shutil.which("true") or "/bin/true").read_bytes()
    draw, places = random.Random(17), telling_places(data)
    ends: Set[type] = set()
    for _ in range(FLIPS):
        try:
            ends.add(type(facts(flipped(data, places, draw))))
        except AasmError as problem:
            ends.add(type(problem))
            assert "\n" not in str(problem)
    assert ends == {tuple, Unclear}


def overwrite(path: Path, data: bytes) -> None:
    """Write over a file of the same size; to empty it first would make the disk work each time."""
    with open(path, "r+b") as file:
        file.write(data)


def test_flipped_bytes_of_programs_loaders_and_libraries_end_so_as_well(tmp_path: Path) -> None:
    draw = random.Random(23)
    ends: Set[type] = set()
    texts = f"\0{tmp_path}/lib/\0\0{tmp_path}/ld.so.cache\0".encode()
    files = {
        tmp_path / "ld.so": elf_file(form=HOST) + texts,
        tmp_path / "lib" / "liba.so": elf_file(["libb.so"], "liba.so", runpath="$ORIGIN", form=HOST),
        tmp_path / "lib" / "libb.so": elf_file(["liba.so"], "libb.so", rpath="$ORIGIN/../lib", form=HOST),
        tmp_path / "program": elf_file(["liba.so"], loader=f"{tmp_path}/ld.so", form=HOST),
    }
    for path, data in files.items():
        write_program(path, data)
    assert len(needs(f"{tmp_path}/program", "", "/")) == 5
    for _ in range(FLIPS):
        path = draw.choice(list(files))
        overwrite(path, flipped(files[path], list(range(len(files[path]))), draw))
        try:
            ends.add(type(needs(f"{tmp_path}/program", "", "/")))
        except AasmError as problem:
            ends.add(type(problem))
            assert "\n" not in str(problem)
        overwrite(path, files[path])
    assert ends >= {tuple, HostError, Unclear} and all(issubclass(end, (tuple, HostError)) for end in ends)


# --- files that were made to hurt ---------------------------------------------------------------------


def many_directories(folder: Path, loader: str) -> bytes:
    for index in range(300):
        (folder / f"d{index}").mkdir()
    rpath = ":".join(f"{folder}/d{index}" for index in range(300))
    return elf_file([f"lib{index}.so" for index in range(1000)], rpath=rpath, loader=loader, form=HOST)


def long_chain(folder: Path, loader: str) -> bytes:
    names = [f"lib{index}.so" for index in range(1000)]
    for name, following in zip(names, names[1:] + names[:1]):
        write_program(folder / name, elf_file([following], rpath=f"/nowhere/{name}", form=HOST))
    return elf_file(names[:1], rpath=str(folder), loader=loader, form=HOST)


def web(folder: Path, loader: str) -> bytes:
    for index in range(400):
        needed = [f"lib{(index * 7 + step) % 400}.so" for step in range(100)]
        rpath = f"{folder}:" + ":".join(f"/nowhere{number}" for number in range(50))
        write_program(folder / f"lib{index}.so", elf_file(needed, rpath=rpath, form=HOST))
    return elf_file(["lib0.so"], rpath=str(folder), loader=loader, form=HOST)


def long_names(folder: Path, loader: str) -> bytes:
    for index in range(20):
        needed = ["$ORIGIN" * 550 + str(number) for number in range(300)] + [f"lib{index + 1}.so"]
        write_program(folder / f"lib{index}.so", elf_file(needed, form=HOST))
    return elf_file(["lib0.so"], rpath=str(folder), loader=loader, form=HOST)


def empty_directories(folder: Path, loader: str) -> bytes:
    return elf_file(["liba.so"], rpath=":" * 60000, loader=loader, form=HOST)


def strange_loader(folder: Path, loader: str) -> bytes:
    own = write_program(folder / "own.so", elf_file(form=HOST) + b"/lib/\0" * 300_000)
    return elf_file(["liba.so"], loader=own, form=HOST)


def large_cache(folder: Path, loader: str) -> bytes:
    count = (1 << 22) // 24 - 10
    header = CACHE_MAGIC + struct.pack("=IIBxxxI12x", count, 0, 2, 0)
    (folder / "ld.so.cache").write_bytes(header + struct.pack("=iIIIQ", 0x303, 48, 48, 0, 0) * count)
    own = write_program(folder / "own.so", elf_file(form=HOST) + f"\0{folder}/ld.so.cache\0".encode())
    return elf_file(["liba.so"], loader=own, form=HOST)


@pytest.mark.parametrize(
    "make", [many_directories, long_chain, web, long_names, empty_directories, strange_loader, large_cache]
)
def test_what_was_made_to_take_long_does_not(make: Callable[[Path, str], bytes], tmp_path: Path) -> None:
    loader = write_program(tmp_path / "ld.so", elf_file(form=HOST))
    program = write_program(tmp_path / "program", make(tmp_path, loader))
    start = time.process_time()
    try:
        assert needs(program, "", "/")[0].path == program
    except HostError as problem:
        assert str(problem) == f"{program}: leads to too many files to follow; name another program"
    assert time.process_time() - start < LONGEST


def test_a_library_that_needs_itself_is_loaded_once(tmp_path: Path) -> None:
    loader = write_program(tmp_path / "ld.so", elf_file(form=HOST))
    library = write_program(tmp_path / "liba.so", elf_file(["liba.so", "libb.so"], form=HOST))
    os.symlink("liba.so", tmp_path / "libb.so")
    program = write_program(tmp_path / "program", elf_file(["liba.so"], rpath="$ORIGIN", loader=loader, form=HOST))
    found = [need for need in needs(program, "", "/") if need.why.startswith("needed by")]
    assert [need.path for need in found][:1] == [library]
    assert len(found) == 2  # libb.so is looked for by liba.so, which inherits the directory; it is the same file


# --- what loaders are built with ----------------------------------------------------------------------

KIND = elf.Kind(64, "<", 62)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (b"\0/lib64/\0/usr/lib64/\0\0", ("/lib64", "/usr/lib64")),
        (b"\x90\xc3/lib64/\0/usr/lib64/\0x", ("/lib64", "/usr/lib64")),
        (b"/\0/etc/\0/store/abc-libc/lib/\0", ("/store/abc-libc/lib",)),
        (b"/lib64/\0x\0/other/lib/\0", ("/lib64",)),
        (b"/lib", ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")),
    ],
)
def test_default_directories_are_the_texts_of_the_loader(texts: bytes, expected: Tuple[str, ...]) -> None:
    assert elf.built(texts, KIND).defaults == expected


def test_other_machines_have_other_usual_directories() -> None:
    assert elf.built(b"", elf.Kind(64, "<", 183)).defaults[0] == "/lib/aarch64-linux-gnu"
    assert elf.built(b"", elf.Kind(64, ">", 22)).defaults[0] == "/lib64"


def test_the_other_texts_of_a_loader() -> None:
    texts = b"\0x86-64-v4:x86-64-v3\0a/ld.so.cachex\0/s/etc/ld.so.cache\0\x01/s/etc/ld.so.preload\0"
    assert elf.built(texts, KIND)[1:] == (("x86-64-v4", "x86-64-v3"), "/s/etc/ld.so.cache", "/s/etc/ld.so.preload")
    assert elf.built(b"", KIND)[1:] == ((), "/etc/ld.so.cache", "/etc/ld.so.preload")


def test_levels_of_processors() -> None:
    second = set("cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3".split())
    third = second | set("avx avx2 bmi1 bmi2 f16c fma abm movbe xsave".split())
    levels = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
    assert elf.usable_levels(levels, set()) == ()
    assert elf.usable_levels(levels, second) == levels[2:]
    assert elf.usable_levels(levels, third) == levels[1:]
    assert elf.usable_levels(levels, third - {"ssse3"}) == ()


# --- the cache ----------------------------------------------------------------------------------------


def cache_file(lines: List[Tuple[str, str, int, int]], levels: Tuple[str, ...] = ()) -> bytes:
    """Return a cache of (name, path, flags, hwcap), with the names of directories below glibc-hwcaps."""
    strings, base = b"", 48 + 24 * len(lines)
    rows = b""
    for name, path, flags, hwcap in lines:
        rows += struct.pack("<iIIIQ", flags, base + len(strings), base + len(strings) + len(name) + 1, 0, hwcap)
        strings += f"{name}\0{path}\0".encode()
    numbers = b""
    for level in levels:
        numbers += struct.pack("<I", base + len(strings))
        strings += f"{level}\0".encode()
    at = base + len(strings)
    extension = struct.pack("<II4I", 0xEAA42174, 1, 1, 0, at + 24, len(numbers)) + numbers if levels else b""
    header = CACHE_MAGIC + struct.pack("<IIBxxxI12x", len(lines), len(strings), 2, at if levels else 0)
    return header + rows + strings + extension


LINES = [("liba.so", "/x/liba.so", 0x303, 0), ("liba.so", "/v3/liba.so", 0x303, (1 << 62) + 1), ("b", "/b", 3, 1 << 63)]


def test_lines_of_a_cache() -> None:
    found = elf.cached(cache_file(LINES, ("x86-64-v2", "x86-64-v3")), "<")
    assert found == {"liba.so": [elf.Cached("/x/liba.so", 0x303, ""), elf.Cached("/v3/liba.so", 0x303, "x86-64-v3")]}


def test_the_mixed_format_holds_the_new_one() -> None:
    old = b"ld.so-1.7.0\0" + struct.pack("<I", 2) + bytes(24)
    found = elf.cached(old + cache_file(LINES, ("x86-64-v2", "x86-64-v3")), "<")
    assert found == {"liba.so": [elf.Cached("/x/liba.so", 0x303, "")]}


@pytest.mark.parametrize("data", [b"", b"ld.so-1.7.0", CACHE_MAGIC, b"x" + cache_file(LINES), bytes(100)])
def test_what_is_no_cache_has_no_lines(data: bytes) -> None:
    assert elf.cached(data, "<") == {}


def test_a_damaged_cache_has_fewer_lines() -> None:
    data, draw = cache_file(LINES, ("x86-64-v2", "x86-64-v3")), random.Random(3)
    for size in range(len(data)):
        assert sum(map(len, elf.cached(data[:size], "<").values())) <= len(LINES)
    for _ in range(FLIPS):
        assert len(elf.cached(flipped(data, list(range(len(data))), draw), "<")) <= len(LINES)


def test_the_cache_of_this_host_has_what_ldconfig_prints() -> None:
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin") or "ldconfig"
    printed = subprocess.run([program, "-p"], stdout=subprocess.PIPE, check=True).stdout
    expected: Dict[str, Set[str]] = {}
    for line in os.fsdecode(printed).splitlines():
        if " => " in line:
            expected.setdefault(line.split()[0], set()).add(line.partition(" => ")[2])
    data = Path("/etc/ld.so.cache").read_bytes()
    found = {name: {line.path for line in lines} for name, lines in elf.cached(data, HOST.order).items()}
    assert found == expected and found
