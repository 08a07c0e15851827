# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml and aasm/__init__.py state, and the metadata that a wheel and an sdist carry.

Python 3.9 has no reader of TOML, so a small one is here: it reads text and lists of text in the tables about the
project and nothing else. It must not run code of the package.
"""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

from project import PACKAGE

FILE = "pyproject.toml"
Value = Union[str, List[str]]
Tables = Dict[str, Dict[str, Value]]


class Project:
    """What pyproject.toml and aasm/__init__.py of the tree at `root` state. Raises ValueError with file and line."""

    def __init__(self, root: Path) -> None:
        self.root = root
        tables = read_tables(read(root, FILE).decode("utf-8"))
        self.project = tables.get("project", {})
        self.scripts = tables.get("project.scripts", {})
        self.extras = tables.get("project.optional-dependencies", {})
        if self.list("dependencies") or tables.get("build-system", {}).get("requires") != []:
            raise ValueError(f"{FILE}: project.dependencies and build-system.requires must be []: nothing is required")
        for name in (self.text("readme"), *self.list("license-files")):
            if name.startswith("/") or ".." in name.split("/"):
                raise ValueError(f"{FILE}: {name} does not lie in this tree; name a file of it")
        self.version = read_version(read(root, f"{PACKAGE}/__init__.py").decode("utf-8"))
        self.stem = f"{self.text('name')}-{self.version}"
        self.dist_info = f"{self.stem}.dist-info"

    def text(self, key: str) -> str:
        """Return one value of the table `project`. ValueError where it is missing, or no text of one line."""
        value = self.project.get(key)
        if not isinstance(value, str) or not value:
            raise ValueError(f"{FILE}: project.{key} must be there, and text")
        return value

    def list(self, key: str) -> List[str]:
        """Return one list of the table `project`. ValueError where it is missing, or no list."""
        return _listed(f"project.{key}", self.project.get(key))

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
            lines += [f'Requires-Dist: {name}; extra == "{extra}"' for name in _listed(extra, names)]
        lines += ["Description-Content-Type: text/markdown", "", ""]
        return "\n".join(lines).encode("utf-8") + read(self.root, self.text("readme"))

    def entry_points(self) -> bytes:
        scripts = "".join(f"{name} = {target}\n" for name, target in self.scripts.items())
        return f"[console_scripts]\n{scripts}".encode("utf-8")


def read(root: Path, name: str) -> bytes:
    """Return the bytes of the file `name` (forward slashes) of the tree at `root`."""
    return (root / name).read_bytes()


def read_tables(text: str) -> Tables:
    """Return the build-system and project tables of pyproject.toml: "text" and ["lists", "of text"], nothing else.

    Every other table is passed over unread. Raises ValueError that names the line.
    """
    tables: Tables = {}
    table = ""
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        line = line.strip()
        ours = table.split(".")[0] in ("build-system", "project")
        if line.startswith("["):
            table = _header(line, number)
        elif line and not line.startswith("#") and ours:
            key, _, value = line.partition("=")
            while value.count("[") > value.count("]"):
                value += "\n" + next(lines, (0, "]"))[1]
            if key.strip() in tables.setdefault(table, {}):
                raise ValueError(f"{FILE}:{number}: {table}.{key.strip()} stands twice")
            tables[table][key.strip()] = _value(value.strip(), number)
    return tables


def read_version(text: str) -> str:
    """Return the one literal `__version__` of a module's source."""
    found = re.findall(r'^__version__ = "([0-9][0-9a-z.]*)"$', text, re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"{PACKAGE}/__init__.py: exactly one line __version__ = \"...\" is needed")
    return str(found[0])


def _header(line: str, number: int) -> str:
    found = re.fullmatch(r"(?:\[([\w.-]+)\]|\[\[([\w.-]+)\]\])\s*(?:#.*)?", line)
    if found is None:
        raise ValueError(f"{FILE}:{number}: {line} is no header of a table")
    return found[1] or found[2]


def _value(text: str, number: int) -> Value:
    value: Any = None
    with contextlib.suppress(SyntaxError, ValueError):
        value = ast.literal_eval(text)  # where TOML text and lists are this plain, Python reads them alike
    texts = [value] if isinstance(value, str) else value
    # a line feed would begin a line of its own in the metadata
    if isinstance(texts, list) and all(isinstance(item, str) and item.isprintable() for item in texts):
        return texts if isinstance(value, list) else str(value)
    raise ValueError(f'{FILE}:{number}: only "text" and ["lists", "of text"] are read here, each of one line')


def _listed(key: str, value: Optional[Value]) -> List[str]:
    if not isinstance(value, list):
        raise ValueError(f"{FILE}: {key} must be there, and a list")
    return value
