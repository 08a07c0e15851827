# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""docs/isolation.md explains every word of a report and no other: its tables are those of the vocabulary."""

from __future__ import annotations

import re
from enum import Enum
from types import SimpleNamespace
from typing import Any, Dict, Iterator, List, Set, Type

import pytest
from project import ROOT, python_files
from support.host import facts_for_abi
from support.reports import CASES, LAUNCHED
from support.runs import IDENTITY, after, before

from aasm import backends, bind, evidence
from aasm.backends.native import capability
from aasm.cli import human, machine, masking, preview
from aasm.cli.options import CEILINGS, ISOLATION, REPORTS
from aasm.errors import WALL_CLOCK
from aasm.model import descriptors, domains, plan, report, requirements, sections
from aasm.model.evidence import BASIS_OF_KIND, ClaimTerm, EvidenceBasis, EvidenceKind, asserts_coverage
from aasm.model.record import Ending
from aasm.model.requirements import Requirement, RequirementPosture, ResourceLimits, option
from aasm.planner import negotiate
from aasm.policy import load, lowering
from aasm.policy.document import Policy

TEXT = (ROOT / "docs" / "isolation.md").read_text(encoding="utf-8")
FLOWING = re.sub(r"\s+", " ", TEXT)
MEANING = ["it means", "it does not mean"]

# The first column of each table of words, and the words.
VOCABULARIES: Dict[str, Type[Enum]] = {
    "selection": plan.SelectionMode,
    "verdict": plan.CandidateVerdict,
    "intent of a requirement": requirements.RequirementIntent,
    "posture of a requirement": requirements.RequirementPosture,
    "descendants": requirements.DescendantRequirement,
    "requested": report.RequestedControl,
    "granularity": report.ScopeGranularity,
    "state": report.ControlState,
    "timing": domains.DecisionTiming,
    "coverage of descendants": domains.DescendantCoverage,
    "reason of an unmeasured domain": report.UnmeasuredReason,
    "claim": ClaimTerm,
    "evidence": EvidenceBasis,
    "record": EvidenceKind,
    "stage": report.ReportStage,
    "posture": report.ReportedPosture,
    "outcome": plan.OutcomeKind,
    "refused by": plan.RefusalKind,
    "reason of a refusal": plan.RefusalReason,
    "disposition": descriptors.DescriptorDisposition,
}


def tables() -> Dict[str, List[List[str]]]:
    """Return the tables of the page by the title of their first column: all rows, the titles first."""
    found: Dict[str, List[List[str]]] = {}
    for text in re.findall(r"^\|.*\n\|[-|]+\n(?:\|.*\n)+", TEXT, re.MULTILINE):
        rows = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in text.splitlines()]
        assert rows[0][0] not in found, "two tables of one title"
        found[rows[0][0]] = [rows[0], *rows[2:]]
    return found


def words(title: str) -> List[str]:
    """Return the tokens in the first column of a table."""
    return [re.sub(r"^`(.+)`$", r"\1", row[0]) for row in tables()[title][1:]]


@pytest.mark.parametrize("title", VOCABULARIES)
def test_a_table_has_every_word_of_its_vocabulary_in_order_with_what_it_does_not_mean(title: str) -> None:
    rows = tables()[title]
    assert words(title) == [member.value for member in VOCABULARIES[title]]
    assert rows[0][-2:] == MEANING and {len(row) for row in rows} == {len(rows[0])}
    assert all(cell for row in rows for cell in row)


def test_every_table_of_meanings_is_compared() -> None:
    assert {title for title, rows in tables().items() if rows[0][-2:] == MEANING} == set(VOCABULARIES)


def test_the_first_six_claims_assert_coverage_and_the_others_do_not() -> None:
    assert "The first six assert that something was covered at run time. The last five do not." in FLOWING
    assert [asserts_coverage(ClaimTerm(word)) for word in words("claim")] == [True] * 6 + [False] * 5


def test_states_are_listed_weakest_first() -> None:
    assert words("state") == [state.value for state in report.CONTROL_STATES]


def test_records_have_the_basis_of_the_code() -> None:
    shown = {row[0]: row[1] for row in tables()["record"][1:]}
    assert shown == {f"`{kind.value}`": f"`{basis.value}`" for kind, basis in BASIS_OF_KIND.items()}


# --- what the page says of this release -----------------------------------------------------------


def sentence(start: str) -> Set[str]:
    """Return the tokens of the sentence that starts so."""
    found = re.search(re.escape(start) + r"[^.]*\.", FLOWING)
    assert found, start
    return set(re.findall(r"`([^`]+)`", found.group()))


ALL_HELD = dict.fromkeys(evidence._CANARIES, "held")


def all_reports() -> List[report.IsolationReport]:
    """Return reports of all that can be asked for, before and after; what no policy can ask for is left out."""
    given = [make() for make in CASES.values()]
    asked = [item for item in given if not any(permits_less(one) for one in item.run.spec.requirements)]
    assert 0 < len(given) - len(asked) < 3
    launched = [item for item in (make() for make in LAUNCHED.values()) if item.run in [one.run for one in asked]]
    ends = [after(item, ending, **ALL_HELD) for item in launched for ending in (Ending.EXITED, Ending.WALL_CLOCK)]
    return [*(before(item.run) for item in asked), *(after(item) for item in launched), *ends]


def permits_less(item: Requirement) -> bool:
    return item.posture is RequirementPosture.DEGRADE_IF_UNAVAILABLE


def test_the_claims_that_this_release_gives_are_those_that_are_listed() -> None:
    given = {line.claim.value for made in all_reports() for line in made.domains}
    assert given == sentence("This release gives")
    assert not any(line.prevention_supported for made in all_reports() for line in made.domains)


def test_what_no_report_of_this_release_has_is_said_at_its_word() -> None:
    lines = [line for made in all_reports() for line in made.domains]
    never = {"state": "degraded", "reason of an unmeasured domain": "inconclusive", "evidence": "decision"}
    given = {
        "state": {line.state.value for line in lines},
        "reason of an unmeasured domain": {line.unmeasured_reason.value for line in lines if line.unmeasured_reason},
        "evidence": {line.basis.value for line in lines},
    }
    for title, found in given.items():
        assert set(words(title)) - found == {never[title]}
        row = next(row for row in tables()[title] if row[0] == f"`{never[title]}`")
        assert "of this release" in " ".join(row)


def test_a_canary_is_evidence_of_what_the_table_says() -> None:
    assert words("canary") == list(evidence._CANARIES)
    for name, _, shown in tables()["canary"][1:]:
        row = evidence._CANARIES[name.strip("`")]
        if row.ceiling:
            assert option(row.ceiling) in next(each[1] for each in tables()["canary"] if each[0] == name)
            assert (row.domain, shown) == (domains.CapabilityDomain.RESOURCE, "that ceiling")
        else:
            assert shown == f"`{row.domain.value}`" if row.domain else shown.startswith("no domain: ")


def test_descriptors_are_closed_or_delegated_and_the_other_words_say_that_no_report_has_them() -> None:
    given = {bind._descriptor(number).disposition.value for number in range(9)}
    never = {row[0] for row in tables()["disposition"][1:] if "No report of this release has it" in row[1]}
    assert never == {f"`{word}`" for word in set(words("disposition")) - given} and len(given) == 2


def test_nothing_that_a_user_writes_permits_to_degrade() -> None:
    assert "No policy and no option of this release can give `degrade_if_unavailable`." in FLOWING
    naming = [path for path in python_files("aasm") if "DEGRADE_IF" in path.read_text(encoding="utf-8")]
    named = {path.relative_to(ROOT / "aasm").parts[0] for path in naming}
    assert named == {"model", "planner.py", "receipt"}  # the vocabulary, what judges it, what counts it


def test_optional_are_the_ceilings_that_are_listed() -> None:
    optional = {name for name, (_, posture) in lowering.CEILINGS.items() if posture is RequirementPosture.OPTIONAL}
    assert sentence("`optional` are") - {"optional"} == set(map(option, optional))


def test_intents_and_candidates_are_those_of_the_code() -> None:
    assert set(words("intent")) == set(ISOLATION)
    asked = " and ".join([", ".join(f"`{name}`" for name in backends.IDS[:-1]), f"`{backends.IDS[-1]}`"])
    assert f"`auto` asks {asked}, in this order." in FLOWING
    assert f"the boundary of the backend `{backends.DEFAULT}`" in FLOWING
    assert words("`--report`") == list(REPORTS)


# --- ceilings -----------------------------------------------------------------------------------------


def verdict(name: str) -> str:
    """Return what becomes of one ceiling on a kernel that holds all that this release can hold."""
    (asked,) = lowering.lower(Policy("a test"), ResourceLimits(**{name: 9})).requirements
    found = capability.narrow(capability.capabilities_of(facts_for_abi(capability.FLOOR_ABI)), (asked,))
    made = negotiate(found, (asked,))
    return "refused" if isinstance(made, plan.Refusal) else made.outcomes[0].kind.value


def keeper(name: str) -> str:
    if name == capability.BY_SUPERVISOR:
        return "the supervisor"
    return "nothing" if name in capability.NOT_HELD else capability.HELD_BY_LIMIT[name].limit


@pytest.mark.parametrize("name", CEILINGS)
def test_a_ceiling_is_asked_for_held_and_judged_as_the_table_says(name: str) -> None:
    assert words("option") == [option(each) for each in CEILINGS]
    (row,) = [row for row in tables()["option"] if row[0] == f"`{option(name)}`"]
    intent, posture = lowering.CEILINGS[name]
    counted = "each process" if name in capability.HELD_BY_LIMIT else "the tree"
    assert row[1:5] == [f"`{intent.value}`, `{posture.value}`", keeper(name), counted, verdict(name)]
    assert (f"exit code {WALL_CLOCK}" in row[5]) is (name == capability.BY_SUPERVISOR)


def test_without_a_boundary_nothing_keeps_a_ceiling() -> None:
    found = CASES["no boundary, with ceilings"]()
    assert not before(found.run).requirements and "in the launch command nothing keeps them" in FLOWING
    kept = [item["kept_by"] for item in preview.facts(found)["launch_command"]["ceilings"]]
    assert len(kept) == 2 and all(text.startswith("nothing ") for text in kept)


# --- the block ----------------------------------------------------------------------------------------


def form(key: str) -> str:
    """Return a key with letters for its domain and its numbers."""
    key = re.sub(rf"^domain\.({'|'.join(domain.value for domain in domains.DOMAINS)})\.", "domain.D.", key)
    return re.sub(r"\.\d+(?=\.|$)", ".M", re.sub(r"\.\d+(?=\.|$)", ".N", key, count=1))


def test_the_keys_are_those_that_reports_have() -> None:
    listed = [key for row in tables()["keys"][1:] for key in re.findall(r"`([^`]+)`", row[0])]
    made = [*map(before, (make().run for make in CASES.values())), *(after(make()) for make in LAUNCHED.values())]
    given = {form(key) for found in made for key, _ in machine.records(found)}
    assert all(re.fullmatch(r"[a-zDNM0-9_.]+", key) for key in given)  # as the page says, but for the letters of `form`
    assert len(listed) == len(set(listed))
    assert set(listed) == given


def test_the_two_vocabularies_of_a_reason_share_no_word() -> None:
    assert not set(words("refused by")) & set(words("reason of a refusal"))
    assert "the reason is then a word of the table `refused by`, and else one of the table of reasons" in FLOWING


def test_the_lines_for_a_terminal_begin_as_the_page_says() -> None:
    (text,) = re.findall(r"The line before is .*?have held or not\.", FLOWING)
    first, *more = re.findall(r"`([^`]+)`", text)
    lines = [human.summary(made) for made in all_reports() if made.backend is not None and made.refusal is None]
    first = first.replace("BACKEND", backends.DEFAULT)
    assert len(more) == 4
    for part in (first, *more):
        assert any(part in line for line in lines), part
    assert any(line.startswith(first) for line in lines) and any(line.startswith(more[2]) for line in lines)


# --- the dry run --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_the_sections_are_those_of_a_preview(name: str) -> None:
    shown = [line for line in preview.render(CASES[name]()).splitlines() if line.startswith("--- ")]
    assert words("section") == shown


def test_the_states_of_the_smaller_sections_are_those_of_the_code() -> None:
    named = {row[0][5:-5]: set(re.findall(r"`([^`]+)`", row[1])) for row in tables()["section"][1:]}
    assert named["preview fidelity"] == set(preview.FIDELITY.values())
    assert named["protection"] == {state.value for state in sections.ProtectionState}
    assert named["policy"] == {state.value for state in load.PolicyState}
    assert masking.MASK in named["environment"] and preview.NO_DID in named["aasm run dry-run"]
    assert named["environment"] - {masking.MASK, f"<{masking.REMOVED}>"} == origins()


def origins() -> Set[str]:
    """Return every origin that a variable of a confined program can have."""
    request: Any = SimpleNamespace(adapter_env={b"A": b"1"}, env={b"B": b"2"}, real_home=True)
    around: Any = SimpleNamespace(environ={b"PATH": b"/bin", b"C": b"3"}, home="/h")
    stated: Any = SimpleNamespace(variables=("C",))
    made = bind._environment(request, around, stated, "/tmp/x", (), True)
    return {entry.origin for entry in made.entries}


# --- the dry run as JSON ------------------------------------------------------------------------------


def names_in(value: Any) -> Iterator[str]:
    """Yield the name of every member of an object, and of the objects in it."""
    for item in value if isinstance(value, list) else [value] if isinstance(value, dict) else ():
        if isinstance(item, dict):
            yield from item
            for name, inner in item.items():
                yield from () if name == "limits" else names_in(inner)  # their names are those of the ceilings


def test_the_members_of_the_json_are_those_of_the_table() -> None:
    cases = [make() for make in CASES.values()]
    made = list(map(preview.facts, cases))
    assert all(words("member") == list(found) for found in made)
    for name, holds in ((row[0].strip("`"), row[1]) for row in tables()["member"][1:]):
        if name != "isolation":
            assert set(re.findall(r"`([^`]+)`", holds)) == {key for found in made for key in names_in(found[name])}
    assert [found["isolation"] for found in made] == [dict(machine.records(before(case.run))) for case in cases]


def test_what_there_is_of_a_run_that_could_not_be_resolved_is_what_the_page_says() -> None:
    found = preview._unresolved(IDENTITY, "gone")
    assert sentence("Of a run that could not be resolved there are") == set(found)
    assert set(found["isolation"]) == sentence("nothing can be resolved; such a preview has")


def test_the_header_and_the_schemas_are_those_of_the_code() -> None:
    assert f"`{machine.HEADER}`" in TEXT
    assert f"`{preview.SCHEMA}`" in TEXT
