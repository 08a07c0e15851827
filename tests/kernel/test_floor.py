# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The floor, call by call and by number: the answer inside, against what the kernel itself answers to the same call."""

from __future__ import annotations

import platform

import pytest
from support import orders
from support.floor_calls import ABSENT, CHECKED, OUTRIGHT, PRIVILEGED, answers, rows, siblings
from support.inside import Run, bare, held, program, read
from support.launch import Lab, users

from aasm._sys import order as order_format, syscalls
from aasm.backends.native import floor

ARCH = syscalls.host_arch()
# vhangup(2) would reach the terminal of whoever runs the tests, so the child has a session of its own
TABLE = """
os.setsid()
tell(**{name: call(number, *args) for name, number, args in json.loads(sys.argv[1])})
"""


ROWS, ANSWERS, SIBLINGS = rows(ARCH.numbers), answers(ARCH.numbers), siblings(ARCH.numbers)


def test_the_table_knows_every_call_of_the_floor() -> None:
    refused = {name for names in floor.REFUSED.values() for name in names}
    assert set(OUTRIGHT) == refused and set(ABSENT) == set(floor.ABSENT)
    assert {row.name for row in CHECKED.values()} == {*floor.CHECKED, "clone", "socket"}
    assert PRIVILEGED < set(OUTRIGHT)


def check(natural: Run, inside: Run, explained: frozenset[str]) -> None:
    """Every refusal has the floor's answer and another natural one, but for the calls that are explained."""
    assert {label: inside.told[label] for label in ANSWERS} == ANSWERS, inside.stderr
    same = {label for label in ANSWERS if natural.told[label] == ANSWERS[label]}
    assert same <= explained, "the kernel itself gives the same answer, so these show nothing"
    assert [inside.told[label] for label in SIBLINGS] == [natural.told[label] for label in SIBLINGS]


def test_every_refused_call_gets_the_floors_answer(lab: Lab) -> None:
    natural, inside = bare(lab, TABLE, ROWS), held(lab, TABLE, ROWS)
    check(natural, inside, frozenset() if lab.user.name == "root" else PRIVILEGED)
    listed = [item["value"] for item in lab.receipt()["boundary"]["floor"]]
    assert listed == list(floor.describe())


@pytest.mark.parametrize("user", users()[:1], indirect=True)  # nobody has no capability that could be left to it
def test_the_filter_answers_by_itself_and_not_a_missing_capability(lab: Lab) -> None:
    order = orders.for_program(lab, *program(TABLE, ROWS))
    order.capabilities = orders.EVERY_CAPABILITY
    inside = read(orders.by_hand(lab, order_format.encode(order)))
    check(bare(lab, TABLE, ROWS), inside, frozenset() if lab.user.name == "root" else PRIVILEGED)


def test_without_its_filter_the_floor_would_not_be_there(lab: Lab) -> None:
    order = orders.without_filter(orders.for_program(lab, *program(TABLE, ROWS)))
    order.capabilities = orders.EVERY_CAPABILITY
    done = read(orders.by_hand(lab, order_format.encode(order)))
    natural = bare(lab, TABLE, ROWS).told
    assert {label for label in ANSWERS if natural[label] != done.told[label]} == set()


# --- set-id bits, with real files ---

SET_ID = """
import stat
top = sys.argv[1]
def mode(name):
    try:
        return oct(stat.S_IMODE(os.lstat(top + "/" + name).st_mode))
    except OSError:
        return None
os.umask(0)
open(top + "/file", "w").close()
def opened(name, bits):
    os.close(os.open(top + "/" + name, os.O_CREAT | os.O_WRONLY, bits))
tell(chmod=attempt(os.chmod, top + "/file", 0o6755), file=mode("file"),
     create=attempt(opened, "created", 0o4755), created=mode("created"),
     mknod=attempt(os.mknod, top + "/made", 0o102755), made=mode("made"),
     mkdir=attempt(os.mkdir, top + "/dir", 0o7777), dir=mode("dir"),
     chmod_dir=attempt(os.chmod, top + "/dir", 0o2755), sticky=attempt(os.chmod, top + "/dir", 0o1777),
     plain=attempt(os.chmod, top + "/file", 0o755), after=mode("file"))
"""


def test_no_file_gets_a_set_id_bit(lab: Lab) -> None:
    control = bare(lab, SET_ID, str(lab.directory("control"))).told
    assert (control["file"], control["created"], control["made"]) == ("0o6755", "0o4755", "0o2755")
    done = held(lab, SET_ID, str(lab.workspace)).told
    assert done == {
        "chmod": "EPERM", "file": "0o666",
        "create": "EPERM", "created": None,
        "mknod": "EPERM", "made": None,
        "mkdir": "ok", "dir": "0o1777",  # mkdir(2) itself ignores both bits
        "chmod_dir": "EPERM", "sticky": "ok",
        "plain": "ok", "after": "0o755",
    }  # fmt: skip
    modes = [path.lstat().st_mode for path in lab.workspace.rglob("*")]
    assert len(modes) == 2 and not any(mode & 0o6000 for mode in modes)


# --- numbers and machine words ---

NUMBERS = """
newest, getpid = int(sys.argv[1]), int(sys.argv[2])
tell(newer=[call(newest + step) for step in (1, 2, 100, 2000)], minus_one=call(-1),
     x32=[call(0x40000000 | getpid), call(0x40000000 | 512), call(0x40000000 | newest + 1)],
     dirty=call(0x1234567800000000 | getpid), getpid=call(getpid))
"""


def test_unknown_and_x32_numbers_do_not_exist(lab: Lab) -> None:
    # the filter's own answer is shown with another errno in tests/unit/_sys/test_sys_live.py; a kernel without x32
    # and without newer calls gives the same one here
    done = held(lab, NUMBERS, str(ARCH.newest), str(ARCH.numbers["getpid"])).told
    assert set(done["newer"]) == {"ENOSYS"} and done["minus_one"] == "ENOSYS"
    assert set(done["x32"]) == {"ENOSYS"}
    assert done["getpid"] == "ok"


# mov eax, 20 (getpid in the 32-bit table); int 0x80; ret
INT80 = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd80c3"))
code = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
tell(before=os.getpid())
code()
tell(after=os.getpid())
"""

if platform.machine() == "x86_64":

    def test_a_call_through_the_32_bit_gate_kills(lab: Lab) -> None:
        assert bare(lab, INT80).told.keys() == {"after"}
        done = held(lab, INT80)
        assert done.told.keys() == {"before"}
        assert done.code == 128 + 31  # SIGSYS
        execution = lab.receipt()["execution"]
        assert execution["exit_code"] is None and "signal 31" in str(execution["no_code_detail"])


# --- what narrows further must go on working ---

NESTED = """
import ctypes, struct
getppid, prctl, seccomp = map(int, sys.argv[2:5])
def own_filter():
    allow, refuse = 0x7FFF0000, 0x00050000 | 77
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, getppid), (0x06, 0, 0, refuse), (0x06, 0, 0, allow)]
    program = b"".join(struct.pack("<HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(buffer))
    raw(seccomp, 1, 0, ctypes.c_char_p(head))
def own_rules():
    ruleset = raw(444, ctypes.c_char_p(struct.pack("<Q", 4)), 8, 0)  # reading files, granted nowhere
    raw(446, ruleset, 0)
file = sys.argv[1]
before = [call(getppid), attempt(open, file)]
made = [attempt(own_filter), attempt(own_rules)]
tell(before=before, made=made, after=[call(getppid), attempt(open, file)],
     floor=[call(int(sys.argv[5]), 0, 0, 0, 0, 0, 0), attempt(open, sys.argv[6], "r+"), attempt(open, file, "a")])
"""


def test_filters_and_rulesets_of_the_programs_own_only_narrow(lab: Lab) -> None:
    secret, file = lab.file(lab.outside / "secret", "s"), lab.file(lab.workspace / "file", "f")
    numbers = [str(ARCH.numbers[name]) for name in ("getppid", "prctl", "seccomp", "process_vm_readv")]
    done = held(lab, NESTED, str(file), *numbers, str(secret)).told
    assert done["before"] == ["ok", "ok"] and done["made"] == ["ok", "ok"]
    assert done["after"] == ["EBADFD", "EACCES"]  # 77 is the errno that its own filter gives
    assert done["floor"] == ["EPERM", "EACCES", "ok"]


TRACE = """
import signal
ptrace, request = int(sys.argv[1]), int(sys.argv[2])
pid = os.fork()
if not pid:
    signal.pause()
got = call(ptrace, request, pid, 0, 0)
os.kill(pid, signal.SIGKILL)
tell(got=got, ended=os.waitpid(pid, 0x40000000)[0] == pid)
"""


@pytest.mark.parametrize("request_name", ["PTRACE_ATTACH", "PTRACE_SEIZE"])
def test_own_children_are_not_traced(lab: Lab, request_name: str) -> None:
    number = {"PTRACE_ATTACH": 16, "PTRACE_SEIZE": 0x4206}[request_name]
    arguments = (str(ARCH.numbers["ptrace"]), str(number))
    assert bare(lab, TRACE, *arguments).told["got"] == "ok"
    assert held(lab, TRACE, *arguments).told == {"got": "EPERM", "ended": True}
