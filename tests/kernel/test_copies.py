# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of copy does what the checkout does: tools/try_copy.py, from places where little can be taken for granted.

The copies are read-only, and lie beneath a path with a blank and letters that are not ASCII.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Sequence, Tuple

import build_backend
import install
import pytest
from archives import members
from support import copied
from support.launch import ROOT, Lab
from support.outcome import ONCE, Done, one_error

PLACE = "zu pr\u00fcfen \u2713"
BARE = (sys.executable, "-I", "-S")
Made = Tuple[Sequence[str], Sequence[str]]  # the command, and options for the trial


def _tree(top: Path) -> Made:
    return [*BARE, str(copied.tree(top))], []


def _all(top: Path) -> Made:
    return [*BARE, str(copied.vendored(top))], []


def _verifier(top: Path) -> Made:
    return [*BARE, str(copied.vendored(top, part="verifier"))], ["--part", "verifier"]


def _launcher(top: Path) -> Made:
    return [*BARE, str(copied.vendored(top, part="launcher"))], ["--part", "launcher"]


def _wheel(top: Path) -> Made:
    return [*BARE, str(copied.put(top, members(build_backend.wheel(ROOT))))], []


def _installed(top: Path) -> Made:
    install.install(install.places(str(top)), "")
    return [str(top / "bin" / "aasm")], []


def _archive(top: Path) -> Made:
    (top / "aasm.pyz").write_bytes(build_backend.pyz(ROOT))
    return [*BARE, str(top / "aasm.pyz")], []


KINDS: Dict[str, Callable[[Path], Made]] = {
    "all": _all, "verifier": _verifier, "launcher": _launcher, "tree": _tree, "wheel": _wheel,
    "installed": _installed, "archive": _archive,
}  # fmt: skip


@pytest.fixture
def place(lab: Lab) -> Iterator[Path]:
    """A folder for a copy, that can be locked."""
    made = lab.top / PLACE
    made.mkdir()
    yield made
    copied.unlock(made)


def tried(lab: Lab, made: Made, *python: str) -> Done[str]:
    command, options = made
    trial = [*BARE, *python, str(ROOT / "tools" / "try_copy.py"), *options, "--", *command]
    return subprocess.run(trial, capture_output=True, text=True, timeout=300, **lab.options())


@pytest.mark.parametrize("kind", list(KINDS))
@ONCE
def test_a_copy_that_nobody_can_write_does_everything(lab: Lab, place: Path, kind: str) -> None:
    made = KINDS[kind](place)
    copied.lock(place)
    done = tried(lab, made, "-B")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.endswith(" steps are right\n")
    assert lab.leftovers() == []


@ONCE
def test_a_copy_without_a_list_of_its_files_is_one_that_has_nothing_to_compare_with(lab: Lab) -> None:
    top = lab.top / PLACE
    folder = copied.vendored(top)
    (folder / "MANIFEST.sha256").unlink()
    done = tried(lab, ([*BARE, str(folder)], ["--unlisted"]), "-B")
    assert done.returncode == 0 and "a copy of unknown kind" in done.stdout, done.stdout
    done = tried(lab, ([*BARE, str(folder)], []), "-B")
    assert done.returncode == 1 and "wrong: compares itself" in done.stdout, done.stdout


@ONCE
def test_a_copy_that_python_may_compile_is_still_the_same(lab: Lab) -> None:
    top = lab.directory("copy")
    folder = copied.vendored(top)
    lab.own(folder)
    for path in folder.rglob("*"):
        lab.own(path)
    done = tried(lab, ([*BARE, str(folder)], []))
    assert done.returncode == 0, done.stdout
    assert list(folder.rglob("*.pyc"))
    told = subprocess.run([*BARE, str(folder), "self-verify"], capture_output=True, text=True, **lab.options())
    assert told.returncode == 0 and "compiled files: 0 " not in told.stdout, told.stdout


# --- under other names, in other places ---------------------------------------------------------------


def run(lab: Lab, *command: str, cwd: Path, **env: str) -> Done[str]:
    options = lab.options(env, cwd)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def confined(lab: Lab) -> List[str]:
    words = ["run", "exec", "--isolation", "process", "--report", "never", "--system", "--workdir", str(lab.workspace)]
    return [*words, "--write", str(lab.workspace), "--", "sh", "-c", "echo here > made; cat ../outside/secret"]


@ONCE
def test_a_copy_inside_the_package_of_another_project(lab: Lab) -> None:
    """The launcher imports the copy alone: what its parents do when they are imported happens outside."""
    lab.file(lab.outside / "secret", "hidden")
    vendored = lab.top / "project" / "app" / "_vendor"
    vendored.mkdir(parents=True)
    for folder in (vendored, vendored.parent):
        (folder / "__init__.py").write_text("import sys; sys.stderr.write('imported\\n')\n")
    copied.vendored(vendored)
    done = run(lab, sys.executable, "-B", "-m", "app._vendor.acme", *confined(lab), cwd=lab.top / "project")
    assert (done.returncode, done.stdout) == (1, "") and "Permission denied" in done.stderr, done.stderr
    assert done.stderr.count("imported\n") == 2
    assert (lab.workspace / "made").read_text() == "here\n"
    assert lab.receipt()["boundary"]["sealed"] is True


@ONCE
def test_a_copy_is_started_as_a_module(lab: Lab) -> None:
    lab.file(lab.outside / "secret", "hidden")
    top = lab.top / PLACE
    copied.vendored(top)
    done = run(lab, sys.executable, "-m", "acme", *confined(lab), cwd=top)
    assert done.returncode == 1 and "Permission denied" in done.stderr, done.stderr
    assert run(lab, sys.executable, "-m", "acme", "self-verify", cwd=top).returncode == 0
    done = run(lab, sys.executable, "-m", "acme.receipt", "verify", "--help", cwd=top)
    assert done.stdout.startswith("usage: python -m acme.receipt verify "), done.stderr
    done = run(lab, sys.executable, "-m", "acme.launcher", "--help", cwd=top)
    assert done.stdout.count("python -m acme.launcher") == 3 and "aasm.launcher" not in done.stdout


@ONCE
def test_two_copies_and_the_checkout_do_not_meet(lab: Lab) -> None:
    """A copy under another name imports nothing of one that is called aasm, and the other way round."""
    lab.file(lab.outside / "secret", "hidden")
    top = lab.top / "copies"
    copied.vendored(top, "acme")
    (top / "aasm").mkdir()
    (top / "aasm" / "__init__.py").write_text("raise SystemExit('the wrong one was imported')\n")
    done = run(lab, sys.executable, "-m", "acme", *confined(lab), cwd=top)
    assert "Permission denied" in done.stderr, done.stderr


@pytest.mark.parametrize("python", [["-I"], ["-S"]], ids=" ".join)
@ONCE
def test_the_archive_is_started_by_a_relative_name_and_may_change_its_directory(lab: Lab, python: List[str]) -> None:
    """Without a boundary the command itself enters the working directory, and goes on importing from the archive."""
    top = lab.top / PLACE
    copied.archive(top / "aasm.pyz")
    lab.file(lab.home / "policy.yaml", "filesystem: {read: {allow: [/]}}\n")
    words = ["run", "exec", "--policy", str(lab.home / "policy.yaml"), "--workdir", str(lab.workspace)]
    words += ["--receipt", str(lab.home / "r.json"), "--", "pwd"]
    done = run(lab, sys.executable, *python, "aasm.pyz", *words, cwd=top)
    assert (done.returncode, done.stdout) == (0, f"{lab.workspace}\n"), done.stderr
    assert (lab.home / "r.json").exists()
    done = run(lab, sys.executable, *python, "aasm.pyz", *confined(lab), cwd=top)
    assert "sh: " not in done.stdout and (lab.workspace / "made").exists(), done.stderr


@ONCE
def test_no_file_beside_the_archive_or_in_the_working_directory_stands_in_for_a_module(lab: Lab) -> None:
    top = lab.top / "place"
    copied.archive(top / "aasm.pyz")
    for name in ("json", "argparse", "hashlib", "aasm"):
        (top / f"{name}.py").write_text("raise SystemExit('the wrong one was imported')\n")
    done = run(lab, sys.executable, "aasm.pyz", "self-verify", "--json", cwd=top)
    assert "wrong" not in done.stderr and '"schema"' in done.stdout, done.stderr


@ONCE
def test_a_program_may_not_write_the_archive_nor_what_it_is_in(lab: Lab) -> None:
    archive = copied.archive(lab.directory("place") / "aasm.pyz")
    (lab.top / "linked").symlink_to(archive.parent)
    for path in (archive, archive.parent, lab.top, lab.top / "linked"):
        base = ("run", "exec", "--isolation", "process", "--system", "--write", str(path), "--", "true")
        done = run(lab, sys.executable, "-I", str(archive), *base, cwd=lab.workspace)
        assert done.returncode == 125 and "could change what the next run trusts" in one_error(done)
    done = run(lab, sys.executable, "-I", str(archive), *base[:6], str(archive), "--", "true", cwd=lab.workspace)
    assert f"the code of aasm itself ({archive})" in done.stderr


@ONCE
def test_what_the_first_line_of_the_archive_names_is_kept_too(lab: Lab) -> None:
    """An archive that is executed itself: the kernel starts what its first line names."""
    folder, tools = lab.directory("place"), lab.directory("tools")
    (tools / "env").symlink_to("/usr/bin/env")
    plain = copied.archive(folder / "plain.pyz")
    archive = folder / "aasm"
    archive.write_bytes(os.fsencode(f"#!{tools}/env {sys.executable}\n") + plain.read_bytes())
    archive.chmod(0o755)
    done = run(lab, str(archive), *confined(lab), cwd=lab.workspace)
    assert (lab.workspace / "made").exists(), done.stderr
    for path in (tools, folder):  # neither is an entry of sys.path or a place of this Python
        done = run(lab, str(archive), "run", "exec", "--isolation", "process", "--write", str(path), "--", "true",
                   cwd=lab.workspace)  # fmt: skip
        assert done.returncode == 125 and "could change what the next run trusts" in one_error(done), done.stderr
