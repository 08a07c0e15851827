# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The words of an explanation: by which statement at which line, and what to add. Nothing is launched.

That the verdict is the kernel's is held by tests/property/test_explain_*.py.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Callable, List

import pytest
from support.runs import request

from aasm import answering, run
from aasm.answering import Answer
from aasm.governance.identity import new_identity
from aasm.model.question import Action, Question

pytestmark = pytest.mark.landlock

IDENTITY = new_identity(None, None, (), dry_run=True)
FILES = """\
filesystem:
  read:
    allow:
      - ${workdir}
      - {top}/out/link
  write:
    allow:
      - ${workdir}/made
"""


def no_modes(question: Question) -> str:
    """Stand in for file modes that refuse nothing."""
    return ""


class Place:
    """A workspace with a few files, and questions about it."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        for name in ("ws/made", "ws/dir", "out/dir", "away", "home", "tmp"):
            (self.top / name).mkdir(parents=True)
        for name in ("ws/file", "ws/made/file", "out/file", "out/dir/file"):
            (self.top / name).write_text("x")
            (self.top / name).chmod(0o755)
        (self.top / "out/link").symlink_to(self.top / "out/dir")

    def resolution(self, *texts: str) -> run.Resolution:
        """Return the run that the policies p0.yaml, p1.yaml... would be."""
        paths = [self.top / f"p{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text.replace("{top}", str(self.top)))
        asked = request(policies=tuple(map(str, paths)), workdir=str(self.top / "ws"))
        return run.preview(asked, IDENTITY, by_hand=False)

    def ask(
        self, action: Action, name: str, *texts: str, modes: Callable[[Question], str] = no_modes, port: int = 0
    ) -> Answer:
        """Return the answer about a path below the place, or about a host or a call."""
        found = self.resolution(*texts)
        if action in (Action.CONNECT, Action.SYSCALL):
            return answering.answer(found, found.policy, Question(action, name, port=port), modes)
        path = answering.absolute(name, str(self.top))
        return answering.answer(found, found.policy, Question(action, path, answering.target(path)), modes)

    def at(self, line: int, column: int, number: int = 0) -> str:
        """Return a place in a policy, as explanations write it."""
        return f"{self.top}/p{number}.yaml:{line}:{column}"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    monkeypatch.setattr("aasm.supervise.begin.foresee", lambda confined: None)  # the streams of the tests are their own
    for name, value in (("HOME", "home"), ("TMPDIR", "tmp"), ("AASM_STATE_DIR", "state")):
        monkeypatch.setenv(name, str(made.top / value))
    monkeypatch.chdir(made.top / "ws")
    return made


# --- what allows ------------------------------------------------------------------------------------


def test_the_entry_that_covers_is_named_as_it_is_written_with_its_line(place: Place) -> None:
    found = place.ask(Action.READ, "ws/file", FILES)
    spelled = f"filesystem.read.allow: ${{workdir}} ({place.top}/ws) at {place.at(4, 9)}"
    assert found == Answer("read", f"{place.top}/ws/file", True, "", (spelled,), "")
    found = place.ask(Action.WRITE, "ws/made/file", FILES)
    spelled = f"filesystem.write.allow: ${{workdir}}/made ({place.top}/ws/made) at {place.at(8, 9)}"
    assert (found.allowed, found.by) == (True, (spelled,))


def test_where_a_link_leads_is_said_and_the_entry_through_it_is_found(place: Place) -> None:
    found = place.ask(Action.READ, "out/link/file", FILES)
    assert (found.allowed, found.why) == (True, f"it leads to {place.top}/out/dir/file")
    assert found.by == (f"filesystem.read.allow: {place.top}/out/link at {place.at(5, 9)}",)


def test_every_statement_that_covers_is_named_once(place: Place) -> None:
    text = "filesystem:\n  read:\n    allow: ['${workdir}', '${workdir}/file', '{top}/ws/file']\n"
    found = place.ask(Action.READ, "ws/file", text)
    columns = [found.by[at].rpartition(":")[2] for at in range(len(found.by))]
    assert len(found.by) == 3 and columns == ["13", "27", "46"] and len(set(found.by)) == 3


def test_a_device_that_every_program_has_is_given_by_the_backend(place: Place) -> None:
    found = place.ask(Action.WRITE, "/dev/null", FILES)
    assert (found.allowed, found.by) == (True, ("/dev/null (every program)",))


def test_what_is_not_restricted_is_said_to_be_so(place: Place) -> None:
    text = "filesystem: {write: {allow: []}}\n"
    for action, domain in ((Action.READ, "filesystem_read"), (Action.EXECUTE, "filesystem_read")):
        found = place.ask(action, "out/file", text)
        assert (found.allowed, found.by) == (True, ())
        assert found.why == f"the policy restricts no such action ({domain})"
    found = place.ask(Action.CONNECT, "example.org", text, port=443)
    assert (found.allowed, found.subject) == (True, "example.org:443")
    assert found.why == "the policy restricts no such action (network_egress)"


def test_executing_by_a_list_of_its_own_names_both_lists(place: Place) -> None:
    text = "filesystem:\n  read:\n    allow: ['${workdir}']\n  execute:\n    allow: ['{top}/ws/file']\n"
    found = place.ask(Action.EXECUTE, "ws/file", text)
    assert found.allowed and set(found.by) == {
        f"filesystem.execute.allow: {place.top}/ws/file at {place.at(5, 13)}",
        f"filesystem.read.allow: ${{workdir}} ({place.top}/ws) at {place.at(3, 13)}",
    }


def test_of_a_cascade_both_statements_are_named(place: Place) -> None:
    first = "filesystem:\n  read:\n    allow: ['{top}']\n"
    second = "scope: 'team:red'\nfilesystem:\n  read:\n    allow:\n      - '{top}/out'\n"
    found = place.ask(Action.READ, "out/file", first, second)
    assert found.allowed and len(found.by) == 1
    assert place.at(3, 13) in found.by[0] and place.at(5, 9, 1) in found.by[0]


# --- what refuses -----------------------------------------------------------------------------------


def test_a_refusal_names_the_list_and_the_entry_to_add(place: Place) -> None:
    for action, key, where in ((Action.READ, "read", place.at(4, 7)), (Action.WRITE, "write", place.at(8, 7))):
        found = place.ask(action, "out/file", FILES)
        name = f"filesystem.{key}.allow"
        assert (found.allowed, found.why) == (False, f"no entry of {name} covers it")
        assert found.by == (f"{name} at {where}",)
        assert found.add == f'"{place.top}/out/file" to {name} ({where})'


def test_for_what_is_missing_the_directory_above_is_to_be_added(place: Place) -> None:
    for action, key, where in ((Action.READ, "read", place.at(4, 7)), (Action.WRITE, "write", place.at(8, 7))):
        found = place.ask(action, "away/new/newer", FILES)
        assert found.add == f'"{place.top}/away" to filesystem.{key}.allow ({where})'


def test_nothing_is_to_be_added_that_a_launch_would_be_refused_for(place: Place) -> None:
    # out/link, which another entry leads through, could then have been made by the program; the state is ours
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
    (place.top / "out/b\udcff").write_text("x")
    assert place.ask(Action.READ, "out/b\udcff", FILES).add == ""  # no policy can name it


def test_without_a_list_of_its_own_executing_follows_reading(place: Place) -> None:
    found = place.ask(Action.EXECUTE, "out/file", FILES)
    assert found.why == "no entry of filesystem.read.allow covers it"
    assert found.add == f'"{place.top}/out/file" to filesystem.read.allow ({place.at(4, 7)})'


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
    written = place.ask(Action.WRITE, "ws/made/file", text)
    assert (written.allowed, written.why) == (False, "filesystem_write is denied as a whole")
    connected = place.ask(Action.CONNECT, "example.org", text, port=443)
    assert (connected.allowed, connected.why) == (False, "network_egress is denied as a whole")
    assert (written.by, written.add, connected.by, connected.add) == (by, "", by, "")
    assert place.ask(Action.READ, "ws/file", text).allowed


def test_an_allow_list_of_capabilities_that_leaves_one_out_is_named(place: Place) -> None:
    found = place.ask(Action.WRITE, "ws/made/file", f"{FILES}capabilities:\n  allow: [file_read, terminal_exec]\n")
    assert (found.allowed, found.by) == (False, (f"capabilities.allow at {place.at(10, 10)}",))


def test_the_network_is_refused_by_its_list(place: Place) -> None:
    found = place.ask(Action.CONNECT, "example.org", "network:\n  allowlist: []\n", port=443)
    assert (found.allowed, found.by, found.add) == (False, (f"network.allowlist at {place.at(2, 14)}",), "")
    assert found.why == "the filter opens no internet socket"


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


# --- nothing would start, and file modes ------------------------------------------------------------


@pytest.mark.parametrize(
    "text, says",
    [
        ("filesystem: {read: {allow: ['{top}/nowhere']}}\n", "No such file or directory"),
        ("network: {allowlist: [example.org]}\n", "aasm-native"),
        ("filesystem: {red: 1}\n", "red"),
    ],
)
def test_where_nothing_would_start_every_action_is_refused_for_that(place: Place, text: str, says: str) -> None:
    for action, name in ((Action.READ, "ws/file"), (Action.SYSCALL, "read"), (Action.UNIX, "ws/file")):
        found = place.ask(action, name, text)
        assert (found.allowed, found.add) == (False, "")
        assert found.why.startswith("nothing would start: ") and says in found.why and "\n" not in found.why


def test_a_listed_host_is_named_even_though_no_launch_can_hold_the_list(place: Place) -> None:
    text = "network:\n  allowlist:\n    - example.net\n    - '*.example.org'\n    - 'example.com:80'\n"
    for host, port, entry in (
        ("api.example.org", 443, f"network.allowlist lists *.example.org at {place.at(4, 7)}"),
        ("example.com", 80, f"network.allowlist lists example.com:80 at {place.at(5, 7)}"),
        ("example.com", 81, ""),
        ("other.example", 443, ""),
    ):
        found = place.ask(Action.CONNECT, host, text, port=port)
        assert (found.allowed, found.by) == (False, (entry,) if entry else ())


def test_what_the_modes_refuse_is_told_from_what_the_boundary_refuses(place: Place) -> None:
    def closed(question: Question) -> str:
        return "of somebody else"

    found = place.ask(Action.READ, "ws/file", FILES, modes=closed)
    assert found[2:] == (False, "the boundary allows it, and yet: of somebody else", (), "")
    both = place.ask(Action.READ, "out/file", FILES, modes=closed)
    assert (both.allowed, both.add) == (False, "")  # an entry alone would not help
    assert both.why.startswith("no entry of filesystem.read.allow covers it") and "of somebody else" in both.why


def _unused(question: Question) -> str:
    raise AssertionError("nothing is asked of the modes")


@pytest.mark.parametrize("action, name", [(Action.CONNECT, "example.org"), (Action.SYSCALL, "read")])
def test_what_is_no_path_has_no_modes(place: Place, action: Action, name: str) -> None:
    assert place.ask(action, name, FILES, modes=_unused, port=1).allowed
