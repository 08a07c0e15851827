# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Standard library only, on every supported Python: read from the imports, then tried."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import FrozenSet

import pytest
from project import PACKAGE, ROOT, imports, package_modules, python_files

# Newer than the oldest Python: only inside a function or a `try`, where it may be missing.
NEWER = {"tomllib": (3, 11)}
TEST_TOOLS = {"pytest", "_pytest"}


def listed() -> FrozenSet[str]:
    """Return the modules of the standard library that every supported Python has."""
    text = (Path(__file__).parent / "stdlib.txt").read_text(encoding="utf-8")
    return frozenset(" ".join(line for line in text.splitlines() if not line.startswith("#")).split())


def local_modules(folder: str) -> FrozenSet[str]:
    """Return what files of this folder, or of tests/, may call each other."""
    names = {path.stem for path in python_files(folder)} | {path.parent.name for path in python_files(folder)}
    return frozenset(names)


def strangers(folder: str, own: FrozenSet[str]) -> list[str]:
    """Return every import in `folder` that is neither of the standard library nor in `own`."""
    found = []
    for path in python_files(folder):
        for one in imports(path, package_modules()):
            top = one.name.split(".")[0]
            guarded = top in NEWER and not one.at_top
            if top not in listed() and top not in own and not guarded:
                found.append(f"{path.relative_to(ROOT)}:{one.line}: {one.name}")
    return found


def test_the_package_imports_itself_and_the_standard_library() -> None:
    assert strangers(PACKAGE, frozenset({PACKAGE})) == []


def test_the_tools_import_each_other_and_the_standard_library() -> None:
    assert strangers("tools", local_modules("tools") | {PACKAGE, "support"}) == []  # tools/golden.py: tests/support


def test_the_tests_add_pytest_and_nothing_else() -> None:
    assert strangers("tests", local_modules("tests") | local_modules("tools") | TEST_TOOLS | {PACKAGE}) == []


def test_a_stranger_is_noticed() -> None:
    assert any("pytest" in line for line in strangers("tests", frozenset()))
    assert "requests" not in listed() and "yaml" not in listed()


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python 3.9 cannot list its own standard library")
def test_this_python_has_what_is_listed() -> None:
    assert listed() - frozenset(getattr(sys, "stdlib_module_names", ())) == frozenset()


def test_no_syntax_is_newer_than_the_oldest_python() -> None:
    for path in python_files():
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n    case 1:\n        pass\n", feature_version=(3, 9))


def test_every_module_can_be_imported_here() -> None:
    """One child imports them all, with warnings as errors, in two orders: no import depends on another's before it."""
    names = sorted(name for name in package_modules() if not name.endswith("__main__"))
    code = "import importlib, sys; sys.path.insert(0, sys.argv[1]); [importlib.import_module(n) for n in sys.argv[2:]]"
    for order in (names, names[::-1]):
        command = [sys.executable, "-I", "-B", "-W", "error", "-c", code, str(ROOT), *order]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
