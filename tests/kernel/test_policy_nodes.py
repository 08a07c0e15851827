# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes of our own that the kernel holds: what may be executed, which variables and which capabilities there are."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from support.inside import bare, grants, launch, policy, policy_file, program, read, under
from support.launch import PYTHON, Lab, domain
from support.nodes import (
    LOADER,
    assert_agrees,
    assert_unmet,
    foreseen,
    keys,
    listed,
    outcomes,
    preview,
    warnings,
    within,
)
from support.outcome import ALL_HELD, ONCE, assert_not_started, assert_refused, canaries, one_error

from aasm.model import privileges

# --- filesystem.execute.allow ---

EXECUTE = """
import shutil
work, hidden, secret = sys.argv[1:4]
def run(*argv):
    pid = os.posix_spawn(argv[0], argv, {"PATH": "/bin"})
    assert os.waitpid(pid, 0)[1] == 0, argv
def copy(path):
    shutil.copy("/bin/true", path)
    return path
def memory():
    image = os.memfd_create("image")
    with open("/bin/true", "rb") as source:
        os.write(image, source.read())
    pid = os.fork()
    if not pid:
        try:
            os.execve(image, ["true"], {})
        except OSError as problem:
            os._exit(problem.errno)
    status = os.waitpid(pid, 0)[1] >> 8
    if status:
        raise OSError(status, "")
with open(work + "/script", "w") as script:
    script.write("#!/bin/sh\\nexit 0\\n")
os.chmod(work + "/script", 0o755)
written, private = copy(work + "/written"), copy(os.environ["HOME"] + "/copied")
ways = {"listed": ["/bin/true"], "not listed": ["/bin/sleep", "0"], "written": [written], "private": [private],
        "script": [work + "/script"], "not readable": [hidden], "through a shell": ["/bin/sh", work + "/script"],
        "through the loader": [sys.argv[4], written]}
os.mkdir(work + "/a")
os.mkdir(work + "/b")
found = {name: attempt(run, *way) for name, way in ways.items()}
tell(memory=attempt(memory), reading=attempt(open, "/bin/sleep"), secret=attempt(open, secret),
     renaming=attempt(os.rename, work + "/a", work + "/b/a"), **found)
"""
LISTED = (PYTHON[0], LOADER, "/bin/true")
REFUSED = ("not listed", "written", "private", "script")
# an interpreter, the loader and memory files run whatever code can be read: the limitation says so
AROUND = {"through the loader": "ok", "memory": "ok"}


def execution(lab: Lab) -> tuple[str, ...]:
    """Return the arguments of EXECUTE: the workspace, a program and a file that no policy lets read, the loader."""
    hidden = lab.file(lab.outside / "tool", mode=0o755)
    shutil.copyfile("/bin/true", hidden)
    return (str(lab.workspace), str(hidden), str(lab.file(lab.outside / "secret")), LOADER)


def executing(lab: Lab, names: tuple[object, ...], **more: Any) -> dict[str, Any]:
    """Return the section `filesystem` with an execute list of `names` beside the lists for reading and writing."""
    chosen = {**grants([lab.workspace], [lab.workspace]), **more}
    made = {**chosen, "execute": {"allow": [str(name) for name in names]}}
    return {key: value for key, value in made.items() if value is not None}


def test_only_what_is_listed_can_be_executed(lab: Lab) -> None:
    words = execution(lab)
    done = under(lab, policy(filesystem=executing(lab, (*LISTED, words[1]))), EXECUTE, *words)
    told = done.told
    assert {name: told[name] for name in REFUSED} == dict.fromkeys(REFUSED, "EACCES"), done.stderr
    assert (told["listed"], told["reading"], told["secret"], told["renaming"]) == ("ok", "ok", "EACCES", "ok")
    assert told["not readable"] == "EACCES"  # execve(2) opens the file for reading as well
    assert (told["through a shell"], {name: told[name] for name in AROUND}) == ("EACCES", AROUND)
    assert outcomes(keys(done.stderr))["filesystem.execute.allow"] == "enforced"
    assert_agrees(lab, done.stderr, "filesystem_read", "prevention", "planned")  # no canary tries to execute
    assert canaries(lab.receipt()) == ALL_HELD
    assert domain(lab.receipt(), "filesystem_write")["claim"] == "observed"
    # what it wrote is there and can be executed outside, where everything else can be as well
    assert lab.bare(str(lab.workspace / "written")).returncode == 0
    for name in ("a", "b"):
        shutil.rmtree(lab.workspace / name, ignore_errors=True)
    assert set(bare(lab, EXECUTE, *words).told.values()) == {"ok"}


def test_with_a_shell_listed_its_scripts_run_by_the_shell_alone(lab: Lab) -> None:
    words = execution(lab)
    told = under(lab, policy(filesystem=executing(lab, (*LISTED, "/bin/sh"))), EXECUTE, *words).told
    assert (told["script"], told["through a shell"], told["not listed"]) == ("EACCES", "ok", "EACCES")


def test_without_the_key_what_can_be_read_can_be_executed(lab: Lab) -> None:
    words = execution(lab)
    done = under(lab, within(lab), EXECUTE, *words)
    refused = dict.fromkeys(("not readable", "secret"), "EACCES")
    assert done.told == {**dict.fromkeys(done.told, "ok"), **refused}, done.stderr
    assert_agrees(lab, done.stderr, "filesystem_read", "prevention", "observed")


def test_executing_alone_restricts_neither_reading_nor_renaming(lab: Lab) -> None:
    words = execution(lab)
    done = under(lab, policy(filesystem=executing(lab, LISTED, read=None, write=None)), EXECUTE, *words)
    refused = dict.fromkeys((*REFUSED, "not readable", "through a shell"), "EACCES")
    assert done.told == {**dict.fromkeys(done.told, "ok"), **refused}, done.stderr
    assert_agrees(lab, done.stderr, "filesystem_read", "prevention", "planned")
    assert canaries(lab.receipt()) == {"call": "held"}
    assert "the policy does not restrict writing" in " ".join(warnings(done.stderr))


@ONCE
def test_executing_alone_says_that_reading_is_not_restricted(lab: Lab) -> None:
    text = policy(filesystem=executing(lab, LISTED, read=None))
    gaps = listed(foreseen(lab, text)["isolation"], "domain.filesystem_read.policy_gap")
    assert [gap for gap in gaps if "filesystem.read.allow is absent" in gap], gaps
    launch(lab, text, "/bin/true")
    assert "filesystem.read.allow is absent" in json.dumps(domain(lab.receipt(), "filesystem_read"))


@ONCE
def test_the_preview_says_what_may_be_executed_and_what_that_does_not_hold(lab: Lab) -> None:
    text = policy(filesystem=executing(lab, LISTED))
    found = foreseen(lab, text)
    assert found["isolation"]["domain.filesystem_read.expected_claim"] == "planned"
    sources = listed(found["isolation"], "domain.filesystem_read.evidence_source")
    assert "installed: a Landlock ruleset that decides about executing files" in sources
    (limit,) = [line for line in found["not_held"] if "interpreter" in line]
    assert "dynamic loader" in limit and "memory files can be executed" in limit
    given = {item["path"]: item for item in found["grants"]}
    assert (given[LOADER]["read"], given[LOADER]["write"], given[LOADER]["execute"]) == (False, False, True)
    (line,) = [line for line in preview(lab, text).stdout.splitlines() if f" {LOADER} (" in line]
    assert "execute" in line and "nothing" not in line


@ONCE
def test_nothing_to_execute_is_refused_and_a_denied_reading_executes_nothing(lab: Lab) -> None:
    done = launch(lab, policy(filesystem=executing(lab, ())), "/bin/touch", "ran")
    assert_unmet(lab, done, "filesystem.execute.allow", "nothing at all may be executed, so no program could start")
    text = policy(filesystem=executing(lab, LISTED), capabilities={"deny": ["file_read"]})
    done = launch(lab, text, "/bin/true")
    assert "denies file_read as a whole, so nothing can be executed" in assert_not_started(
        lab, done, 126, "not_executable"
    )


@ONCE
def test_a_program_that_is_not_listed_is_not_started_and_the_node_is_named(lab: Lab) -> None:
    done = launch(lab, policy(filesystem=executing(lab, LISTED)), "/bin/sleep", "0")
    line = assert_not_started(lab, done, 126, "not_executable")
    assert line.endswith("to filesystem.execute.allow"), line


# --- credentials.environment.allow ---

OPERATOR = {
    "ONE": "first", "TWO": "second", "MY_TOKEN": "listed-secret", "OTHER_TOKEN": "kept-secret", "CA_URL": "kept-url",
}  # fmt: skip
VARIABLES = """
import subprocess
me = [sys.executable, "-I", "-S", "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
def environ(pid):
    return open("/proc/%d/environ" % pid, "rb").read().decode()
tell(own=dict(os.environ), child=json.loads(subprocess.check_output(me)), parent=value(environ, os.getppid()),
     exec=value(environ, os.getpid()))
"""


def environment(lab: Lab, *names: str) -> str:
    """Return a policy that passes these variables on; /proc is granted, so that others could be looked for there."""
    filesystem = grants(["/proc", lab.workspace], [lab.workspace])
    return policy(filesystem=filesystem, credentials={"environment": {"allow": list(names)}})


def test_variables_arrive_when_they_are_named_and_set_and_no_others_do(lab: Lab) -> None:
    text = environment(lab, "ONE", "MY_TOKEN", "ABSENT", "PATH", "HOME", "TMPDIR")
    done = under(lab, text, VARIABLES, env=OPERATOR)
    own = done.told["own"]
    assert own == done.told["child"] and (own["ONE"], own["MY_TOKEN"]) == ("first", "listed-secret"), done.stderr
    assert not {"TWO", "OTHER_TOKEN", "CA_URL", "ABSENT"} & set(own)
    assert own["PATH"] == lab.environment()["PATH"]
    assert own["HOME"].startswith(f"{lab.tmp}/") and own["TMPDIR"].startswith(f"{lab.tmp}/")
    assert done.told["parent"] == "EACCES" and "kept" not in json.dumps(done.told)
    # the control: a parent of the same user that is no supervisor passes all on, and can be read
    settings = [f"{name}={text}" for name, text in OPERATOR.items()]
    again = program("import subprocess\nsubprocess.run(sys.argv[1:])", *program(VARIABLES))
    control = read(lab.bare("/usr/bin/env", *settings, *again)).told
    assert OPERATOR.items() <= control["own"].items() and "kept-secret" in control["parent"]
    # named: what is delegated, and what is not; the values: nowhere
    found, credentials = keys(done.stderr), lab.receipt()["credentials"]
    assert listed(found, "credential.delegated") == ["MY_TOKEN"]
    assert listed(found, "credential.removed") == ["CA_URL", "OTHER_TOKEN"]
    assert [item["value"] for item in credentials["delegated"]] == ["MY_TOKEN"]
    assert [item["value"] for item in credentials["removed"]] == ["CA_URL", "OTHER_TOKEN"]
    assert not [text for text in OPERATOR.values() if text in done.stderr + json.dumps(lab.receipts())]
    assert outcomes(found)["credentials.environment.allow"] == "enforced"
    assert_agrees(lab, done.stderr, "credential", "prevention", "planned")


@ONCE
def test_an_empty_list_leaves_the_harmless_names_and_the_private_directory_which_is_said(lab: Lab) -> None:
    done = under(lab, environment(lab), VARIABLES, env=OPERATOR)
    assert set(done.told["own"]) == {
        "PATH", "LANG", "HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    }  # fmt: skip
    (source,) = listed(keys(done.stderr), "domain.credential.evidence_source")
    assert "a fixed list" in source  # nobody named PATH
    (limit,) = [line for line in foreseen(lab, environment(lab))["not_held"] if "variables" in line and "fixed" in line]
    assert "arrive whatever is named" in limit


OPTIONS: dict[tuple[str, ...], dict[str, str]] = {
    ("--env", "ONE"): {"ONE": "first", "MY_TOKEN": "listed-secret"},
    ("--env", "ONE=other", "--env", "MY_TOKEN="): {"ONE": "other", "MY_TOKEN": ""},
    ("--env", "ABSENT=made"): {"ABSENT": "made"},
}
UNLISTED = (("TWO",), ("ONE", "TWO=3"), ("NOT_SET",), ("HOME=/x",))


@ONCE
def test_an_option_states_the_value_of_a_listed_name_and_no_other(lab: Lab) -> None:
    text = environment(lab, "ONE", "MY_TOKEN", "ABSENT")
    path = policy_file(lab, text)
    base = ("run", "exec", "--isolation", "process", "--policy", str(path))
    for options, expected in OPTIONS.items():
        done = lab.aasm(*base, *options, "--", "/usr/bin/env", env=OPERATOR)
        arrived = dict(line.split("=", 1) for line in done.stdout.splitlines())
        assert expected.items() <= arrived.items() and "TWO" not in arrived, done.stderr
    for names in UNLISTED:
        words = [word for name in names for word in ("--env", name)]
        done = lab.aasm(*base, *words, "--", "/bin/touch", "ran", env=OPERATOR)
        line, name = one_error(done), names[-1].partition("=")[0]
        place = f"{path}:1:{text.index('[', text.index('environment')) + 1}: "
        assert done.returncode == 125 and line.startswith(f"error: {place}--env {name} is not among"), line
        assert f"add {name} to credentials.environment.allow, or leave the option out" in line
        assert lab.ledger()[-1]["event"] == "refused"
    assert not (lab.workspace / "ran").exists()
    done = lab.aasm("run", "exec", "--policy", str(path), "--env", "TWO=3", "--", "/usr/bin/env")
    assert "TWO=3" in done.stdout.splitlines()  # without a boundary no node is acted on


@ONCE
def test_authority_of_the_supervisor_cannot_be_named(lab: Lab) -> None:
    names = ("AASM_API_TOKEN", "AA_GATEWAY_TOKEN", "AGENT_ASSEMBLY_KEY", "aasm_secret", "A=B", "LC_*", "1X", "")
    lines = "".join(f'      - "{name}"\n' for name in names)
    path = policy_file(lab, f"credentials:\n  environment:\n    allow:\n{lines}")
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", "/bin/touch", "ran")
    expected = f"{path}:4:9: AASM_API_TOKEN is authority of the supervisor and never passed on; take it out"
    assert expected in assert_refused(lab, done)
    done = lab.aasm("policy", "validate", str(path))
    faults = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert [line.startswith(f"error: {path}:{number}:9: ") for number, line in enumerate(faults, 4)] == [True] * 8
    assert ["supervisor" in line for line in faults] == [True] * 4 + [False] * 4


# --- credentials.capabilities.allow ---

PRIVILEGED = """
import socket, subprocess
own, foreign, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
def sets(text):
    lines = (line.split(":") for line in text.splitlines() if line.startswith("Cap"))
    return {name: int(mask, 16) for name, mask in lines}
def listen():
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
found = dict(chown=attempt(os.chown, own, 12345, 12345), listen=attempt(listen), read=attempt(open, foreign),
             chmod=attempt(os.chmod, foreign, 0o600), root=attempt(os.chroot, "/"))
child = subprocess.check_output(["/bin/cat", "/proc/self/status"], text=True)
tell(own=sets(open("/proc/self/status").read()), child=sets(child), setgid=attempt(os.setgid, 12345),
     setuid=attempt(os.setuid, 12345), **found)
"""
NAMED = ("CAP_CHOWN", "CAP_NET_BIND_SERVICE")


def low_port() -> int:
    """Return a port below 1024 on which nobody listens."""
    for port in range(1023, 0, -1):
        with socket.socket() as made:
            try:
                made.connect(("127.0.0.1", port))
            except ConnectionRefusedError:
                return port
    raise AssertionError("every port below 1024 is taken")


def files(lab: Lab) -> tuple[Path, Path]:
    """Return a file of the user, and one that only another user may read where root runs the tests."""
    own, foreign = lab.file(lab.workspace / "own"), lab.file(lab.workspace / "foreign", "s", 0o600)
    if os.geteuid() == 0:
        os.chown(foreign, 12345, 12345)
    return own, foreign


def privileged(lab: Lab, names: tuple[str, ...]) -> str:
    credentials = {"capabilities": {"allow": list(names)}}
    return policy(filesystem=grants(["/proc", lab.workspace], [lab.workspace]), credentials=credentials)


@pytest.mark.parametrize("names", [(), NAMED], ids=["none", "two"])
def test_root_has_the_named_capabilities_alone_and_nobody_gains_one(lab: Lab, names: tuple[str, ...]) -> None:
    (own, foreign), port = files(lab), low_port()
    root = lab.user.name == "root"
    first = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    done = under(lab, privileged(lab, names), PRIVILEGED, str(own), str(foreign), str(port))
    told, kept = done.told, bool(names) and root
    mask = 0b100_0000_0001 if kept else 0  # numbers 0 and 10, linux/capability.h
    for found in (told["own"], told["child"]):
        assert [found[name] for name in ("CapInh", "CapPrm", "CapEff")] == [mask] * 3, done.stderr
        assert found["CapAmb"] & ~mask == 0
        # whoever has no CAP_SETPCAP keeps the bounding set, through which no_new_privs lets nothing come
        assert found["CapBnd"] == mask or not root
    assert told["chown"] == ("ok" if kept else "EPERM")
    assert told["listen"] == ("ok" if kept or port >= first else "EACCES")
    assert own.stat().st_uid == (12345 if kept else lab.workspace.stat().st_uid)
    if os.geteuid() == 0:
        others = {name: told[name] for name in ("read", "chmod", "root", "setgid", "setuid")}
        assert others == {**dict.fromkeys(others, "EPERM"), "read": "EACCES"}
    assert outcomes(keys(done.stderr))["credentials.capabilities.allow"] == "enforced"
    assert_agrees(lab, done.stderr, "credential", "prevention", "planned")
    control = bare(lab, PRIVILEGED, str(own), str(foreign), str(port)).told
    assert (control["chown"], control["setuid"]) == (("ok", "ok") if root else ("EPERM", "EPERM"))
    assert (control["own"]["CapEff"] & 0b100_0000_0001 == 0b100_0000_0001) is root


@ONCE
def test_a_capability_that_undoes_a_boundary_cannot_be_named(lab: Lab) -> None:
    lines = "".join(f"      - {name}\n" for name in privileges.NEVER)
    path = policy_file(lab, f"credentials:\n  capabilities:\n    allow:\n{lines}      - CAP_CHWON\n      - chown\n")
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", "/bin/touch", "ran")
    name, reason = next(iter(privileges.NEVER.items()))
    assert f"{path}:4:9: {name} cannot be allowed: {reason}; take it out" in assert_refused(lab, done)
    done = lab.aasm("policy", "validate", str(path))
    *never, unknown, lower = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    for number, (line, (name, reason)) in enumerate(zip(never, privileges.NEVER.items()), 4):
        assert line == f"error: {path}:{number}:9: {name} cannot be allowed: {reason}; take it out"
    assert len(never) == len(privileges.NEVER) and "did you mean CAP_CHOWN? known are" in unknown
    assert '"chown" in credentials.capabilities.allow is not a capability of the kernel' in lower


def test_the_preview_says_what_a_kept_capability_means(lab: Lab) -> None:
    """As root it reaches files of others; as anybody else it is not there to be kept."""
    found = preview(lab, privileged(lab, NAMED), "--json")
    held = json.loads(found.stdout)["not_held"]
    assert not [line for line in held if "the program has no capability" in line]
    if lab.user.name == "root":
        assert [line for line in held if "CAP_CHOWN" in line and "outside" in line], held
    else:
        assert [name in found.stderr for name in NAMED] == [True, True], found.stderr
