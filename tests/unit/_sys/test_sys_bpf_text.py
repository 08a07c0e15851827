# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Filters as text: what an auditor reads."""

from __future__ import annotations

import struct

import pytest

from aasm._sys import bpf, syscalls
from aasm._sys.bpf import ALLOW, ERRNO, KILL_PROCESS, Checked, Clause, Condition, Filter
from aasm.errors import InternalError


def _filter(arch, rule):
    """A filter for an architecture that has only the number 0."""
    return Filter(syscalls.arch(arch)._replace(newest=0), {0: rule}, ALLOW, ERRNO(38), KILL_PROCESS, ERRNO(1000))


def test_verdict_names():
    named = {0x7FFF0000: "ALLOW", 0x80000000: "KILL_PROCESS", 0: "KILL_THREAD", 0x50001: "ERRNO(EPERM)",
             0x7FC00000: "USER_NOTIF", 0x50FFF: "ERRNO(4095)", 0x50000: "ERRNO(0)", 0x7FF00007: "TRACE(7)",
             0x12340000: "0x12340000"}
    assert {verdict: bpf.verdict_name(verdict) for verdict in named} == named


def test_disassembly_names_what_is_loaded_where_it_goes_and_what_is_answered():
    rule = Checked((Clause((Condition(2, 0xF, 5),), ERRNO(1)),), ALLOW)
    lines = bpf.disassemble(bpf.assemble(_filter("x86_64", rule)))
    assert [line.split(maxsplit=1)[1] for line in lines] == [
        "load architecture",
        "if == 0xc000003e (3221225534) jump 3 else 2",
        "return KILL_PROCESS",
        "load number",
        "if >= 0x40000000 (1073741824) jump 5 else 6",
        "return ERRNO(1000)",
        "if >= 0x1 (1) jump 12 else 7",
        "load argument 2 low",
        "and 0xf",
        "if == 0x5 (5) jump 10 else 11",
        "return ERRNO(EPERM)",
        "return ALLOW",
        "return ERRNO(ENOSYS)",
    ]
    assert [int(line.split()[0]) for line in lines] == list(range(13))


def test_disassembly_of_a_far_jump_and_of_strange_programs():
    clauses = tuple(Clause((Condition(0, 0xFFFFFFFF, n),), ERRNO(1)) for n in range(100))
    far = bpf.disassemble(bpf.assemble(_filter("aarch64", Checked(clauses, ALLOW))))
    assert far[4:6] == ["   4  if >= 0x1 (1) jump 5 else 6", "   5  jump 307"]
    strange = struct.pack("<HBBIHBBIHBBI", 0x80, 1, 2, 3, 0x20, 0, 0, 8, 0x20, 0, 0, 20)
    assert bpf.disassemble(strange) == [
        "   0  code 0x0080 jt 1 jf 2 k 0x3",
        "   1  load data[8]",
        "   2  load data[20]",
    ]
    with pytest.raises(InternalError):
        bpf.disassemble(strange[:-1])
    assert bpf.disassemble(b"") == []
