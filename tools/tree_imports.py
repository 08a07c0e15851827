# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Rules about imports: the standard library only, nothing that stands in for it, nothing heavy, no newer syntax.

The list of the standard library is tools/stdlib.txt; tree_pythons.py holds it, and these imports, to every Python of
the host. Imports by a computed name are the matter of tree_effects.py.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Dict, FrozenSet, Iterator, Set

from project import PACKAGE, read_file
from tree import TESTS, Finding, Tree, under

# Newer than the oldest Python: only inside a function or a `try`, where it may be missing.
NEWER = {"tomllib": (3, 11)}
TEST_TOOLS = frozenset({"pytest", "_pytest"})
# tools/golden.py makes its plans from the same values as the tests.
SHARED_WITH_TOOLS = frozenset({"support"})

# What no launch may load: every module on that path is start-up time.
NEVER_ON_THE_WAY = frozenset(
    "dataclasses inspect asyncio subprocess logging pathlib tempfile shutil sqlite3 ssl http urllib uuid "
    "importlib.metadata".split()
)
# Beyond a bare interpreter (-I -S), importing the launcher may load these and nothing else.
LAUNCHER_MAY_LOAD = frozenset(
    "__future__ _collections_abc _ctypes _signal _socket _stat _struct ctypes ctypes._endian errno genericpath mmap os "
    "os.path posixpath resource stat struct types "
    "aasm aasm._sys aasm._sys.boundary aasm._sys.order aasm._sys.streams aasm.launcher".split()
)
NEVER_IN_THE_LAUNCHER = frozenset("re typing enum json".split())


@functools.lru_cache(maxsize=None)
def listed() -> FrozenSet[str]:
    """Return the modules of the standard library that every supported Python has."""
    text = read_file(Path(__file__).parent / "stdlib.txt", "tools/stdlib.txt").decode("utf-8")
    return frozenset(" ".join(line for line in text.splitlines() if not line.startswith("#")).split())


def local_modules(tree: Tree, folder: str) -> Set[str]:
    """Return what files of this folder may call each other."""
    return {path.stem for path in tree.python(folder)} | {path.parent.name for path in tree.python(folder)}


def own_names(tree: Tree) -> Dict[str, FrozenSet[str]]:
    """Return, for each folder and file at the top, what may be imported there beside the standard library."""
    tools, tests = local_modules(tree, "tools"), local_modules(tree, TESTS)
    elsewhere = {"tools", *(path.relative_to(tree.root).parts[0] for path in tree.tools())}
    return {
        PACKAGE: frozenset({PACKAGE}),
        TESTS: frozenset(tests) | tools | TEST_TOOLS | {PACKAGE},
        **{folder: frozenset(tools) | SHARED_WITH_TOOLS | {PACKAGE} for folder in elsewhere},
    }


def strangers(tree: Tree) -> Iterator[Finding]:
    """Yield every import that is neither the project's own nor of the standard library of every supported Python."""
    for folder, own in own_names(tree).items():
        for path in tree.python(folder):
            for one in tree.imports(path):
                top = one.name.split(".")[0]
                guarded = top in NEWER and not one.at_top
                if top not in listed() and top not in own and not guarded:
                    what = f"{one.name} is neither ours nor in the standard library of every supported Python"
                    yield Finding(tree.name(path), one.line, "imports", what)


def stand_ins(tree: Tree) -> Iterator[Finding]:
    """Yield every file that an `import` of the standard library could find instead of the module that it names."""
    for path in tree.python():
        parts = path.relative_to(tree.root).parts
        # what is ever on the import path: the top, the folder of a script, and what pyproject.toml says
        beside = len(parts) == 1 or (len(parts) in (2, 3) and parts[0] in (PACKAGE, TESTS))
        names = {parts[1] if len(parts) == 3 else path.stem} if beside else set()
        if parts[0] not in (PACKAGE, TESTS):  # any of these may be a script, or lie beside one
            names = {path.stem, *parts[1:-1]}
        for name in sorted(names & (listed() | set(NEWER))):
            yield Finding(tree.name(path), 1, "stand-ins", f"it could be found instead of the standard module {name}")


def heavy(tree: Tree) -> Iterator[Finding]:
    """Yield every import of the package, at the top of a module, of what a launch may not load."""
    for path in tree.own():
        for one in tree.imports(path):
            if one.at_top and any(under(one.name, name) for name in NEVER_ON_THE_WAY):
                yield Finding(tree.name(path), one.line, "heavy", f"{one.name} costs every launch its time")


def syntax(tree: Tree) -> Iterator[Finding]:
    """Yield every file that the oldest supported Python could not parse, as far as this Python can tell."""
    yield from tree.broken


RULES = (
    ("imports", "the project's own modules and the standard library of every supported Python", strangers),
    ("stand-ins", "no file is named like a module of the standard library", stand_ins),
    ("heavy", "no module of the package begins with an import that costs every launch", heavy),
    ("syntax", "no syntax is newer than the oldest supported Python", syntax),
)
