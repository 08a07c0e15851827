# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From which revision a tree is, when that is sure: the tree is unchanged. Otherwise nothing is said.

Asks git of a checkout; of an unpacked archive, the file REVISION that it carries, as long as its SBOM lists exactly
what is there.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Optional

import sbom
from project import TreeError, entries, git, read_file

REVISION = "REVISION"  # one line: the full name of a git commit
_NAME = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n")


def revision(root: Path) -> Optional[str]:
    """Return the full name of the commit that the tree at `root` is, unchanged; None when that is not known."""
    try:
        name = _of_checkout(root) if (root / ".git").exists() else _of_archive(root)
    except TreeError:  # something in the tree is no plain file
        return None
    return name.decode("ascii").strip() if name and _NAME.fullmatch(name) else None


def _of_checkout(root: Path) -> Optional[bytes]:
    """Compare every file with what the commit has: what git was told to think of the files does not count."""
    name = git(root, "--no-replace-objects", "rev-parse", "HEAD")
    listed = git(root, "--no-replace-objects", "ls-tree", "-r", "-z", "--full-tree", "HEAD")
    if name is None or listed is None:
        return None
    rows = [row.split(b"\t", 1) for row in listed.split(b"\0") if row]
    committed = {os.fsdecode(path): about.split()[2].decode("ascii") for about, path in rows}
    here = {entry.name: _blob(entry.data, len(name.strip())) for entry in entries(root)}
    return name if here == committed else None


def _blob(data: bytes, length: int) -> str:
    """Return the name that git gives to a file with this content; the length of a name says by which digest."""
    made = hashlib.sha1() if length == 40 else hashlib.sha256()
    made.update(b"blob %d\0" % len(data) + data)
    return made.hexdigest()


def _of_archive(root: Path) -> Optional[bytes]:
    try:
        stated, listing = read_file(root / REVISION, REVISION), read_file(root / sbom.NAME, sbom.NAME)
        return None if sbom.faults(listing, entries(root)) else stated
    except TreeError:  # there is none, or the tree is not what its SBOM is about
        return None
