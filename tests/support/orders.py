# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Orders carried out by hand: take the one that a dry run shows, change it, and let the launcher have it.

Only so can a test take one mechanism away and leave the others: the control that shows which of them holds.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Sequence

from support.launch import ROOT, Lab, python_grants

from aasm._sys import bpf, order as orders, syscalls

LAUNCHER = f"import sys;sys.path.insert(0,{str(ROOT)!r});from aasm.launcher import main;sys.exit(main(sys.argv[1:]))"
EVERY_CAPABILITY = 2**64 - 1
PASS_ALL = bpf.assemble(bpf.Filter(syscalls.host_arch(), {}, bpf.ALLOW, bpf.ALLOW, bpf.KILL_PROCESS, bpf.ALLOW))


def shown(lab: Lab, *argv: str, options: Sequence[str] = ()) -> bytes:
    """Return the order that `lab.confined` would send for this program."""
    words = ("run", "exec", "--dry-run", "--show-order", "--home", "real", "--isolation", "process", "--system")
    base = lab.command(*words, "--write", str(lab.workspace), *python_grants(), *options, "--", *argv)
    done = subprocess.run(base, capture_output=True, stdin=subprocess.DEVNULL, **lab.options())
    assert done.returncode == 0, done.stderr
    return bytes(done.stdout)


def parsed(data: bytes) -> orders.Order:
    """Return an order from its bytes."""
    return orders.decode(data[orders.HEADER.size :])


def for_program(lab: Lab, *argv: str, options: Sequence[str] = ()) -> orders.Order:
    """Return the order that `lab.confined` would send, to be changed."""
    return parsed(shown(lab, *argv, options=options))


def without_paths(order: orders.Order) -> orders.Order:
    """Take the path rules away and leave everything else: the scopes, the filter, the capabilities."""
    fs, net, scope, flags = order.handled
    order.handled, order.rules = (0, net, scope, flags), []
    order.canary_read = order.canary_write = b""
    return order


def without_filter(order: orders.Order) -> orders.Order:
    """Take the filter away and leave everything else."""
    order.filter_b, order.canary_call = PASS_ALL, -1
    return order


def by_hand(lab: Lab, data: bytes, **more: Any) -> subprocess.CompletedProcess[str]:
    """Carry out the bytes of an order as the user of the lab."""
    path = lab.top / "order"
    path.write_bytes(data)
    lab.own(path)
    return lab.bare(sys.executable, "-I", "-c", LAUNCHER, "--order", str(path), **more)
