# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The build backend: reproducible archives, right metadata, and `pip install` with no network at all."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import build_backend
import pytest

import aasm

ROOT = Path(__file__).resolve().parents[3]
BUILT_FROM = ("aasm", "tools", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
DIST_INFO = f"aasm-{aasm.__version__}.dist-info"


def copy_tree(target: Path) -> Path:
    """Copy what a build reads to `target`, with other modes and times than the original has."""
    target.mkdir(parents=True)
    for name in BUILT_FROM:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)
    return target


def build(hook: str, tree: Path, out: Path, umask: int = 0o022, **environment: str) -> Path:
    """Call one hook of the backend of `tree` in a fresh interpreter and return the archive that it wrote."""
    out.mkdir(parents=True, exist_ok=True)
    code = f"import os, sys; os.umask({umask}); sys.path.insert(0, sys.argv[1]); import build_backend as b; "
    code += f"print(b.{hook}(sys.argv[2]))"
    command = [sys.executable, "-I", "-B", "-c", code, str(tree / "tools"), str(out)]
    clean = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    done = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, check=True)
    return out / done.stdout.strip()


def age(tree: Path) -> None:
    """Give every file of `tree` another time and another mode."""
    for path in tree.rglob("*"):
        os.chmod(path, 0o700 if path.is_dir() else 0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(build("build_wheel", ROOT, tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return BytesParser().parsebytes(wheel.read(f"{DIST_INFO}/METADATA"))


@pytest.mark.parametrize("hook", ["build_wheel", "build_sdist"])
def test_two_builds_are_equal_byte_for_byte(hook: str, tmp_path: Path) -> None:
    one, two = copy_tree(tmp_path / "one"), copy_tree(tmp_path / "another place" / "two")
    age(two)
    first = build(hook, one, tmp_path / "out1", umask=0o022)
    second = build(hook, two, tmp_path / "out2", umask=0o077, TZ="Asia/Tokyo", LC_ALL="C")
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_the_stated_time_is_the_time_of_every_entry(tmp_path: Path) -> None:
    stated = build("build_wheel", ROOT, tmp_path, SOURCE_DATE_EPOCH="1700000000")
    assert {info.date_time for info in zipfile.ZipFile(stated).infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_a_time_before_1980_is_clamped_and_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert build_backend.source_date() == build_backend.ZIP_EPOCH
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH: 'yesterday'"):
        build_backend.source_date()


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    folder = ROOT / "aasm"
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    assert "aasm/__init__.py" in expected
    assert {name for name in wheel.namelist() if not name.startswith(DIST_INFO)} == expected


def test_entries_are_stored_regular_files_with_fixed_modes(wheel: zipfile.ZipFile) -> None:
    for info in wheel.infolist():
        assert info.compress_type == zipfile.ZIP_STORED
        assert info.external_attr >> 16 in (0o100644, 0o100755), info.filename


def test_record_lists_every_file_with_its_digest(wheel: zipfile.ZipFile) -> None:
    rows = [row.rsplit(",", 2) for row in wheel.read(f"{DIST_INFO}/RECORD").decode().splitlines()]
    assert [row[0] for row in rows] == wheel.namelist()
    assert rows[-1] == [f"{DIST_INFO}/RECORD", "", ""]
    for name, digest, size in rows[:-1]:
        data = wheel.read(name)
        plain = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={plain}", len(data))


def test_metadata_states_what_an_auditor_asks_for(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["Metadata-Version"] == "2.4"
    assert (metadata["Name"], metadata["Version"]) == ("aasm", aasm.__version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.9"
    for name in metadata.get_all("License-File", []):
        assert wheel.read(f"{DIST_INFO}/licenses/{name}") == (ROOT / name).read_bytes()
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]
    assert str(metadata.get_payload()).encode() == (ROOT / "README.md").read_bytes()


def test_there_is_no_requirement_at_run_time(metadata: Message) -> None:
    required = metadata.get_all("Requires-Dist", [])
    assert required and all(row.endswith('; extra == "dev"') for row in required)


def test_the_metadata_hook_writes_what_the_wheel_holds(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    name = build("prepare_metadata_for_build_wheel", ROOT, tmp_path).name
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    written = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in files}
    in_wheel = {path: wheel.read(path) for path in wheel.namelist() if path.startswith(DIST_INFO)}
    del in_wheel[f"{DIST_INFO}/RECORD"]
    assert (name, written) == (DIST_INFO, in_wheel)


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    archive = tarfile.open(build("build_sdist", ROOT, tmp_path))
    members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert all(member.isfile() and member.uid == member.gid == 0 for member in members)
    for member in members:
        path = tmp_path / "unpacked" / member.name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = archive.extractfile(member)
        assert content is not None
        path.write_bytes(content.read())
    again = build("build_wheel", tmp_path / "unpacked" / f"aasm-{aasm.__version__}", tmp_path / "out")
    assert wheel.filename is not None
    assert again.read_bytes() == Path(wheel.filename).read_bytes()


def test_the_editable_wheel_puts_the_checkout_on_the_path(tmp_path: Path) -> None:
    editable = zipfile.ZipFile(build("build_editable", ROOT, tmp_path))
    assert editable.read("aasm-editable.pth").decode().strip() == str(ROOT)
    assert f"{DIST_INFO}/RECORD" in editable.namelist()


def test_a_link_in_the_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "aasm").mkdir()
    (tmp_path / "aasm" / "planted.py").symlink_to("/etc/hostname")
    with pytest.raises(ValueError, match="a link cannot be packaged"):
        build_backend.folder_entries(str(tmp_path), "aasm")


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 200_000])
def test_gzip_without_compression_is_gzip(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert gzip.GzipFile(fileobj=io.BytesIO(build_backend.gzip_stored(data[:size]))).read() == data[:size]


def test_the_small_reader_agrees_with_the_real_one() -> None:
    tomllib = pytest.importorskip("tomllib", reason="tomllib is there from Python 3.11 on")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    whole = tomllib.loads(text)
    nested = {key: value for key, value in whole["project"].items() if isinstance(value, dict)}
    plain = {key: value for key, value in whole["project"].items() if key not in nested}
    expected = {"build-system": whole["build-system"], "project": plain}
    expected.update({f"project.{key}": value for key, value in nested.items()})
    assert build_backend.read_tables(text) == expected


@pytest.mark.parametrize("line", ['name = {a = "b"}', "name = 1", "name = true", 'name = "open', 'name = ["a", 1]'])
def test_what_the_small_reader_cannot_read_names_its_line(line: str) -> None:
    with pytest.raises(ValueError, match="pyproject.toml:3: "):
        build_backend.read_tables(f"[project]\n# a comment\n{line}\n")


def test_tables_of_other_tools_are_passed_over() -> None:
    assert build_backend.read_tables('[tool.other]\nx = {a = 1}\n[project]\nname = "n"\n') == {"project": {"name": "n"}}


@pytest.mark.parametrize("text", ["", '__version__ = "1.0"\n__version__ = "2.0"\n', '__version__ = str(1)\n'])
def test_a_version_that_is_not_one_literal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="exactly one line"):
        build_backend.read_version(text)


def run_pip(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pip with no configuration and no index: whatever it would have to fetch makes it fail."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    command = [str(python), "-m", "pip", "--isolated", "install", "--quiet", "--no-index", *arguments]
    nothing = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(command, env={**clean, **nothing}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["."], ["-e", "."]], ids=["install", "editable"])
def test_pip_installs_with_no_network_and_gives_the_script(arguments: list[str], tmp_path: Path) -> None:
    pytest.importorskip("ensurepip", reason="this Python cannot make a virtual environment with pip")
    tree = copy_tree(tmp_path / "tree with a space")
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    arguments = [str(tree) if argument == "." else argument for argument in arguments]
    done = run_pip(home / "bin" / "python", *arguments)
    assert done.returncode == 0, done.stderr
    version = subprocess.run([home / "bin" / "aasm", "--version"], cwd="/", capture_output=True, text=True, check=False)
    assert (version.returncode, version.stderr) == (0, "")
    assert aasm.__version__ in version.stdout
