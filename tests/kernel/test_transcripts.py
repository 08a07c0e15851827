# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Every session that a document shows (a `console` block) is run, and prints what the document says that it prints.

The blocks of one document are one session in an empty home directory. What differs from run to run (ids, digests,
times) and from host to host (where the checkout and the home lie) is made equal on both sides before they are compared.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support.launch import PACKAGE, ROOT, Lab

CHECKOUT = "/path/to/aasm-checkout"  # as the documents write it
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
DOCUMENTS = [path for path in PAGES if BLOCK.search(path.read_text(encoding="utf-8"))]

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
VARYING = (
    (re.compile(rf"\d{{10}}-(?={UUID})"), "TIME-"),
    (re.compile(UUID), "ID"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
)

# `python3` is the Python under test; a status survives the line that marks where a command's output begins
PRELUDE = """
python3() { %s "$@"; }
aasm() { python3 -I %s "$@"; }
mark() { local status=$?; printf '@@%%d\\n' "$1"; return "$status"; }
exec 2>&1
"""


class Step(NamedTuple):
    """One command of a session, and what the document says that it prints."""

    command: str
    output: str


def session(path: Path) -> list[Step]:
    """Return all commands of a document; a line that begins with `> ` goes on with the command before it."""
    steps: list[Step] = []
    for block in BLOCK.findall(path.read_text(encoding="utf-8")):
        for line in block.splitlines(keepends=True):
            if line.startswith("$ "):
                steps.append(Step(line[2:], ""))
            elif line.startswith("> "):
                steps[-1] = steps[-1]._replace(command=steps[-1].command + line[2:])
            else:
                steps[-1] = steps[-1]._replace(output=steps[-1].output + line)
    return steps


def script(steps: list[Step]) -> str:
    """Return the session as a script of bash that marks where the output of each command begins."""
    lines = [PRELUDE % (shlex.quote(sys.executable), shlex.quote(PACKAGE)), "cd ~\n"]
    for number, step in enumerate(steps):
        lines += [f"mark {number}\n", step.command.replace(CHECKOUT, str(ROOT))]
    return "".join(lines)


def equal(text: str, lab: Lab) -> str:
    """Return the text without what differs between runs and hosts."""
    for place, written in ((str(lab.home), "~"), (str(ROOT), CHECKOUT)):
        text = text.replace(place, written)
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


def test_there_are_sessions_to_run() -> None:
    assert ROOT / "README.md" in DOCUMENTS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_session_prints_what_the_document_shows(document: Path, lab: Lab) -> None:
    steps = session(document)
    options = lab.options()
    del options["env"]["AASM_STATE_DIR"]  # a reader has none: the state lies beneath the home
    command = ["bash", "-c", script(steps)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, stdin=subprocess.DEVNULL, **options)
    printed = re.split(r"^@@\d+\n", done.stdout, flags=re.MULTILINE)
    assert len(printed) == len(steps) + 1 and printed[0] == ""
    for step, found in zip(steps, printed[1:]):
        assert equal(found, lab) == equal(step.output, lab), step.command
    assert lab.leftovers() == []
