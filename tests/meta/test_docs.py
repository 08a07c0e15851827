# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The documents say what the code does: exit codes, commands, options, links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Set, Tuple

import pytest
from project import ROOT, project_files

from aasm.cli import COMMANDS
from aasm.cli.run import _refused
from aasm.errors import EXIT_CODES, SIGNAL_BASE, RefusalError, SupervisionError
from aasm.model.record import Ending
from aasm.run import Result

MARKDOWN = [path for path in project_files() if path.suffix == ".md"]
EXIT_ROW = re.compile(r"^\|\s*`?(\d+)(\s*\+\s*n)?`?\s*\|\s*(\S.*?)\s*\|", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
EXPECTED_DOCUMENTS = (
    "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "NOTICE", "LICENSE",
    "docs/architecture.md", "docs/exit-codes.md", "docs/threat-model.md",
)  # fmt: skip


def help_of(*words: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-m", "aasm", *words, "--help"]
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def user_documents() -> str:
    """Return the text of what is written for users: README.md and docs/, decisions excepted."""
    chosen = [ROOT / "README.md", *(path for path in MARKDOWN if path.parent == ROOT / "docs")]
    return "\n".join(path.read_text(encoding="utf-8") for path in chosen)


@pytest.mark.parametrize("name", EXPECTED_DOCUMENTS)
def test_the_expected_documents_are_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 0


def test_exit_codes_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    rows = EXIT_ROW.findall(text)
    assert len(rows) == len({row[0] for row in rows}), "an exit code has two rows"
    documented = {(int(code), bool(plus)) for code, plus, _ in rows}
    assert documented == {(code, code == SIGNAL_BASE) for code, _ in EXIT_CODES}


def test_the_status_line_has_the_fields_and_the_endings_of_the_table() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))
    assert set(rows) == {"schema", *Result._fields}
    of_ours = {_refused(problem).ending for problem in (RefusalError("x"), SupervisionError("x"))}
    assert set(re.findall(r"`(\w+)`", rows["ending"])) == {ending.value for ending in Ending} | of_ours
    assert "`supervision_failed`: the program may have run" in rows["ending"]


def test_the_readme_has_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^ *(\$ )?python3 tools/check\.py$", text, re.MULTILINE)
    command = r"^ *(\$ )?(python3 (-I|-m|-P -m) )?\S*aasm run exec .*--policy \S*examples/\S+ .*-- \S"
    assert re.search(command, text, re.MULTILINE)


def test_every_link_within_the_project_leads_somewhere() -> None:
    broken = []
    for path in MARKDOWN:
        for target in LINK.findall(path.read_text(encoding="utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


def test_every_document_is_reached_from_the_readme() -> None:
    reached: Set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        reached.add(path)
        targets = [path.parent / target for target in LINK.findall(path.read_text(encoding="utf-8"))]
        pages = [page.resolve() for target in targets for page in ([target] if target.suffix else target.glob("*.md"))]
        waiting += [page for page in pages if page.suffix == ".md" and page.exists() and page not in reached]
    assert {path for path in MARKDOWN if path.is_relative_to(ROOT / "docs")} - reached == set()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_is_documented(words: Tuple[str, ...]) -> None:
    options = set(OPTION.findall(help_of(*words)))
    assert "--help" in options
    assert options - set(OPTION.findall(user_documents())) - {"--help"} == set()


def test_run_exec_has_the_options_that_it_is_known_for() -> None:
    assert {"--isolation", "--policy", "--read", "--write", "--system", "--dry-run", "--env"} <= set(
        OPTION.findall(help_of("run", "exec"))
    )
