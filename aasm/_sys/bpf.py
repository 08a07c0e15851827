# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Seccomp filters: from rules, as values, to the bytes of a classic BPF program, and back to text for auditors. Pure.

Shape of every program, so that it can be read at a glance:

1. The architecture word comes first; a foreign one gets its verdict before anything else is looked at.
2. The number comes next. On x86_64 numbers with the x32 bit are answered at once (`syscall(-1)` has that bit as well).
3. A balanced binary search over ranges of numbers with the same rule ends in that rule.
4. Arguments are loaded only inside the rule of their number. Since 5.11 the kernel works out, number by number, which
   calls are allowed without a look at an argument, and never runs the filter for them (kernel/seccomp.c,
   seccomp_cache_prepare): this order is what makes all of those free.

Only the low 32 bits of an argument can be compared. The kernel truncates what it takes as an int (ioctl requests,
socket families, process ids, flags), so a program may put anything into the high half: to compare it would be a way
around the rule. Where the kernel takes all 64 bits, refusing by the low half is sound and allowing by it is not.

Must not know which calls are dangerous: rules come from the backend. Sources: <linux/seccomp.h>, <linux/bpf_common.h>,
<linux/filter.h>, seccomp(2).
"""

from __future__ import annotations

import errno
import struct
from typing import List, Mapping, NamedTuple, Tuple, Union

from ..errors import InternalError, PolicyError
from .syscalls import Arch

# Verdicts: SECCOMP_RET_* of <linux/seccomp.h>, the action in the high half, data in the low.
SECCOMP_RET_KILL_PROCESS = 0x80000000
SECCOMP_RET_KILL_THREAD = 0x00000000
SECCOMP_RET_TRAP = 0x00030000
SECCOMP_RET_ERRNO = 0x00050000
SECCOMP_RET_USER_NOTIF = 0x7FC00000
SECCOMP_RET_TRACE = 0x7FF00000
SECCOMP_RET_LOG = 0x7FFC0000
SECCOMP_RET_ALLOW = 0x7FFF0000
_ACTIONS = {value: name[12:] for name, value in globals().items() if name.startswith("SECCOMP_RET_")}
SECCOMP_RET_ACTION_FULL = 0xFFFF0000
SECCOMP_RET_DATA = 0x0000FFFF
MAX_ERRNO = 4095  # <linux/err.h>; the kernel lowers anything above it to this

ALLOW = SECCOMP_RET_ALLOW
KILL_PROCESS = SECCOMP_RET_KILL_PROCESS
USER_NOTIF = SECCOMP_RET_USER_NOTIF

# struct seccomp_data: offsets of the words, little endian.
_NR, _ARCH, _ARGS = 0, 4, 16
_ARG_COUNT = 6
_WORD = 0xFFFFFFFF

# Operation codes, put together as <linux/bpf_common.h> does: class | size or operation | mode or source.
_LOAD = 0x00 | 0x00 | 0x20  # BPF_LD | BPF_W | BPF_ABS
_AND = 0x04 | 0x50 | 0x00  # BPF_ALU | BPF_AND | BPF_K
_JUMP = 0x05 | 0x00  # BPF_JMP | BPF_JA: the offset is the 32-bit operand
_JEQ = 0x05 | 0x10 | 0x00  # BPF_JMP | BPF_JEQ | BPF_K
_JGE = 0x05 | 0x30 | 0x00  # BPF_JMP | BPF_JGE | BPF_K
_RETURN = 0x06 | 0x00  # BPF_RET | BPF_K

MAX_INSTRUCTIONS = 4096  # BPF_MAXINSNS, <linux/bpf_common.h>
_NEAR = 255  # conditional jumps have 8-bit offsets
_INSTRUCTION = struct.Struct("<HBBI")  # struct sock_filter: code, jt, jf, k

Instruction = Tuple[int, int, int, int]
Code = List[Instruction]


class Condition(NamedTuple):
    """Holds when the low 32 bits of argument `arg` (0 to 5), under `mask`, equal `equals`."""

    arg: int
    mask: int
    equals: int


class Clause(NamedTuple):
    """When all conditions hold, the verdict."""

    conditions: Tuple[Condition, ...]
    verdict: int


class Checked(NamedTuple):
    """The rule of a call whose arguments matter: the first clause that holds decides, else `otherwise`."""

    clauses: Tuple[Clause, ...]
    otherwise: int


Rule = Union[int, Checked]  # a plain verdict looks at no argument


class Filter(NamedTuple):
    """Everything that a program decides. `assemble` checks it; nothing else turns it into instructions."""

    arch: Arch
    rules: Mapping[int, Rule]  # by number, up to arch.newest
    known: int  # verdict for a number up to arch.newest without a rule
    newer: int  # verdict for a number above arch.newest
    foreign: int  # verdict for a foreign architecture word
    x32: int  # verdict for a number with the x32 bit; used only where arch.x32_bit is set


def ERRNO(number: int) -> int:
    """Return the verdict "fail with this errno" (0: succeed without doing anything); raise InternalError above 4095."""
    if not 0 <= number <= MAX_ERRNO:
        raise InternalError(f"a filter cannot answer with errno {number}")
    return SECCOMP_RET_ERRNO | number


def assemble(spec: Filter) -> bytes:
    """Return the program for `spec`: an array of struct sock_filter, ready for seccomp(2).

    Raise PolicyError when it would be longer than the kernel takes, InternalError when `spec` makes no sense.
    """
    _check(spec)
    code = _prologue(spec) + _search(_ranges(spec))
    if len(code) > MAX_INSTRUCTIONS:
        raise PolicyError(
            f"the system call filter would have {len(code)} instructions, and the kernel takes {MAX_INSTRUCTIONS}",
            remedy="state fewer rules about arguments",
        )
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in code)


def length(program: bytes) -> int:
    """Return the number of instructions of an assembled program."""
    return len(program) // _INSTRUCTION.size


def verdict_name(verdict: int) -> str:
    """Return a verdict in words: "ALLOW", "KILL_PROCESS", "ERRNO(EPERM)", "TRACE(7)"."""
    action, data = verdict & SECCOMP_RET_ACTION_FULL, verdict & SECCOMP_RET_DATA
    name = _ACTIONS.get(action, f"0x{action:08x}")
    if action == SECCOMP_RET_ERRNO:
        return f"{name}({errno.errorcode.get(data, data)})"
    return f"{name}({data})" if data else name


# --- checking -------------------------------------------------------------------------------------------------------


def _check(spec: Filter) -> None:
    for verdict in (spec.known, spec.newer, spec.foreign, spec.x32):
        _check_verdict(verdict)
    for number, rule in spec.rules.items():
        if not 0 <= number <= spec.arch.newest:
            raise InternalError(f"a filter rule is for number {number}, which {spec.arch.name} does not have")
        _check_rule(rule)


def _check_rule(rule: Rule) -> None:
    if not isinstance(rule, Checked):
        _check_verdict(rule)
        return
    _check_verdict(rule.otherwise)
    for clause in rule.clauses:
        _check_verdict(clause.verdict)
        if not clause.conditions or len(_clause(clause)) > _NEAR:
            raise InternalError(f"a filter clause has {len(clause.conditions)} conditions")
        for condition in clause.conditions:
            _check_condition(condition)


def _check_condition(condition: Condition) -> None:
    """Refuse what cannot be compared, and what could never hold (bits that the mask takes away)."""
    arg, mask, equals = condition
    if not 0 <= arg < _ARG_COUNT or not 0 < mask <= _WORD or not 0 <= equals <= _WORD or equals & ~mask:
        raise InternalError(f"a filter condition makes no sense: {condition}")


def _check_verdict(verdict: int) -> None:
    """Refuse an action that the kernel does not know: it would take it for KILL_PROCESS."""
    action, data = verdict & ~SECCOMP_RET_DATA, verdict & SECCOMP_RET_DATA
    if action not in _ACTIONS or (action == SECCOMP_RET_ERRNO and data > MAX_ERRNO):
        raise InternalError(f"a filter verdict makes no sense: {verdict:#x}")


# --- assembling: every jump goes forward, so pieces are lists that are simply put one after the other -----------------


def _prologue(spec: Filter) -> Code:
    code = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, spec.arch.audit_arch),
        (_RETURN, 0, 0, spec.foreign),
        (_LOAD, 0, 0, _NR),
    ]
    if spec.arch.x32_bit:
        # Every number from the bit on, not only those with this one bit: -1 is one of them.
        code += [(_JGE, 0, 1, spec.arch.x32_bit), (_RETURN, 0, 0, spec.x32)]
    return code


def _ranges(spec: Filter) -> List[Tuple[int, Rule]]:
    """Return (first number, rule) in ascending order; a range ends where the next one starts, the last one never."""
    ranges: List[Tuple[int, Rule]] = []
    for number in range(spec.arch.newest + 2):
        rule = spec.newer if number > spec.arch.newest else spec.rules.get(number, spec.known)
        if not ranges or ranges[-1][1] != rule:
            ranges.append((number, rule))
    return ranges


def _search(ranges: List[Tuple[int, Rule]]) -> Code:
    """Return the code that finds the range of the number in the accumulator and applies its rule."""
    if len(ranges) == 1:
        return _rule(ranges[0][1])
    middle = len(ranges) // 2
    left, right = _search(ranges[:middle]), _search(ranges[middle:])
    if len(left) <= _NEAR:
        return [(_JGE, len(left), 0, ranges[middle][0]), *left, *right]
    return [(_JGE, 0, 1, ranges[middle][0]), (_JUMP, 0, 0, len(left)), *left, *right]


def _rule(rule: Rule) -> Code:
    if not isinstance(rule, Checked):
        return [(_RETURN, 0, 0, rule)]
    code: Code = []
    for clause in rule.clauses:
        code += _clause(clause)
    return [*code, (_RETURN, 0, 0, rule.otherwise)]


def _clause(clause: Clause) -> Code:
    """Return the code of one clause: it falls off its end when a condition does not hold."""
    code: Code = [(_RETURN, 0, 0, clause.verdict)]
    for arg, mask, equals in reversed(clause.conditions):
        load: Code = [(_LOAD, 0, 0, _ARGS + 8 * arg)]
        if mask != _WORD:
            load.append((_AND, 0, 0, mask))
        code = [*load, (_JEQ, 0, len(code), equals), *code]
    return code


# --- disassembling --------------------------------------------------------------------------------------------------


def disassemble(program: bytes) -> List[str]:
    """Return one line for each instruction, jumps with absolute targets, for an auditor to read.

    Raise InternalError when the length is not a whole number of instructions. An operation that `assemble` never uses
    is shown as numbers.
    """
    if len(program) % _INSTRUCTION.size:
        raise InternalError(f"a filter program has {len(program)} bytes, which is no whole number of instructions")
    return [f"{at:4}  {_text(at, *fields)}" for at, fields in enumerate(_INSTRUCTION.iter_unpack(program))]


def _text(at: int, code: int, jump_true: int, jump_false: int, k: int) -> str:
    after = at + 1
    if code == _LOAD:
        return f"load {_operand(k)}"
    if code == _AND:
        return f"and 0x{k:x}"
    if code == _JUMP:
        return f"jump {after + k}"
    if code in (_JEQ, _JGE):
        sign = "==" if code == _JEQ else ">="
        return f"if {sign} 0x{k:x} ({k}) jump {after + jump_true} else {after + jump_false}"
    if code == _RETURN:
        return f"return {verdict_name(k)}"
    return f"code 0x{code:04x} jt {jump_true} jf {jump_false} k 0x{k:x}"


def _operand(offset: int) -> str:
    if offset in (_NR, _ARCH):
        return "number" if offset == _NR else "architecture"
    arg, odd = divmod(offset - _ARGS, 8)
    return f"argument {arg} low" if not odd and 0 <= arg < _ARG_COUNT else f"data[{offset}]"
