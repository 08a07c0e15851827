# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The claim rules: each one alone catches an overclaim whose seal is perfect, and no value makes any of them raise."""

from __future__ import annotations

import copy
import random
import re
from typing import Any, Callable, Dict, List, Tuple

import pytest
import receipt_samples as samples

from aasm.model.domains import CapabilityDomain
from aasm.receipt import build, verify
from aasm.receipt.canonical import canonical
from aasm.receipt.facts import NOT_TRANSACTIONAL
from aasm.receipt.rules import RULES, judge
from aasm.receipt.shape import LIMIT

Json = Dict[str, Any]
READ, WRITE, SYSCALL = samples.READ, samples.WRITE, samples.SYSCALL
NETWORK = CapabilityDomain.NETWORK_EGRESS
WITHHELD = {"kind": "withheld", "value": None}
PREVENTION = "denied_before_execution"
DIGEST = "sha256:" + "0" * 64


def set_line(domain: CapabilityDomain, **changes: Any) -> Callable[[Json], object]:
    return lambda body: samples.domain_of(body, domain).update(changes)


def both(*changes: Callable[[Json], object]) -> Callable[[Json], object]:
    def change(body: Json) -> None:
        for each in changes:
            each(body)

    return change


def add_ref(kind: str, domain: str, claim: str) -> Callable[[Json], object]:
    item = {"kind": kind, "domain": domain, "claim": claim, "detail_digest": DIGEST}
    return lambda body: body["evidence_refs"].append(item)


def add_condition(domain: object, kind: str) -> Callable[[Json], object]:
    item = {"domain": domain, "kind": kind, "detail": {"kind": "value", "value": "x"}}
    return lambda body: body["degraded"].append(item)


def drop_line(domain: CapabilityDomain) -> Callable[[Json], object]:
    return lambda body: body["domains"].remove(samples.domain_of(body, domain))


def set_at(path: str, value: Any) -> Callable[[Json], object]:
    def change(body: Json) -> None:
        *folders, name = path.split(".")
        for folder in folders:
            body = body[int(folder)] if isinstance(body, list) else body[folder]
        body[name] = value

    return change


def claim_all(body: Json) -> None:
    """Let every domain claim to have been observed, with all that a single domain needs for it."""
    for line in body["domains"]:
        line.update(state="prevention", claim="observed", evidence_basis="runtime_without_decision")
        line["prevention_supported"] = False
        add_ref("exercised", line["domain"], "observed")(body)


def claim_nothing(body: Json) -> None:
    for line in body["domains"]:
        line["claim"] = "unmeasured"


# (rule, what is overclaimed): exactly that rule objects, and nothing else does.
OVERCLAIMS: List[Tuple[str, str, Callable[[Json], object]]] = [
    ("R0", "a domain is left out", drop_line(SYSCALL)),
    ("R0", "a domain is there twice", lambda body: body["domains"].append(samples.domain_of(body, SYSCALL))),
    ("R1", "a claim on nothing", set_line(SYSCALL, state="observe_only", claim="observed")),
    (
        "R1",
        "a claim on setup only",
        both(
            set_line(SYSCALL, state="observe_only", claim="evaluated", evidence_basis="setup_only"),
            add_ref("installed", "syscall", "planned"),
        ),
    ),
    (
        "R1",
        "a basis that no record gives",
        set_line(SYSCALL, state="observe_only", claim="observed", evidence_basis="runtime_without_decision"),
    ),
    ("R1", "a record of another domain", set_line(READ, evidence_basis="decision")),
    (
        "R1",
        "the record is taken away",
        lambda body: body["evidence_refs"].remove(
            next(item for item in body["evidence_refs"] if item["kind"] == "exercised")
        ),
    ),
    ("R2", "prevention on what was merely exercised", set_line(READ, claim=PREVENTION)),
    ("R2", "prevention against its own flag", set_line(WRITE, prevention_supported=False)),
    (
        "R2b",
        "support without a refusal",
        both(
            add_ref("decision", "filesystem_read", "evaluated"),
            set_line(READ, evidence_basis="decision", prevention_supported=True),
        ),
    ),
    ("R2b", "support on what was merely exercised", set_line(READ, prevention_supported=True)),
    ("R3", "prevention in a degraded state", set_line(WRITE, state="degraded")),
    ("R3", "prevention where the control only watches", set_line(WRITE, state="observe_only")),
    ("R3", "prevention beside a shortfall", add_condition("filesystem_write", "control_shortfall")),
    ("R3", "prevention beside missing support", add_condition("filesystem_write", "control_unsupported")),
    ("R3", "prevention beside missing measurement", add_condition("filesystem_write", "not_measured")),
    ("R3", "prevention beside withheld text", add_condition("filesystem_write", "field_withheld")),
    (
        "R4",
        "coverage without a backend",
        both(claim_all, set_at("backend", None), set_at("boundary.sealed", False)),
    ),
    (
        "R5",
        "coverage of what is unmeasured",
        both(
            add_ref("exercised", "syscall", "observed"),
            set_line(SYSCALL, claim="observed", evidence_basis="runtime_without_decision"),
        ),
    ),
    (
        "R5",
        "coverage of what is unsupported",
        both(
            add_ref("exercised", "syscall", "observed"),
            set_line(SYSCALL, state="unsupported", claim="detected", evidence_basis="runtime_without_decision"),
        ),
    ),
    (
        "R6",
        "withheld text that is not listed",
        both(set_at("policy.source", WITHHELD), add_condition(None, "field_withheld")),
    ),
    ("R6", "a list of what is not withheld", set_at("withheld_fields", ["policy.source"])),
    (
        "R6",
        "withheld text without its condition",
        both(set_at("policy.source", WITHHELD), set_at("withheld_fields", ["policy.source"])),
    ),
    ("R6", "withheld text in an unknown field", lambda body: body.update(later=[WITHHELD])),
    ("R7", "an end before the start", set_at("execution.ended_at_unix_secs", 5)),
    ("R8", "a workspace that is transactional in all", set_at("workspace", {"not_transactional": []})),
    (
        "R8",
        "a workspace that leaves one limit out",
        set_at("workspace", {"not_transactional": list(NOT_TRANSACTIONAL[1:])}),
    ),
    ("B1", "a seal on a breached boundary", set_at("boundary.canaries.0.result", "breached")),
    ("B1", "a seal without a backend", both(claim_nothing, set_at("backend", None))),
    ("B2", "the writer knew", set_at("construction_defects", ["R3"])),
]


@pytest.mark.parametrize(
    ("rule", "change"), [(rule, change) for rule, _, change in OVERCLAIMS], ids=[f"{r} {w}" for r, w, _ in OVERCLAIMS]
)
def test_an_overclaim_that_is_sealed_again_fails_by_its_rule(rule: str, change: Callable[[Json], object]) -> None:
    verdict = verify.verify_bytes(canonical(samples.bent(change)), "x")
    assert verdict.seal == verify.HOLDS
    assert {defect.rule for defect in verdict.defects} == {rule}
    assert not verdict.trustworthy


def test_every_rule_has_an_overclaim() -> None:
    tested = {rule for rule, _, _ in OVERCLAIMS} | {"UnknownSchema"}
    assert tested == {rule.id for rule in RULES}
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_the_sample_keeps_every_rule() -> None:
    assert judge(samples.envelope()) == ((), ())


def test_a_workspace_that_states_all_its_limits_is_fine() -> None:
    change = set_at("workspace", {"not_transactional": list(NOT_TRANSACTIONAL), "committed": False})
    defects, notes = judge(samples.bent(change))
    assert defects == ()
    assert len(notes) == 1 and "committed" in notes[0]


def test_another_schema_is_a_defect_and_leaves_the_seal_alone() -> None:
    made = samples.envelope()
    made["schema"] = "aasm.execution.receipt/2"
    verdict = verify.verify_bytes(canonical(made), "x")
    assert verdict.seal == verify.HOLDS
    assert [defect.rule for defect in verdict.defects] == ["UnknownSchema"]


def places(value: Any, path: Tuple[Any, ...] = ()) -> Any:
    """Yield the path of everything in `value`, itself included."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def at(value: Any, path: Tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def replaced(path: Tuple[Any, ...], new: Any) -> Json:
    made = samples.envelope()
    if path:
        at(made, path[:-1])[path[-1]] = new
        return made
    return new  # type: ignore[no-any-return]


ALL_PLACES = list(places(samples.envelope()))
HOSTILE: List[Any] = [
    None, True, 0, -1, 2**53 - 1, "", "x", "withheld", "\udcff", [], {}, [[]], [None], [{}], {"kind": []},
    {"kind": "withheld"}, {"kind": "value"}, {"kind": {}, "value": []}, ["x"] * 3, {"domain": {}, "claim": []},
]  # fmt: skip


@pytest.mark.parametrize("new", HOSTILE, ids=range(len(HOSTILE)))
def test_no_rule_raises_whatever_stands_where(new: Any) -> None:
    for path in ALL_PLACES:
        defects, notes = judge(replaced(path, copy.deepcopy(new)))
        for text in (*notes, *(defect.text for defect in defects)):
            assert isinstance(text, str) and len(text) < 400


def test_no_rule_raises_on_many_changes_at_once() -> None:
    draw = random.Random(3)
    for _ in range(300):
        made = samples.envelope()
        for path in draw.sample(ALL_PLACES[1:], 8):
            try:
                holder = at(made, path[:-1])
                if isinstance(holder, dict if isinstance(path[-1], str) else list):
                    holder[path[-1]] = copy.deepcopy(draw.choice(HOSTILE))
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change took that place away
        judge(made)


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_no_receipt_at_all_is_a_defect(value: Any) -> None:
    defects, _ = judge(value)
    assert defects


def test_a_missing_field_is_a_defect_wherever_it_is() -> None:
    for path in ALL_PLACES[1:]:
        made = samples.envelope()
        holder = at(made, path[:-1])
        if isinstance(holder, dict):
            del holder[path[-1]]
            defects, _ = judge(made)
            assert (defects == ()) is (path in LATER), path


# What older receipts of this schema lack.
LATER = [("body", "producer", "code_digest")]


@pytest.mark.parametrize(
    ("value", "good"),
    [
        (DIGEST, True), (None, True), ("", False), (DIGEST[:-1], False), (DIGEST + "0", False), (DIGEST.upper(), False),
        (DIGEST[7:], False), ("sha512:" + DIGEST[7:], False), ("unknown", False), (7, False), ([DIGEST], False),
        ({"kind": "value", "value": DIGEST}, False), (True, False),
    ],
)  # fmt: skip
def test_a_code_digest_is_a_digest_or_unknown(value: object, good: bool) -> None:
    defects, notes = judge(samples.bent(set_at("producer.code_digest", value)))
    assert ([defect.rule for defect in defects], notes) == ([] if good else ["Shape"], ())


def test_a_receipt_from_before_the_code_digest_verifies() -> None:
    defects, notes = judge(samples.bent(lambda body: body["producer"].pop("code_digest")))
    assert (defects, notes) == ((), ())


# Where a text may be anything of its kind: names and the values of tagged texts.
FREE = re.compile(
    r"body\.(run_id|trace_id|producer\.(component|release|source_revision)|backend\.(id|considered\.\d+\.id))"
    r"|body\.host\.\d+\.name|body\.boundary\.canaries\.\d+\.name|seal\.sealed_by|.*\.value"
)


def test_an_unknown_token_is_a_defect_wherever_tokens_stand() -> None:
    open_places = set()
    for path, value in samples.leaves(samples.envelope()):
        name = ".".join(map(str, path))
        if isinstance(value, str):
            defects, _ = judge(replaced(path, "bogus_token"))
            if FREE.fullmatch(name):
                assert not defects, name
                open_places.add(name)
            else:
                assert defects, name
    assert len(open_places) > 20


def test_a_number_that_cannot_be_is_a_defect() -> None:
    for path in ("spec.arg_count", "boundary.survivors_killed", "asserted_identity.depth", "spec.required_count"):
        for value in (-1, True, None, "1"):
            defects, _ = judge(samples.bent(set_at(path, value)))
            assert [defect.rule for defect in defects] == ["Shape"], (path, value)


@pytest.mark.parametrize("text", [{"kind": "withheld", "value": "half"}, {"kind": "value", "value": None}])
def test_a_tagged_text_is_whole_or_nothing(text: Json) -> None:
    defects, _ = judge(samples.bent(set_at("policy.source", text)))
    assert "Shape" in {defect.rule for defect in defects}


def test_what_no_release_fills_yet_must_be_null() -> None:
    for name in ("runtime_image", "host_capability"):
        defects, _ = judge(samples.bent(set_at(name, {"digest": DIGEST})))
        assert [defect.rule for defect in defects] == ["Shape"]


def test_unknown_fields_are_kept_and_noted() -> None:
    made = samples.bent(
        both(lambda body: body.update(later_field=[1, {"x": None}]), lambda body: body["spec"].update(extra="y"))
    )
    made["outer"] = 1
    defects, notes = judge(made)
    assert defects == ()
    assert len(notes) == 3
    for name in ("later_field", "extra", "outer"):
        assert any(f"`{name}`" in note for note in notes)


def test_findings_are_bounded() -> None:
    made = samples.bent(lambda body: body.update(domains=[None] * 5000))
    made["body"].update({f"extra_{number}": 1 for number in range(5000)})
    defects, notes = judge(made)
    assert len(defects) == LIMIT + 1 and len(notes) == LIMIT + 1
    assert "not listed" in defects[-1].text and "not listed" in notes[-1]


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(domains=body["domains"] * 3000, evidence_refs=body["evidence_refs"] * 5000),
        lambda body: body.update(degraded=[None] + body["degraded"] * 30000),
        lambda body: body.update({"k" * 1_000_000: [WITHHELD] * 100_000}),
        lambda body: body.update(withheld_fields=[f"x{number}" for number in range(200_000)]),
    ],
)
def test_judging_takes_linear_time(change: Callable[[Json], object]) -> None:
    """Each of these takes hours when any rule is quadratic, and well under the suite's time limit when none is."""
    made = samples.envelope()
    change(made["body"])
    defects, _ = judge(made)
    assert defects


def test_a_seal_of_ours_is_what_the_builder_makes() -> None:
    assert samples.bent(lambda body: None)["seal"] == build.make(samples.FACTS, samples.SEALED_AT).envelope["seal"]
