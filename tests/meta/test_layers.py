# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Who may import whom: this tree keeps the rules of tools/tree_layers.py, and the verifier runs alone.

That each rule finds what it is for is shown in tests/unit/tools/test_check_tree_imports.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tree_layers
from project import PACKAGE, ROOT
from tree import Named, Tree


@pytest.mark.parametrize("rule", tree_layers.RULES, ids=lambda rule: rule[0])
def test_this_tree_keeps_the_rules(rule: Named, tree: Tree) -> None:
    assert list(map(str, rule[2](tree))) == []


@pytest.mark.parametrize(
    ("importer", "imported", "expected"),
    [
        ("cli.main", "run", True),
        ("run", "cli.main", False),
        ("policy.reader", "policy.document", True),
        ("policy.reader", "planner", False),
        ("planner", "model.plan", True),
        ("model.plan", "planner", False),
        ("backends.native.filters", "_sys.bpf", True),
        ("governance.ledger", "receipt.store", False),
        ("receipt.rules", "receipt.canonical", True),
        ("receipt.rules", "receipt.store", False),
        ("receipt.canonical", "model.plan", False),
        ("receipt", "receipt.store", False),
        ("_sys._nr_x86_64", "_sys.bpf", False),
        ("supervise.spawn", "backends.base", True),
    ],
)
def test_the_rule_itself(importer: str, imported: str, expected: bool) -> None:
    assert tree_layers.allowed(importer, imported) is expected


def test_the_verifier_runs_with_the_files_of_its_row_alone(tmp_path: Path) -> None:
    package = tmp_path / PACKAGE
    package.mkdir()
    shutil.copy(ROOT / PACKAGE / "__init__.py", package)
    (row,) = [row for row in tree_layers.CLOSURES if row.start == "receipt.__main__"]
    for name in row.may:
        source = ROOT / PACKAGE / name
        if source.is_dir():
            shutil.copytree(source, package / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source.with_suffix(".py"), package)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-m", f"{PACKAGE}.receipt", "verify", "missing.json"]
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
