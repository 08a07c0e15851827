# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Whole outputs through the rules of support/claims.py: dry runs as text and as JSON, and what a launch prints."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from support.claim_records import said_in_receipt, texts
from support.claims import HEADER, Finding, Said, judge_block, judge_summary, prose, said_in, split_block

Keys = Dict[str, str]

# --- the section for a person -----------------------------------------------------------------------

POSTURES = {"ready": "READY", "degraded": "DEGRADED", "refused": "REFUSED", "no_boundary": "NO BOUNDARY ESTABLISHED"}
HEAD = (
    "schema",
    "stage",
    "posture",
    "least authority",
    "backend",
    "refused by",
    "selection",
    "agent",
    "team",
    "lineage",
)
TITLES = (
    "degraded or unsupported", "refused", 'policy cannot express (which never means "no restriction needed")',
    "not derived (nobody knows what is asked)", "not stated", "partially expressible", "evidence to come",
    "unmeasured", "not acted on", "residual ambient authority", "descriptors that could not be listed", "not held",
    "grants", "floor",
)  # fmt: skip
ELSEWHERE = ("grants", "residual ambient authority", "evidence to come")  # the user's own words, or those of the keys
WITH_STATES = {"degraded or unsupported": ("degraded", "unsupported"), "unmeasured": ("unmeasured",)}


def judge_section(lines: Sequence[str], keys: Keys) -> Iterator[Finding]:
    """Yield what the section for a person claims beyond the keys of the same report."""
    if "domain_count" not in keys:  # it could not even be resolved
        yield from judge_head([line for line in lines if line.startswith("posture:")], keys)
        yield from prose(" ".join(line for line in lines if not line.startswith("posture:")), "the section")
        return
    start = next((at for at, line in enumerate(lines) if line.startswith("DOMAIN ")), len(lines))
    asked = next((at for at, line in enumerate(lines) if line.startswith("requested capability set")), start)
    said = said_in(keys)
    rows = {line.split()[0]: line.split()[1:] for line in lines[start + 1 : start + 11]}
    if rows != {name: [x.requested, x.state, x.claim, x.basis] for name, x in said.lines.items()}:
        yield Finding("section", f"the table is {rows}")
    yield from judge_head(lines[:asked], keys)
    for line in lines[asked + 1 : start]:
        yield from _judge_requirement(line, said)
    yield from prose(lines[asked], "requested capability set") if asked < start else ()
    yield from _judge_lists(lines[start + 11 :], said)


def judge_head(lines: Sequence[str], keys: Keys) -> Iterator[Finding]:
    """Yield what stands before the requested capability set and not in the keys."""
    expected = {
        "posture": POSTURES.get(keys["posture"]),
        "stage": keys["stage"],
        "least authority": "yes" if keys.get("least_authority") == "true" else "no",
    }
    for line in lines:
        label, colon, value = line.partition(":")
        if colon and label in expected and value.strip() != expected[label]:
            yield Finding("section", f"{line}: the keys have {expected[label]}")
        if label == "backend" and (value.strip() == "none") is (keys.get("backend_selected") == "true"):
            yield Finding("section", line)
        if label == "refused by" and keys["posture"] != "refused":
            yield Finding("refused", line)
        if not (colon and label in HEAD) and not _candidate(line, keys):
            yield from prose(line, "the head")


def _candidate(line: str, keys: Keys) -> bool:
    """Say whether a line names a candidate with its verdict, as the keys have it; its detail is judged there."""
    found = re.match(r"  ([\w-]+): (\w+)", line)
    pairs = {(keys[key[:-7] + "id"], value) for key, value in keys.items() if key.endswith(".verdict")}
    return bool(found) and (found.group(1), found.group(2)) in pairs  # type: ignore[union-attr]


HELD = re.compile(r"; would be (held|watched) by(?=: |$)")


def _judge_requirement(line: str, said: Said) -> Iterator[Finding]:
    """Yield what one requirement claims: to be held, or watched, needs a plan and the matching intent."""
    domain, intent = line.strip().partition(":")[0], re.search(r"intent=(\w+)", line)
    held = HELD.search(line)
    state = said.lines[domain].state if domain in said.lines else ""
    if held:
        wanted = {"held": "prevent_before_effect", "watched": "observe"}[held.group(1)]
        if not said.backend or state == "unmeasured" or intent is None or intent.group(1) != wanted:
            yield Finding("row", f"{line}: the state is {state or 'unknown'}")
    elif state in ("prevention", "observe_only"):
        yield Finding("row", f"{line}: nothing holds it, and the state is {state}")
    yield from prose(HELD.sub("", line), f"requirement of {domain}")


def _judge_lists(lines: Sequence[str], said: Said) -> Iterator[Finding]:
    listed: Dict[str, List[str]] = {}
    for line in lines:
        if line.startswith("  "):
            listed.setdefault(list(listed)[-1] if listed else "", []).append(line[2:])
        else:
            listed[line[:-1]] = []
    for title, items in listed.items():
        if title not in TITLES:
            yield Finding("section", f"a list with the title {title}")
        for item in items if title not in ELSEWHERE else ():
            yield from prose(item, title)
    expected = [f"{n}: {x.expected} at the most ({'; '.join(x.sources)})" for n, x in said.lines.items() if x.sources]
    if listed.get("evidence to come", []) != expected:
        yield Finding("section", f"evidence to come: {listed.get('evidence to come')}")
    for title, states in WITH_STATES.items():
        named = [item.partition(":")[0] for item in listed.get(title, [])]
        if named != [name for name, line in said.lines.items() if line.state in states]:
            yield Finding("section", f"{title}: {named}")
    if "floor" in listed and not said.backend:
        yield Finding("backend", "a floor without a backend")


# --- a dry run --------------------------------------------------------------------------------------

_SECTION = re.compile(r"--- [a-z].* ---")
NOT_OURS = ("--- managed settings ---", "--- environment ---")
HEADERS = (
    "", "--- aasm run dry-run ---", "--- preview fidelity ---", "--- protection ---", "--- policy ---",
    "--- execution isolation ---", HEADER, "--- managed settings ---", "--- launch command ---",
    "--- environment ---", "--- lease plan (PLAN: point-in-time, not authorization) ---",
)  # fmt: skip
POLICY_STATES = ("enforced", "permissive", "unconfigured", "load_failed")


def sections(text: str) -> Dict[str, List[str]]:
    """Return the lines of each section by its header; what stands before the first has an empty header."""
    found: Dict[str, List[str]] = {"": []}
    for line in text.split("\n"):
        if _SECTION.fullmatch(line):
            found[line] = []
        elif line:
            found[list(found)[-1]].append(line)
    return found


def judge_dry_run(text: str) -> List[Finding]:
    """Return every claim without evidence in the text of a dry run."""
    parts = sections(text)
    records, rest = split_block(parts.get(HEADER, []))
    found = judge_block(records) + [Finding("form", f"no record: {line}") for line in rest]
    keys = dict(records)
    if "posture" in keys and not only_of(found, "form"):
        found += judge_section(parts.get("--- execution isolation ---", []), keys)
    found += [Finding("section", f"a section with the header {header}") for header in parts if header not in HEADERS]
    for header, lines in parts.items():
        if header not in (*NOT_OURS, HEADER, "--- execution isolation ---"):
            for line in lines:
                found += _judge_small(header, line, keys)
    return found


def only_of(findings: Sequence[Finding], rule: str) -> List[Finding]:
    """Return the findings of one rule."""
    return [item for item in findings if item.rule == rule]


def _judge_small(header: str, line: str, keys: Keys) -> Iterator[Finding]:
    label, _, value = line.partition(":")
    value = value.strip()
    if header == "--- policy ---" and label == "state" and value in POLICY_STATES:
        return
    if header == "--- preview fidelity ---" and (label, value) == ("state", "DEGRADED"):
        yield from [Finding("section", line)] if keys.get("posture") != "refused" else ()
    elif header == "--- launch command ---" and ", kept by " in line:
        yield from judge_keeper(line.partition(", kept by ")[2], keys)
    elif not (header == "--- launch command ---" and label in ("working_dir", "command")):
        yield from prose(line, header)


def judge_keeper(keeper: str, keys: Keys) -> Iterator[Finding]:
    """Yield a ceiling that is said to be kept although nothing in the plan keeps it."""
    planned = keys.get("backend_selected") == "true" and keys.get("domain.resource.requested") == "stated"
    if not keeper.startswith("nothing (") and not planned:
        yield Finding("row", f"kept by {keeper}")
    yield from prose(keeper, "kept by")


# --- the dry run as JSON ----------------------------------------------------------------------------

FREE = ("environment", "launch_command", "managed_settings", "identity", "lineage", "grants", "isolation")


def judge_json(text: str) -> List[Finding]:
    """Return every claim without evidence in a dry run of --json."""
    loaded = json.loads(text)
    keys = {key: _as_text(value) for key, value in loaded["isolation"].items()}
    found = judge_block(list(keys.items()))
    for item in loaded.get("requirements", ()):
        wanted = {"enforced": "intent=prevent_before_effect", "observed": "intent=observe"}.get(item["outcome"], "")
        no_plan = keys.get("backend_selected") != "true" and item["outcome"] is not None
        silent = keys[f"domain.{item['domain']}.state"] == "unmeasured" and bool(wanted)
        if no_plan or silent or wanted not in item["detail"]:
            found.append(Finding("row", f"{item['domain']}: {item['outcome']}"))
    for ceiling in loaded.get("launch_command", {}).get("ceilings", ()):
        found += judge_keeper(ceiling["kept_by"], keys)
    for path, value in texts({key: value for key, value in loaded.items() if key not in FREE}):
        if path not in ("policy.state", "preview_fidelity.state") and not path.endswith(("outcome", "permitted[]")):
            found += prose(value, path)
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(str(value).split())


# --- what a launch prints on standard error ---------------------------------------------------------


def judge_stderr(text: str, receipt: Optional[Mapping[str, Any]] = None) -> List[Finding]:
    """Return every claim without evidence among the lines of a launch.

    A summary line is compared with the block before it, else with the receipt: `pre_launch` says the same states.
    """
    found: List[Finding] = []
    lines = text.splitlines()
    said = said_in_receipt(receipt) if receipt is not None else None
    while lines:
        line = lines.pop(0)
        if line == HEADER:
            records, lines = split_block(lines)
            found += judge_block(records)
        elif line.startswith("aasm: receipt: "):
            found += [] if receipt is not None else [Finding("account", f"{line}: there is none")]
        elif said is not None:
            found += judge_summary(line, said)
        elif line.startswith("aasm: "):
            found += _without_report(line)
        else:
            found += prose(line, "a line")
    return found


def _without_report(line: str) -> List[Finding]:
    """Judge a line for a terminal beside which there is no report and no receipt: a refusal, or no boundary."""
    unclaimed = line.startswith(("aasm: refused: ", "aasm: no boundary was established"))
    return prose(line.partition(": ")[2].partition(": ")[2], "a line") if unclaimed else [Finding("summary", line)]
