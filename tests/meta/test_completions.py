# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The completions in docs/completions work in the shells they are for: bash, zsh and fish are started and asked.

What is expected comes from the table of commands and from the parsers: a new command is tried as soon as it is there.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

import gen_completions as gen
import pytest
from completion_scripts import SCRIPTS, Command, Kind, Line, Option, Value, Word
from project import ROOT
from support.completing import AtTerminal, Shell, shell, words

from aasm import cli
from aasm.backends import IDS
from aasm.policy.templates import TEMPLATES

WRITTEN = ROOT / gen.FOLDER
BASH_COMPLETION = Path("/usr/share/bash-completion/bash_completion")
ODD = (
    "a b.yaml", "it's", 'say"so"', "x[1].{y,z}", "dollar$HOME", "`id`", "new\nline", "star*", "back\\slash", "é",
    "-dash",
)  # fmt: skip

# `own` has a completion of its own, and `alone` has none.
OWN = {
    "bash": "_own() { COMPREPLY=($(compgen -W '--own-option own-word' -- \"$2\")); }; complete -F _own own",
    "zsh": "_own() { _arguments '--own-option[x]' '*:word:(own-word)' }; compdef _own own",
    "fish": "complete -c own -f -l own-option; complete -c own -f -a own-word",
}


def shells(*names: str) -> List[object]:
    """Return parameters: each of these shells, skipped where it is not installed."""
    missing = {name: pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name}") for name in names}
    return [pytest.param(name, marks=missing[name]) for name in names]


def started(name: str, scripts: Path, folder: Path, more: str = "") -> Iterator[Shell]:
    made = shell(name, scripts, folder, "\n".join((OWN[name], more)))
    made.program("own")
    made.program("alone")
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="module", params=shells("bash", "zsh", "fish"))
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    yield from started(request.param, WRITTEN, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def files(asked: Shell) -> Iterator[Path]:
    """An empty directory, in which the shell is."""
    folder = asked.folder / "files"
    yield folder
    for path in folder.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()


def options(command: Tuple[str, ...]) -> Dict[str, argparse.Action]:
    """Return the options of a command by their last names."""
    return {action.option_strings[-1]: action for action in gen.parser(command)._actions if action.option_strings}


def takers(*metavars: str) -> List[str]:
    """Return the command lines whose next word is a value with one of these metavars, an option's or an argument."""
    found = []
    for command in cli.COMMANDS:
        for action in gen.parser(command)._actions:
            if action.nargs != 0 and action.metavar in metavars:
                found.append(" ".join(("aasm", *command, *action.option_strings[-1:])))
    return found


# --- commands and options ---------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0, 1])
def test_words_of_commands_are_offered_one_after_the_other(asked: Shell, depth: int) -> None:
    for before in sorted({command[:depth] for command in cli.COMMANDS if len(command) > depth}):
        below = {command[depth] for command in cli.COMMANDS if command[:depth] == before and len(command) > depth}
        line = " ".join(("aasm", *before, ""))
        assert {word for word in asked.offered(line) if word[0] != "-"} == below
        assert asked.offered(line + "--") == (set(cli.ALONE) if not before else {"--help"})
        for word in below:
            assert word in asked.offered(line + word[:2])
    assert asked.offered("aasm nothing ") == asked.offered("aasm run nothing ") == set()


@pytest.mark.parametrize("command", cli.COMMANDS, ids=" ".join)
def test_every_option_of_a_command_is_offered(asked: Shell, command: Tuple[str, ...]) -> None:
    line, names = " ".join(("aasm", *command, "")), list(options(command))
    assert words(asked.offered(line + "-")) == sorted(names)
    for name, offered in zip(names, asked.all_offered([line + name[:-1] for name in names])):
        assert name in offered


@pytest.mark.parametrize("command", cli.COMMANDS, ids=" ".join)
def test_an_option_that_may_be_given_once_is_not_offered_again(asked: Shell, command: Tuple[str, ...]) -> None:
    every = options(command)
    groups = gen.parser(command)._mutually_exclusive_groups
    exclusive = [{one.option_strings[-1] for one in group._group_actions} for group in groups]
    wanted = {}
    for name, action in every.items():
        gone = {name}.union(*(group for group in exclusive if name in group))
        left = set(every) if isinstance(action, argparse._AppendAction) else set(every) - gone
        for text in [name] if action.nargs == 0 else [f"{name} 1", f"{name}=1"]:
            wanted[" ".join(("aasm", *command, text, "--"))] = sorted(left)
    assert dict(zip(wanted, map(words, asked.all_offered(list(wanted))))) == wanted


def test_the_sign_is_offered_where_a_program_follows_and_nowhere_else(asked: Shell) -> None:
    assert "--" in asked.offered("aasm run exec ")
    assert "--" in asked.offered("aasm run exec --system ")
    for command in cli.COMMANDS:
        if command[0] != "run":
            assert "--" not in asked.offered(" ".join(("aasm", *command, "--")))


# --- values -----------------------------------------------------------------------------------------


def chosen() -> Dict[str, Set[str]]:
    found = {"run exec --isolation-backend": set(IDS), "policy new --template": set(TEMPLATES)}
    for command in cli.COMMANDS:
        for name, action in options(command).items():
            if action.choices:
                found[" ".join((*command, name))] = set(map(str, action.choices))
    return found


@pytest.mark.parametrize("option", chosen())
def test_a_value_is_one_of_its_choices(asked: Shell, option: str) -> None:
    wanted = chosen()[option]
    assert len(wanted) > 1
    for sign in " =":
        head = option.split(" ")[-1] + "=" if sign == "=" and asked.name == "fish" else ""  # fish offers the whole word
        assert asked.offered(f"aasm {option}{sign}") == {head + name for name in wanted}
    first = sorted(wanted)[0]
    before = option.split(" ")
    assert asked.typed(f"aasm {option} {first[:-1]}") == (*before, first)
    assert asked.typed(f"aasm {option}={first[:-1]}") == (*before[:-1], f"{before[-1]}={first}")


def test_a_path_is_completed_whatever_it_is_named(asked: Shell, files: Path) -> None:
    lines = takers("PATH", "FILE", "RECEIPT")
    assert len(lines) > 10
    for number, line in enumerate(lines):
        name = f"p-{number}-{ODD[number % len(ODD)]}"
        (files / name).write_text("", encoding="utf-8")
        assert asked.typed(f"{line} p-{number}-") == (*line.split(" ")[1:], name)
        if "--" in line:
            assert asked.typed(f"{line}=p-{number}-")[-1] == f"{line.split(' ')[-1]}={name}"


@pytest.mark.parametrize("name", ODD)
def test_a_file_with_an_odd_name_reaches_the_command(asked: Shell, files: Path, name: str) -> None:
    (files / f"odd{name}").write_text("", encoding="utf-8")
    assert asked.typed("aasm receipt verify od") == ("receipt", "verify", f"odd{name}")


def test_a_directory_is_completed_and_no_file_is(asked: Shell, files: Path) -> None:
    for number, line in enumerate(takers("DIR")):
        (files / f"d{number} a file").write_text("", encoding="utf-8")
        (files / f"d{number} it's").mkdir()
        for sign, head in ((" ", ""), ("=", line.split(" ")[-1] + "=")):
            told = asked.typed(f"{line}{sign}d{number}")[-1]
            assert told.rstrip("/") == f"{head}d{number} it's"  # zsh takes the sign away again


def test_both_policies_of_diff_are_files(asked: Shell, files: Path) -> None:
    (files / "one.yaml").write_text("", encoding="utf-8")
    assert asked.typed("aasm policy diff on")[-1] == "one.yaml"
    assert asked.typed("aasm policy diff one.yaml on")[2:] == ("one.yaml", "one.yaml")


def test_a_variable_of_the_environment_is_offered(asked: Shell) -> None:
    assert asked.offered("aasm run exec --env AASM_TRY_") == {"AASM_TRY_ME"}
    assert asked.typed("aasm run exec --env=AASM_TRY_")[-1] == "--env=AASM_TRY_ME"


def test_a_program_that_is_asked_about_is_offered(asked: Shell) -> None:
    assert asked.offered("aasm policy explain --program alo") == {"alone"}
    assert asked.typed("aasm policy explain --program=alo")[-1] == "--program=alone"


def test_where_nothing_is_known_nothing_is_offered(asked: Shell, files: Path) -> None:
    (files / "a-file").write_text("", encoding="utf-8")
    lines = takers("N", "ID", "NAME", "JSON", "HOST:PORT")
    assert len(lines) > 10
    unknown = [f"{line} " for line in sorted(set(lines) - {f"aasm {option}" for option in chosen()})]
    assert [line for line, offered in zip(unknown, asked.all_offered(unknown)) if offered] == []
    for line in ("aasm policy show ", "aasm policy schema ", "aasm run exec "):
        assert {word for word in asked.offered(line) if word[0] != "-"} == set()
    if isinstance(asked, AtTerminal):
        assert asked.typed("aasm run exec --max-pids a-f")[-1] == "a-f"


# --- the program behind the sign --------------------------------------------------------------------


def test_behind_the_sign_the_program_is_completed_and_then_its_own_arguments(asked: Shell, files: Path) -> None:
    (files / "its file").write_text("", encoding="utf-8")
    for before in ("aasm run exec --", "aasm run exec --isolation=process --read a:b --env A=b --"):
        given = tuple(before.split(" ")[1:])
        assert asked.offered(f"{before} alo") == {"alone"}
        assert asked.typed(f"{before} alone it") == (*given, "alone", "its file")
        assert asked.offered(f"{before} own --") == {"--own-option"}
        assert asked.offered(f"{before} own own-") == {"own-word"}
        assert asked.offered(f"{before} own a=b x:y own-") == {"own-word"}
        assert asked.typed(f"{before} own --own") == (*given, "own", "--own-option")
        nested = asked.offered(f"{before} aasm run exec --isolation ")
        assert nested == {"none", "auto", "process"}


@pytest.mark.parametrize("function", ["_command_offset", "_comp_command_offset"])
@pytest.mark.parametrize("name", shells("bash"))
def test_bash_leaves_the_program_to_bash_completion(name: str, function: str, tmp_path: Path) -> None:
    stub = f"{function}() {{ COMPREPLY=(\"from-$1\"); }}"
    for made in started(name, WRITTEN, tmp_path, stub):
        assert made.offered("aasm run exec -- own o") == {"from-4"}
        assert made.offered("aasm run exec --home=real -- own o") == {"from-7"}  # as bash counts: = is a word


@pytest.mark.skipif(not BASH_COMPLETION.exists(), reason="no bash-completion")
@pytest.mark.parametrize("name", shells("bash"))
def test_with_bash_completion_everything_is_still_completed(name: str, tmp_path: Path) -> None:
    for made in started(name, WRITTEN, tmp_path, f". {BASH_COMPLETION}"):
        (tmp_path / "files" / "its file").write_text("", encoding="utf-8")
        assert made.offered("aasm run exec --home=") == {"private", "real"}
        assert made.typed("aasm policy validate it")[-1] == "its file"
        assert made.offered("aasm run exec --home=real -- own --") == {"--own-option"}
        assert made.offered("aasm run exec -- alo") == {"alone"}
        assert made.typed("aasm run exec -- alone it")[-1] == "its file"


# --- what is on the line, and what is in the texts --------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "aasm run exec --workdir $(touch ran)", "aasm run exec --workdir=`touch ran`", "aasm $(touch ran) ",
        "aasm run exec $(touch ran) --", "aasm run exec -- $(touch ran)", "aasm policy validate '$(touch ran)",
        "aasm run exec --env \"$(touch ran)", "aasm run exec -- alone $(touch ran)", "aasm \"(touch ran)\" ",
        "aasm policy explain --program $(touch ran)", "aasm 'run exec) touch ran ;;' ",
        "aasm run exec --x[$(touch ran)] -",
    ],
)  # fmt: skip
def test_nothing_on_the_line_is_carried_out(asked: Shell, files: Path, line: str) -> None:
    """Behind none of it a slash stands: what stands before one zsh expands itself, for every command."""
    asked.offered(line)
    assert list(files.iterdir()) == []


@pytest.mark.parametrize("name", shells("bash"))
@pytest.mark.parametrize("more", ["set -u", "IFS=a", "COMP_WORDBREAKS=' '", "shopt -s nocasematch nullglob; set -f"])
def test_settings_of_the_user_change_nothing_in_bash(name: str, more: str, tmp_path: Path) -> None:
    for made in started(name, WRITTEN, tmp_path, more):
        assert made.typed("aasm run exec --isolation=pro")[-1] == "--isolation=process"
        assert made.typed("aasm run exec --read 'a b' --home re")[-1] == "real"
        assert words(made.offered("aasm policy explain --read=x --w")) == ["--workdir"]


@pytest.mark.parametrize("name", shells("zsh"))
@pytest.mark.parametrize("more", ["setopt ksh_arrays sh_word_split", "setopt nomatch glob_subst", "setopt no_unset"])
def test_settings_of_the_user_change_nothing_in_zsh(name: str, more: str, tmp_path: Path) -> None:
    for made in started(name, WRITTEN, tmp_path, more):
        assert made.typed("aasm run exec --isolation=pro")[-1] == "--isolation=process"
        assert made.offered("aasm run exec --home=real -- own --") == {"--own-option"}


SIGNS = "it's \"so\" [x] $(touch ran) `touch ran` {a,b} \\ \\n %d %% a:b ; | & < > ! # ~ * ? ^ @ é"
# Words to choose from; each is offered behind a letter of its own.
PICKS = dict(
    a="it's", b='say"so"', c="$(touch:ran)", d="`x`", e="x:y", f="[z]", g="back\\slash", h="{1,2}", i="~", j="*",
    k="%d", l=";ls", m="é", n="=b", o="!1",
)  # fmt: skip


def hostile() -> Line:
    """Return a command whose every text is full of what means something to a shell."""
    pick = Value(SIGNS, Kind.WORDS, tuple(Word(first + text, SIGNS) for first, text in PICKS.items()))
    options = (
        Option(("-p", "--pick"), SIGNS, pick, ("-p", "--pick")),
        Option(("--file",), SIGNS, Value(SIGNS, Kind.FILES, ()), ("--number",)),
        Option(("--number",), SIGNS, Value(SIGNS, Kind.NOTHING, ()), ("--file",)),
    )
    command = Command("make", options, (Value(SIGNS, Kind.FILES, ()),), True, False)
    return Line({"": (Word("make", SIGNS), Word("--about", SIGNS))}, (command,))


@pytest.fixture(params=shells("bash", "zsh", "fish"))
def puzzled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    """A shell with completions of texts that mean something to it."""
    for name, script in SCRIPTS.items():
        part = (ROOT / gen.PARTS / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(script(part, hostile()), encoding="utf-8")
    yield from started(request.param, tmp_path, tmp_path)


def test_no_text_breaks_a_script(puzzled: Shell) -> None:
    assert puzzled.typed("aasm ma") == ("make",)
    assert puzzled.offered("aasm make -") - {"-p"} == {"--file", "--number", "--pick"}
    assert words(puzzled.offered("aasm make -p 1 --")) == ["--file", "--number"]
    assert words(puzzled.offered("aasm make --number 1 --")) == ["--number", "--pick"]
    assert words(puzzled.offered("aasm make --file 1 --")) == ["--file", "--pick"]
    if isinstance(puzzled, AtTerminal) and puzzled.name == "zsh":
        assert SIGNS in puzzled.screen
    for first, text in PICKS.items():
        assert puzzled.typed(f"aasm make --pick {first}")[-1] == first + text
    folder = puzzled.folder / "files"
    (folder / "of mine").write_text("", encoding="utf-8")
    assert puzzled.typed("aasm make --file of")[-1] == "of mine"
    assert puzzled.typed("aasm make of")[-1] == "of mine"
    assert [path.name for path in folder.iterdir()] == ["of mine"]


