# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One resolved run: what a dry run shows is what a launch does, byte for byte, and what it would refuse is refused."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from typing import Any, Callable, Sequence

import pytest
from support import driver
from support.launch import Lab
from support.outcome import ONCE, Done, events, exec_options

from aasm._sys import order as orders

# Keeps the order that goes to the launcher.
KEEP_ORDER = """
from aasm.supervise import loop
whole = loop.Supervisor.send
def send(self, launcher, order, name):
    with open({path!r}, "wb") as file:
        file.write(order)
    whole(self, launcher, order, name)
loop.Supervisor.send = send
"""
OPTIONS: Sequence[Sequence[str]] = (
    ("--isolation", "process"),
    ("--isolation", "auto", "--max-open-files", "99", "--max-file-size-bytes", "12345",
     "--max-wall-clock-seconds", "60"),
    ("--isolation", "process", "--isolation-backend", "aasm-native", "--env", "A=b", "--read", "/proc"),
)


def decoded(data: bytes) -> orders.Order:
    return orders.decode(data[orders.HEADER.size :])


@pytest.mark.parametrize("options", OPTIONS)
def test_the_order_of_a_preview_is_the_order_of_the_launch_byte_for_byte(lab: Lab, options: Sequence[str]) -> None:
    kept = lab.top / "kept"
    kept.mkdir()
    lab.own(kept)
    words = ("run", "exec", *options, "--system", "--write", str(lab.workspace), "--home", "real")
    # neither has a private directory then: a launch makes one, under a name that nobody knows before
    change = KEEP_ORDER.format(path=str(kept / "order")) + "from aasm.supervise import private\n"
    change += "private.create = lambda directory: ''\n"
    done = driver.run(lab, change, *words, "--", "sh", "-c", "echo ran")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    launched = (kept / "order").read_bytes()
    shown = _shown(lab, *words, "--dry-run", "--show-order", "--", "sh", "-c", "echo ran")
    assert decoded(shown).name == b"aasm-by-hand" and decoded(launched).name.startswith(b"aasm-")
    assert _renamed(shown) == _renamed(launched)
    assert len(launched) > 1000 and decoded(launched).rules and decoded(launched).filter_b


def _shown(lab: Lab, *words: str) -> bytes:
    command = lab.command(*words, python=("-I",))
    return subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True, **lab.options()).stdout


def _renamed(data: bytes) -> bytes:
    """Return the order with the launcher's name, which is random in every launch, replaced."""
    order = decoded(data)
    order.name = b"same"
    return orders.encode(order)


@pytest.mark.parametrize("isolation", ["process", "none"])
def test_one_resolved_run_gives_the_preview_and_the_launch(lab: Lab, isolation: str) -> None:
    """The value itself: every field of it is the same but for those that only a launch can have."""
    change = """
from aasm import run
whole = run.resolve
def resolve(*args):
    found = whole(*args)
    with open({path!r}, "a") as file:
        seen = found.run.descriptors
        kept = [item.number for item in seen.descriptors if item.disposition.value != "closed_before_exec"]
        fields = found.run._replace(identity=None, descriptors=(kept, seen.asserts_clean_boundary))._asdict()
        fields["spec"] = found.run.spec._replace(identity=None)
        fields["grants"] = [grant for grant in found.run.grants if "private" not in grant.origin]
        fields["environment"] = [item for item in found.run.environment.entries if item.origin != "private"]
        file.write(repr(sorted(fields.items())) + "\\n")
    return found
run.resolve = resolve
"""
    kept = lab.directory("kept") / "runs"
    words = (*exec_options(lab, isolation), "--max-open-files", "50", "--env", "X=y")
    extra = lab.file(lab.outside / "extra").open()  # a descriptor that the operator's shell left open
    for more in ((), ("--dry-run",)):
        done = driver.run(
            lab, change.format(path=str(kept)), *words, *more, "--", "sh", "-c", f"! (: <&{extra.fileno()}) 2>&-",
            pass_fds=[extra.fileno()],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    extra.close()
    launched, previewed = kept.read_text().splitlines()
    assert launched == previewed and "max_open_files=50" in launched


# --- what a launch refuses, a preview says ------------------------------------------------------------------------


def _missing_path(lab: Lab) -> list[str]:
    return ["--read", str(lab.top / "nothing")]


def _link_in_a_grant(lab: Lab) -> list[str]:
    (lab.workspace / "inner").symlink_to(lab.outside)
    return ["--read", str(lab.workspace / "inner")]


def _trusted(lab: Lab) -> list[str]:
    return ["--write", str(lab.state)]


def _policy_that_is_none(lab: Lab) -> list[str]:
    return ["--policy", str(lab.file(lab.top / "p.yaml", "nonsense: 1\n"))]


def _single_hosts(lab: Lab) -> list[str]:
    return ["--policy", str(lab.file(lab.top / "p.yaml", "network:\n  allowlist: [example.org]\n"))]


def _nothing_held(lab: Lab) -> list[str]:
    return [*_nothing_lowered(lab), "--max-cpu-seconds", "9", "--max-wall-clock-seconds", "60"]


def _damaged(lab: Lab) -> None:
    lab.file(lab.state / "ledger.jsonl", "nonsense\n", 0o600)


def _folder(lab: Lab, name: str, mode: int = 0o700) -> None:
    lab.directory("state/" + name)
    (lab.state / name).chmod(mode)


def _no_entry(lab: Lab) -> list[str]:
    (lab.directory("shut")).chmod(0o000)
    return ["--workdir", str(lab.top / "shut")]


def _no_writing(lab: Lab) -> list[str]:
    lab.directory("read-only").chmod(0o500)
    return ["--receipt", str(lab.top / "read-only" / "r")]


def _nothing_lowered(lab: Lab) -> list[str]:
    return ["--policy", str(lab.file(lab.top / "p.yaml", "tools:\n  a:\n    allow: true\n"))]


def _absent_backend(lab: Lab) -> list[str]:
    return ["--isolation-backend", "sandlock"]


def _ceiling(lab: Lab) -> list[str]:
    return ["--max-pids", "7"]


def _loose_state(lab: Lab) -> list[str]:
    lab.state.chmod(0o777)
    return []


REFUSED: dict[str, tuple[Callable[[Lab], list[str]], str]] = {
    "a path that does not exist": (_missing_path, "nothing: No such file or directory"),
    "a link that a program could have made": (_link_in_a_grant, "is a symbolic link beneath a path that may be"),
    "what the next run trusts": (_trusted, "the ledger and the receipts"),
    "a policy that is none": (_policy_that_is_none, "p.yaml:1:1"),
    "single hosts": (_single_hosts, "network_egress"),
    "nothing to hold": (_nothing_lowered, "NoRequirementsLowered"),
    "nothing that is required": (_nothing_held, "NoRequirementsLowered"),
    "a working directory that cannot be entered": (_no_entry, "shut: Permission denied"),
    "a receipt that cannot be written": (_no_writing, "r: Permission denied"),
    "a backend without a driver": (_absent_backend, "the `sandlock` backend cannot be selected on this host"),
    "a ceiling that nothing holds": (_ceiling, "--max-pids"),
    "a state directory that cannot be trusted": (_loose_state, "can be written by others"),
}
SECTIONS = (
    "--- aasm run dry-run ---", "--- preview fidelity ---", "--- protection ---", "--- policy ---",
    "--- execution isolation ---", "--- execution isolation (machine-readable) ---", "--- managed settings ---",
    "--- launch command ---", "--- environment ---", "--- lease plan (PLAN: point-in-time, not authorization) ---",
)  # fmt: skip


def headers(done: Done[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("--- ")]


def words_of(lab: Lab, options: list[str]) -> tuple[str, ...]:
    base = ("run", "exec", "--isolation", "process")
    inline = () if "--policy" in options else ("--system", "--write", str(lab.workspace))
    return (*base, *inline, *options)


@ONCE
@pytest.mark.parametrize("name", list(REFUSED))
def test_a_preview_sees_what_the_launch_refuses(lab: Lab, name: str) -> None:
    make, text = REFUSED[name]
    words = words_of(lab, make(lab))
    shown = lab.aasm(*words, "--dry-run", "--", "touch", "ran")
    assert shown.returncode == 0, shown.stderr
    warnings = shown.stderr.splitlines()
    assert warnings[0].startswith("warning: ") and text in shown.stderr
    assert warnings[-1] == "warning: a live run with these options would refuse"
    assert sum(line.startswith("warning: ") for line in warnings) == 2
    assert headers(shown) == list(SECTIONS) and "posture=refused" in shown.stdout
    assert events(lab) == []
    live = lab.aasm(*words, "--", "touch", "ran")
    assert live.returncode == 125 and live.stderr.startswith("error: ")
    if name != "a state directory that cannot be trusted":  # found out first there, before anything is resolved
        assert live.stderr[len("error: ") :] == shown.stderr[len("warning: ") : shown.stderr.rindex("warning: ")]
        assert events(lab) == ["refused"]
    assert not (lab.workspace / "ran").exists() and lab.leftovers() == []


# What may lie in a state directory so that nothing can be recorded in it; where there is no record, none is asked for.
BROKEN: dict[str, Callable[[Lab], object]] = {
    "a damaged ledger": _damaged,
    "a ledger that is a directory": lambda lab: _folder(lab, "ledger.jsonl"),
    "a ledger that is a link": lambda lab: (lab.state / "ledger.jsonl").symlink_to("/dev/full"),
    "a ledger that cannot be written": lambda lab: lab.file(lab.state / "ledger.jsonl", "", 0o400),
    "a lock that is a directory": lambda lab: _folder(lab, "ledger.lock"),
    "a canary that is a directory": lambda lab: _folder(lab, "canary"),
    "a canary that is a link": lambda lab: (lab.state / "canary").symlink_to("/etc/passwd"),
    "a canary that is a pipe": lambda lab: os.mkfifo(lab.state / "canary"),
    "receipts that are a file": lambda lab: lab.file(lab.state / "execution-receipts", "", 0o600),
    "receipts that others can write": lambda lab: _folder(lab, "execution-receipts", 0o777),
    "a state directory without the right to write": lambda lab: lab.state.chmod(0o500),
}


@ONCE
@pytest.mark.parametrize("name", list(BROKEN))
def test_a_preview_sees_a_state_directory_in_which_nothing_can_be_kept(lab: Lab, name: str) -> None:
    BROKEN[name](lab)
    before = sorted(os.listdir(lab.state))
    words = exec_options(lab, "process")
    shown = lab.aasm(*words, "--dry-run", "--", "touch", "ran")
    assert shown.returncode == 0 and "posture=refused" in shown.stdout, shown.stderr
    assert shown.stderr.splitlines()[-1] == "warning: a live run with these options would refuse"
    assert sorted(os.listdir(lab.state)) == before
    live = lab.aasm(*words, "--", "touch", "ran")
    assert live.returncode == 125 and not (lab.workspace / "ran").exists()
    said = [line for line in live.stderr.splitlines() if line.startswith("error: ")]
    assert said == ["error: " + shown.stderr.splitlines()[0][len("warning: ") :]]
    block = lab.aasm(*words, "--report", "always", "--", "true").stderr
    assert "\nposture=refused\n" in block and block.count("machine-readable") == 1


@ONCE
def test_a_gateway_refuses_and_the_policy_is_shown_all_the_same(lab: Lab) -> None:
    gateway = {"AA_GATEWAY_ENDPOINT": "http://127.0.0.1:1"}
    for isolation in ("process", "none"):
        shown = lab.aasm(*exec_options(lab, isolation), "--dry-run", "--json", "--", "true", env=gateway)
        found = json.loads(shown.stdout)
        assert (found["refusal"]["kind"], found["policy"]["state"]) == ("registration", "enforced")
        live = lab.aasm(*exec_options(lab, isolation), "--", "true", env=gateway)
        assert live.returncode == 125 and live.stderr.startswith("error: refusing to launch unregistered: ")


@ONCE
def test_a_receipt_without_a_place_is_a_wrong_command_line_in_both(lab: Lab) -> None:
    taken = lab.file(lab.top / "taken")
    for path in (taken, lab.top / "none" / "r.json"):
        for more in ((), ("--dry-run",)):
            words = (*exec_options(lab, "process"), "--receipt", str(path), *more)
            done = lab.aasm(*words, "--", "touch", "ran")
            assert done.returncode == 2 and str(path) in done.stderr, done.stderr
    assert list(lab.workspace.iterdir()) == []


@ONCE
def test_a_preview_has_every_section_in_its_order_with_and_without_a_boundary(lab: Lab) -> None:
    for isolation in ("none", "process", "auto"):
        options = ("--isolation", isolation, "--system", "--write", str(lab.workspace))
        done = lab.aasm("run", "exec", *options, "--dry-run", "--", "true")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert headers(done) == list(SECTIONS)
    assert list(lab.state.iterdir()) == []


def test_a_preview_of_the_private_directory_shows_no_object_that_lies_there(lab: Lab) -> None:
    planted = lab.tmp / "aasm-dry-run"
    planted.mkdir()
    done = lab.aasm(*exec_options(lab, "process"), "--dry-run", "--json", "--", "true")
    found: list[dict[str, Any]] = json.loads(done.stdout)["grants"]
    origins = [grant["origin"] for grant in found if grant["path"] == str(planted)]
    assert origins == ["private directory, made at launch"]


@ONCE
@pytest.mark.parametrize("isolation", ["process", "none"])
def test_a_preview_gives_the_warnings_of_the_launch(lab: Lab, isolation: str) -> None:
    policy = "filesystem:\n  read:\n    allow: ['${system}']\ncapabilities:\n  deny: [file_delete]\n"
    options = ("--policy", str(lab.file(lab.top / "p.yaml", policy)), "--env", "NOT_SET", "--no-proxy")
    words = ("run", "exec", "--isolation", isolation, *options, "--max-wall-clock-seconds", "60")
    said = [
        [line for line in lab.aasm(*words, *more, "--", "true").stderr.splitlines() if line.startswith("warning: ")]
        for more in ((), ("--dry-run",))
    ]
    assert said[0] == said[1] and len(said[0]) == (4 if isolation == "process" else 3)


@ONCE
def test_no_name_of_a_policy_makes_a_line_of_its_own(lab: Lab) -> None:
    """Whoever may name the file or the folder of a policy could otherwise speak in our name."""
    forged = "q\nwarning: no problem at all\naasm: receipt: x.yaml\nposture=ready"
    for text in ("tools:\n  a:\n    allow: true\n", "nonsense: 1\n", "network:\n  allowlist: [a.example]\n"):
        path = lab.file(lab.top / forged, text)
        for words in (("--policy", str(path)), ()):
            for more in (("--report", "always"), ("--dry-run",), ("--dry-run", "--json")):
                command = ("run", "exec", "--isolation", "auto", *words, *more, "--", "true")
                done = lab.aasm(*command, env={"AA_POLICY": str(path)})
                lines = (done.stdout + done.stderr).splitlines()
                assert lines and not set(forged.splitlines()) & set(lines)


@ONCE
def test_a_report_that_cannot_be_made_does_not_take_the_place_of_the_refusal(lab: Lab) -> None:
    change = "from aasm import run\ndef preview(*args, **more):\n    raise OSError(24, 'planned failure')\n"
    change += "run.preview = preview\n"
    _damaged(lab)
    done = driver.run(lab, change, *exec_options(lab, "process"), "--report", "always", "--", "touch", "ran")
    assert done.returncode == 125 and done.stderr.startswith("error: the ledger is damaged: "), done.stderr
    assert "planned failure" not in done.stderr and not (lab.workspace / "ran").exists()


@ONCE
def test_a_defect_of_ours_is_no_refusal_that_a_preview_shows(lab: Lab) -> None:
    change = "from aasm import errors, run\ndef resolve(*args):\n    raise errors.InternalError('planned defect')\n"
    for more in ((), ("--json",)):
        words = (*exec_options(lab, "none"), "--dry-run", *more, "--", "x")
        done = driver.run(lab, change + "run.resolve = resolve\n", *words)
        assert (done.returncode, done.stdout, done.stderr) == (125, "", "error: planned defect\n")


@ONCE
def test_a_process_that_cannot_supervise_has_its_block_too(lab: Lab) -> None:
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    words = (*exec_options(lab, "process"), "--report", "always", "--", "touch", "ran")
    done = lab.aasm(*words, stdin=ends[0])
    for end in ends:
        end.close()
    assert done.returncode == 125 and not (lab.workspace / "ran").exists()
    assert "\nposture=refused\n" in done.stderr
    assert [line[:20] for line in done.stderr.splitlines() if line.startswith("error: ")] == ["error: descriptor 0:"]
