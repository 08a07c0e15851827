# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of single policy nodes ask about a run: the keys of its report, its warnings, what a preview says."""

from __future__ import annotations

import glob
import json
import os
import subprocess
from typing import Any, Mapping

from support.inside import grants, policy, policy_file
from support.launch import Lab, domain
from support.outcome import assert_refused

Done = subprocess.CompletedProcess  # of str
HEADER = "--- execution isolation (machine-readable) ---"
LOADER = os.path.realpath(sorted(glob.glob("/lib*/ld-linux-*.so.*"))[0])  # what starts every program of this host


def keys(stderr: str) -> dict[str, str]:
    """Return the keys of the last report of a run."""
    lines = stderr.rpartition(HEADER)[2].splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith(("warning", "aasm")))


def listed(found: Mapping[str, Any], name: str) -> list[str]:
    """Return a numbered list of a report."""
    return [str(found[f"{name}.{number}"]) for number in range(int(found[f"{name}_count"]))]


def outcomes(found: Mapping[str, Any]) -> dict[str, str]:
    """Return what became of each requirement, by the node or option that states it."""
    numbers = range(int(found["requested_requirement_count"]))
    names = [f"requested_requirement.{number}" for number in numbers]
    made = {str(found[f"{name}.stated_by"]): str(found[f"{name}.outcome"]) for name in names}
    assert len(made) == len(names)
    return made


def warnings(stderr: str) -> list[str]:
    """Return the warnings of a command, without the word itself."""
    return [line[len("warning: ") :] for line in stderr.splitlines() if line.startswith("warning: ")]


def within(lab: Lab, **sections: Any) -> str:
    """Return a policy under which the system can be read and the workspace written, with these sections beside it."""
    return policy(**{"filesystem": grants([lab.workspace], [lab.workspace]), **sections})


def preview(lab: Lab, text: str, *options: str, **more: Any) -> Done[str]:
    """Return the dry run of a launch under a policy."""
    path = policy_file(lab, text, "policy.json")
    words = ("run", "exec", "--dry-run", "--isolation", "process", "--policy", str(path))
    return lab.aasm(*words, *options, "--", "/bin/true", **more)


def foreseen(lab: Lab, text: str, *options: str, **more: Any) -> dict[str, Any]:
    """Return what the dry run says, as data."""
    done = preview(lab, text, "--json", *options, **more)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def assert_agrees(lab: Lab, stderr: str, name: str, state: str, claim: str) -> None:
    """Report and receipt say the same about a domain that a policy states, and prevention is claimed by neither."""
    found, line = keys(stderr), domain(lab.receipt(), name)
    reported = [found[f"domain.{name}.{key}"] for key in ("requested", "state", "claim", "evidence")]
    assert reported == ["stated", state, claim, line["evidence_basis"]], found
    assert [line[key] for key in ("requested", "state", "claim")] == ["stated", state, claim]
    assert line["prevention_supported"] is False and found[f"domain.{name}.prevention_supported"] == "false"


def assert_unmet(lab: Lab, done: Done[str], node: str, reason: str) -> None:
    """A launch was refused in negotiation for this node alone, with the reason; the program never ran."""
    assert_refused(lab, done)
    unmet = [line for line in done.stderr.splitlines() if line.startswith("  - ")]
    assert len(unmet) == 1 and f"({node}): " in unmet[0] and reason in unmet[0], done.stderr
    assert list(lab.workspace.iterdir()) == []
