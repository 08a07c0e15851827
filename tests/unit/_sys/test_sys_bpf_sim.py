# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The oracle itself: the interpreter that the filters are checked with."""

from __future__ import annotations

import ast
import struct
from pathlib import Path

import pytest
from support import bpf_sim


def _raw(*lines):
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


@pytest.mark.parametrize(
    "program",
    [
        b"",
        _raw((6, 0, 0, 0))[:-1],
        _raw(*[(32, 0, 0, 0)] * 4096, (6, 0, 0, 0)),
        _raw((32, 0, 0, 0)),
        _raw((32, 0, 0, 2), (6, 0, 0, 0)),
        _raw((32, 0, 0, 64), (6, 0, 0, 0)),
        _raw((40, 0, 0, 0), (6, 0, 0, 0)),
        _raw((5, 0, 0, 1), (6, 0, 0, 0)),
        _raw((21, 1, 0, 0), (6, 0, 0, 0)),
        _raw((21, 0, 1, 0), (6, 0, 0, 0)),
        _raw((52, 0, 0, 0), (6, 0, 0, 0)),
        _raw((100, 0, 0, 32), (6, 0, 0, 0)),
        _raw((2, 0, 0, 16), (6, 0, 0, 0)),
    ],
)
def test_the_interpreter_refuses_what_the_kernel_refuses(program):
    with pytest.raises(bpf_sim.Invalid):
        bpf_sim.check(program)


@pytest.mark.parametrize(
    "lines, answer",
    [
        ([(0, 0, 0, 7), (22, 0, 0, 0)], 7),
        ([(128, 0, 0, 0), (22, 0, 0, 0)], 64),
        ([(32, 0, 0, 20), (22, 0, 0, 0)], 0x11223344),
        ([(1, 0, 0, 5), (0, 0, 0, 3), (44, 0, 0, 0), (22, 0, 0, 0)], 15),
        ([(0, 0, 0, 9), (2, 0, 0, 4), (0, 0, 0, 1), (96, 0, 0, 4), (22, 0, 0, 0)], 9),
        ([(0, 0, 0, 9), (7, 0, 0, 0), (0, 0, 0, 0), (135, 0, 0, 0), (22, 0, 0, 0)], 9),
        ([(0, 0, 0, 1), (132, 0, 0, 0), (22, 0, 0, 0)], 2**32 - 1),
        ([(0, 0, 0, 6), (69, 0, 1, 8), (6, 0, 0, 1), (6, 0, 0, 2)], 2),
        ([(0, 0, 0, 6), (37, 1, 0, 5), (6, 0, 0, 1), (6, 0, 0, 2)], 2),
        ([(5, 0, 0, 1), (6, 0, 0, 1), (6, 0, 0, 2)], 2),
        ([(0, 0, 0, 1), (20, 0, 0, 2), (22, 0, 0, 0)], 2**32 - 1),
    ],
)
def test_the_interpreter_computes(lines, answer):
    assert bpf_sim.simulate(_raw(*lines), 0, 0, (0x1122334400000000,))[0] == answer


def test_the_interpreter_shares_nothing_with_the_package():
    tree = ast.parse(Path(bpf_sim.__file__).read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"__future__", "functools", "struct", "typing"}
