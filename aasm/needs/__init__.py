# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a program needs before its first line: interpreters, loader, libraries. Read from the files; nothing is run.

Follows execve(2), exec(3) and ld.so(8). Not looked at, since a boundary replaces the environment: LD_LIBRARY_PATH,
LD_PRELOAD and the loader's other variables. Not followed: binfmt_misc, DT_AUDIT, and the directories for kinds of
processors that glibc had before glibc-hwcaps. What a program opens once it runs is not part of this.
"""

from __future__ import annotations

from typing import Iterator

from ..errors import InternalError
from .elf import Unclear
from .execve import Start, follow, opened
from .listing import OPTIONAL, File, Listing, Need

__all__ = ["OPTIONAL", "File", "Need", "Unclear", "needs", "opened_by_execve"]


def needs(program: str, path: str, cwd: str) -> tuple[Need, ...]:
    """Return every file that kernel and loader open before the first line of `program` runs, in order, each once.

    `program` is looked up as execvp(3) does it: in `path` (what PATH holds) when it has no slash, else relative to
    `cwd` (absolute). Raises UsageError when there is no such program; HostError for a file that cannot be read, or
    that kernel or loader refuse: damaged, for another machine, neither program nor script.
    """
    if not cwd.startswith("/"):
        raise InternalError(f"the working directory {cwd} is not absolute", "needs")
    listing = Listing()
    follow(Start(program, path, cwd, "the program itself"), listing)
    return tuple(listing.found.values())


def opened_by_execve(path: str, cwd: str) -> Iterator[File]:
    """Yield what the kernel opens to execute `path` (absolute), in order: scripts, the program, its loader.

    It ends with the first that is `missing`. Raises HostError where the kernel would refuse, Unclear (one of those)
    where only the contents are at fault or cannot be read; both after what comes before was yielded.
    """
    return opened(path, Start(path, "", cwd, "the program itself"))
