# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The test command: it finds Pythons, judges runs, and never comes out green when something did not run."""

from __future__ import annotations

import configparser
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List, Optional

import check
import command
import pytest
import pythons

ROOT = Path(__file__).resolve().parents[3]
MINOR = "%d.%d" % sys.version_info[:2]

PASSING = "def test_good():\n    pass\n"
FAILING = "def test_bad():\n    assert 1 == 2\n"
SKIPPING = "import pytest\n@pytest.mark.skip(reason='none')\ndef test_not():\n    pass\n"
CRASHING = "import os\ndef test_end():\n    os._exit(0)\n"


def project(tmp_path: Path, test: str) -> Path:
    """Make a tree with this command, one test file, and an environment that looks finished for this Python."""
    tree = tmp_path / "tree"
    (tree / "tests").mkdir(parents=True)
    shutil.copytree(ROOT / "tools", tree / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    (tree / "tests" / "test_one.py").write_text(test, encoding="utf-8")
    for _, arguments in check.CHECKS:  # what they check is not in this tree
        (tree / arguments[0]).write_text("", encoding="utf-8")
    command = tree / "tools" / "check.py"
    command.write_text(without_linters(command.read_text(encoding="utf-8")), encoding="utf-8")
    home = tree / ".venv-check" / MINOR
    script(home / "bin" / "python", f'exec "{sys.executable}" "$@"')
    described = pythons.describe(sys.executable)
    assert described is not None
    (home / "stamp").write_text(pythons.stamp(described), encoding="utf-8")
    return tree


def without_linters(source: str) -> str:
    """Return the command's source with no linter in its table: what this host has installed is not the matter here."""
    lines = source.splitlines(keepends=True)
    changed = ["LINTERS = ()\n" if line.startswith("LINTERS = ") else line for line in lines]
    assert changed != lines
    return "".join(changed)


def script(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def run(tree: Path, *arguments: str, path: Optional[str] = None) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AASM_", "PYTEST_", "PYENV_"))}
    clean.update({"HOME": str(tree), "PATH": path or os.environ["PATH"]})
    command = [sys.executable, str(tree / "tools" / "check.py"), *arguments]
    return subprocess.run(command, env=clean, capture_output=True, text=True, check=False)


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("test", "code", "closing"),
    [
        (PASSING, 0, "{} passed, 0 failed"),
        (PASSING + FAILING, 1, "{} passed, 1 failed"),
        (PASSING + SKIPPING, 0, "{} passed, 0 failed, 1 skipped"),
        (SKIPPING, 1, "{} passed, 1 failed, 1 skipped"),
        ("", 1, "{} passed, 1 failed"),
        (CRASHING, 1, "{} passed, 1 failed"),
        ("import nonesuch\n", 1, "{} passed, 1 failed"),
    ],
    ids=["passes", "fails", "passes and skips", "only skips", "no test", "ends itself", "does not load"],
)
def test_the_closing_line_and_the_exit_code(test: str, code: int, closing: str, tmp_path: Path) -> None:
    tree = project(tmp_path, test)
    done = run(tree, "--python", MINOR)
    passed = len(check.CHECKS) + (1 if PASSING in test else 0)
    assert (done.returncode, last_line(done)) == (code, closing.format(passed)), done.stdout + done.stderr


def test_arguments_reach_pytest(tmp_path: Path) -> None:
    tree = project(tmp_path, PASSING + FAILING)
    assert run(tree, "--python", MINOR, "-k", "good").returncode == 0
    assert run(tree, "--python", MINOR, "--", "--deselect", "tests/test_one.py::test_bad").returncode == 0
    assert run(tree, "--python", MINOR, "-k", "nonesuch").returncode == 1


def test_a_bad_python_hides_no_other(tmp_path: Path) -> None:
    tree = project(tmp_path, PASSING)
    other = next(minor for minor in pythons.supported() if minor != MINOR)
    says = f'["{other}", "{other}.99", "/nowhere/python", "/nowhere/python", false, false, "cpython"]'
    script(tmp_path / "bin" / f"python{other}", f"echo '{says}'")
    done = run(tree, "--python", other, "--python", MINOR, path=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    errors = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert errors == [
        f"error: Python {other}.99 (/nowhere/python): its module venv or ensurepip is missing; "
        "install it (Debian, Ubuntu: apt-get install python3-venv)"
    ]
    assert done.returncode == 1
    assert f"Python {platform.python_version()}" in done.stdout and "1 passed" in done.stdout


def test_a_failing_check_of_the_tools_fails_the_command(tmp_path: Path) -> None:
    tree = project(tmp_path, PASSING)
    (tree / "tools" / "gen_syscalls.py").write_text("raise SystemExit('the table differs')\n", encoding="utf-8")
    done = run(tree, "--python", MINOR)
    assert done.returncode == 1
    assert "the table differs" in done.stdout


def test_a_missing_python_fails_only_where_it_is_expected() -> None:
    missing = check.missing_results(["3.9", "3.10"], ["3.10"], [])
    assert [(one.name, one.failed) for one in missing] == [("Python 3.9", 0)]
    missing = check.missing_results(["3.9", "3.10"], ["3.10"], ["3.9", "3.10", "3.99"])
    assert [(one.name, one.failed) for one in missing] == [("Python 3.9", 1), ("Python 3.99", 1)]
    assert [one.failed for one in check.missing_results(["3.9", "3.10"], [], [])] == [1, 1]


def test_an_expectation_that_does_not_hold_stops_the_suite(tmp_path: Path) -> None:
    tree = project(tmp_path, PASSING)
    shutil.copy(ROOT / "tests" / "conftest.py", tree / "tests")
    shutil.copytree(ROOT / "tests" / "support", tree / "tests" / "support")
    done = run(tree, "--python", MINOR, "--expect-programs", "sh,nonesuch")
    assert done.returncode == 1
    assert "the program nonesuch is expected and is not on PATH" in done.stdout
    done = run(tree, "--python", MINOR, "--expect-abi", "99")
    assert done.returncode == 1
    assert "Landlock ABI 99 is expected" in done.stdout
    assert run(tree, "--python", MINOR, "--expect-programs", "sh").returncode == 0


@pytest.mark.parametrize("options", [["--expect-ab", "7"], ["--python", "2.7"], ["--jobs", "9"], ["stray"]])
def test_a_wrong_command_line_is_refused(options: List[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(check.main, options) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ") and shown.err.count("\n") == 1 and shown.out == ""


def test_an_environment_of_another_interpreter_is_not_taken(tmp_path: Path) -> None:
    tree = project(tmp_path, PASSING)
    home = tree / ".venv-check" / MINOR
    described = pythons.describe(sys.executable)
    assert described is not None
    program = str(home / "bin" / "python")
    assert pythons.intact(str(home), program, pythons.stamp(described))
    assert not pythons.intact(str(home), program, pythons.stamp(described._replace(version="0.0.0")))
    script(home / "bin" / "python", "exit 1")
    pythons.describe.cache_clear()
    assert not pythons.intact(str(home), program, pythons.stamp(described))


def test_what_does_not_run_is_no_python(tmp_path: Path) -> None:
    script(tmp_path / "fails", "exit 3")
    script(tmp_path / "babbles", "echo not JSON")
    (tmp_path / "plain").write_text("not executable", encoding="utf-8")
    for name in ("fails", "babbles", "plain", "missing"):
        assert pythons.describe(str(tmp_path / name)) is None


def test_this_very_python_is_found() -> None:
    found = pythons.find(MINOR)
    assert found is not None
    assert (found.minor, found.version) == (MINOR, platform.python_version())


def test_every_tool_with_a_check_is_in_the_table() -> None:
    named = {arguments[0] for _, arguments in check.CHECKS} - {"tools/check_tree.py"}  # which does nothing but check
    others = ("check.py", "generated.py", "vendor.py")  # vendor.py checks a copy elsewhere
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tools").glob("*.py")}
    with_check = {
        f"tools/{name}"
        for name, text in texts.items()
        if ('"--check"' in text or "generated.run(" in text) and name not in others
    }
    assert with_check == named


def test_tox_and_the_metadata_name_the_same_pythons_and_the_same_pytest() -> None:
    tox = configparser.ConfigParser()
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    each = [f"py{minor.replace('.', '')}" for minor in pythons.supported()]
    assert tox["tox"]["envlist"].split(", ") == [*each, "vendored"]
    assert tox["testenv"]["deps"] in pythons.requirements()


def test_ci_expects_every_supported_python_and_calls_the_command_as_it_is() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert f"export AASM_EXPECT_PYTHONS={','.join(pythons.supported())}" in lines
    assert lines[-1] == "python3 tools/check.py"
    for row in (check.EXPECT_PYTHONS, *check.SUITE_EXPECTATIONS):
        assert any(line.startswith(f"export {row[1]}=") for line in lines), row[1]
