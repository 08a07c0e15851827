# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Finds what code can do to the world, and compares that with the reviewed table in tree_reviewed.py.

It reads names and follows them through imports, aliases and our own modules; nothing is executed. It is built to err
on one side: what cannot be decided is a finding. A module that is handed on as a value, an attribute whose name is
computed, a namespace taken as data, a frame, the class of an object, a name that no table knows: each is `hidden`,
until a row says why not. What a function does with an object that it was given is seen where that object was made.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Dict, FrozenSet, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

import tree_classes as classes
import tree_kinds as kinds
from tree import Finding, Tree
from tree_names import Index, Names, Target, chain
from tree_reviewed import REVIEWED, Row
from tree_reviewed_tools import REVIEWED_TOOLS

TOP = "(top)"  # what stands in no function
_WRITES = "its mode writes, or is no literal"
_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
_RUNS_TEXT = re.compile(r"-[bBdEiIOqsSuvx]*c")  # how an interpreter is told to run its next argument


class Use(NamedTuple):
    """One place where code may have an effect: its line, the function, the kind and the name that is used."""

    line: int
    function: str
    kind: str
    what: str
    why: str


class Scope(NamedTuple):
    """The names that are local to a function, and those that it takes from the top of the file."""

    local: Set[str]
    outer: Set[str]


class Scanner(ast.NodeVisitor):
    """Walks one file and notes every use that has a kind."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.uses: List[Use] = []
        self._functions: List[str] = []
        self._scopes: List[Scope] = []
        self._parents: List[ast.AST] = []

    def note(self, node: ast.AST, kind: str, what: str, why: str = "") -> None:
        if kind != kinds.HARMLESS:
            function = ".".join(self._functions) or TOP
            self.uses.append(Use(getattr(node, "lineno", 1), function, kind, what, why or kinds.KINDS[kind]))

    def visit(self, node: ast.AST) -> None:
        self._parents.append(node)
        super().visit(node)
        self._parents.pop()

    def _all(self, nodes: Iterable[Optional[ast.AST]]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # Where we are.

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._all((*node.decorator_list, *node.bases, *node.keywords))
        self._binds(node, node.name)
        self._inside(node.name, scope_of([], node.body)._replace(local=set()), node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._binds(node, node.name, kinds.DEFINABLE)
        self._function(node, node.name, node.decorator_list, node.body, node.returns)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._binds(node, node.name)
        self._function(node, node.name, node.decorator_list, node.body, node.returns)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node, "", [], [node.body], None)

    def _function(
        self, node: Function, name: str, around: Sequence[ast.AST], body: Sequence[ast.AST], returns: Optional[ast.AST]
    ) -> None:
        self._all((*around, *node.args.defaults, *node.args.kw_defaults))  # these run outside
        for annotation in (*(one.annotation for one in arguments(node)), returns):
            self._annotation(annotation)
        self._inside(name, scope_of(arguments(node), body), body)

    def _inside(self, name: str, scope: Scope, body: Sequence[ast.AST]) -> None:
        self._functions += [name] if name else []
        self._scopes.append(scope)
        self._all(body)
        self._scopes.pop()
        del self._functions[len(self._functions) - bool(name) :]

    def _is_local(self, name: str) -> bool:
        for scope in () if self.names.is_bound_inside(name) else reversed(self._scopes):
            if name in scope.local or name in scope.outer:
                return name in scope.local
        return False

    def _annotation(self, node: Optional[ast.AST]) -> None:
        """Look at an annotation where it is evaluated; elsewhere it is text, and a name in it is no use."""
        if node and not self.names.lazy_annotations:
            self.visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        self._all((node.target, node.value))

    def _binds(self, node: ast.AST, name: str, allowed: FrozenSet[str] = kinds.BINDABLE) -> None:
        if (kinds.is_dunder(name) or name in kinds.HOOKS) and name not in allowed:
            self.note(node, "hidden", name, "changes what Python itself goes by")

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._binds(node, node.name or "")
        self.generic_visit(node)

    # Imports.

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(node, alias.name)
            self._takes(node, alias.asname or "")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        where = self.names.where(node)
        self._imported(node, where)
        for alias in node.names:
            self._takes(node, alias.asname or alias.name)
        if any(alias.name == "*" for alias in node.names):
            self.note(node, "hidden", f"{where}.*", "binds names that stand nowhere")

    def _takes(self, node: ast.AST, name: str) -> None:
        """Note an import under a name that says something else everywhere else."""
        self._binds(node, name)
        if name in kinds.JUDGED:
            self.note(node, "hidden", name, "takes the name of a built-in function")

    def _imported(self, node: ast.AST, name: str) -> None:
        if not self.names.index.is_own(name) and not kinds.is_module(name.split(".")[0]):
            self.note(node, "hidden", name, "a module that tools/tree_kinds.py does not know")
        top = name.split(".")[0]
        if top in kinds.IMPORTED and not self.names.index.is_own(name):
            self.note(node, kinds.IMPORTED[top], top)

    # Names and attributes.

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._binds(node, node.id)
            return
        if self._is_local(node.id):
            return
        for found in self.names.of(node):
            self._target(node, found)
        if self.names.targets(node.id):
            return
        if node.id == kinds.OPEN:
            self._opening(node, kinds.OPEN)
        elif node.id in kinds.ATTRIBUTE_BY_NAME and node.id != "hasattr":  # which hands out nothing
            self.note(node, "hidden", node.id, "the name of the attribute is computed, or it is handed on")
        elif node.id == "type":
            if not classes.asks_for_a_class(self._parents, self._constant, self._is_built_in):
                self.note(node, "hidden", "type", "it hands out a class: what can be made with that is not seen")
        elif node.id == "super":
            if not classes.is_plain_super(self._parents):
                self.note(node, "hidden", "super", "of which class and object is computed, or it is handed on")
        else:
            self.note(node, kinds.builtin_kind(node.id), node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Look at a chain of attributes as a whole where it begins at an import, else at its last link and the rest."""
        base, _ = chain(node)
        found = [] if isinstance(base, ast.Name) and self._is_local(base.id) else self.names.of(node)
        before = len(self.uses)
        for target in found:
            self._target(node, target)
        of_objects = {name for target in found for name in target.beyond} if found else {node.attr}
        if len(self.uses) == before and isinstance(base, ast.Name) and self.names.is_ambiguous(base.id):
            of_objects |= {node.attr}  # a harmless import, or just here something else
        for name in sorted(of_objects):
            self._of_object(node, name)
        if node.attr in of_objects:
            self._method(node)
        if not found:
            self.visit(node.value)

    def _of_object(self, node: ast.Attribute, name: str) -> None:
        """Note what an attribute of who knows what can do; `name` is that of `node`, or of a link before it."""
        stored = not isinstance(node.ctx, ast.Load) and name == node.attr
        if name == node.attr and classes.is_method_of_super(node, self._call_of(node)):
            return
        if kinds.is_dunder(name) and stored:
            self.note(node, "hidden", f".{name}", "changes what Python itself goes by")
        elif self.names.index.is_foreign(name):
            self.note(node, "hidden", f".{name}", "private to a class that is not ours")
        else:
            self.note(node, kinds.method_kind(name), f".{name}")

    def _is_built_in(self, name: str) -> bool:
        return name in kinds.BUILTIN_CLASSES and not self.names.binds(name) and not self._is_local(name)

    def _constant(self, node: ast.expr) -> Optional[ast.expr]:
        local = isinstance(node, ast.Name) and self._is_local(node.id)
        return None if local else self.names.constant(node)

    def _target(self, node: ast.AST, found: Target) -> None:
        """Note what a name stands for, once imports are followed."""
        what = f"{found.module}.{found.name}"
        if found.name is None:
            self.note(node, "hidden", found.module, "a module as a value")
        elif not found.beyond and isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            self.note(node, "state", what, "puts something else in its place, for everybody")
        elif found.is_native:
            self.note(node, "native", what)
        elif found.is_own:
            self.note(node, kinds.own_kind(found.module, found.name), what)
        elif what in kinds.ENVIRONMENTS:
            self._environment(node, what, found.beyond)
        elif what in kinds.MODE_AT or what in kinds.FLAGS_AT:
            self._opening(node, what)
        else:
            kind = kinds.kind_of(found.module, found.name)
            self.note(node, kind, what, "no table knows it" if kind == "hidden" else "")

    # Uses that are judged by what stands around them.

    def _around(self) -> Optional[ast.AST]:
        return self._parents[-2] if len(self._parents) > 1 else None

    def _call_of(self, node: ast.AST) -> Optional[ast.Call]:
        call = self._around()
        return call if isinstance(call, ast.Call) and call.func is node else None

    def _opening(self, node: ast.AST, what: str) -> None:
        call = self._call_of(node)
        if call is None:
            self.note(node, "hidden", what, "handed on, so that its mode is not seen")
        elif what in kinds.FLAGS_AT:
            if not (is_plain(call) and self.names.only_reads(argument(call, kinds.FLAGS_AT[what], "flags"))):
                self.note(node, kinds.kind_of(*what.rsplit(".", 1)), what, "it is not seen to do nothing but read")
        elif not _only_reads(call, kinds.MODE_AT[what]):
            self.note(node, "write", what, _WRITES)

    def _method(self, node: ast.Attribute) -> None:
        """Note the methods whose names alone say too little: replace, open and format."""
        call, reads = self._call_of(node), isinstance(node.ctx, ast.Load)
        if node.attr == "replace" and not _replaces_in_a_value(call):
            self.note(node, "write", ".replace", "with one argument, or handed on: it renames a file")
        if node.attr in kinds.TEMPLATES and not classes.is_seen_template(node, call, self._constant):
            self.note(node, "hidden", f".{node.attr}", "which attributes its template takes is not seen")
        if node.attr == "open" and reads and not (call and _only_reads(call, 0) and _only_reads(call, 1)):
            of_this_file = isinstance(node.value, ast.Name) and node.value.id == "self" and self.names.defines("open")
            if not of_this_file:
                self.note(node, "write", ".open", _WRITES)

    def visit_Call(self, node: ast.Call) -> None:
        """Judge getattr and its like by the attribute, where its name is a literal."""
        name = argument(node, 1, "name")
        by_name = isinstance(node.func, ast.Name) and node.func.id in kinds.ATTRIBUTE_BY_NAME and is_plain(node)
        if not (by_name and node.args and isinstance(name, ast.Constant) and isinstance(name.value, str)):
            self.generic_visit(node)
            return
        reads = getattr(node.func, "id", "") in ("getattr", "hasattr")
        attribute = ast.Attribute(node.args[0], name.value, ast.Load() if reads else ast.Store())
        self._all((ast.copy_location(attribute, node), *node.args[2:], *node.keywords))

    def _environment(self, node: ast.AST, what: str, beyond: Tuple[str, ...]) -> None:
        parent = self._around()
        read = isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load)
        asked = isinstance(parent, ast.Compare) and node in parent.comparators
        if not (beyond and beyond[0] in kinds.READING_ENVIRONMENT) and not read and not asked:
            self.note(node, "environment", what)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and _RUNS_TEXT.fullmatch(node.value):
            self.note(node, "code", f"`{node.value}`")


def arguments(node: Function) -> List[ast.arg]:
    """Return all arguments of a function."""
    found = node.args
    starred = [one for one in (found.vararg, found.kwarg) if one]
    return [*found.posonlyargs, *found.args, *found.kwonlyargs, *starred]


def scope_of(given: Iterable[ast.arg], body: Sequence[ast.AST]) -> Scope:
    """Return which names are surely local to a function; what its inner functions and comprehensions bind is not."""
    local, outer = {one.arg for one in given}, set()
    waiting: List[ast.AST] = list(body)
    for inner in waiting:
        if isinstance(inner, (ast.Global, ast.Nonlocal)):
            outer.update(inner.names)
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            local.add(inner.id)
        if not isinstance(inner, _SCOPES):
            waiting += ast.iter_child_nodes(inner)
    return Scope(local - outer, outer)


def argument(call: ast.Call, place: int, name: str) -> Optional[ast.expr]:
    """Return what a call hands over at `place` or by `name`; None where it hands over nothing."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    return call.args[place] if len(call.args) > place else None


def is_plain(call: ast.Call) -> bool:
    """Tell whether each argument of a call is seen to be one: no *words, no **words."""
    return not any(isinstance(one, ast.Starred) for one in call.args) and all(one.arg for one in call.keywords)


def _replaces_in_a_value(call: Optional[ast.Call]) -> bool:
    """Tell whether a call of .replace is one of a text, with two arguments, or of a time, with names of its parts."""
    if call is None or not is_plain(call):
        return False
    return len(call.args) > 1 if call.args else all(one.arg in kinds.OF_TIMES for one in call.keywords)


def _only_reads(call: ast.Call, place: int) -> bool:
    """Tell whether the mode of a call is seen to be one of reading."""
    if not is_plain(call):
        return False
    mode = argument(call, place, "mode")
    if mode is None:
        return True
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and not set(mode.value) & set("wax+")


def uses(tree: Tree, paths: Iterable[Path]) -> Dict[str, List[Use]]:
    """Return, for each of the files `paths`, every use that has a kind, in the order of lines and without repeats."""
    index = Index(tree)
    found: Dict[str, List[Use]] = {}
    for path in paths:
        scanner = Scanner(index.names(path))
        scanner.visit(tree.parsed(path))
        found[tree.name(path)] = sorted(set(scanner.uses))
    return found


def compared(found: Dict[str, List[Use]], rows: Sequence[Row], home: str) -> Iterator[Finding]:
    """Yield every use that no row explains, and every word of a row that no use needs."""
    needed: Set[Tuple[Row, str]] = set()
    for file, all_uses in found.items():
        for use in all_uses:
            fitting = [row for row in rows if row.explains(file, use.kind, use.what, use.function)]
            needed.update((row, word) for row in fitting for word in (file, use.what, use.function))
            if not fitting:
                yield Finding(file, use.line, "effects", f"{use.kind}: {use.what} in {use.function}: {use.why}")
    for row in rows:
        for word in " ".join((row.files, row.what, row.functions)).split():
            if (row, word) not in needed:
                file = row.files.split()[0]
                yield Finding(file, 1, "effects", f"{row.kind}: {word} is reviewed and is used no more: {home}")


def of_package(tree: Tree, rows: Sequence[Row] = REVIEWED) -> Iterator[Finding]:
    """Yield what the package can do and no reviewed row explains."""
    yield from compared(uses(tree, tree.own()), rows, "tools/tree_reviewed.py")


def of_tools(tree: Tree, rows: Sequence[Row] = REVIEWED_TOOLS) -> Iterator[Finding]:
    """Yield what the tools, and whatever else is neither package nor test, can do and no reviewed row explains."""
    yield from compared(uses(tree, tree.tools()), rows, "tools/tree_reviewed_tools.py")


RULES = (
    ("effects", "what the package does to the world is in the reviewed table", of_package),
    ("effects of tools", "what all other code but the tests does to the world is in the reviewed table", of_tools),
)
