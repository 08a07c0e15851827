# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Files and directories to one policy: which are read, which cover a run, and what makes all of them count as none."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, List, Optional, Sequence

import pytest
from support.runs import request

from aasm import stating
from aasm.policy.load import Loaded, PolicyState, Subject, covers, load
from aasm.policy.locate import Located, locate
from aasm.policy.places import Places
from aasm.policy.values import Entry, Policy
from aasm.receipt.canonical import digest_bytes
from aasm.surroundings import Surroundings

HOSTS = "network.allowlist"
ANYBODY = Subject()


class Host:
    """A folder with policies in it."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        self.folder = self.top / "policies"

    def write(self, name: str, *hosts: str, scope: Optional[str] = None, **sections: Any) -> str:
        """Write a policy that allows these hosts and no writing, and return its path."""
        spec = {"network": {"allowlist": hosts}, **({"scope": scope} if scope else {}), **sections}
        spec.setdefault("filesystem", {"write": {"allow": []}})
        return self.put(name, json.dumps(spec))

    def put(self, name: str, text: str) -> str:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    def load(self, *options: str, subject: Subject = ANYBODY, **environ: str) -> Loaded:
        located = locate(options, environ, str(self.top / "home"), str(self.top / "etc"))
        return load(located, Places("/w", "/h", ("/usr",)), subject)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def hosts(loaded: Loaded) -> List[str]:
    assert loaded.policy is not None, loaded.detail
    return sorted(loaded.policy.names(HOSTS) or ())


def names(paths: Sequence[str]) -> List[str]:
    return [os.path.basename(path) for path in paths]


def read(loaded: Loaded) -> List[str]:
    """Return the names of the files that a policy was made of, outermost tier first."""
    return names([document.text_name for document in loaded.documents])


# --- several options, and directories ---------------------------------------------------------------------


def test_several_options_are_one_cascade(host: Host) -> None:
    lists = {"a.json": ("*.a.org", "b.org"), "b.json": ("x.a.org", "c.org"), "c.json": ("*",)}
    paths = [host.write(name, *allowed) for name, allowed in lists.items()]
    found = host.load(*paths)
    assert (found.state, hosts(found)) == (PolicyState.ENFORCED, ["x.a.org"])
    assert found.source == ", ".join(paths)
    assert found.trusted == tuple(paths) and found.left_out == found.narrowing == ()
    assert found.detail == "the 3 policies together state rules for filesystem, network"


def test_the_order_of_options_decides_within_a_tier_and_the_tier_before_that(host: Host) -> None:
    written = [host.write(f"{at}.json", scope=scope, budget={"window": f"{at}d"}) for at, scope in
               enumerate(("tool:x", "team:t", "global", "team:t", None), 1)]  # fmt: skip
    found = host.load(*written)
    assert read(found) == ["3.json", "5.json", "2.json", "4.json", "1.json"]
    assert found.policy is not None and found.policy.values["budget.window"].text == "3d"
    again = host.load(*written[::-1])
    assert read(again) == ["5.json", "3.json", "4.json", "2.json", "1.json"]
    assert again.policy is not None and again.policy.values["budget.window"].text == "5d"


def test_of_a_directory_the_policies_are_read_by_their_names(host: Host) -> None:
    text = 'network: {allowlist: ["*"]}\n'
    for name in ("b.yaml", "a.yml", "c.json", "B.yaml", "D.YML"):
        host.write(f"policies/{name}", "*")
    for name in (".hidden.yaml", ".yaml", "notes.txt", "c.yaml.bak", "README", "json"):
        host.put(f"policies/{name}", "this: is\nno: [policy")
    expected = ["B.yaml", "D.YML", "a.yml", "b.yaml", "c.json"]
    if sys.version_info >= (3, 11):  # the first Python whose standard library reads TOML
        host.put("policies/d.toml", 'network.allowlist = ["*"]\n')
        expected.append("d.toml")
    found = host.load(str(host.folder))
    assert (found.state, read(found)) == (PolicyState.ENFORCED, expected), found.detail
    assert found.trusted[-1] == str(host.folder)  # whoever can put a file into it has a say
    assert hosts(host.load(str(host.folder), host.put("e.yaml", text))) == ["*"]


def test_files_and_directories_mix(host: Host) -> None:
    host.write("policies/x.json", "a.org", "b.org", "c.org")
    host.write("policies/y.json", "a.org", "b.org", "d.org", scope="org:o")
    before, after = host.write("before.json", "a.org", "c.org", scope="team:t"), host.write("after.json", "*.org")
    found = host.load(before, str(host.folder), after)
    assert read(found) == ["x.json", "after.json", "y.json", "before.json"]
    assert hosts(found) == ["a.org"]
    assert set(names(found.trusted)) == {"before.json", "after.json", "x.json", "y.json", "policies"}


def test_a_file_that_is_named_twice_counts_once(host: Host) -> None:
    path = host.write("policies/a.json", "a.org")
    for options in ((path, path), (str(host.folder), path), (path, str(host.folder), f"{host.folder}/")):
        found = host.load(*options)
        assert (read(found), hosts(found)) == (["a.json"], ["a.org"])
        assert found.detail.startswith("the policy states")
    # under another name it is one more document, which says the same
    found = host.load(path, f"{host.folder}/./a.json")
    assert (read(found), hosts(found)) == (["a.json", "a.json"], ["a.org"])


def test_a_directory_without_a_policy_is_an_error_and_not_an_empty_cascade(host: Host) -> None:
    host.put("policies/.only.yaml", "a: b")
    other = host.write("other.json", "*")
    for options in ((str(host.folder),), (other, str(host.folder))):
        found = host.load(*options)
        assert found.state is PolicyState.LOAD_FAILED
        assert found.detail == (
            f"{host.folder}: the directory holds no policy; put a file with .yaml .yml .json .toml into it"
        )


@pytest.mark.parametrize("kind", ["directory", "dangling link", "named pipe", "link to itself"])
def test_what_has_the_name_of_a_policy_in_a_directory_must_be_one(host: Host, kind: str) -> None:
    host.write("policies/a.json", "*")
    odd = host.folder / "b.yaml"
    make = {
        "directory": odd.mkdir,
        "dangling link": lambda: odd.symlink_to("nowhere"),
        "named pipe": lambda: os.mkfifo(odd),
        "link to itself": lambda: odd.symlink_to("b.yaml"),
    }
    make[kind]()
    found = host.load(str(host.folder))
    assert found.state is PolicyState.LOAD_FAILED and found.policy is None
    assert found.detail.startswith(f"{odd}: ") and "\n" not in found.detail


def test_a_link_to_a_policy_and_to_a_directory_of_them_is_followed(host: Host) -> None:
    host.write("policies/a.json", "a.org")
    (host.top / "elsewhere").symlink_to("policies")
    (host.folder / "b.json").symlink_to(host.write("kept.json", "a.org", "b.org"))
    found = host.load(str(host.top / "elsewhere"))
    assert (read(found), hosts(found)) == (["a.json", "b.json"], ["a.org"])


def test_the_variable_may_name_a_directory(host: Host) -> None:
    host.write("policies/a.json", "a.org", "b.org")
    host.write("policies/b.json", "b.org", "c.org")
    found = host.load(AA_POLICY=str(host.folder))
    assert (hosts(found), found.source) == (["b.org"], f"{host.folder}/a.json, {host.folder}/b.json")


@pytest.mark.parametrize("place", ["home/.aasm/policies", "etc/aasm/policies"])
def test_a_directory_that_is_found_is_a_cascade(host: Host, place: str) -> None:
    host.write(f"{place}/a.json", "a.org", "b.org")
    host.write(f"{place}/b.json", "b.org")
    found = host.load()
    assert (hosts(found), read(found)) == (["b.org"], ["a.json", "b.json"])
    assert found.trusted[-1] == str(host.top / place)


def test_a_policy_file_outranks_the_directory_beside_it_and_is_no_cascade_with_it(host: Host) -> None:
    host.write("home/.aasm/policies/a.json", "b.org")
    host.write("etc/aasm/policies/a.json", "c.org")
    host.write("home/.aasm/policy.yaml", "a.org")
    assert hosts(host.load()) == ["a.org"]


@pytest.fixture
def unprivileged() -> Iterator[Host]:
    """A folder of the user as whom the test goes on: modes refuse nothing to root."""
    top, root = Path(tempfile.mkdtemp(prefix="aasm-load-")), os.geteuid() == 0
    if root:
        who = pwd.getpwnam("nobody")
        os.chown(top, who.pw_uid, who.pw_gid)
        os.setegid(who.pw_gid)
        os.seteuid(who.pw_uid)
    try:
        yield Host(top)
    finally:
        if root:
            os.seteuid(0)
            os.setegid(0)
        (top / "policies").chmod(0o700)
        shutil.rmtree(top)


def test_a_directory_that_may_not_be_listed_is_an_error(unprivileged: Host) -> None:
    path, folder = unprivileged.write("policies/a.json", "a.org"), unprivileged.folder
    folder.chmod(0o311)
    found = unprivileged.load(str(folder))
    assert (found.state, found.detail) == (
        PolicyState.LOAD_FAILED,
        f"{folder}: Permission denied; make it readable for the user who launches",
    )
    assert hosts(unprivileged.load(path)) == ["a.org"]  # a file in it that is named is read


def test_a_file_in_a_directory_that_may_not_be_read_is_an_error(unprivileged: Host) -> None:
    unprivileged.write("policies/a.json", "a.org")
    Path(unprivileged.write("policies/b.json", "a.org")).chmod(0)
    found = unprivileged.load(str(unprivileged.folder))
    assert found.state is PolicyState.LOAD_FAILED
    assert found.detail.startswith(f"{unprivileged.folder}/b.json: ") and "Permission denied" in found.detail


# --- one failure fails all --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("network: {allowlist: [", ".yaml:1:"),
        ("netwerk: {}\n", ".yaml:1:1: unknown key"),
        ("network:\n  allowlist: [a/b]\n", ".yaml:2:15: "),
        ("", ".yaml"),
        ("filesystem: {read: {allow: [/a/../b]}}\n", "contains .."),
    ],
)
def test_one_document_that_cannot_be_used_fails_the_whole_cascade(host: Host, text: str, what: str) -> None:
    good = [host.write("a.json", "*"), host.write("c.json", "*", scope="team:other")]
    assert host.load(*good, subject=Subject(team="t")).state is PolicyState.ENFORCED
    bad = host.put("bad.yaml", text)
    for options in ((*good, bad), (bad, *good), (good[0], bad, good[1])):
        found = host.load(*options, subject=Subject(team="t"))
        assert (found.state, found.policy) == (PolicyState.LOAD_FAILED, None)
        assert found.detail.startswith(bad) and what in found.detail and "\n" not in found.detail
        assert str(found.error) == found.detail and found.source == ", ".join(options)


def test_a_document_that_another_run_is_meant_by_must_be_right_as_well(host: Host) -> None:
    host.write("policies/a.json", "*")
    host.put("policies/b.yaml", "scope: team:other\nnetwork: {allowlist: 7}\n")
    found = host.load(str(host.folder), subject=Subject(team="t"))
    assert found.state is PolicyState.LOAD_FAILED and found.detail.startswith(f"{host.folder}/b.yaml:2:")


def test_a_home_that_is_not_known_fails_the_document_that_needs_it(host: Host) -> None:
    options = host.write("a.json", "*"), host.put("b.yaml", "filesystem: {read: {allow: ['${home}/x']}}\n")
    found = load(Located(options, "--policy"), Places("/w", "", ()), Subject())
    assert found.state is PolicyState.LOAD_FAILED and found.detail.startswith(f"{options[1]}:1:")


# --- scopes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "subject", "covered"),
    [
        (None, Subject(), True), (None, Subject("t", "a", "x"), True),
        ("global", Subject("t", "a", "x"), True), ("org:o", Subject("t", "a", "x"), True), ("org:o", Subject(), True),
        ("team:t", Subject(team="t"), True), ("team:t", Subject(team="u"), False), ("team:t", Subject(), True),
        ("team:t", Subject(agent="t", tool="t"), True), ("team:t", Subject(team="T"), False),
        ("agent:a", Subject(agent="a"), True), ("agent:a", Subject(agent="ab"), False),
        ("agent:a", Subject(team="b"), True),
        ("tool:x", Subject(tool="x"), True), ("tool:x", Subject(tool="claude"), False), ("tool:x", Subject(), True),
        ("team:global", Subject(team="t"), False), ("team:a:b", Subject(team="a:b"), True),
        ("team:a:b", Subject(team="a"), False),
    ],
)  # fmt: skip
def test_a_scope_covers_the_run_that_it_names_and_the_run_that_says_nothing(
    scope: Optional[str], subject: Subject, covered: bool
) -> None:
    values = {} if scope is None else {"scope": Entry(scope, scope, ("p:1:1",))}
    assert covers(Policy("p", values=values), subject) is covered


def test_documents_of_others_are_left_out_and_named(host: Host) -> None:
    paths = [host.write(f"{scope[-1]}.json", f"{scope[-1]}.org", "all.org", scope=scope) for scope in
             ("global", "team:t", "team:u", "agent:a", "tool:x")]  # fmt: skip
    found = host.load(*paths, subject=Subject(team="t", agent="b", tool="y"))
    assert (read(found), names(found.left_out)) == (["l.json", "t.json"], ["u.json", "a.json", "x.json"])
    assert hosts(found) == ["all.org"]
    assert set(found.trusted) == set(paths)  # those of others as well: another run goes by them
    assert found.narrowing == ()


def test_when_all_are_left_out_nothing_is_permitted_and_the_launch_refused(host: Host) -> None:
    paths = [host.write(f"{name}.json", "*", scope=f"team:{name}") for name in "ab"]
    found = host.load(*paths, subject=Subject(team="t"))
    assert (found.state, found.policy) == (PolicyState.UNCONFIGURED, None)
    assert f"no policy covers this run: each has a scope of another ({', '.join(paths)})" in found.detail
    assert "state --team-id and --agent-id" in found.detail
    assert host.load(paths[0], subject=Subject(team="t")).state is PolicyState.UNCONFIGURED
    assert host.load(paths[0], subject=Subject(team="a")).state is PolicyState.ENFORCED


GIVEN = {"credentials": {"environment": {"allow": ["TOKEN"]}, "capabilities": {"allow": ["CAP_KILL"]}},
         "authority": {"leases": [{"domain": "ipc"}]}}  # fmt: skip


@pytest.mark.parametrize("scope", ["team:t", "agent:t", "tool:t"])
def test_a_document_of_a_team_that_the_run_does_not_name_narrows_and_gives_nothing(host: Host, scope: str) -> None:
    paths = host.write("a.json", "a.org", "b.org"), host.write("b.json", "b.org", "c.org", scope=scope, **GIVEN)
    named = host.load(*paths, subject=Subject(**{scope.partition(":")[0]: "t"}))
    assert hosts(named) == ["b.org"] and given(named) == (["TOKEN"], ["CAP_KILL"], 1)
    unnamed = host.load(*paths)
    assert hosts(unnamed) == ["b.org"] and given(unnamed) == ([], [], 0)
    assert paths[1] in unnamed.trusted  # no program may write it all the same


def given(loaded: Loaded) -> Any:
    """Return the variables, the kernel's capabilities and the number of leases that a policy gives."""
    assert loaded.policy is not None, loaded.detail
    keys = ("credentials.environment.allow", "credentials.capabilities.allow")
    return (*(list(loaded.policy.names(key) or ()) for key in keys), len(loaded.policy.leases or ()))


# --- the state, and the digest ----------------------------------------------------------------------------


def test_a_cascade_counts_as_enforced_when_one_document_states_a_rule(host: Host) -> None:
    silent = host.put("a.yaml", "budget: {window: 1d}\n")
    everything = host.put("b.yaml", 'tools: {"*": {allow: true}}\n')
    assert host.load(silent).state is PolicyState.UNCONFIGURED
    nothing = host.load(silent, host.put("c.yaml", "scope: team:t\ncapabilities: {deny: []}\n"))
    assert nothing.state is PolicyState.UNCONFIGURED
    assert nothing.detail.startswith(f"{silent}, {host.top}/c.yaml: the 2 policies together state no rule")
    assert host.load(everything).state is PolicyState.PERMISSIVE
    both = host.load(silent, everything)  # of which each may only narrow, so that the choice of a window is nobody's
    assert both.state is PolicyState.PERMISSIVE
    limited = host.put("d.yaml", "budget: {daily_limit_usd: 1}\n")
    assert host.load(limited, everything).state is PolicyState.ENFORCED
    assert host.load(everything, host.write("d.json", "*")).state is PolicyState.ENFORCED
    refused = host.load(everything, host.put("e.yaml", "tools: {x: {allow: false}}\n"))
    assert refused.state is PolicyState.ENFORCED


@pytest.fixture
def around(host: Host) -> Iterator[Surroundings]:
    yield Surroundings({}, str(host.top / "home"), str(host.top), str(host.top / "state"))


def test_the_digest_of_a_cascade_is_of_its_documents_outermost_first(host: Host, around: Surroundings) -> None:
    one = host.put("a.yaml", "# a comment\nscope: team:t\nnetwork: {allowlist: [a.org]}\n")
    same = host.put("b.json", '{"network": {"allowlist": ["a.org"]}, "scope": "team:t"}')
    other = host.put("c.yaml", "network: {allowlist: ['*']}\n")

    def digest(*paths: str) -> str:
        return stating.state_policy(request(policies=paths), around, str(host.top)).policy.digest

    team, everyone = '{"network":{"allowlist":["a.org"]},"scope":"team:t"}', '{"network":{"allowlist":["*"]}}'
    assert digest(one) == digest(same) == digest(one, one) == digest_bytes(team.encode())
    assert digest(one, other) == digest(other, same) == digest_bytes(f"[{everyone},{team}]".encode())
    assert digest(one, same) == digest_bytes(f"[{team},{team}]".encode())
    left_out = stating.state_policy(request(policies=(one, other), team_id="u"), around, str(host.top)).policy
    assert left_out.digest == digest(other) and left_out.left_out == (one,)
