# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Block texts of YAML: literal (`|`) and folded (`>`), with clip (one line end is kept) or strip (`-`: none).

Indentation and kept line ends cannot be stated (`|2`, `|+`): readers differ there. Nothing here knows about keys.
"""

from __future__ import annotations

from typing import List, Tuple

from .inline import Line

_HEADERS = ("|", ">", "|-", ">-")


def block_text(lines: List[str], line: Line, at: int, column: int) -> Tuple[str, int]:
    """Read the block text whose `|` or `>` stands at `at` of `line`, below a parent at `column`.

    Returns the value and the index in `lines` of the first line behind it.
    """
    header = _header(line, at)
    first = line.number  # the index of the line behind the header
    indent = _indent(lines, first, column, line)
    row, content = _content(lines, first, indent)
    while content and not content[-1]:
        content.pop()
    value = "\n".join(content) if header[0] == "|" else _fold(content)
    if not content or header[1:] == "-":
        return value, row
    last = first + len(content) - 1
    if last + 1 == len(lines):
        what = "the document ends inside a block text without a line end, which some readers add"
        end = Line(line.name, last + 1, lines[last])
        end.fail(len(end.text), what, f"end the last line, or write {header}-")
    return value + "\n", row


def _header(line: Line, at: int) -> str:
    comment = line.text.find(" #", at)
    end = len(line.text) if comment == -1 else comment
    header = line.text[at:end].rstrip(" ")
    line.no_tab(at, len(line.text))
    if header not in _HEADERS:
        line.fail(at, f"a block text begins with one of {' '.join(_HEADERS)} alone on its line", "write one of these")
    return header


def _indent(lines: List[str], row: int, column: int, line: Line) -> int:
    """Return the indentation of the first line with text, or 0 when the block text is empty."""
    for number in range(row, len(lines)):
        text = lines[number]
        body = text.lstrip(" ")
        indent = len(text) - len(body)
        if body and indent > column and body[0] == "\t":
            what = "a tab at the start of a block text, which some readers refuse"
            Line(line.name, number + 1, text).fail(indent, what, "use blanks, or write the text in double quotes")
        if body:
            return indent if indent > column else 0
        if indent:
            what = "blanks on a line before the first text of a block text, which readers judge differently"
            Line(line.name, number + 1, text).fail(0, what, "take the blanks out")
    return 0


def _content(lines: List[str], row: int, indent: int) -> Tuple[int, List[str]]:
    """Return the index behind the block and its lines without indentation; blank lines are empty."""
    content: List[str] = []
    while row < len(lines):
        text = lines[row]
        if text[:indent].strip(" ") or (not indent and text):
            break
        content.append(text[indent:])
        row += 1
    return row, content


def _fold(content: List[str]) -> str:
    """Join lines by blanks (YAML 1.2.2, section 8.1.3); lines that begin with a blank or tab keep their line ends."""
    parts: List[str] = []
    empty, before = 0, ""
    for text in content:
        if not text:
            empty += 1
            continue
        folds = before and before[0] not in " \t" and text[0] not in " \t"
        if folds and not empty:
            parts.append(" ")
        else:
            parts.append("\n" * (empty if folds or not before else empty + 1))
        parts.append(text)
        empty, before = 0, text
    return "".join(parts)
