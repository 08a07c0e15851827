# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The places that the command itself writes: one that cannot be trusted or written is refused."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.launch import PYTHON, Lab, python_grants
from support.outcome import (
    ONCE,
    Done,
    events,
    exec_options,
    finish,
    launch,
    one_error,
    receipt_names,
    started,
    wait_until,
)

RAN = ("sh", "-c", "touch ran; exit 4")
ISOLATIONS = pytest.mark.parametrize("isolation", ["process", "none"])


def refused(lab: Lab, isolation: str, where: Path, *words: str, **more: Any) -> str:
    """A launch that is refused for the place `where`: one line names it and a remedy; nothing ran, nothing is left."""
    done = launch(lab, isolation, *RAN, **more)
    line = one_error(done)
    assert done.returncode == 125, done.stderr
    assert str(where) in line and "; " in line, line
    for word in words:
        assert word in line, line
    assert not (lab.workspace / "ran").exists()
    assert lab.leftovers() == []
    return line


# --- a state directory that cannot be trusted -----------------------------------------------------------------


@ISOLATIONS
def test_a_state_directory_of_another_kind_or_owner_is_refused(lab: Lab, isolation: str) -> None:
    file = lab.file(lab.home / "file")
    link = lab.home / "link"
    link.symlink_to(lab.state)
    open_to_all = lab.directory("open")
    open_to_all.chmod(0o770)
    cases = [(file, "Not a directory"), (link, "is a symbolic link"), (open_to_all, "by others (mode 0770)")]
    cases += [(lab.home / "file" / "below", "Not a directory"), (Path("/proc/nowhere"), "No such file")]
    for path, reason in cases if isolation == "process" else cases[1:2]:
        refused(lab, isolation, path, reason, env={"AASM_STATE_DIR": str(path)})
    assert lab.ledger() == []  # not even where the link leads


def test_a_state_directory_of_another_user_is_refused(lab: Lab) -> None:
    foreign = lab.directory("foreign")
    foreign.chmod(0o755)
    if lab.user.uid is None and os.geteuid() == 0:
        os.chown(foreign, 65534, 65534)  # root could write there, and another user with it
    elif lab.user.uid is not None:
        os.chown(foreign, 0, 0)
    else:
        foreign = Path("/")  # an unprivileged test run: every other directory of root will do
    refused(lab, "process", foreign, "belongs to the user", env={"AASM_STATE_DIR": str(foreign)})


@ONCE
@pytest.mark.parametrize("name", ["ledger.jsonl", "ledger.lock", "canary", "execution-receipts"])
def test_a_file_of_the_state_directory_that_is_something_else_is_refused(lab: Lab, name: str) -> None:
    target = lab.file(lab.outside / "target", "kept")
    path = lab.state / name
    path.symlink_to(target)
    refused(lab, "process", path, "is a symbolic link")
    path.unlink()
    assert target.read_text() == "kept"
    if name != "execution-receipts":
        os.mkfifo(path)
        lab.own(path)
        refused(lab, "process", path)  # and nobody waits for a writer
        path.unlink()
        lab.file(path, mode=0o666)
        path.chmod(0o666)
        refused(lab, "process", path, "can be written by others (mode 0666)")


@ONCE
def test_a_damaged_ledger_is_refused_and_not_written_to(lab: Lab) -> None:
    assert launch(lab, "process", "true").returncode == 0
    path = lab.state / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    broken = lines[0] + lines[1].replace(b'"exit_code":0', b'"exit_code":1') + b"no record\n"
    path.write_bytes(broken)
    done = launch(lab, "process", *RAN)
    line = one_error(done)
    assert done.returncode == 125 and "the ledger is damaged" in line and "move the file aside" in line
    assert path.read_bytes() == broken
    assert not (lab.workspace / "ran").exists()


@ONCE
def test_a_torn_last_line_is_repaired_and_said_so(lab: Lab) -> None:
    assert launch(lab, "process", "true").returncode == 0
    path = lab.state / "ledger.jsonl"
    with path.open("ab") as stream:
        stream.write(b'{"agent_id":"half of a rec')
    assert launch(lab, "process", "true").returncode == 0
    assert events(lab) == ["registered", "ended", "repaired", "registered", "ended"]


# --- a state directory that cannot be written ---------------------------------------------------------------------

# Gives the command a small file system of its own as state directory, in a mount namespace that ends with it.
# `argv`: directory, options of the mount, how many bytes to fill, then the command. Afterwards it tells what is there.
TINY = """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
NEWNS, NEWUSER, PRIVATE, REMOUNT, RDONLY = 0x20000, 0x10000000, 1 << 18 | 1 << 14, 32, 1
uid, gid = os.geteuid(), os.getegid()
check(libc.unshare(NEWNS | (NEWUSER if uid else 0)))
if uid:
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as stream:
            stream.write(text)
place = sys.argv[1].encode()
check(libc.mount(b"none", b"/", None, PRIVATE, None))
check(libc.mount(b"tmpfs", place, b"tmpfs", 0, b"mode=700," + sys.argv[2].encode()))
with open(sys.argv[1] + "/filler", "wb") as stream:
    stream.write(bytes(int(sys.argv[3])))
if sys.argv[4] == "ro":
    check(libc.mount(b"none", place, None, REMOUNT | RDONLY, None))
done = subprocess.run(sys.argv[5:])
for folder, _, names in os.walk(sys.argv[1]):
    for name in sorted(names):
        path = os.path.join(folder, name)
        print("left", os.path.relpath(path, sys.argv[1]), os.stat(path).st_size)
sys.exit(done.returncode)
"""


def on_tiny(lab: Lab, size: str, filler: int, way: str, *argv: str) -> Done[str]:
    """Run a launch whose state directory is a small file system, `filler` bytes of which are taken."""
    command = lab.command(*exec_options(lab, "process"), "--", *argv)
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", TINY, str(lab.state), size, str(filler), way, *command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **lab.options(),
    )  # fmt: skip


def left(done: Done[str]) -> dict[str, int]:
    """Return the names and sizes that TINY told."""
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("left ")]
    return {name: int(size) for _, name, size in lines if name != "filler"}


def test_a_full_state_directory_refuses_before_anything_starts(lab: Lab) -> None:
    for name, size, filler in (("no blocks", "size=64k", 64 << 10), ("no inodes", "size=1m,nr_inodes=2", 10)):
        done = on_tiny(lab, size, filler, "rw", *RAN)
        errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert done.returncode == 125 and len(errors) == 1, (name, done.stdout, done.stderr)
        assert "No space left on device" in errors[0] and "free some space there" in errors[0]
        assert str(lab.state) in errors[0] and "Traceback" not in done.stderr
        assert not (lab.workspace / "ran").exists()
        assert all(not size for size in left(done).values()), name  # nothing half written


def test_a_state_directory_that_fills_up_during_the_run_changes_no_exit_code(lab: Lab) -> None:
    """The receipt's space was taken before; what the ledger lacks is said, and no line is half."""
    filler = (1 << 20) - (64 << 10) - (5 << 12)  # leaves the reservation, and a page each for the small files
    done = on_tiny(lab, "size=1m", filler, "rw", *RAN)
    assert done.returncode == 4, done.stderr
    assert (lab.workspace / "ran").exists()
    assert [name for name in left(done) if name.endswith(".execution-receipt.json")]


def test_a_read_only_state_directory_is_refused(lab: Lab) -> None:
    done = on_tiny(lab, "size=1m", 1, "ro", *RAN)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert done.returncode == 125 and len(errors) == 1, done.stderr
    assert "Read-only file system" in errors[0] and str(lab.state) in errors[0]
    assert not (lab.workspace / "ran").exists() and left(done) == {}


def test_a_limit_on_the_size_of_files_refuses_like_a_full_disk(lab: Lab) -> None:
    """RLIMIT_FSIZE stands for a quota: what cannot be written is found out before anything starts."""
    prepare = f"import os, resource, sys; resource.setrlimit({resource.RLIMIT_FSIZE}, (4096, 4096)); "
    prepare += "os.execv(sys.argv[1], sys.argv[1:])"
    command = lab.command(*exec_options(lab, "process"), "--", *RAN)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", prepare, *command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **lab.options(),
    )  # fmt: skip
    line = one_error(done)
    assert done.returncode == 125 and "File too large" in line and str(lab.state) in line
    assert not (lab.workspace / "ran").exists()
    assert events(lab) == ["refused"]
    assert os.listdir(lab.state / "execution-receipts") == [] and lab.leftovers() == []


# --- what is written ------------------------------------------------------------------------------------------------


@ONCE
def test_everything_that_is_written_belongs_to_the_user_alone(lab: Lab) -> None:
    """Whatever the umask: directories 0700, files 0600 at most."""
    base = lab.home / "a" / "b"
    prepare = "import os, sys; os.umask(0); os.execv(sys.argv[1], sys.argv[1:])"
    command = lab.command(*exec_options(lab, "process"), "--", *RAN)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", prepare, *command],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        **lab.options({"AASM_STATE_DIR": str(base)}),
    )  # fmt: skip
    assert done.returncode == 4, done.stderr
    uid = os.geteuid() if lab.user.uid is None else lab.user.uid
    found = [base.parent, base, *base.rglob("*")]
    assert len(found) >= 6
    for path in found:
        status = path.lstat()
        assert stat.S_IMODE(status.st_mode) in ((0o700,) if path.is_dir() else (0o600, 0o200)), path
        assert status.st_uid == uid, path


# --- --receipt FILE ---------------------------------------------------------------------------------------------------


@ISOLATIONS
def test_a_receipt_goes_where_it_is_wanted_and_nowhere_else(lab: Lab, isolation: str) -> None:
    for given in (str(lab.outside / "one.json"), "../outside/two.json"):
        done = launch(lab, isolation, *RAN, options=("--receipt", given))
        assert done.returncode == 4, done.stderr
    assert sorted(path.name for path in lab.outside.iterdir()) == ["one.json", "two.json"]
    assert receipt_names(lab) == []
    assert lab.aasm("receipt", "verify", str(lab.outside / "two.json")).returncode == 0
    assert stat.S_IMODE((lab.outside / "one.json").stat().st_mode) == 0o600


@ONCE
@ISOLATIONS
def test_a_receipt_that_has_no_place_is_an_error_before_anything_starts(lab: Lab, isolation: str) -> None:
    there = lab.file(lab.outside / "there", "kept")
    link = lab.outside / "link"
    link.symlink_to(lab.outside / "nowhere")
    cases = [(there, "exists already"), (link, "exists already"), (lab.outside, "exists already")]
    cases += [(lab.outside / "no" / "file", "the directory of the receipt: No such file or directory")]
    cases += [(there / "below", "the directory of the receipt: Not a directory"), (there / "..", "names no file")]
    for path, reason in cases if isolation == "process" else cases[:2]:
        done = launch(lab, isolation, *RAN, options=("--receipt", str(path)))
        line = one_error(done)
        assert done.returncode == 2, done.stderr
        assert str(path) in line and reason in line
        assert not (lab.workspace / "ran").exists()
    assert "registered" not in events(lab)
    assert there.read_text() == "kept" and sorted(os.listdir(lab.outside)) == ["link", "there"]
    assert lab.leftovers() == []


@ONCE
def test_a_receipt_that_vanished_while_the_program_ran_is_a_warning(lab: Lab) -> None:
    """Nobody inside can do that; somebody else who does changes neither the exit code nor hides it from the ledger."""
    script = "while [ ! -e go ]; do sleep 0.01; done; exit 4"
    with started(lab, lab.command(*exec_options(lab, "process"), "--", "sh", "-c", script)) as process:
        folder = lab.state / "execution-receipts"
        wait_until(lambda: folder.exists() and "registered" in events(lab), "it runs")
        (reserved,) = folder.iterdir()
        assert reserved.name.startswith(".aasm-") and reserved.name.endswith(".reserved")
        reserved.unlink()
        lab.file(lab.workspace / "go")
        done = finish(process)
    assert done.returncode == 4
    assert "warning: no receipt was written: " in done.stderr
    assert events(lab) == ["registered", "noted", "ended"]
    assert lab.ledger()[-1]["receipt"] is None and receipt_names(lab) == []


# --- the private directory ------------------------------------------------------------------------------------


def test_a_temporary_directory_that_cannot_be_used_is_refused(lab: Lab) -> None:
    missing, file = lab.top / "missing", lab.file(lab.outside / "file")
    for path, reason in ((missing, "No such file or directory"), (file, "Not a directory")):
        line = refused(lab, "process", path, reason, env={"TMPDIR": str(path)})
        assert "point TMPDIR at a directory with room that you can write" in line
    if lab.user.uid is not None:  # nothing is read-only for root
        lab.tmp.chmod(0o500)
        refused(lab, "process", lab.tmp, "Permission denied")
        lab.tmp.chmod(0o755)
    assert events(lab)[-1] == "refused"
    assert launch(lab, "none", *RAN, env={"TMPDIR": str(missing)}).returncode == 4  # it needs none


@ONCE
def test_a_relative_temporary_directory_is_not_taken(lab: Lab) -> None:
    script = "import os; print(os.environ['TMPDIR'])"
    done = launch(lab, "process", *PYTHON, "-c", script, options=python_grants(), env={"TMPDIR": "relative"})
    assert done.stdout.startswith("/tmp/aasm-"), done.stderr
    assert not Path(done.stdout.strip()).exists()


LITTER = """
import os, sys
os.chdir(os.environ["TMPDIR"])
for name in (b"a\\nb", b"\\xff", b"locked", b"locked/inner"):
    os.mkdir(name)
open("locked/inner/file", "w").close()
os.chmod("locked/inner", 0)
os.chmod("locked", 0)
os.symlink(sys.argv[1], "out")
os.mkfifo(os.environ["HOME"] + "/fifo")
for depth in range(300):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
open("bottom", "w").close()
sys.exit(4)
"""


def test_whatever_a_program_leaves_in_its_private_directory_is_removed(lab: Lab) -> None:
    """Deeper than any path may be, unreadable, with every odd name: nothing outlives the run, nothing outside goes."""
    kept = lab.file(lab.outside / "kept", "k")
    done = launch(lab, "process", *PYTHON, "-c", LITTER, str(lab.outside), options=python_grants())
    assert done.returncode == 4, done.stderr
    assert lab.leftovers() == [] and "stays behind" not in done.stderr
    assert kept.read_text() == "k"
