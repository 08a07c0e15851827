# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Files to the one policy that a run goes by: read, validated, chosen by scope, placed on this host, and merged.

Nothing here raises for a bad policy: the state says so, and carries the error.
"""

from __future__ import annotations

import enum
import os
import stat
from typing import Container, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..errors import PolicyError
from . import cascade, reach, unmapped
from .document import validate
from .kinds import PATHS
from .locate import Located, files
from .lowering import WRITE
from .node import Document
from .places import Places, place
from .schema import KEYS, SCOPE
from .values import Listing, Policy


class PolicyState(enum.Enum):
    """What was found. Only the first two let a launch go on."""

    ENFORCED = "enforced"
    PERMISSIVE = "permissive"
    UNCONFIGURED = "unconfigured"
    LOAD_FAILED = "load_failed"


class Subject(NamedTuple):
    """Whom a scope is held against; None where the run does not say."""

    team: Optional[str] = None
    agent: Optional[str] = None
    tool: Optional[str] = None


class Loaded(NamedTuple):
    """The outcome. `detail` is one line for a report and says what to do; `error` is set when no launch may go on.

    `trusted` are the files that no program may be able to write, `left_out` and `narrowing` say what became of others,
    `exposed` are those that another user can change. `open_before` is what any of them by itself lets a program write.
    """

    state: PolicyState
    source: str
    detail: str
    error: Optional[PolicyError]
    policy: Optional[Policy] = None
    documents: Tuple[Document, ...] = ()
    trusted: Tuple[str, ...] = ()
    left_out: Tuple[str, ...] = ()
    narrowing: Tuple[str, ...] = ()
    exposed: Tuple[str, ...] = ()
    open_before: Tuple[str, ...] = ()


class _Read(NamedTuple):
    """One file: as it was read, and what it states."""

    document: Document
    policy: Policy


def load(located: Located, here: Places, subject: Subject, refused_calls: Container[str] = ()) -> Loaded:
    """Read and judge what lies at the places that decide. Never raises for what is there."""
    if not located.paths:
        what = f"no policy was found in {', '.join(located.seen)}"
        remedy = "name one with --policy; a launch can state one with --read, --write or --system"
        return refused(PolicyState.UNCONFIGURED, "none", PolicyError(what, "policy", remedy))
    source = ", ".join(located.paths)
    try:
        read = _read(files(located), refused_calls)
        return _chosen(located, source, read, here, subject)
    except PolicyError as problem:
        return refused(PolicyState.LOAD_FAILED, source, problem)


def _chosen(located: Located, source: str, read: Sequence[_Read], here: Places, subject: Subject) -> Loaded:
    """Return what is made of those documents that cover the run."""
    covering: List[_Read] = []
    others: List[_Read] = []
    for item in read:
        (covering if covers(item.policy, subject) else others).append(item)
    left_out = tuple(item.policy.source for item in others)
    if not covering:
        what = f"no policy covers this run: each has a scope of another ({', '.join(left_out)})"
        error = PolicyError(what, source, "name one whose scope covers it, or state --team-id and --agent-id")
        return refused(PolicyState.UNCONFIGURED, source, error)
    apart = [placed(item.policy, here, follow=True) for item in others]
    return _merged(located, covering, apart, here, subject)


def _read(paths: Sequence[str], refused_calls: Container[str]) -> Tuple[_Read, ...]:
    from .reader import read_file  # only here: a policy on the command line needs no reader

    documents = [read_file(path) for path in paths]
    made = {document.text_name: _Read(document, validate(document, refused_calls)) for document in documents}
    return tuple(made.values())


def covers(policy: Policy, subject: Subject) -> bool:
    """Say whether a policy's scope covers a run. What the run does not say counts as covered: it can only narrow."""
    return _stated(policy, subject) in (None, _scope(policy)[1])


def _unsaid(policy: Policy, subject: Subject) -> bool:
    """Say whether a policy covers a run only because the run does not say whose it is."""
    return _scope(policy)[0] in subject._fields and _stated(policy, subject) is None


def _scope(policy: Policy) -> Tuple[str, str]:
    scope = policy.entry("scope")
    prefix, _, name = ("global" if scope is None else scope.text).partition(":")
    return prefix, name


def _stated(policy: Policy, subject: Subject) -> Optional[str]:
    stated: Dict[str, Optional[str]] = subject._asdict()
    return stated.get(_scope(policy)[0])


def _merged(
    located: Located, read: Sequence[_Read], left_out: Sequence[Policy], here: Places, subject: Subject
) -> Loaded:
    by_source = {item.policy.source: item for item in read}
    policies = cascade.ordered([placed(item.policy, here, follow=len(read) > 1) for item in read])
    found = reach.of(policies, left_out)
    unsaid = (len(policies) > 1 and _unsaid(policy, subject) for policy in policies)
    narrowing = [one or other for one, other in zip(found.narrowing, unsaid)]
    loaded = judge(cascade.merge(policies, narrowing), tuple(by_source[p.source].document for p in policies))
    directories = tuple(path for path in located.paths if path not in by_source)
    loaded = loaded._replace(
        trusted=(*_marked(policies, [not reached for reached in found.written]), *directories),
        left_out=tuple(policy.source for policy in left_out),
        narrowing=_marked(policies, narrowing),
        exposed=tuple(source for source in by_source if _is_exposed(source)),
        open_before=_open_before((*policies, *left_out)),
    )
    return loaded if loaded.error else _by_word_of_the_trusted(loaded, policies, found.listed)


def _by_word_of_the_trusted(loaded: Loaded, policies: Sequence[Policy], within_reach: Sequence[bool]) -> Loaded:
    """Refuse what only documents make a policy that lie in reach of the program: they may take away and never give."""
    trusted = [policy for policy, reached in zip(policies, within_reach) if not reached]
    if len(trusted) in (0, len(policies)) or dimensions(cascade.merge(trusted)):
        return loaded
    what = "no rule that a launch can act on is stated by a policy out of the program's reach"
    error = PolicyError(what, loaded.source, f"state one in {', '.join(policy.source for policy in trusted)}")
    return refused(PolicyState.UNCONFIGURED, loaded.source, error)


def _open_before(policies: Sequence[Policy]) -> Tuple[str, ...]:
    """Return what any of the documents by itself lets a program write: an earlier run may have gone by that one."""
    listings = (policy.listing(WRITE) for policy in policies)
    return tuple(dict.fromkeys(entry.value.path for listing in listings if listing for entry in listing.entries))


def _marked(policies: Sequence[Policy], marks: Sequence[bool]) -> Tuple[str, ...]:
    return tuple(policy.source for policy, mark in zip(policies, marks) if mark)


def _is_exposed(path: str) -> bool:
    """Say whether another user than root and the one who launches can change or replace a file, by owner and mode.

    Whoever can change a directory above it can put another in its place, and so can the owner of a link on the way.
    """
    spelled = os.path.abspath(path)
    try:
        places = dict.fromkeys((*_upwards(os.path.dirname(spelled)), *_upwards(os.path.realpath(path))))
        foreign = (os.lstat(place).st_uid not in (0, os.geteuid()) for place in _upwards(spelled))
        return any(foreign) or any(_changeable(os.stat(place)) for place in places)
    except OSError:  # it was read a moment ago
        return True


def _changeable(found: os.stat_result) -> bool:
    if found.st_uid not in (0, os.geteuid()):
        return True
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False  # only owners can replace what lies in it
    by_group = bool(found.st_mode & stat.S_IWGRP) and found.st_gid not in (0, os.getegid())
    return by_group or bool(found.st_mode & stat.S_IWOTH)


def _upwards(path: str) -> Iterator[str]:
    yield path
    while path != "/":
        path = os.path.dirname(path)
        yield path


def placed(policy: Policy, here: Places, follow: bool = False) -> Policy:
    """Return the policy with its lists of paths as they stand on this host; see places.place."""
    values = {
        key: place(value, here, follow) if isinstance(value, Listing) and key in _PATHS else value
        for key, value in policy.values.items()
    }
    return policy._replace(values=values)


_PATHS = tuple(key for key, row in KEYS.items() if row.kind is PATHS)


# --- judging ----------------------------------------------------------------------------------------


def judge(policy: Policy, documents: Tuple[Document, ...] = ()) -> Loaded:
    """Return the state of a policy that is placed; one that is stated on the command line has no document."""
    stated = dimensions(policy)
    subject = "the policy states" if len(documents) < 2 else f"the {len(documents)} policies together state"
    if not stated:
        what = f"{subject} no rule that a launch can act on"
        remedy = f"state one in {', '.join(_DIMENSIONS)}"
        return refused(PolicyState.UNCONFIGURED, policy.source, PolicyError(what, policy.source, remedy))
    state, detail = PolicyState.ENFORCED, f"{subject} rules for {', '.join(stated)}"
    besides = policy.leases is not None or any(_is_rule(*item) for item in policy.values.items() if item[0] != SCOPE)
    if not besides and unmapped.allows_every_tool(policy.tools or {}):
        state = PolicyState.PERMISSIVE
        detail = 'the policy allows every tool ("*") and restricts nothing; state a restriction to have it enforced'
    return Loaded(state, policy.source, detail, None, policy, documents)


# The sections in which a statement counts as a rule. An empty allow-list is one, an empty deny-list is none.
_DIMENSIONS = ("filesystem", "network", "ipc", "credentials", "capabilities", "syscalls", "resources")


def dimensions(policy: Policy) -> Tuple[str, ...]:
    """Return the sections in which a policy states a rule."""
    found = [name for name in _DIMENSIONS if any(_is_rule(key, value) for key, value in policy.section(name))]
    return (*found, *(("tools",) if policy.tools else ()))


def _is_rule(key: str, value: object) -> bool:
    return key != "capabilities.deny" or bool(isinstance(value, Listing) and value.entries)


def refused(state: PolicyState, source: str, error: PolicyError) -> Loaded:
    """Return the outcome of a policy that no launch may go by."""
    return Loaded(state, source, str(error), error)
