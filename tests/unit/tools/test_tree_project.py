# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever pyproject.toml asks for, starts, or builds with is held to a short table; nothing is passed over unread."""

from __future__ import annotations

import os
from pathlib import Path
from typing import List

import pytest
import tree_project
from project import ROOT
from support.planted import plant_bytes, told

TEXT = (ROOT / "pyproject.toml").read_text("utf-8")


def found(root: Path, text: str) -> List[str]:
    return told(tree_project.dependencies(plant_bytes(root, {"pyproject.toml": text.encode()})))


def test_this_project_asks_for_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, TEXT) == []


CHANGES = [
    ("dependencies = []", 'dependencies = ["requests"]', "[project] dependencies is ['requests'], not []"),
    ("requires = []", 'requires = ["setuptools"]', "[build-system] requires is ['setuptools'], not []"),
    ("requires = []\n", "", "[build-system] requires is 'missing', not []"),
    ('"build_backend"', '"setuptools.build_meta"', "[build-system] build-backend is 'setuptools.build_meta', not"),
    ('backend-path = ["tools"]', 'backend-path = ["docs"]', "[build-system] backend-path is ['docs'], not"),
    ('backend-path = ["tools"]\n', "", "[build-system] backend-path is 'missing', not ['tools']"),
    ("[build-system]\n", '[build-system]\nother = "x"\n', "[build-system] other is 'x', not 'missing'"),
    ("aasm.cli:main_script", "aasm.run:launch", "[project.scripts] aasm is 'aasm.run:launch', not"),
    ("[project.scripts]\n", '[project.scripts]\nls = "aasm.x:y"\n', "[project.scripts] ls is 'aasm.x:y', not"),
    ('    "tox', '    "requests",\n    "tox', "dev asks for requests; allowed are: pytest, tox"),
    ("pytest>=8.4,<9", "pytest @ file:///x", "dev asks for pytest @ file:///x; allowed are: pytest, tox"),
    ("pytest>=8.4,<9", "pytest; x", "dev asks for pytest; x; allowed are: pytest, tox"),
    ("dev = [", 'fast = ["x"]\ndev = [', "fast asks for x; allowed are: none"),
    ('["version"]', '["version", "dependencies"]', "[project] dynamic is ['version', 'dependencies'], not"),
    ("[project]\n", '[project]\nscripts.x = "a:b"\n', "[project] has scripts.x, which nobody expects"),
    ("[project]\n", '[project]\n"dependencies" = ["x"]\n', '[project] has "dependencies", which nobody expects'),
    ("[project]\n", '[project]\ngui-scripts = ["x"]\n', "[project] has gui-scripts, which nobody expects"),
    ("[project.scripts]", '[project.gui-scripts]\nx = "a:b"\n[project.scripts]', "[project.gui-scripts]: not one of"),
    ("[project.scripts]", '[project.entry-points."x"]\na = "b:c"\n[project.scripts]', "not one of the tables"),
    ("[project.scripts]", '[dependency-groups]\nx = ["y"]\n[project.scripts]', "[dependency-groups]: not one of"),
    ("[project.scripts]", '[[project]]\nx = ["y"]\n[project.scripts]', "[[project]]: not one of"),
    ("[project.scripts]", '[ project.gui-scripts ]\nx = "y"\n[project.scripts]', "[ project.gui-scripts ]: not one"),
    ("[project.scripts]", '["project"]\nx = "y"\n[project.scripts]', '["project"]: not one of'),
    ("[project.scripts]", '[project]\nreadme = "y"\n[project.scripts]', "[project]: not one of"),
    ("[build-system]", 'project.dependencies = ["x"]\n[build-system]', "stands in no table"),
    ("[tool.mypy]\n", '[tool.mypy]\nx = """\n[project]\n"""\n', "a text of several lines"),
    ("[tool.mypy]\n", "[tool.mypy]\nx = '''\n", "a text of several lines"),
    ("dependencies = []", "dependencies = [1]", "it cannot be read: "),
    ('">=3.9"', '">=2"', "[project] requires-python is '>=2', not '>=3.9'"),
    ('"README.md"', '"../../etc/passwd"', "[project] readme is '../../etc/passwd', not 'README.md'"),
    ('"NOTICE"', '"/etc/passwd"', "[project] license-files is ['LICENSE', '/etc/passwd'], not"),
    ("[tool.mypy]", '[tool.uv]\nindex-url = "x"\n[tool.mypy]', "[tool.uv]: not one of"),
    ("dependencies = []", "dependencies = {}", "it cannot be read: "),
]


@pytest.mark.parametrize(("old", "new", "what"), CHANGES)
def test_whatever_is_asked_for_or_started_beyond_the_table_is_found(
    old: str, new: str, what: str, tmp_path: Path
) -> None:
    assert old in TEXT
    findings = found(tmp_path, TEXT.replace(old, new, 1))
    assert any(line.startswith("pyproject.toml:") and what in line for line in findings), findings
    assert not any("\n" in line for line in findings)


def test_a_finding_is_where_its_table_begins(tmp_path: Path) -> None:
    line = TEXT.split("\n").index("[project.scripts]") + 1
    (finding,) = found(tmp_path, TEXT.replace("main_script", "other"))
    assert finding.startswith(f"pyproject.toml:{line}: dependencies: [project.scripts] aasm is ")


@pytest.mark.parametrize("name", ["setup.py", "setup.cfg", "requirements.txt", "requirements-dev.in", "uv.lock"])
def test_another_place_for_requirements_is_found(name: str, tmp_path: Path) -> None:
    tree = plant_bytes(tmp_path, {"pyproject.toml": TEXT.encode(), name: b"", f"docs/{name}": b""})
    assert told(tree_project.dependencies(tree)) == [
        f"{name}:1: dependencies: requirements and the build are stated in pyproject.toml alone"
    ]


def test_a_project_that_states_nothing_is_found(tmp_path: Path) -> None:
    assert told(tree_project.dependencies(plant_bytes(tmp_path, {}))) == [
        "pyproject.toml:1: dependencies: it is missing"
    ]
    os.mkfifo(tmp_path / "pyproject.toml")
    assert told(tree_project.dependencies(plant_bytes(tmp_path, {})))
