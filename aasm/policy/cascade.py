# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The cascade: several policies to one, the most restrictive of each statement. Pure.

Lists are intersected over what their entries cover, numbers become the smaller one, denials add up. No key of the
result allows what a tier that states the key refuses. Every value keeps the place of each statement that made it. Lists
of paths must have been placed first (places.place), followed to where they lead: what two spellings have in common
cannot be told from their letters.
"""

from __future__ import annotations

from itertools import chain
from typing import Callable, Dict, Hashable, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..errors import InternalError, PolicyError
from ..model.domains import CapabilityDomain as Domain
from . import hosts
from .hosts import Host
from .kinds import HOSTS, LEASE_SCOPE, PATHS, SYSCALLS
from .places import Placed, path_value
from .schema import KEYS, LEASE_KEYS, TOOL_KEYS, Join, Key
from .values import Entry, Group, Listing, Policy, Value
from .vocabulary import CREDENTIAL_ACTIONS, EXCEED_ACTIONS, GLOBAL_SCOPE, NAMED_SCOPES, POSTURES

_TIERS = (GLOBAL_SCOPE, *NAMED_SCOPES)
_LADDERS = (CREDENTIAL_ACTIONS, EXCEED_ACTIONS, POSTURES)  # from mild to strict


def tier(policy: Policy) -> int:
    """Return the tier of a policy, outermost first: Global, Org, Team, Agent, Tool. Without a scope it is Global."""
    scope = policy.entry("scope")
    text = GLOBAL_SCOPE if scope is None else scope.text
    return next(number for number, prefix in enumerate(_TIERS) if text.startswith(prefix))


def ordered(policies: Sequence[Policy]) -> Tuple[Policy, ...]:
    """Return the policies by their tiers, outermost first; those of one tier stay as they were given."""
    return tuple(sorted(policies, key=tier))


def merge(policies: Sequence[Policy], narrowing: Sequence[bool] = ()) -> Policy:
    """Return what all the policies together allow. They must be in the order of their tiers.

    Those marked in `narrowing` may only take away: what they alone would give is not given. PolicyError without any.
    """
    if not policies:
        raise PolicyError("no policy is left to go by", "policy", "name one whose scope covers this run")
    marks = narrowing or [False] * len(policies)
    made, *rest = (_only_narrower(policy) if narrows else policy for policy, narrows in zip(policies, marks))
    for policy in rest:
        made = made._replace(
            source=f"{made.source}, {policy.source}",
            api_version=made.api_version if made.api_version == policy.api_version else None,
            values=_values(KEYS, made.values, policy.values),
            tools=_tools(made.tools, policy.tools),
            leases=_leases(made.leases, policy.leases),
        )
    if rest:
        made = made._replace(name=None, version=None, description=None)
    return _not_given(made, [policy for policy, narrows in zip(policies, narrowing) if not narrows], narrowing)


def _only_narrower(policy: Policy) -> Policy:
    """Return a policy without the choices that the outermost makes: it would choose for all where the others do not."""
    leases = None if policy.leases is None else tuple(_unchosen(LEASE_KEYS, lease) for lease in policy.leases)
    return policy._replace(values=_unchosen(KEYS, policy.values), leases=leases)


def _unchosen(keys: Mapping[str, Key], group: Group) -> Group:
    return {name: value for name, value in group.items() if name not in keys or keys[name].join is not Join.OUTERMOST}


def _restricts(key: Key, value: Value) -> bool:
    """Say whether a value is no milder than what holds where nobody states one."""
    least = absent(key)
    return least is None or isinstance(value, Listing) or mildness(key)(value) <= mildness(key)(least)


def absent(key: Key) -> Optional[Entry]:
    """Return the value that holds where nobody states one, None for no such value."""
    if key.absent is None:
        return None
    text = str(key.absent).lower() if isinstance(key.absent, bool) else str(key.absent)
    return Entry(text, key.absent, ())


def _not_given(made: Policy, giving: Sequence[Policy], narrowing: Sequence[bool]) -> Policy:
    """Take out what only policies give that may not: their lists stay as restrictions, and are empty."""
    if not any(narrowing):
        return made
    stated = {key for policy in giving for key in policy.values}
    values = {
        key: Listing((), value.origins) if key not in stated and key in KEYS and KEYS[key].grants else value
        for key, value in made.values.items()
    }
    leased = made.leases is None or any(policy.leases is not None for policy in giving)
    return made._replace(values=values, leases=made.leases if leased else ())


def _values(keys: Mapping[str, Key], outer: Group, inner: Group) -> Dict[str, Value]:
    """Join two groups of values, in the order of the table.

    A key that only one of them states is taken over, but for a value that is milder than silence: the other is silent.
    """
    made: Dict[str, Value] = {}
    for name, key in keys.items():
        one, other = outer.get(name), inner.get(name)
        if one is not None and other is not None:
            made[name] = _join(key, one, other)
            continue
        alone = other if one is None else one
        if alone is not None and _restricts(key, alone):
            made[name] = alone
    return made


# --- one value --------------------------------------------------------------------------------------


def _join(key: Key, one: Value, other: Value) -> Value:
    if isinstance(one, Listing) and isinstance(other, Listing):
        return _union(one, other) if key.join in (Join.UNION, Join.EVERY) else meet(key, one, other)
    if key.join is Join.EVERY:
        return _union(_as_list(one), _as_list(other))
    assert isinstance(one, Entry) and isinstance(other, Entry)  # a key is always of one kind
    if key.join is Join.OUTERMOST or one.value == other.value:
        return one._replace(origins=_both(one, other) if one.value == other.value else one.origins)
    return min(one, other, key=mildness(key))


def mildness(key: Key) -> Callable[[Entry], float]:
    """Return a function that is smaller for the stricter of two values: a number, a permission, a word of a ladder."""

    def rank(entry: Entry) -> float:
        if isinstance(entry.value, (bool, int, float)):
            return float(entry.value)
        ladder = next(ladder for ladder in _LADDERS if entry.value in ladder)
        return -ladder.index(entry.value)

    return rank


def _as_list(value: Value) -> Listing:
    return value if isinstance(value, Listing) else Listing((value,), value.origins)


def _both(one: Entry | Listing, other: Entry | Listing) -> Tuple[str, ...]:
    return tuple(dict.fromkeys((*one.origins, *other.origins)))


def _union(one: Listing, other: Listing) -> Listing:
    found: Dict[Hashable, Entry] = {}
    for entry in (*one.entries, *other.entries):
        known = found.get(entry.text)
        found[entry.text] = entry if known is None else known._replace(origins=_both(known, entry))
    return Listing(tuple(found.values()), _both(one, other))


# --- lists ------------------------------------------------------------------------------------------


def meet(key: Key, one: Listing, other: Listing) -> Listing:
    """Return the list of what both lists cover: of two entries that overlap, the narrower.

    PolicyError when that takes more than MOST entries.
    """
    cover = _COVERS.get(key.kind.words, _names)
    first, second = cover(one), cover(other)
    kept: Dict[Hashable, Entry] = {}
    for entry in chain(_narrowed(first, second), _narrowed(second, first)):
        kept.setdefault(next(first.wider(entry)), entry)  # two spellings of one thing are one
        if len(kept) > MOST:
            what = f"these lists have more than {MOST} entries in common"
            raise PolicyError(what, " and ".join(_both(one, other)), "state one of them more plainly")
    order = sorted(kept.values(), key=lambda entry: (entry.text, str(entry.value)))
    return Listing(tuple(order), _both(one, other))


MOST = 100_000  # entries; two lists of hosts and ports can have their product in common


def uncovered(key: Key, one: Listing, other: Listing) -> Tuple[Entry, ...]:
    """Return the entries of `one` that no entry of `other` covers as a whole; groups of calls are taken apart."""
    cover = _COVERS.get(key.kind.words, _names)
    inner, outer = cover(one), cover(other)
    return tuple(entry for entry in inner.entries if next(_covering(entry, inner, outer), None) is None)


class _Cover:
    """A list as something to intersect: its entries, each once, by what each is; and what would cover an entry."""

    def __init__(self, entries: Sequence[Entry], wider: Callable[[Entry], Iterator[Hashable]]) -> None:
        self.wider = wider  # what an entry is comes first
        self.own: Dict[Hashable, Entry] = {}
        for entry in entries:
            self.own.setdefault(next(wider(entry)), entry)
        self.entries = tuple(self.own.values())
        self.on_ports: Dict[Hashable, List[Entry]] = {}  # hosts with a port, by their patterns
        for entry in self.entries:
            if isinstance(entry.value, Host) and entry.value.port is not None:
                self.on_ports.setdefault((entry.value.kind, entry.value.host), []).append(entry)


def _covering(entry: Entry, inner: _Cover, outer: _Cover) -> Iterator[Entry]:
    """Yield the entries of `outer` that cover `entry` as a whole."""
    return (outer.own[wider] for wider in inner.wider(entry) if wider in outer.own)


def _narrowed(inner: _Cover, outer: _Cover) -> Iterator[Entry]:
    """Yield the entries of `inner` as far as `outer` covers them."""
    for entry in inner.entries:
        covering = next(_covering(entry, inner, outer), None)
        if covering is not None:
            yield entry._replace(origins=_both(entry, covering))
        elif isinstance(entry.value, Host) and entry.value.port is None:
            yield from _on_ports(entry, entry.value, outer)


def _on_ports(entry: Entry, host: Host, outer: _Cover) -> Iterator[Entry]:
    """Yield a host on each port on which `outer` covers it."""
    for pattern in hosts.wider(host):
        for covering in outer.on_ports.get(pattern, ()):
            made = host._replace(port=covering.value.port)
            yield Entry(hosts.spelled(made), made, _both(entry, covering))


def _names(listing: Listing) -> _Cover:
    return _Cover(listing.entries, lambda entry: iter((entry.text,)))


def _hosts(listing: Listing) -> _Cover:
    return _Cover(listing.entries, lambda entry: _wider_hosts(entry.value))


def _wider_hosts(host: Host) -> Iterator[Hashable]:
    patterns = hosts.wider(host)
    yield from ((pattern, host.port) for pattern in patterns)
    if host.port is not None:
        yield from ((pattern, None) for pattern in patterns)


def _calls(listing: Listing) -> _Cover:
    """Take groups apart: what two lists of groups have in common is a list of calls."""
    found: Dict[str, Entry] = {}
    for entry in listing.entries:
        for name in entry.value:
            found.setdefault(name, Entry(name, (name,), entry.origins))
    return _Cover(tuple(found.values()), lambda entry: iter((entry.text,)))


def _paths(listing: Listing) -> _Cover:
    return _Cover(listing.entries, lambda entry: _ancestry(entry.value))


def _ancestry(value: object) -> Iterator[Hashable]:
    """Yield the place that a path leads to and every directory above it, by whole components."""
    if not isinstance(value, Placed):
        raise InternalError("paths must be placed before they are compared", "policy.cascade")
    place = value.real
    yield place
    while place != "/":
        place = place.rpartition("/")[0] or "/"
        yield place


def _selectors(listing: Listing) -> _Cover:
    return _Cover(listing.entries, _wider_selectors)


def _wider_selectors(entry: Entry) -> Iterator[Hashable]:
    """Yield what a selector of a lease is, everything that covers it, and last of all the whole domain."""
    if isinstance(entry.value, Placed):
        yield from _ancestry(entry.value)
    elif isinstance(entry.value, Host):
        yield from _wider_hosts(entry.value)
    elif entry.value is not None:
        yield entry.value
    yield None


_COVERS: Mapping[str, Callable[[Listing], _Cover]] = {
    PATHS.words: _paths,
    HOSTS.words: _hosts,
    SYSCALLS.words: _calls,
    LEASE_SCOPE.words: _selectors,
}


# --- tools and leases -------------------------------------------------------------------------------


def _tools(
    outer: Optional[Mapping[str, Group]], inner: Optional[Mapping[str, Group]]
) -> Optional[Mapping[str, Group]]:
    """Join the rules about each tool; one that a tier does not name falls under that tier's `*`."""
    if outer is None or inner is None:
        return inner if outer is None else outer
    names = dict.fromkeys((*outer, *inner))
    return {name: _values(TOOL_KEYS, _rule(outer, name), _rule(inner, name)) for name in names}


def _rule(tools: Mapping[str, Group], name: str) -> Group:
    return tools.get(name, tools.get("*", {}))


def _leases(
    outer: Optional[Tuple[Group, ...]], inner: Optional[Tuple[Group, ...]]
) -> Optional[Tuple[Group, ...]]:
    """Keep a lease that every tier gives which states leases at all."""
    if outer is None or inner is None:
        return outer if inner is None else inner
    others = {_domain(group): group for group in inner}
    made = (_lease(group, others[_domain(group)]) for group in outer if _domain(group) in others)
    return tuple(group for group in made if not _is_empty(group))


def _domain(group: Group) -> str:
    domain = group["domain"]
    assert isinstance(domain, Entry)
    return domain.text


def _lease(one: Group, other: Group) -> Group:
    made = _values(LEASE_KEYS, _whole(one), _whole(other))
    common = made["scope"]
    assert isinstance(common, Listing)
    return {**made, "scope": _scope(common)}


def _whole(group: Group) -> Group:
    """Return a lease with its scope, as a list, and its delegation stated."""
    return {"delegable": Entry("false", False, group["domain"].origins), **group, "scope": selectors(group)}


def _scope(listing: Listing) -> Entry:
    """Return the scope of a lease as a policy states it."""
    if [entry.value for entry in listing.entries] == [None]:
        return listing.entries[0]._replace(origins=listing.origins)
    return Entry(", ".join(listing.texts), listing.texts, listing.origins)


def _is_empty(group: Group) -> bool:
    scope = group["scope"]
    return isinstance(scope, Entry) and scope.value == ()


def selectors(group: Group) -> Listing:
    """Return the scope of a lease as a list that `meet` and `uncovered` take; the value of the whole domain is None.

    What a selector is depends on the domain: a subtree, a pattern of hosts, or a name. No link is followed.
    """
    scope = group.get("scope", Entry("whole", None, group["domain"].origins))
    assert isinstance(scope, Entry)
    if scope.value is None:
        return Listing((scope,), scope.origins)
    read = _SELECTORS.get(_domain(group), str)
    return Listing(tuple(Entry(name, read(name), scope.origins) for name in scope.value), scope.origins)


def _subtree(text: str) -> object:
    """Return the place that a selector names; what no list of paths takes as an absolute path covers itself alone."""
    try:
        placeholder, path = path_value(text, "scope")
    except PolicyError:
        return text
    parts = (part for part in path.split("/") if part not in ("", "."))
    return text if placeholder else Placed(path, "/" + "/".join(parts))


def _pattern(text: str) -> object:
    """Return the hosts that a selector names; what is no host covers itself alone."""
    try:
        return hosts.host_value(text, "scope")
    except PolicyError:
        return text


# The domains whose selectors are more than names. Where nothing says what they are, equal names alone are the same.
_SELECTORS: Mapping[str, Callable[[str], object]] = {
    Domain.FILESYSTEM_READ.value: _subtree,
    Domain.FILESYSTEM_WRITE.value: _subtree,
    Domain.NETWORK_EGRESS.value: _pattern,
    Domain.NAME_RESOLUTION.value: _pattern,
}
