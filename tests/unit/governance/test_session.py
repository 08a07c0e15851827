# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The session: each step of a launch leaves its line, and a launch that was refused leaves one too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, List, Tuple

import pytest

from aasm.errors import HostError
from aasm.governance import ledger
from aasm.governance.identity import new_identity
from aasm.governance.session import Session, record_refusal

IDENTITY = new_identity("builder-7", None, (), False)
DIGEST = "sha256:" + "0" * 64


def story(state: Path) -> List[Tuple[Any, ...]]:
    records = map(json.loads, (state / ledger.NAME).read_text(encoding="utf-8").splitlines())
    return [(one["event"], one["detail"]["value"], one["exit_code"], one["receipt"]) for one in records]


def test_a_run_that_ended(tmp_path: Path) -> None:
    session = Session.register(str(tmp_path / "state"), IDENTITY, "make")
    assert session.seq == 1
    session.note("the receipt could not be written")
    session.ended(3, "self_exited", DIGEST)
    assert story(tmp_path / "state") == [
        ("registered", "make", None, None),
        ("noted", "the receipt could not be written", None, None),
        ("ended", "self_exited", 3, DIGEST),
    ]


def test_a_run_that_ended_by_a_signal_without_a_receipt(tmp_path: Path) -> None:
    Session.register(str(tmp_path / "state"), IDENTITY, "make").ended(None, "wall_clock_ceiling_exceeded")
    assert story(tmp_path / "state")[1] == ("ended", "wall_clock_ceiling_exceeded", None, None)


def test_launches_that_did_not_happen(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    record_refusal(state, IDENTITY, "the policy is empty")
    Session.register(state, IDENTITY, "make").refused("no Landlock")
    Session.register(state, IDENTITY, "make").not_started("the program was not found")
    assert [event for event, *_ in story(tmp_path / "state")] == [
        "refused", "registered", "refused", "registered", "not_started",
    ]  # fmt: skip
    assert list(ledger.problems(str(tmp_path / "state" / ledger.NAME))) == []


def test_nothing_is_registered_where_nothing_can_be_recorded(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"")
    with pytest.raises(HostError):
        Session.register(str(tmp_path / "state"), IDENTITY, "make")
    with pytest.raises(HostError):
        record_refusal(str(tmp_path / "state"), IDENTITY, "x")


def test_nothing_is_registered_where_no_digest_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first record of a ledger takes none, and the receipt of its run would."""
    monkeypatch.setitem(sys.modules, "hashlib", None)
    with pytest.raises(ImportError):
        Session.register(str(tmp_path / "state"), IDENTITY, "make")
    assert not (tmp_path / "state").exists()
