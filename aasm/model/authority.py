# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""In what a descendant's execution has more authority than its ancestor's. Pure: two specs in, a list out.

Nothing is opened or resolved, and no input raises. What cannot be compared is a widening: an empty list is the only
answer that lets a descendant pass, so that doubt must never lead to it. No command asks yet: a run has no ancestor.
"""

from __future__ import annotations

from enum import Enum
from typing import Callable, Iterable, Iterator, List, Mapping, NamedTuple, Tuple

from ..errors import one_line
from .domains import CapabilityDomain
from .requirements import (
    CAPABILITY,
    EXECUTING,
    UNIX_SOCKETS,
    CredentialPosture,
    DescendantRequirement,
    ExecutionSpec,
    Requirement,
    RequirementIntent,
    RequirementPosture,
    ResourceLimits,
    Scope,
    ceilings,
    none_of,
    part as part_of,
    permitted,
    permitted_of,
    stated_ceilings,
)


class AuthorityWidening(Enum):
    """In what way a descendant has more."""

    LINEAGE_BROKEN = "lineage_broken"
    REQUIREMENT_DROPPED = "requirement_dropped"
    INTENT_WEAKENED = "intent_weakened"
    POSTURE_WEAKENED = "posture_weakened"
    DESCENDANT_SCOPE_REDUCED = "descendant_scope_reduced"
    SCOPE_WIDENED = "scope_widened"
    LIMIT_RAISED = "limit_raised"
    CREDENTIAL_WIDENED = "credential_widened"


class Widening(NamedTuple):
    """One thing that a descendant has and its ancestor has not. `detail` is one line: names, never values."""

    kind: AuthorityWidening
    domain: CapabilityDomain | None
    detail: str


Lacks = List[Tuple[AuthorityWidening, str]]  # what keeps one requirement from being as strict as another

# What a requirement states beside its scope: the field, the widening, and its words, strictest first.
_AXES: tuple[tuple[str, AuthorityWidening, tuple[Enum, ...]], ...] = (
    (
        "intent",
        AuthorityWidening.INTENT_WEAKENED,
        (RequirementIntent.PREVENT_BEFORE_EFFECT, RequirementIntent.OBSERVE),
    ),
    (
        "posture",
        AuthorityWidening.POSTURE_WEAKENED,
        (RequirementPosture.REQUIRED, RequirementPosture.DEGRADE_IF_UNAVAILABLE, RequirementPosture.OPTIONAL),
    ),
    (
        "descendants",
        AuthorityWidening.DESCENDANT_SCOPE_REDUCED,
        (DescendantRequirement.PROCESS_TREE, DescendantRequirement.TARGET_PROCESS_ONLY),
    ),
)


def authority_widening(ancestor: ExecutionSpec, descendant: ExecutionSpec) -> tuple[Widening, ...]:
    """Return everything in which the descendant has more than its ancestor, each once; empty when it has not.

    Several requirements of one domain hold together: permitted is what all of them permit. They are compared one by
    one, each ceiling by itself: for every requirement of the ancestor the descendant needs one that is at least as
    strict in everything (scope, intent, posture, descendants), and as many of those as the ancestor has. This fails
    closed: two that are merged into one are listed, and so is one that grows while another still holds.

    Each permitted name must be covered by one of the ancestor's names; two that cover it together do not count.
    """
    found = [
        *_lineage(ancestor, descendant),
        *_requirements(ancestor.requirements, descendant.requirements),
        *_relative_paths(ancestor, descendant),
        *_credentials(ancestor.credentials, descendant.credentials),
    ]
    return tuple(dict.fromkeys(found))


def _lineage(ancestor: ExecutionSpec, descendant: ExecutionSpec) -> Iterator[Widening]:
    name = ancestor.identity.agent_id
    if name not in descendant.identity.lineage:
        yield Widening(AuthorityWidening.LINEAGE_BROKEN, None, one_line(f"the lineage does not name {name}"))


def _credentials(above: CredentialPosture, below: CredentialPosture) -> Iterator[Widening]:
    had = {*above.delegated, *above.ambient_unremoved}
    for name in sorted({*below.delegated, *below.ambient_unremoved} - had):
        detail = one_line(f"{name} reaches the program")
        yield Widening(AuthorityWidening.CREDENTIAL_WIDENED, CapabilityDomain.CREDENTIAL, detail)


# --- requirements -------------------------------------------------------------------------------


def _requirements(above: tuple[Requirement, ...], below: tuple[Requirement, ...]) -> Iterator[Widening]:
    above = (*above, *_never_named(above, below))
    for domain in dict.fromkeys(item.domain for item in above):
        had = [part for item in above if item.domain is domain for part in _parts(item)]
        has = [part for item in below if item.domain is domain for part in _parts(item)]
        for part in had:
            for kind, detail in _shortfall(part, had, has):
                yield Widening(kind, domain, detail)


def _never_named(above: tuple[Requirement, ...], below: tuple[Requirement, ...]) -> Iterator[Requirement]:
    """Yield what an ancestor requires by silence: a capability of the kernel that nobody names is not there."""
    if any(part_of(item.scope) == CAPABILITY for item in below):
        if not any(item.domain is CapabilityDomain.CREDENTIAL and _about_capabilities(item) for item in above):
            yield Requirement(CapabilityDomain.CREDENTIAL, none_of(CAPABILITY))


def _about_capabilities(item: Requirement) -> bool:
    return item.scope.whole or part_of(item.scope) == CAPABILITY


def _parts(item: Requirement) -> Iterator[Requirement]:
    """Yield the requirement, one for each ceiling when it states several."""
    limits = item.scope.limits
    if limits is None or not _comparable(item.scope):
        yield item
        return
    for name, value in stated_ceilings(limits).items():
        yield item._replace(scope=ceilings(ResourceLimits()._replace(**{name: value})))


def _shortfall(part: Requirement, had: list[Requirement], has: list[Requirement]) -> Lacks:
    """Return what the descendant's requirements lack of this one; empty when enough of them are as strict."""
    if not has:
        return [(AuthorityWidening.REQUIREMENT_DROPPED, "nothing is required any more")]
    rivals = [other for other in has if _ceiling(other)[0] in ("", _ceiling(part)[0])]
    if not rivals:
        return _scope_lacks(part, has[0])
    wanting = [lacks for other in rivals for lacks in [_lacks(part, other)] if lacks]
    if len(rivals) - len(wanting) >= sum(not _lacks(part, other) for other in had):
        return []
    if not wanting:
        return [(AuthorityWidening.REQUIREMENT_DROPPED, "fewer requirements than before")]
    return min(wanting, key=len)  # of the nearest one, the first of several


def _lacks(above: Requirement, below: Requirement) -> Lacks:
    lacks = _scope_lacks(above, below)
    for field, kind, words in _AXES:
        was, now = getattr(above, field), getattr(below, field)
        if words.index(now) > words.index(was):
            lacks.append((kind, f"{was.value} became {now.value}"))
    return lacks


def _scope_lacks(above: Requirement, below: Requirement) -> Lacks:
    """Return what `below` permits beyond `above`. The whole domain is the strictest scope: it permits nothing."""
    if above.scope == below.scope:
        return []
    if not (_comparable(above.scope) and _comparable(below.scope)):
        return [(AuthorityWidening.SCOPE_WIDENED, "the scopes cannot be compared")]
    if part_of(above.scope) or part_of(below.scope):
        return _part_lacks(above, below)
    (name, most), (other, value) = _ceiling(above), _ceiling(below)
    names = permitted(below.scope)
    if name and name == other:
        return [(AuthorityWidening.LIMIT_RAISED, f"{name} was raised")] if value > most else []
    if name:
        return [(AuthorityWidening.LIMIT_RAISED, f"{name} is no longer limited")] if other or names else []
    if other:
        return [(AuthorityWidening.SCOPE_WIDENED, f"nothing but {other} is limited")]
    new = uncovered(above.domain, names, permitted(above.scope))
    return [(AuthorityWidening.SCOPE_WIDENED, one_line(f"permits {name}")) for name in new]


def _part_lacks(above: Requirement, below: Requirement) -> Lacks:
    """Compare scopes of which one is about a part of its domain; only the whole domain holds a part as well."""
    about = part_of(above.scope)
    if about and below.scope.whole:
        return []
    if about != part_of(below.scope):
        return [(AuthorityWidening.SCOPE_WIDENED, "the scopes cannot be compared")]
    reading = CapabilityDomain.FILESYSTEM_READ if about in (EXECUTING, UNIX_SOCKETS) else CapabilityDomain.SYSCALL
    new = uncovered(reading, permitted_of(about, below.scope), permitted_of(about, above.scope))
    return [(AuthorityWidening.SCOPE_WIDENED, one_line(f"permits {about}:{name}")) for name in new]


def _comparable(scope: Scope) -> bool:
    """Say whether exactly one of the three kinds of scope holds, as Scope demands of whoever builds one."""
    limits = scope.limits is not None and bool(stated_ceilings(scope.limits))
    return [scope.whole, bool(scope.selectors), limits].count(True) == 1 and limits is (scope.limits is not None)


def _ceiling(part: Requirement) -> tuple[str, int]:
    """Return the one ceiling that a part states and its number; the name is "" when it states something else."""
    if part.scope.limits is None or not _comparable(part.scope):
        return "", 0
    return next(iter(stated_ceilings(part.scope.limits).items()))


_PATHS = (CapabilityDomain.FILESYSTEM_READ, CapabilityDomain.FILESYSTEM_WRITE)


def _relative_paths(ancestor: ExecutionSpec, descendant: ExecutionSpec) -> Iterator[Widening]:
    """Yield the relative paths of a descendant that works elsewhere: equal texts, and yet other files."""
    if ancestor.working_dir == descendant.working_dir:
        return
    stated = {item.domain for item in ancestor.requirements}.intersection(_PATHS)
    for item in descendant.requirements:
        for name in permitted(item.scope) if item.domain in stated else ():
            if not name.startswith("/"):
                yield Widening(AuthorityWidening.SCOPE_WIDENED, item.domain, one_line(f"permits {name}"))


# --- names: what covers what ----------------------------------------------------------------------

# A name in the form in which it is compared; the first item says what sort of name it is. The functions of _READING
# return the key of a name, then those of everything that covers it; what cannot be understood has one key, its text.
Key = Tuple[object, ...]

_LONGEST_PATH = 4095  # PATH_MAX of linux/limits.h without the NUL; in bytes, so that no usable path has more characters
_LONGEST_NAME = 253  # RFC 1035, section 2.3.4: 255 octets on the wire
_LONGEST_LABEL = 63  # the same
_IN_LABELS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_MAPPED = 0xFFFF  # ::ffff:0:0/96, IPv4 addresses in the form of IPv6 (RFC 4291, section 2.5.5.2)


def uncovered(domain: CapabilityDomain, names: Iterable[str], above: Iterable[str]) -> tuple[str, ...]:
    """Return those of `names` that no single one of `above` covers. Equal texts cover each other in every domain.

    Paths cover what lies beneath them, by whole components. Hosts are names, `*.suffix` (every name below it, not
    the suffix itself), `*`, addresses and networks, each with an optional `:port`. Elsewhere only equal names count.
    """
    reading = _READING.get(domain, _text)
    known = {reading(name)[0] for name in above}
    return tuple(name for name in names if known.isdisjoint(reading(name)))


def _text(name: str) -> list[Key]:
    return [("text", name)]


def _path(name: str) -> list[Key]:
    if not _normal(name):
        return _text(name)
    ends = [at for at, char in enumerate(name) if char == "/" and at] if name != "/" else []
    return [("path", top) for top in (name, *(name[:at] for at in reversed(ends)), "/")]


def _normal(name: str) -> bool:
    """Say whether a path is absolute and in its only spelling. Anything else may lead elsewhere."""
    if name == "/":
        return True
    plain = not any(part in ("", ".", "..") for part in name[1:].split("/"))
    return plain and name.startswith("/") and "\0" not in name and len(name) <= _LONGEST_PATH


def _host(name: str) -> list[Key]:
    host, port = _host_and_port(name)
    places = _places(host)
    if not places:
        return _text(name)
    ports = (port, "") if port else ("",)  # an entry without a port covers every port
    return [(*place, one) for place in places for one in ports]


def _host_and_port(name: str) -> tuple[str, str]:
    """Split `host`, `host:port`, an IPv6 address, `[address]` or `[address]:port`; the host is "" for all else."""
    if name.startswith("["):
        host, closed, rest = name[1:].partition("]")
        sign, port = rest[:1], rest[1:]
        fits = bool(closed) and ":" in host and sign in ("", ":")
    elif name.count(":") == 1:
        (host, sign, port), fits = name.partition(":"), True
    else:
        host, sign, port, fits = name, "", "", True
    return (host, port) if fits and (not sign or _is_port(port)) else ("", "")


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and text[0] != "0" and int(text) < 1 << 16


def _places(host: str) -> list[Key]:
    """Return the key of a host, then those of what covers it; nothing when it cannot be understood."""
    if host == "*":
        return [("any",)]
    is_suffix = host.startswith("*.")
    labels = _labels(host[2:] if is_suffix else host)
    found = [] if labels else _networks(host)
    if labels:
        tails = [".".join(labels[at:]) for at in range(len(labels))]
        found = [("below" if at or is_suffix else "name", tail) for at, tail in enumerate(tails)]
    return [*found, ("any",)] if found else []


def _labels(host: str) -> list[str]:
    """Return the labels of a host name in lower case; none for what is no name, or ends in a number (an address)."""
    name = host[:-1] if host.endswith(".") else host
    labels = name.lower().split(".") if name.isascii() and len(name) <= _LONGEST_NAME else [""]
    number = labels[-1].isdigit() or labels[-1].startswith("0x")
    return labels if all(map(_is_label, labels)) and not number else []


def _is_label(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_LABEL and _IN_LABELS.issuperset(text) and "-" not in (text[0], text[-1])


def _networks(host: str) -> list[Key]:
    """Return the keys of an address or network and of all networks around it; nothing for what is neither."""
    import ipaddress  # only here: most specs name no address

    address, sign, size = host.partition("/")
    if "%" in host or (sign and not size.isdigit()):  # zones mean something on one host only; masks have two readings
        return []
    try:
        network = ipaddress.ip_network(host)
    except ValueError:
        return []
    bits, first, length = network.max_prefixlen, int(network.network_address), network.prefixlen
    if network.version == 4 and str(network.network_address) != address:  # leading zeros, which Python read until 3.9.4
        return []
    if network.version == 6 and length >= 96 and first >> 32 == _MAPPED:  # who matches it, IPv4 or IPv6?
        return []
    return [("network", network.version, most, first >> (bits - most)) for most in range(length, -1, -1)]


_READING: Mapping[CapabilityDomain, Callable[[str], List[Key]]] = {
    **{domain: _path for domain in _PATHS},
    CapabilityDomain.NETWORK_EGRESS: _host,
}
