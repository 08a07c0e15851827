# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""An interpreter for the classic BPF that seccomp accepts: the oracle for filters.

Written from the description of the machine in the kernel's documentation (networking/filter.rst, seccomp_filter.rst).
It shares neither code nor constants with aasm/_sys/bpf.py, on purpose: import nothing from aasm here.
"""

from __future__ import annotations

import functools
import struct
from typing import Callable, Dict, NamedTuple, Sequence, Tuple

LIMIT = 4096
U32 = 2**32 - 1

# The opcodes that seccomp lets through, in decimal as `bpf_asm` prints them, by what they do.
LD_ABS, LD_LEN, LD_IMM, LD_MEM = 32, 128, 0, 96
LDX_LEN, LDX_IMM, LDX_MEM = 129, 1, 97
ST, STX, TAX, TXA, NEG = 2, 3, 7, 135, 132
JA, RET_K, RET_A = 5, 6, 22
BRANCHES: Dict[int, Callable[[int, int], bool]] = {
    21: lambda a, b: a == b,
    37: lambda a, b: a > b,
    53: lambda a, b: a >= b,
    69: lambda a, b: a & b != 0,
}
ARITHMETIC: Dict[int, Callable[[int, int], int]] = {
    4: lambda a, b: a + b,
    20: lambda a, b: a - b,
    36: lambda a, b: a * b,
    52: lambda a, b: a // b if b else 0,
    68: lambda a, b: a | b,
    84: lambda a, b: a & b,
    100: lambda a, b: a << b,
    116: lambda a, b: a >> b,
    164: lambda a, b: a ^ b,
}
DIV, SHIFTS = 52, (100, 116)
FROM_X = 8  # added to a branch or arithmetic opcode: the second operand is X instead of the constant
PLAIN = {LD_ABS, LD_LEN, LD_IMM, LD_MEM, LDX_LEN, LDX_IMM, LDX_MEM, ST, STX, TAX, TXA, NEG, JA, RET_K, RET_A}
OPERATIONS = {*BRANCHES, *ARITHMETIC}
ACCEPTED = PLAIN | OPERATIONS | {op + FROM_X for op in OPERATIONS}


class Invalid(Exception):
    """The kernel would not take this program."""


class Instruction(NamedTuple):
    code: int
    jt: int
    jf: int
    k: int


@functools.lru_cache(maxsize=8)
def check(program: bytes) -> Tuple[Instruction, ...]:
    """Return the instructions; raise Invalid where the kernel's own check would answer EINVAL."""
    if not program or len(program) % 8 or len(program) // 8 > LIMIT:
        raise Invalid(f"{len(program)} bytes")
    code = tuple(Instruction(*fields) for fields in struct.iter_unpack("<HBBI", program))
    for at, line in enumerate(code):
        if line.code not in ACCEPTED:
            raise Invalid(f"{at}: opcode {line.code}")
        if line.code == LD_ABS and (line.k % 4 or line.k >= 64):
            raise Invalid(f"{at}: load at {line.k}")
        if line.code in (LD_MEM, LDX_MEM, ST, STX) and line.k >= 16:
            raise Invalid(f"{at}: memory cell {line.k}")
        if (line.code == DIV and line.k == 0) or (line.code in SHIFTS and line.k >= 32):
            raise Invalid(f"{at}: constant {line.k}")
        if at + 1 + _furthest(line) >= len(code) and line.code not in (RET_K, RET_A):
            raise Invalid(f"{at}: leaves the program")
    return code


def _furthest(line: Instruction) -> int:
    """Return the longest way that an instruction may jump."""
    if line.code == JA:
        return line.k
    return max(line.jt, line.jf) if line.code in BRANCHES or line.code - FROM_X in BRANCHES else 0


def simulate(program: bytes, nr: int, arch: int, args: Sequence[int] = (), ip: int = 0) -> Tuple[int, int]:
    """Return (answer, number of instructions executed) of the program for one call."""
    words = [word % 2**64 for word in args] + [0] * (6 - len(args))
    return _Machine(struct.pack("<IIQ6Q", nr & U32, arch, ip, *words)).run(check(program))


class _Machine:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.a = self.x = 0
        self.cells = [0] * 16

    def run(self, code: Sequence[Instruction]) -> Tuple[int, int]:
        at = steps = 0
        while code[at].code not in (RET_K, RET_A):
            at += 1 + self.step(code[at])
            steps += 1
        return (code[at].k if code[at].code == RET_K else self.a), steps + 1

    def step(self, line: Instruction) -> int:
        """Execute one instruction that does not return; give back how many of the following to skip."""
        op, jt, jf, k = line
        base, operand = (op - FROM_X, self.x) if op - FROM_X in OPERATIONS else (op, k)
        if op == JA:
            return k
        if base in BRANCHES:
            return jt if BRANCHES[base](self.a, operand) else jf
        if base in ARITHMETIC:
            self.a = ARITHMETIC[base](self.a, operand) & U32
        elif op in (ST, STX):
            self.cells[k] = self.a if op == ST else self.x
        elif op in (TAX, LDX_LEN, LDX_IMM, LDX_MEM):
            self.x = self.value(op, k)
        else:
            self.a = self.value(op, k)
        return 0

    def value(self, op: int, k: int) -> int:
        if op == LD_ABS:
            return int.from_bytes(self.data[k : k + 4], "little")
        if op in (LD_LEN, LDX_LEN):
            return len(self.data)
        if op in (LD_MEM, LDX_MEM):
            return self.cells[k]
        return {TAX: self.a, TXA: self.x, NEG: -self.a & U32}.get(op, k)
