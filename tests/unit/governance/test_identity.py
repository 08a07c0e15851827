# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Identities: random where nothing is given, refused where something malformed or secret is."""

from __future__ import annotations

import uuid
from typing import Optional, Tuple

import pytest

from aasm.errors import UsageError
from aasm.governance.identity import MAX_LINEAGE, new_identity, random_uuid


def test_what_is_given_is_taken_and_the_rest_is_made_up() -> None:
    made = new_identity("builder-7", "infra:ci.1", ("root_1", "planner"), False)
    assert (made.agent_id, made.team_id, made.lineage) == ("builder-7", "infra:ci.1", ("root_1", "planner"))
    for text in (made.session_id, made.trace_id):
        assert str(uuid.UUID(text)) == text and uuid.UUID(text).version == 4
    assert made.session_id != made.trace_id


def test_a_missing_agent_id_is_random() -> None:
    first, second = (new_identity(None, None, (), False) for _ in range(2))
    assert uuid.UUID(first.agent_id).version == 4
    assert len({first.agent_id, second.agent_id, first.session_id, second.session_id, first.trace_id}) == 5
    assert first.team_id is None


def test_random_ids_are_uuids_of_version_4() -> None:
    made = [random_uuid() for _ in range(200)]
    assert len(set(made)) == 200
    assert all(uuid.UUID(text).version == 4 and uuid.UUID(text).variant == uuid.RFC_4122 for text in made)
    assert all(str(uuid.UUID(text)) == text for text in made)


def test_nobody_takes_a_preview_for_a_run() -> None:
    made = new_identity(None, None, (), True)
    for text in (made.agent_id, made.session_id, made.trace_id):
        assert text.startswith("dry-run-") and uuid.UUID(text[8:]).version == 4
    assert new_identity("given", None, (), True).agent_id == "given"


@pytest.mark.parametrize(
    "text", ["", "a b", "a/b", "a\n", "é", "x" * 129, "a\0", "\udcff", "²", "gl" + "pat-" + "a" * 20]
)
@pytest.mark.parametrize("where", ["--agent-id", "--team-id", "lineage"])
def test_a_bad_id_is_one_error(text: str, where: str) -> None:
    given: Tuple[Optional[str], Optional[str], Tuple[str, ...]] = {
        "--agent-id": (text, None, ()),
        "--team-id": (None, text, ()),
        "lineage": (None, None, ("fine", text)),
    }[where]
    with pytest.raises(UsageError) as caught:
        new_identity(*given, False)
    line = str(caught.value)
    assert line.startswith(f"{where}: ") and "\n" not in line and (not text or len(text) < 4 or text not in line)


@pytest.mark.parametrize("text", ["a", "x" * 128, "A-Z.0_9:b", "550e8400-e29b-41d4-a716-446655440000"])
def test_what_may_be_an_id(text: str) -> None:
    assert new_identity(text, text, (text,), False).agent_id == text


def test_lineage_is_bounded() -> None:
    assert new_identity(None, None, ("a",) * MAX_LINEAGE, False).lineage
    with pytest.raises(UsageError, match="lineage"):
        new_identity(None, None, ("a",) * (MAX_LINEAGE + 1), False)
