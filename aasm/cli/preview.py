# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Renders a resolved run as text: the dry run. Decides nothing and reads nothing but its argument."""

from __future__ import annotations

import os

from .. import evidence
from .._sys import process
from ..backends.base import LaunchFacts
from ..errors import UsageError, one_line
from ..model.environment import looks_like_authority
from ..model.grants import covers
from ..model.report import IsolationReport, ReportStage
from ..model.requirements import Identity
from ..model.resolved import ResolvedRun
from ..run import Resolution

POSTURES = {"ready": "READY", "degraded": "DEGRADED", "refused": "REFUSED", "no_boundary": "NO BOUNDARY ESTABLISHED"}


def render(found: Resolution) -> str:
    """Return every section of the preview."""
    run = found.run
    report = evidence.report(run, evidence.planned(run), ReportStage.PRE_LAUNCH)
    lines = [*_ids(run.identity), *_policy(run), *_isolation(report, _limits(run, found.host.euid)), *_grants(run)]
    lines += [*_command(run), *_variables(run)]
    return "\n".join(one_line(line) for line in lines)


def refused(identity: Identity, reason: str) -> str:
    """Return the preview of a run that would be refused."""
    lines = [*_ids(identity), "", "--- execution isolation ---", f"posture: {POSTURES['refused']}"]
    lines += [f"detail:  {line}" for line in reason.splitlines()]
    return "\n".join(one_line(line) for line in lines)


def order(found: Resolution) -> bytes:
    """Return the order that a launch would send to the launcher."""
    if found.backend is None:
        raise UsageError("without a boundary there is no order", "--show-order", "ask for --isolation process")
    facts = LaunchFacts(found.host, process.blocked_signals(), b"aasm-by-hand")
    return found.backend.prepare(found.run, facts).order


def _ids(identity: Identity) -> list[str]:
    return [
        "--- aasm run dry-run ---",
        f"agent_id:   {identity.agent_id}",
        f"trace_id:   {identity.trace_id}",
        f"session_id: {identity.session_id}",
    ]


def _policy(run: ResolvedRun) -> list[str]:
    policy = run.policy
    lines = ["", "--- policy ---", f"state:  {policy.state}", f"source: {policy.source}", f"detail: {policy.detail}"]
    return lines + [f"not acted on: {item}" for item in policy.unmapped]


def _isolation(report: IsolationReport, limits: list[str]) -> list[str]:
    lines = ["", "--- execution isolation ---", f"posture: {POSTURES[report.posture.value]}"]
    lines += [f"detail:  {report.posture_detail}", f"requirements: {report.requirement_count}"]
    if report.backend is not None:
        came = report.backend.provenance
        lines.append(f"backend: {came.id} {came.version} ({came.license}), chosen: {report.selection_mode}")
    for line in report.domains:
        lines.append(f"  {line.domain.value:22} {line.requested.value:22} {line.state.value:13} {line.claim.value}")
    lines += [f"limit:   {item}" for item in limits]
    return lines + [f"floor:   {item}" for item in report.floor]


PROC = "while /proc is granted, command lines and states of other processes of this user are visible"


ROOT = "the program has no capability: files of other users are out of its reach even inside the grants"


def _limits(run: ResolvedRun, euid: int) -> list[str]:
    """Return what the backend does not hold within the domains that are required of it."""
    if run.plan is None:
        return []
    reports = [run.plan.backend.report_for(outcome.requirement.domain) for outcome in run.plan.outcomes]
    lines = [f"{item.domain.value}: {text}" for item in reports if item for text in item.limitations]
    lines += [PROC] if covers(run.grants, "/proc", write=False) else []
    return lines + ([ROOT] if euid == 0 else [])


def _grants(run: ResolvedRun) -> list[str]:
    if run.plan is None:
        return []
    verbs = {(True, True): "read,write", (True, False): "read", (False, True): "write", (False, False): "nothing"}
    made = [f"{verbs[g.read, g.write]:11} {g.path}  ({g.origin})" for g in run.grants]
    return ["", "--- grants ---", *made]


def _command(run: ResolvedRun) -> list[str]:
    words = " ".join(_quoted(os.fsdecode(item)) for item in run.argv)
    lines = ["", "--- launch command ---", f"working_dir: {run.working_dir.path}", f"command:     {words}"]
    if run.wall_clock_seconds is not None:
        lines.append(f"wall clock:  {run.wall_clock_seconds} seconds, kept by the supervisor")
    return lines


def _quoted(word: str) -> str:
    plain = word.isalnum() or (word and all(char.isalnum() or char in "_-./=:,+@%" for char in word))
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _variables(run: ResolvedRun) -> list[str]:
    lines = ["", "--- environment ---"]
    for entry in run.environment.entries:
        given = entry.origin == "--env"  # what the operator passes on may be anything, whatever its name
        value = "***MASKED***" if given or looks_like_authority(entry.name) else os.fsdecode(entry.value)
        lines.append(f"{os.fsdecode(entry.name)}={value}  ({entry.origin})")
    return lines + [f"removed: {name}" for name in run.spec.credentials.removed]
