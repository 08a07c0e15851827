# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Links beneath a prefix: what lies behind one is neither written nor removed, but for those above Python's places."""

from __future__ import annotations

from pathlib import Path
from typing import Set

import install
import pytest
from metadata import Project
from project import ROOT, TreeError


def files(top: Path) -> Set[Path]:
    """Return whatever is there and no folder, links included."""
    return {path for path in top.rglob("*") if path.is_symlink() or not path.is_dir()}


@pytest.mark.parametrize("moved", ["a folder", "a line of RECORD"])
def test_nothing_behind_a_link_is_removed(moved: str, tmp_path: Path) -> None:
    where, victim = install.places(str(tmp_path / "p")), tmp_path / "victim"
    install.install(where, "")
    modules = Path(where.modules)
    if moved == "a folder":
        (modules / "aasm").rename(victim)
        (modules / "aasm").symlink_to(victim)
    else:
        victim.mkdir()
        (victim / "f").write_text("keep\n")
        (modules / "evil").symlink_to(victim)
        with open(modules / Project(ROOT).dist_info / "RECORD", "a", encoding="utf-8") as record:
            record.write("evil/f,,\n")
    there = files(tmp_path)
    with pytest.raises(TreeError, match="is a link, or behind one, and nothing behind it is touched"):
        install.uninstall(where, "")
    assert files(tmp_path) == there and len(there) > 100


def test_nothing_is_written_behind_a_link(tmp_path: Path) -> None:
    where, victim = install.places(str(tmp_path / "p")), tmp_path / "victim"
    victim.mkdir()
    Path(where.modules).mkdir(parents=True)
    (Path(where.modules) / "aasm").symlink_to(victim)
    with pytest.raises(TreeError, match="is a link, or behind one"):
        install.install(where, "")
    assert list(victim.iterdir()) == []


def test_a_link_above_the_modules_is_an_administrators(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "lib").symlink_to(tmp_path / "elsewhere")
    where = install.places(str(tmp_path / "p"))
    install.install(where, "")
    assert install.uninstall(where, "") and files(tmp_path / "elsewhere") == set()
