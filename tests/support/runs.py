# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Resolved runs for tests, of any policy on any kernel: made by the stages themselves, without touching this host."""

from __future__ import annotations

import os
import stat
from typing import Any, Mapping, Optional, Sequence, Tuple

from support.host import facts_for_abi

from aasm import evidence, stating
from aasm.backends.base import LaunchFacts
from aasm.backends.native import floor, prepare
from aasm.cli.policy import request_at
from aasm.errors import PolicyError
from aasm.model import environment
from aasm.model.descriptors import Descriptor, DescriptorDisposition, DescriptorInventory
from aasm.model.domains import DOMAINS
from aasm.model.grants import Grant
from aasm.model.plan import EnforcementPlan, Outcome, Refusal
from aasm.model.record import Ending, RunRecord
from aasm.model.report import Coverage, IsolationReport, ReportStage, RequestedControl
from aasm.model.request import Request
from aasm.model.requirements import ExecutionSpec, Identity, Requirement, ResourceLimits
from aasm.model.resolved import Place, ResolvedPolicy, ResolvedRun, SpawnSpec
from aasm.policy import document, load, places, reader
from aasm.policy.grants import Wanted
from aasm.policy.lowering import GAPS, Lowered, describe, lower
from aasm.policy.values import Policy
from aasm.run import Resolution
from aasm.selecting import choose
from aasm.stating import Stated

IDENTITY = Identity("agent-7", "team-3", ("root-1", "parent-2"), "session-5", "trace-9")
PLACES = places.Places("/w", "/h", ("/usr", "/lib"))
POLICY = "filesystem:\n  read:\n    allow: [/usr]\n  write:\n    allow: ['${workdir}']\n"
FILE, DIGEST = "policy.yaml", "sha256:" + "0" * 64
NO_LIMITS = ResourceLimits()
STREAMS = tuple(Descriptor(number, DescriptorDisposition.DELEGATED, "a standard stream") for number in range(3))
CLEAN = DescriptorInventory(STREAMS)


def resolution(
    requirements: Optional[Sequence[Requirement]] = None,
    *,
    policy: str = POLICY,
    abi: int = 7,
    isolation: str = "process",
    backend: Optional[str] = None,
    ceilings: ResourceLimits = NO_LIMITS,
    program: Sequence[str] = ("true",),
    environ: Optional[Mapping[bytes, bytes]] = None,
    env: Optional[Mapping[bytes, Optional[bytes]]] = None,
    settings: str = "",
    identity: Identity = IDENTITY,
    descriptors: DescriptorInventory = CLEAN,
    refusal: Optional[Refusal] = None,
    **host: Any,
) -> Resolution:
    """Return what a preview would resolve on a kernel of this Landlock ABI.

    `requirements` stand in for what `policy`, the text of a file, would be lowered to. `refusal` is one that the stages
    behind the selection would find. `host` replaces fields of HostFacts.
    """
    asked_for = request(
        program=tuple(program),
        isolation=isolation,
        backend=backend,
        ceilings=ceilings,
        env=env or {},
        settings=settings,
    )
    confined = isolation != "none"
    stated = _stated(policy, requirements, asked_for)
    facts = facts_for_abi(abi, **host)
    chosen = choose(asked_for, stated, facts)
    made = _environment(confined, environ or {}, env or {}, stated.variables)
    found = stated.refusal or chosen.refusal or refusal
    asked = stated.lowered.requirements if confined else ()
    spec = ExecutionSpec(asked_for.program[0], asked_for.program[1:], "/w", identity, asked, made.posture)
    run = ResolvedRun(
        identity=identity,
        isolation=isolation,
        policy=stated.policy,
        coverage=stated.lowered.coverage,
        spec=spec,
        plan=None if found else chosen.plan,
        selection=chosen.selection,
        refusal=found,
        grants=_grants(stated.wanted) if chosen.plan and not found else (),
        working_dir=Place("/w", 1, 2),
        argv=tuple(os.fsencode(word) for word in program),
        candidates=(b"/usr/bin/" + os.fsencode(program[0]),),
        environment=made,
        ceilings=stated.ceilings,
        canary_path="/state/canary",
        descriptors=descriptors,
        target=asked_for.target,
        settings=settings,
    )
    return Resolution(run, chosen.backend, facts, stated.effective)


def resolved(requirements: Optional[Sequence[Requirement]] = None, **options: Any) -> ResolvedRun:
    """Return the run alone; the options are those of `resolution`."""
    return resolution(requirements, **options).run


def request(**changes: Any) -> Request:
    """Return what `run exec --isolation process --policy FILE -- true` asks for, with `changes`."""
    return request_at((FILE,), None)._replace(**changes)


# --- what is stated ---------------------------------------------------------------------------------


def _stated(text: str, requirements: Optional[Sequence[Requirement]], asked_for: Request) -> Stated:
    if requirements is not None:
        facts = ResolvedPolicy("enforced", FILE, "stated by a test", DIGEST, ())
        return Stated(facts, lowered_to(requirements), (), (FILE,), ceilings=asked_for.ceilings)
    try:
        read = reader.read_document(text.encode(), FILE)
        policy = document.validate(read, floor.REFUSED_CALLS)
        found = load.judge(load.placed(policy, PLACES), (read,))
        if found.error is not None or found.policy is None:
            return stating._not_derived(FILE, found.detail, found.state.value)
        stated = stating._lowered(asked_for, found.policy, found)
    except PolicyError as problem:
        return stating._not_derived(FILE, str(problem))
    return stated._replace(policy=stated.policy._replace(digest=DIGEST), policy_files=(FILE,))


def lowered_to(requirements: Sequence[Requirement]) -> Lowered:
    """Return these requirements with what is said of each domain; the others are as an empty policy leaves them."""
    silent = lower(Policy(FILE)).coverage
    stated = {domain: [item for item in requirements if item.domain is domain] for domain in DOMAINS}
    lines = [_line(stated[line.domain]) if stated[line.domain] else line for line in silent]
    return Lowered(tuple(requirements), tuple(lines), frozenset())


def _line(stated: Sequence[Requirement]) -> Coverage:
    domain, detail = stated[0].domain, "; ".join(map(describe, stated))
    return Coverage(domain, RequestedControl.STATED, detail, gaps=GAPS.get(domain, ()))


# --- what surrounds the program ---------------------------------------------------------------------


def _environment(
    confined: bool,
    environ: Mapping[bytes, bytes],
    env: Mapping[bytes, Optional[bytes]],
    variables: Sequence[str],
) -> environment.Environment:
    if not confined:
        return environment.untouched(environ, env)
    own = (("private", {b"HOME": b"/tmp/aasm-dry-run/home"}),)
    return environment.replaced(environ, env, own, tuple(map(os.fsencode, variables)))


def _grants(wanted: Sequence[Wanted]) -> Tuple[Grant, ...]:
    made = [
        Grant(item.path, 1, 100 + number, stat.S_IFDIR | 0o755, item.read, item.write, item.origin, item.execute)
        for number, item in enumerate(wanted)
    ]
    return (*made, Grant("/dev/null", 2, 1, stat.S_IFCHR | 0o666, True, True, "every program"))


# --- runs of a plan that a test makes -----------------------------------------------------------------


def run_of(*outcomes: Outcome, **narrowed: Any) -> ResolvedRun:
    """Return a run whose plan has exactly these outcomes; `narrowed` replaces fields of the backend's capabilities."""
    base = resolved()
    assert base.plan is not None
    requirements = tuple(item.requirement for item in outcomes)
    plan = EnforcementPlan(base.plan.backend._replace(**narrowed), outcomes, ("floor",))
    spec = base.spec._replace(requirements=requirements)
    return base._replace(spec=spec, plan=plan, coverage=lowered_to(requirements).coverage)


def record(sealed: bool = True, ending: Ending = Ending.EXITED, **canaries: str) -> RunRecord:
    """Return what is known of a run that ended so, with its canaries by name and result."""
    return RunRecord(ending, 0, None, 0, "exec", 0, sealed, canaries, 1, 2, None, 0)


# --- reports ----------------------------------------------------------------------------------------


def before(run: ResolvedRun) -> IsolationReport:
    """Return the report before the launch."""
    return evidence.report(run, evidence.planned(run), ReportStage.PRE_LAUNCH)


def after(found: Resolution, ending: Ending = Ending.EXITED, **canaries: str) -> IsolationReport:
    """Return the report after a run that ended; canaries by name and result. Only of a run that can be launched."""
    return ended(found, ending, canaries)


def ended(found: Resolution, ending: Ending, canaries: Mapping[str, str]) -> IsolationReport:
    """Return the report after a run that ended so, with these canaries."""
    known = record(found.run.plan is not None, ending)._replace(canaries=canaries)
    return evidence.report(found.run, evidence.collect(found.run, spawn_spec(found), known), ReportStage.POST_RUN)


def spawn_spec(found: Resolution) -> Optional[SpawnSpec]:
    """Return what the native backend would spawn, None without a boundary."""
    if found.run.plan is None:
        return None
    root = Grant("/", 1, 1, stat.S_IFDIR, False, False, "root")
    order = prepare.build(found.run, LaunchFacts(found.host, 0, b"a-test"), root)
    return SpawnSpec(b"", b"a-test", False, (), (), prepare.installed(found.run, order))
