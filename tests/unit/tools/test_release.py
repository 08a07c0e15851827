# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A release: its files, what is claimed about them, and that building again finds every change."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict, List

import build
import provenance
import pytest
import sbom
from archives import EARLIEST, differences, members, tar_gz_bytes, write_whole, zip_bytes
from project import ROOT, Entry, entries

STEM = "aasm-" + build.Project(ROOT).version
STATEMENT = f"{STEM}.provenance.json"
NOTE = "note: nothing says which revision this tree is, and a release of a known one states it"
ARCHIVES = [f"{STEM}-py3-none-any.whl", f"{STEM}.tar.gz", "aasm.pyz"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree, with an SBOM that is right: that of the checkout may wait for the end of somebody's work."""
    top = tmp_path_factory.mktemp("tree")
    for entry in [*entries(), Entry(sbom.NAME, sbom.made(ROOT))]:
        (top / entry.name).parent.mkdir(parents=True, exist_ok=True)
        (top / entry.name).write_bytes(entry.data)
    return top


def tool(tree: Path, name: str, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", "-S", "-B", str(tree / "tools" / name), *words]
    clean = {"PATH": os.environ.get("PATH", os.defpath), **variables}
    return subprocess.run(command, env=clean, cwd="/", capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def made(tree: Path) -> Dict[str, bytes]:
    return build.release(tree)


@pytest.fixture
def release(made: Dict[str, bytes], tmp_path: Path) -> Path:
    build.write(str(tmp_path / "release"), made)
    return tmp_path / "release"


@pytest.fixture(scope="module")
def statement(made: Dict[str, bytes]) -> Any:
    return json.loads(made[STATEMENT])


def test_a_release_has_these_files_and_sums_that_sha256sum_reads(release: Path) -> None:
    assert sorted(path.name for path in release.iterdir()) == sorted([*ARCHIVES, STATEMENT, "SHA256SUMS"])
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(command, cwd=release, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"{name}: OK" for name in sorted([*ARCHIVES, STATEMENT])]
    assert [path.name for path in release.iterdir() if path.stat().st_mode & 0o111] == ["aasm.pyz"]


def test_the_statement_names_each_archive_by_its_digest(made: Dict[str, bytes], statement: Any) -> None:
    found = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    assert found == {name: hashlib.sha256(made[name]).hexdigest() for name in ARCHIVES}


def test_the_statement_has_the_fields_that_in_toto_and_slsa_require(statement: Any) -> None:
    assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
    assert (statement["_type"], statement["predicateType"]) == (provenance.STATEMENT, provenance.PREDICATE)
    predicate = statement["predicate"]
    definition, details = predicate["buildDefinition"], predicate["runDetails"]
    assert set(predicate) == {"buildDefinition", "runDetails"}
    assert definition["buildType"] and definition["externalParameters"] and details["builder"]["id"]
    for source in definition["resolvedDependencies"]:
        assert source.keys() & {"uri", "digest", "content"}  # a ResourceDescriptor has one of these
        assert all(set(value) <= set("0123456789abcdef") for value in source["digest"].values())


def test_the_statement_says_that_nobody_signed_it(statement: Any) -> None:
    assert "not signed" in statement["predicate"]["buildDefinition"]["internalParameters"]["signature"]
    assert not {"signatures", "payload"} & set(statement)


def test_the_statement_names_the_list_of_the_sources(made: Dict[str, bytes], statement: Any) -> None:
    listing = members(made[f"{STEM}.tar.gz"])[f"{STEM}/SBOM.spdx.json"]
    sources = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert sources[0]["digest"]["sha256"] == hashlib.sha256(listing).hexdigest()


def test_a_release_is_verified_by_building_it_again(tree: Path, release: Path) -> None:
    done = tool(tree, "verify_release.py", str(release))
    assert (done.returncode, done.stdout, done.stderr) == (0, "every file is the same, byte for byte\n", "")


def test_the_date_of_the_statement_is_the_one_that_counts(tree: Path, tmp_path: Path) -> None:
    assert tool(tree, "build.py", str(tmp_path / "r"), SOURCE_DATE_EPOCH="1700000000").returncode == 0
    assert tool(tree, "verify_release.py", str(tmp_path / "r")).returncode == 0
    stated = json.loads((tmp_path / "r" / STATEMENT).read_bytes())
    assert stated["predicate"]["buildDefinition"]["externalParameters"]["SOURCE_DATE_EPOCH"] == 1700000000


def test_the_unpacked_sdist_verifies_the_release_too(release: Path, tmp_path: Path) -> None:
    for name, data in members((release / f"{STEM}.tar.gz").read_bytes()).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    done = tool(tmp_path / STEM, "verify_release.py", str(release))
    assert (done.returncode, done.stdout) == (0, "every file is the same, byte for byte\n")


def changed_member(data: bytes, name: str, content: bytes) -> bytes:
    """Return a zip archive with another content of one member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            new.writestr(info, content if info.filename == name else old.read(info))
    return buffer.getvalue()


def test_a_changed_member_is_named(tree: Path, release: Path) -> None:
    wheel = release / ARCHIVES[0]
    wheel.write_bytes(changed_member(wheel.read_bytes(), "aasm/launcher.py", b"import os\n"))
    done = tool(tree, "verify_release.py", str(release))
    assert done.returncode == 1
    assert done.stdout.splitlines() == [NOTE, f"{wheel.name}: differs", f"{wheel.name}: aasm/launcher.py: differs"]


@pytest.mark.parametrize("name", [*ARCHIVES, STATEMENT, "SHA256SUMS"])
def test_one_changed_byte_is_found_in_every_file(tree: Path, name: str, release: Path) -> None:
    data = bytearray((release / name).read_bytes())
    data[-1] ^= 1
    (release / name).write_bytes(data)
    done = tool(tree, "verify_release.py", str(release))
    assert done.returncode == (2 if name == STATEMENT else 1)  # without its end the statement is no JSON
    assert name in done.stdout + done.stderr


def test_a_missing_and_a_strange_file_are_found(tree: Path, release: Path) -> None:
    (release / "aasm.pyz").unlink()
    (release / "extra.whl").write_bytes(b"")
    done = tool(tree, "verify_release.py", str(release))
    lines = ["aasm.pyz: is missing", "extra.whl: is no file of this release"]
    assert (done.returncode, done.stdout.splitlines()) == (1, [NOTE, *lines])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "states no SOURCE_DATE_EPOCH"),
        (b"[" * 100000, "states no SOURCE_DATE_EPOCH"),
        (b'{"predicate": []}', "states no SOURCE_DATE_EPOCH"),
        (b'{"predicate": {"buildDefinition": {"externalParameters": {"SOURCE_DATE_EPOCH": true}}}}', "states no"),
        (None, "is missing; this tree is the source of that release alone"),
    ],
)
def test_without_a_statement_nothing_is_compared(tree: Path, text: Any, said: str, release: Path) -> None:
    (release / STATEMENT).unlink()
    if text is not None:
        (release / STATEMENT).write_bytes(text)
    done = tool(tree, "verify_release.py", str(release))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("plant", ["link", "folder", "fifo"])
def test_what_is_no_file_is_not_read(tree: Path, plant: str, release: Path) -> None:
    planted = release / "planted"
    if plant == "link":
        planted.symlink_to("/dev/zero")
    else:
        {"folder": os.mkdir, "fifo": os.mkfifo}[plant](planted)
    done = tool(tree, "verify_release.py", str(release))
    assert done.returncode == 2 and "planted: is " in done.stderr and done.stderr.count("\n") == 1


def test_a_tree_whose_sbom_is_not_its_own_builds_no_release(tree: Path, tmp_path: Path) -> None:
    added = tree / "docs" / "added.md"
    added.write_text("# Added\n", encoding="utf-8")
    done = tool(tree, "build.py", str(tmp_path / "r"))
    added.unlink()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: SBOM.spdx.json: is not that of this tree;") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["build.py", "verify_release.py"])
def test_a_place_that_is_none_is_one_line(tree: Path, name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    done = tool(tree, name, str(tmp_path / "file"))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["build.py", "verify_release.py"])
@pytest.mark.parametrize("output", ["full", "closed"])
def test_an_answer_that_does_not_arrive_is_no_answer(tree: Path, name: str, output: str, release: Path) -> None:
    """And no file is left half written: the release is there as it was."""
    command = [sys.executable, "-I", "-S", "-B", str(tree / "tools" / name), str(release)]
    sign = ">/dev/full" if output == "full" else ">&-"
    done = subprocess.run(["sh", "-c", f'"$@" {sign}', "sh", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output: ") and done.stderr.count("\n") == 1


def test_a_release_is_written_as_a_whole_or_not_at_all(tree: Path, release: Path) -> None:
    before = {path.name: path.read_bytes() for path in release.iterdir()}
    (release / "aasm.pyz").unlink()
    (release / "aasm.pyz").mkdir()
    del before["aasm.pyz"]
    for path in release.iterdir():
        if path.is_file():
            path.write_bytes(before[path.name] + b"older")
    done = tool(tree, "build.py", str(release))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "aasm.pyz: " in done.stderr
    assert {path.name: path.read_bytes() for path in release.iterdir() if path.is_file()} == {
        name: data + b"older" for name, data in before.items()
    }


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--odd"]], ids=str)
@pytest.mark.parametrize("name", ["build.py", "verify_release.py", "install.py", "vendor.py", "sbom.py"])
def test_a_wrong_command_line_is_one_line(tree: Path, name: str, words: List[str]) -> None:
    done = tool(tree, name, *(words or ["--"] * (name == "sbom.py") + ["x"] * (name == "sbom.py")))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and done.stderr.endswith(f"; see tools/{name} --help\n")


def test_archives_differ_in_the_members_that_are_named() -> None:
    one, two = ([Entry("a", b"1"), Entry("b", b"2")], [Entry("b", b"3"), Entry("c", b"4")])
    expected = ["a: is missing", "b: differs", "c: is too much"]
    assert differences(zip_bytes(one, EARLIEST), zip_bytes(two, EARLIEST)) == expected
    packed = tar_gz_bytes("f", one, EARLIEST), tar_gz_bytes("f", two, EARLIEST)
    assert differences(*packed) == [f"f/{line}" for line in expected]
    assert differences(zip_bytes(one, EARLIEST), zip_bytes(one[::-1], EARLIEST + 9)) == []
    with pytest.raises(ValueError, match="no archive of this project"):
        members(b"\x1f\x8b nothing")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_whole(str(target), b"first", 0o600)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"first", 0o600)
    with pytest.raises(IsADirectoryError):
        write_whole(str(tmp_path), b"second")
    with pytest.raises(TypeError):
        write_whole(str(target), "no bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"first" and list(tmp_path.iterdir()) == [target]
