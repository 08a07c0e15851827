# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Paths in a cascade: links are followed before anything is compared, and must lead to the same place when granted."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, List, Sequence

import pytest
from support.policies import Place
from support.runs import request

from aasm import stating
from aasm.errors import PolicyError, UsageError
from aasm.policy import grants
from aasm.policy.load import PolicyState
from aasm.surroundings import Surroundings


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def meets(place: Place, one: Sequence[Any], other: Sequence[Any]) -> List[str]:
    """Return what two lists of reading have in common, whichever comes first."""
    a, b = place.document("safe/a.json", read=one, write=[]), place.document("safe/b.json", read=other, write=[])
    first, second = (place.leads(place.load(*order)) for order in ((a, b), (b, a)))
    assert first == second
    return sorted(set(first))


# --- where paths lead -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (["ws"], ["ws-evil"], []), (["ws"], ["ws-evil", "w", "ws/src"], ["ws/src"]), (["w"], ["ws"], []),
        (["ws/"], ["ws//./src/"], ["ws/src"]), (["/"], ["ws"], ["ws"]), (["/"], ["/"], [".."]),
        (["ws/src"], ["ws/src/new/file", "ws/new"], ["ws/src/new/file"]),
        (["${workdir}"], ["ws/src", "outside"], ["ws/src"]), (["${system}"], ["outside/sub"], ["outside/sub"]),
        (["${workdir}/src"], ["${workdir}"], ["ws/src"]), (["ws", "ws/src"], ["ws/src", "ws"], ["ws", "ws/src"]),
    ],
)  # fmt: skip
def test_paths_are_met_by_whole_components(place: Place, one: List[str], other: List[str], both: List[str]) -> None:
    if one == other == ["/"]:
        both = [os.path.relpath("/", place.top)]
    assert meets(place, one, other) == both


def test_a_link_out_of_a_granted_directory_leads_out_of_the_cascade(place: Place) -> None:
    (place.ws / "link").symlink_to(place.outside)
    assert meets(place, ["ws/link"], ["ws"]) == []
    assert meets(place, ["ws/link/sub"], ["ws"]) == []
    assert meets(place, ["ws/link", "ws/src"], ["ws"]) == ["ws/src"]
    # and what both mean is found whatever it is called
    assert meets(place, ["ws/link"], ["outside"]) == ["outside"]
    assert meets(place, ["ws/link"], ["outside/sub"]) == ["outside/sub"]
    assert meets(place, ["outside/sub"], ["ws/link"]) == ["outside/sub"]


@pytest.mark.parametrize("target", ["../outside", "../outside/absent", "hop", "../ws-evil"])
def test_no_link_of_any_length_widens(place: Place, target: str) -> None:
    (place.ws / "hop").symlink_to("../outside/sub")
    (place.ws / "link").symlink_to(target)
    for entry in ("ws/link", "ws/link/", "ws/link/.", "ws/link/new", "${workdir}/link"):
        assert meets(place, [entry], ["ws"]) == [], entry
        assert meets(place, [{"path": entry, "optional": True}], ["${workdir}"]) == [], entry


def test_a_link_within_a_granted_directory_stays_in_it(place: Place) -> None:
    (place.ws / "inner").symlink_to("src")
    (place.top / "alias").symlink_to("ws")
    assert meets(place, ["ws/inner"], ["ws"]) == ["ws/src"]
    assert meets(place, ["alias"], ["ws/src"]) == ["ws/src"]
    assert meets(place, ["alias/inner"], ["ws"]) == ["ws/src"]


def test_a_loop_of_links_is_what_it_is_called_and_is_refused_where_it_is_granted(place: Place) -> None:
    (place.ws / "loop").symlink_to("loop")
    assert meets(place, ["ws/loop"], ["ws"]) == ["ws/loop"]
    with pytest.raises(PolicyError, match="Too many levels of symbolic links"):
        grants.resolve(wanted(place, "safe/a.json", "safe/b.json"))


@pytest.mark.parametrize("path", ["ws/..", "ws/../outside", "ws/src/../../outside", "ws/link/..", ".."])
def test_two_dots_are_refused_before_anything_is_compared(place: Place, path: str) -> None:
    good = place.document("safe/a.json", read=["ws"], write=[])
    bad = place.document("safe/b.json", read=[path], write=[])
    found = place.load(good, bad)
    assert found.state is PolicyState.LOAD_FAILED
    assert found.detail.startswith(f"{bad}:") and "contains .." in found.detail


def test_a_missing_optional_path_is_left_out_and_a_list_of_nothing_else_allows_nothing(place: Place) -> None:
    absent = {"path": "ws/absent", "optional": True}
    assert meets(place, [absent], ["ws"]) == []
    assert meets(place, [absent, "ws/src"], ["ws"]) == ["ws/src"]
    (place.ws / "absent").mkdir()
    assert meets(place, [absent], ["ws"]) == ["ws/absent"]
    assert meets(place, [{"path": "ws/absent", "optional": False}], ["ws"]) == ["ws/absent"]


def test_a_single_document_is_not_followed_and_keeps_what_it_says(place: Place) -> None:
    (place.ws / "link").symlink_to(place.outside)
    found = place.load(place.document("safe/a.json", read=["ws/link"]))
    assert place.leads(found) == ["ws/link"]


# --- from loading to binding ------------------------------------------------------------------------------


def wanted(place: Place, *names: str) -> Sequence[grants.Wanted]:
    """Return what a run of these documents asks to be granted."""
    around = Surroundings({}, str(place.top / "home"), str(place.top), str(place.top / "state"))
    paths = tuple(f"{place.top}/{name}" for name in names)
    stated = stating.state_policy(request(policies=paths), around, str(place.ws))
    assert stated.refusal is None, stated.refusal
    return stated.wanted


def test_a_link_that_is_swapped_between_loading_and_binding_is_refused(place: Place) -> None:
    link = place.top / "link"
    link.symlink_to("ws")
    place.document("safe/a.json", read=["link"], write=[])
    place.document("safe/b.json", read=["ws"], write=[])
    asked = wanted(place, "safe/a.json", "safe/b.json")
    assert [item.path for item in grants.resolve(asked)] == [str(place.ws)]
    link.unlink()
    link.symlink_to("outside")
    with pytest.raises(PolicyError, match=f"{link} leads elsewhere than a moment ago") as caught:
        grants.resolve(asked)
    assert "safe/a.json:" in caught.value.where


def test_a_directory_that_becomes_a_link_in_between_is_refused(place: Place) -> None:
    place.document("safe/a.json", read=["ws"], write=[])
    place.document("safe/b.json", read=["ws/src"], write=[])
    asked = wanted(place, "safe/a.json", "safe/b.json")
    (place.ws / "src").rename(place.ws / "kept")
    (place.ws / "src").symlink_to(place.outside)
    with pytest.raises(PolicyError, match="leads elsewhere than a moment ago"):
        grants.resolve(asked)


def test_two_dots_on_the_command_line_do_not_lead_through_a_link(place: Place) -> None:
    """The inline policy is no cascade, and its paths are judged as those of documents are."""
    (place.ws / "link").symlink_to(place.outside)
    around = Surroundings({}, "", str(place.top), str(place.top / "state"))
    with pytest.raises(UsageError, match="leads through the symbolic link"):
        stating.state_policy(request(policies=(), read=("ws/link/../x",)), around, str(place.ws))


# --- a document that costs --------------------------------------------------------------------------------


def test_a_path_that_no_call_would_take_is_refused(place: Place) -> None:
    safe = place.document("safe/a.json", write=["ws"])
    own = place.document("ws/p.json", read=["/a" * 2048])
    found = place.load(safe, own)
    assert found.state is PolicyState.LOAD_FAILED and found.detail.startswith(f"{own}:")
    assert len(found.detail) < 500


def test_the_deepest_paths_that_two_documents_can_hold_are_compared_in_time(place: Place) -> None:
    safe = place.document("safe/a.json", write=["ws"])
    own = [place.document(f"ws/{name}.json", read=[f"/{at:03}{deep}" for at in range(60)]) for name, deep in
           (("b", "/a" * 2044), ("c", "/a" * 2043))]  # fmt: skip
    begun = time.process_time()
    found = place.load(safe, *own)
    assert found.policy is not None, found.detail
    assert len(place.leads(found)) == 60
    assert time.process_time() - begun < 2
