# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy explain --syscall` says what the filter answers: the whole table by an interpreter, a part of it live.

The interpreter (support/bpf_sim.py) runs the very bytes that the launcher would install, and shares no code with them.
"""

from __future__ import annotations

import errno
import functools
import json
import re
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple

import pytest
from support import bpf_sim
from support.explained import explaining
from support.floor_calls import ABSENT, CHECKED, OUTRIGHT, rows
from support.inside import Run, bare, grants, launch, policy, policy_file, program, read
from support.launch import Lab, users

from aasm._sys import syscalls
from aasm.policy import calls
from aasm.policy.vocabulary import SYSCALLS

pytestmark = pytest.mark.landlock

ARCH = syscalls.host_arch()
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}[ARCH.name]  # linux/audit.h
ALLOWED, ERRNO = 0x7FFF0000, 0x00050000  # linux/seccomp.h

POLICIES: Dict[str, Dict[str, Any]] = {
    "nothing is said": {},
    "no network": {"network": {"allowlist": []}},
    "the network is denied": {"capabilities": {"deny": ["network_outbound"]}},
    "no new process": {"capabilities": {"deny": ["agent_spawn"]}},
    "files are bounded": {"resources": {"max_file_size_bytes": 1 << 20}},
    "few calls": {"syscalls": {"allow": list(SYSCALLS)}},
    "groups of calls": {"syscalls": {"allow": ["@files", "@memory", "mkdir", "socket"]}},
    "everyday calls": {"syscalls": {"allow": ["@program"]}},
    "everyday calls, no network, no process": {
        "syscalls": {"allow": ["@program"]},
        "network": {"allowlist": []},
        "capabilities": {"deny": ["terminal_exec"]},
    },
}
LIVE = ("nothing is said", "no network", "no new process", "everyday calls", "everyday calls, no network, no process")

# Arguments that some rule tells apart, beside those of support/floor_calls.py.
FURTHER: Dict[str, Sequence[Tuple[int, ...]]] = {
    "clone": [(0x3D0F00,), (0x11,), (0x10000000,)],  # a thread, a process, a user namespace
    "socket": [(2, 1, 0), (10, 2, 0), (16, 3, 0), (16, 3, 9), (1, 1, 0), (40, 1, 0)],
    "socketpair": [(1, 1, 0), (1, 2, 0)],
    "fallocate": [(0, 0), (0, 1), (0, 3), (0, 0x10)],
    "ioctl": [(0, 0x5413), (0, 0x40305828), (0, 0x5412)],
    "personality": [(0,), (0x40000,)],
    "prctl": [(16,), (35,)],
    "prlimit64": [(0,), (1,)],
    **{name: [(0, 0), (1, 0), (1, 1), (3, 7)] for name in ("setpriority", "ioprio_set")},
}


def answers(lab: Lab, sections: Dict[str, Any], names: Sequence[str]) -> Tuple[Dict[str, Any], bytes]:
    """Return the answer about each name, and the filter that a launch would install."""
    where = policy_file(lab, policy(filesystem=grants([lab.workspace], [lab.workspace]), **sections), "policy.json")
    case = {"policies": [str(where)], "workdir": str(lab.workspace), "questions": [("syscall", item) for item in names]}
    told = explaining(lab, "answer", [case])[0]
    assert told["refusal"] == ""
    return dict(zip(names, told["answers"])), bytes.fromhex(told["filter"])


@functools.lru_cache(maxsize=None)
def arguments(name: str) -> Tuple[Tuple[int, ...], ...]:
    """Return arguments of a call, among them some of each kind that any rule tells apart."""
    of_the_floor = [row.args for row in CHECKED.values() if row.name == name]
    common = [(), (-1,) * 6, (1,) * 6]
    return tuple(dict.fromkeys((*common, *of_the_floor, *FURTHER.get(name, ()))))


def outcomes(filter_b: bytes, name: str) -> Set[int]:
    """Return what the filter answers to a call, whatever its arguments."""
    number = ARCH.numbers[name]
    return {bpf_sim.simulate(filter_b, number, AUDIT, args)[0] for args in arguments(name)}


def words(verdicts: Set[int]) -> Set[str]:
    """Return the names of the errnos among verdicts."""
    refusals = verdicts - {ALLOWED}
    assert {verdict & ~0xFFFF for verdict in refusals} <= {ERRNO}
    return {errno.errorcode[verdict & 0xFFFF] for verdict in refusals}


def said(text: str) -> Set[str]:
    """Return the names of errnos in an explanation."""
    return set(re.findall(r"\b[A-Z0-9]+\b", text)) & set(errno.errorcode.values())


@pytest.mark.parametrize("user", users()[-1:], indirect=True)  # the filter of a policy is the same for everybody
@pytest.mark.parametrize("name", POLICIES)
def test_over_the_whole_table_explain_says_what_the_filter_answers(lab: Lab, name: str) -> None:
    found, filter_b = answers(lab, POLICIES[name], sorted(ARCH.numbers))
    assert len(found) > 250
    for call, answer in found.items():
        seen = outcomes(filter_b, call)
        assert answer["allowed"] == (ALLOWED in seen), (call, answer, seen)
        assert said(answer["why"]) == words(seen), (call, answer, seen)
    ways = {answer["allowed"] for answer in found.values()}
    assert ways == {True, False}


@pytest.mark.parametrize("user", users()[-1:], indirect=True)
def test_a_call_of_another_machine_alone_is_refused_as_absent(lab: Lab) -> None:
    every = {name for machine in syscalls.SUPPORTED for name in syscalls.arch(machine).numbers}
    foreign = sorted(every - set(ARCH.numbers))
    found, _ = answers(lab, {}, foreign)
    assert foreign and not any(answer["allowed"] for answer in found.values())
    assert all("ENOSYS" in answer["why"] and answer["add"] == "" for answer in found.values())


@pytest.mark.parametrize("user", users()[-1:], indirect=True)
@pytest.mark.parametrize("name", ["few calls", "groups of calls", "everyday calls"])
def test_the_name_to_add_is_proposed_exactly_where_adding_it_helps(lab: Lab, name: str) -> None:
    listed = POLICIES[name]["syscalls"]["allow"]
    found, _ = answers(lab, POLICIES[name], sorted(ARCH.numbers))
    proposed = [call for call, answer in found.items() if answer["add"]]
    assert proposed and all(found[call]["add"].startswith(f"{call} to syscalls.allow (") for call in proposed)
    after, _ = answers(lab, {"syscalls": {"allow": [*listed, *proposed]}}, sorted(ARCH.numbers))
    assert [call for call in proposed if not after[call]["allowed"]] == []
    hopeless = [call for call, answer in found.items() if not answer["allowed"] and not answer["add"]]
    assert set(hopeless) == {call for call, answer in after.items() if not answer["allowed"]}
    assert set(hopeless) >= {call for call in (*OUTRIGHT, *ABSENT) if call in ARCH.numbers}


# --- live -------------------------------------------------------------------------------------------

# Harmless whoever makes them, with arguments that the kernel itself answers: calls of every group, and of none.
PLAIN: Dict[str, Tuple[int, ...]] = {
    **{name: () for name in ("getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "gettid", "sched_yield")},
    **{name: (-1,) for name in ("close", "dup", "fchdir", "fsync", "fdatasync", "syncfs", "epoll_create1")},
    **{name: (-1, 0, 0) for name in ("read", "write", "lseek", "fcntl", "getdents64", "readv", "writev")},
    **{name: (0, 0) for name in ("mkdir", "rename", "link", "symlink", "statfs", "truncate", "getrandom")},
    **{name: (-1, 0, 0, 0) for name in ("mkdirat", "unlinkat", "symlinkat", "fchownat", "readlinkat", "newfstatat")},
    **{name: (0,) for name in ("uname", "sysinfo", "times", "umask", "rmdir", "unlink", "chdir", "getcwd", "pipe2")},
    **{name: (-1, 0, 0) for name in ("connect", "bind", "listen", "getsockname", "getpeername", "shutdown", "accept")},
    "mbind": (0, 0, 0xFFFF, 0, 0, 0),
    "name_to_handle_at": (-1, 0, 0, 0, 0xFFFF),
    "process_vm_readv": (0, 0, 0, 0, 0, 0),
    "vmsplice": (-1, 0, 0, 0),
    "landlock_create_ruleset": (0, 0, 0xFFFF),
    "memfd_secret": (0xFFFF,),
    "set_mempolicy": (0xFFFF, 0, 0),
    "io_setup": (0, 0),
    "get_robust_list": (0x7FFFFFF0, 0, 0),
    "sched_rr_get_interval": (-1, 0),
}
TABLE = """
os.setsid()
tell(**{name: call(number, *args) for name, number, args in json.loads(sys.argv[1])})
"""


def table() -> List[Tuple[str, str, int, Sequence[int]]]:
    """Return (label, call, number, arguments) of everything that is tried live."""
    plain = [(name, name, ARCH.numbers[name], args) for name, args in PLAIN.items() if name in ARCH.numbers]
    labelled = {label: row.name for label, row in CHECKED.items()}
    return plain + [
        (f"floor: {label}", labelled.get(label, label), number, args)
        for label, number, args in json.loads(rows(ARCH.numbers))
    ]


def confined(lab: Lab, argument: str) -> Run:
    """Try the table under the policy that is there."""
    path = lab.top / "policy.json"
    base = ("run", "exec", "--isolation", "process", "--policy", str(path))
    return read(lab.aasm(*base, "--", *program(TABLE, argument)))


def differences(found: Dict[str, Any], inside: Dict[str, str], natural: Dict[str, str]) -> Iterator[Any]:
    """Yield what the kernel answered otherwise than explained."""
    for label, call, _, _ in table():
        answer, got = found[call], inside[label]
        refusals = said(answer["why"])
        expected = refusals if not answer["allowed"] else {natural[label], *refusals}
        if got not in expected:
            yield label, answer, got, natural[label]


@pytest.mark.parametrize("name", LIVE)
def test_inside_the_calls_are_answered_as_explained(lab: Lab, name: str) -> None:
    argument = json.dumps([(label, number, args) for label, _, number, args in table()])
    found, _ = answers(lab, POLICIES[name], sorted({call for _, call, _, _ in table()}))
    inside, natural = confined(lab, argument), bare(lab, TABLE, argument)
    assert inside.told.keys() == natural.told.keys() == {label for label, _, _, _ in table()}, inside.stderr
    assert list(differences(found, inside.told, natural.told)) == []
    refused = [label for label, call, _, _ in table() if not found[call]["allowed"]]
    told_apart = [label for label in refused if natural.told[label] != inside.told[label]]
    assert len(told_apart) > 40  # without the boundary the kernel says something else


def test_every_call_that_is_tried_is_one_that_a_question_can_be_asked_about() -> None:
    assert [call for _, call, _, _ in table() if not calls.known(call)] == []


# --- what an action on a path takes -----------------------------------------------------------------

# By a shell: Python lists directories before its first line.
TRYING = (
    "cat kept && echo file; ls . && echo listing; : > new && echo made; mkdir -p one/x && : > one/x/y && echo folders"
)
ACTIONS = {
    "file": ("read", "kept"), "listing": ("read", "."), "made": ("write", "new"), "folders": ("write", "one/x/y"),
}  # fmt: skip
LEFT_OUT: Dict[Tuple[str, ...], Set[str]] = {  # the calls, and what cannot be done without them
    (): set(),
    ("getdents64", "getdents"): {"listing"},
    ("mkdir", "mkdirat"): {"folders"},
    ("mkdirat",): set(),
    ("open", "openat"): {"file", "listing"},
    ("open", "openat", "creat"): set(ACTIONS),
}


@pytest.mark.parametrize("left_out", LEFT_OUT, ids="+".join)
def test_an_action_on_a_path_is_refused_where_a_call_that_it_takes_is(lab: Lab, left_out: Tuple[str, ...]) -> None:
    lab.file(lab.workspace / "kept")
    listed = [name for name in calls.GROUPS["@program"] if name not in left_out]
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), syscalls={"allow": listed})
    where = str(policy_file(lab, text, "policy.json"))
    case = {"policies": [where], "workdir": str(lab.workspace), "questions": list(ACTIONS.values())}
    told = dict(zip(ACTIONS, explaining(lab, "answer", [case])[0]["answers"]))
    seen = launch(lab, text, "sh", "-c", TRYING).stdout.split()  # nothing at all where the shell cannot be loaded
    if left_out == ("open", "openat"):  # the shell has no use for the call that is left
        seen += ["made", "folders"]
    assert {label for label, answer in told.items() if not answer["allowed"]} == LEFT_OUT[left_out]
    assert set(ACTIONS) - set(seen) == LEFT_OUT[left_out]
    for answer in (told[label] for label in LEFT_OUT[left_out]):
        assert answer["by"] == [f"syscalls.allow at {where}:1:{text.index('[' + json.dumps(listed[0])) + 1}"]
        assert answer["add"] and set(answer["add"].partition(" to ")[0].split(" and ")) <= {*left_out}
