# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A host that lacks Landlock, a part of it, or another call that a boundary needs: refused, and nothing ran.

The host is made by a filter around the command that answers the calls as such a kernel, or a container, would.
"""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from typing import Any, Optional, Sequence, Tuple

import pytest
from support.launch import ROOT, Lab
from support.outcome import (
    ALL_HELD,
    ONCE,
    Done,
    Status,
    assert_not_started,
    assert_refused,
    canaries,
    events,
    exec_options,
    one_error,
)

Rule = Tuple[str, int, Optional[int], Optional[int]]
REFUSER = str(ROOT / "tests" / "support" / "refuser.py")
NO_NEW_PRIVS, SUBREAPER, DUMPABLE, DEATH_SIGNAL = 38, 36, 4, 1  # linux/prctl.h


def whole(call: str, number: int) -> Rule:
    """Return the rule that a call is refused whatever its arguments."""
    return call, number, None, None


def on(lab: Lab, rules: Sequence[Rule], *command: str, **more: Any) -> Done[str]:
    """Run a command on a host that answers so."""
    argv = [sys.executable, "-I", "-S", REFUSER, json.dumps(rules), "--", *command]
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, **lab.options(), **more)


def launched(lab: Lab, rules: Sequence[Rule], *options: str, isolation: str = "process", **more: Any) -> Done[str]:
    """Run a launch, whose program leaves a mark, on a host that answers so."""
    return on(lab, rules, *lab.command(*exec_options(lab, isolation), *options, "--", "touch", "ran"), **more)


def ran(lab: Lab) -> bool:
    """Say whether the program ran."""
    return (lab.workspace / "ran").exists()


# --- refused before anything is started --------------------------------------------------------------------

CREATE = "landlock_create_ruleset"
ABSENT = {
    "not built": (whole(CREATE, errno.ENOSYS), "not built into this kernel, or refused by a filter around this"),
    "off at boot": (whole(CREATE, errno.EOPNOTSUPP), "switched off at boot (lsm= does not list landlock)"),
    "refused": (whole(CREATE, errno.EPERM), "refused by a filter around this process: Operation not permitted (EPERM)"),
    "odd": (whole(CREATE, errno.EINVAL), "the kernel's answer is not understood: Invalid argument (EINVAL)"),
    "no filters": (whole("seccomp", errno.ENOSYS), "not built into this kernel, or refused by a filter"),
    "filters refused": (whole("seccomp", errno.EPERM), "refused by a filter around this process"),
}


@pytest.mark.parametrize("name", list(ABSENT))
def test_a_host_without_the_mechanism_refuses_and_nothing_runs(lab: Lab, name: str) -> None:
    rule, cause = ABSENT[name]
    status = Status()
    done = launched(lab, [rule], *status.options, pass_fds=[status.number])
    assert_refused(lab, done, "the `aasm-native` backend cannot be selected on this host", cause)
    assert "re-run with `--isolation none`" in done.stderr  # the remedy
    assert (status.read()["ending"], ran(lab)) == ("refused", False)


def test_without_a_boundary_such_a_host_launches(lab: Lab) -> None:
    """The control of the refusals above: everything but the boundary works there."""
    done = launched(lab, [rule for rule, _ in ABSENT.values()], isolation="none")
    assert (done.returncode, ran(lab)) == (0, True), done.stderr
    assert events(lab) == ["registered", "ended"]


@ONCE
def test_a_preview_on_such_a_host_says_what_a_launch_would_do(lab: Lab) -> None:
    rule, cause = ABSENT["not built"]
    done = on(lab, [rule], *lab.command(*exec_options(lab, "process"), "--dry-run", "--", "touch", "ran"))
    assert done.returncode == 0, done.stderr
    assert "\nposture:         REFUSED\n" in done.stdout and cause in done.stdout
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
    assert warnings[-1] == "warning: a live run with these options would refuse"
    assert not ran(lab) and lab.ledger() == []


def older(size: int) -> list[Rule]:
    """Return a kernel that does not know the fields of the ruleset from `size` bytes on."""
    return [(CREATE, errno.E2BIG, 1, known) for known in (16, 24) if known > size]


OLDER: dict[str, tuple[list[Rule], str]] = {
    "no scopes (ABI 5)": (older(16), "Landlock ABI 5 is usable here and 6 is needed (Linux 6.12)"),
    "no network (ABI 3)": (older(8), "Landlock ABI 3 is usable here and 6 is needed (Linux 6.12)"),
    "refused bits": ([(CREATE, errno.EINVAL, 1, 24)], "Landlock ABI 5 is usable here and 6 is needed"),
}


@ONCE
@pytest.mark.parametrize("name", list(OLDER))
def test_a_kernel_with_too_little_of_landlock_refuses_and_says_what_is_missing(lab: Lab, name: str) -> None:
    rules, cause = OLDER[name]
    assert_refused(lab, launched(lab, rules), cause, "without it nothing restricts")
    assert not ran(lab)


# --- refused when the launcher finds out ----------------------------------------------------------------------

LATE = {
    "landlock_add_rule": (whole("landlock_add_rule", errno.EINVAL), "step landlock", "Invalid argument"),
    "landlock_add_rule absent": (whole("landlock_add_rule", errno.ENOSYS), "step landlock", "not implemented"),
    "landlock_restrict_self": (whole("landlock_restrict_self", errno.EOPNOTSUPP), "step landlock", "not supported"),
    "landlock_restrict_self refused": (whole("landlock_restrict_self", errno.EPERM), "step landlock", "not permitted"),
    "no_new_privs": (("prctl", errno.EINVAL, 0, NO_NEW_PRIVS), "step no_new_privs", "Invalid argument"),
    "capset": (whole("capset", errno.EPERM), "step capabilities", "not permitted"),
    "seccomp": (("seccomp", errno.EINVAL, 0, 1), "step filter_b", "Invalid argument"),
    "death signal": (("prctl", errno.EINVAL, 0, DEATH_SIGNAL), "step descriptors", "Invalid argument"),
}


@pytest.mark.parametrize("name", list(LATE))
def test_a_call_that_fails_while_the_boundary_is_built_ends_the_launch(lab: Lab, name: str) -> None:
    rule, step, cause = LATE[name]
    line = assert_not_started(lab, launched(lab, [rule]), 125, "setup_failed")
    assert f"the boundary could not be set up: {step}: " in line and cause in line
    assert line.endswith("nothing was executed")
    assert not ran(lab)


# --- refused when the supervisor finds out ----------------------------------------------------------------------

EARLY: dict[str, list[Rule]] = {
    "no shared memory": [whole("memfd_create", errno.ENOSYS)],
    "no subreaper": [("prctl", errno.EINVAL, 0, SUBREAPER)],
    "no dumpable": [("prctl", errno.EPERM, 0, DUMPABLE)],
    "no signal descriptors": [whole("signalfd4", errno.ENOSYS)],
    "no socket pairs": [whole("socketpair", errno.EPERM)],
}


@ONCE
@pytest.mark.parametrize("name", list(EARLY))
def test_a_supervisor_that_cannot_be_one_starts_nothing(lab: Lab, name: str) -> None:
    """The line says what failed and ends with something to do; a status line is written; the refusal is recorded."""
    status = Status()
    done = launched(lab, EARLY[name], *status.options, pass_fds=[status.number])
    line = one_error(done)
    assert (done.returncode, ran(lab)) == (125, False)
    assert "; " in line, "no remedy"
    assert status.read()["ending"] == "refused"
    assert events(lab) == ["refused"]
    assert lab.leftovers() == []


# --- what a container refuses and a launch can do without ----------------------------------------------------------


def test_a_container_that_refuses_a_few_calls_leaves_a_boundary_that_says_what_is_inconclusive(lab: Lab) -> None:
    rules = [
        whole(name, errno.EPERM)
        for name in ("close_range", "pidfd_getfd", "process_vm_readv", "process_vm_writev", "ptrace", "pidfd_open")
    ]
    secret = lab.file(lab.outside / "secret", "s")
    extra = secret.open()
    script = f"cat {secret}; cat <&{extra.fileno()}; touch ran"
    command = lab.command(*exec_options(lab, "process"), "--", "bash", "-c", script)
    with extra:
        done = on(lab, rules, *command, pass_fds=[extra.fileno()])
    assert done.returncode == 0 and ran(lab), done.stderr
    assert f"cat: {secret}: Permission denied" in done.stderr  # the boundary stands
    assert "Bad file descriptor" in done.stderr  # and no descriptor came along, without close_range(2)
    assert canaries(lab.receipt()) == {**ALL_HELD, "call": "inconclusive"}
    assert events(lab) == ["registered", "ended"]


@ONCE
def test_an_absent_close_range_is_done_without(lab: Lab) -> None:
    extra = lab.file(lab.outside / "extra", "s").open()
    argv = lab.command(*exec_options(lab, "process"), "--", "bash", "-c", f"! cat <&{extra.fileno()}")
    with extra:
        done = on(lab, [whole("close_range", errno.ENOSYS)], *argv, pass_fds=[extra.fileno()])
    assert done.returncode == 0, done.stderr
    assert canaries(lab.receipt()) == ALL_HELD
