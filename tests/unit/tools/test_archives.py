# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Archives: what is read of anybody's, that nothing in one is followed or unpacked, and files that are put in place."""

from __future__ import annotations

import gzip
import io
import os
import random
import struct
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import archives
import build_backend
import pytest
import unpacking
from archives import EARLIEST, differences, members, tar_gz_bytes, write_whole, zip_bytes
from project import ROOT, Entry

ENTRIES = [
    Entry("aasm/__init__.py", b"one\n"),
    Entry("aasm/empty.py", b""),
    Entry("docs/" + "long/" * 30 + "name", b"#!/bin/sh\n" * 100),
    Entry("zw\u00f6lf", bytes(range(256)) * 3),
]
ZIP, PYZ = zip_bytes(ENTRIES, EARLIEST), zip_bytes(ENTRIES, EARLIEST, b"#!x\n")
TAR = tar_gz_bytes("f", ENTRIES, EARLIEST)


# --- what is read -------------------------------------------------------------------------------------


def in_tar(data: bytes) -> Dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {one.name: (archive.extractfile(one) or io.BytesIO()).read() for one in archive.getmembers()}


def in_zip(data: bytes) -> Dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_is_read_is_what_the_readers_of_python_read() -> None:
    assert members(ZIP) == in_zip(ZIP) == dict(ENTRIES) == members(PYZ) == members(b"in front" + PYZ)
    assert members(TAR) == in_tar(TAR) == {f"f/{name}": data for name, data in ENTRIES}
    made = build_backend.wheel(ROOT), build_backend.pyz(ROOT), build_backend.sdist(ROOT)
    assert [members(data) for data in made] == [in_zip(made[0]), in_zip(made[1]), in_tar(made[2])]


def test_archives_differ_in_the_members_that_are_named() -> None:
    one, two = ([Entry("a", b"1"), Entry("b", b"2")], [Entry("b", b"3"), Entry("c", b"4")])
    expected = ["a: is missing", "b: differs", "c: is too much"]
    assert differences(zip_bytes(one, EARLIEST), zip_bytes(two, EARLIEST)) == expected
    packed = tar_gz_bytes("f", one, EARLIEST), tar_gz_bytes("f", two, EARLIEST)
    assert differences(*packed) == [f"f/{line}" for line in expected]
    assert differences(zip_bytes(one, EARLIEST), zip_bytes(one[::-1], EARLIEST + 9)) == []
    with pytest.raises(ValueError, match="no archive of this project"):
        members(b"\x1f\x8b nothing")


# --- archives of somebody else ------------------------------------------------------------------------


def with_tar(*more: Tuple[str, Dict[str, Any]]) -> bytes:
    """Return TAR written again by tarfile, compressed, with some members more that have these fields."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(TAR)) as old, tarfile.open(fileobj=buffer, mode="w:gz") as new:
        for info in old.getmembers():
            new.addfile(info, old.extractfile(info))
        for name, fields in more:
            info = tarfile.TarInfo(name)
            for key, value in fields.items():
                setattr(info, key, value)
            new.addfile(info, io.BytesIO(bytes(info.size)))
    return buffer.getvalue()


TYPES = [
    (tarfile.SYMTYPE, "is a symbolic link"),
    (tarfile.LNKTYPE, "is a hard link"),
    (tarfile.DIRTYPE, "is a directory"),
    (tarfile.FIFOTYPE, "is a pipe"),
    (tarfile.CHRTYPE, "is a character device"),
    (tarfile.BLKTYPE, "is a block device"),
    (tarfile.CONTTYPE, "is no regular file"),
    (tarfile.GNUTYPE_SPARSE, "is a sparse file"),
]


@pytest.mark.parametrize(("kind", "said"), TYPES, ids=[said for _, said in TYPES])
@pytest.mark.parametrize("target", ["/etc", "nowhere", "f/zw\u00f6lf", "l"])
def test_a_member_of_a_tar_that_is_no_file_is_named_and_not_followed(kind: bytes, said: str, target: str) -> None:
    names = ["l", "f/l"]
    theirs = with_tar(*((name, {"type": kind, "linkname": target}) for name in names))
    assert differences(TAR, theirs) == [f"{name}: {said}" for name in sorted(names)]


def test_links_in_a_circle_are_two_links() -> None:
    around = [("a", {"type": tarfile.SYMTYPE, "linkname": "b"}), ("b", {"type": tarfile.SYMTYPE, "linkname": "a"})]
    assert differences(TAR, with_tar(*around)) == ["a: is a symbolic link", "b: is a symbolic link"]


def test_the_same_members_in_another_tar_are_the_same() -> None:
    assert with_tar() != TAR and differences(TAR, with_tar()) == []
    assert differences(TAR, with_tar(("f/l", {"mtime": 1.5}))) == ["f/l: is too much"]
    assert differences(TAR, with_tar(("f/aasm/empty.py", {}))) == ["f/aasm/empty.py: stands 2 times in it"]


def test_a_sparse_file_is_not_blown_up() -> None:
    holes = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 60)}
    assert differences(TAR, with_tar(("l", {"pax_headers": holes}))) == ["l: is a sparse file"]


def test_what_gzip_blows_up_is_not_unpacked_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "LARGEST", 1 << 20)
    bomb = gzip.compress(bytes(100 << 20), 1)
    tracemalloc.start()
    with pytest.raises(ValueError, match="tar.gz: ends too early, or holds more than 1 MiB"):
        differences(TAR, bomb)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def header(name: bytes = b"n", size: bytes = b"0", kind: bytes = b"0", content: bytes = b"") -> bytes:
    """Return a member of a tar archive with any size field, and a right checksum."""
    block = name.ljust(124, b"\0") + size.ljust(12, b"\0") + bytes(12) + b" " * 8 + kind + bytes(355)
    return block[:148] + b"%06o\0 " % sum(block) + block[156:] + content.ljust(-(-len(content) // 512) * 512, b"\0")


END = bytes(1024)
BACK = b"\xff" * 10 + b"\xfe\x00"  # -512: what follows the member is the member again
BROKEN = {
    "nothing": b"",
    "no gzip": b"\x1f\x8b nothing",
    "a zip": ZIP,
    "a cut": TAR[:-9],
    "more": TAR + b"x",
    "no header": gzip.compress(b"x" * 512 + END),
    "a size that leads back": gzip.compress(header(b"m") + header(size=BACK) + END),
    "a huge size": gzip.compress(header(size=b"7" * 11) + END),
    "no record": gzip.compress(header(kind=b"x", size=b"5", content=b"0 a=b") + END),
    "a long record": gzip.compress(header(kind=b"x", size=b"6", content=b"9 a=b\n") + END),
    "many records": gzip.compress(header(kind=b"x", size=b"6", content=b"6 a=b\n") * 5000 + header() + END),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_tar_gz_is_said_to_be_one(what: str) -> None:
    with pytest.raises(ValueError, match="^no archive of this project: tar.gz: ."):
        differences(TAR, BROKEN[what])


def with_zip(name: str = "l", content: bytes = b"", how: int = zipfile.ZIP_STORED, mode: int = 0) -> bytes:
    """Return ZIP with a member more."""
    buffer = io.BytesIO(ZIP)
    with zipfile.ZipFile(buffer, "a") as archive:
        info = zipfile.ZipInfo(name)
        info.compress_type, info.external_attr = how, mode << 16
        archive.writestr(info, content)
    return buffer.getvalue()


def patched(data: bytes, sign: bytes, at: int, value: int, form: str = "<H") -> bytes:
    """Return an archive with another value `at` that many bytes behind the last `sign`."""
    where = data.rindex(sign) + at
    return data[:where] + struct.pack(form, value) + data[where + struct.calcsize(form) :]


ODD_ZIPS = {
    "encrypted": (patched(with_zip(), b"PK\1\2", 8, 1), "is encrypted, which nothing of ours is"),
    "method 99": (patched(with_zip(), b"PK\1\2", 10, 99), "is compressed (method 99), which nothing of ours is"),
    "bomb": (with_zip("l", bytes(1 << 20), zipfile.ZIP_DEFLATED), "is compressed (method 8), which nothing of ours is"),
    "lzma": (with_zip("l", bytes(999), zipfile.ZIP_LZMA), "is compressed (method 14), which nothing of ours is"),
    "link": (with_zip("l", b"/etc", mode=0o120777), "is a symbolic link"),
    "device": (with_zip("l", mode=0o060644), "is a block device"),
    "odd kind": (with_zip("l", mode=0o170644), "is no regular file"),
    "far": (patched(with_zip(), b"PK\1\2", 42, 1 << 30, "<L"), "cannot be read: "),
    "within another": (patched(with_zip(), b"PK\1\2", 42, 1, "<L"), "cannot be read: "),
    "two names": (patched(with_zip(), b"PK\3\4", 30, ord("m"), "<B"), "cannot be read: File name in directory"),
    "checksum": (patched(with_zip(), b"PK\1\2", 16, 1, "<L"), "cannot be read: Bad CRC-32"),
}


@pytest.mark.parametrize("what", ODD_ZIPS)
def test_a_member_of_a_zip_that_is_not_like_ours_is_named_and_not_read(what: str) -> None:
    data, said = ODD_ZIPS[what]
    assert differences(ZIP, data)[-1].startswith(f"l: {said}")  # later Pythons find fault with what it overlaps, too


def test_a_folder_and_a_second_member_of_a_zip_are_named() -> None:
    assert differences(ZIP, with_zip("l/")) == ["l/: is a directory"]
    with pytest.warns(UserWarning, match="Duplicate name"):
        assert differences(ZIP, with_zip("aasm/empty.py")) == ["aasm/empty.py: stands 2 times in it"]


def test_members_that_share_their_bytes_do_not_add_up() -> None:
    """As in a zip bomb: many entries, each of them the whole of one large content."""
    one = zip_bytes([Entry("n", bytes(1 << 20))], EARLIEST)
    directory = one[one.rindex(b"PK\1\2") : -22]
    first = len(one) - 22 - len(directory)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 60000, 60000, len(directory) * 60000, first, 0)
    with pytest.raises(ValueError, match="zip: its members are larger than it is"):
        differences(ZIP, one[:first] + directory * 60000 + end)


@pytest.mark.parametrize("data", [b"", b"PK", TAR, ZIP[:-1], patched(ZIP, b"PK\5\6", 12, 1 << 30, "<L")],
                         ids=["empty", "short", "tar", "cut", "long directory"])  # fmt: skip
def test_a_broken_zip_is_said_to_be_one(data: bytes) -> None:
    with pytest.raises(ValueError, match="^no archive of this project: zip: "):
        differences(ZIP, data)


def test_no_name_of_a_member_makes_a_line_of_its_own() -> None:
    evil, said = "x\nevery file is the same\x1b[2K", "x\\nevery file is the same\\u001b[2K: is too much"
    assert differences(ZIP, with_zip(evil)) == differences(TAR, with_tar((evil, {}))) == [said]
    raw = gzip.compress(header(name=b"\xff\n") + END)
    assert "\\udcff\\n: is too much" in differences(TAR, raw)


def damaged(data: bytes, draw: random.Random) -> bytes:
    """Return an archive with a few other bytes, or without its end, or both."""
    found = bytearray(data)
    for _ in range(draw.choice((0, 1, 1, 2, 8))):
        found[draw.randrange(len(found))] = draw.choice((0, 1, 0x7F, 0xFF, draw.randrange(256)))
    return bytes(found[: draw.choice((len(found), len(found), draw.randrange(len(found))))])


@pytest.mark.parametrize("kind", ["wheel", "pyz", "sdist", "tar in it"])
def test_whatever_happened_to_an_archive_there_is_a_list_or_one_line(kind: str) -> None:
    good = {"wheel": ZIP, "pyz": PYZ, "sdist": TAR, "tar in it": gzip.decompress(TAR)}[kind]
    repacked: Callable[[bytes], bytes] = archives.gzip_stored if kind == "tar in it" else bytes
    draw, lists = random.Random(kind), 0
    for _ in range(1500):
        try:
            said: List[str] = differences(repacked(good), repacked(damaged(good, draw)))
            lists += 1
        except ValueError as problem:
            said = [str(problem)]
            assert said[0].startswith("no archive of this project: ")
        assert all(line.isascii() and line.isprintable() for line in said)
    assert lists > (0 if kind == "sdist" else 100)  # both ways are gone


# --- files that are put in place ----------------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_whole(str(target), b"first", 0o600)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"first", 0o600)
    with pytest.raises(IsADirectoryError):
        write_whole(str(tmp_path), b"second")
    with pytest.raises(TypeError):
        write_whole(str(target), "no bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"first" and list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("call", ["write_new", "os.replace"])
def test_what_ends_the_writing_leaves_nothing_behind(
    call: str, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it comes before, between or after the steps."""
    true, steps = getattr(archives, call) if call == "write_new" else os.replace, iter(range(4))

    def interrupted(*words: Any) -> None:
        step = next(steps)
        if step == at:
            raise KeyboardInterrupt
        true(*words)

    monkeypatch.setattr(f"archives.{call}", interrupted)
    files = {name: b"new" for name in "abc"}
    if at < len(files):
        with pytest.raises(KeyboardInterrupt):
            archives.write_all(str(tmp_path), files, {}, 0o644)
    else:
        archives.write_all(str(tmp_path), files, {}, 0o644)
    assert not list(tmp_path.glob(".*"))


def test_an_interrupt_while_cleaning_up_keeps_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    true, interrupts = os.unlink, [KeyboardInterrupt, PermissionError]

    def interrupted(path: str) -> None:
        true(path)
        if interrupts:
            raise interrupts.pop()

    monkeypatch.setattr("archives.os.unlink", interrupted)
    monkeypatch.setattr("archives.os.replace", lambda *words: (_ for _ in ()).throw(OSError(5, "error")))
    with pytest.raises((KeyboardInterrupt, OSError)):
        archives.write_all(str(tmp_path), {name: b"new" for name in "abc"}, {}, 0o644)
    assert list(tmp_path.iterdir()) == []
