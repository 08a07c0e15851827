# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the launcher, or a program without a boundary. The only place in the package that creates a process."""

from __future__ import annotations

import _socket
import errno
import fcntl
import os
import signal
import sys

from .. import origin
from .._sys import boundary, process
from ..errors import HostError, system_text

# The launcher is started by exec, always: a forked child of an undumpable process would be undumpable itself.
# -I -S -B and an empty environment: no PYTHON* variable, no site directory and no working directory steers it.
# The code's root is on the path for the import of the package alone, so that nothing beside it stands in for a module.
BOOT = """import sys
try:
 sys.path.insert(0,sys.argv[1]);__import__(sys.argv[2]);del sys.path[0]
 serve=__import__(sys.argv[2]+'.launcher',fromlist=['serve']).serve
except Exception as problem:
 sys.exit(f'aasm: launcher: {type(problem).__name__}: {problem}')
serve(3,4,int(sys.argv[3]))
"""
CHANNEL, PAGE = 3, 4  # the descriptors under which the launcher finds its order and the status page
FIRST_FREE = 10  # ours lie above, so that putting them in place never overwrites one of them


class Launcher:
    """A started launcher that waits for its order: its process id, the channel to it, and its status page."""

    def __init__(self, pid: int, channel: _socket.socket, page: boundary.StatusPage) -> None:
        self.pid, self.channel, self.page = pid, channel, page
        self.ordered = False  # from then on a supervisor waits for it, and its id is not ours to signal here

    def end(self) -> None:
        """End a launcher that never got an order, and reap it."""
        if self.ordered:
            return
        self.channel.close()
        process.send_signal(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def interpreter() -> str:
    """Return the path of the interpreter that runs this; HostError when nothing says it.

    It says so itself, from its argv[0] and PATH. Where no file is there, or it was started by its bare name and without
    PATH, the kernel is asked.
    """
    if os.path.isfile(sys.executable) and os.access(sys.executable, os.X_OK):
        return sys.executable
    try:
        return os.readlink("/proc/self/exe")
    except OSError as problem:
        remedy = "start it by its whole path"
        raise HostError(f"the interpreter that runs this: {system_text(problem)}", "/proc/self/exe", remedy) from None


def start_launcher() -> Launcher:
    """Start the launcher; it waits for its order. The signals that it must not see yet are blocked by the caller.

    Raises HostError when no process can be started. The calling thread must live as long as the run: the kernel
    ends the launcher, and the program it becomes, with that thread.
    """
    python = interpreter()
    try:
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        memory = _raised(process.memory_page())
        end = _raised(theirs.detach())
        page = boundary.StatusPage(memory)
        pid = _spawn_launcher(python, end, memory)
    except OSError as problem:
        what = f"the launcher cannot be started: {system_text(problem)}"
        remedy = "raise the limits of this process, or allow socketpair and memfd_create in the filter around it"
        raise HostError(what, python, remedy) from None
    os.close(end)
    os.close(memory)
    return Launcher(pid, ours, page)


def _raised(descriptor: int) -> int:
    raised = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
    os.close(descriptor)
    return raised


def _spawn_launcher(python: str, channel: int, page: int) -> int:
    code = origin.running()  # by its own folder, which is right for a copy inside another package as well
    argv = [python, "-I", "-S", "-B", "-c", BOOT, code.root, code.package, str(os.getpid())]
    actions = [(os.POSIX_SPAWN_DUP2, channel, CHANNEL), (os.POSIX_SPAWN_DUP2, page, PAGE)]
    return os.posix_spawn(python, argv, {}, file_actions=actions)


def start_unconfined(
    candidates: tuple[bytes, ...], argv: tuple[bytes, ...], environment: list[bytes], mask: int
) -> tuple[int, int]:
    """Start a program without a boundary; return its process id and 0, or 0 and the errno for which none could be."""
    table = dict(item.split(b"=", 1) for item in environment)
    blocked = [number for number in signal.valid_signals() if mask >> (number - 1) & 1]
    worst = errno.ENOENT
    for path in filter(None, candidates):  # no file has an empty name
        try:
            return os.posix_spawn(path, argv, table, setsigmask=blocked, setsigdef=_reset()), 0
        except OSError as problem:
            number = problem.errno or errno.EINVAL
            if number not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
                return 0, number
            worst = errno.EACCES if number == errno.EACCES else worst
    return 0, worst


def _reset() -> list[int]:
    # the interpreter ignores the first two, and that would survive exec; SIGINT only when nobody had ignored it
    reset = [signal.SIGPIPE, signal.SIGXFSZ]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        reset.append(signal.SIGINT)
    return [int(number) for number in reset]
