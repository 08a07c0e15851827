# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the attribute of a file says about capabilities, and when execve ends with EPERM because of it."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Tuple

import pytest
from support.elf_files import elf_file, form_of, write_program

from aasm.errors import HostError
from aasm.model import privileges
from aasm.needs import filecaps, needs, opened_by_execve
from aasm.needs.filecaps import FileCapabilities, Held

V1, V2, V3 = 0x01000000, 0x02000000, 0x03000000
ALL = (1 << 41) - 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (struct.pack("<3I", V1 | 1, 5, 6), FileCapabilities(5, 6, True)),
        (struct.pack("<5I", V2, 5, 6, 7, 8), FileCapabilities(5 | 7 << 32, 6 | 8 << 32, False)),
        (struct.pack("<5I", V2 | 1, 0, 0, 0, 0), FileCapabilities(0, 0, True)),
        (struct.pack("<6I", V3 | 1, 5, 6, 7, 8, 0), FileCapabilities(5 | 7 << 32, 6 | 8 << 32, True)),
        (struct.pack("<6I", V3 | 1, 5, 6, 7, 8, 1000), FileCapabilities()),  # of another user namespace
        (struct.pack("<5I", V1 | 1, 5, 6, 7, 8), FileCapabilities()),
        (struct.pack("<4I", V2 | 1, 5, 6, 7), FileCapabilities()),
        (struct.pack("<5I", 0x04000001, 5, 6, 7, 8), FileCapabilities()),
        (b"", FileCapabilities()),
        (b"\1", FileCapabilities()),
    ],
)
def test_attributes(data: bytes, expected: FileCapabilities) -> None:
    assert filecaps.decoded(data) == expected


@pytest.mark.parametrize(
    ("found", "held", "expected"),
    [
        (FileCapabilities(1, 0, True), (ALL, 0), ()),
        (FileCapabilities(1, 0, True), (0, 0), ("CAP_CHOWN",)),
        (FileCapabilities(1, 0, False), (0, 0), ()),
        (FileCapabilities(3, 2, True), (1, 2), ()),  # one by the bounding set, one by both inheritable sets
        (FileCapabilities(3, 0, True), (1, 2), ("CAP_DAC_OVERRIDE",)),
        (FileCapabilities(1 << 40 | 1 << 50, 0, True), (0, 0), ("CAP_CHECKPOINT_RESTORE",)),
    ],
)
def test_what_is_lacking(found: FileCapabilities, held: Tuple[int, int], expected: Tuple[str, ...]) -> None:
    assert filecaps.lacking(found, Held(*held, known=ALL)) == expected


def test_this_process_holds_what_its_status_says() -> None:
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Cap"))
    said = {name: int(value, 16) for name, value in lines}
    held = filecaps.of_this_process()
    assert (held.bounding, held.inheritable) == (said["CapBnd:"], said["CapInh:"])
    assert held.known & held.bounding == held.bounding and held.known >= (1 << len(privileges.NAMES)) - 1


def test_a_file_without_the_attribute_and_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert filecaps.of_file(str(tmp_path / "file")) == filecaps.of_file(str(tmp_path / "none")) == FileCapabilities()


def test_where_the_file_system_is_mounted_nosuid_nothing_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getxattr", lambda *_: struct.pack("<3I", V1 | 1, 5, 6))
    assert filecaps.of_file("/usr/bin/env").permitted == 5
    options = os.statvfs("/usr/bin/env")
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((*options[:8], os.ST_NOSUID, *options[9:])))
    assert filecaps.of_file("/usr/bin/env") == FileCapabilities()


def test_the_program_is_judged_and_neither_script_nor_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = form_of("/proc/self/exe")
    loader = write_program(tmp_path / "ld.so", elf_file(form=form))
    program = write_program(tmp_path / "program", elf_file(loader=loader, form=form))
    script = write_program(tmp_path / "script", f"#!{program}\n".encode())
    marked = [loader, script]
    monkeypatch.setattr(filecaps, "of_file", lambda path: FileCapabilities(1, 0, path in marked))
    monkeypatch.setattr(filecaps, "of_this_process", lambda: Held(0, 0, ALL))
    assert [file.path for file in opened_by_execve(script, "/")] == [script, program, loader]
    assert [need.refused for need in needs(script, "", "/")] == [""] * 4
    marked.append(program)
    said = "its file has CAP_CHOWN, "
    assert [need.path for need in needs(script, "", "/") if need.refused.startswith(said)] == [program]
    seen = []
    with pytest.raises(HostError, match=said):
        for file in opened_by_execve(script, "/"):
            seen.append(file)
    assert [file.path for file in seen] == [script, program, loader]
