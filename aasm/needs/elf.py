# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Facts from bytes: what an ELF file asks its loader for, what a loader was built with, what its cache lists.

Pure: opens nothing and asks nobody; the caller hands in a function that reads. Every count and length that a file
states is bounded here, so that a hostile one ends in HostError or in a finite answer. Sources: elf(5), the kernel's
linux/elf.h and fs/binfmt_elf.c, glibc's elf/dl-load.c and sysdeps/generic/dl-cache.h.
"""

from __future__ import annotations

import os
import re
import struct
from typing import Callable, NamedTuple

from ..errors import HostError

Read = Callable[[int, int], bytes]  # (offset, most) -> the bytes that the file has there, at most so many

HEAD = 64  # bytes: the longer of the two ELF headers
MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv"}  # e_machine, linux/elf-em.h

_LOAD, _DYNAMIC, _INTERP = 1, 2, 3  # p_type
_NEEDED, _STRTAB, _SONAME, _RPATH, _RUNPATH = 1, 5, 14, 15, 29  # d_tag
_FLAGS_1, _NODEFLIB = 0x6FFFFFFB, 0x800
_AUXILIARY, _FILTER = 0x7FFFFFFD, 0x7FFFFFFF
_PROGRAM_TYPES = (2, 3)  # ET_EXEC, ET_DYN

_MOST_SEGMENTS = 65536  # bytes of program headers, as the kernel's load_elf_phdrs()
_MOST_DYNAMIC = 65536  # bytes of the dynamic section
_MOST_NEEDED = 1024
_LONGEST_NAME, _LONGEST_PATHS = 4096, 65536  # PATH_MAX; a list of directories may be longer


class Unclear(HostError):
    """What a file holds is no program here, or cannot be read: its modes and the boundary may allow it all the same."""


class Kind(NamedTuple):
    """For which machine a file is."""

    bits: int
    order: str  # "<" or ">", as struct writes it
    machine: int


class Dynamic(NamedTuple):
    """What a program or a library asks its loader for."""

    needed: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()  # DT_AUXILIARY: loaded when it is there
    name: str = ""  # DT_SONAME
    rpath: str = ""
    runpath: str | None = None  # an empty one still switches rpath off
    defaults: bool = True  # False: DF_1_NODEFLIB, not from the default directories


class _Layout(NamedTuple):
    header: str  # behind e_ident
    segment: str
    fields: tuple[int, int, int, int]  # where p_type, p_offset, p_vaddr and p_filesz are in `segment`
    entry: str


_LAYOUTS = {
    32: _Layout("HHIIIIIHHH", "8I", (0, 1, 2, 4), "II"),
    64: _Layout("HHIQQQIHHH", "II6Q", (0, 2, 3, 5), "QQ"),
}


class _Segment(NamedTuple):
    type: int
    offset: int
    address: int
    size: int


def kind_of(head: bytes) -> Kind | None:
    """Return what the first bytes of a file (HEAD are enough) say that it is for, None when it is no ELF file."""
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[4] not in (1, 2) or head[5] not in (1, 2):
        return None
    order = "<" if head[5] == 1 else ">"
    return Kind(32 * head[4], order, struct.unpack_from(order + "H", head, 18)[0])


def loader_of(read: Read, where: str) -> str:
    """Return the path of the loader that an ELF program names, "" for a static one. HostError for a damaged file."""
    for one in _segments(read, where)[1]:
        if one.type == _INTERP:  # the first counts
            text = read(one.offset, one.size) if 2 <= one.size <= _LONGEST_NAME else b""
            if not text or len(text) != one.size or text[-1] or not text[0]:
                raise _damaged("names no loader where it should", where)
            return os.fsdecode(text.partition(b"\0")[0])
    return ""


def dynamic_of(read: Read, where: str) -> Dynamic:
    """Return what an ELF file asks its loader for; nothing without a dynamic section. HostError when damaged."""
    kind, segments = _segments(read, where)
    sections = [one for one in segments if one.type == _DYNAMIC]
    if not sections:
        return Dynamic()
    offset, room = _place(segments, sections[-1].address, where)
    single: dict[int, int] = {}
    several: list[tuple[int, int]] = []
    for tag, value in _entries(read(offset, min(room, _MOST_DYNAMIC)), kind, where):
        if tag in (_NEEDED, _FILTER, _AUXILIARY):
            several.append((tag, value))
        single[tag] = value  # of the others the last one counts
    if len(several) > _MOST_NEEDED:
        raise _damaged(f"names more than {_MOST_NEEDED} libraries", where)

    def text(value: int | None, longest: int = _LONGEST_NAME) -> str:
        if value is None:
            return ""
        return _text(read, *_place(segments, single.get(_STRTAB, 0) + value, where), longest, where)

    return Dynamic(
        needed=tuple(text(value) for tag, value in several if tag != _AUXILIARY),
        wanted=tuple(text(value) for tag, value in several if tag == _AUXILIARY),
        name=text(single.get(_SONAME)),
        rpath=text(single.get(_RPATH), _LONGEST_PATHS),
        runpath=text(single[_RUNPATH], _LONGEST_PATHS) if _RUNPATH in single else None,
        defaults=not single.get(_FLAGS_1, 0) & _NODEFLIB,
    )


def _damaged(what: str, where: str) -> HostError:
    return Unclear(f"is damaged: it {what}", where, "install it again")


def _segments(read: Read, where: str) -> tuple[Kind, list[_Segment]]:
    """Return the kind and the program headers, in their order."""
    head = read(0, HEAD)
    kind = kind_of(head)
    if kind is None:
        raise _damaged("has no ELF header", where)
    layout = _LAYOUTS[kind.bits]
    header, segment = struct.Struct(kind.order + layout.header), struct.Struct(kind.order + layout.segment)
    if len(head) < 16 + header.size:
        raise _damaged("ends inside its header", where)
    elf_type, _, _, _, start, _, _, _, size, count = header.unpack_from(head, 16)
    if elf_type not in _PROGRAM_TYPES:
        raise Unclear("is an ELF file that is neither a program nor a library", where, "name one that is")
    table = read(start, size * count) if size == segment.size and 0 < size * count <= _MOST_SEGMENTS else b""
    if not table or len(table) != size * count:
        raise _damaged("has no program headers where it should", where)
    rows = segment.iter_unpack(table)
    return kind, [_Segment(*(row[index] for index in layout.fields)) for row in rows]


def _place(segments: list[_Segment], address: int, where: str) -> tuple[int, int]:
    """Return where in the file the byte of an address is, and how many bytes follow it there."""
    for one in reversed(segments):  # what is mapped later covers what was mapped before
        if one.type == _LOAD and one.address <= address < one.address + one.size:
            skipped = address - one.address
            return one.offset + skipped, one.size - skipped
    raise _damaged(f"refers to the address {address:#x}, where it has nothing", where)


def _entries(data: bytes, kind: Kind, where: str) -> list[tuple[int, int]]:
    entry = struct.Struct(kind.order + _LAYOUTS[kind.bits].entry)
    found: list[tuple[int, int]] = []
    for tag, value in entry.iter_unpack(data[: len(data) // entry.size * entry.size]):
        if tag == 0:
            return found
        found.append((tag, value))
    raise _damaged("has a dynamic section without an end", where)


def _text(read: Read, offset: int, room: int, longest: int, where: str) -> str:
    for size in (256, longest):  # most names are short
        text, end, _ = read(offset, min(room, size)).partition(b"\0")
        if end:
            return os.fsdecode(text)
    raise _damaged("has a name without an end", where)


# --- what a loader was built with ---------------------------------------------------------------------


class Built(NamedTuple):
    """What a glibc loader was built with. `levels` are names of directories below glibc-hwcaps, best first."""

    defaults: tuple[str, ...]
    levels: tuple[str, ...]
    cache: str
    preload: str


# What loaders search by convention; taken where a loader does not show its own list.
_USUAL = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
_MULTIARCH = {
    (64, 62): "x86_64-linux-gnu",
    (32, 62): "x86_64-linux-gnux32",
    (32, 3): "i386-linux-gnu",
    (64, 183): "aarch64-linux-gnu",
    (32, 40): "arm-linux-gnueabihf",
    (64, 243): "riscv64-linux-gnu",
}
_MOST_DEFAULTS = 64
_UNPRINTABLE = re.compile(rb"[^\x21-\x7e]")
_LEVELS = re.compile(rb"\0(x86-64-v\d(?::x86-64-v\d)*)\0")


def built(data: bytes, kind: Kind) -> Built:
    """Return what the bytes of a loader show: its own texts, from which it takes the same things when it runs.

    A loader holds its default directories as texts in a row, each with a slash at both ends.
    """
    levels = _LEVELS.search(data)
    return Built(
        _default_directories(data) or _usual(kind),
        tuple(os.fsdecode(levels[1]).split(":")) if levels else (),
        _own_path(data, b"/ld.so.cache") or "/etc/ld.so.cache",
        _own_path(data, b"/ld.so.preload") or "/etc/ld.so.preload",
    )


def _usual(kind: Kind) -> tuple[str, ...]:
    triplet = _MULTIARCH.get((kind.bits, kind.machine), "")
    return (f"/lib/{triplet}", f"/usr/lib/{triplet}", *_USUAL) if triplet else _USUAL


def _default_directories(data: bytes) -> tuple[str, ...]:
    row: list[str] = []
    for text in data.split(b"\0"):
        directory = _printable_end(text[:-1]) if text[-1:] == b"/" and b"/lib" in text else ""
        if directory:
            row.append(directory)
        if row and not directory or len(row) == _MOST_DEFAULTS:
            break
    return tuple(row)


def _own_path(data: bytes, ending: bytes) -> str:
    end = data.find(ending + b"\0") + len(ending)
    return _printable_end(data[max(end - _LONGEST_NAME, 0) : end].split(b"\0")[-1]) if end >= len(ending) else ""


def _printable_end(text: bytes) -> str:
    """Return the path that `text` ends with; in front of it may be what is no text."""
    tail = _UNPRINTABLE.split(text[-_LONGEST_NAME:])[-1]
    return os.fsdecode(tail[tail.find(b"/") :]) if b"/" in tail else ""


# What a processor must have for a directory below glibc-hwcaps, as /proc/cpuinfo names it; each needs those above it.
_FLAGS_OF_LEVELS = {
    "x86-64-v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}


def usable_levels(levels: tuple[str, ...], flags: set[str]) -> tuple[str, ...]:
    """Return those of `levels` that a processor with `flags` has."""
    usable = set()
    for level, needed in _FLAGS_OF_LEVELS.items():
        if not flags.issuperset(needed.split()):
            break
        usable.add(level)
    return tuple(level for level in levels if level in usable)


# --- the loader's cache -------------------------------------------------------------------------------


class Cached(NamedTuple):
    """One line of a cache. `level` is the directory below glibc-hwcaps that it belongs to, else ""."""

    path: str
    flags: int
    level: str


# What a line must say for a kind of program: FLAG_* of dl-cache.h with FLAG_ELF_LIBC6. Not for others: any will do.
CACHE_FLAGS = {(64, 62): 0x0303, (32, 62): 0x0803, (32, 3): 0x0003, (64, 183): 0x0A03, (64, 243): 0x1003}

_OLD, _NEW = b"ld.so-1.7.0", b"glibc-ld.so.cache1.1"
_HEADER, _LINE, _SECTION = "IIBxxxI12x", "iIIIQ", "IIII"  # behind the magic; one library; one extension
_EXTENSION_MAGIC, _HWCAPS_TAG, _MOST_SECTIONS = 0xEAA42174, 1, 64
_LEVEL_BIT, _ISA_MASK = 1 << 30, 0x3FF  # in the upper half of hwcap; the lower half is then an index


def cached(data: bytes, order: str) -> dict[str, list[Cached]]:
    """Return the lines of a cache by the name of the library; none for what is no cache of the new format.

    Lines that point outside the file, or that belong to directories of the time before glibc-hwcaps, are left out.
    """
    start = data.find(_NEW) if data.startswith((_OLD, _NEW)) else -1
    if start < 0 or len(data) < start + 48:
        return {}
    data = data[start:]
    count, _, _, extension = struct.unpack_from(order + _HEADER, data, len(_NEW))
    levels = [] if start else _cache_levels(data, order, extension)  # the mixed format is older than they are
    lines = struct.Struct(order + _LINE)
    if 48 + count * lines.size > len(data):
        return {}
    found: dict[str, list[Cached]] = {}
    for flags, key, value, _, hwcap in lines.iter_unpack(data[48 : 48 + count * lines.size]):
        level = _level(levels, hwcap)
        name, path = _string(data, key), _string(data, value)
        if level is not None and name and path:
            found.setdefault(name, []).append(Cached(path, flags, level))
    return found


def _level(levels: list[str], hwcap: int) -> str | None:
    if not hwcap:
        return ""
    upper, index = hwcap >> 32, hwcap & 0xFFFFFFFF
    return levels[index] if upper & ~_ISA_MASK == _LEVEL_BIT and index < len(levels) else None


def _cache_levels(data: bytes, order: str, start: int) -> list[str]:
    """Return the names of the directories below glibc-hwcaps that the lines refer to by number."""
    if start < 48 or start + 8 > len(data):
        return []
    magic, count = struct.unpack_from(order + "II", data, start)
    sections = struct.Struct(order + _SECTION)
    table = data[start + 8 : start + 8 + min(count, _MOST_SECTIONS) * sections.size]
    if magic != _EXTENSION_MAGIC or len(table) % sections.size:
        return []
    for tag, _, offset, size in sections.iter_unpack(table):
        if tag == _HWCAPS_TAG:
            numbers = data[offset : offset + min(size, _LONGEST_NAME)]
            found = struct.iter_unpack(order + "I", numbers[: len(numbers) // 4 * 4])
            return [_string(data, number) for (number,) in found]
    return []


def _string(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset, offset + _LONGEST_NAME) if offset < len(data) else -1
    return os.fsdecode(data[offset:end]) if end > offset else ""
