# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The reading order: lines are counted as a reader would, every file has one place, and a page that drifted is told."""

from __future__ import annotations

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


def test_only_what_is_between_the_marks_changes() -> None:
    page = f"a\n{gen.OPEN}old\n{gen.CLOSE}\nb\n"
    after = gen.renewed(page, "new\n")
    assert after == f"a\n{gen.OPEN}\nnew\n\n{gen.CLOSE}\nb\n" == gen.renewed(after, "new\n")


@pytest.mark.parametrize("page", ["", gen.OPEN, gen.CLOSE, f"{gen.OPEN}{gen.OPEN}{gen.CLOSE}"])
def test_a_page_without_its_marks_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match="has not one part"):
        gen.renewed(page, "new\n")


def test_a_page_that_drifted_is_told_and_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"kept\n{gen.OPEN}{gen.CLOSE}\n")
    assert gen.main(["--check"], page) == 1
    assert "run tools/gen_audit_guide.py" in capsys.readouterr().err and page.read_text().startswith("kept\n")
    assert gen.main([], page) == 0 and gen.main(["--check"], page) == 0
    assert "`launcher.py`" in page.read_text() and page.read_text().startswith("kept\n")
    page.write_text("no marks\n")
    assert gen.main([], page) == 1 and "has not one part" in capsys.readouterr().err
    assert gen.main(["--chekc"]) == 2
