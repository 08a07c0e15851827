# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the run of a policy could do: allowed or refused, by which statement at which line, and what to add.

The verdict is the backend's own, read from the controls that a launch of this very run would install; what the file
modes say is asked of the kernel. This module finds the words, refusing.py those of a refusal. It executes nothing and
changes nothing.
"""

from __future__ import annotations

import os
from typing import Iterator, Sequence

from . import needs
from .errors import HostError
from .model.grants import Grant
from .model.question import NOT_KNOWN, Action, Answer, Decision, Kind, Question
from .policy import lowering
from .policy.hosts import host_value, wider
from .policy.values import Policy
from .policy.walk import walk_as_far_as_possible
from .refusing import DOMAINS, Modes, Refused, key_of, made, refused
from .run import Resolution
from .targets import absolute, by_modes, has_inode_for_each_name, target

__all__ = ["Answer", "absolute", "answer", "by_modes", "execution", "target"]


def answer(
    found: Resolution, policy: Policy | None, question: Question, modes: Modes, documents: Sequence[Policy] = ()
) -> Answer:
    """Return the answer to one question about a resolved run; `policy` is what it goes by, merged and placed.

    `documents` are those that the policy was merged from (refusing.documents); without them a refusal names them all.
    """
    if found.run.refusal is not None or found.backend is None or policy is None:
        refusal = found.run.refusal.text.splitlines() if found.run.refusal else ["there is no boundary"]
        why = f"nothing would start: {' '.join(line.strip() for line in refusal)}"
        return made(question, False, why, _listed_hosts(policy, question), "")
    place = question.target
    if place is not None and place.kind is Kind.UNKNOWN and question.action is not Action.UNIX:
        return made(question, False, f"{NOT_KNOWN}{place.problem}", (), "")
    decision = found.backend.decide(found.run, found.host, question)
    if not decision.allowed:
        return refused(Refused(found, policy, documents, question, decision, modes))
    denied = modes(question) if place is not None else ""
    if denied:
        return made(question, False, f"the boundary allows it, and yet: {denied}", (), "")
    if _only_by_another_name(found, question, decision):
        why = f"{NOT_KNOWN}an entry names the file by another name, and the file system may keep the two apart"
        return made(question, False, why, (), "")
    by = tuple(dict.fromkeys(_origins(policy, question, decision)))
    return made(question, True, _why_allowed(question, decision), by, "")


def _only_by_another_name(found: Resolution, question: Question, decision: Decision) -> bool:
    """Say whether a file is given by another of its names alone, where the kernel may take the two for two files."""
    place, backend = question.target, found.backend
    if place is None or backend is None or not place.shared or not decision.grants:
        return False
    others = [grant for grant in decision.grants if not grant.is_directory and grant.path != place.path]
    if not others or not has_inode_for_each_name(place.path):
        return False
    own = found.run._replace(grants=tuple(grant for grant in found.run.grants if grant not in others))
    return not backend.decide(own, found.host, question).allowed


def execution(
    found: Resolution, policy: Policy | None, question: Question, modes: Modes, documents: Sequence[Policy] = ()
) -> Answer:
    """Return the answer about executing a file: with it the kernel opens its interpreters and its loader as well."""
    whole = answer(found, policy, question, modes, documents)
    if question.target is None or question.target.kind is not Kind.FILE or not (whole.allowed or whole.add):
        return whole
    parts = [] if whole.allowed else [whole]
    try:
        for file in needs.opened_by_execve(question.name, found.run.working_dir.path):
            part = _opened_with_it(found, policy, file, modes, documents)
            parts += [] if part.allowed or file.path == question.name else [part]
            if part.why.startswith(NOT_KNOWN):
                break  # what is opened after it belongs to another file than the program would meet
    except needs.Unclear as problem:
        parts.append(whole._replace(allowed=False, why=_puzzling(problem), by=(), add=""))
    except HostError as problem:
        parts.append(whole._replace(allowed=False, why=f"{problem.where} {problem.what}", by=(), add=""))
    return _together(whole, parts)


def _puzzling(problem: needs.Unclear) -> str:
    """Say what becomes of a file that is no program here, or that this user cannot look into."""
    what = f"{problem.where} {problem.what}"
    if not os.access(problem.where, os.R_OK, effective_ids=True):
        return f"{NOT_KNOWN}{what}, so nothing is known of what it takes besides"
    if needs.takes_other_formats():
        return f"{NOT_KNOWN}{what}, and this host may have programs for other formats (binfmt_misc)"
    return f"the boundary allows it, and yet: {what}, which the kernel does not execute (ENOEXEC)"


def _opened_with_it(
    found: Resolution, policy: Policy | None, file: needs.File, modes: Modes, documents: Sequence[Policy]
) -> Answer:
    asked = Question(Action.EXECUTE, file.path, target(file.path))
    if file.missing:
        return made(asked, False, f"the {file.why}, {file.path}: {file.missing}", (), "")
    part = answer(found, policy, asked, modes, documents)
    unknown = NOT_KNOWN if part.why.startswith(NOT_KNOWN) else ""
    return part._replace(why=f"{unknown}the {file.why}, {file.path}: {part.why[len(unknown) :]}")


def _together(whole: Answer, parts: Sequence[Answer]) -> Answer:
    """Return one answer for all that is opened: what to add is there only where adding helps with every part.

    One part that is refused decides, whatever is not known of the others.
    """
    if not parts:
        return whole
    add = "; and ".join(item.add for item in parts) if all(item.add for item in parts) else ""
    known = sorted(parts, key=lambda item: item.why.startswith(NOT_KNOWN))
    why = "; ".join(dict.fromkeys(item.why for item in known))
    by = tuple(dict.fromkeys(origin for item in parts for origin in item.by))
    return whole._replace(allowed=False, why=why, by=by, add=add)


# --- the words ----------------------------------------------------------------------------------------

_DONE = {Action.READ: "read", Action.EXECUTE: "executed"}


def _why_allowed(question: Question, decision: Decision) -> str:
    if decision.detail:
        return decision.detail
    if not decision.restricted:
        return f"the policy restricts no such action ({DOMAINS[question.action].value})"
    place = question.target
    if place is None:
        return ""
    leads = f"it leads to {place.path}" if place.path != question.name else ""
    later = f"nothing is there yet; what is put there may be {_DONE[question.action]}" if _is_to_come(question) else ""
    return "; ".join(filter(None, (leads, later)))


def _is_to_come(question: Question) -> bool:
    return question.target is not None and question.target.kind is Kind.MISSING and question.action in _DONE


def _origins(policy: Policy, question: Question, decision: Decision) -> Iterator[str]:
    """Yield each statement that allows an action, with its place."""
    if question.action is Action.SYSCALL:
        yield from _origins_of_calls(policy, (question.name,)) or _loading(policy)
        return
    if decision.calls:
        yield from _origins_of_calls(policy, decision.calls)
    key = key_of(policy, question.action)
    keys = (key, lowering.READ) if question.action is Action.EXECUTE else (key,)
    for grant in decision.grants:
        found_at = [origin for name in dict.fromkeys(keys) for origin in _origins_of(policy, name, grant)]
        yield from found_at or (f"{grant.path} ({grant.origin})",)


def _origins_of_calls(policy: Policy, names: Sequence[str]) -> list[str]:
    listing = policy.listing(lowering.CALLS)
    entries = () if listing is None else listing.entries
    stated = [entry for entry in entries if any(name in entry.value for name in names)]
    return [f"{lowering.CALLS}: {entry.text} at {entry.where}" for entry in stated]


def _loading(policy: Policy) -> list[str]:
    stated = policy.listing(lowering.CALLS) is not None
    return ["what loading a program takes, which the backend adds"] if stated else []


def _origins_of(policy: Policy, key: str, grant: Grant) -> Iterator[str]:
    listing = policy.listing(key)
    entries = () if listing is None else listing.entries
    stated = [entry for entry in entries if walk_as_far_as_possible(entry.value.path).path == grant.path]
    for entry in stated:
        spelled = entry.text if entry.text == entry.value.path else f"{entry.text} ({entry.value.path})"
        yield f"{key}: {spelled} at {entry.where}"


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
