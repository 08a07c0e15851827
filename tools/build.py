#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Builds a release into a directory: wheel, sdist, aasm.pyz, what is claimed about them, and their checksums.

    python3 tools/build.py DIR

Needs Python and nothing else. The files depend on the tree, its revision and one date alone; tools/verify_release.py
builds them again and compares.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Dict, List

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:  # under python -I
    sys.path.insert(0, _HERE)

import build_backend  # noqa: E402
import command  # noqa: E402
import provenance  # noqa: E402
import sbom  # noqa: E402
from archives import DATA, PROGRAM, write_all  # noqa: E402
from metadata import Project  # noqa: E402
from project import ROOT, TreeError, entries, read_file, shown  # noqa: E402
from revision import revision  # noqa: E402

PYZ = "aasm.pyz"
SUMS = "SHA256SUMS"


def archives(root: Path) -> Dict[str, bytes]:
    """Return the three archives of the tree at `root` by their names. ValueError and OSError as they come."""
    project = Project(root)
    return {
        build_backend.wheel_name(project): build_backend.wheel(root),
        build_backend.sdist_name(project): build_backend.sdist(root),
        PYZ: build_backend.pyz(root),
    }


def release(root: Path) -> Dict[str, bytes]:
    """Return every file of a release of the tree at `root`: the archives, the statement about them, the checksums.

    TreeError when SBOM.spdx.json is not that of the tree, since the statement names it as what was built from.
    """
    if sbom.faults(read_file(root / sbom.NAME, sbom.NAME), entries(root)):
        raise TreeError(f"{sbom.NAME}: is not that of this tree; see tools/sbom.py --check, and run tools/sbom.py")
    made = archives(root)
    made[provenance.name(root)] = provenance.statement(root, made)
    made[SUMS] = "".join(f"{_sha256(data)}  {name}\n" for name, data in sorted(made.items())).encode("ascii")
    return made


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(directory: str, made: Dict[str, bytes]) -> None:
    """Write the files of a release into `directory`, which is made where it is missing: all of them or none."""
    os.makedirs(directory, exist_ok=True)
    write_all(directory, made, {PYZ: PROGRAM}, DATA)


def main(argv: List[str]) -> int:
    parser = command.Parser("tools/build.py", __doc__)
    parser.add_argument("directory", metavar="DIR", help="where the files are put; files of the same name are replaced")
    options = parser.parse_args(argv)
    known = revision(ROOT)  # asked before anything is written: DIR may lie in the tree
    made = release(ROOT)
    write(options.directory, made)
    for name, data in made.items():
        print(f"{_sha256(data)}  {shown(os.path.join(options.directory, name))}")
    print(f"revision: {known or 'not stated: only an unchanged commit has one'}")
    return 0


if __name__ == "__main__":
    sys.exit(command.run(main))
