# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md shows every module, with its own first sentence, and every level, as the layer test has it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Dict, List

import meta.test_layers as layers
from support.tree import PACKAGE, ROOT, module_name, parsed, python_files

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WIDTH = 28  # where the sentence begins


def tree_lines() -> List[str]:
    """Return the tree of the package: folders, and each module with the first sentence of its docstring."""
    lines = [f"{PACKAGE}/"]
    folder = Path()
    for path in sorted(python_files(PACKAGE), key=order):
        inner = path.relative_to(ROOT / PACKAGE)
        if inner.parent != folder:
            folder = inner.parent
            lines.append("  " * len(folder.parts) + f"{folder.name}/")
        if path.name != "__init__.py" and not path.name.startswith("_nr_"):
            name = "  " * len(inner.parts) + inner.name
            lines.append(f"{name:{WIDTH}}{first_sentence(path)}")
    return lines


def order(path: Path) -> tuple[str, ...]:
    """Sort the modules of a folder before its folders."""
    parts = path.relative_to(ROOT / PACKAGE).parts
    return (*(f"1{part}" for part in parts[:-1]), f"0{parts[-1]}")


def first_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring, on one line and without its last dot."""
    text = re.sub(r"\s+", " ", ast.get_docstring(parsed(path)) or "")
    return re.split(r"(?<=[a-z)`])[.:] ", text + " ", maxsplit=1)[0].strip()


def level_rows() -> List[str]:
    """Return the table of levels, folders first where they have one level of their own."""
    by_level: Dict[int, List[str]] = {}
    existing = {layers.inside(module_name(path)) for path in python_files(PACKAGE)}
    for name, level, _ in layers.LEVELS:
        if any(layers.under(module, name) for module in existing):
            by_level.setdefault(level, []).append(f"`{name}`")
    return [f"| {level} | {', '.join(names)} |" for level, names in sorted(by_level.items())]


def test_the_tree_shows_every_module_with_its_purpose() -> None:
    assert "\n".join(tree_lines()) in TEXT


def test_the_levels_are_those_that_the_layer_test_holds() -> None:
    assert "\n".join(level_rows()) in TEXT
