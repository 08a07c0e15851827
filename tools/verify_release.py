#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Builds a release again from this tree and compares it with the files that somebody handed over.

    python3 tools/verify_release.py DIR

Says of each file that is not the same byte for byte in what it differs. The date is taken from the statement in DIR,
and nothing else is: the revision must be that of this tree. Exit code 0: all the same; 1: something differs, is missing
or is too much; 2: it could not be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List

import build
import provenance
from archives import differences
from project import ROOT, TreeError

LARGEST = 1 << 28  # bytes of a file that is read; no file of a release is near that


def given(directory: str) -> Dict[str, bytes]:
    """Return the files in `directory`. ValueError for what is no plain file, or far too large."""
    found = {}
    for entry in sorted(os.scandir(directory), key=lambda one: one.name):
        if not entry.is_file(follow_symlinks=False) or entry.stat().st_size > LARGEST:
            raise ValueError(f"{entry.path}: no plain file of a release; give a directory with nothing else in it")
        found[entry.name] = Path(entry.path).read_bytes()
    return found


def date_of(statement: bytes, where: str) -> int:
    """Return the date that a statement was made with. ValueError when it states none."""
    try:
        stated: Any = json.loads(statement.decode("utf-8"))
        date = stated["predicate"]["buildDefinition"]["externalParameters"]["SOURCE_DATE_EPOCH"]
    except (ValueError, KeyError, TypeError, RecursionError):
        date = None
    if type(date) is not int or not 0 <= date < 1 << 53:
        raise ValueError(f"{where}: no statement of a release with its SOURCE_DATE_EPOCH")
    return date


def compared(ours: Dict[str, bytes], theirs: Dict[str, bytes]) -> Iterator[str]:
    """Yield a line for each file that is not the same in both, and one for each member in which two archives differ."""
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in theirs:
            yield f"{name}: is missing"
        elif name not in ours:
            yield f"{name}: is no file of this release"
        elif ours[name] != theirs[name]:
            yield f"{name}: differs"
            yield from (f"{name}: {line}" for line in _within(name, ours[name], theirs[name]))


def _within(name: str, ours: bytes, theirs: bytes) -> List[str]:
    if not name.endswith((".whl", ".tar.gz", ".pyz")):
        return []
    try:
        return differences(ours, theirs) or ["the members are the same; their order, times or modes differ"]
    except ValueError as problem:
        return [str(problem)]


def verify(directory: str) -> List[str]:
    """Return what differs between the release in `directory` and what this tree builds. ValueError, OSError."""
    theirs = given(directory)
    name = provenance.name(ROOT)
    if name not in theirs:
        raise ValueError(f"{os.path.join(directory, name)}: is missing; this tree is the source of that release alone")
    os.environ["SOURCE_DATE_EPOCH"] = str(date_of(theirs[name], os.path.join(directory, name)))
    return list(compared(build.release(ROOT), theirs))


def main(argv: List[str]) -> int:
    parser = argparse.ArgumentParser("tools/verify_release.py", description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("directory", metavar="DIR", help="the files of one release, as tools/build.py made them")
    options = parser.parse_args(argv)
    try:
        found = verify(options.directory)
    except (OSError, ValueError, TreeError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    print("\n".join(found) or "every file is the same, byte for byte")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
