# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Walks what aasm says, and finds every claim that stands there without its evidence.

It reads outputs as a reader does and shares no code with what writes them: the vocabulary stands here once more, and
the rules of claims too. A text in which nothing is found claims no more than it shows.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from support.claim_words import said_by_the_package, words_left

# --- the vocabulary ---------------------------------------------------------------------------------

DOMAINS = (
    "filesystem_read", "filesystem_write", "network_egress", "name_resolution", "syscall", "process_creation", "ipc",
    "credential", "resource", "workspace_transaction",
)  # fmt: skip
PREVENTION = "denied_before_execution"
COVERAGE = (PREVENTION, "approval_required", "redacted", "detected", "evaluated", "observed")
CLAIMS = (*COVERAGE, "degraded", "unmeasured", "experimental", "planned", "unsupported")
STATES = ("unsupported", "degraded", "unmeasured", "observe_only", "prevention")
BASES = ("none", "setup_only", "runtime_without_decision", "decision")
REQUESTED = ("stated", "not_stated", "policy_cannot_express", "not_derived")
STAGES = ("pre_launch", "post_run")
POSTURES = ("ready", "degraded", "refused", "no_boundary")
REASONS = ("no_backend_selected", "no_control_requested", "inconclusive")
SILENT = ("unmeasured", "unsupported")
WITH_CONTROL = ("prevention", "observe_only")

# Every rule that an output can break; tests/unit/test_claim_checker.py has a doctored output for each.
RULES = {
    "form": "a block is a header and records: each key once, counts that agree, tokens of the vocabulary",
    "coverage": "a claim that asserts coverage has run-time evidence",
    "prevention": "the prevention term has a decision, prevention_supported, and a control in the state prevention",
    "supported": "prevention_supported rests on a decision",
    "decision": "`evaluated` rests on a decision",
    "silence": "where nothing is planned, or nothing can be done, nothing is claimed",
    "degraded": "`degraded` has both levels, and no claim of prevention beside it",
    "intention": "`planned` has a control in the plan",
    "expected": "no claim is above what the plan can come to, and what would cover has something that exercises it",
    "weakest": "the state of a domain is that of its weakest requirement, and none is met without a plan",
    "asked": "a control is shown only for what was asked, with its timing and its reach",
    "backend": "without a backend nothing is planned, configured or claimed",
    "stage": "before the launch nothing is claimed, and nothing is more than set up",
    "ready": "`ready` has a control for all that was asked, nothing inherited left, and no refusal",
    "authority": "least authority, and a clean boundary, have nothing left over",
    "refused": "a refused run says why, and has no plan",
    "no boundary": "without a boundary nothing is asked of one",
    "selection": "a selected backend is the one candidate with that verdict",
    "section": "the section for a person says what the keys say",
    "row": "what is held, watched or kept has its control in the plan",
    "summary": "a line for a terminal says what the report says",
    "word": "a word that claims stands where its evidence is, or in a reviewed sentence",
    "records": "what a receipt claims is in its records, and what they show was possible in that run",
    "seal": "a seal is the digest of the body",
    "shortfall": "what fell short is among the degraded conditions, without a claim of prevention beside it",
    "trust": "trustworthy is what has a seal that holds and breaks no rule",
    "account": "the ledger and the status line say what became of the run",
}  # fmt: skip


class Finding(NamedTuple):
    """One claim without its evidence: the rule that it breaks, and where."""

    rule: str
    text: str


class Line(NamedTuple):
    """What is said of one domain. A receipt has no details and expects nothing: there both are None."""

    requested: str
    state: str
    detail: Optional[str]
    claim: str
    basis: str
    supported: bool
    expected: Optional[str] = None
    sources: Tuple[str, ...] = ()


class Said(NamedTuple):
    """What a block or a receipt says, as far as claims go."""

    stage: str
    posture: str  # empty in a receipt
    backend: str  # empty without one
    lines: Mapping[str, Line]


def details(text: str) -> Dict[str, str]:
    """Return the pairs of a detail: "timing=pre, descendants=process_tree"."""
    return dict(re.findall(r"(\w+)=([^,\s(]+)", text))


# --- the ten domains, of a block and of a receipt ---------------------------------------------------


def judge_domains(said: Said) -> Iterator[Finding]:
    """Yield what the ten domains claim without evidence."""
    if sorted(said.lines) != sorted(DOMAINS):
        yield Finding("form", f"the domains are {', '.join(said.lines)}")
    for domain, line in said.lines.items():
        for rule, broken in _broken(said, line):
            if broken:
                yield Finding(rule, f"{domain}: {RULES[rule]}: {line}")


def _broken(said: Said, line: Line) -> Iterator[Tuple[str, bool]]:
    """Yield each rule about one domain, with whether its line breaks it."""
    covers, rank = line.claim in COVERAGE, BASES.index(line.basis) if line.basis in BASES else -1
    words = ((line.requested, REQUESTED), (line.state, STATES), (line.claim, CLAIMS), (line.basis, BASES))
    yield "form", any(word not in known for word, known in words)
    yield "coverage", covers and rank < BASES.index("runtime_without_decision")
    whole = line.basis == "decision" and line.supported and line.state == "prevention"
    yield "prevention", line.claim == PREVENTION and not whole
    yield "supported", line.supported and line.basis != "decision"
    yield "decision", line.claim == "evaluated" and line.basis != "decision"
    yield "silence", covers and line.state in SILENT
    yield "degraded", _degraded(line)
    yield "intention", line.claim == "planned" and (line.state not in WITH_CONTROL or rank < 1)
    yield "expected", line.expected is not None and _overrun(line, line.expected)
    yield "asked", line.state not in SILENT and line.requested != "stated"
    yield "asked", _vague(line)
    yield "backend", not said.backend and (covers or rank > 1 or line.state not in SILENT)
    yield "stage", said.stage == "pre_launch" and (covers or line.supported or rank > BASES.index("setup_only"))


def _overrun(line: Line, expected: str) -> bool:
    """Say whether a claim is above the one that is expected, or that one above what will give evidence."""
    if expected not in CLAIMS or _rank(line.claim) > _rank(expected):
        return True
    kind = "decision: " if expected in (PREVENTION, "evaluated") else "exercised: "
    witnessed = any(source.startswith(kind) for source in line.sources)
    return expected in COVERAGE and (line.state in SILENT or not witnessed)


def _rank(claim: str) -> int:
    return len(COVERAGE) - COVERAGE.index(claim) if claim in COVERAGE else 0


def _degraded(line: Line) -> bool:
    """Say whether a degraded state or claim lacks one of its levels, or is beside a claim of prevention."""
    if line.state != "degraded":
        return line.claim == "degraded"
    both = line.detail is None or {"planned", "achieved", "reason"} <= set(details(line.detail))
    return not both or line.claim == PREVENTION or line.supported


def _vague(line: Line) -> bool:
    """Say whether the detail of a control lacks its timing or its reach, or that of a silence its reason."""
    if line.detail is None:
        return False
    found = details(line.detail)
    if line.state == "prevention":
        return found.get("timing") != "pre" or found.get("descendants") not in ("process_tree", "target_process_only")
    if line.state == "observe_only":
        return found.get("timing") in (None, "none") or "descendants" not in found
    return "reason" not in found or (line.state == "unmeasured" and found["reason"] not in REASONS)


# --- the block of keys ------------------------------------------------------------------------------

HEADER = "--- execution isolation (machine-readable) ---"
RECORD = re.compile(r"([a-z0-9_.]+)=(.*)")
LISTS = (
    "considered",
    "unmet_domain",
    "policy_gap",
    "evidence_source",
    "refusal",
    "removed",
    "delegated",
    "ambient_unremoved",
    "unmapped",
)
NEEDED = (
    "schema", "stage", "posture", "posture_detail", "least_authority", "target_program", "target_arg_count",
    "backend_selected", "requested_requirement_count", "domain_count", "refusal_count", "credential.removed_count",
    "credential.delegated_count", "credential.ambient_unremoved_count", "credential.contradiction_count",
    "descriptors_present", "policy.unmapped_count",
)  # fmt: skip
OF_A_DOMAIN = (
    "requested", "requested_detail", "state", "state_detail", "claim", "evidence", "prevention_supported",
    "expected_claim", "evidence_source_count", "granularity", "policy_gap_count",
)  # fmt: skip
TRUE_OR_FALSE = ("least_authority", "backend_selected", "backend_modified", "descriptors_present")
OURS = re.compile(
    r"(^|[._])(detail|posture_detail|backend_unavailable|(policy_gap|evidence_source|unmapped)\.\d+)$|_detail$"
)
_PATHS = re.compile(r"(permit-only:|--(read|write|policy) )\S+")


def prose(text: str, where: str) -> List[Finding]:
    """Return the words of a text that claim and stand in no reviewed sentence. Paths of the user's are none."""
    tokens = re.sub(r"\b(intent|posture|descendants|scope|timing|planned|achieved|reason)=[\w\[\]-]+", "", text)
    left = words_left(_PATHS.sub("", tokens), said_by_the_package())
    return [Finding("word", f"{where}: {line}") for line in left]


def split_block(lines: Sequence[str]) -> Tuple[List[Tuple[str, str]], List[str]]:
    """Return the records at the start of these lines, and the rest: it begins with the first line that is none."""
    records: List[Tuple[str, str]] = []
    for number, line in enumerate(lines):
        found = RECORD.fullmatch(line)
        if found is None:
            return records, list(lines[number:])
        records.append((found.group(1), found.group(2)))
    return records, []


def judge_block(records: Sequence[Tuple[str, str]]) -> List[Finding]:
    """Return what a block claims without evidence, or says in another form than its own."""
    keys = dict(records)
    found = [Finding("form", f"{key} stands twice") for key in keys if [k for k, _ in records].count(key) > 1]
    if keys.get("posture") == "refused" and "domain_count" not in keys:  # it could not even be resolved
        stated = {"schema", "stage", "posture", "posture_detail"}
        found += [Finding("form", f"{key} of an unresolved run") for key in keys if key not in stated]
        return [*found, *prose(keys.get("posture_detail", ""), "posture_detail")]
    missing = [key for key in (*NEEDED, *_of_domains()) if key not in keys]
    unknown = [key for key in keys if key.startswith("domain.") and key.split(".")[1] not in DOMAINS]
    if missing or unknown:
        return [*found, Finding("form", f"missing: {', '.join(missing)}; unknown: {', '.join(unknown)}")]
    said = said_in(keys)
    found += [*_form(keys), *judge_domains(said), *_requirements(keys, said), *_as_a_whole(keys, said)]
    for key, value in keys.items():
        found += prose(value, key) if OURS.search(key) else ()
    return found


def _of_domains() -> Iterator[str]:
    return (f"domain.{domain}.{field}" for domain in DOMAINS for field in OF_A_DOMAIN)


def said_in(keys: Mapping[str, str]) -> Said:
    """Return what the keys of a whole block say."""
    lines = {name: _line(keys, f"domain.{name}.") for name in DOMAINS}
    backend = keys.get("backend_id", "?") if keys["backend_selected"] == "true" else ""
    return Said(keys["stage"], keys["posture"], backend, lines)


def _line(keys: Mapping[str, str], base: str) -> Line:
    """Return what the keys that begin so say of their domain."""
    return Line(
        requested=keys[f"{base}requested"],
        state=keys[f"{base}state"],
        detail=keys[f"{base}state_detail"],
        claim=keys[f"{base}claim"],
        basis=keys[f"{base}evidence"],
        supported=keys[f"{base}prevention_supported"] != "false",
        expected=keys[f"{base}expected_claim"],
        sources=tuple(value for key, value in keys.items() if key.startswith(f"{base}evidence_source.")),
    )


def _form(keys: Mapping[str, str]) -> Iterator[Finding]:
    for key, value in keys.items():
        flags = (*TRUE_OR_FALSE, "prevention_supported", "enumeration_complete", "asserts_clean_boundary")
        if key.endswith(flags) and value not in ("true", "false"):
            yield Finding("form", f"{key}={value}")
        base, is_count, _ = key.partition("_count")
        if is_count and base.rpartition(".")[2] in LISTS:
            items = {k[len(base) + 1 :].partition(".")[0] for k in keys if k.startswith(f"{base}.")}
            if items != {str(number) for number in range(int(value))}:
                yield Finding("form", f"{key}={value} and {len(items)} items")
    if keys["stage"] not in STAGES or keys["posture"] not in POSTURES or keys["domain_count"] != str(len(DOMAINS)):
        yield Finding("form", f"stage={keys['stage']}, posture={keys['posture']}, {keys['domain_count']} domains")


STATE_OF = {"enforced": "prevention", "observed": "observe_only", "degraded": "degraded", "unmet": "unsupported"}


def _requirements(keys: Mapping[str, str], said: Said) -> Iterator[Finding]:
    """Yield the domains that show another state than their requirements come to: nothing without a plan."""
    outcomes: Dict[str, List[str]] = {}
    for key, domain in keys.items():
        if re.fullmatch(r"requested_requirement\.\d+\.domain", key):
            outcomes.setdefault(domain, []).append(keys[key[: -len("domain")] + "outcome"])
    for domain, found in outcomes.items():
        state = said.lines[domain].state if domain in said.lines else ""
        made = [STATE_OF.get(outcome, "") for outcome in found]
        agrees = "" not in made and state == min(made, key=STATES.index) if said.backend else set(found) == {""}
        if not agrees or said.lines[domain].requested != "stated":
            yield Finding("weakest", f"{domain}: {state}: {found}")


def _as_a_whole(keys: Mapping[str, str], said: Said) -> Iterator[Finding]:
    """Yield what the keys about the run as a whole claim beyond the others."""
    asked = [line for line in said.lines.values() if line.requested == "stated"]
    nothing_left = keys["credential.ambient_unremoved_count"] == "0"
    refusals, clean = keys["refusal_count"] != "0", keys.get("descriptors.asserts_clean_boundary") == "true"
    complete = keys.get("descriptors.enumeration_complete") == "true" and keys["descriptors.residual_count"] == "0"
    held = said.backend and asked and all(line.state in WITH_CONTROL for line in asked)
    chosen = [keys[key[:-7] + "id"] for key, value in keys.items() if key.endswith(".verdict") and value == "selected"]
    unasked = keys["requested_requirement_count"] == "0" and not chosen
    broken = {
        "ready": said.posture == "ready" and not (held and nothing_left and not refusals),
        "authority": (clean and not complete)
        or (keys["least_authority"] == "true" and not (said.backend and nothing_left and clean)),
        "refused": refusals is not (said.posture == "refused") or (refusals and bool(said.backend)),
        "no boundary": said.posture == "no_boundary" and not (unasked and not said.backend),
        "backend": said.posture in ("ready", "degraded") and not said.backend,
        "selection": bool(said.backend) and chosen != [said.backend],
    }
    for rule in (rule for rule, is_broken in broken.items() if is_broken):
        yield Finding(rule, f"posture={said.posture}: {RULES[rule]}")


# --- one line for a terminal ------------------------------------------------------------------------


def judge_summary(text: str, said: Said) -> Iterator[Finding]:
    """Yield what a line for a terminal claims beyond the report; the other lines are nobody's claim."""
    asked = {name: line for name, line in said.lines.items() if line.requested == "stated"}
    planned = re.fullmatch(r"aasm: boundary planned by ([\w-]+): (.*)", text)
    if planned:
        lists = _lists(planned.group(2))
        wrong = planned.group(1) != said.backend or sorted(sum(lists.values(), [])) != sorted(asked)
        if wrong or any(
            asked[name].state not in STATES_UNDER.get(title, ()) for title in lists for name in lists[title]
        ):
            yield Finding("summary", f"{text}: the report has {[(name, line.state) for name, line in asked.items()]}")
    elif text.startswith(("aasm: measured in this run: ", "aasm: nothing was measured in this run")):
        yield from _measured(text, said, asked)
    elif text.startswith("aasm: no boundary was established"):
        yield from [Finding("summary", text)] if said.backend or said.posture not in ("no_boundary", "") else ()
    elif text.startswith("aasm: refused: "):
        yield from [Finding("summary", text)] if said.posture != "refused" else ()
    else:
        yield from prose(text, "a line")


STATES_UNDER = {
    "": ("prevention",),
    "only observed": ("observe_only",),
    "not held as asked": ("degraded", "unsupported"),
}


def _lists(text: str) -> Dict[str, List[str]]:
    found: Dict[str, List[str]] = {}
    for part in text.split("; "):
        title, _, names = part.rpartition(": ")
        found[title] = [] if names == "nothing" else names.split(", ")
    return found


def _measured(text: str, said: Said, asked: Mapping[str, Line]) -> Iterator[Finding]:
    """Yield what stands among what was measured and was not, or under another term; the rest is `not measured`."""
    first, _, others = text.partition("; not measured: ")
    covered = {name: line.claim for name, line in asked.items() if line.claim in COVERAGE}
    rest = {name: line.claim for name, line in asked.items() if name not in covered}
    if said.stage != "post_run" or _pairs(first.partition("run: ")[2]) != covered or _pairs(others) != rest:
        yield Finding("summary", f"{text}: the report has {[(name, line.claim) for name, line in asked.items()]}")


def _pairs(text: str) -> Dict[str, str]:
    return dict(re.findall(r"(\w+) (\w+)(?:, |$)", text))


def only(findings: Iterable[Finding]) -> List[str]:
    """Return the findings as lines, for a test that expects none."""
    return [f"{item.rule}: {item.text}" for item in findings]
