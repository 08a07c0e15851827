#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Write the parts of docs/policy-format.md and docs/man/aasm-policy.5 that tables of the code say already.

    python tools/gen_policy_docs.py            write what changed
    python tools/gen_policy_docs.py --check    write nothing; exit 1 when a page differs from what the code says

A part stands between two comments, `made: NAME` and `made: end`. What is outside them is written by hand and kept.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Callable, Dict, Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from aasm.policy import calls  # noqa: E402
from aasm.policy.descriptions import DESCRIPTIONS, LEASE, TOOL  # noqa: E402
from aasm.policy.schema import KEYS, LEASE_KEYS, SECTIONS, TOOL_KEYS, Join, Key  # noqa: E402
from aasm.policy.vocabulary import SYSCALLS  # noqa: E402

PAGE, MANUAL = "docs/policy-format.md", "docs/man/aasm-policy.5"
DESCRIBED: Mapping[str, Key] = {
    **KEYS,
    **{TOOL + name: key for name, key in TOOL_KEYS.items()},
    **{LEASE + name: key for name, key in LEASE_KEYS.items()},
}
WORD = {join: join.name.lower() for join in Join}


def sections() -> str:
    """Return the sentence that names every section of a document."""
    return f"The sections are {', '.join(f'`{name}`' for name in SECTIONS)}.\n"


def joins() -> str:
    """Return the table of the ways in which two statements become one."""
    rows = "".join(f"| {WORD[join]} | {join.value} |\n" for join in Join)
    return f"| joined by | of two statements counts |\n|-|-|\n{rows}"


def keys() -> str:
    """Return a chapter for each key: effect, type, default, what acts on it, how it is joined, an example."""
    return "\n".join(_chapter(label) for label in DESCRIPTIONS)


def _chapter(label: str) -> str:
    item, key = DESCRIPTIONS[label], DESCRIBED.get(label)
    rows = [("when absent", item.default), ("what acts on it", item.held_by)]
    if key:
        own = " (*own*)" if key.own else ""
        rows = [("type", key.kind.words + own), *rows, ("joined by", WORD[key.join])]
    table = "".join(f"| {name} | {text} |\n" for name, text in rows)
    return f"### `{label}`\n\n{item.effect}\n\n| | |\n|-|-|\n{table}\n```yaml\n{item.example}```\n"


def groups() -> str:
    """Return what of the system calls has a name in the format: the contract's fifteen, and the table of groups."""
    fifteen = ", ".join(f"`{name}`" for name in SYSCALLS)
    rows = "".join(
        f"| `{name}` | {'all of the others' if name == calls.PROGRAM else ', '.join(members)} |\n"
        for name, members in calls.GROUPS.items()
    )
    return f"The contract names {fifteen}.\n\n| group | calls |\n|-|-|\n{rows}"


def entries() -> str:
    """Return the tagged paragraphs of the manual page, one for each key, in the language of man(7)."""
    return "".join(f".TP\n.B {roff(label)}\n{_paragraph(label)}" for label in DESCRIPTIONS)


def _paragraph(label: str) -> str:
    item, key = DESCRIPTIONS[label], DESCRIBED.get(label)
    kind = [f"Type: {key.kind.words}."] if key else []
    lines = [item.effect, *kind, f"When absent: {item.default}.", f"What acts on it: {item.held_by}."]
    return "".join(f"{roff(line)}\n" for line in lines)


def roff(text: str) -> str:
    """Return text as roff prints it unchanged: a minus that can be copied, and no line that is taken for a request."""
    return re.sub(r"^(?=[.'])", r"\&", text.replace("\\", r"\e").replace("-", r"\-"))


Parts = Dict[str, Callable[[], str]]
PARTS: Mapping[str, Parts] = {
    PAGE: {"sections": sections, "joins": joins, "keys": keys, "groups": groups},
    MANUAL: {"entries": entries},
}
# The comment that begins a part, and the one that ends it: in Markdown, and in roff.
MARKS = re.compile(
    r"^(?P<open><!-- |\.\\\" )made: (?P<name>\w+)(?: -->)?\n(?P<body>.*?)^(?P=open)made: end(?: -->)?$", re.M | re.S
)


def renewed(text: str, parts: Parts) -> str:
    """Return a page with each of its parts made again; ValueError where it has not exactly the parts of the table."""
    found = [match["name"] for match in MARKS.finditer(text)]
    if sorted(found) != sorted(parts):
        raise ValueError(f"parts {', '.join(sorted(parts))} are expected, and {', '.join(found) or 'none'} found")
    return MARKS.sub(lambda match: "".join(_renewed(match, parts)), text)


def _renewed(match: "re.Match[str]", parts: Parts) -> Iterator[str]:
    whole, start = match[0], match.start()
    yield whole[: match.start("body") - start]
    gap = "\n" if match["open"].startswith("<") else ""  # Markdown ends a comment at an empty line
    yield gap + parts[match["name"]]() + gap
    yield whole[match.end("body") - start :]


def main() -> int:
    """Write the pages, or compare them with `--check`; return the exit code."""
    if sys.argv[1:] not in ([], ["--check"]):
        print(f"error: unknown arguments {sys.argv[1:]}; there is only --check", file=sys.stderr)
        return 2
    differing = 0
    for name, parts in PARTS.items():
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = renewed(before, parts)
        if after == before:
            continue
        differing += 1
        if sys.argv[1:]:
            print(f"error: {name} differs from what the code says; run tools/gen_policy_docs.py", file=sys.stderr)
        else:
            path.write_text(after, encoding="utf-8")
            print(f"{name}: written")
    return 1 if differing and sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
