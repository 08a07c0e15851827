# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Which files are the project's, and what a module of it imports: the one answer for all tools and tests.

It reads this tree and changes nothing. What is there counts, whatever git is told of it, since Python runs what git
overlooks. What does not count is one table; a test holds that this leaves of a checkout what git tracks.
"""

from __future__ import annotations

import ast
import errno
import fnmatch
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Container, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "aasm"
OLDEST = (3, 9)  # the oldest supported Python; no syntax is newer
LARGEST = 64 << 20  # bytes; no file of the project comes near

# All that does not count: (where, pattern of names, folders only). A link is no folder, and so it counts.
NOT_OURS: Tuple[Tuple[str, str, bool], ...] = (
    ("top", ".*", False),  # .git, .venv, .tox, caches; but for the two below
    ("top", "build", True),
    ("top", "dist", True),
    ("top", "*.egg-info", True),
    ("anywhere", "__pycache__", True),
)
_HIDDEN_AND_OURS = (".ci", ".gitignore")


class Import(NamedTuple):
    """One import of a module: the line, the dotted name, and whether the statement stands at the module's top level."""

    line: int
    name: str
    at_top: bool


class TreeError(Exception):
    """Something in the tree is not as the tools need it; the text is one line with what, where and remedy."""


class Entry(NamedTuple):
    """One file of the tree or of an archive: its name in there, with forward slashes, and its bytes."""

    name: str
    data: bytes


def project_files(root: Path = ROOT) -> List[Path]:
    """Return whatever lies in the tree at `root` and is no folder, but what NOT_OURS says, sorted by its path.

    No link is followed: one to a folder is listed too, as are pipes, sockets and devices. OSError where a folder cannot
    be read.
    """
    found: List[Path] = []
    for folder, folders, files in os.walk(root, onerror=_refuse):
        where = ["anywhere", "top"] if Path(folder) == root else ["anywhere"]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in links and not _is_left_out(where, name, True)]
        found += [Path(folder, name) for name in (*files, *links) if not _is_left_out(where, name, False)]
    return sorted(found)


def _refuse(problem: OSError) -> None:
    raise problem


def _is_left_out(where: Container[str], name: str, is_folder: bool) -> bool:
    if name in _HIDDEN_AND_OURS:
        return False
    rows = [(pattern, only) for place, pattern, only in NOT_OURS if place in where]
    return any(fnmatch.fnmatchcase(name, pattern) and is_folder >= only for pattern, only in rows)


def entries(root: Path = ROOT, folder: str = "", without: Tuple[str, ...] = ()) -> List[Entry]:
    """Return the project's files beneath `folder` of the tree at `root`, sorted by name, but those named `without`.

    TreeError where one is no plain file, or cannot be read.
    """
    try:
        named = {path.relative_to(root).as_posix(): path for path in project_files(root)}
    except OSError as problem:
        raise TreeError(f"the files of this tree cannot be listed: {shown(str(problem))}") from problem
    named = {name: named[name] for name in sorted(named) if name not in without}
    wanted = [name for name in named if not folder or name.startswith(folder + "/")]
    return [Entry(name, read_file(named[name], name)) for name in wanted]


def read_file(path: Path, name: str) -> bytes:
    """Return the bytes of a regular file, called `name` in messages; no link is followed, nothing is waited for.

    TreeError where that cannot be done, or where it is larger than LARGEST.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            data = _content(descriptor) if regular else b""
        finally:
            os.close(descriptor)
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise TreeError(f"{shown(name)}: is a symbolic link; put a regular file in its place") from problem
        what = f"cannot be read ({problem.strerror}); see that it is there and readable"
        raise TreeError(f"{shown(name)}: {what}") from problem
    if not regular:
        raise TreeError(f"{shown(name)}: is no regular file; put one in its place")
    if len(data) > LARGEST:
        raise TreeError(f"{shown(name)}: is larger than {LARGEST >> 20} MiB, unlike all of ours; take it away")
    return data


def _content(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        return file.read(LARGEST + 1)


def shown(text: str) -> str:
    """Return text from outside as one line of ASCII."""
    return json.dumps(text)[1:-1]


def git(root: Path, *words: str) -> Optional[bytes]:
    """Return what a git command about the checkout at `root` prints; None where there is no git, or it fails.

    Variables that lead git to another repository, such as a hook's, do not count.
    """
    if not (root / ".git").exists() or not shutil.which("git"):
        return None
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    # a tree that is looked at may be anybody's: by fsmonitor, listing it could run a program of its own
    settings = ["-c", "safe.directory=*", "-c", "core.fsmonitor=false"]
    command = ["git", "--no-optional-locks", *settings, "-C", str(root), *words]
    done = subprocess.run(command, env=clean, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def python_files(*folders: str, root: Path = ROOT) -> List[Path]:
    """Return the project's Python files, those beneath `folders` only when some are given."""
    found = [path for path in project_files(root) if path.suffix == ".py"]
    return [path for path in found if not folders or path.relative_to(root).parts[0] in folders]


def module_name(path: Path, root: Path = ROOT) -> str:
    """Return the dotted name of a file of the package: aasm/policy/__init__.py is `aasm.policy`."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_modules(root: Path = ROOT) -> Set[str]:
    """Return the dotted names of all modules of the package, its folders included."""
    names = {module_name(path, root) for path in python_files(PACKAGE, root=root)}
    return names | {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 1)}


def parsed(path: Path, root: Path = ROOT) -> ast.Module:
    """Return the syntax tree of a file, read as the oldest supported Python would read it."""
    name = path.relative_to(root).as_posix()
    return parsed_data(read_file(path, name), name)


def parsed_data(data: bytes, name: str) -> ast.Module:
    """Return the same for the bytes of a file."""
    return ast.parse(data.decode("utf-8"), name, feature_version=OLDEST)


def imports(path: Path, modules: Set[str], root: Path = ROOT) -> List[Import]:
    """Return all imports of a file, those inside functions too; `from x import y` means x.y where that is a module."""
    return imports_of(parsed(path, root), path, modules, root)


def imports_of(tree: ast.Module, path: Path, modules: Set[str], root: Path = ROOT) -> List[Import]:
    """Return the same for a file that is parsed already."""
    found: List[Import] = []
    top = set(map(id, tree.body))
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            found += [Import(node.lineno, alias.name, id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = from_where(node, path, root)
            names = [f"{base}.{alias.name}" for alias in node.names]
            found += [Import(node.lineno, name if name in modules else base, id(node) in top) for name in names]
    return found


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield every statement of a file, at any depth."""
    waiting: List[ast.AST] = list(tree.body)
    for node in waiting:
        yield node
        for block in ("body", "handlers", "orelse", "finalbody"):
            waiting += getattr(node, block, ())


def reached(start: Iterable[str], dispatchers: Container[str] = (), root: Path = ROOT) -> Set[str]:
    """Return the modules of the package that importing those named `start` can lead to, their folders included.

    Of `dispatchers`, which import what they are asked for, only what they import in any case counts.
    """
    modules = package_modules(root)
    files = {module_name(path, root): path for path in python_files(PACKAGE, root=root)}
    seen: Set[str] = set()
    waiting = set(start)
    while waiting:
        name = waiting.pop()
        seen.add(name)
        every = imports(files[name], modules, root) if name in files else []
        found = {one.name for one in every if one.at_top or name not in dispatchers} & modules
        waiting |= (found | set(_folders(name))) - seen
    return seen


def _folders(name: str) -> List[str]:
    """Return the packages that a module lies in: importing it runs their `__init__` first."""
    return [name[:at] for at, sign in enumerate(name) if sign == "."]


def from_where(node: ast.ImportFrom, path: Path, root: Path = ROOT) -> str:
    """Return the absolute name of what stands between `from` and `import`."""
    if not node.level:
        return node.module or ""
    here = path.relative_to(root).parts[:-1]
    base = here[: len(here) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])
