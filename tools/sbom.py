#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The SBOM of this tree, SBOM.spdx.json: every file with its hashes and its licence, and what they need to run.

    python tools/sbom.py            write it where it is not what the tree gives
    python tools/sbom.py --check    write nothing; name each difference, and exit 1 when there is any

All of it is computed from names and bytes, but for one value: the date, which is kept as long as nothing else changes.
The check computes it again and compares, so that whatever it says and the tree does not is found. It must not reach the
network. Exit code 2 says that there was nothing to list or to compare.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:  # under python -I
    sys.path.insert(0, _HERE)

import archives  # noqa: E402
import command  # noqa: E402
import exact  # noqa: E402
import licences  # noqa: E402
from metadata import FILE as PYPROJECT, Project, read_version  # noqa: E402
from project import PACKAGE, ROOT, Entry, TreeError, entries, read_file, shown  # noqa: E402
from spdx import (  # noqa: E402
    ADDED,
    EARLIEST,
    NAME,
    TREE,
    WHEEL,
    ZIPAPP,
    Document,
    SbomError,
    document,
    render,
    seconds,
    stamp,
)

__all__ = [  # of both modules: what makes an archive needs to know only this one
    "EARLIEST", "NAME", "TREE", "WHEEL", "ZIPAPP", "Document", "SbomError", "check", "date_of", "document", "faults",
    "main", "render", "seconds", "stamp", "stated_date", "tree_entries", "version_of",
]  # fmt: skip

LATEST = 253402300799  # the end of the year 9999 in seconds: SPDX has four digits for it


# --- the date ---------------------------------------------------------------------------------------


def date_of(data: bytes) -> int:
    """Return `created` of a document in seconds: the one date of all archives. SbomError where there is none."""
    try:
        return seconds(_created(parsed(data)[0]))
    except ValueError as problem:
        raise SbomError(f"{NAME}: creationInfo.created: {problem}; run tools/sbom.py") from problem


def stated_date() -> Optional[int]:
    """Return SOURCE_DATE_EPOCH in seconds, None where it is not set. SbomError where it is no such number."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if text and not (re.fullmatch("[0-9]{1,12}", text) and int(text) <= LATEST):
        raise SbomError(f"SOURCE_DATE_EPOCH: {shown(text)} is no number of seconds before the year 10000; unset it")
    return int(text) if text else None


def _created(found: Any) -> Any:
    info = found.get("creationInfo") if isinstance(found, dict) else None
    return info.get("created") if isinstance(info, dict) else None


# --- the check of any document ----------------------------------------------------------------------


def parsed(data: bytes) -> Tuple[Any, List[str]]:
    """Return the value of an SBOM, and a fault for each key that stands twice in an object; SbomError for no JSON."""
    try:
        return exact.parsed(data)
    except ValueError as problem:
        raise SbomError(f"{NAME}: {problem}; run tools/sbom.py") from problem


def faults(data: bytes, entries: Iterable[Tuple[str, bytes]], kind: str = TREE, version: str = "") -> List[str]:
    """Return every reason for which `data` is not exactly the document of `entries`, each naming its place.

    The date is taken from the document; the namespace is made of it too, so that it cannot change alone. `version` is
    that of the package among the entries where none is given. SbomError where `data` is no JSON, and as for `document`.
    """
    files = list(entries)
    found, said = parsed(data)
    created = _created(found)
    try:
        seconds(created)
    except ValueError as problem:
        said.append(f"creationInfo.created: {problem}")
        created = stamp(EARLIEST)
    wanted = document(files, kind, created, version or version_of(dict(files)))
    said += exact.differences(found, wanted)
    if not said and data != render(wanted):
        said.append("it says what it must, but not in the bytes that tools/sbom.py writes")
    return said


def version_of(files: Mapping[str, bytes]) -> str:
    """Return the version that the package among `files` states; SbomError where it states none."""
    name = f"{PACKAGE}/__init__.py"
    try:
        return read_version(files[name].decode("utf-8"))
    except (KeyError, ValueError) as problem:
        raise SbomError(f"{name}: states no version; get the whole tree") from problem


# --- the tree ---------------------------------------------------------------------------------------


def tree_entries(root: Path = ROOT) -> List[Entry]:
    """Return every project file of the tree at `root` but the SBOM; TreeError where one cannot be read.

    ValueError where the tree requires something, since the SBOM says that nothing is required.
    """
    if (root / PYPROJECT).is_file():
        Project(root)
    return entries(root, without=(NAME,))


def check(root: Path = ROOT) -> List[str]:
    """Return every reason for which the tree at `root` is not what its SBOM and its licences say."""
    content = tree_entries(root)
    files = dict(content)
    try:
        data = read_file(root / NAME, NAME)
    except TreeError as problem:
        raise SbomError(f"{problem}, or run tools/sbom.py") from problem
    said = [f"{NAME}: {one}" for one in faults(data, content)]
    return [*said, *_licence_faults(files), *_added_faults(files, root)]


def _licence_faults(files: Mapping[str, bytes]) -> List[str]:
    return [shown(one) for one in licences.faults({name: files[name] for name in files if name not in ADDED})]


def _added_faults(files: Mapping[str, bytes], root: Path) -> List[str]:
    """Return what is wrong with the files that a build adds to a source archive, and that the SBOM does not list."""
    said = []
    if "PKG-INFO" in files and files["PKG-INFO"] != _metadata(root):
        said.append("PKG-INFO: is not what this tree gives")
    if "REVISION" in files and not re.fullmatch(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\n", files["REVISION"]):
        said.append("REVISION: is not the hash of one commit")
    return said


def _metadata(root: Path) -> Optional[bytes]:
    """Return the metadata of an archive of the tree at `root`; None where the tree does not state them."""
    try:
        return Project(root).metadata()
    except (OSError, ValueError):
        return None


def made(root: Path = ROOT) -> bytes:
    """Return the SBOM of the tree at `root`, with the date that it has where nothing else changes, else a new one."""
    content = tree_entries(root)
    version = version_of(dict(content))
    return render(document(content, TREE, _kept_date(root, content, version) or _new_date(), version))


def _kept_date(root: Path, content: Sequence[Tuple[str, bytes]], version: str) -> str:
    """Return the date of the SBOM that is there, where the same content with that date has the same namespace."""
    try:
        found = parsed(read_file(root / NAME, NAME))[0]
        created = stamp(seconds(_created(found)))
    except (TreeError, ValueError):  # there is none, or none that counts: it is made anew
        return ""
    same = document(content, TREE, created, version)["documentNamespace"] == found.get("documentNamespace")
    return created if same else ""


def _new_date() -> str:
    stated = stated_date()
    return stamp(int(time.time()) if stated is None else stated)


# --- the command ------------------------------------------------------------------------------------


def main(argv: List[str], root: Path = ROOT) -> int:
    """Write the SBOM of the tree at `root`, or compare it with `--check`; return the exit code."""
    return command.run(lambda words: _carried_out(words, root), argv)


def _carried_out(words: List[str], root: Path) -> int:
    parser = command.Parser("tools/sbom.py", __doc__, "when it is right or was written, 1 when --check finds a fault")
    parser.add_argument("--check", action="store_true", help="write nothing; name each difference")
    return _checked(root) if parser.parse_args(words).check else _written(root)


def _checked(root: Path) -> int:
    said = check(root)
    for one in said:
        print(one)
    if not said:
        return 0
    text = f"{NAME}: {len(said)} fault(s) in it or in the tree; correct the tree, then run tools/sbom.py"
    return command.differs(text)


def _written(root: Path) -> int:
    new = made(root)
    try:
        before = read_file(root / NAME, NAME)
    except TreeError:
        before = b""
    if new != before:
        archives.write_whole(str(root / NAME), new)
        print(f"{NAME}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
