# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the commands in tools/ share: one `error:` line for whatever goes wrong, and no verdict that is lost.

Exit codes: 0 all is well, 1 the answer is no (something differs), 2 there is no answer: a wrong command line, something
that cannot be read or written, output that cannot be delivered. 130: interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import signal
import sys
import threading
from typing import Any, Callable, Iterator, List, NoReturn, Optional, TextIO, TypeVar, cast

from project import OLDEST, TreeError, shown

NO_ANSWER = 2
INTERRUPTED = 130
# Each takes the way of Ctrl-C, so that what was begun is undone.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


T = TypeVar("T")


class Parser(argparse.ArgumentParser):
    """argparse with whole option names only, and errors that go the way of all others."""

    def __init__(self, prog: str, doc: Optional[str], codes: str = "") -> None:
        text = f"Exit status: 0 {codes or 'when it is done'}, 2 for anything that went wrong."
        made = argparse.RawDescriptionHelpFormatter
        about = (doc or "").strip().replace("%", "%%")  # python -OO has no docstrings
        super().__init__(prog, description=about, epilog=text, formatter_class=made, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise TreeError instead of printing and leaving."""
        raise TreeError(f"{message}; see {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse itself keeps quiet where it cannot be delivered."""
        (file or sys.stdout).write(self.format_help())


class _Output:
    """Standard output whose errors have a name, as those of files have."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self._named(lambda: self.stream.write(text))

    def flush(self) -> None:
        self._named(self.stream.flush)

    def isatty(self) -> bool:
        return self.stream.isatty()

    def _named(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except OSError as problem:
            raise OSError(problem.errno, problem.strerror, "standard output") from None


def said(problem: BaseException) -> str:
    """Return the one line about an exception: what, where, and what to do where the exception knows."""
    if isinstance(problem, OSError) and problem.strerror:
        where = shown(os.fsdecode(problem.filename)) or "''" if isinstance(problem.filename, (str, bytes)) else ""
        remedy = "see that it is there, may be read or written, and has room"
        return f"{where}: {problem.strerror}; {remedy}" if where else f"{problem.strerror}; raise the limit (ulimit -a)"
    if isinstance(problem, MemoryError):
        return "there is not enough memory; raise the limit (ulimit -v)"
    return " ".join(str(problem).split()) or type(problem).__name__


def differs(text: str) -> int:
    """Say on standard error that the answer is no, once all that leads there is delivered; return the exit code."""
    sys.stdout.flush()
    print(f"error: {text}", file=sys.stderr)
    return 1


def run(main: Callable[[List[str]], int], words: Optional[List[str]] = None) -> int:
    """Call `main` with the words of the command line and return the exit code; print an `error:` line if it fails."""
    try:
        _expect_enough()
        with _interruptible(), contextlib.redirect_stdout(cast(TextIO, _Output(sys.stdout))):
            code = _called(main, sys.argv[1:] if words is None else words)
            sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        return _failed("interrupted; run it again", INTERRUPTED)
    except (OSError, ValueError, TreeError, MemoryError) as problem:
        return _failed(said(problem), NO_ANSWER)


def _failed(text: str, code: int) -> int:
    if sys.stderr is not None:
        print(f"error: {text}", file=sys.stderr)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:  # the interpreter's own flush at the end is to find nothing to complain about
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def _expect_enough() -> None:
    if sys.version_info < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise TreeError(f"this is Python {sys.version.split()[0]}; take {oldest} or a later one")
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard output")


def _called(main: Callable[[List[str]], int], words: List[str]) -> int:
    try:
        return main(words)
    except SystemExit as ended:  # argparse has printed its help
        return int(ended.code or 0)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler == signal.SIG_DFL:  # not one that somebody ignores, as nohup(1) does
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
