# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A workspace with a few files, policies about it, and the answers to questions. Nothing is launched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Callable, Tuple

import pytest
from support.runs import request

from aasm import answering, run
from aasm.answering import Answer
from aasm.cli import policy_explain
from aasm.errors import PolicyError
from aasm.governance.identity import new_identity
from aasm.model.question import Action, Question
from aasm.model.request import Request
from aasm.policy.values import Policy

IDENTITY = new_identity(None, None, (), dry_run=True)
FILES = """\
filesystem:
  read:
    allow:
      - ${workdir}
      - {top}/out/link
  write:
    allow:
      - ${workdir}/made
"""


def no_modes(question: Question) -> str:
    """Stand in for file modes that refuse nothing."""
    return ""


class Place:
    """A workspace with a few files, and questions about it."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        for name in ("ws/made", "ws/dir", "out/dir", "away", "home", "tmp"):
            (self.top / name).mkdir(parents=True)
        for name in ("ws/file", "ws/made/file", "out/file", "out/dir/file"):
            (self.top / name).write_text("x")
            (self.top / name).chmod(0o755)
        (self.top / "out/link").symlink_to(self.top / "out/dir")

    def resolution(self, *texts: str) -> run.Resolution:
        """Return the run that the policies p0.yaml, p1.yaml... would be."""
        return run.preview(self.asked(*texts), IDENTITY, by_hand=False)

    def asked(self, *texts: str) -> Request:
        """Return the request for a run by these policies."""
        paths = [self.top / f"p{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text.replace("{top}", str(self.top)))
        return request(policies=tuple(map(str, paths)), workdir=str(self.top / "ws"))

    def documents(self, *texts: str) -> Tuple[Policy, ...]:
        """Return each of the policies by itself; none where no launch could go by them."""
        try:
            return policy_explain._documents(self.asked(*texts))
        except PolicyError:
            return ()

    def ask(
        self, action: Action, name: str, *texts: str, modes: Callable[[Question], str] = no_modes, port: int = 0
    ) -> Answer:
        """Return the answer about a path below the place, or about a host or a call."""
        found, documents = self.resolution(*texts), self.documents(*texts)
        if action in (Action.CONNECT, Action.SYSCALL):
            return answering.answer(found, found.policy, Question(action, name, port=port), modes, documents)
        path = answering.absolute(name, str(self.top))
        return answering.answer(found, found.policy, Question(action, path, answering.target(path)), modes, documents)

    def at(self, line: int, column: int, number: int = 0) -> str:
        """Return a place in a policy, as explanations write it."""
        return f"{self.top}/p{number}.yaml:{line}:{column}"


def settled(top: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return the place, with the environment of whoever asks in it."""
    made = Place(top)
    monkeypatch.setattr("aasm.supervise.begin.foresee", lambda confined: None)  # the streams of the tests are their own
    for name, value in (("HOME", "home"), ("TMPDIR", "tmp"), ("AASM_STATE_DIR", "state")):
        monkeypatch.setenv(name, str(made.top / value))
    monkeypatch.chdir(made.top / "ws")
    return made


def unused(question: Question) -> str:
    """Stand in for file modes that nobody asks."""
    raise AssertionError("nothing is asked of the modes")
