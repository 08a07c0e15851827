# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""No document, help or message claims more than somebody has looked at: each such sentence is in the reviewed table."""

from __future__ import annotations

import functools
import subprocess
import sys
from typing import Dict, List

import pytest
import support.claim_words as words
from project import ROOT
from support.claim_sentences import BESIDE, SENTENCES

from aasm.cli import COMMANDS as COMMANDS_OF_AASM

HOW = "say less, or add the sentence with its reason to tests/support/claim_sentences.py"
COMMANDS = (
    ("aasm", "--help"),
    ("aasm", "policy", "--help"),
    *(("aasm", *words, "--help") for words in COMMANDS_OF_AASM),
    ("aasm.receipt", "verify", "--help"),
    ("aasm.launcher", "--help"),
)


@functools.lru_cache(maxsize=None)
def documents() -> Dict[str, str]:
    return words.documents()


@functools.lru_cache(maxsize=None)
def package() -> Dict[str, List[str]]:
    return words.package_texts()


def test_every_kind_of_document_is_read() -> None:
    wanted = {"README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "docs/isolation.md", "docs/man/aasm-run.1"}
    assert wanted <= set(documents()) and any(name.startswith("examples/") for name in documents())
    assert any(name.startswith("docs/adr/") for name in documents())
    assert all(text for name, text in documents().items() if not name.endswith(".json"))


def test_no_document_claims_what_nobody_looked_at() -> None:
    assert [line for name, text in documents().items() for line in words.unreviewed(name, text)] == [], HOW


def test_no_message_of_the_package_claims_what_nobody_looked_at() -> None:
    found = [line for name, texts in package().items() for text in texts for line in unreviewed(name, text)]
    assert found == [], HOW


def unreviewed(name: str, text: str) -> List[str]:
    return words.unreviewed(name, text, words.EVERY)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_help_claims_what_nobody_looked_at(command: List[str]) -> None:
    module, *arguments = command
    env = {"COLUMNS": "400"}  # no word is broken
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout) > 50
    assert words.words_left(done.stdout, words.said_by_the_package()) == [], HOW


def test_no_reviewed_sentence_is_gone_or_needless() -> None:
    texts = {**package(), **{name: [text] for name, text in documents().items()}}
    assert words.stale(texts) == []


def test_the_tests_that_a_reason_names_exist() -> None:
    assert words.missing_tests() == []
    assert words.missing_tests({"shown by tests/kernel/test_nothing_at_all.py": {}}) == [
        "tests/kernel/test_nothing_at_all.py"
    ]


def test_every_reason_is_one_and_every_file_is_under_it_once() -> None:
    assert all(len(reason) > 20 and files for reason, files in SENTENCES.items())
    listed = [(name, text) for files in SENTENCES.values() for name, texts in files.items() for text in texts]
    assert len(listed) == len(set(listed))


# --- the search itself ------------------------------------------------------------------------------


EXAMPLES = dict(
    prevent="prevented", deny="denied", block="blocked", enforce="enforced", confine="confined", contain="contained",
    protect="protected", seal="sealed", verify="verified", prove="proven", safe="safe", certain="guaranteed",
    hold="held", refuse="refused", measure="measured", ready="ready", term="observed",
)  # fmt: skip


@pytest.mark.parametrize("name", words.WORDS)
def test_every_word_is_found_and_says_what_it_needs(name: str) -> None:
    word = words.WORDS[name]
    said = f"the writes are {EXAMPLES[name]}"
    assert len(words.words_left(said, (), words.EVERY)) == 1 and word.needs
    assert bool(words.words_left(said, (), words.IN_DOCUMENTS)) is word.in_documents


@pytest.mark.parametrize(
    "sentence",
    [
        "aasm is secure", "Nothing can be written: every write is blocked.", "This *prevents* exfiltration",
        "guarantees", "a tamper-proof log", "Tamperproof.", "It is impossible to get out", "fully SANDBOXED",
        "a hardened boundary", "the receipt proves that", "an escape-proof box", "the program stays contained",
        "ensures that nothing leaks", "protected against", "It will block\nthat", "denying all", "verified by",
    ],
)  # fmt: skip
def test_a_new_claim_in_a_document_is_found(sentence: str) -> None:
    for name in ("README.md", "docs/a-new-page.md"):
        assert len(words.unreviewed(name, words.plain(documents().get(name, "") + " " + sentence))) == 1


def test_a_claim_in_a_heading_a_table_or_a_drawing_is_found_and_code_is_none() -> None:
    for text in ("# Secure by design\n", "| `a` | guaranteed |\n", "```text\nlauncher --> safe\n```\n"):
        assert len(words.unreviewed("x.md", words._page(text))) == 1
    code = "`denied_before_execution` ```` `` [secure](SECURITY.md)\n```console\n$ echo secure\n```\n"
    assert words.unreviewed("x.md", words._page(code.replace("secure](", "see]("))) == []


@pytest.mark.parametrize(
    "text", ["a key=value block", "containers contain files", "the seal holds", "unprotected", "aasm receipt verify x"]
)
def test_a_word_that_only_looks_like_one_is_left_alone(text: str) -> None:
    assert words.words_left(text, (), words.IN_DOCUMENTS) == []


def test_an_entry_excuses_its_own_sentence_alone() -> None:
    assert words.words_left("a boundary is enforced", ("boundary is enforced",)) == []
    assert len(words.words_left("a boundary is enforced, all is enforced", ("boundary is enforced",))) == 1
    assert words.words_left("is\n  enforced by", ("is enforced",)) == []


@pytest.mark.parametrize(
    ("texts", "entry", "found"),
    [
        (["it is enforced there"], "is enforced", ""),
        (["it is kept there"], "is enforced", "0 times"),
        (["is enforced, is enforced"], "is enforced", "2 times"),
        (["it is enforced there"], "enforced", "excuses nothing, or everything"),
        (["nothing is there"], "nothing is there", "excuses nothing, or everything"),
    ],
)
def test_an_entry_that_is_gone_is_found(texts: List[str], entry: str, found: str) -> None:
    wrong = words.stale({"a.md": texts}, {"a reason": {"a.md": (entry,)}})
    assert [line.rpartition(": ")[2] for line in wrong] == ([found] if found else [])


def test_a_sentence_with_its_evidence_beside_it_is_excused_nowhere_else() -> None:
    beside = [text for texts in SENTENCES[BESIDE].values() for text in texts]
    assert beside and not set(beside) & set(words.said_by_the_package())
    for text in beside:
        assert words.words_left(text, words.said_by_the_package()), text


def test_texts_of_the_package_are_its_messages_and_no_docstrings() -> None:
    texts = package()["aasm/cli/run.py"]
    assert any("no ceiling is enforced" in text for text in texts)
    assert not any("Carry out" in text for text in texts)
