# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Programs for processes of their own, since a filter cannot be taken off again: `children.py NAME` prints JSON."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import socket
import sys
import time

from aasm._sys import boundary, bpf, notify, syscalls
from aasm._sys.bpf import ALLOW, ERRNO, KILL_PROCESS, Checked, Clause, Condition, Filter

ARCH = syscalls.host_arch()
TIOCSTI, TIOCGWINSZ = 0x5412, 0x5413  # <asm-generic/ioctls.h>
MARK = 1000  # errnos that no call gives by itself
NR_IOCTL, NR_GETPGID, NR_GETSID = (syscalls.number(ARCH, name) for name in ("ioctl", "getpgid", "getsid"))


def result(number, *args):
    """Return what a call gives, an errno as its negative."""
    try:
        return boundary.syscall(number, *args)
    except OSError as problem:
        return -problem.errno


def calls():
    return {
        "getpgid": result(NR_GETPGID, 0) >= 0 or result(NR_GETPGID, 0),
        "getsid": result(NR_GETSID, 0) >= 0,
        "TIOCSTI": result(NR_IOCTL, -1, TIOCSTI, 0),
        "TIOCSTI, dirty": result(NR_IOCTL, -1, TIOCSTI | 0x5A5A << 32, 0),
        "TIOCGWINSZ": result(NR_IOCTL, -1, TIOCGWINSZ, 0),
        "newer": result(ARCH.newest + 1),
        "x32 getsid": result(0x40000000 | NR_GETSID, 0),
        "minus one": result(-1),
    }


def install(rules, flags=0):
    spec = Filter(ARCH, rules, ALLOW, ERRNO(MARK + 1), KILL_PROCESS, ERRNO(MARK + 2))
    boundary.prctl(boundary.PR_SET_NO_NEW_PRIVS, 1)
    return boundary.seccomp_install(bpf.assemble(spec), flags)


def filtered():
    """The same calls before and after a filter."""
    before = calls()
    terminal = Checked((Clause((Condition(1, 0xFFFFFFFF, TIOCSTI),), ERRNO(MARK + 3)),), ALLOW)
    install({NR_GETPGID: ERRNO(MARK), NR_IOCTL: terminal})
    return {"before": before, "after": calls()}


def longest():
    """A filter of exactly 4,096 instructions is taken by the kernel."""

    def spec(count, masked):
        masks = [0xFFFF] * masked + [0xFFFFFFFF] * (count - masked)  # three instructions each, four with a mask
        clauses = tuple(Clause((Condition(0, mask, at),), ALLOW) for at, mask in enumerate(masks))
        return Filter(ARCH, {0: Checked(clauses, ALLOW)}, ALLOW, ERRNO(MARK), ALLOW, ALLOW)

    room = 4096 - bpf.length(bpf.assemble(spec(100, 0)))
    program = bpf.assemble(spec(100 + room // 3, room % 3))
    boundary.prctl(boundary.PR_SET_NO_NEW_PRIVS, 1)
    boundary.seccomp_install(program, 0)
    return {"length": bpf.length(program), "newer": result(ARCH.newest + 1)}


def killed():
    """A foreign architecture word ends the process: here every word is foreign."""
    pid = os.fork()
    if pid == 0:
        boundary.prctl(boundary.PR_SET_NO_NEW_PRIVS, 1)
        foreign = ARCH._replace(audit_arch=ARCH.audit_arch ^ 1)
        boundary.seccomp_install(bpf.assemble(Filter(foreign, {}, ALLOW, ALLOW, KILL_PROCESS, ALLOW)), 0)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    return {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "SIGSYS": int(signal.SIGSYS)}


# --- a supervisor and its child ---


def confined(channel, body):
    """Be the child: install a filter that notifies getpgid, hand the listener over, run `body`, report."""
    listener = install({NR_GETPGID: bpf.USER_NOTIF}, boundary.SECCOMP_FILTER_FLAG_NEW_LISTENER)
    socket.send_fds(channel, [b"."], [listener])
    os.close(listener)
    channel.sendall(json.dumps(body()).encode())
    os._exit(0)


def supervised(body):
    """Fork a confined child; return (its pid, our end of the channel, the listener)."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            confined(theirs, body)
        finally:
            os._exit(1)
    theirs.close()
    return pid, ours, socket.recv_fds(ours, 1, 1)[1][0]


def answers():
    """Every kind of answer, and a descriptor put into the child."""

    def body():
        got = [result(NR_GETPGID, 0x1122334455667788), result(NR_GETPGID, 0), result(NR_GETPGID, 0)]
        placed = result(NR_GETPGID, 0)
        return {"got": got, "own": os.getpgrp(), "through": os.read(placed, 20).decode()}

    pid, channel, listener = supervised(body)
    wake_up = notify.set_sync_wake_up(listener)
    first = notify.receive(listener)
    seen = {"pid": first.pid == pid, "nr": first.nr == NR_GETPGID, "arch": first.arch == ARCH.audit_arch,
            "flags": first.flags, "args": first.args[0], "count": len(first.args), "ip": first.ip > 0,
            "valid": notify.id_valid(listener, first.id), "other": notify.id_valid(listener, first.id + 1)}
    sent = [notify.respond(listener, first.id + 1, error=MARK), notify.respond(listener, first.id, error=MARK)]
    sent.append(notify.respond(listener, notify.receive(listener).id, value=4242))
    sent.append(notify.respond(listener, notify.receive(listener).id, go_on=True))
    last = notify.receive(listener)
    source, sink = os.pipe()
    os.write(sink, b"hello")
    placed = notify.add_fd(listener, last.id, source, replace=77, flags=os.O_CLOEXEC)
    sent.append(notify.respond(listener, last.id, value=placed))
    report = json.loads(channel.recv(4096))
    os.waitpid(pid, 0)
    gone = notify.add_fd(listener, last.id, source)
    return {"wake_up": wake_up, "seen": seen, "sent": sent, "placed": placed, "gone": gone, **report}


def deaths():
    """A caller that dies before it is received, and one that dies before it is answered."""

    def body():
        return result(NR_GETPGID, 0)

    early, _, listener = supervised(body)
    select.select([listener], [], [], 10)
    os.kill(early, signal.SIGKILL)
    os.waitpid(early, 0)
    received = notify.receive(listener)
    late, _, listener = supervised(body)
    waiting = notify.receive(listener)
    valid = notify.id_valid(listener, waiting.id)
    os.kill(late, signal.SIGKILL)
    os.waitpid(late, 0)
    return {"received": received, "valid": [valid, notify.id_valid(listener, waiting.id)],
            "respond": notify.respond(listener, waiting.id)}


def refusals():
    """What is no ENOENT stays an error: a descriptor that is no listener."""
    source, _ = os.pipe()
    found = {}
    for name, call in (("receive", lambda: notify.receive(source)), ("respond", lambda: notify.respond(source, 1)),
                       ("id_valid", lambda: notify.id_valid(source, 1)),
                       ("add_fd", lambda: notify.add_fd(source, 1, source)),
                       ("set_sync_wake_up", lambda: notify.set_sync_wake_up(source))):
        try:
            found[name] = call()
        except OSError as problem:
            found[name] = errno.errorcode[problem.errno]
    return found


def probed():
    """The probe inside a filter: one that refuses every Landlock call with an errno given as an argument."""
    from aasm._sys import probe

    refusal = ERRNO(int(sys.argv[2]))
    install({syscalls.number(ARCH, "landlock_create_ruleset"): refusal})
    start = time.perf_counter()
    facts = probe.host_facts()
    return {"state": facts.landlock.state, "detail": facts.landlock.detail, "abi": facts.landlock.abi,
            "mode": facts.seccomp.mode, "ms": (time.perf_counter() - start) * 1000}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
