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

import json
import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:  # under python -I
    sys.path.insert(0, _HERE)

import build  # noqa: E402
import command  # noqa: E402
import provenance  # noqa: E402
from archives import differences  # noqa: E402
from project import ROOT, TreeError, read_file  # noqa: E402
from revision import revision  # noqa: E402


def given(directory: str) -> Dict[str, bytes]:
    """Return the files in `directory`. TreeError for what is no plain file, or far too large."""
    return {path.name: read_file(path, str(path)) for path in sorted(Path(directory).iterdir())}


def date_of(statement: bytes, where: str) -> int:
    """Return the date that a statement was made with. TreeError when it states none."""
    try:
        stated: Any = json.loads(statement.decode("utf-8"))
        date = stated["predicate"]["buildDefinition"]["externalParameters"]["SOURCE_DATE_EPOCH"]
    except (ValueError, KeyError, TypeError, RecursionError):
        date = None
    if type(date) is not int or not 0 <= date < 1 << 53:
        raise TreeError(f"{where}: states no SOURCE_DATE_EPOCH; get the statement that belongs to the release")
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
        return differences(ours, theirs) or ["the members are the same; order, times, modes or what is around differs"]
    except ValueError as problem:
        return [str(problem)]


def verify(directory: str) -> List[str]:
    """Return what differs between the release in `directory` and what this tree builds. TreeError, OSError."""
    theirs = given(directory)
    name = provenance.name(ROOT)
    where = os.path.join(directory, name)
    if name not in theirs:
        raise TreeError(f"{where}: is missing; this tree is the source of that release alone")
    os.environ["SOURCE_DATE_EPOCH"] = str(date_of(theirs[name], where))
    found = list(compared(build.release(ROOT), theirs))
    if found and revision(ROOT) is None:
        found.insert(0, "note: nothing says which revision this tree is, and a release of a known one states it")
    return found


def main(argv: List[str]) -> int:
    parser = command.Parser("tools/verify_release.py", __doc__, "when all is the same, 1 when it is not")
    parser.add_argument("directory", metavar="DIR", help="the files of one release, as tools/build.py made them")
    found = verify(parser.parse_args(argv).directory)
    print("\n".join(found) or "every file is the same, byte for byte")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(command.run(main))
