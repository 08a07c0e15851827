#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Write docs/completions/: what bash, zsh and fish offer behind `aasm`, made of the parsers that the commands use.

    python tools/gen_completions.py            write what changed
    python tools/gen_completions.py --check    write nothing; print what would change

What a value is, its metavar says: one that the table below does not know stops the generator, so that nobody adds an
option without saying how it is completed. How the scripts are written is in tools/completion_scripts.py; what they hold
beside tables in tools/completions/.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Dict, Iterator, List, Mapping, Tuple

ROOT = Path(__file__).resolve().parent.parent
for _place in (str(ROOT / "tools"), str(ROOT)):  # the first is missing under python -I
    if _place not in sys.path:
        sys.path.insert(0, _place)

import generated  # noqa: E402
from completion_scripts import SCRIPTS, Command, Kind, Line, Option, Value, Word  # noqa: E402

from aasm import cli  # noqa: E402
from aasm.backends import IDS  # noqa: E402
from aasm.policy.templates import TEMPLATES  # noqa: E402

FOLDER, PARTS = "docs/completions", "tools/completions"
# The module with the parser of a command, when it is not the one of its name.
MODULES: Mapping[Tuple[str, ...], str] = {
    ("run", "exec"): "aasm.cli.options",
    ("receipt", "verify"): "aasm.receipt.verify",
}
KINDS = {
    "PATH": Kind.FILES,
    "FILE": Kind.FILES,
    "RECEIPT": Kind.FILES,
    "A": Kind.FILES,
    "B": Kind.FILES,
    "DIR": Kind.FOLDERS,
    "X": Kind.PROGRAMS,
    "NAME[=VALUE]": Kind.VARIABLES,
    "N": Kind.NOTHING,
    "ID": Kind.NOTHING,
    "NAME": Kind.NOTHING,
    "JSON": Kind.NOTHING,
    "HOST:PORT": Kind.NOTHING,
}
# Options whose parsers take any text, and the command afterwards only one of these.
WORDS: Mapping[str, Tuple[Word, ...]] = {
    "run exec --isolation-backend": tuple(Word(name, "") for name in IDS),
    "policy new --template": tuple(Word(name, says) for name, says in TEMPLATES.items()),
}


def parser(words: Tuple[str, ...]) -> argparse.ArgumentParser:
    """Return the parser of the command of these words."""
    module = importlib.import_module(MODULES.get(words) or f"aasm.cli.{'_'.join(words).replace('-', '_')}")
    made = (getattr(module, "_parser", None) or module.parser)()
    assert isinstance(made, argparse.ArgumentParser)
    return made


def line() -> Line:
    """Return what may stand behind `aasm`."""
    levels: Dict[str, List[Word]] = {"": [], **{group: [] for group in _groups()}}
    for words, (_, says) in cli.COMMANDS.items():
        for depth, name in enumerate(words):
            known = {word.name for word in levels[" ".join(words[:depth])]}
            about = says if depth == len(words) - 1 else cli.GROUPS.get(name, says)
            levels[" ".join(words[:depth])] += [Word(name, about)] if name not in known else []
    levels[""] += [Word(name, says) for name, says in cli.ALONE.items()]
    for group in _groups():
        levels[group].append(Word("--help", cli.ALONE["--help"]))
    commands = tuple(command(" ".join(words), parser(words)) for words in cli.COMMANDS)
    return Line({name: tuple(found) for name, found in levels.items()}, commands)


def _groups() -> List[str]:
    return list(dict.fromkeys(words[0] for words in cli.COMMANDS if len(words) > 1))


def command(name: str, made: argparse.ArgumentParser) -> Command:
    """Return what may stand behind the words of one command."""
    options = tuple(_option(name, made, action) for action in made._actions if action.option_strings)
    arguments = [action for action in made._actions if not action.option_strings]
    return Command(
        name,
        options,
        tuple(_value(name, action) for action in arguments),
        repeats=any(action.nargs in ("+", "*") for action in arguments),
        program=" -- PROGRAM " in made.format_usage(),
    )


def _option(name: str, made: argparse.ArgumentParser, action: argparse.Action) -> Option:
    return Option(
        tuple(action.option_strings),
        " ".join(made._get_formatter()._expand_help(action).split()) if action.help else "",
        None if action.nargs == 0 else _value(name, action),
        tuple(_beside(made, action)),
    )


def _beside(made: argparse.ArgumentParser, action: argparse.Action) -> Iterator[str]:
    """Yield the options beside which `action` is an error or changes nothing: itself, once, and what excludes it."""
    if not isinstance(action, argparse._AppendAction):
        yield from action.option_strings
    for group in made._mutually_exclusive_groups:
        if action in group._group_actions:
            yield from (name for one in group._group_actions if one is not action for name in one.option_strings)


def _value(name: str, action: argparse.Action) -> Value:
    label = " ".join((name, *action.option_strings[-1:]))
    shown = str(action.metavar or (action.option_strings or [action.dest])[-1].lstrip("-"))
    words = WORDS.get(label) or tuple(Word(str(choice), "") for choice in action.choices or ())
    if words:
        return Value(shown, Kind.WORDS, words)
    if shown not in KINDS:
        raise ValueError(f"{label}: {shown} is none of the values that KINDS knows how to complete")
    return Value(shown, KINDS[shown], ())


def scripts(root: Path) -> Dict[str, str]:
    """Return {name: text} of each script, from the parsers of this code and the parts in the tree at `root`."""
    found = line()
    parts = {name: (root / PARTS / name).read_text(encoding="utf-8") for name in SCRIPTS}
    return {f"{FOLDER}/{name}": script(parts[name], found) for name, script in SCRIPTS.items()}


def main(argv: List[str], root: Path = ROOT) -> int:
    """Write the scripts of the tree at `root`, or compare them with `--check`; return the exit code."""
    return generated.run("tools/gen_completions.py", __doc__, scripts, argv, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
