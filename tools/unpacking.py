# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Reads zip and tar.gz archives that may be anybody's, as far as they are made like those of tools/archives.py.

Python's readers would follow links, decompress whatever they meet, and raise whatever comes up; some of their versions
can be led in a circle. So each member is looked at before it is read, and all is counted. In memory, up to LARGEST. It
must not follow, decompress or write anything but the gzip stream around a tar.
"""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
import zlib
from collections import Counter
from functools import partial
from typing import Callable, Dict, Iterator, Tuple, Union

from project import LARGEST, shown

# The bytes of a regular file; of anything else, what it is, in words that follow its name
Content = Union[bytes, str]
KINDS = {
    stat.S_IFLNK: "is a symbolic link",
    stat.S_IFDIR: "is a directory",
    stat.S_IFIFO: "is a pipe",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFCHR: "is a character device",
    stat.S_IFBLK: "is a block device",
}
MOST = 10_000  # members; a made-up size can lead tarfile back to where it was
# Members that share their bytes could come to any size.
_SHARED = f"its members are larger than it is, or more than {MOST}"
_ENCRYPTED = 1  # APPNOTE.TXT 4.4.4


def read(data: bytes, tar_gz: bool) -> Dict[str, Content]:
    """Return what is in an archive of anybody's: of each regular file the bytes, of anything else what it is.

    ValueError with one line for what is no such archive.
    """
    try:
        found = list(_of_tar(_gunzipped(data)) if tar_gz else _of_zip(data))
    except Exception as problem:  # noqa: BLE001 - a made-up archive makes these modules raise whatever comes up
        kind = "tar.gz" if tar_gz else "zip"
        raise ValueError(f"no archive of this project: {kind}: {_said(problem)}") from None
    times = Counter(name for name, _ in found)
    return {name: content if times[name] == 1 else f"stands {times[name]} times in it" for name, content in found}


def _said(problem: Exception) -> str:
    return shown(str(problem)) or type(problem).__name__


def _gunzipped(data: bytes) -> bytes:
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)  # 16: gzip, with its checksum
    found = unpacking.decompress(data, LARGEST)
    if not unpacking.eof:
        raise ValueError(f"ends too early, or holds more than {LARGEST >> 20} MiB")
    if unpacking.unused_data:
        raise ValueError("something follows the end of the gzip stream")
    return found


def _of_tar(data: bytes) -> Iterator[Tuple[str, Content]]:
    room = len(data)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for number, member in enumerate(archive):
            odd = _tar_oddity(member)
            room -= 0 if odd else max(member.size, 0)
            if number == MOST or room < 0:
                raise ValueError(_SHARED)
            yield member.name, odd or _content(partial(_bytes_of, archive, member))


def _tar_oddity(member: tarfile.TarInfo) -> str:
    if member.islnk():
        return "is a hard link"
    if member.issparse():
        return "is a sparse file"
    kinds = {tarfile.SYMTYPE: stat.S_IFLNK, tarfile.DIRTYPE: stat.S_IFDIR, tarfile.FIFOTYPE: stat.S_IFIFO,
             tarfile.CHRTYPE: stat.S_IFCHR, tarfile.BLKTYPE: stat.S_IFBLK}  # fmt: skip
    if member.type in kinds:
        return KINDS[kinds[member.type]]
    return "" if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) else "is no regular file"


def _bytes_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def _of_zip(data: bytes) -> Iterator[Tuple[str, Content]]:
    room = len(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            odd = _zip_oddity(info)
            room -= 0 if odd else info.file_size
            if room < 0:
                raise ValueError(_SHARED)
            yield info.filename, odd or _content(partial(archive.read, info))


def _zip_oddity(info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return KINDS.get(kind, "is no regular file")
    if info.is_dir():
        return KINDS[stat.S_IFDIR]
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted, which nothing of ours is"
    packed = info.compress_type != zipfile.ZIP_STORED
    return f"is compressed (method {info.compress_type}), which nothing of ours is" if packed else ""


def _content(reading: Callable[[], bytes]) -> Content:
    try:
        return reading()
    except Exception as problem:  # noqa: BLE001 - as above
        return f"cannot be read: {_said(problem)}"
