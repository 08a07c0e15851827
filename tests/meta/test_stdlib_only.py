# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Standard library only, and nothing done to the world that nobody has reviewed: this tree keeps those rules.

The rules are in tools/tree_imports.py, tree_effects.py and tree_pythons.py; tests/unit/tools/ shows that each finds
what it is for. Here this Python is asked; tools/check_tree.py asks every Python of the host.
"""

from __future__ import annotations

import sys

import pytest
import pythons
import tree_effects
import tree_imports
import tree_pythons
from tree import Named, Tree


@pytest.mark.parametrize("rule", [*tree_imports.RULES, *tree_effects.RULES], ids=lambda rule: rule[0])
def test_this_tree_keeps_the_rules(rule: Named, tree: Tree) -> None:
    assert list(map(str, rule[2](tree))) == []


def test_this_python_takes_the_package_from_its_source_and_the_rest_from_the_standard_library(tree: Tree) -> None:
    this = pythons.describe(sys.executable)
    assert this is not None
    assert list(map(str, tree_pythons.judged(tree, tree_pythons.Asked(tree, [this]).answers()))) == []
