#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Builds a release again from this tree and compares it with the files that somebody handed over.

    python3 tools/verify_release.py DIR

Says of each file that is not the same byte for byte in what it differs. The date is taken from the statement in DIR,
and nothing else is: the revision must be that of this tree. Exit code 0: all the same; 1: something differs, is missing
or is too much; 2: it could not be compared.

What lies in DIR may be anybody's: nothing is followed or unpacked, only files of the names that a release has are read,
and every name is printed as one line of ASCII.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any, Container, Dict, Iterator, List, Mapping, Optional

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:  # under python -I
    sys.path.insert(0, _HERE)

import build  # noqa: E402
import command  # noqa: E402
import provenance  # noqa: E402
from archives import EARLIEST, LATEST, differences  # noqa: E402
from project import LARGEST, ROOT, TreeError, read_file, shown  # noqa: E402
from revision import revision  # noqa: E402
from unpacking import KINDS, Content  # noqa: E402

LONGEST = 1 << 16  # bytes; a statement has some 2000


def given(directory: str, wanted: Container[str]) -> Dict[str, Content]:
    """Return what lies in `directory`: the bytes of each file that is `wanted`, of all else what it is.

    OSError where that cannot be listed, TreeError where a file cannot be read.
    """
    return {name: _given(os.path.join(directory, name), name in wanted) for name in os.listdir(directory)}


def _given(path: str, wanted: bool) -> Content:
    about = os.lstat(path)
    if not stat.S_ISREG(about.st_mode):
        return f"{KINDS.get(stat.S_IFMT(about.st_mode), 'is no regular file')}, and a release has files alone"
    if not wanted:
        return "is no file of this release"
    return read_file(Path(path), path) if about.st_size <= LARGEST else f"is larger than {LARGEST >> 20} MiB"


def definition(statement: bytes) -> Mapping[str, Any]:
    """Return what a statement says of how it was built; nothing where it says nothing that could be understood."""
    try:
        found: Any = json.loads(statement.decode("utf-8")) if len(statement) <= LONGEST else None
        found = found["predicate"]["buildDefinition"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def date_of(statement: bytes, where: str) -> int:
    """Return the date that a statement was made with. TreeError when it states none that an archive can have."""
    parameters = definition(statement).get("externalParameters")
    date = parameters.get("SOURCE_DATE_EPOCH") if isinstance(parameters, dict) else None
    if type(date) is not int or not EARLIEST <= date <= LATEST:
        raise TreeError(f"{shown(where)}: states no SOURCE_DATE_EPOCH; get the statement that belongs to the release")
    return date


def revision_of(statement: bytes) -> Optional[str]:
    """Return the revision that a statement says was built from; None where it says none, or not one."""
    sources = definition(statement).get("resolvedDependencies")
    digests = [one.get("digest") for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
    found = [one["gitCommit"] for one in digests if isinstance(one, dict) and "gitCommit" in one]
    known = len(found) == 1 and isinstance(found[0], str) and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", found[0])
    return found[0] if known else None


def compared(ours: Mapping[str, bytes], theirs: Mapping[str, Content]) -> Iterator[str]:
    """Yield a line for each file that is not the same in both, and one for each member in which two archives differ.

    `theirs` has bytes of none but files that `ours` has too.
    """
    for name in sorted(ours.keys() | theirs.keys()):
        other = theirs.get(name, "is missing")
        if isinstance(other, str):
            yield f"{shown(name)}: {other}"
        elif ours[name] != other:
            yield f"{shown(name)}: differs"
            yield from (f"{shown(name)}: {line}" for line in _within(name, ours[name], other))


def _within(name: str, ours: bytes, theirs: bytes) -> List[str]:
    if not name.endswith((".whl", ".tar.gz", ".pyz")):
        return []
    try:
        return differences(ours, theirs) or ["the members are the same; order, times, modes or what is around differs"]
    except ValueError as problem:
        return [str(problem)]


def revisions(ours: Optional[str], theirs: Optional[str]) -> List[str]:
    """Return the line that says that both are not of one revision, or that nothing says so; none where they are."""
    if ours is None and theirs is None:
        return ["note: neither the release nor this tree states a revision, so nothing says that they are of one"]
    if ours == theirs:
        return []
    tree = ours or "none, which only an unchanged commit has"
    return [f"note: the revisions differ: the release states {theirs or 'none'}, this tree {tree}"]


def verify(directory: str) -> List[str]:
    """Return what differs between the release in `directory` and what this tree builds. TreeError, OSError."""
    name = provenance.name(ROOT)
    where = os.path.join(directory, name)
    if name not in os.listdir(directory):
        raise TreeError(f"{shown(where)}: is missing; this tree is the source of that release alone")
    statement = read_file(Path(where), where)
    os.environ["SOURCE_DATE_EPOCH"] = str(date_of(statement, where))
    ours = build.release(ROOT)
    found = list(compared(ours, given(directory, ours)))
    return revisions(revision(ROOT), revision_of(statement)) + found if found else []


def main(argv: List[str]) -> int:
    parser = command.Parser("tools/verify_release.py", __doc__, "when all is the same, 1 when it is not")
    parser.add_argument("directory", metavar="DIR", help="the files of one release, as tools/build.py made them")
    found = verify(parser.parse_args(argv).directory)
    print("\n".join(found) or "every file is the same, byte for byte")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(command.run(main))
