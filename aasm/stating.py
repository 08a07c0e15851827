# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The first stages of a run: find the policy, validate it, expand its paths, lower it, and choose a backend."""

from __future__ import annotations

import json
import os

from ._sys.probe import HostFacts
from .backends import BACKENDS
from .backends.base import Backend
from .bind import Stated, Surroundings
from .errors import RefusalError, UsageError
from .model.domains import CapabilityDomain as Domain
from .model.plan import EnforcementPlan, Refusal, RefusalKind
from .model.request import Request
from .model.resolved import ResolvedPolicy
from .planner import negotiate
from .policy import document, locate, node, places
from .policy.document import Policy
from .policy.grants import Wanted
from .policy.lowering import Lowered, lower
from .policy.walk import walk_as_far_as_possible
from .receipt.canonical import digest_bytes

SELECTION = {"process": "default", "auto": "automatic", "none": "default"}


def state_policy(request: Request, around: Surroundings, workdir: str) -> Stated:
    """Return what the policy of this run states. RefusalError when there is none that can be used."""
    if around.variable("AA_GATEWAY_ENDPOINT"):
        raise RefusalError(
            "refusing to launch unregistered: AA_GATEWAY_ENDPOINT names a gateway and this release speaks to none; "
            "unset it to register in the local ledger"
        )
    if request.read or request.write or request.system:
        policy = _inline(request, around)
        return _stated(policy, locate.judge(policy), around, workdir)
    environ = {os.fsdecode(name): os.fsdecode(value) for name, value in around.environ.items()}
    found = locate.load(locate.locate(request.policy, environ, around.home))
    if found.error is not None or found.policy is None:
        raise RefusalError(f"refusing to launch: {found.detail}")
    return _stated(found.policy, found, around, workdir)


def _inline(request: Request, around: Surroundings) -> Policy:
    def absolute(items: tuple[str, ...]) -> list[str]:
        return [_absolute(around.cwd, item) if item else "" for item in items]

    return document.inline(absolute(request.read), absolute(request.write), request.system)


def _absolute(cwd: str, item: str) -> str:
    joined = os.path.join(cwd, item)
    if ".." not in item.split("/"):
        return joined
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


def _stated(policy: Policy, found: locate.Loaded, around: Surroundings, workdir: str) -> Stated:
    wanted, paths = _expanded(policy, places.host_places(workdir, around.home))
    lowered = lower(policy, paths)
    digest = _digest(found.document)
    facts = ResolvedPolicy(found.state.value, found.source, found.detail, digest, policy.statements_unmapped)
    return Stated(facts, lowered, lowered.coverage, wanted, found.source if found.document else "")


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


def usable(stated: Stated) -> tuple[Wanted, ...]:
    """Return the paths without the verbs that a capability denies: a denied domain is opened by no list."""
    denied = stated.lowered.denied if stated.lowered else frozenset()
    read, write = Domain.FILESYSTEM_READ not in denied, Domain.FILESYSTEM_WRITE not in denied
    return tuple(item._replace(read=item.read and read, write=item.write and write) for item in stated.wanted)


def choose(request: Request, stated: Stated, host: HostFacts) -> tuple[Backend, EnforcementPlan] | None:
    """Return the backend and the plan that hold what is stated; None when no boundary is asked for.

    RefusalError otherwise: there is no fallback, neither to another class nor to no boundary.
    """
    if request.isolation == "none":
        return None
    lowered = stated.lowered
    if lowered is None or not lowered.requirements:
        raise RefusalError(_nothing_lowered(stated))
    return _walk(lowered, host)


def _walk(lowered: Lowered, host: HostFacts) -> tuple[Backend, EnforcementPlan]:
    refusals: list[tuple[str, Refusal]] = []
    for backend in BACKENDS:  # lazily: a later one is not even asked once an earlier one is eligible
        found = backend.narrow(backend.capabilities(host), lowered.requirements)
        verdict = negotiate(found, lowered.requirements, backend.floor())
        if isinstance(verdict, EnforcementPlan):
            return backend, verdict
        refusals.append((backend.id, verdict))
    raise RefusalError(_refusal_text(refusals))


def _nothing_lowered(stated: Stated) -> str:
    return (
        f"refusing to launch: NoRequirementsLowered: an execution-isolation boundary was requested and the policy "
        f"({stated.policy.source}) states nothing that a boundary could hold; state filesystem, network or syscalls, "
        f"or deny a capability that stands for a whole domain, or re-run with `--isolation none` to launch unconfined "
        f"deliberately"
    )


def _refusal_text(refusals: list[tuple[str, Refusal]]) -> str:
    lines = ["refusing to launch: an execution-isolation boundary was requested and no backend can hold it."]
    for backend_id, refusal in refusals:
        if refusal.kind is RefusalKind.SELECTION:
            lines.append(f"the `{backend_id}` backend cannot be selected on this host: {refusal.text}")
        else:
            lines.append(refusal.text)
    lines.append("There is no fallback. Change the policy or the host, or re-run with `--isolation none` to launch")
    lines.append("unconfined deliberately.")
    return "\n".join(lines)

