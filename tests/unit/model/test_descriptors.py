# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The inventory of descriptors: a clean boundary needs a complete list and nothing left over."""

from __future__ import annotations

import itertools
import os
from typing import Tuple

import pytest

from aasm import bind
from aasm.model.descriptors import Descriptor, DescriptorDisposition as Disposition, DescriptorInventory

LEFT = (Disposition.RESIDUAL_UNCLOSABLE, Disposition.UNMEASURED)


def test_the_dispositions_are_those_of_the_contract() -> None:
    assert [item.value for item in Disposition] == [
        "delegated", "closed_before_exec", "residual_unclosable", "unmeasured",
    ]  # fmt: skip


COMBINATIONS = [found for size in range(4) for found in itertools.combinations_with_replacement(Disposition, size)]


@pytest.mark.parametrize("not_enumerable", ["", "/proc is not mounted"])
@pytest.mark.parametrize("found", COMBINATIONS, ids=lambda found: "+".join(item.value for item in found) or "nothing")
def test_only_a_complete_list_without_residue_asserts_a_clean_boundary(
    found: Tuple[Disposition, ...], not_enumerable: str
) -> None:
    descriptors = tuple(Descriptor(number, item, "because") for number, item in enumerate(found))
    inventory = DescriptorInventory(descriptors, not_enumerable)
    residual = [number for number, item in enumerate(found) if item in LEFT]
    assert [item.number for item in inventory.residual] == residual
    assert inventory.complete is (not_enumerable == "")
    assert inventory.asserts_clean_boundary is (not_enumerable == "" and not residual)


OPEN = [0, 1, 2, 3, 9, 1023]


def test_standard_streams_are_delegated_and_the_rest_is_closed_before_exec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aasm._sys.process.open_descriptors", lambda: OPEN)
    inventory = bind._descriptors()
    assert [(item.number, item.disposition) for item in inventory.descriptors] == [
        (0, Disposition.DELEGATED), (1, Disposition.DELEGATED), (2, Disposition.DELEGATED),
        (3, Disposition.CLOSED_BEFORE_EXEC), (9, Disposition.CLOSED_BEFORE_EXEC),
        (1023, Disposition.CLOSED_BEFORE_EXEC),
    ]  # fmt: skip
    assert inventory.asserts_clean_boundary and inventory.residual == ()
    for item in inventory.descriptors:  # only what is closed needs no reason
        assert bool(item.reason) is (item.disposition is not Disposition.CLOSED_BEFORE_EXEC)


def test_what_cannot_be_listed_never_asserts_a_clean_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("aasm._sys.process.open_descriptors", fail)
    inventory = bind._descriptors()
    assert inventory.descriptors == () and not inventory.asserts_clean_boundary
    assert inventory.not_enumerable == "/proc/self/fd: Permission denied"


def test_an_open_descriptor_of_this_very_process_is_found() -> None:
    """What exec would not close by itself is found as well: every launch marks it before it starts anything."""
    read, write = os.pipe()
    try:
        os.set_inheritable(write, True)
        found = {item.number: item.disposition for item in bind._descriptors().descriptors}
    finally:
        os.close(read)
        os.close(write)
    assert found[read] is found[write] is Disposition.CLOSED_BEFORE_EXEC
    after = {item.number for item in bind._descriptors().descriptors}
    assert not {read, write} & after  # the control: what is closed is not listed, nor is the listing itself
    assert found.keys() - {read, write} == after
