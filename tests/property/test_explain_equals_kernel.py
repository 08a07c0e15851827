# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy explain` says what the kernel does: random trees, policies and paths, each tried for real.

An answer is "allowed" exactly when the program succeeds. What is asked about a missing path to read or execute is put
there, from outside, between the answer and the attempt.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import pytest
from support.drawn_places import STARTING
from support.explained import SEED, Outcome, appear, draw, everything, explaining, joined, launched
from support.inside import SYSTEM, grants, policy, policy_file, under
from support.launch import Lab
from support.trying import PROBE

from aasm.policy.calls import GROUPS

pytestmark = pytest.mark.landlock

CASES, QUESTIONS = 22, 75
CLOSED_CASES, CLOSED_QUESTIONS = 4, 60
NOTHING = "nothing would start"


def by_the_boundary(outcome: Outcome) -> bool:
    """Say whether it is the boundary that refuses, and neither a mode nor the lack of a thing."""
    return not outcome.answer["allowed"] and not outcome.answer["why"].startswith("the boundary allows it")


def judged(outcomes: Sequence[Outcome]) -> None:
    """Every answer is the kernel's, and what the boundary refuses has the errno of Landlock or of a missing thing."""
    assert [item for item in outcomes if not item.agrees] == []
    refused = Counter(item.kernel for item in outcomes if by_the_boundary(item))
    assert refused.keys() <= {"EACCES", "ENOENT", "ENOTDIR", "ELOOP", "ENXIO"}
    assert refused["EACCES"] > 0.7 * sum(refused.values())


def both_ways(outcomes: Sequence[Outcome], least: int) -> None:
    """Each action was allowed and refused often enough for the agreement to mean something."""
    seen = Counter((item.action, item.kernel == "ok") for item in outcomes)
    assert all(seen[action, way] >= least for action in ("read", "write", "exec") for way in (True, False)), seen


# --- paths ------------------------------------------------------------------------------------------


def test_every_answer_is_what_the_kernel_does(lab: Lab) -> None:
    cases = draw(lab, SEED, CASES, QUESTIONS)
    answers = explaining(lab, "answer", [drawn.told for drawn in cases])
    appear(cases)
    before = everything(lab, cases)
    with ThreadPoolExecutor(2) as pool:
        finished = list(pool.map(lambda drawn: launched(lab, drawn), cases))
    outcomes: List[Outcome] = []
    for drawn, told, done in zip(cases, answers, finished):
        if told["refusal"]:
            assert done.returncode == 125 and told["refusal"].splitlines()[0] in done.stderr
            assert all(item["why"].startswith(NOTHING) for item in told["answers"])
            continue
        assert done.returncode == 0, done.stderr
        outcomes += joined(drawn, told, json.loads(done.stdout))
    assert len(outcomes) >= 1500
    judged(outcomes)
    both_ways(outcomes, 40)
    assert everything(lab, cases) == before


def test_under_a_policy_that_lets_nothing_start_the_answers_are_the_rulesets(lab: Lab) -> None:
    cases = draw(lab, SEED + 1, CLOSED_CASES, CLOSED_QUESTIONS, startable=False)
    answers = explaining(lab, "answer", [drawn.told for drawn in cases])
    closed = [(drawn, told) for drawn, told in zip(cases, answers) if not told["refusal"]]
    assert len(closed) >= 3
    appear(cases)
    held = explaining(lab, "hold", [drawn.told for drawn, _ in closed])
    outcomes = [item for (drawn, told), done in zip(closed, held) for item in joined(drawn, told, done)]
    judged(outcomes)
    assert {item.kernel for item in outcomes if item.action == "exec"} >= {"EACCES"}
    done = launched(lab, closed[0][0])
    assert done.returncode == 126 and done.stdout == ""


def test_without_the_boundary_the_modes_alone_decide(lab: Lab) -> None:
    cases = draw(lab, SEED, 4, QUESTIONS)
    answers = explaining(lab, "answer", [drawn.told for drawn in cases])
    appear(cases)
    free = explaining(lab, "free", [drawn.told for drawn in cases])
    outcomes = [item for drawn, told, done in zip(cases, answers, free) for item in joined(drawn, told, done)]
    assert [item for item in outcomes if item.answer["allowed"] and item.kernel != "ok"] == []
    modes = [item for item in outcomes if not item.answer["allowed"] and not by_the_boundary(item)]
    assert modes and [item for item in modes if item.kernel == "ok"] == []
    boundary = [item for item in outcomes if by_the_boundary(item)]
    assert sum(item.kernel == "ok" for item in boundary) > 0.4 * len(boundary)  # so the boundary is what refuses


def test_the_command_itself_gives_the_same_answers(lab: Lab) -> None:
    drawn = draw(lab, SEED + 2, 1, 10)[0]
    told = explaining(lab, "answer", [drawn.told])[0]
    policies = [word for path in drawn.told["policies"] for word in ("--policy", path)]
    words = (*policies, "--workdir", drawn.case.workdir, "--json")
    for (action, path), expected in zip(drawn.case.questions, told["answers"]):
        done = lab.aasm("policy", "explain", *words, f"--{action}", path)
        printed = json.loads(done.stdout)
        assert printed["answers"] == [{**expected, "by": list(expected["by"]), "note": ""}]
        assert (done.returncode, printed["allowed"]) == (0 if expected["allowed"] else 1, expected["allowed"])


def test_a_capability_that_the_policy_leaves_counts_with_the_modes(lab: Lab) -> None:
    closed, other = lab.file(lab.workspace / "closed", "c", mode=0o000), lab.file(lab.outside / "file", "f", 0o000)
    section = grants([lab.workspace], [])
    script = f"tell(**{{path: attempt(open, path) for path in {[str(closed), str(other)]!r}}})"
    seen = set()
    for names in ([], ["CAP_DAC_OVERRIDE"]):
        text = policy(filesystem=section, credentials={"capabilities": {"allow": names}})
        told = under(lab, text, script).told
        for path in (closed, other):
            words = ("--policy", str(lab.top / "policy.json"), "--workdir", str(lab.workspace))
            answer = lab.aasm("policy", "explain", *words, "--read", str(path))
            assert (answer.returncode == 0) == (told[str(path)] == "ok"), answer.stdout
        seen.add((bool(names), told[str(closed)], told[str(other)]))
    kept = "ok" if lab.user.uid is None and os.geteuid() == 0 else "EACCES"  # only root has capabilities to leave
    assert seen == {(False, "EACCES", "EACCES"), (True, kept, "EACCES")}


# --- what is opened with a program ------------------------------------------------------------------

WITH_IT = {  # the file that is asked about, what may be executed, whether it starts, and what the answer names
    "its interpreter is refused": ("script", [], False, "interpreter of "),
    "its interpreter is a script that may be executed": ("second", ["/usr/bin/dash"], True, ""),
    "the interpreter of its interpreter is refused": ("second", [], False, "interpreter of "),
    "its interpreter does not exist": ("nowhere", ["/usr/bin/dash"], False, "/none/such: No such file or directory"),
    "its loader is refused": ("program", [], False, "loader of "),
    "it has no interpreter": ("text", [], True, "is neither an ELF file nor a script"),
}


@pytest.mark.parametrize("name", WITH_IT)
def test_a_program_is_executed_exactly_when_all_that_the_kernel_opens_with_it_may_be(lab: Lab, name: str) -> None:
    asked, execute, starts, said = WITH_IT[name]
    top = lab.workspace
    shutil.copy("/usr/bin/true", lab.file(top / "program", mode=0o755))
    lab.file(top / "script", "#!/usr/bin/dash\n", 0o755)
    lab.file(top / "second", f"#!{top}/script\n", 0o755)
    lab.file(top / "nowhere", "#!/none/such\n", 0o755)
    lab.file(top / "text", "text\n", 0o755)
    loaders = STARTING[1:] if execute else ()
    lists = {"read": {"allow": [*SYSTEM, str(top)]}, "execute": {"allow": [str(top), *execute, *loaders]}}
    case = {"policies": [str(policy_file(lab, json.dumps({"filesystem": lists}), "policy.json"))], "probe": PROBE,
            "workdir": str(top), "questions": [("exec", str(top / asked))]}  # fmt: skip
    answer, held = explaining(lab, "answer", [case])[0]["answers"][0], explaining(lab, "hold", [case])[0]
    assert (answer["allowed"], held == ["ok"]) == (starts, starts), (answer, held)
    assert said in answer["why"] and answer["allowed"] is not bool(answer["add"] or "No such" in answer["why"])


# --- sockets ----------------------------------------------------------------------------------------

CONNECT = """
import socket
host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def connect(family, where):
    with socket.socket(family) as made:
        made.settimeout(5)
        made.connect(where)
tell(connect=attempt(connect, socket.AF_INET, (host, port)), unix=attempt(connect, socket.AF_UNIX, path))
"""
LOOPBACK = "127.0.0.1"
WITHOUT_CONNECT = [name for name in GROUPS["@program"] if name != "connect"]
OPEN: Dict[str, Dict[str, Any]] = {
    "nothing is said": {},
    "another denial": {"capabilities": {"deny": ["file_delete"]}},
    "no unix sockets": {"ipc": {"unix": {"allow": []}}},
    "everyday calls": {"syscalls": {"allow": ["@program"]}},
    "everyday calls without connect": {"syscalls": {"allow": WITHOUT_CONNECT}},
    "no network": {"network": {"allowlist": []}},
    "the network is denied": {"capabilities": {"deny": ["network_outbound"]}},
}
NOT_HELD: Dict[str, Dict[str, Any]] = {
    "the host is listed": {"network": {"allowlist": [LOOPBACK]}},
    "another host is listed": {"network": {"allowlist": ["example.org"]}},
    "every host, one port": {"network": {"allowlist": ["*"], "ports": [443]}},
}


@pytest.fixture
def listening(lab: Lab) -> Iterator[Tuple[int, Path]]:
    """Yield a port of the loopback and the path of a unix socket, both with a listener."""
    path = lab.workspace / "socket"
    with socket.create_server((LOOPBACK, 0), backlog=32) as internet, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(path))
        local.listen(32)
        path.chmod(0o777)
        lab.own(path)
        yield internet.getsockname()[1], path


def asked(lab: Lab, sections: Dict[str, Any], port: int, path: Path) -> Tuple[Dict[str, Any], Dict[str, Any], str]:
    """Return the two answers of explain, and the text of the policy."""
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), **sections)
    questions = [("connect", f"{LOOPBACK}:{port}"), ("unix", str(path))]
    where = str(policy_file(lab, text, "policy.json"))
    told = explaining(lab, "answer", [{"policies": [where], "workdir": str(lab.workspace), "questions": questions}])
    first, second = told[0]["answers"]
    return first, second, text


@pytest.mark.parametrize("name", OPEN)
def test_a_connection_is_made_exactly_when_explain_allows_it(lab: Lab, listening: Tuple[int, Path], name: str) -> None:
    port, path = listening
    connect, unix, text = asked(lab, OPEN[name], port, path)
    done = under(lab, text, CONNECT, LOOPBACK, str(port), str(path))
    assert connect["allowed"] == (done.told["connect"] == "ok"), (connect, done)
    assert connect["allowed"] == ("network" not in name and "without" not in name)
    assert (unix["allowed"], done.told["unix"]) == (False, "EAFNOSUPPORT")
    if not connect["allowed"]:
        assert done.told["connect"] == ("EPERM" if "without" in name else "EAFNOSUPPORT") and connect["by"]


@pytest.mark.parametrize("name", NOT_HELD)
def test_where_a_launch_is_refused_no_connection_is_promised(lab: Lab, listening: Tuple[int, Path], name: str) -> None:
    port, path = listening
    connect, unix, text = asked(lab, NOT_HELD[name], port, path)
    assert under(lab, text, CONNECT, LOOPBACK, str(port), str(path)).code == 125
    assert (connect["allowed"], unix["allowed"]) == (False, False)
    assert connect["why"].startswith(NOTHING) and unix["why"].startswith(NOTHING)
    listed = f"network.allowlist lists {LOOPBACK} at "
    assert [line.startswith(listed) for line in connect["by"]] == [True] * (name == "the host is listed")
