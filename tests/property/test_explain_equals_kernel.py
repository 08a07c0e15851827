# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy explain` says what the kernel does: random trees, policies and paths, each tried for real.

An answer is "allowed" exactly when the program succeeds. What is asked about a missing path to read or execute is put
there, from outside, between the answer and the attempt.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence, Tuple

import pytest
from support.drawn_places import STARTING
from support.explained import SEED, Outcome, appear, draw, everything, explaining, joined, launched
from support.inside import SYSTEM, grants, policy, policy_file, under
from support.launch import PACKAGE, Lab, users
from support.trying import PROBE

from aasm.cli.policy import as_json
from aasm.model.question import NOT_KNOWN
from aasm.policy.calls import GROUPS

pytestmark = pytest.mark.landlock

CASES, QUESTIONS = 22, 75
CLOSED_CASES, CLOSED_QUESTIONS = 4, 60
NOTHING = "nothing would start"


def by_the_boundary(outcome: Outcome) -> bool:
    """Say whether it is the boundary that refuses, and neither a mode nor the lack of a thing."""
    refused = not outcome.answer["allowed"] and not outcome.unknown
    return refused and not outcome.answer["why"].startswith("the boundary allows it")


def judged(outcomes: Sequence[Outcome]) -> None:
    """Every answer is the kernel's, and what the boundary refuses has the errno of Landlock or of a missing thing."""
    assert [item for item in outcomes if not item.agrees and not item.unknown] == []
    unknown = [item for item in outcomes if item.unknown]
    contents = re.compile(" cannot be read: |binfmt_misc")
    of_contents = [item for item in unknown if item.action == "exec" and contents.search(item.answer["why"])]
    of_a_process = {item.path for item in unknown if item not in of_contents}
    assert of_a_process <= {"/dev/stdin", "/proc/self/exe", "/proc/self/status"}
    assert not any(item.answer["allowed"] or item.answer["by"] or item.answer["add"] for item in unknown)
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
    assert {item.kernel == "ok" for item in outcomes if item.unknown} == {True, False}  # so nobody could have known
    both_ways([item for item in outcomes if not item.unknown], 40)
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
    known = [item for item in outcomes if not item.answer["allowed"] and not item.unknown]
    modes = [item for item in known if not by_the_boundary(item)]
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
        assert printed["answers"] == [{**json.loads(as_json(expected)), "note": ""}]
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
    "it has no interpreter": ("text", [], False, "is neither an ELF file nor a script"),
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
    helpless = re.search("No such|neither an ELF", answer["why"])
    assert said in answer["why"] and answer["allowed"] is not bool(answer["add"] or helpless)


# --- what is another thing for each process ---------------------------------------------------------

OF_A_PROCESS = ("/dev/stdin", "/dev/fd/1", "/proc/self/exe", "/proc/self/cwd/file", "/proc/self/status", "/proc/mounts")


def test_what_each_process_sees_otherwise_is_not_known_whatever_the_kernel_does(lab: Lab) -> None:
    lab.file(lab.workspace / "file")
    (lab.workspace / "link").symlink_to("/proc/self/cwd/file")
    questions = [("read", path) for path in (*OF_A_PROCESS, f"{lab.workspace}/link")]
    seen = set()
    for section in (grants([lab.workspace, "/proc"], [lab.workspace]), grants([], [])):
        text = policy(filesystem=section)
        where = str(policy_file(lab, text, "policy.json"))
        case = {"policies": [where], "workdir": str(lab.workspace), "questions": questions}
        for answer in explaining(lab, "answer", [case])[0]["answers"]:
            assert not answer["allowed"] and answer["why"].startswith(NOT_KNOWN), answer
            assert answer["by"] == [] and answer["add"] == ""
        script = f"tell(**{{path: attempt(open, path) for path in {[path for _, path in questions]!r}}})"
        seen |= {(path, done == "ok") for path, done in under(lab, text, script, cwd=lab.workspace).told.items()}
    assert {(path, way) for path in ("/proc/self/status", "/proc/self/cwd/file") for way in (True, False)} <= seen


# --- what is written, and how it is spelled ---------------------------------------------------------


def test_a_path_that_only_a_directory_could_have_is_no_file_to_make(lab: Lab) -> None:
    top = lab.workspace
    links = {"slash": "none/", "dot": "none/.", "plain": "none", "chain": "slash", "last": "plain/"}
    for name, text in links.items():
        (top / name).symlink_to(text)
    (top / "folder").mkdir()
    lab.own(top / "folder")
    names = ("none", "none/", "none/.", "none/./", "slash", "dot", "plain", "chain", "last", "slash/x", "folder/.")
    text = policy(filesystem=grants([top], [str(top)]))
    case = {"policies": [str(policy_file(lab, text, "policy.json"))], "workdir": str(top),
            "questions": [("write", str(top) + "/" + name) for name in names]}  # fmt: skip
    case["probe"] = PROBE
    answers = explaining(lab, "answer", [case])[0]["answers"]
    script = """
def make(path):
    os.close(os.open(path if not os.path.isdir(path) else path + "/new", os.O_WRONLY | os.O_CREAT))
    os.unlink(os.path.realpath(path) if not os.path.isdir(path) else path + "/new")
tell(**{path: attempt(make, path) for path in sys.argv[1:]})
"""
    told = under(lab, text, script, *(path for _, path in case["questions"])).told
    found = {name: (item["allowed"], told[f"{top}/{name}"]) for name, item in zip(names, answers)}
    assert {name for name, (allowed, _) in found.items() if allowed} == {"none", "plain", "folder/.", "slash/x"}
    del found["slash/x"]  # its directory is made first, which this program does not do
    assert [name for name, (allowed, done) in found.items() if allowed != (done == "ok")] == [], found
    assert {found[name][1] for name in ("slash", "chain", "last", "none/")} == {"EISDIR"}


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("chattr"), reason="only root marks files, by chattr(1)")
def test_a_file_that_is_only_appended_to_is_not_written(lab: Lab) -> None:
    paths = {flag: lab.file(lab.workspace / f"file-{flag}") for flag in "ai"}
    plain = lab.file(lab.workspace / "plain")
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]))
    case = {"policies": [str(policy_file(lab, text, "policy.json"))], "workdir": str(lab.workspace),
            "questions": [("write", str(path)) for path in (*paths.values(), plain)]}  # fmt: skip
    script = "tell(**{path: attempt(os.open, path, os.O_WRONLY) for path in sys.argv[1:]})"
    try:
        for flag, path in paths.items():
            subprocess.run(["chattr", f"+{flag}", str(path)], check=True)
        answers = explaining(lab, "answer", [case])[0]["answers"]
        told = under(lab, text, script, *(path for _, path in case["questions"])).told
    except subprocess.CalledProcessError:
        pytest.skip("the file system has no such marks")
    finally:
        for flag, path in paths.items():
            subprocess.run(["chattr", f"-{flag}", str(path)])
    assert [item["allowed"] for item in answers] == [told[item["subject"]] == "ok" for item in answers]
    assert [item["allowed"] for item in answers] == [False, False, True] and "appended" in answers[0]["why"]


# --- two names of one file --------------------------------------------------------------------------

OVERLAY = 'mount -t overlay overlay -o lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work {0}/merged && exec "$@"'


def in_overlay(lab: Lab, *command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command where an overlay is mounted that nobody else sees."""
    words = ["unshare", "-m", "sh", "-c", OVERLAY.format(lab.top), "sh", *command]
    return subprocess.run(words, capture_output=True, text=True, env=lab.environment(), cwd=lab.workspace, **more)


@pytest.mark.parametrize("user", users()[:1], indirect=True)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_second_name_of_a_file_on_an_overlay_is_not_known_and_the_kernel_refuses_it(lab: Lab) -> None:
    for name in ("lower", "upper", "work", "merged"):
        lab.directory(name)
    os.link(lab.file(lab.top / "lower" / "one"), lab.top / "lower" / "other")
    one, other = f"{lab.top}/merged/one", f"{lab.top}/merged/other"
    if in_overlay(lab, "cat", one).returncode:
        pytest.skip("no overlay can be mounted here")
    text = policy(filesystem={"read": {"allow": [*SYSTEM, one]}, "write": {"allow": []}})
    words = ("--policy", str(policy_file(lab, text, "policy.json")))
    command = (sys.executable, "-I", PACKAGE)
    done = in_overlay(lab, *command, "policy", "explain", *words, "--json", "--read", other)
    (answer,) = json.loads(done.stdout)["answers"]
    assert done.returncode == 1 and answer["why"].startswith(NOT_KNOWN), answer
    assert in_overlay(lab, *command, "policy", "explain", *words, "--read", one).returncode == 0
    start = (*command, "run", "exec", "--isolation", "process", *words, "--", "cat")
    assert in_overlay(lab, *start, one).returncode == 0
    refused = in_overlay(lab, *start, other)
    assert refused.returncode == 1 and "Permission denied" in refused.stderr


# --- sockets ----------------------------------------------------------------------------------------

CONNECT = """
import socket
host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def reach(family, kind, way, *words):
    with socket.socket(family, kind) as made:
        getattr(made, way)(*words)
there, fast, stream = (host, port), socket.MSG_FASTOPEN, socket.SOCK_STREAM
tell(
    connect=attempt(reach, socket.AF_INET, stream, "connect", there),
    sendto=attempt(reach, socket.AF_INET, stream, "sendto", b"x", fast, there),
    sendmsg=attempt(reach, socket.AF_INET, stream, "sendmsg", [b"x"], [], fast, there),
    datagram=attempt(reach, socket.AF_INET, socket.SOCK_DGRAM, "sendto", b"x", there),
    unix=attempt(reach, socket.AF_UNIX, stream, "connect", path),
)
"""
WAYS = ("connect", "sendto", "sendmsg", "datagram")
LOOPBACK = "127.0.0.1"


def without(*names: str) -> Dict[str, Any]:
    """Return the everyday calls but for these."""
    return {"syscalls": {"allow": [name for name in GROUPS["@program"] if name not in names]}}


OPEN: Dict[str, Dict[str, Any]] = {
    "nothing is said": {},
    "another denial": {"capabilities": {"deny": ["file_delete"]}},
    "no unix sockets": {"ipc": {"unix": {"allow": []}}},
    "everyday calls": {"syscalls": {"allow": ["@program"]}},
    "everyday calls but connect": without("connect"),
    "everyday calls but connect and sendto": without("connect", "sendto"),
    "everyday calls without any that connects": without("connect", "sendto", "sendmsg", "sendmmsg"),
    "everyday calls without socket": without("socket"),
    "everyday calls without both": without("socket", "connect", "sendto", "sendmsg", "sendmmsg"),
    "no network port": {"network": {"ports": []}},
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
    reached = [way for way in WAYS if done.told[way] == "ok"]
    assert connect["allowed"] == bool(reached), (connect, done)
    assert connect["allowed"] == ("network" not in name and "without" not in name)
    assert ("without connect, by " in connect["why"]) == (bool(reached) and "connect" not in reached)
    assert (unix["allowed"], done.told["unix"]) == (False, "EPERM" if "socket" in connect["add"] else "EAFNOSUPPORT")
    if not connect["allowed"]:
        refused = {done.told[way] for way in WAYS}
        assert refused == {"EPERM" if "without" in name else "EAFNOSUPPORT"} and connect["by"]
        assert bool(connect["add"]) == ("without" in name)


def test_what_is_proposed_for_a_connection_is_enough(lab: Lab, listening: Tuple[int, Path]) -> None:
    port, path = listening
    for name in ("everyday calls without socket", "everyday calls without both"):
        connect, _, _ = asked(lab, OPEN[name], port, path)
        calls = connect["add"].partition(" to syscalls.allow (")[0].split(" and ")
        more = {"syscalls": {"allow": [*OPEN[name]["syscalls"]["allow"], *calls]}}
        again, _, text = asked(lab, more, port, path)
        done = under(lab, text, CONNECT, LOOPBACK, str(port), str(path))
        assert again["allowed"] and done.told["connect"] == "ok", (again, done)


@pytest.mark.parametrize("name", NOT_HELD)
def test_where_a_launch_is_refused_no_connection_is_promised(lab: Lab, listening: Tuple[int, Path], name: str) -> None:
    port, path = listening
    connect, unix, text = asked(lab, NOT_HELD[name], port, path)
    assert under(lab, text, CONNECT, LOOPBACK, str(port), str(path)).code == 125
    assert (connect["allowed"], unix["allowed"]) == (False, False)
    assert connect["why"].startswith(NOTHING) and unix["why"].startswith(NOTHING)
    listed = f"network.allowlist lists {LOOPBACK} at "
    assert [line.startswith(listed) for line in connect["by"]] == [True] * (name == "the host is listed")
