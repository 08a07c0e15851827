# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""tools/gen_completions.py: what it takes from the parsers, what it refuses to write. tests/meta tries the scripts."""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path
from typing import Tuple

import gen_completions as gen
import pytest
from completion_scripts import SCRIPTS, Command, Kind, Line, Option, Value, Word, checked, fish_quoted, quoted

from aasm import cli

SCRIPT_NAMES = list(SCRIPTS)


def made(*arguments: Tuple[str, ...], **more: object) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("aasm do", usage=str(more.pop("usage", "aasm do")))
    for names in arguments:
        parser.add_argument(*names, **more)  # type: ignore[arg-type]
    return parser


def test_the_scripts_are_what_it_writes_and_nothing_else_is_there() -> None:
    assert gen.main(["--check"]) == 0
    assert sorted(os.listdir(gen.ROOT / gen.FOLDER)) == sorted(os.listdir(gen.ROOT / gen.PARTS)) == sorted(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPT_NAMES)
def test_a_script_that_drifted_or_is_gone_is_told_and_not_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in (gen.FOLDER, gen.PARTS):
        shutil.copytree(gen.ROOT / folder, tmp_path / folder)
    script = tmp_path / gen.FOLDER / name
    right = script.read_text(encoding="utf-8")
    script.write_text(right.replace("--isolation", "--insulation"), encoding="utf-8")
    assert gen.main(["--check"], tmp_path) == 1 and "--insulation" in script.read_text(encoding="utf-8")
    script.unlink()
    assert gen.main(["--check"], tmp_path) == 1 and not script.exists()
    line = f"error: {gen.FOLDER}/{name}: not what tools/gen_completions.py makes; read the difference, then run it\n"
    assert capsys.readouterr().err == line * 2
    assert gen.main([], tmp_path) == 0 and script.read_text(encoding="utf-8") == right


def test_every_command_of_the_table_is_there_with_what_it_is_for() -> None:
    line = gen.line()
    assert [command.name for command in line.commands] == [" ".join(words) for words in cli.COMMANDS]
    assert [command.name for command in line.commands if command.program] == ["run exec"]
    said = {" ".join((*level.split(), word.name)): word.says for level, words in line.levels.items() for word in words}
    assert all(said.values()) and said["policy"] == cli.GROUPS["policy"]
    assert {name: said[" ".join(name)] for name in cli.COMMANDS} == {name: row[1] for name, row in cli.COMMANDS.items()}


def test_a_value_of_which_nobody_said_what_it_is_stops_it() -> None:
    with pytest.raises(ValueError, match="do --shape: BLOB is none of the values that KINDS knows"):
        gen.command("do", made(("--shape",), metavar="BLOB"))
    with pytest.raises(ValueError, match="do: THING is none"):
        gen.command("do", made(("things",), metavar="THING", nargs="+"))


def test_what_a_table_says_about_values_is_said_about_some_command() -> None:
    found = {value.name for command in gen.line().commands for value in command.arguments}
    found |= {option.value.name for command in gen.line().commands for option in command.options if option.value}
    assert set(gen.KINDS) - found == set()
    labels = {f"{command.name} {option.names[-1]}" for command in gen.line().commands for option in command.options}
    assert set(gen.WORDS) - labels == set() and set(gen.MODULES) - set(cli.COMMANDS) == set()


def test_the_text_of_an_option_is_its_help_as_it_is_shown() -> None:
    parser = made(("--size",), metavar="N", help="50%% of\n %(dest)s, as %(prog)s has it")
    assert gen.command("do", parser).options[-1].says == "50% of size, as aasm do has it"


def test_options_that_exclude_each_other_are_known() -> None:
    parser = made()
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-a", "--all", action="store_true")
    group.add_argument("--one", metavar="N", action="append")
    group.add_argument("--none", action="store_true")
    options = {option.names[-1]: option.beside for option in gen.command("do", parser).options}
    assert options == {
        "--help": ("-h", "--help"), "--all": ("-a", "--all", "--one", "--none"), "--one": ("-a", "--all", "--none"),
        "--none": ("--none", "-a", "--all", "--one"),
    }  # fmt: skip


def option(name: str, *words: str) -> Line:
    value = Value("x", Kind.WORDS, tuple(Word(word, "") for word in words)) if words else None
    return Line({}, (Command("do", (Option((name,), "", value, ()),), (), False, False),))


@pytest.mark.parametrize(
    "line",
    [
        option("--a b"), option("--a;b"), option("--$(x)"), option("--"), option("-ab"), option("--a\n"), option(""),
        option("--a", "x y"), option("--a", ""), option("--a", "-x"), option("--a", "x\ny"), option("--a", "x\0"),
        Line({"": (Word("a'b", ""),)}, ()), Line({"a(": (Word("b", ""),)}, ()),
        Line({}, (Command("a) b", (), (), False, False),)),
    ],
    ids=repr,
)  # fmt: skip
def test_a_name_that_a_shell_could_take_for_more_is_refused(line: Line) -> None:
    with pytest.raises(ValueError, match="cannot be offered"):
        checked(line)
    for script in SCRIPTS.values():
        with pytest.raises(ValueError, match="cannot be offered"):
            script("", line)


def test_a_text_is_quoted_as_the_shell_reads_it() -> None:
    assert quoted("it's \\n") == "'it'\\''s \\n'"
    assert fish_quoted("it's \\n") == "'it\\'s \\\\n'"
