# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From a finished run to the facts of its receipt. Pure: all facts come in as values."""

from __future__ import annotations

from typing import Iterator

from . import __version__
from ._sys.probe import HostFacts
from .model.evidence import EnforcementEvidence
from .model.record import RunRecord
from .model.report import IsolationReport, UnmeasuredReason
from .model.resolved import ResolvedRun, SpawnSpec
from .origin import Origin
from .receipt import facts as words
from .receipt.facts import HostFact, PolicyFacts, ReceiptFacts


def receipt_facts(
    run: ResolvedRun,
    spec: SpawnSpec | None,
    record: RunRecord,
    evidence: EnforcementEvidence,
    report: IsolationReport,
    host: HostFacts,
    code: Origin,
    now: int,
) -> ReceiptFacts:
    """Return everything that the receipt of this run is built from. `now` is the time in seconds since the epoch."""
    return ReceiptFacts(
        recorded_at=now,
        release=__version__,
        source_revision=code.revision,
        code_digest=code.code_digest,
        policy=PolicyFacts(run.policy.digest or None, run.policy.source, run.policy.state),
        spec=run.spec,
        report=report,
        evidence=evidence,
        host=_host(run, host),
        sealed=record.sealed,
        canaries=words.canaries_of(record, spec.expected_canaries) if spec else (),
        execution=words.execution_of(record, run.ceilings.max_wall_clock_seconds),
        survivors_killed=record.survivors,
    )


def _host(run: ResolvedRun, host: HostFacts) -> tuple[HostFact, ...]:
    found = [
        words.measured("host_arch", host.arch, "uname(2)"),
        words.measured("kernel_release", host.kernel_release, "uname(2)"),
        words.measured("abi_floor", str(host.landlock.abi), "landlock_create_ruleset(2), right by right"),
    ]
    if run.plan:
        boundary = run.plan.backend
        found.append(words.asserted("platform_boundary", boundary.boundary.value, boundary.provenance.id))
    return (*found, *_unmeasured(host))


def _unmeasured(host: HostFacts) -> Iterator[HostFact]:
    """Yield what the host could not be asked, so that its absence is not taken for an answer."""
    if host.unmeasured:
        yield words.unmeasured("host_questions", UnmeasuredReason.INCONCLUSIVE, "; ".join(host.unmeasured))
