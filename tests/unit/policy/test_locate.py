# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where a policy comes from, and the four states."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Dict, List

import pytest

from aasm.errors import PolicyError
from aasm.policy.document import inline, validate
from aasm.policy.load import Loaded, PolicyState, Subject, dimensions, judge, load as load_for
from aasm.policy.locate import Located, files, locate
from aasm.policy.places import Places
from aasm.policy.reader import read_document
from aasm.policy.values import Policy

RULES = "filesystem: {read: {allow: [/usr]}}\n"


class Host:
    """A home and an /etc that can be filled."""

    def __init__(self, folder: Path) -> None:
        self.home, self.etc = folder / "home", folder / "etc"
        self.user, self.system = self.home / ".aasm", self.etc / "aasm"
        self.home.mkdir()
        self.etc.mkdir()

    def locate(self, *options: str, **environ: str) -> Located:
        return locate(options, environ, str(self.home), str(self.etc))

    def write(self, path: Path, text: str = RULES) -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)


def load(located: Located) -> Loaded:
    """Load for a run that says nothing about itself."""
    return load_for(located, Places("/w", "/h", ("/usr",)), Subject())


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_the_order_of_places(host: Host) -> None:
    assert host.locate().paths == ()
    places = [host.user / "policy.yaml", host.user / "policies", host.system / "policy.yaml", host.system / "policies"]
    assert host.locate().seen == tuple(map(str, places))
    for place in reversed(places):
        place.mkdir(parents=True)
        found = host.locate()
        assert (found.paths, found.origin) == ((str(place),), "found")
    assert host.locate(AA_POLICY="v") == Located(("v",), "$AA_POLICY")
    assert host.locate("o", AA_POLICY="v") == Located(("o",), "--policy")
    assert host.locate("o", "", "o", AA_POLICY="v") == Located(("o", "", "o"), "--policy")


def test_what_is_named_is_exclusive_even_when_it_is_missing(host: Host) -> None:
    host.write(host.user / "policy.yaml")
    for found in (host.locate(str(host.home / "none")), host.locate(AA_POLICY=str(host.home / "none"))):
        loaded = load(found)
        assert (loaded.state, loaded.source) == (PolicyState.LOAD_FAILED, str(host.home / "none"))
        assert "No such file" in loaded.detail


def test_an_empty_variable_is_no_variable_and_an_empty_option_is_an_error(host: Host) -> None:
    path = host.write(host.user / "policy.yaml")
    assert host.locate(AA_POLICY="").paths == (path,)
    for found in (host.locate(""), host.locate(path, "")):
        loaded = load(found)
        assert (loaded.state, loaded.detail) == (
            PolicyState.LOAD_FAILED,
            "--policy: no file is named; name a policy file",
        )


def test_without_a_home_only_the_host_is_asked(host: Host) -> None:
    assert locate((), {}, "", str(host.etc)).seen == (f"{host.system}/policy.yaml", f"{host.system}/policies")


@pytest.mark.parametrize("kind", ["dangling link", "named pipe", "loop"])
def test_what_cannot_be_used_never_falls_through(host: Host, kind: str) -> None:
    host.write(host.system / "policy.yaml")
    host.user.mkdir()
    place = host.user / "policy.yaml"
    if kind == "named pipe":
        os.mkfifo(place)
    else:
        place.symlink_to("none" if kind == "dangling link" else "policy.yaml")
    loaded = load(host.locate())
    assert (loaded.state, loaded.source) == (PolicyState.LOAD_FAILED, str(place))


def test_a_folder_that_cannot_be_searched_counts_as_a_policy(host: Host) -> None:
    host.write(host.user / "policy.yaml")
    host.write(host.system / "policy.yaml")
    host.user.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        loaded = load(host.locate())
    finally:
        if root:
            os.seteuid(0)
        host.user.chmod(0o700)
    assert (loaded.state, loaded.source) == (PolicyState.LOAD_FAILED, str(host.user / "policy.yaml"))
    assert "Permission denied" in loaded.detail


def test_a_file_where_the_folder_should_be_holds_no_policy(host: Host) -> None:
    host.write(host.user)
    path = host.write(host.system / "policy.yaml")
    assert host.locate().paths == (path,)


def every_way(host: Host, folder: Path) -> List[Located]:
    """The ways to name a directory that is also the first place that is searched."""
    assert folder == host.user / "policies"
    return [host.locate(), host.locate(str(folder)), host.locate(AA_POLICY=str(folder))]


def test_a_directory_without_a_policy_is_a_failed_load_that_says_so(host: Host) -> None:
    folder = host.user / "policies"
    host.write(host.system / "policy.yaml")
    host.write(folder / ".hidden.yaml")
    host.write(folder / "notes.txt")
    host.write(folder / "p.yaml~")
    for found in every_way(host, folder):
        loaded = load(found)
        assert (loaded.state, loaded.source) == (PolicyState.LOAD_FAILED, str(folder))
        assert loaded.detail.startswith(f"{folder}: the directory holds no policy; put a file with ")
        assert all(suffix in loaded.detail for suffix in (".yaml", ".yml", ".json", ".toml"))


def test_a_directory_of_policies_is_all_of_its_policies_by_name(host: Host) -> None:
    folder = host.user / "policies"
    for name in ("c.json", "a.yaml", "b.yml", "d.toml"):
        host.write(folder / name)
    host.write(folder / ".hidden.yaml", "nonsense: 1\n")
    host.write(folder / "README", "nonsense: 1\n")
    every = tuple(f"{folder}/{name}" for name in ("a.yaml", "b.yml", "c.json", "d.toml"))
    for found in every_way(host, folder):
        assert files(found) == every


def test_the_policies_of_a_directory_count_together_and_one_that_is_bad_fails_all(host: Host) -> None:
    folder = host.user / "policies"
    host.write(folder / "a.yaml", "filesystem: {read: {allow: [/usr, /opt]}}\n")
    host.write(folder / "b.json", '{"filesystem": {"read": {"allow": ["/usr/lib", "/srv"]}}}')
    for found in every_way(host, folder):
        loaded = load(found)
        assert (loaded.state, loaded.error) == (PolicyState.ENFORCED, None) and loaded.policy is not None
        assert loaded.source == f"{folder}/a.yaml, {folder}/b.json"
        assert loaded.policy.names("filesystem.read.allow") == ("/usr/lib",)
        assert [document.text_name for document in loaded.documents] == [f"{folder}/a.yaml", f"{folder}/b.json"]
        assert loaded.trusted == (f"{folder}/a.yaml", f"{folder}/b.json", str(folder))
    host.write(folder / "z.yaml", "nonsense: 1\n")
    for found in every_way(host, folder):
        loaded = load(found)
        assert loaded.state is PolicyState.LOAD_FAILED and loaded.policy is None
        assert loaded.detail.startswith(f'{folder}/z.yaml:1:1: unknown key "nonsense"')


def test_a_directory_that_cannot_be_listed_is_a_failed_load(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = host.user / "policies"
    host.write(folder / "a.yaml")
    host.write(host.system / "policy.yaml")

    def refuse(path: str) -> List[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(os, "listdir", refuse)
    for found in every_way(host, folder):
        loaded = load(found)
        assert (loaded.state, loaded.source) == (PolicyState.LOAD_FAILED, str(folder))
        assert loaded.detail.startswith(f"{folder}: ") and "Permission denied" in loaded.detail


def test_the_four_states_have_texts_of_their_own(host: Host) -> None:
    outcomes = [
        load(host.locate(host.write(host.home / "enforced.yaml"))),
        load(host.locate(host.write(host.home / "permissive.yaml", 'tools: {"*": {allow: true}}\n'))),
        load(host.locate(host.write(host.home / "silent.yaml", "scope: global\n"))),
        load(host.locate()),
        load(host.locate(host.write(host.home / "broken.yaml", "a: *x\n"))),
    ]
    unconfigured, failed = PolicyState.UNCONFIGURED, PolicyState.LOAD_FAILED
    states = [PolicyState.ENFORCED, PolicyState.PERMISSIVE, unconfigured, unconfigured, failed]
    assert [loaded.state for loaded in outcomes] == states
    assert len({loaded.detail for loaded in outcomes}) == 5
    assert [loaded.error is None for loaded in outcomes] == [True, True, False, False, False]
    assert [state.value for state in PolicyState] == ["enforced", "permissive", "unconfigured", "load_failed"]


def test_what_is_loaded_comes_along(host: Host) -> None:
    path = host.write(host.user / "policy.yaml")
    loaded = load(host.locate())
    (document,) = loaded.documents
    assert loaded.policy is not None and loaded.error is None
    assert (loaded.source, loaded.policy.source, document.text_name) == (path, path, path)
    assert (loaded.trusted, loaded.left_out, loaded.narrowing) == ((path,), (), ())
    assert loaded.detail == "the policy states rules for filesystem"


def test_nothing_found_names_every_place_and_the_remedies(host: Host) -> None:
    loaded = load(host.locate())
    assert (loaded.source, loaded.policy, loaded.documents) == ("none", None, ())
    for word in (f"{host.user}/policy.yaml", f"{host.system}/policies", "--policy", "--write"):
        assert word in loaded.detail


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("a: *x\n", "p.yaml:1:4: aliases (*) are not read; write the value out, or the text in quotes"),
        ("netwrk: {}\n", 'p.yaml:1:1: unknown key "netwrk" in the policy; did you mean network?'),
        ("", "p.yaml:1:1: the document is empty; state at least one rule"),
    ],
)
def test_a_failed_load_carries_the_error_with_its_place(host: Host, text: str, detail: str) -> None:
    loaded = load(host.locate(host.write(host.home / "p.yaml", text)))
    assert loaded.state is PolicyState.LOAD_FAILED
    assert loaded.detail.startswith(f"{host.home}/{detail}")
    assert isinstance(loaded.error, PolicyError) and str(loaded.error) == loaded.detail


def judged(text: str) -> Loaded:
    return judge(validate(read_document(text.encode(), "p.yaml")))


ONE_RULE: Dict[str, str] = {
    "filesystem: {read: {allow: []}}": "filesystem",
    "filesystem: {write: {allow: [/a]}}": "filesystem",
    "network: {allowlist: []}": "network",
    "network: {allowlist: ['*']}": "network",
    "capabilities: {deny: [file_read]}": "capabilities",
    "capabilities: {allow: []}": "capabilities",
    "syscalls: {allow: []}": "syscalls",
    "tools: {a: {allow: true}}": "tools",
    "tools: {'*': {allow: false}}": "tools",
    "tools: {'*': {limit_per_hour: 1}}": "tools",
    "tools: {'*': {capabilities: []}}": "tools",
    "tools: {'*': {allow: true}, a: {allow: true}}": "tools",
    "filesystem: {execute: {allow: []}}": "filesystem",
    "network: {ports: [443]}": "network",
    "network: {bind: []}": "network",
    "ipc: {unix: {allow: []}}": "ipc",
    "credentials: {environment: {allow: []}}": "credentials",
    "credentials: {capabilities: {allow: [CAP_CHOWN]}}": "credentials",
    "resources: {max_pids: 1}": "resources",
}


@pytest.mark.parametrize("text", ONE_RULE)
def test_one_rule_in_any_dimension_is_enforced(text: str) -> None:
    loaded = judged(text)
    assert loaded.state is PolicyState.ENFORCED
    assert loaded.policy is not None and dimensions(loaded.policy) == (ONE_RULE[text],)


NO_RULE: List[str] = [
    "scope: global",
    "filesystem: {}",
    "filesystem: {read: {}, write: {}}",
    "network: {}",
    "capabilities: {}",
    "capabilities: {deny: []}",
    "syscalls: {}",
    "tools: {}",
    "ipc: {unix: {}}",
    "credentials: {environment: {}, capabilities: {}}",
    "resources: {}",
    "budget: {daily_limit_usd: 1}",
    "egress: {posture: not_required}",
    "authority: {leases: [{domain: ipc}]}",
    "apiVersion: agent-assembly/v1\nkind: Policy\nmetadata: {name: x}\nspec: {}",
]


@pytest.mark.parametrize("text", NO_RULE)
def test_a_policy_without_a_rule_configures_nothing(text: str) -> None:
    loaded = judged(text)
    assert loaded.state is PolicyState.UNCONFIGURED
    assert loaded.detail.startswith("p.yaml: the policy states no rule that a launch can act on; state ")


def test_permissive_is_every_tool_and_no_other_restriction() -> None:
    assert judged("tools: {'*': {allow: true}}").state is PolicyState.PERMISSIVE
    assert judged("tools: {'*': {}}\nnetwork: {}\ncapabilities: {deny: []}").state is PolicyState.PERMISSIVE
    assert judged("tools: {'*': {allow: true}}\nnetwork: {allowlist: []}").state is PolicyState.ENFORCED


def test_a_policy_on_the_command_line_is_judged_without_a_document() -> None:
    loaded = judge(inline([], ["/w"], False))
    assert (loaded.state, loaded.source, loaded.documents) == (PolicyState.ENFORCED, "command line", ())
    assert judge(Policy("x")).state is PolicyState.UNCONFIGURED


def test_of_a_directory_every_name_that_says_policy_counts_in_whatever_case(tmp_path: Path) -> None:
    for name in ("a.yaml", "B.YAML", "c.Json", "d.toml", ".e.yaml", "f.conf", "g.yaml~"):
        (tmp_path / name).write_text("{}")
    found = files(Located((str(tmp_path),), "--policy"))
    assert sorted(os.path.basename(path) for path in found) == ["B.YAML", "a.yaml", "c.Json", "d.toml"]


def test_more_policies_than_anybody_means_are_refused(tmp_path: Path) -> None:
    for number in range(501):
        (tmp_path / f"{number}.yaml").write_text("{}")
    with pytest.raises(PolicyError) as caught:
        files(Located((str(tmp_path),), "--policy"))
    remedy = "put several into one file, or name another directory"
    assert str(caught.value) == f"{tmp_path}: 501 policies are named, and 500 is the most of one run; {remedy}"
    (tmp_path / "7.yaml").unlink()
    assert len(files(Located((str(tmp_path),), "--policy"))) == 500
