# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The number tables: regenerated, compared with installed headers, and looked up by name."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import types
from pathlib import Path

import gen_syscalls
import pytest

from aasm._sys import syscalls
from aasm.errors import HostError, InternalError

ROOT = Path(__file__).resolve().parents[3]
ARCHES = [syscalls.arch(name) for name in syscalls.SUPPORTED]
GENERIC_HEADER = Path("/usr/include/asm-generic/unistd.h")
HEAD = "name x86_64 aarch64 riscv64\n"


def each_arch(test):
    return pytest.mark.parametrize("arch", ARCHES, ids=lambda arch: arch.name)(test)


# --- the generator ---


def test_the_modules_are_what_the_table_gives():
    assert gen_syscalls.main(["--check"]) == 0


@pytest.fixture
def tree(tmp_path):
    """A tree with the table in it, and no module made from it."""
    (tmp_path / "tools").mkdir()
    (tmp_path / gen_syscalls.TABLE).write_bytes((ROOT / gen_syscalls.TABLE).read_bytes())
    return tmp_path


def test_a_module_changed_by_hand_is_found_and_named(tree, capsys):
    assert gen_syscalls.main([], tree) == gen_syscalls.main(["--check"], tree) == 0
    module = tree / gen_syscalls.TARGET / "_nr_aarch64.py"
    module.write_text(module.read_text().replace('"ptrace": 117', '"ptrace": 118'))
    assert gen_syscalls.main(["--check"], tree) == 1
    assert capsys.readouterr().err.startswith("error: aasm/_sys/_nr_aarch64.py: not what tools/gen_syscalls.py makes")
    module.with_name("_nr_riscv64.py").unlink()
    assert gen_syscalls.main(["--check"], tree) == 1
    assert gen_syscalls.main([], tree) == gen_syscalls.main(["--check"], tree) == 0


@pytest.mark.parametrize(
    "text, where",
    [
        ("", "first row"),
        ("name x86_64 aarch64\n", "first row"),
        (HEAD + "read 0 63\n", "line 2"),
        (HEAD + "read 0 63 63\nread 1 64 64\n", "line 3"),
        (HEAD + "read 0 63 63\nwrite 1 63 64\n", "line 3: aarch64"),
        (HEAD + "read 1 63 63\nwrite 0 64 64\n", "line 3: x86_64"),
        (HEAD + "read 0x1 63 63\n", "line 2: x86_64"),
        (HEAD + "# a comment\n\nread -1 63 63\n", "line 4: x86_64"),
        (HEAD + "read - - -\n", "line 2"),
    ],
)
def test_a_doubtful_table_is_refused_with_the_line(text, where, tree, capsys):
    (tree / gen_syscalls.TABLE).write_text(text)
    assert gen_syscalls.main([], tree) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: tools/syscalls.txt: ") and where in error and error.count("\n") == 1
    assert [path.name for path in tree.rglob("*")] == ["tools", "syscalls.txt"]


def test_generator_and_package_name_the_same_architectures():
    assert tuple(machine.name for machine in gen_syscalls.MACHINES) == syscalls.SUPPORTED


# --- against the headers of this host ---


def _header_numbers(text, defined):
    """Return {call: number} of a unistd.h under the given macros, evaluating only the directives that occur in it."""
    taken, raw = [True], {}
    for line in text.splitlines():
        directive = re.match(r"#\s*(ifdef|ifndef|if|else|endif)\b(.*)", line)
        if directive:
            _conditional(taken, directive[1], re.sub(r"/\*.*?\*/", "", directive[2]).strip(), defined)
        name = re.match(r"#define\s+(__NR\w*)\s+(\w+)", line)
        if all(taken) and name:
            raw[name[1]] = raw.get(name[2], name[2])
    return {name[5:]: int(value) for name, value in raw.items() if name.startswith("__NR_") and value.isdigit()}


def _conditional(taken, word, condition, defined):
    if word == "endif":
        taken.pop()
    elif word == "else":
        taken[-1] = not taken[-1]
    elif word == "if":
        text = re.sub(r"defined\s*\(?(\w+)\)?", lambda found: str(found[1] in defined), condition)
        text = text.replace("__BITS_PER_LONG", "64").replace("||", " or ").replace("&&", " and ")
        taken.append(bool(eval(re.sub(r"!(?!=)", " not ", text))))
    else:
        taken.append((condition in defined) == (word == "ifdef"))


def _compare(header, arch):
    assert len(header) > 250
    for name, number in header.items():
        if number <= arch.newest:
            assert arch.numbers.get(name) == number, name
    newest_of_header = max(header.values())
    for name, number in arch.numbers.items():
        if number <= newest_of_header and name not in header:
            yield name


def test_x86_64_agrees_with_the_installed_header():
    places = [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")]
    if platform.machine() == "x86_64":
        places.append(Path("/usr/include/asm/unistd_64.h"))
    found = [place for place in places if place.is_file()]
    if not found:
        pytest.skip("no kernel headers for x86_64 are installed")
    missing = set(_compare(_header_numbers(found[0].read_text(), set()), ARCHES[0]))
    assert missing <= {"uretprobe", "uprobe"}  # numbers given later than those above them


@pytest.mark.parametrize("arch, own", [("aarch64", "__ARCH_WANT_RENAMEAT"), ("riscv64", "__ARCH_WANT_MEMFD_SECRET")])
def test_the_generic_table_agrees_with_the_installed_header(arch, own):
    if not GENERIC_HEADER.is_file():
        pytest.skip("no kernel headers are installed")
    wanted = ("NEW_STAT", "SET_GET_RLIMIT", "SYS_CLONE3", "MEMFD_SECRET")
    header = _header_numbers(GENERIC_HEADER.read_text(), {own, *(f"__ARCH_WANT_{name}" for name in wanted)})
    for name in ("syscalls", "arch_specific_syscall"):
        header.pop(name, None)
    missing = set(_compare(header, syscalls.arch(arch)))
    assert missing <= {"riscv_hwprobe", "riscv_flush_icache"}  # these stand in that architecture's own header


# --- the values ---


def test_architecture_words():
    assert [arch.audit_arch for arch in ARCHES] == [0xC000003E, 0xC00000B7, 0xC00000F3]
    assert [arch.x32_bit for arch in ARCHES] == [0x40000000, 0, 0]


@each_arch
def test_calls_with_one_number_everywhere(arch):
    for name, number in {"landlock_create_ruleset": 444, "io_uring_setup": 425, "clone3": 435, "fchmodat2": 452,
                         "setxattrat": 463, "file_setattr": 469, "listns": 470, "rseq_slice_yield": 471}.items():
        assert syscalls.number(arch, name) == number
    assert arch.newest == 471


def test_calls_that_differ():
    table = [(name, *(syscalls.number(arch, name) for arch in ARCHES)) for name in
             ("open", "newfstatat", "seccomp", "ptrace", "renameat", "uretprobe", "riscv_hwprobe", "umount2", "mmap")]
    assert table == [
        ("open", 2, None, None),
        ("newfstatat", 262, 79, 79),
        ("seccomp", 317, 277, 277),
        ("ptrace", 101, 117, 117),
        ("renameat", 264, 38, None),
        ("uretprobe", 335, None, None),
        ("riscv_hwprobe", None, None, 258),
        ("umount2", 166, 39, 39),
        ("mmap", 9, 222, 222),
    ]


@each_arch
def test_every_number_up_to_the_newest_is_a_call_or_a_gap(arch):
    names = syscalls.names(arch)
    assert len(names) == len(arch.numbers)
    assert sorted([*names, *syscalls.gaps(arch)]) == list(range(arch.newest + 1))


def test_a_name_that_no_architecture_has():
    assert not syscalls.known("opne")
    assert syscalls.known("riscv_hwprobe")
    for arch in ARCHES:
        with pytest.raises(InternalError):
            syscalls.number(arch, "opne")


# --- this host ---


def test_the_host_is_what_uname_says():
    assert syscalls.host_arch().name == platform.machine()


def _uname(**changes):
    fields = dict(sysname="Linux", machine="x86_64", release="6.1", **{})
    return types.SimpleNamespace(**{**fields, **changes})


@pytest.mark.parametrize("changes", [{"machine": "s390x"}, {"machine": "aarch64_be"}, {"sysname": "Darwin"}])
def test_other_hosts_are_refused(changes, monkeypatch):
    monkeypatch.setattr(os, "uname", lambda: _uname(**changes))
    with pytest.raises(HostError) as refusal:
        syscalls.host_arch()
    assert next(iter(changes.values())) in str(refusal.value)


def test_a_32_bit_python_on_a_64_bit_kernel_is_refused(monkeypatch):
    monkeypatch.setattr(os, "uname", _uname)
    assert syscalls.host_arch().name == "x86_64"
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    with pytest.raises(HostError, match="64-bit Python"):
        syscalls.host_arch()


def test_one_table_is_loaded_and_no_ctypes():
    code = (
        "import sys; from aasm._sys import syscalls; assert not [m for m in sys.modules if '_nr_' in m]; "
        "syscalls.arch('aarch64'); print(sorted(m for m in sys.modules if '_nr_' in m or m == 'ctypes'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['aasm._sys._nr_aarch64']"
