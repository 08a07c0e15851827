# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Cases on disk, the answers of `explain` to their questions, and the launches that try them."""

from __future__ import annotations

import json
import os
import pwd
import random
import subprocess
import sys
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from support.drawn_places import Case, case
from support.drawn_trees import Owner, Tree
from support.inside import policy_file
from support.launch import PYTHON, ROOT, Lab
from support.trying import PROBE, TOLD

from aasm.model.question import NOT_KNOWN

SCRIPT = str(ROOT / "tests" / "support" / "explaining.py")
SEED = 20260107


class Drawn(NamedTuple):
    """A case on disk, as the programs of support/explaining.py take it."""

    tree: Tree
    case: Case
    told: Dict[str, Any]


class Outcome(NamedTuple):
    """One question with the answer and what the kernel did."""

    action: str
    path: str
    answer: Dict[str, Any]
    kernel: str

    @property
    def unknown(self) -> bool:
        return str(self.answer["why"]).startswith(NOT_KNOWN)

    @property
    def agrees(self) -> bool:
        return bool(self.answer["allowed"]) == (self.kernel == "ok")


def explaining(lab: Lab, mode: str, cases: Sequence[Dict[str, Any]]) -> List[Any]:
    """Run support/explaining.py as the user of the lab."""
    command = [sys.executable, "-I", SCRIPT, str(ROOT), mode]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, **lab.options())
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert isinstance(told, list)
    return told


def owner(lab: Lab) -> Owner:
    """Return who owns the trees; only root can give something to somebody else."""
    if os.geteuid() != 0:
        return Owner(None, None)
    nobody = pwd.getpwnam("nobody")
    ids = ((0, 0), (nobody.pw_uid, nobody.pw_gid))
    return Owner(*ids) if lab.user.uid is None else Owner(*reversed(ids))


def host(lab: Lab) -> Tuple[str, ...]:
    """Return paths that no tree has: devices, the system, what is ours, and what lies beside the private directory."""
    beside = lab.file(lab.tmp / "beside", "b")
    devices = ("/dev/null", "/dev/zero", "/dev/full", "/dev")
    system = (*devices, "/", "/etc/passwd", "/usr", "/usr/bin/env", "/proc/version")
    of_a_process = ("/dev/stdin", "/proc/self/exe", "/proc/self/status")
    return (*system, *of_a_process, *map(str, (lab.home, lab.tmp, beside, lab.state, lab.workspace)))


def draw(lab: Lab, seed: int, count: int, questions: int, startable: bool = True) -> List[Drawn]:
    """Return cases on disk: each has a tree of its own."""
    rng, elsewhere = random.Random(seed), host(lab)
    lab.file(lab.outside / "file", "f")
    made = []
    for number in range(count):
        tree = Tree(rng, lab.top / f"t{number}", lab.outside, owner(lab))
        drawn = case(rng, tree, elsewhere, questions, startable)
        paths = [policy_file(lab, json.dumps(item), f"{number}-{at}.json") for at, item in enumerate(drawn.documents)]
        told = {"policies": [str(path) for path in paths], "workdir": drawn.workdir, "questions": drawn.questions}
        made.append(Drawn(tree, drawn, {**told, "probe": PROBE}))
    return made


def appear(cases: Sequence[Drawn]) -> None:
    """Put something to each missing place of which it was asked whether it could be read or executed."""
    for drawn in cases:
        with drawn.tree.unlocked():
            for path, kind in drawn.case.appearing:
                drawn.tree.appear(path, kind)


def everything(lab: Lab, cases: Sequence[Drawn]) -> Counter[Tuple[str, int]]:
    """Return every name in the trees with its mode: a program that tried may leave nothing and change nothing."""
    tops = [drawn.tree.top for drawn in cases] + [str(lab.outside)]
    paths = (os.path.join(top, name) for root in tops for top, below, names in os.walk(root) for name in below + names)
    return Counter((path, os.lstat(path).st_mode) for path in paths)


def launched(lab: Lab, drawn: Drawn) -> subprocess.CompletedProcess[str]:
    """Launch the program that tries every question of a case under its policies."""
    words = [word for path in drawn.told["policies"] for word in ("--policy", path)]
    base = ("run", "exec", "--isolation", "process", *words, "--workdir", drawn.case.workdir)
    return lab.aasm(*base, "--", *PYTHON, "-c", TOLD, stdin=None, input=json.dumps(drawn.case.questions))


def joined(drawn: Drawn, answers: Dict[str, Any], kernel: Sequence[str]) -> List[Outcome]:
    """Return the outcomes of one case."""
    assert len(drawn.case.questions) == len(answers["answers"]) == len(kernel)
    triples = zip(drawn.case.questions, answers["answers"], kernel)
    return [Outcome(action, path, answer, done) for (action, path), answer, done in triples]
