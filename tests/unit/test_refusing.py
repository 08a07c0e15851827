# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The words of a refusal: which statement refuses, and what to add. Nothing is launched.

That a proposal is enough, and no wider than it must be, is held by tests/property/test_explain_adds.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import List

import pytest
from support.answered import FILES, Place, no_modes, settled

from aasm import answering
from aasm.model.question import Action, Question

pytestmark = pytest.mark.landlock


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return settled(tmp_path, monkeypatch)


# --- what refuses -----------------------------------------------------------------------------------


def test_a_refusal_names_the_list_and_the_entry_to_add(place: Place) -> None:
    for action, key, where in ((Action.READ, "read", place.at(4, 7)), (Action.WRITE, "write", place.at(8, 7))):
        found = place.ask(action, "out/file", FILES)
        name = f"filesystem.{key}.allow"
        assert (found.allowed, found.why) == (False, f"no entry of {name} covers it")
        assert found.by == (f"{name} at {where}",)
        assert found.add == f'"{place.top}/out/file" to {name} ({where})'


def test_to_read_or_execute_what_does_not_exist_nothing_is_to_be_added(place: Place) -> None:
    for action in (Action.READ, Action.EXECUTE):
        for name in ("away/new", "away/new/newer", "/nope/x"):
            found = place.ask(action, name, FILES)
            assert (found.allowed, found.add, found.by) == (False, "", (f"filesystem.read.allow at {place.at(4, 7)}",))
            assert found.why == f"no entry of filesystem.read.allow covers it; {ONLY_WHAT_EXISTS}"


ONLY_WHAT_EXISTS = "it does not exist, and an entry counts only for what exists when a launch begins"


def test_the_optional_entry_for_what_does_not_exist_is_named(place: Place) -> None:
    text = FILES.replace("  write:", "      - {path: '{top}/away/new', optional: true}\n  write:")
    found = place.ask(Action.READ, "away/new", text)
    assert found.why.endswith(f"{ONLY_WHAT_EXISTS}; the optional entry for it is at {place.at(6, 16)}")
    assert place.ask(Action.READ, "away/newer", text).why.endswith(ONLY_WHAT_EXISTS)
    assert place.ask(Action.WRITE, "away/new", text).add  # that entry is of another list


def test_to_make_a_file_its_directory_is_to_be_added_and_that_it_is_more_is_said(place: Place) -> None:
    found = place.ask(Action.WRITE, "away/new", FILES)
    assert found.add == f'"{place.top}/away" to filesystem.write.allow ({place.at(8, 7)})'
    assert found.why.endswith(f"making it takes the directory {place.top}/away, which is more than the file")
    found = place.ask(Action.WRITE, "away/new/newer", FILES)
    assert found.add == "" and found.why.endswith("make the directory")


def test_neither_the_root_nor_the_home_nor_what_is_above_it_is_to_be_added_to_make_a_file(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.top / "link").symlink_to(place.top / "away")
    for home, name in (("away", "away/new"), ("link", "away/new"), ("away/none", "away/new"), ("", "/new")):
        monkeypatch.setenv("HOME", str(place.top / home) if home else "/")
        found = place.ask(Action.WRITE, name, "filesystem: {write: {allow: ['${workdir}']}}\n")
        wide = str(place.top / "away") if home else "/"
        assert (found.allowed, found.add) == (False, "")
        assert found.why.endswith(f"making it takes {wide}, and no entry as wide as that is proposed")


def test_what_no_policy_can_spell_is_not_to_be_added(place: Place) -> None:
    for name, says in (("out/a$b", "a $ in the path"), ("out/b\udcff", "it is no UTF-8")):
        (place.top / name).write_text("x")
        found = place.ask(Action.READ, name, FILES)
        assert (found.allowed, found.add) == (False, "")
        assert "; no policy can name it: " in found.why and says in found.why


def test_nothing_is_to_be_added_that_a_launch_would_be_refused_for(place: Place) -> None:
    # out/link, which another entry leads through, could then have been made by the program; the state is ours
    (place.top / "state").mkdir()
    (place.top / "state/ledger.jsonl").write_text("")
    for name in ("out/new", "state/ledger.jsonl", "/usr/new", "/"):
        found = place.ask(Action.WRITE, name, FILES)
        assert (found.allowed, found.add) == (False, ""), name
        words = "no entry of filesystem.write.allow covers it; no launch would take an entry for it: "
        assert found.why.startswith(words)


def test_what_is_to_be_added_can_be_pasted(place: Place) -> None:
    (place.top / 'out/a "b"\n\\c').write_text("x")
    found = place.ask(Action.READ, 'out/a "b"\n\\c', FILES)
    path, end = json.JSONDecoder().raw_decode(found.add)
    assert path == f'{place.top}/out/a "b"\n\\c' and found.add[end:].startswith(" to filesystem.read.allow (")
    text = FILES.replace("  write:", f"      - {found.add[:end]}\n  write:")
    assert place.ask(Action.READ, path, text).allowed


def test_without_a_list_of_its_own_executing_follows_reading(place: Place) -> None:
    found = place.ask(Action.EXECUTE, "out/file", FILES)
    assert found.why == "no entry of filesystem.read.allow covers it"
    assert found.add == f'"{place.top}/out/file" to filesystem.read.allow ({place.at(4, 7)})'


def test_of_several_documents_only_those_that_lack_the_path_are_named(place: Place) -> None:
    first = "filesystem:\n  read:\n    allow: ['${workdir}', '{top}/out']\n"
    second = "scope: 'team:red'\nfilesystem:\n  read:\n    allow: ['${workdir}']\n"
    third = "scope: 'agent:a'\nfilesystem:\n  write:\n    allow: []\n"
    for texts, at in (((first, second), 1), ((second, first), 0), ((first, second, third), 1)):
        where = place.at(4, 12, at)
        found = place.ask(Action.READ, "out/file", *texts)
        assert found.by == (f"filesystem.read.allow at {where}",)
        assert found.add == f'"{place.top}/out/file" to filesystem.read.allow ({where})'
    both = place.ask(Action.READ, "away", first, second)
    assert both.by == (f"filesystem.read.allow at {place.at(3, 12)} and {place.at(4, 12, 1)}",)
    calls = ("syscalls: {allow: [read, socket]}\n", "syscalls: {allow: [read, connect]}\n")
    assert place.ask(Action.SYSCALL, "socket", *calls).add == f"socket to syscalls.allow ({place.at(1, 19, 1)})"


def test_where_nobody_knows_the_documents_all_are_named_and_that_is_said(place: Place) -> None:
    texts = ("filesystem: {read: {allow: ['{top}/out']}}\n", "filesystem: {read: {allow: ['${workdir}']}}\n")
    found, path = place.resolution(*texts), f"{place.top}/out/file"
    told = answering.answer(found, found.policy, Question(Action.READ, path, answering.target(path)), no_modes)
    assert place.at(1, 28) in told.add and place.at(1, 28, 1) in told.add
    assert told.why.endswith("; every document that states filesystem.read.allow must cover it")


LISTS = "filesystem:\n  read:\n    allow: [{read}]\n  execute:\n    allow: [{execute}]\n"


@pytest.mark.parametrize(
    "read, execute, lacking",
    [
        ("'${workdir}'", "'{top}/out'", ["execute"]),
        ("'{top}/out'", "'${workdir}'", ["read"]),
        ("'{top}/out'", "'{top}/out'", ["execute", "read"]),
    ],
)
def test_to_execute_a_path_must_be_in_both_lists(place: Place, read: str, execute: str, lacking: List[str]) -> None:
    text = LISTS.replace("{read}", read).replace("{execute}", execute)
    found = place.ask(Action.EXECUTE, "ws/file", text)
    lines = {"read": 3, "execute": 5}
    lists = [f"filesystem.{verb}.allow ({place.at(lines[verb], 12)})" for verb in lacking]
    assert not found.allowed and found.add == f'"{place.top}/ws/file" to {" and to ".join(lists)}'
    assert found.why == f"no entry of {' and none of '.join(item.split(' ')[0] for item in lists)} covers it"


def test_a_domain_that_is_denied_as_a_whole_has_nothing_to_add(place: Place) -> None:
    text = f"{FILES}capabilities:\n  deny: [file_write, network_outbound]\n"
    by = (f"capabilities.deny at {place.at(10, 9)}",)
    only = "{} is denied as a whole; only taking {} out of capabilities.deny would open it"
    written = place.ask(Action.WRITE, "ws/made/file", text)
    assert (written.allowed, written.why) == (False, only.format("filesystem_write", "file_write"))
    connected = place.ask(Action.CONNECT, "example.org", text, port=443)
    assert (connected.allowed, connected.why) == (False, only.format("network_egress", "network_outbound"))
    assert (written.by, written.add, connected.by, connected.add) == (by, "", by, "")
    assert place.ask(Action.READ, "ws/file", text).allowed


def test_an_allow_list_of_capabilities_that_leaves_one_out_is_named(place: Place) -> None:
    found = place.ask(Action.WRITE, "ws/made/file", f"{FILES}capabilities:\n  allow: [file_read, terminal_exec]\n")
    assert (found.allowed, found.by) == (False, (f"capabilities.allow at {place.at(10, 10)}",))
    assert found.why.endswith("; only adding file_write to capabilities.allow would open it")


HOSTS, PORTS = "  allowlist: []\n", "  ports: []\n"
BOTH = "network.allowlist and network.ports"


@pytest.mark.parametrize(
    "lists, by, out",
    [
        (HOSTS, ["network.allowlist at {2:14}"], "network.allowlist"),
        (PORTS, ["network.ports at {2:10}"], "network.ports"),
        (HOSTS + PORTS, ["network.allowlist at {2:14}", "network.ports at {3:10}"], BOTH),
        ("  allowlist: [example.org]\n" + PORTS, ["network.ports at {3:10}"], BOTH),
        (
            "  allowlist: ['a.example:80']\n  ports: [443]\n",
            ["network.allowlist at {2:14}", "network.ports at {3:10}"],
            BOTH,
        ),
    ],
)
def test_the_network_is_refused_by_the_lists_that_leave_no_destination(
    place: Place, lists: str, by: List[str], out: str
) -> None:
    found = place.ask(Action.CONNECT, "example.org", f"network:\n{lists}", port=443)
    expected = tuple(item.replace("{", f"{place.top}/p0.yaml:").replace("}", "") for item in by)
    assert (found.allowed, found.by, found.add) == (False, expected, "")
    assert found.why == (
        f"the filter opens no internet socket; no entry would help in this release, only taking {out} out"
    )


def test_a_list_of_calls_without_those_for_a_socket_is_named_with_what_to_add(place: Place) -> None:
    lacking = {"read": "socket and connect", "connect": "socket", "sendto": "socket", "socket": "connect"}
    for listed, calls in lacking.items():
        text = f"syscalls:\n  allow: [{listed}]\n"
        found = place.ask(Action.CONNECT, "example.org", text, port=443)
        assert (found.allowed, found.by) == (False, (f"syscalls.allow at {place.at(2, 10)}",))
        assert found.add == f"{calls} to syscalls.allow ({place.at(2, 10)})"
        more = text.replace("]", f", {calls.replace(' and ', ', ')}]")
        assert place.ask(Action.CONNECT, "example.org", more, port=443).allowed
    both = place.ask(Action.CONNECT, "example.org", "network: {ports: []}\nsyscalls: {allow: [read]}\n", port=443)
    assert both.add == "" and both.by == (f"network.ports at {place.at(1, 18)}", f"syscalls.allow at {place.at(2, 19)}")


def test_by_which_call_a_destination_is_reached_without_connect_is_said(place: Place) -> None:
    found = place.ask(Action.CONNECT, "::1", "syscalls:\n  allow: [socket, sendto, sendmmsg]\n", port=443)
    assert (found.allowed, found.subject) == (True, "[::1]:443")
    assert found.why == "without connect, by sendto or sendmmsg (datagrams, MSG_FASTOPEN)"
    columns = {"sendto": 19, "sendmmsg": 27}
    assert found.by == tuple(f"syscalls.allow: {name} at {place.at(2, at)}" for name, at in columns.items())


def test_a_unix_socket_is_refused_whatever_the_policy_says(place: Place) -> None:
    without = place.ask(Action.UNIX, "ws/file", FILES)
    assert (without.allowed, without.by, without.add) == (False, (), "")
    stated = place.ask(Action.UNIX, "ws/file", f"{FILES}ipc:\n  unix:\n    allow: []\n")
    assert stated.by == (f"ipc.unix.allow at {place.at(11, 12)}",)
    assert without.why == stated.why == "the filter opens no unix socket, whatever the policy says"


# --- calls ------------------------------------------------------------------------------------------

CALLS = "syscalls:\n  allow:\n    - read\n    - '@memory'\n"


@pytest.mark.parametrize(
    "name, by", [("read", "syscalls.allow: read at {3:7}"), ("mmap", "syscalls.allow: @memory at {4:7}")]
)
def test_a_call_is_allowed_by_its_name_or_its_group(place: Place, name: str, by: str) -> None:
    line, column = (int(part) for part in by[by.index("{") + 1 : -1].split(":"))
    found = place.ask(Action.SYSCALL, name, CALLS)
    assert (found.allowed, found.by) == (True, (by[: by.index("{")] + place.at(line, column),))


def test_a_call_that_loading_a_program_takes_is_given_by_the_backend(place: Place) -> None:
    found = place.ask(Action.SYSCALL, "execve", CALLS)
    assert (found.allowed, found.by) == (True, ("what loading a program takes, which the backend adds",))


def test_no_call_is_proposed_that_another_statement_takes_away_as_well(place: Place) -> None:
    text = f"{CALLS}capabilities:\n  deny: [network_outbound, terminal_exec]\n"
    for name in ("socket", "fork"):
        found = place.ask(Action.SYSCALL, name, text)
        assert (found.allowed, found.add) == (False, "") and "another statement takes it away as well" in found.why
        assert any(line.startswith("capabilities.deny at ") for line in found.by)
    assert place.ask(Action.SYSCALL, "mkdirat", text).add


def test_a_call_that_is_not_listed_can_be_added(place: Place) -> None:
    found = place.ask(Action.SYSCALL, "mkdirat", CALLS)
    assert (found.allowed, found.by) == (False, (f"syscalls.allow at {place.at(3, 5)}",))
    assert found.add == f"mkdirat to syscalls.allow ({place.at(3, 5)})"
    assert found.why == "mkdirat is not among the system calls that are allowed (it is answered with EPERM)"


def test_a_call_of_the_floor_is_refused_in_every_boundary(place: Place) -> None:
    for text in (CALLS, FILES):
        found = place.ask(Action.SYSCALL, "mount", text)
        assert (found.allowed, found.by, found.add) == (False, (), "")
        assert found.why == "it is answered with EPERM in every boundary, whatever a policy says"


def test_a_call_that_another_statement_refuses_names_that_one(place: Place) -> None:
    text = f"{CALLS}    - socket\nnetwork:\n  allowlist: []\n"
    found = place.ask(Action.SYSCALL, "socket", text)
    assert (found.allowed, found.add) == (False, "")
    assert found.by == (f"network.allowlist at {place.at(7, 14)}",) and "EAFNOSUPPORT" in found.why
    new = place.ask(Action.SYSCALL, "vfork", f"{FILES}capabilities:\n  deny: [agent_spawn]\n")
    assert (new.allowed, new.by) == (False, (f"capabilities.deny at {place.at(10, 9)}",))
