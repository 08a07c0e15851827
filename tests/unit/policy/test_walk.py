# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One walk gives the object, its place and the links on the way: it agrees with the kernel and never looks twice."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from aasm.policy.walk import walk, walk_as_far_as_possible


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = Path(os.path.realpath(tmp_path))
    (top / "a" / "b" / "c").mkdir(parents=True)
    (top / "a" / "file").write_text("x")
    (top / "a" / "up").symlink_to("..")
    (top / "a" / "abs").symlink_to(top / "a" / "b")
    (top / "a" / "b" / "chain").symlink_to("../abs/c")
    (top / "loop").symlink_to("loop")
    (top / "dangling").symlink_to("nowhere/at/all")
    return top


def test_random_paths_lead_where_the_kernel_says(tree: Path) -> None:
    dice = random.Random(7)
    names = ["a", "b", "c", "file", "up", "abs", "chain", "..", ".", "", "absent", "loop"]
    reached = 0
    for _ in range(2000):
        path = str(tree) + "/" + "/".join(dice.choice(names) for _ in range(dice.randint(1, 7)))
        while path.endswith(("/", "/.")):  # the kernel wants a directory there, which we do not care about
            path = path[:-1]
        try:
            expected: os.stat_result | None = os.stat(path)
        except OSError:
            expected = None
        try:
            found = walk(path)
        except OSError:
            assert expected is None, path
            continue
        assert expected is not None and found.found is not None, path
        assert os.path.samestat(expected, found.found), path
        assert found.path == os.path.realpath(path)
        reached += 1
    assert reached > 100


def test_the_links_are_named_where_they_stand(tree: Path) -> None:
    found = walk(f"{tree}/a/b/chain")
    assert found.path == f"{tree}/a/b/c"
    assert found.links == (f"{tree}/a/b/chain", f"{tree}/a/abs")
    assert walk(f"{tree}/a/b/c").links == ()


@pytest.mark.parametrize("name", ["loop", "dangling", "absent", "a/file/below"])
def test_what_leads_nowhere_is_an_error_or_taken_as_it_is_spelled(tree: Path, name: str) -> None:
    with pytest.raises(OSError):
        walk(f"{tree}/{name}")
    assert walk_as_far_as_possible(f"{tree}/{name}").found is None


def test_a_missing_tail_is_kept_with_the_links_before_it(tree: Path) -> None:
    found = walk_as_far_as_possible(f"{tree}/a/abs/new/../newer/x")
    assert found.path == f"{tree}/a/b/newer/x"
    assert found.links == (f"{tree}/a/abs",)


def test_a_descriptor_is_left_open_by_none_of_it(tree: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    for name in ("a/b/chain", "loop", "dangling", "a/up/a/up"):
        walk_as_far_as_possible(f"{tree}/{name}")
    assert set(os.listdir("/proc/self/fd")) == before


def test_the_root_is_a_path(tree: Path) -> None:
    assert walk("/").path == "/"
    assert walk(f"{tree}/" + "../" * 64).path == "/"
