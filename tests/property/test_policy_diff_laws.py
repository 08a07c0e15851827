# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of `policy diff`, over random policies of every key with fixed seeds and the answers to many probes.

No difference is passed over: where a probe is answered differently, a line says so on the right side. The measure is
support/permissions.py, which shares no code with the comparison.
"""

from __future__ import annotations

import random
from typing import Dict, Hashable, List, Sequence

import pytest
from support.permissions import Answers, answers, of_policy
from support.policies import Tree, cascade, draw

from aasm.policy.cascade import merge
from aasm.policy.compare import FIRST, SECOND, Difference, differences
from aasm.policy.lowering import lower
from aasm.policy.schema import KEYS, LEASE_KEYS, Join
from aasm.policy.values import Policy


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("tree"))


def placed(tree: Tree, rng: random.Random, tiers: int) -> List[Policy]:
    return [tree.placed(item.policy()) for item in cascade(rng, tree, tiers)]


def drawn(tree: Tree, rng: random.Random) -> Policy:
    """Return a single policy, or several merged."""
    return merge(placed(tree, rng, rng.choice((1, 1, 2, 3))))


def mirrored(found: Sequence[Difference]) -> List[Difference]:
    other = {FIRST: SECOND, SECOND: FIRST}
    return sorted(item._replace(by=other[item.by]) for item in found)


def is_about_order(item: Difference) -> bool:
    """Say whether a difference is one that makes neither policy the wider one."""
    key = item.key.rpartition(": ")[2]
    unordered = {name for keys in (KEYS, LEASE_KEYS) for name, row in keys.items() if row.join is Join.OUTERMOST}
    return key in unordered or key == "scope"


def label(probe: Hashable) -> str:
    """Return the beginning of the key that a difference about a probe has."""
    assert isinstance(probe, tuple)
    kind, name = str(probe[0]), str(probe[1])
    if kind in ("domain", "allow", "rate", "alone"):
        return 'tools."'
    if kind == "lease":
        return "authority.leases"
    return "network." if kind.startswith("network.") else f"{kind}" if kind in KEYS else name


def refuses(answer: object, key: str) -> bool:
    """Say whether an answer refuses; silence does where the key's absence gives nothing."""
    return answer is False or (answer is None and (key == "lease" or (key in KEYS and KEYS[key].grants)))


def widened(one: Answers, other: Answers, passive: Dict[str, bool]) -> List[Hashable]:
    """Return the probes that only `other` permits, but for those about a domain that it denies as a whole."""
    return [
        probe for probe, answer in one.items()
        if refuses(answer, str(probe[0])) and not refuses(other[probe], str(probe[0]))  # type: ignore[index]
        and not passive.get(str(probe[0]), False)  # type: ignore[index]
    ]  # fmt: skip


def permitted(policy: Policy, tree: Tree) -> Answers:
    """Return what a policy permits; to execute a file is to read it as well."""
    found = answers(of_policy(policy), tree)
    for probe in [probe for probe in found if isinstance(probe, tuple) and probe[0] == "filesystem.execute.allow"]:
        both = [found[probe], found[("filesystem.read.allow", probe[1])]]
        found[probe] = False if False in both else True if True in both else None
    return found


def outranked(policy: Policy) -> Dict[str, bool]:
    """Return the keys whose lists a denied domain outranks, and the one that has the other's place."""
    denied = {domain.value for domain in lower(policy).denied}
    own = {"filesystem_read": ("filesystem.read.", "filesystem.execute."), "filesystem_write": ("filesystem.write.",),
           "network_egress": ("network.",)}  # fmt: skip
    begun = tuple(prefix for domain, prefixes in own.items() if domain in denied for prefix in prefixes)
    return {key: bool(begun) and key.startswith(begun) for key in KEYS}


def test_no_difference_is_passed_over(tree: Tree) -> None:
    rng = random.Random("nothing is passed over")
    seen: Dict[str, int] = {}
    for _ in range(120):
        first, second = drawn(tree, rng), drawn(tree, rng)
        found, tables = differences(first, second), [permitted(one, tree) for one in (first, second)]
        for by, one, other, wider in ((SECOND, *tables, second), (FIRST, *tables[::-1], first)):
            told = [item.key for item in found if item.by == by]
            for probe in widened(one, other, outranked(wider)):
                if is_told_elsewhere(probe, first, second):
                    continue
                assert any(key.startswith(label(probe)) for key in told), (probe, told)
                seen[label(probe)] = seen.get(label(probe), 0) + 1
    assert len(seen) > 20 and min(seen.values()) > 2


def is_told_elsewhere(probe: Hashable, first: Policy, second: Policy) -> bool:
    """Say whether a probe is about hosts or ports alone where both together decide, or executing where it follows."""
    assert isinstance(probe, tuple)
    stated = {*first.values, *second.values}
    if probe[0] == "filesystem.execute.allow":
        return probe[0] not in stated
    return probe[0] in ("network.allowlist", "network.ports") and "network.ports" in stated


def test_comparing_the_other_way_round_tells_the_same(tree: Tree) -> None:
    rng = random.Random("mirrored")
    for _ in range(60):
        first, second = drawn(tree, rng), drawn(tree, rng)
        assert sorted(differences(first, second)) == mirrored(differences(second, first))


def test_a_policy_permits_the_same_as_itself_and_as_itself_merged_with_itself(tree: Tree) -> None:
    rng = random.Random("itself")
    for _ in range(60):
        policy = tree.placed(draw(rng, tree, "a").policy())
        again = merge([policy, policy])
        assert differences(policy, policy) == () == differences(policy, again) == differences(again, policy)


def test_what_is_merged_permits_nothing_that_one_of_its_parts_does_not(tree: Tree) -> None:
    rng = random.Random("merged")
    compared = 0
    for _ in range(60):
        policies = placed(tree, rng, rng.randrange(2, 4))
        made = merge(policies)
        for part in policies:
            more = [item for item in differences(part, made) if item.by == SECOND and not is_about_order(item)]
            # a key whose absence gives nothing: a tier that is silent does not object to what another gives
            silent = [key for key, row in KEYS.items() if row.grants and key not in part.values]
            given = [key for key in silent if key in made.values]
            rest = [item for item in more if item.key not in given]
            rest = [item for item in rest if not (part.leases is None and item.key.startswith("authority."))]
            assert rest == []
            compared += len(differences(part, made))
    assert compared > 500
