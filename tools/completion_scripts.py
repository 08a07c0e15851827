# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What may stand behind `aasm`, as values, and the scripts that offer it in bash, zsh and fish; pure.

Names go into a script as they are, and are refused when a shell could see more than a name in one; all other text is
quoted. What a script holds beside its tables is in tools/completions/, in the language of each shell.
"""

from __future__ import annotations

import enum
import re
from typing import Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple


class Kind(enum.Enum):
    """What a value is."""

    NOTHING = "a text of which nothing is known"
    FILES = "a path"
    FOLDERS = "a directory"
    PROGRAMS = "a program"
    VARIABLES = "the name of a variable of the environment"
    WORDS = "one of some words"


class Word(NamedTuple):
    """A word that may stand somewhere, and what it is."""

    name: str
    says: str


class Value(NamedTuple):
    """A value as usage texts call it; `words` for Kind.WORDS alone."""

    name: str
    kind: Kind
    words: Tuple[Word, ...]


class Option(NamedTuple):
    """An option by all its names. It is not offered where one of `beside` stands."""

    names: Tuple[str, ...]
    says: str
    value: Optional[Value]
    beside: Tuple[str, ...]


class Command(NamedTuple):
    """A command by its words. `repeats`: the last argument may be repeated; `program`: another one follows `--`."""

    name: str
    options: Tuple[Option, ...]
    arguments: Tuple[Value, ...]
    repeats: bool
    program: bool


class Line(NamedTuple):
    """Everything that may stand behind `aasm`: `levels` by the words before, and the whole commands."""

    levels: Mapping[str, Tuple[Word, ...]]
    commands: Tuple[Command, ...]


MADE = "# Made by tools/gen_completions.py of the parsers of the commands and of tools/completions: edit those.\n"
SIGN_SAYS = "the program and its arguments follow"
_NAME = re.compile(r"(?:-[a-zA-Z]|(?:--)?[a-z0-9]+(?:-[a-z0-9]+)*)")


def checked(line: Line) -> Line:
    """Return the same; ValueError for a name that a shell could take for more, or a word that is none."""
    names = [name for level in line.levels for name in level.split()]
    names += [word.name for words in line.levels.values() for word in words]
    for command in line.commands:
        names += command.name.split()
        names += [name for option in command.options for name in (*option.names, *option.beside)]
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    words = (word.name for _, value in _valued(line) for word in value.words)
    wrong += [word for word in words if not word.isprintable() or word.split() != [word] or word[0] in "-#"]
    if wrong:
        raise ValueError(f"cannot be offered as they are: {wrong}")
    return line


def _valued(line: Line) -> Iterator[Tuple[str, Value]]:
    """Yield every option that takes a value by each of its names, behind the words of its command."""
    for command in line.commands:
        for option in command.options:
            if option.value is not None:
                yield from ((f"{command.name} {name}", option.value) for name in option.names)


def quoted(text: str) -> str:
    """Return a text as bash and zsh read it."""
    return "'" + text.replace("'", "'\\''") + "'"


def cases(rows: Mapping[str, Iterable[str]]) -> str:
    """Return the branches of a `case`; those with the same lines are one."""
    same: Dict[Tuple[str, ...], List[str]] = {}
    for label, lines in rows.items():
        same.setdefault(tuple(lines), []).append(quoted(label))
    indent = " " * 8
    return "".join(
        f"{indent}{' | '.join(labels)})\n{''.join(f'{indent}    {line}{chr(10)}' for line in lines)}{indent}    ;;\n"
        for lines, labels in same.items()
    )


def filled(part: str, **tables: str) -> str:
    """Return a script: in its constant part each line `# table: NAME` stands for the table of that name."""
    found = {"made": MADE, **tables}
    return re.sub(r"^ *# table: (\w+)\n", lambda match: found[match[1]], part, flags=re.MULTILINE)


# --- bash -------------------------------------------------------------------------------------------

_BASH = {
    Kind.NOTHING: ":",
    Kind.FILES: "compopt -o default",
    Kind.FOLDERS: "compopt -o dirnames",
    Kind.PROGRAMS: "_aasm_programs",
    Kind.VARIABLES: "_aasm_variables",
}


def bash(part: str, line: Line) -> str:
    """Return the script for bash, of which `part` is the part that is no table."""
    checked(line)
    levels = {name: [f"names=({' '.join(word.name for word in words)})"] for name, words in line.levels.items()}
    return filled(
        part,
        levels=cases(levels),
        options=cases({item.name: _bash_options(item) for item in line.commands}),
        values=cases({label: [_bash_value(value)] for label, value in _valued(line)}),
        arguments=cases({item.name: [_bash_value(item.arguments[-1])] for item in line.commands if item.arguments}),
        programs=cases({item.name: ["return 0"] for item in line.commands if item.program}),
    )


def _bash_options(command: Command) -> Iterator[str]:
    for option in command.options:
        yield " ".join(("_aasm_option", option.names[-1], *option.beside))
    if command.program:
        yield "_aasm_offer --"


def _bash_value(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return " ".join(("_aasm_offer", *(quoted(word.name) for word in value.words)))
    return _BASH[value.kind]


# --- zsh --------------------------------------------------------------------------------------------

_ZSH = {
    Kind.NOTHING: " ",
    Kind.FILES: "_files",
    Kind.FOLDERS: "_files -/",
    Kind.PROGRAMS: "_command_names -e",
    Kind.VARIABLES: "_parameters -g '*export*'",
}


def zsh(part: str, line: Line) -> str:
    """Return the script for zsh, of which `part` is the part that is no table."""
    valued = tuple(_valued(checked(line)))
    return filled(
        part,
        levels=cases({name: _zsh_list("names", _zsh_words(words)) for name, words in line.levels.items()}),
        words=cases({label: _zsh_list("names", _zsh_words(value.words)) for label, value in valued if value.words}),
        options=cases({item.name: _zsh_list("specs", _zsh_specs(item)) for item in line.commands}),
        programs=cases({item.name: ["return 0"] for item in line.commands if item.program}),
    )


def _zsh_list(name: str, texts: Iterable[str]) -> List[str]:
    return [f"{name}=(", *(f"    {quoted(text)}" for text in texts), ")"]


def _zsh_words(words: Sequence[Word]) -> Iterator[str]:
    """Yield words as _describe takes them."""
    for word in words:
        yield escaped(word.name, ":") + (f":{word.says}" if word.says else "")


def _zsh_specs(command: Command) -> Iterator[str]:
    """Yield options and arguments as _arguments takes them."""
    if command.program:
        yield f"--[{SIGN_SAYS}]"
    for option in command.options:
        beside = f"({' '.join(option.beside)})" if option.beside else ""
        again = "" if option.names[-1] in option.beside else "*"
        takes = "" if option.value is None else _zsh_value(option.value, f"{command.name} {option.names[-1]}")
        for name in option.names:
            yield f"{beside}{again}{name}{takes and '='}[{escaped(option.says, '[]:')}]{takes}"
    for number, argument in enumerate(command.arguments, 1):
        last = command.repeats and number == len(command.arguments)
        yield ("*" if last else str(number)) + _zsh_value(argument, command.name)


def _zsh_value(value: Value, label: str) -> str:
    action = f"{{_aasm_words {label}}}" if value.kind is Kind.WORDS else _ZSH[value.kind]
    return f":{escaped(value.name, ':').replace('%', '%%')}:{action}"


def escaped(text: str, signs: str) -> str:
    """Return a text with a backslash before each backslash and each of the signs."""
    return "".join("\\" * (sign in signs or sign == "\\") + sign for sign in text)


# --- fish -------------------------------------------------------------------------------------------

_FISH = {
    Kind.NOTHING: "-x",
    Kind.FILES: "-r -F",
    Kind.FOLDERS: "-x -a '(__aasm_folders)'",
    Kind.PROGRAMS: "-x -a '(__aasm_programs)'",
    Kind.VARIABLES: "-x -a '(set -nx)'",
}


def fish(part: str, line: Line) -> str:
    """Return the script for fish, of which `part` is the part that is no table."""
    checked(line)
    lines = [*_fish_levels(line), *(text for item in line.commands for text in _fish_command(item))]
    words = "".join(_fish_words(label, value) for label, value in _valued(line) if value.words)
    return filled(part, words=words, lines="".join(f"complete -c aasm {text}\n" for text in lines))


def _fish_levels(line: Line) -> Iterator[str]:
    for level, words in line.levels.items():
        for word in words:
            what = f"-l {word.name[2:]}" if word.name.startswith("--") else f"-a {word.name}"
            yield f"-n {fish_quoted(f'__aasm_level {level}'.rstrip())} {what} -d {fish_quoted(word.says)}"


def _fish_command(command: Command) -> Iterator[str]:
    here = f"__aasm_command {command.name}"
    for option in command.options:
        yield f"-n {fish_quoted(here + _fish_beside(option))} {_fish_option(command, option)}"
    if command.program:
        yield f"-n {fish_quoted(f'{here}; and __aasm_without --')} -a -- -d {fish_quoted(SIGN_SAYS)}"
        yield f"-n {fish_quoted(f'{here}; and not __aasm_without --')} -a '(__aasm_behind)'"
    for argument in command.arguments[-1:]:
        yield f"-n {fish_quoted(here)} {_FISH[argument.kind].replace('-r ', '')}"


def _fish_beside(option: Option) -> str:
    typed = "" if option.value is None else " --typed"
    return f"; and __aasm_without{typed} {' '.join(option.beside)}" if option.beside else ""


def _fish_option(command: Command, option: Option) -> str:
    names = (f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = [] if option.value is None else [_fish_value(option.value, f"{command.name} {option.names[-1]}")]
    return " ".join((*names, *value, "-d", fish_quoted(option.says)))


def _fish_value(value: Value, label: str) -> str:
    return f"-x -a '({_fish_name(label)})'" if value.kind is Kind.WORDS else _FISH[value.kind]


def _fish_name(label: str) -> str:
    return "__aasm_" + re.sub(r"\W+", "_", label)


def _fish_words(label: str, value: Value) -> str:
    lines = (f"    printf '%s\\t%s\\n' {fish_quoted(word.name)} {fish_quoted(word.says)}\n" for word in value.words)
    return f"function {_fish_name(label)}\n{''.join(lines)}end\n\n"


def fish_quoted(text: str) -> str:
    """Return a text as fish reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: Mapping[str, Callable[[str, Line], str]] = {"aasm.bash": bash, "_aasm": zsh, "aasm.fish": fish}
