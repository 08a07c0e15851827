# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The assembler against an interpreter that shares nothing with it, and against the rules themselves."""

from __future__ import annotations

import errno
import random
import struct

import pytest
from support import bpf_sim

from aasm._sys import bpf, syscalls
from aasm._sys.bpf import ALLOW, ERRNO, KILL_PROCESS, USER_NOTIF, Checked, Clause, Condition, Filter
from aasm.errors import InternalError, PolicyError

ARCHES = [syscalls.arch(name) for name in syscalls.SUPPORTED]
each_arch = pytest.mark.parametrize("arch", ARCHES, ids=lambda arch: arch.name)
WORD = 0xFFFFFFFF
I386, X86_64, ARM = 0x40000003, 0xC000003E, 0x40000028
DIRTY = (0, 1 << 32, WORD << 32, 0xDEADBEEF << 32)  # what a program may put above the low word
EPERM, ENOSYS = ERRNO(errno.EPERM), ERRNO(errno.ENOSYS)


def _filter(arch, rules, **changes):
    base = Filter(arch, rules, known=ALLOW, newer=ENOSYS, foreign=KILL_PROCESS, x32=ERRNO(1000))
    return base._replace(**changes)


def _answer(program, nr, arch, args=()):
    return bpf_sim.simulate(program, nr, arch, args)[0]


def _expected(spec, nr, arch, args=()):
    """The decision, read off the rules without any program."""
    nr &= WORD
    if arch != spec.arch.audit_arch:
        return spec.foreign
    if spec.arch.name == "x86_64" and nr >= 2**30:
        return spec.x32
    if nr > spec.arch.newest:
        return spec.newer
    rule = spec.rules.get(nr, spec.known)
    if isinstance(rule, int):
        return rule
    words = [word % 2**32 for word in args] + [0] * 6
    for clause in rule.clauses:
        if all(words[c.arg] & c.mask == c.equals for c in clause.conditions):
            return clause.verdict
    return rule.otherwise


# --- exact instructions, once for each shape ---

LOAD, AND, JUMP, JEQ, JGE, RET = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06


def _code(spec):
    return list(struct.iter_unpack("<HBBI", bpf.assemble(spec)))


def _tiny(name, newest=9):
    return syscalls.arch(name)._replace(newest=newest)


def test_shape_of_a_filter_without_rules():
    assert _code(_filter(_tiny("aarch64"), {})) == [
        (LOAD, 0, 0, 4),
        (JEQ, 1, 0, 0xC00000B7),
        (RET, 0, 0, 0x80000000),
        (LOAD, 0, 0, 0),
        (JGE, 1, 0, 10),
        (RET, 0, 0, 0x7FFF0000),
        (RET, 0, 0, 0x00050026),
    ]


def test_shape_of_the_x32_answer_which_only_x86_64_has():
    assert _code(_filter(_tiny("x86_64"), {}))[3:6] == [
        (LOAD, 0, 0, 0),
        (JGE, 0, 1, 0x40000000),
        (RET, 0, 0, 0x000503E8),
    ]


def test_shape_of_a_plain_rule_between_two_ranges():
    assert _code(_filter(_tiny("riscv64"), {4: EPERM, 5: EPERM}))[4:] == [
        (JGE, 3, 0, 6),
        (JGE, 1, 0, 4),
        (RET, 0, 0, 0x7FFF0000),
        (RET, 0, 0, 0x00050001),
        (JGE, 1, 0, 10),
        (RET, 0, 0, 0x7FFF0000),
        (RET, 0, 0, 0x00050026),
    ]


def test_shape_of_a_rule_about_arguments():
    clauses = (
        Clause((Condition(1, WORD, 0x5412),), EPERM),
        Clause((Condition(0, 0xF, 2), Condition(5, WORD, 7)), USER_NOTIF),
    )
    spec = _filter(_tiny("riscv64", newest=0), {0: Checked(clauses, ALLOW)})
    assert _code(spec)[4:] == [
        (JGE, 10, 0, 1),
        (LOAD, 0, 0, 24),
        (JEQ, 0, 1, 0x5412),
        (RET, 0, 0, 0x00050001),
        (LOAD, 0, 0, 16),
        (AND, 0, 0, 0xF),
        (JEQ, 0, 3, 2),
        (LOAD, 0, 0, 56),
        (JEQ, 0, 1, 7),
        (RET, 0, 0, 0x7FC00000),
        (RET, 0, 0, 0x7FFF0000),
        (RET, 0, 0, 0x00050026),
    ]


def test_shape_of_a_jump_that_is_too_far_for_eight_bits():
    far = Checked(tuple(Clause((Condition(0, WORD, n),), EPERM) for n in range(85)), ALLOW)
    code = _code(_filter(_tiny("riscv64", newest=0), {0: far}))
    assert code[4:6] == [(JGE, 0, 1, 1), (JUMP, 0, 0, 256)]
    assert code[6 + 256 :] == [(RET, 0, 0, ENOSYS)]
    masked = tuple(Clause((Condition(0, 0xFFFF, n),), EPERM) for n in range(2))  # one instruction more each
    near = far._replace(clauses=masked + far.clauses[3:])
    assert _code(_filter(_tiny("riscv64", newest=0), {0: near}))[4] == (JGE, 255, 0, 1)


# --- behaviour ---


@each_arch
def test_numbers_around_every_rule_and_limit(arch):
    rules = {nr: EPERM for nr in (0, 7, 100, 101, 102, arch.newest)}
    spec = _filter(arch, rules)
    program = bpf.assemble(spec)
    edges = [*rules, arch.newest + 1, 2**30, 2**31, 2**32]
    for nr in {edge + step for edge in edges for step in (-1, 0, 1)}:
        assert _answer(program, nr, arch.audit_arch) == _expected(spec, nr, arch.audit_arch), nr
    assert _answer(program, 7, arch.audit_arch) == EPERM
    assert _answer(program, arch.newest + 1, arch.audit_arch) == ENOSYS


@each_arch
def test_a_foreign_architecture_word_decides_before_the_number(arch):
    program = bpf.assemble(_filter(arch, {}))
    own = arch.audit_arch
    for word in {I386, X86_64, ARM, 0, WORD, own - 1, own + 1, own ^ 1 << 31, *(a.audit_arch for a in ARCHES)} - {own}:
        for nr in (0, 1, 2**30, 2**32 - 1):
            assert bpf_sim.simulate(program, nr, word) == (KILL_PROCESS, 3)


def test_x32_numbers_and_minus_one():
    arch = ARCHES[0]
    program = bpf.assemble(_filter(arch, {0: EPERM}))
    for nr in (2**30, 2**30 | 59, 2**30 | 520, 2**31, -1, -2):
        assert _answer(program, nr, X86_64) == ERRNO(1000)
    assert _answer(program, 2**30 - 1, X86_64) == ENOSYS
    for other in ARCHES[1:]:
        program = bpf.assemble(_filter(other, {0: EPERM}))
        assert [_answer(program, nr, other.audit_arch) for nr in (2**30, -1)] == [ENOSYS, ENOSYS]


@each_arch
@pytest.mark.parametrize("high", DIRTY, ids=hex)
def test_the_high_half_of_an_argument_changes_nothing(arch, high):
    ioctl = syscalls.number(arch, "ioctl")
    program = bpf.assemble(_filter(arch, {ioctl: Checked((Clause((Condition(1, WORD, 0x5412),), EPERM),), ALLOW)}))
    for request, verdict in ((0x5411, ALLOW), (0x5412, EPERM), (0x5413, ALLOW)):
        assert _answer(program, ioctl, arch.audit_arch, (high | 3, high | request, high)) == verdict


def test_conditions_see_each_argument_under_its_mask():
    for arg in range(6):
        rule = Checked((Clause((Condition(arg, 0xF0, 0x20),), EPERM),), ALLOW)
        program = bpf.assemble(_filter(ARCHES[1], {5: rule}))
        for value in range(256):
            args = [0x20] * 6
            args[arg] = value
            assert (_answer(program, 5, ARCHES[1].audit_arch, args) == EPERM) == (value >> 4 == 2)


def test_the_first_clause_that_holds_decides_and_a_clause_needs_all_its_conditions():
    rule = Checked(
        (
            Clause((Condition(0, WORD, 1), Condition(1, WORD, 1)), ERRNO(1)),
            Clause((Condition(0, WORD, 1),), ERRNO(2)),
            Clause((Condition(1, WORD, 1),), ERRNO(3)),
        ),
        ERRNO(4),
    )
    program = bpf.assemble(_filter(ARCHES[0], {9: rule}))
    answers = {args: _answer(program, 9, X86_64, args) & 0xFFFF for args in ((0, 0), (0, 1), (1, 0), (1, 1))}
    assert answers == {(1, 1): 1, (1, 0): 2, (0, 1): 3, (0, 0): 4}


@pytest.mark.parametrize("seed", range(60))
def test_random_filters_decide_as_their_rules_do(seed):
    rng = random.Random(seed)
    spec = _random_filter(rng)
    program = bpf.assemble(spec)
    for nr, word, args in _random_calls(rng, spec):
        assert _answer(program, nr, word, args) == _expected(spec, nr, word, args), (seed, nr, hex(word), args)


VERDICTS = (ALLOW, EPERM, ENOSYS, USER_NOTIF, KILL_PROCESS, ERRNO(0), ERRNO(4095))
VALUES = (0, 1, 2, 3, 5, 0x5412, 0x7FFFFFFF, 0x80000000, WORD)
MASKS = (WORD, 0xF, 1, 0x80000000, 0xFFF0)


def _random_filter(rng):
    arch = rng.choice(ARCHES)
    numbers = rng.sample(range(arch.newest + 1), rng.choice((0, 1, 3, 40, 200, arch.newest + 1)))
    rules = {nr: _random_rule(rng) for nr in numbers}
    return Filter(arch, rules, *(rng.choice(VERDICTS) for _ in range(4)))


def _random_rule(rng):
    if rng.random() < 0.8:
        return rng.choice(VERDICTS)
    clauses = []
    for _ in range(rng.randrange(4)):
        masks = [rng.choice(MASKS) for _ in range(rng.randrange(1, 4))]
        conditions = tuple(Condition(rng.randrange(6), mask, rng.choice(VALUES) & mask) for mask in masks)
        clauses.append(Clause(conditions, rng.choice(VERDICTS)))
    return Checked(tuple(clauses), rng.choice(VERDICTS))


def _random_calls(rng, spec):
    own = spec.arch.audit_arch
    edges = [*spec.rules, 0, spec.arch.newest, 2**30, 2**31, 2**32 - 1]
    for _ in range(150):
        nr = rng.choice(edges) + rng.choice((-1, 0, 0, 0, 1))
        word = own if rng.random() < 0.9 else rng.choice([I386, own ^ 1, 0])
        yield nr, word, _matching_args(rng, spec.rules.get(nr))


def _matching_args(rng, rule):
    """Arguments near what the rule compares, or its clauses would hardly ever hold."""
    args = [rng.choice(VALUES) + rng.choice((-1, 0, 0, 1)) for _ in range(6)]
    if isinstance(rule, Checked) and rule.clauses and rng.random() < 0.7:
        for arg, mask, equals in rng.choice(rule.clauses).conditions:
            args[arg] = equals | args[arg] & ~mask & WORD
    return tuple((word & WORD) | rng.choice(DIRTY) for word in args)


# --- cost ---


@each_arch
def test_argument_free_answers_load_nothing_but_architecture_and_number(arch):
    """What the kernel's per-number cache needs: seccomp_is_const_allow() gives up at any other load."""
    ioctl = syscalls.number(arch, "ioctl")
    rules = {nr: EPERM for nr in range(0, arch.newest, 3)}
    rules[ioctl] = Checked((Clause((Condition(1, WORD, 0x5412),), EPERM),), ALLOW)
    program = bpf.assemble(_filter(arch, rules))
    for nr in range(arch.newest + 1):
        loads = _loads(program, nr, arch.audit_arch)
        assert loads == ([4, 0, 24] if nr == ioctl else [4, 0]), nr


def _loads(program, nr, arch):
    """Follow a call through the program by the interpreter's own steps; return the offsets it loads."""
    code, at, loads = bpf_sim.check(program), 0, []
    machine = bpf_sim._Machine(struct.pack("<IIQ6Q", nr, arch, 0, *[0] * 6))
    while code[at].code != RET:
        if code[at].code == LOAD:
            loads.append(code[at].k)
        at += 1 + machine.step(code[at])
    return loads


@each_arch
def test_the_search_is_balanced(arch):
    rules = {nr: ERRNO(nr % 4000) for nr in range(arch.newest + 1)}
    program = bpf.assemble(_filter(arch, rules))
    steps = [bpf_sim.simulate(program, nr, arch.audit_arch)[1] for nr in range(arch.newest + 2)]
    assert max(steps) <= 5 + 2 * 9 + 1  # 2^9 ranges, each decision at most a branch and a far jump


# --- the limit of 4,096 instructions ---


def _long(clauses):
    """A filter with rules about arguments of exactly `clauses` clauses, three instructions each."""
    arch = _tiny("aarch64", newest=0)
    return _filter(arch, {0: Checked(tuple(Clause((Condition(0, WORD, n),), EPERM) for n in range(clauses)), ALLOW)})


def test_one_instruction_less_than_the_limit_passes_and_one_more_is_refused():
    overhead = bpf.length(bpf.assemble(_long(100))) - 300
    fits = (4096 - overhead) // 3
    program = bpf.assemble(_long(fits))
    assert 4096 - 3 < bpf.length(program) == overhead + 3 * fits <= 4096
    assert _answer(program, 0, 0xC00000B7, (fits - 1,)) == EPERM
    assert _answer(program, 0, 0xC00000B7, (fits,)) == ALLOW
    assert _answer(program, 1, 0xC00000B7) == ENOSYS
    with pytest.raises(PolicyError, match="4096") as refusal:
        bpf.assemble(_long(fits + 1))
    assert str(overhead + 3 * (fits + 1)) in str(refusal.value)


@pytest.mark.parametrize("extra, accepted", [(0, True), (1, False)])
def test_exactly_the_limit_and_exactly_one_more(extra, accepted):
    """A second condition adds two instructions, a mask one: with them every length can be met."""
    overhead = bpf.length(bpf.assemble(_long(100))) - 300
    whole, rest = divmod(4096 + extra - overhead, 3)
    spec = _long(whole)
    clauses = list(spec.rules[0].clauses)
    for at in range(rest):
        clauses[at] = Clause((Condition(0, 0xFFFF, at),), EPERM)
    spec = spec._replace(rules={0: Checked(tuple(clauses), ALLOW)})
    if accepted:
        assert bpf.length(bpf.assemble(spec)) == 4096
    else:
        with pytest.raises(PolicyError, match="4097 instructions"):
            bpf.assemble(spec)


# --- what makes no sense is refused ---


def _with(rule):
    return _filter(ARCHES[0], {1: rule})


def _one(condition):
    return _with(Checked((Clause((condition,), EPERM),), ALLOW))


@pytest.mark.parametrize(
    "spec",
    [
        _filter(ARCHES[0], {472: EPERM}),
        _filter(ARCHES[0], {-1: EPERM}),
        _filter(ARCHES[0], {}, known=0x12340000),
        _filter(ARCHES[0], {}, newer=1 << 32),
        _filter(ARCHES[0], {}, foreign=-1),
        _filter(ARCHES[0], {}, x32=0x00051000),
        _with(0x12340000),
        _with(Checked((), 0x12340000)),
        _with(Checked((Clause((), EPERM),), ALLOW)),
        _with(Checked((Clause((Condition(0, WORD, 1),), 7 << 32),), ALLOW)),
        _with(Checked((Clause((Condition(0, WORD, 1),) * 128, EPERM),), ALLOW)),
        _one(Condition(6, WORD, 0)),
        _one(Condition(-1, WORD, 0)),
        _one(Condition(0, 0, 0)),
        _one(Condition(0, 1 << 32, 0)),
        _one(Condition(0, WORD, 1 << 32)),
        _one(Condition(0, 0xF, 0x10)),
    ],
)
def test_filters_that_make_no_sense(spec):
    with pytest.raises(InternalError):
        bpf.assemble(spec)


def test_a_clause_may_be_as_long_as_a_near_jump_reaches():
    conditions = (Condition(0, WORD, 1),) * 127
    program = bpf.assemble(_with(Checked((Clause(conditions, EPERM),), ALLOW)))
    assert [_answer(program, 1, X86_64, (value,)) for value in (0, 1, 2)] == [ALLOW, EPERM, ALLOW]


def test_errno_verdicts():
    assert [ERRNO(0), ERRNO(1), ERRNO(4095)] == [0x50000, 0x50001, 0x50FFF]
    for number in (-1, 4096, 0x10000):
        with pytest.raises(InternalError):
            ERRNO(number)
