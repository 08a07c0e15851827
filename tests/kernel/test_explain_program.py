# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy explain --program` says what a launch of the program does: each case is asked, and then launched."""

from __future__ import annotations

import json
import os
import platform
import shutil
import struct
from typing import List

import pytest
from support.elf_files import write_program
from support.inside import grants, policy, policy_file, program
from support.launch import PATH, Lab, users
from support.program_asked import both, command, copied, mark

from aasm.policy.calls import GROUPS

ROOT_USER = [each for each in users() if each.id == "root"]


# --- for another machine ----------------------------------------------------------------------------

ENDS_AT_ONCE = b"\xb8\1\0\0\0\x31\xdb\xcd\x80"  # mov $1, %eax; xor %ebx, %ebx; int $0x80: exit(0) of i386


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is for i386")
def test_a_program_of_32_bits_is_refused_since_the_boundary_kills_it(lab: Lab) -> None:
    base, head = 0x08048000, 52 + 32
    ident = b"\x7fELF\1\1\1".ljust(16, b"\0")
    header = struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + head, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    size = head + len(ENDS_AT_ONCE)
    segment = struct.pack("<8I", 1, 0, base, base, size, size, 5, 0x1000)
    old = write_program(lab.workspace / "old", ident + header + segment + ENDS_AT_ONCE)
    found = both(lab, policy(filesystem=grants([lab.workspace])), old)
    found.expect(starts=False)
    assert "is for another machine (i386 of 32 bits) than this one (x86_64)" in found.said


# --- capabilities of files --------------------------------------------------------------------------

NET_RAW, CHOWN = 1 << 13, 1 << 0
OF_FILES = {  # the permitted set, whether it is effective, what the policy keeps, whether root's program starts
    "none of them is kept": (NET_RAW, True, [], False),
    "all of them are kept": (NET_RAW, True, ["CAP_NET_RAW"], True),
    "another is kept": (NET_RAW, True, ["CAP_CHOWN"], False),
    "one of two is kept": (NET_RAW | CHOWN, True, ["CAP_CHOWN"], False),
    "two of two are kept": (NET_RAW | CHOWN, True, ["CAP_CHOWN", "CAP_NET_RAW"], True),
    "not effective": (NET_RAW, False, [], True),
    "nothing is permitted": (0, True, [], True),
    "beyond what a kernel has": (1 << 63, True, [], True),
}


@pytest.mark.parametrize("name", OF_FILES)
def test_a_file_with_capabilities_that_are_not_kept_is_refused_to_root(lab: Lab, name: str) -> None:
    permitted, effective, kept, starts = OF_FILES[name]
    path = copied("true", lab.workspace / "marked")
    mark(path, permitted, effective)
    text = policy(filesystem=grants([lab.workspace]), credentials={"capabilities": {"allow": kept}})
    found = both(lab, text, path)
    found.expect(starts or lab.user.uid is not None)  # no_new_privs ignores them for everybody else
    asked = lab.aasm("policy", "explain", "--policy", str(lab.top / "policy.json"), "--exec", path)
    assert asked.returncode == found.code, asked.stdout
    if not starts and lab.user.uid is None:
        assert "its file has CAP_NET_RAW" in found.said and "CAP_NET_RAW" in asked.stdout
        assert "Operation not permitted" in found.done.stderr


def test_the_capabilities_of_a_script_and_of_its_interpreter(lab: Lab) -> None:
    script = lab.file(lab.workspace / "script", f"#!{lab.workspace}/sh\n", 0o755)
    shell = copied("sh", lab.workspace / "sh")
    mark(str(script), NET_RAW, True)
    text = policy(filesystem=grants([lab.workspace]))
    both(lab, text, str(script)).expect(starts=True)
    mark(shell, NET_RAW, True)
    both(lab, text, str(script)).expect(starts=lab.user.uid is not None)


@pytest.mark.parametrize("user", ROOT_USER, indirect=True)
def test_a_bounding_set_that_lacks_them_refuses_them_to_a_user_too(lab: Lab) -> None:
    give_to_nobody(lab)
    path = copied("true", lab.workspace / "marked")
    mark(path, NET_RAW, True)
    text = policy(filesystem=grants([lab.workspace]))
    for more, starts in (((), True), (("--bounding-set=-net_raw",), False)):
        both(lab, text, path, before=setpriv(*more, *NOBODY)).expect(starts)


# --- the capabilities of the program ------------------------------------------------------------------

NOBODY = ("--reuid=65534", "--regid=65534", "--clear-groups")
AMBIENT = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
AS = {  # how setpriv starts the command, and whether the program has the capability that the policy keeps
    "root": ((), True),
    "root that is none": (("--securebits=+noroot",), False),
    "root that is none, with ambient capabilities": (("--securebits=+noroot", *AMBIENT), False),
    "nobody": (NOBODY, False),
    "nobody with ambient capabilities": ((*NOBODY, *AMBIENT), False),
}


def give_to_nobody(lab: Lab) -> None:
    for place in (lab.state, lab.tmp, lab.home):
        os.chown(place, 65534, 65534)


def setpriv(*options: str) -> List[str]:
    program = shutil.which("setpriv")
    if program is None:
        pytest.skip("setpriv is not there")
    return [program, *options]


@pytest.mark.parametrize("user", ROOT_USER, indirect=True)
@pytest.mark.parametrize("name", AS)
def test_modes_are_judged_with_the_capabilities_that_the_program_would_have(lab: Lab, name: str) -> None:
    options, has = AS[name]
    if options[: len(NOBODY)] == NOBODY:
        give_to_nobody(lab)
    closed = lab.file(lab.workspace / "closed", "c", 0o000)
    text = policy(filesystem=grants([lab.workspace]), credentials={"capabilities": {"allow": ["CAP_DAC_OVERRIDE"]}})
    path = str(policy_file(lab, text, "policy.json"))
    argv = program("tell(closed=attempt(open, sys.argv[1]))", str(closed))
    told = command(lab, setpriv(*options), "policy", "explain", "--policy", path, "--read", str(closed), env={})
    words = ("run", "exec", "--isolation", "process", "--policy", path, "--", *argv)
    done = command(lab, setpriv(*options), *words, env={})
    assert json.loads(done.stdout.splitlines()[-1]) == {"closed": "ok" if has else "EACCES"}, done.stderr
    assert (told.returncode == 0) == has, told.stdout


# --- where a program is looked for ------------------------------------------------------------------

BEFORE = {  # what stands in the first directory of PATH, and what the launch does then: pass over it, take it, or end
    "it may not be read": "over",
    "it is not executable": "over",
    "it is a directory": "over",
    "the directory is closed": "over",
    "its interpreter may not be read": "over",
    "its interpreter is not executable": "over",
    "its interpreter is a directory": "over",
    "its interpreter is missing": "over",
    "the interpreter of its interpreter may not be read": "over",
    "it is a good one": "taken",
    "it is a link in a circle": "end",
    "its interpreter is a link in a circle": "end",
    "it is a text": "end",
    "six scripts in a row": "end",
}


def stand(lab: Lab, name: str) -> None:
    """Put the file into `a`; `closed` may not be read, `a` may."""
    tool, closed = lab.workspace / "a" / "tool", lab.workspace / "closed"
    tool.parent.mkdir()
    copied("sh", closed / "sh")
    write_program(closed / "script", f"#!{closed}/sh\n".encode())
    write_program(lab.workspace / "a" / "middle", f"#!{closed}/sh\n".encode())
    (lab.workspace / "a" / "plain").write_text("")
    os.symlink("circle", lab.workspace / "a" / "circle")
    scripts = {
        "its interpreter may not be read": f"{closed}/sh",
        "its interpreter is not executable": f"{lab.workspace}/a/plain",
        "its interpreter is a directory": f"{lab.workspace}/a",
        "its interpreter is missing": "/none/such",
        "the interpreter of its interpreter may not be read": f"{lab.workspace}/a/middle",
        "it is a good one": "/bin/sh",
        "its interpreter is a link in a circle": f"{lab.workspace}/a/circle",
        "six scripts in a row": f"{lab.workspace}/a/0",
    }
    for number in range(6):
        write_program(lab.workspace / "a" / str(number), f"#!{lab.workspace}/a/{number + 1}\n".encode())
    if name in scripts:
        write_program(tool, f"#!{scripts[name]}\n".encode())
    elif name == "it may not be read":
        os.symlink(closed / "script", tool)
    elif name == "it is a directory":
        tool.mkdir()
    elif name == "it is a link in a circle":
        os.symlink("tool", tool)
    else:
        write_program(tool, b"text\n")
    if name in ("it is not executable", "the directory is closed"):
        (tool if name == "it is not executable" else tool.parent).chmod(0o600)


@pytest.mark.parametrize("name", BEFORE)
@pytest.mark.parametrize("by_env", [False, True], ids=["launcher", "env"])
def test_the_search_goes_on_where_that_of_the_launch_does(lab: Lab, name: str, by_env: bool) -> None:
    stand(lab, name)
    first, second = lab.workspace / "a", lab.workspace / "b"
    copied("true", second / "tool")
    write_program(lab.workspace / "script", b"#!/usr/bin/env tool\n")
    text = policy(filesystem=grants([first, second, lab.workspace / "script"]))
    path = f"{first}:{second}:{PATH}"
    found = both(lab, text, str(lab.workspace / "script") if by_env else "tool", PATH=path)
    end = BEFORE[name]
    if by_env and name == "it is a text":  # execvp of the C library gives it to the shell
        assert f"{first}/tool" in found.subjects and f"{second}/tool" not in found.subjects
        return
    found.expect(starts=end != "end")
    taken = [place for place in (first, second) if f"{place}/tool" in found.subjects and found.code == 0]
    assert taken == {"over": [second], "taken": [first], "end": []}[end]


def test_a_program_that_may_nowhere_be_executed_is_listed_where_it_would_be(lab: Lab) -> None:
    first, second = lab.workspace / "a", lab.workspace / "b"
    for folder in (first, second):
        copied("true", folder / "tool")
    found = both(lab, policy(filesystem=grants([])), "tool", PATH=f"/none:{first}:{second}")
    found.expect(starts=False)
    assert found.answers is not None and f"{first}/tool is outside the grants" in found.done.stderr
    assert found.subjects[0] == f"{first}/tool" and f"{second}/tool" not in found.subjects
    assert [answer["allowed"] for answer in found.answers][:2] == [False, True] and len(found.answers) > 2


def test_a_loader_opens_libraries_by_openat_alone(lab: Lab) -> None:
    listed = [name for name in GROUPS["@program"] if name != "openat"]
    found = both(lab, policy(filesystem=grants([]), syscalls={"allow": listed}), "/usr/bin/true")
    found.expect(starts=False)
    assert found.answers is not None and found.answers[-1]["add"].startswith("openat to syscalls.allow (")
    assert found.answers[-1]["note"] == "by which the loader opens libraries"
    both(lab, policy(filesystem=grants([]), syscalls={"allow": ["@program"]}), "/usr/bin/true").expect(starts=True)


def test_where_nothing_would_start_that_is_said_once(lab: Lab) -> None:
    text = policy(filesystem=grants([]), network={"allowlist": ["example.org"]})
    found = both(lab, text, "git")
    found.expect(starts=False)
    assert found.answers is not None and found.subjects == ["git"]
    assert found.answers[0]["why"].startswith("nothing would start") and found.done.returncode == 125
