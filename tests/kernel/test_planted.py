# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A workspace full of modules that bear the names of those we import: neither supervisor nor launcher takes one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Sequence

import pytest
from support import driver
from support.launch import PACKAGE, ROOT, Lab
from support.outcome import ONCE, Done, events, exec_options

# What a planted module does when it is imported: it says by whom. Only ours must stay silent.
TELL = """
import os
with open({log!r}, "a") as stream:
    stream.write(__name__ + "\\n")
"""
NAMES = (
    "argparse", "runpy", "sitecustomize", "usercustomize", "json", "os", "re", "enum", "typing", "ctypes", "struct",
    "select", "signal", "resource", "termios", "stat", "time", "errno", "gettext", "locale", "encodings", "codecs",
    "mmap", "fcntl", "hashlib", "pwd", "posix", "zipimport", "_socket", "_signal", "abc", "io", "site", "random",
)  # fmt: skip


def plant(lab: Lab, place: Path) -> Path:
    """Put modules of all these names, and a package of our own name, into a directory; return the log they write."""
    log = lab.outside / "imported"
    text = TELL.format(log=str(log))
    for name in NAMES:
        lab.file(place / f"{name}.py", text)
    package = place / "aasm"
    package.mkdir()
    lab.own(package)
    for name in ("__init__", "__main__", "launcher", "cli", "errors"):
        lab.file(package / f"{name}.py", text)
    lab.file(place / "startup.py", text)
    return log


def run(lab: Lab, start: Sequence[str], isolation: str, env: Mapping[str, str], *more: str) -> Done[str]:
    """Start the command in one of its ways from the planted workspace; its program leaves a mark there."""
    words = ("run", "exec", "--isolation", isolation, "--system", *more, "--", "sh", "-c", "exit 4")
    return subprocess.run(
        [*start, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **lab.options(env)
    )  # fmt: skip


def control(lab: Lab, log: Path) -> None:
    """The traps work: an interpreter that looks into the working directory falls into them."""
    lab.bare(sys.executable, "-c", "import argparse")
    assert log.exists() and "argparse" in log.read_text()
    log.unlink()


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_started_by_path_nothing_planted_is_imported(lab: Lab, isolation: str) -> None:
    log = plant(lab, lab.workspace)
    control(lab, log)
    write = ("--write", str(lab.workspace)) if isolation == "process" else ()
    for start in ((sys.executable, "-I", PACKAGE), (sys.executable, PACKAGE)):
        done = run(lab, start, isolation, {}, *write)
        assert done.returncode == 4, done.stderr
        assert not log.exists(), log.read_text()
    assert events(lab) == ["registered", "ended"] * 2


@ONCE
def test_the_installed_script_imports_nothing_from_the_working_directory(lab: Lab) -> None:
    log = plant(lab, lab.workspace)
    control(lab, log)
    text = f"#!{sys.executable}\nimport sys\nfrom aasm.cli import main_script\nsys.exit(main_script())\n"
    script = lab.file(lab.directory("bin") / "aasm", text, 0o755)
    done = run(lab, (str(script),), "process", {"PYTHONPATH": str(ROOT)}, "--write", str(lab.workspace))
    assert done.returncode == 4, done.stderr
    assert not log.exists(), log.read_text()


@ONCE
def test_started_as_a_module_what_lies_there_is_not_imported_by_us(lab: Lab) -> None:
    """`-m` puts the working directory on the path first. Before our first line the interpreter itself imports `runpy`
    and what that needs; from then on nothing comes from there, and a write grant over it is refused (test_trust.py)."""
    log = plant(lab, lab.workspace)
    ours = ("argparse", "ctypes", "gettext", "hashlib", "json", "mmap", "resource", "select", "signal", "termios")
    for path in lab.workspace.rglob("*.py"):
        if path.stem not in ours or path.parent != lab.workspace:
            path.unlink()
    (lab.workspace / "aasm").rmdir()  # a package of our name there would be the one that `-m aasm` names
    done = run(lab, (sys.executable, "-m", "aasm"), "process", {"PYTHONPATH": str(ROOT)}, "--write", str(lab.outside))
    assert done.returncode == 4, done.stderr
    assert not log.exists(), log.read_text()


def test_the_launcher_is_not_steered_by_any_variable_or_place(lab: Lab) -> None:
    """PYTHON* variables reach neither launcher nor program, even where they reach the supervisor."""
    log = plant(lab, lab.workspace)
    library = lab.directory("library")
    lab.file(library / "only_here.py", TELL.format(log=str(log)))
    env = {
        "PYTHONPATH": f"{library}", "PYTHONSTARTUP": f"{lab.workspace}/startup.py", "PYTHONINSPECT": "1",
        "PYTHONHOME": "", "PYTHONWARNINGS": "error", "PYTHONVERBOSE": "1", "PYTHONBREAKPOINT": "only_here.x",
    }  # fmt: skip
    for name in ("PYTHONVERBOSE", "PYTHONINSPECT", "PYTHONHOME"):
        env.pop(name)  # these would have the supervisor itself talk, wait or fail
    script = "tr '\\0' '\\n' < /proc/self/environ | grep -c PYTHON; exit 4"
    words = ("run", "exec", "--isolation", "process", "--system", "--read", "/proc", "--", "sh", "-c", script)
    done = subprocess.run(
        [sys.executable, PACKAGE, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        **lab.options(env),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (4, "0\n"), done.stderr
    assert not log.exists(), log.read_text()


LAUNCHED = """
import os, sys
real = os.posix_spawn
def spawn(path, argv, env, **more):
    os.write(2, ("spawned %r\\n" % ((path, argv[:5], dict(env)),)).encode())
    return real(path, argv, env, **more)
os.posix_spawn = spawn
"""


@ONCE
def test_the_launcher_starts_with_the_same_interpreter_isolated_and_with_an_empty_environment(lab: Lab) -> None:
    env = {"PYTHONPATH": "/somewhere", "LD_LIBRARY_PATH": "/tmp", "SECRET_TOKEN": "s"}
    done = driver.run(lab, LAUNCHED, *exec_options(lab, "process"), "--", "sh", "-c", "exit 4", env=env)
    assert done.returncode == 4, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("spawned ")]
    assert line == f"spawned {(sys.executable, [sys.executable, '-I', '-S', '-B', '-c'], {})!r}"


@ONCE
def test_nothing_is_written_beside_our_code(lab: Lab) -> None:
    """No compiled module appears where the code lies, so that a read-only or a shared installation stays as it is."""
    code = lab.directory("code")
    shutil.copytree(PACKAGE, code / "aasm", ignore=shutil.ignore_patterns("__pycache__"))
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    for path in [code, *code.rglob("*")]:
        lab.own(path)
    done = run(lab, (sys.executable, "-I", "-B", str(code / "aasm")), "process", env)
    assert done.returncode == 4, done.stderr
    assert not [name for _, folders, _ in os.walk(code) for name in folders if name == "__pycache__"]
