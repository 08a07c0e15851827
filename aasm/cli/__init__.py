# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The command line: words in, words out. Turns arguments into requests and errors into one line; decides nothing.

Imports nothing here that a Python can lack: what is missing further on gets its one line as well.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built in, as `signal` is not
import os
import sys

from .. import __version__
from .._sys import streams
from ..errors import (
    OK,
    REFUSED,
    AasmError,
    HostError,
    InternalError,
    RefusalError,
    UsageError,
    one_line,
    system_text,
    unforeseen,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterable, Optional

# Every command: the words that name it, what may follow them, and what it is for. There is no other: dispatch, usage,
# errors and completions go by this table.
COMMANDS: dict[tuple[str, ...], tuple[str, str]] = {
    ("run", "exec"): ("[OPTIONS] -- PROGRAM [ARGS...]", "launch a program"),
    ("policy", "validate"): ("[--json] FILE...", "every fault of policy files, each with its line"),
    ("policy", "show"): ("[OPTIONS]", "the policy that a launch would go by, merged, each value with its origin"),
    ("policy", "explain"): ("[OPTIONS]", "whether something is allowed, by which rule, and what to add"),
    ("policy", "new"): ("--template NAME [OPTIONS]", "a commented starting policy for this host"),
    ("policy", "diff"): ("[OPTIONS] A B", "what one policy permits and the other does not"),
    ("policy", "schema"): ("", "the JSON Schema of a policy"),
    ("receipt", "verify"): ("[--json] RECEIPT...", "check a receipt's seal and its claims"),
    ("self-verify",): ("[--json] [--against FILE]", "compare this copy of aasm with the list of its files"),
}
# Commands that the overall usage shows as one: what stands before their names, and what they are for together.
GROUPS = {"policy": "check, show, explain, write and compare policies"}
ALONE = {"--version": "print the version", "--help": "show the usage"}  # what stands in the place of a command
HELP = ("--help", "-h")

_USAGE_TEXT = """\
usage: {usage}

Runs a program inside a boundary that the Linux kernel enforces, and leaves a sealed receipt.

{commands}"""

NO_MEMORY = b"error: this process may not grow: out of memory; raise its limits (ulimit -a)\n"
PATIENCE = 1000  # milliseconds, for whoever reads what we say
PIPE_BUF = 4096  # linux/limits.h
_closed: tuple[int, ...] = ()  # of 0, 1 and 2, when we were started


def main(args: list[str], imports_cwd: bool = False) -> int:
    """Carry out one command line and return the exit code.

    `imports_cwd` says that this interpreter was started so that it would import from the working directory.
    """
    try:
        _fill_streams()
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # an interrupt ends us without a traceback
        return _dispatch(args, imports_cwd)
    except Exception as problem:  # noqa: BLE001 - a traceback reaching a user is a defect of its own
        return _ended_by(problem)


def _ended_by(problem: Exception) -> int:
    try:
        ours = unforeseen(problem)
        complain_of(ours)
        return ours.exit_code
    except (ImportError, MemoryError, SystemError):  # there is no memory to say more
        os.write(2, NO_MEMORY)
        return REFUSED


def _fill_streams() -> None:
    global _closed
    try:
        _closed = streams.fill()
    except OSError as problem:
        what = f"{system_text(problem)}, and a standard stream is closed"
        raise HostError(what, streams.NOWHERE, "make that device, or open the descriptors 0, 1 and 2") from None


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
    if not any(args[: len(words)] == list(words) for words in COMMANDS):
        return _other(args)
    if args[:2] == ["receipt", "verify"]:
        from ..receipt.verify import main as verify

        return verify(args[2:])
    if args[0] == "policy":
        from .policy import main as policy

        return policy(args[1], args[2:])
    if args[0] == "self-verify":
        from .self_verify import main as self_verify

        return self_verify(args[1:])
    raise InternalError(f"nothing carries out `{' '.join(args[:2])}`")


def _other(args: list[str]) -> int:
    if args in (["--version"], ["version"]):
        say(f"aasm {__version__}")
        return OK
    if args and args[-1] in HELP and args[:-1] in ([], ["run"], ["receipt"]):
        say(usage().rstrip())
        return OK
    if args in (["policy", option] for option in HELP):
        from .policy import usage as usage_of_policy

        say(usage_of_policy().rstrip())
        return OK
    group = args[0] if args and below(args[0]) else ""
    raise UsageError(_what(args, group), remedy=f"see `aasm {group + ' ' if group else ''}--help`")


def _what(args: list[str], group: str) -> str:
    if not args:
        return "no command was given"
    if not group:
        return f"unknown command {args[0]!r}; there is: {', '.join(dict.fromkeys(words[0] for words in COMMANDS))}"
    known = below(group)
    if group == "run":
        from ..devtools import names

        known = (*names(), *known)
    what = f"unknown subcommand {args[1]!r} of {group}" if len(args) > 1 else f"{group} needs a subcommand"
    return f"{what}; there is: {', '.join(known)}"


def below(first: str) -> tuple[str, ...]:
    """Return the second words of the commands whose first word this is; none for a command that is one word."""
    return tuple(words[1] for words in COMMANDS if words[0] == first and len(words) > 1)


def usage() -> str:
    """Return the text of `aasm --help`: a line of usage for each command or group, and what it is for."""
    shown: dict[str, tuple[str, str]] = {}
    for words, (takes, says) in COMMANDS.items():
        first = words[0]
        if first in GROUPS:
            shown[first] = (f"{'|'.join(below(first))} [OPTIONS]", GROUPS[first])
        else:
            shown[" ".join(words)] = (takes, says)
    lines = [*(f"{name} {takes}".rstrip() for name, (takes, _) in shown.items()), " | ".join(ALONE)]
    commands = (f"  {name:<15}  {says} (aasm {name} --help)\n" for name, (_, says) in shown.items())
    return _USAGE_TEXT.format(usage="\n       ".join(f"aasm {line}" for line in lines), commands="".join(commands))


def say(text: str) -> None:
    """Write a line to standard output. HostError when it cannot be written, but for a reader that has left."""
    put((text + "\n").encode("utf-8", "surrogateescape"))


def put(data: bytes) -> None:
    """Write bytes to standard output, whole; see `say`."""
    if 1 in _closed:
        raise HostError("is closed", "standard output", "send it somewhere")
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
    try:
        waits = _waiting(descriptor)
        while data and waits(patience):
            data = data[os.write(descriptor, data[:PIPE_BUF]) :]
    except OSError:
        return False
    return not data


def _waiting(descriptor: int) -> Callable[[Optional[int]], object]:
    """Return what waits until a descriptor takes something; without `select` the writing itself waits."""
    try:
        import select
    except ImportError:
        return lambda patience: True
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return poll.poll
