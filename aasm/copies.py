# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A copy of this package compared with a listing of what it should be: each file that differs, is missing or too much.

Reads and compares; it changes nothing, imports nothing of what it looks at, and believes no time, size or name.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import re
import sys
import types
from typing import Any, Iterator, NamedTuple

from . import origin
from .errors import ReceiptError, UsageError, one_line, system_text
from .origin import CACHE, MANIFEST, NAME, REVISION, SBOM, Copy
from .receipt.canonical import MAX_BYTES, decode

_REMEDY = "name a manifest or an SBOM"
_LINE = "([0-9a-f]{64}) [ *](?:\\./)?([^\\\\]+)"  # sha256sum(1); a backslash before the digest says that it escapes
# Of each kind of listing, the files of a copy that it may leave out: they are no code, and say where the copy is from.
_NOTES = (MANIFEST, REVISION, SBOM)


class Listing(NamedTuple):
    """What a listing states: the digest of each file, by a path relative to what it lists."""

    where: str
    of_package: bool  # of the package's folder (a manifest); otherwise of what holds it (an SBOM)
    digests: dict[str, str]


class Comparison(NamedTuple):
    """What came of it; each name is relative to what holds the package. The three kinds of fault, and what was left."""

    files: int  # that were compared
    differs: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    unlisted: tuple[str, ...]  # files about the copy that the listing does not know

    @property
    def same(self) -> bool:
        """Say whether nothing differs, is missing or is too much."""
        return not (self.differs or self.missing or self.extra)


class Compiled(NamedTuple):
    """What the compiled files hold, compared with what this Python makes of the sources."""

    same: int
    differs: tuple[str, ...]  # names relative to what holds the package
    unused: int  # not made from the source as it is, and this Python sees that and leaves them
    other: int  # made for another Python, or of no source: this Python does not look at them


# --- listings -----------------------------------------------------------------------------------------


def listing(data: bytes, where: str) -> Listing:
    """Return what the bytes of an SPDX document (JSON) or of a list by sha256sum(1) state; else UsageError."""
    if data.lstrip()[:1] == b"{":
        return Listing(where, False, _unique(_spdx(data, where), where))
    return Listing(where, True, _unique(_lines(data, where), where))


def _lines(data: bytes, where: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n")[:-1], 1):
        found = re.fullmatch(_LINE, line)
        if found is None:
            raise UsageError(f"line {number} is none of a list by sha256sum", where, _REMEDY)
        yield found[2], found[1]


def _spdx(data: bytes, where: str) -> Iterator[tuple[str, str]]:
    try:
        document: Any = decode(data, where)
    except ReceiptError as problem:
        raise UsageError(problem.what, where, _REMEDY) from None
    try:
        for file in document["files"]:
            (digest,) = [item["checksumValue"] for item in file["checksums"] if item["algorithm"] == "SHA256"]
            name = file["fileName"]
            if not (isinstance(digest, str) and isinstance(name, str) and name.startswith("./")):
                raise ValueError
            yield name[2:], digest
    except (KeyError, TypeError, ValueError):
        raise UsageError("is no SPDX document with a SHA256 of each file", where, _REMEDY) from None


def _unique(rows: Iterator[tuple[str, str]], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, digest in rows:
        if name in found:
            raise UsageError(f"lists {one_line(name)} twice", where, _REMEDY)
        found[name] = digest
    if not found:
        raise UsageError("lists no file", where, _REMEDY)
    return found


def read_listing(path: str) -> Listing:
    """Return the listing in a file. UsageError when it cannot be read or is none."""
    try:
        data = origin.read_regular(path, MAX_BYTES)
    except (OSError, ValueError) as problem:
        what = f"cannot be read: {system_text(problem) if isinstance(problem, OSError) else problem}"
        raise UsageError(what, path, _REMEDY) from None
    return listing(data, path)


def listing_beside(copy: Copy) -> Listing | None:
    """Return the listing that lies with a copy; None when there is none."""
    kind = origin.kind_of(copy)
    if kind is None:
        return _listing_among_others(copy)
    path = os.path.join(copy.root, kind.listing)
    return listing(copy.read(kind.listing, MAX_BYTES), path) if copy.archive else read_listing(path)


def _listing_among_others(copy: Copy) -> Listing | None:
    """Return the SBOM of a zip archive that holds other code as well, if it lists this package.

    What else lies there may be an application's, or was put there later: then it is too much.
    """
    if copy.archive != copy.root or copy.package != NAME or not copy.has(SBOM):
        return None
    try:
        found = listing(copy.read(SBOM, MAX_BYTES), os.path.join(copy.root, SBOM))
    except UsageError:  # that of something else, in whatever form
        return None
    return None if found.of_package or f"{NAME}/__init__.py" not in found.digests else found


# --- comparing ----------------------------------------------------------------------------------------


def compare(copy: Copy, stated: Listing) -> Comparison:
    """Return how the files of a copy differ from what is stated of them. Compiled files are left to `compiled`."""
    expected = _expected(copy, stated)
    found = dict(_found(copy, whole=bool(copy.archive) and not stated.of_package))
    notes = {f"{copy.package}/{name}" for name in _NOTES} | ({*_NOTES} if copy.archive else set())
    extra = [name for name in found if name not in expected and os.path.join(copy.root, name) != stated.where]
    return Comparison(
        len([name for name in found if name in expected]),
        tuple(sorted(name for name in found if name in expected and found[name] != expected[name])),
        tuple(sorted(name for name in expected if name not in found)),
        tuple(sorted(name for name in extra if name not in notes)),
        tuple(sorted(name for name in extra if name in notes)),
    )


def _expected(copy: Copy, stated: Listing) -> dict[str, str]:
    """Return the digests that are stated, by names relative to what holds the package."""
    own = f"{copy.package}/"
    if stated.of_package:
        return {own + name: digest for name, digest in stated.digests.items()}
    prefix = f"{NAME}/"  # an SBOM has the project's own name for the package
    found = {own + name[len(prefix) :]: digest for name, digest in stated.digests.items() if name.startswith(prefix)}
    if copy.archive:
        rest = {name: digest for name, digest in stated.digests.items() if not name.startswith(prefix)}
        return {**rest, **found}
    papers = {name for name in ("LICENSE", "NOTICE") if copy.has(own + name)}  # a vendored copy has them inside
    return {**found, **{own + name: stated.digests[name] for name in papers if name in stated.digests}}


def _found(copy: Copy, whole: bool) -> Iterator[tuple[str, str]]:
    if whole:
        yield from ((name, _digest(copy, name)) for name in copy.whole_archive())
        return
    for name, _ in copy.files():
        if not _is_compiled(name) or copy.archive:
            path = f"{copy.package}/{name}"
            yield path, _digest(copy, path)


def _digest(copy: Copy, name: str) -> str:
    """Return the digest of a file; "" for what cannot be read, which differs from everything."""
    try:
        return origin.sha256(copy.read(name))
    except Exception:  # noqa: BLE001 - of whatever kind (no regular file, zipimport, zlib)
        return ""


def _is_compiled(name: str) -> bool:
    """Say whether a file is where Python keeps what it compiled; elsewhere such a file is too much."""
    return name.split("/")[-2:-1] == [CACHE] and name.endswith(".pyc")


# --- compiled files -----------------------------------------------------------------------------------

# All that a code object does, and where its lines are. co_code shows instructions without what the interpreter made of
# them, and a file could hold such: where there is a co_code_adaptive (3.11), it is what will be executed.
_PARTS = tuple(
    part
    for part in (
        "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals", "co_stacksize", "co_flags", "co_code",
        "_co_code_adaptive", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_name",
        "co_qualname", "co_firstlineno", "co_linetable", "co_exceptiontable",
    )
    if hasattr(types.CodeType, part)
)  # fmt: skip
_LEVELS = ("", "1", "2")  # of optimization: python, python -O, python -OO
_HEADER = 16  # bytes before the code: magic number, flags, then time and size of the source, or a hash of it (PEP 552)


def compiled(copy: Copy) -> Compiled:
    """Compare the compiled files of a copy with what this Python compiles its sources to. Executes none of them."""
    if copy.archive:
        return Compiled(0, (), 0, 0)  # what is compiled there is a file of the archive like any other
    names = [name for name, _ in copy.files()]
    states: dict[str, str] = {}
    for name in names:
        if name.endswith(".py"):
            states.update(_states(os.path.join(copy.folder, name)))
    others = [name for name in names if _is_compiled(name) and os.path.join(copy.folder, name) not in states]
    differs = sorted(os.path.relpath(path, copy.root) for path, state in states.items() if state == "differs")
    kinds = list(states.values())
    return Compiled(kinds.count("same"), tuple(differs), kinds.count("unused"), len(others))


def _states(source: str) -> Iterator[tuple[str, str]]:
    """Yield each compiled file of a source that this Python would look for, with what it holds."""
    for level in _LEVELS:
        path = importlib.util.cache_from_source(source, optimization=level)
        try:
            data = origin.read_regular(path, origin.LARGEST_SOURCE)
        except (FileNotFoundError, PermissionError):  # Python goes on without it as well
            continue
        except OSError:
            yield path, "differs"
            continue
        yield path, _state(data, source, int(level or 0))


def _state(data: bytes, source: str, level: int) -> str:
    try:
        text = origin.read_regular(source, origin.LARGEST_SOURCE)
        if not _is_used(data, source, text):
            return "unused"
        made = compile(text, source, "exec", dont_inherit=True, optimize=level)
        body = data[_HEADER:]  # loaded only where it must be: the bytes are the same but for paths, and before 3.11
        return "same" if body == marshal.dumps(made) or _same(made, marshal.loads(body)) else "differs"
    except Exception:  # noqa: BLE001 - marshal and compile may raise anything for what is none of theirs
        return "differs"


def _is_used(data: bytes, source: str, text: bytes) -> bool:
    """Say whether Python would execute a compiled file in place of its source: PEP 552."""
    flags = int.from_bytes(data[4:8], "little")
    if data[:4] != importlib.util.MAGIC_NUMBER or len(data) <= _HEADER:
        return False
    if flags & 1:
        return not flags & 2 or data[8:_HEADER] == importlib.util.source_hash(text)
    found = os.stat(source)
    stated = (int(found.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (len(text) & 0xFFFFFFFF).to_bytes(4, "little")
    return data[8:_HEADER] == stated


def _same(one: Any, other: Any) -> bool:
    """Compare two constants exactly: 1 is not True, and two code objects are the same in all their parts."""
    if type(one) is not type(other):
        return False
    if isinstance(one, types.CodeType):
        return all(_same(getattr(one, part), getattr(other, part)) for part in _PARTS)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return repr(one) == repr(other)


# --- modules that stand in for Python's own -----------------------------------------------------------


def stand_ins(package: str) -> dict[str, str]:
    """Return the loaded modules that are called like one of Python's and are none of its own: their files by name.

    `package` is the name of ours. What such a module did, nobody knows; one that hides is not found.
    """
    places = _places_of_python()
    found = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        ours = name == "__main__" or f"{name}.".startswith(f"{package}.")
        if isinstance(file, str) and not ours and _is_of_python(name.split(".")[0], places):
            if not any(os.path.realpath(file).startswith(place + os.sep) for place in places) or _of_others(file):
                found[name] = file
    return found


def _places_of_python() -> list[str]:
    """Return the folders, or archives, that this Python's library is in."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    prefixes = {sys.base_prefix, sys.base_exec_prefix}
    folders = {os.path.join(prefix, lib, version) for prefix in prefixes for lib in ("lib", sys.platlibdir)}
    archives = {folder.replace(version, version.replace(".", "") + ".zip") for folder in folders}
    found = {*folders, *archives, os.path.dirname(os.__file__)}  # the last: of a Python that was built otherwise
    return sorted(map(os.path.realpath, found))


def _is_of_python(name: str, places: list[str]) -> bool:
    names = getattr(sys, "stdlib_module_names", None)  # Python 3.10
    if names is not None:
        return name in names
    files = (os.path.join(place, name) for place in places)
    return any(os.path.isdir(path) or os.path.isfile(f"{path}.py") for path in files)


def _of_others(file: str) -> bool:
    """Say whether a file lies where packages of others are installed, beneath the library as these may be."""
    return not {"site-packages", "dist-packages"}.isdisjoint(file.split(os.sep))
