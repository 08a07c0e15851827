# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Build the body of a receipt from the facts of one run, judge it by the rules, and seal it. Pure: no clock, no I/O.

What may hold a secret never gets in: argument values, environment values, selectors and lease reasons appear as
digests and counts. Every text that does not come from a vocabulary of ours is tagged, and withheld whole when the
screen knows a credential in it.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, NamedTuple, Optional

from ..errors import one_line
from ..model.domains import BackendCapabilities, CapabilityDomain
from ..model.evidence import (
    ClaimTerm,
    EnforcementEvidence,
    EvidenceKind,
    EvidenceRecord,
    basis_for,
    supports_prevention_claim,
)
from ..model.report import ControlState, DomainLine, UnmeasuredReason
from ..model.requirements import CredentialPosture, ExecutionSpec, Identity, Requirement, RequirementPosture
from .canonical import canonical, digest, digest_bytes
from .facts import (
    CANONICAL_FORM,
    SCHEMA,
    SEAL_KIND,
    SEALED_BY,
    Canary,
    DegradedKind,
    Execution,
    FactBasis,
    HostFact,
    PolicyFacts,
    ReceiptFacts,
    Termination,
)
from .rules import judge, withheld_paths
from .screen import free_text, token_text
from .shape import Defect

Json = dict[str, Any]
Condition = tuple[Optional[CapabilityDomain], DegradedKind, Json]


class Receipt(NamedTuple):
    """A finished receipt: the envelope, the bytes to store, the sealed digest, and what the rules object to.

    Defects of a receipt of ours are a defect of aasm: it is written all the same, marked in `construction_defects`.
    """

    envelope: Json
    data: bytes
    digest: str
    defects: tuple[Defect, ...]


def make(facts: ReceiptFacts, now: int) -> Receipt:
    """Return the sealed receipt of a run. `now` is the time of sealing in seconds since 1970."""
    body = build(facts)
    envelope = seal(body, now)
    defects, _ = judge(envelope)
    if defects:
        body["construction_defects"] = sorted({defect.rule for defect in defects})
        envelope = seal(body, now)
    return Receipt(envelope, canonical(envelope) + b"\n", envelope["seal"]["digest"], defects)


def seal(body: Json, now: int) -> Json:
    """Return the envelope around `body`: the digest covers the canonical bytes of the body and nothing else."""
    stated = {
        "kind": SEAL_KIND,
        "digest": digest(body),
        "sealed_by": SEALED_BY,
        "sealed_at_unix_secs": now,
        "canonical_form": CANONICAL_FORM,
    }
    return {"schema": SCHEMA, "seal": stated, "body": body}


def build(facts: ReceiptFacts) -> Json:
    """Return the body of the receipt of one run, with every field of the schema."""
    report = facts.report
    body: Json = {
        "run_id": facts.spec.identity.session_id,
        "trace_id": facts.spec.identity.trace_id,
        "recorded_at_unix_secs": facts.recorded_at,
        "asserted_identity": _identity(facts.spec.identity),
        "producer": _producer(facts),
        "policy": _policy(facts.policy, report.unmapped),
        "spec": _spec(facts.spec),
        "backend": _backend(facts),
        "host": [_host_fact(fact) for fact in facts.host],
        "runtime_image": None,
        "leases": [],
        "domains": [_domain(line, facts.evidence) for line in report.domains],
        "credentials": _credentials(report.credentials),
        "workspace": None,
        "host_capability": None,
        "boundary": _boundary(facts),
        "execution": _execution(facts.execution),
        "degraded": [_condition(*condition) for condition in _conditions(facts)],
        "evidence_refs": [_evidence_ref(record) for record in facts.evidence.records],
        "construction_defects": [],
    }
    _record_withheld(body)
    return body


def _producer(facts: ReceiptFacts) -> Json:
    return {
        "component": "aasm",
        "release": facts.release,
        "source_revision": facts.source_revision,
        "code_digest": facts.code_digest,
    }


def _texts(values: tuple[str, ...]) -> list[Json]:
    return [free_text(value) for value in values]


def _identity(identity: Identity) -> Json:
    return {
        "agent_id": free_text(identity.agent_id),
        "team_id": None if identity.team_id is None else free_text(identity.team_id),
        "lineage": _texts(identity.lineage),
        "depth": len(identity.lineage),
    }


def _policy(policy: PolicyFacts, unmapped: tuple[str, ...]) -> Json:
    return {
        "canonical_digest": policy.digest,
        "source": free_text(policy.source),
        "resolution": policy.resolution,
        "unmapped": _texts(unmapped),
    }


def _spec(spec: ExecutionSpec) -> Json:
    argv = digest_bytes(_terminated((spec.program, *spec.args)))
    working_dir = digest_bytes(os.fsencode(spec.working_dir))
    postures = [requirement.posture for requirement in spec.requirements]
    projection = {
        "argv_digest": argv,
        "working_dir_digest": working_dir,
        "identity": _identity(spec.identity),
        "requirements": [_requirement(requirement) for requirement in spec.requirements],
        "credentials": _credentials(spec.credentials),
    }
    return {
        "digest": digest(projection),
        "program": free_text(os.path.basename(spec.program)),
        "arg_count": len(spec.args),
        "argv_digest": argv,
        "working_dir_digest": working_dir,
        "required_count": postures.count(RequirementPosture.REQUIRED),
        "optional_count": postures.count(RequirementPosture.OPTIONAL),
        "degrade_if_unavailable_count": postures.count(RequirementPosture.DEGRADE_IF_UNAVAILABLE),
    }


def _terminated(values: tuple[str, ...]) -> bytes:
    """Return the bytes of `values`, each ended by NUL; an argument vector looks so in /proc/PID/cmdline (proc(5))."""
    return b"".join(os.fsencode(value) + b"\0" for value in values)


def _requirement(requirement: Requirement) -> Json:
    scope = requirement.scope
    return {
        "domain": requirement.domain.value,
        "intent": requirement.intent.value,
        "posture": requirement.posture.value,
        "descendants": requirement.descendants.value,
        "stated_by": one_line(requirement.stated_by),
        "whole": scope.whole,
        "selector_count": len(scope.selectors),
        "selectors_digest": digest_bytes(_terminated(scope.selectors)),
        "limits": None if scope.limits is None else scope.limits._asdict(),
    }


def _backend(facts: ReceiptFacts) -> Json | None:
    backend: BackendCapabilities | None = facts.report.backend
    if backend is None:
        return None
    considered = [
        {"id": item.id, "verdict": item.verdict.value, "unmet_domains": [domain.value for domain in item.unmet_domains]}
        for item in facts.report.selection.considered
    ]
    return {
        "id": backend.provenance.id,
        "version": free_text(backend.provenance.version),
        "provenance_source": free_text(backend.provenance.source),
        "provenance_license": free_text(backend.provenance.license),
        "provenance_modified": backend.provenance.modified,
        "platform_boundary": backend.boundary.value,
        "selection_mode": facts.report.selection.mode.value,
        "considered": considered,
    }


def _host_fact(fact: HostFact) -> Json:
    origin = free_text(fact.origin)
    basis: Json = {"kind": fact.basis.value}
    if fact.basis is FactBasis.UNMEASURED:
        basis.update(reason=(fact.reason or UnmeasuredReason.INCONCLUSIVE).value, detail=origin)
    else:
        basis["source" if fact.basis is FactBasis.MEASURED else "by"] = origin
    return {"name": fact.name, "value": None if fact.value is None else free_text(fact.value), "basis": basis}


def _domain(line: DomainLine, evidence: EnforcementEvidence) -> Json:
    unmeasured = line.unmeasured_reason is not None
    verified = any(record.kind is EvidenceKind.INDEPENDENT_VERIFICATION for record in evidence.about(line.domain))
    return {
        "domain": line.domain.value,
        "requested": line.requested.value,
        "state": line.state.value,
        "claim": line.claim.value,
        "evidence_basis": basis_for(evidence, line.domain).value,
        "unmeasured_reason": line.unmeasured_reason.value if line.unmeasured_reason else None,
        "unmeasured_detail": free_text(line.state_detail) if unmeasured and line.state_detail else None,
        "residual_policy_gaps": _texts(line.policy_gaps),
        "prevention_supported": supports_prevention_claim(evidence, line.domain),
        "independently_verified": verified,
    }


def _credentials(posture: CredentialPosture) -> Json:
    return {
        "removed": _texts(posture.removed),
        "delegated": _texts(posture.delegated),
        "ambient_unremoved": _texts(posture.ambient_unremoved),
    }


def _boundary(facts: ReceiptFacts) -> Json:
    return {
        "sealed": facts.sealed,
        "canaries": [_canary(canary) for canary in facts.canaries],
        "floor": _texts(facts.report.floor),
        "survivors_killed": facts.survivors_killed,
    }


def _canary(canary: Canary) -> Json:
    detail = free_text(canary.detail) if canary.detail else None
    return {"name": canary.name, "result": canary.result.value, "detail": detail}


def _execution(execution: Execution) -> Json:
    detail = execution.no_code_detail
    return {
        "started_at_unix_secs": execution.started_at,
        "ended_at_unix_secs": execution.ended_at,
        "exit_code": execution.exit_code,
        "no_code_detail": free_text(detail) if detail else None,
        "termination": _termination(execution),
    }


def _termination(execution: Execution) -> Json:
    stated: Json = {"kind": execution.termination.value}
    if execution.termination is Termination.WALL_CLOCK_CEILING_EXCEEDED:
        stated["ceiling_secs"] = execution.ceiling_secs
        stated["termination_delivered"] = execution.termination_delivered
        stated["detail"] = free_text(execution.termination_detail)
    elif execution.termination is Termination.OPERATOR_REQUESTED:
        stated["forwarded"] = execution.forwarded
    return stated


def _evidence_ref(record: EvidenceRecord) -> Json:
    return {
        "kind": record.kind.value,
        "domain": None if record.domain is None else record.domain.value,
        "claim": record.claim.value,
        "detail_digest": digest_bytes(one_line(record.detail).encode("utf-8")),
    }


def _conditions(facts: ReceiptFacts) -> Iterator[Condition]:
    """Yield every way in which this run fell short. A domain that nobody asked about is no condition."""
    for line in facts.report.domains:
        kind = _shortcoming(line)
        if kind is not None:
            yield line.domain, kind, free_text(line.state_detail)
    left = len(facts.report.credentials.ambient_unremoved)
    if left:
        kind = DegradedKind.UNREMOVED_AMBIENT_AUTHORITY
        yield CapabilityDomain.CREDENTIAL, kind, free_text(f"inherited names left to the program: {left}")
    for fact in facts.host:
        if fact.basis is FactBasis.UNMEASURED:
            yield None, DegradedKind.FACT_UNAVAILABLE, token_text(fact.name)


def _shortcoming(line: DomainLine) -> DegradedKind | None:
    if line.state is ControlState.DEGRADED:
        return DegradedKind.CONTROL_SHORTFALL
    if line.state is ControlState.UNSUPPORTED:
        return DegradedKind.CONTROL_UNSUPPORTED
    asked = line.unmeasured_reason is not UnmeasuredReason.NO_CONTROL_REQUESTED
    return DegradedKind.NOT_MEASURED if line.state is ControlState.UNMEASURED and asked else None


def _condition(domain: CapabilityDomain | None, kind: DegradedKind, detail: Json) -> Json:
    return {"domain": None if domain is None else domain.value, "kind": kind.value, "detail": detail}


def _record_withheld(body: Json) -> None:
    """List every withheld text of `body`, with its condition, and lower what its domain may claim (rule R3)."""
    paths = sorted(withheld_paths(body))
    body["withheld_fields"] = paths
    for path in paths:
        domain = _domain_of(body, path)
        body["degraded"].append(_condition(None, DegradedKind.FIELD_WITHHELD, token_text(path)))
        if domain is not None:
            body["degraded"][-1]["domain"] = domain["domain"]
            if domain["claim"] == ClaimTerm.DENIED_BEFORE_EXECUTION.value:
                domain["claim"] = ClaimTerm.EVALUATED.value


def _domain_of(body: Json, path: str) -> Json | None:
    """Return the domain line that `path` lies in, if any."""
    return next((line for index, line in enumerate(body["domains"]) if path.startswith(f"domains[{index}].")), None)
