# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Policies by lot over a tree of support/drawn_trees.py, and questions about it.

A policy is a list of documents; a question is an action and a path as somebody might spell it.
"""

from __future__ import annotations

import os
import random
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from support.drawn_trees import NAMES, Tree
from support.inside import SYSTEM
from support.launch import PYTHON

# What must be executable for PYTHON to start, and nothing besides: itself, and the loader that its file names.
_LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-riscv64-lp64d.so.1")
STARTING = (os.path.realpath(PYTHON[0]), *(path for path in _LOADERS if os.path.exists(path)))


class Case(NamedTuple):
    """One policy over one tree. `appearing` are places of questions that something is put to before they are asked."""

    workdir: str
    documents: Tuple[Dict[str, Any], ...]
    questions: Tuple[Tuple[str, str], ...]
    appearing: Tuple[Tuple[str, str], ...]  # a path as it was asked for, and what is to be there: file or directory


# --- policies ---------------------------------------------------------------------------------------


def documents(rng: random.Random, tree: Tree, startable: bool = True) -> Tuple[Dict[str, Any], ...]:
    """Return the documents of one policy: one, or a cascade of two. One that is startable lets PYTHON run."""
    if not startable:
        return (_unstartable(rng, tree),)
    first = _document(rng, tree)
    if rng.random() < 0.72:
        return (first,)
    return (first, {**_document(rng, tree, (first,)), "scope": "team:red"})


def _document(rng: random.Random, tree: Tree, above: Tuple[Dict[str, Any], ...] = ()) -> Dict[str, Any]:
    made: Dict[str, Any] = {"filesystem": {}}
    write = None if rng.random() < 0.2 else _entries(rng, tree, [], rng.choice((0, 1, 2, 3, 4, 5)))
    if write is not None:
        made["filesystem"]["write"] = {"allow": write}
    writable = [*(write or []), *(entry for item in above for entry in _list(item, "write"))]
    entries: List[Any] = []
    for verb, chance in (("execute", 0.4), ("read", 0.7)):
        if rng.random() < chance:
            kept = [entry for entry in entries if rng.random() < 0.7]  # what is executed must be readable too
            entries = [*kept, *_entries(rng, tree, writable, rng.choice((0, 1, 2, 3, 5)))]
            narrow = verb == "execute" and rng.random() < 0.5  # then no interpreter but those that are drawn
            made["filesystem"][verb] = {"allow": [*(STARTING if narrow else SYSTEM), *entries]}
    if rng.random() < 0.07:
        made["capabilities"] = {"deny": ["file_write"]}
    if not made["filesystem"]:
        made["filesystem"]["write"] = {"allow": []}
    return made


def _unstartable(rng: random.Random, tree: Tree) -> Dict[str, Any]:
    """Return a document under which no program could be executed."""
    write = _entries(rng, tree, [], 2)
    made: Dict[str, Any] = {"filesystem": {"write": {"allow": write}}}
    kind = rng.choice(("denied", "nothing is read", "one program", "few"))
    if kind == "denied":
        made["filesystem"]["read"] = {"allow": [*SYSTEM, *_entries(rng, tree, write, 2)]}
        made["capabilities"] = {"deny": ["file_read"]}
    elif kind == "nothing is read":
        made["filesystem"]["read"] = {"allow": []}
    elif kind == "one program":
        made["filesystem"]["execute"] = {"allow": ["/usr/bin/env"]}
    else:
        made["filesystem"].update({verb: {"allow": _entries(rng, tree, write, 3)} for verb in ("read", "execute")})
    return made


def _list(document: Dict[str, Any], verb: str) -> List[Any]:
    found = document["filesystem"].get(verb, {"allow": []})["allow"]
    assert isinstance(found, list)
    return found


def _entries(rng: random.Random, tree: Tree, writable: List[Any], count: int) -> List[Any]:
    """Return entries of a list; hardly one that makes the whole launch refused."""
    made: List[Any] = []
    while len(made) < count:
        path = rng.choice((*tree.directories, *tree.files, *tree.files, *tree.links, *tree.special[:2]))
        kind = rng.random()
        if kind < 0.25:  # something else as seen through a link
            path = os.path.join(rng.choice(tree.links), rng.choice(NAMES))
        elif kind < 0.55:  # much at once, so that both answers are frequent
            path = os.path.join(tree.top, rng.choice(("ws", "ws-evil", "out")))
        spelled = _as_entry(rng, tree, path)
        if spelled is not None and _grantable(rng, tree, path, [*writable, *made]):
            made.append(spelled)
    return made


def _as_entry(rng: random.Random, tree: Tree, path: str) -> Any:
    if "\udcff" in path or path == tree.top:
        return None
    workdir = os.path.join(tree.top, "ws")
    if rng.random() < 0.1:
        return {"path": f"{workdir}/{tree.fresh('optional')}", "optional": True}
    if path.startswith(workdir + "/") and rng.random() < 0.5:
        return "${workdir}" + path[len(workdir) :]
    return {"path": path, "optional": True} if rng.random() < 0.1 else path


def _grantable(rng: random.Random, tree: Tree, path: str, writable: List[Any]) -> bool:
    real = os.path.realpath(path)
    if not os.path.exists(real) or not real.startswith((tree.top, tree.outside)):
        return False
    locked = [place for place in tree.locked if tree.modes[place] & 0o111 != 0o111]
    if any(real.startswith(place + "/") for place in locked):
        return rng.random() < 0.02
    if path in tree.links or real != path:  # a link in what may be written makes the launch refused
        tops = [os.path.realpath(_spelled(entry, tree)) for entry in writable]
        parent = os.path.dirname(path)
        return not any(os.path.realpath(parent).startswith(top) for top in tops) or rng.random() < 0.03
    return True


def _spelled(entry: Any, tree: Tree) -> str:
    text = str(entry["path"] if isinstance(entry, dict) else entry)
    return text.replace("${workdir}", os.path.join(tree.top, "ws"))


# --- questions --------------------------------------------------------------------------------------


class Asking:
    """Draws the questions of one case."""

    def __init__(self, rng: random.Random, tree: Tree, host: Tuple[str, ...]) -> None:
        self.rng, self.tree, self.host = rng, tree, host
        self.appearing: List[Tuple[str, str]] = []
        self.forms: Tuple[Callable[[str], str], ...] = (
            *(self._plain,) * 5,
            *(self._missing,) * 3,
            *(self._through_a_link,) * 3,
            self._with_dots,
            self._behind_a_link,
            self._below_a_file,
            self._relative,
            self._dangling,
            self._prefix,
            self._trailing,
            self._behind_what_is_missing,
        )

    def question(self) -> Tuple[str, str]:
        """Return an action and a path."""
        action = self.rng.choices(("read", "write", "exec"), (4, 4, 3))[0]
        if self.rng.random() < 0.06:
            return action if action != "exec" else "read", self.rng.choice(self.host)
        path = self.rng.choice(self.forms)(action)
        return action, path if action == "read" or self._mine(path) else self.rng.choice(self.tree.files)

    def _any(self, action: str) -> str:
        tree = self.tree
        if action == "exec" and self.rng.random() < 0.75:
            return self.rng.choice(tree.files)
        return self.rng.choice((*tree.directories, *tree.files, *tree.files, *tree.links[:14], *tree.special))

    def _plain(self, action: str) -> str:
        return self._any(action)

    def _appears(self, path: str, action: str) -> str:
        if action != "write":
            kind = "directory" if action == "read" and self.rng.random() < 0.3 else "file"
            self.appearing.append((path, kind))
        return path

    def _names(self, folder: str) -> List[str]:
        """Return what a directory holds but for the links that are another question's own."""
        return [name for name in sorted(os.listdir(folder)) if not name.startswith("dangling-")]

    def _missing(self, action: str) -> str:
        names = [self.tree.fresh() for _ in range(self.rng.choice((1, 1, 2, 3)))]
        folder = self.rng.choice(self.tree.directories)
        if self.rng.random() < 0.3:
            links = [path for path in self.tree.links if os.path.isdir(path) and self._mine(path)]
            folder = self.rng.choice(links) if links else folder
        return self._appears("/".join((folder, *names)), action)

    def _mine(self, path: str) -> bool:
        real = os.path.realpath(os.path.join(self.tree.top, "ws", path))
        return real.startswith((self.tree.top, self.tree.outside))

    def _through_a_link(self, action: str) -> str:
        path = self.rng.choice(self.tree.links)
        for _ in range(self.rng.randrange(3)):
            names = self._names(path) if os.path.isdir(path) and self._mine(path) else []
            path = os.path.join(path, self.rng.choice(names)) if names else path
        return path

    def _with_dots(self, action: str) -> str:
        folder, name = os.path.split(self._any(action))
        inner = [path for path in self.tree.directories if os.path.dirname(path) == folder]
        there = f"{self.rng.choice(inner)}/.." if inner else f"{folder}/."
        return f"{there}//{name}"

    def _behind_a_link(self, action: str) -> str:
        links = [path for path in self.tree.links if os.path.isdir(path) and self._mine(path)]
        if not links:
            return self._any(action)
        link = self.rng.choice(links)
        above = os.path.dirname(os.path.realpath(link))
        return f"{link}/../{self.rng.choice(self._names(above))}"

    def _below_a_file(self, action: str) -> str:
        below = self.rng.choice(("x", "x/y", "..", f"../{self.tree.fresh()}", ".", ""))
        return f"{self.rng.choice(self.tree.files)}/{below}"

    def _relative(self, action: str) -> str:
        return os.path.relpath(self._any(action), os.path.join(self.tree.top, "ws"))

    def _dangling(self, action: str) -> str:
        target = os.path.join(self.rng.choice(self.tree.directories), self.tree.fresh("target"))
        link = os.path.join(self.rng.choice(self.tree.directories), self.tree.fresh("dangling"))
        self.tree.link(link, target)
        self.tree.links.remove(link)  # nobody else asks for it
        return self._appears(link, action)

    def _prefix(self, action: str) -> str:
        path = self._any(action)
        return self._appears(path + self.tree.fresh("-evil"), action)

    def _trailing(self, action: str) -> str:
        return self._any(action) + self.rng.choice(("/", "/.", "//"))

    def _behind_what_is_missing(self, action: str) -> str:
        folder = self.rng.choice(self.tree.directories)
        name = self.rng.choice((*self._names(folder), self.tree.fresh()))
        return f"{folder}/{self.tree.fresh()}/{self.rng.choice(('..', '../.', '../' + name))}"


def case(rng: random.Random, tree: Tree, host: Tuple[str, ...], count: int, startable: bool = True) -> Case:
    """Return a policy over the tree with `count` questions; `host` are paths elsewhere that are read or opened only."""
    made = documents(rng, tree, startable)
    asking = Asking(rng, tree, host)
    with tree.unlocked():
        questions = tuple(asking.question() for _ in range(count))
    return Case(os.path.join(tree.top, "ws"), made, questions, tuple(asking.appearing))
