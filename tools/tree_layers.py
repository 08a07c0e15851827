# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Rules about who may import whom: downwards only, and stages on one level meet in `model`, not in each other.

Read from the imports themselves, those inside functions included. The table of levels has its one home here.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Sequence, Set, Tuple

from project import PACKAGE, reached
from tree import Finding, Tree, under

# The first row whose name is the module, or a folder that holds it, decides: its level, and the stage that it is part
# of. Modules of one stage may import each other, as far as their levels allow.
LEVELS: Tuple[Tuple[str, int, str], ...] = (
    ("errors", 0, "errors"),
    ("_sys._nr_x86_64", 0, "_sys"),
    ("_sys._nr_aarch64", 0, "_sys"),
    ("_sys._nr_riscv64", 0, "_sys"),
    ("_sys", 1, "_sys"),
    ("model", 1, "model"),
    ("origin", 1, "origin"),  # reads the files of this very copy; needs nothing but the version
    ("receipt.canonical", 1, "receipt.canonical"),
    ("receipt.screen", 1, "receipt.screen"),  # what text may be in a receipt or an identity
    ("receipt.read", 1, "receipt.read"),  # opens what somebody hands over; needs nothing but errors
    ("copies", 2, "copies"),
    ("policy", 2, "policy"),
    ("planner", 2, "planner"),
    ("evidence", 2, "evidence"),
    ("state", 2, "state"),
    ("receipt.rules", 2, "receipt.rules"),
    ("receipt.shape", 2, "receipt.rules"),  # the pure half of the rules: what is where in a receipt
    ("receipt.facts", 2, "receipt.rules"),
    ("governance.identity", 2, "governance.identity"),
    ("launcher", 2, "launcher"),
    ("needs", 2, "needs"),
    ("backends", 3, "backends"),
    ("workspace", 3, "workspace"),
    ("governance", 3, "governance"),
    ("proxy", 3, "proxy"),
    ("devtools", 3, "devtools"),
    ("receipt", 3, "receipt"),
    ("supervise", 4, "supervise"),
    ("run", 5, "run"),
    ("bind", 5, "run"),  # these are steps of the pipeline that `run` is
    ("surroundings", 5, "run"),
    ("trusted", 5, "run"),
    ("selecting", 5, "run"),
    ("stating", 5, "run"),
    ("sealing", 5, "run"),
    ("explain", 5, "run"),
    ("answering", 5, "run"),
    ("refusing", 5, "run"),
    ("targets", 5, "run"),
    ("cli", 6, "cli"),
    ("__main__", 6, "cli"),
)
# Importing a.b runs a/__init__.py first. In a folder whose modules stand on several levels, that file belongs to the
# lowest of them.
FOLDER_LEVELS: Dict[str, int] = {"": 0, "_sys": 0, "model": 1, "receipt": 1, "governance": 2}

KERNEL = "_sys"  # the one folder that may import ctypes


class Closure(NamedTuple):
    """What importing `start` may lead to, of our own: the modules named, and all that lies beneath them."""

    start: str
    may: Tuple[str, ...]
    why: str


# Without the package itself and the files of folders that are on the way.
CLOSURES = (
    Closure("launcher", ("launcher", "_sys.boundary", "_sys.order", "_sys.streams"), "all of ours that runs inside"),
    Closure("receipt.__main__", ("receipt", "model", "errors"), "the verifier, which is copied alone"),
)


def inside(name: str) -> str:
    """Return a module's name without the package: `aasm.policy.reader` is `policy.reader`, `aasm` is empty."""
    return name[len(PACKAGE) + 1 :]


def level_and_stage(name: str) -> Tuple[int, str]:
    """Return where a module stands. Raises LookupError for one that the table does not know."""
    for row, level, stage in LEVELS:
        if under(name, row):
            return FOLDER_LEVELS.get(name, level), stage
    if name == "":
        return 0, ""
    raise LookupError(name)


def allowed(importer: str, imported: str) -> bool:
    """Tell whether one module may import the other. Raises LookupError for one that has no level."""
    if imported == "" or importer == imported:
        return True  # the version
    (from_level, from_stage), (to_level, to_stage) = level_and_stage(importer), level_and_stage(imported)
    return to_level < from_level or (to_level == from_level and from_stage == to_stage)


def levels(tree: Tree) -> Iterator[Finding]:
    """Yield every module that has no level."""
    for path in tree.own():
        name = inside(tree.module(path))
        if not _has_level(name):
            yield Finding(tree.name(path), 1, "levels", f"{name} has no level: give it one in tools/tree_layers.py")


def _has_level(name: str) -> bool:
    try:
        return bool(level_and_stage(name))
    except LookupError:
        return False


def edges(tree: Tree) -> Iterator[Tuple[str, int, str, str]]:
    """Yield (file, line, importer, imported) for every import of the package by itself."""
    for path in tree.own():
        for one in tree.imports(path):
            if under(one.name, PACKAGE):
                yield tree.name(path), one.line, inside(tree.module(path)), inside(one.name)


def layers(tree: Tree) -> Iterator[Finding]:
    """Yield every import that does not go downwards, as far as both have a level."""
    for file, line, importer, imported in edges(tree):
        if _has_level(importer) and _has_level(imported) and not allowed(importer, imported):
            yield Finding(file, line, "layers", f"{importer} imports {imported}")


def root_alone(tree: Tree) -> Iterator[Finding]:
    """Yield every import of the package's own __init__: it runs before everything else, the launcher included."""
    path = tree.root / PACKAGE / "__init__.py"
    for one in tree.imports(path) if path in tree.own() else ():
        yield Finding(tree.name(path), one.line, "root alone", f"{PACKAGE} itself imports {one.name}")


def ctypes_home(tree: Tree) -> Iterator[Finding]:
    """Yield every import of ctypes outside the one folder that talks to the kernel."""
    for path in tree.own():
        for one in tree.imports(path):
            if under(one.name, "ctypes") and not under(inside(tree.module(path)), KERNEL):
                yield Finding(tree.name(path), one.line, "ctypes", f"only {PACKAGE}/{KERNEL}/ may import {one.name}")


def closures(tree: Tree, rows: Sequence[Closure] = CLOSURES) -> Iterator[Finding]:
    """Yield what a closure reaches beyond its row, and what a row names that it does not reach."""
    files = {inside(tree.module(path)): path for path in tree.own()}
    for row in rows:
        if tree.broken:
            return  # not to be told before all of it can be parsed
        if row.start not in files:
            yield Finding(PACKAGE, 1, "closures", f"there is no {row.start} ({row.why})")
            continue
        own = {inside(name) for name in reached({f"{PACKAGE}.{row.start}"}, root=tree.root)} - {""}
        start = tree.name(files[row.start])
        for name in sorted(_beyond(own, row.may)):
            yield Finding(start, 1, "closures", f"{row.start} ({row.why}) reaches {name}")
        for name in row.may:
            if not any(under(one, name) for one in own):
                yield Finding(start, 1, "closures", f"{row.start} no longer reaches {name}: take it off its row")


def _beyond(own: Set[str], may: Tuple[str, ...]) -> List[str]:
    on_the_way = {name[:at] for name in may for at, sign in enumerate(name) if sign == "."}
    return [name for name in own - on_the_way if not any(under(name, folder) for folder in may)]


RULES = (
    ("levels", "every module of the package has a level", levels),
    ("layers", "imports go downwards only", layers),
    ("root alone", "the package itself imports nothing", root_alone),
    ("ctypes", "ctypes is imported by the kernel layer alone", ctypes_home),
    ("closures", "the launcher and the verifier reach their listed modules and nothing else of ours", closures),
)
