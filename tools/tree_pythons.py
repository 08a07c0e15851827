# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Rules that need the Pythons of the host: each is started, imports the whole package, and tells what that loaded.

The package must load under every supported Python, from its own source, the interpreter and the interpreter's standard
library, and from nowhere else. The child is tools/tree_child.py. A Python that is not there is named, never left out
in silence; it is for the caller to say whether that will do.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from project import PACKAGE
from pythons import Python, find, supported
from tree import Finding, Tree
from tree_imports import LAUNCHER_MAY_LOAD, NEWER, listed, own_names

CHILD = Path(__file__).with_name("tree_child.py")
# -I -S -B: no variable, no site directory and no working directory steers it, and it writes nothing. Compiled files
# that lie about are not read, so that what is imported is the source that the other rules have read.
OPTIONS = ("-I", "-S", "-B", "-W", "error", "-X", f"pycache_prefix={os.devnull}/none")
SECONDS = 120
# Modules without a file that the standard library's `typing` makes while it is loaded, until Python 3.12.
MADE_BY_TYPING = {"typing.io", "typing.re"}
LIST = "tools/stdlib.txt"


class Answer(NamedTuple):
    """What one Python said: who it is, the JSON object of the child, and what went wrong instead."""

    python: Python
    told: Dict[str, Any]
    problem: str


def found_pythons() -> Tuple[List[Python], List[str]]:
    """Return the Pythons of this host, one a supported version, and the versions that it has none of."""
    found = {minor: find(minor) for minor in supported()}
    return [python for python in found.values() if python], [minor for minor, python in found.items() if not python]


class Asked:
    """Children that were started and whose answers are not needed yet."""

    def __init__(self, tree: Tree, pythons: Sequence[Python]) -> None:
        self.tree = tree
        modules = sorted({tree.module(path) for path in tree.own()})
        files = [tree.name(path) for path in tree.python()]
        oldest = pythons[:1]  # what it can compile all can, and the order of imports is no matter of the version
        self._running: List[Tuple[Python, "subprocess.Popen[bytes]"]] = []
        try:
            for one in pythons:
                self._running.append((one, self._started(one, modules, files if one in oldest else [])))
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> "Asked":
        return self

    def __exit__(self, *problem: object) -> None:
        self.end()

    def end(self) -> None:
        """End the children that have not answered: whoever gives up leaves nothing behind."""
        for _, child in self._running:
            if child.poll() is None:
                child.kill()
                child.communicate()

    def _started(self, python: Python, modules: List[str], files: List[str]) -> "subprocess.Popen[bytes]":
        command = [python.base, *OPTIONS, str(CHILD), str(self.tree.root), f"{PACKAGE}.launcher"]
        pipe = subprocess.PIPE
        child = subprocess.Popen(command, cwd=self.tree.root, env={}, stdin=pipe, stdout=pipe, stderr=pipe)
        assert child.stdin
        try:
            child.stdin.write("\n".join([*modules, "", *files, ""]).encode())
            child.stdin.close()
        except BrokenPipeError:
            pass  # it has ended, and its answer will say so
        child.stdin = None
        return child

    def answers(self) -> List[Answer]:
        return [self._answer(python, child) for python, child in self._running]

    def _answer(self, python: Python, child: "subprocess.Popen[bytes]") -> Answer:
        try:
            output, errors = child.communicate(timeout=SECONDS)
            return Answer(python, json.loads(output), "")
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return Answer(python, {}, f"it did not answer within {SECONDS} seconds")
        except ValueError:
            last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
            why = re.sub("^error: ", "", last[0]) if last else f"it ended with {child.returncode}"
            return Answer(python, {}, why)


def judged(tree: Tree, answers: Sequence[Answer]) -> Iterator[Finding]:
    """Yield what the Pythons of the host have against the tree."""
    for answer in answers:
        if answer.problem:
            what = f"Python {answer.python.version} cannot import the package: {answer.problem}"
            yield Finding(PACKAGE, 1, "imported", what)
            continue
        yield from _failures(answer)
        yield from _strangers(tree, answer)
        yield from _launcher(answer)
        yield from _standard(tree, answer)


def _failures(answer: Answer) -> Iterator[Finding]:
    for name, why in answer.told["failed"]:
        file = name.replace(".", "/")
        yield Finding(file, 1, "imported", f"Python {answer.python.version} cannot import {name}: {why}")
    for file, line, why in answer.told["broken"]:
        yield Finding(file, int(line), "syntax", f"Python {answer.python.version}: {why}")


def _strangers(tree: Tree, answer: Answer) -> Iterator[Finding]:
    """Yield every module that came from somewhere else than the interpreter, its standard library and the package."""
    own = os.path.join(os.path.realpath(tree.root), PACKAGE, "")
    for name, (kind, path) in sorted(answer.told["loaded"].items()):
        if kind != "file" or name == "__main__" or name in MADE_BY_TYPING and not path:
            continue
        place = os.path.realpath(path) if path else "nowhere"
        is_own = place.startswith(own) and place.endswith(".py")
        if is_own if name.split(".")[0] == PACKAGE else _is_standard(place, answer.told["places"]):
            continue
        yield Finding(PACKAGE, 1, "imported", f"Python {answer.python.version} takes {name} from {place}")


def _is_standard(place: str, places: Sequence[str]) -> bool:
    packages = {"site-packages", "dist-packages"} & set(Path(place).parts)
    return not packages and any(place.startswith(os.path.join(folder, "")) for folder in places)


def _launcher(answer: Answer) -> Iterator[Finding]:
    for name in sorted(set(answer.told["launcher"]) - LAUNCHER_MAY_LOAD):
        what = f"under Python {answer.python.version} the launcher loads {name}"
        yield Finding(f"{PACKAGE}/launcher.py", 1, "launcher loads", what)


def _standard(tree: Tree, answer: Answer) -> Iterator[Finding]:
    """Yield every import, and every name in our list, that this Python's standard library does not have."""
    names = set(answer.told["standard"])
    version = answer.python.version
    if tuple(map(int, answer.python.minor.split("."))) >= (3, 10):  # before, it is only known what lies there
        for name in sorted(listed() - names):
            yield Finding(LIST, 1, "imports", f"{name} is not in the standard library of Python {version}")
    for name, (file, line) in sorted(_imported_from_outside(tree).items()):
        if name not in names:
            yield Finding(file, line, "imports", f"{name} is not in the standard library of Python {version}")


def _imported_from_outside(tree: Tree) -> Dict[str, Tuple[str, int]]:
    """Return each module that is imported and is not ours, with a place that does so."""
    found: Dict[str, Tuple[str, int]] = {}
    for folder, own in own_names(tree).items():
        for path in tree.python(folder):
            for one in tree.imports(path):
                top = one.name.split(".")[0]
                if top not in own and top not in NEWER:
                    found.setdefault(top, (tree.name(path), one.line))
    return found
