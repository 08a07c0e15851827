#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Copy the package, or a part of it, into another project's tree, under any name.

    python3 tools/vendor.py DEST                          DEST/aasm, all of it
    python3 tools/vendor.py DEST --package NAME           the same as DEST/NAME
    python3 tools/vendor.py DEST --part verifier          only what verifies receipts
    python3 tools/vendor.py DEST --part launcher          only the launcher and the native backend
    python3 tools/vendor.py DEST [the same options] --check
                                                          compare a copy that is there with this tree

Files are copied byte for byte: the package names itself nowhere. With them go LICENSE, NOTICE, REVISION where it is
known which commit this is, and MANIFEST.sha256, which `sha256sum -c` reads. Nothing that exists is written over. The
manual is docs/vendoring.md.
"""

from __future__ import annotations

import argparse
import keyword
import os
import shlex
import sys
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Set, Tuple

_HERE = str(Path(__file__).resolve().parent)
for _place in (_HERE, os.path.dirname(_HERE)):  # the first is missing under python -I
    if _place not in sys.path:
        sys.path.insert(0, _place)

import command  # noqa: E402
from project import (  # noqa: E402
    PACKAGE,
    ROOT,
    TreeError,
    module_name,
    project_files,
    python_files,
    reached,
    read_file,
)
from revision import revision  # noqa: E402
from tree_imports import listed  # noqa: E402
from written import Written  # noqa: E402

from aasm import copies, origin  # noqa: E402
from aasm.errors import AasmError, UsageError, one_line  # noqa: E402

# From which modules a part is reached; None: it is the whole package.
PARTS: Dict[str, Optional[Tuple[str, ...]]] = {
    "all": None,
    "verifier": ("receipt.__main__",),
    "launcher": ("launcher", "backends.native.prepare"),
}
# Every part can be started and compares itself. `cli` imports what a command needs when it is asked for: what is not in
# the part is then one line.
EVERY_PART = ("__main__", "cli", "cli.self_verify")
DISPATCHERS = (f"{PACKAGE}.cli",)
PAPERS = ("LICENSE", "NOTICE")
# Modules that only some of the supported Pythons have; tools/stdlib.txt lists those that all have.
OF_SOME_PYTHONS = frozenset(
    "aifc antigravity asynchat asyncore audioop binhex cgi cgitb chunk crypt distutils formatter idlelib imghdr imp "
    "lib2to3 mailcap msilib msvcrt nis nntplib nt ossaudiodev parser pipes smtpd sndhdr spwd sunau symbol telnetlib "
    "this tomllib turtledemo uu winreg winsound xdrlib".split()
)
# Modules that no Python lists although it has them, or imports them by itself when it starts: site.py
NOT_LISTED = frozenset("test sitecustomize usercustomize xxlimited xxlimited_35 xxsubtype".split())
LONGEST_NAME = 100  # letters; a file system takes 255 bytes (NAME_MAX), some only 143, and the copy is made beside it
Files = Dict[str, bytes]  # by the name beneath the copy


# --- what is copied -----------------------------------------------------------------------------------


def modules(part: str) -> Set[str]:
    """Return the dotted names of the modules of a part, folders included."""
    start = [f"{PACKAGE}.{name}" for name in (*EVERY_PART, *(PARTS[part] or ()))]
    return reached(start, DISPATCHERS)


def chosen(part: str) -> List[Path]:
    """Return the files of the package that a part has."""
    if PARTS[part] is None:
        return [path for path in project_files() if path.relative_to(ROOT).parts[0] == PACKAGE]
    needed = modules(part)
    return [path for path in python_files(PACKAGE) if module_name(path) in needed]


def contents(part: str, commit: Optional[str]) -> Files:
    """Return the files of a copy; the manifest lists all the others."""
    files = {path.relative_to(ROOT / PACKAGE).as_posix(): read_file(path, str(path)) for path in chosen(part)}
    files.update({name: (ROOT / name).read_bytes() for name in PAPERS})
    if commit is not None:
        files[origin.REVISION] = f"{commit}\n".encode("ascii")
    files[origin.MANIFEST] = manifest(files)
    return files


def manifest(files: Files) -> bytes:
    """Return the list of these files as sha256sum(1) prints it, sorted by name."""
    return "".join(f"{origin.sha256(files[name])}  {name}\n" for name in sorted(files)).encode("utf-8")


def changed(files: Files) -> List[str]:
    """Return the names, in this tree, of those files that SBOM.spdx.json does not list as they are."""
    stated = copies.read_listing(str(ROOT / origin.SBOM)).digests
    names = {name if name in PAPERS else f"{PACKAGE}/{name}": name for name in files if name not in _MADE}
    gone = {name for name in stated if name.startswith(f"{PACKAGE}/") and not (ROOT / name).exists()}
    return sorted({name for name in names if stated.get(name) != origin.sha256(files[names[name]])} | gone)


_MADE = (origin.REVISION, origin.MANIFEST)


# --- writing ------------------------------------------------------------------------------------------


def check_name(name: str) -> str:
    """Return a name that the package may have; UsageError for any other."""
    remedy = "give it a name of the letters a to z and A to Z, digits and _, that begins with no digit and no __"
    if not (name.isascii() and name.isidentifier()) or name.startswith("__"):
        raise UsageError(f"{one_line(name)!r} is no name for a top-level package", "--package", remedy)
    if len(name) > LONGEST_NAME:
        raise UsageError(f"this name has {len(name)} letters", "--package", f"give it one of at most {LONGEST_NAME}")
    if keyword.iskeyword(name) or name in standard_modules():
        raise UsageError(f"{name!r} is a word or a module of Python", "--package", "give it another name")
    return name


def standard_modules() -> Set[str]:
    """Return the names of Python's own modules: of this Python, and of every other that is supported."""
    of_this_one = {*getattr(sys, "stdlib_module_names", ()), *sys.builtin_module_names}
    return {*listed(), *OF_SOME_PYTHONS, *NOT_LISTED, *of_this_one}


def write(dest: str, name: str, files: Files) -> str:
    """Write a copy into the directory `dest`, which is made; return its place. All of it or nothing.

    UsageError when something is there, OSError with its path.
    """
    place = os.path.join(dest, name)
    if os.path.lexists(dest) and not os.path.isdir(dest):
        raise UsageError("is no directory", dest, "name the directory that the copy is to lie in")
    if os.path.lexists(place):
        raise UsageError("exists already", place, "remove it first, or compare it with --check")
    temporary = os.path.join(dest, f".{name}.{os.urandom(6).hex()}")
    made = Written()
    try:
        for file, data in files.items():
            made.file(os.path.join(temporary, file), data)
        os.rename(temporary, place)
    except BaseException:
        made.take_back()
        raise
    return place


# --- checking -----------------------------------------------------------------------------------------


def differences(place: str, part: str) -> List[str]:
    """Return a line for each file of the copy at `place` that is not as this tree would make it."""
    copy = origin.Copy(place)
    stated = _revision_of(copy)
    files = contents(part, stated)
    name = copy.package
    listing = copies.Listing("this tree", True, {file: origin.sha256(data) for file, data in files.items()})
    found, compiled = copies.compare(copy, listing), copies.compiled(copy)
    wrong = [f"{name}/{origin.REVISION}"] if stated and revision(ROOT) not in (None, stated) else []
    return [
        *(f"differs: {file}" for file in (*found.differs, *wrong)),
        *(f"missing: {file}" for file in found.missing),
        *(f"too much: {file}" for file in (*found.extra, *found.unlisted)),
        *(f"differs from its source: {file}" for file in compiled.differs),
    ]


def _revision_of(copy: origin.Copy) -> Optional[str]:
    try:
        return origin.commit_in(copy.read(f"{copy.package}/{origin.REVISION}", 4096))
    except OSError:
        return None


# --- the command --------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    made = command.Parser("tools/vendor.py", __doc__, "when it is done or the same, 1 when --check finds a difference")
    made.add_argument("dest", metavar="DEST", help="the directory in which the copy lies, or is to lie")
    made.add_argument("--package", metavar="NAME", default=PACKAGE, help="what the copy is called (default: aasm)")
    made.add_argument("--part", choices=tuple(PARTS), default="all", help="what is copied (default: all)")
    made.add_argument("--check", action="store_true", help="write nothing; compare the copy that is there")
    made.add_argument("--modified", action="store_true", help="although this tree is not what SBOM.spdx.json lists")
    return made


def carry_out(options: argparse.Namespace) -> int:
    name = check_name(options.package)
    if not options.dest:
        raise UsageError("is the empty text", "DEST", "name the directory that the copy is to lie in; here is .")
    unmodified = _check_tree(contents(options.part, None), options.modified)
    place = os.path.join(options.dest, name)
    if options.check:
        if not os.path.isdir(place):
            raise UsageError("there is no copy here", place, "name DEST and --package as they were given")
        found = differences(os.path.abspath(place), options.part)
        print("\n".join(map(one_line, found)) if found else one_line(f"{place}: the same as this tree"))
        return 1 if found else 0
    files = contents(options.part, revision(ROOT) if unmodified else None)
    write(options.dest, name, files)
    print(one_line(f"{place}: written; to check it: {check_command(place)}"))
    return 0


def check_command(place: str) -> str:
    return f"cd {shlex.quote(place)} && sha256sum -c --quiet {origin.MANIFEST}"


def _check_tree(files: Files, modified: bool) -> bool:
    """Return whether the tree is what its SBOM lists; UsageError when it is not and nobody said that it may be so."""
    if not (ROOT / origin.SBOM).exists():
        print(f"note: there is no {origin.SBOM} here, so nothing says whether this tree was changed", file=sys.stderr)
        return True
    found = changed(files)
    if found and not modified:
        what = f"{len(found)} file(s) are not what {origin.SBOM} lists, first {found[0]}"
        raise UsageError(what, str(ROOT), "take an unchanged tree, or copy it all the same with --modified")
    return not found


def main(argv: Sequence[str]) -> int:
    return command.run(_carried_out, list(argv))


def _carried_out(words: List[str]) -> int:
    try:
        return carry_out(parser().parse_args(words))
    except AasmError as problem:
        raise TreeError(str(problem)) from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
