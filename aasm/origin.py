# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where the running copy of this package came from: the revision it was made from, and the digest of its code.

It reads files and nothing else: it starts no process, and what lies around the package decides nothing but what is said
of it. What cannot be read to its end, or is not of the form it must have, is unknown (None), never a guess.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Any, Iterable, Iterator, NamedTuple

from . import __version__

NAME = "aasm"  # of the project; a vendored copy may call its package otherwise
MANIFEST, REVISION, SBOM = "MANIFEST.sha256", "REVISION", "SBOM.spdx.json"
CACHE = "__pycache__"
_TREE = "a source tree"
LARGEST_SOURCE = 16 << 20  # bytes; a file of ours has some thousand
LARGEST_OF_GIT = 1 << 20  # a list of packed refs may be long; for a longer one the revision is unknown
_PIECE = 1 << 16  # bytes read at once: of most files of ours all
_SHORT = 4096  # bytes of every other file of git, and of REVISION

# Patterns, compiled where they are used: a launch imports this module before it starts anything.
_HASH = "(?:[0-9a-f]{40}|[0-9a-f]{64})\n?"  # git's two object formats: git-init(1), --object-format
_REF = r"refs(?:/[^/.\x00-\x20\x7f~^:?*\[\\][^/\x00-\x20\x7f~^:?*\[\\]*)+"  # git-check-ref-format(1)
# A name that stands for itself in the lines of sha256sum(1), and that no reader of such lines could take for two.
_PLAIN = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*"


class Origin(NamedTuple):
    """What is known about the code: a full commit hash, and `sha256:` with the digest of the code, or None."""

    revision: str | None
    code_digest: str | None


UNKNOWN = Origin(None, None)


class Kind(NamedTuple):
    """What a copy is. The paths are relative to the directory, or archive, that holds the package."""

    word: str
    listing: str  # states the digest of each file
    revision: str  # says from which revision the copy was made


# --- the running copy ---------------------------------------------------------------------------------


class Copy:
    """A copy of the package: its folder, and what holds it. `loader` is that of a module in an archive, else None."""

    def __init__(self, folder: str, loader: Any = None) -> None:
        self.folder = folder
        self.root, self.package = os.path.split(folder)
        self.archive: str = getattr(loader, "archive", "")
        self._loader = loader
        self._toc = _contents(self.archive) if self.archive else {}

    @property
    def place(self) -> str:
        """The directory or the file whose contents are the code."""
        return self.archive or self.folder

    def has(self, name: str) -> bool:
        """Say whether there is a file of this name beneath the root."""
        path = os.path.join(self.root, name)
        return path[len(self.archive) + 1 :] in self._toc if self.archive else os.path.isfile(path)

    def read(self, name: str, most: int = LARGEST_SOURCE) -> bytes:
        """Return the bytes of a file beneath the root. OSError for one that is none or has more than `most` bytes."""
        path = os.path.join(self.root, name)
        if not self.archive:
            return read_regular(path, most)
        data: bytes = self._loader.get_data(path)
        return data

    def files(self) -> Iterator[tuple[str, bool]]:
        """Yield each file below the package's folder, relative to it, and whether it is a regular one.

        A link to a file is what it leads to; one to a directory is not followed. OSError for an unreadable folder.
        """
        return self._archived() if self.archive else _beneath(self.folder)

    def _archived(self) -> Iterator[tuple[str, bool]]:
        start = self.folder[len(self.archive) + 1 :] + os.sep
        names = [name[len(start) :] for name in self._toc if name.startswith(start) and not name.endswith(os.sep)]
        return ((name.replace(os.sep, "/"), True) for name in names)

    def whole_archive(self) -> list[str]:
        """Return the name of every file of the archive that the package is in."""
        return [name.replace(os.sep, "/") for name in self._toc if not name.endswith(os.sep)]


def running() -> Copy:
    """Return the copy that this module was loaded from. Only absolute paths are in it."""
    loader = getattr(__spec__, "loader", None)
    return Copy(os.path.dirname(os.path.abspath(__file__)), loader if hasattr(loader, "archive") else None)


def kind_of(copy: Copy) -> Kind | None:
    """Return what the copy is, told from the listing that lies with it; None when none does."""
    info = f"{NAME}-{__version__}.dist-info"
    inside = Kind("a vendored copy", f"{copy.package}/{MANIFEST}", f"{copy.package}/{REVISION}")
    archive = Kind("a zip archive", SBOM, REVISION)
    wheel = Kind("an installed package", f"{info}/sboms/{NAME}.spdx.json", f"{info}/{REVISION}")
    tree = Kind(_TREE, SBOM, REVISION)
    for kind, holds in (
        (inside, True),
        (archive, copy.archive != "" and _alone(copy)),
        (wheel, copy.package == NAME),
        (tree, not copy.archive and copy.has("tools/build_backend.py")),
    ):
        if holds and copy.has(kind.listing):
            return kind
    return None


def _alone(copy: Copy) -> bool:
    """Say whether the archive has no other code: then what lies at its root is about this package."""
    mine = (f"{copy.package}/", "__main__.py")
    return copy.root == copy.archive and all(
        name.startswith(mine) for name in copy.whole_archive() if name.endswith((".py", ".pyc"))
    )


def _contents(archive: str) -> dict[str, Any]:
    """Return what this interpreter knows of the archive: by this table, read once, it imports from there."""
    import zipimport

    found: dict[str, Any] = getattr(zipimport, "_zip_directory_cache", {}).get(archive, {})
    return found


def _beneath(top: str) -> Iterator[tuple[str, bool]]:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(os.path.join(top, folder)) as found:
                for entry in found:
                    name = folder + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(name + "/")
                    else:
                        yield name, entry.is_file()
        except PermissionError:
            if not folder.endswith(f"{CACHE}/"):  # where Python looks for compiled files: it goes on without them too
                raise


def read_regular(path: str, most: int, follow: bool = True) -> bytes:
    """Return the bytes of a regular file. OSError for anything else and for more than `most` bytes; never blocks."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    flags |= 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    _expect_regular(os.stat(path, follow_symlinks=follow))  # before opening: to open a device can have effects
    descriptor = os.open(path, flags)
    try:
        _expect_regular(os.fstat(descriptor))
        data = bytearray()
        while len(data) <= most:
            piece = os.read(descriptor, _PIECE)
            if not piece:
                return bytes(data)
            data += piece
        raise OSError(f"more than {most} bytes")
    finally:
        os.close(descriptor)


def _expect_regular(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError("not a regular file")


# --- the digest ---------------------------------------------------------------------------------------


class Reading:
    """Finds out the origin of a copy in steps that are short, so that a supervisor can do them while it waits."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._rows: list[tuple[str, str]] = []
        self._digest: str | None = None
        self._steps = self._read()

    def step(self) -> bool:
        """Read one more file; return whether there is anything left to do."""
        try:
            return next(self._steps, None) is not None
        except Exception:  # noqa: BLE001 - of whatever kind (zipimport, zlib): what cannot be read is unknown
            return False

    def finish(self) -> Origin:
        """Do all that is left, and return what was found out."""
        while self.step():
            pass
        return Origin(revision(self._copy), self._digest)

    def _read(self) -> Iterator[bool]:
        for name, regular in self._copy.files():
            if name.endswith(".py"):
                if not regular:
                    return
                self._rows.append((name, sha256(self._copy.read(f"{self._copy.package}/{name}"))))
                yield True
            elif not regular and CACHE not in name:
                return  # a link to a folder, perhaps: Python would import from there, and no line says what
        self._digest = code_digest(self._rows)


def code_digest(rows: Iterable[tuple[str, str]]) -> str | None:
    """Return `sha256:` and the digest of the lines that sha256sum(1) prints for the sources, sorted by name; pure.

    `rows` are name, relative to the package's folder, and digest of each. None when there are none, or when a name is
    of such a kind that two sets of files could print the same lines.
    """
    lines = sorted(rows)  # names are ASCII here, so this is the order of their bytes
    if not lines or not all(re.fullmatch(_PLAIN, name) for name, _ in lines):
        return None
    return "sha256:" + sha256("".join(f"{digest}  {name}\n" for name, digest in lines).encode("ascii"))


def sha256(data: bytes) -> str:
    """Return the digest of `data` in hexadecimal."""
    import hashlib  # loads OpenSSL, some milliseconds: not before a digest is wanted

    return hashlib.sha256(data).hexdigest()


# --- the revision -------------------------------------------------------------------------------------


def revision(copy: Copy) -> str | None:
    """Return the full commit hash that the copy was made from; of a checkout, that which is checked out."""
    try:
        kind = kind_of(copy)
        if kind is None:
            return None
        if kind.word == _TREE and os.path.lexists(os.path.join(copy.root, ".git")):
            return _checked_out(copy.root)
        return commit_in(copy.read(kind.revision, _SHORT))
    except Exception:  # noqa: BLE001 - see Reading.step
        return None


def commit_in(data: bytes) -> str | None:
    """Return the one full commit hash that `data` is, with or without a line feed; pure."""
    text = data.decode("ascii", "replace")
    return text.strip("\n") if re.fullmatch(_HASH, text) else None


def told_by(copy: Copy) -> list[str]:
    """Return the files and folders beside the code of a copy that say where it came from."""
    kind = None if copy.archive else kind_of(copy)
    if kind is None:
        return []
    found = [os.path.join(copy.root, name) for name in (kind.listing, kind.revision)]
    if kind.word == _TREE:
        try:
            found += [os.path.join(copy.root, ".git"), *git_folders(copy.root)]
        except OSError:  # no checkout of git
            pass
    return list(dict.fromkeys(found))


def git_folders(root: str) -> tuple[str, ...]:
    """Return the folder in which git keeps HEAD of the checkout at `root`, and that of the refs. OSError.

    They are one but for a worktree, where .git is a file that names the first, and that names the second:
    gitrepository-layout(5).
    """
    place = os.path.join(root, ".git")
    if stat.S_ISDIR(os.lstat(place).st_mode):
        return place, place
    named = _line(place)
    if not named.startswith("gitdir: "):
        raise OSError("no file of git")
    own = os.path.normpath(os.path.join(root, named[len("gitdir: ") :]))
    common = os.path.join(own, "commondir")
    return own, os.path.normpath(os.path.join(own, _line(common))) if os.path.lexists(common) else own


def _checked_out(root: str) -> str | None:
    own, common = git_folders(root)
    head = _line(os.path.join(own, "HEAD"))
    if not head.startswith("ref: "):
        return commit_in(head.encode("ascii", "replace"))
    name = head[len("ref: ") :]
    if not re.fullmatch(_REF, name) or ".." in name:
        return None
    loose = os.path.join(common, name)
    if os.path.lexists(loose):
        return commit_in(read_regular(loose, _SHORT, follow=False))
    return _packed(read_regular(os.path.join(common, "packed-refs"), LARGEST_OF_GIT, follow=False), name)


def _packed(data: bytes, name: str) -> str | None:
    """Return the hash of the ref `name` in the text of packed-refs; pure."""
    found = re.search(b"^([0-9a-f]+) " + re.escape(os.fsencode(name)) + b"$", data, re.MULTILINE)
    return commit_in(found[1]) if found else None


def _line(path: str) -> str:
    """Return the one line of a file of git."""
    return os.fsdecode(read_regular(path, _SHORT, follow=False)).rstrip("\n")
