# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Policies are read, judged, merged and lowered in time: the goals of tools/bench/policy.py, held loosely.

By processor time, with the slack that the benchmark states (three times the goal), since others use the machine too.
"""

from __future__ import annotations

from typing import List

import pytest
from bench import documents, policy
from bench.policy import Bench, Measure, Took

SMALL, LARGE = list(policy.small()), list(policy.large())
# Of the hostile shapes those that take longest to read or to judge; test_reading_speed.py has the others.
LONGEST = {
    "1 MiB yaml: list of numbers",
    "1 MiB yaml: keys",
    "1 MiB yaml: unknown calls",
    "1 MiB yaml: wrong patterns",
    "1 MiB yaml: one pattern",
    "1 MiB json: numbers",
    "1 MiB toml: maps",
}
HOSTILE = [measure for measure in policy.hostile() if measure.name in LONGEST]
# What a launch by an ordinary YAML policy has no use for.
LAZY = "strict_json toml toml_structure block calls expression templates json_schema descriptions compare written tools"
ONLY_WHEN_NEEDED = {f"aasm.policy.{name}" for name in LAZY.split()}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(str(tmp_path_factory.mktemp("bench")))
    made.warm()
    return made


def names(measure: Measure) -> str:
    return measure.name


@pytest.mark.parametrize("measure", SMALL, ids=names)
def test_a_small_policy_costs_less_than_an_interpreter_that_does_nothing(bench: Bench, measure: Measure) -> None:
    took = bench.take(measure, 3)
    assert policy.verdict(measure, took) == "", took


@pytest.mark.parametrize("measure", LARGE, ids=names)
def test_large_policies_are_dealt_with_in_time(bench: Bench, measure: Measure) -> None:
    took = bench.take(measure, 1)
    assert policy.verdict(measure, took) == "", took


@pytest.mark.parametrize("measure", HOSTILE, ids=names)
def test_the_largest_documents_are_answered_in_time(bench: Bench, measure: Measure) -> None:
    took = bench.take(measure, 1)
    assert policy.verdict(measure, took) == "", took
    assert set(took.stages) == {"read", "validate"}


def test_every_shape_fills_a_document_and_none_is_too_large() -> None:
    assert {measure.name for measure in HOSTILE} == LONGEST
    sizes = [len(measure.documents[0]) for measure in policy.hostile()]
    assert len(sizes) > 80 and max(sizes) <= documents.LARGEST
    assert min(sizes) > documents.LARGEST - 600_000  # one unit is half a document


def test_a_launch_imports_only_what_its_policy_needs(bench: Bench) -> None:
    for command in bench.commands().values():
        found = bench.imports(command)
        assert {"aasm.policy.reader", "aasm.policy.yaml", "aasm.policy.document"} <= set(found.policy)
        assert ONLY_WHEN_NEEDED & set(found.policy) == set()
        assert 0 < sum(found.policy.values()) < found.package < found.every


@pytest.mark.parametrize(
    ("took", "wrong"),
    [
        (Took(0.002, 9.0, "valid"), ""),
        (Took(0.0031, 0.0, "valid"), "over 3 times its goal"),
        (Took(0.001, 0.001, "p.yaml:1:1: no"), "refused: p.yaml:1:1: no"),
        (Took(0.0, 0.0, policy.NO_ANSWER), policy.NO_ANSWER),
    ],
)
def test_a_missed_goal_is_noticed(took: Took, wrong: str) -> None:
    assert policy.verdict(Measure("m", (), goal=0.001), took) == wrong


def test_what_does_not_end_is_no_answer(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "LIMIT", 0.001)
    took = bench.take(SMALL[0], 1)
    assert took.answer == policy.NO_ANSWER
    assert policy.verdict(SMALL[0], took) == policy.NO_ANSWER


def test_a_check_with_a_missed_goal_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    impossible = Measure("impossible", (documents.TEN,), goal=0.0, rounds=1)
    monkeypatch.setattr(policy, "GROUPS", {"small": lambda: iter([impossible])})
    codes: List[int] = [policy.main(argv) for argv in (["--check"], [])]
    shown = capsys.readouterr()
    assert codes == [1, 0]
    assert shown.out.count("missed: impossible: over 3 times its goal\n") == 2 and shown.err.count("error: ") == 1
    assert "impossible" in shown.out and "aasm policy validate" in shown.out
