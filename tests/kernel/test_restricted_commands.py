# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts that have too little for a boundary, and every other command where there is next to nothing.

A refusal is one `error:` line with its remedy, and leaves nothing but a line in the ledger. What
docs/kernel-support.md says that a host must have is measured here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

import pytest
from kernel.test_restricted_host import EXEC, HELD, PROGRAM, STATE, told
from project import PACKAGE, ROOT, imports, module_name, package_modules, python_files
from support.outcome import Done, one_error
from support.rootfs import AASM, AS_SCRIPT, PLACE, PROC, PYTHON, TMP, Restricted, Tree

from aasm.receipt.facts import CANONICAL_FORM, SEAL_KIND

Changes = Dict[str, Any]
NOTHING_TO_COMPARE_WITH = 2
NOTHING: Changes = {"mounts": [], "environment": {}}  # no /proc, no /tmp, no /dev, no variable
POLICY = f"filesystem:\n  read:\n    allow: ['${{system}}']\n  write:\n    allow: ['{PLACE}/ws']\n"


def refused(bare: Restricted, done: Done[str], words: str, before: Mapping[str, bytes]) -> None:
    """One line, code 125, no program, no receipt, no part of a file: at most the ledger says that it was refused."""
    line = one_error(done)
    assert done.returncode == 125 and words in line and "; " in line, line
    after = bare.files()
    assert {name: after.pop(name) for name in before} == before
    assert set(after) <= {"state/ledger.jsonl", "state/ledger.lock", "state/canary"}
    assert bare.ledger() in ([], ["refused"])
    assert {f"tmp/{path.name}" for path in (bare.place / "tmp").iterdir()} <= set(before)


# --- hosts on which no boundary is built --------------------------------------------------------------------------

FORESEEN: Mapping[str, Tuple[Changes, str]] = {
    "no /proc": ({"mounts": [TMP]}, "/proc: processes cannot be seen here, so none could be ended; mount a proc"),
    "a /proc that hides": ({"mounts": [["proc", "/proc", 0, "hidepid=2"], TMP]}, "mount it without hidepid"),
    "no /tmp": ({"mounts": [PROC]}, "/tmp: no private directory can be made: No such file or directory; point TMPDIR"),
    "a read-only /tmp": ({"mounts": [PROC, ["tmpfs", "/tmp", 1, ""]]}, "/tmp: no private directory can be made: Read-"),
    "no HOME": ({"environment": {}}, "HOME: no home directory is known, so there is no place for records; set AASM_"),
    "records on a read-only place": ({"environment": {"AASM_STATE_DIR": "/usr/s"}}, "/usr/s: Read-only file system; "),
    "a directory that is gone": ({"directory_becomes": "gone"}, "the working directory is gone; change to another"),
    "a directory that is closed": ({"directory_becomes": "closed"}, f"{PLACE}/ws: Permission denied; name a working"),
}
FOUND_OUT: Mapping[str, Tuple[Changes, str]] = {
    "a full /tmp": (
        {"mounts": [PROC, ["tmpfs", "/tmp", 0, "mode=1777,nr_inodes=1"]]},
        "/tmp: no private directory can be made: No space left on device; point TMPDIR",
    ),
    "5 files": ({"limits": {"RLIMIT_NOFILE": 5}}, "Too many open files; raise the limits"),
    "no new process": ({"limits": {"RLIMIT_NPROC": 1}}, "Resource temporarily unavailable; raise the limits"),
    "files of no byte": ({"limits": {"RLIMIT_FSIZE": 0}}, "File too large; raise the limits"),
}


@pytest.mark.parametrize("name", [*FORESEEN, *FOUND_OUT])
def test_a_host_with_too_little_refuses_in_one_line(bare: Restricted, name: str) -> None:
    changes, words = {**FORESEEN, **FOUND_OUT}[name]
    before = bare.files()
    done = bare.aasm(*EXEC, "--", *PROGRAM, **changes)
    (bare.place / "ws").chmod(0o700)
    refused(bare, done, words, before)
    before = bare.files()
    preview = bare.aasm("run", "exec", "--isolation", "auto", *EXEC[4:], "--dry-run", "--", *PROGRAM, **changes)
    (bare.place / "ws").chmod(0o700)
    assert preview.returncode == 0, preview.stderr
    if name in FORESEEN:
        said = preview.stderr.splitlines()
        assert words in said[0] and said[1:] == ["warning: a live run with these options would refuse"]
    assert bare.files() == before


def test_a_file_that_is_called_dev_null_is_granted_to_nobody(bare: Restricted) -> None:
    """The control: without a boundary the program can write it, and what it writes stays."""
    null = bare.file("tmp/null", "")
    shown = {"more_shown": [(str(null), "/dev/null")]}
    writes = (PYTHON, "-I", "-S", "-c", "open('/dev/null', 'w').write('kept')")
    assert bare.run(*writes, **shown).returncode == 0 and null.read_text() == "kept"
    null.write_text("")
    for changes in (shown, {**shown, "closed": [0]}):
        done = bare.aasm(*EXEC, "--", *writes, **changes)
        line = one_error(done)
        assert done.returncode == 125 and line.startswith("error: /dev/null: is no device") and "; " in line
    assert null.read_text() == ""


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1, 2]], ids=str)
def test_a_closed_stream_needs_a_device_and_nothing_runs_without(bare: Restricted, closed: List[int]) -> None:
    before = bare.files()
    done = bare.aasm(*EXEC, "--", *PROGRAM, closed=closed)
    why = "error: /dev/null: No such file or directory, and a standard stream is closed; make that device, or open the"
    assert done.returncode == 125 and done.stderr.startswith("" if 2 in closed else why), done.stderr
    assert done.stderr.count("\n") == (0 if 2 in closed else 1) and bare.files() == before


def test_a_filter_around_such_a_host_is_named(bare: Restricted) -> None:
    refuser = (sys.executable, "-I", "-S", str(ROOT / "tests" / "support" / "refuser.py"))
    for rule in (["memfd_create", 38, None, None], ["prctl", 22, 0, 36]):  # ENOSYS; EINVAL for PR_SET_CHILD_SUBREAPER
        done = bare.aasm(*EXEC, "--", *PROGRAM, around=(*refuser, json.dumps([rule]), "--"))
        line = one_error(done)
        assert done.returncode == 125 and "in the filter around" in line, line
    assert not (bare.place / "ws" / "told").exists()


def test_what_the_interpreter_calls_itself_is_not_to_be_written(bare: Restricted) -> None:
    """Its launcher would be started from there the next time."""
    done = bare.run("./nothing", *AASM[1:], *EXEC, "--", *PROGRAM, program=PYTHON)
    words = f"whoever may write {PLACE}/ws could change what the next run trusts: the Python interpreter ({PLACE}/ws/no"
    refused(bare, done, words, {"outside/secret": b"secret"})


def test_a_python_that_needs_its_environment_starts_no_launcher(bare: Restricted) -> None:
    libraries = [path for path in (bare.tree.top / "usr").rglob("libm.so*")]
    libraries += [path for path in (bare.tree.top / "lib").rglob("libm.so*")]
    (bare.place / "lib").mkdir()
    for path in libraries:
        (bare.place / "lib" / path.name).write_bytes(path.read_bytes())
    environment = {**STATE, "LD_LIBRARY_PATH": f"{PLACE}/lib"}
    with bare.tree.without(libraries):
        control = bare.run(*PROGRAM, environment=environment)
        assert (control.returncode, told(bare)["read outside"]) == (0, "ok"), control.stderr
        done = bare.aasm(*EXEC, "--", *PROGRAM, environment=environment)
    assert done.returncode == 125 and "a Python that starts without LD_LIBRARY_PATH" in one_error(done)
    assert "libm.so" in done.stderr and not (bare.place / "ws" / "told").exists()


# --- the other commands where there is nothing ------------------------------------------------------------------------


def test_without_a_boundary_nothing_of_it_is_needed(bare: Restricted) -> None:
    options = ("run", "exec", "--isolation", "none", "--report", "never", "--system")
    done = bare.aasm(*options, "--", *PROGRAM, **{**NOTHING, "environment": STATE})
    assert (done.returncode, done.stderr, told(bare)["write outside"]) == (0, "", "ok")


def test_a_preview_and_an_order_where_nothing_may_be_written(bare: Restricted) -> None:
    before = bare.files()
    text = bare.aasm(*EXEC, "--dry-run", "--", *PROGRAM)
    assert (text.returncode, text.stderr) == (0, "") and "\nposture:         READY\n" in text.stdout
    as_json = bare.aasm(*EXEC, "--dry-run", "--json", "--", *PROGRAM)
    assert (as_json.returncode, as_json.stderr) == (0, "")
    assert json.loads(as_json.stdout)["isolation"]["posture"] == "ready"
    assert bare.files() == before


ORDER = f"""
import subprocess, sys
aasm, words = {AASM!r}, sys.argv[1:]
at = words.index("--")
with open("{PLACE}/tmp/order", "wb") as file:
    options = [*words[:at], "--home", "real", "--dry-run", "--show-order", *words[at:]]
    subprocess.run([*aasm, *options], stdout=file, check=1)
launcher = [{PYTHON!r}, "-m", "aasm.launcher"]
shown = subprocess.run([*launcher, "--print", "{PLACE}/tmp/order"], stdout=subprocess.PIPE, check=1).stdout
assert b"rule 0x" in shown
sys.exit(subprocess.run([*launcher, "--order", "{PLACE}/tmp/order"]).returncode)
"""


def test_an_order_is_carried_out_by_hand(bare: Restricted) -> None:
    """Then nobody makes records, and the canary of the state directory is not there to be tried."""
    environment = {**STATE, "PYTHONPATH": "/opt"}
    bare.aasm(*EXEC, "--", *PROGRAM)  # makes the canary
    done = bare.run(PYTHON, "-c", ORDER, *EXEC, "--", *PROGRAM, environment=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert told(bare) == HELD


LAUNCHER = (PYTHON, "-m", "aasm.launcher")
IN_OPT = {**NOTHING, "environment": {"PYTHONPATH": "/opt"}}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--order", f"{PLACE}/nothing"], f"{PLACE}/nothing: No such file or directory; see --help"),
        (["--print", f"{PLACE}/outside/secret"], f"{PLACE}/outside/secret: "),
        (["--print", "\udcff\n"], "\\udcff : No such file or directory; see --help"),
        ([], "command line: expected --order FILE, --print FILE or --help; see --help"),
    ],
)
def test_a_launcher_without_an_order_says_so_in_one_line(bare: Restricted, words: Sequence[str], said: str) -> None:
    done = bare.run(*LAUNCHER, *words, **IN_OPT)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"error: launcher: {said}")


VERIFIERS = ((*AASM, "receipt", "verify"), (PYTHON, "-m", "aasm.receipt", "verify"))


def test_receipts_are_verified_where_there_is_nothing(bare: Restricted) -> None:
    """Made on a host where it is 1970, which is the clock of many a board without a battery."""
    code = AS_SCRIPT[-1].replace("import sys;", "import sys, time; time.time = lambda: 0.0;")
    made = bare.run(*AS_SCRIPT[:-1], code, *EXEC, "--", *PROGRAM)
    assert (made.returncode, made.stderr) == (0, "")
    receipt = f"{PLACE}/{bare.receipt()}"
    assert "/0-" in receipt
    changed = bare.file("tmp/changed", (bare.place / bare.receipt()).read_text().replace("prevention", "detection"))
    for verify in VERIFIERS:
        done = bare.run(*verify, receipt, **IN_OPT)
        assert done.returncode == 0 and "\ntrustworthy: true " in done.stdout, done.stderr
        assert bare.run(*verify, f"{PLACE}/tmp/{changed.name}", **IN_OPT).returncode == 1
        done = bare.run(*verify, f"{PLACE}/nothing", **IN_OPT)
        assert done.returncode == 2 and "cannot be read: No such file or directory; " in one_error(done)


def test_an_error_of_the_verifier_is_never_standard_output(bare: Restricted) -> None:
    for closed, code in (([2], 2), ([1], 2), ([0, 1, 2], 2)):
        done = bare.run(*VERIFIERS[1], f"{PLACE}/nothing", **IN_OPT, closed=closed)
        assert (done.returncode, done.stdout) == (code, ""), closed
        assert done.stderr.count("\n") == (0 if 2 in closed else 1)


def test_an_answer_that_nobody_could_read_is_no_success(bare: Restricted) -> None:
    for words in (("--version",), ("policy", "schema"), (*EXEC, "--dry-run", "--", PYTHON)):
        done = bare.aasm(*words, devices=["null"], closed=[1])
        assert done.returncode == 125 and one_error(done) == "error: standard output: is closed; send it somewhere"


def test_policies_are_judged_where_there_is_nothing(bare: Restricted) -> None:
    bare.file("p.yaml", POLICY)
    bare.file("wrong.yaml", "filesystem: 1\n")
    path = f"{PLACE}/p.yaml"
    for words in (("validate", path), ("schema",), ("new", "--list"), ("show", "--raw", path)):
        done = bare.aasm("policy", *words, **NOTHING)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout, words
    done = bare.aasm("policy", "validate", f"{PLACE}/wrong.yaml", **NOTHING)
    assert done.returncode == 1 and "wrong.yaml:1:" in one_error(done)
    asked = (
        ("diff", path, path), ("new", "--template", "minimal"), ("show", "--policy", path),
        ("explain", "--policy", path, "--program", PYTHON, "--write", f"{PLACE}/ws/x"),
    )  # fmt: skip
    for words in asked:
        done = bare.aasm("policy", *words)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout, words
        done = bare.aasm("policy", *words, **NOTHING)
        assert done.returncode == 125 and one_error(done).startswith("error: HOME: no home directory is known"), words


def test_a_copy_is_compared_with_its_manifest_where_there_is_nothing(bare: Restricted) -> None:
    """The host's own copy has none; a vendored one, under another name, does."""
    done = bare.aasm("self-verify", **NOTHING)
    assert done.returncode == NOTHING_TO_COMPARE_WITH and "nothing to compare with" in done.stderr
    vendor = [sys.executable, str(ROOT / "tools" / "vendor.py"), str(bare.place / "outside"), "--package", "borrowed"]
    subprocess.run(vendor, check=True, capture_output=True)
    subprocess.run(["chmod", "-R", "a+rX", str(bare.place / "outside")], check=True)
    verify = (PYTHON, "-I", f"{PLACE}/outside/borrowed", "self-verify")
    changes = {**NOTHING, "uid": 0}  # the place is the user's alone
    done = bare.run(*verify, **changes)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    with (bare.place / "outside" / "borrowed" / "run.py").open("a") as file:
        file.write("#")
    done = bare.run(*verify, **changes)
    assert (done.returncode, done.stderr) == (1, "") and "borrowed/run.py" in done.stdout


# --- which modules of Python are needed -----------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "kernel-support.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([^`]+)` \| ((?:`\w+`,? ?)+) \|$", re.MULTILINE)
NEEDED: Mapping[str, List[str]] = {command: re.findall(r"`(\w+)`", names) for command, names in ROW.findall(PAGE)}
# What no interpreter starts without, or has in its binary everywhere.
ALWAYS = set("__future__ _signal errno gc itertools os pwd stat sys time warnings zipimport".split())
COMMANDS: Mapping[str, Tuple[str, ...]] = {
    "run exec": (*EXEC, "--", *PROGRAM),
    "receipt verify": ("receipt", "verify", f"{PLACE}/tmp/r"),
    "self-verify": ("self-verify",),
}
LISTING = AS_SCRIPT[-1].replace("sys.exit(main_script())", "main_script(); sys.stderr.write(' '.join(sys.modules))")
FILES = {module_name(path): path for path in python_files(PACKAGE)}


def imported(loaded: Set[str]) -> Set[str]:
    """Return what of the standard library those modules of ours import that are among the loaded ones."""
    ours = package_modules()
    tops = {one.name.split(".")[0] for name in loaded & set(FILES) for one in imports(FILES[name], ours)}
    return (tops & loaded) - ALWAYS - {PACKAGE}


def test_the_page_names_the_modules_that_a_command_imports(bare: Restricted) -> None:
    bare.aasm(*EXEC, "--receipt", f"{PLACE}/tmp/r", "--", *PROGRAM)
    for command, words in COMMANDS.items():
        done = bare.run(*AS_SCRIPT[:-1], LISTING, *words)
        assert done.returncode in (0, NOTHING_TO_COMPARE_WITH)
        found = imported(set(done.stderr.split()))
        assert sorted(NEEDED[command]) == sorted(found), command
    code = "import sys; sys.path.insert(0, '/opt'); import aasm.launcher; print(*sys.modules)"
    loaded = bare.run(PYTHON, "-I", "-S", "-c", code).stdout.split()
    assert set(NEEDED["python -m aasm.launcher"]) == imported(set(loaded))


@pytest.mark.parametrize("module", NEEDED["run exec"])
def test_a_module_that_this_python_lacks_is_named(bare: Restricted, module: str) -> None:
    found = bare.tree.module(module)
    assert found or module in sys.builtin_module_names  # one that is in the binary cannot be missing
    if not found:
        return
    seal = {"kind": SEAL_KIND, "canonical_form": CANONICAL_FORM, "digest": ""}
    bare.file("tmp/r", json.dumps({"seal": seal, "body": {}}))
    before = bare.files()
    with bare.tree.without(found):
        done = bare.run(*AS_SCRIPT, *COMMANDS["run exec"])
        verdict = bare.run(*AS_SCRIPT, *COMMANDS["receipt verify"])
        by_hand = bare.run(*LAUNCHER, "--help", **IN_OPT) if module in ("ctypes", "_socket", "mmap") else None
    refused(bare, done, f"{PYTHON}: this Python cannot load {module}", before)
    if module in NEEDED["receipt verify"]:
        assert f"this Python cannot load {module}" in one_error(verdict)
    if by_hand is not None:
        assert by_hand.returncode == 1 and by_hand.stderr.count("\n") == 1
        assert by_hand.stderr.startswith(f"error: launcher: this Python cannot load {module}")


def test_a_digest_needs_no_openssl(bare: Restricted, tree: Tree) -> None:
    library = [path for path in tree.top.rglob("libcrypto.so*")] + tree.module("_hashlib") + tree.module("_ssl")
    with tree.without(library):
        done = bare.aasm(*EXEC, "--", *PROGRAM)
    assert (done.returncode, done.stderr, told(bare)) == (0, "", HELD)
