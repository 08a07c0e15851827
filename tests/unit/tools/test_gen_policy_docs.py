# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The pages about the policy are what the tables say, a page that drifted is told, and text by hand is kept."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import gen_policy_docs as gen
import pytest

from aasm.backends.native.floor import REFUSED_CALLS
from aasm.cli import below
from aasm.errors import EXIT_CODES, INVALID, OK, REFUSED, USAGE, PolicyError
from aasm.model.privileges import NAMES
from aasm.policy import expression
from aasm.policy.descriptions import DESCRIPTIONS
from aasm.policy.document import validate
from aasm.policy.reader import read_document


def test_the_pages_are_what_the_code_says() -> None:
    assert gen.main(["--check"]) == 0


@pytest.mark.parametrize("name", list(gen.PARTS))
def test_a_page_that_drifted_is_told_and_not_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for page in gen.PARTS:
        copy = tmp_path / page
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((gen.ROOT / page).read_bytes())
    drifted = (tmp_path / name).read_text().replace("listening is not restricted", "listening is restricted")
    (tmp_path / name).write_text(drifted)
    assert gen.main(["--check"], tmp_path) == 1
    assert (tmp_path / name).read_text() == drifted
    assert capsys.readouterr().err.startswith(f"error: {name}: not what tools/gen_policy_docs.py makes")
    assert gen.main([], tmp_path) == 0
    assert (tmp_path / name).read_text().count("listening is not restricted") == 1


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("-a\\b-", "\\-a\\eb\\-"), (".TP", "\\&.TP"), ("'x", "\\&'x"), ("a.b", "a.b"),
        ("the user's `'~'` and x", "the user's \\fB\\(aq\\(ti\\(aq\\fP and x"), ("text (*own*)", "text (\\fIown\\fP)"),
    ],
)  # fmt: skip
def test_text_is_never_taken_for_a_request_of_roff(text: str, page: str) -> None:
    assert gen.roff(text) == page


def test_what_is_shown_as_it_is_keeps_its_lines_and_signs() -> None:
    assert gen.verbatim("a:\n  - '\\b'\n'~'\n.x\n") == "a:\n  \\- \\(aq\\eb\\(aq\n\\&\\(aq\\(ti\\(aq\n\\&.x\n"


@pytest.mark.parametrize(
    ("part", "page", "manual"),
    [
        ("Of `a-b`.", "Of `a-b`.\n", "Of \\fBa\\-b\\fP.\n"),
        (["One.", "Two."], "- One.\n- Two.\n", ".IP \\(bu 2\nOne.\n.IP \\(bu 2\nTwo.\n"),
        (gen.Table(("h", "is"), (("`a`", "b"),)), "| h | is |\n|-|-|\n| `a` | b |\n", ".TP\n\\fBa\\fP\nb.\n"),
        (
            gen.Table(("h", "is", "has"), (("a", "b", "c"),)),
            "| h | is | has |\n|-|-|-|\n| a | b | c |\n",
            ".TP\na\nIs: b.\nHas: c.\n",
        ),
    ],
)
def test_a_part_is_the_same_in_both_languages(part: gen.Part, page: str, manual: str) -> None:
    assert (gen.markdown(part), gen.manual(part)) == (page, manual)


def test_every_example_on_the_page_is_a_valid_policy() -> None:
    text = (gen.ROOT / gen.PAGE).read_text(encoding="utf-8")
    examples = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert examples == [item.example for item in DESCRIPTIONS.values()]
    for example in examples:
        validate(read_document(example.encode(), "example.yaml"), REFUSED_CALLS)


def test_keys_that_nothing_acts_on_and_clocks_are_not_enough() -> None:
    named = set(re.findall("`([^`]+)`", str(gen.enough())))
    assert {"filesystem.write.allow", "network.bind", "resources.max_pids", "capabilities"} <= named
    sections = ("filesystem.", "network.", "ipc.", "credentials.", "resources.", "syscalls.", "capabilities")
    assert all(name.startswith(sections) for name in named)
    assert not named & {"resources.max_cpu_seconds", "resources.max_wall_clock_seconds"}


def duration(text: str) -> bool:
    document = read_document(f'budget: {{window: "{text}"}}'.encode(), "x.yaml")
    try:
        return bool(validate(document).values)
    except PolicyError:
        return False


def test_a_duration_is_what_the_sentence_says() -> None:
    said = str(gen.durations())
    assert "up to 9 digits" in said and "6 times at most" in said
    units = re.findall(r"`(\w+)`", said.partition("Units are ")[2])
    examples = re.findall(r"`([^`]+)`", said.partition("Units are ")[0])
    assert len(units) == 17 and len(examples) == 3 and all(map(duration, examples))
    assert all(duration(f"123456789 {unit}") and duration(f"1{unit}") for unit in units)
    assert duration("1h " * 5 + "1h") and not duration("1h " * 6 + "1h") and not duration("1234567890h")


def test_capabilities_take_away_what_the_table_says() -> None:
    part = gen.capabilities()
    assert isinstance(part, gen.Table)
    assert {row[0]: row[1:] for row in part.rows if row[2] != row[1]} == {
        "`agent_spawn`": ("`process_creation`", "nothing")
    }
    silent = [row[0] for row in part.rows if row[1] == "nothing"]
    assert silent == ["`file_delete`", "`network_inbound`", "`mcp_tool:NAME`", "`model:NAME`"]


def test_every_operator_has_its_literal() -> None:
    part = gen.operators()
    assert isinstance(part, list)
    assert sorted(name for line in part for name in re.findall("`([^`]+)`", line)) == sorted(expression.OPERATORS)


def test_a_capability_of_the_kernel_may_be_named_or_has_its_reason() -> None:
    refused = gen.never()
    assert isinstance(refused, list)
    allowed, never = (re.findall("CAP_[A-Z_]+", text) for text in (str(gen.kernel()), " ".join(refused)))
    assert sorted([*allowed, *never]) == sorted(NAMES)
    for name in (*allowed, *never):
        document = read_document(f"credentials: {{capabilities: {{allow: [{name}]}}}}".encode(), "x.yaml")
        if name in allowed:
            validate(document)
        else:
            with pytest.raises(PolicyError, match=f"{name} cannot be allowed"):
                validate(document)


@pytest.mark.parametrize("name", below("policy"))
def test_a_command_takes_what_its_help_says(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    part = gen.commands()
    assert isinstance(part, gen.Table)
    says, takes = {row[0]: row[1:] for row in part.rows}[f"`aasm policy {name}`"]
    with pytest.raises(SystemExit):
        importlib.import_module(f"aasm.cli.policy_{name}").main(["--help"])
    options = re.findall(r"^  (--[a-z-]+(?: [A-Z:]+)?)(?:  |$)", capfd.readouterr().out, re.MULTILINE)
    assert says and sorted(options) == sorted(re.findall("`(--[^`]+)`", takes))


def test_every_command_has_a_row_for_each_of_its_exit_codes() -> None:
    text = (gen.ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `policy (\w+)` \| (\d+) \| .+ \|$", text, re.MULTILINE)
    rows = [(name, int(code)) for name, code in found]
    judging = ("validate", "show", "explain", "diff")
    codes = {name: [OK, *([INVALID] if name in judging else []), USAGE, REFUSED] for name in below("policy")}
    assert rows == [(name, code) for name in codes for code in codes[name]]
    assert {code for _, code in rows} <= {code for code, _ in EXIT_CODES}
