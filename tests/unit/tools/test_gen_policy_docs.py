# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The pages about the policy are what the tables say, a page that drifted is told, and text by hand is kept."""

from __future__ import annotations

from pathlib import Path

import gen_policy_docs as gen
import pytest

PARTS = {"one": lambda: "made\n"}


def test_the_pages_are_what_the_code_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["gen_policy_docs.py", "--check"])
    assert gen.main() == 0


@pytest.mark.parametrize("name", list(gen.PARTS))
def test_a_page_that_drifted_is_told_and_not_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for page in gen.PARTS:
        copy = tmp_path / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((gen.ROOT / page).read_bytes())
    drifted = (tmp_path / name).read_text().replace("listening is not restricted", "listening is restricted")
    (tmp_path / name).write_text(drifted)
    monkeypatch.setattr(gen, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["gen_policy_docs.py", "--check"])
    assert gen.main() == 1
    assert (tmp_path / name).read_text() == drifted
    said = capsys.readouterr().err
    assert said == f"error: {name} differs from what the code says; run tools/gen_policy_docs.py\n"
    monkeypatch.setattr("sys.argv", ["gen_policy_docs.py"])
    assert gen.main() == 0
    assert (tmp_path / name).read_text().count("listening is not restricted") == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<!-- made: one -->\nold\n<!-- made: end -->\nb\n", "<!-- made: one -->\n\nmade\n\n<!-- made: end -->\nb\n"),
        ('a\n.\\" made: one\n.\\" made: end\nb\n', 'a\n.\\" made: one\nmade\n.\\" made: end\nb\n'),
    ],
)  # fmt: skip
def test_only_what_is_between_the_marks_changes(before: str, after: str) -> None:
    assert gen.renewed(before, PARTS) == after == gen.renewed(after, PARTS)


@pytest.mark.parametrize("text", ["", "<!-- made: other -->\n<!-- made: end -->\n", "<!-- made: one -->\n"])
def test_a_page_without_its_marks_is_no_page_that_agrees(text: str) -> None:
    with pytest.raises(ValueError, match="parts one are expected"):
        gen.renewed(text, PARTS)


@pytest.mark.parametrize(
    ("text", "page"),
    [("-a\\b-", "\\-a\\eb\\-"), (".TP", "\\&.TP"), ("'x", "\\&'x"), ("a.b", "a.b")],
)
def test_text_is_never_taken_for_a_request_of_roff(text: str, page: str) -> None:
    assert gen.roff(text) == page
