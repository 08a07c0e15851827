# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy show`: what a launch would go by, as text that is a policy itself, as JSON; and what a reader saw."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Dict, List

import pytest
from support.launch import Lab, User

from aasm.policy.document import validate
from aasm.policy.reader import read_document

OUTER = """\
filesystem:
  read: {allow: ["${workdir}/src", "${home}", {path: /etc/hosts, optional: true}, {path: /absent, optional: true}]}
  write: {allow: ["${workdir}"]}
schedule: {active_hours: {start: "08:00", end: "17:00"}}
tools: {sh: {requires_approval_if: a > 1}}
"""
INNER = """\
scope: team:builders
filesystem:
  read: {allow: ["${workdir}"]}
schedule: {active_hours: {start: "09:00", end: "18:00", timezone: Etc/GMT-3}}
tools: {sh: {requires_approval_if: b == "x"}}
"""
OTHER = "scope: team:others\nnetwork: {allowlist: []}\n"


@pytest.fixture
def user() -> User:
    """Whoever runs the tests: that makes no difference here."""
    return User("self", None, None)


@pytest.fixture
def folder(lab: Lab) -> Path:
    """Three documents, out of reach of what they let the program write."""
    made = lab.directory("policies")
    for name, text in (("a.yaml", OUTER), ("b.yaml", INNER), ("c.yaml", OTHER)):
        lab.file(made / name, text)
    (lab.workspace / "src").mkdir()
    return made


def statements(text: str) -> List[str]:
    """Return the lines of a text that are no comment as a whole."""
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_merged_policy_is_a_policy_with_the_origin_of_each_value(lab: Lab, folder: Path) -> None:
    done = lab.aasm("policy", "show", "--policy", str(folder), "--team-id", "builders")
    assert (done.returncode, done.stderr) == (0, "")
    a, b = f"{folder}/a.yaml", f"{folder}/b.yaml"
    assert statements(done.stdout) == [
        "filesystem:", "  read:", f"    allow:  # {a}:2:17 and {b}:3:17",
        f'      - "{lab.workspace}/src"  # {a}:2:18 and {b}:3:18',
        "  write:", f"    allow:  # {a}:3:18", f'      - "{lab.workspace}"  # {a}:3:19',
        "tools:", '  "sh":', f'    requires_approval_if: "a > 1 OR b == \\"x\\""  # {a}:5:36 and {b}:5:36',
    ]  # fmt: skip
    heads = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert heads[:4] == [
        f"# The policy of a launch in {lab.workspace}.",
        "# Merged, the outermost first; of each statement the most restrictive counts:",
        f"#   {a}",
        f"#   {b}",
    ]
    assert f"# Left out, since its scope is of another: {folder}/c.yaml" in heads
    assert "# State: enforced: the 2 policies together state rules for filesystem, tools" in heads
    assert "# Not the whole policy: no single document can state what is listed at its end." in heads
    behind = done.stdout[done.stdout.index("# Not stated above") :]
    assert f"#   schedule.active_hours: 08:00-17:00 UTC  # {a}:4:26 (" in behind
    assert "#   schedule.active_hours: 09:00-18:00 Etc/GMT-3" in behind and '#   tools."sh".requires' in behind
    validate(read_document(done.stdout.encode(), "shown.yaml"))


def test_what_is_shown_can_be_shown_again(lab: Lab, folder: Path) -> None:
    first = lab.aasm("policy", "show", "--policy", f"{folder}/a.yaml", "--workdir", str(lab.outside))
    assert f'- "{lab.outside}/src"  # {folder}/a.yaml:2:18' in first.stdout and f'- "{lab.home}"' in first.stdout
    assert '- {path: "/etc/hosts", optional: true}' in first.stdout and "/absent" not in first.stdout
    lab.file(lab.top / "again.yaml", first.stdout)
    second = lab.aasm("policy", "show", "--policy", str(lab.top / "again.yaml"), "--workdir", str(lab.outside))
    bare = [[line.partition("  #")[0] for line in statements(text)] for text in (first.stdout, second.stdout)]
    assert bare[0] == bare[1] and len(bare[0]) > 8


def test_a_policy_within_reach_is_said_to_narrow_only(lab: Lab, folder: Path) -> None:
    own = lab.file(lab.workspace / "own.yaml", "network: {allowlist: []}\n")
    done = lab.aasm("policy", "show", "--policy", f"{folder}/a.yaml", "--policy", str(own))
    assert done.returncode == 0
    told = [line for line in done.stdout.splitlines() if line.startswith("# Only narrows, since ")]
    assert len(told) == 1 and told[0].endswith(f": {own}")
    made = json.loads(lab.aasm("policy", "show", "--json", "--policy", f"{folder}/a.yaml", "--policy", str(own)).stdout)
    assert made["narrowing"] == [str(own)]


def test_json_says_the_same(lab: Lab, folder: Path) -> None:
    done = lab.aasm("policy", "show", "--json", "--policy", str(folder), "--team-id", "builders")
    assert (done.returncode, done.stderr) == (0, "")
    made: Dict[str, Any] = json.loads(done.stdout)
    a, b = f"{folder}/a.yaml", f"{folder}/b.yaml"
    assert (made["schema"], made["state"]) == ("aasm.policy.effective/1", "enforced")
    assert (made["files"], made["left_out"], made["narrowing"]) == ([a, b], [f"{folder}/c.yaml"], [a])
    assert made["values"]["filesystem.read.allow"] == {
        "value": [{"value": f"{lab.workspace}/src", "origins": [f"{a}:2:18", f"{b}:3:18"]}],
        "origins": [f"{a}:2:17", f"{b}:3:17"],
    }
    assert made["values"]["schedule.active_hours"]["value"][1]["value"] == {
        "start": "09:00", "end": "18:00", "timezone": "Etc/GMT-3",
    }  # fmt: skip
    assert [item["value"] for item in made["tools"]["sh"]["requires_approval_if"]["value"]] == ["a > 1", 'b == "x"']
    assert made["leases"] is None and len(made["unmapped"]) == 2
    lease = "authority: {leases: [{domain: ipc, scope: [a, 'b, c'], max_count: 2, delegable: true}]}\n"
    lab.file(lab.outside / "l.yaml", lease + "network: {bind: [80]}")
    made = json.loads(lab.aasm("policy", "show", "--json", "--policy", str(lab.outside / "l.yaml")).stdout)
    (found,) = made["leases"]
    assert {key: item["value"] for key, item in found.items()} == {
        "domain": "ipc", "scope": ["a", "b, c"], "max_count": 2, "delegable": True,
    }  # fmt: skip
    assert made["values"]["network.bind"]["value"] == [{"value": 80, "origins": [f"{lab.outside}/l.yaml:2:18"]}]


def test_it_is_the_policy_that_a_launch_finds(lab: Lab) -> None:
    (lab.home / ".aasm").mkdir()
    lab.file(lab.home / ".aasm" / "policy.yaml", "network: {allowlist: []}\n")
    done = lab.aasm("policy", "show")
    assert done.returncode == 0 and f"# File: {lab.home}/.aasm/policy.yaml" in done.stdout
    other = lab.file(lab.outside / "p.yaml", "network: {bind: []}\n")
    assert f"# File: {other}" in lab.aasm("policy", "show", env={"AA_POLICY": str(other)}).stdout


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (None, "the policy cannot be read"), ("a: 1\n", 'unknown key "a"'), ("x: [\n", "not closed"),
        ("budget: {daily_limit_usd: 1}\n", "no rule that a launch can act on"),
        ("scope: team:others\nnetwork: {allowlist: []}\n", "no policy covers this run"),
    ],
)  # fmt: skip
def test_a_policy_that_no_launch_could_go_by_is_one_line_and_1(lab: Lab, text: str | None, what: str) -> None:
    path = lab.outside / "p.yaml"
    if text is not None:
        lab.file(path, text)
    for more in ((), ("--json",)):
        done = lab.aasm("policy", "show", "--policy", str(path), "--team-id", "builders", *more)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"error: {path}") and what in done.stderr and done.stderr.count("\n") == 1
    assert lab.aasm("policy", "show").stderr.startswith("error: policy: no policy was found in ")


def test_a_directory_that_no_policy_can_name_is_told(lab: Lab) -> None:
    workdir = lab.directory("with $ in it")
    (workdir / "a").mkdir()
    other = lab.directory("other")
    path = lab.file(lab.outside / "p.yaml", f"filesystem: {{write: {{allow: ['${{workdir}}/a', {other}]}}}}\n")
    done = lab.aasm("policy", "show", "--policy", str(path), "--workdir", str(workdir))
    assert done.returncode == 0 and statements(done.stdout)[-1].startswith(f'      - "{other}"')
    assert f"#   filesystem.write.allow: {workdir}/a  # {path}:1:30 (a $ in the path" in done.stdout


def test_names_of_files_cannot_end_a_comment(lab: Lab) -> None:
    name = "p\nfilesystem: {}\n\x1b\u202e.yaml"
    lab.file(lab.outside / name, "network: {allowlist: []}\n")
    done = lab.aasm("policy", "show", "--policy", str(lab.outside / name))
    assert done.returncode == 0 and all(line.isprintable() for line in done.stdout.splitlines())
    assert len(statements(done.stdout)) == 2
    validate(read_document(done.stdout.encode(), "shown.yaml"))


# --- --raw ------------------------------------------------------------------------------------------------


def test_raw_is_what_the_reader_saw_in_one_line_valid_or_not(lab: Lab) -> None:
    path = lab.file(lab.outside / "p.yaml", 'b: [1, 2.0, true, null]\na: {"x\\n": "ü"}\n')
    done = lab.aasm("policy", "show", "--raw", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == '{"a":{"x\\n":"ü"},"b":[1,2.0,true,null]}\n'
    path = lab.file(lab.outside / "list.json", "[1]")
    assert lab.aasm("policy", "show", "--raw", str(path)).stdout == "[1]\n"


def test_raw_is_what_the_digest_in_a_receipt_is_made_of(lab: Lab) -> None:
    path = lab.file(lab.outside / "p.yaml", "network: {allowlist: []}  # a comment\n")
    receipt = lab.outside / "receipt.json"
    lab.aasm("run", "exec", "--isolation", "none", "--policy", str(path), "--receipt", str(receipt), "--", "true")
    shown = lab.aasm("policy", "show", "--raw", str(path)).stdout
    digest = hashlib.sha256(shown.rstrip("\n").encode()).hexdigest()
    assert digest in json.dumps(json.loads(receipt.read_text())["body"]["policy"])


@pytest.mark.parametrize(("text", "where"), [("a: [\n", ":1:4: "), ("\tx: 1", ":1:1: "), ("", ":1:1: ")])
def test_raw_of_what_cannot_be_read_is_one_line_and_1(lab: Lab, text: str, where: str) -> None:
    path = lab.file(lab.outside / "p.yaml", text)
    done = lab.aasm("policy", "show", "--raw", str(path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {path}{where}") and done.stderr.count("\n") == 1
    assert lab.aasm("policy", "show", "--raw", os.fspath(lab.outside)).returncode == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tools: {a: {allow: false}}", "NoRequirementsLowered"),
        ("resources: {max_wall_clock_seconds: 5}", "NoRequirementsLowered"),
        ("network: {allowlist: ['*']}", "single destinations"),
        ("filesystem: {write: {allow: []}}\negress: {posture: broker_required}", "requires a broker"),
        ("filesystem: {write: {allow: [/none/such]}}", "No such file or directory"),
        ("filesystem: {write: {allow: []}}", ""),
    ],
)
def test_a_policy_with_which_nothing_starts_is_shown_and_said_to_be_so(lab: Lab, text: str, said: str) -> None:
    path = str(lab.file(lab.outside / "p.yaml", text + "\n"))
    shown, facts = (lab.aasm("policy", "show", "--policy", path, *more) for more in ((), ("--json",)))
    launched = lab.aasm("run", "exec", "--isolation", "process", "--policy", path, "--", "true")
    assert (shown.returncode, facts.returncode, launched.returncode) == ((1, 1, 125) if said else (0, 0, 0))
    assert ("# No launch with a boundary would start here:" in shown.stdout) is bool(said) and said in shown.stdout
    refusal = json.loads(facts.stdout)["refusal"]
    assert said in (refusal or "") and (refusal is None) is (said == "")
