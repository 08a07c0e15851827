# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The terminal belongs to the program: its keys, size, modes, and job control, all on a real pseudo terminal."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest
from support.launch import PYTHON, Lab, python_grants
from support.outcome import ONCE, alive, exec_options, launch, marked, state_of, wait_until
from support.terminal import SHELL, Terminal

ISOLATIONS = pytest.mark.parametrize("isolation", ["process", "none"])


def command(lab: Lab, isolation: str, *argv: str, options: tuple[str, ...] = ()) -> list[str]:
    """Return the command line that launches a program which may be Python."""
    more = python_grants() if isolation == "process" else ()
    return lab.command(*exec_options(lab, isolation), *more, "--report", "never", *options, "--", *argv)


def typed(lab: Lab, isolation: str, *argv: str) -> str:
    """Return the same as a person types it."""
    return shlex.join(command(lab, isolation, *argv))


# --- the keys that send signals ----------------------------------------------------------------------------


READER = "sed -u s/^/heard:/"


def answering(terminal: Terminal) -> None:
    """Wait until the program, READER, reads the terminal: only then is a key meant for it and not for its shell."""
    terminal.type("ready\n")
    terminal.expect("heard:ready\n")


@ISOLATIONS
@pytest.mark.parametrize("key, number", [("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)], ids=["^C", "^\\"])
def test_a_key_ends_program_and_command_alike(lab: Lab, isolation: str, key: str, number: int) -> None:
    with Terminal(lab, command(lab, isolation, "bash", "-c", f"ulimit -c 0; exec {READER}")) as terminal:
        answering(terminal)
        terminal.type(key)
        assert terminal.wait() == 128 + number


def _two(mark: str) -> list[int]:
    found = [pid for pid in marked(mark) if b"bash" not in open_cmdline(pid)]
    return found if len(found) == 2 else []


def open_cmdline(pid: int) -> bytes:
    """Return the program's own name for a process that may be gone by now."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b"bash"


def test_ctrl_c_leaves_no_descendant_not_even_one_that_does_not_hear_it(lab: Lab) -> None:
    mark = f": {lab.workspace}/mark"
    one, two = "touch one; sleep 43", "touch two; sleep 44"
    script = f"(trap '' INT; exec sh -c '{one}; {mark}') & setsid sh -c '{two}; {mark}' & exec {READER}"
    with Terminal(lab, command(lab, "process", "bash", "-c", script)) as terminal:
        answering(terminal)
        wait_until(lambda: {"one", "two"} <= set(os.listdir(lab.workspace)), "both are where they are meant to be")
        left = wait_until(lambda: _two(f"; {mark}"), "both are started")
        terminal.type("\x03")
        assert terminal.wait() == 130
    assert not any(alive(pid) for pid in left) and marked(mark) == []
    assert lab.receipt()["boundary"]["survivors_killed"] >= 2  # the two shells, and what they wait for


@ISOLATIONS
def test_a_program_that_handles_ctrl_c_decides_itself_and_gets_it_once(lab: Lab, isolation: str) -> None:
    script = "trap 'echo heard' INT; echo ready; read line; echo got $line; exit 5"
    with Terminal(lab, command(lab, isolation, "bash", "-c", script)) as terminal:
        terminal.expect("ready")
        terminal.type("\x03")
        terminal.expect("heard")
        terminal.type("word\n")
        terminal.expect("got word")
        assert terminal.wait() == 5
        assert terminal.screen.count("heard") == 1


@ISOLATIONS
def test_a_hang_up_ends_the_program(lab: Lab, isolation: str) -> None:
    mark = f": {lab.workspace}/mark"
    with Terminal(lab, command(lab, isolation, "sh", "-c", f"echo ready; sleep 46; {mark}")) as terminal:
        terminal.expect("ready")
        terminal.hang_up()
        assert terminal.wait(5) == 128 + signal.SIGHUP
    assert marked(mark) == []


# --- size and modes ----------------------------------------------------------------------------------------

SIZES = """
import os, signal
def told(number, frame):
    os.write(1, b"size %d %d\\n" % os.get_terminal_size(0))
signal.signal(signal.SIGWINCH, told)
told(0, None)
os.read(0, 1)
"""


@ISOLATIONS
def test_a_resize_reaches_the_program_once(lab: Lab, isolation: str) -> None:
    with Terminal(lab, command(lab, isolation, *PYTHON, "-c", SIZES)) as terminal:
        terminal.expect("size 80 24")
        terminal.resize(50, 132)
        terminal.expect("size 132 50")
        terminal.type("\n")
        assert terminal.wait() == 0
        assert terminal.screen.count("size") == 2


RAW = """
import os, sys, termios, tty
if sys.argv[1] == "full":
    before = termios.tcgetattr(0)
    open("/dev/tty", "rb").close()
tty.setraw(0)
os.write(1, b"raw\\r\\n")
key = os.read(0, 1)
os.write(1, b"key %d\\r\\n" % key[0])
if sys.argv[1] == "killed":
    os.kill(os.getpid(), 9)
if sys.argv[1] == "full":
    termios.tcsetattr(0, termios.TCSADRAIN, before)
"""


def raw(modes: list[object]) -> bool:
    """Say whether these modes hand every key over at once, without signals and echo."""
    assert isinstance(modes[3], int)
    return not modes[3] & (termios.ICANON | termios.ECHO | termios.ISIG)


@ISOLATIONS
def test_a_full_screen_program_works_and_puts_the_modes_back_itself(lab: Lab, isolation: str) -> None:
    with Terminal(lab, command(lab, isolation, *PYTHON, "-c", RAW, "full")) as terminal:
        before = terminal.modes()
        terminal.expect("raw")
        assert raw(terminal.modes()) and not raw(before)
        terminal.type("\x03")
        terminal.expect("key 3")  # a key like any other: no signal
        assert terminal.wait() == 0
        assert terminal.modes() == before


@ISOLATIONS
def test_modes_are_restored_after_a_kill_and_left_alone_after_a_normal_end(lab: Lab, isolation: str) -> None:
    for way, code, restored in (("killed", 137, True), ("left", 0, False)):
        with Terminal(lab, command(lab, isolation, *PYTHON, "-c", RAW, way)) as terminal:
            before = terminal.modes()
            terminal.expect("raw")
            terminal.type("x")
            terminal.expect("key 120")
            assert terminal.wait() == code
            assert (terminal.modes() == before) == restored, way
            assert raw(terminal.modes()) != restored, way


@ONCE
def test_modes_are_restored_after_the_wall_clock_ended_the_program(lab: Lab) -> None:
    options = ("--max-wall-clock-seconds", "1")
    with Terminal(lab, command(lab, "process", *PYTHON, "-c", RAW, "killed", options=options)) as terminal:
        before = terminal.modes()
        terminal.expect("raw")
        assert terminal.wait() == 124
        assert terminal.modes() == before


# Gives the terminal to a child of its own, so that whoever else reads it is stopped by the kernel (SIGTTIN).
TAKEN = """
import os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    print("taken", flush=True)
    time.sleep(60)
time.sleep(0.3)
os.read(0, 1)
"""


@ONCE
def test_a_program_that_takes_the_terminal_cannot_stop_the_clock(lab: Lab) -> None:
    """Its read in the background stops the whole job; with a clock running, the supervisor does not stop with it."""
    options = ("--max-wall-clock-seconds", "1")
    with Terminal(lab, SHELL) as terminal:
        terminal.prompt()
        terminal.type(shlex.join(command(lab, "process", *PYTHON, "-c", TAKEN, options=options)) + "\n")
        terminal.expect("taken")
        code_is(terminal, 124)


# --- job control, seen from the outer shell ------------------------------------------------------------------

CODE = ("echo code $?\n", "code {}\n")


def code_is(terminal: Terminal, code: int) -> None:
    """At its prompt, ask the outer shell how the command ended."""
    terminal.prompt()
    terminal.type(CODE[0])
    terminal.expect(CODE[1].format(code))


@ISOLATIONS
def test_ctrl_z_stops_everybody_and_fg_goes_on(lab: Lab, isolation: str) -> None:
    mark = f": {lab.workspace}/mark"
    script = f"{mark}; while read line; do echo got $line; done; exit 3"
    with Terminal(lab, SHELL) as terminal:
        terminal.prompt()
        terminal.type(typed(lab, isolation, "sh", "-c", script) + "\n")
        terminal.expect("exit 3'\n")
        for word in ("one", "two"):
            terminal.type(f"{word}\n")
            terminal.expect(f"got {word}")
            time.sleep(0.1)  # no person is faster
            terminal.type("\x1a")
            terminal.expect("Stopped")
            terminal.prompt()
            assert {state_of(pid) for pid in marked(mark)} == {"T"}
            terminal.type("fg\n")
        terminal.type("three\n")
        terminal.expect("got three")
        terminal.type("\x04")
        code_is(terminal, 3)


@ISOLATIONS
def test_a_background_job_that_reads_is_stopped_until_it_is_in_the_foreground(lab: Lab, isolation: str) -> None:
    with Terminal(lab, SHELL) as terminal:
        terminal.prompt()
        terminal.type(typed(lab, isolation, *READER.split()) + " &\n")
        number = int(terminal.expect(r"\[1\] (\d+)\n").group(1))
        terminal.prompt()
        wait_until(lambda: state_of(number) == "T", "the command stops with its program")
        terminal.type("fg\n")
        terminal.expect("heard:/'\n")
        answering(terminal)
        terminal.type("\x04")
        code_is(terminal, 0)


@ONCE
def test_a_stopped_program_that_is_killed_by_the_shell_leaves_nothing(lab: Lab) -> None:
    mark = f"{lab.workspace}/mark"
    with Terminal(lab, SHELL) as terminal:
        terminal.prompt()
        terminal.type(typed(lab, "process", "bash", "-c", f"exec -a {mark} {READER}") + "\n")
        terminal.expect("heard:/'\n")
        answering(terminal)
        terminal.type("\x1a")
        terminal.expect("Stopped")
        terminal.prompt()
        terminal.type("kill %1\n")
        wait_until(lambda: not marked(mark), "nothing of the run is left")
    assert lab.ledger()[-1]["detail"]["value"] == "killed"


# --- a shell inside, with job control of its own ---------------------------------------------------------------

INNER = "<inner> "


def enter_shell(lab: Lab, isolation: str, terminal: Terminal) -> int:
    """At the prompt of the outer shell start one inside; return the process group of the outer one."""
    lab.file(lab.workspace / "rc", f"PS1='{INNER}'\n")
    terminal.prompt()
    outer = terminal.foreground()
    terminal.type(typed(lab, isolation, "/bin/bash", "--noprofile", "--rcfile", "rc", "-i") + "\n")
    terminal.expect(INNER)
    assert "no job control" not in terminal.screen
    assert terminal.foreground() != outer
    return outer


@ISOLATIONS
def test_a_shell_inside_has_job_control_of_its_own(lab: Lab, isolation: str) -> None:
    with Terminal(lab, SHELL) as terminal:
        outer = enter_shell(lab, isolation, terminal)
        terminal.type(READER + "\n")
        answering(terminal)
        terminal.type("\x1a")
        terminal.expect("Stopped")
        terminal.expect(INNER)  # the inner shell has the terminal, the outer one has not
        terminal.type("jobs\n")
        terminal.expect(r"\[1\].*Stopped.*heard:/\n")
        terminal.expect(INNER)
        terminal.type("fg\n")
        terminal.expect("fg\nsed")
        answering(terminal)
        terminal.type("\x03")
        terminal.expect(INNER)
        terminal.type("echo in $?\n")
        terminal.expect("in 130\n")
        terminal.type("exit 7\n")
        terminal.prompt()
        assert terminal.foreground() == outer
        terminal.type(CODE[0])
        terminal.expect(CODE[1].format(7))


@ISOLATIONS
def test_suspending_a_shell_inside_gives_the_terminal_back_to_the_outer_one(lab: Lab, isolation: str) -> None:
    with Terminal(lab, SHELL) as terminal:
        enter_shell(lab, isolation, terminal)
        terminal.type("suspend\n")
        terminal.expect("Stopped", 3)
        terminal.prompt()
        terminal.type("fg\n")
        terminal.expect("-i\n")
        terminal.type("echo back\n")
        terminal.expect("back\n", 3)
        terminal.type("exit 8\n")
        code_is(terminal, 8)


@ONCE
def test_a_shell_inside_that_is_killed_gives_the_terminal_back(lab: Lab) -> None:
    with Terminal(lab, SHELL) as terminal:
        outer = enter_shell(lab, "process", terminal)
        terminal.type("kill -9 $$\n")
        code_is(terminal, 137)
        assert terminal.foreground() == outer


# --- what standard input is -------------------------------------------------------------------------------------


@ISOLATIONS
def test_standard_input_is_handed_on_as_it_is(lab: Lab, isolation: str) -> None:
    told = "import os, stat; m = os.fstat(0).st_mode; print(os.isatty(0), stat.S_ISFIFO(m), stat.S_ISREG(m)); "
    script = told + "print(os.read(0, 99).decode().strip())"
    argv = (*PYTHON, "-c", script)
    options = python_grants() if isolation == "process" else ()
    source, sink = os.pipe()
    os.write(sink, b"from a pipe")
    os.close(sink)
    done = launch(lab, isolation, *argv, options=options, stdin=source)
    os.close(source)
    assert done.stdout.split("\n")[:2] == ["False True False", "from a pipe"], done.stderr
    with lab.file(lab.outside / "input", "from a file").open() as stream:
        done = launch(lab, isolation, *argv, options=options, stdin=stream)
    assert done.stdout.split("\n")[:2] == ["False False True", "from a file"]
    with Terminal(lab, command(lab, isolation, *argv)) as terminal:
        terminal.expect("True False False")
        terminal.type("from a terminal\n")
        terminal.expect("from a terminal\nfrom a terminal\n")
        assert terminal.wait() == 0


@ONCE
@ISOLATIONS
def test_each_stream_may_be_something_else(lab: Lab, isolation: str) -> None:
    script = "import os; os.write(2, b'%d%d%d' % (os.isatty(0), os.isatty(1), os.isatty(2)))"
    with Terminal(lab, command(lab, isolation, *PYTHON, "-c", script), stdout=subprocess.DEVNULL) as terminal:
        terminal.expect("101")
        assert terminal.wait() == 0
