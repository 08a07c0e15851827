# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The command that holds the tree to its rules: what it prints, how it ends, and what each Python is asked."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import check_tree
import command
import pytest
import pythons
import tree
import tree_pythons
from project import ROOT
from support.planted import DOCSTRING, HEADER, plant, told
from tree import Tree
from tree_kinds import KINDS

MINOR = "%d.%d" % sys.version_info[:2]


def run(*arguments: str, copy: Path = ROOT) -> Tuple[int, List[str], str]:
    """Run the command with nothing but this Python; return exit code, lines of output, and standard error."""
    command = [sys.executable, "-I", "-S", str(copy / "tools" / "check_tree.py"), *arguments]
    done = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_a_finding_is_one_line_and_the_command_fails(tmp_path: Path) -> None:
    plant(tmp_path, {"aasm/run.py": "import os\nos.fork()\n", "aasm/planner.py": "from . import run\n"})
    code, lines, errors = run("--no-pythons", "--root", str(tmp_path))
    assert (code, errors) == (1, "")
    assert f"aasm/run.py:5: effects: process: os.fork in (top): {KINDS['process']}" in lines
    assert "aasm/planner.py:4: layers: planner imports run" in lines
    assert all(re.fullmatch(r"[^:]+:\d+: [a-z-]+( [a-z]+)*: .+", line) for line in lines[:-1])
    assert lines[-1].endswith(f", no Python asked: {len(lines) - 1} findings")


WRONG = [["--root", "/nowhere"], ["--root", "a\nb"], ["--no-python"], ["stray"], ["--root"]]


@pytest.mark.parametrize("options", WRONG)
def test_a_wrong_command_line_is_one_line(options: List[str]) -> None:
    code, lines, errors = run(*options)
    assert (code, lines, errors.count("\n")) == (2, [], 1)
    assert errors.startswith("error: ")


def test_an_older_python_is_told_before_anything_is_read(tmp_path: Path) -> None:
    tool = str(ROOT / "tools" / "check_tree.py")
    old = "import runpy, sys; sys.version_info = (3, 7, 16); sys.version = '3.7.16 (old)'; sys.argv[:] = sys.argv[1:]; "
    command = [sys.executable, "-I", "-S", "-B", "-c", old + "runpy.run_path(sys.argv[0], run_name='__main__')", tool]
    done = subprocess.run([*command, "--root", "/nowhere"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: this is Python 3.7.16; take 3.9 or a later one\n"


def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    plant(tmp_path, {})
    tool = str(ROOT / "tools" / "check_tree.py")
    shell = 'ulimit -v 60000 && exec "$@"'
    command = ["sh", "-c", shell, "sh", sys.executable, "-I", "-S", "-B", tool, "--no-pythons", "--root", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: ")


def test_the_rules_have_names_of_their_own_and_can_be_listed() -> None:
    names = [name for name, *_ in (*check_tree.RULES, *check_tree.ASKED)]
    assert len(set(names)) == len(names)
    code, lines, _ = run("--rules")
    assert code == 0
    assert [line.partition(": ")[0] for line in lines] == names


def test_a_copy_of_this_tree_is_clean_and_stays_as_it_was(tmp_path: Path) -> None:
    files = Tree().files
    for path in files:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    before = sorted(tmp_path.rglob("*"))
    code, lines, errors = run("--no-pythons", copy=tmp_path)
    assert lines == [f"{len(files)} files, {len(check_tree.RULES)} rules, no Python asked: 0 findings"]
    assert (code, errors) == (0, "")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("arguments", [["--rules"], ["--no-pythons"], ["--help"]])
@pytest.mark.parametrize("target", [">/dev/full", ">&-"])
@pytest.mark.parametrize("buffered", [[], ["-u"]])
def test_output_that_is_lost_is_no_verdict(
    buffered: List[str], target: str, arguments: List[str], tmp_path: Path
) -> None:
    plant(tmp_path, {})
    tool = str(ROOT / "tools" / "check_tree.py")
    command = [sys.executable, "-I", "-S", *buffered, tool, *arguments, "--root", str(tmp_path)]
    shell = ["sh", "-c", f'"$@" {target}', "sh", *command]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: standard output: ")


def test_a_file_that_cannot_be_read_is_one_finding_and_the_rest_is_told(tmp_path: Path) -> None:
    plant(tmp_path, {"aasm/planner.py": "import os\nos.fork()\n"})
    os.mkfifo(tmp_path / "aasm" / "run.py")  # there are rows for it in the tables, which nothing needs now
    code, lines, errors = run("--no-pythons", "--root", str(tmp_path))
    assert (code, errors) == (1, "")
    said = "aasm/run.py:1: text: is no regular file; put one in its place"
    assert [line for line in lines if line.startswith("aasm/run.py:")] == [said]
    assert any(line.startswith("aasm/planner.py:5: effects: process: os.fork") for line in lines)


@pytest.mark.parametrize("name", ["tools/stdlib.txt", "pyproject.toml"])
def test_what_the_rules_themselves_need_is_one_line_where_it_cannot_be_read(name: str, tmp_path: Path) -> None:
    for path in (ROOT / "tools").glob("*"):
        if path.suffix in (".py", ".txt"):
            (tmp_path / "tools").mkdir(exist_ok=True)
            (tmp_path / "tools" / path.name).write_bytes(path.read_bytes())
    plant(tmp_path, {})
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    said = f"error: {name}: is no regular file; put one in its place\n"
    options = ["--no-pythons"] if name.startswith("tools") else []
    assert run(*options, copy=tmp_path) == (2, [], said)


def test_a_tree_that_cannot_be_listed_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(root: Path) -> List[Path]:
        raise PermissionError(errno.EACCES, "Permission denied", "docs")

    (tmp_path / "aasm").mkdir()
    monkeypatch.setattr(tree, "project_files", closed)
    monkeypatch.setattr(check_tree.gc, "disable", lambda: None)
    assert command.run(check_tree.main, ["--no-pythons", "--root", str(tmp_path)]) == 2
    said = "error: the files of this tree cannot be listed: [Errno 13] Permission denied: 'docs'\n"
    assert tuple(capsys.readouterr()) == ("", said)


@pytest.mark.parametrize("code", ["x = " + "-" * 50000 + "1\n", "x = " + "+".join("1" * 2500) + "\n"])
def test_code_that_is_nested_too_deeply_is_a_finding(code: str, tmp_path: Path) -> None:
    plant(tmp_path, {"aasm/run.py": code, "docs/x.md": ""})
    result, lines, errors = run("--no-pythons", "--root", str(tmp_path))
    assert (result, errors) == (1, "") and len(lines) > 1


def test_a_python_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plant(tmp_path, {})
    monkeypatch.setattr(tree_pythons, "find", lambda minor: None)
    monkeypatch.setattr(check_tree.gc, "disable", lambda: None)
    check_tree.main(["--root", str(tmp_path)])
    said = capsys.readouterr().out.splitlines()
    absent = [f"not looked at: Python {minor}, which this host does not have" for minor in pythons.supported()]
    assert said[-len(absent) - 1 : -1] == absent


# What the children tell.

RUN = "aasm/run:1: imported: Python cannot import aasm.run"
GOOD = {"aasm/launcher.py": "import os\n", "aasm/run.py": "from . import launcher\n"}


def asked(root: Path, files: Dict[str, str]) -> List[str]:
    """Return what this very Python has against a planted tree; its version is left out of the lines."""
    this = pythons.describe(sys.executable)
    assert this is not None
    tree = plant(root, files)
    findings = told(tree_pythons.judged(tree, tree_pythons.Asked(tree, [this]).answers()))
    return [line.replace(f"Python {this.version}", "Python") for line in findings]


def test_a_package_that_loads_from_its_own_source_is_clean(tmp_path: Path) -> None:
    assert asked(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"aasm/run.py": "import nonesuch\n"}, f"{RUN}: ModuleNotFoundError: No module named 'nonesuch'"),
        ({"aasm/run.py": "import sys\nsys.exit(3)\n"}, f"{RUN}: SystemExit: 3"),
        ({"aasm/run.py": "import warnings\nwarnings.warn('old')\n"}, f"{RUN}: UserWarning: old"),
        (
            {"aasm/run.py": "import beside\n", "beside.py": ""},
            "aasm:1: imported: Python takes beside from {root}/beside.py",
        ),
        (
            {"aasm/run.py": "import sys\nsys.modules['aasm.made'] = type(sys)('aasm.made')\n"},
            "aasm:1: imported: Python takes aasm.made from nowhere",
        ),
        (
            {"aasm/launcher.py": "import json\n"},
            "aasm/launcher.py:1: launcher loads: under Python the launcher loads json",
        ),
        (
            {"tests/test_x.py": "import nonesuch\n"},
            "tests/test_x.py:4: imports: nonesuch is not in the standard library of Python",
        ),
        ({"tests/test_x.py": "return\n"}, "tests/test_x.py:4: syntax: Python: SyntaxError: 'return' outside function"),
    ],
)
def test_what_a_python_has_against_a_tree(files: Dict[str, str], expected: str, tmp_path: Path) -> None:
    findings = asked(tmp_path, {**GOOD, **files})
    assert any(line.startswith(expected.format(root=tmp_path)) for line in findings), findings


def test_imports_that_depend_on_their_order_are_found(tmp_path: Path) -> None:
    first = "import sys\nsys.order = 'set'\n"
    files = {**GOOD, "aasm/a_first.py": first, "aasm/z_last.py": "import sys\nsys.order\n"}
    assert asked(tmp_path, files) == []  # what the interpreter was told by the first order is there in the second
    circle = {"aasm/b.py": "from .c import d\ne = 1\n", "aasm/c.py": "from . import b\nd = b.e\n"}
    assert any("cannot import aasm.b: " in line for line in asked(tmp_path / "circle", {**GOOD, **circle}))


def test_a_compiled_file_that_lies_about_is_not_taken_for_the_source(tmp_path: Path) -> None:
    plant(tmp_path, GOOD)
    source = tmp_path / "aasm" / "run.py"
    evil = HEADER + DOCSTRING + "import nonesuch\n"
    source.write_text(evil, encoding="utf-8")
    command = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(source)]
    subprocess.run(command, check=True)
    assert asked(tmp_path, GOOD) == []


def test_a_child_that_cannot_answer_is_a_finding(tmp_path: Path) -> None:
    (finding,) = asked(tmp_path, {"aasm/run.py": ""})
    why = "ModuleNotFoundError: No module named 'aasm.launcher'"
    assert finding == f"aasm:1: imported: Python cannot import the package: {why}"


BY_HAND = [[], ["a"], ["a", "b", "c"], ["/nowhere", "aasm.launcher"], [str(ROOT), "aasm.launcher"]]


@pytest.mark.parametrize("words", BY_HAND)
@pytest.mark.parametrize("target", ["", ">/dev/full", ">&-"])
def test_a_child_that_a_person_starts_says_one_line(target: str, words: List[str]) -> None:
    child = [sys.executable, "-I", "-S", "-B", str(tree_pythons.CHILD), *words]
    shell = ["sh", "-c", f'"$@" {target}', "sh", *child]
    done = subprocess.run(shell, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    if words != ["/nowhere", "aasm.launcher"] and not target:
        assert done.stderr.endswith("tools/tree_child.py is a part of tools/check_tree.py; run that instead\n")


def test_a_child_whose_answer_is_lost_says_one_line(tmp_path: Path) -> None:
    plant(tmp_path, GOOD)
    child = [sys.executable, "-I", "-S", "-B", str(tree_pythons.CHILD), str(tmp_path), "aasm.launcher"]
    shell = ["sh", "-c", '"$@" >/dev/full', "sh", *child]
    done = subprocess.run(shell, input="aasm.run\n\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_whoever_gives_up_leaves_no_child_behind(tmp_path: Path) -> None:
    this = pythons.describe(sys.executable)
    assert this is not None
    tree = plant(tmp_path, {"aasm/launcher.py": "import time\ntime.sleep(60)\n"})
    with pytest.raises(KeyboardInterrupt), tree_pythons.Asked(tree, [this]) as asked:
        (running,) = [child for _, child in asked._running]
        raise KeyboardInterrupt
    assert running.returncode == -9


def test_a_python_that_cannot_be_started_ends_those_that_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    this = pythons.describe(sys.executable)
    assert this is not None
    tree = plant(tmp_path, {"aasm/launcher.py": "import time\ntime.sleep(60)\n"})
    started: List["subprocess.Popen[bytes]"] = []
    real = subprocess.Popen

    def start(*words: Any, **named: Any) -> "subprocess.Popen[bytes]":
        started.append(real(*words, **named))
        return started[-1]

    monkeypatch.setattr(tree_pythons.subprocess, "Popen", start)
    with pytest.raises(FileNotFoundError):
        tree_pythons.Asked(tree, [this, this._replace(base="/nowhere/python")])
    assert [child.returncode for child in started] == [-9]


def test_the_packages_that_somebody_installed_are_not_the_standard_library() -> None:
    places = ["/usr/lib/python3"]
    assert tree_pythons._is_standard("/usr/lib/python3/json/__init__.py", places)
    for path in ("python3/site-packages/json.py", "python3/dist-packages/json.py", "python3x/json.py", "json.py"):
        assert not tree_pythons._is_standard(f"/usr/lib/{path}", places)


def test_the_standard_library_is_also_known_where_python_does_not_list_it() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import tree_child as t; "
    code += "vars(sys).pop('stdlib_module_names', None); print(*t.standard_names())"
    done = subprocess.run([sys.executable, "-B", "-I", "-c", code], capture_output=True, text=True, check=True)
    names = set(done.stdout.split())
    assert {"sys", "os", "json", "_ctypes", "posix", "encodings"} <= names
    assert not {"pytest", "pip", "site-packages", "lib-dynload"} & names
    beyond = names - set(getattr(sys, "stdlib_module_names", names))  # Python lists neither its tests nor its examples
    assert {name for name in beyond if "test" not in name and not name.startswith(("_", "xx"))} <= {"config-3"}
