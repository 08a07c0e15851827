# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A tree that a test makes, for the rules of tools/check_tree.py: small, right in everything but what is planted."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterable, List

from tree import Finding, Rule, Tree
from tree_files import COPYRIGHT, LICENSE

HEADER = f"# {COPYRIGHT}\n# {LICENSE}\n"
DOCSTRING = '"""A module."""\n'


def plant(root: Path, files: Dict[str, str]) -> Tree:
    """Write `files` (path: what stands below the licence lines and the docstring) beneath `root`; return the tree."""
    return plant_bytes(root, {name: (HEADER + DOCSTRING + text).encode() for name, text in files.items()})


def plant_bytes(root: Path, files: Dict[str, bytes]) -> Tree:
    """Write `files` as they are."""
    for name, data in {"aasm/__init__.py": (HEADER + DOCSTRING).encode(), **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Tree(root)


def told(findings: Iterable[Finding]) -> List[str]:
    """Return the findings as the command prints them."""
    return [str(finding) for finding in findings]


def found(rule: Rule, root: Path, files: Dict[str, str]) -> List[str]:
    """Return what a rule finds in a planted tree."""
    return told(rule(plant(root, files)))
