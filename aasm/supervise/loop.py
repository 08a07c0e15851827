# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The event loop of one run: one child, its signals, its ceiling on time, and what it leaves behind.

Signals arrive as events (they are blocked and read from a descriptor), so nothing runs in a handler and the
one place below decides what each of them does.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from typing import Callable

from .._sys import process
from ..model.record import Ending, Event, RunRecord
from . import tree
from .spawn import Launcher
from .terminal import Terminal

# Forwarded as they come. TERM also starts the grace period; a second one ends the run at once.
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH)
# The terminal sends these to the whole foreground group, so the program has them already.
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGWINCH)
HANDLED = (*FORWARDED, *FROM_TERMINAL[:-1], signal.SIGCHLD, signal.SIGTTIN, signal.SIGTTOU)

GRACE_SECONDS = 5.0  # after SIGTERM, and after the wall-clock ceiling, before the tree is killed
LONGEST_WAIT_SECONDS = 3600.0  # poll(2) takes its time-out as an int of milliseconds
STOPPED_BY_TERMINAL = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
REAPED_AT_ONCE = 64  # then clocks and signals have their turn: a chain of forks must not keep us from them


class Supervisor:
    """Supervises one child process until it and everything below it has ended."""

    def __init__(
        self,
        pid: int,
        signals: int,
        bystanders: set[int],
        confined: bool,
        listener: Callable[[Event], None] = lambda event: None,
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> None:
        """`signals` is a signal descriptor for HANDLED.

        `bystanders` are children that are not ours to end; each is taken out once it has ended. `meanwhile` does
        a short piece of work that can wait, and says whether any is left; it is called when nothing else is to be done.
        """
        self.pid, self.signals, self.bystanders, self.confined = pid, signals, bystanders, confined
        self.listener, self.meanwhile = listener, meanwhile
        self.terminal = Terminal()
        self.launcher: Launcher | None = None
        self.name = b""
        self._outgoing = memoryview(b"")
        self._deadline: float | None = None  # the wall-clock ceiling
        self._kill_at: float | None = None  # the end of a grace period
        self._too_long = False
        self._forwarded: int | None = None
        self._status: int | None = None
        self._from_terminal = False  # the terminal itself stopped the group
        self._more = False  # children are left to be reaped
        self._left = True  # pieces of `meanwhile` are left
        self._killed: set[int] = set()  # what we ended of the tree while the program was still there
        self._ended = 0  # how many of those were seen to end
        self.never_replaced = False  # the child still bore the launcher's name when it ended

    def send(self, launcher: Launcher, order: bytes, name: bytes) -> None:
        """Have the order written to the launcher from inside the loop, so that a stopped one cannot stop us."""
        launcher.ordered = True
        launcher.channel.setblocking(False)
        self.launcher, self.name, self._outgoing = launcher, name, memoryview(order)

    def run(self, wall_clock: int | None) -> RunRecord:
        """Wait until the child has ended, end what it left behind, and return what was seen."""
        started, clock = int(time.time()), time.monotonic()
        if wall_clock is not None:
            self._deadline = time.monotonic() + wall_clock
        try:
            self.listener(Event("started", self.pid))
            while self._status is None:
                self._wait()
            survivors = self._ended + tree.end(self.bystanders) if self.confined else 0
        except BaseException:
            self._give_up()
            raise
        self.terminal.reclaim(restore_modes=os.WIFSIGNALED(self._status))
        self.listener(Event("survivors", survivors))
        # the end is the start plus what a clock says that nobody sets back
        return self._record(started, started + int(time.monotonic() - clock), survivors)

    def _give_up(self) -> None:
        """Kill all of it, whatever went wrong here: nobody would end the tree later."""
        self._kill_all()
        if self.confined:
            tree.kill(self.bystanders)  # one look at what runs misses what is being forked meanwhile

    # --- waiting -------------------------------------------------------------------------------

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self.signals, select.POLLIN)
        if self.launcher is not None:
            wants = select.POLLIN | (select.POLLOUT if self._outgoing else 0)
            poll.register(self.launcher.channel.fileno(), wants)
        found = poll.poll(self._timeout())
        for descriptor, events in found:
            if descriptor == self.signals:
                self._signals()
            elif events & select.POLLOUT and self._outgoing:
                self._write()
            else:
                self._channel_ended()
        if self._more:
            self._children()
        elif not found and self._left and not self._outgoing:  # the program is on its way, and nothing else is waiting
            self._left = self.meanwhile()
        self._clocks()

    def _timeout(self) -> int | None:
        if self._more or (self._left and not self._outgoing):
            return 0
        times = [at for at in (self._deadline, self._kill_at) if at is not None]
        if not times:
            return None
        left = min(min(times) - time.monotonic(), LONGEST_WAIT_SECONDS)
        return max(0, int(left * 1000) + 1)

    def _write(self) -> None:
        assert self.launcher is not None
        try:
            sent = self.launcher.channel.send(self._outgoing)
        except BlockingIOError:
            return
        except OSError:  # the launcher is gone; its end says the rest
            sent = len(self._outgoing)
        self._outgoing = self._outgoing[sent:]

    def _channel_ended(self) -> None:
        # The close-on-exec descriptor ended: the launcher was replaced by the program, or is gone. Whoever is alive
        # now is the program, and may call itself what it likes.
        assert self.launcher is not None
        found = process.stat_of(self.pid)
        if found is not None and found.state not in "ZX" and not found.exiting:
            self.name = b""
        self.launcher.channel.close()
        self.launcher = None

    def _clocks(self) -> None:
        now = time.monotonic()
        if self._deadline is not None and now >= self._deadline:
            self._deadline = None
            if not self._ended_already():
                self._too_long = True
                self.listener(Event("wall_clock"))
                self._ask_to_end()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = now + 0.05
            self._kill_all()

    def _ended_already(self) -> bool:
        # it may have ended in time while we were stopped ourselves
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    # --- signals -------------------------------------------------------------------------------

    def _signals(self) -> None:
        events = process.read_signals(self.signals)
        # The program can have SIGTTIN and SIGTTOU sent to us, by giving the terminal to a child: no reason to stop
        # while a clock runs. SIGTSTP is what a person's key sends.
        stops = STOPPED_BY_TERMINAL if self._deadline is None and self._kill_at is None else (signal.SIGTSTP,)
        if any(event.from_kernel and event.number in stops for event in events):
            self._from_terminal = True
        for event in events:
            if event.number == signal.SIGCHLD:
                self._children()
            else:
                self._forward(event)

    def _forward(self, event: process.SignalEvent) -> None:
        number = event.number
        if number in (signal.SIGTTIN, signal.SIGTTOU) or (event.from_kernel and number in FROM_TERMINAL):
            return  # ours alone, or sent to the whole group already
        self.listener(Event("signal", number))
        self._tell(number)
        if number == signal.SIGCONT:
            self.terminal.resume()
        elif number == signal.SIGTERM:
            self._terminate()

    def _terminate(self) -> None:
        if self._forwarded is not None:
            self._kill_all()
        self._forwarded = int(signal.SIGTERM)
        self._ask_to_end()

    def _ask_to_end(self) -> None:
        self._tell(signal.SIGTERM)
        self._tell(signal.SIGCONT)
        kill_at = time.monotonic() + GRACE_SECONDS
        self._kill_at = kill_at if self._kill_at is None else min(kill_at, self._kill_at)

    def _tell(self, number: int) -> None:
        if self._status is None:  # once it is reaped, its number may be anybody's
            process.send_signal(self.pid, number)

    def _kill_all(self) -> None:
        self._tell(signal.SIGKILL)
        if self.confined:
            found = [pid for pid in process.descendants(self.bystanders) if pid != self.pid]
            self._killed.update(found)
            for pid in found:
                process.send_signal(pid, signal.SIGKILL)

    # --- children ------------------------------------------------------------------------------

    def _children(self) -> None:
        self._stops()
        self._more = False
        for _ in range(REAPED_AT_ONCE):
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_pid == self.pid:
                self._look_before_reaping()
            _, status = os.waitpid(ended.si_pid, 0)
            self._ended += ended.si_pid in self._killed
            self._killed.discard(ended.si_pid)
            self.bystanders.discard(ended.si_pid)  # from here on its number may be given to a process of the program
            if ended.si_pid == self.pid:
                self._status = status
        self._more = True

    def _look_before_reaping(self) -> None:
        # A launcher that is killed between its seal and exec would look like a killed program: only its name, which
        # exec replaces, tells them apart, and only until it is reaped.
        found = process.stat_of(self.pid)
        self.never_replaced = bool(self.name) and found is not None and found.name == self.name

    def _stops(self) -> None:
        while True:
            try:
                changed = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
            except ChildProcessError:
                return
            if changed is None:
                return
            if changed.si_code == os.CLD_STOPPED:
                self._stopped(changed.si_status)
            else:
                self.listener(Event("continued"))

    def _stopped(self, number: int) -> None:
        self.listener(Event("stopped", number))
        # A program that stops itself may have a child that goes on: with a clock running we do not stop with it
        asked = self._from_terminal or (self._deadline is None and self._kill_at is None)
        self._from_terminal = False
        if asked and self.terminal.can_stop():
            self.terminal.note_stop()
            os.kill(os.getpid(), signal.SIGSTOP)
            self.terminal.resume()
            self._tell(signal.SIGCONT)

    # --- the record ----------------------------------------------------------------------------

    def _record(self, started: int, ended: int, survivors: int) -> RunRecord:
        status = self._status or 0
        ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        ending = Ending.WALL_CLOCK if self._too_long else Ending.KILLED if ended_by is not None else Ending.EXITED
        return RunRecord(
            ending, code, ended_by, 0, "", 0, False, {}, started, ended, self._forwarded, survivors
        )


def judged(record: RunRecord, launcher: Launcher, supervisor: Supervisor) -> RunRecord:
    """Return the record with what the status page says: only a sealed launcher that was replaced ran the program."""
    stage, failure, rule, sealed, exec_errno, canaries = launcher.page.read()
    record = record._replace(stage=stage, rule=rule, sealed=sealed, canaries=canaries)
    if not sealed:
        return record._replace(ending=Ending.SETUP_FAILED, code=None, error=failure)
    if exec_errno:
        missing = exec_errno in (errno.ENOENT, errno.ENOTDIR)
        ending = Ending.NOT_FOUND if missing else Ending.NOT_EXECUTABLE
        return record._replace(ending=ending, code=None, error=exec_errno)
    if supervisor.never_replaced:
        return record._replace(ending=Ending.NOT_STARTED, code=None)
    return record
