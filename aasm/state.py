# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The state directory: where it is, and how its directories and files are opened so that they can be trusted.

The one place that decides what is refused: a symbolic link, an owner other than ourselves, write permission for
anybody else, the wrong kind of file. Receipts and the ledger both go through here. Knows nothing of their contents.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Mapping, NamedTuple

from .errors import HostError, UsageError, system_text

REMEDY = "set AASM_STATE_DIR to a directory of your own, or correct this one"
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Directory(NamedTuple):
    """An open directory that passed the checks. Whoever opened it closes `descriptor`."""

    descriptor: int
    path: str


def state_dir(environ: Mapping[str, str], home: str) -> str:
    """Return the path of the state directory: $AASM_STATE_DIR, else $XDG_STATE_HOME/aasm, else ~/.local/state/aasm.

    Looks at nothing on disk. UsageError when $AASM_STATE_DIR is not absolute; a relative $XDG_STATE_HOME is ignored,
    as the XDG Base Directory Specification demands. HostError when no home directory is known either.
    """
    own, base = environ.get("AASM_STATE_DIR", ""), environ.get("XDG_STATE_HOME", "")
    if own:
        if not own.startswith("/") or ".." in own.split("/"):
            raise UsageError(f"`{own}` is not an absolute path without `..`", "AASM_STATE_DIR", "write it whole")
        return os.path.normpath(own)
    if base.startswith("/"):
        return os.path.join(base, "aasm")
    if not home.startswith("/"):
        raise HostError("no home directory is known, so there is no place for records", "HOME", "set AASM_STATE_DIR")
    return os.path.join(home, ".local", "state", "aasm")


def open_directory(path: str) -> Directory:
    """Return the state directory at `path`, created with 0700 where it is missing, checked; else HostError."""
    path = os.path.abspath(path)
    try:
        _make(path)
        descriptor = os.open(path, _OPEN_DIRECTORY)
    except OSError as problem:
        raise _refusal(problem, path, _is_link(path)) from None
    directory = _checked(Directory(descriptor, path))
    _check_above(directory)
    return directory


def foresee(path: str) -> Directory | None:
    """Return the open state directory if there is one, after its checks; else None. Changes nothing.

    HostError for what `open_directory` would refuse, as far as it can be seen without writing.
    """
    path = os.path.abspath(path)
    if os.path.lexists(path):
        return open_directory(path)
    above = os.path.dirname(path)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    foresee_new(above, path)
    return None


def foresee_new(directory: str, path: str) -> None:
    """Raise the HostError that creating `path` in `directory` would end in, as far as the modes say it."""
    try:
        expect_writable(directory)
    except OSError as problem:
        raise host_error(problem, path) from None


def expect_writable(directory: str) -> None:
    """Raise the OSError that creating something in `directory` would end in, as far as modes and mount options say."""
    os.close(os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    number = errno.EROFS if os.statvfs(directory).f_flag & os.ST_RDONLY else errno.EACCES
    if number == errno.EROFS or not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        raise OSError(number, os.strerror(number))


def foresee_file(parent: Directory, name: str, flags: int) -> int | None:
    """Return what `open_file` would for a file that is there; None when it could be made. HostError; no change."""
    path = os.path.join(parent.path, name)
    try:
        os.stat(name, dir_fd=parent.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        foresee_new(parent.path, path)
        return None
    except OSError as problem:
        raise host_error(problem, path) from None
    return _open_file(parent, name, flags)


def _check_above(directory: Directory) -> None:
    """Refuse a directory that anybody may rename away: the next run would find another one in its place."""
    mode = os.stat(os.path.dirname(directory.path)).st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        os.close(directory.descriptor)
        raise HostError("lies in a directory that everybody can write", directory.path, REMEDY)


def open_below(parent: Directory, name: str) -> Directory:
    """Return the directory `name` inside `parent`, created with 0700 where it is missing, checked; else HostError."""
    path = os.path.join(parent.path, name)
    try:
        if _mkdir(name, parent.descriptor):
            os.fsync(parent.descriptor)
        descriptor = os.open(name, _OPEN_DIRECTORY, dir_fd=parent.descriptor)
    except OSError as problem:
        raise _refusal(problem, path, _is_link(path)) from None
    return _checked(Directory(descriptor, path))


def open_file(parent: Directory, name: str, flags: int) -> int:
    """Return a descriptor of the regular file `name` inside `parent`, created with 0600, checked; else HostError."""
    return _open_file(parent, name, flags | os.O_CREAT)


def _open_file(parent: Directory, name: str, flags: int) -> int:
    path = os.path.join(parent.path, name)
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    try:
        descriptor = os.open(name, flags, 0o600, dir_fd=parent.descriptor)
    except OSError as problem:
        raise _refusal(problem, path, problem.errno == errno.ELOOP) from None
    status = os.fstat(descriptor)
    fault = _fault(status) if stat.S_ISREG(status.st_mode) else "is not a regular file"
    if fault:
        os.close(descriptor)
        raise HostError(fault, path, REMEDY)
    return descriptor


def host_error(problem: OSError, path: str) -> HostError:
    """Return the HostError that says what the system refused about `path`, and what to do."""
    if problem.errno in (errno.EMFILE, errno.ENFILE, errno.EFBIG):
        return HostError(system_text(problem), path, "raise the limits of this process (ulimit -a)")
    full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
    first = "free some space there" if full else "correct it"
    return HostError(system_text(problem), path, f"{first}, or choose another place (AASM_STATE_DIR, --receipt)")


def _make(path: str) -> None:
    """Create what is missing of `path`. Its ancestors too get 0700: nobody else has business in a state directory."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for each in reversed(missing):
        _mkdir(each)


def _mkdir(name: str, parent: int | None = None) -> bool:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def _is_link(path: str) -> bool:
    return os.path.islink(path)


def _refusal(problem: OSError, path: str, is_link: bool) -> HostError:
    if is_link:
        return HostError("is a symbolic link, which could lead anywhere tomorrow", path, REMEDY)
    return host_error(problem, path)


def _checked(directory: Directory) -> Directory:
    fault = _fault(os.fstat(directory.descriptor))
    if fault:
        os.close(directory.descriptor)
        raise HostError(fault, directory.path, REMEDY)
    return directory


def _fault(status: os.stat_result) -> str:
    if status.st_uid != os.geteuid():
        return f"belongs to the user {status.st_uid}, not to the user {os.geteuid()} who runs this"
    if status.st_mode & 0o022:
        return f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""


CANARY = "canary"


def open_canary(path: str) -> None:
    """Let the canary file exist in the state directory `path`: what a boundary must refuse is tried on it.

    No write grant ever covers the state directory, so the file is out of reach of every confined program.
    """
    directory = open_directory(path)
    try:
        canary = open_file(directory, CANARY, os.O_RDWR)
        try:
            # A program may change the mode of its user's files, and so spoil what is tried. It is not set without need:
            # that would change the ctime, by which a launch beside this one tells that its canary was touched.
            if stat.S_IMODE(os.fstat(canary).st_mode) != 0o600:
                os.fchmod(canary, 0o600)
        finally:
            os.close(canary)
    finally:
        os.close(directory.descriptor)
