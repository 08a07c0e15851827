# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy diff`: lines, JSON and exit codes; on this host, in this directory, over directories of policies."""

from __future__ import annotations

import json
from typing import List

import pytest
from support.launch import Lab, User


@pytest.fixture
def user() -> User:
    """Whoever runs the tests: that makes no difference here."""
    return User("self", None, None)


def diff(lab: Lab, first: str, second: str, *more: str, code: int = 1) -> List[str]:
    """Return the lines about two documents."""
    names = [str(lab.file(lab.outside / name, text)) for name, text in (("a.yaml", first), ("b.yaml", second))]
    done = lab.aasm("policy", "diff", *more, *names)
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout.replace(f"{lab.outside}/", "").splitlines()


def test_each_difference_is_a_line_with_its_side_and_its_origin(lab: Lab) -> None:
    first = "filesystem: {read: {allow: [/usr, /srv]}}\nresources: {max_open_files: 5}\n"
    second = "filesystem: {read: {allow: [/usr/bin, /opt]}}\nresources: {max_open_files: 9}\n"
    assert diff(lab, first, second) == [
        "- filesystem.read.allow: /usr (a.yaml:1:29)",
        "- filesystem.read.allow: /srv (a.yaml:1:35)",
        "+ filesystem.read.allow: /opt (b.yaml:1:39)",
        "+ resources.max_open_files: 9 instead of 5 (b.yaml:2:29 and a.yaml:2:29)",
    ]


def test_capabilities_are_told_by_what_is_refused_in_effect(lab: Lab) -> None:
    first = "capabilities: {allow: []}\n"
    second = "capabilities: {deny: [file_read, file_write, network_outbound, terminal_exec]}\n"
    assert diff(lab, first, second) == [
        f"+ capabilities: {name}, which the other refuses (a.yaml:1:23)"
        for name in ("file_delete", "network_inbound", "every mcp_tool", "every model")
    ]
    rest = second.replace("]", ", file_delete, network_inbound]")
    done = json.loads("".join(diff(lab, rest, first, "--json")))
    assert done["schema"] == "aasm.policy.diff/1" and done["differences"] == [
        {"by": "first", "key": "capabilities", "what": f"every {kind}, which the other refuses",
         "origins": ["b.yaml:1:23"]}
        for kind in ("mcp_tool", "model")
    ]  # fmt: skip


def test_a_lease_is_told_by_what_its_selectors_cover(lab: Lab) -> None:
    first, second = (
        f"network: {{allowlist: []}}\nauthority: {{leases: [{{domain: filesystem_read, scope: [{path}]}}]}}\n"
        for path in ("/b", "/b/c")
    )
    assert diff(lab, first, second) == ["- authority.leases for filesystem_read: scope: /b (a.yaml:2:55)"]


def test_what_permits_the_same_is_said_so(lab: Lab) -> None:
    first = "# a comment\nfilesystem: {write: {allow: ['${workdir}']}}\n"
    envelope = "apiVersion: agent-assembly/v1\nkind: Policy\nspec:\n  filesystem:\n    write:\n      allow:\n"
    second = f"{envelope}        - {lab.workspace}/./\n        - {lab.workspace}/sub\n"
    assert diff(lab, first, second, code=0) == ["both permit the same"]
    assert diff(lab, first, second, "--workdir", str(lab.home)) == [
        f"- filesystem.write.allow: {lab.home} (a.yaml:2:30)",
        f"+ filesystem.write.allow: {lab.workspace}/./, which leads to {lab.workspace} (b.yaml:7:11)",
        f"+ filesystem.write.allow: {lab.workspace}/sub (b.yaml:8:11)",
    ]


def test_two_spellings_of_one_place_are_the_same(lab: Lab) -> None:
    (lab.top / "alias").symlink_to(lab.home)
    first, second = (f"filesystem: {{write: {{allow: [{lab.top}/{name}]}}}}\n" for name in ("alias", "home"))
    assert diff(lab, first, second, code=0) == ["both permit the same"]
    assert diff(lab, second, first, code=0) == ["both permit the same"]


def test_directories_are_cascades_and_their_scopes_no_difference(lab: Lab) -> None:
    folder = lab.directory("policies")
    lab.file(folder / "a.yaml", "filesystem: {read: {allow: [/usr, /srv]}}\n")
    lab.file(folder / "b.yaml", "scope: team:x\nfilesystem: {read: {allow: [/usr]}}\n")
    single = lab.file(lab.outside / "p.yaml", "scope: team:y\nfilesystem: {read: {allow: [/usr]}}\n")
    done = lab.aasm("policy", "diff", str(folder), str(single))
    assert (done.returncode, done.stdout, done.stderr) == (0, "both permit the same\n", "")
    other = lab.file(lab.outside / "q.yaml", "filesystem: {read: {allow: [/usr]}}\n")
    done = lab.aasm("policy", "diff", str(single), str(other))
    assert done.returncode == 1
    assert done.stdout == f"- scope: team:y ({single}:1:8)\n+ scope: global\n"


def test_json_says_the_same(lab: Lab) -> None:
    (lab.outside / "a.yaml").write_text("network: {allowlist: []}\n")
    (lab.outside / "b.yaml").write_text("network: {bind: []}\n")
    names = [str(lab.outside / name) for name in ("a.yaml", "b.yaml")]
    done = lab.aasm("policy", "diff", "--json", *names)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {
        "schema": "aasm.policy.diff/1",
        "first": names[0],
        "second": names[1],
        "same": False,
        "differences": [
            {
                "by": "second",
                "key": "network.allowlist",
                "what": "everything, since there is no list",
                "origins": [f"{names[0]}:1:22"],
            },
            {
                "by": "first",
                "key": "network.bind",
                "what": "everything, since there is no list",
                "origins": [f"{names[1]}:1:17"],
            },
        ],
    }
    done = lab.aasm("policy", "diff", "--json", names[0], names[0])
    assert done.returncode == 0 and json.loads(done.stdout)["same"] is True


@pytest.mark.parametrize("text", [None, "a: 1\n", "a: [\n", "budget: {daily_limit_usd: 1}\n"])
def test_a_policy_that_cannot_be_used_is_one_line_and_2_not_1(lab: Lab, text: str | None) -> None:
    good, bad = lab.file(lab.outside / "good.yaml", "network: {allowlist: []}\n"), lab.outside / "bad.yaml"
    if text is not None:
        lab.file(bad, text)
    for places in ((good, bad), (bad, good), (bad, bad)):
        done = lab.aasm("policy", "diff", *map(str, places))
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {bad}") and done.stderr.count("\n") == 1


def test_nothing_in_a_policy_or_its_name_can_end_a_line(lab: Lab) -> None:
    name = lab.outside / "a\n\x1b.yaml"
    lab.file(name, 'capabilities: {deny: ["model:x\\n+ y\\x1b"]}\n')
    other = lab.file(lab.outside / "b.yaml", "capabilities: {deny: [file_delete]}\n")
    done = lab.aasm("policy", "diff", str(name), str(other))
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 2
    assert all(line.isprintable() for line in done.stdout.splitlines())
