# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The verifier as a command: every kind of bad file, of output and of host."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
import receipt_samples as samples
from receipt_samples import ROOT, one_error_line, run

from aasm.receipt import build
from aasm.receipt.canonical import MAX_BYTES, canonical
from aasm.receipt.store import SPACE

RECEIPT = build.make(samples.FACTS, samples.SEALED_AT)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.json"
    path.write_bytes(RECEIPT.data)
    return path


@pytest.fixture
def lying(tmp_path: Path) -> Path:
    path = tmp_path / "lying.json"
    made = samples.bent(lambda body: samples.domain_of(body, samples.SYSCALL).update(claim="observed"))
    path.write_bytes(canonical(made))
    return path


def fifo(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(100 * 1024 * 1024)


UNREADABLE: List[Any] = [
    (lambda path: None, "No such file"),
    (lambda path: path.mkdir(), "is a directory"),
    (fifo, "is a FIFO"),
    (listening, "is a socket"),
    (lambda path: path.symlink_to("/dev/null"), "is a device"),
    (lambda path: path.symlink_to("/nowhere/at/all"), "No such file"),
    (lambda path: path.symlink_to(path), "Too many levels"),
    (sparse, f"larger than {MAX_BYTES} bytes"),
]
NO_RECEIPTS: List[Any] = [
    (lambda path: path.write_bytes(b""), "Expecting value"),
    (lambda path: path.write_bytes(b"\0" * SPACE), "Expecting value"),  # a reservation that was never filled
    (lambda path: path.write_bytes(RECEIPT.data[:-9]), "not the JSON"),
    (lambda path: path.write_bytes(RECEIPT.data * 2), "Extra data"),
    (lambda path: path.write_bytes(RECEIPT.data.replace(b'"code"', b'"\xff"').replace(b"make", b"\xff")), "not UTF-8"),
    (lambda path: path.write_bytes(RECEIPT.data.replace(b'"exit_code":0', b'"exit_code":0.0')), "not an integer"),
    (lambda path: path.write_bytes(RECEIPT.data.replace(b'"exit_code":0', b'"exit_code":NaN')), "not an integer"),
    (lambda path: path.write_bytes(RECEIPT.data.replace(b'"exit_code":0', b'"exit_code":1' + b"0" * 9999)), "2^53-1"),
    (lambda path: path.write_bytes(RECEIPT.data.replace(b'"make"', b'"\\ud800"')), "surrogate"),
    (
        lambda path: path.write_bytes(RECEIPT.data.replace(b'"exit_code":0', b'"exit_code":0,"exit_code":0')),
        "occurs twice",
    ),
    (lambda path: path.write_bytes(b"[" * 1_000_000), "deeper"),
]


# a file that could be read and is no receipt is as untrustworthy as one whose seal is broken
BAD_FILES = [(*case, 2) for case in UNREADABLE] + [(*case, 1) for case in NO_RECEIPTS]


@pytest.mark.parametrize(("make", "words", "code"), BAD_FILES, ids=[words for _, words, _ in BAD_FILES])
def test_a_bad_file_gets_one_error_line(
    make: Callable[[Path], object], words: str, code: int, tmp_path: Path
) -> None:
    path = tmp_path / "bad\nname"
    make(path)
    done = run("verify", str(path))
    assert done.returncode == code, done
    assert done.stdout == ""
    assert one_error_line(done.stderr)
    assert words in done.stderr and "bad\\x0aname" in done.stderr


@pytest.mark.unprivileged
def test_a_file_that_may_not_be_read(good: Path) -> None:
    good.chmod(0)
    how: Dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        how = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        good.parent.chmod(0o711)
    command = [sys.executable, "-m", "aasm.receipt", "verify", str(good)]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env={"PYTHONPATH": str(ROOT)}, **how)
    assert done.returncode == 2 and one_error_line(done.stderr) and str(good) in done.stderr


def test_a_link_to_a_receipt_will_do(good: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(good)
    assert run("verify", str(tmp_path / "link")).returncode == 0


def test_standard_input(good: Path) -> None:
    with open(good, encoding="utf-8") as file:
        assert run("verify", "-", stdin=file).returncode == 0
    done = run("verify", "-", input="x")
    assert done.returncode == 1 and one_error_line(done.stderr) and "standard input" in done.stderr


def test_an_endless_standard_input_is_refused() -> None:
    with open("/dev/zero", encoding="utf-8") as zero:
        done = run("verify", "-", stdin=zero)
    assert done.returncode == 2 and one_error_line(done.stderr) and "larger than" in done.stderr


@pytest.mark.parametrize("words", [[], ["check"], ["verify"], ["verify", "--jso", "x"], ["verify", "--nope", "x"]])
def test_a_wrong_command_line_gets_one_error_line(words: List[str]) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_error_line(done.stderr)


@pytest.mark.parametrize("words", [["--help"], ["verify", "--help"]])
def test_help(words: List[str]) -> None:
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: python -m aasm.receipt verify")


@pytest.mark.parametrize("target", ["full", "closed", "pipe"])
@pytest.mark.parametrize("word", ["a receipt", "--help"])
def test_output_that_cannot_be_written_is_an_error(word: str, target: str, good: Path) -> None:
    redirect = {"full": '>"/dev/full"', "closed": ">&-", "pipe": "| true"}[target]
    # `sleep` lets the reader of the pipe go away first
    script = f'{{ sleep 0.2; "$0" -m aasm.receipt verify "$1"; echo $? >"$2"; }} {redirect}'
    if target != "pipe":
        script = f'"$0" -m aasm.receipt verify "$1" {redirect}; echo $? >"$2"'
    code = good.parent / "code"
    words = ["sh", "-c", script, sys.executable, word if word == "--help" else str(good), str(code)]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd="/", env={"PYTHONPATH": str(ROOT), "PATH": os.defpath}
    )
    assert code.read_text() == "2\n"
    assert one_error_line(done.stderr) and "standard output" in done.stderr


def test_a_terminal_without_unicode(good: Path) -> None:
    made = samples.envelope()
    made["schema"] = "é"
    good.write_bytes(json.dumps(made).encode())
    environment = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = run("verify", str(good), env=environment)
    assert (done.returncode, done.stderr) == (1, "")
    assert "\\xe9" in done.stdout


# --- alone ---------------------------------------------------------------------------------------


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A folder with exactly the parts of the package that a verifying host needs."""
    package = tmp_path / "alone" / "aasm"
    package.mkdir(parents=True)
    for name in ("__init__.py", "errors.py"):
        shutil.copy(ROOT / "aasm" / name, package)
    for name in ("receipt", "model"):
        shutil.copytree(ROOT / "aasm" / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    return package.parent


def test_the_verifier_works_with_its_own_files_alone(alone: Path, good: Path, lying: Path) -> None:
    assert run("verify", str(good), cwd=str(alone), env={}).returncode == 0
    assert run("verify", str(lying), cwd=str(alone), env={}).returncode == 1


def test_the_working_directory_lends_no_modules(alone: Path, good: Path, tmp_path: Path) -> None:
    """The package is found elsewhere; a module that lies beside the receipt must not be imported in place of ours."""
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("argparse", "json", "hashlib"):  # `runpy` itself needs none of these
        (trap / f"{name}.py").write_text("raise SystemExit('trapped by ' + __name__)\n", encoding="utf-8")
    control = [sys.executable, "-c", "import argparse"]
    assert "trapped" in subprocess.run(control, cwd=trap, capture_output=True, text=True, env={}).stderr
    done = run("verify", str(good), cwd=str(trap), env={"PYTHONPATH": str(alone)})
    assert (done.returncode, done.stderr) == (0, "")


def test_verifying_loads_nothing_that_launches(good: Path) -> None:
    code = "import sys; from aasm.receipt.verify import main; main(sys.argv[1:]); print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}", str(good)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    ours = {name for name in done.stdout.splitlines()[-1].split() if name.startswith("aasm.")}
    allowed = ("aasm.receipt", "aasm.model", "aasm.errors")
    assert ours and all(name.startswith(allowed) for name in ours)
    assert "aasm.receipt.store" not in ours and "aasm.receipt.build" not in ours
