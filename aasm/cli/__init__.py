# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: words in, words out. Turns arguments into requests and errors into one line; decides nothing."""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
from typing import Iterable, Optional

from .. import __version__
from ..errors import OK, REFUSED, AasmError, HostError, RefusalError, UsageError, one_line, system_text

USAGE_TEXT = """\
usage: aasm run exec [OPTIONS] -- PROGRAM [ARGS...]
       aasm policy validate|show|explain|new|diff|schema [OPTIONS]
       aasm receipt verify RECEIPT...
       aasm --version | --help

Runs a program inside a boundary that the Linux kernel enforces, and leaves a sealed receipt.

  run exec         launch a program (aasm run exec --help)
  policy           check, show, explain, write and compare policies (aasm policy --help)
  receipt verify   check a receipt's seal and its claims (aasm receipt verify --help)
"""

PATIENCE = 1000  # milliseconds, for whoever reads what we say
SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def main(args: list[str], imports_cwd: bool = False) -> int:
    """Carry out one command line and return the exit code.

    `imports_cwd` says that this interpreter was started so that it would import from the working directory.
    """
    _ensure_descriptors()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt ends us without a traceback
    try:
        return _dispatch(args, imports_cwd)
    except AasmError as problem:
        complain_of(problem)
        return problem.exit_code
    except Exception as problem:  # noqa: BLE001 - a traceback reaching a user is a defect of its own
        complain(_unexpected(problem))
        return REFUSED


def _unexpected(problem: Exception) -> str:
    if isinstance(problem, MemoryError) or getattr(problem, "errno", None) in SCARCE:
        return f"this process may not grow: {one_line(str(problem)) or 'out of memory'}; raise its limits (ulimit -a)"
    return f"internal: {type(problem).__name__}: {one_line(str(problem))}; this is a defect of aasm: report it"


def main_script() -> int:
    """Entry of the installed `aasm` script, which puts its own directory on the import path, never the working one."""
    return main(sys.argv[1:])


def _dispatch(args: list[str], imports_cwd: bool) -> int:
    if args[:1] == ["run"] and len(args) > 1:
        from ..devtools import adapter

        target = adapter(args[1])
        if target is not None:
            from .run import main as run_target

            return run_target(target, args[2:], imports_cwd)
    if args[:2] == ["receipt", "verify"]:
        from ..receipt import verify

        return verify.main(args[2:])
    if args[:1] == ["policy"]:
        from .policy import main as policy

        return policy(args[1:])
    return _other(args)


def _other(args: list[str]) -> int:
    if args in (["--version"], ["version"]):
        say(f"aasm {__version__}")
        return OK
    if args and args[-1] in ("--help", "-h") and args[:-1] in ([], ["run"], ["receipt"]):
        say(USAGE_TEXT.rstrip())
        return OK
    raise UsageError(_what(args), remedy="see `aasm --help`")


def _what(args: list[str]) -> str:
    if not args:
        return "no command was given"
    if args[0] == "run":
        from ..devtools import names

        known = ", ".join((*names(), "exec"))
        return f"no target was given: {known}" if len(args) == 1 else f"unknown target {args[1]!r}; there is: {known}"
    if args[0] == "receipt":
        return "expected `receipt verify`"
    return f"unknown command {args[0]!r}"


def say(text: str) -> None:
    """Write a line to standard output. HostError when it cannot be written, but for a reader that has left."""
    put((text + "\n").encode("utf-8", "surrogateescape"))


def put(data: bytes) -> None:
    """Write bytes to standard output, whole; see `say`."""
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        return
    except OSError as problem:
        raise HostError(system_text(problem), "standard output", "redirect it to a place with room") from None


def complain(text: str, kind: str = "error") -> None:
    """Write one line to standard error, whatever is in `text`; a lost line never changes what happens."""
    note([f"{kind}: {text}"])


def complain_of(problem: AasmError, kind: str = "error") -> None:
    """Write an error to standard error: one line, and for a refusal its list as well."""
    lines = str(problem).split("\n") if isinstance(problem, RefusalError) else [str(problem)]
    note([f"{kind}: {lines[0]}", *lines[1:]])


def note(lines: Iterable[str], patience: Optional[int] = PATIENCE) -> None:
    """Write lines to standard error: each is one line, since nothing in it can end it."""
    text = "".join(one_line(line) + "\n" for line in lines)
    deliver(2, text.encode("utf-8", "backslashreplace"), patience)


def deliver(descriptor: int, data: bytes, patience: Optional[int] = PATIENCE) -> bool:
    """Write to a descriptor that somebody else may have stopped; return whether all of it was taken.

    A terminal that was stopped, or a pipe that nobody empties, gets that many milliseconds (None: no end of them) and
    then loses the rest: the program inside could otherwise hold us here. A pipe is sure to take PIPE_BUF at once, so
    no more is written at a time.
    """
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    try:
        while data and poll.poll(patience):
            data = data[os.write(descriptor, data[: select.PIPE_BUF]) :]
    except OSError:
        return False
    return not data


def _ensure_descriptors() -> None:
    # A descriptor below 3 that we open for ourselves would become the program's standard input or output
    descriptor = os.open("/dev/null", os.O_RDWR)
    while descriptor <= 2:
        os.set_inheritable(descriptor, True)
        descriptor = os.dup(descriptor)
    os.close(descriptor)

