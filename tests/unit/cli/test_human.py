# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The report for a person: it says what the keys say, lists nothing that is empty, and claims nothing beyond them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any, Dict, List, Sequence, Tuple

import pytest
from project import ROOT
from support.reports import (
    CASES,
    DENY_ALL,
    HOSTS,
    LAUNCHED,
    ONLY_TOOLS,
    OPEN,
    REFUSED,
    SECRETS,
    UNLISTED,
    UNMAPPED,
    wanted,
)
from support.runs import after, before, ended, resolution, resolved
from tree_imports import NEVER_ON_THE_WAY

from aasm._sys import boundary
from aasm.backends.native.capability import MECHANISMS
from aasm.cli import human, machine
from aasm.model.ambient import AmbientAuthorityKind
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.evidence import ClaimTerm, EvidenceBasis, asserts_coverage
from aasm.model.plan import RefusalKind
from aasm.model.record import Ending
from aasm.model.report import ControlState, RequestedControl
from aasm.model.requirements import CredentialPosture, RequirementPosture as Posture, ResourceLimits
from aasm.run import Resolution

LISTS = (
    "degraded or unsupported", "refused", 'policy cannot express (which never means "no restriction needed")',
    "not derived (nobody knows what is asked)", "not stated", "partially expressible", "evidence to come", "unmeasured",
    "not acted on", "residual ambient authority", "descriptors that could not be listed", "not held", "grants", "floor",
)  # fmt: skip


def section(found: Resolution) -> List[str]:
    return human.section(before(found.run), found.run, found.host.euid)


def pairs(lines: Sequence[str]) -> Dict[str, str]:
    """Return the head: what stands before the requested capability set."""
    end = next(number for number, line in enumerate(lines) if line.startswith("requested capability set"))
    found = [re.match(r"([a-z ]+):\s+(.*)$", line) for line in lines[:end] if not line.startswith(" ")]
    return {item.group(1): item.group(2) for item in found if item}


def lists(lines: Sequence[str]) -> Dict[str, List[str]]:
    """Return each list behind the table by its title."""
    found: Dict[str, List[str]] = {}
    start = next(number for number, line in enumerate(lines) if line.startswith("DOMAIN ")) + 1 + len(DOMAINS)
    for line in lines[start:]:
        if line.startswith("  "):
            found[list(found)[-1]].append(line[2:])
        else:
            found[line[:-1]] = []
    return found


def table(lines: Sequence[str]) -> List[List[str]]:
    start = next(number for number, line in enumerate(lines) if line.startswith("DOMAIN "))
    return [line.split() for line in lines[start : start + 1 + len(DOMAINS)]]


@pytest.mark.parametrize("name", CASES)
def test_the_head_says_what_the_keys_say(name: str) -> None:
    found = CASES[name]()
    keys, head = dict(machine.records(before(found.run))), pairs(section(found))
    assert (head["schema"], head["stage"]) == (keys["schema"], keys["stage"])
    words = {"ready": "READY", "degraded": "DEGRADED", "refused": "REFUSED", "no_boundary": "NO BOUNDARY ESTABLISHED"}
    assert head["posture"] == words[str(keys["posture"])]
    assert head["detail"] == str(keys["posture_detail"]).splitlines()[0]
    assert head["least authority"] == ("yes" if keys["least_authority"] else "no")
    assert (head["agent"], head["team"], head["lineage"]) == ("agent-7", "team-3", "root-1 > parent-2")
    assert (head["session"], head["trace"]) == ("session-5", "trace-9")
    assert head["target"] == "true with 0 argument(s)"
    assert head.get("unavailable") == keys.get("backend_unavailable")
    assert head.get("selection") == keys.get("backend_selection_mode")
    assert head.get("refused by") == (found.run.refusal.kind.value if found.run.refusal else None)
    assert (head["backend"] == "none") is not keys["backend_selected"]


@pytest.mark.parametrize("name", CASES)
def test_the_table_has_all_ten_domains_as_the_keys_have_them(name: str) -> None:
    found = CASES[name]()
    keys, (head, *rows) = dict(machine.records(before(found.run))), table(section(found))
    assert head == ["DOMAIN", "REQUESTED", "STATE", "CLAIM", "EVIDENCE"]
    fields = ("requested", "state", "claim", "evidence")
    assert rows == [[d.value, *(str(keys[f"domain.{d.value}.{field}"]) for field in fields)] for d in DOMAINS]


@pytest.mark.parametrize("name", CASES)
def test_each_list_is_there_exactly_when_there_is_something_to_say(name: str) -> None:
    found = CASES[name]()
    report, shown = before(found.run), lists(section(found))
    about = {line.domain.value: line for line in report.domains}
    assert [title for title in LISTS if title in shown] == list(shown), "known titles, in their order"
    assert all(shown.values())
    expected = {
        LISTS[0]: [d for d, line in about.items() if line.state in (ControlState.DEGRADED, ControlState.UNSUPPORTED)],
        LISTS[2]: [d for d, line in about.items() if line.requested is RequestedControl.POLICY_CANNOT_EXPRESS],
        LISTS[3]: [d for d, line in about.items() if line.requested is RequestedControl.NOT_DERIVED],
        LISTS[4]: [d for d, line in about.items() if line.requested is RequestedControl.NOT_STATED],
        LISTS[5]: [d for d, line in about.items() for _ in line.policy_gaps],
        LISTS[6]: [d for d, line in about.items() if line.sources],
        LISTS[7]: [d for d, line in about.items() if line.state is ControlState.UNMEASURED],
    }
    assert {title: [line.split(":")[0] for line in shown.get(title, [])] for title in expected} == expected
    assert [line.split(": ")[1] for line in shown.get("refused", [])] == [
        entry[1] for entry in machine.refusals(report)
    ]
    assert shown.get("not acted on", []) == list(report.unmapped) and shown.get("floor", []) == list(report.floor)
    assert [line.rsplit(" (", 1)[0].split()[-1] for line in shown.get("grants", [])] == [g.path for g in report.grants]


def test_every_list_and_every_posture_is_seen_in_some_case() -> None:
    sections = [section(make()) for make in CASES.values()]
    assert {title for lines in sections for title in lists(lines)} == set(LISTS)
    assert {pairs(lines)["posture"] for lines in sections} == set(human.POSTURES.values())


def test_a_refusal_of_several_lines_stands_indented_below_the_first() -> None:
    found = CASES["refused: hosts, of auto"]()
    lines, text = section(found), found.run.refusal.text.splitlines()  # type: ignore[union-attr]
    start = lines.index(f"detail:          {text[0]}")
    assert [line.strip() for line in lines[start : start + len(text)]][1:] == [line.strip() for line in text[1:]]
    assert all(line.startswith(" " * 17) for line in lines[start + 1 : start + len(text)]) and len(text) > 4


def test_where_a_backend_comes_from_and_who_else_was_asked() -> None:
    lines = section(resolution(isolation="auto"))
    assert pairs(lines)["selection"] == "automatic"
    assert re.fullmatch(
        r"aasm-native \S+ \(source: in tree: \S+; license: Apache-2.0; not modified\)", pairs(lines)["backend"]
    )
    assert any(line.startswith("  sandlock: rejected_unavailable: ") for line in lines)
    assert "  aasm-native: selected" in lines
    unmet = section(resolution(isolation="auto", policy=HOSTS))
    assert any(line.startswith("  aasm-native: rejected_requirements_unmet (network_egress): ") for line in unmet)
    modified = before(resolved()).backend.provenance._replace(modified=True)  # type: ignore[union-attr]
    assert human.provenance(modified).endswith("; modified)")


def requested(lines: Sequence[str]) -> List[str]:
    start = next(number for number, line in enumerate(lines) if line.startswith("requested capability set"))
    rest = lines[start : next(number for number, line in enumerate(lines) if line.startswith("DOMAIN "))]
    return list(rest)


def test_each_requirement_says_who_stated_it_and_what_becomes_of_it() -> None:
    limits = ResourceLimits(max_open_files=64, max_cpu_seconds=5, max_wall_clock_seconds=9)
    head, read, write, *ceilings = requested(section(resolution(ceilings=limits)))
    assert head == "requested capability set:"
    assert read.startswith(
        "  filesystem_read: intent=prevent_before_effect, posture=required, descendants=process_tree, "
    )
    assert "; stated by filesystem.read.allow; would be held by: a Landlock ruleset" in read
    assert write.startswith("  filesystem_write: ") and "scope=selectors[1]: permit-only:/w" in write
    ends = {line.split("; stated by ")[1].split(";")[0]: line.split("; ")[2] for line in ceilings}
    assert ends["--max-open-files"].startswith("would be held by: RLIMIT_NOFILE")
    assert ends["--max-wall-clock-seconds"].startswith("would be watched by: the supervisor's clock")
    assert ends["--max-cpu-seconds"].startswith("is not held, by its own permission: ")


def test_a_degraded_requirement_is_never_shown_as_held() -> None:
    found = resolution([wanted(Domain.FILESYSTEM_READ), wanted(Domain.IPC, Posture.DEGRADE_IF_UNAVAILABLE)])
    line = requested(section(found))[2]
    assert line.startswith("  ipc: ") and "; is not held as asked, by its own permission: " in line
    assert lists(section(found))["degraded or unsupported"] == [
        "ipc: planned=prevent_before_effect, achieved=nothing, reason=domain_unsupported"
    ]


def test_nothing_requested_says_so_and_without_a_boundary_why() -> None:
    text = "requested capability set: empty (--isolation none: no control is asked for, and nothing is enforced)"
    limits = ResourceLimits(max_open_files=64)
    assert requested(section(resolution(isolation="none", ceilings=limits))) == [text]
    assert requested(section(resolution(policy="x: 1", isolation="none"))) == [text]
    assert requested(section(resolution(policy=ONLY_TOOLS))) == ["requested capability set: empty"]


def test_where_no_policy_was_lowered_what_is_asked_is_unknown_and_not_nothing() -> None:
    unknown = ["requested capability set: unknown (no policy was lowered)"]
    assert requested(section(resolution(policy="x: 1"))) == unknown
    for name, make in CASES.items():
        found = make()
        derived = not any(line.requested is RequestedControl.NOT_DERIVED for line in found.run.coverage)
        confined = found.run.isolation != "none"
        assert (requested(section(found)) == unknown) is (confined and not derived), name


def test_a_refused_run_says_what_was_asked_and_holds_nothing() -> None:
    for name, make in REFUSED.items():
        lines = section(make())
        assert not any("would be held" in line for line in lines), name
        assert "floor" not in lists(lines)


def test_what_is_inherited_is_named_and_never_shown() -> None:
    lines = section(resolution(isolation="none", environ=SECRETS, descriptors=OPEN))
    assert lists(lines)["residual ambient authority"] == [
        "DATABASE_URL: connection_string (credential)", "MY_TOKEN: service_token (credential)",
        "descriptor 7: residual_unclosable: nothing closes it",
    ]  # fmt: skip
    assert not any(value.decode() in line for value in SECRETS.values() for line in lines if value != SECRETS[b"PATH"])
    unlisted = lists(section(resolution(descriptors=UNLISTED)))
    assert unlisted["descriptors that could not be listed"] == ["/proc/self/fd: Permission denied"]


AMBIENT = {
    b"AWS_SECRET_ACCESS_KEY": "cloud_credential (credential)",
    b"GH_TOKEN": "service_token (credential)",
    b"DATABASE_URL": "connection_string (credential)",
    b"AASM_TOKEN": "supervisor_credential (credential)",
    b"SSH_AUTH_SOCK": "delegated_auth_agent (credential, ipc)",
    b"IMDS_ENDPOINT": "cloud_metadata_endpoint (credential, network_egress)",
    b"\xff_KEY": "service_token (credential)",
}


def test_what_is_inherited_has_its_kind_and_the_domains_that_would_have_to_hold_it() -> None:
    assert {text.split()[0] for text in AMBIENT.values()} == {kind.value for kind in AmbientAuthorityKind}
    found = resolution(isolation="none", environ={**dict.fromkeys(AMBIENT, b"t0psecret"), b"PLAIN": b"x"})
    shown = lists(section(found))["residual ambient authority"]
    assert shown == sorted(f"{os.fsdecode(name)}: {text}" for name, text in AMBIENT.items())
    assert "residual ambient authority" not in lists(section(resolution(environ=dict.fromkeys(AMBIENT, b"x"))))
    unknown = before(found.run)._replace(credentials=CredentialPosture(ambient_unremoved=("PLAIN",)))
    assert lists(human.section(unknown, found.run, 0))["residual ambient authority"] == ["PLAIN"]


def test_what_policy_states_and_nothing_acts_on_is_listed() -> None:
    assert lists(section(resolution(policy=UNMAPPED)))["not acted on"] == ["capabilities.deny: network_inbound"]


def test_the_limit_of_root_is_said_only_where_it_holds() -> None:
    def of(**options: Any) -> bool:
        return human.ROOT in lists(section(resolution(**options))).get("not held", [])

    assert of(euid=0) and not of(euid=1000) and not of(euid=0, isolation="none") and not of(euid=0, abi=3)


def test_the_evidence_to_come_says_the_most_that_it_can_show() -> None:
    limits = ResourceLimits(max_open_files=64, max_cpu_seconds=5)
    shown = lists(section(resolution(policy=DENY_ALL, ceilings=limits)))["evidence to come"]
    assert shown == [
        f"filesystem_read: observed at the most (installed: {MECHANISMS[Domain.FILESYSTEM_READ]}; "
        "exercised: canary file_read)",
        f"network_egress: planned at the most (installed: {MECHANISMS[Domain.NETWORK_EGRESS]})",
        f"syscall: planned at the most (installed: {MECHANISMS[Domain.SYSCALL]})",
        "resource: unmeasured at the most (installed: RLIMIT_NOFILE, soft and hard; exercised: canary open_files)",
    ]
    for name in ("no boundary", "no boundary, with ceilings", *REFUSED):
        assert "evidence to come" not in lists(section(CASES[name]())), name


def test_each_grant_has_its_verbs_its_path_and_who_asked() -> None:
    assert lists(section(resolution()))["grants"] == [
        "read,execute       /usr (policy.yaml:3:13)", "write              /w (policy.yaml:5:13)",
        "read,write         /dev/null (every program)",
    ]  # fmt: skip
    both = "filesystem: {read: {allow: [/usr]}, execute: {allow: [/lib]}}\n"
    assert lists(section(resolution(policy=both)))["grants"] == [
        "read               /usr (policy.yaml:1:29)", "execute            /lib (policy.yaml:1:55)",
        "read,write         /dev/null (every program)",
    ]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_nothing_claims_coverage_before_a_launch(name: str) -> None:
    terms = {ClaimTerm(row[3]) for row in table(section(CASES[name]()))[1:]}
    assert not any(map(asserts_coverage, terms))


# --- one line for a terminal ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "planned", "measured"),
    [
        (
            {},
            "planned by aasm-native: filesystem_read, filesystem_write",
            "measured in this run: filesystem_read observed; not measured: filesystem_write planned",
        ),
        (
            {"ceilings": ResourceLimits(max_open_files=1, max_cpu_seconds=2)},
            "planned by aasm-native: filesystem_read, filesystem_write; not held as asked: resource",
            "measured in this run: filesystem_read observed; "
            "not measured: filesystem_write planned, resource unmeasured",
        ),
        (
            {"policy": "filesystem:\n  read:\n    allow: [/usr]\n"},
            "planned by aasm-native: filesystem_read",
            "measured in this run: filesystem_read observed",
        ),
        (
            {"policy": "network:\n  allowlist: []\n"},
            "planned by aasm-native: network_egress",
            "nothing was measured in this run; not measured: network_egress planned",
        ),
    ],
)
def test_a_terminal_gets_what_is_planned_and_then_what_was_measured(
    options: Dict[str, Any], planned: str, measured: str
) -> None:
    found = resolution(**options)
    assert human.summary(before(found.run)) == f"aasm: boundary {planned}"
    assert human.summary(after(found, file_read="held", call="held")) == f"aasm: {measured}"


@pytest.mark.parametrize("name", LAUNCHED)
@pytest.mark.parametrize("held", [(), tuple(boundary.CANARIES)], ids=["nothing held", "all held"])
def test_only_what_has_evidence_of_this_run_is_called_measured(name: str, held: Tuple[str, ...]) -> None:
    report = ended(LAUNCHED[name](), Ending.EXITED, dict.fromkeys(held, "held"))
    found = re.fullmatch(
        "aasm: (?:nothing was measured in this run|measured in this run: (.+?))(?:; not measured: (.+))?",
        human.summary(report),
    )
    assert (found is None) is (report.backend is None)
    if found is None:
        return
    shown = [dict(item.split() for item in (part or "").split(", ") if item) for part in found.groups()]
    stated = [line for line in report.domains if line.requested is RequestedControl.STATED]
    runtime = {line.domain.value for line in stated if line.basis is EvidenceBasis.RUNTIME_WITHOUT_DECISION}
    assert {**shown[0], **shown[1]} == {line.domain.value: line.claim.value for line in stated}
    assert set(shown[0]) <= runtime and not set(shown[0]) & set(shown[1])
    assert bool(shown[0]) is (bool(held) and bool(runtime))


def test_a_terminal_is_told_that_there_is_no_boundary() -> None:
    text = "aasm: no boundary was established (--isolation none): the program has all of this user's rights"
    found = resolution(isolation="none")
    assert human.summary(before(found.run)) == human.summary(after(found)) == text


def test_a_refused_run_is_told_as_refused_whatever_was_selected() -> None:
    for make in REFUSED.values():
        report = before(make().run)
        assert human.summary(report).startswith("aasm: refused: ")
    selected = before(resolved())._replace(refusal=report.refusal, posture_detail="a\nb")
    assert human.summary(selected) == "aasm: refused: a b"
    assert report.refusal and report.refusal.kind is RefusalKind.REGISTRATION


@pytest.mark.parametrize("name", CASES)
def test_a_summary_is_one_line_and_names_each_domain_once(name: str) -> None:
    found = CASES[name]()
    for report in [before(found.run), *([after(found)] if name in LAUNCHED else [])]:
        line = human.summary(report)
        assert line.isprintable()
        words = re.findall("|".join(domain.value for domain in DOMAINS), line)
        assert report.refusal or len(words) == len(set(words))


def test_a_live_launch_imports_nothing_slow_for_it() -> None:
    code = "import sys; before = set(sys.modules); import aasm.cli.human; print(*sorted(set(sys.modules) - before))"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "aasm.cli.machine" in loaded
    assert NEVER_ON_THE_WAY.union(("json", "shlex", "argparse")) & set(loaded) == set()
