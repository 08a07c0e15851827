# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests about the tree itself share: which files are the project's, and what a module imports."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import Iterator, List, NamedTuple, Set

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "aasm"

# Where there is no git (an unpacked archive), these are not the project's.
_NOT_OURS = {"__pycache__", "build", "dist"}


class Import(NamedTuple):
    """One import of a module: the line, the dotted name, and whether the statement stands at the module's top level."""

    line: int
    name: str
    at_top: bool


def project_files() -> List[Path]:
    """Return every file that is tracked, or is new and not ignored."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    if not (ROOT / ".git").exists():
        return sorted(_walked())
    listed = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8")
    return sorted(path for path in (ROOT / name for name in listed.split("\0") if name) if path.is_file())


def _walked() -> Iterator[Path]:
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") and part not in (".ci", ".gitignore") for part in parts)
        if path.is_file() and not hidden and not _NOT_OURS.intersection(parts):
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


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    """Return the absolute name of what stands between `from` and `import`."""
    if not node.level:
        return node.module or ""
    here = path.relative_to(ROOT).parts[:-1]
    base = here[: len(here) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])
