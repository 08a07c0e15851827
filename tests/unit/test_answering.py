# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The words of an explanation: by which statement at which line, and what to add. Nothing is launched.

That the verdict is the kernel's is held by tests/property/test_explain_*.py.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.answered import FILES, Place, no_modes, settled, unused

from aasm import answering
from aasm.answering import Answer
from aasm.model.question import Action, Question

pytestmark = pytest.mark.landlock


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return settled(tmp_path, monkeypatch)


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


@pytest.mark.parametrize("action, name", [(Action.CONNECT, "example.org"), (Action.SYSCALL, "read")])
def test_what_is_no_path_has_no_modes(place: Place, action: Action, name: str) -> None:
    assert place.ask(action, name, FILES, modes=unused, port=1).allowed


# --- what is not known --------------------------------------------------------------------------------

NOT_KNOWN = "not known: it leads through "


@pytest.mark.parametrize(
    "name",
    ["/proc/self/exe", "/proc/self/status", "/proc/thread-self", "/dev/fd/0", "/dev/stdin", "/proc/self/cwd/file",
     "/proc/1/root/etc/passwd", "/proc/self/fd/0", "/proc/mounts", "ws/stdin", "/proc/self/fd/none"],
)  # fmt: skip
def test_what_is_another_thing_for_each_process_is_not_known(place: Place, name: str) -> None:
    (place.top / "ws/stdin").symlink_to("/dev/stdin")
    for action in (Action.READ, Action.WRITE, Action.EXECUTE):
        for text in (FILES, "filesystem: {write: {allow: ['${workdir}']}}\n"):
            found = place.ask(action, name, text, modes=unused)
            assert (found.allowed, found.by, found.add) == (False, (), "") and found.why.startswith(NOT_KNOWN)
    assert place.ask(Action.UNIX, name, FILES).why == "the filter opens no unix socket, whatever the policy says"


def test_what_lies_plainly_in_proc_is_known(place: Place) -> None:
    found = place.ask(Action.READ, "/proc/version", FILES)
    assert found.why == "no entry of filesystem.read.allow covers it" and '"/proc/version"' in found.add


def test_a_second_name_of_a_file_is_not_known_where_the_file_system_may_keep_names_apart(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.link(place.top / "out/file", place.top / "away/second")
    one = "filesystem: {read: {allow: ['{top}/out/file']}}\n"
    assert place.ask(Action.READ, "away/second", one).allowed  # one inode has one set of rules
    for kind in ("overlay", "fuse.fuse-overlayfs", ""):
        monkeypatch.setattr("aasm.targets._type", lambda path, kind=kind: kind)
        found = place.ask(Action.READ, "away/second", one)
        assert (found.allowed, found.by, found.add) == (False, (), "") and found.why.startswith("not known: an entry ")
        assert place.ask(Action.READ, "out/file", one).allowed
        assert place.ask(Action.READ, "away/second", one.replace("]", ", '{top}/away']")).allowed
        assert place.ask(Action.READ, "away/second", "filesystem: {write: {allow: []}}\n").allowed
    monkeypatch.setattr("aasm.targets._type", lambda path: "ext4")
    assert place.ask(Action.READ, "away/second", one).allowed


def test_what_is_still_to_come_is_said_to_be_so(place: Place) -> None:
    found = place.ask(Action.READ, "ws/new", FILES)
    assert (found.allowed, found.why) == (True, "nothing is there yet; what is put there may be read")
    assert place.ask(Action.WRITE, "ws/made/new", FILES).why == ""


def test_what_an_interpreter_that_is_not_known_takes_is_not_known_either(place: Place) -> None:
    (place.top / "ws/file").write_text("#!/proc/self/exe\n")
    found = place.resolution(FILES)
    asked = Question(Action.EXECUTE, f"{place.top}/ws/file", answering.target(f"{place.top}/ws/file"))
    told = answering.execution(found, found.policy, asked, no_modes)
    assert (told.allowed, told.by, told.add) == (False, (), "")
    assert told.why == (
        f"not known: the interpreter of {place.top}/ws/file, /proc/self/exe: it leads through /proc/self, which is "
        "another thing for each process"
    )


def test_what_a_file_takes_that_cannot_be_read_is_not_known(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{place.top}/ws/file"
    found, asked = place.resolution(FILES), Question(Action.EXECUTE, path, answering.target(path))
    told = answering.execution(found, found.policy, asked, no_modes)
    assert not told.allowed and "is neither an ELF file nor a script" in told.why  # ENOEXEC, whatever the boundary is
    monkeypatch.setattr("os.access", lambda path, mode, **more: mode != os.R_OK)
    told = answering.execution(found, found.policy, asked, no_modes)
    assert (told.allowed, told.by, told.add) == (False, (), "") and told.why.startswith(f"not known: {path} ")
