# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a receipt says about the code that made it: read beside the program, and in nobody's way."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import driver
from support.launch import ROOT, Lab
from support.outcome import ONCE, exec_options, finish, launch, line_of, started, wait_until

from aasm import origin

CODE = origin.Copy(str(ROOT / "aasm"))
ISOLATIONS = pytest.mark.parametrize("isolation", ["process", "none"])
# An origin that is never found out, in steps of two milliseconds; nothing asks for its end.
ENDLESS = """
import time
from aasm import origin
origin.Reading.step = lambda self: time.sleep(0.002) or True
origin.Reading.finish = lambda self: origin.UNKNOWN
"""
WAIT = 'trap "echo told; exit 7" TERM; echo ready; while [ ! -e go ]; do sleep 0.02; done; echo gone'


def digest_of(folder: Path) -> object:
    return origin.Reading(origin.Copy(str(folder))).finish().code_digest


@ISOLATIONS
@ONCE
def test_a_receipt_states_the_digest_of_the_sources(lab: Lab, isolation: str) -> None:
    receipt = lab.top / "ws" / "r.json"
    done = launch(lab, isolation, "true", options=() if isolation == "process" else ("--receipt", str(receipt)))
    assert done.returncode == 0, done.stderr
    body = lab.receipt() if isolation == "process" else json.loads(receipt.read_text())["body"]
    producer = body["producer"]
    assert producer["code_digest"] == digest_of(ROOT / "aasm") is not None
    assert producer["source_revision"] == origin.revision(CODE)


@ONCE
def test_what_replaces_the_package_while_the_program_runs_is_not_what_ran(lab: Lab) -> None:
    """An upgrade during a run that lasts: the receipt speaks of the code that was there when it was started."""
    copy = lab.top / "copy" / "aasm"
    shutil.copytree(ROOT / "aasm", copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = digest_of(copy)
    command = [sys.executable, "-I", str(copy), *exec_options(lab, "process"), "--", "sh", "-c", WAIT]
    with started(lab, command) as process:
        assert line_of(process) == "ready"
        time.sleep(0.5)  # the sources are read within some milliseconds
        (copy / "explain.py").write_text("raise SystemExit('never imported')\n")
        lab.file(lab.workspace / "go")
        assert finish(process).returncode == 0
    assert digest_of(copy) != before
    assert lab.receipt()["producer"]["code_digest"] == before


@ISOLATIONS
@ONCE
def test_nothing_waits_for_the_sources(lab: Lab, isolation: str) -> None:
    """Neither the start, nor a signal, nor the end."""
    options = ("--receipt", str(lab.workspace / "r.json")) if isolation == "none" else ()
    command = driver.driver(ENDLESS, *exec_options(lab, isolation), *options, "--", "sh", "-c", WAIT)
    with started(lab, command) as process:
        assert line_of(process) == "ready"
        asked = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert line_of(process) == "told"
        assert finish(process).returncode == 7
        assert time.monotonic() - asked < 2
    (lab.workspace / "r.json").unlink() if isolation == "none" else None
    with started(lab, command) as process:
        assert line_of(process) == "ready"
        lab.file(lab.workspace / "go")
        ended = time.monotonic()
        assert finish(process).returncode == 0
        assert time.monotonic() - ended < 2


@ONCE
def test_no_source_is_read_before_the_order_is_out_nor_without_a_receipt(lab: Lab) -> None:
    change = """
from aasm import origin
from aasm.supervise import loop
sent = []
init, step = loop.Supervisor.__init__, origin.Reading.step
def created(self, *args, **named):
    sent.append(self)
    init(self, *args, **named)
def stepped(self):
    os.write(2, b"early\\n" if not sent or sent[0]._outgoing else b"step\\n")
    return step(self)
loop.Supervisor.__init__, origin.Reading.step = created, stepped
"""
    for isolation in ("process", "none"):
        done = driver.run(lab, change, *exec_options(lab, isolation), "--report", "never", "--", "sleep", "0.3")
        assert done.returncode == 0, done.stderr
        said = done.stderr.splitlines()
        assert ("step" in said) is (isolation == "process") and "early" not in said


@ONCE
def test_sources_that_cannot_be_read_leave_the_digest_unknown_and_the_run_alone(lab: Lab) -> None:
    copy = lab.top / "copy" / "aasm"
    shutil.copytree(ROOT / "aasm", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "more").symlink_to(lab.outside)
    command = [sys.executable, "-I", str(copy), *exec_options(lab, "process"), "--", "echo", "ran"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **lab.options())
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert lab.receipt()["producer"]["code_digest"] is None
    wait_until(lambda: not lab.leftovers(), "nothing is left")


@ONCE
def test_compiled_files_that_are_closed_to_us_are_no_sources(lab: Lab) -> None:
    """Another user's launch leaves such a folder; this user's Python goes on without it, and so does the digest."""
    copy = lab.top / "copy" / "aasm"
    shutil.copytree(ROOT / "aasm", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "policy" / "__pycache__").mkdir(0o000)
    command = [sys.executable, "-I", str(copy), *exec_options(lab, "process"), "--", "true"]
    assert subprocess.run(command, capture_output=True, timeout=60, **lab.options()).returncode == 0
    assert lab.receipt()["producer"]["code_digest"] == digest_of(ROOT / "aasm")
    command = [sys.executable, "-I", str(copy), "self-verify", "--json", "--against", str(ROOT / "SBOM.spdx.json")]
    shown = json.loads(subprocess.run(command, capture_output=True, timeout=60, **lab.options()).stdout)
    assert shown["compiled"]["differs"] == [] and shown["code_digest"] == digest_of(ROOT / "aasm")
    (copy / "policy" / "__pycache__").chmod(0o700)


@ONCE
def test_a_policy_may_not_let_a_program_change_what_says_where_this_copy_is_from(lab: Lab) -> None:
    root = lab.top / "tree"
    shutil.copytree(ROOT / "aasm", root / "aasm", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tools/build_backend.py", "SBOM.spdx.json", "REVISION", ".git/HEAD", "docs/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    for name in (".git", ".git/HEAD", "SBOM.spdx.json", "REVISION", "docs"):
        words = ["run", "exec", "--isolation", "process", "--system", "--write", str(root / name), "--", "true"]
        command = [sys.executable, "-I", str(root / "aasm"), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, **lab.options())
        assert done.returncode == (0 if name == "docs" else 125), done.stderr
        assert ("what says where this copy of aasm is from" in done.stderr) is (name != "docs")
