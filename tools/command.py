# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the commands in tools/ share: one `error:` line for whatever goes wrong, and no verdict that is lost.

Exit codes: 0 all is well, 1 the answer is no (something differs), 2 there is no answer: a wrong command line, something
that cannot be read or written, output that cannot be delivered.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from typing import Callable, List, NoReturn, Optional

from project import OLDEST, TreeError

NO_ANSWER = 2


class Parser(argparse.ArgumentParser):
    """argparse with whole option names only, and errors that go the way of all others."""

    def __init__(self, prog: str, doc: str, codes: str = "") -> None:
        text = f"Exit status: 0 {codes or 'when it is done'}, 2 for anything that went wrong."
        made = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, description=doc.strip(), epilog=text, formatter_class=made, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Raise TreeError instead of printing and leaving."""
        raise TreeError(f"{message}; see {self.prog} --help")


def said(problem: BaseException) -> str:
    """Return the one line about an exception: what, where, and what to do where the exception knows."""
    if isinstance(problem, OSError) and problem.strerror:
        named = isinstance(problem.filename, (str, bytes))
        where = os.fsdecode(problem.filename) if named else "standard output"  # all else that is written has a name
        return f"{where}: {problem.strerror}; see that it is there, may be read or written, and has room"
    return " ".join(str(problem).split()) or type(problem).__name__


def run(main: Callable[[List[str]], int], words: Optional[List[str]] = None) -> int:
    """Call `main` with the words of the command line and return the exit code; print an `error:` line if it fails."""
    try:
        if sys.version_info < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise TreeError(f"this is Python {sys.version.split()[0]}; take {oldest} or a later one")
        code = main(sys.argv[1:] if words is None else words)
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        sys.stdout.flush()
        return code
    except (OSError, ValueError, TreeError, MemoryError) as problem:
        if sys.stderr is not None:
            print(f"error: {said(problem)}", file=sys.stderr)
        _forget_output()
        return NO_ANSWER


def _forget_output() -> None:
    """Where output cannot be delivered, let the interpreter's own flush at the end find nothing to complain about."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
