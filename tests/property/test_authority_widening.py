# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Widening over random specs: what is wider is listed, what is not is not, and nothing raises.

The judge beside it knows no patterns: it asks, for a small world of concrete names, whether each is permitted.
"""

from __future__ import annotations

import ipaddress
import posixpath
import random
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from aasm.model.authority import AuthorityWidening as Kind, authority_widening, uncovered
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.requirements import (
    PERMIT_ONLY,
    WHOLE,
    CredentialPosture,
    DescendantRequirement,
    ExecutionSpec,
    Identity,
    Requirement,
    RequirementIntent,
    RequirementPosture,
    ResourceLimits,
    Scope,
    permit_only,
    permitted,
)

SEEDS = range(250)
PATHS = ("/", "/a", "/a/b", "/a/b/c", "/a/bc", "/ab", "/d", "/d/e", "/d/e/f")
HOSTS = (
    "*", "*:443", "*.com", "*.a.com", "*.a.com:443", "a.com", "a.com:80", "b.a.com", "c.b.a.com", "c.b.a.com:443",
    "10.0.0.0/8", "10.0.0.0/8:443", "10.1.0.0/16", "10.1.2.3", "10.1.2.3:443", "0.0.0.0/0", "::/0", "fd00::/8",
    "fd00::1", "[fd00::1]:443", "[fd00::/8]:80", "C.B.A.com.",
)  # fmt: skip
NAMES = ("read", "write", "openat", "mmap", "READ")
NAMES_OF = {Domain.FILESYSTEM_READ: PATHS, Domain.FILESYSTEM_WRITE: PATHS, Domain.NETWORK_EGRESS: HOSTS}
CREDENTIALS = ("A_TOKEN", "B_KEY", "C_URL", "D")
NEW = {Domain.NETWORK_EGRESS: "http://new"}  # what no pattern covers, by domain
NEW_ELSEWHERE = "../new"
AXES: Dict[str, Tuple[Any, ...]] = {
    "intent": tuple(RequirementIntent),
    "posture": (
        RequirementPosture.REQUIRED,
        RequirementPosture.DEGRADE_IF_UNAVAILABLE,
        RequirementPosture.OPTIONAL,
    ),
    "descendants": tuple(DescendantRequirement),
}  # strictest first
WEAKENED = {
    "intent": Kind.INTENT_WEAKENED,
    "posture": Kind.POSTURE_WEAKENED,
    "descendants": Kind.DESCENDANT_SCOPE_REDUCED,
}


# --- random specs ---------------------------------------------------------------------------------------


def some_scope(rng: random.Random, domain: Domain) -> Scope:
    if rng.random() < 0.2:
        return WHOLE
    if domain is Domain.RESOURCE:
        limits = {name: rng.randrange(100) for name in rng.sample(ResourceLimits._fields, rng.randrange(1, 4))}
        return Scope(False, (), ResourceLimits()._replace(**limits))
    names = NAMES_OF.get(domain, NAMES)
    scope = permit_only(tuple(rng.sample(names, rng.randrange(1, 4))))
    return scope._replace(selectors=(*scope.selectors, "bare")) if rng.random() < 0.2 else scope


def some_requirement(rng: random.Random) -> Requirement:
    # few domains, so that several requirements meet in one
    domain = rng.choice((*NAMES_OF, Domain.SYSCALL, Domain.RESOURCE, Domain.RESOURCE))
    made = Requirement(domain, some_scope(rng, domain))
    return made._replace(**{field: rng.choice(words) for field, words in AXES.items()})


def some_spec(rng: random.Random) -> ExecutionSpec:
    identity = Identity("parent", None, ("root",), "session", "trace")
    requirements = tuple(some_requirement(rng) for _ in range(rng.randrange(7)))
    removed, delegated, ambient = (tuple(name for name in CREDENTIALS if rng.random() < 0.4) for _ in range(3))
    return ExecutionSpec("true", (), "/a", identity, requirements, CredentialPosture(removed, delegated, ambient))


def child_of(spec: ExecutionSpec) -> ExecutionSpec:
    identity = spec.identity
    return spec._replace(identity=identity._replace(agent_id="child", lineage=(*identity.lineage, identity.agent_id)))


def kinds(above: ExecutionSpec, below: ExecutionSpec) -> List[Kind]:
    return [item.kind for item in authority_widening(above, child_of(below))]


def each() -> Iterator[Tuple[random.Random, ExecutionSpec]]:
    for seed in SEEDS:
        rng = random.Random(seed)
        yield rng, some_spec(rng)


def put(spec: ExecutionSpec, index: int, *instead: Requirement) -> ExecutionSpec:
    """Return the spec with `instead` in place of one requirement."""
    return spec._replace(requirements=(*spec.requirements[:index], *instead, *spec.requirements[index + 1 :]))


# --- what is not wider --------------------------------------------------------------------------------------


def test_an_equal_child_is_not_wider_in_whatever_order() -> None:
    for rng, spec in each():
        shuffled = tuple(rng.sample(spec.requirements, len(spec.requirements)))
        assert kinds(spec, spec) == kinds(spec, spec._replace(requirements=shuffled)) == []


def stricter(rng: random.Random, item: Requirement) -> Requirement:
    """Return the requirement with every axis and its scope at least as strict."""
    for field, words in AXES.items():
        item = item._replace(**{field: words[rng.randrange(words.index(getattr(item, field)) + 1)]})
    return item._replace(scope=narrower(rng, item.scope))


def narrower(rng: random.Random, scope: Scope) -> Scope:
    if scope.whole or rng.random() < 0.2:
        return WHOLE
    if scope.limits is not None:
        return scope._replace(limits=ResourceLimits(*(v if v is None else v - rng.randrange(9) for v in scope.limits)))
    kept = tuple(one for one in scope.selectors if rng.random() < 0.7)
    return scope._replace(selectors=tuple(beneath(rng, one) for one in kept)) if kept else WHOLE


def beneath(rng: random.Random, selector: str) -> str:
    deeper = selector.startswith(PERMIT_ONLY + "/") and selector != PERMIT_ONLY + "/" and rng.random() < 0.5
    return selector + "/deeper" if deeper else selector


def test_a_narrower_child_is_not_wider_nor_is_its_own_child() -> None:
    narrowed = 0
    for rng, spec in each():
        child = spec
        for _ in range(2):
            requirements = [stricter(rng, item) for item in child.requirements]
            requirements += [some_requirement(rng) for _ in range(rng.randrange(2))]  # one more holds as well
            kept = tuple(name for name in child.credentials.delegated if rng.random() < 0.5)
            child = child._replace(requirements=tuple(requirements), credentials=CredentialPosture(delegated=kept))
            assert kinds(spec, child) == []
            narrowed += child.requirements != spec.requirements
    assert narrowed > len(SEEDS)


# --- what is wider --------------------------------------------------------------------------------------------


def test_a_requirement_that_is_removed_is_always_listed() -> None:
    removed = 0
    for _, spec in each():
        for index, item in enumerate(spec.requirements):
            found = authority_widening(spec, child_of(put(spec, index)))
            assert item.domain in [one.domain for one in found]
            if all(other.domain is not item.domain for other in put(spec, index).requirements):
                assert [one.kind for one in found] == [Kind.REQUIREMENT_DROPPED]
            removed += 1
    assert removed > len(SEEDS)


def test_a_name_that_is_added_is_always_listed() -> None:
    added = 0
    for rng, spec in each():
        for index, item in enumerate(spec.requirements):
            names = [*permitted(item.scope), NEW.get(item.domain, NEW_ELSEWHERE)]
            wider = item._replace(scope=permit_only(tuple(rng.sample(names, len(names)))))
            assert kinds(spec, put(spec, index, wider)) != []
            if [other.domain for other in spec.requirements].count(item.domain) == 1 and item.scope.limits is None:
                found = authority_widening(spec, child_of(put(spec, index, wider)))
                assert [one[:2] for one in found] == [(Kind.SCOPE_WIDENED, item.domain)]
            added += 1
    assert added > len(SEEDS)


def test_each_axis_that_is_weakened_is_always_listed() -> None:
    weakened = 0
    for _, spec in each():
        for index, item in enumerate(spec.requirements):
            alone = [other.domain for other in spec.requirements].count(item.domain) == 1
            for field, words in AXES.items():
                for now in words[words.index(getattr(item, field)) + 1 :]:
                    found = kinds(spec, put(spec, index, item._replace(**{field: now})))
                    assert found != [] and (not alone or set(found) == {WEAKENED[field]})
                    weakened += 1
    assert weakened > len(SEEDS)


def test_each_ceiling_that_is_raised_or_left_out_is_always_listed() -> None:
    raised = 0
    for rng, spec in each():
        for index, item in enumerate(spec.requirements):
            limits = item.scope.limits
            for name in [name for name in ResourceLimits._fields if getattr(limits, name, None) is not None]:
                assert limits is not None
                for value in (getattr(limits, name) + 1 + rng.randrange(9), None):
                    other = item._replace(scope=item.scope._replace(limits=limits._replace(**{name: value})))
                    assert kinds(spec, put(spec, index, other)) != []
                    raised += 1
    assert raised > len(SEEDS)


def test_a_name_that_newly_reaches_the_program_is_always_listed() -> None:
    for rng, spec in each():
        after = some_spec(rng).credentials
        reached = {*spec.credentials.delegated, *spec.credentials.ambient_unremoved}
        new = sorted({*after.delegated, *after.ambient_unremoved} - reached)
        found = authority_widening(spec, child_of(spec._replace(credentials=after)))
        assert [(item.kind, item.detail.split()[0]) for item in found] == [(Kind.CREDENTIAL_WIDENED, n) for n in new]


def test_a_broken_lineage_is_always_listed() -> None:
    for _, spec in each():
        stranger = spec._replace(identity=spec.identity._replace(agent_id="child"))
        assert [item.kind for item in authority_widening(spec, stranger)] == [Kind.LINEAGE_BROKEN]


# --- beside a judge that knows concrete names only ----------------------------------------------------------------

CONCRETE_PATHS = tuple(path + more for path in PATHS if path != "/" for more in ("", "/x", "x")) + ("/",)
CONCRETE_HOSTS = tuple(
    (host, port)
    for host in (
        "com", "org", "a.com", "b.a.com", "c.b.a.com", "xa.com", "a.org", "10.1.2.3", "10.1.0.0", "10.2.0.1",
        "11.0.0.1", "fd00::1", "fd01::2", "fe00::1", "::1",
    )
    for port in (80, 443, 22)
)  # fmt: skip


def path_matches(entry: str, path: str) -> bool:
    return posixpath.commonpath([entry, path]) == entry


def host_matches(entry: str, place: Tuple[str, int]) -> bool:
    host, port = place
    for end in (80, 443):
        if entry.endswith(f":{end}") and ("." in entry or "*" in entry or "[" in entry):
            return port == end and host_matches(entry[: -len(f":{end}")], place)
    entry = entry.strip("[]").rstrip(".").lower()
    if entry == "*":
        return True
    if entry.startswith("*."):
        return host.endswith(entry[1:])
    address = as_network(host)
    network = as_network(entry)
    if address is None or network is None:
        return host == entry
    return address.version == network.version and address.network_address in network


def as_network(text: str) -> Optional[Any]:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


WORLDS: Dict[Domain, Tuple[Tuple[str, ...], Tuple[Any, ...], Callable[[str, Any], bool]]] = {
    Domain.FILESYSTEM_READ: (PATHS, CONCRETE_PATHS, path_matches),
    Domain.NETWORK_EGRESS: (HOSTS, CONCRETE_HOSTS, host_matches),
}


@pytest.mark.parametrize("domain", list(WORLDS))
def test_one_entry_covers_another_exactly_when_it_matches_all_that_the_other_matches(domain: Domain) -> None:
    entries, world, matches = WORLDS[domain]
    matched = {entry: {item for item in world if matches(entry, item)} for entry in entries}
    assert all(matched.values())
    wrong = []
    for above in entries:
        for below in entries:
            covered = not uncovered(domain, (below,), (above,))
            if covered != (matched[below] <= matched[above]):
                wrong.append((above, below, covered))
    assert wrong == []


@pytest.mark.parametrize("domain", list(WORLDS))
def test_a_child_that_is_not_wider_reaches_nothing_that_its_ancestor_does_not(domain: Domain) -> None:
    entries, world, matches = WORLDS[domain]
    passed = 0
    for seed in range(1500):
        rng = random.Random(seed)
        above, below = (several(rng, domain, entries) for _ in range(2))
        spec = some_spec(rng)._replace(requirements=above)
        if kinds(spec, spec._replace(requirements=below)):
            continue
        reachable, allowed = (
            {
                place
                for place in world
                if all(any(matches(entry, place) for entry in permitted(item.scope)) for item in requirements)
            }
            for requirements in (below, above)
        )
        assert reachable <= allowed, (above, below)
        passed += 1
    assert passed > 40


def several(rng: random.Random, domain: Domain, entries: Tuple[str, ...]) -> Tuple[Requirement, ...]:
    count = rng.randrange(1, 4)
    return tuple(
        Requirement(domain, permit_only(tuple(rng.sample(entries, rng.randrange(1, 4))))) for _ in range(count)
    )


# --- any input ------------------------------------------------------------------------------------------------------

PIECES = (
    "", "/", "//", ".", "..", "a", "A", "*", "*.", ":", "443", "0", "00443", "[", "]", "::", "::1", "10.0.0.1", "/8",
    "/129", "%", "\0", "\n", "\ud800", "\udcff", "\u00e4", "\u0664", "\u202e", "com", PERMIT_ONLY, "-", "_", "0x1",
    "9" * 5000, "a" * 300, "=", " ", "ffff:",
)  # fmt: skip
NUMBERS = (None, None, 0, -1, 1, 10, 10**5000, -(10**5000))


def some_text(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(5)))


def odd_scope(rng: random.Random) -> Scope:
    selectors = tuple(rng.choice((PERMIT_ONLY, "")) + some_text(rng) for _ in range(rng.randrange(4)))
    limits = ResourceLimits(*(rng.choice(NUMBERS) for _ in ResourceLimits._fields))
    return Scope(rng.random() < 0.3, selectors, limits if rng.random() < 0.3 else None)


def odd_spec(rng: random.Random) -> ExecutionSpec:
    requirements = tuple(
        Requirement(rng.choice(DOMAINS), odd_scope(rng), *(rng.choice(words) for words in AXES.values()))
        for _ in range(rng.randrange(5))
    )
    texts = [tuple(some_text(rng) for _ in range(rng.randrange(3))) for _ in range(5)]
    identity = Identity(some_text(rng), None, texts[0], some_text(rng), some_text(rng))
    credentials = CredentialPosture(*texts[1:4])
    return ExecutionSpec(
        some_text(rng), texts[4], rng.choice(("/a", some_text(rng))), identity, requirements, credentials
    )


def test_no_input_raises_and_every_detail_is_one_line() -> None:
    listed = 0
    for seed in range(2000):
        rng = random.Random(seed)
        above, below = odd_spec(rng), odd_spec(rng)
        assert authority_widening(above, child_of(above)) == ()
        for item in authority_widening(above, below):
            assert item.detail and item.detail.isprintable()
            listed += 1
    assert listed > 2000


def test_many_requirements_and_names_are_no_trouble() -> None:
    paths = tuple(f"/{n}/a/b" for n in range(5000))
    hosts = tuple(f"h{n}.example.com:443" for n in range(5000))
    many = [Requirement(Domain.SYSCALL, permit_only((str(n),))) for n in range(100)]
    below = (*many, Requirement(Domain.FILESYSTEM_READ, permit_only(paths)))
    below = (*below, Requirement(Domain.NETWORK_EGRESS, permit_only(hosts)))
    spec = some_spec(random.Random(0))._replace(requirements=below)
    assert kinds(spec, spec) == []
    other = tuple(item._replace(stated_by="other") for item in reversed(below))
    assert kinds(spec, spec._replace(requirements=other)) == []
