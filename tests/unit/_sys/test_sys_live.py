# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the pure tests claim, asked of the running kernel: filters, notifications and the probe inside a filter."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aasm._sys import boundary, bpf, syscalls

ROOT = Path(__file__).resolve().parents[3]
X86 = syscalls.host_arch().name == "x86_64"

pytestmark = pytest.mark.skipif(
    not boundary.seccomp_action_available(bpf.SECCOMP_RET_USER_NOTIF), reason="this kernel has no user notification"
)


def run(name, *args):
    """Run one of the programs of children.py in a fresh interpreter and return what it reports."""
    command = [sys.executable, str(Path(__file__).with_name("children.py")), name, *map(str, args)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_filter_refuses_exactly_what_its_rules_say():
    found = run("filtered")
    natural = {
        "getpgid": True, "getsid": True, "TIOCSTI": -errno.EBADF, "TIOCSTI, dirty": -errno.EBADF,
        "TIOCGWINSZ": -errno.EBADF, "newer": -errno.ENOSYS, "minus one": -errno.ENOSYS,
    }
    before, after = found["before"], found["after"]
    x32 = before.pop("x32 getsid"), after.pop("x32 getsid")
    assert before == natural
    assert after == {
        **natural, "getpgid": -1000, "newer": -1001, "TIOCSTI": -1003, "TIOCSTI, dirty": -1003,
        "minus one": -1002 if X86 else -1001,
    }
    assert x32[1] == (-1002 if X86 else -1001)


def test_the_kernel_takes_a_filter_of_the_greatest_length():
    assert run("longest") == {"length": 4096, "newer": -1000}


def test_a_foreign_architecture_word_kills():
    found = run("killed")
    assert found["signal"] == found["SIGSYS"] != 0


def test_every_kind_of_answer_reaches_the_caller():
    found = run("answers")
    assert found["seen"] == {
        "pid": True, "nr": True, "arch": True, "flags": 0, "args": 0x1122334455667788, "count": 6, "ip": True,
        "valid": True, "other": False,
    }
    assert found["sent"] == [False, True, True, True, True]  # the first went to an id that nobody waits for
    assert found["got"] == [-1000, 4242, found["own"]]
    assert (found["placed"], found["through"], found["gone"]) == (77, "hello", None)
    assert found["wake_up"] in (True, False)


def test_callers_that_die_are_no_error():
    assert run("deaths") == {"received": None, "valid": [True, False], "respond": False}


def test_anything_but_a_listener_is_an_error():
    assert set(run("refusals").values()) == {"ENOTTY"}


@pytest.mark.parametrize(
    "number, state, words",
    [
        (errno.ENOSYS, "not_built", "not built into this kernel, or refused by a filter around this process"),
        (errno.EOPNOTSUPP, "disabled_at_boot", "lsm= does not list landlock"),
        (errno.EPERM, "filtered", "refused by a filter around this process"),
        (errno.ENOMEM, "unmeasured", "ENOMEM"),
    ],
)
def test_the_probe_says_why_landlock_is_missing_inside_a_filter(number, state, words):
    found = run("probed", number)
    assert (found["state"], found["abi"], found["mode"]) == (state, 0, 2)
    assert words in found["detail"]
