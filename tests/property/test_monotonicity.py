# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Monotonicity, over many random policies, kernels and backends with fixed seeds.

A better kernel never gives a weaker plan, a narrower policy never a wider run, and no requirement changes another's
outcome. What a run permits is read off the order that its launcher would get: rules, filter and limits.
"""

from __future__ import annotations

import functools
import hashlib
import os
import random
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Tuple, Union

import pytest
from support import bpf_sim
from support.contract import backend, capable
from support.drawn import GIVEN, Drawn, draw, narrower
from support.host import ALL_OF_SECCOMP, facts_for_abi
from support.runs import IDENTITY, resolution, resolved

from aasm._sys import landlock, probe, syscalls
from aasm._sys.order import Order
from aasm.backends.base import LaunchFacts
from aasm.backends.native import capability, prepare
from aasm.model.authority import authority_widening
from aasm.model.domains import (
    DOMAINS,
    BackendCapabilities,
    CapabilityDomain,
    CapabilityReport,
    DecisionTiming,
    DescendantCoverage,
    Maturity,
    Mediation,
    Prerequisite,
    PrerequisiteStatus,
    Synchrony,
    unsupported,
)
from aasm.model.grants import Grant
from aasm.model.plan import EnforcementPlan, Outcome, OutcomeKind, Refusal, Shortfall
from aasm.model.requirements import (
    WHOLE,
    DescendantRequirement,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    ceilings,
    permit_only,
)
from aasm.planner import negotiate
from aasm.run import Resolution

EVERY_CAPABILITY = probe.CapabilityFacts(0, (1 << 41) - 1, (1 << 41) - 1, (1 << 41) - 1, 0)
ROOT = Path(__file__).resolve().parents[2]
STRENGTH = (OutcomeKind.UNMET, OutcomeKind.DEGRADED, OutcomeKind.OBSERVED, OutcomeKind.ENFORCED)
Verdict = Union[EnforcementPlan, Refusal]


def strengths(verdict: Optional[Verdict], count: int) -> List[int]:
    """Return how strong each outcome is; a refusal is the weakest of all, since nothing runs."""
    if not isinstance(verdict, EnforcementPlan):
        return [-1] * count
    return [STRENGTH.index(outcome.kind) for outcome in verdict.outcomes]


# --- kernels ---


def kernel(abi: int, fs: int, net: int, scope: int, errno: bool = True) -> probe.HostFacts:
    """Return the facts of a kernel that reports `abi` and has these rights."""
    known = landlock.abi_in_use(abi, fs, net, scope)
    found = probe.LandlockFacts(known, 0, abi, probe.AVAILABLE, "", fs, net, scope, landlock.rights_known(known).flags)
    return facts_for_abi(9)._replace(landlock=found, seccomp=ALL_OF_SECCOMP._replace(errno=errno))


def two_kernels(rng: random.Random) -> Tuple[probe.HostFacts, probe.HostFacts]:
    """Return two kernels, of which the second one has everything that the first one has."""
    older, newer = sorted(rng.choices(range(10), k=2)) if rng.random() < 0.4 else sorted(rng.choices(range(6, 10), k=2))
    lost = [sum(1 << bit for bit in rng.sample(range(17), rng.randrange(3))) for _ in range(2)]
    if rng.random() < 0.5:
        lost[1] = 0
    old, new = landlock.rights_known(older), landlock.rights_known(newer)
    fs = new.fs & ~(lost[0] & lost[1])
    seccomp = rng.random() > 0.1
    worse = kernel(older, old.fs & ~lost[0] & fs, old.net, old.scope, errno=seccomp)
    return worse, kernel(newer, fs, new.net, new.scope)


def on(host: probe.HostFacts, drawn: Drawn, isolation: str = "process") -> Resolution:
    """Return the resolution of a drawn policy on a kernel, as root and with variables to pass on."""
    environ = {name.encode(): b"1" for name in GIVEN["variables"]}
    return resolution(
        policy=drawn.text(), ceilings=drawn.ceilings, isolation=isolation, landlock=host.landlock,
        seccomp=host.seccomp, environ=environ, euid=0, capabilities=EVERY_CAPABILITY,
    )  # fmt: skip


@pytest.mark.parametrize("isolation", ["process", "auto"])
def test_a_better_kernel_never_gives_a_weaker_plan(isolation: str) -> None:
    rng, better, planned = random.Random(f"kernels {isolation}"), 0, 0
    for _ in range(300):
        drawn, (older, newer) = draw(rng), two_kernels(rng)
        found = [on(host, drawn, isolation).run for host in (older, newer)]
        assert found[0].spec == found[1].spec and found[0].coverage == found[1].coverage  # no kernel is in the request
        count = len(found[0].spec.requirements)
        weak, strong = (strengths(run.plan, count) for run in found)
        assert all(before <= after for before, after in zip(weak, strong)), (drawn, older, newer)
        better, planned = better + (weak != strong), planned + (weak == strong and weak != [-1] * count)
    assert better > 40 and planned > 40  # both kinds were met, so that this says something


def test_a_better_kernel_never_permits_what_the_older_one_knew_to_refuse() -> None:
    rng, compared = random.Random("rights of kernels"), 0
    for _ in range(300):
        drawn, (older, newer) = draw(rng), two_kernels(rng)
        before, after = on(older, drawn), on(newer, drawn)
        if before.run.plan is not None and after.run.plan is not None:
            compared += 1
            assert permitted(after) <= permitted(before), (drawn, older, newer)
    assert compared > 50


# --- what a run permits, read off its order ---

PLACES = ("/a", "/a/b", "/a/b/c", "/a/x", "/d", "/d/e", "/usr", "/usr/lib", "/dev/null", "/elsewhere")
NUMBERS = (0, 1, 3, 4, 100, 1 << 20, 1 << 40)
SIGCHLD, THREAD, INET, UNIX = 17, 0x3D0F00, 2, 1  # <signal.h>, pthread_create(3), <sys/socket.h>
CALLS: Tuple[Tuple[str, Tuple[int, ...]], ...] = (
    ("read", ()), ("write", ()), ("openat", ()), ("mmap", ()), ("exit", ()), ("getrandom", ()), ("unlink", ()),
    ("kill", ()), ("execve", ()), ("ptrace", ()), ("mount", ()), ("io_uring_setup", ()), ("fork", ()), ("vfork", ()),
    ("fallocate", (3, 0, 0, 9)), ("fallocate", (3, 1, 0, 9)),
    ("clone", (SIGCHLD,)), ("clone", (THREAD,)), ("socket", (INET, 1, 0)), ("socket", (UNIX, 1, 0)),
)  # fmt: skip
X86 = syscalls.arch("x86_64")
ALLOWED = 0x7FFF0000  # SECCOMP_RET_ALLOW
ROOT_GRANT = Grant("/", 1, 1, 0o40755, False, False, "root")


@functools.lru_cache(maxsize=None)
def passing(program: bytes) -> FrozenSet[object]:
    """Return the calls that a filter lets through."""
    answers = {call: bpf_sim.simulate(program, X86.numbers[call[0]], X86.audit_arch, call[1])[0] for call in CALLS}
    return frozenset(call for call, answer in answers.items() if answer == ALLOWED)


def permitted(found: Resolution) -> FrozenSet[object]:
    """Return everything that the program of a run may do, among what these tests ask about."""
    order = prepare.build(found.run, LaunchFacts(found.host, 0, b"a-test"), ROOT_GRANT)
    parts = (_files(order), _families(order), passing(order.filter_b), _numbers(order), _given(order))
    return frozenset().union(*parts)


def _given(order: Order) -> FrozenSet[object]:
    kept = [("capability", bit) for bit in range(41) if order.capabilities >> bit & 1]
    return frozenset(kept + [("variable", text.partition(b"=")[0].decode()) for text in order.environment])


def _files(order: Order) -> FrozenSet[object]:
    handled = order.handled[0]
    given = {place: 0 for place in PLACES}
    for access, _, _, path in order.rules:
        top = path.decode()
        for place in PLACES:
            if top == "/" or place == top or place.startswith(top + "/"):
                given[place] |= access
    return frozenset(
        (place, bit) for place in PLACES for bit in range(17) if not handled >> bit & 1 or given[place] >> bit & 1
    )


def _families(order: Order) -> FrozenSet[object]:
    _, net, scope, _ = order.handled
    free = [("net", bit) for bit in range(2) if not net >> bit & 1]
    return frozenset(free + [("scope", bit) for bit in range(2) if not scope >> bit & 1])


def _numbers(order: Order) -> FrozenSet[object]:
    soft = {limit: min(first, second) for limit, first, second in order.limits}
    kept = [getattr(resource, row.limit) for row in capability.HELD_BY_LIMIT.values()]
    return frozenset((limit, n) for limit in kept for n in NUMBERS if n <= soft.get(limit, n))


# --- policies ---


class Pair(NamedTuple):
    """A drawn policy and a narrower one, resolved on the same kernel."""

    wide: Resolution
    narrow: Resolution


@functools.lru_cache(maxsize=None)
def pairs() -> List[Pair]:
    rng, made = random.Random("policies"), []
    for _ in range(500):
        drawn, abi = draw(rng), rng.randrange(6, 10)
        host = facts_for_abi(abi)
        made.append(Pair(on(host, drawn), on(host, narrower(rng, drawn))))
    return made


def test_a_narrower_policy_never_permits_more() -> None:
    compared = less = 0
    for wide, narrow in pairs():
        if wide.run.plan is None or narrow.run.plan is None:
            continue  # one that is refused permits nothing at all
        before, after = permitted(wide), permitted(narrow)
        assert after <= before, (wide.run.spec.requirements, narrow.run.spec.requirements, after - before)
        compared, less = compared + 1, less + (after < before)
    assert compared > 100 and less > 50


def test_a_narrower_policy_is_never_a_widening_and_a_wider_one_always_is() -> None:
    child = IDENTITY._replace(agent_id="child", lineage=(IDENTITY.agent_id,))
    found_wider = 0
    for wide, narrow in pairs():
        above, below = wide.run.spec, narrow.run.spec
        assert authority_widening(above, below._replace(identity=child)) == (), (above, below)
        if wide.run.plan is not None and narrow.run.plan is not None and permitted(narrow) < permitted(wide):
            found_wider += 1
            assert authority_widening(below, above._replace(identity=child)), (above, below)
    assert found_wider > 50


def test_a_narrower_policy_asks_for_no_fewer_domains() -> None:
    for wide, narrow in pairs():
        before, after = ({item.domain for item in run.spec.requirements} for run in (wide.run, narrow.run))
        assert before <= after


# --- requirements do not change each other ---


def random_report(rng: random.Random, domain: CapabilityDomain) -> Optional[CapabilityReport]:
    """Return a report that lacks at most two things, or silence."""
    if rng.random() < 0.1:
        return None
    made = capable(domain)
    for _ in range(rng.randrange(3)):
        changes: Tuple[Dict[str, Any], ...] = (
            {"mediation": rng.choice(list(Mediation))}, {"timing": rng.choice(list(DecisionTiming))},
            {"synchrony": rng.choice(list(Synchrony))}, {"descendants": rng.choice(list(DescendantCoverage))},
            {"maturity": rng.choice(list(Maturity))},
            {"prerequisites": (Prerequisite("p", rng.choice(list(PrerequisiteStatus))),)},
        )  # fmt: skip
        made = made._replace(**rng.choice(changes))
    return made if rng.random() > 0.15 else unsupported(made.domain, "no mechanism")


def random_requirement(rng: random.Random, number: int) -> Requirement:
    limits = (
        ResourceLimits(max_open_files=number + 1), ResourceLimits(max_pids=3), ResourceLimits(max_wall_clock_seconds=3),
    )  # fmt: skip
    scopes = (WHOLE, permit_only(("/a", "read")), *map(ceilings, limits))
    return Requirement(
        rng.choice(DOMAINS),
        rng.choice(scopes),
        rng.choice(list(Intent)),
        rng.choice(list(Posture)),
        rng.choice(list(DescendantRequirement)),
        f"statement {number}",
    )


class Case(NamedTuple):
    """Requirements, and the backend that is asked: a random one, or ours on a random kernel."""

    found: BackendCapabilities
    native: bool
    requirements: Tuple[Requirement, ...]

    def verdict(self, requirements: Tuple[Requirement, ...]) -> Verdict:
        found = capability.narrow(self.found, requirements) if self.native else self.found
        return negotiate(found, requirements)


def cases(seed: str, count: int = 400) -> List[Case]:
    rng, made = random.Random(seed), []
    for number in range(count):
        native = number % 3 == 0
        if native:
            found = capability.capabilities_of(facts_for_abi(rng.randrange(5, 10)))
        else:
            found = backend(*filter(None, (random_report(rng, domain) for domain in DOMAINS)))
        requirements = tuple(random_requirement(rng, at) for at in range(rng.randrange(1, 6)))
        made.append(Case(found, native, requirements))
    return made


def shortfalls(verdict: Verdict) -> Dict[str, Shortfall]:
    """Return what refused the launch, by what asked."""
    return {item.stated_by: item for item in verdict.shortfalls} if isinstance(verdict, Refusal) else {}


def outcomes(verdict: Verdict) -> Dict[str, Outcome]:
    """Return the outcomes of a plan by what asked; none of a refusal."""
    found = verdict.outcomes if isinstance(verdict, EnforcementPlan) else ()
    return {item.requirement.stated_by: item for item in found}


def without(one: Requirement, found: Dict[str, Any]) -> Dict[str, Any]:
    return {stated_by: item for stated_by, item in found.items() if stated_by != one.stated_by}


def test_the_outcome_of_a_requirement_depends_on_it_alone() -> None:
    plans = refusals = 0
    for case in cases("alone"):
        together = case.verdict(case.requirements)
        alone = [case.verdict((item,)) for item in case.requirements]
        if case.found.unavailable:
            assert all(verdict == together for verdict in alone)
        elif isinstance(together, EnforcementPlan):
            plans += 1
            assert together.outcomes == tuple(item for verdict in alone for item in outcomes(verdict).values())
        else:
            refusals += 1
            assert together.shortfalls == tuple(item for verdict in alone for item in shortfalls(verdict).values())
    assert plans > 100 and refusals > 100


def test_permission_for_one_requirement_never_reaches_another() -> None:
    rng, freed = random.Random("permission"), 0
    for case in cases("permissions"):
        at = rng.randrange(len(case.requirements))
        chosen = case.requirements[at]
        for posture in Posture:
            changed = list(case.requirements)
            changed[at] = chosen._replace(posture=posture)
            before, after = case.verdict(case.requirements), case.verdict(tuple(changed))
            assert without(chosen, shortfalls(before)) == without(chosen, shortfalls(after))
            if outcomes(before) and outcomes(after):
                assert without(chosen, outcomes(before)) == without(chosen, outcomes(after))
            freed += isinstance(before, Refusal) and isinstance(after, EnforcementPlan)
    assert freed > 25


def test_one_more_requirement_never_improves_another() -> None:
    rng, worse = random.Random("more"), 0
    for case in cases("one more"):
        count = len(case.requirements)
        more = (*case.requirements, random_requirement(rng, 99))
        before = strengths(case.verdict(case.requirements), count)
        after = strengths(case.verdict(more), count + 1)[:count]
        assert all(now <= then for now, then in zip(after, before)), (case, more[-1])
        worse += after != before
    assert worse > 25


# --- nothing but the input decides ---


def test_negotiation_repeats_and_the_order_of_the_requirements_does_not_count() -> None:
    rng = random.Random("order")
    for case in cases("repeated", 200):
        first = case.verdict(case.requirements)
        assert first == case.verdict(case.requirements)
        shuffled = tuple(rng.sample(case.requirements, len(case.requirements)))
        again = case.verdict(shuffled)
        assert type(again) is type(first)
        assert outcomes(again) == outcomes(first) and shortfalls(again) == shortfalls(first)


def fingerprint() -> str:
    """Return a digest over many resolved runs, written out in full."""
    rng = random.Random("fingerprint")
    made = [repr(resolved(policy=d.text(), ceilings=d.ceilings, isolation="auto")) for d in map(draw, [rng] * 60)]
    return hashlib.sha256("\n".join(made).encode()).hexdigest()


def test_a_run_is_resolved_alike_in_another_process() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_monotonicity as t; print(t.fingerprint())"
    paths = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    environment = {"PYTHONPATH": paths, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-B", "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.stderr, done.stdout.strip()) == ("", fingerprint())
