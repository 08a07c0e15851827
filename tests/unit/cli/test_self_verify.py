# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm self-verify`: what it prints, its exit codes, and the command that it gives for a look from outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
from project import PACKAGE, ROOT, package_modules
from support import copied

import aasm
from aasm import origin
from aasm.cli import self_verify

NOT_COMPARED = "not compared (for another Python, or of no source)"
Done = subprocess.CompletedProcess


def run(copy: Path, *words: str, python: str = "-B", cwd: Path = ROOT) -> "Done[str]":
    command = [sys.executable, "-I", "-S", python, str(copy), *words]
    return subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", cwd=cwd, check=False)


def one_error(done: "Done[str]", code: int = 2) -> str:
    assert done.returncode == code and done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done
    return done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied.vendored(tmp_path)


def test_it_says_what_it_compared_with_what(folder: Path) -> None:
    done = run(folder, "self-verify")
    assert (done.returncode, done.stderr) == (0, "")
    found = origin.Reading(origin.Copy(str(folder))).finish()
    files = len((folder / "MANIFEST.sha256").read_text().splitlines())
    assert done.stdout.splitlines() == [
        f"copy: {folder} (a vendored copy)",
        f"version: {aasm.__version__}",
        f"revision: {copied.COMMIT}",
        f"code digest: {found.code_digest}",
        f"compared with: {folder}/MANIFEST.sha256, {files} files",
        f"compiled files: 0 as this Python compiles their sources, 0 outdated, 0 {NOT_COMPARED}",
        "same: yes",
        f"from outside, since a changed copy can say anything: cd {folder} && sha256sum -c --quiet MANIFEST.sha256",
    ]


def test_every_difference_has_a_line_and_the_code_is_1(folder: Path) -> None:
    (folder / "explain.py").write_text("")
    (folder / "needs" / "elf.py").unlink()
    (folder / "x\n.so").write_text("")
    compiled = folder / "__pycache__" / f"bind.{sys.implementation.cache_tag}.pyc"
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder / "bind.py")], check=True)
    compiled.write_bytes(compiled.read_bytes()[:-1])
    done = run(folder, "self-verify")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[5:10] == [
        "differs: acme/explain.py",
        "missing: acme/needs/elf.py",
        "too much: acme/x\\x0a.so",
        f"differs from its source: acme/__pycache__/{compiled.name}",
        f"compiled files: 0 as this Python compiles their sources, 0 outdated, 0 {NOT_COMPARED}",
    ]
    assert "\nsame: no\n" in done.stdout
    told = run(folder, "self-verify", "--json")
    facts = json.loads(told.stdout)
    assert (told.returncode, facts["same"], facts["differs"]) == (1, False, ["acme/explain.py"])
    assert facts["compiled"]["differs"] == [f"acme/__pycache__/{compiled.name}"]


def test_a_compiled_file_that_differs_is_enough(folder: Path) -> None:
    """Python executes it and not its source, which is as it must be."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    assert run(folder, "self-verify").returncode == 0
    place = folder / "__pycache__"
    tag = f".{sys.implementation.cache_tag}.pyc"
    (place / f"explain{tag}").write_bytes(
        (place / f"explain{tag}").read_bytes()[:16] + (place / f"bind{tag}").read_bytes()[16:]
    )
    done = run(folder, "self-verify")
    assert done.returncode == 1 and f"differs from its source: acme/__pycache__/explain{tag}\n" in done.stdout


def test_the_object_for_scripts_has_all_of_it(folder: Path) -> None:
    facts = json.loads(run(folder, "self-verify", "--json").stdout)
    assert set(facts) == {
        "schema", "copy", "kind", "version", "revision", "code_digest", "compared_with", "files", "differs", "missing",
        "extra", "unlisted", "compiled", "same", "from_outside",
    }  # fmt: skip
    assert facts["schema"] == self_verify.SCHEMA and facts["same"] is True
    assert set(facts["compiled"]) == {"same", "differs", "unused", "other"}


def test_a_name_that_is_no_text_is_spelled_out(tmp_path: Path) -> None:
    folder = copied.vendored(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n")))
    done = run(folder, "self-verify")
    assert done.returncode == 0 and done.stdout.count("\n") == 8 and "\\xff\\x0a/acme (a vendored copy)" in done.stdout
    assert json.loads(run(folder, "self-verify", "--json").stdout)["copy"].endswith("/\\xff\n/acme")


def test_with_nothing_to_compare_with_it_says_what_is_known_and_fails(folder: Path) -> None:
    (folder / "MANIFEST.sha256").unlink()
    done = run(folder, "self-verify")
    line = one_error(done)
    assert line == f"error: {folder}: there is nothing to compare with; name a list of its files by --against\n"
    assert "code digest: sha256:" in done.stdout and "same:" not in done.stdout
    told = run(folder, "self-verify", "--json")
    assert json.loads(told.stdout)["same"] is None and told.returncode == 2


def test_another_list_can_be_named(folder: Path, tmp_path: Path) -> None:
    sbom = tmp_path / "sbom"
    papers = [(name, (ROOT / name).read_bytes()) for name in ("LICENSE", "NOTICE")]
    sbom.write_bytes(copied.listed([*copied.code(), *papers], copied.TREE))
    done = run(folder, "self-verify", "--against", str(sbom))
    assert done.returncode == 0 and f"compared with: {sbom}, " in done.stdout
    assert "not in the list: acme/REVISION (no code)\n" in done.stdout
    shutil.copy(folder / "MANIFEST.sha256", sbom)
    (folder / "MANIFEST.sha256").write_text(f"{'0' * 64}  errors.py\n")  # whoever changed the copy changed this as well
    assert run(folder, "self-verify", "--against", str(sbom)).returncode == 0
    assert run(folder, "self-verify").returncode == 1


def test_a_link_counts_as_the_file_that_it_leads_to(folder: Path, tmp_path: Path) -> None:
    """Python executes that one; build systems make copies of links."""
    (folder / "errors.py").rename(tmp_path / "elsewhere")
    (folder / "errors.py").symlink_to(tmp_path / "elsewhere")
    assert run(folder, "self-verify").returncode == 0
    (tmp_path / "elsewhere").write_bytes((tmp_path / "elsewhere").read_bytes() + b"\n")
    done = run(folder, "self-verify")
    assert done.returncode == 1 and "differs: acme/errors.py\n" in done.stdout


WRONG: Dict[str, List[str]] = {
    "a word": ["x"],
    "an option": ["--no-such"],
    "half an option": ["--jso"],
    "no value": ["--against"],
    "twice": ["--against", "a", "--against", "b"],
    "no file": ["--against", "/nonexistent"],
    "an empty name": ["--against", ""],
    "no list": ["--against", "/etc/passwd"],
    "a folder": ["--against", "/"],
    "an endless file": ["--against", "/dev/zero"],
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_command_line_is_one_line(folder: Path, name: str) -> None:
    done = run(folder, "self-verify", *WRONG[name])
    one_error(done)
    assert done.stdout == ""


def _huge(folder: Path) -> None:
    with open(folder / "MANIFEST.sha256", "wb") as file:
        file.truncate(1 << 33)


BROKEN: Dict[str, Callable[[Path], Any]] = {
    "no list": lambda folder: (folder / "MANIFEST.sha256").write_text("x\n"),
    "empty": lambda folder: (folder / "MANIFEST.sha256").write_text(""),
    "huge": _huge,
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_list_beside_the_copy_that_is_none_is_one_line(folder: Path, name: str) -> None:
    BROKEN[name](folder)
    assert str(folder) in one_error(run(folder, "self-verify"))


# --- every kind of copy -------------------------------------------------------------------------------


def test_the_command_from_outside_finds_what_was_changed(tmp_path: Path) -> None:
    """Without any code of the copy: sha256sum alone, or with jq where the list is an SBOM."""
    for make in (copied.vendored, copied.wheel, copied.tree):
        folder = make(tmp_path / f"it's {make.__name__}")
        facts = json.loads(run(folder, "self-verify", "--json").stdout)
        if "jq" in facts["from_outside"] and not shutil.which("jq"):
            continue
        command = ["bash", "-o", "pipefail", "-c", facts["from_outside"]]
        assert facts["same"] is True
        subprocess.run(command, check=True)
        (folder / "errors.py").write_bytes((folder / "errors.py").read_bytes() + b"\n")
        assert subprocess.run(command, check=False, capture_output=True).returncode == 1


def test_an_archive_is_compared_as_a_whole(tmp_path: Path) -> None:
    archive = copied.archive(tmp_path / "a.pyz")
    facts = json.loads(run(archive, "self-verify", "--json").stdout)
    assert facts["same"] is True and facts["kind"] == "a zip archive" and facts["revision"] == copied.COMMIT
    assert facts["compared_with"] == f"{archive}/SBOM.spdx.json" and facts["from_outside"].startswith("sha256sum /")
    more = copied.archive(tmp_path / "b.pyz", json__py="", aasm__x="1")
    facts = json.loads(run(more, "self-verify", "--json").stdout)
    assert (facts["same"], facts["extra"]) == (False, ["aasm/x", "json/py"])


def test_a_module_that_was_put_into_an_archive_is_too_much(tmp_path: Path) -> None:
    archive = copied.archive(tmp_path / "a.pyz")
    with zipfile.ZipFile(archive, "a") as changed:
        changed.writestr("json.py", "raise SystemExit('was imported')")
    done = run(archive, "self-verify")
    assert (done.returncode, done.stderr) == (1, ""), done
    assert "copy: " + f"{archive} (a zip archive with other code in it)" in done.stdout
    assert "\ntoo much: json.py\n" in done.stdout and "\nrevision: unknown\n" in done.stdout


BREAKS = "loads = dumps = None"
HIDES = """
import os, sys
sys.path.remove(os.path.dirname(__file__))
mine = sys.modules.pop("json")
from json import *
sys.modules["json"] = mine
"""


@pytest.mark.parametrize("text", [BREAKS, HIDES])
def test_a_module_in_the_place_of_one_of_pythons_leaves_no_answer(tmp_path: Path, text: str) -> None:
    """Whether it breaks what is to be done, or nothing can be seen of it."""
    archive = copied.archive(tmp_path / "a.pyz")
    (tmp_path / "json.py").write_text(text)
    command = [sys.executable, "-B", str(archive), "self-verify", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    line = one_error(done)
    assert line.startswith(f"error: {tmp_path}/json.py: was loaded in the place of Python's own json, so there is no")
    assert done.stdout == ""


def test_what_python_itself_loads_stands_in_for_nothing() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import json, zlib, ctypes, xml.dom, email.mime, unittest\n"
    code += "from aasm import copies; print(copies.stand_ins('aasm'))"
    for words in ([], ["-I", "-S"]):
        assert subprocess.check_output([sys.executable, *words, "-c", code], text=True) == "{}\n"


def test_the_kinds_of_copies_are_told_apart(tmp_path: Path) -> None:
    for make, word in ((copied.wheel, "an installed package"), (copied.tree, "a source tree")):
        facts = json.loads(run(make(tmp_path / make.__name__), "self-verify", "--json").stdout)
        assert (facts["kind"], facts["same"], facts["revision"]) == (word, True, copied.COMMIT)


# --- parts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["verifier", "launcher"])
def test_what_is_not_in_a_part_is_one_line(tmp_path: Path, part: str) -> None:
    folder = copied.vendored(tmp_path, "acme", part)
    commands = [["run", "exec", "--", "true"], ["run", "x"], ["run"], ["policy", "--help"], ["policy", "new", "--list"]]
    for words in commands + ([["receipt", "verify", "x"]] if part == "launcher" else []):
        line = one_error(run(folder, *words))
        assert line.startswith(f"error: {folder}: this copy of aasm does not have all that this command needs ("), line
    for words in (["--help"], ["--version"], ["self-verify"]):
        assert run(folder, *words).returncode == 0


def test_a_whole_copy_that_lost_a_file_says_so_too_and_self_verify_names_it(folder: Path) -> None:
    (folder / "policy" / "cascade.py").unlink()
    line = one_error(run(folder, "policy", "show", "--policy", "x"))
    assert "'cascade'" in line and "see `self-verify` if this is one" in line
    assert "missing: acme/policy/cascade.py\n" in run(folder, "self-verify").stdout


@pytest.mark.parametrize("name", ["copies.py", "origin.py", "receipt/canonical.py", "cli/self_verify.py"])
def test_a_copy_that_lost_a_part_of_self_verify_is_not_a_matter_of_python(folder: Path, name: str) -> None:
    (folder / name).unlink()
    line = one_error(run(folder, "self-verify"))
    assert line.startswith(f"error: {folder}: this copy of aasm does not have all that this command needs ("), line
    assert "copy it anew" in line


def test_a_module_of_python_that_is_missing_is_no_matter_of_the_copy(folder: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.modules['json'] = None\n"
        "from acme.cli import main; sys.exit(main(['policy', 'schema']))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code, str(folder.parent)], capture_output=True, text=True)
    assert "this Python cannot load json" in one_error(done, 125)


def test_no_command_loads_what_it_compares(folder: Path) -> None:
    """A copy is looked at, not imported: what a module does when it is imported must not happen here."""
    (folder / "planner.py").write_text("raise SystemExit('was imported')\n")
    done = run(folder, "self-verify")
    assert done.returncode == 1 and "was imported" not in done.stdout + done.stderr


def test_it_needs_little_of_the_package() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import aasm.cli.self_verify; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-I", "-S", "-c", code], text=True).split())
    ours = loaded & package_modules()
    assert {name[len(PACKAGE) + 1 :] for name in ours} == {
        "", "_sys", "_sys.streams", "cli", "cli.parsing", "cli.self_verify", "copies", "errors", "origin", "receipt",
        "receipt.canonical",
    }  # fmt: skip
