# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Every example says what is to be expected of it, and exactly that happens.

An example states, one a line: `exit CODE    PROGRAM` for a launch that ends so, `refused    PROGRAM` for one that does
not happen; then what lies in the working directory afterwards (`leaves`) and which domains its receipts show as held
(`holds`; absent where every launch is refused).
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.launch import ROOT, Lab

EXAMPLES = sorted((ROOT / "examples").iterdir())
LINE = re.compile(r"^#? {2,3}(exit \d+|refused|leaves|holds) {2,}(\S.*)$", re.MULTILINE)
REFUSED = 125


class Expected(NamedTuple):
    """What an example says of itself."""

    launches: list[tuple[int, list[str]]]
    leaves: list[str]
    holds: list[str]


def expectation(path: Path) -> Expected:
    """Return what the example states; an example that states no outcome fails here."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        text = json.loads(text)["metadata"]["description"]
    found = LINE.findall(text)
    by_word = {word: rest.split() for word, rest in found if word in ("leaves", "holds")}
    launches = [
        (REFUSED if word == "refused" else int(word.split()[1]), shlex.split(rest))
        for word, rest in found
        if word not in by_word
    ]
    assert launches, f"{path.name} lists no expected outcome"
    held = any(code != REFUSED for code, _ in launches)
    assert len(by_word) == (2 if held else 1), f"{path.name}: what does it leave, and what does it hold?"
    return Expected(launches, by_word["leaves"], by_word.get("holds", []))


def test_there_are_examples_in_both_formats() -> None:
    assert {path.suffix for path in EXAMPLES} == {".yaml", ".json"} and len(EXAMPLES) >= 5


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_does_what_it_says(example: Path, lab: Lab) -> None:
    expected = expectation(example)
    lab.file(lab.workspace / "notes", "notes\n")
    lab.directory("ws/build")
    secret = lab.file(lab.outside / "secret", "kept\n")
    for code, program in expected.launches:
        done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(example), "--", *program)
        assert done.returncode == code, (program, done.stderr)
        check_record(lab, example, code, expected.holds)
    left = sorted(str(path.relative_to(lab.workspace)) for path in lab.workspace.rglob("*") if path.is_file())
    assert left == expected.leaves
    assert secret.read_text() == "kept\n" and (lab.workspace / "notes").read_text() == "notes\n"
    assert lab.leftovers() == []
    assert len(lab.receipts()) == sum(code != REFUSED for code, _ in expected.launches)
    for code, program in expected.launches:  # the control, last since it changes the files: what failed can be done
        if code != 0:
            assert lab.bare(*program).returncode == 0, program


def check_record(lab: Lab, example: Path, code: int, holds: list[str]) -> None:
    """Compare what the launch left behind: a refusal is in the ledger alone, a run has a receipt that says the same."""
    last = lab.ledger()[-1]
    if code == REFUSED:
        assert (last["event"], last["receipt"]) == ("refused", None)
        return
    body = lab.receipt()
    assert (last["event"], last["exit_code"], last["run_id"]) == ("ended", code, body["run_id"])
    assert body["execution"]["exit_code"] == code
    assert body["policy"]["source"]["value"] == str(example)
    assert held(body) == holds
    assert body["boundary"]["sealed"] is True and body["degraded"] == []


def held(body: dict[str, Any]) -> list[str]:
    """Return the domains that a receipt shows as held, which must be those that the policy stated."""
    found = [line["domain"] for line in body["domains"] if line["state"] == "prevention"]
    assert found == [line["domain"] for line in body["domains"] if line["requested"] == "stated"]
    return found
