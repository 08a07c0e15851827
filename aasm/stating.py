# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The first stages of a run: find the policies, validate and merge them, expand their paths, and lower the result."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from .backends.native import floor
from .errors import AasmError, PolicyError, UsageError
from .model.domains import CapabilityDomain as Domain
from .model.plan import Refusal, RefusalKind
from .model.request import Request
from .model.requirements import UNLIMITED, ResourceLimits
from .model.resolved import ResolvedPolicy
from .policy import document, load, locate, lowering, node, places, unmapped
from .policy.grants import Wanted
from .policy.load import Loaded, PolicyState, Subject
from .policy.lowering import EXECUTE, READ, VARIABLES, WRITE, Lowered, lower, not_derived
from .policy.values import COMMAND_LINE, Entry, Policy
from .policy.vocabulary import BROKER_REQUIRED
from .policy.walk import walk_as_far_as_possible
from .receipt.canonical import digest_bytes
from .surroundings import Surroundings, refusable


class Stated(NamedTuple):
    """What the policy states, lowered and expanded; with a refusal it states nothing."""

    policy: ResolvedPolicy
    lowered: Lowered
    wanted: tuple[Wanted, ...]
    policy_files: tuple[str, ...]  # those that no program may be able to write; none on the command line
    refusal: Refusal | None = None
    effective: Policy | None = None  # the policies merged and placed
    ceilings: ResourceLimits = UNLIMITED  # of policy and command line the smaller
    variables: tuple[str, ...] = ()  # that the policy passes on
    open_before: tuple[str, ...] = ()  # what any of the documents by itself lets a program write


def state_policy(request: Request, around: Surroundings, workdir: str) -> Stated:
    """Return what the policy of this run states, with the refusal when there is none that can be used."""
    try:
        return _stated(request, around, workdir)
    except AasmError as problem:
        if not refusable(problem):
            raise
        return _not_derived(_source(request), str(problem))


def _source(request: Request) -> str:
    return COMMAND_LINE if is_inline(request) else ", ".join(request.policies) or "the places that are searched"


def _not_derived(source: str, why: str, state: str = PolicyState.LOAD_FAILED.value) -> Stated:
    facts = ResolvedPolicy(state, source, why, "", ())
    return Stated(facts, not_derived("no policy was lowered"), (), (), Refusal(RefusalKind.POLICY, why))


def _stated(request: Request, around: Surroundings, workdir: str) -> Stated:
    found = loaded(request, around, workdir)
    if found.error is not None or found.policy is None:
        return _not_derived(found.source, f"refusing to launch: {found.detail}", found.state.value)
    return _lowered(request, found.policy, found)


def loaded(request: Request, around: Surroundings, workdir: str) -> Loaded:
    """Return the policy of this run, merged and placed on this host, or why there is none."""
    here = places.host_places(workdir, around.home)
    if is_inline(request):
        return load.judge(load.placed(_inline(request, around), here))
    environ = {os.fsdecode(name): os.fsdecode(value) for name, value in around.environ.items()}
    tool = None if request.target == "exec" else request.target
    subject = Subject(request.team_id, request.agent_id, tool)
    return load.load(locate.locate(request.policies, environ, around.home), here, subject, floor.REFUSED_CALLS)


def is_inline(request: Request) -> bool:
    """Say whether the command line states the policy."""
    return bool(request.read or request.write or request.system)


def _inline(request: Request, around: Surroundings) -> Policy:
    def absolute(items: tuple[str, ...]) -> list[str]:
        return [_absolute(around.cwd, item) if item else "" for item in items]

    return document.inline(absolute(request.read), absolute(request.write), request.system)


def _absolute(cwd: str, item: str) -> str:
    joined = os.path.join(cwd, item)
    if ".." not in item.split("/"):
        return "/" + "/".join(part for part in joined.split("/") if part not in ("", "."))
    walked = walk_as_far_as_possible(joined)
    if walked.links:
        what = f"{item} has `..` in it and leads through the symbolic link {walked.links[0]}"
        raise UsageError(what, "--read/--write", "write the path that is meant, without `..`")
    return walked.path


def _digest(found: tuple[node.Document, ...]) -> str:
    """Return the digest of a policy: of its data, so that neither comments nor the format count.

    That of a cascade is of the list of its documents, outermost first.
    """
    if not found:
        return ""
    data = [node.to_data(item.root) for item in found]
    return digest_bytes(canonical_text(data[0] if len(data) == 1 else data).encode())


def canonical_text(data: object) -> str:
    """Return the data of a policy as JSON, in the one form that its digest is of."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _lowered(request: Request, policy: Policy, found: Loaded) -> Stated:
    _only_permitted_variables(request, policy)
    lowered = lower(policy, request.ceilings)
    apart = (("left out by scope", found.left_out), ("can only narrow", found.narrowing))
    notes = [f"{what}: {', '.join(files)}" for what, files in apart if files]
    notes += ["without a boundary nothing acts on it"] if request.isolation == "none" else []
    detail = "; ".join((found.detail, *notes))
    facts = ResolvedPolicy(
        found.state.value,
        found.source,
        detail,
        _digest(found.documents),
        unmapped.statements(policy, request.isolation != "none"),
        found.left_out,
        found.narrowing,
        found.exposed,
    )
    return Stated(
        facts,
        lowered,
        _usable(_wanted(policy), lowered),
        found.trusted,
        _unmediated(request, policy),
        policy,
        lowering.effective(policy, request.ceilings),
        policy.names(VARIABLES) or (),
        found.open_before,
    )


def _unmediated(request: Request, policy: Policy) -> Refusal | None:
    posture = policy.entry("egress.posture")
    if posture is None or posture.text != BROKER_REQUIRED or request.isolation == "none":
        return None
    what = f"refusing to launch: {posture.where}: egress.posture requires a broker, and this release has none"
    remedy = "take it out, and refuse the network with network.allowlist: [] instead"
    return Refusal(RefusalKind.POLICY, f"{what}; {remedy}")


def _only_permitted_variables(request: Request, policy: Policy) -> None:
    """Refuse an --env that names what a policy leaves out which lists what may be passed on."""
    listing = policy.listing(VARIABLES)
    for name in map(os.fsdecode, request.env) if listing is not None and request.isolation != "none" else ():
        if listing is not None and name not in listing.texts:
            what = f"--env {name} is not among the variables that the policy allows"
            raise PolicyError(what, listing.where, f"add {name} to {VARIABLES}, or leave the option out")


def _wanted(policy: Policy) -> tuple[Wanted, ...]:
    """Return every path that the policy names, with what it may be used for. Without a list of its own, executing
    follows reading."""
    follows = policy.listing(EXECUTE) is None
    verbs = {READ: (True, False, follows), WRITE: (False, True, False), EXECUTE: (False, False, True)}
    return tuple(
        _want(entry, *verb)
        for key, verb in verbs.items()
        for entry in (policy.listing(key) or document.NOTHING).entries
    )


def _want(entry: Entry, read: bool, write: bool, execute: bool) -> Wanted:
    path, real = entry.value
    return Wanted(path, read, write, entry.where, execute, real if len(entry.origins) > 1 else "")


def _usable(wanted: tuple[Wanted, ...], lowered: Lowered) -> tuple[Wanted, ...]:
    """Return the paths without the verbs that a capability denies: a denied domain is opened by no list."""
    read, write = Domain.FILESYSTEM_READ not in lowered.denied, Domain.FILESYSTEM_WRITE not in lowered.denied
    return tuple(
        item._replace(read=item.read and read, write=item.write and write, execute=item.execute and read)
        for item in wanted
    )
