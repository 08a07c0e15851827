# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The judge by itself: rules made by hand, objects that exist nowhere, and filters of any architecture."""

from __future__ import annotations

import errno
import stat
from typing import Optional, Sequence, Tuple

import pytest

from aasm._sys import bpf, landlock, syscalls
from aasm.backends.native import filters, floor
from aasm.backends.native.filters import FilterPlan
from aasm.backends.native.judge import Compiled, decide
from aasm.backends.native.rules import Handled, Rule
from aasm.model.grants import Grant
from aasm.model.question import Action, Decision, Kind, Object, Question

X86 = syscalls.arch("x86_64")
READ_FILE, READ_DIR = landlock.LANDLOCK_ACCESS_FS_READ_FILE, landlock.LANDLOCK_ACCESS_FS_READ_DIR
WRITE_FILE, MAKE_REG = landlock.LANDLOCK_ACCESS_FS_WRITE_FILE, landlock.LANDLOCK_ACCESS_FS_MAKE_REG
MAKE_DIR, EXECUTE = landlock.LANDLOCK_ACCESS_FS_MAKE_DIR, landlock.LANDLOCK_ACCESS_FS_EXECUTE
REFER, IOCTL_DEV = landlock.LANDLOCK_ACCESS_FS_REFER, landlock.LANDLOCK_ACCESS_FS_IOCTL_DEV
EVERY_RIGHT = landlock.rights_known(landlock.NEWEST_ABI).fs

# /, /top, /top/dir, /top/dir/file: device and inode of each
ROOT, TOP, DIR, FILE = (1, 2), (1, 10), (1, 11), (1, 12)
ANYTHING = bpf.Filter(X86, {}, bpf.ALLOW, bpf.ALLOW, bpf.KILL_PROCESS, bpf.ALLOW)


def rule(access: int, identity: Tuple[int, int], path: str = "/rule", mode: int = stat.S_IFDIR) -> Rule:
    """Return a rule on an object."""
    return Rule(access, Grant(path, *identity, mode, True, True, "a test"))


def compiled(*rules: Rule, fs: int = EVERY_RIGHT, found: bpf.Filter = ANYTHING) -> Compiled:
    """Return controls with these rules, deciding about `fs`."""
    return Compiled(Handled(fs, 0, 0), rules, found)


def place(*identities: Tuple[int, int], kind: Kind = Kind.FILE, depth: int = 0) -> Object:
    """Return an object by what it and the directories above it are."""
    return Object("/top/dir/file", kind, identities, depth=depth)


def ask(controls: Compiled, action: Action, target: Object) -> Decision:
    return decide(controls, Question(action, target.path, target))


A_FILE = place(FILE, DIR, TOP, ROOT)
A_DIRECTORY = place(DIR, TOP, ROOT, kind=Kind.DIRECTORY)
MISSING = place(DIR, TOP, ROOT, kind=Kind.MISSING, depth=1)
DEEPER = place(DIR, TOP, ROOT, kind=Kind.MISSING, depth=2)


# --- what each action asks for ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action, target, needed",
    [
        (Action.READ, A_FILE, READ_FILE),
        (Action.READ, A_DIRECTORY, READ_DIR),
        (Action.READ, MISSING, READ_FILE),
        (Action.WRITE, A_FILE, WRITE_FILE),
        (Action.WRITE, A_DIRECTORY, WRITE_FILE | MAKE_REG),
        (Action.WRITE, MISSING, WRITE_FILE | MAKE_REG),
        (Action.WRITE, DEEPER, WRITE_FILE | MAKE_REG | MAKE_DIR),
        (Action.EXECUTE, A_FILE, EXECUTE | READ_FILE),
        (Action.EXECUTE, MISSING, EXECUTE | READ_FILE),
    ],
)
def test_an_action_is_allowed_by_exactly_the_rights_that_it_asks_for(
    action: Action, target: Object, needed: int
) -> None:
    exact = ask(compiled(rule(needed, TOP)), action, target)
    assert (exact.allowed, exact.restricted) == (True, True)
    assert [grant.inode for grant in exact.grants] == [TOP[1]]
    for bit in (1 << at for at in range(needed.bit_length()) if needed >> at & 1):
        one_less = ask(compiled(rule(EVERY_RIGHT & ~bit, TOP)), action, target)
        assert not one_less.allowed and landlock.names(bit, "fs")[0] in one_less.detail
        assert one_less.grants == ()
    assert ask(compiled(rule(EVERY_RIGHT, (1, 99))), action, target).allowed is False


@pytest.mark.parametrize("action", [Action.READ, Action.WRITE, Action.EXECUTE])
def test_what_the_ruleset_does_not_decide_about_is_allowed_and_said_so(action: Action) -> None:
    decision = ask(compiled(fs=REFER), action, A_FILE)
    assert (decision.allowed, decision.restricted, decision.grants) == (True, False, ())


def test_of_what_an_action_asks_only_what_is_decided_about_counts() -> None:
    # an old kernel, or a policy about executing alone: reading is nobody's business then
    only_execute = compiled(rule(EXECUTE, DIR), fs=EXECUTE | REFER)
    assert ask(only_execute, Action.EXECUTE, A_FILE).allowed
    assert not ask(compiled(fs=EXECUTE), Action.EXECUTE, A_FILE).allowed
    only_reading = compiled(rule(READ_FILE, DIR), fs=READ_FILE | READ_DIR)
    assert ask(only_reading, Action.EXECUTE, A_FILE).allowed


# --- which rules apply --------------------------------------------------------------------------------


@pytest.mark.parametrize("identity, applies", [(FILE, True), (DIR, True), (TOP, True), (ROOT, True), ((1, 13), False)])
def test_a_rule_applies_to_its_object_and_to_everything_below(identity: Tuple[int, int], applies: bool) -> None:
    assert ask(compiled(rule(READ_FILE, identity)), Action.READ, A_FILE).allowed is applies


def test_a_rule_on_a_file_goes_with_the_file_under_every_name() -> None:
    controls = compiled(rule(READ_FILE, FILE, mode=stat.S_IFREG))
    elsewhere = place(FILE, (1, 77), ROOT)  # a hard link in another directory
    assert ask(controls, Action.READ, elsewhere).allowed
    assert not ask(controls, Action.READ, place((1, 14), DIR, TOP, ROOT)).allowed  # its neighbour


def test_a_rule_on_a_directory_does_not_follow_a_hard_link_out_of_it() -> None:
    controls = compiled(rule(READ_FILE, DIR))
    assert ask(controls, Action.READ, A_FILE).allowed
    assert not ask(controls, Action.READ, place(FILE, (1, 77), ROOT)).allowed


def test_a_second_name_of_a_directory_is_the_same_directory() -> None:
    # a bind mount: other directories above, the same device and inode
    controls = compiled(rule(READ_FILE, DIR))
    assert ask(controls, Action.READ, place(FILE, DIR, (3, 1), (3, 2), ROOT)).allowed


def test_the_same_inode_on_another_device_is_another_object() -> None:
    controls = compiled(rule(READ_FILE, (2, DIR[1])))
    assert not ask(controls, Action.READ, A_FILE).allowed


def test_a_rule_on_the_root_covers_everything() -> None:
    controls = compiled(rule(EVERY_RIGHT, ROOT, "/"))
    for action in (Action.READ, Action.WRITE, Action.EXECUTE):
        assert ask(controls, action, A_FILE).allowed
    assert ask(controls, Action.READ, place(ROOT, kind=Kind.DIRECTORY)).allowed


def test_the_private_directory_of_a_preview_applies_to_nothing() -> None:
    # it does not exist yet, so that its rule has neither device nor inode
    assert not ask(compiled(rule(EVERY_RIGHT, (0, 0))), Action.READ, A_FILE).allowed


def test_the_right_to_rename_alone_opens_nothing() -> None:
    controls = compiled(rule(REFER, ROOT, "/"), fs=READ_FILE | READ_DIR | EXECUTE | REFER)
    for action in (Action.READ, Action.EXECUTE):
        decision = ask(controls, action, A_FILE)
        assert not decision.allowed and decision.grants == ()
    assert ask(controls, Action.WRITE, A_FILE) == Decision(True, False)


def test_rights_add_up_over_the_rules_that_apply_and_only_those_that_give_are_named() -> None:
    controls = compiled(rule(WRITE_FILE, FILE, "/one"), rule(MAKE_REG, TOP, "/two"), rule(READ_FILE, DIR, "/three"))
    target = place(FILE, DIR, TOP, ROOT, kind=Kind.DIRECTORY)
    decision = ask(controls, Action.WRITE, target)
    assert decision.allowed and [grant.path for grant in decision.grants] == ["/one", "/two"]
    assert not ask(compiled(*controls.rules[1:]), Action.WRITE, target).allowed


def test_executing_by_two_rules_names_both() -> None:
    controls = compiled(rule(EXECUTE, TOP, "/execute"), rule(READ_FILE, DIR, "/read"))
    decision = ask(controls, Action.EXECUTE, A_FILE)
    assert decision.allowed and [grant.path for grant in decision.grants] == ["/execute", "/read"]


@pytest.mark.parametrize(
    "access, lacking",
    [
        (0, (Action.EXECUTE, Action.READ)),
        (EXECUTE, (Action.READ,)),
        (READ_FILE, (Action.EXECUTE,)),
    ],
)
def test_a_refusal_to_execute_says_which_of_the_two_is_lacking(access: int, lacking: Tuple[Action, ...]) -> None:
    decision = ask(compiled(rule(access, DIR)), Action.EXECUTE, A_FILE)
    assert not decision.allowed and set(decision.lacking) == set(lacking)


def test_a_device_is_opened_by_the_rights_of_a_file() -> None:
    controls = compiled(rule(READ_FILE | WRITE_FILE | IOCTL_DEV, FILE, "/dev/null", stat.S_IFCHR))
    assert ask(controls, Action.READ, A_FILE).allowed and ask(controls, Action.WRITE, A_FILE).allowed
    assert not ask(controls, Action.EXECUTE, A_FILE).allowed
    only_ioctl = compiled(rule(IOCTL_DEV, FILE, "/dev/null", stat.S_IFCHR))
    assert not ask(only_ioctl, Action.READ, A_FILE).allowed


# --- calls and sockets --------------------------------------------------------------------------------


def call(name: str, plan: Optional[FilterPlan] = None, machine: str = "x86_64") -> Decision:
    found = filters.last(syscalls.arch(machine), plan or FilterPlan())
    return decide(compiled(found=found), Question(Action.SYSCALL, name))


def test_an_unknown_name_and_one_of_another_machine_are_absent() -> None:
    for name, machine in (("no_such_call", "x86_64"), ("open", "aarch64"), ("riscv_hwprobe", "x86_64")):
        decision = call(name, machine=machine)
        assert (decision.allowed, decision.floor) == (False, True)
        assert f"{machine} has no call of this name (ENOSYS)" == decision.detail


@pytest.mark.parametrize("machine", syscalls.SUPPORTED)
def test_the_floor_is_told_from_what_a_policy_refuses(machine: str) -> None:
    few = FilterPlan(allowed_calls=("read",))
    for name, plan, expected in (
        ("mount", None, (False, True)),
        ("mount", few, (False, True)),
        ("clone3", few, (False, True)),
        ("mkdirat", None, (True, False)),
        ("mkdirat", few, (False, False)),
        ("read", few, (True, False)),
        ("execve", few, (True, False)),
    ):
        decision = call(name, plan, machine)
        assert (decision.allowed, decision.floor) == expected, (name, plan)


def test_a_call_that_is_refused_for_some_arguments_says_so_with_the_errno() -> None:
    assert call("getpid").detail == ""
    assert "EPERM" in call("ioctl").detail and call("ioctl").allowed
    assert "EAFNOSUPPORT" in call("socket").detail and call("socket").allowed
    assert call("fallocate").detail == ""
    assert errno.errorcode[errno.EOPNOTSUPP] in call("fallocate", FilterPlan(bounded_size=True)).detail
    assert "EAFNOSUPPORT" in call("socket", FilterPlan(no_network=True)).detail
    assert not call("socket", FilterPlan(no_network=True)).allowed
    assert call("clone", FilterPlan(no_new_process=True)).allowed  # threads
    assert not call("vfork", FilterPlan(no_new_process=True)).allowed


@pytest.mark.parametrize(
    "action, plan, expected",
    [
        (Action.CONNECT, FilterPlan(), True),
        (Action.CONNECT, FilterPlan(no_network=True), False),
        (Action.CONNECT, FilterPlan(allowed_calls=("socket", "connect")), True),
        (Action.CONNECT, FilterPlan(allowed_calls=("socket",)), False),
        (Action.CONNECT, FilterPlan(allowed_calls=("connect",)), False),
        (Action.CONNECT, FilterPlan(allowed_calls=("read",)), False),
        (Action.CONNECT, FilterPlan(no_network=True, allowed_calls=("socket", "connect")), False),
        (Action.UNIX, FilterPlan(), False),
        (Action.UNIX, FilterPlan(allowed_calls=("socket", "connect")), False),
    ],
)
def test_a_connection_needs_a_socket_and_the_call(action: Action, plan: FilterPlan, expected: bool) -> None:
    decision = decide(compiled(found=filters.last(X86, plan)), Question(action, "somewhere", port=1))
    assert decision.allowed is expected
    assert bool(decision.detail) is not expected


def _opening(*families: int) -> bpf.Filter:
    rule = floor.allow_only(*((floor.equals(0, family),) for family in families), otherwise=floor.EAFNOSUPPORT)
    return bpf.Filter(X86, {X86.numbers["socket"]: rule}, bpf.ALLOW, bpf.ALLOW, bpf.KILL_PROCESS, bpf.ALLOW)


@pytest.mark.parametrize("families, connect, unix", [((2,), True, False), ((1,), False, True), ((16,), False, False)])
def test_the_family_that_is_opened_decides(families: Sequence[int], connect: bool, unix: bool) -> None:
    controls = compiled(found=_opening(*families))
    assert decide(controls, Question(Action.CONNECT, "host", port=1)).allowed is connect
    assert decide(controls, Question(Action.UNIX, "/socket", A_FILE)).allowed is unix
