# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Documents beside what they hold (valid/NAME.expect.json) or where and how they are refused (invalid/NAME.err)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, List

import pytest

from aasm.backends.native import floor
from aasm.errors import PolicyError
from aasm.policy.document import validate
from aasm.policy.load import PolicyState, judge
from aasm.policy.node import to_data
from aasm.policy.reader import read_document, read_file
from aasm.policy.schema import KEYS, LEASE_KEYS, TOOL_KEYS

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "policy"


def documents(kind: str) -> List[Path]:
    found = sorted(path for path in (GOLDEN / kind).iterdir() if path.suffix in (".yaml", ".json"))
    return [path for path in found if not path.name.endswith(".expect.json")]


def typed(value: Any) -> Any:
    """Spell the type out, since 1 == True == 1.0."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (type(value).__name__, value)


def test_there_are_documents_of_both_kinds_and_formats() -> None:
    for kind in ("valid", "invalid"):
        assert {path.suffix for path in documents(kind)} == {".yaml", ".json"}


@pytest.mark.parametrize("path", documents("valid"), ids=lambda path: str(path.name))
def test_valid_documents_hold_what_is_expected(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expect.json").read_text(encoding="utf-8"))
    document = read_file(str(path))
    assert document.format == path.suffix[1:]
    assert typed(to_data(document.root)) == typed(expected)


@pytest.mark.parametrize("path", documents("valid"), ids=lambda path: str(path.name))
def test_line_ends_do_not_matter(path: Path) -> None:
    data = path.read_bytes()
    with_cr = read_document(data.replace(b"\n", b"\r\n"), path.name)
    assert with_cr == read_document(data, path.name)


@pytest.mark.parametrize("name", ["envelope.yaml", "every-section.yaml", "flat.yaml", "strict.json"])
def test_those_that_are_policies_state_rules(name: str) -> None:
    assert judge(validate(read_file(str(GOLDEN / "valid" / name)), floor.REFUSED_CALLS)).state is PolicyState.ENFORCED


def test_one_document_states_every_key_there_is() -> None:
    policy = validate(read_file(str(GOLDEN / "valid" / "every-section.yaml")), floor.REFUSED_CALLS)
    (lease,) = policy.leases or ()
    assert set(policy.values) == {"scope", *KEYS}
    assert (set((policy.tools or {})["shell"]), set(lease)) == (set(TOOL_KEYS), set(LEASE_KEYS))


@pytest.mark.parametrize("path", documents("invalid"), ids=lambda path: str(path.name))
def test_invalid_documents_are_refused_at_their_place(path: Path) -> None:
    expected = path.with_name(path.name + ".err").read_text(encoding="utf-8").splitlines()[-1]
    with pytest.raises(PolicyError) as caught:
        validate(read_document(path.read_bytes(), path.name), floor.REFUSED_CALLS)
    error = caught.value
    assert f"{error.where}: {error.what}".startswith(f"{path.name}:{expected}")
    assert error.remedy
    assert "\n" not in str(error)
