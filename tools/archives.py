# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Writes zip and tar.gz archives that depend on nothing but what is in them and one stated time, and compares them.

Order, owner, mode and system are fixed, and nothing is compressed: what a compressor makes differs between versions of
zlib. All in memory; the one function that writes a file puts it in place whole. It must not decide what goes in.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import struct
import tarfile
import time
import zipfile
import zlib
from typing import Dict, Iterable, List, Mapping

from project import Entry, shown
from unpacking import read

# What the format can state: 1980-01-01 to 2107-12-31 (APPNOTE.TXT 4.4.6, the MS-DOS date)
EARLIEST, LATEST = 315532800, 4354819198
STORED_BLOCK = 65535  # RFC 1951, 3.2.4: the most bytes that one stored block holds
PROGRAM, DATA = 0o755, 0o644


def mode(entry: Entry) -> int:
    """Return the mode of a file: what begins with `#!` can be executed, nothing else."""
    return PROGRAM if entry.data.startswith(b"#!") else DATA


def zip_bytes(entries: Iterable[Entry], date: int, before: bytes = b"") -> bytes:
    """Return a zip archive of stored entries, all of the time `date` (seconds since 1970), with `before` in front."""
    buffer = io.BytesIO()
    buffer.write(before)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, time.gmtime(date)[:6])
            info.create_system = 3  # Unix, also where it is built elsewhere
            info.external_attr = (0o100000 | mode(entry)) << 16
            archive.writestr(info, entry.data)
    return buffer.getvalue()


def tar_gz_bytes(folder: str, entries: Iterable[Entry], date: int) -> bytes:
    """Return a tar.gz archive of the entries beneath `folder`, sorted by name, all of root and of the time `date`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in sorted(entries):
            info = tarfile.TarInfo(f"{folder}/{entry.name}")
            info.size, info.mode, info.mtime = len(entry.data), mode(entry), date
            archive.addfile(info, io.BytesIO(entry.data))
    return gzip_stored(buffer.getvalue())


def gzip_stored(data: bytes) -> bytes:
    """Return `data` as a gzip file (RFC 1952) of stored blocks, without name and time."""
    blocks = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"]
    for start in range(0, max(len(data), 1), STORED_BLOCK):
        block = data[start : start + STORED_BLOCK]
        last = start + STORED_BLOCK >= len(data)
        blocks.append(struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    blocks.append(struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF))
    return b"".join(blocks)


def members(data: bytes) -> Dict[str, bytes]:
    """Return what is in an archive that one of the two functions above wrote. ValueError for anything else."""
    found: Dict[str, bytes] = {}
    for name, content in read(data, is_tar_gz(data)).items():
        if isinstance(content, str):
            raise ValueError(f"no archive of this project: {shown(name)}: {content}")
        found[name] = content
    return found


def is_tar_gz(data: bytes) -> bool:
    """Say which of the two kinds an archive of ours is."""
    return data.startswith(b"\x1f\x8b")


def differences(ours: bytes, theirs: bytes) -> List[str]:
    """Say in which members an archive of ours and one of anybody's differ; ValueError where that cannot be said.

    Nothing to say when only their order, times or modes do. Each line is ASCII, whatever the names are.
    """
    one, two = members(ours), read(theirs, is_tar_gz(ours))
    found = [(name, "is missing") for name in one.keys() - two.keys()]
    for name, content in two.items():
        if isinstance(content, str):
            found.append((name, content))
        elif one.get(name) != content:
            found.append((name, "differs" if name in one else "is too much"))
    return [f"{shown(name)}: {what}" for name, what in sorted(found)]


def write_whole(path: str, data: bytes, permissions: int = DATA) -> None:
    """Write a file whole or not at all, and replace what is there; the umask does not count. OSError as it comes."""
    write_all(os.path.dirname(path), {os.path.basename(path): data}, {}, permissions)


def write_all(directory: str, files: Mapping[str, bytes], modes: Mapping[str, int], otherwise: int) -> None:
    """Write all of `files` into a directory under other names, then put them in place, whatever was there; or none.

    `modes` are those of some of them. OSError as it comes. Whatever ends it leaves none of the other names behind; what
    ends it between two of the last steps leaves some of the files in place, each of them whole.
    """
    passing = {name: os.path.join(directory, f".{name}.{os.getpid()}.new") for name in files}
    for name in files:
        if os.path.isdir(os.path.join(directory, name)):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.path.join(directory, name))
    with contextlib.ExitStack() as cleaning:  # each is taken away, also where that fails for another or is interrupted
        for path in passing.values():
            cleaning.callback(_remove, path)
        for name, data in files.items():
            write_new(passing[name], data, modes.get(name, otherwise))
        for name in files:
            os.replace(passing[name], os.path.join(directory, name))


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def write_new(path: str, data: bytes, permissions: int, lasting: bool = False) -> None:
    """Write a file where there is none; the umask does not count. `lasting`: power may fail once it returns.

    OSError that names the file; what was begun is then left to the caller, who alone knows what else to take back.
    """
    try:
        with open(path, "xb") as file:
            file.write(data)
            file.flush()  # whole before anybody may execute it
            os.fchmod(file.fileno(), permissions)
            if lasting:
                os.fsync(file.fileno())
    except OSError as problem:  # one of write(2) names no file
        raise OSError(problem.errno, problem.strerror, path) from None
