# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Facts of one run that never was, and ways to bend the receipt that comes of them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Tuple

from aasm.model.descriptors import Descriptor, DescriptorDisposition, DescriptorInventory
from aasm.model.domains import (
    DOMAINS,
    BackendCapabilities,
    CapabilityDomain,
    DecisionTiming,
    DescendantCoverage,
    PlatformBoundary,
    Provenance,
)
from aasm.model.evidence import ClaimTerm, EnforcementEvidence, EvidenceBasis, EvidenceKind, EvidenceRecord
from aasm.model.plan import (
    CandidateVerdict,
    Considered,
    Outcome,
    OutcomeKind,
    RefusalReason,
    Selection,
    SelectionMode,
    Shortfall,
)
from aasm.model.record import Ending, RunRecord
from aasm.model.report import (
    ControlState,
    DomainLine,
    IsolationReport,
    ReportedPosture,
    ReportStage,
    RequestedControl,
    UnmeasuredReason,
)
from aasm.model.requirements import (
    CredentialPosture,
    ExecutionSpec,
    Identity,
    Requirement,
    RequirementPosture,
    ResourceLimits,
    ceilings,
    permit_only,
)
from aasm.receipt import build, facts

Json = Dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
READ, WRITE = CapabilityDomain.FILESYSTEM_READ, CapabilityDomain.FILESYSTEM_WRITE
SYSCALL, RESOURCE = CapabilityDomain.SYSCALL, CapabilityDomain.RESOURCE
SEALED_AT = 1_790_000_031

IDENTITY = Identity(
    "builder-7",
    "infra",
    ("planner-1",),
    "4b0c6f0e-6a55-4f5e-9f0a-0f1b2c3d4e5f",
    "7d3f1a52-93b1-4c1f-8f64-5a4b3c2d1e0f",
)
REQUIREMENTS = (
    Requirement(READ, permit_only(("/usr", "/srv/build")), stated_by="filesystem.read.allow"),
    Requirement(WRITE, permit_only(("/srv/build",)), stated_by="filesystem.write.allow"),
    Requirement(
        RESOURCE,
        ceilings(ResourceLimits(max_open_files=256)),
        posture=RequirementPosture.DEGRADE_IF_UNAVAILABLE,
        stated_by="--max-open-files",
    ),
)
HELD = (OutcomeKind.ENFORCED, DecisionTiming.PRE, DescendantCoverage.PROCESS_TREE, None)
NOT_HELD = (
    OutcomeKind.DEGRADED,
    DecisionTiming.NONE,
    DescendantCoverage.UNMEASURED,
    Shortfall(RESOURCE, RefusalReason.DOMAIN_UNSUPPORTED, "no mechanism", "--max-open-files"),
)
OUTCOMES = tuple(
    Outcome(item, *(NOT_HELD if item.domain is RESOURCE else HELD), "in the backend's words") for item in REQUIREMENTS
)
CREDENTIALS = CredentialPosture(removed=("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"), delegated=("NPM_TOKEN",))
SPEC = ExecutionSpec(
    "/usr/bin/make", ("test", "--password=hunter2-never-seen"), "/srv/build", IDENTITY, REQUIREMENTS, CREDENTIALS
)
BACKEND = BackendCapabilities(
    Provenance("aasm-native", "0.1.0", "aasm", "Apache-2.0", False), PlatformBoundary.SHARED_HOST_KERNEL, "", ()
)
RECORD = RunRecord(
    ending=Ending.EXITED,
    code=0,
    signal=None,
    error=0,
    stage="exec",
    rule=0,
    sealed=True,
    canaries={"file_read": "held", "file_write": "held", "call": "held"},
    started_at=1_790_000_000,
    ended_at=1_790_000_030,
    forwarded=None,
    survivors=1,
)
EVIDENCE = EnforcementEvidence(
    (
        EvidenceRecord(EvidenceKind.CONFIGURED, READ, ClaimTerm.PLANNED, "prevent_before_effect, enforced"),
        EvidenceRecord(EvidenceKind.INSTALLED, READ, ClaimTerm.PLANNED, "rules in one ruleset"),
        EvidenceRecord(EvidenceKind.EXERCISED, READ, ClaimTerm.OBSERVED, "a file was refused inside the boundary"),
        EvidenceRecord(EvidenceKind.DECISION, WRITE, ClaimTerm.DENIED_BEFORE_EXECUTION, "one open refused"),
        EvidenceRecord(EvidenceKind.CONFIGURED, RESOURCE, ClaimTerm.DEGRADED, "prevent_before_effect, degraded"),
        EvidenceRecord(EvidenceKind.EXERCISED, None, ClaimTerm.OBSERVED, "a call was refused inside the boundary"),
    )
)


def line(domain: CapabilityDomain, **changes: Any) -> DomainLine:
    """Return the line of a domain that nobody asked about, with `changes`."""
    made = DomainLine(
        domain,
        RequestedControl.NOT_STATED,
        "",
        ControlState.UNMEASURED,
        "",
        UnmeasuredReason.NO_CONTROL_REQUESTED,
        ClaimTerm.UNMEASURED,
        EvidenceBasis.NONE,
        False,
        (),
    )
    return made._replace(**changes)


def stated(domain: CapabilityDomain, state: ControlState, claim: ClaimTerm, detail: str) -> DomainLine:
    return line(
        domain,
        requested=RequestedControl.STATED,
        state=state,
        state_detail=detail,
        unmeasured_reason=None,
        claim=claim,
    )


LINES = {
    READ: stated(READ, ControlState.PREVENTION, ClaimTerm.OBSERVED, "timing=pre, descendants=process_tree"),
    WRITE: stated(
        WRITE, ControlState.PREVENTION, ClaimTerm.DENIED_BEFORE_EXECUTION, "timing=pre, descendants=process_tree"
    ),
    RESOURCE: stated(
        RESOURCE, ControlState.DEGRADED, ClaimTerm.DEGRADED, "planned=prevent_before_effect, achieved=nothing"
    ),
    CapabilityDomain.NETWORK_EGRESS: line(
        CapabilityDomain.NETWORK_EGRESS, policy_gaps=("ports cannot be stated by this policy",)
    ),
}
REPORT = IsolationReport(
    stage=ReportStage.POST_RUN,
    posture=ReportedPosture.DEGRADED,
    posture_detail="1 requirement(s) are not met, as permitted",
    identity=IDENTITY,
    target_program=SPEC.program,
    target_arg_count=len(SPEC.args),
    backend=BACKEND,
    selection=Selection(SelectionMode.DEFAULT, (Considered("aasm-native", CandidateVerdict.SELECTED),)),
    refusal=None,
    requirements=REQUIREMENTS,
    outcomes=OUTCOMES,
    domains=tuple(LINES.get(domain, line(domain)) for domain in DOMAINS),
    credentials=CREDENTIALS,
    descriptors=DescriptorInventory((Descriptor(0, DescriptorDisposition.DELEGATED, "a standard stream"),)),
    grants=(),
    limits=("filesystem_read: what can be read can be executed",),
    floor=("bpf", "mount"),
    unmapped=("capabilities.deny: network_inbound",),
)
FACTS = facts.ReceiptFacts(
    recorded_at=SEALED_AT,
    release="0.1.0",
    source_revision="c0ffee" + "0" * 34,
    code_digest="sha256:" + "c" * 64,
    policy=facts.PolicyFacts("sha256:" + "5" * 64, "/etc/aasm/policy.yaml", "enforced"),
    spec=SPEC,
    report=REPORT,
    evidence=EVIDENCE,
    host=(
        facts.measured("kernel_release", "6.8.0", "uname(2)"),
        facts.measured("host_arch", "x86_64", "uname(2)"),
        facts.measured("landlock_abi", "4", "landlock_create_ruleset(2)"),
        facts.asserted("platform_boundary", "shared_host_kernel", "aasm-native"),
    ),
    sealed=True,
    canaries=facts.canaries_of(RECORD, (("file_read", ""), ("file_write", ""), ("call", ""))),
    execution=facts.execution_of(RECORD, None),
    survivors_killed=RECORD.survivors,
)


def with_line(changed: DomainLine, base: facts.ReceiptFacts = FACTS) -> facts.ReceiptFacts:
    """Return `base` with one domain line of its report replaced."""
    lines = tuple(changed if item.domain is changed.domain else item for item in base.report.domains)
    return base._replace(report=base.report._replace(domains=lines))


def envelope(base: facts.ReceiptFacts = FACTS) -> Json:
    """Return a fresh, valid, sealed envelope that may be bent."""
    made: Json = json.loads(_good() if base is FACTS else build.make(base, SEALED_AT).data)
    return made


@functools.lru_cache(maxsize=None)
def _good() -> bytes:
    return build.make(FACTS, SEALED_AT).data


def bent(change: Callable[[Json], object], base: facts.ReceiptFacts = FACTS) -> Json:
    """Return the envelope of `base` after `change` to its body, correctly sealed again."""
    made = envelope(base)
    change(made["body"])
    return build.seal(made["body"], SEALED_AT)


def domain_of(body: Json, domain: CapabilityDomain) -> Json:
    found: Json = next(item for item in body["domains"] if item["domain"] == domain.value)
    return found


def leaves(value: Any, path: Tuple[Any, ...] = ()) -> Any:
    """Yield (path, value) of everything beneath `value` that holds nothing itself, empty containers included."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def run(*words: str, **how: Any) -> "subprocess.CompletedProcess[str]":
    """Run the verifier in a process of its own, far from the source tree."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-m", "aasm.receipt", *words]
    how = {"capture_output": True, "env": clean, "cwd": "/", "timeout": 60, **how}
    return subprocess.run(command, text=True, check=False, **how)


def one_error_line(text: str) -> bool:
    return text.startswith("error: ") and text.count("\n") == 1 and text.endswith("\n")
