# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What `aasm policy explain` proposes to add is enough: each proposal is carried out to the letter and asked again."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, NamedTuple, Tuple

import pytest
from support.explained import SEED, Drawn, draw, explaining
from support.inside import policy_file
from support.launch import Lab

pytestmark = pytest.mark.landlock

CASES, QUESTIONS, LEAST = 14, 60, 60
LIST = re.compile(r"(?:and )?to (filesystem\.([a-z]+)\.allow) \((.*?)\)")


class Proposal(NamedTuple):
    """A refused question, and the documents of its case with what was proposed."""

    question: Tuple[str, str]
    answer: Dict[str, Any]
    documents: Tuple[Dict[str, Any], ...]


def carried_out(drawn: Drawn, add: str) -> Tuple[Dict[str, Any], ...]:
    """Return the documents of a case with exactly those entries in exactly those lists."""
    made: List[Dict[str, Any]] = [json.loads(json.dumps(item)) for item in drawn.case.documents]
    for part in add.split("; and "):  # of what is executed, its interpreter and its loader
        path, end = json.JSONDecoder().raw_decode(part)
        lists = LIST.findall(part[end:])
        assert part[end:] == " " + " and ".join(f"to {key} ({where})" for key, _, where in lists)
        for _, verb, where in lists:
            for file in (place.rsplit(":", 2)[0] for place in where.split(" and ")):
                made[drawn.told["policies"].index(file)]["filesystem"][verb]["allow"].append(path)
    return tuple(made)


def proposals(lab: Lab, cases: List[Drawn]) -> List[Tuple[Drawn, Proposal]]:
    """Return every question to which something to add is proposed."""
    answers = explaining(lab, "answer", [drawn.told for drawn in cases])
    return [
        (drawn, Proposal(question, answer, carried_out(drawn, answer["add"])))
        for drawn, told in zip(cases, answers)
        for question, answer in zip(drawn.case.questions, told["answers"])
        if answer["add"]
    ]


def test_with_what_explain_proposes_the_question_is_allowed(lab: Lab) -> None:
    found = proposals(lab, draw(lab, SEED + 4, CASES, QUESTIONS))
    verbs = {proposal.question[0] for _, proposal in found}
    assert len(found) >= LEAST and verbs == {"read", "write", "exec"}
    again = []
    for number, (drawn, proposal) in enumerate(found[:: max(1, len(found) // LEAST)]):
        texts = enumerate(map(json.dumps, proposal.documents))
        paths = [str(policy_file(lab, text, f"added-{number}-{at}.json")) for at, text in texts]
        again.append((proposal, {**drawn.told, "policies": paths, "questions": [proposal.question]}))
    answers = explaining(lab, "answer", [told for _, told in again])
    pairs = [(proposal, told["answers"][0]) for (proposal, _), told in zip(again, answers)]
    assert [(one.question, one.answer["add"], then) for one, then in pairs if not then["allowed"]] == []


def test_nothing_is_proposed_where_no_entry_would_help(lab: Lab) -> None:
    closed = lab.file(lab.outside / "closed", "c", mode=0o000)
    lists: Dict[str, List[str]] = {"read": [], "write": [], "execute": ["/usr/bin/env"]}
    text = json.dumps({"filesystem": {verb: {"allow": paths} for verb, paths in lists.items()}})
    where = str(policy_file(lab, text, "policy.json"))
    folder = str(lab.outside)
    questions = [
        ("read", str(closed)), ("write", str(closed)), ("exec", str(closed)), ("exec", folder), ("read", f"{closed}/x"),
        ("read", f"{closed}/."), ("write", f"{folder}/none/../x"), ("write", str(lab.state)), ("write", "/"),
    ]  # fmt: skip
    case = {"policies": [where], "workdir": str(lab.workspace), "questions": questions}
    for question, answer in zip(questions, explaining(lab, "answer", [case])[0]["answers"]):
        assert (answer["allowed"], answer["add"]) == (False, ""), (question, answer)
        assert answer["why"].startswith("no entry of filesystem.") and len(answer["by"]) >= 1
