# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""tools/vendor.py: what each part holds, that it is written once and whole, and that a copy can be compared later."""

from __future__ import annotations

import ast
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import archives
import pytest
import vendor
from project import PACKAGE, ROOT, package_modules, parsed, python_files
from support import copied

from aasm import origin

PARTS = list(vendor.PARTS)


@pytest.fixture(autouse=True)
def the_tree_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether SBOM.spdx.json of this tree is up to date, and git has all of it, is not what is tried here."""
    monkeypatch.setattr(vendor, "changed", lambda files: [])
    monkeypatch.setattr(vendor, "revision", lambda root: None)


def files_of(folder: Path) -> Dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- what is copied -----------------------------------------------------------------------------------


def test_the_whole_package_is_copied_byte_for_byte(tmp_path: Path) -> None:
    assert vendor.main([str(tmp_path), "--package", "acme"]) == 0
    found = files_of(tmp_path / "acme")
    assert set(found) >= {path.relative_to(ROOT / PACKAGE).as_posix() for path in python_files(PACKAGE)}
    for name, data in found.items():
        source = ROOT / name if name in vendor.PAPERS else ROOT / PACKAGE / name
        assert name in ("MANIFEST.sha256", "REVISION") or source.read_bytes() == data
    assert {"LICENSE", "NOTICE", "MANIFEST.sha256", "py.typed"} <= set(found)
    assert not [name for name in found if name.startswith(("tests", "tools")) or name.endswith(".pyc")]


@pytest.mark.parametrize("part", PARTS)
def test_sha256sum_finds_every_file_of_a_part_as_it_is_listed(tmp_path: Path, part: str) -> None:
    folder = copied.vendored(tmp_path, "acme", part)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "MANIFEST.sha256"], cwd=folder, check=True)
    listed = [line.split("  ")[1] for line in (folder / "MANIFEST.sha256").read_text().splitlines()]
    assert listed == sorted(listed) and {*listed, "MANIFEST.sha256"} == set(files_of(folder))


@pytest.mark.parametrize("part", PARTS)
def test_every_module_of_a_part_can_be_imported_from_it_alone(tmp_path: Path, part: str) -> None:
    folder = copied.vendored(tmp_path, "acme", part)
    names = [name.replace(PACKAGE, "acme", 1) for name in vendor.modules(part)] if part != "all" else []
    if part == "all":
        names = [name.replace(PACKAGE, "acme", 1) for name in package_modules()]
    assert len(names) > 20
    code = "import importlib, sys; sys.path.insert(0, sys.argv[1]); [importlib.import_module(n) for n in sys.argv[2:]]"
    code += f"; assert {PACKAGE!r} not in sys.modules"
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(folder.parent), *sorted(names)]
    subprocess.run(command, check=True)


def test_the_parts_hold_what_they_are_called_by_and_not_the_rest() -> None:
    verifier, launcher = (set(vendor.contents(part, None)) for part in ("verifier", "launcher"))
    assert {"receipt/verify.py", "cli/self_verify.py", "__main__.py"} <= verifier
    assert {"launcher.py", "backends/native/prepare.py", "_sys/order.py", "cli/self_verify.py"} <= launcher
    assert {name for name in verifier if name.startswith("_sys/")} == {"_sys/__init__.py", "_sys/streams.py"}
    assert not [name for name in verifier if name.startswith(("backends/", "supervise/", "policy/"))]
    assert not [name for name in launcher if name.startswith(("supervise/", "policy/", "governance/", "devtools/"))]
    for part in (verifier, launcher):
        assert not part & {"run.py", "bind.py", "receipt/store.py", "cli/run.py", "cli/policy.py"}
    assert len(verifier) < 35 and len(launcher) < 55


def test_nothing_in_the_package_names_the_package() -> None:
    """All imports are relative, and no text is the dotted name of a module of ours: so it may be called otherwise."""
    named, modules = [], package_modules() - {PACKAGE}
    for path in python_files(PACKAGE):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                named += [f"{path}:{node.lineno}" for alias in node.names if alias.name.split(".")[0] == PACKAGE]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                named += [f"{path}:{node.lineno}"] if (node.module or "").split(".")[0] == PACKAGE else []
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in modules:
                named.append(f"{path}:{node.lineno}")
    # a text that `--help` of the launcher replaces by the name that the copy has
    assert [name for name in named if "launcher.py" not in name] == []


def test_a_copy_is_the_same_whoever_makes_it_and_when(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", str(ROOT / "tools" / "vendor.py"), "--modified"]
    for name, mask in (("a", 0o022), ("b", 0o077), ("c", 0o000)):
        subprocess.run([*command, str(tmp_path / name)], check=True, umask=mask, stdout=subprocess.DEVNULL)
    one, *others = (files_of(tmp_path / name) for name in "abc")
    assert all(other == one for other in others)
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o7777 == (0o755 if path.is_dir() else 0o644), path


# --- refusals -----------------------------------------------------------------------------------------


NO_NAMES = (
    "", "a.b", "a-b", "1a", "a b", "class", "None", "async", "json", "os", "sys", "_signal", "tomllib", "distutils",
    "test", "sitecustomize", "xxsubtype", "x" * 101,
    "__main__", "\u00fc", "\ufb01", "a/b", "..", "a\nb",
)  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_that_no_package_should_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert vendor.main([str(tmp_path), f"--package={name}"]) == 2
    _one_error(capsys)
    assert os.listdir(tmp_path) == []


def test_every_module_of_this_python_is_known() -> None:
    """Also to a Python that does not have it, or cannot list its own."""
    known = {*vendor.listed(), *vendor.OF_SOME_PYTHONS, *vendor.NOT_LISTED}
    library = os.path.dirname(os.__file__)
    there = {module.name for module in pkgutil.iter_modules([library, os.path.join(library, "lib-dynload")])}
    public = {name for name in {*getattr(sys, "stdlib_module_names", ()), *there} if not name.startswith("_")}
    assert public - known == set()


def _one_error(capsys: pytest.CaptureFixture[str]) -> str:
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.startswith("error: ") and shown.err.count("\n") == 1, shown.err
    return shown.err


def test_what_exists_is_never_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "aasm").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "acme").symlink_to("nowhere")
    for words in (["aasm"], ["file"], ["acme"]):
        assert vendor.main([str(tmp_path), "--package", *words]) == 2
        assert "exists already" in _one_error(capsys)
    for place in (tmp_path / "file", tmp_path / "acme"):
        assert vendor.main([str(place)]) == 2
        assert "is no directory" in _one_error(capsys)
    assert sorted(os.listdir(tmp_path)) == ["aasm", "acme", "file"] and os.listdir(tmp_path / "aasm") == []


@pytest.mark.parametrize("problem, code", [(OSError(28, os.strerror(28), "x"), 2), (KeyboardInterrupt(), None)])
@pytest.mark.parametrize("dest", [".", "a/b"])
def test_a_copy_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dest: str, problem: BaseException, code: Optional[int]
) -> None:
    real, calls = archives.write_new, []

    def write(path: str, *more: Any) -> None:
        calls.append(path)
        real(path, *more)
        if len(calls) == 40:
            raise problem

    monkeypatch.setattr(archives, "write_new", write)
    found = vendor.main([str(tmp_path / dest)])
    assert found == code if code else found > 2
    assert len(calls) == 40 and os.listdir(tmp_path) == []


@pytest.mark.parametrize("words", [[""], ["", "--check"]])
def test_an_empty_name_of_a_directory_is_refused(capsys: pytest.CaptureFixture[str], words: List[str]) -> None:
    assert vendor.main(words) == 2
    assert _one_error(capsys).startswith("error: DEST: is the empty text; name the directory")


def test_the_remedy_for_a_name_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("\u00e9", "\u00fcn\u00ef", "__x"):
        assert vendor.main([str(tmp_path), "--package", name]) == 2
        assert "of the letters a to z and A to Z, digits and _, that begins with no " in _one_error(capsys)
    assert vendor.main([str(tmp_path / "new"), "--package", "x" * 300]) == 2
    assert _one_error(capsys) == "error: --package: this name has 300 letters; give it one of at most 100\n"
    assert os.listdir(tmp_path) == []
    assert vendor.main([str(tmp_path / "new"), "--package", "x" * 100]) == 0


@pytest.mark.parametrize("words", [[], ["a", "b"], ["--part", "half", "x"], ["--no-such", "x"], ["--pack", "x", "y"]])
def test_a_wrong_command_line_is_one_line(capsys: pytest.CaptureFixture[str], words: List[str]) -> None:
    assert vendor.main(words) == 2
    _one_error(capsys)


# --- the tree that is copied --------------------------------------------------------------------------


def tree(top: Path) -> Path:
    """Return a tree with what tools/vendor.py needs, and an SBOM of it."""
    for folder in ("aasm", "tools", "tests/meta"):
        shutil.copytree(ROOT / folder, top / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, top / name)
    entries = [(path.relative_to(top).as_posix(), path.read_bytes()) for path in top.rglob("*") if path.is_file()]
    (top / "SBOM.spdx.json").write_bytes(copied.listed(entries, copied.TREE))
    return top


def vendored_from(top: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", "-S", "-B", str(top / "tools" / "vendor.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_changed_tree_is_refused_unless_that_is_meant(tmp_path: Path) -> None:
    top = tree(tmp_path / "tree")
    assert vendored_from(top, str(tmp_path / "right")).returncode == 0
    changes = (
        lambda: (top / "aasm" / "errors.py").write_text("# other\n" + (ROOT / "aasm" / "errors.py").read_text()),
        lambda: (top / "aasm" / "new.py").write_text(""),
        lambda: (top / "aasm" / "explain.py").unlink(),
        lambda: (top / "NOTICE").write_text(""),
    )
    for number, change in enumerate(changes, 1):
        change()
        done = vendored_from(top, str(tmp_path / "wrong"))
        assert (done.returncode, done.stdout) == (2, ""), done
        assert done.stderr.startswith(f"error: {top}: {number} file(s) are not what SBOM.spdx.json lists, first ")
    assert not (tmp_path / "wrong").exists()
    assert vendored_from(top, str(tmp_path / "meant"), "--modified").returncode == 0
    assert not (tmp_path / "meant" / "aasm" / "REVISION").exists()


def test_a_tree_without_an_sbom_is_said(tmp_path: Path) -> None:
    top = tree(tmp_path / "tree")
    (top / "SBOM.spdx.json").unlink()
    done = vendored_from(top, str(tmp_path / "copy"))
    assert done.returncode == 0 and done.stderr.startswith("note: there is no SBOM.spdx.json here"), done


def test_the_revision_is_stated_only_by_a_clean_checkout_or_an_unchanged_archive(tmp_path: Path) -> None:
    top = tree(tmp_path / "tree")
    (top / "REVISION").write_text(f"{copied.COMMIT}\n")

    def stated(name: str, *words: str) -> str:
        assert vendored_from(top, str(tmp_path / name), *words).returncode == 0
        path = tmp_path / name / "aasm" / "REVISION"
        return path.read_text().strip() if path.exists() else ""

    assert stated("archive") == copied.COMMIT
    (top / "REVISION").unlink()
    who = ("-c", "user.name=x", "-c", "user.email=x", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "one")):
        subprocess.run(["git", *who, *words], cwd=top, check=True)
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=top, text=True).strip()
    assert stated("checkout") == head
    (top / "tools" / "more").write_text("not committed")
    assert stated("dirty") == ""
    (top / "tools" / "more").unlink()
    (top / "aasm" / "explain.py").write_text("other")
    assert stated("changed", "--modified") == ""


# --- checking -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_a_copy_is_compared_with_the_tree_file_by_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    words = [str(tmp_path), "--package", "acme", "--part", part]
    assert vendor.main(words) == 0
    capsys.readouterr()
    assert vendor.main([*words, "--check"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/acme: the same as this tree\n"
    folder = tmp_path / "acme"
    (folder / "errors.py").write_text("")
    (folder / "model" / "plan.py").unlink()
    (folder / "x.so").write_bytes(b"")
    (folder / "NOTICE").write_text("other")
    assert vendor.main([*words, "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "differs: acme/NOTICE", "differs: acme/errors.py", "missing: acme/model/plan.py", "too much: acme/x.so",
    ]  # fmt: skip


def test_a_copy_that_was_changed_together_with_its_manifest_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the copy itself cannot find out: it calls itself the same, and the tree does not."""
    folder = copied.vendored(tmp_path)
    (folder / "errors.py").write_text((folder / "errors.py").read_text() + "# changed\n")
    (folder / "MANIFEST.sha256").unlink()
    (folder / "MANIFEST.sha256").write_bytes(vendor.manifest(files_of(folder)))
    itself = subprocess.check_output([sys.executable, "-I", str(folder), "self-verify", "--json"])
    assert json.loads(itself)["same"] is True
    assert vendor.main([str(tmp_path), "--package", "acme", "--check"]) == 1
    assert "differs: acme/errors.py\n" in capsys.readouterr().out


def test_another_revision_or_one_that_is_none_is_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied.vendored(tmp_path)
    words = [str(tmp_path), "--package", "acme", "--check"]
    assert vendor.main(words) == 0
    monkeypatch.setattr(vendor, "revision", lambda root: "1" * 40)
    assert vendor.main(words) == 1
    assert "differs: acme/REVISION\n" in capsys.readouterr().out
    (folder / "REVISION").write_text("latest\n")
    assert vendor.main(words) == 1
    assert "too much: acme/REVISION\n" in capsys.readouterr().out


def test_another_part_is_another_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied.vendored(tmp_path, "acme", "verifier")
    assert vendor.main([str(tmp_path), "--package", "acme", "--check"]) == 1
    assert "missing: acme/run.py\n" in capsys.readouterr().out


def test_a_link_counts_as_the_file_that_it_leads_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, words = copied.vendored(tmp_path), [str(tmp_path), "--package", "acme", "--check"]
    (folder / "errors.py").rename(tmp_path / "elsewhere")
    (folder / "errors.py").symlink_to(tmp_path / "elsewhere")
    assert vendor.main(words) == 0
    (tmp_path / "elsewhere").write_text("other")
    assert vendor.main(words) == 1
    assert "differs: acme/errors.py\n" in capsys.readouterr().out


def test_compiled_files_of_a_copy_are_compared_with_its_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied.vendored(tmp_path)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    words = [str(tmp_path), "--package", "acme", "--check"]
    assert vendor.main(words) == 0
    (compiled,) = (folder / "__pycache__").glob(f"errors.{sys.implementation.cache_tag}.pyc")
    (other,) = (folder / "__pycache__").glob(f"bind.{sys.implementation.cache_tag}.pyc")
    compiled.write_bytes(compiled.read_bytes()[:16] + other.read_bytes()[16:])
    assert vendor.main(words) == 1
    assert f"differs from its source: acme/__pycache__/{compiled.name}\n" in capsys.readouterr().out


def test_there_must_be_a_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vendor.main([str(tmp_path), "--check"]) == 2
    assert "there is no copy here" in _one_error(capsys)


def test_the_command_that_it_names_checks_the_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "it's a $place"
    assert vendor.main([str(place)]) == 0
    command = re.sub("^.*; to check it: ", "", capsys.readouterr().out)
    subprocess.run(["sh", "-e", "-c", command], check=True)
    (place / "aasm" / "errors.py").write_text("")
    assert subprocess.run(["sh", "-e", "-c", command], check=False, capture_output=True).returncode == 1


def test_origin_and_vendor_mean_the_same_files() -> None:
    assert set(vendor._MADE) == {origin.MANIFEST, origin.REVISION}
