# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The three candidates of this build: their order, and what the two without a driver answer."""

from __future__ import annotations

import pytest
from support.contract import wanted
from support.host import facts_for_abi
from support.runs import resolution

from aasm import backends
from aasm.backends import base
from aasm.backends.base import LaunchFacts
from aasm.errors import InternalError
from aasm.model.domains import DOMAINS, PlatformBoundary
from aasm.model.plan import Refusal, RefusalKind
from aasm.planner import negotiate

ABSENT = ("sandlock", "aasm-macos-vm")


def test_the_candidates_and_their_order_are_those_of_the_contract() -> None:
    assert backends.IDS == ("sandlock", "aasm-native", "aasm-macos-vm")
    assert backends.DEFAULT == "aasm-native"


@pytest.mark.parametrize("backend_id", backends.IDS)
def test_each_answers_to_its_own_id_and_to_the_whole_contract(backend_id: str) -> None:
    found = backends.backend(backend_id)
    assert found.id == backend_id
    assert found.capabilities(facts_for_abi(7)).provenance.id == backend_id
    asked = [name for name in vars(base.Backend) if not name.startswith("_")]
    assert {"capabilities", "narrow", "floor", "own_grants", "prepare"} <= set(asked)
    assert all(callable(getattr(found, name)) for name in asked)


@pytest.mark.parametrize("backend_id", ["", "native", "AASM-NATIVE", "aasm-native ", "landlock"])
def test_no_other_name_is_a_backend(backend_id: str) -> None:
    with pytest.raises(KeyError):
        backends.backend(backend_id)


@pytest.mark.parametrize("abi", [0, 7, 9])
@pytest.mark.parametrize("backend_id", ABSENT)
def test_a_backend_without_a_driver_is_unavailable_everywhere_and_promises_nothing(backend_id: str, abi: int) -> None:
    absent = backends.backend(backend_id)
    found = absent.capabilities(facts_for_abi(abi))
    assert found.unavailable and "driver" in found.unavailable and found.reports == ()
    assert all(found.report_for(domain) is None for domain in DOMAINS)
    assert found.provenance.license == "Apache-2.0" and not found.provenance.modified
    assert absent.narrow(found, (wanted(),)) == found
    assert absent.floor() == () and absent.own_grants() == ()
    verdict = negotiate(found, (wanted(),))
    assert isinstance(verdict, Refusal) and verdict.kind is RefusalKind.SELECTION


def test_each_states_its_own_reason_and_its_own_kernel() -> None:
    found = [backends.backend(backend_id).capabilities(facts_for_abi(7)) for backend_id in ABSENT]
    assert found[0].unavailable != found[1].unavailable
    assert [item.boundary for item in found] == [PlatformBoundary.SHARED_HOST_KERNEL, PlatformBoundary.GUEST_KERNEL]


@pytest.mark.parametrize("backend_id", ABSENT)
def test_a_backend_without_a_driver_prepares_nothing(backend_id: str) -> None:
    made = resolution()
    with pytest.raises(InternalError, match="no driver in this build"):
        backends.backend(backend_id).prepare(made.run, LaunchFacts(made.host, 0, b"x"))
