# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""docs/receipt-format.md says what the code does: its example verifies, and no field, token or rule is missing."""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import Any, Dict, Set

import pytest
import receipt_samples as samples

from aasm.governance import ledger
from aasm.model.domains import CapabilityDomain, PlatformBoundary
from aasm.model.evidence import ClaimTerm, EvidenceBasis, EvidenceKind
from aasm.model.plan import CandidateVerdict, SelectionMode
from aasm.model.report import ControlState, RequestedControl, UnmeasuredReason
from aasm.receipt import build, facts, shape, verify
from aasm.receipt.rules import RULES

TEXT = (samples.ROOT / "docs" / "receipt-format.md").read_text(encoding="utf-8")
WORDS = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`([^`\n]+)`", TEXT))))
VOCABULARIES = (
    CapabilityDomain, PlatformBoundary, ClaimTerm, EvidenceBasis, EvidenceKind, ControlState, RequestedControl,
    UnmeasuredReason, CandidateVerdict, SelectionMode, facts.TextKind, facts.FactBasis, facts.DegradedKind,
    facts.CanaryResult, facts.Termination, ledger.Event,
)  # fmt: skip


def example() -> bytes:
    (block,) = re.findall(r"^```json\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    return str(block).encode()


def names(fields: Dict[str, Any]) -> Set[str]:
    inner = [names(value) for value in fields.values() if isinstance(value, dict)]
    return set(fields).union(*inner)


def test_the_example_verifies() -> None:
    verdict = verify.verify_bytes(example(), "the example")
    assert verdict.trustworthy and verdict.notes == ()


def test_the_example_is_what_this_release_writes() -> None:
    assert json.loads(example()) == build.make(samples.FACTS, samples.SEALED_AT).envelope


def test_every_field_is_in_the_document() -> None:
    tables = [value for name, value in vars(shape).items() if name.isupper() and isinstance(value, dict)]
    fields = names({str(number): table for number, table in enumerate(tables)}) - set(map(str, range(len(tables))))
    fields -= {kind for kind in fields if not isinstance(kind, str)}
    assert {"run_id", "argv_digest", "ceiling_secs", "sealed_by", "inheritance_mode"} <= fields
    assert fields - WORDS == set()


def test_every_field_of_the_spec_digest_is_in_the_document() -> None:
    fields = set(build._requirement(samples.REQUIREMENTS[0])) | {"identity", "credentials", "requirements"}
    assert fields - WORDS == set()


@pytest.mark.parametrize("vocabulary", VOCABULARIES, ids=lambda vocabulary: str(vocabulary.__name__))
def test_every_token_is_in_the_document(vocabulary: Any) -> None:
    assert issubclass(vocabulary, Enum)
    assert {member.value for member in vocabulary} - WORDS == set()


def test_every_other_word_is_in_the_document() -> None:
    words = {*facts.RESOLUTIONS, *facts.INHERITANCE_MODES, *ledger.FIELDS}
    assert words - WORDS == set()
    for text in (facts.SCHEMA, facts.SEAL_KIND, facts.CANONICAL_FORM, verify.VERDICT_SCHEMA):
        assert f"`{text}`" in TEXT


def test_the_rules_are_those_of_the_code() -> None:
    table = TEXT.partition("\n## Rules\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| (.+) \|$", table, re.MULTILINE)
    assert rows[1:] == [(rule.id, rule.text) for rule in RULES]
    assert rows[0] == ("rule", "text")
