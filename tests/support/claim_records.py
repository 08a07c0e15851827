# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind, through the rules of support/claims.py: receipt, ledger, status line, and a verdict."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Iterator, List, Mapping, Optional, Sequence, Tuple

from support.claims import BASES, COVERAGE, PREVENTION, RULES, SILENT, Finding, Line, Said, judge_domains, prose

# --- receipts ---------------------------------------------------------------------------------------

KINDS = {
    "configured": "setup_only", "installed": "setup_only", "exercised": "runtime_without_decision",
    "decision": "decision", "independent_verification": "runtime_without_decision",
}  # fmt: skip
CANARIES = {
    "file_read": "filesystem_read", "file_write": "filesystem_write", "open_files": "resource", "file_size": "resource",
    "call": None,
}  # fmt: skip
# Where tokens stand, and what the user gave: everywhere else a word that claims is looked at.
_PLACES = re.compile(
    r"domains\[\]\.(domain|requested|state|claim|evidence_basis|unmeasured_reason)"
    r"|evidence_refs\[\]\.(kind|domain|claim|detail_digest)|degraded\[\]\.(domain|kind)|.*\.kind"
    r"|boundary\.canaries\[\]\.result|policy\.(resolution|source\.value)|spec\.program\.value"
    r"|asserted_identity\..*|credentials\..*"
)


def texts(value: Any, path: str = "") -> Iterator[Tuple[str, str]]:
    """Yield each text beneath a value with its path: names joined by points, `[]` for each list."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from texts(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item, f"{path}[]")
    elif isinstance(value, str):
        yield path, value


def said_in_receipt(body: Mapping[str, Any]) -> Said:
    """Return what the body of a receipt says of the domains."""
    lines = {
        item["domain"]: Line(
            item["requested"], item["state"], None, item["claim"], item["evidence_basis"],
            item["prevention_supported"] is not False,
        )
        for item in body["domains"]
    }  # fmt: skip
    return Said("post_run", "", body["backend"]["id"] if body["backend"] else "", lines)


def judge_receipt(envelope: Mapping[str, Any]) -> List[Finding]:
    """Return every claim of a receipt without evidence in it."""
    body = envelope["body"]
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    found = list(judge_domains(said_in_receipt(body)))
    if envelope["seal"]["digest"] != "sha256:" + hashlib.sha256(canonical).hexdigest():
        found.append(Finding("seal", f"{envelope['seal']['digest']} is not that of the body"))
    for item in body["domains"]:
        found += _judge_records(item, body)
    found += [
        Finding("records", f"{item}: {RULES['records']}") for item in body["evidence_refs"] if _impossible(item, body)
    ]
    found += [Finding("backend", f"{name} without a backend") for name in ("sealed", "floor") if _unbacked(name, body)]
    for path, value in texts(body):
        found += [] if _PLACES.fullmatch(path) else prose(value, path)
    return found


def _unbacked(name: str, body: Mapping[str, Any]) -> bool:
    return bool(body["boundary"][name]) and body["backend"] is None


def _judge_records(item: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what one domain claims beyond the records about it, and what it lacks among the degraded conditions."""
    records = [record for record in body["evidence_refs"] if record["domain"] == item["domain"]]
    strongest = max([BASES.index(KINDS[record["kind"]]) for record in records], default=0)
    pairs = {(record["kind"], record["claim"]) for record in records}
    claim, about = item["claim"], f"{item['domain']}: {RULES['records']}"
    if BASES.index(item["evidence_basis"]) > strongest:
        yield Finding("records", about)
    if claim in COVERAGE and not any(made == claim and KINDS[kind] not in BASES[:2] for kind, made in pairs):
        yield Finding("records", about)
    if (claim == PREVENTION or item["prevention_supported"]) and ("decision", PREVENTION) not in pairs:
        yield Finding("records", about)
    if item["independently_verified"] and "independent_verification" not in [kind for kind, _ in pairs]:
        yield Finding("records", about)
    kinds = [condition["kind"] for condition in body["degraded"] if condition["domain"] == item["domain"]]
    asked = (
        item["state"] == "degraded" or item["state"] in SILENT and item["unmeasured_reason"] != "no_control_requested"
    )
    if asked is not bool(kinds) and item["domain"] != "credential" or (kinds and claim == PREVENTION):
        yield Finding("shortfall", f"{item['domain']}: {item['state']}, {claim}, {kinds}")


def _impossible(record: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Say whether a record shows what cannot have been in this run: without a sealed boundary, a canary, a clock."""
    if record["kind"] not in ("installed", "exercised"):
        return False
    if record["claim"] == "detected":
        return bool(body["execution"]["termination"]["kind"] != "wall_clock_ceiling_exceeded")
    results = {canary["name"]: canary["result"] for canary in body["boundary"]["canaries"]}
    held = [CANARIES[name] for name, result in results.items() if result == "held"]
    tried = record["kind"] == "installed" or (
        record["domain"] in held if record["domain"] else "held" in results.values()
    )
    return not (body["boundary"]["sealed"] is True and "breached" not in results.values() and tried)


# --- ledger, status, verdicts -----------------------------------------------------------------------

EVENTS = ("registered", "refused", "not_started", "ended", "noted", "repaired")


def judge_ledger(records: Sequence[Mapping[str, Any]], digests: Sequence[str]) -> List[Finding]:
    """Return what the ledger claims beyond what became of its runs; `digests` are those of the receipts there are."""
    found: List[Finding] = []
    for record in records:
        before = [
            item["event"] for item in records if item["run_id"] == record["run_id"] and item["seq"] < record["seq"]
        ]
        unannounced = record["event"] in ("ended", "not_started") and "registered" not in before
        unwritten = record["receipt"] is not None and (record["event"] != "ended" or record["receipt"] not in digests)
        if record["event"] not in EVENTS or unannounced or unwritten:
            found.append(Finding("account", f"{record}"))
        found += prose(record["detail"]["value"] or "", "the ledger")
    return found


ENDINGS = {
    "program": ("exited", "killed", "wall_clock"),
    "launcher": ("not_found", "not_executable", "setup_failed", "not_started", "refused"),
}


def judge_status(status: Mapping[str, Any], receipt: Optional[Mapping[str, Any]]) -> List[Finding]:
    """Return what the status line claims beyond the receipt of the run, None when it has none."""
    expected = None if receipt is None else receipt["run_id"]
    agrees = status["receipt"] is None if expected is None else status["run_id"] == expected
    ended = receipt["execution"]["termination"]["kind"] if receipt else ""
    clock = status["ending"] == "wall_clock" and receipt is not None and ended != "wall_clock_ceiling_exceeded"
    if status["ending"] not in ENDINGS.get(status["origin"], ()) or not agrees or clock:
        return [Finding("account", f"{status}")]
    return []


def judge_verdict(text: str, sound: bool) -> List[Finding]:
    """Return what `receipt verify` claims beyond its own lines; `sound`: the seal holds and nothing was found."""
    lines = dict(line.partition(": ")[::2] for line in text.splitlines() if not line.startswith("  "))
    trusted = lines.get("trustworthy", "").startswith("true")
    holds = lines.get("seal", "").startswith("holds (") and lines.get("defects") == "none"
    found = [Finding("trust", text)] if trusted and not (holds and sound) else []
    for label, value in lines.items():
        found += prose(value, label)
    return found
