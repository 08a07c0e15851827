# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a launch says of a policy: paths that need not exist, statements that nothing acts on, formats, owners."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.inside import SYSTEM, bare, grants, launch, policy, policy_file, under
from support.launch import PYTHON, Lab
from support.nodes import LOADER, foreseen, keys, listed, outcomes, preview, warnings, within
from support.outcome import ONCE, assert_not_started, assert_refused, one_error

# --- {path: ..., optional: true} ---


def places(lab: Lab) -> dict[str, str]:
    """Return paths of every kind that an optional entry may meet."""
    present = lab.file(lab.outside / "present", mode=0o755)
    shutil.copyfile("/bin/true", present)
    os.symlink("gone", lab.outside / "dangling")
    os.symlink("loop", lab.outside / "loop")
    names = ("missing", "missing/below", "dangling", "present/below", "present", "loop")
    return {name: str(lab.outside / name) for name in names}


SKIPPED = ("missing", "missing/below", "dangling", "present/below")
PRESENT = """
present, beside = sys.argv[1:3]
def run():
    assert os.waitpid(os.posix_spawn(present, [present], {}), 0)[1] == 0
tell(read=attempt(open, present), execute=attempt(run), write=attempt(open, present, "a"),
     beside=attempt(open, beside), made=attempt(open, sys.argv[3], "w"))
"""


def test_an_optional_path_is_granted_when_it_is_there_and_skipped_when_not(lab: Lab) -> None:
    found, beside = places(lab), lab.file(lab.outside / "beside")
    optional = [{"path": found[name], "optional": True} for name in (*SKIPPED, "present")]
    lists = {"read": [*SYSTEM, str(lab.workspace)], "write": [str(lab.workspace)], "execute": [PYTHON[0], LOADER]}
    filesystem = {verb: {"allow": [*names, *optional]} for verb, names in lists.items()}
    text = policy(filesystem=filesystem, ipc={"unix": {"allow": optional[:-1]}})
    words = (found["present"], str(beside), found["missing"])
    done = under(lab, text, PRESENT, *words)
    told = {**dict.fromkeys(("read", "write", "execute"), "ok"), **dict.fromkeys(("beside", "made"), "EACCES")}
    assert done.told == told, done.stderr
    assert not Path(found["missing"]).exists()
    state = outcomes(keys(done.stderr))
    assert {state[f"filesystem.{verb}.allow"] for verb in lists} | {state["ipc.unix.allow"]} == {"enforced"}
    assert set(bare(lab, PRESENT, *words).told.values()) == {"ok"}


@ONCE
def test_a_path_that_is_not_optional_or_not_missing_refuses(lab: Lab) -> None:
    found, mark = places(lab), lab.workspace / "ran"
    closed = lab.directory("closed")
    closed.chmod(0)
    found["behind a closed door"] = str(closed / "x")  # nobody can say that it is missing
    cases = [
        ("read", "dangling", False, "No such file"), ("read", "present/below", False, "Not a directory"),
        ("write", "missing", False, "No such file"), ("write", "behind a closed door", True, "Permission denied"),
        ("execute", "missing", False, "No such file"), ("execute", "loop", True, "Too many levels"),
    ]  # fmt: skip
    for verb, name, optional, words in cases:
        filesystem = {**grants([lab.workspace], [lab.workspace]), "execute": {"allow": ["/bin", LOADER]}}
        entry = {"path": found[name], "optional": optional}
        filesystem[verb] = {"allow": [*filesystem[verb]["allow"], entry]}
        text = policy(filesystem=filesystem)
        line = assert_refused(lab, launch(lab, text, "/bin/touch", str(mark)))
        place = f"policy.json:1:{text.index(json.dumps(found[name])) + 1}: "
        assert f"{place}{found[name]}: {words}" in line and not mark.exists()


# --- what no launch acts on ---


@ONCE
def test_a_broker_that_is_required_refuses_and_one_that_is_not_is_said(lab: Lab) -> None:
    required = within(lab, egress={"posture": "broker_required"})
    line = assert_refused(lab, launch(lab, required, "/bin/touch", "ran"))
    assert "egress.posture requires a broker, and this release has none" in line and "policy.json:1:" in line
    remedy = line.partition("this release has none; ")[2]
    assert "take it out" in remedy
    done = preview(lab, required)
    assert [text for text in warnings(done.stderr) if "requires a broker" in text] and done.returncode == 0
    # as for any other policy: with a network that is refused there is nothing to mediate, or the remedy says so
    beside = within(lab, egress={"posture": "broker_required"}, network={"allowlist": []})
    refused = launch(lab, beside, "/bin/true").returncode == 125
    assert not refused or "or refuse the network" not in remedy
    (statement,) = ["egress.posture: not_required"]
    done = launch(lab, within(lab, egress={"posture": "not_required"}), "/bin/true")
    assert listed(keys(done.stderr), "policy.unmapped") == [statement] and statement in warnings(done.stderr)[0]


@ONCE
def test_without_a_boundary_a_required_broker_is_not_passed_over_in_silence(lab: Lab) -> None:
    path = policy_file(lab, within(lab, egress={"posture": "broker_required"}))
    done = lab.aasm("run", "exec", "--isolation", "none", "--policy", str(path), "--", "/bin/true")
    assert done.returncode == 125 or "egress.posture: broker_required" in listed(keys(done.stderr), "policy.unmapped")


GOVERNED: dict[str, Any] = {
    "schedule": {"active_hours": {"start": "08:00", "end": "18:30", "timezone": "UTC"}},
    "budget": {"daily_limit_usd": 1.5, "team_monthly_limit_usd": 4, "action_on_exceed": "deny", "window": "30d"},
    "data": {"sensitive_patterns": ["AKIA[0-9]+"], "credential_action": "block", "locale_packs": ["de", "fr"]},
    "approval_timeout_secs": 30,
    "approval": {"timeout_seconds": 60, "escalation_role": "lead"},
    "authority": {"leases": [{"domain": "ipc", "scope": ["a"]}, {"domain": "resource", "scope": "whole"}]},
    "capabilities": {"deny": ["network_inbound", "model:y"]},
    "tools": {"shell": {"allow": False}, "web": {"limit_per_hour": 5, "requires_approval_if": "amount > 3"}},
}
STATEMENTS = (
    "schedule.active_hours: 08:00-18:30 UTC", "budget.daily_limit_usd: 1.5", "budget.team_monthly_limit_usd: 4",
    "budget.action_on_exceed: deny", "budget.window: 30d", "data.sensitive_patterns: AKIA[0-9]+",
    "data.credential_action: block", "data.locale_packs: de, fr", "approval_timeout_secs: 30",
    "approval.timeout_seconds: 60", "approval.escalation_role: lead", "authority.leases: ipc",
    "authority.leases: resource", "capabilities.deny: network_inbound", "capabilities.deny: model:y",
    'tools."shell".allow: false', 'tools."web".limit_per_hour', 'tools."web".requires_approval_if',
)  # fmt: skip


def begins(found: list[str], statements: tuple[str, ...] = STATEMENTS) -> bool:
    """Say whether each statement begins exactly one of these lines, and nothing else is among them."""
    return len(found) == len(statements) and all(sum(x.startswith(s) for x in found) == 1 for s in statements)


@ONCE
def test_every_statement_that_no_launch_acts_on_is_said_once_everywhere(lab: Lab) -> None:
    text = within(lab, **GOVERNED)
    done = launch(lab, text, "/bin/true")
    assert done.returncode == 0, done.stderr
    said = [line for line in warnings(done.stderr) if "nothing in this release acts on it" in line]
    assert begins([line.replace("the policy states ", "", 1) for line in said]) and said == warnings(done.stderr)
    assert begins(listed(keys(done.stderr), "policy.unmapped"))
    assert begins([item["value"] for item in lab.receipt()["policy"]["unmapped"]])
    shown = preview(lab, text)
    assert warnings(shown.stderr) == said
    section = shown.stdout.partition("not acted on:\n")[2].splitlines()
    assert begins([line.strip() for line in section[: len(STATEMENTS)]]) and not section[len(STATEMENTS)].startswith(
        " "
    )
    assert begins(listed(foreseen(lab, text)["isolation"], "policy.unmapped"))


# --- formats and files ---

YAML = """# the same, with a comment
filesystem:
  write: {{allow: [{work}]}}
  read:
    allow:
      - ${{system}}
credentials: {{environment: {{allow: [ONE]}}}}
syscalls: {{allow: ['@program']}}
resources:
  max_open_files: 64
"""
TOML = """filesystem.read.allow = ["${{system}}"]
filesystem.write.allow = ['{work}']
[resources]
max_open_files = 64 # the same
[credentials.environment]
allow = ["ONE"]
[syscalls]
allow = ["@program"]
"""


def order(lab: Lab, path: Path) -> bytes:
    """Return the order of a launch under a policy."""
    words = (
        "run",
        "exec",
        "--dry-run",
        "--show-order",
        "--home",
        "real",
        "--isolation",
        "process",
        "--policy",
        str(path),
    )
    command = [*lab.command(*words), "--", "/bin/true"]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, **lab.options({"ONE": "first"}))
    assert done.returncode == 0, done.stderr
    return bytes(done.stdout)


def test_a_policy_is_the_same_in_every_format(lab: Lab) -> None:
    filesystem = {"read": {"allow": ["${system}"]}, "write": {"allow": [str(lab.workspace)]}}
    stated = policy(
        filesystem=filesystem, credentials={"environment": {"allow": ["ONE"]}}, resources={"max_open_files": 64},
        syscalls={"allow": ["@program"]},
    )  # fmt: skip
    texts = {"json": stated, "yaml": YAML.format(work=lab.workspace), "toml": TOML.format(work=lab.workspace)}
    paths = {name: lab.file(lab.top / f"policy.{name}", text) for name, text in texts.items()}
    launched, digests = [], set()
    for name, path in paths.items():
        words = ("run", "exec", "--isolation", "process", "--policy", str(path), "--")
        done = lab.aasm(*words, "/bin/sh", "-c", "echo $ONE; ulimit -n", env={"ONE": "first"})
        if name == "toml" and sys.version_info < (3, 11):
            assert done.returncode == 125 and "3.11" in one_error(done)
            continue
        assert (done.returncode, done.stdout) == (0, "first\n64\n"), done.stderr
        launched.append(order(lab, path))
        digests.add(lab.receipt()["policy"]["canonical_digest"])
    assert len(launched) == (3 if sys.version_info >= (3, 11) else 2)
    assert len(set(launched)) == len(digests) == 1


def exposed(lab: Lab, path: Path) -> bool:
    """Say whether the launch under a policy warns that another user can change it."""
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", "/bin/true")
    assert done.returncode == 0, done.stderr
    return f"{path}: this policy can be changed by another user" in warnings(done.stderr)


def test_a_policy_that_another_user_can_change_is_said(lab: Lab) -> None:
    own = policy_file(lab, within(lab))
    assert not exposed(lab, own)
    own.chmod(0o646)
    assert exposed(lab, own)
    own.chmod(0o644)
    folder = lab.directory("shared")
    folder.chmod(0o777)
    inside = lab.file(folder / "policy.yaml", within(lab))
    assert exposed(lab, inside)  # whoever writes the directory puts another file there
    folder.chmod(0o1777)
    assert not exposed(lab, inside)


# who owns a policy, its directory, and a link that names it, and whether a launch has to say so
OWNERS: dict[str, tuple[int, int, int, bool]] = {
    "root": (0, 0, 0, False),
    "another": (12345, 0, 0, True),
    "a directory of another": (0, 12345, 0, True),
    "a sticky directory of another": (0, 12345, 0, True),  # its owner may remove what lies in it all the same
    "a link of another": (0, 0, 12345, True),
}


@pytest.mark.parametrize("case", OWNERS if os.geteuid() == 0 else ["root"])  # nobody else makes files of others
def test_whose_policy_it_is_decides_whether_another_can_change_it(lab: Lab, case: str) -> None:
    *owners, said = OWNERS[case]
    folder, link = lab.directory("policies"), lab.top / "named.yaml"
    path = lab.file(folder / "policy.yaml", within(lab))
    link.symlink_to(path)
    for place, owner in zip((path, folder, link), owners if os.geteuid() == 0 else ()):
        os.chown(place, owner, owner, follow_symlinks=False)
    folder.chmod(0o1755 if "sticky" in case else 0o755)
    assert exposed(lab, link) is said


# --- why a program was not executed ---


@ONCE
@pytest.mark.parametrize("execute", [["/usr/bin/true"], ["/usr/lib"]])
def test_no_list_is_named_that_the_policy_does_not_state(lab: Lab, execute: list[str]) -> None:
    stated = {"write": {"allow": []}, "execute": {"allow": execute}}
    line = assert_not_started(lab, launch(lab, policy(filesystem=stated), "/usr/bin/true"), 126, "not_executable")
    assert "filesystem.read.allow" not in line and "filesystem.execute.allow" in line, line


@ONCE
@pytest.mark.parametrize("interpreter", ["plain", "folder"])
def test_an_interpreter_that_is_no_program_is_named(lab: Lab, interpreter: str) -> None:
    lab.file(lab.workspace / "plain", "x")
    lab.directory(f"{lab.workspace.name}/folder")
    lab.file(lab.workspace / "script", f"#!{lab.workspace}/{interpreter}\n", 0o755)
    text = policy(filesystem={"read": {"allow": ["${system}", "${workdir}"]}, "write": {"allow": []}})
    line = assert_not_started(lab, launch(lab, text, "./script"), 126, "not_executable")
    assert f"its interpreter {lab.workspace}/{interpreter} is not an executable file" in line, line


@ONCE
@pytest.mark.parametrize(
    ("execute", "lists"),
    [
        (["/usr/bin", "/usr/lib"], "filesystem.read.allow"),
        (["/usr/lib"], "filesystem.read.allow and filesystem.execute.allow"),
        (None, "filesystem.read.allow"),
    ],
)
def test_a_program_must_be_in_every_list_that_the_line_names(lab: Lab, execute: list[str] | None, lists: str) -> None:
    stated: dict[str, Any] = {"read": {"allow": ["/usr/lib"]}, "write": {"allow": []}}
    stated.update({"execute": {"allow": execute}} if execute is not None else {})
    line = assert_not_started(lab, launch(lab, policy(filesystem=stated), "/usr/bin/true"), 126, "not_executable")
    assert line.endswith(f": /usr/bin/true is outside the grants; add /usr/bin to {lists}"), line
