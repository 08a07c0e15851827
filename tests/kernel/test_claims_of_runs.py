# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Real runs through the checker of claims, and all that they say: reports, lines, status, ledger, receipt, verdict."""

from __future__ import annotations

import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import pytest
from support.claim_outputs import judge_dry_run, judge_json, judge_stderr
from support.claim_records import judge_ledger, judge_receipt, judge_status, judge_verdict
from support.claims import Finding, only, prose
from support.launch import Lab
from support.outcome import ONCE, Done, Status
from support.terminal import Terminal

CONFINED = ("--isolation", "process", "--system", "--write", ".", "--report", "always")
CEILINGS = ("--max-open-files", "64", "--max-file-size-bytes", "100000", "--max-cpu-seconds", "60")


class Launch(NamedTuple):
    """One launch: options, program, what it ends with, whether it leaves a receipt, and what that claims.

    The claims are the control of the test: these launches do claim, each something else.
    """

    options: Sequence[str]
    program: Sequence[str]
    code: int
    receipt: bool = True
    claims: Dict[str, str] = {}


READ, WRITE = "filesystem_read", "filesystem_write"
TRIED = {READ: "observed", WRITE: "observed", "syscall": "unmeasured"}
LAUNCHES: Dict[str, Launch] = {
    "none": Launch(("--isolation", "none", "--system", "--max-pids", "9"), ("sh", "-c", "exit 3"), 3, receipt=False),
    "none, with a receipt": Launch(
        ("--isolation", "none", "--system", "--receipt", "../outside/r"), ("true",), 0, claims={READ: "unmeasured"}
    ),
    "process, with ceilings": Launch(
        (*CONFINED, *CEILINGS, "--no-proxy"), ("true",), 0, claims={**TRIED, "resource": "unmeasured"}
    ),
    "process, writing not restricted": Launch(
        ("--isolation", "process", "--policy", "../outside/policy"),
        ("true",),
        0,
        claims={READ: "observed", WRITE: "unmeasured"},
    ),
    "auto": Launch(("--isolation", "auto", "--system"), ("sh", "-c", "echo x > here; exit 1"), 1),
    "wall clock": Launch(
        (*CONFINED, "--max-wall-clock-seconds", "1"), ("sleep", "30"), 124, claims={**TRIED, "resource": "detected"}
    ),
    "killed": Launch(CONFINED, ("sh", "-c", "kill -KILL $$"), 137, claims=TRIED),
    "left over": Launch(CONFINED, ("sh", "-c", "sleep 30 & exit 0"), 0),
    "refused by negotiation": Launch((*CONFINED, "--max-memory-bytes", "9", "--max-pids", "9"), ("true",), 125, False),
    "refused by the policy": Launch(("--isolation", "process", "--policy", "/no/such"), ("true",), 125, False),
    "unavailable": Launch((*CONFINED, "--isolation-backend", "sandlock"), ("true",), 125, receipt=False),
    "not found": Launch(CONFINED, ("no-such-program",), 127, receipt=False),
    "outside the grants": Launch(("--isolation", "process", "--write", "."), ("/bin/true",), 126, receipt=False),
}


def receipts(lab: Lab) -> List[Dict[str, Any]]:
    """Return the envelopes of the receipts in the state directory, and of the one that was put elsewhere."""
    elsewhere = lab.outside / "r"
    return lab.receipts() + ([json.loads(elsewhere.read_text())] if elsewhere.exists() else [])


def launched(lab: Lab, launch: Launch) -> Tuple["Done[str]", Dict[str, Any]]:
    status = Status()
    words = ("run", "exec", *launch.options, *status.options, "--", *launch.program)
    done = lab.aasm(*words, pass_fds=(status.number,))
    return done, status.read()


def verdict(lab: Lab, sound: bool) -> List[Finding]:
    """Judge what the verifier says of the receipt, in both forms."""
    found = []
    path = next(lab.state.glob("execution-receipts/*.json"), lab.outside / "r")
    done = lab.aasm("receipt", "verify", str(path))
    found += judge_verdict(done.stdout, sound)
    as_json = json.loads(lab.aasm("receipt", "verify", "--json", str(path)).stdout)
    found += prose(as_json["seal_detail"], "the verdict")
    assert as_json["trustworthy"] is sound and "trustworthy: true" in done.stdout
    return found


@ONCE
@pytest.mark.parametrize("name", LAUNCHES)
def test_nothing_that_a_launch_says_outruns_its_evidence(name: str, lab: Lab) -> None:
    launch = LAUNCHES[name]
    lab.file(lab.outside / "policy", "filesystem:\n  read:\n    allow: ['${system}']\n")
    done, status = launched(lab, launch)
    assert (done.returncode, done.stdout) == (launch.code, ""), done.stderr
    envelopes = receipts(lab)
    assert len(envelopes) == int(launch.receipt)
    body: Optional[Dict[str, Any]] = envelopes[0]["body"] if envelopes else None
    assert launch.claims.items() <= {item["domain"]: item["claim"] for item in (body or {}).get("domains", ())}.items()
    found = [*judge_stderr(done.stderr, body), *judge_status(status, body)]
    found += [wrong for envelope in envelopes for wrong in judge_receipt(envelope)]
    found += judge_ledger(lab.ledger(), [envelope["seal"]["digest"] for envelope in envelopes])
    found += verdict(lab, sound=True) if name in ("none, with a receipt", "wall clock") else []
    assert only(found) == []


@ONCE
@pytest.mark.parametrize("options", [CONFINED[:-2], ("--isolation", "none", "--system", "--receipt", "../outside/r")])
def test_the_lines_for_a_terminal_say_what_the_receipt_says(options: Sequence[str], lab: Lab) -> None:
    command = lab.command("run", "exec", *options, "--max-wall-clock-seconds", "50", "--", "true")
    with Terminal(lab, command) as terminal:
        assert terminal.wait() == 0
        terminal.expect("receipt: .*\n")
    lines = [line.rstrip() for line in terminal.screen.splitlines()]
    assert any(line.startswith("aasm: ") and "receipt" not in line for line in lines)
    assert only(judge_stderr("\n".join(lines), receipts(lab)[0]["body"])) == []


PREVIEWS = {
    "none": ("--isolation", "none", "--system"),
    "auto": ("--isolation", "auto", "--system", "--write", ".", *CEILINGS),
    "process": ("--isolation", "process", "--system", "--env", "A=b"),
    "refused": ("--isolation", "process", "--system", "--max-pids", "9"),
    "no policy": ("--isolation", "auto", "--policy", "/no/such"),
}


@ONCE
@pytest.mark.parametrize("name", PREVIEWS)
def test_nothing_that_a_dry_run_says_outruns_its_evidence(name: str, lab: Lab) -> None:
    done = lab.aasm("run", "exec", "--dry-run", *PREVIEWS[name], "--", "true")
    assert done.returncode == 0 and "--- execution isolation ---" in done.stdout
    as_json = lab.aasm("run", "exec", "--dry-run", "--json", *PREVIEWS[name], "--", "true")
    assert only([*judge_dry_run(done.stdout), *judge_stderr(done.stderr), *judge_json(as_json.stdout)]) == []
    assert lab.ledger() == [] and lab.receipts() == []
