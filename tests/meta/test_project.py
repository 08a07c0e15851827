# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tree itself: it keeps the rules about files, words and hosts, and is the same with git and without.

The rules are in tools/tree_files.py, tree_words.py and tree_hosts.py; tests/unit/tools/ shows that each finds what it
is for.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import tree_files
import tree_hosts
import tree_words
from project import ROOT, project_files
from tree import Named, Tree


@pytest.mark.parametrize("rule", [*tree_files.RULES, *tree_words.RULES, *tree_hosts.RULES], ids=lambda rule: rule[0])
def test_this_tree_keeps_the_rules(rule: Named, tree: Tree) -> None:
    assert list(map(str, rule[2](tree))) == []


def test_a_tree_without_git_has_the_same_files(tmp_path: Path) -> None:
    for path in project_files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(b"")
    for left in (".git-is-no-file", "aasm/__pycache__/run.cpython-39.pyc", "build/lib/x.py", "aasm.egg-info/PKG-INFO"):
        (tmp_path / left).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / left).write_bytes(b"")
    ours = [path.relative_to(tmp_path) for path in project_files(tmp_path)]
    assert ours == [path.relative_to(ROOT) for path in project_files()]
