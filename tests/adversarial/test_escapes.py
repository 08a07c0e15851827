# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Ways out of a boundary, one family a scenario: refused inside, and shown to work once the mechanism is taken away.

Every scenario runs three times on directories of its own: without a boundary (the effect exists), inside (it does
not happen), and inside a boundary whose path rules were taken out of the order (it happens again: so the rules, and
nothing else, stop it). The effects are judged from outside.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Dict, NamedTuple

import pytest
from support import orders
from support.inside import Run, program, read, snapshot
from support.launch import ROOT, Lab

from aasm._sys import order as order_format

# argv: a directory outside with a victim and a secret, and a granted one. Each body fills `escapes` and `allowed`.
BEGIN = """
outside, inside = sys.argv[1:3]
escapes, allowed = {}, {}
"""
END = """
tell(escapes=escapes, allowed=allowed)
"""

SYMLINK = """
os.symlink(outside + "/victim", inside + "/link")
os.symlink(outside, inside + "/road")
os.symlink(inside + "/file", inside + "/own")
escapes["read"] = attempt(open, inside + "/link")
escapes["write"] = attempt(open, inside + "/link", "r+")
escapes["list"] = attempt(os.listdir, inside + "/road")
escapes["create"] = attempt(open, inside + "/road/new", "x")
escapes["remove"] = attempt(os.unlink, inside + "/road/doomed")
escapes["truncate"] = attempt(open, inside + "/link", "w")
allowed["through a link inside"] = attempt(open, inside + "/own", "r+")
"""
HARD_LINK = """
escapes["link"] = attempt(os.link, outside + "/victim", inside + "/hard")
escapes["write"] = attempt(open, inside + "/hard", "r+")
escapes["link out"] = attempt(os.link, inside + "/file", outside + "/planted")
allowed["link inside"] = attempt(os.link, inside + "/file", inside + "/dir/hard")
"""
RENAME = """
escapes["into the grant"] = attempt(os.rename, outside + "/victim", inside + "/stolen")
escapes["out of the grant"] = attempt(os.rename, inside + "/file", outside + "/planted")
escapes["a directory out"] = attempt(os.rename, inside + "/dir", outside + "/planted-dir")
escapes["over a file"] = attempt(os.replace, inside + "/other", outside + "/doomed")
open(inside + "/again", "w").close()
allowed["inside"] = attempt(os.rename, inside + "/again", inside + "/renamed")
"""
DOTS = """
def written(path):
    with open(path, "w") as stream:
        stream.write("escaped")
up = chr(46) * 2
escapes["plain"] = attempt(written, os.path.join(inside, os.path.relpath(outside, inside), "victim"))
os.chdir(inside + "/dir")
escapes["relative"] = attempt(written, os.path.relpath(outside + "/new"))
escapes["from a descriptor"] = attempt(os.open, os.path.join(up, os.path.relpath(outside, inside), "victim"),
                                       os.O_WRONLY, dir_fd=os.open(inside + "/dir", os.O_PATH))
escapes["after chdir"] = attempt(lambda: (os.chdir(outside), written("newer")))
os.chdir(inside)
allowed["the same inside"] = attempt(written, os.path.join("dir", up, "file"))
"""
SPELLINGS = """
os.symlink(outside, inside + "/s")
roads = {"plain": outside + "/secret", "dots": inside + "/dir/../" + os.path.relpath(outside + "/secret", inside),
         "link": inside + "/s/secret", "double slashes": outside.replace("/", "//") + "/./secret"}
def bytes_of(path):
    return open(path).read() and None
escapes.update({name: attempt(bytes_of, road) for name, road in roads.items()})
allowed["own"] = attempt(bytes_of, inside + "/file")
"""
INTERPRETERS = """
import shutil, subprocess
shutil.copy("/bin/sh", inside + "/copied")
os.symlink("/bin/sh", inside + "/linked")
memory = os.memfd_create("sh", 0)
os.write(memory, open("/bin/sh", "rb").read())
loaders = [name for name in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
                             "/lib/ld-linux-riscv64-lp64d.so.1") if os.path.exists(name)]
def script(interpreter):
    path = inside + "/script-" + os.path.basename(interpreter)
    open(path, "w").write("#!%s\\neval \\"$1\\"\\n" % interpreter)
    os.chmod(path, 0o755)
    return [path]
ways = {"copied": [inside + "/copied", "-c"], "linked": [inside + "/linked", "-c"], "memory": [None, "-c"],
        "loader": [*loaders[:1], "/bin/sh", "-c"], "script for the copy": script(inside + "/copied"),
        "script for the link": script(inside + "/linked"), "environment": ["/usr/bin/env", "sh", "-c"]}
def ran(way, line):
    argv = [way[0] or "sh", *way[1:], line]
    pid = os.fork()
    if not pid:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
        os.execve(memory if way[0] is None else argv[0], argv, {"PATH": "/usr/bin:/bin"})
    return os.waitpid(pid, 0)[1] >> 8
def told(code):
    return "ok" if code == 0 else "EACCES"
for name, way in ways.items():
    mark = "mark-" + name.replace(" ", "-")
    escapes[name] = told(ran(way, "echo escaped >> %s/victim" % outside))
    allowed[name] = told(ran(way, ": > %s/%s" % (inside, mark)))
"""
DETACHED = """
out, to = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        found = [attempt(open, outside + "/victim", "a"), attempt(open, outside + "/planted", "x"),
                 attempt(open, inside + "/detached", "x"), os.getsid(0) != os.getpid()]
        os.write(to, json.dumps(found).encode())
    os._exit(0)
append, create, own, orphan = json.loads(os.read(out, 1000))
escapes.update(append=append, create=create)
allowed.update(own=own, orphan="ok" if orphan else "no")
"""
TRUNCATE = """
before = os.stat(outside + "/victim").st_size
escapes["by path"] = attempt(os.truncate, outside + "/victim", 0)
escapes["longer"] = attempt(os.truncate, outside + "/doomed", 1000)
allowed["inside"] = attempt(os.truncate, inside + "/file", 1)
"""
COMMAND_LINES = """
pid = os.getppid()
print("marker", flush=True)
escapes["command line of the parent"] = attempt(open, "/proc/%d/cmdline" % pid)
escapes["status of the first process"] = attempt(open, "/proc/1/status")
escapes["all processes"] = attempt(os.listdir, "/proc")
escapes["own entry"] = attempt(open, "/proc/self/cmdline")
allowed["own file"] = attempt(open, inside + "/file")
"""


class Scenario(NamedTuple):
    """One family: the program, and the answers that its attempts may get inside."""

    body: str
    answers: frozenset[str] = frozenset(("EACCES",))
    leaves: bool = True  # the control changes or reads something outside; False: it only looks at /proc


# A link or rename to another directory that no rule allows is EXDEV where the parent is not decided on first.
SCENARIOS: Dict[str, Scenario] = {
    "symbolic link inside the grant pointing out": Scenario(SYMLINK),
    "hard link into the grant": Scenario(HARD_LINK, frozenset(("EACCES", "EXDEV", "ENOENT"))),
    "rename across the edge, both ways": Scenario(RENAME, frozenset(("EACCES", "EXDEV"))),
    "dots built at run time": Scenario(DOTS),
    "four spellings of a secret directory": Scenario(SPELLINGS, leaves=False),
    "alternate or linked interpreter": Scenario(INTERPRETERS),
    "detached child": Scenario(DETACHED),
    "truncate by path": Scenario(TRUNCATE),
    "command line of another process, /proc not granted": Scenario(COMMAND_LINES, leaves=False),
}

# Families with a test of their own, and where it is.
ELSEWHERE = {
    "environment of another process, /proc granted": (
        "tests/kernel/test_capabilities.py",
        "test_the_supervisors_environment_and_memory_stay_closed_with_proc_granted",
    ),
    "inherited connected socket": (
        "tests/kernel/test_sockets.py", "test_a_connected_socket_at_another_descriptor_is_closed",
    ),
    "abstract unix socket": (
        "tests/kernel/test_floor_effects.py",
        "test_no_abstract_socket_outside_is_reached_even_through_an_inherited_one",
    ),
    "path unix socket": (
        "tests/kernel/test_sockets.py", "test_a_path_socket_is_out_of_reach_with_the_network_left_open",
    ),
    "direct connection": ("tests/kernel/test_sockets.py", "test_nothing_arrives_outside_when_the_network_is_denied"),
    "call that is not permitted, from a descendant": (
        "tests/kernel/test_processes_and_calls.py", "test_a_call_that_is_not_named_is_refused_in_every_process",
    ),
    "environment listing": ("tests/adversarial/test_orders.py", "test_the_program_sees_no_name_that_was_not_delegated"),
    "order of the launcher": ("tests/adversarial/test_orders.py", "test_no_part_of_an_order_is_ever_carried_out"),
}  # fmt: skip

# What a boundary of this kind has to withstand. Destinations by address or name, and a proxy, are not here: this
# release refuses a policy that names single destinations, and mediates no traffic.
FAMILIES = (
    "symbolic link inside the grant pointing out",
    "hard link into the grant",
    "rename across the edge, both ways",
    "dots built at run time",
    "four spellings of a secret directory",
    "alternate or linked interpreter",
    "detached child",
    "truncate by path",
    "command line of another process, /proc not granted",
    "environment of another process, /proc granted",
    "inherited connected socket",
    "abstract unix socket",
    "path unix socket",
    "direct connection",
    "call that is not permitted, from a descendant",
    "environment listing",
    "order of the launcher",
)


class Places(NamedTuple):
    """Two directories for one run of a scenario."""

    outside: Path
    inside: Path


def places(lab: Lab, name: str) -> Places:
    """Return fresh directories: one outside the grant with a victim and a secret, one inside it."""
    made = Places(lab.directory(f"outside/{name}"), lab.directory(f"ws/{name}"))
    for file in ("victim", "secret", "doomed"):
        lab.file(made.outside / file, f"the {file} outside")
    for file in ("file", "other"):
        lab.file(made.inside / file, f"the {file} inside")
    for top in made:
        lab.directory(str(top.relative_to(lab.top) / "dir"))
    return made


def arguments(scenario: Scenario, where: Places) -> tuple[str, ...]:
    return program(BEGIN + scenario.body + END, str(where.outside), str(where.inside))


def all_ok(run: Run) -> bool:
    """Say whether every attempt to escape, and everything that is allowed, worked."""
    return set(run.told["escapes"].values()) == set(run.told["allowed"].values()) == {"ok"}


@pytest.mark.parametrize("family", SCENARIOS)
def test_no_way_leads_out(lab: Lab, family: str) -> None:
    scenario = SCENARIOS[family]
    where = places(lab, "held")
    before = snapshot(where.outside)
    done = read(lab.confined(*arguments(scenario, where)))
    assert set(done.told["escapes"].values()) <= scenario.answers, (done.told, done.stderr)
    assert set(done.told["allowed"].values()) == {"ok"}, done.told
    assert snapshot(where.outside) == before

    control = places(lab, "control")
    before = snapshot(control.outside)
    assert all_ok(read(lab.bare(*arguments(scenario, control)))), "the effect does not exist, so this shows nothing"
    assert (snapshot(control.outside) != before) == scenario.leaves


@pytest.mark.parametrize("family", SCENARIOS)
def test_without_the_path_rules_every_way_leads_out(lab: Lab, family: str) -> None:
    scenario, where = SCENARIOS[family], places(lab, "open")
    before = snapshot(where.outside)
    order = orders.without_paths(orders.for_program(lab, *arguments(scenario, where)))
    done = read(orders.by_hand(lab, order_format.encode(order)))
    assert all_ok(done), (done.told, done.stderr)
    assert (snapshot(where.outside) != before) == scenario.leaves


def test_the_launcher_itself_notices_that_the_path_rules_are_gone(lab: Lab) -> None:
    mark = lab.workspace / "ran"
    canary = lab.file(lab.state / "canary", "", 0o600)
    order = orders.for_program(lab, "/bin/touch", str(mark))
    kept = order.canary_read, order.canary_write
    assert kept == (str(canary).encode(), str(canary).encode())
    orders.without_paths(order)
    order.canary_read, order.canary_write = kept
    done = orders.by_hand(lab, order_format.encode(order))
    assert done.returncode == 125 and not mark.exists()
    assert done.stderr.startswith("error: launcher: file_canary: ") and "did not hold its canary" in done.stderr


def test_the_launcher_itself_notices_that_the_filter_is_gone(lab: Lab) -> None:
    mark = lab.workspace / "ran"
    order = orders.for_program(lab, "/bin/touch", str(mark))
    order.filter_b = orders.PASS_ALL
    done = orders.by_hand(lab, order_format.encode(order))
    assert done.returncode == 125 and not mark.exists()
    assert done.stderr.startswith("error: launcher: filter_canary: ")


def test_every_family_has_a_scenario() -> None:
    assert set(SCENARIOS) | set(ELSEWHERE) == set(FAMILIES)
    assert not set(SCENARIOS) & set(ELSEWHERE) and len(FAMILIES) == len(set(FAMILIES))
    for path, name in ELSEWHERE.values():
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)], (path, name)
