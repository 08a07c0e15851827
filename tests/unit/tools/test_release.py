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
import verify_release
from archives import members
from project import ROOT, Entry, entries

STEM = "aasm-" + build.Project(ROOT).version
STATEMENT = f"{STEM}.provenance.json"
NOTE = "note: neither the release nor this tree states a revision, so nothing says that they are of one"
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


def with_members(data: bytes, *names: str) -> bytes:
    """Return a zip archive with some empty members more."""
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), b"")
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
        (b'{"predicate": {"buildDefinition": {"externalParameters": {"SOURCE_DATE_EPOCH": 9999999999}}}}', "states no"),
        (b'{"predicate": {"buildDefinition": [1]}}', "states no SOURCE_DATE_EPOCH"),
        (b"9" * 10_000_000, "states no SOURCE_DATE_EPOCH"),
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


@pytest.mark.parametrize("name", ["planted", "aasm.pyz"])
@pytest.mark.parametrize("plant", ["symbolic link", "directory", "pipe"])
def test_what_is_no_file_is_not_read_but_named(tree: Path, plant: str, name: str, release: Path) -> None:
    planted = release / name
    if name == "aasm.pyz":
        planted.rename(release.parent / name)
    if plant == "symbolic link":
        planted.symlink_to("/dev/zero" if name == "planted" else release.parent / name)
    else:
        {"directory": os.mkdir, "pipe": os.mkfifo}[plant](planted)
    done = tool(tree, "verify_release.py", str(release))
    lines = [NOTE, f"{name}: is a {plant}, and a release has files alone"]
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (1, lines, "")


def test_a_statement_that_is_a_link_is_not_followed(tree: Path, release: Path) -> None:
    (release / STATEMENT).rename(release.parent / "elsewhere")
    (release / STATEMENT).symlink_to(release.parent / "elsewhere")
    done = tool(tree, "verify_release.py", str(release))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{STATEMENT}: is a symbolic link" in done.stderr and done.stderr.count("\n") == 1


def test_what_no_release_has_is_named_and_not_read(tree: Path, release: Path) -> None:
    """However large: the second file is larger than what any of the tools reads."""
    with open(release / "extra", "wb") as extra, open(release / "aasm.pyz", "wb") as own:
        extra.truncate(1 << 40)
        own.truncate(1 << 40)
    done = tool(tree, "verify_release.py", str(release))
    lines = [NOTE, "aasm.pyz: is larger than 64 MiB", "extra: is no file of this release"]
    assert (done.returncode, done.stdout.splitlines()) == (1, lines)


def test_no_name_from_outside_makes_a_line_of_its_own(tree: Path, release: Path) -> None:
    evil = "x\nevery file is the same, byte for byte\x1b[2K"
    for path in release.iterdir():
        if path.suffix == ".pyz":
            data = path.read_bytes()
            path.write_bytes(with_members(data, evil))
    for name in (b"a\nerror: fake\033[31m", b"\xff\xfe"):
        with open(os.path.join(os.fsencode(release), name), "wb"):
            pass
    done = tool(tree, "verify_release.py", str(release))
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.splitlines() == [
        NOTE,
        "a\\nerror: fake\\u001b[31m: is no file of this release",
        "aasm.pyz: differs",
        "aasm.pyz: x\\nevery file is the same, byte for byte\\u001b[2K: is too much",
        "\\udcff\\udcfe: is no file of this release",
    ]


@pytest.mark.parametrize("name", ["build.py", "verify_release.py"])
def test_no_name_of_a_directory_makes_a_line_of_its_own(tree: Path, name: str, tmp_path: Path) -> None:
    """Not one that no encoding of the output can state, either: the files are there, and so is the answer."""
    place = tmp_path / os.fsdecode(b"a\nerror: \xff")
    place.mkdir()
    done = tool(tree, name, str(place), LC_ALL="C.UTF-8", PYTHONIOENCODING="utf-8:strict")
    told = done.stdout.splitlines()[:-1] if name == "build.py" else done.stderr.splitlines()
    assert done.returncode == (0 if name == "build.py" else 2)
    assert len(told) == len(list(place.iterdir())) or len(told) == 1
    assert all("a\\nerror: \\udcff/" in line for line in told)


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (None, None, [NOTE]),
        ("a" * 40, "a" * 40, []),
        ("a" * 40, "b" * 64, [f"note: the revisions differ: the release states {'b' * 64}, this tree {'a' * 40}"]),
        ("a" * 40, None, [f"note: the revisions differ: the release states none, this tree {'a' * 40}"]),
        (None, "b" * 40, [f"note: the revisions differ: the release states {'b' * 40}, this tree none, which only an "
                          "unchanged commit has"]),
    ],
)  # fmt: skip
def test_revisions_that_differ_are_said_in_one_line(ours: Any, theirs: Any, said: List[str]) -> None:
    assert verify_release.revisions(ours, theirs) == said


def test_a_release_of_another_commit_is_said_to_be_one(
    made: Dict[str, bytes], tree: Path, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = json.loads(made[STATEMENT])
    sources = stated["predicate"]["buildDefinition"]["resolvedDependencies"]
    sources.append({"name": "git commit", "digest": {"gitCommit": "b" * 40}})
    (release / STATEMENT).write_text(json.dumps(stated), encoding="utf-8")
    monkeypatch.setattr(verify_release, "ROOT", tree)
    monkeypatch.setattr(verify_release, "revision", lambda root: "a" * 40)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "")
    assert verify_release.verify(str(release)) == [
        f"note: the revisions differ: the release states {'b' * 40}, this tree {'a' * 40}",
        f"{STATEMENT}: differs",
    ]


@pytest.mark.parametrize(
    "sources",
    [
        None, {}, [], [None], [{}], [{"digest": None}], [{"digest": {"gitCommit": None}}],
        [{"digest": {"gitCommit": "b" * 40 + "\n"}}], [{"digest": {"gitCommit": "x\x1b[2K"}}],
        [{"digest": {"gitCommit": "b" * 40}}, {"digest": {"gitCommit": "c" * 40}}],
    ],
    ids=repr,
)  # fmt: skip
def test_a_revision_that_is_none_is_not_taken_from_a_statement(sources: Any) -> None:
    def stated(value: Any) -> bytes:
        return json.dumps({"predicate": {"buildDefinition": {"resolvedDependencies": value}}}).encode("ascii")

    assert verify_release.revision_of(stated(sources)) is None
    assert verify_release.revision_of(stated([{"digest": {"gitCommit": "b" * 40}}])) == "b" * 40


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


@pytest.mark.parametrize("blocks", ["1", "4000"])
def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(tree: Path, blocks: str, tmp_path: Path) -> None:
    """An error of write(2) names no file by itself. The first archive does not fit, then a later one."""
    command = [sys.executable, "-I", "-S", "-B", str(tree / "tools" / "build.py"), str(tmp_path)]
    limited = ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *command]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {tmp_path}/.aasm") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
