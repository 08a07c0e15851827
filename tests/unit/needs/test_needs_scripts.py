# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""First lines as the kernel reads them, and what env makes of them: both are asked here."""

from __future__ import annotations

import errno
import os
import random
import subprocess
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest
from support.elf_files import write_program

from aasm.errors import HostError
from aasm.needs import needs
from aasm.needs.firstline import DEFAULT_PATH, EnvCommand, FirstLine, env_command, first_line

SYSTEM_PATH = "/usr/bin:/bin"
LINES = 300
ENV_LINES = 150


def named(program: str, path: str = SYSTEM_PATH, cwd: str = "/") -> List[Tuple[str, str, bool]]:
    """Return what is needed, without loaders and libraries."""
    found = needs(program, path, cwd)
    return [(need.path, need.right, need.missing) for need in found if not is_library(need.why)]


def is_library(why: str) -> bool:
    return why.startswith(("needed by", "loader of", "optional: "))


# --- the first line -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"#!/bin/sh\n", FirstLine("/bin/sh", "")),
        (b"#! /bin/sh -e\n", FirstLine("/bin/sh", "-e")),
        (b"#!\t/bin/sh \t -e -x \t\nmore", FirstLine("/bin/sh", "-e -x")),
        (b"#!/bin/sh", FirstLine("/bin/sh", "")),
        (b"#!/bin/sh\r\n", FirstLine("/bin/sh\r", "")),
        (b"#!/bin/sh\0 -e\n", FirstLine("/bin/sh", "")),
        (b"#!/bin/sh -e\0x\n", FirstLine("/bin/sh", "-e")),
        (b"#!sh\n", FirstLine("sh", "")),
        (b"#!/caf\xe9\n", FirstLine("/caf\udce9", "")),
        (b"#!\n/bin/sh\n", None),
        (b"#!", None),
        (b"#!" + b" " * 300 + b"/bin/sh\n", None),
        (b"#!/" + b"x" * 300 + b"\n", None),
        (b"#!/" + b"x" * 252 + b"\n", FirstLine("/" + "x" * 252, "")),
        (b"#!/" + b"x" * 253 + b"\n", None),
        (b"#!/bin/sh " + b"x" * 300 + b"\n", FirstLine("/bin/sh", "x" * 245)),
    ],
)
def test_first_lines(head: bytes, expected: Optional[FirstLine]) -> None:
    assert first_line(head) == expected


def drawn_line(draw: random.Random, interpreter: bytes) -> bytes:
    pieces = [b" ", b"\t", b"\0", b"\n", b"\r", interpreter, interpreter, b"argument", b"x" * draw.randrange(250)]
    return b"#!" + b"".join(draw.choice(pieces) for _ in range(draw.randrange(1, 7)))


def test_the_kernel_reads_drawn_lines_alike(tmp_path: Path) -> None:
    draw, script, tried = random.Random(11), tmp_path / "script", 0
    echo = os.fsencode(tmp_path / "e")
    os.symlink("/bin/echo", echo)
    for _ in range(LINES):
        write_program(script, drawn_line(draw, echo))
        line = first_line(script.read_bytes())
        try:
            done = subprocess.run([str(script)], stdout=subprocess.PIPE, cwd=tmp_path, check=False)
        except OSError as problem:
            # EACCES: the kernel takes an empty name for the working directory, which is no program
            expected = (errno.ENOEXEC, errno.EACCES) if line is None else (errno.ENOENT, errno.ENOTDIR)
            assert problem.errno in expected, script.read_bytes()
            assert line is None or line.interpreter != os.fsdecode(echo)
            continue
        assert line is not None and line.interpreter == os.fsdecode(echo), script.read_bytes()
        assert os.fsdecode(done.stdout).lstrip() == f"{line.argument} {script}\n".lstrip()
        tried += 1
    assert tried > LINES // 10


# --- scripts ------------------------------------------------------------------------------------------


def test_a_script_its_interpreter_and_then_the_script_again_for_reading(tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", b"#!/bin/sh -e\n")
    assert named(script) == [
        (script, "execute", False),
        ("/bin/sh", "execute", False),
        (script, "read", False),
    ]
    assert needs(script, "", "/")[-1].path == script


def nested(folder: Path, count: int) -> Tuple[str, List[str]]:
    """Write scripts of which each is the interpreter of the one before; return the first, and all."""
    paths = [str(folder / f"script{index}") for index in range(count)]
    for path, interpreter in zip(paths, [*paths[1:], "/bin/echo"]):
        write_program(Path(path), f"#!{interpreter}\n".encode())
    return paths[0], paths


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_scripts_in_a_row(count: int, tmp_path: Path) -> None:
    program, paths = nested(tmp_path, count)
    assert subprocess.run([program], stdout=subprocess.DEVNULL, check=False).returncode == 0
    expected = [(path, "execute", False) for path in [*paths, "/bin/echo"]]
    assert named(program) == expected + [(path, "read", False) for path in reversed(paths)]


def test_too_many_scripts_in_a_row(tmp_path: Path) -> None:
    program, _ = nested(tmp_path, 6)
    with pytest.raises(OSError) as refused:
        subprocess.run([program], check=False)
    assert refused.value.errno == errno.ELOOP
    with pytest.raises(HostError, match="more than 5 scripts in a row"):
        needs(program, "", "/")


def test_a_script_that_is_its_own_interpreter(tmp_path: Path) -> None:
    program = str(tmp_path / "script")
    write_program(tmp_path / "script", f"#!{program}\n".encode())
    with pytest.raises(HostError, match="more than 5 scripts in a row"):
        needs(program, "", "/")


def test_a_missing_interpreter_is_said_and_ends_the_list(tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", b"#!/nowhere/interpreter\n")
    assert named(script) == [(script, "execute", False), ("/nowhere/interpreter", "execute", True)]
    assert needs(script, "", "/")[-1].why == f"interpreter of {script}; No such file or directory"


def test_a_relative_interpreter_is_taken_from_the_working_directory(tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", b"#!./tool\n")
    tool = write_program(tmp_path / "here" / "tool", b"#!/bin/sh\n")
    assert named(script, cwd=f"{tmp_path}/here")[1][0] == tool


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        (b"plain", 0o755, "is neither an ELF file nor a script"),
        (b"#!/bin/sh\n", 0o644, "is not executable"),
        (b"#!\n", 0o755, "has a first line without an interpreter"),
        (None, 0o755, "is not a regular file"),
    ],
)
def test_an_interpreter_that_the_kernel_refuses(content: Optional[bytes], mode: int, says: str, tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", f"#!{tmp_path}/tool\n".encode())
    if content is None:
        (tmp_path / "tool").mkdir()
    else:
        (tmp_path / "tool").write_bytes(content)
    (tmp_path / "tool").chmod(mode)
    with pytest.raises(HostError) as caught:
        needs(script, "", "/")
    assert str(caught.value).startswith(f"{tmp_path}/tool: {says}; ")


# --- env ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("python3", EnvCommand("python3")),
        ("python3 -u", EnvCommand("python3 -u")),
        ("-S python3 -u", EnvCommand("python3")),
        ("-Spython3", EnvCommand("python3")),
        ("-vS python3", EnvCommand("python3")),
        ("--split-string=python3 -u", EnvCommand("python3")),
        ("--split=python3", EnvCommand("python3")),
        ("-S -i python3", EnvCommand("python3", emptied=True)),
        ("-S - python3", EnvCommand("python3", emptied=True)),
        ("-S -u PATH python3", EnvCommand("python3", (("PATH", None),))),
        ("-S --unset=HOME -uPWD python3", EnvCommand("python3", (("HOME", None), ("PWD", None)))),
        ("-S A=1 PATH=/x:/y B=2 python3", EnvCommand("python3", (("A", "1"), ("PATH", "/x:/y"), ("B", "2")))),
        ("-S -C /tmp --block-signal=INT -- python3", EnvCommand("python3", folder="/tmp")),
        ("-S 'a b' c", EnvCommand("a b")),
        ('-S "a\\_b"\\t c', EnvCommand("a b\t")),
        ("-S a\\_b", EnvCommand("a")),
        ("-S 'a\\_b\\'c'", EnvCommand("a\\_b'c")),
        ("-S a'b'\"c\"d", EnvCommand("abcd")),
        ("-S # nothing", EnvCommand("")),
        ("-S a\\c b", EnvCommand("a")),
        ("", EnvCommand("")),
        ("A=1", EnvCommand("", (("A", "1"),))),
    ],
)
def test_what_env_starts(argument: str, expected: EnvCommand) -> None:
    assert env_command(argument) == expected


@pytest.mark.parametrize(
    "argument", ["-i python3", "-x", "--nothing", "-S ${HOME}/tool", "-S $HOME", "-S 'a", "-S a\\x", '-S "a\\cb"', "-u"]
)
def test_what_env_refuses_or_what_is_not_known(argument: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        env_command(argument)
    script = write_program(tmp_path / "script", f"#!/usr/bin/env {argument}\n".encode())
    with pytest.raises(HostError) as caught:
        needs(script, SYSTEM_PATH, "/")
    assert str(caught.value).startswith(f"{script}: has a first line that cannot be followed: env ")


def drawn_argument(draw: random.Random, folder: Path) -> str:
    options = draw.choice(("", "", " ", "-i ", "- ", "-u B ", "A=1 ", f"PATH={folder} ", f"-i PATH={folder} "))
    pieces = ("one", "two", " ", "\\_", "'", '"', "\\'", "#", "\\c")
    return "-S" + options + "".join(draw.choice(pieces) for _ in range(draw.randrange(1, 5)))


def test_env_itself_reads_drawn_lines_alike(tmp_path: Path) -> None:
    draw, started = random.Random(5), 0
    for folder in ("p", "q"):
        for name in ("one", "two", "onetwo", "one two", "#", "one#"):
            write_program(tmp_path / folder / name, b'#!/bin/sh\necho "$0"\n')
    for _ in range(ENV_LINES):
        argument = drawn_argument(draw, tmp_path / "q")
        command = ["/usr/bin/env", argument, "/bin/true"]  # so it ends when it starts what follows the line
        done = subprocess.run(
            command, env={"PATH": f"{tmp_path}/p"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        try:
            asked = env_command(argument)
        except ValueError:
            assert done.returncode == 125, argument
            continue
        folders = asked.variables({"PATH": f"{tmp_path}/p"}).get("PATH", DEFAULT_PATH).split(":")
        places = [os.path.join(folder, asked.program) for folder in folders if asked.program]
        found = [place for place in places if os.path.isfile(place)]
        assert os.fsdecode(done.stdout) == (f"{found[0]}\n" if found else ""), argument
        started += bool(found)
    assert started > ENV_LINES // 20


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("-S python3", {"A": "1", "PATH": "/x"}),
        ("-S -i A=2 python3", {"A": "2"}),
        ("-S -u A -u NONE python3", {"PATH": "/x"}),
        ("-S PATH=/y PATH=/z python3", {"A": "1", "PATH": "/z"}),
        ("-S -uPATH PATH= python3", {"A": "1", "PATH": ""}),
    ],
)
def test_the_environment_that_env_makes_is_its_own(argument: str, expected: Dict[str, str]) -> None:
    before = {"A": "1", "PATH": "/x"}
    assert env_command(argument).variables(before) == expected
    command = ["/usr/bin/env", argument.replace("python3", "/usr/bin/env")]
    shown = subprocess.run(command, env=before, stdout=subprocess.PIPE, check=True)
    assert dict(line.split("=", 1) for line in os.fsdecode(shown.stdout).splitlines()) == expected


def test_a_script_of_env_needs_env_first_and_then_what_that_finds(tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", b"#!/usr/bin/env tool\n")
    tool = write_program(tmp_path / "bin" / "tool", b"#!/bin/sh\n")
    assert named(script, f"{tmp_path}/bin:{SYSTEM_PATH}") == [
        (script, "execute", False),
        ("/usr/bin/env", "execute", False),
        (tool, "execute", False),
        ("/bin/sh", "execute", False),
        (tool, "read", False),
        (script, "read", False),
    ]


def test_env_looks_in_the_path_that_it_sets(tmp_path: Path) -> None:
    tool = write_program(tmp_path / "bin" / "tool", b"#!/bin/sh\n")
    for line in (f"-S PATH={tmp_path}/bin tool", f"-S -C {tmp_path} bin/tool", f"-S -C {tmp_path} PATH=bin tool"):
        script = write_program(tmp_path / "script", f"#!/usr/bin/env {line}\n".encode())
        assert named(script)[2] == (tool, "execute", False)


def test_a_text_that_env_finds_goes_to_the_shell(tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", b"#!/usr/bin/env tool\n")
    tool = write_program(tmp_path / "bin" / "tool", b"exit 4\n")
    path = f"{tmp_path}/bin:{SYSTEM_PATH}"
    assert subprocess.run([script], env={"PATH": path}, check=False).returncode == 4
    assert [one[:2] for one in named(script, path)[2:5]] == [
        (tool, "execute"), ("/bin/sh", "execute"), (tool, "read")
    ]  # fmt: skip


def test_a_program_that_env_does_not_find(tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", b"#!/usr/bin/env no-such-tool\n")
    assert named(script)[-1] == ("no-such-tool", "execute", True)
    assert needs(script, SYSTEM_PATH, "/")[-1].why == f"env looks for it, for {script}; no directory of PATH has it"


@pytest.mark.parametrize("line", ["", " script", " -S A=1", " -i"])
def test_a_script_that_env_starts_again(line: str, tmp_path: Path) -> None:
    script = write_program(tmp_path / "script", f"#!/usr/bin/env{line}\n".encode())
    with pytest.raises(HostError) as caught:
        needs(script, str(tmp_path), "/")
    assert str(caught.value) == f"{script}: is started by its own first line, without an end; name an interpreter"


def test_env_by_itself_starts_nothing_that_is_known() -> None:
    assert named("env") == [("/usr/bin/env", "execute", False)]
