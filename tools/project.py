# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Which files are the project's, and what a module of it imports: the one answer for all tools and tests.

It reads this tree and changes nothing. Where git or its folder is missing (an unpacked archive, a bare copy) the tree
is walked instead, and a test holds the two answers equal.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Set

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "aasm"

# What tools and editors leave in a tree, and what hidden names are the project's nevertheless.
_NOT_OURS = {"__pycache__", "build", "dist"}
_HIDDEN_AND_OURS = {".ci", ".gitignore"}


class Import(NamedTuple):
    """One import of a module: the line, the dotted name, and whether the statement stands at the module's top level."""

    line: int
    name: str
    at_top: bool


def project_files(root: Path = ROOT) -> List[Path]:
    """Return every file of the tree at `root` that is tracked, or is new and not ignored, sorted by its path."""
    return sorted(_listed(root) if (root / ".git").exists() and shutil.which("git") else _walked(root))


def _listed(root: Path) -> Iterator[Path]:
    command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, check=True).stdout.split(b"\0")
    paths = (root / os.fsdecode(name) for name in names if name)
    return (path for path in paths if path.is_file() or path.is_symlink())


def _walked(root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") and part not in _HIDDEN_AND_OURS for part in parts)
        left = path.suffix == ".pyc" or any(part in _NOT_OURS or part.endswith(".egg-info") for part in parts)
        if (path.is_file() or path.is_symlink()) and not hidden and not left:
            yield path


def python_files(*folders: str) -> List[Path]:
    """Return the project's Python files, those beneath `folders` only when some are given."""
    found = [path for path in project_files() if path.suffix == ".py"]
    return [path for path in found if not folders or path.relative_to(ROOT).parts[0] in folders]


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the package: aasm/policy/__init__.py is `aasm.policy`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_modules() -> Set[str]:
    """Return the dotted names of all modules of the package, its folders included."""
    names = {module_name(path) for path in python_files(PACKAGE)}
    return names | {".".join(name.split(".")[:depth]) for name in names for depth in range(1, name.count(".") + 1)}


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))


def imports(path: Path, modules: Set[str]) -> List[Import]:
    """Return all imports of a file, those inside functions too; `from x import y` means x.y where that is a module."""
    found: List[Import] = []
    tree = parsed(path)
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [Import(node.lineno, alias.name, id(node) in top) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, path)
            names = [f"{base}.{alias.name}" for alias in node.names]
            found += [Import(node.lineno, name if name in modules else base, id(node) in top) for name in names]
    return found


def reached(start: Iterable[str]) -> Set[str]:
    """Return the modules of the package that importing those named `start` can lead to, their folders included."""
    modules = package_modules()
    files = {module_name(path): path for path in python_files(PACKAGE)}
    seen: Set[str] = set()
    waiting = set(start)
    while waiting:
        name = waiting.pop()
        seen.add(name)
        found = {one.name for one in imports(files[name], modules)} & modules if name in files else set()
        waiting |= (found | set(_folders(name))) - seen
    return seen


def _folders(name: str) -> List[str]:
    """Return the packages that a module lies in: importing it runs their `__init__` first."""
    return [name[:at] for at, sign in enumerate(name) if sign == "."]


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    """Return the absolute name of what stands between `from` and `import`."""
    if not node.level:
        return node.module or ""
    here = path.relative_to(ROOT).parts[:-1]
    base = here[: len(here) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])
