# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Writes small ELF files: as much of a program or a library as kernel and loader look at, and no code."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Tuple, Union

PAGE = 0x10000
LIBRARY = 3  # ET_DYN, which position-independent programs are as well
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_PHDR = 1, 2, 3, 6
DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT = 1, 4, 5, 6, 10, 11
DT_SONAME, DT_RPATH, DT_RUNPATH = 14, 15, 29

Entry = Tuple[int, Union[str, int]]


class Form(NamedTuple):
    """For which machine: as e_ident, e_machine and the names of struct have it."""

    bits: int = 64
    order: str = "<"
    machine: int = 62

    @property
    def word(self) -> str:
        return "Q" if self.bits == 64 else "I"

    def pack(self, layout: str, *values: int) -> bytes:
        return struct.pack(self.order + layout.replace("w", self.word), *values)


def form_of(path: str) -> Form:
    """Return the form of a program of this host."""
    head = Path(path).read_bytes()[:20]
    order = "<" if head[5] == 1 else ">"
    return Form(32 * head[4], order, struct.unpack_from(order + "H", head, 18)[0])


X86_64 = Form()


def elf_file(
    needed: Sequence[str] = (),
    soname: str = "",
    rpath: Optional[str] = None,
    runpath: Optional[str] = None,
    loader: str = "",
    form: Form = X86_64,
    more: Sequence[Entry] = (),
) -> bytes:
    """Return an ELF file: a program when it names a loader. `more` are further entries of its dynamic section."""
    entries: List[Entry] = [(DT_NEEDED, name) for name in needed]
    entries += [(DT_SONAME, soname)] if soname else []
    entries += [(DT_RPATH, rpath)] if rpath is not None else []
    entries += [(DT_RUNPATH, runpath)] if runpath is not None else []
    return _assembled([*entries, *more], loader.encode() + b"\0" if loader else b"", form)


def _assembled(entries: List[Entry], loader: bytes, form: Form) -> bytes:
    header, segment, symbol = (64, 56, 24) if form.bits == 64 else (52, 32, 16)
    count = 4 if loader else 2
    at_loader = header + count * segment
    at_dynamic = (at_loader + len(loader) + 15) // 16 * 16
    strings, rows = _strings(entries)
    at_tables = at_dynamic + (len(rows) + 6) * form.bits // 4  # five more entries, and the end
    at_strings = at_tables + 64
    rows += [(DT_STRTAB, at_strings), (DT_STRSZ, len(strings)), (DT_SYMTAB, at_tables), (DT_SYMENT, symbol)]
    rows += [(DT_HASH, at_tables + 32), (0, 0)]
    dynamic = b"".join(form.pack("ww", *row) for row in rows)
    segments = [(PT_PHDR, header, count * segment), (PT_INTERP, at_loader, len(loader))] if loader else []
    segments += [(PT_LOAD, 0, at_strings + len(strings)), (PT_DYNAMIC, at_dynamic, len(dynamic))]
    ident = b"\x7fELF" + bytes([form.bits // 32, 1 if form.order == "<" else 2, 1]) + bytes(9)
    start = form.pack("HHIwwwIHHHHHH", LIBRARY, form.machine, 1, 0, header, 0, 0, header, segment, count, 0, 0, 0)
    front = ident + start + b"".join(_segment(one, form) for one in segments) + loader
    hash_table = form.pack("5I", 1, 1, 0, 0, 0).ljust(32, b"\0")
    return front.ljust(at_dynamic, b"\0") + dynamic + bytes(32) + hash_table + strings


def _strings(entries: List[Entry]) -> Tuple[bytes, List[Tuple[int, int]]]:
    """Return the string table, and the entries with numbers instead of texts."""
    strings, rows = b"\0", []
    for tag, value in entries:
        if isinstance(value, str):
            rows.append((tag, len(strings)))
            strings += value.encode("utf-8", "surrogateescape") + b"\0"
        else:
            rows.append((tag, value))
    return strings, rows


def _segment(one: Tuple[int, int, int], form: Form) -> bytes:
    kind, offset, size = one
    if form.bits == 64:
        return form.pack("IIwwwwww", kind, 7, offset, offset, offset, size, size, PAGE)
    return form.pack("IIIIIIII", kind, offset, offset, offset, size, size, 7, PAGE)


def write_program(path: Path, data: bytes) -> str:
    """Put `data` at `path`, executable, with the directories on the way; return the path as text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o755)
    return str(path)
