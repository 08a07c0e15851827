# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A control that is taken away takes its claim with it: either nothing is executed, or nothing is claimed of it."""

from __future__ import annotations

import json
from typing import Sequence

import pytest
from support import driver
from support.inside import grants, policy, policy_file
from support.launch import Lab, domain
from support.outcome import ALL_HELD, ONCE, canaries, one_error

from aasm import launcher
from aasm.policy.vocabulary import SYSCALLS

# What is changed in the supervisor, and the canary that then has to be breached.
CAUGHT = {
    "reading is not decided": ("landlock.READ_RIGHTS = 0", "rules", "file_read"),
    "writing is not decided": ("landlock.WRITE_RIGHTS = landlock.NEVER_GRANTED = 0", "rules", "file_write"),
    "everything is granted": ("rules.access = lambda grant: landlock.READ_RIGHTS | landlock.WRITE_RIGHTS", "", "file_"),
    "the filter lets everything pass": ("floor.REFUSED = {}", "floor", "call"),
}
BEGIN = "from aasm._sys import landlock\nfrom aasm.backends.native import filters, floor, prepare, rules\n"
GRANT_ALL = BEGIN + (
    "whole = prepare.build\n"
    "def build(run, launch, root):\n"
    "    grant = root._replace(read=True, write=True)\n"
    "    return whole(run._replace(grants=(*run.grants, grant), canary_path=run.canary_path), launch, root)\n"
    "prepare.build = build\n"
    "prepare.covers = lambda grants, path, write: False\n"
)


@ONCE
@pytest.mark.parametrize("name", list(CAUGHT))
def test_a_boundary_without_a_control_executes_nothing(lab: Lab, name: str) -> None:
    change, _, canary = CAUGHT[name]
    change = GRANT_ALL if name == "everything is granted" else BEGIN + change + "\n"
    words = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace), "--report", "never")
    done = driver.run(lab, change, *words, "--", "touch", "ran")
    assert done.returncode == 125 and f"its canary {canary}" in one_error(done), done.stderr
    assert not (lab.workspace / "ran").exists() and lab.receipts() == []


# What nothing exercises: the control is gone, the program runs, and no output may say more than that it was planned.
UNSEEN: dict[str, tuple[str, dict[str, object], Sequence[str]]] = {
    "syscall": ("plan._replace(allowed_calls=None)", {"syscalls": {"allow": list(SYSCALLS)}}, ("/bin/mkdir", "new")),
    "process_creation": (
        "plan._replace(no_new_process=False)", {"capabilities": {"deny": ["agent_spawn"]}},
        ("/bin/sh", "-c", "/bin/mkdir new; exit"),
    ),
}  # fmt: skip


@ONCE
@pytest.mark.parametrize("name", list(UNSEEN))
def test_a_control_that_nothing_tries_is_never_claimed(lab: Lab, name: str) -> None:
    changed, stated, program = UNSEEN[name]
    change = BEGIN + f"whole = filters.last\nfilters.last = lambda arch, plan: whole(arch, {changed})\n"
    path = policy_file(lab, policy(filesystem=grants([lab.workspace], [lab.workspace]), **stated), "policy.json")
    words = ("run", "exec", "--isolation", "process", "--policy", str(path), "--report", "always")
    held = lab.aasm(*words, "--", *program)
    assert not (lab.workspace / "new").exists(), "the control"
    gone = driver.run(lab, change, *words, "--", *program)
    assert (lab.workspace / "new").exists(), gone.stderr
    for done in (held, gone):
        claims = [line for line in done.stderr.splitlines() if line.startswith(f"domain.{name}.claim=")]
        assert claims == [f"domain.{name}.claim=planned"] * 2
    assert {domain(found["body"], name)["claim"] for found in lab.receipts()} == {"planned"}
    assert "denied_before_execution" not in json.dumps(lab.receipts())


def test_a_canary_whose_mode_was_taken_away_is_given_it_back(lab: Lab) -> None:
    """A program may change the mode of its user's files: then plain modes would refuse, and nothing would be shown."""
    done = lab.confined("chmod", "000", str(lab.state / "canary"))
    assert done.returncode == 0 and (lab.state / "canary").stat().st_mode & 0o777 == 0, "the control"
    words = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace), "--report", "never")
    again = driver.run(lab, GRANT_ALL, *words, "--", "touch", "ran")
    assert again.returncode == 125 and not (lab.workspace / "ran").exists(), again.stderr
    if lab.user.uid is None:  # root opens it, gives the mode back, and the canary shows what is wrong
        assert "its canary file_" in one_error(again)
        assert (lab.state / "canary").stat().st_mode & 0o777 == 0o600


def test_the_controls_have_no_more_rights_than_the_program(lab: Lab) -> None:
    """Else a capability would open what the boundary then seems to refuse."""
    steps = [name for name, _ in launcher.STEPS]
    assert steps.index("capabilities") < steps.index("controls") < steps.index("landlock")


@ONCE
def test_a_canary_that_somebody_touches_in_between_shows_nothing(lab: Lab) -> None:
    change = driver.at_step("file_canary", f"os.chmod({str(lab.state / 'canary')!r}, 0)")
    words = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace), "--report", "never")
    done = driver.run(lab, change, *words, "--", "true")
    assert done.returncode == 0, done.stderr
    assert canaries(lab.receipt()) == {"file_read": "inconclusive", "file_write": "inconclusive", "call": "held"}
    assert domain(lab.receipt(), "filesystem_read")["claim"] == "planned"


@ONCE
def test_a_launch_beside_another_does_not_touch_its_canary(lab: Lab) -> None:
    """By its ctime a launch tells that its canary was touched: then it shows nothing."""
    words = ("run", "exec", "--isolation", "process", "--system", "--write", str(lab.workspace), "--report", "never")
    assert lab.aasm(*words, "--", "true").returncode == 0
    touched = (lab.state / "canary").stat().st_ctime_ns
    assert lab.aasm(*words, "--", "true").returncode == 0
    assert (lab.state / "canary").stat().st_ctime_ns == touched
    assert canaries(lab.receipt()) == ALL_HELD
