# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What attacks on earlier states of this code got through with; each must stay closed."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from support.launch import PYTHON, Lab
from support.terminal import Terminal

REFUSED = 125


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stderr
    return next(line for line in done.stderr.splitlines() if line.startswith("error:"))


def test_a_fifo_as_the_program_holds_nobody_up(lab: Lab) -> None:
    assert lab.confined("sh", "-c", f"mkfifo {lab.workspace}/tool; chmod +x {lab.workspace}/tool").returncode == 0
    done = lab.confined(f"{lab.workspace}/tool", timeout=60)
    assert done.returncode == 126 and "not a regular file" in first_line(done)
    assert lab.ledger()[-1]["event"] == "not_started" and lab.leftovers() == []


def test_a_name_that_the_program_chose_puts_nothing_on_the_terminal(lab: Lab) -> None:
    evil = "\x1b]0;pwned\x07\nerror: forged"
    (lab.workspace / evil).write_text("")
    os.symlink(evil, lab.workspace / "link")
    done = lab.confined(f"{lab.workspace}/link")
    assert done.returncode == 126
    assert "\x1b" not in done.stderr and "\x07" not in done.stderr
    assert [line for line in done.stderr.splitlines() if line.startswith("error:")] == [first_line(done)]


@pytest.mark.parametrize("asked", ["link", "link/deeper", "a/../link", "a/link2"])
def test_a_planted_link_leads_no_grant_outside(lab: Lab, asked: str) -> None:
    (lab.outside / "deeper").mkdir()
    lab.own(lab.outside / "deeper")
    script = f"cd {lab.workspace}; mkdir a; ln -s {lab.outside} link; ln -s ../link a/link2"
    assert lab.confined("sh", "-c", script).returncode == 0
    done = lab.confined("touch", f"{lab.outside}/made", options=("--write", f"{lab.workspace}/{asked}"))
    assert done.returncode in (2, REFUSED), done.stderr
    assert "symbolic link" in first_line(done)
    assert not (lab.outside / "made").exists()


def test_a_planted_link_leads_no_working_directory_outside(lab: Lab) -> None:
    text = 'filesystem: {read: {allow: ["${system}"]}, write: {allow: ["${workdir}"]}}\n'
    policy = lab.file(lab.home / "p.yaml", text)
    options = ("run", "exec", "--isolation", "process", "--policy", str(policy), "--workdir")
    assert lab.aasm(*options, str(lab.workspace), "--", "ln", "-s", str(lab.outside), "link").returncode == 0
    done = lab.aasm(*options, str(lab.workspace / "link"), "--write", str(lab.workspace), "--", "touch", "made")
    assert done.returncode == 2  # a policy and an inline policy contradict each other
    policy.write_text(policy.read_text().replace('"${workdir}"', f'"${{workdir}}", "{lab.workspace}"'))
    done = lab.aasm(*options, str(lab.workspace / "link"), "--", "touch", "made")
    assert done.returncode == REFUSED and "symbolic link" in first_line(done)
    assert os.listdir(lab.outside) == []


def test_a_grant_does_not_change_its_object_while_another_run_swaps_it(lab: Lab) -> None:
    swap = (
        "import ctypes, os, time\n"
        "libc = ctypes.CDLL(None); end = time.monotonic() + 4\n"
        "os.mkdir('sub'); os.symlink(%r, 'lnk')\n"
        "while time.monotonic() < end: libc.renameat2(-100, b'sub', -100, b'lnk', 2)\n" % str(lab.outside)
    )
    base = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace))
    other = subprocess.Popen(
        lab.command(*base, "--read", os.path.dirname(os.path.dirname(PYTHON[0])), "--", *PYTHON, "-c", swap),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **lab.options(),
    )  # fmt: skip
    try:
        while not (lab.workspace / "lnk").is_symlink() and not (lab.workspace / "sub").is_symlink():
            time.sleep(0.01)
        while other.poll() is None:
            lab.confined("touch", f"{lab.outside}/made", options=("--write", f"{lab.workspace}/sub"))
    finally:
        other.kill()
        other.wait()
    assert os.listdir(lab.outside) == []


def test_what_is_trusted_is_protected_along_the_whole_way_to_it(lab: Lab) -> None:
    os.symlink(lab.state, lab.workspace / "state")
    done = lab.confined("true", env={"AASM_STATE_DIR": f"{lab.workspace}/state/inner"})
    assert done.returncode == REFUSED and "ledger" in first_line(done)


@pytest.mark.parametrize(
    ("path", "what"),
    [("/proc/sys/kernel", "settings"), ("/sys", "settings"), ("/dev", "devices"), ("/proc", "settings")],
)
def test_the_hosts_own_levers_are_no_workspace(lab: Lab, path: str, what: str) -> None:
    done = lab.confined("true", options=("--write", path))
    assert done.returncode == REFUSED and what in first_line(done)


def test_places_from_which_python_would_import_are_no_workspace(lab: Lab) -> None:
    base = ("run", "exec", "--isolation", "process", "--system", "--write")
    cache = lab.directory("cache")
    command = lab.command(*base, str(cache), "--", "true", python=())
    done = subprocess.run(
        command, capture_output=True, text=True, **lab.options({"PYTHONPYCACHEPREFIX": str(cache)})
    )
    assert done.returncode == REFUSED and "modules that Python would import" in first_line(done)
    local = lab.directory("home/.local")
    command = lab.command(*base, str(local), "--", "true", python=())
    done = subprocess.run(command, capture_output=True, text=True, **lab.options())
    assert done.returncode == REFUSED and "modules that Python would import" in first_line(done)


def test_the_lock_of_the_ledger_is_out_of_reach_of_a_reader(lab: Lab) -> None:
    assert lab.confined("true").returncode == 0
    hold = (
        "import fcntl, os, sys\n"
        "try: fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), 2); print('held')\n"
        "except OSError as problem: print(problem.errno)"
    )
    done = lab.confined(*PYTHON, "-c", hold, str(lab.state / "ledger.lock"), options=("--read", str(lab.state)))
    assert done.stdout == "13\n"


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_INET])
def test_a_loose_socket_as_standard_input_is_refused(lab: Lab, family: int, kind: int) -> None:
    with socket.socket(family, kind) as loose:
        done = lab.confined("true", stdin=loose)
    assert done.returncode == REFUSED and "socket" in first_line(done)
    one, two = socket.socketpair()
    with one, two:
        assert lab.confined("true", stdin=one).returncode == 0


def test_a_program_that_shuts_its_own_directory_leaves_nothing_behind(lab: Lab) -> None:
    done = lab.confined("sh", "-c", 'chmod 0 "$TMPDIR" "$HOME" "$(dirname "$HOME")"')
    assert done.returncode == 0 and "stays behind" not in done.stderr
    assert lab.leftovers() == []


@pytest.mark.parametrize("mask", [0, 0o777])
def test_our_own_files_do_not_depend_on_the_umask_and_the_program_gets_it(lab: Lab, mask: int) -> None:
    state = lab.top / "home" / "fresh"
    script = "umask; touch $TMPDIR/x && echo usable"
    before = os.umask(mask)
    try:
        done = lab.confined("sh", "-c", script, env={"AASM_STATE_DIR": str(state)})
    finally:
        os.umask(before)
    assert done.stdout.split() == [f"{mask:04o}", "usable"], done.stderr
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_tiny_limit_on_descriptors_is_said_and_is_no_defect(lab: Lab) -> None:
    done = subprocess.run(
        ["sh", "-c", 'ulimit -n 6; exec "$@"', "sh", *lab.command("run", "exec", "--system", "--", "true")],
        capture_output=True, text=True, **lab.options(),
    )  # fmt: skip
    assert done.returncode == REFUSED and "defect" not in done.stderr and "limit" in first_line(done)


def test_a_policy_that_leaves_writing_open_is_said_to_do_so(lab: Lab) -> None:
    policy = lab.file(lab.home / "p.yaml", "network: {allowlist: []}\ncapabilities: {deny: [network_inbound]}\n")
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(policy), "--", "true")
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning:")]
    assert done.returncode == 0
    assert any("does not restrict writing" in line for line in warnings)
    assert any("network_inbound" in line for line in warnings)


CHAIN = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static char stacks[8][2][16384];
static int next_link(void *word) {
    long k = (long)word, chain = k >> 1, side = k & 1;
    while (clone(next_link, stacks[chain][!side] + 16000, CLONE_VM | SIGCHLD, (void *)(chain << 1 | !side)) < 0) ;
    syscall(SYS_exit, 0);
    return 0;
}
int main(int count, char **arguments) {
    for (long chain = 0; chain < atoi(arguments[1]); chain++)
        if (fork() == 0) { setsid(); signal(SIGTERM, SIG_IGN); next_link((void *)(chain << 1)); }
    if (count > 2) pause();
    usleep(100000);
    return 0;
}
"""


@pytest.fixture
def chain(lab: Lab) -> Path:
    source, program = lab.file(lab.workspace / "chain.c", CHAIN), lab.workspace / "chain"
    subprocess.run(["gcc", "-O1", "-o", str(program), str(source)], check=True)
    return program


@pytest.mark.parametrize("stay", [(), ("stay",)], ids=["ends by itself", "is ended by the clock"])
def test_a_chain_of_forks_makes_nobody_deaf(lab: Lab, chain: Path, stay: tuple[str, ...]) -> None:
    """Each link starts the next and ends at once: reaping them must not keep us from the clock and from killing."""
    before = time.monotonic()
    done = lab.confined(str(chain), "1", *stay, options=("--max-wall-clock-seconds", "1"), timeout=60)
    assert time.monotonic() - before < 30
    assert done.returncode == (124 if stay else 0)
    assert lab.receipt()["boundary"]["survivors_killed"] > 0
    alive = subprocess.run(["pgrep", "-f", str(chain)], capture_output=True, text=True).stdout.split()
    assert alive == []


def test_a_stopped_terminal_does_not_hold_the_end_of_a_run(lab: Lab) -> None:
    stop = "import os, termios, time\nif os.fork() == 0: os.setsid(); time.sleep(60)\ntermios.tcflow(2, termios.TCOOFF)"
    base = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace))
    grants = ("--read", os.path.dirname(os.path.dirname(PYTHON[0])))
    with Terminal(lab, lab.command(*base, *grants, "--", *PYTHON, "-c", stop)) as terminal:
        assert terminal.process.wait(20) == 0
    assert lab.ledger()[-1]["event"] == "ended"
    assert lab.receipt()["boundary"]["survivors_killed"] == 1


def test_a_full_pipe_on_standard_error_does_not_hold_the_end_of_a_run(lab: Lab) -> None:
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETFL, os.O_NONBLOCK)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        fcntl.fcntl(writing, fcntl.F_SETFL, 0)
    command = lab.command("run", "exec", "--isolation", "process", "--system", "--", "true")
    done = subprocess.run(command, stderr=writing, stdin=subprocess.DEVNULL, timeout=60, **lab.options())
    os.close(reading)
    os.close(writing)
    assert done.returncode == 0 and lab.ledger()[-1]["event"] == "ended"


def test_a_child_that_was_there_before_is_left_alone_and_its_number_is_not(lab: Lab) -> None:
    script = 'sleep 30 >/dev/null 2>&1 & echo $! > bystander; exec "$@"'
    leaves = "setsid sleep 29 & exit 0"
    inner = lab.command("run", "exec", "--isolation", "process", "--system", "--", "sh", "-c", leaves)
    command = ["sh", "-c", script, "sh", *inner]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **lab.options())
    assert "1 process(es) were left over" in done.stderr
    pid = int((lab.workspace / "bystander").read_text())
    os.kill(pid, signal.SIGKILL)  # it is still there
