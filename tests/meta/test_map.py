# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md shows every module and every level: the tree as it is, the levels as the rule has them.

What lies beside the package is shown by folder (tests) and by file (tools).
"""

from __future__ import annotations

import fnmatch
import re
from typing import Dict, List, Set

import tree_layers as layers
from project import PACKAGE, ROOT, module_name, python_files
from tree import under

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TREE = re.compile(rf"^```text\n({PACKAGE}/\n.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> Set[str]:
    """Return the paths that the drawn tree stands for; indentation says which folder a line is in."""
    found = TREE.search(TEXT)
    assert found, "there is no tree"
    folders: List[str] = []
    paths: Set[str] = set()
    for line in found.group(1).splitlines():
        depth, name = (len(line) - len(line.lstrip(" "))) // 2, line.split()[0]
        folders[depth:] = [name] if name.endswith("/") else []
        if not name.endswith("/"):
            assert len(line.split()) > 1, f"{name}: for what?"
            paths.add("".join(folders) + name)
    return paths


def test_the_tree_shows_every_module_and_nothing_else() -> None:
    modules = {path.relative_to(ROOT).as_posix() for path in python_files(PACKAGE) if path.name != "__init__.py"}
    drawn = shown()
    assert {name for name in drawn if not fnmatch.filter(modules, name)} == set(), "no such module"
    missing = {name for name in modules if not any(fnmatch.fnmatchcase(name, line) for line in drawn)}
    assert missing == set(), "not shown"


def test_every_tool_and_every_folder_of_tests_is_shown_with_what_it_is_for() -> None:
    tools = {f"tools/{path.name}" for path in (ROOT / "tools").glob("*.py")}
    beneath = [path for path in (ROOT / "tests").iterdir() if path.is_dir()]
    folders = {f"tests/{path.name}/" for path in beneath if path.name[0] not in "._"}
    drawn = re.findall(r"^\| `((?:tools|tests)/[^`]+)` \| \S.* \|$", TEXT, re.MULTILINE)
    assert sorted(drawn) == sorted(tools | folders)


def level_rows() -> List[str]:
    """Return the table of levels."""
    by_level: Dict[int, List[str]] = {}
    existing = {layers.inside(module_name(path)) for path in python_files(PACKAGE)}
    for name, level, _ in layers.LEVELS:
        if any(under(module, name) for module in existing):
            by_level.setdefault(level, []).append(f"`{name}`")
    return [f"| {level} | {', '.join(names)} |" for level, names in sorted(by_level.items())]


def test_the_levels_are_those_that_the_rule_holds() -> None:
    assert "\n".join(level_rows()) in TEXT
