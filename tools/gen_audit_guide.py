#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Write the reading order of docs/audit-guide.md: each file of the package once, with how long it is.

    python tools/gen_audit_guide.py            write it, when it changed
    python tools/gen_audit_guide.py --check    write nothing; print what would change

It stands between two comments, `made: reading` and `made: end`; what is outside them is kept as it was written. The
order is a decision (STEPS), the numbers are counted. A file that stands nowhere, or twice, is an error.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Dict, Iterable, List, NamedTuple, Sequence, Set

_HERE = str(Path(__file__).resolve().parent)
if _HERE not in sys.path:  # under python -I
    sys.path.insert(0, _HERE)

import generated  # noqa: E402
from project import PACKAGE, ROOT, project_files  # noqa: E402

PAGE = "docs/audit-guide.md"


class Step(NamedTuple):
    """One step of the reading: files as a shell spells them beneath the package, in order, and what to look for."""

    title: str
    files: Sequence[str]
    look: str


STEPS = (
    Step(
        "what runs inside",
        ("launcher.py", "_sys/{boundary,order,streams}.py"),
        "each step once, no way from a failed one to `execve`; nothing behind `seal` but `execve`; an order is whole",
    ),
    Step(
        "what an order is made from",
        ("backends/native/{floor,filters,rules,capability,prepare,__init__}.py", "model/{grants,privileges}.py",
         "_sys/{bpf,landlock,syscalls,_nr_*,__init__}.py"),
        "the floor, call by call; what each domain becomes; the jumps of a filter; the numbers, by your headers",
    ),
    Step(
        "what is refused before a launch",
        ("planner.py", "selecting.py", "trusted.py", "policy/{grants,walk,reach}.py", "bind.py", "state.py",
         "backends/{__init__,base,absent,macos_vm,sandlock}.py", "_sys/probe.py",
         "model/{requirements,domains,plan}.py"),
        "one unmet requirement is enough; what counts as trusted, and every link on the way to it",
    ),
    Step(
        "what happens around it",
        ("run.py", "supervise/*.py", "_sys/{process,notify}.py", "__main__.py", "surroundings.py", "stating.py",
         "model/{environment,ambient,descriptors,record,resolved,request}.py", "governance/*.py", "errors.py",
         "explain.py", "origin.py", "__init__.py"),
        "the one place that starts a process; what is recorded before it; who ends what is left",
    ),
    Step(
        "what may be claimed",
        ("evidence.py", "model/{evidence,report}.py", "sealing.py",
         "receipt/{rules,shape,canonical,verify,build,facts,screen,store,read,__init__,__main__}.py"),
        "a claim is the least of three; a rule for each way to say too much",
    ),
    Step(
        "what a policy means",
        ("policy/{lowering,unmapped,schema,document,kinds,checks,faults,places,hosts,calls,vocabulary,values}.py",
         "policy/{load,locate,cascade,tools,expression}.py",
         "policy/{reader,text,node,yaml,block,inline,quoted,scalars,strict_json,toml,toml_structure,__init__}.py"),
        "an absent key and an empty list; what is listed as not acted on; what is no policy at all",
    ),
    Step(
        "words in, words out, and answers",
        ("cli/*.py", "devtools/*.py", "answering.py", "refusing.py", "targets.py", "copies.py",
         "backends/native/judge.py", "needs/*.py", "policy/{compare,written,templates,descriptions,json_schema}.py",
         "model/{question,sections,authority,__init__}.py", "py.typed"),
        "what becomes of words; what is masked, and what can end a line",
    ),
)  # fmt: skip
HELD = 3  # the steps up to this one decide what is held


class Lines(NamedTuple):
    """How many lines hold code, and how many nothing but comment or docstring; empty ones are neither."""

    code: int
    comments: int


def spelled_out(pattern: str) -> List[str]:
    """Return the names that the braces of a pattern stand for, in their order."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", pattern)
    return [found[1] + name + found[3] for name in found[2].split(",")] if found else [pattern]


def files_of(patterns: Iterable[str], names: Sequence[str]) -> List[str]:
    """Return those of the sorted `names` that the patterns mean, in order. ValueError for a pattern without a file."""
    found: List[str] = []
    for pattern in (each for one in patterns for each in spelled_out(one)):
        matching = [name for name in names if fnmatchcase(name, pattern) and name.count("/") == pattern.count("/")]
        if not matching:
            raise ValueError(f"the reading order names {pattern}, and there is no such file")
        found += matching
    return found


def ordered(names: Sequence[str], steps: Sequence[Step] = STEPS) -> List[List[str]]:
    """Return the files of each step. ValueError unless each of `names` is in exactly one of them."""
    found = [files_of(step.files, names) for step in steps]
    listed = [name for files in found for name in files]
    twice = sorted({name for name in listed if listed.count(name) > 1})
    missing = sorted(set(names) - set(listed))
    if twice or missing:
        what = [f"{name} has no place" for name in missing] + [f"{name} stands twice" for name in twice]
        raise ValueError(f"the reading order: {'; '.join(what)} (STEPS in tools/gen_audit_guide.py)")
    return found


def counted(text: str) -> Lines:
    """Return how many lines of a Python file are code and how many say something about it."""
    documented = _docstrings(ast.parse(text))
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    code: Set[int] = set()
    comments = set(documented)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in nothing:
            code.update(range(token.start[0], token.end[0] + 1))
    return Lines(len(code - documented), len(comments - (code - documented)))


def _docstrings(tree: ast.Module) -> Set[int]:
    found: Set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if ast.get_docstring(node, clean=False) is not None:
                found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def table(texts: Dict[str, str]) -> str:
    """Return the table for the files of the package, by name beneath it, and the sentence with its totals."""
    rows = ["| step | files beneath `aasm/`, in this order | code | comments | what to look for |"]
    rows.append("|---|---|---|---|---|")
    totals: List[Lines] = []
    for number, (step, names) in enumerate(zip(STEPS, ordered(sorted(texts))), 1):
        lines = _sum(counted(texts[name]) for name in names if name.endswith(".py"))
        totals.append(lines)
        files = ", ".join(f"`{pattern}`" for pattern in step.files)
        rows.append(f"| {number}. {step.title} | {files} | {lines.code} | {lines.comments} | {step.look} |")
    held, all_of = _sum(totals[:HELD]), _sum(totals)
    rows.append(f"| together | {len(texts)} files | {all_of.code} | {all_of.comments} | |")
    inside = f"{totals[0].code} lines of code run inside"
    return "\n".join(rows) + f"\n\n{inside}; steps 1 to {HELD}, which decide what is held, have {held.code}.\n"


def _sum(lines: Iterable[Lines]) -> Lines:
    code, comments = 0, 0
    for one in lines:
        code, comments = code + one.code, comments + one.comments
    return Lines(code, comments)


def texts_of(root: Path) -> Dict[str, str]:
    """Return the text of every file of the package by its name beneath it."""
    top = root / PACKAGE
    found = [path for path in project_files(root) if top in path.parents]
    return {path.relative_to(top).as_posix(): path.read_text(encoding="utf-8") for path in found}


def page(root: Path) -> Dict[str, str]:
    """Return {name: text} of the page of the tree at `root`, with the reading order made again."""
    return {PAGE: generated.renewed(root, PAGE, {"reading": lambda: table(texts_of(root))})}


def main(argv: List[str], root: Path = ROOT) -> int:
    """Write the page of the tree at `root`, or compare it with `--check`; return the exit code."""
    return generated.run("tools/gen_audit_guide.py", __doc__, page, argv, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
