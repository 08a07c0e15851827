# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one execve opens, and what env starts then: scripts, their interpreters, the program, its loader.

Follows execve(2), exec(3), and the kernel's fs/exec.c and fs/binfmt_elf.c.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import Iterator, Mapping, NamedTuple

from ..errors import HostError, UsageError, system_text
from . import elf, filecaps
from .elf import Unclear
from .firstline import DEFAULT_PATH, FIRST_BYTES, FirstLine, env_command, first_line
from .linking import Linker
from .listing import NOT_THERE, File, Listing, May, absolute, anything, reading

_MOST_SCRIPTS = 5  # in a row: exec_binprm() of fs/exec.c
_MOST_STARTS = 16  # programs that env starts, one after the other; more are taken for a circle
# uname -m: the class and the e_machine of its own programs. Others may start there, the older 32-bit ones, and every
# boundary kills them at their first system call: a filter knows the numbers of one machine.
_HOSTS = {"x86_64": (64, 62), "aarch64": (64, 183), "riscv64": (64, 243)}
_NO_FILE, _NO_RIGHT, _NO_PATH = "is not a regular file", "is not executable", "cannot be a path"
# Why execvp and the launcher go on to the next directory: execve says ENOENT, ENOTDIR or EACCES. Else the search ends.
_ABSENT = tuple(os.strerror(number) for number in (errno.ENOENT, errno.ENOTDIR))
_PASSED_OVER = (*_ABSENT, os.strerror(errno.EACCES), _NO_FILE, _NO_RIGHT, _NO_PATH)


class Start(NamedTuple):
    """What execvp is asked for. `shell`: a file of unknown kind goes to /bin/sh, as execvp itself does it."""

    name: str
    path: str
    cwd: str
    why: str
    variables: Mapping[str, str] = {}
    shell: bool = False


class _Denied(HostError):
    """The modes of a file or the boundary refuse it: execve says EACCES."""


def _candidates(start: Start) -> list[str]:
    if "/" in start.name or not start.name:
        return [absolute(start.name, start.cwd)] if start.name else []
    return [os.path.join(absolute(folder, start.cwd), start.name) for folder in start.path.split(":")]


def _unusable(path: str) -> str:
    """Return why execvp passes over a candidate, "" when it does not."""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as problem:  # ValueError: a character that no path can hold
        return system_text(problem) if isinstance(problem, OSError) else _NO_PATH
    if not stat.S_ISREG(found.st_mode):
        return _NO_FILE
    return "" if os.access(path, os.X_OK) else _NO_RIGHT


def opened(path: str, start: Start, may: May = anything) -> Iterator[File]:
    """Yield what execve opens for `path`, in order: scripts, the program, the loader. It ends at the first that lacks.

    Raises HostError, once it has yielded what comes before: Unclear where only the contents are at fault.
    """
    file, scripts = _file(path, start.why, may, start.shell), 0
    yield file
    while file.line:
        scripts += 1
        if scripts > _MOST_SCRIPTS:
            raise HostError(f"more than {_MOST_SCRIPTS} scripts in a row", path, "name a program as interpreter")
        file = _file(absolute(file.line.interpreter, start.cwd), f"interpreter of {file.path}", may)
        yield file
    if file.loader:
        loader = _file(absolute(file.loader, start.cwd), f"loader of {file.path}", may)
        loader = loader._replace(refused="", guarded=False)  # the capabilities of the program are the ones that count
        if loader.kind != file.kind and not loader.missing:
            raise Unclear(f"cannot be the loader of {file.path}", loader.path, "install one of the same kind")
        yield loader


def _file(path: str, why: str, may: May, shell: bool = False) -> File:
    """Return what execve finds at `path`."""
    reason = _unusable(path)
    if reason in NOT_THERE:
        return File(path, why, missing=reason)
    if reason or not may(path, "execute"):
        raise _Denied(reason or _NO_RIGHT, path, f"put a program there that may be executed: it is the {why}")
    with reading(path) as read:
        head = read(0, FIRST_BYTES)
        kind = elf.kind_of(head)
        if kind is not None:
            _expect_own_machine(path, kind)
            loader = elf.loader_of(read, path)
            dynamic = elf.dynamic_of(read, path) if loader else elf.Dynamic()
            return _with_capabilities(File(path, why, kind=kind, loader=loader, dynamic=dynamic))
    line = first_line(head) if head[:2] == b"#!" else FirstLine("/bin/sh", "") if shell else None
    if line is None:
        what = "has a first line without an interpreter" if head[:2] == b"#!" else "is neither an ELF file nor a script"
        raise Unclear(what, path, "begin it with #! and the path of its interpreter")
    return File(path, why, line=line)


def _with_capabilities(file: File) -> File:
    found = filecaps.of_file(file.path)
    names = ", ".join(filecaps.lacking(found, filecaps.of_this_process())) if found.effective else ""
    refused = f"its file has {names}, which no program of a launch could get here, so execve(2) fails"
    return file._replace(refused=refused if names else "", guarded=filecaps.guarded(found))


def _expect_own_machine(path: str, kind: elf.Kind) -> None:
    own, order = os.uname().machine, "<" if sys.byteorder == "little" else ">"
    if kind.order != order or (kind.bits, kind.machine) != _HOSTS.get(own, (kind.bits, kind.machine)):
        name = elf.MACHINES.get(kind.machine, f"ELF machine {kind.machine}") + f" of {kind.bits} bits"
        raise Unclear(f"is for another machine ({name}) than this one ({own})", path, f"install it for {own}")


def follow(start: Start, listing: Listing) -> None:
    """Add what `start` needs, and what is started in turn by an env that its first line names."""
    scripts: list[File] = []
    for _ in range(_MOST_STARTS):
        files = _choose(start, listing)
        if not files and not listing.found:
            raise _not_found(start)
        if not files:
            return listing.add(start.name, "execute", start.why, "no directory of PATH has it")
        for file in files:
            listing.add(file.path, "execute", file.why, file.missing, file.refused)
        if files[-1].missing:
            return None
        own = [file for file in files if file.line]
        scripts += own
        program = files[len(own)]
        if program.loader:
            Linker(listing, program, files[-1], start.cwd, {} if program.guarded else start.variables).run()
        following = _started_by_env(own[-1], start) if own else None
        if following is None:
            for script in reversed(scripts):
                listing.add(script.path, "read", "the script itself, which its interpreter reads")
            return None
        start = following
    raise HostError("is started by its own first line, without an end", scripts[-1].path, "name an interpreter")


def _choose(start: Start, listing: Listing) -> list[File]:
    """Return the chain of the candidate that execvp executes, or of the first that it would if it could; maybe none."""
    lacking = ""
    for candidate in _candidates(start):
        listing.spend(start.name)
        reason = _unusable(candidate)
        if reason and reason not in _PASSED_OVER:
            break
        files = [] if reason else _permitted(candidate, start, listing.may)
        if files and files[-1].missing not in _ABSENT:
            return files
        lacking = lacking or (candidate if not reason else "")
    return list(opened(lacking, start)) if lacking else []


def _permitted(candidate: str, start: Start, may: May) -> list[File]:
    """Return the chain of a candidate; none where execve says EACCES about any part of it."""
    try:
        return list(opened(candidate, start, may))
    except _Denied:
        return []


def _not_found(start: Start) -> UsageError:
    for candidate in _candidates(start):
        reason = _unusable(candidate)
        if reason not in NOT_THERE:
            return UsageError(reason, candidate, "name a file that may be executed, or chmod +x it")
    return UsageError("not found", start.name or "the empty name", "name a program that exists, or give its path")


def _started_by_env(script: File, start: Start) -> Start | None:
    line = script.line
    if line is None or os.path.basename(line.interpreter) != "env":
        return None
    try:
        command = env_command(line.argument)
    except ValueError as problem:
        what = f"has a first line that cannot be followed: {problem}"
        raise HostError(what, script.path, "name its interpreter there") from None
    cwd = absolute(command.folder, start.cwd) if command.folder else start.cwd
    variables, why = command.variables(start.variables), f"env looks for it, for {script.path}"
    path = variables.get("PATH", DEFAULT_PATH)
    return Start(command.program or script.path, path, cwd, why, variables, shell=True)
