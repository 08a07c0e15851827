# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Laws of the cascade, over random policies of every key with fixed seeds and the answers to many probes.

The measure is support/permissions.py, which judges each document by itself and shares no code with the merge.
"""

from __future__ import annotations

import itertools
import random
from typing import Any, Dict, Hashable, Iterator, List, Mapping, Sequence, Tuple

import pytest
from support import permissions
from support.permissions import (
    JUDGES,
    SAID_BY_ONE,
    Answers,
    Stated,
    answers,
    asked,
    leased,
    of_document,
    of_policy,
    together,
)
from support.policies import DOMAINS, SELECTORS, Drawn, Tree, cascade, draw, selectors, undrawn

from aasm.policy.cascade import merge
from aasm.policy.lowering import lower
from aasm.policy.schema import KEYS, LEASE_KEYS, TOOL_KEYS, Join
from aasm.policy.values import Entry, Listing, Policy, Value


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("tree"))


def placed(tree: Tree, drawn: Sequence[Drawn]) -> List[Policy]:
    return [tree.placed(item.policy()) for item in drawn]


def judged(tree: Tree, drawn: Drawn) -> Answers:
    """Return what a document permits, from its data."""
    return answers(of_document(drawn, tree), tree)


def permitted(tree: Tree, policy: Policy) -> Answers:
    """Return what a policy permits, from its texts; its values must say the same."""
    found = answers(of_policy(policy), tree)
    assert differences(found, answers(of_policy(policy, by_value=True), tree)) == {}
    return found


def differences(one: Answers, other: Answers) -> Dict[Hashable, Tuple[object, object]]:
    assert one.keys() == other.keys()
    return {probe: (one[probe], other[probe]) for probe in one if one[probe] != other[probe]}


def said_by_one(policy: Policy) -> Dict[str, object]:
    return {key: value.value for key in SAID_BY_ONE for value in [policy.entry(key)] if value is not None}


def test_every_key_is_drawn_and_judged() -> None:
    assert undrawn() == []
    assert set(JUDGES) | set(SAID_BY_ONE) == set(KEYS)
    assert set(SAID_BY_ONE) == {key for key, row in KEYS.items() if row.join is Join.OUTERMOST}


def test_a_single_document_is_judged_as_the_package_reads_it(tree: Tree) -> None:
    rng = random.Random("single")
    for _ in range(60):
        drawn = draw(rng, tree, "a")
        (policy,) = placed(tree, [drawn])
        assert differences(judged(tree, drawn), permitted(tree, policy)) == {}
        assert merge([policy]) == policy


def test_a_policy_merged_with_itself_permits_what_it_permits(tree: Tree) -> None:
    rng = random.Random("idempotent")
    for _ in range(60):
        drawn = draw(rng, tree, "a")
        (policy,) = placed(tree, [drawn])
        for times in (2, 3):
            made = merge([policy] * times)
            assert differences(judged(tree, drawn), permitted(tree, made)) == {}, drawn
            assert said_by_one(made) == said_by_one(policy)
        again = merge([made, made])
        assert (again.values, again.tools, again.leases) == (made.values, made.tools, made.leases)


def test_the_order_of_documents_changes_nothing_that_is_permitted(tree: Tree) -> None:
    rng = random.Random("commutative")
    for _ in range(40):
        policies = placed(tree, cascade(rng, tree, 3))
        first = permitted(tree, merge(policies))
        for order in itertools.permutations(policies):
            assert differences(first, permitted(tree, merge(order))) == {}, order


def test_it_does_not_matter_which_documents_are_merged_first(tree: Tree) -> None:
    rng = random.Random("associative")
    for _ in range(60):
        a, b, c = placed(tree, cascade(rng, tree, 3))
        whole = merge([a, b, c])
        for made in (merge([merge([a, b]), c]), merge([a, merge([b, c])])):
            assert differences(permitted(tree, whole), permitted(tree, made)) == {}
            assert said_by_one(made) == said_by_one(whole)
            assert origins(made) == origins(whole)


Compared = Tuple[Sequence[Drawn], List[Answers], Answers]


@pytest.fixture(scope="module")
def compared(tree: Tree) -> List[Compared]:
    """Random cascades, what each document permits by itself, and what the merge permits."""
    rng, found = random.Random("never widens"), []
    for _ in range(120):
        drawn = cascade(rng, tree, rng.randrange(2, 5))
        found.append((drawn, [judged(tree, item) for item in drawn], permitted(tree, merge(placed(tree, drawn)))))
    return found


def test_what_the_merge_permits_every_document_permits(compared: List[Compared]) -> None:
    seen: Dict[str, int] = {}
    for drawn, singly, found in compared:
        for probe, answer in found.items():
            refusing = [item.name for item, table in zip(drawn, singly) if table[probe] is False]
            assert not (refusing and answer is not False), (probe, refusing, drawn)
            if refusing and any(table[probe] for table in singly):
                key = str(probe[0]) if isinstance(probe, tuple) else ""
                seen[key] = seen.get(key, 0) + 1
    lacking = {*JUDGES, "domain", "allow", "rate", "alone", "lease"} - {key for key in seen if seen[key] > 2}
    assert lacking == set()  # of each key one document refused what another permits, so that this says something


def test_what_every_document_permits_the_merge_permits(compared: List[Compared]) -> None:
    seen: Dict[str, int] = {}
    for drawn, singly, found in compared:
        assert differences(together(singly), found) == {}, drawn
        for probe, answer in found.items():
            if answer and sum(table[probe] is True for table in singly) > 1:
                key = str(probe[0]) if isinstance(probe, tuple) else ""
                seen[key] = seen.get(key, 0) + 1
    assert {*JUDGES, "domain", "allow", "rate", "alone", "lease"} - {key for key in seen if seen[key] > 2} == set()


def test_the_outermost_document_that_states_it_says_what_only_one_can_say(tree: Tree) -> None:
    rng = random.Random("outermost")
    for _ in range(60):
        drawn = cascade(rng, tree, 3)
        made = merge(placed(tree, drawn))
        for key in SAID_BY_ONE:
            stated = [item.values[key] for item in drawn if key in item.values]
            assert (key in made.values) == bool(stated)
            if stated:
                assert made.values[key].text == stated[0]


# --- a document that may only narrow ----------------------------------------------------------------------


def test_a_document_that_may_only_narrow_gives_nothing_and_keeps_what_it_takes_away(tree: Tree) -> None:
    rng = random.Random("narrowing")
    gives = {key for key, row in KEYS.items() if row.grants} | {"lease"}
    dropped = kept = 0
    for _ in range(120):
        drawn = cascade(rng, tree, rng.randrange(2, 4))
        marks = [rng.random() < 0.5 for _ in drawn]
        marks[rng.randrange(len(marks))] = False
        singly = [judged(tree, item) for item in drawn]
        trusted = [table for table, narrows in zip(singly, marks) if not narrows]
        found = permitted(tree, merge(placed(tree, drawn), marks))
        for probe, answer in together(singly).items():
            key = probe[0] if isinstance(probe, tuple) else ""
            given = any(table[probe] is not None for table in trusted)
            if key in gives and not given:
                dropped += answer is True
                assert not found[probe], (probe, marks, drawn)
            else:
                kept += key in gives and answer is False and all(table[probe] is not False for table in trusted)
                assert found[probe] == answer, (probe, marks, drawn)
    assert dropped > 50 and kept > 50


# --- origins ----------------------------------------------------------------------------------------------


def all_values(policy: Policy) -> Iterator[Tuple[Tuple[str, ...], Value]]:
    """Yield every value of a policy by what it is about."""
    yield from (((key,), value) for key, value in policy.values.items() if key in KEYS)
    for name, group in (policy.tools or {}).items():
        yield from ((("tools", name, key), value) for key, value in group.items())
    for group in policy.leases or ():
        domain = group["domain"]
        assert isinstance(domain, Entry)
        yield from ((("leases", domain.text, key), value) for key, value in group.items())


def origins(policy: Policy) -> Mapping[Tuple[str, ...], Any]:
    """Return of every value where it comes from, and of which documents its entries are.

    Which line of a document stands for an entry that two lines cover is nobody's promise, nor is who else said what
    the outermost document says for all.
    """
    found: Dict[Tuple[str, ...], Any] = {}
    for about, value in all_values(policy):
        if join_of(about) is Join.OUTERMOST:
            continue
        entries = value.entries if isinstance(value, Listing) else ()
        found[about] = (set(value.origins), {frozenset(sources(entry.origins)) for entry in entries})
    return found


def sources(origins_of: Sequence[str]) -> List[str]:
    """Return the documents that origins name."""
    return [text.split(":")[0] for text in origins_of]


def join_of(about: Tuple[str, ...]) -> Join:
    table = {"tools": TOOL_KEYS, "leases": LEASE_KEYS}.get(about[0], KEYS)
    return table[about[-1]].join


def stating(policies: Sequence[Policy], about: Tuple[str, ...]) -> Dict[str, Value]:
    """Return by document what it states about one thing; a tool that it does not name falls under its `*`."""
    found = {}
    for policy in policies:
        stated = dict(all_values(policy))
        named = about[0] != "tools" or about[1] in (policy.tools or {})
        value = stated.get(about if named else ("tools", "*", about[2]))
        if value is not None:
            found[policy.source] = value
    return found


def plain(value: Listing, entries: Sequence[Entry], about: Tuple[str, ...]) -> Any:
    """Return some entries as the naive judge takes them."""
    return of_policy(Policy("one", values={about[0]: value._replace(entries=tuple(entries))})).values[about[0]]


def assert_met(tree: Tree, about: Tuple[str, ...], made: Listing, stated: Mapping[str, Value]) -> None:
    """Each entry comes from one entry at least of every document, each of which permits all that it permits."""
    assert set(made.origins) == {origin for value in stated.values() for origin in value.origins}
    known = [entry for value in stated.values() if isinstance(value, Listing) for entry in value.entries]
    for entry in made.entries:
        assert set(sources(entry.origins)) == set(stated), (about, entry)
        for origin in entry.origins:
            of_tier = [item for item in known if item.origins == (origin,)]  # several of them for ${system}
            assert of_tier
            if about[0] not in JUDGES:  # names, which only equal ones permit
                assert of_tier[0].text == entry.text
                continue
            judge, mine, other = JUDGES[about[0]], plain(made, [entry], about), plain(made, of_tier, about)
            for probe in judge.probes(tree):
                assert judge.permits(other, probe) or not judge.permits(mine, probe), (about, entry, of_tier, probe)


def assert_added(made: Listing, stated: Mapping[str, Value]) -> None:
    """Each entry comes from all entries of every document that are the same, and from no other."""
    assert set(made.origins) == {origin for value in stated.values() for origin in value.origins}
    for entry in made.entries:
        same = [item for value in stated.values() for item in (value.entries if isinstance(value, Listing) else [value])
                if isinstance(item, Entry) and item.text == entry.text]  # fmt: skip
        assert set(entry.origins) == {origin for item in same for origin in item.origins}, entry


def assert_chosen(made: Entry, stated: Mapping[str, Value]) -> None:
    """The value comes from every document that states just this one."""
    same = [value for value in stated.values() if isinstance(value, Entry) and value.value == made.value]
    assert same and set(made.origins) == {origin for value in same for origin in value.origins}, (made, stated)


def test_every_value_comes_from_the_documents_that_made_it_and_from_no_other(tree: Tree) -> None:
    rng, joined = random.Random("origins"), dict.fromkeys(Join, 0)
    for _ in range(60):
        policies = placed(tree, cascade(rng, tree, rng.randrange(2, 5)))
        for about, value in all_values(merge(policies)):
            stated = stating(policies, about)
            if about[0] == "leases" and (about[-1] in ("scope", "delegable", "domain") or not stated):
                continue  # below
            assert stated, about
            joined[join_of(about)] += len(stated) > 1
            if len(stated) == 1:
                assert value == next(iter(stated.values())), about
            elif isinstance(value, Entry):
                assert_chosen(value, stated)
            elif join_of(about) is Join.MEET:
                assert_met(tree, about, value, stated)
            else:
                assert_added(value, stated)
    assert min(joined.values()) > 5, joined


def test_a_lease_comes_from_every_document_that_states_leases(tree: Tree) -> None:
    rng, leases = random.Random("leases"), 0
    for _ in range(150):
        policies = placed(tree, cascade(rng, tree, 2))
        about = [policy.source for policy in policies if policy.leases is not None]
        for lease in merge(policies).leases or ():
            for key in ("domain", "scope"):
                if key in lease:
                    assert set(sources(lease[key].origins)) == set(about), lease
            leases += len(about) > 1
    assert leases > 20


def given(policy: Policy, domain: str) -> List[object]:
    """Return what is leased, of everything that may be asked for in a domain; the texts and values must agree."""
    found = []
    for by_value in (False, True):
        leases = of_policy(policy, by_value).leases or ()
        found.append([item for item in asked(domain) if any(leased(domain, lease["scope"], item) for lease in leases)])
    assert found[0] == found[1]
    return list(found[0])


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_lease_is_for_what_its_selectors_have_in_common_and_not_for_what_is_spelled_alike(
    tree: Tree, domain: str
) -> None:
    rng, overlaps = random.Random(f"selectors of {domain}"), 0
    for _ in range(300):
        scopes = [selectors(rng, domain) for _ in range(2)]
        one, other = placed(tree, [Drawn(name, None, {}, None, [{"domain": domain, "scope": scope}])
                                   for name, scope in zip("ab", scopes)])  # fmt: skip
        due = [item for item in asked(domain) if all(leased(domain, scope, item) for scope in scopes)]
        made = merge([one, other])
        assert given(made, domain) == due == given(merge([other, one]), domain), scopes
        assert merge([made, made]).leases == made.leases
        assert given(merge([made, one]), domain) == given(merge([other, made]), domain) == due
        overlaps += bool(due) and not set(scopes[0]) & set(scopes[1])
    assert overlaps > 50 if len(set(SELECTORS.get(domain, ())) & {"/bc", "*:443"}) else overlaps == 0


# --- what becomes of it -----------------------------------------------------------------------------------


def test_what_is_asked_of_a_backend_permits_what_every_document_permits(tree: Tree) -> None:
    rng, met = random.Random("lowered"), 0
    for _ in range(150):
        drawn = cascade(rng, tree, 2)
        stated = [of_document(item, tree) for item in drawn]
        policy = merge(placed(tree, drawn))
        scopes = {item.stated_by: item.scope for item in lower(policy).requirements}
        scope = scopes.get("network.allowlist")
        if scope is None:
            continue
        selectors = [text.partition(":")[2] for text in scope.selectors]
        for host, port in permissions.JUDGES["network.allowlist"].probes(tree):  # type: ignore[misc]
            due = all(_connects(item, host, port) for item in stated)
            assert JUDGES["network.allowlist"].permits(selectors, (host, port)) == due, (host, port, selectors, drawn)
            met += due
    assert met > 20


def _connects(stated: Stated, host: str, port: int) -> bool:
    hosts, ports = (stated.values.get(f"network.{name}") for name in ("allowlist", "ports"))
    listed = hosts is None or JUDGES["network.allowlist"].permits(hosts, (host, port))
    return bool(listed and (ports is None or port in ports))
