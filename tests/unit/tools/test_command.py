# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The common end of the tools: one line for whatever goes wrong, and an interrupt undoes what was begun."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import List

import command
import pytest
from project import ROOT, TreeError

TOOLS = (
    "bench/copies", "bench/policy", "build", "check", "check_tree", "gen_audit_guide", "gen_completions",
    "gen_policy_docs", "gen_syscalls", "gen_yaml_cases", "golden", "install", "sbom", "try_copy", "try_templates",
    "vendor", "verify_release",
)  # fmt: skip
LONG = """
import signal, sys, time
sys.path.insert(0, sys.argv[1])
import command
for number in command.ENDING:  # whoever started the tests may ignore some
    signal.signal(number, signal.SIG_DFL)
def main(words):
    try:
        open("begun", "w").close()
        print("ready", flush=True)
        time.sleep(60)
    finally:
        import os
        os.unlink("begun")
sys.exit(command.run(main))
"""


def raising(problem: BaseException) -> int:
    def main(words: List[str]) -> int:
        raise problem

    return command.run(main, [])


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (OSError(errno.EACCES, "Permission denied", "a/b"), "a/b: Permission denied; see that it is there"),
        (OSError(errno.EACCES, "Permission denied", b"a/\xff"), "a/\\udcff: Permission denied; see"),
        (OSError(errno.ENOENT, "No such file or directory", "a\nerror: b"), "a\\nerror: b: No such file"),
        (OSError(errno.ENOENT, "No such file or directory", ""), "'': No such file"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files; raise the limit (ulimit -a)"),
        (MemoryError(), "there is not enough memory; raise the limit (ulimit -v)"),
        (TreeError("two\nlines"), "two lines"),
        (ValueError(), "ValueError"),
    ],
)
def test_whatever_goes_wrong_is_one_line(problem: BaseException, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(problem) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"error: {text}") and shown.err.count("\n") == 1 and shown.out == ""


def test_a_defect_of_ours_is_no_bad_input() -> None:
    with pytest.raises(KeyError):
        raising(KeyError("name"))


def test_who_listens_for_signals_is_the_same_before_and_after() -> None:
    before = [signal.getsignal(number) for number in command.ENDING]
    assert command.run(lambda words: 0, []) == 0
    assert [signal.getsignal(number) for number in command.ENDING] == before


@pytest.mark.parametrize("number", command.ENDING)
def test_a_signal_that_ends_us_lets_us_clean_up(number: signal.Signals, tmp_path: Path) -> None:
    words = [sys.executable, "-I", "-c", LONG, str(ROOT / "tools")]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "error: interrupted; run it again\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("where", ["full", "closed"])
@pytest.mark.parametrize("name", TOOLS)
def test_a_help_that_cannot_be_delivered_is_no_success(name: str, where: str, buffered: bool) -> None:
    words = [sys.executable, "-B", *([] if buffered else ["-u"]), str(ROOT / "tools" / f"{name}.py"), "--help"]
    shell = ["sh", "-c", '"$@" >/dev/full' if where == "full" else '"$@" >&-', "sh", *words]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: standard output: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", TOOLS)
def test_an_option_that_does_not_exist_is_one_line(name: str) -> None:
    words = [sys.executable, "-I", "-B", str(ROOT / "tools" / f"{name}.py"), "--no-such-option"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and "--help" in done.stderr


def test_the_tools_above_are_all_that_can_be_called() -> None:
    found = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tools").rglob("*.py")}
    called = {path for path, text in found.items() if text.startswith("#!") and "__main__" in text}
    assert {path.relative_to(ROOT / "tools").as_posix()[:-3] for path in called} == {*TOOLS}
    assert {path for path in found if os.access(path, os.X_OK)} == called
