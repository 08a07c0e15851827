# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Two denials by filter: no new process at all, and nothing but the system calls that a policy names."""

from __future__ import annotations

import pytest
from support import orders
from support.floor_calls import answers, rows, siblings
from support.inside import bare, grants, launch, policy, program, read, under
from support.launch import Lab, domain

from aasm._sys import order as order_format, syscalls
from aasm.backends.native import filters
from aasm.policy.vocabulary import SYSCALLS

ARCH = syscalls.host_arch()

# --- no new process ---

CREATE = """
import _thread, ctypes, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def reaped(pid):
    os.waitpid(pid, 0)
def forked():
    pid = os.fork()
    if not pid:
        os._exit(0)
    reaped(pid)
def by_number(number, *flags):
    pid = raw(number, *flags)
    if not pid:
        os._exit(0)
    reaped(pid)
def spawned():
    reaped(os.posix_spawn("/bin/true", ["true"], {}))
def shell():
    if os.system("exit 0"):
        raise OSError(ctypes.get_errno() or 1, "")
def threads():
    done = []
    lock = _thread.allocate_lock()
    lock.acquire()
    _thread.start_new_thread(lambda: (done.append(1), lock.release()), ())
    lock.acquire()
    assert done
def clone(flags):
    by_number(int(sys.argv[2]), flags, 0, 0, 0, 0)
ways = {"os.fork": forked, "fork by number": lambda: by_number(int(sys.argv[1])), "posix_spawn": spawned,
        "clone by number": lambda: clone(17), "clone sharing files": lambda: clone(0x411),
        "subprocess": lambda: subprocess.run(["/bin/true"], check=True), "system": shell}
tell(ways={name: attempt(way) for name, way in ways.items()}, clone3=call(int(sys.argv[3]), 0, 0),
     threads=attempt(threads))
os.execv("/bin/sh", ["sh", "-c", "echo program replaced >&2"])
"""
NUMBERS = tuple(str(ARCH.numbers.get(name, ARCH.numbers["clone"])) for name in ("fork", "clone", "clone3"))
DENIALS = {
    "starting agents": {"deny": ["agent_spawn"]},
    "starting programs": {"deny": ["terminal_exec"]},
    "everything else is allowed": {"allow": ["file_read", "file_write", "network_outbound"]},
}


@pytest.mark.parametrize("denial", DENIALS)
def test_no_process_is_made_while_threads_and_exec_work(lab: Lab, denial: str) -> None:
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), capabilities=DENIALS[denial])
    done = under(lab, text, CREATE, *NUMBERS)
    assert set(done.told["ways"].values()) == {"EPERM"}, done.stderr
    assert (done.told["clone3"], done.told["threads"]) == ("ENOSYS", "ok")
    assert "program replaced" in done.stderr
    line = domain(lab.receipt(), "process_creation")
    assert (line["requested"], line["state"]) == ("stated", "prevention")
    control = bare(lab, CREATE, *NUMBERS)
    assert set(control.told["ways"].values()) == {"ok"} and "program replaced" in control.stderr


def test_processes_are_made_when_nothing_denies_them(lab: Lab) -> None:
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), capabilities={"deny": ["model:other"]})
    assert set(under(lab, text, CREATE, *NUMBERS).told["ways"].values()) == {"ok"}
    assert domain(lab.receipt(), "process_creation")["state"] == "unmeasured"


# --- nothing but the named calls ---

NAMED = {"syscalls": {"allow": list(SYSCALLS)}}


def test_a_program_that_needs_only_the_named_calls_runs(lab: Lab) -> None:
    lab.file(lab.workspace / "file", "content\n")
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), **NAMED)
    done = launch(lab, text, "/bin/sh", "-c", "echo said; /bin/cat file; echo kept > made; exit 3")
    assert (done.stdout, done.returncode) == ("said\ncontent\n", 3), done.stderr
    assert (lab.workspace / "made").read_text() == "kept\n"
    line = domain(lab.receipt(), "syscall")
    assert (line["requested"], line["state"], line["claim"]) == ("stated", "prevention", "planned")


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_call_that_is_not_named_is_refused_in_every_process(lab: Lab, depth: int) -> None:
    script = "/bin/mkdir made; echo $?"
    for _ in range(depth):
        script = f"/bin/sh -c '{script}'" if "'" not in script else f'/bin/sh -c "{script}"'.replace("$", "\\$")
    filesystem = grants([lab.workspace], [lab.workspace])
    done = launch(lab, policy(filesystem=filesystem, **NAMED), "/bin/sh", "-c", script)
    assert done.stdout.split() == ["1"] and "Operation not permitted" in done.stderr
    assert not (lab.workspace / "made").exists()
    control = launch(lab, policy(filesystem=filesystem), "/bin/sh", "-c", script)
    assert control.stdout.split() == ["0"] and (lab.workspace / "made").is_dir()


def test_a_program_that_needs_more_ends_and_the_receipt_says_how(lab: Lab) -> None:
    filesystem = grants([lab.workspace], [lab.workspace])
    few = policy(filesystem=filesystem, syscalls={"allow": ["read", "write", "exit_group"]})
    done = launch(lab, few, "/bin/echo", "never")
    assert done.stdout == "" and done.returncode != 0
    code = lab.receipt()["execution"]["exit_code"]
    assert code == done.returncode or code is None
    assert launch(lab, policy(filesystem=filesystem, **NAMED), "/bin/echo", "said").stdout == "said\n"


def test_an_empty_list_is_refused_in_planning(lab: Lab) -> None:
    text = policy(filesystem=grants([], [lab.workspace]), syscalls={"allow": []})
    done = launch(lab, text, "/bin/touch", str(lab.workspace / "ran"))
    assert done.returncode == 125 and not (lab.workspace / "ran").exists()
    assert "syscall (syscalls.allow): an empty list of permitted calls would end every program" in done.stderr
    assert [record["event"] for record in lab.ledger()] == ["refused"]


UNNAMEABLE = {
    "mount": "is refused in every boundary, so allowing it would mean nothing; take it out",
    "clone3": "is refused in every boundary, so allowing it would mean nothing; take it out",
    "no_such_call": "is no system call and no group of them; ",
    "Read": "is no system call and no group of them; did you mean read? name a call of Linux",
    "'@nothing'": "is no system call and no group of them; ",
}


@pytest.mark.parametrize("name", UNNAMEABLE)
def test_a_call_that_cannot_be_named_is_refused_with_its_line(lab: Lab, name: str) -> None:
    path = lab.file(lab.top / "policy.yaml", f"syscalls:\n  allow:\n    - read\n    - {name}\n")
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", "/bin/true")
    assert done.returncode == 125
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: ") and f"{path}:4:7: " in lines[0], done.stderr
    named = name.strip("'")
    assert f'"{named}" {UNNAMEABLE[name]}' in lines[0]


def test_a_call_beyond_the_fifteen_is_let_through_once_it_is_named(lab: Lab) -> None:
    filesystem = grants([lab.workspace], [lab.workspace])
    made = lab.workspace / "made"
    for more, code in ((["chdir"], "1"), (["mkdir", "mkdirat"], "0")):
        named = policy(filesystem=filesystem, syscalls={"allow": [*SYSCALLS, *more]})
        done = launch(lab, named, "/bin/sh", "-c", f"/bin/mkdir {made}; echo $?")
        assert done.stdout.split() == [code] and made.is_dir() is (code == "0"), done.stderr
    assert {domain(found["body"], "syscall")["claim"] for found in lab.receipts()} == {"planned"}


# --- the floor under an allow-list that names every call there is ---

TABLE = """
os.setsid()
tell(**{name: call(number, *args) for name, number, args in json.loads(sys.argv[1])})
"""


def test_the_floor_holds_beneath_any_allow_list(lab: Lab) -> None:
    order = orders.for_program(lab, *program(TABLE, rows(ARCH.numbers)))
    order.filter_b = filters.filter_b(ARCH, filters.FilterPlan(allowed_calls=tuple(ARCH.numbers)))
    done = read(orders.by_hand(lab, order_format.encode(order)))
    expected = answers(ARCH.numbers)
    assert {label: done.told[label] for label in expected} == expected, done.stderr
    natural = bare(lab, TABLE, rows(ARCH.numbers)).told
    harmless = siblings(ARCH.numbers)
    assert [done.told[label] for label in harmless] == [natural[label] for label in harmless]
