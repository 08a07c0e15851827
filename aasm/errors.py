# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One closed tree of errors, split by who must act, and the table of exit codes.

An error carries three parts: what is wrong, where (an option, a path, or file:line:column), and the
remedy. `str()` gives the one line that the command prints after `error: `. Nothing here prints.
"""

from __future__ import annotations

import errno
import os
import sys

# The exit codes of `aasm run` and `aasm receipt`; everything else is the program's own code.
OK = 0
INVALID = 1  # receipt verify: the seal or a rule does not hold; policy: not valid, refused, or different; self-verify
USAGE = 2  # the command line itself is wrong
WALL_CLOCK = 124  # the run lasted longer than its wall-clock ceiling
REFUSED = 125  # refused, or the boundary could not be set up: the program did not run; or supervision failed
CANNOT_EXECUTE = 126  # the program was found and could not be executed
NOT_FOUND = 127  # the program was not found
SIGNAL_BASE = 128  # plus the number of the signal that ended the program

EXIT_CODES = (
    (OK, "success, or the program's own code"),
    (
        INVALID,
        "`receipt verify`: the seal or a claim rule does not hold, or the file is no receipt; `policy`: a document is "
        "not valid, what was asked is refused, or two policies differ; `self-verify`: a file of aasm itself differs",
    ),
    (USAGE, "the command line is wrong; nothing was started"),
    (WALL_CLOCK, "the run was ended by its wall-clock ceiling"),
    (REFUSED, "refused, or the boundary could not be set up: the program did not run; or supervision failed"),
    (CANNOT_EXECUTE, "the program was found but could not be executed"),
    (NOT_FOUND, "the program was not found"),
    (SIGNAL_BASE, "128 + n: the program was ended by signal n"),
)


class AasmError(Exception):
    """Every error that a user can meet. Subclasses say who must act."""

    exit_code = REFUSED
    run_id = ""  # of the run that it ended, once it has one

    def __init__(self, what: str, where: str = "", remedy: str = "") -> None:
        super().__init__(what, where, remedy)
        self.what, self.where, self.remedy = what, where, remedy

    def __str__(self) -> str:
        what, where = short(self.what), short(self.where)
        line = f"{where}: {what}" if where else what
        return one_line(f"{line}; {self.remedy}" if self.remedy else line)


class UsageError(AasmError):
    """The person at the command line must act: an option or its value is wrong."""

    exit_code = USAGE


class PolicyError(AasmError):
    """The author of the policy must act; `where` is file:line:column where a line is known."""


class HostError(AasmError):
    """The administrator of the host must act: something it lacks, refuses or has run out of."""


class RefusalError(AasmError):
    """A launch was refused: what was asked for cannot be kept, and nothing was started. May list, line by line."""

    def __str__(self) -> str:
        return "\n".join(one_line(line) for line in self.what.splitlines())


class ReceiptError(AasmError):
    """A receipt cannot be read or judged; whoever handed it over must act."""

    exit_code = USAGE


class NoReceiptError(ReceiptError):
    """A file that could be read is no receipt, or no longer one: it is as untrustworthy as a broken seal."""

    exit_code = INVALID


class SupervisionError(AasmError):
    """We failed once the program may have been running: how it ended is not known. `what` is what failed."""


class InternalError(AasmError):
    """A defect in aasm itself: something that cannot happen did. Asks for a report."""


def short(text: str, most: int = 600) -> str:
    """Return `text`, with its middle left out when it has more than `most` characters."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...({len(text)} characters)...{text[-half:]}"


def one_line(text: str) -> str:
    """Return `text` with every control character spelled out, so that it prints as exactly one line."""
    return text if text.isprintable() else "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8 (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def system_text(problem: OSError) -> str:
    """Return the kernel's words for an OSError without Python's decoration."""
    return problem.strerror or str(problem)


SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def unforeseen(problem: Exception) -> AasmError:
    """Return what a user is told of an exception: itself when it is ours, what the host lacks, or a defect of ours."""
    if isinstance(problem, AasmError):
        return problem
    if isinstance(problem, ImportError):
        return _missing(problem)
    # a SystemError is the interpreter's own, and it meets few but those that it had no memory for
    if isinstance(problem, (MemoryError, SystemError)) or getattr(problem, "errno", None) in SCARCE:
        text = one_line(str(problem)) or "out of memory"
        return HostError(f"this process may not grow: {text}", "", "raise its limits (ulimit -a)")
    return InternalError(f"internal: {type(problem).__name__}: {problem}", "", "this is a defect of aasm: report it")


def _missing(problem: ImportError) -> AasmError:
    name = problem.name or "a module"
    if f"{name}.".startswith(__name__.rpartition(".")[0] + "."):  # a part of the package, or a copy that lost a file
        what = f"this copy of aasm does not have all that this command needs ({problem.msg})"
        remedy = "use a copy of the whole, or see `self-verify` if this is one; copy it anew where that fails too"
        return UsageError(what, os.path.dirname(__file__), remedy)
    remedy = "use a Python with its whole standard library, and the libraries and the memory that this takes"
    return HostError(f"this Python cannot load {name}: {problem}", sys.executable or "python", remedy)
