#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree to its rules: what it imports, what it can do, who imports whom, sizes, licences, words and hosts.

For an auditor: it needs nothing but Python, changes nothing, and reads every file of the tree. One line a finding
(`file:line: rule: what`), then the Pythons that were not there to be asked, then what was looked at. Exit code 0:
clean; 1: findings; 2: no answer. What the rules allow is in the tables of tools/tree_*.py; the one that says what the
package can do to the world, and why, is tools/tree_reviewed.py.
"""

from __future__ import annotations

import os
import sys

sys.dont_write_bytecode = True  # what is looked at may be read-only, and stays as it was
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # under -I Python does not do it

import argparse  # noqa: E402
import gc  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Iterator, List, Sequence, Tuple  # noqa: E402

import command  # noqa: E402
import tree_effects  # noqa: E402
import tree_files  # noqa: E402
import tree_hosts  # noqa: E402
import tree_imports  # noqa: E402
import tree_layers  # noqa: E402
import tree_project  # noqa: E402
import tree_pythons  # noqa: E402
import tree_words  # noqa: E402
from project import PACKAGE, ROOT, TreeError, shown  # noqa: E402
from tree import Finding, Named, Rule, Tree  # noqa: E402

RULES: Tuple[Named, ...] = (
    *tree_imports.RULES, *tree_effects.RULES, *tree_layers.RULES, *tree_files.RULES, *tree_words.RULES,
    *tree_hosts.RULES, *tree_project.RULES,
)  # fmt: skip
# Rules that only a Python can tell which is asked.
ASKED = (
    ("imported", "the package loads from its own source and the standard library alone, in any order"),
    ("launcher loads", "the launcher loads the listed modules and nothing else"),
)


def static_findings(tree: Tree) -> List[Finding]:
    """Return what the rules find that only read; of a file that cannot be read, that and nothing that follows."""
    unread = {finding.file for finding in tree.unread}
    findings = [finding for name, _, rule in RULES for finding in _found(name, rule, tree)]
    return [finding for finding in findings if finding.file not in unread or finding in tree.unread]


def _found(name: str, rule: Rule, tree: Tree) -> Iterator[Finding]:
    try:
        yield from rule(tree)
    except RecursionError:
        yield Finding(PACKAGE, 1, name, "code is nested so deeply that this rule could not look at all of it")


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    codes = "when the tree is clean, 1 when there are findings"
    parser = command.Parser("tools/check_tree.py", __doc__, codes)
    parser.add_argument("--root", type=_place, default=ROOT, metavar="DIR", help="the tree to look at; this one")
    parser.add_argument("--no-pythons", action="store_true", help="read only: start no Python, import nothing")
    parser.add_argument("--rules", action="store_true", help="say what each rule holds, and look at nothing")
    options = parser.parse_args(argv)
    if not os.path.isdir(options.root / PACKAGE):
        where = f"--root {shown(str(options.root))}"
        raise TreeError(f"{where}: there is no {PACKAGE}/ in it; name the top of a source tree")
    return options


def _place(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("is the empty text; name a directory, here is .")
    return Path(text)


def main(argv: Sequence[str]) -> int:
    """Do what the command line says and print what comes of it; return the exit code."""
    options = parsed(argv)
    if options.rules:
        print("\n".join(f"{name}: {what}" for name, what, *_ in (*RULES, *ASKED)))
        return 0
    gc.disable()  # syntax trees are many objects and no garbage
    return looked(Tree(options.root.resolve()), not options.no_pythons)


def looked(tree: Tree, ask: bool) -> int:
    """Print what there is against a tree, asking the Pythons of this host too if `ask`; return the exit code."""
    pythons, absent = tree_pythons.found_pythons() if ask else ([], [])
    with tree_pythons.Asked(tree, pythons) as asked:
        findings = static_findings(tree)
        findings += tree_pythons.judged(tree, asked.answers())
    lines = [str(finding) for finding in sorted(set(findings))]
    lines += [f"not looked at: Python {minor}, which this host does not have" for minor in absent]
    print(*lines, closing(tree, [python.version for python in pythons], len(set(findings))), sep="\n")
    return 1 if findings else 0


def closing(tree: Tree, versions: Sequence[str], findings: int) -> str:
    """Return the last line: how much was looked at, and under which Pythons."""
    rules = len({name for name, *_ in (*RULES, *(ASKED if versions else ()))})
    under = f"Python {', '.join(versions)}" if versions else "no Python asked"
    return f"{len(tree.files)} files, {rules} rules, {under}: {findings} findings"


if __name__ == "__main__":
    sys.exit(command.run(main))
