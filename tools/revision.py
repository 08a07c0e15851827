# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From which revision a tree is, when that is sure: the tree is unchanged. Otherwise nothing is said.

Asks git of a checkout; of an unpacked archive, the file REVISION that it carries, as long as its SBOM lists exactly
what is there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Optional

import sbom
from project import TreeError, entries, git, read_file

REVISION = "REVISION"  # one line: the full name of a git commit
_NAME = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")


def revision(root: Path) -> Optional[str]:
    """Return the full name of the commit that the tree at `root` is, unchanged; None when that is not known."""
    name = _of_checkout(root) if (root / ".git").exists() else _of_archive(root)
    return name.decode("ascii").strip() if name and _NAME.fullmatch(name) else None


def _of_checkout(root: Path) -> Optional[bytes]:
    changed = git(root, "status", "--porcelain", "--untracked-files=all")
    return git(root, "rev-parse", "HEAD") if changed == b"" else None


def _of_archive(root: Path) -> Optional[bytes]:
    try:
        stated, listing = read_file(root / REVISION, REVISION), read_file(root / sbom.NAME, sbom.NAME)
        return None if sbom.faults(listing, entries(root)) else stated
    except TreeError:  # there is none, or the tree is not what its SBOM is about
        return None
