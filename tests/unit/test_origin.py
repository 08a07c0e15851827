# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where a copy came from: the digest that a shell computes, and a revision that is right or unknown, never wrong."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest
from project import PACKAGE, ROOT

from aasm import __version__, origin

FIRST, SECOND = "1" * 40, "2" * 64
INFO = f"aasm-{__version__}.dist-info"


def copy_at(top: Path, name: str = "aasm", **more: str) -> origin.Copy:
    """Return a small package beneath `top`; `more` are further files, with __ for each slash in their names."""
    files = {f"{name}/__init__.py": "1", f"{name}/a_b.py": "2", f"{name}/a/b.py": "3", f"{name}/notes": "4"}
    for path, text in {**files, **{path.replace("__", "/"): text for path, text in more.items()}}.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text, encoding="utf-8")
    return origin.Copy(str(top / name))


def read(copy: origin.Copy) -> origin.Origin:
    return origin.Reading(copy).finish()


def by_shell(folder: Path) -> str:
    """Return the digest as docs/receipt-format.md has it computed."""
    text = (ROOT / "docs" / "receipt-format.md").read_text(encoding="utf-8")
    (command,) = [line for line in text.splitlines() if line.startswith("find . ")]
    found = subprocess.check_output(["sh", "-c", f"{command} | sha256sum"], cwd=folder, text=True)
    return "sha256:" + found.split()[0]


# --- the digest ---------------------------------------------------------------------------------------


def test_the_digest_is_what_a_shell_computes(tmp_path: Path) -> None:
    small = copy_at(tmp_path)
    (tmp_path / "aasm" / "__pycache__").mkdir()
    (tmp_path / "aasm" / "__pycache__" / "a.cpython-39.pyc").write_bytes(b"x")
    assert read(small).code_digest == by_shell(tmp_path / "aasm")
    assert read(origin.running()).code_digest == by_shell(ROOT / PACKAGE)


def test_it_depends_on_the_sources_and_on_nothing_else(tmp_path: Path) -> None:
    before = read(copy_at(tmp_path / "one"))
    other = copy_at(tmp_path / "two", "acme")
    (tmp_path / "two" / "acme" / "notes").write_text("other")
    (tmp_path / "two" / "acme" / "a_b.py").chmod(0o600)
    assert read(other) == before
    for change in ("acme/a/b.py", "acme/new.py"):
        copy = copy_at(tmp_path / change.replace("/", "-"), "acme")
        Path(copy.root, change).write_text("other")
        assert read(copy).code_digest not in (None, before.code_digest)


def test_a_link_to_a_file_counts_as_the_file_and_one_to_a_folder_makes_it_unknown(tmp_path: Path) -> None:
    plain, linked = copy_at(tmp_path / "plain"), copy_at(tmp_path / "linked")
    shutil.move(os.path.join(linked.folder, "a_b.py"), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", os.path.join(linked.folder, "a_b.py"))
    assert read(linked) == read(plain)
    os.symlink(os.path.join(plain.folder, "a"), os.path.join(linked.folder, "more"))
    assert read(linked).code_digest is None


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "x.py")


def _huge(folder: Path) -> None:
    with open(folder / "x.py", "wb") as file:
        file.truncate(origin.LARGEST_SOURCE + 1)


UNREADABLE: Dict[str, Callable[[Path], Any]] = {
    "a fifo": _fifo,
    "too large": _huge,
    "a link to nothing": lambda folder: (folder / "x.py").symlink_to(folder / "missing"),
    "a link to a device": lambda folder: (folder / "x.py").symlink_to("/dev/zero"),
    "two lines in a name": lambda folder: (folder / ("a.py\n" + "0" * 64 + "  b.py")).write_text(""),
    "a blank in a name": lambda folder: (folder / "a b.py").write_text(""),
    "a name that is no text": lambda folder: Path(os.fsdecode(os.fsencode(folder) + b"/\xff.py")).write_text(""),
}


@pytest.mark.parametrize("name", list(UNREADABLE))
def test_what_cannot_be_read_or_written_down_is_unknown(tmp_path: Path, name: str) -> None:
    copy = copy_at(tmp_path)
    assert read(copy).code_digest is not None
    UNREADABLE[name](tmp_path / "aasm")
    started = time.monotonic()
    assert read(copy).code_digest is None
    assert time.monotonic() - started < 5


def test_nothing_to_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "aasm").mkdir()
    for name in ("aasm", "missing"):
        assert read(origin.Copy(str(tmp_path / name))) == (None, None)


def test_each_step_reads_one_file_and_the_rest_can_be_done_at_once(tmp_path: Path) -> None:
    copy = copy_at(tmp_path)
    reading = origin.Reading(copy)
    steps = [reading.step() for _ in range(6)]
    assert steps == [True, True, True, False, False, False]
    begun = origin.Reading(copy)
    begun.step()
    assert begun.finish() == reading.finish() == read(copy)


def test_a_file_that_changes_between_two_steps_counts_as_it_is_when_it_is_read(tmp_path: Path) -> None:
    copy = copy_at(tmp_path)
    reading = origin.Reading(copy)
    reading.step()
    seen = reading._rows[0][0]
    for name in {"__init__.py", "a_b.py", "a/b.py"} - {seen}:
        Path(copy.folder, name).write_text("new")
    expected = by_shell(Path(copy.folder))
    Path(copy.folder, seen).write_text("later")
    assert reading.finish().code_digest == expected


# --- the revision -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"REVISION": FIRST}, None),  # somebody else's: nothing says that it is about this package
        ({"aasm__REVISION": FIRST}, None),
        ({"aasm__REVISION": FIRST, "aasm__MANIFEST.sha256": ""}, FIRST),
        ({"aasm__REVISION": f"{SECOND}\n", "aasm__MANIFEST.sha256": ""}, SECOND),
        ({"aasm__MANIFEST.sha256": "", "REVISION": FIRST, "SBOM.spdx.json": "", "tools__build_backend.py": ""}, None),
        ({"REVISION": FIRST, "SBOM.spdx.json": ""}, None),
        ({"REVISION": FIRST, "SBOM.spdx.json": "", "tools__build_backend.py": ""}, FIRST),
        ({f"{INFO}__REVISION": FIRST, f"{INFO}__sboms__aasm.spdx.json": ""}, FIRST),
        ({"aasm-9.9.9.dist-info__REVISION": FIRST, "aasm-9.9.9.dist-info__sboms__aasm.spdx.json": ""}, None),
    ],
)
def test_a_file_beside_the_copy_says_the_revision_when_it_is_about_the_copy(
    tmp_path: Path, files: Dict[str, str], expected: Optional[str]
) -> None:
    assert origin.revision(copy_at(tmp_path, **files)) == expected


def test_a_copy_of_another_name_is_not_the_installed_package_beside_it(tmp_path: Path) -> None:
    more = {f"{INFO}__REVISION": FIRST, f"{INFO}__sboms__aasm.spdx.json": ""}
    assert origin.revision(copy_at(tmp_path, "acme", **more)) is None


WRONG: List[bytes] = [
    b"", b"\n", b"1" * 39, b"1" * 41, b"1" * 63, b"g" * 40, b"A" * 40, b" " + b"1" * 40, b"1" * 40 + b"\n\n",
    b"1" * 40 + b"\r\n", b"1" * 40 + b"\0", b"\xff" * 40, "\u0661".encode() * 40, b"1" * 40 + b"\n" + b"2" * 40,
    b"1" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("data", WRONG)
def test_anything_but_one_full_hash_is_unknown(tmp_path: Path, data: bytes) -> None:
    assert origin.commit_in(data) is None
    copy = copy_at(tmp_path, **{"aasm__MANIFEST.sha256": ""})
    Path(copy.folder, "REVISION").write_bytes(data)
    assert origin.revision(copy) is None


def checkout(top: Path) -> origin.Copy:
    """Return a copy in what looks like our checkout, with a .git of one commit on the branch `main`."""
    copy = copy_at(top, **{"SBOM.spdx.json": "", "tools__build_backend.py": ""})
    (top / ".git" / "refs" / "heads").mkdir(parents=True)
    (top / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (top / ".git" / "refs" / "heads" / "main").write_text(f"{FIRST}\n")
    return copy


def test_a_loose_ref_a_packed_one_and_a_detached_head(tmp_path: Path) -> None:
    copy, git = checkout(tmp_path), tmp_path / ".git"
    assert origin.revision(copy) == FIRST
    (git / "refs" / "heads" / "main").unlink()
    assert origin.revision(copy) is None
    packed = f"# pack-refs with: peeled\n{SECOND} refs/heads/mainline\n{'3' * 40} refs/heads/main\n^{'4' * 40}\n"
    (git / "packed-refs").write_text(packed)
    assert origin.revision(copy) == "3" * 40
    (git / "HEAD").write_text(f"{SECOND}\n")
    assert origin.revision(copy) == SECOND


def test_a_worktree_has_its_own_head_and_the_common_refs(tmp_path: Path) -> None:
    copy, own = checkout(tmp_path / "tree"), tmp_path / "main" / ".git" / "worktrees" / "tree"
    own.mkdir(parents=True)
    shutil.move(str(tmp_path / "tree" / ".git" / "refs"), str(tmp_path / "main" / ".git" / "refs"))
    shutil.rmtree(tmp_path / "tree" / ".git")
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text("../..\n")
    (tmp_path / "tree" / ".git").write_text(f"gitdir: {own}\n")
    assert origin.revision(copy) == FIRST
    assert origin.git_folders(copy.root) == (str(own), str(tmp_path / "main" / ".git"))
    assert set(origin.told_by(copy)) >= {str(own), str(tmp_path / "main" / ".git"), str(tmp_path / "tree" / ".git")}
    (tmp_path / "tree" / ".git").write_text("gitdir: ../main/.git/worktrees/tree\n")
    assert origin.revision(copy) == FIRST


def test_git_itself_agrees(tmp_path: Path) -> None:
    copy = copy_at(tmp_path / "a", **{"SBOM.spdx.json": "", "tools__build_backend.py": ""})

    def git(*words: str) -> str:
        settings = ("user.name=x", "user.email=x", "commit.gpgsign=false", "init.defaultBranch=x/y#1")
        who = [word for setting in settings for word in ("-c", setting)]
        done = subprocess.run(["git", *who, *words], cwd=copy.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    assert origin.revision(copy) is None  # no commit yet
    git("add", ".")
    git("commit", "-q", "-m", "one")
    states = [git("rev-parse", "HEAD")]
    assert origin.revision(copy) == states[0]
    git("pack-refs", "--all")
    assert origin.revision(copy) == states[0]
    git("commit", "-q", "--allow-empty", "-m", "two")
    assert origin.revision(copy) == git("rev-parse", "HEAD") != states[0]
    git("checkout", "-q", "--detach", states[0])
    assert origin.revision(copy) == states[0]
    git("worktree", "add", "-q", str(tmp_path / "b"), "x/y#1")
    other = origin.Copy(str(tmp_path / "b" / "aasm"))
    assert origin.revision(other) == git("rev-parse", "x/y#1") != states[0]


def test_the_checkout_of_another_project_says_nothing_about_this_package(tmp_path: Path) -> None:
    copy = checkout(tmp_path)
    os.unlink(tmp_path / "tools" / "build_backend.py")
    assert origin.revision(copy) is None


def _replaced(path: Path, make: Callable[[Path], Any]) -> None:
    path.unlink()
    make(path)


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 34)


def _linked(path: Path) -> None:
    other = path.parent / "elsewhere"
    other.write_text(f"{FIRST}\n")
    path.symlink_to(other)


HOSTILE: Dict[str, Callable[[Path], Any]] = {
    "a fifo": os.mkfifo,
    "huge": _sparse,
    "a link": _linked,
    "a folder": os.mkdir,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a ref outside": lambda path: path.write_text("ref: refs/heads/../../../outside\n"),
    "an absolute ref": lambda path: path.write_text("ref: /etc/passwd\n"),
    "a ref that goes on": lambda path: path.write_text("ref: " + "refs/heads/a" * 300 + "!\n"),
    "a ref to a ref": lambda path: path.write_text("ref: refs/heads/loop\n"),
    "noise": lambda path: path.write_bytes(random.Random(5).getrandbits(8000).to_bytes(1000, "big")),
}


@pytest.mark.parametrize("name", list(HOSTILE))
@pytest.mark.parametrize("file", ["HEAD", "refs/heads/main", "packed-refs"])
def test_a_hostile_git_is_unknown_and_holds_nobody_up(tmp_path: Path, file: str, name: str) -> None:
    copy, git = checkout(tmp_path), tmp_path / ".git"
    (tmp_path / "outside").write_text(f"{FIRST}\n")
    if file == "packed-refs":
        (git / "refs" / "heads" / "main").unlink()
        (git / "packed-refs").write_text("")
    _replaced(git / file, HOSTILE[name])
    started = time.monotonic()
    assert origin.revision(copy) is None
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "a folder"])
def test_a_hostile_file_in_place_of_git_is_unknown(tmp_path: Path, name: str) -> None:
    copy = checkout(tmp_path)
    shutil.rmtree(tmp_path / ".git")
    HOSTILE[name](tmp_path / ".git")
    (tmp_path / "REVISION").write_text(FIRST)  # that of the archive from which somebody made a checkout
    assert origin.revision(copy) is None


# --- archives -----------------------------------------------------------------------------------------

TELL = """
import sys
sys.path.insert(0, sys.argv[1])
from {package} import origin
copy = origin.running()
print(*origin.Reading(copy).finish(), copy.root, copy.place)
"""


def told_from(archive: str, package: str = "aasm") -> List[str]:
    command = [sys.executable, "-I", "-S", "-c", TELL.format(package=package), archive]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def zipped(path: Path, more: Dict[str, str], package: str = "aasm", prefix: str = "", method: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted((ROOT / PACKAGE).rglob("*.py")):
            archive.write(file, f"{prefix}{package}/{file.relative_to(ROOT / PACKAGE)}")
        for name, text in more.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_has_the_digest_of_the_folder(tmp_path: Path, method: int) -> None:
    archive = zipped(tmp_path / "a.pyz", {"REVISION": FIRST, "SBOM.spdx.json": "{}", "__main__.py": ""}, method=method)
    digest = by_shell(ROOT / PACKAGE)
    assert told_from(str(archive)) == [FIRST, digest, str(archive), str(archive)]
    named = zipped(tmp_path / "b.pyz", {}, "acme", "lib/")
    assert told_from(f"{named}/lib", "acme") == ["None", digest, f"{named}/lib", str(named)]


def test_the_revision_of_an_archive_with_other_code_is_not_ours(tmp_path: Path) -> None:
    more = {"REVISION": FIRST, "SBOM.spdx.json": "{}", "other/__init__.py": ""}
    assert told_from(str(zipped(tmp_path / "a.pyz", more)))[0] == "None"
    inside = {"other/__init__.py": "", "aasm/MANIFEST.sha256": "", "aasm/REVISION": SECOND}
    assert told_from(str(zipped(tmp_path / "b.pyz", inside)))[0] == SECOND


def test_an_archive_that_was_cut_short_meanwhile_is_unknown(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.pyz", {})
    code = TELL.format(package="aasm").replace("copy =", "open(sys.argv[1], 'w').close(); copy =")
    done = subprocess.run([sys.executable, "-I", "-c", code, str(archive)], capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == ["None", "None"]
