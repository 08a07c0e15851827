#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Installs aasm from this tree where there is no pip: the same files that a wheel would install.

    python3 tools/install.py --prefix DIR              the command is then DIR/bin/aasm
    python3 tools/install.py --prefix DIR --root TOP   the same beneath TOP, for a package or an image
    python3 tools/install.py --prefix DIR --uninstall

Needs Python and nothing else, and installs for the Python that runs it. It replaces nothing: where something is there
already, nothing is written. RECORD lists what was installed, so pip can remove it too.
"""

from __future__ import annotations

import csv
import glob
import io
import os
import py_compile
import sys
import sysconfig
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:  # under python -I
    sys.path.insert(0, _HERE)

import command  # noqa: E402
import sbom  # noqa: E402
from archives import members, mode, write_whole  # noqa: E402
from build_backend import record_row, wheel  # noqa: E402
from metadata import Project  # noqa: E402
from project import PACKAGE, ROOT, Entry, TreeError, entries, read_file  # noqa: E402

LONGEST_FIRST_LINE = 127  # bytes that every supported kernel reads of it: BINPRM_BUF_SIZE in linux/binfmts.h was 128

# The package's parent is on the import path for one import only: what else lies there must not stand in for a module
SCRIPT = """\
{start}
import sys

sys.path.insert(0, {library})
import {package}

del sys.path[0]
from {package}.cli import main_script

sys.exit(main_script())
"""


class Places(NamedTuple):
    """Where the parts of an installation go, as they are called on the host that it is for."""

    prefix: str
    modules: str
    scripts: str


def places(prefix: str) -> Places:
    """Return where this Python has modules and commands beneath `prefix`. TreeError when it is no absolute path."""
    if not os.path.isabs(prefix):
        raise TreeError(f"--prefix: {prefix or 'the empty text'} is no absolute path; begin it with a slash")
    prefix = os.path.normpath(prefix)
    bases = {name: prefix for name in ("base", "platbase", "installed_base", "installed_platbase")}
    paths = sysconfig.get_paths("posix_prefix", bases)
    return Places(prefix, paths["purelib"], paths["scripts"])


def installation(where: Places) -> Dict[str, Entry]:
    """Return every file of an installation by its absolute path, but for RECORD and compiled files."""
    project = Project(ROOT)
    shared = f"{project.stem}.data/data/"
    found = [Entry(os.path.join(where.scripts, PACKAGE), _script(where.modules))]
    for name, data in members(wheel(ROOT)).items():
        if name.startswith(shared):
            found.append(Entry(os.path.join(where.prefix, name[len(shared) :]), data))
        elif name != f"{project.dist_info}/RECORD":
            found.append(Entry(os.path.join(where.modules, name), data))
    found.append(Entry(os.path.join(where.modules, project.dist_info, "INSTALLER"), b"aasm tools/install.py\n"))
    return {entry.name: entry for entry in found}


def _script(library: str) -> bytes:
    return SCRIPT.format(start=first_lines(sys.executable), library=ascii(library), package=PACKAGE).encode("utf-8")


def first_lines(python: str) -> str:
    """Return the first lines of a script for the interpreter `python`. TreeError when no script can name it.

    A path that the kernel cannot read from a first line is started by sh, to which the lines are a command, while they
    are a text to Python.
    """
    line = f"#!{python} -I"
    if not python.isprintable() or set("\"'$`\\") & set(python):
        raise TreeError(f"{python!r}: no script can name this Python; call it by another path")
    if " " not in python and len(os.fsencode(line)) <= LONGEST_FIRST_LINE:
        return line
    return f"#!/bin/sh\n'''exec' \"{python}\" -I \"$0\" \"$@\"\n' '''"


def install(where: Places, top: str) -> List[str]:
    """Write an installation beneath `top` and return the paths of its files there. All of it or nothing.

    TreeError when one of them exists, OSError as it comes.
    """
    content = installation(where)
    record = os.path.join(where.modules, Project(ROOT).dist_info, "RECORD")
    there = [path for path in (*content, record) if os.path.lexists(top + path)] + _installed(where, top)
    if there:
        raise TreeError(f"{there[0]} exists, and nothing is replaced; remove what is installed first (--uninstall)")
    made: List[str] = []
    try:
        for entry in content.values():
            _write(top + entry.name, entry.data, mode(entry), made)
        compiled = [_compiled(top, path, made) for path in content if path.endswith(".py")]
        _write(top + record, _record(where, [*content.values()], [*compiled, record]), 0o644, made)
    except BaseException:
        _remove(made)
        raise
    return made


def _write(path: str, data: bytes, permissions: int, made: List[str]) -> None:
    _make_folders(os.path.dirname(path), made)
    write_whole(path, data, permissions)
    made.append(path)


def _make_folders(path: str, made: List[str]) -> None:
    if not os.path.isdir(path):
        _make_folders(os.path.dirname(path), made)
        os.mkdir(path)
        os.chmod(path, 0o755)  # the umask says what a user's files are, not what an installation is
        made.append(path)


def _compiled(top: str, path: str, made: List[str]) -> str:
    _make_folders(os.path.join(top + os.path.dirname(path), "__pycache__"), made)
    written = py_compile.compile(top + path, dfile=path, doraise=True)
    os.chmod(str(written), 0o644)
    made.append(str(written))
    return str(written)[len(top) :]


def _record(where: Places, content: Iterable[Entry], unlisted: Iterable[str]) -> bytes:
    """Return RECORD: paths relative to the library, those of `unlisted` without a digest."""
    rows = [record_row(entry._replace(name=os.path.relpath(entry.name, where.modules))) for entry in content]
    rows += [f"{os.path.relpath(path, where.modules)},," for path in unlisted]
    return ("\n".join(rows) + "\n").encode("utf-8")


def _installed(where: Places, top: str) -> List[str]:
    """Return the .dist-info folders of aasm that are installed there, of whatever version."""
    return glob.glob(os.path.join(glob.escape(top + where.modules), f"{PACKAGE}-*.dist-info"))


def uninstall(where: Places, top: str) -> List[str]:
    """Remove what RECORD lists, and the folders that are empty then; return the paths. TreeError: nothing is there."""
    records = [os.path.join(folder, "RECORD") for folder in _installed(where, top)]
    if len(records) != 1:
        what = f"{len(records)} installations of {PACKAGE} are there, not one"
        raise TreeError(f"{top}{where.modules}: {what}; name the prefix that it was installed beneath")
    try:
        text = read_file(Path(records[0]), records[0]).decode("utf-8")
    except ValueError:
        raise TreeError(f"{records[0]}: is damaged; remove the files by hand") from None
    names = [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]
    paths = [os.path.normpath(os.path.join(top + where.modules, name)) for name in names]
    beyond = [path for path in paths if not path.startswith(top + where.prefix + "/")]
    if beyond:
        what = f"lists {beyond[0]}, which is not beneath {top}{where.prefix}"
        raise TreeError(f"{records[0]}: {what}; nothing was removed")
    folders = {folder for path in paths for folder in _parents(path, top + where.prefix)}
    return _remove([*sorted(folders), *paths])


def _parents(path: str, end: str) -> List[str]:
    folder = os.path.dirname(path)
    return [] if folder == end else [folder, *_parents(folder, end)]


def _remove(paths: List[str]) -> List[str]:
    """Remove files, and folders that are empty then, from the last to the first; return what was removed."""
    gone = []
    for path in reversed(paths):
        try:
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            gone.append(path)
        except OSError:  # a folder with other files in it, or a file that is gone
            continue
    return gone


def main(argv: List[str]) -> int:
    parser = command.Parser("tools/install.py", __doc__)
    parser.add_argument("--prefix", required=True, metavar="DIR", help="install beneath DIR (bin, lib, share)")
    parser.add_argument("--root", default="", metavar="TOP", help="put it beneath TOP, which is / where it is used")
    parser.add_argument("--uninstall", action="store_true", help="remove what this command or pip installed there")
    parser.add_argument("--modified", action="store_true", help="although this tree is not what SBOM.spdx.json lists")
    options = parser.parse_args(argv)
    if not (options.modified or options.uninstall) and sbom.faults(read_file(ROOT / sbom.NAME, sbom.NAME), entries()):
        raise TreeError(f"{sbom.NAME}: is not that of this tree; take an unchanged tree, or install it with --modified")
    top = os.path.abspath(options.root) if options.root else ""
    where = places(options.prefix)
    done = (uninstall if options.uninstall else install)(where, top)
    print(f"{len(done)} files and folders {'removed' if options.uninstall else 'written'} beneath {top}{where.prefix}")
    if not options.uninstall:
        print(f"the command is {os.path.join(where.scripts, PACKAGE)}")
    return 0


if __name__ == "__main__":
    sys.exit(command.run(main))
