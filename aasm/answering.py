# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the run of a policy could do: allowed or refused, by which statement at which line, and what to add.

The verdict is the backend's own, read from the controls that a launch of this very run would install; what the file
modes say is asked of the kernel. This module finds the words. It executes nothing and changes nothing.
"""

from __future__ import annotations

import json
import os
import stat
from typing import Callable, Iterator, NamedTuple, Sequence

from . import needs
from .errors import HostError, UsageError, system_text
from .model.domains import CapabilityDomain as Domain
from .model.grants import Grant
from .model.question import Action, Decision, Kind, Object, Question
from .policy import lowering
from .policy.grants import Wanted
from .policy.hosts import host_value, wider
from .policy.values import Listing, Policy
from .policy.walk import walk_as_far_as_possible
from .run import Resolution

Modes = Callable[[Question], str]  # why file modes refuse the action, or ""; see `by_modes`


class Answer(NamedTuple):
    """What becomes of one action. `by` are the statements that decide; `add` is what would allow it, "" for nothing."""

    action: str
    subject: str
    allowed: bool
    why: str
    by: tuple[str, ...]
    add: str


def answer(found: Resolution, policy: Policy | None, question: Question, modes: Modes) -> Answer:
    """Return the answer to one question about a resolved run; `policy` is what it goes by, merged and placed."""
    if found.run.refusal is not None or found.backend is None or policy is None:
        refusal = found.run.refusal.text.splitlines() if found.run.refusal else ["there is no boundary"]
        why = f"nothing would start: {' '.join(line.strip() for line in refusal)}"
        return _made(question, False, why, _listed_hosts(policy, question), "")
    decision = found.backend.decide(found.run, found.host, question)
    if not decision.allowed:
        return _checked(found, _refused(found, policy, question, decision), question, decision, modes)
    denied = modes(question) if question.target is not None else ""
    if denied:
        return _made(question, False, f"the boundary allows it, and yet: {denied}", (), "")
    by = tuple(dict.fromkeys(_origins(found, policy, question, decision)))
    return _made(question, True, _why_allowed(found, question, decision), by, "")


def execution(found: Resolution, policy: Policy | None, question: Question, modes: Modes) -> Answer:
    """Return the answer about executing a file: with it the kernel opens its interpreters and its loader as well."""
    whole = answer(found, policy, question, modes)
    if question.target is None or question.target.kind is not Kind.FILE or not (whole.allowed or whole.add):
        return whole
    refused = [] if whole.allowed else [whole]
    try:
        for file in needs.opened_by_execve(question.name, found.run.working_dir.path):
            part = _opened_with_it(found, policy, file, modes)
            refused += [] if part.allowed or file.path == question.name else [part]
    except needs.Unclear as problem:
        whole = whole._replace(why=f"{problem.where} {problem.what}, so nothing is known of what it takes besides")
    except HostError as problem:
        refused.append(whole._replace(allowed=False, why=f"{problem.where} {problem.what}", by=(), add=""))
    return _together(whole, refused)


def _opened_with_it(found: Resolution, policy: Policy | None, file: needs.File, modes: Modes) -> Answer:
    asked = Question(Action.EXECUTE, file.path, target(file.path))
    if file.missing:
        return _made(asked, False, f"its {file.why}, {file.path}: {file.missing}", (), "")
    part = answer(found, policy, asked, modes)
    return part._replace(why=f"its {file.why}, {file.path}: {part.why}")


def _together(whole: Answer, refused: Sequence[Answer]) -> Answer:
    """Return one answer for all that is opened: what to add is there only where adding helps with every part."""
    if not refused:
        return whole
    add = "; and ".join(item.add for item in refused) if all(item.add for item in refused) else ""
    why = "; ".join(dict.fromkeys(item.why for item in refused))
    by = tuple(dict.fromkeys(origin for item in refused for origin in item.by))
    return whole._replace(allowed=False, why=why, by=by, add=add)


def _checked(found: Resolution, made: Answer, question: Question, decision: Decision, modes: Modes) -> Answer:
    """Take back a proposal that would not help: the modes refuse as well, or a launch would refuse the entry."""
    if not made.add or question.action not in _KEY:
        return made
    problem = modes(question)
    if problem:
        return made._replace(why=f"{made.why}; and: {problem}", add="")
    read, write, execute = (verb in decision.lacking for verb in (Action.READ, Action.WRITE, Action.EXECUTE))
    problem = found.admits(Wanted(_to_add(question), read, write, "the new entry", execute))
    if problem:
        return made._replace(why=f"{made.why}; no launch would take an entry for it: {problem}", add="")
    return made


def _made(question: Question, allowed: bool, why: str, by: tuple[str, ...], add: str) -> Answer:
    subject = f"{question.name}:{question.port}" if question.port else question.name
    return Answer(question.action.value, subject, allowed, why, by, add)


# --- the object of a path -----------------------------------------------------------------------------


def target(path: str) -> Object:
    """Return where an absolute path leads, links followed as the program would follow them."""
    walked = walk_as_far_as_possible(path)
    real = walked.path
    if walked.found is not None:
        kind = Kind.DIRECTORY if stat.S_ISDIR(walked.found.st_mode) else Kind.FILE
        return Object(real, kind, _identities(real), real)
    above, depth = real, 0
    while not _exists(above):
        above, depth = os.path.dirname(above), depth + 1
    problem = _problem(path, above, walked.rest)
    return Object(real, Kind.IMPOSSIBLE if problem else Kind.MISSING, _identities(above), above, depth, problem)


def _problem(path: str, above: str, rest: tuple[str, ...]) -> str:
    """Return why nothing can be made at a path that is missing, or an empty text."""
    if ".." in rest:
        return "`..` behind what does not exist leads nowhere"
    return "" if os.path.isdir(above) else f"{above} is no directory"


def _exists(path: str) -> bool:
    return path == "/" or os.path.lexists(path)


def _identities(path: str) -> tuple[tuple[int, int], ...]:
    found = []
    while True:
        status = os.lstat(path)
        found.append((status.st_dev, status.st_ino))
        if path == "/":
            return tuple(found)
        path = os.path.dirname(path)


def by_modes(question: Question) -> str:
    """Ask the kernel, as this process, why it would refuse a path by its type and mode; "" when it would not.

    The path is asked about as it is spelled: the directories on the way must be searchable too.
    """
    place = question.target
    assert place is not None
    try:
        mode = os.stat(question.name).st_mode
    except FileNotFoundError:
        return _by_modes_of_missing(question, place)
    except OSError as problem:
        return f"{question.name}: {system_text(problem)}"
    if question.action is Action.EXECUTE and not stat.S_ISREG(mode):
        return f"{question.name} is no regular file"
    if stat.S_ISSOCK(mode):
        return f"{question.name} is a socket, which is not opened but connected to"
    directory = question.action is Action.WRITE and stat.S_ISDIR(mode)
    asked = {Action.READ: os.R_OK, Action.WRITE: os.W_OK | (os.X_OK if directory else 0), Action.EXECUTE: os.X_OK}
    return _permitted(question.name, asked[question.action])


def _by_modes_of_missing(question: Question, place: Object) -> str:
    if place.kind is Kind.IMPOSSIBLE:
        return place.problem
    if question.action is not Action.WRITE:
        return ""  # what is not there has no mode, and making it is another's action
    if question.name.endswith("/"):
        return f"{question.name} would be a directory"
    return _permitted(place.existing, os.W_OK | os.X_OK)


def _permitted(path: str, wanted: int) -> str:
    return "" if os.access(path, wanted, effective_ids=True) else f"{path} does not permit it to this user"


# --- the words ----------------------------------------------------------------------------------------

_KEY = {Action.READ: lowering.READ, Action.WRITE: lowering.WRITE, Action.EXECUTE: lowering.EXECUTE}
_STATES = {
    Action.READ: Domain.FILESYSTEM_READ,
    Action.WRITE: Domain.FILESYSTEM_WRITE,
    Action.EXECUTE: Domain.FILESYSTEM_READ,
    Action.CONNECT: Domain.NETWORK_EGRESS,
    Action.UNIX: Domain.IPC,
    Action.SYSCALL: Domain.SYSCALL,
}


def _key(policy: Policy, action: Action) -> str:
    """Return the key that decides about an action; executing follows reading where it has no list of its own."""
    if action is Action.EXECUTE and policy.listing(lowering.EXECUTE) is None:
        return lowering.READ
    keys = {Action.CONNECT: lowering.HOSTS, Action.UNIX: lowering.UNIX, Action.SYSCALL: lowering.CALLS}
    return {**_KEY, **keys}[action]


def _why_allowed(found: Resolution, question: Question, decision: Decision) -> str:
    if question.action is Action.SYSCALL:
        return decision.detail
    if not decision.restricted:
        return f"the policy restricts no such action ({_STATES[question.action].value})"
    place = question.target
    return f"it leads to {place.path}" if place is not None and place.path != question.name else ""


def _origins(found: Resolution, policy: Policy, question: Question, decision: Decision) -> Iterator[str]:
    """Yield each statement that allows an action, with its place."""
    key = _key(policy, question.action)
    if question.action is Action.SYSCALL:
        listing = policy.listing(key)
        entries = [] if listing is None else [item for item in listing.entries if question.name in item.value]
        yield from (f"{key}: {entry.text} at {entry.where}" for entry in entries)
        if listing is not None and not entries:
            yield "what loading a program takes, which the backend adds"
        return
    keys = (key, lowering.READ) if question.action is Action.EXECUTE else (key,)
    for grant in decision.grants:
        found_at = [origin for name in dict.fromkeys(keys) for origin in _origins_of(policy, name, grant)]
        yield from found_at or (f"{grant.path} ({grant.origin})",)


def _origins_of(policy: Policy, key: str, grant: Grant) -> Iterator[str]:
    listing = policy.listing(key)
    entries = () if listing is None else listing.entries
    stated = [entry for entry in entries if walk_as_far_as_possible(entry.value.path).path == grant.path]
    for entry in stated:
        spelled = entry.text if entry.text == entry.value.path else f"{entry.text} ({entry.value.path})"
        yield f"{key}: {spelled} at {entry.where}"


def _refused(found: Resolution, policy: Policy, question: Question, decision: Decision) -> Answer:
    domain, key = _STATES[question.action], _key(policy, question.action)
    listing = policy.listing(key)
    denial = next((item for item in found.run.spec.requirements if item.domain is domain), None)
    if denial is not None and denial.stated_by == "capabilities":
        return _made(question, False, f"{domain.value} is denied as a whole", _denials(policy), "")
    if question.action is Action.SYSCALL:
        return _refused_call(policy, (question.name,), decision, question)
    if decision.lacking:
        return _refused_path(policy, question, decision)
    if decision.calls:
        return _refused_call(policy, decision.calls, decision, question)
    by = () if listing is None else (f"{key} at {listing.where}",)
    return _made(question, False, decision.detail, by, "")


def _refused_path(policy: Policy, question: Question, decision: Decision) -> Answer:
    """Say which lists lack the path; to execute it, it must be in two. Calls that it takes may be missing besides."""
    lists = [(key, policy.listing(key)) for key in dict.fromkeys(_key(policy, verb) for verb in decision.lacking)]
    places = [(key, listing.where) for key, listing in lists if listing is not None]
    why = f"no entry of {' and none of '.join(key for key, _ in places)} covers it"
    by = tuple(f"{key} at {where}" for key, where in places)
    path, add = _to_add(question), " and to ".join(f"{key} ({where})" for key, where in places)
    add = f"{json.dumps(path, ensure_ascii=False)} to {add}" if path and add else ""
    calls = policy.listing(lowering.CALLS)
    if decision.calls and calls is not None:
        besides, more = _by_calls(calls, decision.calls)
        why, by, add = f"{why}; and {_not_among(decision.calls)}", (*by, *besides), add and f"{add}; and {more}"
    return _made(question, False, why, by, add)


def _refused_call(policy: Policy, calls: tuple[str, ...], decision: Decision, asked: Question) -> Answer:
    """Say why the calls that something takes are refused, in answer to what was `asked`."""
    listing = policy.listing(lowering.CALLS)
    if decision.floor:
        return _made(asked, False, f"{decision.detail} in every boundary, whatever a policy says", (), "")
    if listing is None or calls[0] in [name for entry in listing.entries for name in entry.value]:
        why = f"{decision.detail}, since the policy refuses what it is for: the network, or new processes"
        return _made(asked, False, why, tuple(_about_sockets_and_processes(policy)), "")
    return _made(asked, False, f"{_not_among(calls)} ({decision.detail})", *_by_calls(listing, calls))


def _not_among(calls: tuple[str, ...]) -> str:
    return f"{' and '.join(calls)} {'is' if len(calls) == 1 else 'are'} not among the system calls that are allowed"


def _by_calls(listing: Listing, calls: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the statement that leaves calls out, and what to add to it."""
    place = f"{lowering.CALLS} ({listing.where})"
    return (f"{lowering.CALLS} at {listing.where}",), f"{' and '.join(calls)} to {place}"


def _about_sockets_and_processes(policy: Policy) -> Iterator[str]:
    for key in (lowering.HOSTS, lowering.PORTS, "capabilities.deny", "capabilities.allow"):
        listing = policy.listing(key)
        if listing is not None:
            yield f"{key} at {listing.where}"


def _denials(policy: Policy) -> tuple[str, ...]:
    lists = [(key, policy.listing(key)) for key in ("capabilities.deny", "capabilities.allow")]
    return tuple(f"{key} at {listing.where}" for key, listing in lists if listing is not None)


def _to_add(question: Question) -> str:
    """Return the path that an entry would have to name, "" where none would help."""
    place = question.target
    if place is None or place.kind is Kind.IMPOSSIBLE:
        return ""
    try:
        place.existing.encode()
    except UnicodeEncodeError:  # no policy can name it
        return ""
    return place.existing


def _listed_hosts(policy: Policy | None, question: Question) -> tuple[str, ...]:
    """Return the entries that list a destination: a launch that cannot hold them is refused, whatever they say."""
    listing = policy.listing(lowering.HOSTS) if policy is not None and question.action is Action.CONNECT else None
    if policy is None or listing is None:
        return ()
    ports, patterns = policy.listing(lowering.PORTS), wider(host_value(question.name, question.name))
    if ports is not None and question.port not in [entry.value for entry in ports.entries]:
        return ()
    matching = [item for item in listing.entries if (item.value.kind, item.value.host) in patterns]
    return tuple(
        f"{lowering.HOSTS} lists {entry.text} at {entry.where}"
        for entry in matching
        if entry.value.port in (None, question.port)
    )


def absolute(path: str, base: str) -> str:
    """Return a path of a question, absolute: a relative one is taken from where the program would start."""
    if not path or "\0" in path:
        raise UsageError("no path can be empty or hold a NUL", "", "name a path")
    return os.path.join(base, path)
