# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A program holds no capability, whoever started it, and cannot get one; the supervisor keeps its memory to itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import orders
from support.inside import bare, grants, held, policy, program, read, under
from support.launch import Lab, users

from aasm._sys import order as order_format, syscalls

SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
STATUS = """
import subprocess
def fields(text):
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
tell(own=fields(open("/proc/self/status").read()),
     child=fields(subprocess.run([sys.argv[1], "/proc/self/status"], capture_output=True, text=True).stdout))
"""


def masks(fields: dict[str, str], *names: str) -> set[int]:
    return {int(fields[name], 16) for name in names}


def test_every_capability_set_is_empty_in_every_process(lab: Lab) -> None:
    # a program with the set-user-id bit of whoever runs the tests: such a bit must lift nobody
    lifted = lab.top / "cat"
    shutil.copy("/bin/cat", lifted)
    lifted.chmod(0o4755)
    done = under(lab, policy(filesystem=grants(["/proc", lifted], [lab.workspace])), STATUS, str(lifted))
    control = bare(lab, STATUS, str(lifted)).told
    # without CAP_SETPCAP the bounding set cannot be changed: an unprivileged user keeps it, and with no_new_privs
    # nothing is gained through it
    names = SETS if lab.user.name == "root" else tuple(name for name in SETS if name != "CapBnd")
    for process in (done.told["own"], done.told["child"]):
        assert masks(process, *names) == {0}, done.stderr
        assert (process["NoNewPrivs"], process["Seccomp"]) == ("1", "2")
        assert process["Uid"] == done.told["own"]["Uid"] and len(set(process["Uid"].split())) == 1
    assert control["own"]["NoNewPrivs"] == "0"
    if os.geteuid() == 0:
        assert masks(control["child"], "CapEff", "CapPrm") != {0} and control["child"]["Uid"].split()[1] == "0"


PRIVILEGED = """
import ctypes, struct
def raise_capabilities():
    head, sets = struct.pack("<Ii", 0x20080522, 0), struct.pack("<6I", *[0xFFFFFFFF] * 6)
    raw(capset, ctypes.c_char_p(head), ctypes.c_char_p(sets))
own, foreign, mount, capset = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
tell(read=attempt(open, foreign), write=attempt(open, foreign, "a"), chmod=attempt(os.chmod, foreign, 0o666),
     chown=attempt(os.chown, own, 12345, 12345), mount=call(mount, 0, 0, 0, 0, 0), setuid=attempt(os.setuid, 12345),
     setgroups=attempt(os.setgroups, [12345]), capset=attempt(raise_capabilities), own=attempt(open, own, "a"))
"""
NUMBERS = tuple(str(syscalls.host_arch().numbers[name]) for name in ("mount", "capset"))


def foreign_file(lab: Lab) -> Path:
    """Return a file that only another user may read, in a directory of the lab's user."""
    path = lab.file(lab.workspace / "foreign", "s", 0o600)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    return path


@pytest.mark.parametrize("user", [each for each in users() if each.id == "root"], indirect=True)
def test_root_reaches_no_more_inside_than_its_own_files(lab: Lab) -> None:
    own, foreign = lab.file(lab.workspace / "own"), foreign_file(lab)
    done = held(lab, PRIVILEGED, str(own), str(foreign), *NUMBERS).told
    # the workspace is granted, but the file is somebody else's and no capability overrides its mode
    files = {"read": "EACCES", "write": "EACCES", "chmod": "EPERM", "own": "ok"}
    assert done == {**files, **dict.fromkeys(("chown", "mount", "setuid", "setgroups", "capset"), "EPERM")}
    order = orders.for_program(lab, *program(PRIVILEGED, str(own), str(foreign), *NUMBERS))
    order.capabilities = orders.EVERY_CAPABILITY
    control = read(orders.by_hand(lab, order_format.encode(order))).told
    assert [control[name] for name in ("read", "write", "chmod", "chown")] == ["ok"] * 4
    assert control["mount"] == "EPERM"  # the floor alone


ENVIRON = """
def text(pid):
    return open("/proc/%d/environ" % pid, "rb").read().decode(errors="replace")
parent = os.getppid()
tell(environ=attempt(text, parent), memory=attempt(open, "/proc/%d/mem" % parent, "rb"),
     maps=attempt(open, "/proc/%d/maps" % parent), descriptor=attempt(os.readlink, "/proc/%d/fd/0" % parent),
     own=value(text, os.getpid()), visible=attempt(open, "/proc/%d/cmdline" % parent))
"""


def test_the_supervisors_environment_and_memory_stay_closed_with_proc_granted(lab: Lab) -> None:
    text = policy(filesystem=grants(["/proc", lab.workspace], [lab.workspace]))
    done = under(lab, text, ENVIRON, env={"DATABASE_URL": "postgres://of-the-operator"}).told
    assert [done[name] for name in ("environ", "memory", "maps", "descriptor")] == ["EACCES"] * 4
    assert done["visible"] == "ok" and "PATH=" in done["own"]
    assert "of-the-operator" not in done["own"]
    # the control: a parent of the same user that is no supervisor is an open book
    argv = program("import subprocess\nsubprocess.run(sys.argv[1:])", *program(ENVIRON))
    control = read(lab.bare(*argv)).told
    assert [control[name] for name in ("environ", "memory", "maps", "descriptor")] == ["ok"] * 4


LOOK = """
pid = int(sys.argv[1])
tell(environ=attempt(open, "/proc/%d/environ" % pid, "rb"), owner=os.stat("/proc/%d/environ" % pid).st_uid)
"""


def test_the_supervisor_is_closed_to_other_processes_of_its_user(lab: Lab) -> None:
    words = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace), "--")
    script = "echo ready; read line"
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **lab.options()}
    with subprocess.Popen(lab.command(*words, "/bin/sh", "-c", script), **options) as run:
        assert run.stdin is not None and run.stdout is not None and run.stdout.readline() == b"ready\n"
        found = bare(lab, LOOK, str(run.pid)).told
        run.stdin.close()
    assert run.returncode == 1  # `read` met the end of its input
    # root is past that check outside (CAP_SYS_PTRACE), and only outside
    assert found == {"environ": "ok" if lab.user.name == "root" else "EACCES", "owner": 0}
    with subprocess.Popen(["/bin/sleep", "60"], **lab.options()) as control:
        assert bare(lab, LOOK, str(control.pid)).told == {"environ": "ok", "owner": lab.workspace.stat().st_uid}
        control.kill()
