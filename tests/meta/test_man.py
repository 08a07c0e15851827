# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The manual pages say what the code says, and can be rendered.

aasm(1) has every command, aasm-run(1) and aasm-receipt(1) what a parser takes, aasm-policy(5) every key. No document
names an option that does not exist, and every example is one that is understood. A page is read as its author wrote it:
a tagged paragraph (`.TP`) is one entry, the line behind it its tag.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import gen_completions as gen
import meta.test_docs as documents
import pytest
from project import ROOT, python_files

from aasm.backends.native.floor import REFUSED_CALLS
from aasm.cli import COMMANDS, usage
from aasm.cli.options import check, parser, split
from aasm.cli.parsing import Once
from aasm.errors import EXIT_CODES, PolicyError
from aasm.policy.descriptions import DESCRIPTIONS
from aasm.policy.document import validate
from aasm.policy.node import to_data
from aasm.policy.reader import read_document
from aasm.receipt import verify

MANUAL = ROOT / "docs" / "man"
PAGE, POLICY_PAGE = MANUAL / "aasm-run.1", MANUAL / "aasm-policy.5"
WHOLE_PAGE, RECEIPT_PAGE = MANUAL / "aasm.1", MANUAL / "aasm-receipt.1"
SOURCE, POLICY_SOURCE, WHOLE_SOURCE, RECEIPT_SOURCE = (
    page.read_text(encoding="utf-8") for page in (PAGE, POLICY_PAGE, WHOLE_PAGE, RECEIPT_PAGE)
)
SECTIONS = (
    "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
)  # fmt: skip
POLICY_SECTIONS = (
    "NAME", "DESCRIPTION", "FORMAT OF VALUES", "SEVERAL POLICIES", "CONDITIONS", "LIMITS", "KEYS", "COMMANDS",
    "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
)  # fmt: skip
WHOLE_SECTIONS = (
    "NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES",
    "SEE ALSO",
)  # fmt: skip
RECEIPT_SECTIONS = (
    "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "VERDICT", "WITHOUT AASM", "EXIT STATUS", "FILES", "EXAMPLES",
    "SEE ALSO",
)  # fmt: skip
ALTERNATING = (".BR", ".BI", ".IR", ".RI", ".RB", ".IB")  # macros of man(7) that join their arguments

BEFORE_THE_COMMAND = {"--version"}
OTHER_COMMANDS = re.compile(r"^.*(?:\bgrep -|pip install).*$", re.MULTILINE)  # their options are theirs
OF_THE_LAUNCHER = {"--order", "--print"}  # which an auditor starts by hand
OF_OTHERS = {"--quiet"}  # of sha256sum(1)
TOOLS = ("vendor.py", "try_copy.py", "install.py", "check.py")  # which documents for users name with their options


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
    return tagged(parser())


def tagged(made: argparse.ArgumentParser) -> Dict[str, argparse.Action]:
    return {tag(action): action for action in made._actions}


def tag(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    if not names:
        return str(action.metavar)
    return f"{names} {{{','.join(action.choices)}}}" if action.choices else f"{names} {action.metavar}"


def blocks(name: str, source: str) -> List[str]:
    """Return the blocks of a section that are shown as they are."""
    found = re.findall(r"^\.EX\n(.*?)^\.EE$", "\n".join(section(name, source)), re.MULTILINE | re.DOTALL)
    return list(map(unescaped, found))


def examples(source: str = SOURCE) -> List[List[str]]:
    lines = "".join(blocks("EXAMPLES", source)).replace("\\\n", "").splitlines()
    return [shlex.split(line) for line in lines]


def understood(words: List[str]) -> None:
    """Have the parser of its command read a command line; it raises, or ends the test, where that fails."""
    (command,) = (known for known in COMMANDS if tuple(words[1 : 1 + len(known)]) == known)
    rest = words[1 + len(command) :]
    if command == ("run", "exec"):
        before, program = split(rest)
        check(parser().parse_args(before))
        assert program
    else:
        gen.parser(command).parse_args(rest)
    assert words[0] == "aasm"


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
    understood(words)


def test_no_document_names_an_option_that_does_not_exist() -> None:
    known = {name for words in COMMANDS for name in options_of(*words)}
    pages = unescaped(SOURCE + POLICY_SOURCE + WHOLE_SOURCE + RECEIPT_SOURCE)
    known |= {name for tool in TOOLS for name in documents.OPTION.findall(help_of_tool(tool))}
    named = set(documents.OPTION.findall(OTHER_COMMANDS.sub("", documents.user_documents() + pages)))
    assert named - known - BEFORE_THE_COMMAND == OF_THE_LAUNCHER | OF_OTHERS


def help_of_tool(name: str) -> str:
    return subprocess.check_output([sys.executable, str(ROOT / "tools" / name), "--help"], text=True)


def options_of(*words: str) -> List[str]:
    return list(documents.OPTION.findall(documents.help_of(*words)))


@pytest.mark.skipif(shutil.which("man") is None, reason="no man")
@pytest.mark.parametrize("width", ["60", "80", "132"])
@pytest.mark.parametrize(
    ("page", "tags"),
    [
        (PAGE, options()), (POLICY_PAGE, DESCRIPTIONS), (WHOLE_PAGE, entries("COMMANDS", WHOLE_SOURCE)),
        (RECEIPT_PAGE, entries("VERDICT", RECEIPT_SOURCE)),
    ],
    ids=["run", "policy", "whole", "receipt"],
)  # fmt: skip
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
    for words in lines:
        understood(words)
    assert {name for words in lines for name in words if name.endswith("yaml")} <= set(dict(policies()))


# --- aasm(1) ------------------------------------------------------------------------------------------


SELF_VERIFY = ("self-verify",)
WANTED = [" ".join(("aasm", *words)) for words in COMMANDS]


def test_the_sections_about_the_whole_are_those_of_a_manual_page() -> None:
    assert tuple(re.findall(r"^\.SH (.+)$", WHOLE_SOURCE, re.MULTILINE)) == WHOLE_SECTIONS


def test_every_command_has_its_entry_with_what_it_is_for() -> None:
    found = entries("COMMANDS", WHOLE_SOURCE)
    assert list(found) == WANTED
    for words, (_, says) in COMMANDS.items():
        assert found[" ".join(("aasm", *words))].startswith(says[:1].upper() + says[1:] + ".")


def test_the_synopsis_is_the_usage() -> None:
    text = " ".join("\n" if line == ".br" else plain(line) for line in section("SYNOPSIS", WHOLE_SOURCE))
    lines = [line.strip() for line in text.splitlines()]
    found = re.search(r"^usage: (.*?)\n\n", usage(), re.DOTALL)
    assert found and [line.strip() for line in found[1].splitlines()] == lines


def test_the_options_are_those_before_a_command_and_those_of_the_command_without_a_page() -> None:
    own = list(tagged(gen.parser(SELF_VERIFY)))[1:]
    assert list(entries("OPTIONS", WHOLE_SOURCE)) == ["-h, --help", "--version", *own]


def test_the_exit_codes_of_all_commands_are_those_of_the_table() -> None:
    found = entries("EXIT STATUS", WHOLE_SOURCE)
    assert found == {str(code): text.replace("`", "") for code, text in EXIT_CODES}


@pytest.mark.parametrize("words", examples(WHOLE_SOURCE), ids=" ".join)
def test_an_example_of_the_whole_is_understood(words: List[str]) -> None:
    understood(words)


def test_every_page_refers_to_pages_that_are_there() -> None:
    for page in sorted(MANUAL.iterdir()):
        text = page.read_text(encoding="utf-8")
        names = {".".join(found) for found in re.findall(r"(aasm[a-z-]*) \((\d)\)", unescaped(text))}
        assert names and names <= {path.name for path in MANUAL.iterdir()}
        assert page == WHOLE_PAGE or re.search(r"^\.BR aasm \(1\)", text, re.MULTILINE), page.name


# --- aasm-receipt(1) ----------------------------------------------------------------------------------

SAMPLE = ROOT / "tests" / "golden" / "receipt" / "sample.execution-receipt.json"


def verified(*args: str) -> Tuple[int, str]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        return verify.main(list(args)), out.getvalue()


def test_the_sections_about_receipts_are_those_of_a_manual_page() -> None:
    assert tuple(re.findall(r"^\.SH (.+)$", RECEIPT_SOURCE, re.MULTILINE)) == RECEIPT_SECTIONS


def test_what_receipt_verify_takes_is_described_as_its_help_does() -> None:
    found, wanted = entries("OPTIONS", RECEIPT_SOURCE), tagged(gen.parser(("receipt", "verify")))
    assert list(found) == list(wanted)
    for spelled, action in wanted.items():
        said = (action.help or "").replace("`", "")
        assert found[spelled].startswith(said[:1].upper() + said[1:] + ".")
        assert ("Can be repeated." in found[spelled]) is (action.nargs == "+")


def test_every_word_of_a_verdict_is_explained(tmp_path: Path) -> None:
    broken, torn = tmp_path / "broken.json", tmp_path / "torn.json"
    envelope = json.loads(SAMPLE.read_bytes())
    envelope["body"]["domains"][0]["claim"] = "certain"
    envelope["body"]["more"] = 1
    broken.write_text(json.dumps(envelope), encoding="utf-8")
    torn.write_text(json.dumps({**envelope, "seal": None}), encoding="utf-8")
    code, text = verified(str(SAMPLE), str(broken), str(torn))
    shown = set(re.findall(r"^(seal: \w+|defects: none|trustworthy: \w+|note:)", text, re.MULTILINE))
    keys = {key for name in (str(SAMPLE), str(tmp_path)) for key in json.loads(verified("--json", name)[1])}
    assert code == 1 and {line.split(":")[0] for line in text.splitlines() if line[0] != " "} == {
        "receipt", "seal", "defects", "trustworthy", "note",
    }  # fmt: skip
    assert set(entries("VERDICT", RECEIPT_SOURCE)) == shown | keys
    assert {word for word in shown if word.startswith("seal")} == {
        f"seal: {word}" for word in (verify.HOLDS, verify.MISMATCH, verify.UNCOMPUTABLE)
    }
    assert verify.VERDICT_SCHEMA in RECEIPT_SOURCE


def test_the_exit_codes_are_those_of_receipt_verify(tmp_path: Path) -> None:
    torn = tmp_path / "torn.json"
    torn.write_text("{", encoding="utf-8")
    found = [verified(str(SAMPLE))[0], verified(str(SAMPLE), str(torn))[0], verified(str(torn), str(tmp_path))[0]]
    assert list(map(str, found)) == list(entries("EXIT STATUS", RECEIPT_SOURCE))


@pytest.mark.skipif(shutil.which("jq") is None, reason="no jq")
@pytest.mark.parametrize("number", range(5))
def test_an_example_about_receipts_does_what_stands_before_it(number: int, tmp_path: Path) -> None:
    made = tmp_path / ".local" / "state" / "aasm" / "execution-receipts"
    made.mkdir(parents=True)
    for path in (tmp_path / "run.json", made / "1.execution-receipt.json"):
        path.write_bytes(SAMPLE.read_bytes())
    script = [*blocks("WITHOUT AASM", RECEIPT_SOURCE), *blocks("EXAMPLES", RECEIPT_SOURCE)]
    start = f"PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)} -m aasm"
    code = f'set -eu; aasm() {{ {start} "$@"; }}\n{script[number]}'
    env = {"HOME": str(tmp_path), "PATH": os.environ.get("PATH", os.defpath)}
    done = subprocess.run(["sh", "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    digest = json.loads(SAMPLE.read_bytes())["seal"]["digest"]
    wanted = [
        rf"{digest[7:]}  -\n{digest}\n",
        "(seal: holds .*\ndefects: none\ntrustworthy: true .*\n){3}",
        "go on\n",
        "holds\n",
        r"(\w+\t\w+\t\w+\n){10}",
    ]
    assert len(script) == len(wanted)
    assert (done.returncode, done.stderr) == (0, "") and re.fullmatch(wanted[number], done.stdout), done.stdout
