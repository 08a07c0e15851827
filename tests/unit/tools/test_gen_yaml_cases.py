# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tool that makes the YAML cases needs its readers only when it asks them, and its files are as it writes them."""

from __future__ import annotations

import json
import random
import sys
from itertools import islice
from typing import Any, List, Tuple

import draw_yaml
import gen_yaml_cases as gen
import pytest


class Known(gen.Readers):
    """Readers that answer as it is stored, so that none of them has to be there."""

    def __init__(self, name: str) -> None:
        whole = json.loads((gen.TARGET / name).read_text(encoding="utf-8"))
        self.versions, self.about = whole["readers"], whole["about"]
        self.answers = {case[0]: case[1:] for cases in whole["groups"].values() for case in cases}

    def agreed(self, data: bytes) -> Tuple[Any, ...]:
        return tuple(self.answers[data.decode("utf-8", "surrogateescape")])


@pytest.mark.parametrize("name", [gen.WRITTEN, gen.DRAWN])
def test_the_files_are_as_the_tool_writes_them(name: str) -> None:
    readers = Known(name)
    groups = gen.asked(readers, gen.stored(name))
    assert gen.file_text(readers.about, readers, groups) == (gen.TARGET / name).read_text(encoding="utf-8")


def test_every_text_is_asked_about_in_every_place() -> None:
    assert list(gen.scalars(Known(gen.DRAWN))) == gen.stored(gen.DRAWN)["scalars"]


def test_an_answer_that_changed_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    both = Known(gen.DRAWN)
    both.answers.update(Known(gen.WRITTEN).answers)
    assert gen.check(both) == 0
    assert capsys.readouterr().out == ""
    both.answers["a: 1\n"] = [{"a": True}]
    assert gen.check(both) == 1
    assert 'stored ["a: 1\\n",{"a":1}], now ["a: 1\\n",{"a":true}]' in capsys.readouterr().out


@pytest.mark.parametrize("value", [float("nan"), 2**53, "\ud800", {1: "a"}, {"a": [{None: 1}]}, b"", object()])
def test_what_has_no_form_in_json_is_no_value(value: Any) -> None:
    assert gen._seen(lambda: value) == "refused"


def test_values_are_told_apart() -> None:
    values: List[Any] = [1, 1.0, True, "1", None, "null", -0.0, 0, [], {}, {"a": 1, "b": 2}, {"b": 2, "a": 1}]
    assert len({gen._seen(lambda value=value: value) for value in values}) == len(values)


def test_documents_are_drawn_alike_every_time_and_no_two_are_the_same() -> None:
    one, other = (list(islice(gen.documents(random.Random("x")), 500)) for _ in range(2))
    assert one == other and len(set(one)) == 500
    assert {gen.ours(document) == "read" for document in one} == {True, False}
    assert draw_yaml.Draw(random.Random(1)).document() == draw_yaml.Draw(random.Random(1)).document()


def test_a_wrong_word_is_refused_before_a_reader_is_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert gen.main(["--chekc"]) == 2
    assert "unrecognized arguments: --chekc" in capsys.readouterr().err


def test_readers_that_are_not_there_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ruamel", None)
    monkeypatch.setitem(sys.modules, "ruamel.yaml", None)
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert gen.main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and "--help" in said
