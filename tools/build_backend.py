# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The build backend (PEP 517 and PEP 660): wheel, sdist and editable install from this tree, with no requirement.

Two builds of one tree are equal byte for byte, whatever the directory, umask, file times or zlib: names are sorted,
times come from SOURCE_DATE_EPOCH, modes from the content, and nothing is compressed. The metadata is what
pyproject.toml states, the version what aasm/__init__.py states. It must not run code of the package, reach the
network, or put anything into a wheel but `aasm/` and the metadata.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import os
import re
import struct
import tarfile
import time
import zipfile
import zlib
from typing import Dict, List, NamedTuple, Optional, Union

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = "aasm"

# What an sdist holds: whole folders, and single files at the top where they exist.
SDIST_FOLDERS = (".ci", "aasm", "docs", "examples", "tests", "tools")
SDIST_FILES = (
    ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "NOTICE", "README.md", "SBOM.spdx.json", "SECURITY.md",
    "pyproject.toml", "tox.ini",
)  # fmt: skip
ZIP_EPOCH = 315532800  # 1980-01-01, the earliest time that a ZIP archive can state
STORED_BLOCK = 65535  # RFC 1951, 3.2.4: the most bytes that one stored block holds

Value = Union[str, List[str]]
Tables = Dict[str, Dict[str, Value]]
Settings = Optional[Dict[str, object]]


class Entry(NamedTuple):
    """One file of an archive: its name in there, with forward slashes, and its bytes."""

    name: str
    data: bytes


# The hooks. `config_settings` is accepted and ignored: there is nothing to set.


def get_requires_for_build_wheel(config_settings: Settings = None) -> List[str]:
    return []


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Write the .dist-info folder into `metadata_directory` and return its name."""
    for entry in dist_info(Project(ROOT)):
        path = os.path.join(metadata_directory, *entry.name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(entry.data)
    return Project(ROOT).dist_info


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    """Write the wheel into `wheel_directory` and return its file name."""
    return _write_wheel(wheel_directory, folder_entries(ROOT, PACKAGE))


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None
) -> str:
    """Write a wheel that puts this checkout on sys.path, and return its file name."""
    return _write_wheel(wheel_directory, [Entry(f"{PACKAGE}-editable.pth", os.fsencode(ROOT) + b"\n")])


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Write the source archive into `sdist_directory` and return its file name."""
    project = Project(ROOT)
    entries = [Entry("PKG-INFO", project.metadata())]
    for folder in SDIST_FOLDERS:
        entries += folder_entries(ROOT, folder)
    entries += [Entry(name, _read(ROOT, name)) for name in SDIST_FILES if os.path.exists(os.path.join(ROOT, name))]
    name = f"{project.stem}.tar.gz"
    with open(os.path.join(sdist_directory, name), "wb") as file:
        file.write(gzip_stored(_tar(project.stem, entries)))
    return name


# What is in the archives.


class Project:
    """What pyproject.toml and aasm/__init__.py of the tree at `root` state. Raises ValueError with file and line."""

    def __init__(self, root: str) -> None:
        self.root = root
        tables = read_tables(_read(root, "pyproject.toml").decode("utf-8"))
        self.project = tables["project"]
        self.scripts = tables["project.scripts"]
        self.extras = tables["project.optional-dependencies"]
        self.version = read_version(_read(root, f"{PACKAGE}/__init__.py").decode("utf-8"))
        self.stem = f"{self.text('name')}-{self.version}"
        self.dist_info = f"{self.stem}.dist-info"

    def text(self, key: str) -> str:
        value = self.project[key]
        if not isinstance(value, str):
            raise ValueError(f"pyproject.toml: project.{key} must be text")
        return value

    def list(self, key: str) -> List[str]:
        return _listed(self.project[key])

    def metadata(self) -> bytes:
        """Return METADATA, version 2.4: headers, an empty line, the README."""
        lines = [
            "Metadata-Version: 2.4",
            f"Name: {self.text('name')}",
            f"Version: {self.version}",
            f"Summary: {self.text('description')}",
            f"Keywords: {','.join(self.list('keywords'))}",
            f"License-Expression: {self.text('license')}",
            *(f"License-File: {name}" for name in self.list("license-files")),
            *(f"Classifier: {name}" for name in self.list("classifiers")),
            f"Requires-Python: {self.text('requires-python')}",
            *(f"Requires-Dist: {name}" for name in self.list("dependencies")),
        ]
        for extra, names in self.extras.items():
            lines.append(f"Provides-Extra: {extra}")
            lines += [f'Requires-Dist: {name}; extra == "{extra}"' for name in _listed(names)]
        lines += ["Description-Content-Type: text/markdown", "", ""]
        return "\n".join(lines).encode("utf-8") + _read(self.root, self.text("readme"))

    def entry_points(self) -> bytes:
        scripts = "".join(f"{name} = {target}\n" for name, target in self.scripts.items())
        return f"[console_scripts]\n{scripts}".encode("utf-8")


def dist_info(project: Project) -> List[Entry]:
    """Return the files of the .dist-info folder, RECORD excepted."""
    wheel = b"Wheel-Version: 1.0\nGenerator: aasm build_backend\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = [
        Entry("METADATA", project.metadata()),
        Entry("WHEEL", wheel),
        Entry("entry_points.txt", project.entry_points()),
        *(Entry(f"licenses/{name}", _read(project.root, name)) for name in project.list("license-files")),
    ]
    return [Entry(f"{project.dist_info}/{file.name}", file.data) for file in files]


def folder_entries(root: str, folder: str) -> List[Entry]:
    """Return every file beneath `folder`, without what tools and editors leave there. A link is an error."""
    entries = []
    for where, folders, names in os.walk(os.path.join(root, folder)):
        folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
        for name in names + folders:
            path = os.path.join(where, name)
            if os.path.islink(path):
                raise ValueError(f"{path}: a link cannot be packaged; replace it by the file")
            if name in names and not name.startswith(".") and not name.endswith((".pyc", "~")):
                relative = os.path.relpath(path, root).replace(os.sep, "/")
                entries.append(Entry(relative, _read(root, relative)))
    return sorted(entries)


# What the files state.


def read_tables(text: str) -> Tables:
    """Return the build-system and project tables of pyproject.toml: "text" and ["lists", "of text"], nothing else.

    Every other table is passed over unread. Raises ValueError that names the line.
    """
    tables: Tables = {}
    table = ""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            table = line[1:-1]
        elif line and not line.startswith("#") and table.split(".")[0] in ("build-system", "project"):
            key, _, value = line.partition("=")
            while value.count("[") > value.count("]"):
                value += "\n" + next(lines, (0, "]"))[1]
            tables.setdefault(table, {})[key.strip()] = _value(value.strip(), number)
    return tables


def read_version(text: str) -> str:
    """Return the one literal `__version__` of a module's source."""
    found = re.findall(r'^__version__ = "([0-9][0-9a-z.]*)"$', text, re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"{PACKAGE}/__init__.py: exactly one line __version__ = \"...\" is needed")
    return str(found[0])


def _value(text: str, number: int) -> Value:
    try:
        value = ast.literal_eval(text)  # where TOML text and lists are this plain, Python reads them alike
    except (SyntaxError, ValueError):
        value = None
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        return value
    raise ValueError(f'pyproject.toml:{number}: only "text" and ["lists", "of text"] are read here')


def _listed(value: Value) -> List[str]:
    if isinstance(value, str):
        raise ValueError(f"pyproject.toml: a list is needed, not {value!r}")
    return value


def _read(root: str, name: str) -> bytes:
    with open(os.path.join(root, *name.split("/")), "rb") as file:
        return file.read()


# How archives are written.


def _write_wheel(directory: str, content: List[Entry]) -> str:
    project = Project(ROOT)
    entries = content + dist_info(project)
    entries.append(_record(f"{project.dist_info}/RECORD", entries))
    name = f"{project.stem}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w", zipfile.ZIP_STORED) as archive:
        for entry in entries:
            archive.writestr(_zip_info(entry), entry.data)
    return name


def _record(name: str, entries: List[Entry]) -> Entry:
    rows = [f"{entry.name},sha256={_digest(entry.data)},{len(entry.data)}\n" for entry in entries]
    return Entry(name, "".join([*rows, f"{name},,\n"]).encode("utf-8"))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode("ascii")


def _zip_info(entry: Entry) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(entry.name, time.gmtime(source_date())[:6])
    info.create_system = 3  # Unix, also where it is built elsewhere
    info.external_attr = (0o100000 | _mode(entry)) << 16
    return info


def _tar(stem: str, entries: List[Entry]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for entry in sorted(entries):
            info = tarfile.TarInfo(f"{stem}/{entry.name}")
            info.size, info.mode, info.mtime = len(entry.data), _mode(entry), source_date()
            archive.addfile(info, io.BytesIO(entry.data))
    return buffer.getvalue()


def _mode(entry: Entry) -> int:
    return 0o755 if entry.data.startswith(b"#!") else 0o644


def source_date() -> int:
    """Return SOURCE_DATE_EPOCH in seconds, never before what a ZIP archive can state."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    if stated and not stated.isdigit():
        raise ValueError(f"SOURCE_DATE_EPOCH: {stated!r} is not a number of seconds")
    return max(int(stated or ZIP_EPOCH), ZIP_EPOCH)


def gzip_stored(data: bytes) -> bytes:
    """Return `data` as a gzip file (RFC 1952) of stored blocks: compressed bytes differ between versions of zlib."""
    blocks = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"]
    for start in range(0, max(len(data), 1), STORED_BLOCK):
        block = data[start : start + STORED_BLOCK]
        last = start + STORED_BLOCK >= len(data)
        blocks.append(struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    blocks.append(struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF))
    return b"".join(blocks)
