# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the names in a file stand for: imports and aliases, followed through our own modules to the standard library.

A name that a file binds by an import anywhere counts as that import everywhere in it. Reads syntax trees only.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import tree_kinds as kinds
from project import PACKAGE, from_where
from tree import Tree

NATIVE = "native"  # the module that a loaded library of machine code counts as
_SHARED = "support"  # what tools import of tests/


class Target(NamedTuple):
    """A module, the name in it (None: the module itself), and the attributes after that."""

    module: str
    name: Optional[str]
    beyond: Tuple[str, ...]
    is_own: bool = False

    @property
    def is_native(self) -> bool:
        return self.module == NATIVE


class Index:
    """The names of every file of ours, each read when it is first asked for."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.files = {tree.module(path): path for path in tree.own()}
        for path in tree.python("tools", "tests"):
            name = tree.module(path).partition(".")[2]
            if tree.name(path).startswith("tools/") or name.split(".")[0] == _SHARED:
                self.files[name] = path
        folders = {name[:at] for name in self.files for at, sign in enumerate(name) if sign == "."}
        self.modules: Set[str] = {*self.files, *folders, PACKAGE}
        self._private: Set[str] = set()
        self._names: Dict[Path, Names] = {}

    def names(self, path: Path) -> Names:
        if path not in self._names:
            self._names[path] = Names(self, path)
            self._names[path].bind_assignments()  # only now: it may ask for the names of this very file
        return self._names[path]

    def is_foreign(self, name: str) -> bool:
        """Tell whether a name with one underscore is an attribute that no file of ours binds."""
        if not name.startswith("_") or kinds.is_dunder(name) or name in kinds.OF_TUPLES:
            return False
        if not self._private:
            files = [*self.tree.own(), *self.tree.tools()]
            self._private = {one for path in files for one in bound(self.tree, path) if one.startswith("_")}
        return name not in self._private

    def is_own(self, name: str) -> bool:
        return name.split(".")[0] in self.modules

    def resolve(self, dotted: str, depth: int = 8) -> Iterator[Target]:
        """Yield what a dotted name stands for. A chain of re-exports that is longer than `depth` is our own name."""
        parts = dotted.split(".")
        if not self.is_own(dotted):
            module, rest = _split(parts, kinds.is_module)
            yield Target(module, rest[0] if rest else None, rest[1:])
            return
        module, rest = _split(parts, self.modules.__contains__)
        passed_on = self.names(self.files[module]).targets(rest[0]) if rest and depth and module in self.files else ()
        for target in passed_on:
            yield from self.resolve(".".join((target, *rest[1:])), depth - 1)
        if not passed_on:
            yield Target(module, rest[0] if rest else None, rest[1:], is_own=True)


def _split(parts: List[str], is_module: Callable[[str], bool]) -> Tuple[str, Tuple[str, ...]]:
    """Return the longest beginning that is a module, and the rest."""
    length = 1
    while length < len(parts) and is_module(".".join(parts[: length + 1])):
        length += 1
    return ".".join(parts[:length]), tuple(parts[length:])


class Names:
    """What one file binds."""

    def __init__(self, index: Index, path: Path) -> None:
        self.index, self.path = index, path
        self._bound: Dict[str, Set[str]] = {}
        tree = index.tree
        for node in tree.nodes(path, ast.Import, ast.ImportFrom):
            self._bind_import(node)
        top = set(map(id, tree.parsed(path).body))
        every = [alias for node in tree.nodes(path, ast.Import, ast.ImportFrom) for alias in names_of(node)]
        self._imported = Counter(alias.asname or alias.name.split(".")[0] for alias in every)
        inner = (node for node in tree.nodes(path, ast.Import, ast.ImportFrom) if id(node) not in top)
        self._bound_inside = {alias.asname or alias.name.split(".")[0] for node in inner for alias in names_of(node)}
        self.lazy_annotations = "__future__.annotations" in self._bound.get("annotations", ())
        self._functions = {getattr(node, "name", "") for node in tree.nodes(path, ast.FunctionDef)}
        self._constants: Dict[str, ast.expr] = {}
        self._stored: Counter[str] = Counter()

    def _bind_import(self, node: ast.AST) -> None:
        for alias in names_of(node):
            if isinstance(node, ast.ImportFrom):
                self._bound.setdefault(alias.asname or alias.name, set()).add(f"{self.where(node)}.{alias.name}")
            else:
                whole = alias.name if alias.asname else alias.name.split(".")[0]
                self._bound.setdefault(alias.asname or whole, set()).add(whole)

    def bind_assignments(self) -> None:
        """Bind the names of loaded libraries, and note what is assigned once and for all at the top."""
        tree = self.index.tree
        stored = self._stored = Counter(bound(tree, self.path, attributes=False))
        for node in tree.nodes(self.path, ast.Assign):
            assert isinstance(node, ast.Assign)
            for target in node.targets:
                if isinstance(target, ast.Name) and self._loads_library(node.value):
                    self._bound.setdefault(target.id, set()).add(NATIVE)
                elif isinstance(target, ast.Name) and stored[target.id] == 1 and node in tree.parsed(self.path).body:
                    self._constants[target.id] = node.value

    def _loads_library(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and any(
            found.module == "ctypes" and found.name and kinds.kind_of("ctypes", found.name) == "native"
            for found in self.of(value.func)
        )

    def where(self, node: ast.ImportFrom) -> str:
        """Return the absolute name of what stands between `from` and `import`."""
        return from_where(node, self.path, self.index.tree.root)

    def targets(self, name: str) -> Set[str]:
        """Return the dotted names that imports bind `name` to in this file."""
        return self._bound.get(name, set())

    def is_ambiguous(self, name: str) -> bool:
        """Tell whether a name that an import binds may be something else somewhere in this file."""
        imported = self._imported[name]
        return imported > 0 and (name in self._bound_inside or self._stored[name] > imported)

    def is_bound_inside(self, name: str) -> bool:
        """Tell whether an import that stands deeper than the top of the file binds `name`."""
        return name in self._bound_inside

    def of(self, node: ast.expr) -> List[Target]:
        """Return what a name, or attributes of a name, stand for; nothing where that is no matter of imports."""
        base, attributes = chain(node)
        bound = self.targets(base.id) if isinstance(base, ast.Name) else set()
        if attributes and self._loads_library(base):  # ctypes.CDLL(None).x
            bound = {NATIVE}
        return [found for one in bound for found in self.index.resolve(".".join((one, *attributes)))]

    def constant(self, node: ast.expr) -> Optional[ast.expr]:
        """Return what an expression is once and for all: a literal, or what a top-level name stands for; else None."""
        if isinstance(node, ast.Name) and node.id in self._constants:
            return self._constants[node.id]
        if isinstance(node, ast.Constant):
            return node
        for found in self.of(node):
            if found.is_own and found.name and not found.beyond and found.module in self.index.files:
                return self.index.names(self.index.files[found.module])._constants.get(found.name)
        return None

    def binds(self, name: str) -> bool:
        """Tell whether the file gives a name a meaning of its own anywhere, but as an argument."""
        return name in self._stored

    def defines(self, function: str) -> bool:
        return function in self._functions

    def only_reads(self, flags: Optional[ast.expr]) -> bool:
        """Tell whether the flags of an open(2) are seen to be those of reading, whatever happens."""
        if isinstance(flags, ast.BinOp) and isinstance(flags.op, ast.BitOr):
            return self.only_reads(flags.left) and self.only_reads(flags.right)
        if isinstance(flags, ast.IfExp):
            return self.only_reads(flags.body) and self.only_reads(flags.orelse)
        if isinstance(flags, ast.Name) and flags.id in self._constants:
            return self.only_reads(self._constants[flags.id])
        found = self.of(flags) if flags is not None else []
        homes = ("os", "posix", "fcntl")
        return bool(found) and all(one.module in homes and one.name in kinds.READING_FLAGS for one in found)


def bound(tree: Tree, path: Path, attributes: bool = True) -> Iterator[str]:
    """Yield each name that a file binds, as often as it does: variables, functions, classes, imports, attributes."""
    kinds_of_nodes = (ast.Name, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.ExceptHandler)
    for node in tree.nodes(path, *kinds_of_nodes):
        if isinstance(node, ast.Name):
            yield from [] if isinstance(node.ctx, ast.Load) else [node.id]
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            yield node.name or ""
    for node in tree.nodes(path, ast.Attribute) if attributes else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def names_of(node: ast.AST) -> List[ast.alias]:
    """Return what an import statement names."""
    return node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []


def chain(node: ast.expr) -> Tuple[ast.expr, Tuple[str, ...]]:
    """Return what attributes are taken of, and their names in order: `a.b.c` is the name a, and ("b", "c")."""
    attributes: List[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return node, tuple(reversed(attributes))
