# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The build backend: reproducible archives, right metadata, and `pip install` with no network at all."""

from __future__ import annotations

import base64
import calendar
import gzip
import hashlib
import io
import json
import os
import pwd
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Iterator, List, Optional, Tuple

import build_backend
import pytest
import pythons
import sbom
from archives import EARLIEST, LATEST, gzip_stored
from metadata import Project, read_tables, read_version
from project import ROOT, Entry, TreeError, entries, git, project_files
from revision import revision

import aasm

DIST_INFO = f"aasm-{aasm.__version__}.dist-info"
DATA = f"aasm-{aasm.__version__}.data/data/"
BUILD = "import os, sys; os.umask(int(sys.argv[1], 8)); sys.path.insert(0, sys.argv[2]); import build_backend as b; "


def copy_tree(target: Path) -> Path:
    """Copy the project's files to `target`, with modes and times of their own, and without git."""
    for entry in entries():
        path = target / entry.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.data)
    return target


def build(hook: str, tree: Path, out: Path, umask: str = "022", python: str = sys.executable, **how: Any) -> Path:
    """Call one hook of the backend of `tree` in a fresh interpreter and return the archive that it wrote."""
    out.mkdir(parents=True, exist_ok=True)
    command = [python, "-I", "-B", "-c", f"{BUILD}print(b.{hook}(sys.argv[3]))", umask, str(tree / "tools"), str(out)]
    variables = {"PATH": os.environ.get("PATH", os.defpath), **how.pop("variables", {})}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, done.stderr
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


@pytest.fixture(scope="module")
def trees() -> Iterator[Tuple[Path, Path]]:
    """Two copies of the tree in different places that anybody may enter, the second with other modes and times."""
    with tempfile.TemporaryDirectory(prefix="aasm-trees-") as top:
        os.chmod(top, 0o755)
        one, two = copy_tree(Path(top) / "one"), copy_tree(Path(top) / "another place" / "zw\u00f6lf")
        age(two)
        yield one, two


HOOKS = ["build_wheel", "build_sdist"]


@pytest.mark.parametrize("hook", HOOKS)
def test_two_builds_are_equal_byte_for_byte(hook: str, trees: Tuple[Path, Path], tmp_path: Path) -> None:
    first = build(hook, trees[0], tmp_path / "out1", umask="022")
    second = build(hook, trees[1], tmp_path / "out2", umask="077", variables={"TZ": "Asia/Tokyo", "LC_ALL": "C"})
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("hook", HOOKS)
def test_another_python_builds_the_same(hook: str, trees: Tuple[Path, Path], tmp_path: Path) -> None:
    """Each is compared with the oldest that is found (and that one with the newest), so all are compared with all."""
    mine = "%d.%d" % sys.version_info[:2]
    found = [python for python in map(pythons.find, pythons.supported()) if python and python.minor != mine]
    if not found:
        pytest.skip("this host has one Python")
    other = found[-1] if mine == pythons.supported()[0] else found[0]
    built = build(hook, trees[0], tmp_path / "mine"), build(hook, trees[0], tmp_path / "other", python=other.base)
    assert built[0].read_bytes() == built[1].read_bytes()


@pytest.mark.unprivileged
@pytest.mark.parametrize("hook", HOOKS)
def test_another_user_builds_the_same(hook: str, trees: Tuple[Path, Path], tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root becomes another user")
    who = pwd.getpwnam("nobody")
    place = trees[0].parent / f"of nobody {hook}"
    place.mkdir()
    os.chown(place, who.pw_uid, who.pw_gid)
    theirs = build(hook, trees[0], place, user=who.pw_uid, group=who.pw_gid, extra_groups=[])
    assert theirs.stat().st_uid == who.pw_uid
    assert theirs.read_bytes() == build(hook, trees[0], tmp_path / "mine").read_bytes()


def test_the_stated_time_is_the_time_of_every_entry(tmp_path: Path) -> None:
    stated = build("build_wheel", ROOT, tmp_path, variables={"SOURCE_DATE_EPOCH": "1700000000"})
    assert {info.date_time for info in zipfile.ZipFile(stated).infolist()} == {(2023, 11, 14, 22, 13, 20)}


@pytest.mark.parametrize(
    ("stated", "date"), [("0", EARLIEST), ("1700000000", 1700000000), ("9" * 11, LATEST), ("", None)]
)
def test_the_date_is_the_stated_one_else_that_of_the_sbom(
    stated: str, date: Optional[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", stated)
    created = json.loads((ROOT / sbom.NAME).read_text(encoding="utf-8"))["creationInfo"]["created"]
    of_sbom = calendar.timegm(time.strptime(created, "%Y-%m-%dT%H:%M:%SZ"))
    assert build_backend.source_date() == (of_sbom if date is None else date)


@pytest.mark.parametrize("stated", ["yesterday", "-1", "1.5", "\u00b2", "9" * 20])
def test_a_date_that_is_no_number_of_seconds_is_refused(stated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", stated)
    with pytest.raises(TreeError, match="SOURCE_DATE_EPOCH: "):
        build_backend.source_date()


def test_the_wheel_holds_the_package_and_what_is_shared_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    expected = {path.relative_to(ROOT).as_posix() for path in project_files() if (ROOT / "aasm") in path.parents}
    assert "aasm/__init__.py" in expected
    pages = {f"{DATA}share/man/man{page.suffix[1:]}/{page.name}" for page in (ROOT / "docs/man").iterdir()}
    names = {name for name in wheel.namelist() if not name.startswith((DIST_INFO, f"{DATA}share/"))}
    assert names == expected
    assert {name for name in wheel.namelist() if name.startswith(f"{DATA}share/man/")} == pages
    completions = {name for name in wheel.namelist() if name.startswith(DATA)} - pages
    assert len(completions) == len(list((ROOT / "docs/completions").iterdir())) == 3


def test_the_sbom_of_the_wheel_lists_what_is_in_it(wheel: zipfile.ZipFile) -> None:
    listing, record = f"{DIST_INFO}/sboms/aasm.spdx.json", f"{DIST_INFO}/RECORD"
    content = [Entry(name, wheel.read(name)) for name in wheel.namelist() if name not in (listing, record)]
    assert sbom.faults(wheel.read(listing), content, sbom.WHEEL) == []
    assert sbom.faults(wheel.read(listing), content[:-1], sbom.WHEEL) != []


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
    del in_wheel[f"{DIST_INFO}/RECORD"], in_wheel[f"{DIST_INFO}/sboms/aasm.spdx.json"]
    assert (name, written) == (DIST_INFO, in_wheel)


def unpacked(sdist: Path, target: Path) -> Path:
    """Unpack a source archive as tar does, and return its one folder."""
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None and member.isfile() and member.uid == member.gid == 0
            path = target / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
        assert archive.getnames() == sorted(archive.getnames())
    return target / f"aasm-{aasm.__version__}"


def test_the_unpacked_sdist_builds_what_it_was_built_with(tmp_path: Path) -> None:
    """Made from a commit, so that there is a revision, which the unpacked archive carries on."""
    checkout = committed(copy_tree(tmp_path / "checkout"))
    sdist = build("build_sdist", checkout, tmp_path / "out")
    tree = unpacked(sdist, tmp_path / "unpacked")
    for hook in HOOKS:
        mine, again = build(hook, checkout, tmp_path / "out"), build(hook, tree, tmp_path / "again")
        assert mine.read_bytes() == again.read_bytes()
    assert (tree / "REVISION").read_bytes() == git(checkout, "rev-parse", "HEAD")
    names = {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}
    assert sbom.check(tree) == []
    assert names == {entry.name for entry in entries()} | {"PKG-INFO", "REVISION"}


def committed(tree: Path) -> Path:
    """Make a checkout of a tree, with its own SBOM: one commit with everything."""
    (tree / sbom.NAME).write_bytes(sbom.made(tree))
    who = {name: "nobody" for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")}
    mail = {name: "nobody@example.com" for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")}
    for words in (["init", "--quiet"], ["add", "--all", "--force"], ["commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", "-C", str(tree), *words], env={**os.environ, **who, **mail}, check=True)
    return tree


def test_a_revision_is_stated_only_of_what_is_unchanged(tmp_path: Path) -> None:
    checkout = committed(copy_tree(tmp_path / "checkout"))
    name = (git(checkout, "rev-parse", "HEAD") or b"").decode().strip()
    assert len(name) == 40 and revision(checkout) == name
    tree = unpacked(build("build_sdist", checkout, tmp_path / "out"), tmp_path / "unpacked")
    assert revision(tree) == name
    for changed in (checkout, tree):
        (changed / "aasm" / "added.py").write_bytes(b"")
        assert revision(changed) is None
        (changed / "aasm" / "added.py").unlink()
        assert revision(changed) == name
        (changed / "NOTICE").write_bytes(b"another\n")
        assert revision(changed) is None
    for flag in ("--assume-unchanged", "--skip-worktree"):  # git may be told not to look
        (checkout / "NOTICE").write_bytes((ROOT / "NOTICE").read_bytes())
        assert revision(checkout) == name
        subprocess.run(["git", "-C", str(checkout), "update-index", flag, "NOTICE"], check=True)
        (checkout / "NOTICE").write_bytes(b"another\n")
        assert git(checkout, "status", "--porcelain") == b"" and revision(checkout) is None
    assert not [entry for entry in build_backend.dist_info(Project(tree)) if entry.name.endswith("/REVISION")]
    again = unpacked(build("build_sdist", tree, tmp_path / "changed"), tmp_path / "again")
    assert not (again / "REVISION").exists()


@pytest.mark.parametrize("text", [b"", b"main\n", b"g" * 40 + b"\n", b"a" * 40, b"a" * 40 + b"\n\n"])
def test_a_revision_that_is_no_name_of_a_commit_is_not_taken_over(text: bytes, tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "tree")
    (tree / sbom.NAME).write_bytes(sbom.made(tree))
    (tree / "REVISION").write_bytes(b"a" * 40 + b"\n")
    assert revision(tree) == "a" * 40
    (tree / "REVISION").write_bytes(text)
    assert revision(tree) is None


def test_the_editable_wheel_puts_the_checkout_on_the_path(tmp_path: Path) -> None:
    editable = zipfile.ZipFile(build("build_editable", ROOT, tmp_path))
    assert editable.read("aasm-editable.pth").decode().strip() == str(ROOT)
    assert f"{DIST_INFO}/RECORD" in editable.namelist()


def test_a_link_in_the_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "aasm").mkdir()
    (tmp_path / "aasm" / "planted.py").symlink_to("/etc/hostname")
    with pytest.raises(TreeError, match="aasm/planted.py: is a symbolic link"):
        entries(tmp_path, "aasm")


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 200_000])
def test_gzip_without_compression_is_gzip(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert gzip.GzipFile(fileobj=io.BytesIO(gzip_stored(data[:size]))).read() == data[:size]


def test_the_small_reader_agrees_with_the_real_one() -> None:
    tomllib = pytest.importorskip("tomllib", reason="tomllib is there from Python 3.11 on")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    whole = tomllib.loads(text)
    nested = {key: value for key, value in whole["project"].items() if isinstance(value, dict)}
    plain = {key: value for key, value in whole["project"].items() if key not in nested}
    expected = {"build-system": whole["build-system"], "project": plain}
    expected.update({f"project.{key}": value for key, value in nested.items()})
    assert read_tables(text) == expected


@pytest.mark.parametrize("line", ['name = {a = "b"}', "name = 1", "name = true", 'name = "open', 'name = ["a", 1]'])
def test_what_the_small_reader_cannot_read_names_its_line(line: str) -> None:
    with pytest.raises(ValueError, match="pyproject.toml:3: "):
        read_tables(f"[project]\n# a comment\n{line}\n")


@pytest.mark.parametrize("text", ["[[[", "[project", "[project]]", '[project]\nname = "a"\nname = "b"\n', "[a b]"])
def test_what_is_no_table_or_stands_twice_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"pyproject.toml:\d: "):
        read_tables(text)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("dependencies = []", 'dependencies = ["requests"]', "nothing is required"),
        ("requires = []", 'requires = ["setuptools"]', "nothing is required"),
        ("dependencies = []", "", "project.dependencies must be there"),
        ('name = "aasm"', "", "project.name must be there"),
        ('license-files = ["LICENSE", "NOTICE"]', "", "project.license-files must be there"),
        ('description = "', 'description = "a\\nRequires-Dist: evil', "each of one line"),
        ('"README.md"', '"../README.md"', "does not lie in this tree"),
        ('"NOTICE"', '"/etc/passwd"', "does not lie in this tree"),
        ('"landlock"', '"a\\nRequires-Dist: evil"', "each of one line"),
    ],
)  # fmt: skip
def test_a_tree_that_requires_something_or_is_damaged_is_refused_by_every_tool(
    before: str, after: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = copy_tree(tmp_path / "tree")
    file = tree / "pyproject.toml"
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(ValueError, match=what):
        Project(tree).metadata()
    for words in ([], ["--check"]):
        if "license-files" not in before:  # which no SBOM is made of
            assert sbom.main(words, tree) == 2 and what in capsys.readouterr().err


def test_an_empty_pyproject_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    with pytest.raises(ValueError, match="must be there"):
        Project(tmp_path)


def test_tables_of_other_tools_are_passed_over() -> None:
    assert read_tables('[tool.other]\nx = {a = 1}\n[project]\nname = "n"\n') == {"project": {"name": "n"}}


@pytest.mark.parametrize("text", ["", '__version__ = "1.0"\n__version__ = "2.0"\n', '__version__ = str(1)\n'])
def test_a_version_that_is_not_one_literal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="exactly one line"):
        read_version(text)


@pytest.mark.parametrize("options", [[], ["-e"]], ids=["install", "editable"])
def test_pip_installs_with_no_network_and_gives_the_script(options: List[str], with_pip: Any, tmp_path: Path) -> None:
    before = with_pip.files()
    tree = copy_tree(tmp_path / "tree with a space")
    done = with_pip.pip("install", "--no-index", *options, str(tree))
    assert done.returncode == 0, done.stderr
    script = with_pip.home / "bin" / "aasm"
    version = subprocess.run([script, "--version"], cwd="/", capture_output=True, text=True, check=False)
    assert (version.returncode, version.stdout, version.stderr) == (0, f"aasm {aasm.__version__}\n", "")
    assert options or set(build_backend.SHARED.values()) <= with_pip.files().keys()
    assert with_pip.pip("uninstall", "--yes", "aasm").returncode == 0
    assert with_pip.files() == before
