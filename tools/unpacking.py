# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Reads zip and tar.gz archives that may be anybody's, as far as they are made like those of tools/archives.py.

Python's own readers follow links, decompress whatever they meet, and some of their versions can be kept busy for ever.
So the few forms that ours have are read here, in one pass, and all else is named. From bytes to values; a tar.gz may
take LARGEST of memory twice, a zip archive as much as it is long. It must not follow, unpack or write anything.
"""

from __future__ import annotations

import re
import stat
import struct
import zlib
from collections import Counter
from typing import Any, Dict, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

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

# POSIX.1-2001, pax, "ustar Interchange Format": a header and what follows it fill whole blocks
_BLOCK = 512
_TYPES = {
    b"1": "is a hard link",
    b"2": KINDS[stat.S_IFLNK],
    b"3": KINDS[stat.S_IFCHR],
    b"4": KINDS[stat.S_IFBLK],
    b"5": KINDS[stat.S_IFDIR],
    b"6": KINDS[stat.S_IFIFO],
}
_ABOUT_THE_FILE = {b"path", b"mtime", b"atime", b"ctime", b"uid", b"gid", b"uname", b"gname", b"comment"}

# APPNOTE.TXT 4.3.7, 4.3.12 and 4.3.16: local header, central header, end of central directory
_LOCAL, _CENTRAL, _END = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L"), struct.Struct("<4s4H2LH")
_ENCRYPTED = 1


class _Row(NamedTuple):
    """The fields of a central header, in their order; `name`, `extra` and `comment` are lengths."""

    sign: bytes
    made_by: int
    needs: int
    flags: int
    method: int
    time: int
    date: int
    checksum: int
    packed: int
    size: int
    name: int
    extra: int
    comment: int
    disk: int
    inside: int
    attributes: int
    offset: int


def read(data: bytes, tar_gz: bool) -> Dict[str, Content]:
    """Return what is in an archive of anybody's: of each regular file the bytes, of anything else what it is.

    Nothing is followed, and nothing decompressed but a tar.gz as a whole, up to LARGEST. ValueError with one line for
    what is no such archive, or so unlike ours that it cannot be said what is in it.
    """
    try:
        found = list(_of_tar(_gunzipped(data)) if tar_gz else _of_zip(data))
    except ValueError as problem:
        raise ValueError(f"no archive of this project: {'tar.gz' if tar_gz else 'zip'}: {problem}") from None
    times = Counter(name for name, _ in found)
    return {name: content if times[name] == 1 else f"stands {times[name]} times in it" for name, content in found}


def _gunzipped(data: bytes) -> bytes:
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)  # 16: gzip, with its checksum
    try:
        found = unpacking.decompress(data, LARGEST)
    except zlib.error as problem:
        raise ValueError(f"no gzip: {problem}") from None
    if not unpacking.eof:
        raise ValueError(f"ends too early, or holds more than {LARGEST >> 20} MiB")
    if unpacking.unused_data:
        raise ValueError("something follows the end of the gzip stream")
    return found


def _of_tar(data: bytes) -> Iterator[Tuple[str, Content]]:
    at, more = 0, {}
    while True:
        header = data[at : at + _BLOCK]
        if header == bytes(_BLOCK):
            return
        start, kind, size = at + _BLOCK, header[156:157], _tar_size(header, at)
        content = data[start : start + size]
        if len(content) < size:
            raise ValueError(f"ends within the member at byte {at}")
        at = start + -(-size // _BLOCK) * _BLOCK
        if kind == b"x":  # the next member's, with what its own header has no room for
            more = _pax(content, start)
        else:
            name = more.get(b"path", _tar_name(header))
            yield _text(name), _tar_oddity(kind, name, more) or content
            more = {}


def _tar_size(header: bytes, at: int) -> int:
    """Return how many bytes follow a header of a tar archive: none behind a link, a directory or a device."""
    check, size = (_octal(header[start:end]) for start, end in ((148, 156), (124, 136)))
    if len(header) < _BLOCK or size is None or check != sum(header[:148]) + sum(header[156:]) + 8 * ord(" "):
        raise ValueError(f"no header of a member at byte {at}")
    return 0 if header[156:157] in _TYPES else size


def _octal(field: bytes) -> Optional[int]:
    found = re.fullmatch(rb" *([0-7]+)[ \0]*", field)
    return int(found[1], 8) if found else None


def _tar_name(header: bytes) -> bytes:
    name, prefix = (field.split(b"\0")[0] for field in (header[:100], header[345:500]))
    return prefix + b"/" + name if prefix and header[257:263] == b"ustar\0" else name


def _tar_oddity(kind: bytes, name: bytes, more: Mapping[bytes, bytes]) -> str:
    """Say what a member of a tar archive is that is no regular file; nothing of one that is."""
    if kind not in (b"0", b"\0"):
        return _TYPES.get(kind, f"is of a type that ours never have: {shown(_text(kind))}")
    unknown = sorted(more.keys() - _ABOUT_THE_FILE)  # a reader may take another size by one, or another content
    if unknown:
        return f"has a header that ours never have: {shown(_text(unknown[0]))}"
    return KINDS[stat.S_IFDIR] if name.endswith(b"/") else ""


def _pax(content: bytes, at: int) -> Dict[bytes, bytes]:
    """Return the records of an extended header: `LENGTH KEY=VALUE` and a line feed, where all of it is LENGTH long."""
    found: Dict[bytes, bytes] = {}
    start = 0
    while start < len(content):
        record = re.compile(rb"([1-9][0-9]{0,8}) ([^=\n]+)=").match(content, start)
        end = start + int(record[1]) if record else 0
        if not record or end <= record.end() or content[end - 1 : end] != b"\n":
            raise ValueError(f"no extended header at byte {at}")
        found[record[2]] = content[record.end() : end - 1]
        start = end
    return found


def _of_zip(data: bytes) -> Iterator[Tuple[str, Content]]:
    end = len(data) - _END.size
    sign, _, _, _, count, size, offset, comment = _unpacked(_END, data, end)
    first = end - size
    moved = first - offset  # somebody put that much in front, and all offsets are wrong by it
    if sign != b"PK\5\6" or comment or first < 0 or moved < 0:
        raise ValueError("does not end with the end of a central directory")
    at, room = first, first
    for _ in range(count):
        row = _Row(*_unpacked(_CENTRAL, data, at))
        name = data[at + _CENTRAL.size : at + _CENTRAL.size + row.name]
        at, room = at + _CENTRAL.size + row.name + row.extra + row.comment, room - row.packed
        if row.sign != b"PK\1\2" or at > end or room < 0:  # members that share bytes could come to any size
            raise ValueError("its central directory is broken, or its members overlap")
        yield _text(name), _zip_oddity(row, name) or _stored(data, row, name, range(row.offset + moved, first))
    if at != end:
        raise ValueError("its central directory is longer than its entries")


def _unpacked(form: struct.Struct, data: bytes, at: int) -> Tuple[Any, ...]:
    if not 0 <= at <= len(data) - form.size:
        raise ValueError("ends too early")
    return form.unpack_from(data, at)


def _zip_oddity(row: _Row, name: bytes) -> str:
    """Say what a member of a zip archive is that is no regular file, stored as it is; nothing of one that is."""
    kind = stat.S_IFMT(row.attributes >> 16)
    if kind not in (0, stat.S_IFREG):
        return KINDS.get(kind, "is no regular file")
    if name.endswith(b"/"):
        return KINDS[stat.S_IFDIR]
    if row.flags & _ENCRYPTED:
        return "is encrypted, which nothing of ours is"
    packed = row.method or row.packed != row.size
    return f"is compressed (method {row.method}), which nothing of ours is" if packed else ""


def _stored(data: bytes, row: _Row, name: bytes, place: range) -> Content:
    """Return what a member of a zip archive holds: its own header, its name and its bytes lie in `place`."""
    if place.start + _LOCAL.size > place.stop:
        return "lies where no member can"
    sign, *own, length, extra = _unpacked(_LOCAL, data, place.start)
    after = place.start + _LOCAL.size + length
    start = after + extra
    if sign != b"PK\3\4" or start + row.size > place.stop:
        return "lies where no member can"
    if data[after - length : after] != name or tuple(own) != row[2:10]:  # one reader goes by it, another by the row
        return "has a header that says something else than the central directory"
    content = data[start : start + row.size]
    return content if zlib.crc32(content) == row.checksum else "has another checksum than it says"


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
