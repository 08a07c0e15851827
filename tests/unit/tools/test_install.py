# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Installing with Python and a copy of the tree alone: what a wheel installs, all of it or nothing, and no pip."""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import marshal
import os
import py_compile
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import archives
import install
import pytest
import written
from project import ROOT, TreeError

import aasm

DIST_INFO = f"aasm-{aasm.__version__}.dist-info"


@pytest.fixture(scope="module", autouse=True)
def one_wheel() -> Iterator[None]:
    """Make it once for all tests that install within this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(install, "wheel", functools.lru_cache(maxsize=None)(install.wheel))
        yield


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
    assert again.returncode == 2 and "no aasm is installed there" in again.stderr


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


class Killed(BaseException):
    """What ends a run before it can do anything about it, as SIGKILL does."""


def writes_end(monkeypatch: pytest.MonkeyPatch, after: int, problem: BaseException, tidy: bool = True) -> List[str]:
    """Let the file after so many fail, with half of it written; without `tidy` nothing is taken back."""
    real, begun = archives.write_new, []

    def write(path: str, data: bytes, *more: Any) -> None:
        begun.append(path)
        half = len(begun) > after
        real(path, data[: len(data) // 2] if half else data, *more)
        if half:
            raise problem

    monkeypatch.setattr(archives, "write_new", write)
    if not tidy:
        monkeypatch.setattr(written.Written, "take_back", lambda self: None)
    return begun


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device", "x"), KeyboardInterrupt()])
@pytest.mark.parametrize("after", [0, 1, 200])
def test_half_an_installation_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int, problem: BaseException
) -> None:
    begun = writes_end(monkeypatch, after, problem)
    with pytest.raises(type(problem)):
        install.install(install.places(str(tmp_path / "p")), "")
    assert len(begun) == after + 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("after", [0, 1, 40, 200])
def test_what_a_killed_run_leaves_leads_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    where = install.places(str(tmp_path / "p"))
    with monkeypatch.context() as patched, pytest.raises(Killed):
        writes_end(patched, after, Killed(), tidy=False)
        install.install(where, "")
    assert not (tmp_path / "p" / "bin" / "aasm").exists(), "half an installation could be started"
    if after:
        with pytest.raises(TreeError, match="remove what is installed first .--uninstall.: aasm .*or a part"):
            install.install(where, "")
        assert install.uninstall(where, "") and files(tmp_path) == {}
    install.install(where, "")
    assert (tmp_path / "p" / "bin" / "aasm").exists()
    assert install.uninstall(where, "") and files(tmp_path) == {} and list((tmp_path / "p").iterdir()) == []


@pytest.mark.parametrize("record", [None, b"", b"aasm/__init__.py,sha256=x"])
def test_the_very_beginning_of_an_installation_can_be_uninstalled(tmp_path: Path, record: Optional[bytes]) -> None:
    folder = library(tmp_path) / DIST_INFO
    folder.mkdir(parents=True)
    if record is not None:
        (folder / "RECORD").write_bytes(record)
    assert install.uninstall(install.places(str(tmp_path)), "") and files(tmp_path) == {} and not folder.exists()


@pytest.mark.parametrize("after", [0, 1, -1])
def test_an_uninstallation_that_was_killed_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    where, real = install.places(str(tmp_path / "p")), os.unlink
    install.install(where, "")
    there, gone = len(files(tmp_path)), []

    def unlink(path: str) -> None:
        if len(gone) == after % there:
            raise Killed
        gone.append(path)
        real(path)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(os, "unlink", unlink)
        install.uninstall(where, "")
    assert not gone or gone[0] == str(tmp_path / "p" / "bin" / "aasm")
    assert (library(tmp_path / "p") / DIST_INFO / "RECORD").exists()
    install.uninstall(where, "")
    assert list((tmp_path / "p").iterdir()) == []


DAMAGED = {
    "empty": "",
    "a quote": '"\n',
    "an open quote": 'aasm/__init__.py,,\n"',
    "a zero": "aasm/__init__.py,,\n\0,,\n{info}/RECORD,,\n",
    "no text": "\udcff",
    "not itself": "aasm/__init__.py,,\n",
    "itself alone": "{info}/RECORD,,\n",
    "a long field": "x" * 200_000 + "\n",
}


@pytest.mark.parametrize("name", list(DAMAGED))
def test_a_record_that_is_none_removes_nothing_and_says_what_to_do(prefix: Path, name: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(prefix, copy, symlinks=True)
    record = library(copy) / DIST_INFO / "RECORD"
    record.write_bytes(DAMAGED[name].format(info=DIST_INFO).encode("utf-8", "surrogateescape"))
    before = files(copy)
    with pytest.raises(TreeError, match="is damaged: it lists not both itself and the package; remove by hand") as said:
        install.uninstall(install.places(str(copy)), "")
    assert files(copy) == before and "\n" not in str(said.value)
    parts = str(said.value).split("remove by hand ")[1].split(" and what ")[0].split(", ")
    for part in map(Path, parts):  # what it says leads out
        shutil.rmtree(part) if part.is_dir() else part.unlink()
    assert {name.split("/")[0] for name in files(copy)} == {"share"}


def test_a_file_that_cannot_be_removed_is_an_error_and_the_record_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = install.places(str(tmp_path))
    install.install(where, "")

    def unlink(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    with monkeypatch.context() as patched, pytest.raises(PermissionError, match="bin/aasm"):
        patched.setattr(os, "unlink", unlink)
        install.uninstall(where, "")
    assert install.uninstall(where, "")


def test_missing_files_and_those_that_python_made_later_are_no_matter(tmp_path: Path) -> None:
    where = install.places(str(tmp_path))
    install.install(where, "")
    (library(tmp_path) / "aasm" / "errors.py").unlink()
    (library(tmp_path) / "aasm" / "__pycache__" / "run.cpython-399.opt-2.pyc").write_bytes(b"")
    install.uninstall(where, "")
    assert list(tmp_path.iterdir()) == []


def test_another_version_or_a_stranger_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = install.places(str(tmp_path / "p"))
    install.install(where, "")
    old = library(tmp_path / "p") / "aasm-0.0.1.dist-info"
    (library(tmp_path / "p") / DIST_INFO).rename(old)
    (old / "RECORD").write_text((old / "RECORD").read_text().replace(DIST_INFO, old.name))
    with pytest.raises(TreeError, match="remove what is installed first .--uninstall.: aasm 0.0.1"):
        install.install(where, "")
    other = where._replace(modules=where.modules.replace("/python3.", "/python3.9"))
    for act in (install.install, install.uninstall):
        with pytest.raises(TreeError, match="is installed for another Python; to remove it, run --uninstall with"):
            act(other, "")
    install.uninstall(where, "")
    (tmp_path / "p" / "bin").mkdir()
    (tmp_path / "p" / "bin" / "aasm").write_text("mine")
    with pytest.raises(TreeError, match="/bin/aasm: exists, belongs to no installation .* or take another prefix"):
        install.install(where, "")
    assert list(files(tmp_path)) == ["p/bin/aasm"]


def test_the_root_may_be_the_prefix_and_a_link_one_too(tmp_path: Path) -> None:
    where = install.places("/")
    assert install.places("//x//y/") == install.places("/x/y")
    install.install(where, str(tmp_path / "image"))
    assert sorted(path.name for path in (tmp_path / "image").iterdir()) == ["bin", "lib", "share"]
    install.uninstall(where, str(tmp_path / "image"))
    assert files(tmp_path) == {}
    (tmp_path / "link").symlink_to("image")
    install.install(install.places(str(tmp_path / "link")), "")
    assert (tmp_path / "image" / "bin" / "aasm").exists() and len(library(tmp_path / "link").parts) > 3
    install.uninstall(install.places(str(tmp_path / "link")), "")
    assert files(tmp_path) == {}


@pytest.mark.parametrize("epoch", ["", "1"])
def test_what_is_compiled_is_what_python_would_compile(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    source = library(prefix) / "aasm" / "errors.py"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch) if epoch else monkeypatch.delenv("SOURCE_DATE_EPOCH", False)
    expected = Path(py_compile.compile(str(source), cfile=str(tmp_path / "c"), doraise=True) or "").read_bytes()
    found = install._compiled(source.read_bytes(), str(source), os.stat(source))
    assert found[:16] == expected[:16] and marshal.loads(found[16:]) == marshal.loads(expected[16:])


def test_a_full_place_has_a_name(tmp_path: Path) -> None:
    """A limit on the size of a file is as write(2) of a full disk: its error names no file."""
    code = "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)); del sys.argv[0]; "
    code += "runpy.run_path(sys.argv[0], run_name='__main__')"
    tools = {"install.py": ["--prefix", str(tmp_path / "p")], "vendor.py": [str(tmp_path / "v" / "w")]}
    for tool_name, words in tools.items():
        command = [sys.executable, "-B", "-c", code, str(ROOT / "tools" / tool_name), "--modified", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and re.fullmatch(f"error: {tmp_path}/.+: File too large; .*\n", done.stderr), done
    assert list(tmp_path.iterdir()) == []


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
