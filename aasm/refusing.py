# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Why the boundary of a run would refuse an action: by which statement, and which entry would change that.

The decision is made already; this module finds the words. An entry is proposed only where it would help, and it is
never wider than the path that was asked about, but for a file that is to be made: making one takes its directory.
"""

from __future__ import annotations

import json
import os
from typing import Callable, Iterable, Iterator, NamedTuple, Sequence

from .errors import PolicyError
from .model.domains import CapabilityDomain as Domain
from .model.grants import beneath
from .model.question import Action, Answer, Decision, Kind, Object, Question
from .model.requirements import part
from .policy import lowering
from .policy.grants import Wanted
from .policy.load import Loaded
from .policy.places import Placed, Places, expand, path_value
from .policy.values import Entry, Listing, Policy
from .policy.walk import walk_as_far_as_possible
from .run import Resolution
from .surroundings import surroundings

Modes = Callable[[Question], str]  # why file modes refuse the action, or ""; see targets.by_modes

KEYS = {
    Action.READ: lowering.READ,
    Action.WRITE: lowering.WRITE,
    Action.EXECUTE: lowering.EXECUTE,
    Action.CONNECT: lowering.HOSTS,
    Action.UNIX: lowering.UNIX,
    Action.SYSCALL: lowering.CALLS,
}
DOMAINS = {
    Action.READ: Domain.FILESYSTEM_READ,
    Action.WRITE: Domain.FILESYSTEM_WRITE,
    Action.EXECUTE: Domain.FILESYSTEM_READ,
    Action.CONNECT: Domain.NETWORK_EGRESS,
    Action.UNIX: Domain.IPC,
    Action.SYSCALL: Domain.SYSCALL,
}
_DENY, _ALLOW = "capabilities.deny", "capabilities.allow"


class Refused(NamedTuple):
    """A refusal to put into words. `documents` are those that the policy was merged from, () where nobody knows."""

    found: Resolution
    policy: Policy
    documents: Sequence[Policy]
    question: Question
    decision: Decision
    modes: Modes

    def answer(self, why: Iterable[str], by: Iterable[str] = (), add: Iterable[str] = ()) -> Answer:
        """Return the answer; reasons and proposals that are empty are left out."""
        return made(self.question, False, "; ".join(filter(None, why)), tuple(by), "; and ".join(filter(None, add)))


def made(question: Question, allowed: bool, why: str, by: tuple[str, ...], add: str) -> Answer:
    """Return an answer to a question."""
    host = f"[{question.name}]" if ":" in question.name else question.name
    subject = f"{host}:{question.port}" if question.port else question.name
    return Answer(question.action.value, subject, allowed, why, by, add)


def key_of(policy: Policy, action: Action) -> str:
    """Return the key that decides about an action; executing follows reading where it has no list of its own."""
    if action is Action.EXECUTE and policy.listing(lowering.EXECUTE) is None:
        return lowering.READ
    return KEYS[action]


def documents(found: Loaded, here: Places) -> tuple[Policy, ...]:
    """Return each document of a policy by itself, its paths placed; what is optional and missing stays in."""
    from .policy.document import validate  # only here: a launch has read them already

    return tuple(_placed(validate(document), here) for document in found.documents)


def _placed(policy: Policy, here: Places) -> Policy:
    lists = ((key, policy.listing(key)) for key in (lowering.READ, lowering.WRITE, lowering.EXECUTE))
    values = {key: _place(listing, here) for key, listing in lists if listing is not None}
    return policy._replace(values={**policy.values, **values})


def _place(listing: Listing, here: Places) -> Listing:
    pairs = ((entry, path) for entry in listing.entries for path in expand(entry, here))
    entries = (entry._replace(value=Placed(path, walk_as_far_as_possible(path).path)) for entry, path in pairs)
    return listing._replace(entries=tuple(entries))


def refused(case: Refused) -> Answer:
    """Return why an action is refused, by which statements, and what to add."""
    action, decision = case.question.action, case.decision
    denial = [item for item in case.found.run.spec.requirements if item.domain is DOMAINS[action]]
    if any(item.stated_by == "capabilities" for item in denial):
        return _denied(case)
    if action is Action.SYSCALL:
        return _refused_call(case, (case.question.name,))
    if decision.lacking:
        return _refused_path(case)
    if action is Action.CONNECT and any(not part(item.scope) for item in denial):
        return _refused_network(case)
    if decision.calls:
        return _refused_call(case, decision.calls)
    return case.answer([decision.detail], _stated(case.policy, (KEYS[action],)))


def _stated(policy: Policy, keys: Iterable[str]) -> Iterator[str]:
    """Yield the lists that a policy states, with their places."""
    for key in keys:
        listing = policy.listing(key)
        if listing is not None:
            yield f"{key} at {listing.where}"


# --- whole domains ------------------------------------------------------------------------------------


def _denied(case: Refused) -> Answer:
    """Say which words of `capabilities` deny a domain: no entry of another list opens it again."""
    domain, policy = DOMAINS[case.question.action], case.policy
    denied, allowed = policy.names(_DENY) or (), policy.names(_ALLOW)
    out = [name for name in lowering.CAPABILITIES[domain] if name in denied]
    missing = [name for name in lowering.CAPABILITIES[domain] if allowed is not None and name not in allowed]
    ways = [*(f"taking {name} out of {_DENY}" for name in out), *(f"adding {name} to {_ALLOW}" for name in missing)]
    by = _stated(policy, [*([_DENY] if out else []), *([_ALLOW] if missing else [])])
    return case.answer([f"{domain.value} is denied as a whole; only {' and '.join(ways)} would open it"], by)


def _refused_network(case: Refused) -> Answer:
    """Say which lists leave no destination: this release can hold no list of some, so that no entry helps."""
    lists = [(key, case.policy.listing(key)) for key in (lowering.HOSTS, lowering.PORTS)]
    stated = [key for key, listing in lists if listing is not None]
    empty = [key for key, listing in lists if listing is not None and not listing.entries]
    out = f"no entry would help in this release, only taking {' and '.join(stated)} out"
    calls = _not_among(case.decision.calls) if case.decision.calls else ""
    by = [*_stated(case.policy, empty or stated), *(_stated(case.policy, [lowering.CALLS]) if calls else ())]
    return case.answer([case.decision.detail, out, calls], by)


# --- calls --------------------------------------------------------------------------------------------


def _refused_call(case: Refused, calls: tuple[str, ...]) -> Answer:
    """Say why the calls that something takes are refused."""
    listing, detail = case.policy.listing(lowering.CALLS), case.decision.detail
    if case.decision.floor:
        return case.answer([f"{detail} in every boundary, whatever a policy says"])
    if listing is None or calls[0] in [name for entry in listing.entries for name in entry.value]:
        why = f"{detail}, since the policy refuses what it is for: the network, or new processes"
        return case.answer([why], _stated(case.policy, (lowering.HOSTS, lowering.PORTS, _DENY, _ALLOW)))
    by, add, note = _by_calls(case, calls)
    if not _allowed_without_a_list(case, calls):
        besides = "another statement takes it away as well, with the network or with new processes"
        more = _stated(case.policy, (lowering.HOSTS, lowering.PORTS, _DENY, _ALLOW))
        return case.answer([f"{_not_among(calls)} ({detail})", besides], (*by, *more))
    return case.answer([f"{_not_among(calls)} ({detail})", note], by, [add])


def _allowed_without_a_list(case: Refused, calls: tuple[str, ...]) -> bool:
    """Say whether all of these calls could be made if the policy had no list of calls."""
    run, backend = case.found.run, case.found.backend
    if run.plan is None or backend is None:
        return False
    others = tuple(item for item in run.plan.outcomes if item.requirement.domain is not Domain.SYSCALL)
    unlisted = run._replace(plan=run.plan._replace(outcomes=others))
    asked = (Question(Action.SYSCALL, name) for name in calls)
    return all(backend.decide(unlisted, case.found.host, each).allowed for each in asked)


def _not_among(calls: tuple[str, ...]) -> str:
    return f"{' and '.join(calls)} {'is' if len(calls) == 1 else 'are'} not among the system calls that are allowed"


def _by_calls(case: Refused, calls: tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    """Return the statements that leave calls out, what to add to them, and what is to be said of that."""
    where, note = _lacking(case, lowering.CALLS, lambda listing: not set(calls) - {*_names(listing)})
    return (f"{lowering.CALLS} at {where}",), f"{' and '.join(calls)} to {lowering.CALLS} ({where})", note


def _names(listing: Listing) -> Iterator[str]:
    return (name for entry in listing.entries for name in entry.value)


# --- lists of several documents -----------------------------------------------------------------------


def _lacking(case: Refused, key: str, covers: Callable[[Listing], bool]) -> tuple[str, str]:
    """Return the places of a list in those documents whose own does not cover what was asked, and a note."""
    listing = case.policy.listing(key)
    assert listing is not None  # it refuses
    lists = [document.listing(key) for document in case.documents]
    places = [origin for own in lists if own is not None and not covers(own) for origin in own.origins]
    if places:
        return " and ".join(places), ""
    note = f"every document that states {key} must cover it" if len(listing.origins) > 1 else ""
    return listing.where, note


def _covers(listing: Listing, place: Object) -> bool:
    """Say whether an entry of a list is the object, or a directory above it."""
    return any(_identity(entry.value.real) in place.identities for entry in listing.entries)


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (-1, -1)  # an entry counts only for what exists
    return (found.st_dev, found.st_ino)


# --- paths --------------------------------------------------------------------------------------------


def _refused_path(case: Refused) -> Answer:
    """Say which lists lack the path; to execute it, it must be in two. Calls that it takes may be missing besides."""
    place, keys = case.question.target, dict.fromkeys(key_of(case.policy, verb) for verb in case.decision.lacking)
    assert place is not None
    object_ = place
    found = {key: _lacking(case, key, lambda own: _covers(own, object_)) for key in keys}
    path, *notes = _proposed(case)
    why = [f"no entry of {' and none of '.join(keys)} covers it", *notes, *dict.fromkeys(n for _, n in found.values())]
    by = tuple(f"{key} at {where}" for key, (where, _) in found.items())
    add = " and to ".join(f"{key} ({where})" for key, (where, _) in found.items())
    add = f"{json.dumps(path, ensure_ascii=False)} to {add}" if path else ""
    if not case.decision.calls or case.policy.listing(lowering.CALLS) is None:
        return case.answer(why, by, [add])
    besides, more, note = _by_calls(case, case.decision.calls)
    return case.answer([*why, _not_among(case.decision.calls), note], (*by, *besides), [add, more] if add else [])


def _proposed(case: Refused) -> tuple[str, str]:
    """Return the path that an entry would have to name, "" where none would help, and what is to be said of that."""
    place = case.question.target
    assert place is not None
    problem = case.modes(case.question)
    if problem:
        return "", f"and: {problem}"
    note = ""
    if place.kind is Kind.MISSING:
        problem, note = _missing(case, place)
    problem = problem or _unspellable(place.existing) or _inadmissible(case, place)
    return ("", problem) if problem else (place.existing, note)


def _missing(case: Refused, place: Object) -> tuple[str, str]:
    """Return why nothing is proposed for what does not exist, or else what is to be said of the proposal."""
    if case.question.action is not Action.WRITE:
        optional = " and ".join(_optional(case, place))
        names = f"; the optional entry for it is at {optional}" if optional else ""
        return f"it does not exist, and an entry counts only for what exists when a launch begins{names}", ""
    if place.depth > 1:
        return "neither it nor its directory exists, and an entry counts only for what does: make the directory", ""
    if beneath(os.path.realpath(surroundings().home or "/"), place.existing):
        return f"making it takes {place.existing}, and no entry as wide as that is proposed", ""
    return "", f"it does not exist, and making it takes the directory {place.existing}, which is more than the file"


def _optional(case: Refused, place: Object) -> Iterator[str]:
    """Yield the places of optional entries that name a missing path."""
    keys = dict.fromkeys(key_of(case.policy, verb) for verb in case.decision.lacking)
    lists = [document.listing(key) for document in case.documents for key in keys]
    entries: Iterable[Entry] = (entry for listing in lists if listing is not None for entry in listing.entries)
    yield from dict.fromkeys(item.where for item in entries if item.optional and item.value.real == place.path)


def _unspellable(path: str) -> str:
    """Return why no policy can name a path, or an empty text."""
    try:
        path.encode()
        path_value(path, "")
    except UnicodeEncodeError:
        return "no policy can name it: it is no UTF-8"
    except PolicyError as problem:
        return f"no policy can name it: {problem.what}"
    return ""


def _inadmissible(case: Refused, place: Object) -> str:
    """Return why a launch would refuse an entry for a path, or an empty text.

    With it, what other documents list beneath it counts as well: each of those entries is tried, and the links to it.
    """
    lacking = case.decision.lacking
    read, write, execute = (verb in lacking for verb in (Action.READ, Action.WRITE, Action.EXECUTE))
    for path in (place.existing, *_beneath(case, place.existing)):
        problem = case.found.admits(Wanted(path, read, write, "the new entry", execute))
        if not problem and write:
            problem = _planted(path, place.existing)
        if problem:
            return f"no launch would take an entry for it: {problem}"
    return ""


def _beneath(case: Refused, top: str) -> Iterator[str]:
    """Yield the paths that single documents list and that lead to `top` or beneath it."""
    keys = dict.fromkeys(key_of(case.policy, verb) for verb in case.decision.lacking)
    several = case.documents if len(case.documents) > 1 else ()
    lists = [document.listing(key) for document in several for key in keys]
    entries: Iterable[Entry] = (entry for listing in lists if listing is not None for entry in listing.entries)
    counted = (entry.value for entry in entries if not entry.optional or os.path.exists(entry.value.path))
    yield from dict.fromkeys(item.path for item in counted if beneath(item.real, top))


def _planted(path: str, top: str) -> str:
    """Return why a path could not be granted beside one that may be written, or an empty text."""
    links = [link for link in walk_as_far_as_possible(path).links if link != top and beneath(link, top)]
    return f"{links[0]} would be a symbolic link that a program could have made" if links else ""
