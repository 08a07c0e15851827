# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The first stages of a run: find the policy, validate it, expand its paths, and lower it."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from .errors import AasmError, UsageError
from .model.domains import CapabilityDomain as Domain
from .model.plan import Refusal, RefusalKind
from .model.request import Request
from .model.resolved import ResolvedPolicy
from .policy import document, locate, node, places
from .policy.document import Policy
from .policy.grants import Wanted
from .policy.lowering import Lowered, lower, not_derived
from .policy.walk import walk_as_far_as_possible
from .receipt.canonical import digest_bytes
from .surroundings import Surroundings, refusable


class Stated(NamedTuple):
    """What the policy states, lowered and expanded; with a refusal it states nothing."""

    policy: ResolvedPolicy
    lowered: Lowered
    wanted: tuple[Wanted, ...]
    policy_file: str  # "" when the policy stands on the command line
    refusal: Refusal | None = None


def state_policy(request: Request, around: Surroundings, workdir: str) -> Stated:
    """Return what the policy of this run states, with the refusal when there is none that can be used."""
    try:
        return _stated(request, around, workdir)
    except AasmError as problem:
        if not refusable(problem):
            raise
        return _not_derived(_source(request), str(problem))


def _source(request: Request) -> str:
    return "command line" if _is_inline(request) else request.policy or "the places that are searched"


def _not_derived(source: str, why: str, state: str = locate.PolicyState.LOAD_FAILED.value) -> Stated:
    facts = ResolvedPolicy(state, source, why, "", ())
    return Stated(facts, not_derived("no policy was lowered"), (), "", Refusal(RefusalKind.POLICY, why))


def _stated(request: Request, around: Surroundings, workdir: str) -> Stated:
    if _is_inline(request):
        policy = _inline(request, around)
        return _lowered(request, policy, locate.judge(policy), around, workdir)
    environ = {os.fsdecode(name): os.fsdecode(value) for name, value in around.environ.items()}
    found = locate.load(locate.locate(request.policy, environ, around.home))
    if found.error is not None or found.policy is None:
        return _not_derived(found.source, f"refusing to launch: {found.detail}", found.state.value)
    return _lowered(request, found.policy, found, around, workdir)


def _is_inline(request: Request) -> bool:
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


def _digest(found: node.Document | None) -> str:
    """Return the digest of a policy: of its data, so that neither comments nor the format count."""
    if found is None:
        return ""
    text = json.dumps(node.to_data(found.root), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return digest_bytes(text.encode())


def _lowered(request: Request, policy: Policy, found: locate.Loaded, around: Surroundings, workdir: str) -> Stated:
    wanted, paths = _expanded(policy, places.host_places(workdir, around.home))
    lowered = lower(policy, paths, request.ceilings)
    digest = _digest(found.document)
    detail = found.detail + ("; without a boundary nothing acts on it" if request.isolation == "none" else "")
    facts = ResolvedPolicy(found.state.value, found.source, detail, digest, policy.statements_unmapped)
    return Stated(facts, lowered, _usable(wanted, lowered), found.source if found.document else "")


def _expanded(policy: Policy, here: places.Places) -> tuple[tuple[Wanted, ...], dict[Domain, tuple[str, ...]]]:
    wanted: list[Wanted] = []
    paths: dict[Domain, tuple[str, ...]] = {}
    lists = ((Domain.FILESYSTEM_READ, policy.filesystem_read), (Domain.FILESYSTEM_WRITE, policy.filesystem_write))
    for domain, entries in lists:
        if entries is not None:
            write = domain is Domain.FILESYSTEM_WRITE
            made = [Wanted(path, not write, write, e.where) for e in entries for path in places.expand(e, here)]
            wanted += made
            paths[domain] = tuple(dict.fromkeys(item.path for item in made))
    return tuple(wanted), paths


def _usable(wanted: tuple[Wanted, ...], lowered: Lowered) -> tuple[Wanted, ...]:
    """Return the paths without the verbs that a capability denies: a denied domain is opened by no list."""
    read, write = Domain.FILESYSTEM_READ not in lowered.denied, Domain.FILESYSTEM_WRITE not in lowered.denied
    return tuple(item._replace(read=item.read and read, write=item.write and write) for item in wanted)
