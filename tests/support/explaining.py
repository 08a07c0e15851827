# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A program of its own: `explaining.py ROOT answer|hold|free` reads cases from standard input and prints JSON.

`answer` gives the answers of `aasm policy explain`, all of them after giving up the capabilities. `hold` builds the
boundary of each case with the launcher's own steps and tries the questions in it: for policies under which no program
could be executed. `free` tries the questions with no boundary, without the capabilities as well: the control.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Callable, Dict, List, Tuple

sys.path.insert(0, sys.argv[1])

from aasm import launcher, run  # noqa: E402
from aasm._sys import boundary, order as orders  # noqa: E402
from aasm.backends.base import LaunchFacts  # noqa: E402
from aasm.backends.native import prepare  # noqa: E402
from aasm.cli import policy, policy_explain  # noqa: E402
from aasm.governance.identity import new_identity  # noqa: E402
from aasm.model.request import Request  # noqa: E402
from aasm.policy.values import Policy  # noqa: E402

Told = Dict[str, Any]


def requested(case: Told) -> Request:
    """Return the request of a case, as the command itself makes it."""
    options = argparse.Namespace(policy=case["policies"], workdir=case["workdir"], team_id=None, agent_id=None)
    return policy.request(options)


def resolved(case: Told) -> run.Resolution:
    """Return the resolved run of a case, as the command itself resolves it."""
    return run.preview(requested(case), new_identity(None, None, (), dry_run=True), by_hand=False)


def answers(cases: List[Told]) -> List[Told]:
    """Return for each case the refusal, or "", and an answer to each of its questions."""
    found = [(resolved(case), policy_explain._documents(requested(case))) for case in cases]
    boundary.keep_capabilities(0)
    return [_answered(item, documents, case) for (item, documents), case in zip(found, cases)]


def _answered(found: run.Resolution, documents: Tuple[Policy, ...], case: Told) -> Told:
    told = []
    for name, text in case["questions"]:
        one = policy_explain._one(found, argparse.Namespace(**{name: text}), name, documents)
        told.append(one.answer._asdict())
    made = {"refusal": found.run.refusal.text if found.run.refusal else "", "answers": told}
    if found.run.refusal is None:
        made["filter"] = _order(found).filter_b.hex()
    return made


def _order(found: run.Resolution) -> orders.Order:
    root = prepare.pinned("/", False, False, "root")
    return prepare.build(found.run, LaunchFacts(found.host, 0, b"explaining"), root)


def tried(case: Told, confined: bool) -> List[str]:
    """Return what the kernel answers to the questions of a case, in a child that is lost for anything else."""
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        with os.fdopen(sink, "w") as stream:
            json.dump(_held(case) if confined else _free(case), stream)
        os._exit(0)
    os.close(sink)
    with os.fdopen(source) as stream:
        told = json.load(stream)
    os.waitpid(pid, 0)
    assert isinstance(told, list)
    return told


def _held(case: Told) -> List[str]:
    launch = launcher.Launch(-1, boundary.StatusPage(-1), 0, channel=False)
    launch.order = _order(resolved(case))
    launch.order.rules = [rule for rule in launch.order.rules if rule[1]]  # the private directory does not exist
    each = _each(case)
    for step in (launcher.enter_directory, launcher.drop_capabilities, launcher.forbid_new_privileges):
        step(launch)
    launcher.restrict_paths(launch)
    return each(case["questions"])


def _free(case: Told) -> List[str]:
    each = _each(case)
    os.chdir(case["workdir"])
    boundary.keep_capabilities(0)
    return each(case["questions"])


def _each(case: Told) -> Callable[[List[List[str]]], List[str]]:
    names: Dict[str, Any] = {}
    exec(case["probe"], names)  # before any restriction: it imports
    each: Callable[[List[List[str]]], List[str]] = names["each"]
    return each


if __name__ == "__main__":
    given = json.load(sys.stdin)
    made = answers(given) if sys.argv[2] == "answer" else [tried(item, sys.argv[2] == "hold") for item in given]
    json.dump(made, sys.stdout)
