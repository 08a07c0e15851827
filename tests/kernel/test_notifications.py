# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A notified call: through the first filter to the supervisor and back, and what is lost with the supervisor.

No policy of this release asks for it, so the test is the supervisor and the launcher is the real one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from support import orders
from support.inside import program
from support.launch import ROOT, Lab

from aasm._sys import order as order_format, syscalls
from aasm.backends.native import filters

ARCH = syscalls.host_arch()
NOTIFIED = "getppid,getpgid,getsid,keyctl"
BODY = """
getppid, getpgid, getsid, keyctl = map(int, sys.argv[2:6])
open(sys.argv[1], "w").close()
tell(getppid=value(raw, getppid), getpgid=value(raw, getpgid, 0), getsid=value(raw, getsid, 0),
     keyctl=value(raw, keyctl, 0xFFFF, 0, 0, 0, 0), secret=attempt(open, sys.argv[6]))
"""


def ask(lab: Lab, scenario: str) -> dict[str, Any]:
    """Carry a scenario of support/asked.py out as the lab's user; return what supervisor and program told."""
    numbers = [str(ARCH.numbers[name]) for name in NOTIFIED.split(",")]
    secret = lab.file(lab.outside / "secret", "s")
    lab.file(lab.state / "canary", "", 0o600)  # a launch makes it, an order by hand finds it
    path = lab.top / "order"
    path.write_bytes(orders.shown(lab, *program(BODY, str(lab.workspace / "ran"), *numbers, str(secret))))
    lab.own(path)
    driver = str(ROOT / "tests" / "support" / "asked.py")
    done = lab.bare(sys.executable, "-I", driver, str(ROOT), str(path), scenario, NOTIFIED)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: value for line in lines for name, value in line.items()}


def test_a_notified_call_gets_the_supervisors_answer(lab: Lab) -> None:
    told = ask(lab, "answered")
    assert told["getppid"] == 424242
    assert told["getpgid"] == "EDOM"
    assert told["getsid"] == told["supervisor"]["sid"]  # the kernel's own answer
    assert told["supervisor"]["asked"] == ["getppid", "getpgid", "getsid"]
    # an errno of the last filter outranks a question: the floor is not the supervisor's to open
    assert told["keyctl"] == "EPERM"
    assert told["secret"] == "EACCES" and (lab.workspace / "ran").exists()
    end = told["supervisor"]
    assert (end["code"], end["sealed"], end["stage"]) == (0, True, "exec")
    assert {result for result in end["canaries"].values() if result != "not_applicable"} == {"held"}


@pytest.mark.parametrize("scenario", ["closed", "gone while waiting"])
def test_without_the_supervisor_a_notified_call_does_not_exist(lab: Lab, scenario: str) -> None:
    told = ask(lab, scenario)
    # the launcher kept no copy of the listener, so the calls end at once instead of waiting for ever
    assert (told["getppid"], told["getpgid"], told["keyctl"]) == ("ENOSYS", "ENOSYS", "EPERM")
    assert told["secret"] == "EACCES"
    assert told["supervisor"]["code"] == 0 and told["supervisor"].get("waits", True)


@pytest.mark.parametrize("scenario", ["channel closed", "wrong word"])
def test_the_launcher_executes_nothing_unless_the_supervisor_serves(lab: Lab, scenario: str) -> None:
    told = ask(lab, scenario)
    assert told.keys() == {"supervisor"}
    end = told["supervisor"]
    assert (end["code"], end["stage"], end["failure"], end["sealed"]) == (125, "handover", "ECONNRESET", False)
    assert not (lab.workspace / "ran").exists()


def test_the_launcher_waits_for_a_supervisor_that_says_nothing(lab: Lab) -> None:
    end = ask(lab, "silent")["supervisor"]
    assert end["waiting"] and end["before"] == ["handover", False]
    assert (end["code"], end["sealed"]) == (-9, False)
    assert not (lab.workspace / "ran").exists()


def test_by_hand_an_order_with_notifications_is_refused(lab: Lab) -> None:
    mark = lab.workspace / "ran"
    order = orders.for_program(lab, "/bin/touch", str(mark))
    order.filter_a = filters.filter_a(ARCH, ["getppid"])
    done = orders.by_hand(lab, order_format.encode(order))
    assert done.returncode == 125 and not mark.exists()
    assert done.stderr.startswith("error: launcher: handover: ") and "needs a supervisor" in done.stderr
    assert done.stderr.endswith("nothing was executed\n") and done.stderr.count("\n") == 1
    order.filter_a = b""
    assert orders.by_hand(lab, order_format.encode(order)).returncode == 0 and mark.exists()
