# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Closed streams, very many and very odd arguments, variables and names: they arrive as given, or are refused."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import Any, Sequence

import pytest
from support import driver
from support.launch import PYTHON, Lab, python_grants
from support.outcome import ONCE, Done, assert_not_started, assert_refused, events, exec_options, launch, one_error

ISOLATIONS = pytest.mark.parametrize("isolation", ["process", "none"])
EVERY_BYTE = bytes(range(1, 256))


def command(lab: Lab, isolation: str, *options: str) -> list[bytes]:
    """Return the command line up to and with `--`, in bytes, for a program that may be Python."""
    more = python_grants() if isolation == "process" else ()
    return [os.fsencode(item) for item in lab.command(*exec_options(lab, isolation), *more, *options, "--")]


def raw(lab: Lab, argv: Sequence[bytes], **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command line of bytes."""
    settings = lab.options()
    settings["env"] = {os.fsencode(k): os.fsencode(v) for k, v in settings["env"].items()}
    settings["env"].update(more.pop("env", {}))
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, **settings, **more)


# --- closed streams ------------------------------------------------------------------------------------------------

STREAMS = """
import os
def told(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError as problem:
        return problem.strerror
with open("seen", "w") as stream:
    print([told(fd) for fd in (0, 1, 2)], sorted(map(int, os.listdir("/proc/self/fd"))), file=stream)
"""
CLOSE = "import os, sys\nfor fd in sys.argv[1]: os.close(int(fd))\nos.execv(sys.argv[2], sys.argv[2:])"


@ONCE
@ISOLATIONS
def test_streams_that_are_closed_at_the_start_are_the_null_device_for_the_program(lab: Lab, isolation: str) -> None:
    """In every combination, so that no file of ours, or of the program, becomes its standard output."""
    options = ("--read", "/proc") if isolation == "process" else ()
    for which in ("0", "1", "2", "01", "02", "12", "012") if isolation == "process" else ("0", "12", "012"):
        prepare = [os.fsencode(item) for item in (sys.executable, "-I", "-S", "-c", CLOSE, which)]
        argv = [*prepare, *command(lab, isolation, *options), *map(os.fsencode, (*PYTHON, "-c", STREAMS))]
        done = raw(lab, argv)
        assert done.returncode == 0, (which, done.stderr)
        names, numbers = (lab.workspace / "seen").read_text().rsplit("] [", 1)
        found = [name.strip("'[] \n") for name in names.split(", ")]
        for fd in "012":
            assert (found[int(fd)] == "/dev/null") == (fd in which or fd == "0"), (which, found)
        assert numbers.count(",") == 4, numbers  # 0, 1, 2, the file, and the listing itself
    assert set(events(lab)) == {"registered", "ended"}


@ONCE
def test_errors_with_every_stream_closed_are_still_errors(lab: Lab) -> None:
    prepare = [os.fsencode(item) for item in (sys.executable, "-I", "-S", "-c", CLOSE, "012")]
    for words, code in ((["run", "exec", "--", "true"], 125), (["nonsense"], 2), (["--version"], 125)):
        argv = [*prepare, *map(os.fsencode, lab.command(*words))]
        assert raw(lab, argv).returncode == code, words


# --- very many -----------------------------------------------------------------------------------------------

COUNT = 100_000
TELL = "import os, sys; print(len(sys.argv) - 1, sys.argv[-1], len(os.environb), os.environb.get(b'V99999'))"


def roomy() -> None:
    """Let the command line be as long as the kernel ever takes it: the limit follows the stack's (execve(2))."""
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    wanted = 64 << 20
    resource.setrlimit(resource.RLIMIT_STACK, (wanted if hard in (-1, resource.RLIM_INFINITY) else hard, hard))


@ONCE
@ISOLATIONS
def test_a_hundred_thousand_arguments_arrive(lab: Lab, isolation: str) -> None:
    more = [b"%d" % number for number in range(COUNT)]
    done = raw(lab, [*command(lab, isolation), *map(os.fsencode, (*PYTHON, "-c", TELL)), *more], preexec_fn=roomy)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split()[:2] == [b"100000", b"99999"]


@ONCE
def test_a_hundred_thousand_variables_arrive_without_a_boundary_and_stay_out_of_one(lab: Lab) -> None:
    many = {b"V%d" % number: b"x" for number in range(COUNT)}
    program = [os.fsencode(item) for item in (*PYTHON, "-c", TELL)]
    done = raw(lab, [*command(lab, "none"), *program], env=many, preexec_fn=roomy)
    assert done.returncode == 0, done.stderr[-500:]
    count, last = done.stdout.split()[2:]
    assert int(count) >= COUNT and last == b"b'x'"
    done = raw(lab, [*command(lab, "process"), *program], env=many, preexec_fn=roomy)
    assert done.returncode == 0, done.stderr[-500:]
    count, last = done.stdout.split()[2:]
    assert int(count) < 30 and last == b"None"  # the environment is replaced, not filtered


@ONCE
def test_two_thousand_delegated_variables_arrive_in_a_boundary(lab: Lab) -> None:
    options = [item for number in range(98_000, COUNT) for item in ("--env", f"V{number}=x")]
    done = raw(lab, [*command(lab, "process", *options), *map(os.fsencode, (*PYTHON, "-c", TELL))], preexec_fn=roomy)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.split()[-1] == b"b'x'"


@ONCE
def test_an_order_that_is_too_large_is_refused(lab: Lab) -> None:
    change = "from aasm._sys import order\norder.LARGEST = 20000\n"
    done = driver.run(lab, change, *exec_options(lab, "process"), "--", "sh", "-c", "touch ran", "x" * 30_000)
    line = one_error(done)
    assert done.returncode == 125 and events(lab) == ["registered", "refused"]
    assert "20000 is the most a launch may need; give fewer arguments or variables" in line
    assert not (lab.workspace / "ran").exists() and lab.leftovers() == []


@ONCE
@ISOLATIONS
def test_more_than_the_kernel_takes_cannot_be_executed(lab: Lab, isolation: str) -> None:
    """The command itself got these arguments under a larger limit than it has when the program is executed."""
    change = "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 19, resource.getrlimit(3)[1]))\n"
    more = ["x" * 100_000] * 4
    done = driver.run(lab, change, *exec_options(lab, isolation), "--", "sh", "-c", "touch ran", *more)
    line = assert_not_started(lab, done, 126, "not_executable")
    assert line.endswith("sh: cannot be executed: Argument list too long")
    assert not (lab.workspace / "ran").exists()


# --- very odd ------------------------------------------------------------------------------------------------


@ISOLATIONS
def test_every_byte_but_nul_arrives_in_arguments_and_variables(lab: Lab, isolation: str) -> None:
    """With a boundary an argument is UTF-8, and every byte that can be in it arrives."""
    argument = EVERY_BYTE if isolation == "none" else "".join(map(chr, [*range(1, 256), 0x800, 0x10FFFF])).encode()
    name = bytes(byte for byte in range(1, 256) if byte != ord("="))
    script = "import os, sys; os.write(1, b'|'.join([os.fsencode(sys.argv[1]), os.environb[b'ODD'], os.environb[%r]]))"
    script %= (name,)
    argv = command(lab, isolation)
    argv[-1:] = [b"--env", b"ODD=" + EVERY_BYTE, b"--env", name + b"=named", b"--"]
    done = raw(lab, [*argv, *map(os.fsencode, (*PYTHON, "-c", script)), argument])
    assert done.returncode == 0, done.stderr
    assert done.stdout == argument + b"|" + EVERY_BYTE + b"|named"
    if isolation == "process":
        assert lab.aasm("receipt", "verify", *map(str, (lab.state / "execution-receipts").iterdir())).returncode == 0


@ISOLATIONS
def test_every_byte_but_nul_and_slash_may_be_in_names_of_files_and_directories(lab: Lab, isolation: str) -> None:
    """With a boundary the program's own name is UTF-8, since a report names it; directories and grants need not be."""
    odd = bytes(byte for byte in range(1, 256) if byte != ord("/"))
    name = odd[60:200] if isolation == "none" else odd[:120] + "\xe9\u0800".encode()
    top = os.fsencode(lab.workspace) + b"/" + odd[:120] + b"\xff"
    folder = b"inner" if isolation == "process" else odd[120:]
    os.mkdir(top)
    os.mkdir(top + b"/" + folder)
    program = top + b"/" + folder + b"/" + name
    with open(program, "wb") as stream:
        stream.write(b"#!/bin/sh\ntouch ran; exit 4\n")
    os.chmod(program, 0o755)
    for path in (top, os.path.dirname(program), program):
        if lab.user.uid is not None:
            os.chown(path, lab.user.uid, lab.user.gid or 0)
    argv = command(lab, isolation)
    argv[-1:] = [b"--workdir", top, b"--"]
    if isolation == "process":
        argv[-1:] = [b"--read", os.path.dirname(program), b"--write", top, b"--"]
    word = b"./" + folder + b"/" + name  # beneath the working directory
    done = raw(lab, [*argv, word])
    assert done.returncode == 4, done.stderr
    assert os.path.exists(top + b"/ran")
    assert events(lab) == ["registered", "ended"]
    missing = raw(lab, [*argv, word + b"x"])
    assert missing.returncode == 127
    (line,) = [line for line in missing.stderr.splitlines() if line.startswith(b"error:")]
    assert (b"\\x01" if isolation == "process" else b"\\xc8") in line  # spelled out
    assert line.decode("utf-8").isprintable()


def test_a_refusal_about_an_odd_path_is_one_printable_line_and_is_recorded(lab: Lab) -> None:
    argv = command(lab, "process")
    argv[-1:] = [b"--read", os.fsencode(lab.workspace) + b"/a\nb\x1b[31m\xff", b"--"]
    done = raw(lab, [*argv, b"true"])
    text = done.stderr.decode("utf-8")
    plain: Done[str] = subprocess.CompletedProcess(done.args, done.returncode, "", text)
    assert "a\\x0ab\\x1b[31m\\xff: No such file or directory" in assert_refused(lab, plain)


@ONCE
def test_an_entry_without_a_name_or_a_sign_means_nothing(lab: Lab) -> None:
    """execve(2) takes such entries; a shell drops them, and so do we."""
    execute = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
argv = [os.fsencode(item) for item in sys.argv[1:]]
entries = [b"=unnamed=1", b"nosign", b"", *(k + b"=" + v for k, v in os.environb.items())]
libc.execve(argv[0], (ctypes.c_char_p * (len(argv) + 1))(*argv, None),
            (ctypes.c_char_p * (len(entries) + 1))(*entries, None))
"""
    for isolation in ("process", "none"):
        words = lab.command(*exec_options(lab, isolation), "--", "env")
        done = lab.bare(sys.executable, "-I", "-S", "-c", execute, *words)
        assert done.returncode == 0, done.stderr
        names = [line.partition("=")[0] for line in done.stdout.splitlines()]
        assert "PATH" in names and "" not in names and "nosign" not in names


@ONCE
@ISOLATIONS
def test_an_empty_argument_is_an_argument(lab: Lab, isolation: str) -> None:
    done = launch(lab, isolation, "sh", "-c", 'echo "$#:$1:$3"', "sh", "", "--", "last")
    assert done.stdout == "3::last\n", done.stderr
