# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The place of a receipt: reserved before the launch, filled once at the end, and never overwritten.

A reservation is a file with a temporary name in the very directory, open and with its space allocated, so that a
place that cannot be written is found out before anything untrusted starts. The final name appears only when the
whole receipt is on disk. Knows nothing of what a receipt says.
"""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

from .. import state
from ..errors import HostError, UsageError, system_text
from ..state import Directory, host_error, open_below, open_directory

DIRECTORY = "execution-receipts"
SUFFIX = ".execution-receipt.json"
SPACE = 64 * 1024  # bytes allocated in advance; an ordinary receipt has ten thousand

_NO_ALLOCATION = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.ENOSPC, errno.EDQUOT)


class Reservation(NamedTuple):
    """A place that is held. It ends with `write` or `abandon`, exactly one of them, which close its descriptors."""

    directory: Directory
    descriptor: int
    temporary: str
    name: str  # the final name
    dated: bool  # whether the time of recording, known only when the run is over, goes before the name


def reserve(state: str, run_id: str) -> Reservation:
    """Hold the place of the receipt of `run_id` beneath the state directory `state`; HostError when it cannot be."""
    if not run_id or not run_id.isascii() or not run_id.replace("-", "0").replace("_", "0").isalnum():
        raise UsageError(f"`{run_id}` cannot be the id of a run", "", "use letters, digits, - and _")
    parent = open_directory(state)
    try:
        directory = open_below(parent, DIRECTORY)
    finally:
        os.close(parent.descriptor)
    return _hold(directory, f"-{run_id}{SUFFIX}", True)


def foresee(parent: Directory) -> None:
    """Raise the HostError that `reserve` would raise for what is in the state directory now, and change nothing."""
    path = os.path.join(parent.path, DIRECTORY)
    if not os.path.lexists(path):
        return state.foresee_new(parent.path, path)
    found = state.foresee(path)
    if found is not None:
        os.close(found.descriptor)
        state.foresee_new(path, path)


def foresee_file(path: str) -> None:
    """Raise what `reserve_file` would raise for what is at `path`, as far as it can be seen, and change nothing."""
    os.close(_free_place(path).descriptor)
    state.foresee_new(os.path.dirname(path) or ".", path)


def reserve_file(path: str) -> Reservation:
    """Hold exactly `path`, whose directory must be there and which must not; UsageError or HostError otherwise."""
    return _hold(_free_place(path), os.path.basename(path), False)


def _free_place(path: str) -> Directory:
    """Return the open directory in which nothing of the name of `path` exists."""
    folder, name = os.path.split(path)
    if name in ("", ".", ".."):
        raise UsageError("names no file", path, "give --receipt the name of a file that does not exist yet")
    try:
        descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        remedy = "create the directory, or name another one"
        raise UsageError(f"the directory of the receipt: {system_text(problem)}", path, remedy) from None
    try:
        if _exists(descriptor, name):
            raise UsageError("exists already, and a receipt overwrites nothing", path, "name another file")
    except OSError as problem:
        os.close(descriptor)
        raise host_error(problem, path) from None
    except UsageError:
        os.close(descriptor)
        raise
    return Directory(descriptor, folder or ".")


def write(reservation: Reservation, data: bytes, recorded_at: int) -> str:
    """Fill the place with `data`, give it its name, and return its path. The reservation is over afterwards.

    `recorded_at`, in seconds since 1970, begins the name in the default place. HostError when it fails; a file that
    took the name in the meantime is left alone, and the receipt stays under its temporary name.
    """
    name = f"{recorded_at}{reservation.name}" if reservation.dated else reservation.name
    path = os.path.join(reservation.directory.path, name)
    keep = False
    try:
        _fill(reservation.descriptor, data)
        _expect_ours(reservation)
        keep = True
        _give_name(reservation, name)
        os.fsync(reservation.directory.descriptor)
    except FileExistsError:
        kept = os.path.join(reservation.directory.path, reservation.temporary)
        raise HostError("exists already, and a receipt overwrites nothing", path, f"it was kept as {kept}") from None
    except OSError as problem:
        kept = f" (it was kept as {os.path.join(reservation.directory.path, reservation.temporary)})" if keep else ""
        raise host_error(problem, path + kept) from None
    finally:
        _release(reservation, remove=not keep)
    return path


def abandon(reservation: Reservation) -> None:
    """Give the place up and remove what was put there. Never raises: the launch has ended for another reason."""
    _release(reservation, remove=True)


def _hold(directory: Directory, name: str, dated: bool) -> Reservation:
    temporary = f".aasm-{os.urandom(8).hex()}.reserved"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    where = directory.path if dated else os.path.join(directory.path, name)
    try:
        descriptor = os.open(temporary, flags, 0o600, dir_fd=directory.descriptor)
    except OSError as problem:
        os.close(directory.descriptor)
        raise host_error(problem, where) from None
    reservation = Reservation(directory, descriptor, temporary, name, dated)
    try:
        os.fchmod(descriptor, 0o600)  # whatever the umask took away
        _allocate(descriptor)
    except OSError as problem:
        abandon(reservation)
        raise host_error(problem, where) from None
    return reservation


def _allocate(descriptor: int) -> None:
    try:
        os.posix_fallocate(descriptor, 0, SPACE)
    except OSError as problem:
        if problem.errno not in _NO_ALLOCATION:
            raise
        _write_all(descriptor, b"\0" * SPACE)  # where the file system cannot allocate, it can write


def _fill(descriptor: int, data: bytes) -> None:
    _write_all(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    done = 0
    while done < len(data):
        done += os.pwrite(descriptor, data[done:], done)


def _expect_ours(reservation: Reservation) -> None:
    """Raise OSError unless the temporary name still leads to the file that was reserved."""
    found = os.stat(reservation.temporary, dir_fd=reservation.directory.descriptor, follow_symlinks=False)
    if not os.path.samestat(found, os.fstat(reservation.descriptor)):
        raise OSError(errno.ESTALE, "the reserved file was replaced while the program ran")


def _give_name(reservation: Reservation, name: str) -> None:
    """Give the file its final name without ever replacing another file, and take the temporary one away."""
    folder, temporary = reservation.directory.descriptor, reservation.temporary
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        if _exists(folder, name):  # not atomic, but only where the file system has no links
            raise FileExistsError(errno.EEXIST, "exists already") from None
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(temporary, dir_fd=folder)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _release(reservation: Reservation, remove: bool) -> None:
    if remove:
        try:
            os.unlink(reservation.temporary, dir_fd=reservation.directory.descriptor)
        except OSError:
            pass  # an empty file with a temporary name harms nobody; the real reason is already on its way
    os.close(reservation.descriptor)
    os.close(reservation.directory.descriptor)
