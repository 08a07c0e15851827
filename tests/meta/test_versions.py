# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The version has one home, aasm/__init__.py; whatever else states it must follow."""

from __future__ import annotations

import re

from metadata import Project
from project import OLDEST, ROOT

import aasm


def test_the_metadata_takes_its_version_from_the_package() -> None:
    project = Project(ROOT)
    assert project.project["dynamic"] == ["version"]
    assert "version" not in project.project
    assert project.version == aasm.__version__


def test_the_changelog_names_the_version_first() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = [name for name in re.findall(r"^## \[([^\]]+)\]", text, re.MULTILINE) if name != "Unreleased"]
    assert released[0] == aasm.__version__


def test_the_oldest_python_is_the_same_everywhere() -> None:
    project = Project(ROOT)
    named = [row for row in project.list("classifiers") if row.startswith("Programming Language :: Python :: 3.")]
    oldest = named[0].rpartition(" :: ")[2]
    assert project.text("requires-python") == f">={oldest}"
    assert ".".join(map(str, OLDEST)) == oldest
    ruff = re.search(r'^target-version = "py(\d)(\d+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert ruff is not None and ".".join(ruff.groups()) == oldest
