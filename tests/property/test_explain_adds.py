# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What `aasm policy explain` proposes to add is enough: each proposal is carried out to the letter and asked again."""

from __future__ import annotations

import contextlib
import json
import os
import re
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Set, Tuple

import pytest
from support.explained import SEED, Drawn, draw, explaining
from support.inside import policy_file
from support.launch import Lab

from aasm import needs
from aasm.errors import HostError
from aasm.policy.document import validate
from aasm.policy.reader import read_document

pytestmark = pytest.mark.landlock

CASES, QUESTIONS, LEAST = 14, 60, 60
LIST = re.compile(r"(?:and )?to (filesystem\.([a-z]+)\.allow) \((.*?)\)")


class Place(NamedTuple):
    """One list of one document that something is to be added to, and what."""

    document: int
    verb: str
    path: str


class Proposal(NamedTuple):
    """A refused question, with each place that something is to be added to."""

    question: Tuple[str, str]
    answer: Dict[str, Any]
    places: Tuple[Place, ...]


def places(drawn: Drawn, add: str) -> Iterator[Place]:
    """Yield what is proposed, read to the letter."""
    for part in add.split("; and "):  # of what is executed, its interpreter and its loader
        path, end = json.JSONDecoder().raw_decode(part)
        lists = LIST.findall(part[end:])
        assert part[end:] == " " + " and ".join(f"to {key} ({where})" for key, _, where in lists)
        for _, verb, where in lists:
            for file in (place.rsplit(":", 2)[0] for place in where.split(" and ")):
                yield Place(drawn.told["policies"].index(file), verb, path)


def carried_out(drawn: Drawn, added: Iterable[Place]) -> Tuple[Dict[str, Any], ...]:
    """Return the documents of a case with exactly those entries in exactly those lists."""
    made: List[Dict[str, Any]] = [json.loads(json.dumps(item)) for item in drawn.case.documents]
    for place in added:
        made[place.document]["filesystem"][place.verb]["allow"].append(place.path)
    return tuple(made)


def proposals(lab: Lab, cases: List[Drawn]) -> List[Tuple[Drawn, Proposal]]:
    """Return every question to which something to add is proposed."""
    answers = explaining(lab, "answer", [drawn.told for drawn in cases])
    return [
        (drawn, Proposal(question, answer, tuple(places(drawn, answer["add"]))))
        for drawn, told in zip(cases, answers)
        for question, answer in zip(drawn.case.questions, told["answers"])
        if answer["add"]
    ]


def asked_again(lab: Lab, changed: Sequence[Tuple[Drawn, Proposal, Iterable[Place]]]) -> List[Dict[str, Any]]:
    """Return the answers once these entries are there; the documents are still valid, and the launch still starts."""
    told = []
    for number, (drawn, proposal, added) in enumerate(changed):
        texts = [json.dumps(document) for document in carried_out(drawn, added)]
        assert [validate(read_document(text.encode(), "added")) for text in texts]
        paths = [str(policy_file(lab, text, f"added-{number}-{at}.json")) for at, text in enumerate(texts)]
        told.append({**drawn.told, "policies": paths, "questions": [proposal.question]})
    found = explaining(lab, "answer", told)
    assert [item["refusal"] for item in found] == [""] * len(changed)
    return [item["answers"][0] for item in found]


def narrow_enough(drawn: Drawn, question: Tuple[str, str]) -> Set[str]:
    """Return what may be proposed: the very object, what is opened with it, or the directory of a file to be made."""
    action, path = question[0], os.path.join(drawn.case.workdir, question[1])
    real = os.path.realpath(path)
    if action == "write" and not os.path.exists(real):
        return {os.path.dirname(real)}
    found = {real}
    with contextlib.suppress(HostError):
        for file in needs.opened_by_execve(path, drawn.case.workdir) if action == "exec" else ():
            found.add(os.path.realpath(file.path))
    return found


def test_with_what_explain_proposes_the_question_is_allowed(lab: Lab) -> None:
    found = proposals(lab, draw(lab, SEED + 4, CASES, QUESTIONS))
    verbs = {proposal.question[0] for _, proposal in found}
    assert len(found) >= LEAST and verbs == {"read", "write", "exec"}
    chosen = [(drawn, item, item.places) for drawn, item in found[:: max(1, len(found) // LEAST)]]
    pairs = zip((item for _, item, _ in chosen), asked_again(lab, chosen))
    assert [(item.question, item.answer["add"], then) for item, then in pairs if not then["allowed"]] == []


def test_no_proposal_is_wider_than_what_was_asked_about(lab: Lab) -> None:
    found = proposals(lab, draw(lab, SEED + 5, CASES, QUESTIONS))
    wide = [
        (item.question, item.answer["add"])
        for drawn, item in found
        if not {place.path for place in item.places} <= narrow_enough(drawn, item.question)
    ]
    assert len(found) >= LEAST and wide == []
    to_make = [item for drawn, item in found if item.question[0] == "write" and "directory" in item.answer["why"]]
    assert len(to_make) >= 5


def test_of_several_documents_each_that_is_named_must_be_changed(lab: Lab) -> None:
    cases = [drawn for drawn in draw(lab, SEED + 6, 4 * CASES, 30) if len(drawn.case.documents) > 1]
    found = [(drawn, item) for drawn, item in proposals(lab, cases) if len(item.places) > 1]
    less = [(drawn, item, set(item.places) - {place}) for drawn, item in found for place in set(item.places)]
    less = less[:: max(1, len(less) // LEAST)]
    answers = asked_again(lab, less)
    assert len(less) >= 20
    assert [(item.answer["add"], then) for (_, item, _), then in zip(less, answers) if then["allowed"]] == []


def test_nothing_is_proposed_where_no_entry_would_help(lab: Lab) -> None:
    closed = lab.file(lab.outside / "closed", "c", mode=0o000)
    lists: Dict[str, List[str]] = {"read": [], "write": [], "execute": ["/usr/bin/env"]}
    text = json.dumps({"filesystem": {verb: {"allow": paths} for verb, paths in lists.items()}})
    where = str(policy_file(lab, text, "policy.json"))
    folder = str(lab.outside)
    questions = [
        ("read", str(closed)), ("write", str(closed)), ("exec", str(closed)), ("exec", folder), ("read", f"{closed}/x"),
        ("read", f"{closed}/."), ("write", f"{folder}/none/../x"), ("write", str(lab.state)), ("write", "/"),
        ("read", "/nope/x"), ("read", "/etc/shadoww"), ("exec", f"{folder}/none"), ("write", "/none"),
        ("write", f"{lab.home}/none"), ("write", f"{folder}/none/none"), ("read", str(lab.file(lab.outside / "a$b"))),
    ]  # fmt: skip
    case = {"policies": [where], "workdir": str(lab.workspace), "questions": questions}
    for question, answer in zip(questions, explaining(lab, "answer", [case])[0]["answers"]):
        assert (answer["allowed"], answer["add"]) == (False, ""), (question, answer)
        assert answer["why"].startswith("no entry of filesystem.") and len(answer["by"]) >= 1
