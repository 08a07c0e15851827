# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A document of a cascade that another lets the program write may only narrow.

The attacks are those of a program that may write its workspace and comes back: what it writes there, the next run reads
as one document of its cascade.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import List, Optional, Sequence

import pytest
from support.launch import ROOT
from support.policies import Place
from support.runs import request

from aasm import stating
from aasm.policy import reach
from aasm.policy.grants import within_reach
from aasm.policy.load import Loaded, PolicyState, Subject
from aasm.surroundings import Surroundings

WRITE, VARIABLES = "filesystem.write.allow", "credentials.environment.allow"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# --- what lies in reach -----------------------------------------------------------------------------------


def gives(loaded: Loaded) -> List[str]:
    assert loaded.policy is not None, loaded.detail
    return sorted(loaded.policy.names(VARIABLES) or ())


def assert_narrows(place: Place, safe: str, own: str, due: Sequence[str] = ()) -> Loaded:
    """`own` only narrows beside `safe`, in either order, and gives nothing that `safe` does not."""
    for order in ((safe, own), (own, safe)):
        found = place.load(*order)
        assert found.narrowing == (own,), (found.narrowing, found.detail)
        assert safe in found.trusted
        assert gives(found) == list(due)
    return found


def test_a_document_in_reach_narrows_and_gives_nothing_of_its_own(place: Place) -> None:
    safe = place.document("safe/a.json", read=["/"], write=["ws"], gives=["A", "B"])
    own = place.document("ws/p.json", read=["ws"], write=["ws/src"], gives=["B", "STOLEN"])
    assert_narrows(place, safe, own, ["B"])
    found = assert_narrows(place, safe, place.document("ws/src/p.json", read=["ws/src"]), ["A", "B"])
    assert found.trusted == (safe,)  # so that a grant may cover the other
    assert (place.leads(found), place.leads(found, WRITE)) == (["ws/src"], ["ws"])


@pytest.mark.parametrize("write", [[], ["outside"], ["ws/src"], ["ws"], ["safe/none"], None])
@pytest.mark.parametrize("scope", ["global", "org:o", "tool:x", None])
def test_no_statement_of_its_own_makes_a_document_in_reach_trusted(
    place: Place, write: Optional[List[str]], scope: Optional[str]
) -> None:
    """It cannot by a narrow list of its own, nor by standing outermost."""
    safe = place.document("safe/a.json", write=["ws"], scope="team:t")
    more = {"scope": scope} if scope else {}
    own = place.document("ws/p.json", write=write, gives=["STOLEN"], **more)
    for options in ((safe, own), (own, safe)):
        found = place.load(*options, subject=Subject("t", "a", "x"))
        assert (found.narrowing, gives(found)) == ((own,), [])


def test_a_document_that_lets_write_where_the_others_lie_makes_nobody_trusted(place: Place) -> None:
    safe = place.document("safe/a.json", write=["ws"], gives=["A"])
    own = place.document("ws/p.json", write=["safe"], gives=["STOLEN"])
    assert_refused(place.load(safe, own), place.load(own, safe))


def test_where_nobody_is_out_of_reach_the_launch_is_refused(place: Place) -> None:
    one, other = place.document("ws/a.json", write=["ws"]), place.document("ws/b.json", write=["ws"])
    assert_refused(place.load(one, other), place.load(other, one))


def assert_refused(*loaded: Loaded) -> None:
    for found in loaded:
        assert (found.state, found.policy) == (PolicyState.LOAD_FAILED, None), found
        assert "every policy lies where another lets the program write it" in found.detail
        assert "keep at least one out of reach, and name it too" in found.detail


def test_a_document_is_judged_where_the_others_restrict_no_writing(place: Place) -> None:
    """They let everything be written, so a narrow list of its own must not be what keeps it out of reach."""
    silent = place.document("safe/a.json")
    assert_narrows(place, silent, place.document("ws/p.json", write=["outside"], gives=["STOLEN"]))


def test_two_documents_in_reach_do_not_shield_each_other(place: Place) -> None:
    safe = place.document("safe/a.json", write=["ws"], gives=["A"])
    for lists in itertools.product(([], ["ws/src"], ["outside"]), repeat=2):
        own = [place.document(f"ws/{at}.json", write=write, gives=["A", "STOLEN"]) for at, write in enumerate(lists)]
        for order in itertools.permutations((safe, *own)):
            found = place.load(*order)
            assert sorted(found.narrowing) == own, lists
            assert gives(found) == ["A"] and safe in found.trusted


@pytest.mark.parametrize("number", [1, 2, 3])
def test_no_number_of_documents_in_reach_outvotes_one_that_is_not(place: Place, number: int) -> None:
    """They let the program write the operator's document, so that this one would be the one to narrow."""
    safe = place.document("safe/a.json", write=["ws"], gives=["A"])
    for lists in itertools.product((["safe"], ["safe", "ws"], ["/"]), repeat=number):
        own = [place.document(f"ws/{at}.json", write=write, gives=["STOLEN"]) for at, write in enumerate(lists)]
        for order in ((safe, *own), (*own, safe)):
            found = place.load(*order)
            assert found.policy is None or (set(gives(found)) <= {"A"} and safe in found.trusted), lists


def test_a_document_that_is_added_or_taken_away_gives_nothing_more_to_the_program(place: Place) -> None:
    """Whatever it states: only its own restrictions go with it. It may take away what the others give."""
    safe = [place.document("safe/a.json", read=["/"], write=["ws", "outside"], gives=["A", "B"]),
            place.document("safe/b.json", read=["ws", "outside"], gives=["B", "C"])]  # fmt: skip
    before = place.load(*safe)
    for write, scope in itertools.product((None, [], ["ws"], ["outside"], ["safe"], ["/"]), ("global", "tool:x")):
        for many in (1, 2):
            own = [place.document(f"ws/{at}.json", write=write, read=["/"], gives=["B", "C", "D"], scope=scope)
                   for at in range(many)]  # fmt: skip
            found = place.load(*own, *safe, subject=Subject(tool="x"))
            if found.policy is not None:
                assert set(gives(found)) <= set(gives(before))
                assert set(place.leads(found)) <= set(place.leads(before))


def test_documents_in_reach_do_not_shield_each_other_from_one_that_restricts_no_writing(place: Place) -> None:
    """A document that gives nothing, a copy, or a second name of the same one would otherwise be a voucher."""
    silent = place.document("safe/a.json", gives=["A"])
    own = place.document("ws/p.json", write=["outside"], gives=["STOLEN"])
    (place.ws / "link.json").symlink_to(own)
    others = (
        place.document("ws/copy.json", write=["outside"], gives=["STOLEN"]),
        place.document("ws/pure.json", write=["outside"]),
        place.document("ws/far.json", write=["safe"]),
        f"{place.ws}/link.json",
    )
    assert gives(place.load(own)) == ["STOLEN"]  # the control
    for number in range(len(others) + 1):
        for more in itertools.combinations(others, number):
            for order in ((silent, own, *more), (*more, own, silent)):
                assert "STOLEN" not in gives(place.load(*order)), more


def test_those_that_this_user_cannot_change_judge_where_there_are_any(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "_changeable", lambda source: "/host/" not in source)
    lists, silent = place.document("host/a.json", write=["ws"]), place.document("host/b.json")
    kept, own = place.document("kept/p.json", gives=["K"]), place.document("ws/p.json", gives=["K", "STOLEN"])
    found = place.load(lists, silent, kept, own)
    assert (found.narrowing, gives(found)) == ((own,), ["K"])
    found = place.load(silent, kept, own)  # which restricts no writing: whoever could be written narrows
    assert (found.narrowing, gives(found)) == ((kept, own), [])


def test_a_document_of_another_scope_judges_as_well(place: Place) -> None:
    """An earlier run of that scope may have written the one that now stands alone."""
    other = place.document("safe/a.json", write=["ws"], scope="team:a")
    kept, own = place.document("kept/p.json", gives=["K"]), place.document("ws/p.json", gives=["STOLEN"])
    assert_refused(place.load(other, own, subject=Subject(team="b")))
    found = place.load(other, own, kept, subject=Subject(team="b"))
    assert "STOLEN" not in gives(found) and found.left_out == (other,)


def test_a_state_that_only_documents_in_reach_make_is_none(place: Place) -> None:
    """A launch that is refused without a document of the program's is refused with it."""
    safe = place.document("safe/a.json", write=["ws"])
    own = Path(place.document("ws/p.json"))
    Path(safe).write_text('{"budget": {"window": "1d"}, "scope": "org:o"}')
    own.write_text('{"tools": {"*": {"allow": true}}}')
    lists = place.document("safe/b.json", write=["ws"], scope="team:x")
    found = place.load(safe, str(own), lists, subject=Subject(team="y"))
    assert (found.state, found.policy) == (PolicyState.UNCONFIGURED, None)
    assert "out of the program's reach" in found.detail and f"state one in {safe}" in found.detail


# --- reach by other names ---------------------------------------------------------------------------------


def test_a_document_that_is_reached_through_a_link_in_reach_is_in_reach(place: Place) -> None:
    safe, kept = place.document("safe/a.json", write=["ws"]), place.document("kept/p.json", write=["ws"], gives=["S"])
    (place.ws / "link.json").symlink_to(kept)  # the program may replace the link
    (place.ws / "folder").symlink_to(Path(kept).parent)
    assert gives(place.load(safe, kept)) == ["S"]  # the control
    assert_narrows(place, safe, f"{place.ws}/link.json")
    assert_narrows(place, safe, f"{place.ws}/folder/p.json")


def test_a_document_that_lies_in_reach_is_so_under_every_name(place: Place) -> None:
    safe, own = place.document("safe/a.json", write=["ws"]), place.document("ws/p.json", write=[], gives=["STOLEN"])
    (place.top / "safe" / "link.json").symlink_to(own)
    (place.top / "door").symlink_to("ws")
    (place.top / "hop").symlink_to("safe/link.json")
    for name in ("safe/link.json", "door/p.json", "hop", "ws/./p.json", "safe//link.json"):
        assert_narrows(place, safe, f"{place.top}/{name}")


def test_a_relative_name_counts_from_the_working_directory(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    safe = place.document("safe/a.json", write=["ws"])
    place.document("ws/p.json", write=[], gives=["STOLEN"])
    monkeypatch.chdir(place.ws)
    assert_narrows(place, safe, "p.json")
    monkeypatch.chdir(place.top / "safe")
    assert_narrows(place, "a.json", "../ws/p.json")


def test_a_write_grant_through_a_link_reaches_what_lies_where_it_leads(place: Place) -> None:
    (place.top / "door").symlink_to("ws")
    safe = place.document("safe/a.json", write=["door"])
    assert_narrows(place, safe, place.document("ws/p.json", write=[], gives=["STOLEN"]))


def test_a_grant_on_the_document_itself_or_on_another_name_of_it_reaches_it(place: Place) -> None:
    own = place.document("kept/p.json", write=[], gives=["STOLEN"])
    os.link(own, place.ws / "second")
    for write in ("kept/p.json", "kept", "ws/second"):
        assert_narrows(place, place.document("safe/a.json", write=[write]), own)
    assert gives(place.load(place.document("safe/a.json", write=["ws/src"]), own)) == ["STOLEN"]  # the control


def test_a_prefix_in_letters_is_no_reach(place: Place) -> None:
    safe = place.document("safe/a.json", write=["ws", "kept/p", "kept/p.jso"])
    for name in ("ws-evil/p.json", "kept/p.json"):
        found = place.load(safe, place.document(name, write=["ws"], gives=["S"]))
        assert (found.narrowing, gives(found)) == ((), ["S"])


# Makes a second name for a directory in a mount namespace that ends with the process.
BIND = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
NEWNS, NEWUSER, BIND, PRIVATE = 0x20000, 0x10000000, 1 << 12, 1 << 18 | 1 << 14
sys.path.insert(0, sys.argv[1])
from aasm.policy.grants import within_reach
document, old, new = sys.argv[2:5]
before = within_reach(document, [new]), within_reach(document, [new + "/src"])
check(libc.unshare(NEWNS | (NEWUSER if os.geteuid() else 0)))
check(libc.mount(b"none", b"/", None, PRIVATE, None))
check(libc.mount(old.encode(), new.encode(), None, BIND, None))
print(*before, *(within_reach(document, [new + name]) for name in ("", "/src", "/x")))
"""


def test_a_bind_mount_is_a_second_name_that_reaches(place: Place) -> None:
    own = place.document("ws/src/deep/p.json")
    for name in ("second", "ws/x"):
        (place.top / name).mkdir()
    argv = [sys.executable, "-I", "-c", BIND, str(ROOT), own, str(place.ws), str(place.top / "second")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["False", "False", "True", "True", "False"], done.stderr


@pytest.mark.parametrize(
    ("writable", "reached"),
    [
        ([], False), (["ws"], True), (["ws/src"], False), (["ws/p.json"], True), (["ws-evil"], False), ([""], True),
        (["outside", "ws"], True), (["absent"], False), (["ws/absent"], False),
    ],
)  # fmt: skip
def test_reach_is_by_whole_components_and_of_what_exists(place: Place, writable: List[str], reached: bool) -> None:
    own = place.document("ws/p.json")
    assert within_reach(own, [os.path.join(str(place.top), name).rstrip("/") for name in writable]) is reached
    assert within_reach(own, ["/"])


# --- the command line's own variables ---------------------------------------------------------------------


def test_what_a_narrowing_document_leaves_out_the_option_does_not_pass_on(place: Place) -> None:
    around = Surroundings({b"TOKEN": b"x"}, str(place.top / "home"), str(place.top), str(place.top / "state"))
    safe, own = place.document("safe/a.json", write=["ws"]), place.document("ws/p.json", gives=["OTHER"])
    asked = request(policies=(safe, own), env={b"TOKEN": None})
    for options in ((own,), (safe, own), (own, safe)):
        stated = stating.state_policy(asked._replace(policies=options), around, str(place.ws))
        assert stated.refusal is not None and "--env TOKEN is not among the variables" in stated.refusal.text
        assert f"{own}:" in stated.refusal.text
    assert stating.state_policy(asked._replace(policies=(safe,)), around, str(place.ws)).refusal is None


# --- what other users can change --------------------------------------------------------------------------


def test_a_document_that_another_user_can_change_is_named(place: Place) -> None:
    """It is not the program's, but it is not the operator's alone either; a sticky directory keeps its entries."""
    paths = [Path(place.document(f"{name}/p.json", write=[])) for name in ("own", "open", "around", "sticky", "group")]
    assert place.load(*map(str, paths)).exposed == ()
    paths[1].chmod(0o646)
    paths[2].parent.chmod(0o757)
    paths[3].parent.chmod(0o1777)
    paths[4].chmod(0o664)  # to the user's own group it is the user's
    assert place.load(*map(str, paths)).exposed == (str(paths[1]), str(paths[2]))
    (place.top / "link.json").symlink_to(paths[1])
    assert place.load(f"{place.top}/link.json").exposed == (f"{place.top}/link.json",)
    if os.geteuid() == 0:  # only root can give a file away
        for path, (user, group) in ((paths[0], (1, -1)), (paths[4], (-1, 1))):
            os.chown(path, user, group)
        assert set(place.load(*map(str, paths)).exposed) == {str(paths[at]) for at in (0, 1, 2, 4)}
