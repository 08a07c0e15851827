# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Ceilings: each its own requirement with its own verdict; two are held by the kernel, in every process of the tree."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from support import driver
from support.inside import bare, held, program
from support.launch import Lab, domain
from support.outcome import ONCE, assert_refused, canaries, events, exec_options, launch, one_error

# A child, and a child of that child, try what each of them may do at most; and try to get more.
SCRIPT = """
import resource, signal, subprocess
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def most_open():
    found = []
    try:
        while len(found) < 200:
            found.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as problem:
        return [name_of(problem.errno), max(found, default=2) + 1]
    finally:
        for descriptor in found:
            os.close(descriptor)
    return ["ok", len(found)]
def raised(number, value):
    try:
        resource.setrlimit(number, (value, value))
    except (OSError, ValueError):
        return "refused"
    return "ok"
def write(name, size):
    with open(name, "wb", buffering=0) as file:
        return attempt(lambda: file.write(b"x" * 1) if file.seek(size - 1) is None else file.write(b"x"))
who = sys.argv[1]
found = {"open": most_open(), "below": write("below." + who, 5000), "above": write("above." + who, 5001)}
if who == "child":
    words = [sys.executable, "-I", "-S", "-c", sys.argv[2], "grandchild", ""]
    found["grandchild"] = json.loads(subprocess.run(words, stdout=subprocess.PIPE).stdout)
found["raised"] = [raised(resource.RLIMIT_NOFILE, 1000), raised(resource.RLIMIT_FSIZE, 6000)]
tell(**found)
"""
OPTIONS = ("--max-open-files", "64", "--max-file-size-bytes", "5000")


def test_open_files_and_file_size_are_held_in_the_child_and_in_its_child(lab: Lab) -> None:
    source = program(SCRIPT)[-1]
    free = bare(lab, SCRIPT, "child", source).told
    assert free["open"] == ["ok", 200] and free["above"] == "ok", "the control"
    for name in ("below.child", "above.child", "below.grandchild", "above.grandchild"):
        (lab.workspace / name).unlink()
    told = held(lab, SCRIPT, "child", source, options=OPTIONS).told
    for one in (told, told["grandchild"]):
        assert (one["open"], one["below"], one["above"]) == (["EMFILE", 64], "ok", "EFBIG")
        assert one["raised"] == ["refused", "refused"]
    sizes = {path.name: path.stat().st_size for path in lab.workspace.iterdir()}
    assert sizes == {"below.child": 5000, "above.child": 0, "below.grandchild": 5000, "above.grandchild": 0}
    assert bare(lab, SCRIPT, "child", source).told["above"] == "ok"  # we ourselves are as free as before
    line = domain(lab.receipt(), "resource")
    assert (line["requested"], line["state"], line["claim"]) == ("stated", "prevention", "observed")
    results = canaries(lab.receipt())
    assert (results["open_files"], results["file_size"]) == ("held", "held")
    assert lab.receipt()["spec"]["required_count"] == 4  # two lists of paths and two ceilings


def test_a_process_that_writes_beyond_the_ceiling_ends_by_the_signal_of_the_kernel(lab: Lab) -> None:
    done = lab.confined("dd", "if=/dev/zero", "of=big", "bs=1000", "count=9", options=("--max-file-size-bytes", "2500"))
    assert done.returncode == 128 + signal.SIGXFSZ, done.stderr
    assert (lab.workspace / "big").stat().st_size == 2500
    done = lab.bare("dd", "if=/dev/zero", "of=big", "bs=1000", "count=9")
    assert done.returncode == 0 and (lab.workspace / "big").stat().st_size == 9000


RESERVE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
def fallocate(mode, size):
    with open("reserved", "wb") as file:
        if libc.fallocate(file.fileno(), mode, 0, size):
            return name_of(ctypes.get_errno())
    return "ok"
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import fcntl, struct
def reserve(request):
    with open("reserved", "wb") as file:
        return attempt(fcntl.ioctl, file, request, struct.pack("hhqqiI16x", 0, 0, 0, 100000, 0, 0))
def punched():
    with open("reserved", "wb") as file:
        file.write(b"x" * 5000)
        file.flush()
        return "ok" if libc.fallocate(file.fileno(), 3, 0, 4096) == 0 else name_of(ctypes.get_errno())
tell(beyond=fallocate(1, 100000), inserted=fallocate(0x20, 4096), more=fallocate(0, 100000), within=fallocate(0, 4000),
     punched=punched(), ioctls=[reserve(number) for number in (0x40305828, 0x4030582A, 0x40305839)])
"""


@ONCE
def test_no_space_is_reserved_beyond_a_file_that_may_not_grow(lab: Lab) -> None:
    """For FALLOC_FL_KEEP_SIZE some file systems ask for no limit; the filter does."""
    free = bare(lab, RESERVE).told
    assert (free["beyond"], free["more"], free["within"], free["punched"]) == ("ok", "ok", "ok", "ok")
    assert "EPERM" not in free["ioctls"] and free["inserted"] in ("ok", "EINVAL", "ENOTSUP")  # by file system
    told = held(lab, RESERVE, options=OPTIONS).told
    assert (told["beyond"], told["inserted"], told["more"]) == ("ENOTSUP", "ENOTSUP", "EFBIG")
    assert (told["within"], told["punched"], told["ioctls"]) == ("ok", "ok", ["EPERM"] * 3)
    assert held(lab, RESERVE).told == free  # without the ceiling nothing is in its way


@ONCE
def test_a_ceiling_above_that_of_the_host_is_held_by_the_host(lab: Lab) -> None:
    command = ["sh", "-c", 'ulimit -n 300 && exec "$@"', "sh"]
    words = lab.command(*exec_options(lab, "process"), "--max-open-files", "100000", "--", "sh", "-c", "ulimit -Hn")
    done = lab.bare(*command, *words)
    assert (done.returncode, done.stdout) == (0, "300\n"), done.stderr
    results = canaries(lab.receipt())
    assert results["open_files"] == "inconclusive"  # it was impossible before as well, so nothing was shown
    assert "file_size" not in results
    assert domain(lab.receipt(), "resource")["claim"] == "planned"


@ONCE
def test_a_soft_limit_of_the_host_does_not_spoil_the_canary(lab: Lab) -> None:
    command = ["sh", "-c", 'ulimit -Sn 100 && exec "$@"', "sh"]
    words = lab.command(*exec_options(lab, "process"), "--max-open-files", "200", "--", "sh", "-c", "ulimit -n")
    done = lab.bare(*command, *words)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    results = canaries(lab.receipt())
    assert results["open_files"] == "held"


@ONCE
def test_a_limit_that_does_not_hold_its_canary_executes_nothing(lab: Lab) -> None:
    change = driver.launcher_change("launcher.resource.setrlimit = lambda number, limits: None")
    words = (*exec_options(lab, "process"), "--max-open-files", "50", "--", "touch", "ran")
    done = driver.run(lab, change, *words)
    assert done.returncode == 125 and "canary open_files was not refused" in one_error(done)
    assert not (lab.workspace / "ran").exists()


@ONCE
@pytest.mark.parametrize(
    ("option", "words"),
    [("--max-memory-bytes", "no resource limit bounds the memory of a tree"), ("--max-pids", "RLIMIT_NPROC counts")],
)
def test_a_ceiling_that_nothing_can_hold_refuses_the_launch(lab: Lab, option: str, words: str) -> None:
    more = (option, "100000", *OPTIONS)  # one that cannot be held, beside two that can
    done = launch(lab, "process", "touch", "ran", options=more)
    assert_refused(lab, done)
    assert f"  - resource ({option}): " in done.stderr and words in done.stderr
    assert done.stderr.count("  - resource") == 1  # the two that can be held are not among what is unmet
    assert not (lab.workspace / "ran").exists()


@ONCE
def test_every_ceiling_that_cannot_be_held_is_listed(lab: Lab) -> None:
    options = ("--max-memory-bytes", "1", "--max-pids", "1")
    done = launch(lab, "process", "touch", "ran", options=options)
    assert one_error(done) and [option in done.stderr for option in options[::2]] == [True, True]
    assert events(lab) == ["refused"]


def resource_line(text: str) -> dict[str, Any]:
    """Return what a preview in JSON says about the ceilings."""
    found = json.loads(text)["isolation"]
    return {key[len("domain.resource.") :]: value for key, value in found.items() if key.startswith("domain.resource.")}


@ONCE
def test_processor_time_is_optional_and_reported_as_not_met(lab: Lab) -> None:
    done = launch(lab, "process", "true", options=("--max-cpu-seconds", "9", "--dry-run", "--json"))
    assert done.returncode == 0, done.stderr
    line = resource_line(done.stdout)
    assert line["requested"] == "stated" and "limits: max_cpu_seconds=9" in line["requested_detail"]
    assert (line["state"], line["claim"]) == ("unsupported", "unmeasured")
    assert json.loads(done.stdout)["isolation"]["posture"] == "degraded"
    done = launch(lab, "process", "true", options=("--max-cpu-seconds", "9"))
    assert done.returncode == 0, done.stderr
    assert [item["kind"] for item in lab.receipt()["degraded"]] == ["control_unsupported"]


@ONCE
def test_the_wall_clock_is_observed_and_its_end_is_a_detection(lab: Lab) -> None:
    done = launch(lab, "process", "sleep", "9", options=("--max-wall-clock-seconds", "1"))
    assert done.returncode == 124, done.stderr
    line = domain(lab.receipt(), "resource")
    assert (line["state"], line["claim"]) == ("observe_only", "detected")
    assert line["evidence_basis"] == "runtime_without_decision" and line["prevention_supported"] is False
    done = launch(lab, "process", "true", options=("--max-wall-clock-seconds", "60"))
    line = domain(lab.receipt(), "resource")
    assert (line["state"], line["claim"], line["evidence_basis"]) == ("observe_only", "planned", "setup_only")


@ONCE
def test_what_one_ceiling_showed_speaks_for_no_other(lab: Lab) -> None:
    words = lab.command(*exec_options(lab, "process"), "--max-open-files", "100000", *OPTIONS[2:], "--", "true")
    done = lab.bare("sh", "-c", 'ulimit -n 300 && exec "$@"', "sh", *words)
    assert done.returncode == 0, done.stderr
    assert canaries(lab.receipt())["open_files"] == "inconclusive"
    assert canaries(lab.receipt())["file_size"] == "held"
    assert domain(lab.receipt(), "resource")["claim"] == "planned"
    launch(lab, "process", "true", options=("--max-wall-clock-seconds", "60", *OPTIONS))
    assert domain(lab.receipt(), "resource")["claim"] == "planned"  # the clock is the weaker, and did nothing


@ONCE
def test_each_ceiling_has_its_own_verdict_in_the_report(lab: Lab) -> None:
    options = ("--max-cpu-seconds", "9", "--max-wall-clock-seconds", "60", *OPTIONS, "--report", "always")
    done = launch(lab, "process", "true", options=options)
    keys = dict(line.split("=", 1) for line in done.stderr.splitlines() if line.startswith("requested_requirement"))
    found = {
        keys[f"requested_requirement.{n}.stated_by"]: keys[f"requested_requirement.{n}.outcome"]
        for n in range(int(keys["requested_requirement_count"]))
    }
    assert {name: outcome for name, outcome in found.items() if name.startswith("--")} == {
        "--max-cpu-seconds": "unmet", "--max-wall-clock-seconds": "observed",
        "--max-open-files": "enforced", "--max-file-size-bytes": "enforced",
    }  # fmt: skip


@ONCE
def test_a_wall_clock_beside_a_held_ceiling_claims_no_more_than_the_weaker_of_them(lab: Lab) -> None:
    done = launch(lab, "process", "true", options=("--max-wall-clock-seconds", "60", *OPTIONS))
    assert done.returncode == 0, done.stderr
    assert domain(lab.receipt(), "resource")["state"] == "observe_only"


@ONCE
def test_without_a_boundary_one_line_says_that_no_ceiling_is_enforced(lab: Lab) -> None:
    options = ("--max-memory-bytes", "1", "--max-open-files", "3", "--max-wall-clock-seconds", "1")
    done = launch(lab, "none", "sh", "-c", "sleep 1.2; ulimit -n", options=options)
    assert done.returncode == 0 and int(done.stdout) > 3, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "ceiling" in line]
    said, _, named = line.rpartition(": ")
    assert said == "warning: without a boundary no ceiling is enforced" and set(named.split(", ")) == set(options[::2])
    shown = launch(lab, "none", "true", options=(*options, "--dry-run", "--json"))
    assert json.loads(shown.stdout)["isolation"]["requested_requirement_count"] == 0
    assert resource_line(shown.stdout)["requested"] == "stated"
    assert json.loads(shown.stdout)["launch_command"]["ceilings"][0]["kept_by"].startswith("nothing")


@ONCE
def test_ceilings_alone_are_requirements(lab: Lab) -> None:
    """The policy states no domain that a boundary holds; the ceiling does."""
    policy = lab.file(lab.top / "policy.yaml", "tools:\n  shell:\n    allow: true\n")
    base = ("run", "exec", "--isolation", "process", "--policy", str(policy))
    done = lab.aasm(*base, "--", "true")
    assert done.returncode == 125 and "NoRequirementsLowered" in done.stderr
    done = lab.aasm(*base, "--max-open-files", "50", "--", "sh", "-c", "ulimit -n")
    assert (done.returncode, done.stdout) == (0, "50\n"), done.stderr
