# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The build backend (PEP 517 and PEP 660): wheel, sdist and editable install from this tree, with no requirement.

What goes into which archive is said here; tools/archives.py writes it. Two builds of one tree at one revision are equal
byte for byte, whatever the directory, user, umask, file times, Python or zlib. It must not run code of the package,
reach the network, or put anything into a wheel but `aasm/`, the metadata, manual pages and completions.
"""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Dict, List, Optional

import sbom
from archives import EARLIEST, LATEST, tar_gz_bytes, write_whole, zip_bytes
from metadata import Project, read
from project import PACKAGE, Entry, entries
from revision import REVISION, revision

ROOT = Path(__file__).resolve().parents[1]
ZIP_MAIN = "tools/zip_main.py"  # what aasm.pyz begins with, as __main__.py
PKG_INFO = "PKG-INFO"
SHEBANG = b"#!/usr/bin/env python3\n"

# Where the shared files of a wheel are installed, beneath the prefix (sysconfig's `data`).
SHARED = {
    "docs/man/aasm.1": "share/man/man1/aasm.1",
    "docs/man/aasm-receipt.1": "share/man/man1/aasm-receipt.1",
    "docs/man/aasm-run.1": "share/man/man1/aasm-run.1",
    "docs/man/aasm-policy.5": "share/man/man5/aasm-policy.5",
    "docs/completions/aasm.bash": "share/bash-completion/completions/aasm",
    "docs/completions/_aasm": "share/zsh/site-functions/_aasm",
    "docs/completions/aasm.fish": "share/fish/vendor_completions.d/aasm.fish",
}

Settings = Optional[Dict[str, object]]


# --- the hooks. `config_settings` is accepted and ignored: there is nothing to set ---------------------


def get_requires_for_build_wheel(config_settings: Settings = None) -> List[str]:
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Write the .dist-info folder into `metadata_directory` and return its name."""
    for entry in dist_info(Project(ROOT)):
        path = os.path.join(metadata_directory, *entry.name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_whole(path, entry.data)
    return Project(ROOT).dist_info


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    """Write the wheel into `wheel_directory` and return its file name."""
    return _written(wheel_directory, wheel_name(Project(ROOT)), wheel(ROOT))


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    """Write a wheel that puts this checkout on sys.path, and return its file name."""
    project = Project(ROOT)
    if {"\n", "\r"}.intersection(str(ROOT)):
        raise ValueError(f"{str(ROOT)!r}: a .pth file cannot name it; move the checkout")
    content = [Entry(f"{PACKAGE}-editable.pth", os.fsencode(ROOT) + b"\n"), *dist_info(project)]
    return _written(wheel_directory, wheel_name(project), _with_record(project, content))


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write the source archive into `sdist_directory` and return its file name."""
    return _written(sdist_directory, sdist_name(Project(ROOT)), sdist(ROOT))


def _written(directory: str, name: str, data: bytes) -> str:
    write_whole(os.path.join(directory, name), data)
    return name


# --- what is in the archives -----------------------------------------------------------------------------


def wheel_name(project: Project) -> str:
    return f"{project.stem}-py3-none-any.whl"


def sdist_name(project: Project) -> str:
    return f"{project.stem}.tar.gz"


def wheel(root: Path) -> bytes:
    """Return the wheel of the tree at `root`: the package, shared files, metadata, SBOM (PEP 770) and RECORD."""
    project = Project(root)
    shared = [Entry(f"{project.stem}.data/data/{place}", read(root, name)) for name, place in SHARED.items()]
    content = [*entries(root, PACKAGE), *shared, *dist_info(project)]
    listing = _listing(project, sbom.WHEEL, content)
    return _with_record(project, [*content, Entry(f"{project.dist_info}/sboms/{PACKAGE}.spdx.json", listing)])


def dist_info(project: Project) -> List[Entry]:
    """Return the files of the .dist-info folder, SBOM and RECORD excepted."""
    text = b"Wheel-Version: 1.0\nGenerator: aasm build_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    found = [
        Entry("METADATA", project.metadata()),
        Entry("WHEEL", text),
        Entry("entry_points.txt", project.entry_points()),
        *_licences(project, "licenses/"),
        *_revision(project.root),
    ]
    return [Entry(f"{project.dist_info}/{file.name}", file.data) for file in found]


def _with_record(project: Project, content: List[Entry]) -> bytes:
    name = f"{project.dist_info}/RECORD"
    rows = "".join(f"{record_row(entry)}\n" for entry in content)
    record = Entry(name, f"{rows}{name},,\n".encode("utf-8"))
    return zip_bytes([*content, record], source_date(project.root))


def record_row(entry: Entry) -> str:
    """Return the row of RECORD for a file: name, digest in URL-safe base64, size."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(entry.data).digest()).rstrip(b"=").decode("ascii")
    return f"{entry.name},sha256={digest},{len(entry.data)}"


def sdist(root: Path) -> bytes:
    """Return the source archive of the tree at `root`: every project file, PKG-INFO, and an SBOM of exactly that."""
    project = Project(root)
    content = entries(root, without=(PKG_INFO, REVISION, sbom.NAME))
    content += [Entry(PKG_INFO, project.metadata()), *_revision(root)]
    content.append(Entry(sbom.NAME, _listing(project, sbom.TREE, content)))
    return tar_gz_bytes(project.stem, content, source_date(root))


def pyz(root: Path) -> bytes:
    """Return aasm.pyz, the zip archive that Python runs: the package, its start, licence, SBOM."""
    project = Project(root)
    start = Entry("__main__.py", read(root, ZIP_MAIN))
    content = [start, *entries(root, PACKAGE), *_licences(project), *_revision(root)]
    content.append(Entry(sbom.NAME, _listing(project, sbom.ZIPAPP, content)))
    return zip_bytes(content, source_date(root), SHEBANG)


def _licences(project: Project, folder: str = "") -> List[Entry]:
    return [Entry(folder + name, read(project.root, name)) for name in project.list("license-files")]


def _revision(root: Path) -> List[Entry]:
    known = revision(root)
    return [Entry(REVISION, f"{known}\n".encode("ascii"))] if known else []


def _listing(project: Project, kind: str, content: List[Entry]) -> bytes:
    return sbom.render(sbom.document(content, kind, sbom.stamp(source_date(project.root)), project.version))


# --- the one date --------------------------------------------------------------------------------------


def source_date(root: Path = ROOT) -> int:
    """Return the time that archives state, in seconds since 1970: SOURCE_DATE_EPOCH, else the date of the SBOM.

    What a zip archive cannot state becomes the earliest or the latest that it can. TreeError where there is none.
    """
    stated = sbom.stated_date()
    return min(max(sbom.date_of(read(root, sbom.NAME)) if stated is None else stated, EARLIEST), LATEST)
