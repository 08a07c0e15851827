# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a program needs before its first line: interpreters, loader, libraries. Read from the files; nothing is run.

Follows execve(2), exec(3) and ld.so(8), with LD_LIBRARY_PATH and LD_PRELOAD where a policy passes them on. Of the
loader's other variables those that make it take other files are listed as not known. Not followed: binfmt_misc,
DT_AUDIT, the directories for kinds of processors that glibc had before glibc-hwcaps, and what an $ORIGIN is worth in
secure-execution mode. What a program opens once it runs is not part of this.

Modes and capabilities are those of this process: ask as the user, and with the capabilities, of the program.
"""

from __future__ import annotations

import os
from typing import Iterator, Mapping

from ..errors import HostError, InternalError
from .elf import Unclear
from .execve import Start, follow, opened
from .listing import OPTIONAL, File, Listing, May, Need, anything

__all__ = ["OPTIONAL", "File", "May", "Need", "Unclear", "needs", "opened_by_execve", "takes_other_formats"]

_ITSELF = "the program itself"


def needs(
    program: str, path: str, cwd: str, variables: Mapping[str, str] | None = None, may: May = anything
) -> tuple[Need, ...]:
    """Return every file that kernel and loader open before the first line of `program` runs, in order, each once.

    `program` is looked up as execvp(3) does it: in `path` when it has no slash, else relative to `cwd` (absolute).
    `variables` is the environment that it gets, PATH alone when there is none. `may` says which files can be opened:
    one that cannot is passed over where execvp or the loader does so, and listed only where no other takes its place.
    Raises UsageError when there is no such program; HostError for a file that cannot be read, or that kernel or
    loader refuse: damaged, for another machine, neither program nor script.
    """
    if not cwd.startswith("/"):
        raise InternalError(f"the working directory {cwd} is not absolute", "needs")
    listing = Listing(may)
    follow(Start(program, path, cwd, _ITSELF, {"PATH": path} if variables is None else variables), listing)
    return tuple(listing.found.values())


def opened_by_execve(path: str, cwd: str) -> Iterator[File]:
    """Yield what the kernel opens to execute `path` (absolute), in order: scripts, the program, its loader.

    It ends with the first that is `missing`. Raises HostError where the kernel would refuse, Unclear (one of those)
    where only the contents are at fault or cannot be read; both after what comes before was yielded.
    """
    refused = None
    for file in opened(path, Start(path, "", cwd, _ITSELF)):
        yield file
        refused = refused or (file if file.refused else None)
    if refused:
        raise HostError(refused.refused, refused.path, "take the capabilities from the file: setcap -r")


def takes_other_formats() -> bool:
    """Say whether the kernel may hand a file that is no program to one that was registered for it (binfmt_misc).

    So it is where that cannot be found out: another mount namespace may have registered one.
    """
    try:
        found = set(os.listdir("/proc/sys/fs/binfmt_misc"))
        if "status" in found:
            return bool(found - {"register", "status"})
        with open("/proc/filesystems", "rb") as stream:
            return b"binfmt_misc" in stream.read().split()
    except OSError:
        return True
