# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the boundary of a run decides about one action: read from the ruleset and the filter that a launch installs.

Pure. It decides as the kernel does and asks nothing: a path gets the rights of every rule on itself or on a directory
above it, by device and inode (Documentation/userspace-api/landlock.rst); a call gets the verdict of its number.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._sys import bpf, landlock
from ...model.question import Action, Decision, Kind, Object, Question
from . import filters, floor, rules


class Compiled(NamedTuple):
    """The controls of one launch, before they become bytes."""

    deciding: rules.Handled
    rules: tuple[rules.Rule, ...]
    filter: bpf.Filter


def decide(compiled: Compiled, question: Question) -> Decision:
    """Return what these controls make of an action."""
    if question.action is Action.SYSCALL:
        return _call(compiled.filter, question.name)
    if question.action is Action.CONNECT:
        return _socket(compiled.filter, (floor.AF_INET, floor.AF_INET6), "the filter opens no internet socket")
    if question.action is Action.UNIX:
        return _socket(compiled.filter, (floor.AF_UNIX,), "the filter opens no unix socket, whatever the policy says")
    assert question.target is not None  # every other action is about a path
    decided = _path(compiled, question.target, _needed(question.action, question.target))
    return _with_calls(compiled.filter, decided, _calls(question.action, question.target))


# --- paths ------------------------------------------------------------------------------------------


def _needed(action: Action, target: Object) -> int:
    """Return the rights that an action asks for on its object, or on the directory that would hold it."""
    if action is Action.EXECUTE:  # execve(2) opens the file for reading as well
        return landlock.LANDLOCK_ACCESS_FS_EXECUTE | landlock.LANDLOCK_ACCESS_FS_READ_FILE
    if action is Action.READ:
        whole = target.kind is Kind.DIRECTORY
        return landlock.LANDLOCK_ACCESS_FS_READ_DIR if whole else landlock.LANDLOCK_ACCESS_FS_READ_FILE
    rights = landlock.LANDLOCK_ACCESS_FS_WRITE_FILE
    if target.kind is not Kind.FILE:
        rights |= landlock.LANDLOCK_ACCESS_FS_MAKE_REG
    return rights | (landlock.LANDLOCK_ACCESS_FS_MAKE_DIR if target.depth > 1 else 0)


def _path(compiled: Compiled, target: Object, needed: int) -> Decision:
    decided = needed & compiled.deciding.fs
    if not decided:
        return Decision(True, False)
    applying = [rule for rule in compiled.rules if (rule.grant.device, rule.grant.inode) in target.identities]
    given = 0
    for rule in applying:
        given |= rule.access
    missing = decided & ~given
    if missing:
        detail = f"no rule gives {' and '.join(landlock.names(missing, 'fs'))}"
        return Decision(False, True, (), detail, lacking=_verbs(missing))
    return Decision(True, True, tuple(rule.grant for rule in applying if rule.access & decided))


def _verbs(rights: int) -> tuple[Action, ...]:
    """Return the verbs of a policy that these rights belong to."""
    of = {
        Action.EXECUTE: landlock.EXECUTE,
        Action.READ: landlock.READ_RIGHTS,
        Action.WRITE: landlock.WRITE_RIGHTS | landlock.DEVICE,
    }
    return tuple(action for action, mask in of.items() if rights & mask)


# --- calls ------------------------------------------------------------------------------------------

# What an action on a path is made of: of each line the filter must allow one call. An execve(2) every program has.
_OPENING, _LISTING, _MAKING = ("openat", "open"), ("getdents64", "getdents"), ("mkdirat", "mkdir")
_WRITING = (*_OPENING, "creat")


def _calls(action: Action, target: Object) -> tuple[tuple[str, ...], ...]:
    """Return the calls that an action takes; those of a line are alternatives, the newest first."""
    if action is Action.EXECUTE:
        return ()
    if action is Action.READ:
        return (_OPENING, _LISTING) if target.kind is Kind.DIRECTORY else (_OPENING,)
    if target.kind is Kind.DIRECTORY:
        return (_WRITING,)
    return (_WRITING, _MAKING) if target.depth > 1 else (_WRITING,)


def _with_calls(found: bpf.Filter, decided: Decision, needed: tuple[tuple[str, ...], ...]) -> Decision:
    """Return a decision about a path that refuses as well what the filter makes impossible."""
    refused = [names[0] for names in needed if not any(_call(found, name).allowed for name in names)]
    if not refused:
        return decided
    detail = decided.detail or _call(found, refused[0]).detail
    return decided._replace(allowed=False, restricted=True, grants=(), detail=detail, calls=tuple(refused))


def _call(found: bpf.Filter, name: str) -> Decision:
    number = found.arch.numbers.get(name)
    if number is None:
        return Decision(False, True, (), f"{found.arch.name} has no call of this name (ENOSYS)", floor=True)
    verdicts = _verdicts(found, number)
    refusals = ", ".join(sorted(_words(verdict) for verdict in verdicts - {bpf.ALLOW}))
    if bpf.ALLOW in verdicts:
        return Decision(True, True, (), f"some of its arguments are refused ({refusals})" if refusals else "")
    in_every_run = bpf.ALLOW not in _verdicts(filters.last(found.arch, filters.FilterPlan()), number)
    return Decision(False, True, (), f"it is answered with {refusals}", floor=in_every_run)


def _verdicts(found: bpf.Filter, number: int) -> set[int]:
    rule = found.rules.get(number, found.known)
    return {*(clause.verdict for clause in rule.clauses), rule.otherwise} if isinstance(rule, bpf.Checked) else {rule}


def _words(verdict: int) -> str:
    return bpf.verdict_name(verdict).replace("ERRNO(", "").rstrip(")")


# By each of these an internet socket reaches a destination: send(2), and tcp(7) on MSG_FASTOPEN.
_CONNECTING = ("connect", "sendto", "sendmsg", "sendmmsg")


def _socket(found: bpf.Filter, families: tuple[int, ...], refused: str) -> Decision:
    ways = [name for name in _CONNECTING if _call(found, name).allowed]
    if not _opens(found, families):
        unix = families == (floor.AF_UNIX,)
        lacking = () if unix or not _unlisted(found, "socket") else ("socket",) if ways else ("socket", "connect")
        return Decision(False, True, (), refused, floor=unix, calls=lacking)
    if not ways:
        return _call(found, "connect")._replace(calls=("connect",))
    if "connect" in ways:
        return Decision(True, False)
    detail = f"without connect, by {' or '.join(ways)} (datagrams, MSG_FASTOPEN)"
    return Decision(True, True, (), detail, calls=tuple(ways))


def _opens(found: bpf.Filter, families: tuple[int, ...]) -> bool:
    """Say whether the filter lets a socket of one of these families be opened."""
    rule = found.rules.get(found.arch.numbers["socket"], found.known)
    if not isinstance(rule, bpf.Checked):
        return rule == bpf.ALLOW
    opening = [clause.conditions for clause in rule.clauses if clause.verdict == bpf.ALLOW]
    return any(item.arg == 0 and item.equals in families for conditions in opening for item in conditions)


def _unlisted(found: bpf.Filter, name: str) -> bool:
    """Say whether a call gets what every call gets that a list of calls leaves out."""
    return found.known != bpf.ALLOW and found.arch.numbers[name] not in found.rules
