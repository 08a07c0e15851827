# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Several policies in one run: the kernel refuses what any of them leaves out, and a planted one gives nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Sequence

from support.inside import PRELUDE, SYSTEM, Run, bare, policy, policy_file, program, read, snapshot
from support.launch import Lab, domain
from support.outcome import ONCE, Done, assert_refused, events

from aasm.receipt.canonical import digest_bytes

TRIES = """
found = {}
for name in sys.argv[2:]:
    path = os.path.join(sys.argv[1], name)
    found[name] = [attempt(open, path + "/file"), attempt(open, path + "/file", "r+"),
                   attempt(os.posix_spawn, path + "/tool", [path + "/tool"], {})]
tell(**found)
"""
NAMES = ("both", "one", "other", "both-evil")


def run(lab: Lab, policies: Sequence[Path], *argv: str, options: Sequence[str] = (), **more: Any) -> Done[str]:
    """Run a program under several policies."""
    named = [word for path in policies for word in ("--policy", str(path))]
    words = ("run", "exec", "--isolation", "process", "--report", "always", *named, *options)
    return lab.aasm(*words, "--", *argv, **more)


def reports(done: Done[str]) -> list[dict[str, str]]:
    """Return the reports before and after a run."""
    found: list[dict[str, str]] = []
    for line in done.stderr.splitlines():
        if line == "schema=aasm.isolation.report/1":
            found.append({})
        key, sign, value = line.partition("=")
        if found and sign and " " not in key:
            found[-1][key] = value
    return found


def assert_agreeing(lab: Lab, done: Done[str], source: str, documents: Sequence[str], *domains: str) -> None:
    """Report and receipt say of each domain that it was stated and held, and by which policies."""
    body = lab.receipt()
    assert body["policy"]["source"]["value"] == source and body["policy"]["resolution"] == "enforced"
    data = [json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) for text in documents]
    assert body["policy"]["canonical_digest"] == digest_bytes(f"[{','.join(data)}]".encode())
    before, after = reports(done)
    assert (before["stage"], after["stage"]) == ("pre_launch", "post_run")
    for name in domains:
        line = domain(body, name)
        assert (line["state"], line["prevention_supported"]) == ("prevention", False)
        for report in (before, after):
            assert (report[f"domain.{name}.requested"], report[f"domain.{name}.state"]) == ("stated", line["state"])
        assert after[f"domain.{name}.claim"] == line["claim"]
    assert events(lab)[-2:] == ["registered", "ended"] and lab.leftovers() == []


def place(lab: Lab) -> Path:
    """Return a directory with something to read, write and execute beneath each of NAMES."""
    top = lab.directory("tops")
    for name in NAMES:
        lab.file(lab.directory(f"tops/{name}") / "file", name)
        lab.file(top / name / "tool", "#!/bin/true\n", 0o755)
    return top


def lists(paths: Sequence[object], **more: Any) -> dict[str, Any]:
    """Return a section `filesystem` in which these paths may be read, written and executed."""
    texts = list(map(str, paths))
    return {"read": {"allow": [*SYSTEM, *texts]}, "write": {"allow": texts},
            "execute": {"allow": [*SYSTEM, *texts]}, **more}  # fmt: skip


ALL, NONE = ["ok"] * 3, ["EACCES"] * 3


def test_what_only_one_of_two_policies_allows_is_refused(lab: Lab) -> None:
    top = place(lab)
    one, other = (policy(filesystem=lists([top / "both", top / name])) for name in ("one", "other"))
    paths = [policy_file(lab, text, f"{name}.json") for name, text in (("one", one), ("other", other))]
    argv = program(TRIES, str(top), *NAMES)
    assert bare(lab, TRIES, str(top), *NAMES).told == dict.fromkeys(NAMES, ALL)
    # each by itself allows what the other leaves out, so that it is the cascade that refuses
    for path, name in zip(paths, ("one", "other")):
        alone = read(run(lab, [path], *argv)).told
        assert alone == {**dict.fromkeys(NAMES, NONE), "both": ALL, name: ALL}, path
    before = snapshot(top)
    for order in (paths, paths[::-1]):
        done = run(lab, order, *argv)
        assert read(done).told == {**dict.fromkeys(NAMES, NONE), "both": ALL}, done.stderr
        texts = (one, other) if order is paths else (other, one)
        source = ", ".join(map(str, order))
        assert_agreeing(lab, done, source, texts, "filesystem_read", "filesystem_write")
    assert snapshot(top) == before


def test_three_tiers_in_a_directory_and_links_between_them(lab: Lab) -> None:
    """Global lets all be read, the team one link and one directory, the agent another; each verb has its own tiers."""
    top = place(lab)
    (top / "both" / "link").symlink_to(top / "other")  # out of what the others allow
    (top / "alias").symlink_to("both")
    one_alone = {"allow": [str(top / "one")]}  # so that none lets a program put links where the others look
    texts = (
        policy(scope="global", filesystem={"read": {"allow": ["/"]}, "write": one_alone}),
        policy(scope="team:t", filesystem=lists([top / "both" / "link", top / "alias", top / "one"], write=one_alone)),
        policy(scope="agent:a", filesystem={"read": {"allow": [*SYSTEM, str(top / "both"), str(top / "other")]},
                                            "write": one_alone}),
    )  # fmt: skip
    folder = lab.directory("policies")
    for name, text in zip("cab", texts):  # the tiers decide about the order, not the names
        lab.file(folder / f"{name}.json", text)
    lab.file(folder / "d.json", policy(scope="team:u", filesystem=lists([])))
    names = (*NAMES, "alias", "both/link")
    assert bare(lab, TRIES, str(top), *names).told == dict.fromkeys(names, ALL)
    done = run(lab, [folder], *program(TRIES, str(top), *names), options=("--team-id", "t", "--agent-id", "a"))
    reads_and_runs = ["ok", "EACCES", "ok"]
    # `other` is granted by the team only through a link in `both`: what it leads to counts, and the agent allows it
    due = {"both": reads_and_runs, "alias": reads_and_runs, "other": reads_and_runs, "both/link": reads_and_runs,
           "one": NONE, "both-evil": NONE}  # the team lets `one` be executed, and nothing is that cannot be read
    told = read(done).told
    writes = read(run(lab, [folder], *program(WRITES, str(top / "one" / "file")), options=("--team-id", "t"))).told
    assert told == due, done.stderr
    assert writes == {"write": "ok", "read": "EACCES"}
    assert f"{folder}/d.json" in done.stderr  # left out, and said so
    body = lab.receipts()[0]["body"]
    assert body["policy"]["source"]["value"] == ", ".join(f"{folder}/{name}.json" for name in "cab")


WRITES = """
tell(write=attempt(lambda: os.close(os.open(sys.argv[1], os.O_WRONLY))), read=attempt(open, sys.argv[1]))
"""
LEADS_OUT = """
tell(secret=attempt(open, sys.argv[1]), through=attempt(open, sys.argv[2]), inside=attempt(open, sys.argv[3]))
"""


def test_a_link_out_of_what_another_policy_grants_opens_nothing(lab: Lab) -> None:
    tree, secret = lab.directory("tree"), lab.file(lab.outside / "secret", "s")
    inside = lab.file(tree / "file", "f")
    (tree / "link").symlink_to(lab.outside)
    wide = policy_file(lab, policy(filesystem=lists([tree / "link", inside])), "wide.json")
    whole = policy_file(lab, policy(filesystem=lists([tree])), "whole.json")
    argv = program(LEADS_OUT, str(secret), str(tree / "link" / "secret"), str(inside))
    tried = {"secret": "ok", "through": "ok", "inside": "ok"}
    assert read(run(lab, [whole], *argv)).told == {**tried, "secret": "EACCES", "through": "EACCES"}
    for order in ([wide, whole], [whole, wide]):
        assert read(run(lab, order, *argv)).told == {**tried, "secret": "EACCES", "through": "EACCES"}
    assert bare(lab, LEADS_OUT, *argv[-3:]).told == tried


# --- ceilings, calls and variables ------------------------------------------------------------------------

CEILING = """
import resource, socket
found = []
def more():
    while len(found) < 200:
        found.append(os.open("/dev/null", os.O_RDONLY))
answer = attempt(more)
for descriptor in found:
    os.close(descriptor)
tell(open=answer, count=len(found) + 3, limits=resource.getrlimit(resource.RLIMIT_NOFILE),
     size=resource.getrlimit(resource.RLIMIT_FSIZE)[1], network=attempt(socket.socket),
     given=sorted({"SHARED", "FIRST", "SECOND"} & set(os.environ)))
"""
GIVEN = {"SHARED": "1", "FIRST": "2", "SECOND": "3"}


def variables(*names: str) -> dict[str, Any]:
    return {"environment": {"allow": names}}


def test_the_smaller_ceiling_holds_and_what_each_alone_would_give_is_not_given(lab: Lab) -> None:
    filesystem = lists([lab.workspace])
    texts = [
        policy(filesystem=filesystem, resources={"max_open_files": 64, "max_file_size_bytes": 4096},
               credentials=variables("SHARED", "FIRST")),
        policy(filesystem=filesystem, resources={"max_open_files": 40}, network={"allowlist": []},
               credentials=variables("SECOND", "SHARED")),
    ]  # fmt: skip
    paths = [policy_file(lab, text, f"{at}.json") for at, text in enumerate(texts)]
    argv = program(CEILING)
    alone = read(run(lab, paths[:1], *argv, env=GIVEN)).told
    assert (alone["count"], alone["network"], alone["given"]) == (64, "ok", ["FIRST", "SHARED"])
    done = run(lab, paths, *argv, options=("--max-open-files", "50"), env=GIVEN)
    assert read(done).told == {
        "open": "EMFILE", "count": 40, "limits": [40, 40], "size": 4096, "network": "EAFNOSUPPORT", "given": ["SHARED"],
    }, done.stderr  # fmt: skip
    assert_agreeing(lab, done, ", ".join(map(str, paths)), texts, "resource", "network_egress")
    stated = [line for line in reports(done)[1].items() if line[0] == "domain.resource.requested_detail"]
    assert "max_open_files=40" in stated[0][1] and "64" not in stated[0][1] and "50" not in stated[0][1]


# --- a policy that the program may write ------------------------------------------------------------------

# A program that rewrites its own document for the next run; it tells what this run gave it.
PLANT = PRELUDE + """
tell(given=sorted({"SHARED", "STOLEN"} & set(os.environ)), kept=attempt(open, sys.argv[1]),
     wrote=attempt(lambda: open(sys.argv[2], "w").write(sys.argv[3])), safe=attempt(open, sys.argv[4], "r+"))
"""


def planted(lab: Lab, safe: Path, own: Path, text: str) -> Run:
    """Run that program under both policies."""
    argv = program(PLANT, str(lab.outside / "secret"), str(own), text, str(safe))
    done = run(lab, [safe, own], *argv, env={"SHARED": "1", "STOLEN": "2"})
    assert done.returncode == 0, done.stderr
    assert f"{own}: " in done.stderr and "only narrow" in done.stderr  # said before anything ran
    return read(done)


def test_a_policy_in_the_workspace_narrows_and_gives_nothing_however_the_program_rewrites_it(lab: Lab) -> None:
    lab.file(lab.outside / "secret", "s")
    filesystem = {"read": {"allow": [*SYSTEM, str(lab.outside), str(lab.workspace)]},
                  "write": {"allow": [str(lab.workspace)]}}  # fmt: skip
    narrow = {"read": {"allow": [*SYSTEM, str(lab.workspace)]}}
    safe = policy_file(lab, policy(filesystem=filesystem, credentials=variables("SHARED")), "safe.json")
    own = lab.file(lab.workspace / "own.json", policy(filesystem=narrow, credentials=variables("SHARED", "STOLEN")))
    plans = [
        # outermost, and with a list that leaves its own place out
        policy(scope="global", filesystem={"write": {"allow": [str(own)]}}, credentials=variables("SHARED", "STOLEN")),
        policy(filesystem={"read": {"allow": ["/"]}, "write": {"allow": [str(own), "/dev/null"]}},
               credentials={**variables("STOLEN", "SHARED"), "capabilities": {"allow": ["CAP_CHOWN"]}}),
        policy(resources={"max_open_files": 40}),
        "{}",
    ]  # fmt: skip
    control = lab.file(lab.top / "control.json", own.read_text())  # the same words out of reach give the variable
    paths = (str(lab.outside / "secret"), "/dev/null", "", str(safe))
    alone = read(run(lab, [control], *program(PLANT, *paths), env={"SHARED": "1", "STOLEN": "2"})).told
    assert (alone["given"], alone["kept"]) == (["SHARED", "STOLEN"], "EACCES")
    before = safe.read_bytes()
    for at, text in enumerate(plans):
        told = planted(lab, safe, own, text).told
        assert told["given"] == ["SHARED"] and told["wrote"] == "ok" and told["safe"] == "EACCES", (at, told)
        # its own restriction holds as long as it states one, and goes with it
        assert told["kept"] == ("EACCES" if at == 0 else "ok"), at
    assert own.read_text() == "{}" and safe.read_bytes() == before
    assert [body["body"]["policy"]["source"]["value"].count("own.json") for body in lab.receipts()] == [0, 1, 1, 1, 1]


@ONCE
def test_where_every_policy_is_in_reach_nothing_starts(lab: Lab) -> None:
    inside = [lab.file(lab.workspace / f"{name}.json", policy(filesystem=lists([lab.workspace]))) for name in "ab"]
    done = run(lab, inside, "sh", "-c", f"echo ran > {lab.workspace}/ran")
    line = assert_refused(lab, done, "every policy lies where another lets the program write it")
    assert "keep at least one out of reach" in line and not (lab.workspace / "ran").exists()


@ONCE
def test_a_directory_of_policies_in_reach_is_refused_before_anything_can_be_put_into_it(lab: Lab) -> None:
    safe = policy_file(lab, policy(filesystem=lists([lab.workspace])), "safe.json")
    folder = lab.directory("ws/policies")
    lab.file(folder / "a.json", policy(network={"allowlist": []}))
    done = run(lab, [safe, folder], "sh", "-c", f"echo ran > {lab.workspace}/ran")
    assert_refused(lab, done, f"whoever may write {lab.workspace} could change what the next run trusts", str(folder))
    assert not (lab.workspace / "ran").exists() and os.listdir(folder) == ["a.json"]


def test_one_document_that_cannot_be_used_refuses_the_launch_and_a_preview_says_the_same(lab: Lab) -> None:
    folder = lab.directory("policies")
    lab.file(folder / "a.json", policy(filesystem=lists([lab.workspace])))
    bad = lab.file(folder / "b.yaml", "network:\n  allowlist: nothing\n")
    line = assert_refused(lab, run(lab, [folder], "true"), f"{bad}:2:14: network.allowlist must be a list")
    preview = run(lab, [folder], "true", options=("--dry-run",))
    assert preview.returncode == 0 and f"{bad}:2:14: " in preview.stdout + preview.stderr, line
    bad.unlink()
    assert run(lab, [folder], "true").returncode == 0


# --- links that an earlier run could have made -------------------------------------------------------

LINKING = """
from pathlib import Path
def plant(make):
    Path("venv").rmdir()
    os.symlink(sys.argv[1], "venv")
    Path("p.json").write_text(json.dumps({"filesystem": {"write": {"allow": [os.getcwd() + "/out"]}}}))
tell(planted=attempt(plant, True), read=attempt(open, "venv/secret"))
"""
THROUGH = 'tell(read=attempt(open, "venv/secret"), write=attempt(open, "venv/secret", "a"))'


def test_a_document_of_the_program_does_not_take_its_link_out_of_suspicion(lab: Lab) -> None:
    """Merged, the write list is the narrower one, and the link is not beneath it: each counts by itself."""
    work, secret = lab.workspace, lab.file(lab.outside / "secret", "s")
    for name in ("venv", "out"):
        lab.directory(f"{work.name}/{name}")
    lists = {"read": {"allow": [*SYSTEM, str(work), str(work / "venv")]}, "write": {"allow": [str(work)]}}
    host = policy_file(lab, policy(filesystem=lists), "host.json")
    assert read(run(lab, [host], *program(LINKING, str(lab.outside)))).told == {"planted": "ok", "read": "EACCES"}
    denying = lab.file(work / "q.json", policy(capabilities={"deny": ["file_write"]}))
    for more in ([], [work / "p.json"], [denying], [denying, work / "p.json"]):
        done = run(lab, [host, *more], *program(THROUGH))
        assert done.returncode == 125 and read(done).told == {}, more
        assert f"{work}/venv is a symbolic link beneath a path that may be written" in done.stderr
    lists["read"]["allow"].pop()
    policy_file(lab, policy(filesystem=lists), "host.json")
    done = run(lab, [host, denying], *program("tell()"), options=("--workdir", str(work / "venv")))
    assert done.returncode == 125 and f"error: --workdir: {work}/venv is a symbolic link beneath" in done.stderr
    assert secret.read_text() == "s"
