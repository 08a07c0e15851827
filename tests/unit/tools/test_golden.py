# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Golden files of plans and reports: as the code makes them, the same on every host, and no difference is missed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Set

import golden
import pytest

import aasm
from aasm.model.plan import OutcomeKind, RefusalKind, SelectionMode
from aasm.model.report import ReportedPosture

# Of no plan: nobody can demand a minimum of evidence, and paths and registers are matters of the host.
NO_PLAN = {"evidence_minimum", "paths", "registration"}
ONE, ANOTHER = "tests/golden/plans/files.txt", "tests/golden/reports/ready.txt"
TEXTS: Dict[str, str] = {name: (golden.ROOT / name).read_text("utf-8") for name in golden.stored(golden.ROOT)}


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the golden files, which are right as they are: what is made is not made once more."""
    monkeypatch.setattr(golden, "texts", lambda: TEXTS)
    for folder in golden.FOLDERS:
        shutil.copytree(golden.ROOT / folder, tmp_path / folder)
    return tmp_path


def test_they_are_what_the_code_makes(capsys: pytest.CaptureFixture[str]) -> None:
    code = golden.main(["--check"])
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err) == (0, "", ""), "read the diff, then run tools/golden.py"


def test_they_are_the_same_wherever_they_are_made(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "LC_ALL": "C", "TZ": "Asia/Tokyo", "COLUMNS": "30", "AA_POLICY": "/no", "MY_KEY": "x"}
    command = [sys.executable, "-I", "-B", str(golden.ROOT / "tools" / "golden.py"), "--check"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_file_that_was_changed_is_found_and_made_again(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (copy / ONE).read_text()
    (copy / ONE).write_text(text.replace("read_file", "everything"))
    assert golden.main(["--check"], copy) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith(f"--- {ONE}\n+++ {ONE}\n@@ ") and "reports/" not in shown.out
    assert re.search(r"^-  rule /w: .*everything", shown.out, re.MULTILINE)
    assert shown.err.startswith(f"error: {ONE}: not what tools/golden.py makes")
    assert (copy / ONE).read_text() != text
    untouched = (copy / ANOTHER).stat().st_mtime_ns
    assert golden.main([], copy) == 0
    assert capsys.readouterr().out == shown.out
    assert (copy / ONE).read_text() == text and (copy / ANOTHER).stat().st_mtime_ns == untouched
    assert golden.main(["--check"], copy) == 0 and capsys.readouterr().out == ""


def test_a_file_that_is_missing_is_found_and_made(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (copy / ANOTHER).read_text()
    (copy / ANOTHER).unlink()
    assert golden.main(["--check"], copy) == 1
    assert capsys.readouterr().out.startswith(f"--- /dev/null\n+++ {ANOTHER}\n")
    assert golden.main([], copy) == 0 and (copy / ANOTHER).read_text() == text


@pytest.mark.parametrize("name", ["tests/golden/plans/of-nothing.txt", "tests/golden/reports/deeper/ready.txt"])
def test_a_file_that_nothing_makes_is_found_and_taken_away(
    name: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text("left over\n")
    assert golden.main(["--check"], copy) == 1
    assert capsys.readouterr().out == f"--- {name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-left over\n"
    assert golden.main([], copy) == 0 and not (copy / name).exists()


def test_nothing_else_of_the_golden_files_is_touched(copy: Path) -> None:
    other = copy / "tests/golden/policy/a.yaml"
    other.parent.mkdir()
    other.write_text("x: 1\n")
    assert golden.main([], copy) == 0 and other.read_text() == "x: 1\n"


# --- what is in them --------------------------------------------------------------------------------


def found(pattern: str, folder: str) -> Set[str]:
    return {hit for name, text in TEXTS.items() if f"/{folder}" in name for hit in re.findall(pattern, text, re.M)}


def test_no_version_and_no_place_of_this_host_is_in_them() -> None:
    for name, text in TEXTS.items():
        assert not re.search(rf"\b{re.escape(aasm.__version__)}\b", text), name
        assert str(golden.ROOT) not in text and str(Path.home()) + "/" not in text, name
    assert "backend_version=VERSION" in TEXTS[ANOTHER]


@pytest.mark.parametrize("name", golden.PLANS)
def test_every_kernel_is_in_every_plan(name: str) -> None:
    stated = re.findall(r"^== Landlock ABI ([\d, ]+)", TEXTS[f"{golden.FOLDERS[0]}/{name}.txt"], re.MULTILINE)
    assert sorted(", ".join(stated).split(", ")) == [str(abi) for abi in golden.ABIS]


def test_every_outcome_selection_refusal_and_posture_is_seen() -> None:
    assert found(r"^[a-z_]+: (\w+), timing=", "plans") == {kind.value for kind in OutcomeKind}
    assert found(r"^selection: (\w+)", "plans") == {mode.value for mode in SelectionMode}
    refused = found(r"^refused by: (\w+)", "plans") | found(r"^refused by: +(\w+)", "reports")
    assert refused | NO_PLAN == {kind.value for kind in RefusalKind}
    assert found(r"^posture=(\w+)", "reports") == {posture.value for posture in ReportedPosture}
