# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of `policy diff`, over random policies of every key with fixed seeds and the answers to many probes.

No difference is passed over: where a probe is answered differently, a line says so on the right side. The measure is
support/permissions.py, which shares no code with the comparison.
"""

from __future__ import annotations

import random
from typing import Dict, Hashable, List, Sequence, Set, Tuple, Union

import pytest
from support.permissions import CAPABILITIES, Answers, answers, leased, of_policy
from support.policies import SELECTORS, Drawn, Tree, cascade, draw, selectors

from aasm.policy.cascade import merge
from aasm.policy.compare import FIRST, SECOND, Difference, differences
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


def label(probe: Hashable) -> Tuple[str, ...]:
    """Return how a line about a probe may begin."""
    assert isinstance(probe, tuple)
    kind, name = str(probe[0]), str(probe[1])
    if kind in ("domain", "allow", "rate", "alone"):
        return (f'tools."{name}".', 'tools."*".')
    if kind == "lease":
        return (f"authority.leases for {name}: ", f"authority.leases: {name}")
    if kind == "capabilities":
        return (f"capabilities: {name}, ", f"capabilities: every {name.partition(':')[0]}, ",
                f"capabilities: every other {name.partition(':')[0]}, ")  # fmt: skip
    return ("network.",) if kind.startswith("network.") else (f"{kind}: ",)


def refuses(answer: object, key: str) -> bool:
    """Say whether an answer refuses; silence does where the key's absence gives nothing."""
    return answer is False or (answer is None and (key == "lease" or (key in KEYS and KEYS[key].grants)))


def widened(one: Answers, other: Answers) -> List[Hashable]:
    """Return the probes that only `other` permits."""
    return [
        probe for probe, answer in one.items()
        if refuses(answer, str(probe[0])) and not refuses(other[probe], str(probe[0]))  # type: ignore[index]
    ]  # fmt: skip


# The keys whose lists are empty where a capability is refused; ports are judged with the hosts.
OUTRANKED = {
    "file_read": ("filesystem.read.allow", "filesystem.execute.allow"),
    "file_write": ("filesystem.write.allow",),
    "network_outbound": ("network.allowlist", "network.bind"),
}


def permitted(policy: Policy, tree: Tree) -> Answers:
    """Return what a policy permits: to execute a file is to read it as well, and what is denied no list opens."""
    found = answers(of_policy(policy), tree)
    for probe in [probe for probe in found if isinstance(probe, tuple) and probe[0] == "filesystem.execute.allow"]:
        both = [found[probe], found[("filesystem.read.allow", probe[1])]]
        found[probe] = False if False in both else True if True in both else None
    for name in CAPABILITIES:
        allowed, denied = (found.pop((f"capabilities.{key}", name)) for key in ("allow", "deny"))
        found[("capabilities", name)] = denied is not False and (allowed is not False or name == "agent_spawn")
    closed = [key for name, keys in OUTRANKED.items() if not found[("capabilities", name)] for key in keys]
    return {probe: False if probe[0] in closed else answer for probe, answer in found.items()}  # type: ignore[index]


def test_no_difference_is_passed_over(tree: Tree) -> None:
    rng = random.Random("nothing is passed over")
    seen: Dict[str, int] = {}
    for _ in range(120):
        first, second = drawn(tree, rng), drawn(tree, rng)
        found, tables = differences(first, second), [permitted(one, tree) for one in (first, second)]
        for by, one, other in ((SECOND, tables[0], tables[1]), (FIRST, tables[1], tables[0])):
            told = [f"{item.key}: {item.what}" for item in found if item.by == by]
            for probe in widened(one, other):
                if is_told_elsewhere(probe, first, second):
                    continue
                assert any(line.startswith(label(probe)) for line in told), (probe, told)
                seen[label(probe)[0]] = seen.get(label(probe)[0], 0) + 1
    assert len(seen) > 40 and min(seen.values()) > 2


def is_told_elsewhere(probe: Hashable, first: Policy, second: Policy) -> bool:
    """Say whether a probe is about hosts or ports alone where both together decide, or executing where it follows."""
    assert isinstance(probe, tuple)
    stated = {*first.values, *second.values}
    if probe[0] == "filesystem.execute.allow":
        return probe[0] not in stated
    return probe[0] in ("network.allowlist", "network.ports") and "network.ports" in stated


# --- no line is false ---------------------------------------------------------------------------------------


def test_what_is_told_of_capabilities_is_what_only_one_permits(tree: Tree) -> None:
    rng, lines = random.Random("capabilities"), 0
    for _ in range(150):
        first, second = drawn(tree, rng), drawn(tree, rng)
        tables = [permitted(one, tree) for one in (first, second)]
        for by, one, other in ((SECOND, tables[0], tables[1]), (FIRST, tables[1], tables[0])):
            told = [item.what for item in differences(first, second) if item.by == by and item.key == "capabilities"]
            due = {str(probe[1]) for probe in widened(one, other) if isinstance(probe, tuple)
                   and probe[0] == "capabilities"} & asked_about(first, second)  # fmt: skip
            assert sorted(map(asked_by, told)) == sorted(due)
            lines += len(told)
    assert lines > 500


def asked_about(*policies: Policy) -> Set[str]:
    """Return the capabilities that there is a line for: a name that neither policy states is one of all others."""
    keys = ("capabilities.allow", "capabilities.deny")
    named = {name for policy in policies for key in keys for name in policy.names(key) or ()}
    return {name for name in CAPABILITIES if ":" not in name or name.endswith(":other") or name in named}


def asked_by(what: str) -> str:
    """Return the capability that a line is about."""
    name, _, rest = what.partition(", ")
    assert rest == "which the other refuses"
    return f"{name.split()[-1]}:other" if name.startswith("every ") else name


def test_what_is_told_of_a_domain_is_permitted_by_a_policy_that_does_not_deny_it(tree: Tree) -> None:
    rng, lines = random.Random("denied"), 0
    for _ in range(150):
        policies = {FIRST: drawn(tree, rng), SECOND: drawn(tree, rng)}
        tables = {by: permitted(policy, tree) for by, policy in policies.items()}
        for item in differences(*policies.values()):
            for name in (name for name, keys in OUTRANKED.items() if item.key in keys):
                assert tables[item.by][("capabilities", name)], item
                lines += 1
    assert lines > 100


def test_what_is_told_of_the_scope_of_a_lease_is_leased_by_one_alone(tree: Tree) -> None:
    rng, lines = random.Random("scopes"), 0
    for domain in [*SELECTORS, "resource"] * 50:
        scopes = {by: rng.choice((selectors(rng, domain), "whole")) for by in (FIRST, SECOND)}
        first, second = (tree.placed(Drawn(f"{by}.json", None, {}, None, [{"domain": domain, "scope": scope}]).policy())
                         for by, scope in scopes.items())  # fmt: skip
        for item in differences(first, second):
            assert item.key == f"authority.leases for {domain}: scope"
            found = {by: leased(domain, scope, within(domain, item.what)) for by, scope in scopes.items()}
            assert found == {by: by == item.by for by in scopes}, (item, scopes)
            lines += 1
    assert lines > 200


def within(domain: str, what: str) -> Union[str, Tuple[str, int]]:
    """Return something that a selector has in it, and that no narrower one has."""
    if what == "the whole domain":
        return "whole"
    if domain not in ("network_egress", "name_resolution") or " " in what or "/" in what:
        return what
    host, _, port = what.lower().partition(":")
    return host.replace("*", "a.test" if host == "*" else "zz"), int(port or 9)


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
