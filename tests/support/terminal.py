# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A real pseudo terminal as the controlling terminal of a command, and a person in front of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import Any, Sequence

from support.launch import Lab

# The child becomes the leader of a session of its own and takes the terminal, as a login does; then it executes.
LOGIN = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")
PROMPT = "[prompt] "


class Terminal:
    """A command in front of a terminal. `screen` holds everything it ever showed."""

    def __init__(self, lab: Lab, command: Sequence[str], **more: Any) -> None:
        self.master, self.slave = os.openpty()
        if lab.user.uid is not None:
            os.fchown(self.slave, lab.user.uid, -1)
        self.resize(24, 80)
        self.screen = ""
        self._read_to = 0
        settings = lab.options(more.pop("env", None), more.pop("cwd", None))
        settings["env"] = {**settings["env"], "TERM": "dumb", "PS1": PROMPT, "HISTFILE": ""}
        streams = {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave, **more}
        self.process = subprocess.Popen([sys.executable, "-I", "-S", "-c", LOGIN, *command], **streams, **settings)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *reason: object) -> None:
        for pid in self._session():  # a test that failed leaves nothing behind either
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)
        for descriptor in (self.master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)

    def _session(self) -> list[int]:
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(entry)) == self.process.pid:
                    found.append(int(entry))
        return found

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())

    def expect(self, pattern: str, seconds: float = 10.0) -> re.Match[str]:
        """Wait until `pattern` shows up after what was expected last, and return the match."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.search(pattern, self.screen[self._read_to :])
            if found:
                self._read_to += found.end()
                return found
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} did not show up in {self.screen[self._read_to:]!r}; all: {self.screen!r}"
            if select.select([self.master], [], [], left)[0]:
                self.screen += os.read(self.master, 65536).decode("utf-8", "replace").replace("\r\n", "\n")

    def prompt(self) -> None:
        """Wait until the outer shell asks for the next command."""
        self.expect(re.escape(PROMPT))

    def resize(self, rows: int, columns: int) -> None:
        """Drag a corner of the window."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self) -> list[Any]:
        """Return the modes of the terminal."""
        return termios.tcgetattr(self.slave)

    def foreground(self) -> int:
        """Return the process group that the terminal's signals go to."""
        return os.tcgetpgrp(self.master)

    def hang_up(self) -> None:
        """Pull the plug."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def wait(self, seconds: float = 10.0) -> int:
        """Wait for the command to end; its output goes on being read, or it might never end."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            if self.master >= 0 and select.select([self.master], [], [], 0.01)[0]:
                self.screen += os.read(self.master, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
            elif self.master < 0:
                time.sleep(0.01)
        return self.process.wait(0.1)
