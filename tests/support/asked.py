# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A supervisor for one launch whose calls are asked about: `asked.py ROOT ORDER SCENARIO NAMES` prints JSON.

Takes the order from a file, adds a first filter that notifies the calls NAMES, hands it to the real launcher and then
does what the scenario says with the listener. The program's own words follow on standard output.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, Callable, Dict, Optional

sys.path.insert(0, sys.argv[1])

from aasm._sys import notify, order as orders, syscalls  # noqa: E402
from aasm.backends.native import filters  # noqa: E402
from aasm.supervise.spawn import Launcher, start_launcher  # noqa: E402

ARCH = syscalls.host_arch()
Told = Dict[str, Any]


def begin() -> Launcher:
    """Start the launcher and give it the order with the notifying filter."""
    with open(sys.argv[2], "rb") as stream:
        order = orders.decode(stream.read()[orders.HEADER.size :])
    order.filter_a = filters.filter_a(ARCH, sys.argv[4].split(","))
    order.name = b"asked"
    launcher = start_launcher()
    launcher.channel.sendall(orders.encode(order))
    return launcher


def take(launcher: Launcher) -> int:
    """Return the listener that the launcher hands over with the word that it is ready."""
    data, control, _, _ = launcher.channel.recvmsg(16, socket.CMSG_SPACE(4))
    assert data == b"L" and len(control) == 1 and control[0][:2] == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
    return int.from_bytes(control[0][2][:4], sys.byteorder)


def finish(launcher: Launcher, told: Told) -> Told:
    """Wait for the end and add what the status page and the process say."""
    _, status = os.waitpid(launcher.pid, 0)
    stage, failure, _, sealed, _, canaries = launcher.page.read()
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    return {**told, "code": code, "stage": stage, "failure": errno.errorcode.get(failure, failure), "sealed": sealed,
            "canaries": canaries}  # fmt: skip


def serve(answers: Dict[str, Callable[[int, notify.Notification], object]]) -> Told:
    """Answer each notified call by its name until the launcher has ended; tell which were asked, in order."""
    launcher = begin()
    listener = take(launcher)
    launcher.channel.sendall(b"G")
    asked, names = [], syscalls.names(ARCH)
    while select.select([listener], [], [], 10)[0]:
        call = notify.receive(listener)
        if call is None or names[call.nr] not in answers:
            break
        asked.append(names[call.nr])
        answers[asked[-1]](listener, call)
        if len(asked) == len(answers):
            break
    told = {"asked": asked, "sid": os.getsid(launcher.pid)}
    os.close(listener)  # whatever else the program asks ends at once
    return finish(launcher, told)


def answered() -> Told:
    return serve({
        "getppid": lambda listener, call: notify.respond(listener, call.id, value=424242),
        "getpgid": lambda listener, call: notify.respond(listener, call.id, error=errno.EDOM),
        "getsid": lambda listener, call: notify.respond(listener, call.id, go_on=True),
    })  # fmt: skip


def closed() -> Told:
    """Let it go on, and close the listener at once: nobody will ever answer."""
    launcher = begin()
    listener = take(launcher)
    os.close(listener)
    launcher.channel.sendall(b"G")
    return finish(launcher, {})


def gone_while_waiting() -> Told:
    """Close the listener while a call waits for its answer."""
    launcher = begin()
    listener = take(launcher)
    launcher.channel.sendall(b"G")
    waits = bool(select.select([listener], [], [], 10)[0])
    os.close(listener)
    return finish(launcher, {"waits": waits})


def refused(answer: Optional[bytes]) -> Told:
    """Take the listener and answer wrongly, or close the channel instead."""
    launcher = begin()
    take(launcher)
    if answer:
        launcher.channel.sendall(answer)
    launcher.channel.close()
    return finish(launcher, {})


def silent() -> Told:
    """Take the listener and say nothing: the launcher waits and executes nothing."""
    launcher = begin()
    take(launcher)
    time.sleep(0.2)
    waiting = os.waitpid(launcher.pid, os.WNOHANG) == (0, 0)
    stage, _, _, sealed, _, _ = launcher.page.read()
    os.kill(launcher.pid, signal.SIGKILL)
    return finish(launcher, {"waiting": waiting, "before": [stage, sealed]})


SCENARIOS: Dict[str, Callable[[], Told]] = {
    "answered": answered,
    "closed": closed,
    "gone while waiting": gone_while_waiting,
    "channel closed": lambda: refused(None),
    "wrong word": lambda: refused(b"N"),
    "silent": silent,
}

if __name__ == "__main__":
    print(json.dumps({"supervisor": SCENARIOS[sys.argv[3]]()}))
