#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Installs aasm from this tree where there is no pip: the same files that a wheel would install.

    python3 tools/install.py --prefix DIR              the command is then DIR/bin/aasm
    python3 tools/install.py --prefix DIR --root TOP   the same beneath TOP, for a package or an image
    python3 tools/install.py --prefix DIR --uninstall

DIR is an absolute path. Needs Python and nothing else, and installs for the Python that runs it. It replaces nothing:
where something is there already, nothing is written; to update, uninstall first. RECORD lists what was installed, so
pip can remove it too. What is left by a run that was killed, --uninstall removes.
"""

from __future__ import annotations

import csv
import glob
import importlib.util
import io
import marshal
import os
import struct
import sys
import sysconfig
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:  # under python -I
    sys.path.insert(0, _HERE)

import command  # noqa: E402
import sbom  # noqa: E402
from archives import members, mode  # noqa: E402
from build_backend import record_row, wheel  # noqa: E402
from metadata import Project  # noqa: E402
from project import PACKAGE, ROOT, Entry, TreeError, entries, read_file, shown  # noqa: E402
from written import Written, remove  # noqa: E402

INFO, RECORD = ".dist-info", "RECORD"
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

    prefix: str  # "" for the root
    modules: str
    scripts: str


def places(prefix: str) -> Places:
    """Return where this Python has modules and commands beneath `prefix`. TreeError when it is no absolute path."""
    if not os.path.isabs(prefix):
        raise TreeError(f"--prefix: {prefix or 'the empty text'} is no absolute path; begin it with a slash")
    prefix = os.path.normpath(f"/{prefix.lstrip('/')}").rstrip("/")
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
            found.append(Entry(f"{where.prefix}/{name[len(shared) :]}", data))
        elif name != f"{project.dist_info}/{RECORD}":
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

    RECORD comes first, whole, so that what a killed run leaves can be uninstalled; the command comes last, so that it
    cannot be started. TreeError when something is there already, OSError with its path.
    """
    content = installation(where)
    record = os.path.join(where.modules, Project(ROOT).dist_info, RECORD)
    compiled = {path: _cached(path) for path in content if path.endswith(".py")}
    _expect_room([*content, *compiled.values()], where, top)
    made = Written()
    try:
        remove(path for folder in _begun(where, top) for path in (folder, os.path.join(folder, RECORD)))
        data = _record(where, [*content.values()], [*compiled.values(), record])
        made.file(top + record, data, lasting=True)
        command_file = content.pop(os.path.join(where.scripts, PACKAGE))
        for entry in content.values():
            made.file(top + entry.name, entry.data, mode(entry))
        for path, cached in compiled.items():
            made.file(top + cached, _compiled(content[path].data, path, os.stat(top + path)))
        made.file(top + command_file.name, command_file.data, mode(command_file))
    except BaseException:
        made.take_back()
        raise
    return made.paths


def _expect_room(paths: List[str], where: Places, top: str) -> None:
    """Raise TreeError when aasm is installed there, or another file is where one of these is to be."""
    folders = _installed(where, top)
    if folders:
        version = os.path.basename(folders[0])[len(PACKAGE) + 1 : -len(INFO)]
        what = f"exists, and nothing is replaced; remove what is installed first (--uninstall): {PACKAGE} {version}"
        raise TreeError(f"{folders[0]}: {what}, all of it or a part")
    there = [path for path in paths if os.path.lexists(top + path)]
    if there:
        _expect_no_other(where, top)
        what = "exists, belongs to no installation that is recorded here, and nothing is replaced"
        raise TreeError(f"{top}{there[0]}: {what}; move it away, or take another prefix")
    _expect_no_links((top + path for path in paths), where, top)


def _expect_no_other(where: Places, top: str) -> None:
    """Raise TreeError when aasm is installed beneath the prefix for a Python that has its modules elsewhere."""
    pattern = os.path.join(glob.escape(top + where.prefix), "lib*", "python*", "*-packages", f"{PACKAGE}-*{INFO}")
    others = [path for path in sorted(glob.glob(pattern)) if os.path.dirname(path) != top + where.modules]
    if others:
        raise TreeError(f"{others[0]}: is installed for another Python; to remove it, run --uninstall with that Python")


def _cached(path: str) -> str:
    """Return where this Python looks for what it compiled of a source, where nobody has set another place."""
    folder, name = os.path.split(path)
    return os.path.join(folder, "__pycache__", f"{name[: -len('.py')]}.{sys.implementation.cache_tag}.pyc")


def _compiled(source: bytes, path: str, found: os.stat_result) -> bytes:
    """Return a compiled file (PEP 552) of a source that will be called `path`; `found` is what it is now.

    It goes by the time of the source, or by its hash where SOURCE_DATE_EPOCH says that times will not stay.
    """
    code = marshal.dumps(compile(source, path, "exec", dont_inherit=True, optimize=0))
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return importlib.util.MAGIC_NUMBER + struct.pack("<L", 3) + importlib.util.source_hash(source) + code
    stated = int(found.st_mtime) & 0xFFFFFFFF, len(source)
    return importlib.util.MAGIC_NUMBER + struct.pack("<LLL", 0, *stated) + code


def _record(where: Places, content: Iterable[Entry], unlisted: Iterable[str]) -> bytes:
    """Return RECORD: paths relative to the library, those of `unlisted` without a digest."""
    rows = [record_row(entry._replace(name=os.path.relpath(entry.name, where.modules))) for entry in content]
    rows += [f"{os.path.relpath(path, where.modules)},," for path in unlisted]
    return ("\n".join(rows) + "\n").encode("utf-8")


# --- what is there ------------------------------------------------------------------------------------


def _folders(where: Places, top: str) -> List[str]:
    """Return the .dist-info folders of aasm there, of whatever version. OSError for an unreadable place."""
    try:
        names = sorted(os.listdir(top + where.modules))
    except (FileNotFoundError, NotADirectoryError):
        return []
    ours = [name for name in names if name.startswith(f"{PACKAGE}-") and name.endswith(INFO)]
    return [os.path.join(top + where.modules, name) for name in ours]


def _begun(where: Places, top: str) -> List[str]:
    """Return those of a run that was killed before it had written RECORD: nothing else was written then."""
    return [folder for folder in _folders(where, top) if not {*os.listdir(folder)} - {RECORD} and not _rows(folder)]


def _installed(where: Places, top: str) -> List[str]:
    """Return those of installations, whole or in part."""
    begun = _begun(where, top)
    return [folder for folder in _folders(where, top) if folder not in begun]


def _rows(folder: str) -> List[str]:
    """Return the names that RECORD in this folder lists; none when it does not list itself, as a whole one does."""
    path = os.path.join(folder, RECORD)
    try:
        text = read_file(Path(path), path).decode("utf-8")
        names = [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]
    except (csv.Error, UnicodeDecodeError):
        return []
    except TreeError:
        if os.path.lexists(path):
            raise
        return []
    whole = f"{os.path.basename(folder)}/{RECORD}" in names and "\0" not in text
    return names if whole else []


def _listed(folder: str, where: Places, top: str) -> List[str]:
    """Return the paths that RECORD lists. TreeError when it is not that of an installation, or leads elsewhere."""
    library, record = top + where.modules, os.path.join(folder, RECORD)
    paths = [os.path.normpath(os.path.join(library, name)) for name in _rows(folder)]
    if not any(path.startswith(f"{library}/{PACKAGE}/") or path.endswith(".pth") for path in paths):
        parts = f"{library}/{PACKAGE}", folder, top + os.path.join(where.scripts, PACKAGE)
        shared = f"what `find {top}{where.prefix}/share -name '*{PACKAGE}*'` prints"
        what = f"is damaged: it lists not both itself and the package; remove by hand {', '.join(parts)} and {shared}"
        raise TreeError(f"{record}: {what}")
    beyond = [path for path in paths if not path.startswith(f"{top}{where.prefix}/")]
    if beyond:
        what = f"lists {beyond[0]}, which is not beneath {top}{where.prefix}"
        raise TreeError(f"{record}: {what}; nothing was removed")
    _expect_no_links(paths, where, top)
    return paths


def _expect_no_links(paths: Iterable[str], where: Places, top: str) -> None:
    """Raise TreeError where a link is on the way to one of these: what lies behind it is not of this installation.

    Where Python itself has its modules, commands and manual pages, an administrator may have made one.
    """
    bases = [top + base for base in (where.modules, where.scripts, f"{where.prefix}/share/man", where.prefix)]
    for folder in sorted({os.path.dirname(path) for path in paths}):
        base = next(one for one in bases if f"{folder}/".startswith(f"{one}/")) or "/"
        plain = os.path.join(os.path.realpath(base), os.path.relpath(folder, base))
        if os.path.realpath(folder) != os.path.normpath(plain):
            raise TreeError(f"{folder}: is a link, or behind one, and nothing behind it is touched; remove the link")


# --- taking it away -----------------------------------------------------------------------------------


def uninstall(where: Places, top: str) -> List[str]:
    """Remove what RECORD lists, and the folders that are empty then; return the paths. TreeError: nothing is there.

    The command goes first and RECORD last: whatever ends this before the end, it can be done again. OSError, with its
    path, for a file that cannot be removed.
    """
    begun = _begun(where, top)
    lists = {folder: _listed(folder, where, top) for folder in _installed(where, top)}
    if not lists and not begun:
        _expect_no_other(where, top)
        what = f"no {PACKAGE} is installed there; name the prefix that it was installed beneath"
        raise TreeError(f"{top}{where.modules}: {what}, and the same --root")
    gone = remove(path for folder in begun for path in (folder, os.path.join(folder, RECORD)))
    for folder, paths in lists.items():
        gone += remove(_in_order(paths, os.path.join(folder, RECORD), where, top))
    return gone


def _in_order(paths: List[str], record: str, where: Places, top: str) -> List[str]:
    """Return files and their folders so that the last is to be removed first."""
    end = top + where.prefix
    last = [*sorted(_parents(record, end)), record]
    files = {*paths, *(found for path in paths for found in _made_of(path))} - {record}
    scripts = {path for path in files if os.path.dirname(path) == top + where.scripts}
    folders = {folder for path in files for folder in _parents(path, end)} - {*last}
    return [*last, *sorted(folders), *sorted(files - scripts), *sorted(scripts)]


def _made_of(path: str) -> List[str]:
    """Return the compiled files of a source, of whatever Python: they are worth nothing without it."""
    folder, name = os.path.split(path)
    place = os.path.join(glob.escape(os.path.join(folder, "__pycache__")), glob.escape(name[: -len(".py")]))
    return glob.glob(f"{place}.*.pyc") if name.endswith(".py") else []


def _parents(path: str, end: str) -> List[str]:
    folder = os.path.dirname(path)
    return [] if folder == end else [folder, *_parents(folder, end)]


def _readable(path: str) -> str:
    return path if path.isprintable() else shown(path)


def main(argv: List[str]) -> int:
    parser = command.Parser("tools/install.py", __doc__)
    parser.add_argument("--prefix", required=True, metavar="DIR", help="install beneath DIR, an absolute path")
    parser.add_argument("--root", default="", metavar="TOP", help="put it beneath TOP, which is / where it is used")
    parser.add_argument("--uninstall", action="store_true", help="remove what this command or pip installed there")
    parser.add_argument("--modified", action="store_true", help="although this tree is not what SBOM.spdx.json lists")
    options = parser.parse_args(argv)
    if not (options.modified or options.uninstall) and sbom.faults(read_file(ROOT / sbom.NAME, sbom.NAME), entries()):
        raise TreeError(f"{sbom.NAME}: is not that of this tree; take an unchanged tree, or install it with --modified")
    top = os.path.abspath(options.root).rstrip("/") if options.root else ""
    where = places(options.prefix)
    done = (uninstall if options.uninstall else install)(where, top)
    what = "removed" if options.uninstall else "written"
    print(f"{len(done)} files and folders {what} beneath {_readable(top + (where.prefix or '/'))}")
    if not options.uninstall:
        print(f"the command is {_readable(os.path.join(where.scripts, PACKAGE))}")
    return 0


if __name__ == "__main__":
    sys.exit(command.run(main))
