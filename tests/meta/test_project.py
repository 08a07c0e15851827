# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tree itself: it keeps the rules about files, words and hosts, and what counts as a file of it.

The rules are in tools/tree_files.py, tree_words.py and tree_hosts.py; tests/unit/tools/ shows that each finds what it
is for.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
from pathlib import Path
from typing import Any, List

import pytest
import tree_files
import tree_hosts
import tree_words
from project import ROOT, TreeError, entries, git, project_files
from tree import Named, Tree


@pytest.mark.parametrize("rule", [*tree_files.RULES, *tree_words.RULES, *tree_hosts.RULES], ids=lambda rule: rule[0])
def test_this_tree_keeps_the_rules(rule: Named, tree: Tree) -> None:
    assert list(map(str, rule[2](tree))) == []


def test_what_git_tracks_is_exactly_what_is_listed(tmp_path: Path) -> None:
    """In a clean checkout: the tree is copied, so that nothing that lies about in this one matters."""
    for path in project_files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes() if path.name == ".gitignore" else b"")
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    tracked = git(tmp_path, "ls-files", "-z")
    assert tracked is not None
    names = sorted(Path(name.decode()) for name in tracked.split(b"\0") if name)
    assert names == [path.relative_to(tmp_path) for path in project_files(tmp_path)]
    assert names == [path.relative_to(ROOT) for path in project_files()]


NOT_OURS = (
    ".env", ".venv39/lib/x.py", ".tox/x", "build/lib/x.py", "dist/x.whl", "aasm.egg-info/PKG-INFO",
    "aasm/__pycache__/run.cpython-39.pyc", "docs/__pycache__/deep/x",
)  # fmt: skip
OURS = (
    "tools/hashlib.pyc", "x.pyc", "1.execution-receipt.json", "aasm/build/x.py", "aasm/x.egg-info/x", "docs/dist/x",
    "aasm/.hidden", "docs/.gitignore", ".ci/.x", "tests/.venv/x.py", "tests/build", "tests/dist", "a/__pycache__",
)  # fmt: skip


def planted(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"")


def listed(root: Path) -> List[str]:
    return [path.relative_to(root).as_posix() for path in project_files(root)]


def test_a_short_table_says_what_does_not_count_and_all_else_does(tmp_path: Path) -> None:
    planted(tmp_path, *NOT_OURS, *OURS)
    assert listed(tmp_path) == sorted(OURS, key=Path)


def test_git_is_not_asked_what_to_overlook(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / ".git/info").mkdir(exist_ok=True)
    (tmp_path / ".git/info/exclude").write_text("*\n")
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / ".gitignore").write_text("*\n")
    planted(tmp_path, "tools/hashlib.pyc", "new.py")
    assert listed(tmp_path) == ["new.py", "tools/.gitignore", "tools/hashlib.pyc"]


def test_links_and_pipes_count_and_no_link_is_followed(tmp_path: Path) -> None:
    planted(tmp_path, "a/x")
    for name in ("build", "dist", "__pycache__", "b", "c.py"):
        (tmp_path / name).symlink_to("a")
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "socket"))
        found = listed(tmp_path)
    assert found == sorted(["a/x", "build", "dist", "__pycache__", "b", "c.py", "nowhere", "pipe", "socket"])


def test_a_folder_that_cannot_be_read_is_told_and_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(tmp_path, "a/x", "LICENSE")
    real = os.scandir

    def closed(path: str) -> Any:
        if os.fspath(path).endswith("/a"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(TreeError, match="cannot be listed: .*Permission denied"):
        entries(tmp_path)
