# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Words that claim something, what each of them needs, and where one stands without it.

In an output a word needs its evidence beside it (support/claims.py) or a sentence that was reviewed; in a document, in
the help and in the texts of the package it needs such a sentence (support/claim_sentences.py). Code spans, names of
files and what a console shows are vocabulary and output, and no claim of a document.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple

from project import ROOT, project_files, python_files
from support.claim_sentences import BESIDE, SENTENCES


class Word(NamedTuple):
    """One word that claims: how it is found, what it needs, and whether documents are searched for it too."""

    pattern: str
    needs: str
    in_documents: bool = True


DECISION = "a decision record of that very domain: evidence=decision and prevention_supported=true"
PLANNED = "a control in the plan: the state prevention, or a boundary that was sealed"
RUNTIME = "a record made while the program ran: evidence=runtime_without_decision or better"
NOTHING = "nothing there is could bear it"

WORDS: Dict[str, Word] = {
    "prevent": Word(r"prevent(?:s|ed|ing|ion|able|ative)?", DECISION),
    "deny": Word(r"den(?:y|ies|ied|ying|ials?)", DECISION),
    "block": Word(r"blocks|blocked|blocking|(?:to|can|will|would|must|may|not|never) block", DECISION),
    "enforce": Word(r"enforc(?:e|es|ed|ing|ement|eable)", PLANNED),
    # "confined run" and "confined program" are names for those with a boundary: whether one was there is said elsewhere
    "confine": Word(
        r"confin(?:e|es|ing|ement)|confined(?! (?:run|program))|sandbox(?:ed|es|ing)|isolat(?:ed|es)", PLANNED
    ),
    "contain": Word(r"contained|containment", PLANNED),
    "protect": Word(r"protect(?:s|ed|ing|ion|ive)?|shield(?:s|ed)?|defend(?:s|ed)?", PLANNED),
    "seal": Word(r"sealed|sealing", "sealed=true on the status page, or a digest that holds"),
    "verify": Word(  # `receipt verify` is the name of a command
        r"(?<!receipt )verify|verif(?:ies|ied|ying|ication|iable)|trustworthy|attest(?:s|ed|ation)?",
        "a seal that holds",
    ),
    "prove": Word(r"prov(?:e|es|en|ed|ing|able|ably)|proofs?", RUNTIME),
    "safe": Word(r"safe(?:ly|ty|r|st)?|secur(?:e|es|ed|ely|ing|ity)|harden(?:s|ed|ing)|harmless", NOTHING),
    "certain": Word(
        r"guarant\w+|ensur(?:e|es|ed|ing)|assur(?:e|es|ed|ance)|impossible|unbreakable|bulletproof|foolproof|airtight"
        r"|watertight|hermetic\w*|immune|impregnable|invulnerable|impenetrable|tamper\w*|unforgeable|escape-?proof"
        r"|fail-?safe|zero[- ]trust|military[- ]grade",
        NOTHING,
    ),
    # what the project itself says all day: its documents explain these words and tests compare them with the code
    "hold": Word(r"held|kept", PLANNED, in_documents=False),
    "refuse": Word(r"refuses|refused", "a launch that is refused, or a control in the plan", in_documents=False),
    "measure": Word(r"measured|achieved", RUNTIME, in_documents=False),
    "ready": Word(r"ready", "every requirement has a control, and nothing inherited is left", in_documents=False),
    # the terms of the claims, and the state that they come from: at their places in a report, and nowhere else
    "term": Word(
        r"denied_before_execution|approval_required|redacted|detected|evaluated|observed|degraded|unmeasured"
        r"|experimental|planned|unsupported|observe_only|prevention_supported|runtime_without_decision",
        "the place of a term, with what the term needs in the places beside it",
        in_documents=False,
    ),
}


def _expression(words: Iterable[Word]) -> "re.Pattern[str]":
    return re.compile(rf"(?<![\w.-])(?:{'|'.join(word.pattern for word in words)})(?![\w]|\.\w)", re.IGNORECASE)


EVERY = _expression(WORDS.values())
IN_DOCUMENTS = _expression(word for word in WORDS.values() if word.in_documents)


def flow(text: str) -> str:
    """Return the text as one line, so that a sentence is found however it is broken."""
    return re.sub(r"\s+", " ", text)


def without(text: str, fragments: Iterable[str]) -> str:
    """Return the text without the fragments; what stood on both sides of one does not meet."""
    for fragment in sorted(fragments, key=len, reverse=True):
        text = text.replace(fragment, "\0")
    return text


def words_left(text: str, fragments: Iterable[str], expression: "re.Pattern[str]" = EVERY) -> List[str]:
    """Return each word that claims and stands in no fragment, with what is around it."""
    if not expression.search(text):
        return []
    rest = without(flow(text), fragments)
    return [_around(rest, found) for found in expression.finditer(rest)]


def _around(text: str, found: "re.Match[str]") -> str:
    before, after = text[: found.start()][-50:], text[found.end() :][:50]
    return f"{before}>>{found.group()}<<{after}".replace("\0", "...")


# --- reviewed sentences -----------------------------------------------------------------------------


def fragments_of(name: str) -> Tuple[str, ...]:
    """Return the reviewed fragments of one file."""
    return tuple(text for files in SENTENCES.values() for text in files.get(name, ()))


@functools.lru_cache(maxsize=None)
def said_by_the_package() -> Tuple[str, ...]:
    """Return the reviewed fragments that an output may hold anywhere: all but those with their evidence beside them."""
    found = [
        text
        for reason, files in SENTENCES.items()
        if reason != BESIDE
        for name, texts in files.items()
        if name.startswith("aasm/")
        for text in texts
    ]
    return (*found, "Permission denied")  # the last is the kernel's own word for EACCES


# --- documents, help, texts of the package ----------------------------------------------------------


def documents() -> Dict[str, str]:
    """Return the text of every document by its name: pages, manual pages, and the comments of the examples."""
    found = {}
    for path in project_files():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix == ".md":
            found[name] = _page(path.read_text(encoding="utf-8"))
        elif name.startswith("docs/man/"):
            found[name] = _manual(path.read_text(encoding="utf-8"))
        elif name.startswith("examples/"):
            found[name] = " ".join(re.findall(r"#(.*)", path.read_text(encoding="utf-8")))
    return found


def _page(text: str) -> str:
    """Return what a page says itself: no licence lines, code, or names of files, and only drawings of its blocks."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^### Security$", "", text, flags=re.MULTILINE)  # a heading of every release in a changelog
    text = re.sub(r"^```(?!text\n)\w+\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return plain(text.replace("```text", "").replace("```", ""))


def plain(text: str) -> str:
    """Return prose of Markdown with a sign in place of each code span, and without the names of files."""
    text = re.sub(r"`[^`]+`", "`_`", text)
    return flow(re.sub(r"[\w/.-]+\.(?:md|py|json|yaml)\b", "_", text))


def _manual(text: str) -> str:
    """Return what a manual page prints, more or less: no comments, no macros, no change of the font."""
    text = re.sub(r'^\.\\".*$', "", text, flags=re.MULTILINE)
    text = re.sub(r"^\.[A-Z]+ ?", "", text, flags=re.MULTILINE)
    return flow(re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-").replace("\\e", "\\").replace('"', ""))


def package_texts() -> Dict[str, List[str]]:
    """Return every text with a blank in it that the package could print, by file; a word alone is a token."""
    found = {}
    for path in python_files("aasm"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[path.relative_to(ROOT).as_posix()] = [flow(text) for text in _texts(tree) if " " in text]
    return found


def _texts(tree: ast.Module) -> Iterator[str]:
    silent: Set[int] = set()  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            silent.update(id(first.value) for first in node.body[:1] if isinstance(first, ast.Expr))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def unreviewed(name: str, text: str, expression: "re.Pattern[str]" = IN_DOCUMENTS) -> List[str]:
    """Return each word of a file that claims and stands in no reviewed sentence of it, with what it needs."""
    left = words_left(text, fragments_of(name), expression)
    return [f"{name}: {line} (needs {_needs(line.partition('>>')[2].partition('<<')[0])})" for line in left]


def _needs(word: str) -> str:
    return next(item.needs for item in WORDS.values() if re.fullmatch(item.pattern, word, re.IGNORECASE))


def stale(texts: Dict[str, List[str]], table: Dict[str, Dict[str, Tuple[str, ...]]] = SENTENCES) -> List[str]:
    """Return every reviewed fragment that stands in its file no longer, stands there twice, or excuses nothing.

    In the package a fragment may stand twice: several messages can share one piece.
    """
    wrong = []
    for reason, files in table.items():
        for name, fragments in files.items():
            for fragment in fragments:
                count = sum(text.count(fragment) for text in texts.get(name, ()))
                needless = not EVERY.search(fragment) or " " not in fragment
                if count < 1 or needless or (count > 1 and not name.startswith("aasm/")):
                    found = "excuses nothing, or everything" if needless else f"{count} times"
                    wrong.append(f"{name}: {fragment!r} ({reason}): {found}")
    return wrong


def missing_tests(table: Dict[str, Dict[str, Tuple[str, ...]]] = SENTENCES) -> List[str]:
    """Return every test that a reason names and that does not exist."""
    named = {name for reason in table for name in re.findall(r"tests/[\w/]+\.py", reason)}
    return sorted(name for name in named if not (ROOT / name).is_file())


def page(path: Path) -> str:
    """Return what `documents` makes of one page."""
    return _page(path.read_text(encoding="utf-8"))
