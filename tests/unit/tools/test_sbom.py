# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The SBOM of this tree, and the command that makes and checks it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import project
import pytest
import sbom
import spdx
from metadata import Project
from project import ROOT, project_files
from support.small_tree import FILES, GOOD, HEADER

import aasm

SBOM = ROOT / sbom.NAME


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small tree with its SBOM; no date is stated."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / sbom.NAME).write_bytes(sbom.render(GOOD))
    return tmp_path


# --- this tree --------------------------------------------------------------------------------------


def test_the_sbom_of_this_tree_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    code = sbom.main(["--check"])
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err) == (0, "", ""), "run tools/sbom.py last, when everything else is as it shall be"


def test_it_is_the_same_wherever_it_is_checked(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1"}
    command = [sys.executable, "-I", "-B", str(ROOT / "tools" / "sbom.py"), "--check"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_its_hashes_are_those_of_the_files() -> None:
    made = json.loads(SBOM.read_bytes())
    names = [path.relative_to(ROOT).as_posix() for path in project_files()]
    assert [f"./{name}" for name in names if name != sbom.NAME] == [item["fileName"] for item in made["files"]]
    for item in made["files"]:
        data = (ROOT / item["fileName"]).read_bytes()
        hashes = {one["algorithm"]: one["checksumValue"] for one in item["checksums"]}
        assert hashes == {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}
        assert item["licenseConcluded"] == "Apache-2.0" and item["licenseInfoInFiles"] == ["Apache-2.0"]


def test_its_verification_code_is_that_of_the_specification() -> None:
    made = json.loads(SBOM.read_bytes())
    code = made["packages"][0]["packageVerificationCode"]
    excluded = {name[2:] for name in code["packageVerificationCodeExcludedFiles"]}
    assert excluded == {"PKG-INFO", "REVISION", sbom.NAME}
    paths = [path for path in project_files() if path.relative_to(ROOT).as_posix() not in excluded]
    digests = sorted(hashlib.sha1(path.read_bytes()).hexdigest() for path in paths)
    assert code["packageVerificationCodeValue"] == hashlib.sha1("".join(digests).encode()).hexdigest()


def test_it_has_what_is_called_the_minimum() -> None:
    """Supplier, name, version and identifier of each component, dependencies, author, time (NTIA, 2021)."""
    made = json.loads(SBOM.read_bytes())
    for package in made["packages"]:
        assert all(package[key] for key in ("supplier", "name", "versionInfo"))
        assert [ref["referenceType"] for ref in package["externalRefs"]] == ["purl"]
    assert made["packages"][0]["versionInfo"] == aasm.__version__
    rows = [tuple(row.values()) for row in made["relationships"]]
    ours, python = (package["SPDXID"] for package in made["packages"])
    assert rows[:2] == [("SPDXRef-DOCUMENT", "DESCRIBES", ours), (ours, "DEPENDS_ON", python)]
    assert rows[2:] == [(ours, "CONTAINS", item["SPDXID"]) for item in made["files"]]
    assert "Organization: The aasm authors" in made["creationInfo"]["creators"] and made["creationInfo"]["created"]


def test_python_is_the_one_dependency_as_the_metadata_has_it() -> None:
    project = Project(ROOT)
    python = GOOD["packages"][1]
    assert project.list("dependencies") == [] and len(GOOD["packages"]) == 2
    assert python["versionInfo"] == project.text("requires-python") == spdx.PYTHONS in python["comment"]
    assert python["filesAnalyzed"] is False and "packageVerificationCode" not in python


def test_the_notice_names_what_is_there_and_its_comment_agrees() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for name in re.findall(r"\b(?:aasm|tools|tests|LICENSES)/[\w./*-]*\w", notice):
        assert list(ROOT.glob(name)), name
    assert sbom.NAME in notice and "NOTICE" in GOOD["packages"][0]["comment"]


# --- the command ------------------------------------------------------------------------------------


def ran(argv: List[str], root: Path, capsys: pytest.CaptureFixture[str]) -> Tuple[int, str, str]:
    code = sbom.main(argv, root)
    shown = capsys.readouterr()
    assert [path.name for path in root.iterdir() if path.name.startswith(".")] == [], "nothing is left behind"
    return code, shown.out, shown.err


def test_a_tree_that_agrees_is_left_alone(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (tree / sbom.NAME).stat()
    assert ran(["--check"], tree, capsys) == (0, "", "")
    assert ran([], tree, capsys) == (0, "", "")
    after = (tree / sbom.NAME).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_change_is_told_and_then_written(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "tests" / "new.json").write_bytes(b"[]\n")
    code, out, err = ran(["--check"], tree, capsys)
    assert code == 1 and 'SBOM.spdx.json: files: "./tests/new.json" is missing\n' in out
    assert re.fullmatch(r"error: SBOM\.spdx\.json: \d+ fault\(s\) in it or in the tree; .*tools/sbom\.py\n", err)
    assert (tree / sbom.NAME).read_bytes() == sbom.render(GOOD)
    assert ran([], tree, capsys) == (0, "SBOM.spdx.json: written\n", "")
    assert ran(["--check"], tree, capsys) == (0, "", "")


def test_the_date_is_kept_until_something_else_changes(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert ran([], tree, capsys)[:2] == (0, "")
    (tree / sbom.NAME).write_text(json.dumps(GOOD))  # the same document in another form is the same document
    assert ran([], tree, capsys)[0] == 0 and (tree / sbom.NAME).read_bytes() == sbom.render(GOOD)
    (tree / "tests" / "new.json").write_bytes(b"[]\n")
    assert ran([], tree, capsys)[0] == 0
    assert sbom.date_of((tree / sbom.NAME).read_bytes()) == 1700000000


@pytest.mark.parametrize(("stated", "date"), [("0", "1980-01-01T00:00:00Z"), ("253402300799", "9999-12-31T23:59:59Z")])
def test_any_stated_date_makes_a_document_that_holds(
    stated: str, date: str, tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", stated)
    (tree / sbom.NAME).unlink()
    assert ran([], tree, capsys)[0] == 0
    assert sbom.stamp(sbom.date_of((tree / sbom.NAME).read_bytes())) == date
    assert ran(["--check"], tree, capsys) == (0, "", "")


def test_without_a_stated_date_it_is_that_of_today(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1800000000.9)
    (tree / sbom.NAME).unlink()
    assert ran([], tree, capsys)[0] == 0 and sbom.date_of((tree / sbom.NAME).read_bytes()) == 1800000000


@pytest.mark.parametrize("stated", ["yesterday", "-1", "1.5", "\u00b2", "253402300800", "9" * 5000])
def test_a_date_that_is_none_is_refused(
    stated: str, tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", stated)
    (tree / sbom.NAME).unlink()
    code, out, err = ran([], tree, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith("error: SOURCE_DATE_EPOCH: ")
    assert not (tree / sbom.NAME).exists()


def _put(data: bytes) -> Callable[[Path], Any]:
    return lambda tree: (tree / sbom.NAME).write_bytes(data)


def _instead(make: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def spoil(tree: Path) -> None:
        (tree / sbom.NAME).unlink()
        make(tree / sbom.NAME)

    return spoil


NO_SBOM: Dict[str, Tuple[Callable[[Path], Any], str]] = {
    "missing": (_instead(lambda path: None), "(No such file or directory); see that it is"),
    "empty": (_put(b""), "no JSON: Expecting value at line 1, column 1; run tools/sbom.py"),
    "no JSON": (_put(b'{"a": 1,}'), "no JSON: "),
    "cut": (_put(sbom.render(GOOD)[:-3]), "no JSON: "),
    "with more": (_put(sbom.render(GOOD) + b"{}"), "no JSON: "),
    "with a mark": (_put(b"\xef\xbb\xbf" + sbom.render(GOOD)), "no JSON: "),
    "no text": (_put(b'{"a": "\xff"}'), "no JSON: no UTF-8 at byte 7"),
    "no number": (_put(b'{"a": NaN}'), "NaN is no number in JSON"),
    "too deep": (_put(b"[" * 100000), "no JSON that is read here: "),
    "a link": (_instead(lambda path: path.symlink_to("LICENSE")), "is a symbolic link"),
    "a folder": (_instead(lambda path: path.mkdir()), "is no regular file"),
    "a pipe": (_instead(os.mkfifo), "is no regular file"),
}


@pytest.mark.parametrize("name", NO_SBOM)
def test_without_an_sbom_there_is_nothing_to_compare(
    name: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, words = NO_SBOM[name]
    spoil(tree)
    code, out, err = ran(["--check"], tree, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: SBOM.spdx.json: ") and words in err
    if name != "a folder":  # else it is made anew, in the place of whatever was there
        assert ran([], tree, capsys)[0] == 0 and ran(["--check"], tree, capsys) == (0, "", "")


@pytest.mark.parametrize("depth", range(900, 1100, 7))
def test_no_depth_is_a_crash(depth: int, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / sbom.NAME).write_bytes(b'{"files":' + b"[" * depth + b"]" * depth + b"}")
    code, _, err = ran(["--check"], tree, capsys)
    assert code in (1, 2) and err.count("\n") == 1 and err.startswith("error: SBOM.spdx.json: ")


def test_a_number_of_any_length_is_no_crash(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / sbom.NAME).write_bytes(b'{"files": ' + b"1" * 10000 + b"}")
    assert ran(["--check"], tree, capsys)[0] in (1, 2)


def test_a_list_of_anything_is_no_document(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (b"[]", b"null", b'"\\ud800"', b"1e999", b'{"creationInfo": []}', b'{"files": [[], {"fileName": 1}]}'):
        (tree / sbom.NAME).write_bytes(data)
        code, out, err = ran(["--check"], tree, capsys)
        assert (code, err.count("\n")) == (1, 1) and out


def test_a_file_that_is_huge_is_not_read(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(tree / sbom.NAME, "ab") as file:
        file.truncate(1 << 40)  # a hole: it takes no space
    monkeypatch.setattr(project, "LARGEST", 1 << 20)
    code, out, err = ran(["--check"], tree, capsys)
    assert (code, out) == (2, "")
    said = "is larger than 1 MiB, unlike all of ours; take it away, or run tools/sbom.py"
    assert err == f"error: SBOM.spdx.json: {said}\n"


SPOILT: Dict[str, Tuple[Callable[[Path], Any], str]] = {
    "a link to a file": (lambda tree: (tree / "link").symlink_to("LICENSE"), "link: is a symbolic link"),
    "a link to a folder": (lambda tree: (tree / "link").symlink_to("tests"), "link: is a symbolic link"),
    "a link to nothing": (lambda tree: (tree / "link").symlink_to("nothing"), "link: is a symbolic link"),
    "a name of two lines": (lambda tree: (tree / "a\nerror: b").write_bytes(b""), "a\\nerror: b: a name that"),
    "a name that is no text": (lambda tree: (tree / os.fsdecode(b"a\xff")).write_bytes(b""), "a\\udcff: a name that"),
    "no version": (lambda tree: (tree / "aasm/__init__.py").write_bytes(HEADER), "aasm/__init__.py: states no version"),
    "no package": (lambda tree: (tree / "aasm/__init__.py").unlink(), "aasm/__init__.py: states no version"),
    "REUSE.toml": (lambda tree: (tree / "REUSE.toml").write_bytes(b"version = 2\n"), "REUSE.toml: `version = 1` must"),
}


@pytest.mark.parametrize("argv", [[], ["--check"]], ids=["write", "check"])
@pytest.mark.parametrize("name", SPOILT)
def test_a_tree_that_cannot_be_listed_is_one_line(
    name: str, argv: List[str], tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, words = SPOILT[name]
    spoil(tree)
    code, out, err = ran(argv, tree, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith(f"error: {words}")
    assert (tree / sbom.NAME).read_bytes() == sbom.render(GOOD)


def test_a_file_that_vanishes_is_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "project_files", lambda root: [root / "LICENSE", root / "gone"])
    for argv in ([], ["--check"]):
        code, out, err = ran(argv, tree, capsys)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("error: gone: cannot be read (No such file")


@pytest.mark.parametrize("name", ["tools/hashlib.pyc", "x.execution-receipt.json", "docs/.hidden"])
def test_what_git_would_overlook_is_found(name: str, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    (tree / ".gitignore").write_bytes(HEADER + b"*.pyc\n*.json\n.*\n")
    assert sbom.main([], tree) == 0 and sbom.main(["--check"], tree) == 0
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_bytes(HEADER)
    capsys.readouterr()
    assert sbom.main(["--check"], tree) == 1 and name in capsys.readouterr().out


def test_a_pipe_in_the_tree_is_one_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tree / "pipe")
    code, out, err = ran(["--check"], tree, capsys)
    assert (code, out, err) == (2, "", "error: pipe: is no regular file; put one in its place\n")


def test_what_cannot_be_written_is_one_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _instead(lambda path: path.mkdir())(tree)
    code, out, err = ran([], tree, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {tree}/SBOM.spdx.json: Is a directory; see")


def test_what_a_build_adds_is_judged_without_being_listed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pyproject.toml", "README.md"):
        (tree / name).write_bytes((ROOT / name).read_bytes())
    assert ran([], tree, capsys)[0] == 0
    (tree / "PKG-INFO").write_bytes(Project(tree).metadata())
    (tree / "REVISION").write_text("ab" * 20 + "\n")
    assert ran(["--check"], tree, capsys) == (0, "", "")
    (tree / "REVISION").write_text("HEAD\n")
    with open(tree / "PKG-INFO", "ab") as file:
        file.write(b"more\n")
    said = "PKG-INFO: is not what this tree gives\nREVISION: is not the hash of one commit\n"
    assert ran(["--check"], tree, capsys)[:2] == (1, said)
    (tree / "pyproject.toml").unlink()
    assert ran([], tree, capsys)[0] == 0 and ran(["--check"], tree, capsys)[:2] == (1, said)


def test_licences_are_part_of_the_check(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "new.py").write_text("x = 1\n")
    assert ran([], tree, capsys)[0] == 0
    code, out, _ = ran(["--check"], tree, capsys)
    assert (code, out.count("\n")) == (1, 1) and out.startswith("new.py: states no licence and no copyright; ")
    (tree / "new.py").write_bytes(HEADER + b"# SPDX-" b"License-Identifier: \x1b[2J\n")
    assert ran([], tree, capsys)[0] == 0
    code, out, _ = ran(["--check"], tree, capsys)
    assert (code, out.count("\n")) == (1, 1) and out.startswith("new.py:3: states the licence \\u001b[2J; ")


@pytest.mark.parametrize("argv", [["--chek"], ["--check", "x"], ["x"]])
def test_there_is_one_option(argv: List[str], tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(argv, tree, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("error: ") and err.endswith("; see tools/sbom.py --help\n") and err.count("\n") == 1
