# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Places that a program gets or does not get by itself: device nodes, a home, /proc; and what is not held."""

from __future__ import annotations

import os
import stat

import pytest
from support import orders
from support.inside import bare, grants, held, launch, policy, policy_file, program, read, under
from support.launch import Lab

from aasm._sys import order as order_format
from aasm.backends.native import capability

# --- device nodes ---

DEVICES = """
def roundtrip(path):
    with open(path, "r+b", buffering=0) as device:
        got = attempt(device.write, b"x"), len(device.read(4))
    return list(got)
names = ("null", "zero", "full", "random", "urandom")
tell(usable={name: value(roundtrip, "/dev/" + name) for name in names},
     others={path: attempt(open, path, "rb") for path in sys.argv[1:]},
     made=attempt(os.mknod, sys.argv[-1], 0o020666, os.makedev(1, 3)))
"""
USABLE = {"null": ["ok", 0], "zero": ["ok", 4], "full": ["ENOSPC", 4], "random": ["ok", 4], "urandom": ["ok", 4]}
NOT_GRANTED = ("/dev/kmsg", "/dev/ptmx", "/dev/mem", "/dev/vda", "/dev/sda", "/dev/loop0", "/dev/console", "/dev/fuse")


@pytest.mark.parametrize("writing", ["a workspace", "nothing", "a denied capability"])
def test_the_device_nodes_of_every_program_and_no_others(lab: Lab, writing: str) -> None:
    others = [path for path in NOT_GRANTED if os.path.exists(path)]
    assert len(others) >= 2
    new = lab.workspace / "device"
    sections = {"filesystem": grants([lab.workspace], [lab.workspace] if writing == "a workspace" else [])}
    if writing == "a denied capability":
        sections["capabilities"] = {"deny": ["file_write"]}
    done = under(lab, policy(**sections), DEVICES, *others, str(new))
    assert done.told["usable"] == USABLE, done.stderr
    assert {done.told["others"][path] for path in others} == {"EACCES"}
    # making a device node is granted by nothing; without the boundary an unprivileged user meets EPERM and root does it
    assert done.told["made"] == "EACCES" and not new.exists()
    control = bare(lab, DEVICES, *others, str(new)).told
    assert control["usable"] == USABLE and control["made"] == ("ok" if lab.user.name == "root" else "EPERM")
    assert "ok" in [control["others"][path] for path in others]


# --- the private directory ---

PRIVATE = """
names = ("HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
places = {name: os.environ[name] for name in names}
top = os.path.dirname(places["HOME"])
def use(place):
    os.makedirs(place, exist_ok=True)
    os.mkdir(place + "/sub")
    open(place + "/sub/script", "w").write("#!/bin/sh\\nexit 3\\n")
    os.chmod(place + "/sub/script", 0o700)
    os.rename(place + "/sub/script", place + "/script")
    pid = os.posix_spawn(place + "/script", ["script"], {})
    return os.waitpid(pid, 0)[1] >> 8
tell(used={name: value(use, place) for name, place in places.items()}, top=top,
     modes=[oct(os.stat(place).st_mode & 0o7777) for place in (top, places["HOME"], places["TMPDIR"])],
     real=attempt(os.listdir, sys.argv[1]), beside=attempt(os.listdir, os.path.dirname(top)))
"""


def test_home_and_temporary_files_are_the_runs_own_and_vanish(lab: Lab) -> None:
    done = held(lab, PRIVATE, str(lab.home))
    assert set(done.told["used"].values()) == {3}, done.told
    assert len(done.told["used"]) == 7
    assert done.told["modes"] == ["0o700"] * 3
    assert (done.told["real"], done.told["beside"]) == ("EACCES", "EACCES")
    assert os.path.dirname(done.told["top"]) == str(lab.tmp)
    assert lab.leftovers() == [] and not os.path.exists(done.told["top"])


# --- /proc and descriptors ---

TRICKS = """
fd = os.open(".", os.O_PATH)
secret = sys.argv[1]
roads = ["/proc/self/root" + secret, "/proc/self/cwd/../outside/secret", "/proc/self/fd/%d/../outside/secret" % fd,
         "/proc/thread-self/root" + secret, "/dev/fd/%d/../outside/secret" % fd, "/proc/self/fd/0", "/dev/stdin"]
def beside(descriptor):
    os.close(os.open("../outside/secret", os.O_RDONLY, dir_fd=descriptor))
tell(roads=[attempt(open, road) for road in roads], at=attempt(beside, fd),
     own=attempt(open, "/proc/self/status"), sibling=attempt(open, "file"), inherited=os.read(0, 10).decode())
"""


@pytest.mark.parametrize("proc", ["granted", "not granted"])
def test_no_road_through_proc_or_a_descriptor_leads_out(lab: Lab, proc: str) -> None:
    secret = lab.file(lab.outside / "secret", "s")
    lab.file(lab.workspace / "file")
    text = policy(filesystem=grants([lab.workspace, *(["/proc"] if proc == "granted" else [])], [lab.workspace]))
    with secret.open() as opened, secret.open() as again:
        control = bare(lab, TRICKS, str(secret), stdin=opened)
        done = under(lab, text, TRICKS, str(secret), stdin=again)
    assert set(control.told["roads"]) == {"ok"} and control.told["at"] == "ok"
    assert set(done.told["roads"]) == {"EACCES"}, done.told
    assert done.told["at"] == "EACCES"
    assert done.told["own"] == ("ok" if proc == "granted" else "EACCES")
    assert done.told["sibling"] == "ok"
    assert done.told["inherited"] == "s"  # what was opened before keeps its rights, which is stated


# --- what is stated as not held ---

DESCRIPTORS = """
import fcntl
def is_open(number):
    return attempt(fcntl.fcntl, number, fcntl.F_GETFD) == "ok"
tell(open=[number for number in range(1024) if is_open(number)])
"""


def test_only_the_three_standard_descriptors_come_in(lab: Lab) -> None:
    with (lab.file(lab.outside / "secret", "s")).open() as opened, lab.workspace.joinpath("file").open("w") as own:
        given = [opened.fileno(), own.fileno()]
        assert set(given) <= set(bare(lab, DESCRIPTORS, pass_fds=given).told["open"])
        assert held(lab, DESCRIPTORS, pass_fds=given).told["open"] == [0, 1, 2]
        order = order_format.encode(orders.for_program(lab, *program(DESCRIPTORS)))
        assert read(orders.by_hand(lab, order, pass_fds=given)).told["open"] == [0, 1, 2]


METADATA = """
path = sys.argv[1]
tell(stat=attempt(os.stat, path), access=os.access(path, os.R_OK), chmod=attempt(os.chmod, path, 0o600),
     utime=attempt(os.utime, path, (1, 1)), readlink=value(os.readlink, sys.argv[2]), read=attempt(open, path))
"""


def test_metadata_outside_can_be_seen_and_changed_and_contents_cannot(lab: Lab) -> None:
    secret = lab.file(lab.outside / "secret", "s")
    link = lab.outside / "link"
    link.symlink_to("anywhere")
    done = held(lab, METADATA, str(secret), str(link))
    assert done.told == {
        "stat": "ok", "access": True, "chmod": "ok", "utime": "ok", "readlink": "anywhere", "read": "EACCES",
    }  # fmt: skip
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600 and secret.stat().st_mtime == 1


def test_what_is_not_held_is_stated_before_a_launch(lab: Lab) -> None:
    text = policy(filesystem=grants(["/proc"], [lab.workspace]), network={"allowlist": []},
                  capabilities={"deny": ["agent_spawn"]}, syscalls={"allow": ["read"]},
                  ipc={"unix": {"allow": []}}, credentials={"environment": {"allow": []}})  # fmt: skip
    path = policy_file(lab, text, "policy.json")
    shown = lab.aasm("run", "exec", "--dry-run", "--isolation", "process", "--policy", str(path), "--", "true").stdout
    assert "\nposture:         READY\n" in shown
    stated = [text for domain, texts in capability.LIMITATIONS.items() if domain.value != "resource" for text in texts]
    assert [text for text in stated if text not in shown] == []
    assert "command lines" in shown and "other processes" in shown  # visible as long as /proc is granted


@pytest.mark.parametrize("entry", ["/proc/self", "/proc/thread-self", "/dev/fd", "/proc/self/fd"])
def test_a_grant_on_a_process_of_proc_is_refused(lab: Lab, entry: str) -> None:
    # it would be bound to the process that opened the path: the supervisor's own directory, not the program's
    done = launch(lab, policy(filesystem=grants([entry], [lab.workspace])), "/bin/touch", str(lab.workspace / "ran"))
    assert done.returncode == 125, done.stderr
    assert done.stderr.startswith("error: ") and "/proc" in done.stderr
    assert not (lab.workspace / "ran").exists()
