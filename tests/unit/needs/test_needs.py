# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What programs of this host need: compared with ldd, which runs only here, and with what Landlock lets run."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import pytest
from support.elf_files import Form, elf_file, form_of, write_program

from aasm.errors import HostError, InternalError, UsageError
from aasm.needs import OPTIONAL, Need, elf, needs

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
NAMED = ("git", "gcc", "cc", "node", "java", "cargo", "perl", "bash", "sh", "env", "python3", "make", "ssh", "curl")
SAMPLE = 100
HOST = form_of(sys.executable)
SCRIPT = b"#!/bin/sh\nexit 0\n"

# Confines itself to what is listed as path and access bits, and then executes the rest of its arguments.
CONFINED = """
import ctypes, os, struct, sys
libc, count = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
attributes = struct.pack("QQ", 5, 0)
ruleset = libc.syscall(444, attributes, ctypes.c_size_t(16), 0)
for path, bits in zip(sys.argv[2 : 2 + count], sys.argv[2 + count : 2 + 2 * count]):
    rule = struct.pack("=Qi", int(bits), os.open(path, os.O_PATH))
    assert libc.syscall(445, ruleset, 1, rule, 0) == 0, path
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(446, ruleset, 0) == 0
try:
    os.execv(sys.argv[2 + 2 * count], sys.argv[2 + 2 * count :])
except OSError:
    sys.exit(126)
"""
EXECUTE, READ = 1, 4  # linux/landlock.h


def dynamic_programs() -> List[str]:
    """Return programs of this host that ldd can be asked about: the named ones that exist, and some others."""
    found = [shutil.which(name, path=SYSTEM_PATH) or shutil.which(name) for name in NAMED]
    others = sorted(entry.path for entry in os.scandir("/usr/bin"))
    random.Random(4).shuffle(others)
    chosen = [sys.executable, *filter(None, found), *others[: SAMPLE * 2]]
    resolved = map(os.path.realpath, chosen)  # ldd takes $ORIGIN from the path that it is given, not from the file
    return [path for path in dict.fromkeys(resolved) if plain_elf(path)][:SAMPLE]


def plain_elf(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
        return os.access(path, os.X_OK) and not mode & 0o6000 and Path(path).read_bytes()[:4] == b"\x7fELF"
    except OSError:
        return False


def ldd(paths: List[str]) -> Dict[str, List[str]]:
    """Return for each program what ldd lists: paths of libraries, without the kernel's own and without the loader."""
    done = subprocess.run(["ldd", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    found: Dict[str, List[str]] = {}
    program = ""
    for line in os.fsdecode(done.stdout).splitlines():
        if not line.startswith("\t"):
            program = line[:-1]
            found[program] = []
            continue
        match = re.match(r"\t(?:.* => )?(/.*) \(0x[0-9a-f]+\)$", line)
        if match and "/ld-" not in match[1]:
            found[program].append(match[1])
        assert match or re.search(r"linux-(vdso|gate)|not a dynamic|statically linked", line), line
    return found


def libraries(found: Tuple[Need, ...]) -> List[str]:
    return [need.path for need in found if need.why.startswith("needed by")]


def test_libraries_and_their_order_are_those_of_ldd() -> None:
    programs = dynamic_programs()
    expected = ldd(programs)
    assert len(expected) > 20 and sum(map(len, expected.values())) > 100
    assert {path: libraries(needs(path, "", "/")) for path in expected} == expected


def test_a_program_comes_first_then_its_loader_then_what_that_reads() -> None:
    found = needs("env", SYSTEM_PATH, "/")
    env = shutil.which("env", path=SYSTEM_PATH) or ""
    loader = found[1].path
    assert found[0] == Need(env, "execute", "the program itself", False)
    assert found[1] == Need(loader, "execute", f"loader of {env}", False) and os.path.basename(loader).startswith("ld")
    assert {need.right for need in found[2:]} == {"read"}
    assert [need for need in found if need.missing] == []
    assert len({(need.path, need.right) for need in found}) == len(found)


def test_the_cache_of_the_loader_is_optional() -> None:
    optional = [need for need in needs("env", SYSTEM_PATH, "/") if need.why.startswith(OPTIONAL)]
    assert "/etc/ld.so.cache" in [need.path for need in optional]


# --- where it is looked for ---------------------------------------------------------------------------


def first(program: str, path: str, cwd: Path) -> str:
    return needs(program, path, str(cwd))[0].path


def test_path_is_searched_as_execvp_does_it(tmp_path: Path) -> None:
    for folder in ("plain", "folder/tool", "right", "later"):
        (tmp_path / folder).mkdir(parents=True)
    write_program(tmp_path / "plain" / "tool", SCRIPT)
    (tmp_path / "plain" / "tool").chmod(0o644)
    for folder in ("right", "later"):
        write_program(tmp_path / folder / "tool", SCRIPT)
    folders = [f"{tmp_path}/{name}" for name in ("absent", "plain", "folder", "right", "later")]
    assert first("tool", ":".join(folders), tmp_path) == f"{tmp_path}/right/tool"
    assert first("tool", "absent:later", tmp_path) == f"{tmp_path}/later/tool"
    assert first("tool", "/nowhere:", tmp_path / "later") == f"{tmp_path}/later/tool"
    assert first("tool", "", tmp_path / "later") == f"{tmp_path}/later/tool"


@pytest.mark.parametrize(
    ("spelled", "found"),
    [
        ("right/tool", "{}/right/tool"),
        ("./right/tool", "{}/right/tool"),
        (".//.//right/tool", "{}/right/tool"),
        ("right/../right/tool", "{}/right/../right/tool"),
        ("{}/right/./tool", "{}/right/./tool"),
    ],
)
def test_a_name_with_a_slash_is_not_searched_and_stays_as_it_is_spelled(
    spelled: str, found: str, tmp_path: Path
) -> None:
    write_program(tmp_path / "right" / "tool", SCRIPT)
    assert first(spelled.format(tmp_path), "/nowhere", tmp_path) == found.format(tmp_path)


def test_links_are_not_resolved(tmp_path: Path) -> None:
    os.symlink("/bin/sh", tmp_path / "link")
    assert first("link", str(tmp_path), tmp_path) == f"{tmp_path}/link"


def test_execvp_goes_on_behind_a_script_whose_interpreter_is_missing(tmp_path: Path) -> None:
    broken = write_program(tmp_path / "a" / "tool", b"#!/nowhere/interpreter\n")
    working = write_program(tmp_path / "b" / "tool", SCRIPT)
    path = f"{tmp_path}/a:{tmp_path}/b"
    assert subprocess.run(["env", f"PATH={path}", "tool"], check=False).returncode == 0  # env calls execvp
    assert first("tool", path, tmp_path) == working
    assert [need.path for need in needs("tool", f"{tmp_path}/a", "/")] == [broken, "/nowhere/interpreter"]


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("absent", "absent: not found; "),
        ("./absent", "./absent: not found; "),
        ("", "the empty name: not found; "),
        ("plain", "/plain: is not executable; "),
        ("./plain", "/plain: is not executable; "),
        ("folder", "/folder: is not a regular file; "),
        ("a\0b", "cannot be a path; "),
        ("a\ud800b", "cannot be a path; "),
        ("x" * 5000, "not found; "),
    ],
)
def test_what_cannot_be_found_is_an_error_of_the_command_line(program: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(SCRIPT)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError) as caught:
        needs(program, str(tmp_path), str(tmp_path))
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_relative_working_directory_is_a_defect() -> None:
    with pytest.raises(InternalError):
        needs("sh", SYSTEM_PATH, "somewhere")


# --- what it is ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"#", b"\x7fEL", b"plain text\n", b"MZ\x90\0", bytes(5000)])
def test_neither_elf_nor_script_is_an_error(content: bytes, tmp_path: Path) -> None:
    program = write_program(tmp_path / "file", content)
    with pytest.raises(HostError, match="is neither an ELF file nor a script; "):
        needs(program, "", "/")


def test_a_program_without_a_loader_needs_only_itself(tmp_path: Path) -> None:
    program = write_program(tmp_path / "static", elf_file(form=HOST, needed=["libc.so.6"]))
    assert [need.path for need in needs(program, "", "/")] == [program]


def test_a_missing_loader_is_said_and_ends_the_list(tmp_path: Path) -> None:
    program = write_program(tmp_path / "program", elf_file(loader="/nowhere/ld.so", form=HOST, needed=["libc.so.6"]))
    assert needs(program, "", "/")[1:] == (
        Need("/nowhere/ld.so", "execute", f"loader of {program}; No such file or directory", True),
    )


def test_a_program_for_another_machine_is_refused(tmp_path: Path) -> None:
    forms = [HOST._replace(order=">" if HOST.order == "<" else "<"), HOST._replace(machine=22)]
    for form in forms:
        program = write_program(tmp_path / "program", elf_file(form=form))
        with pytest.raises(HostError, match="is for another machine"):
            needs(program, "", "/")


def test_a_loader_of_another_kind_is_refused(tmp_path: Path) -> None:
    for index, content in enumerate((SCRIPT, elf_file(form=Form(96 - HOST.bits, HOST.order, HOST.machine)))):
        loader = write_program(tmp_path / f"ld{index}.so", content)
        program = write_program(tmp_path / "program", elf_file(loader=loader, form=HOST))
        with pytest.raises(HostError, match="cannot be the loader of|is for another machine"):
            needs(program, "", "/")


def test_what_may_not_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, opened = write_program(tmp_path / "program", SCRIPT), os.open

    def refused(path: str, flags: int, mode: int = 0o777, *, dir_fd: Optional[int] = None) -> int:
        if path == program:
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(HostError, match="cannot be read: Permission denied; "):
        needs(program, "", "/")


def test_only_regular_files_are_opened_and_never_for_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo", 0o755)
    with pytest.raises(UsageError, match="is not a regular file"):
        needs(str(tmp_path / "fifo"), "", "/")
    script = write_program(tmp_path / "script", f"#!{tmp_path}/fifo\n".encode())
    with pytest.raises(HostError, match="is not a regular file"):
        needs(script, "", "/")
    asked: List[int] = []
    opened = os.open

    def noting(path: str, flags: int) -> int:
        asked.append(flags)
        return opened(path, flags)

    monkeypatch.setattr(os, "open", noting)
    needs("env", SYSTEM_PATH, "/")
    wanted = os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    assert asked and {flags & (wanted | os.O_ACCMODE) for flags in asked} == {wanted | os.O_RDONLY}


def test_a_file_that_becomes_a_fifo_meanwhile_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo", 0o755)
    regular = os.stat("/bin/sh")
    monkeypatch.setattr(os, "stat", lambda path, **_: regular)
    with pytest.raises(HostError, match="is not a regular file"):
        needs(str(tmp_path / "fifo"), "", "/")


def test_a_large_program_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_program(tmp_path / "large", elf_file(loader=loader_of_this_host(), form=HOST, needed=["libc.so.6"]))
    os.truncate(program, 300 << 20)
    sizes: List[int] = []
    read = os.pread

    def noting(descriptor: int, size: int, offset: int) -> bytes:
        sizes.append(size)
        return read(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", noting)
    assert libraries(needs(program, "", "/"))
    assert sum(sizes) < 16 << 20


def loader_of_this_host() -> str:
    data = Path(sys.executable).read_bytes()
    return elf.loader_of(lambda offset, size: data[offset : offset + size], sys.executable)


# --- and the kernel agrees ----------------------------------------------------------------------------


def run_confined(found: List[Need], program: str, more: List[str]) -> int:
    granted: Dict[str, int] = {}
    for need in found:
        granted[need.path] = granted.get(need.path, 0) | READ | (EXECUTE if need.right == "execute" else 0)
    numbers = [str(bits) for bits in granted.values()]
    command = [sys.executable, "-c", CONFINED, str(len(granted)), *granted, *numbers, program, *more]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


@pytest.mark.landlock
def test_what_is_listed_is_enough_and_nothing_of_it_can_be_left_out(tmp_path: Path) -> None:
    scripts = {"plain": "#!/bin/sh\nexit 3\n", "by env": "#!/usr/bin/env -S sh -e\nexit 3\n"}
    for name, text in scripts.items():
        write_program(tmp_path / name, text.encode())
    for program, more in [("sh", ["-c", "exit 3"]), *((str(tmp_path / name), []) for name in scripts)]:
        found = [need for need in needs(program, SYSTEM_PATH, "/") if not need.missing]
        assert run_confined(found, found[0].path, more) == 3
        for left_out in {need.path for need in found if not need.why.startswith(OPTIONAL)}:
            assert run_confined([need for need in found if need.path != left_out], found[0].path, more) != 3, left_out


def test_no_program_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("something was started")

    for name in ("fork", "posix_spawn", "execv", "execve", "system", "forkpty"):
        monkeypatch.setattr(os, name, never)
    assert stat.S_ISREG(os.stat(needs("env", SYSTEM_PATH, "/")[0].path).st_mode)
