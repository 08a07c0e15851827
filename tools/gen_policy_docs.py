#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Write the parts of docs/policy-format.md and docs/man/aasm-policy.5 that tables of the code say already.

    python tools/gen_policy_docs.py            write what changed
    python tools/gen_policy_docs.py --check    write nothing; print what would change

A part stands between two comments, `made: NAME` and `made: end`; what is outside them is kept as it was written. It is
made once, in neither language: sentences, tables and items whose code stands between backticks.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple, Union

ROOT = Path(__file__).resolve().parent.parent
for _place in (str(ROOT / "tools"), str(ROOT)):  # the first is missing under python -I
    if _place not in sys.path:
        sys.path.insert(0, _place)

import generated  # noqa: E402

from aasm.backends.native.floor import REFUSED_CALLS  # noqa: E402
from aasm.cli import COMMANDS  # noqa: E402
from aasm.model import privileges  # noqa: E402
from aasm.model.domains import DOMAINS  # noqa: E402
from aasm.model.requirements import RequirementPosture  # noqa: E402
from aasm.policy import (  # noqa: E402
    calls,
    cascade,
    expression,
    faults,
    hosts,
    kinds,
    load,
    locate,
    lowering,
    node,
    places,
    reader,
    scalars,
    strict_json,
    toml_structure,
    vocabulary,
)
from aasm.policy.descriptions import DESCRIPTIONS, LEASE, TOOL  # noqa: E402
from aasm.policy.document import validate  # noqa: E402
from aasm.policy.schema import KEYS, LEASE_KEYS, SECTIONS, TOOL_KEYS, Join, Key  # noqa: E402
from aasm.policy.values import Policy  # noqa: E402

PAGE, MANUAL = "docs/policy-format.md", "docs/man/aasm-policy.5"
_TOOLS_AND_LEASES = ((TOOL, TOOL_KEYS), (LEASE, LEASE_KEYS))
DESCRIBED: Mapping[str, Key] = {
    **KEYS, **{above + name: key for above, keys in _TOOLS_AND_LEASES for name, key in keys.items()},
}  # fmt: skip
WORD = {join: join.name.lower() for join in Join}
NOTHING = "nothing"


class Table(NamedTuple):
    """Rows below a head. On the manual page each row is an entry under its first cell."""

    head: Tuple[str, ...]
    rows: Tuple[Tuple[str, ...], ...]


Part = Union[str, List[str], Table]  # a sentence, several below each other, or a table


def code(text: str) -> str:
    """Return text as code."""
    return f"`{text}`"


def listed(names: Iterable[str]) -> str:
    """Return names as code, divided by commas."""
    return ", ".join(map(code, names))


# --- the format -------------------------------------------------------------------------------------


def sections() -> Part:
    """Say which sections a document has."""
    return f"The sections are {listed(SECTIONS)}."


def formats() -> Part:
    """Say which format a file with each suffix is read as."""
    return Table(("suffix", "format"), tuple((code(name), reader._SUFFIXES[name].upper()) for name in node.SUFFIXES))


def enough() -> Part:
    """Say which keys state something that a boundary has to hold; what capabilities do has a table of its own."""
    names = [label for label in KEYS if not label.startswith("capabilities.") and _required(label)]
    return f"Enough is one statement of {listed(names)}, or of `capabilities` where it takes a domain away."


def _required(label: str) -> bool:
    found = lowering.lower(_policy(DESCRIPTIONS[label].example)).requirements
    return any(item.posture is RequirementPosture.REQUIRED for item in found)


def _policy(text: str) -> Policy:
    policy = validate(reader.read_document(text.encode(), "example.yaml"), REFUSED_CALLS)
    return load.placed(policy, places.Places("/w", "/h", ("/usr",)))


def system() -> Part:
    """Say what `${system}` stands for."""
    return f"`${{system}}` stands for those of these paths that exist: {listed(places._SYSTEM)}."


def limits() -> Part:
    """Say what a reader takes at most."""
    rows = (
        ("a document", f"{node.MAX_BYTES >> 20} MiB"),
        ("maps and lists inside each other", f"{node.MAX_DEPTH} levels"),
        ("a whole number", f"2^{node.MAX_INTEGER.bit_length()}-1"),
        ("a number in YAML", f"{scalars._LONGEST_NUMBER} characters"),
        ("a number in JSON", f"{strict_json._LONGEST_NUMBER} characters"),
        ("a key in YAML", f"{node.MAX_KEY} characters"),
        ("a dotted key in TOML", f"{toml_structure._MAX_PARTS} parts"),
        ("a path", f"{places._LONGEST} bytes"),
        ("a host name", f"{hosts._LONGEST_NAME} characters"),
        ("a regular expression", f"{kinds._LONGEST_PATTERN} characters"),
        ("all regular expressions", f"{kinds.MOST_PATTERNS} characters, {kinds.SHORTEST} at least for each"),
        ("a condition", f"{expression.MAX_TEXT} characters, {expression.MAX_COMPARISONS} comparisons"),
        ("a field of a condition", f"{expression.MAX_PARTS} parts"),
        ("a decimal number in a condition", f"{expression.MAX_DIGITS} digits"),
        ("hosts times ports", f"{lowering.MOST} destinations"),
        ("what two lists have in common", f"{cascade.MOST} entries"),
        ("faults of one document that are told", str(faults.MOST_FAULTS)),
    )
    return Table(("of", "at most"), rows)


# --- several documents ------------------------------------------------------------------------------


def tiers() -> Part:
    """Say which tiers there are, in their order."""
    names = (vocabulary.GLOBAL_SCOPE, *(f"{prefix}NAME" for prefix in vocabulary.NAMED_SCOPES))
    return f"The tiers are {listed(names)}, the outermost first."


def joins() -> Part:
    """Say in which ways two statements become one."""
    return Table(("joined by", "of two statements counts"), tuple((code(WORD[join]), join.value) for join in Join))


def ladders() -> Part:
    """Say which of two words is the stricter one."""
    words = (*cascade._LADDERS, ("true", "false"))
    return f"From mild to strict: {'; '.join(map(listed, words))}."


# --- words and forms --------------------------------------------------------------------------------


def capabilities() -> Part:
    """Say which words `capabilities` has, and what a boundary takes away by each."""
    words = (*vocabulary.CAPABILITIES, *(f"{prefix}NAME" for prefix in vocabulary.NAMED_CAPABILITIES))
    rows = ((code(word), _denied("deny", {word}), _denied("allow", {*words} - {word})) for word in words)
    return Table(("word", "`capabilities.deny` takes away", "`capabilities.allow` without it takes away"), tuple(rows))


def _denied(key: str, words: Set[str]) -> str:
    found = lowering.lower(_policy(f"capabilities: {{{key}: {json.dumps(sorted(words))}}}")).denied
    return listed(domain.value for domain in DOMAINS if domain in found) or NOTHING


def domains() -> Part:
    """Say which capability domains there are, and which keys state each."""
    also = {domain: ("capabilities",) for domain in lowering.CAPABILITIES}
    keys = {domain: dict.fromkeys((*lowering.NODES.get(domain, ()), *also.get(domain, ()))) for domain in DOMAINS}
    return Table(("domain", "stated by"), tuple((code(name.value), listed(keys[name]) or NOTHING) for name in DOMAINS))


def kernel() -> Part:
    """Say which capabilities of the kernel a policy may name."""
    return f"A policy may name {listed(name for name in privileges.NAMES if name not in privileges.NEVER)}."


def never() -> Part:
    """Say which capabilities of the kernel a policy may not name, and why."""
    reasons: Dict[str, List[str]] = {}
    for name, reason in privileges.NEVER.items():
        reasons.setdefault(reason, []).append(name)
    return [f"{listed(names)}: {reason}." for reason, names in reasons.items()]


def durations() -> Part:
    """Say what a duration looks like, as its pattern does."""
    span = re.match(r"\[0-9\]\{1,(\d+)\} \?\(\?:(.+?)\)\(\?: \?.*\)\{0,(\d+)\}$", kinds.SPANS)
    assert span, "the pattern has another shape now: describe that"
    units = (name for unit in span[2].split("|") for name in ([unit[:-2], unit[:-1]] if unit.endswith("?") else [unit]))
    return (
        f"A duration is a number of up to {span[1]} digits and its unit, {int(span[3]) + 1} times at most: `30d`, "
        f"`12h 30m`, `2 weeks`. Units are {listed(units)}. A blank may stand before a unit and before a further number."
    )


def operators() -> Part:
    """Say which operators a condition has, and which literal each takes."""
    takes: Dict[str, List[str]] = {}
    for name, found in expression._OPERATORS.items():
        takes.setdefault("a list of one kind: " * found.listed + ", or ".join(found.takes), []).append(name)
    return [f"{listed(names)}: {literal}." for literal, names in takes.items()]


def groups() -> Part:
    """Say which groups of system calls there are."""
    rows = (
        (code(name), "all of the others" if name == calls.PROGRAM else ", ".join(members))
        for name, members in calls.GROUPS.items()
    )
    return Table(("group", "calls"), tuple(rows))


def floor() -> Part:
    """Say which calls are no addition of this project, and which no policy may name."""
    first = f"{listed(vocabulary.SYSCALLS)} are of the format itself, all other calls and the groups are *own*."
    return [first, f"No policy may name {listed(sorted(REFUSED_CALLS))}."]


# --- places and commands ----------------------------------------------------------------------------


def files() -> Part:
    """Say where a policy is looked for, in this order."""
    kind = {True: "A policy", False: "A directory of policies"}
    found = [f"{folder}/{name}" for folder in locate.folders("~") for name in locate._NAMES]
    return Table(("place", "is"), tuple((code(path), kind[path.endswith(node.SUFFIXES)]) for path in found))


def commands() -> Part:
    """Say what each command says, and what it takes, as their parsers do."""
    said = {words[1]: says for words, (_, says) in COMMANDS.items() if words[0] == "policy"}
    rows = ((code(f"aasm policy {name}"), said[name], listed(_taken(name)) or NOTHING) for name in said)
    return Table(("command", "says", "takes"), tuple(rows))


def _taken(name: str) -> Iterator[str]:
    """Yield the options and arguments of a command."""
    for action in importlib.import_module(f"aasm.cli.policy_{name}")._parser()._actions:
        if not isinstance(action, argparse._HelpAction):
            yield " ".join((*action.option_strings[:1], *([] if action.nargs == 0 else [str(action.metavar)])))


# --- the keys, in each language ---------------------------------------------------------------------


def keys() -> str:
    """Return a chapter for each key: effect, type, default, what acts on it, how it is joined, an example."""
    return "\n".join(_chapter(label) for label in DESCRIPTIONS)


def _chapter(label: str) -> str:
    item = DESCRIPTIONS[label]
    table = "".join(f"| {name} | {text} |\n" for name, text in _facts(label))
    return f"### `{label}`\n\n{item.effect}\n\n| | |\n|-|-|\n{table}\n```yaml\n{item.example}```\n"


def _facts(label: str) -> List[Tuple[str, str]]:
    item, key = DESCRIPTIONS[label], DESCRIBED.get(label)
    rows = [("when absent", item.default), ("what acts on it", item.held_by)]
    if key:
        own = " (*own*)" if key.own else ""
        rows = [("type", key.kind.words + own), *rows, ("joined by", WORD[key.join])]
    return rows


def entries() -> str:
    """Return the tagged paragraphs of the manual page, one for each key, in the language of man(7)."""
    return "".join(f".TP\n.B {roff(label)}\n{_paragraph(label)}" for label in DESCRIPTIONS)


def _paragraph(label: str) -> str:
    item = DESCRIPTIONS[label]
    lines = [item.effect, *(f"{name.capitalize()}: {text}." for name, text in _facts(label))]
    body = "".join(f"{roff(line)}\n" for line in lines)
    return f"{body}.IP\n.EX\n{verbatim(item.example)}.EE\n"


# --- languages --------------------------------------------------------------------------------------


def markdown(part: Part) -> str:
    """Return a part in Markdown."""
    if isinstance(part, str):
        return part + "\n"
    if isinstance(part, list):
        return "".join(f"- {sentence}\n" for sentence in part)
    lines = [part.head, ("-",) * len(part.head), *part.rows]
    return "".join(f"|{'|'.join(row)}|\n" if set(row) == {"-"} else f"| {' | '.join(row)} |\n" for row in lines)


def manual(part: Part) -> str:
    """Return a part in the language of man(7)."""
    if isinstance(part, str):
        return roff(part) + "\n"
    if isinstance(part, list):
        return "".join(f".IP \\(bu 2\n{roff(sentence)}\n" for sentence in part)
    return "".join(f".TP\n{roff(row[0])}\n{_cells(part.head[1:], row[1:])}" for row in part.rows)


def _cells(head: Sequence[str], row: Sequence[str]) -> str:
    """Return the cells behind the first; what one alone is about, the paragraph before the table says."""
    said = [cell if len(row) == 1 else f"{name.capitalize()}: {cell}" for name, cell in zip(head, row)]
    return "".join(f"{roff(cell)}.\n" for cell in said)


def roff(text: str) -> str:
    """Return text as roff prints it: a minus that can be copied, code in bold, no line that is taken for a request."""
    parts = text.replace("\\", r"\e").replace("-", r"\-").split("`")
    made = "".join(f"\\fB{_ascii(part)}\\fP" if number % 2 else part for number, part in enumerate(parts))
    return re.sub(r"^(?=[.'])", r"\&", made.replace("(*own*)", r"(\fIown\fP)"))


def _ascii(text: str) -> str:
    """Return roff text with the signs that it prints otherwise as what they are."""
    return text.replace("'", r"\(aq").replace("~", r"\(ti").replace("^", r"\(ha")


def verbatim(text: str) -> str:
    """Return lines that roff prints as they are, to stand between `.EX` and `.EE`; a backtick is taken for code."""
    return "".join(f"{_ascii(roff(line))}\n" for line in text.splitlines())


BOTH: Sequence[Callable[[], Part]] = (
    sections, formats, enough, system, limits, tiers, joins, ladders, capabilities, domains, kernel, never, durations,
    operators, floor, groups, files, commands,
)  # fmt: skip


def _in(language: Callable[[Part], str]) -> generated.Parts:
    return {make.__name__: partial(_made, language, make) for make in BOTH}


def _made(language: Callable[[Part], str], make: Callable[[], Part]) -> str:
    return language(make())


PARTS: Mapping[str, generated.Parts] = {
    PAGE: {**_in(markdown), "keys": keys},
    MANUAL: {**_in(manual), "entries": entries},
}


def pages(root: Path) -> Dict[str, str]:
    """Return {name: text} of each page of the tree at `root`, with its parts made again."""
    return {name: generated.renewed(root, name, parts) for name, parts in PARTS.items()}


def main(argv: List[str], root: Path = ROOT) -> int:
    """Write the pages of the tree at `root`, or compare them with `--check`; return the exit code."""
    return generated.run("tools/gen_policy_docs.py", __doc__, pages, argv, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
