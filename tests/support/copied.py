# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of the package in every form: a vendored one, an unpacked wheel, a zip archive, each with its listing.

They are made of the tree as it is, so that no test depends on whether SBOM.spdx.json is up to date.
"""

from __future__ import annotations

import functools
import os
import zipfile
from pathlib import Path
from typing import Dict, List, Tuple

import build_backend
import vendor
from metadata import Project
from project import PACKAGE, ROOT
from spdx import NAME, TREE, WHEEL, ZIPAPP, document, render

import aasm

CREATED = "2026-01-02T03:04:05Z"
COMMIT = "c0ffee" + "0" * 34
INFO = f"aasm-{aasm.__version__}.dist-info"


def code() -> List[Tuple[str, bytes]]:
    """Return the files of the package, by their names in the tree."""
    return [(f"{PACKAGE}/{name}", data) for name, data in _contents("all").items() if name not in _ADDED]


_ADDED = (*vendor.PAPERS, "MANIFEST.sha256", "REVISION")


@functools.lru_cache(maxsize=None)
def _contents(part: str) -> Dict[str, bytes]:
    return vendor.contents(part, COMMIT)


def vendored(top: Path, name: str = "acme", part: str = "all") -> Path:
    """Return the folder of a vendored copy beneath `top`."""
    return Path(vendor.write(str(top), name, _contents(part)))


def listed(entries: List[Tuple[str, bytes]], kind: str) -> bytes:
    return render(document(entries, kind, CREATED, aasm.__version__))


def wheel(top: Path) -> Path:
    """Return the folder of the package in a wheel that was unpacked into `top`."""
    info = build_backend.dist_info(Project(ROOT))
    named = dict([*code(), *((entry.name, entry.data) for entry in info), (f"{INFO}/REVISION", COMMIT.encode())])
    named.pop(f"{INFO}/sboms/aasm.spdx.json", None)
    named[f"{INFO}/sboms/aasm.spdx.json"] = listed(list(named.items()), WHEEL)
    return put(top, named)


def tree(top: Path) -> Path:
    """Return the folder of the package in what looks like an unpacked source archive at `top`."""
    named = dict([*code(), ("tools/build_backend.py", b"")])
    return put(top, {**named, NAME: listed(list(named.items()), TREE), "REVISION": COMMIT.encode()})


def put(top: Path, files: Dict[str, bytes]) -> Path:
    """Write files beneath `top`; return the folder of the package in it."""
    for name, data in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(data)
    return top / PACKAGE


def archive(path: Path, **more: str) -> Path:
    """Return a zip archive at `path` that Python runs; `more` are further files, with __ for each slash."""
    main = (ROOT / "tools" / "zip_main.py").read_bytes()
    entries = [*code(), ("__main__.py", main), ("REVISION", f"{COMMIT}\n".encode())]
    entries += [(name, (ROOT / name).read_bytes()) for name in ("LICENSE", "NOTICE")]
    write_zip(path, dict([*entries, (NAME, listed(entries, ZIPAPP))]))
    if more:
        with zipfile.ZipFile(path, "a") as changed:
            for name, text in more.items():
                changed.writestr(name.replace("__", "/"), text)
    return path


def write_zip(path: Path, entries: Dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as made:
        for name, data in entries.items():
            made.writestr(name, data)


def lock(top: Path) -> None:
    """Take the right to write away from everything beneath `top`, and from it."""
    for folder, _, names in os.walk(top, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            os.chmod(path, os.stat(path).st_mode & 0o555)
        os.chmod(folder, 0o555)


def unlock(top: Path) -> None:
    """Let the owner remove what `lock` has locked."""
    for folder, _, _ in os.walk(top):
        os.chmod(folder, 0o755)
