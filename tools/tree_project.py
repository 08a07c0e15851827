# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A rule about pyproject.toml: nothing is fetched, neither to build nor to run, and what is built is what is here.

What may stand there is in the tables below. The tables about the project are read by tools/metadata.py, which also the
build goes by; what that would pass over, and another reader of TOML would not, is a finding.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, Iterator, List, Tuple

from metadata import Tables, Value, read_tables
from project import OLDEST, TreeError
from tree import Finding, Tree, matches

NAME = "pyproject.toml"
RULE = "dependencies"
BUILD: Dict[str, Value] = {"requires": [], "build-backend": "build_backend", "backend-path": ["tools"]}
SCRIPTS: Dict[str, Value] = {"aasm": "aasm.cli:main_script"}
# Which distributions an extra names, and for what. Nothing that runs is in one.
EXTRAS: Dict[str, Tuple[str, ...]] = {"dev": ("pytest", "tox")}  # for the tests
WHAT_IT_IS = frozenset(
    "name description readme requires-python license license-files keywords classifiers dependencies dynamic".split()
)
FIXED: Dict[str, Value] = {  # of [project]
    "dependencies": [], "dynamic": ["version"], "requires-python": ">=" + ".".join(map(str, OLDEST)),
    "readme": "README.md", "license-files": ["LICENSE", "NOTICE"],
}  # fmt: skip
# Of what is called by hand, for the tests and while one works on the code; what these tables say is not read here.
TOOLS = ("tool.pytest.ini_options", "tool.mypy", "tool.ruff", "tool.ruff.lint", "tool.ruff.lint.isort")
TABLES = ("build-system", "project", "project.scripts", "project.optional-dependencies")
# What other tools read requirements from, or build by.
ELSEWHERE = (
    "setup.py", "setup.cfg", "requirements*", "constraints*", "Pipfile*", "*.lock", "pylock*", "environment.y*ml",
)  # fmt: skip
_HEADER = re.compile(r"\[([\w-]+(?:\.[\w-]+)*)\][ \t]*(?:#.*)?")
_REQUIREMENT = re.compile(r"([\w-]+)[<>=~!0-9.,*]*")


def dependencies(tree: Tree) -> Iterator[Finding]:
    """Yield whatever pyproject.toml asks for or starts that it should not, and every other file that could."""
    for name in map(tree.name, tree.files):
        if "/" not in name and matches(name, ELSEWHERE):
            yield Finding(name, 1, RULE, f"requirements and the build are stated in {NAME} alone")
    path = tree.root / NAME
    if path not in tree.files:
        yield Finding(NAME, 1, RULE, "it is missing")
        return
    text = tree.text(path)
    yield from (Finding(NAME, line, RULE, what) for line, what in _odd(text))
    try:
        tables = read_tables(text)
    except (ValueError, TreeError) as problem:
        yield Finding(NAME, 1, RULE, f"it cannot be read: {problem}")
        return
    for table, what in _wrong(tables):
        yield Finding(NAME, _line(text, table), RULE, f"[{table}] {what}")


def _odd(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (line, what) for each way of writing that one reader of TOML could take otherwise than another."""
    seen: Counter[str] = Counter()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        header = _HEADER.fullmatch(line)
        name = header[1] if header else ""
        seen[name] += bool(header)
        known = name in TABLES or name in TOOLS
        if '"""' in line or "'''" in line:
            yield number, "a text of several lines"
        elif line.startswith("[") and not (known and seen[name] == 1):
            yield number, f"{line}: not one of the tables that are expected, each once and plainly"
        elif line and not line.startswith("#") and not any(seen.values()):
            yield number, "stands in no table"


def _wrong(tables: Tables) -> Iterator[Tuple[str, str]]:
    """Yield (table, what) for each value that is not as it is expected."""
    project = tables.get("project", {})
    yield from (("project", f"has {key}, which nobody expects") for key in sorted(set(project) - WHAT_IT_IS))
    fixed = {key: project.get(key) for key in FIXED}
    for table, found, wanted in (
        ("build-system", tables.get("build-system", {}), BUILD),
        ("project", fixed, FIXED),
        ("project.scripts", tables.get("project.scripts", {}), SCRIPTS),
    ):
        for key in sorted(set(found) | set(wanted)):
            if found.get(key) != wanted.get(key):
                yield table, f"{key} is {found.get(key, 'missing')!r}, not {wanted.get(key, 'missing')!r}"
    for extra, names in sorted(tables.get("project.optional-dependencies", {}).items()):
        yield from _extra(extra, names if isinstance(names, list) else [names])


def _extra(extra: str, stated: List[str]) -> Iterator[Tuple[str, str]]:
    allowed = EXTRAS.get(extra, ())
    for one in stated:
        found = _REQUIREMENT.fullmatch(one)
        if not found or found[1] not in allowed:
            what = f"{extra} asks for {one}; allowed are: {', '.join(allowed) or 'none'}"
            yield "project.optional-dependencies", what


def _line(text: str, table: str) -> int:
    lines = [line.strip() for line in text.split("\n")]
    return lines.index(f"[{table}]") + 1 if f"[{table}]" in lines else 1


RULES = ((RULE, f"{NAME} asks for nothing to build or run, and builds with tools/build_backend.py", dependencies),)
