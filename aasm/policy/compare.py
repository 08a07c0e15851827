# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one policy permits that another does not. Pure: both are placed, their paths followed to where they lead.

Compared together, as they take effect together, are the two lists of capabilities, hosts and ports, executing and
reading, and the lists of a domain with its denial, which leaves them empty. Otherwise each key is compared by itself.
Where two statements cannot be put into an order (conditions, hours by different clocks, names of roles), each counts
as permitting what the other does not. So no difference is ever passed over; some that mean the same are told.
"""

from __future__ import annotations

from itertools import chain
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from .cascade import absent, meet, mildness, selectors, uncovered
from .expression import Expression, fields, spelled
from .hosts import Host, HostKind, spelled as host_spelled
from .kinds import (
    CAPABILITIES,
    CONDITION,
    HOSTS,
    HOURS,
    LEASE_SCOPE,
    PATHS,
    SYSCALLS,
    VARIABLES as VARIABLE_NAMES,
    Hours,
)
from .lowering import (
    CAPABILITIES as OF_DOMAINS,
    EXECUTE,
    HOSTS as ALLOWLIST,
    NODES,
    ONLY_BY_DENIAL,
    PORTS,
    READ,
    denied,
    with_ports,
)
from .node import shown
from .places import Placed
from .schema import AUTHORITY, KEYS, LEASE_KEYS, LEASES, SCOPE, TOOL_KEYS, TOOLS, Join, Key
from .values import Entry, Group, Listing, Origins, Policy, Value
from .vocabulary import CAPABILITIES as WORDS, GLOBAL_SCOPE, NAMED_CAPABILITIES

FIRST, SECOND = "first", "second"
MOST_DESTINATIONS = 1 << 16  # of hosts and ports together; beyond it each is compared by itself

_EVERY_HOST = Listing((Entry("*", Host(HostKind.ANY, "*"), ()),), ())

Found = Tuple[str, Origins]  # something that is permitted, in words, and the statements that say so


class Difference(NamedTuple):
    """Something that only one of two policies permits: `by` is FIRST or SECOND."""

    by: str
    key: str
    what: str
    origins: Origins


def differences(first: Policy, second: Policy) -> Tuple[Difference, ...]:
    """Return what only one of the policies permits, in the order of the keys. Without any they permit the same."""
    pairs = [*_scopes(first, second), *_values(first, second), *_tools(first, second), *_leases(first, second)]
    return tuple(
        Difference(by, label, what, origins)
        for label, key, one, other in pairs
        for by, less, more in ((FIRST, other, one), (SECOND, one, other))
        for what, origins in _more(key, less, more)
    )


Pair = Tuple[str, Key, Optional[Value], Optional[Value]]  # what both policies state under one label

_SCOPE = Key(KEYS["approval.escalation_role"].kind, Join.OUTERMOST)
_GIVEN = Key(LEASE_KEYS["domain"].kind, Join.MEET, grants=True)


def _scopes(first: Policy, second: Policy) -> Iterator[Pair]:
    yield SCOPE, _SCOPE, _scope(first), _scope(second)


def _scope(policy: Policy) -> Entry:
    return policy.entry(SCOPE) or Entry(GLOBAL_SCOPE, GLOBAL_SCOPE, ())


# --- the keys of the sections -----------------------------------------------------------------------


def _values(first: Policy, second: Policy) -> Iterator[Pair]:
    one, other = _effective(first), _effective(second)
    if EXECUTE not in first.values and EXECUTE not in second.values:  # both follow the list for reading
        del one[EXECUTE], other[EXECUTE]
    places = _destinations(one), _destinations(other)
    if None not in places:
        for values, found in zip((one, other), places):
            values[ALLOWLIST], values[PORTS] = found, None
    for label, key in KEYS.items():
        if label == DENIED:  # it tells of both lists
            yield "capabilities", key, *_refusals(first, second)
        elif label in one and label != ALLOWED:
            yield label, key, one[label], other[label]


def _effective(policy: Policy) -> Dict[str, Optional[Value]]:
    """Return what counts under each key: a denied domain outranks its lists, and to execute a file is to read it."""
    found: Dict[str, Optional[Value]] = {label: policy.values.get(label) for label in KEYS}
    read, execute = policy.listing(READ), policy.listing(EXECUTE)
    if read is not None:
        found[EXECUTE] = read if execute is None else meet(KEYS[EXECUTE], execute, read)
    for domain, words in OF_DOMAINS.items():
        if denied(policy, domain):
            nothing = Listing((), tuple(chain(*(entry.origins for entry in _refused(policy, words).entries))))
            found.update((label, nothing) for label in NODES[domain] if label in KEYS)
    return found


def _destinations(values: Mapping[str, Optional[Value]]) -> Optional[Listing]:
    """Return hosts and ports as one list of hosts with their ports; None when that is too long to be made."""
    hosts, ports = values[ALLOWLIST], values[PORTS]
    listed = hosts if isinstance(hosts, Listing) else _EVERY_HOST
    if not isinstance(ports, Listing):
        return listed
    if len(listed.entries) * len(ports.entries) > MOST_DESTINATIONS:
        return None
    pairs = ((host, entry) for entry in listed.entries for host in with_ports(entry.value, ports))
    made = (Entry(host_spelled(host), host, (*entry.origins, *ports.origins)) for host, entry in pairs)
    return Listing(tuple(made), tuple(dict.fromkeys((*listed.origins, *ports.origins))))


# --- capabilities -----------------------------------------------------------------------------------

ALLOWED, DENIED = "capabilities.allow", "capabilities.deny"


def _refusals(first: Policy, second: Policy) -> Tuple[Listing, Listing]:
    """Return what each policy refuses of all capabilities that either could be asked about."""
    names = tuple(_capabilities(first, second))
    return _refused(first, names), _refused(second, names)


def _capabilities(*policies: Policy) -> Iterator[str]:
    """Yield every capability: the words, the names that a policy states, and all other names as one."""
    yield from WORDS
    stated = [policy.names(label) or () for policy in policies for label in (ALLOWED, DENIED)]
    for kind in NAMED_CAPABILITIES:
        named = dict.fromkeys(name for name in chain(*stated) if name.startswith(kind))
        yield from named
        yield f"every {'other ' if named else ''}{kind.rstrip(':')}"


def _refused(policy: Policy, names: Sequence[str]) -> Listing:
    """Return those of some capabilities that a policy refuses, each with the statements that do."""
    denying = {entry.text: entry.origins for entry in _entries(policy.values.get(DENIED))}
    allowing = policy.listing(ALLOWED)
    omitting: Dict[str, Origins] = {}
    if allowing is not None:
        omitting = dict.fromkeys(set(names).difference(allowing.texts, ONLY_BY_DENIAL), allowing.origins)
    found = (name for name in names if name in denying or name in omitting)
    return Listing(tuple(Entry(name, name, (*denying.get(name, ()), *omitting.get(name, ()))) for name in found), ())


# --- tools and leases -------------------------------------------------------------------------------


def _tools(first: Policy, second: Policy) -> Iterator[Pair]:
    """Pair the rules about each tool; one that a policy does not name falls under its `*`."""
    tools = first.tools or {}, second.tools or {}
    for name in dict.fromkeys(("*", *tools[0], *tools[1])):
        one, other = (rules.get(name, rules.get("*", {})) for rules in tools)
        for label, key in TOOL_KEYS.items():
            yield f"{TOOLS}.{shown(name)}.{label}", key, one.get(label), other.get(label)


def _leases(first: Policy, second: Policy) -> Iterator[Pair]:
    one, other = _by_domain(first), _by_domain(second)
    for domain in dict.fromkeys((*one, *other)):
        label, groups = f"{AUTHORITY}.{LEASES}", (one.get(domain, {}), other.get(domain, {}))
        if not all(groups):
            yield label, _GIVEN, _given(groups[0]), _given(groups[1])
            continue
        for name, key in LEASE_KEYS.items():
            yield f"{label} for {domain}: {name}", key, groups[0].get(name), groups[1].get(name)


def _by_domain(policy: Policy) -> Dict[str, Group]:
    found = ((group["domain"], {**group, "scope": selectors(group)}) for group in policy.leases or ())
    return {domain.text: group for domain, group in found if isinstance(domain, Entry)}


def _given(group: Group) -> Optional[Listing]:
    domain = group.get("domain")
    return Listing((domain,), domain.origins) if isinstance(domain, Entry) else None


# --- what one statement permits beyond another ------------------------------------------------------


def _more(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Yield what `more` permits and `less` does not."""
    if less is None and more is None:
        return iter(())
    return (_BY_KIND.get(key.kind.words) or _BY_JOIN[key.join])(key, less, more)


def _meet(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Compare two lists of what is allowed."""
    unstated = Listing((), ()) if key.grants else _EVERYTHING.get(key.kind.words)
    one, other = _listing(less) or unstated, _listing(more) or unstated
    if one is None:
        return
    if other is None:
        yield f"everything{_NO_LIST}", one.origins
        return
    found = uncovered(key, other, one)
    if other is unstated:
        yield from ((f"everything{_NO_LIST}", one.origins) for _ in found)
    elif key.kind is SYSCALLS:
        yield from _calls(other, {entry.text for entry in found})
    else:
        yield from ((_in_words(entry), entry.origins) for entry in found)


def _calls(listing: Listing, missing: Set[str]) -> Iterator[Found]:
    """Yield the missing calls of a list, and by its own name a group of which all are missing."""
    for entry in listing.entries:
        names = [name for name in entry.value if name in missing]
        whole = len(names) == len(entry.value)
        yield from ((name, entry.origins) for name in ([entry.text] if whole else names))
        missing -= set(names)


def _variables(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    if more is None and less is not None:
        yield f"any variable that --env names{_NO_LIST}", less.origins
    yield from _meet(key, less, more)


def _union(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Compare two lists of what is refused."""
    yield from ((f"without {entry.text}", entry.origins) for entry in _lacking(less, more))


def _denials(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Compare the capabilities that are refused."""
    yield from ((f"{entry.text}, which the other refuses", entry.origins) for entry in _lacking(less, more))


def _lacking(less: Optional[Value], more: Optional[Value]) -> Iterator[Entry]:
    there = {entry.text for entry in _entries(more)}
    return (entry for entry in _entries(less) if entry.text not in there)


def _ranked(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Compare two numbers, permissions or words of which one is the milder. What is not stated binds nobody."""
    one, other = _entry(less) or absent(key), _entry(more) or absent(key)
    if _rank(key, other) > _rank(key, one):
        unstated = "no limit" if key.join is Join.LEAST else "nothing stated"
        told, before = (unstated if entry is None else entry.text for entry in (other, one))
        yield f"{told} instead of {before}", (*_origins(other), *_origins(one))


def _rank(key: Key, entry: Optional[Entry]) -> float:
    """Return what is greater for the milder of two values."""
    return float("inf") if entry is None else mildness(key)(entry)


def _unordered(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    one, other = _entry(less), _entry(more)
    if other is not None and (one is None or one.value != other.value):
        yield other.text, other.origins


def _lease_scope(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Compare two lists of selectors."""
    one, other = _listing(less), _listing(more)
    assert one is not None and other is not None  # _by_domain states both
    for entry in uncovered(key, other, one):
        yield "the whole domain" if entry.value is None else entry.text, entry.origins


# --- statements that all hold -----------------------------------------------------------------------


def _hours(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Compare windows of time: open is when all of them are."""
    one, other = _entries(less), _entries(more)
    if all(_inside(other, entry.value) for entry in one):
        return
    told = " and ".join(entry.text for entry in other) or "at any time"
    before = " and ".join(entry.text for entry in one)
    yield f"{told} instead of {before}", tuple(origin for entry in (*other, *one) for origin in entry.origins)


def _inside(entries: Sequence[Entry], outer: Hours) -> bool:
    """Say whether it is sure that these are never all open while `outer` is closed."""
    found: List[Hours] = [entry.value for entry in entries if entry.value.timezone == outer.timezone]
    if not found:
        return False
    start, end = max(item.start for item in found), min(item.end for item in found)
    return start >= end or (outer.start <= start and end <= outer.end)


def _conditions(key: Key, less: Optional[Value], more: Optional[Value]) -> Iterator[Found]:
    """Compare conditions for approval: any of them asks for it."""
    asked = [entry.value for entry in _entries(more)]
    for entry in _entries(less):
        if not _asks_as_often(asked, entry.value):
            yield f"without approval when {spelled(entry.value)}", entry.origins


def _asks_as_often(asked: Sequence[Expression], expression: Expression) -> bool:
    """Say whether it is sure that one of `asked` asks for approval whenever `expression` does."""
    known = {field: kind for item in asked for field, kind in fields(item).items()}
    if any(known.get(field) != kind for field, kind in fields(expression).items()):
        return False  # what is missing, or of another kind, needs approval as well
    alternatives = [set(joined) for item in asked for joined in item.alternatives]
    return all(any(there <= set(joined) for there in alternatives) for joined in expression.alternatives)


# --- small things -----------------------------------------------------------------------------------


def _listing(value: Optional[Value]) -> Optional[Listing]:
    return value if isinstance(value, Listing) else None


def _entry(value: Optional[Value]) -> Optional[Entry]:
    return value if isinstance(value, Entry) else None


def _entries(value: Optional[Value]) -> Tuple[Entry, ...]:
    if isinstance(value, Listing):
        return value.entries
    return () if value is None else (value,)


def _origins(entry: Optional[Entry]) -> Origins:
    return () if entry is None else entry.origins


def _in_words(entry: Entry) -> str:
    value = entry.value
    if not isinstance(value, Placed):
        return entry.text
    return value.path if value.real == value.path else f"{value.path}, which leads to {value.real}"


_NO_LIST = ", since there is no list"
# What it means that a key is absent, where that is as good as stating it.
_EVERYTHING: Mapping[str, Listing] = {
    PATHS.words: Listing((Entry("/", Placed("/", "/"), ()),), ()),
    HOSTS.words: _EVERY_HOST,
}

_Compare = Callable[[Key, Optional[Value], Optional[Value]], Iterator[Found]]
_BY_JOIN: Mapping[Join, _Compare] = {
    Join.MEET: _meet,
    Join.UNION: _union,
    Join.LEAST: _ranked,
    Join.STRICTEST: _ranked,
    Join.OUTERMOST: _unordered,
}
_BY_KIND: Mapping[str, _Compare] = {
    HOURS.words: _hours,
    CONDITION.words: _conditions,
    LEASE_SCOPE.words: _lease_scope,
    CAPABILITIES.words: _denials,
    VARIABLE_NAMES.words: _variables,
}
