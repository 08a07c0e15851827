# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Installing with Python and a copy of the tree alone: what a wheel installs, all of it or nothing, and no pip."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import install
import pytest
from project import ROOT, TreeError

import aasm

DIST_INFO = f"aasm-{aasm.__version__}.dist-info"


def tool(*words: object, umask: int = 0o022) -> "subprocess.CompletedProcess[str]":
    """Run tools/install.py as a user would, with no site packages."""
    command = [sys.executable, "-I", "-S", "-B", str(ROOT / "tools" / "install.py"), *map(str, words)]
    command += [] if "--uninstall" in words else ["--modified"]  # whether the SBOM is up to date is not the matter
    clean = {"PATH": os.environ.get("PATH", os.defpath)}
    before = os.umask(umask)
    try:
        return subprocess.run(command, env=clean, cwd="/", capture_output=True, text=True, check=False)
    finally:
        os.umask(before)


def library(prefix: Path) -> Path:
    return Path(install.places(str(prefix)).modules)


def files(top: Path) -> Dict[str, Path]:
    return {path.relative_to(top).as_posix(): path for path in sorted(top.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation in a place with blanks and letters beyond ASCII."""
    place = tmp_path_factory.mktemp("install") / "zw\u00f6lf mal"
    done = tool("--prefix", place, umask=0o077)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"the command is {place}/bin/aasm"
    return place


def test_the_command_runs_from_anywhere_and_imports_nothing_from_there(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit('planted')\n", encoding="utf-8")
    for words in (["--version"], ["policy", "schema"], ["run", "exec", "--help"]):
        command = [prefix / "bin" / "aasm", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), words


def test_what_is_installed_is_what_a_wheel_installs(prefix: Path) -> None:
    expected = {path: entry.data for path, entry in install.installation(install.places(str(prefix))).items()}
    found = {str(path): path.read_bytes() for path in files(prefix).values() if "__pycache__" not in path.parts}
    del found[str(library(prefix) / DIST_INFO / "RECORD")]
    assert found == expected
    assert (prefix / "share/man/man1/aasm.1").is_file()


def test_everybody_may_read_it_whatever_the_umask(prefix: Path) -> None:
    for path in prefix.rglob("*"):
        mode = path.stat().st_mode & 0o777
        assert mode == (0o755 if path.is_dir() or path.name == "aasm" and path.parent.name == "bin" else 0o644), path


def test_record_lists_every_file_with_its_digest(prefix: Path) -> None:
    base = library(prefix)
    with open(base / DIST_INFO / "RECORD", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file)]
    listed = {os.path.normpath(base / row[0]) for row in rows}
    assert listed == {str(path) for path in files(prefix).values()}
    for name, digest, size in rows:
        if digest:
            data = (base / name).read_bytes()
            plain = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={plain}", len(data))
        else:
            assert name.endswith(".pyc") or name == f"{DIST_INFO}/RECORD"


def test_every_module_is_compiled(prefix: Path) -> None:
    package = library(prefix) / "aasm"
    compiled = {path.name.split(".")[0] for path in package.rglob("*.pyc")}
    assert compiled == {path.stem for path in package.rglob("*.py")}


def test_nothing_is_replaced(prefix: Path) -> None:
    before = {name: path.stat().st_mtime_ns for name, path in files(prefix).items()}
    done = tool("--prefix", prefix)
    assert done.returncode == 2 and done.stdout == ""
    assert "exists, and nothing is replaced; remove what is installed first (--uninstall)" in done.stderr
    assert done.stderr.count("\n") == 1
    assert {name: path.stat().st_mtime_ns for name, path in files(prefix).items()} == before


def test_uninstalling_leaves_what_is_not_ours(tmp_path: Path) -> None:
    assert tool("--prefix", tmp_path / "p").returncode == 0
    other = tmp_path / "p" / "bin" / "other"
    other.write_text("", encoding="utf-8")
    done = tool("--prefix", tmp_path / "p", "--uninstall")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(files(tmp_path / "p").values()) == [other]
    assert [path.name for path in (tmp_path / "p").iterdir()] == ["bin"]
    again = tool("--prefix", tmp_path / "p", "--uninstall")
    assert again.returncode == 2 and "0 installations of aasm are there, not one" in again.stderr


def test_a_record_that_leads_elsewhere_removes_nothing(tmp_path: Path) -> None:
    assert tool("--prefix", tmp_path / "p").returncode == 0
    precious = tmp_path / "precious"
    precious.write_text("kept", encoding="utf-8")
    with open(library(tmp_path / "p") / DIST_INFO / "RECORD", "a", encoding="utf-8") as file:
        file.write(f"{os.path.relpath(precious, library(tmp_path / 'p'))},,\n")
    before = files(tmp_path)
    done = tool("--prefix", tmp_path / "p", "--uninstall")
    assert done.returncode == 2 and "is not beneath" in done.stderr
    assert files(tmp_path) == before


def test_beneath_another_root_it_is_what_it_will_be_there(tmp_path: Path) -> None:
    done = tool("--prefix", "/opt/aasm", "--root", tmp_path / "image")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (tmp_path / "image").iterdir()] == ["opt"]
    script = (tmp_path / "image/opt/aasm/bin/aasm").read_text(encoding="utf-8")
    assert script.startswith(f"#!{sys.executable} -I\n") and f"{install.places('/opt/aasm').modules!r}" in script
    compiled = next((tmp_path / "image").rglob("launcher.*.pyc")).read_bytes()
    assert b"/opt/aasm/" in compiled and os.fsencode(tmp_path) not in compiled
    assert tool("--prefix", "/opt/aasm", "--root", tmp_path / "image", "--uninstall").returncode == 0
    assert files(tmp_path / "image") == {}


def test_half_an_installation_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: List[str] = []

    def full(path: str, data: bytes, permissions: int) -> None:
        if len(written) == 40:
            raise OSError(28, "No space left on device", path)
        written.append(path)
        Path(path).write_bytes(data)

    monkeypatch.setattr(install, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        install.install(install.places(str(tmp_path / "p")), "")
    assert len(written) == 40 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("prefix", ["relative/place", ""])
def test_a_prefix_that_is_no_absolute_path_is_refused(prefix: str) -> None:
    done = tool("--prefix", prefix)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is no absolute path" in done.stderr and done.stderr.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = tool("--prefix", tmp_path / "file" / "beneath")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["python", "with a blank", "long" * 40, "zw\u00f6lf"])
def test_a_script_starts_its_interpreter_wherever_that_lies(name: str, tmp_path: Path) -> None:
    python = tmp_path / name
    python.symlink_to(sys.executable)
    script = tmp_path / "script"
    lines = install.first_lines(str(python)), "import sys; print(sys.flags.isolated, sys.argv[1:])", ""
    script.write_text("\n".join(lines), "utf-8")
    script.chmod(0o755)
    done = subprocess.run([script, "a b", "c"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 ['a b', 'c']\n", "")


@pytest.mark.parametrize("python", ["/a'b/python", '/a"b', "/a$b", "/a`b", "/a\\b", "/a\nb"])
def test_an_interpreter_that_no_script_can_name_is_refused(python: str) -> None:
    with pytest.raises(TreeError, match="no script can name this Python"):
        install.first_lines(python)


def test_pip_removes_what_was_installed_without_it(with_pip: Any) -> None:
    before = with_pip.files()
    command = [with_pip.python, "-I", "-B", str(ROOT / "tools" / "install.py"), "--modified", "--prefix"]
    command.append(str(with_pip.home))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert subprocess.run([with_pip.python, "-c", "import aasm.cli"], cwd="/", check=False).returncode == 0
    done = with_pip.pip("uninstall", "--yes", "aasm")
    assert done.returncode == 0, done.stderr
    assert with_pip.files() == before
