# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tree itself: licence lines, sizes, and words that must not be in it."""

from __future__ import annotations

import ast
import fnmatch
import hashlib
import re
from pathlib import Path
from typing import Dict, Iterator, List, Pattern, Tuple

import pytest
from project import ROOT, parsed, project_files, python_files

# The tags in pieces: whole, they would be a statement about this file.
COPYRIGHT = "SPDX-" "FileCopyrightText: 2026 The aasm authors"
LICENSE = "SPDX-" "License-Identifier: Apache-2.0"
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"  # SHA-256 of the published text

# Files that cannot carry the two lines.
NO_HEADER = ("LICENSE", "LICENSES/*", "*.json", "tests/golden/*.txt", "tests/golden/*.bin")
GENERATED = ("aasm/_sys/_nr_*.py",)
MODULE_LINES, FUNCTION_LINES = 400, 60

# Written in pieces, so that this file does not find itself.
FORBIDDEN: Dict[str, Pattern[str]] = {
    "a home directory": re.compile("/ro" r"ot/\.|/ho" r"me/\w|/Us" r"ers/\w"),
    "a place where this was written": re.compile(r"(?<![\w.}-])/wo" r"rk/|/fa" r"rm/|\.libr" r"ary\b|/tmp/br" "ief"),
    "a package registry": re.compile(
        r"\b(py" r"pi\.org|python" r"hosted\.org|npm" r"js\.(org|com)|deb" r"ian\.org|crates" r"\.io|"
        r"proxy\.gol" r"ang\.org|ruby" r"gems\.org|ana" r"conda\.(org|com)|ubu" r"ntu\.com)\b"
    ),
}
UNFINISHED: Dict[str, Pattern[str]] = {
    "a promise": re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b"),
    "a stub": re.compile(r"Not" r"ImplementedError"),
    "a skip": re.compile(r"pytest\.sk" r"ip\(|mark\.(sk" r"ip|xf" r"ail)|import" r"orskip|unittest\.sk" r"ip"),
    "a test that cannot fail": re.compile(r"assert Tr" r"ue\b"),
}
# (file, kind): why this one is right. Only something that the host lacks is a reason.
ALLOWED: Dict[Tuple[str, str], str] = {
    ("tests/conftest.py", "a skip"): "no Landlock in this kernel; nobody cannot execute this interpreter",
    ("tests/kernel/test_explain_program.py", "a skip"): "another machine than x86_64; no setpriv",
    ("tests/meta/test_completions.py", "a skip"): "no bash, no zsh, no fish, no bash-completion",
    ("tests/meta/test_man.py", "a skip"): "no man, no jq",
    ("tests/meta/test_stdlib_only.py", "a skip"): "Python 3.9 cannot list its standard library",
    ("tests/property/test_explain_equals_kernel.py", "a skip"): "no root, no chattr, no overlay to mount",
    ("tests/support/program_asked.py", "a skip"): "a file system on which files have no capabilities",
    ("tests/unit/_sys/test_sys_landlock.py", "a skip"): "no kernel headers",
    ("tests/unit/_sys/test_sys_live.py", "a skip"): "no user notification in this kernel",
    ("tests/unit/_sys/test_sys_notify.py", "a skip"): "no C compiler, no kernel headers",
    ("tests/unit/_sys/test_sys_syscalls.py", "a skip"): "no kernel headers",
    ("tests/unit/receipt/test_receipt_jq.py", "a skip"): "no jq",
    ("tests/unit/tools/test_build_backend.py", "a skip"): "a Python without tomllib; no other Python; not root",
    ("tests/unit/tools/conftest.py", "a skip"): "a Python without ensurepip",
    ("tests/unit/tools/test_check_command.py", "a skip"): "the text of a test that is run as data",
}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def matches(path: Path, patterns: Tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(relative(path), pattern) for pattern in patterns)


def hits(paths: List[Path], kinds: Dict[str, Pattern[str]]) -> Iterator[Tuple[str, str, str]]:
    """Yield (file, kind, file:line: text) for each line of `paths` that one of `kinds` finds."""
    for path in paths:
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for kind, pattern in kinds.items():
                if pattern.search(line):
                    yield relative(path), kind, f"{relative(path)}:{number}: {kind}: {line.strip()}"


def test_every_file_states_its_licence() -> None:
    wrong = []
    for path in project_files():
        first = text_of(path).splitlines()[:5]
        if not matches(path, NO_HEADER) and not (_states(first, COPYRIGHT) and _states(first, LICENSE)):
            wrong.append(relative(path))
    assert wrong == []


def _states(lines: List[str], tag: str) -> bool:
    return any(line.strip("#/;*<!->\"\\. \t") == tag for line in lines)


def test_the_licence_is_the_published_text() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2


def test_modules_are_short() -> None:
    sizes = {relative(path): text_of(path).count("\n") for path in python_files() if not matches(path, GENERATED)}
    assert {name: lines for name, lines in sizes.items() if lines > MODULE_LINES} == {}


def test_functions_are_short() -> None:
    long = {}
    for path in python_files():
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    long[f"{relative(path)}:{node.lineno} {node.name}"] = lines
    assert long == {}


def test_modules_say_what_they_are_for() -> None:
    assert [relative(path) for path in python_files("aasm", "tools") if not ast.get_docstring(parsed(path))] == []


def test_nothing_names_a_place_or_a_registry() -> None:
    assert [line for _, _, line in hits(project_files(), FORBIDDEN)] == []


def test_nothing_is_unfinished() -> None:
    found = [(name, kind, line) for name, kind, line in hits(python_files(), UNFINISHED)]
    assert [line for name, kind, line in found if (name, kind) not in ALLOWED] == []
    assert set(ALLOWED) - {(name, kind) for name, kind, _ in found} == set(), "no longer needed"


@pytest.mark.parametrize(
    ("kinds", "line"),
    [
        (FORBIDDEN, "cd /ho" "me/someone/project"),
        (FORBIDDEN, "see /wo" "rk/main"),
        (FORBIDDEN, "index = https://py" "pi.org/simple"),
        (UNFINISHED, "# TO" "DO: later"),
        (UNFINISHED, "@pytest.mark.sk" "ipif(True)"),
        (UNFINISHED, "    raise Not" "ImplementedError"),
    ],
)
def test_the_patterns_find_what_they_are_for(kinds: Dict[str, Pattern[str]], line: str) -> None:
    assert any(pattern.search(line) for pattern in kinds.values())


NO_PLACE = ("/".join(("", "var", "work", "x")), "/".join(("frame", "work", "y")))


@pytest.mark.parametrize("line", ["${workdir}/src", "a home directory such as ~/.ssh", *NO_PLACE])
def test_the_patterns_leave_alone_what_is_right(line: str) -> None:
    assert not any(pattern.search(line) for pattern in FORBIDDEN.values())


def test_a_tree_without_git_has_the_same_files(tmp_path: Path) -> None:
    for path in project_files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(b"")
    for left in (".git-is-no-file", "aasm/__pycache__/run.cpython-39.pyc", "build/lib/x.py", "aasm.egg-info/PKG-INFO"):
        (tmp_path / left).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / left).write_bytes(b"")
    ours = [path.relative_to(tmp_path) for path in project_files(tmp_path)]
    assert ours == [path.relative_to(ROOT) for path in project_files()]


def test_text_files_are_utf8_with_plain_line_ends() -> None:
    wrong = []
    for path in project_files():
        data = path.read_bytes()
        if path.suffix != ".bin" and not matches(path, ("tests/golden/*",)):
            if b"\r" in data or not data.endswith(b"\n") or _not_utf8(data):
                wrong.append(relative(path))
    assert wrong == []


def _not_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
