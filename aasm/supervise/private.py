# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The private directory of one run: HOME, TMPDIR and the XDG directories of a confined program."""

from __future__ import annotations

import os
import stat

from ..errors import HostError, system_text
from ..state import expect_writable

HOME, TEMPORARY, RUNTIME = "home", "tmp", "run"


def parent(environ_tmpdir: str | None) -> str:
    """Return the system's temporary directory: TMPDIR where it is absolute, else /tmp, without symbolic links."""
    chosen = environ_tmpdir if environ_tmpdir and os.path.isabs(environ_tmpdir) else "/tmp"
    return os.path.realpath(chosen)


def foresee(directory: str) -> None:
    """Raise the HostError that `create` would raise, as far as it can be seen without writing. Changes nothing."""
    try:
        expect_writable(directory)
    except OSError as problem:
        raise _impossible(system_text(problem), directory) from None


def _impossible(why: str, directory: str) -> HostError:
    remedy = "point TMPDIR at a directory with room that you can write"
    return HostError(f"no private directory can be made: {why}", directory, remedy)


def create(directory: str) -> str:
    """Create the private directory (0700) in `directory` and return its path. Raises HostError."""
    path = os.path.join(directory, f"aasm-{os.urandom(8).hex()}")
    try:
        os.mkdir(path, 0o700)
    except OSError as problem:
        raise _impossible(system_text(problem), directory) from None
    try:
        for name in (HOME, TEMPORARY, RUNTIME):
            os.mkdir(os.path.join(path, name), 0o700)
    except OSError as problem:
        remove(path)
        raise _impossible(system_text(problem), directory) from None
    return path


def variables(path: str, home: str | None) -> dict[bytes, bytes]:
    """Return the variables that point into the private directory; `home` keeps HOME and XDG_* at the real home."""
    inside = home or os.path.join(path, HOME)
    found = {"HOME": inside, "TMPDIR": os.path.join(path, TEMPORARY), "XDG_RUNTIME_DIR": os.path.join(path, RUNTIME)}
    if home is None:
        found.update(
            XDG_CACHE_HOME=os.path.join(inside, ".cache"),
            XDG_CONFIG_HOME=os.path.join(inside, ".config"),
            XDG_DATA_HOME=os.path.join(inside, ".local", "share"),
            XDG_STATE_HOME=os.path.join(inside, ".local", "state"),
        )
    return {os.fsencode(name): os.fsencode(value) for name, value in found.items()}


def remove(path: str) -> None:
    """Remove the private directory with all that the program left in it. Raises OSError.

    Nothing of the run is alive any more. A tree may be deeper than any path or recursion could follow, so
    subdirectories are emptied into the top instead of being descended into.
    """
    if stat.S_ISDIR(os.lstat(path).st_mode):
        os.chmod(path, 0o700)  # the program may have taken our own rights away
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        moved = 0
        while True:
            names = os.listdir(top)
            if not names:
                break
            for name in names:
                moved = _dissolve(top, name, moved)
    finally:
        os.close(top)
    os.rmdir(path)


def _dissolve(top: int, name: str, moved: int) -> int:
    if not _is_directory(top, name):
        os.unlink(name, dir_fd=top)
        return moved
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
    try:
        for child in os.listdir(inner):
            if _is_directory(inner, child):
                os.chmod(child, 0o700, dir_fd=inner)  # moving a directory needs the right to write in it
                moved = _move_up(inner, child, top, moved)
            else:
                os.unlink(child, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
    return moved


def _move_up(inner: int, child: str, top: int, moved: int) -> int:
    while True:
        moved += 1
        try:
            os.stat(f"aasm.{moved}", dir_fd=top, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(child, f"aasm.{moved}", src_dir_fd=inner, dst_dir_fd=top)
            return moved


def _is_directory(directory: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
