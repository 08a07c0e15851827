# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A tree of files as the rules of tools/check_tree.py see it: each file is read and parsed once, for all of them.

A rule is a function from a `Tree` to findings. It reads, and must neither change nor execute what it looks at. What
cannot be read (a link, a pipe, a file that is closed or huge) or parsed is in no rule's sight but the one that reports
it.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple

from project import (
    OLDEST,
    PACKAGE,
    ROOT,
    Import,
    TreeError,
    imports_of,
    module_name,
    package_modules,
    parsed_data,
    project_files,
    read_file,
    shown,
)

TESTS = "tests"


class Finding(NamedTuple):
    """What a rule has against a file: the path from the top of the tree, the line (from 1), the rule, and what."""

    file: str
    line: int
    rule: str
    what: str

    def __str__(self) -> str:
        return _plain(f"{self.file}:{self.line}: {self.rule}: {self.what}")


def _plain(text: str) -> str:
    """Return text with whatever is not visible ASCII as an escape: one line, on any terminal."""
    return re.sub(r"[^ -~]", lambda sign: sign[0].encode("unicode_escape").decode("ascii"), text)


class Tree:
    """The project's files beneath `root`: their names, texts, syntax trees and imports.

    TreeError where the files cannot be listed.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.unread: List[Finding] = []
        self.broken: List[Finding] = []
        self._data: Dict[Path, bytes] = {}
        try:
            self.files = [path for path in project_files(root) if self._can_be_read(path)]
            self.modules: Set[str] = package_modules(root)
        except OSError as problem:
            raise TreeError(f"the files of this tree cannot be listed: {shown(str(problem))}") from problem
        self._text: Dict[Path, str] = {}
        self._parsed: Dict[Path, ast.Module] = {}
        self._nodes: Dict[Path, Dict[type, List[ast.AST]]] = {}
        self._imports: Dict[Path, List[Import]] = {}
        self._python = [path for path in self.files if path.suffix == ".py" and self._can_be_parsed(path)]

    def _can_be_read(self, path: Path) -> bool:
        name = self.name(path)
        try:
            self._data[path] = read_file(path, name)
        except TreeError as problem:
            self.unread.append(Finding(name, 1, "text", str(problem).partition(f"{shown(name)}: ")[2]))
            return False
        return True

    def _can_be_parsed(self, path: Path) -> bool:
        try:
            self._parsed[path] = parsed_data(self.data(path), self.name(path))
        except (SyntaxError, ValueError, MemoryError, RecursionError) as problem:  # the last two: nested too deeply
            line = getattr(problem, "lineno", None) or 1
            why = getattr(problem, "msg", None) or str(problem) or type(problem).__name__
            what = f"Python {'.'.join(map(str, OLDEST))} cannot parse this: {why}"
            self.broken.append(Finding(self.name(path), line, "syntax", what))
            return False
        return True

    def name(self, path: Path) -> str:
        """Return the path of a file from the top of the tree, with forward slashes."""
        return path.relative_to(self.root).as_posix()

    def module(self, path: Path) -> str:
        """Return the dotted name of a file of the package."""
        return module_name(path, self.root)

    def python(self, *folders: str) -> List[Path]:
        """Return the Python files that can be parsed, those beneath `folders` only when some are given."""
        return [path for path in self._python if not folders or path.relative_to(self.root).parts[0] in folders]

    def is_code(self, path: Path) -> bool:
        """Tell whether a file is Python that can be parsed."""
        return path in self._parsed

    def data(self, path: Path) -> bytes:
        """Return the bytes of a file."""
        return self._data[path]

    def text(self, path: Path) -> str:
        """Return the text of a file; bytes that are no UTF-8 become replacement characters."""
        if path not in self._text:
            self._text[path] = self.data(path).decode("utf-8", "replace")
        return self._text[path]

    def lines(self, path: Path) -> List[str]:
        return self.text(path).split("\n")

    def parsed(self, path: Path) -> ast.Module:
        """Return the syntax tree of a file, which no rule may change."""
        return self._parsed[path]

    def nodes(self, path: Path, *kinds: type) -> Iterator[ast.AST]:
        """Yield the nodes of a file's syntax tree that are of these very classes."""
        if path not in self._nodes:
            by_kind: Dict[type, List[ast.AST]] = {}
            for node in every(self.parsed(path)):
                by_kind.setdefault(type(node), []).append(node)
            self._nodes[path] = by_kind
        for kind in kinds:
            yield from self._nodes[path].get(kind, ())

    def imports(self, path: Path) -> List[Import]:
        """Return what a file imports, in functions too."""
        if path not in self._imports:
            self._imports[path] = imports_of(self.parsed(path), path, self.modules, self.root)
        return self._imports[path]

    def tools(self) -> List[Path]:
        """Return the Python files that are neither of the package nor tests, wherever they lie."""
        return [path for path in self._python if path.relative_to(self.root).parts[0] not in (PACKAGE, TESTS)]

    def own(self) -> List[Path]:
        """Return the Python files of the package."""
        return self.python(PACKAGE)


def every(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all beneath it, but for those that say only how a name is used. Faster than ast.walk."""
    waiting: List[Any] = [node]
    for one in waiting:
        yield one
        for name in one._fields:
            value = getattr(one, name, None)
            if isinstance(value, list):
                waiting += [inner for inner in value if isinstance(inner, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                waiting.append(value)


Rule = Callable[[Tree], Iterable[Finding]]
# The name of a rule, what it holds in words, and the function that finds what breaks it.
Named = Tuple[str, str, Rule]


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Tell whether a file's path from the top is one of `patterns`; `*` also stands for slashes."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def under(name: str, folder: str) -> bool:
    """Tell whether a dotted name is `folder` or lies in it."""
    return name == folder or name.startswith(folder + ".")
