# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of requirements: tokens, the defaults, the three kinds of scope, and what a spec never names."""

from __future__ import annotations

from enum import Enum
from typing import Dict, NamedTuple, Tuple, Type

import pytest

from aasm import backends
from aasm.errors import InternalError
from aasm.model.domains import CapabilityDomain
from aasm.model.requirements import (
    PARTS,
    UNLIMITED,
    WHOLE,
    AuthorityState,
    CredentialPosture,
    DescendantRequirement,
    EvidenceMinimum,
    ExecutionSpec,
    Identity,
    Requirement,
    RequirementIntent,
    RequirementPosture,
    ResourceLimits,
    RuntimeRequirements,
    Scope,
    ceilings,
    none_of,
    option,
    part,
    permit_only,
    permitted,
    stated_ceilings,
)
from aasm.policy import schema, vocabulary

TOKENS: Dict[Type[Enum], Tuple[str, ...]] = {
    RequirementIntent: ("prevent_before_effect", "observe"),
    RequirementPosture: ("required", "degrade_if_unavailable", "optional"),
    DescendantRequirement: ("process_tree", "target_process_only"),
    AuthorityState: ("denied", "leased", "compatibility_residual"),
}
CEILINGS = {
    "max_memory_bytes", "max_cpu_seconds", "max_pids", "max_wall_clock_seconds", "max_file_size_bytes",
    "max_open_files",
}  # fmt: skip


@pytest.mark.parametrize("words", TOKENS, ids=lambda words: str(words.__name__))
def test_every_word_has_exactly_the_tokens_of_the_contract(words: Type[Enum]) -> None:
    assert {item.value for item in words} == set(TOKENS[words]) and len(words) == len(TOKENS[words])


@pytest.mark.parametrize("domain", list(CapabilityDomain), ids=lambda domain: str(domain.value))
def test_a_requirement_is_a_required_prevention_in_the_whole_tree_unless_it_says_otherwise(
    domain: CapabilityDomain,
) -> None:
    made = Requirement(domain, WHOLE)
    assert made.intent is RequirementIntent.PREVENT_BEFORE_EFFECT
    assert made.posture is RequirementPosture.REQUIRED
    assert made.descendants is DescendantRequirement.PROCESS_TREE
    assert made.stated_by == ""


# --- scopes ---


def test_exactly_one_kind_of_scope_holds() -> None:
    for scope in (WHOLE, permit_only(("/a",)), ceilings(ResourceLimits(max_pids=1))):
        assert [scope.whole, bool(scope.selectors), scope.limits is not None].count(True) == 1


@pytest.mark.parametrize("names", [("/a",), ("/a", "/b"), ("permit-only:/a",), ("",)])
def test_what_is_permitted_comes_back_as_it_was_stated(names: Tuple[str, ...]) -> None:
    scope = permit_only(names)
    assert all(selector.startswith("permit-only:") for selector in scope.selectors)
    assert permitted(scope) == names


@pytest.mark.parametrize(
    "selectors, granted",
    [
        (("/a",), ()),
        (("/a", "permit-only:/b"), ("/b",)),
        (("PERMIT-ONLY:/a", "permit-only", " permit-only:/a", "permit_only:/a", "deny:/a"), ()),
    ],
)
def test_a_bare_selector_grants_nothing(selectors: Tuple[str, ...], granted: Tuple[str, ...]) -> None:
    assert permitted(Scope(False, selectors)) == granted


def test_the_whole_domain_and_a_ceiling_permit_no_name() -> None:
    assert permitted(WHOLE) == () and permitted(ceilings(ResourceLimits(max_pids=1))) == ()


def test_an_empty_scope_cannot_be_made() -> None:
    with pytest.raises(InternalError, match="the whole domain"):
        permit_only(())
    with pytest.raises(InternalError, match="needs a number"):
        ceilings(UNLIMITED)


# --- parts of a domain ---


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_domain_is_known_by_its_names_and_stands_alone_where_it_permits_none(name: str) -> None:
    some, none = permit_only((f"{name}:/a", f"{name}:b")), none_of(name)
    assert part(some) == part(none) == name
    assert permitted(some) == (f"{name}:/a", f"{name}:b") and permitted(none) == ()
    assert not some.whole and not none.whole and some.limits is None and none.limits is None


@pytest.mark.parametrize(
    "scope",
    [
        WHOLE, permit_only(("/a",)), permit_only(("",)), ceilings(ResourceLimits(max_pids=1)), Scope(False, ("/a",)),
        permit_only(("execute/a",)),
    ],
)  # fmt: skip
def test_the_domain_itself_is_no_part(scope: Scope) -> None:
    assert part(scope) == ""


@pytest.mark.parametrize("name", PARTS)
def test_a_name_that_is_spelled_like_a_part_is_none(name: str) -> None:
    """`bind` is a call of the kernel, and any of them could be a host."""
    assert part(permit_only((name,))) == "" and part(permit_only((name, f"{name}:1"))) == ""


# --- ceilings ---


def test_the_ceilings_are_those_of_the_contract_and_none_is_stated_by_itself() -> None:
    assert set(ResourceLimits._fields) == CEILINGS
    assert set(UNLIMITED) == {None} and stated_ceilings(UNLIMITED) == {}


@pytest.mark.parametrize("name", sorted(CEILINGS))
def test_each_ceiling_is_stated_alone_and_has_its_option(name: str) -> None:
    limits = ResourceLimits()._replace(**{name: 0})
    assert stated_ceilings(limits) == {name: 0}  # nought is a number, and not silence
    assert ceilings(limits).limits == limits
    assert option(name) == "--" + name.replace("_", "-")


# --- specs ---


def test_no_spec_and_no_demand_has_a_place_for_a_backend() -> None:
    assert ExecutionSpec._fields == ("program", "args", "working_dir", "identity", "requirements", "credentials")
    assert Requirement._fields == ("domain", "scope", "intent", "posture", "descendants", "stated_by")
    assert RuntimeRequirements._fields == ("confinement", "evidence", "boundaries", "egress_address")
    assert Identity._fields == ("agent_id", "team_id", "lineage", "session_id", "trace_id")


def test_no_word_of_a_policy_is_a_backend_or_a_mechanism() -> None:
    words = {
        *schema.SECTIONS, *schema.KEYS, *schema.TOOL_KEYS, *schema.LEASE_KEYS, *vocabulary.CAPABILITIES, *PARTS,
        *(item.value for item in CapabilityDomain),
    }  # fmt: skip
    assert {"budget", "syscalls", "ipc.unix.allow", "max_count", "file_read", "ipc"} <= words
    mechanisms = (*backends.IDS, "landlock", "seccomp", "cgroup", "namespace", "native", "vm")
    assert not [(word, name) for word in words for name in mechanisms if name in word]


class Default(NamedTuple):
    """A value that states nothing, and what it must say."""

    made: object
    says: object


@pytest.mark.parametrize(
    "case",
    [
        Default(EvidenceMinimum(), (None, False)),
        Default(CredentialPosture(), ((), (), ())),
        Default(RuntimeRequirements(()), ((), {}, (), None)),
    ],
    ids=lambda case: str(type(case.made).__name__),
)
def test_what_is_not_stated_demands_and_grants_nothing(case: Default) -> None:
    assert case.made == case.says
