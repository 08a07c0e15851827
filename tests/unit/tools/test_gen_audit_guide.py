# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The reading order: lines are counted as a reader would, every file has one place, and a page that drifted is told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import List

import gen_audit_guide as gen
import pytest

STEPS = (gen.Step("one", ("a.py", "b/{c,d}.py"), "x"), gen.Step("two", ("e/*.py",), "y"))
NAMES = ["a.py", "b/c.py", "b/d.py", "e/f.py", "e/g.py"]

MODULE = '''# a comment
"""A docstring
of two lines."""

import os  # code, with a comment behind it


def f() -> str:
    """Another one."""
    # a comment
    return """a text
that is code"""


class C:
    """A third."""

    x = 1
'''


def test_code_comments_and_docstrings_are_told_apart_and_empty_lines_are_neither() -> None:
    assert gen.counted(MODULE) == gen.Lines(code=6, comments=6)
    assert gen.counted("") == gen.Lines(0, 0)
    assert gen.counted('x = [\n    1,\n    # why\n    2,\n]\n"no docstring"\n') == gen.Lines(5, 1)
    assert gen.counted('"""a"""; x = 1\n') == gen.Lines(0, 1)  # a line that is both is a docstring's


def test_every_file_has_its_step_in_the_order_that_is_written() -> None:
    assert gen.ordered(NAMES, STEPS) == [["a.py", "b/c.py", "b/d.py"], ["e/f.py", "e/g.py"]]
    assert gen.spelled_out("b/{d,c}.py") == ["b/d.py", "b/c.py"] and gen.spelled_out("a.py") == ["a.py"]


@pytest.mark.parametrize(
    ("names", "what"),
    [
        ([*NAMES, "e/new/h.py"], "e/new/h.py has no place"),
        ([*NAMES, "z.py"], "z.py has no place"),
        (NAMES[1:], "names a.py, and there is no such file"),
    ],
)
def test_a_file_without_a_place_and_a_place_without_a_file_are_errors(names: List[str], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        gen.ordered(names, STEPS)


def test_a_file_in_two_steps_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"b/c\.py stands twice"):
        gen.ordered(NAMES, (*STEPS, gen.Step("three", ("b/c.py",), "z")))


def test_a_page_that_drifted_is_told_and_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(gen.ROOT / gen.PACKAGE, tmp_path / gen.PACKAGE)
    page = tmp_path / gen.PAGE
    page.parent.mkdir()
    drifted = (gen.ROOT / gen.PAGE).read_text(encoding="utf-8").replace("| 1. what runs", "| 2. what runs")
    page.write_text(drifted, encoding="utf-8")
    assert gen.main(["--check"], tmp_path) == 1
    assert "run tools/gen_audit_guide.py" not in capsys.readouterr().out and page.read_text(encoding="utf-8") == drifted
    assert gen.main([], tmp_path) == 0 and gen.main(["--check"], tmp_path) == 0
    assert page.read_bytes() == (gen.ROOT / gen.PAGE).read_bytes()
    page.write_text("no marks\n")
    assert gen.main([], tmp_path) == 2 and "parts reading are expected" in capsys.readouterr().err
