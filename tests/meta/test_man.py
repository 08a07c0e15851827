# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""aasm-run(1) says what the parser says, option by option, and aasm-policy(5) has every key; both can be rendered.

No document names an option that does not exist, and every example is one that is understood. A page is read as its
author wrote it: a tagged paragraph (`.TP`) is one entry, the line behind it its tag.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import meta.test_docs as documents
import pytest
from project import ROOT, python_files

from aasm.backends.native.floor import REFUSED_CALLS
from aasm.cli import COMMANDS
from aasm.cli.options import Once, check, parser, split
from aasm.errors import EXIT_CODES, PolicyError
from aasm.policy.descriptions import DESCRIPTIONS
from aasm.policy.document import validate
from aasm.policy.node import to_data
from aasm.policy.reader import read_document

PAGE = ROOT / "docs" / "man" / "aasm-run.1"
SOURCE = PAGE.read_text(encoding="utf-8")
POLICY_PAGE = ROOT / "docs" / "man" / "aasm-policy.5"
POLICY_SOURCE = POLICY_PAGE.read_text(encoding="utf-8")
SECTIONS = (
    "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
)  # fmt: skip
POLICY_SECTIONS = (
    "NAME", "DESCRIPTION", "FORMAT OF VALUES", "SEVERAL POLICIES", "CONDITIONS", "LIMITS", "KEYS", "COMMANDS",
    "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
)  # fmt: skip
ALTERNATING = (".BR", ".BI", ".IR", ".RI", ".RB", ".IB")  # macros of man(7) that join their arguments

OF_THE_LAUNCHER = {"--order", "--print"}  # which an auditor starts by hand


def unescaped(text: str) -> str:
    r"""Return roff text as it prints: `\-` is a minus, `\e` a backslash, `\fB` a change of the font, `\(aq` a sign."""
    text = re.sub(r"\\f[BIRP]|\\&", "", text)
    return re.sub(r"\\\((aq|ti|ha|dq)", lambda sign: SIGNS[sign[1]], text).replace("\\-", "-").replace("\\e", "\\")


SIGNS = {"aq": "'", "ti": "~", "ha": "^", "dq": '"'}


def plain(line: str) -> str:
    """Return what one line of the page prints."""
    macro, _, rest = line.partition(" ")
    if macro in ALTERNATING:
        return "".join(shlex.split(unescaped(rest)))
    if macro in (".B", ".I"):
        return " ".join(shlex.split(unescaped(rest)))
    return "" if line.startswith(".") else unescaped(line)


def section(name: str, source: str = SOURCE) -> List[str]:
    """Return the lines of one section."""
    found = re.search(rf"^\.SH {name}\n(.*?)(?=^\.SH |\Z)", source, re.MULTILINE | re.DOTALL)
    assert found, name
    return found.group(1).splitlines()


def entries(name: str, source: str = SOURCE) -> Dict[str, str]:
    """Return the tagged paragraphs of a section: tag and text."""
    text = re.sub(r"^\.(SS|PP).*(?:\n(?!\.TP).*)*", "", "\n".join(section(name, source)), flags=re.MULTILINE)
    found: Dict[str, str] = {}
    for part in text.split(".TP\n")[1:]:
        tag, *body = part.splitlines()
        assert plain(tag) not in found, "two entries"
        found[plain(tag)] = " ".join(filter(None, map(plain, body)))
    return found


def options() -> Dict[str, argparse.Action]:
    """Return the options of the real parser by the tag that the page has for each."""
    return {tag(action): action for action in parser()._actions}


def tag(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    return f"{names} {{{','.join(action.choices)}}}" if action.choices else f"{names} {action.metavar}"


def blocks(name: str, source: str) -> List[str]:
    """Return the blocks of a section that are shown as they are."""
    found = re.findall(r"^\.EX\n(.*?)^\.EE$", "\n".join(section(name, source)), re.MULTILINE | re.DOTALL)
    return list(map(unescaped, found))


def examples() -> List[List[str]]:
    lines = "".join(blocks("EXAMPLES", SOURCE)).replace("\\\n", "").splitlines()
    return [shlex.split(line) for line in lines]


def policies() -> List[Tuple[str, str]]:
    """Return the policies among the examples of aasm-policy(5), each with the name that stands before it."""
    text = "\n".join(section("EXAMPLES", POLICY_SOURCE))
    names = re.findall(r"^\.IR (\w+\.\w+) [,:]$", text, re.MULTILINE)
    return list(zip(names, blocks("EXAMPLES", POLICY_SOURCE)))


def test_the_sections_are_those_of_a_manual_page() -> None:
    assert tuple(re.findall(r"^\.SH (.+)$", SOURCE, re.MULTILINE)) == SECTIONS


def test_the_page_and_the_parser_have_the_same_options_in_the_same_order() -> None:
    assert list(entries("OPTIONS")) == list(options())


@pytest.mark.parametrize("spelled", options())
def test_an_option_is_described_as_its_help_does(spelled: str) -> None:
    action, text = options()[spelled], entries("OPTIONS")[spelled]
    wanted, _, default = (action.help or "").partition(" (default: ")
    assert text.startswith(wanted[:1].upper() + wanted[1:] + ".")
    assert re.findall(r"The default is (\w+)", text) == ([default[:-1]] if default else [])
    assert not action.choices or action.default == default[:-1]
    assert ("Can be repeated." in text) is isinstance(action, argparse._AppendAction)
    assert isinstance(action, (Once, argparse._AppendAction)) is (action.nargs != 0)


def test_the_exit_codes_are_those_of_a_run() -> None:
    of_runs = {str(code): text for code, text in EXIT_CODES if not text.startswith("`receipt verify`")}
    assert entries("EXIT STATUS") == of_runs


def test_every_variable_is_one_that_the_code_reads() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in python_files("aasm"))
    names = list(entries("ENVIRONMENT"))
    assert len(names) > 5 and [name for name in names if f'"{name}"' not in code] == []


def test_there_are_examples() -> None:
    assert len(examples()) >= 5


@pytest.mark.parametrize("words", examples(), ids=" ".join)
def test_an_example_is_a_command_line_that_is_understood(words: List[str]) -> None:
    assert words[:3] == ["aasm", "run", "exec"]
    before, program = split(words[3:])
    check(parser().parse_args(before))
    assert program


def test_no_document_names_an_option_that_does_not_exist() -> None:
    known = {name for words in COMMANDS for name in options_of(*words)}
    named = set(documents.OPTION.findall(documents.user_documents() + unescaped(SOURCE + POLICY_SOURCE)))
    assert named - known == OF_THE_LAUNCHER


def options_of(*words: str) -> List[str]:
    return list(documents.OPTION.findall(documents.help_of(*words)))


@pytest.mark.skipif(shutil.which("man") is None, reason="no man")
@pytest.mark.parametrize("width", ["60", "80", "132"])
@pytest.mark.parametrize(("page", "tags"), [(PAGE, options()), (POLICY_PAGE, DESCRIPTIONS)], ids=["run", "policy"])
def test_the_page_is_rendered_without_a_warning(page: Path, tags: Dict[str, object], width: str) -> None:
    clean = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": width}
    command = ["man", "--warnings", "--encoding=UTF-8", "--local-file", str(page)]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert page == PAGE or "\u2010" not in done.stdout, "a name is broken at the end of a line"
    shown = re.sub(r"\s+", " ", re.sub("\u2010\n *", "-", re.sub(".\b", "", done.stdout)))
    assert [spelled for spelled in tags if spelled not in shown] == []


# --- aasm-policy(5) -----------------------------------------------------------------------------------


def test_the_sections_about_a_policy_are_those_of_a_manual_page() -> None:
    assert tuple(re.findall(r"^\.SH (.+)$", POLICY_SOURCE, re.MULTILINE)) == POLICY_SECTIONS
    assert [name for name in POLICY_SECTIONS if not any(section(name, POLICY_SOURCE))] == []


def test_every_key_has_its_entry_and_its_example_in_the_order_of_the_table() -> None:
    found = entries("KEYS", POLICY_SOURCE)
    assert list(found) == list(DESCRIPTIONS)
    for text in found.values():
        assert "When absent: " in text and "What acts on it: " in text
    assert blocks("KEYS", POLICY_SOURCE) == [item.example for item in DESCRIPTIONS.values()]


def test_there_are_whole_policies_in_every_format() -> None:
    assert [Path(name).suffix for name, _ in policies()] == [".yaml", ".json", ".toml", ".yaml"]
    assert len(blocks("EXAMPLES", POLICY_SOURCE)) == len(policies()) + 1  # and the commands


@pytest.mark.parametrize(("name", "text"), policies(), ids=[name for name, _ in policies()])
def test_an_example_of_a_policy_is_valid_and_states_the_same_in_every_format(name: str, text: str) -> None:
    if name.endswith(".toml") and sys.version_info < (3, 11):
        with pytest.raises(PolicyError, match="TOML needs Python 3.11"):
            read_document(text.encode(), name)
        return
    document = read_document(text.encode(), name)
    assert validate(document, REFUSED_CALLS).values
    same = [read_document(text.encode(), name) for name, text in policies()[:2]]
    assert name == "reader.yaml" or [to_data(item.root) for item in same] == [to_data(document.root)] * 2


def test_an_example_of_a_command_about_policies_is_understood() -> None:
    lines = [shlex.split(line) for line in blocks("EXAMPLES", POLICY_SOURCE)[-1].splitlines()]
    assert [words[1:3] for words in lines] == [["policy", "validate"], ["policy", "show"], ["run", "exec"]]
    for words in lines[:-1]:
        importlib.import_module(f"aasm.cli.policy_{words[2]}")._parser().parse_args(words[3:])
    before, program = split(lines[-1][3:])
    check(parser().parse_args(before))
    assert program and {name for words in lines for name in words if name.endswith("yaml")} <= set(dict(policies()))
