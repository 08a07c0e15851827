# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy explain`: what a policy allows here, by which statement, and what to add. Executes nothing."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from .. import answering, needs, run
from .._sys import boundary
from ..answering import Answer
from ..errors import INVALID, OK, PolicyError, UsageError, one_line
from ..governance.identity import new_identity
from ..model import privileges
from ..model.question import Action, Question
from ..policy import calls, tools
from ..policy.hosts import HostKind, host_value
from ..policy.lowering import PRIVILEGES
from ..run import Resolution
from . import say
from .options import Once, Parser, _Formatter
from .policy import add_places, request

SCHEMA = "aasm.policy.explain/1"
QUESTIONS = {
    "--read": "may PATH be opened for reading, or listed",
    "--write": "may PATH be written; one that is missing is made",
    "--exec": "may PATH be executed",
    "--connect": "may a connection be made to HOST:PORT",
    "--unix": "may a connection be made to the unix socket PATH",
    "--syscall": "may the system call NAME be made",
    "--tool": "may the tool NAME be called, with what --arguments says",
}
_ACTIONS = {"read": Action.READ, "write": Action.WRITE, "exec": Action.EXECUTE, "unix": Action.UNIX}


class Told(NamedTuple):
    """One answer, and what it is about when it was not asked for by itself."""

    answer: Answer
    note: str = ""


def main(args: List[str]) -> int:
    """Carry out `policy explain`; return 0 when all that was asked is allowed, 1 when anything is refused."""
    options = _parser().parse_args(args)
    asked = [name for name in ("read", "write", "exec", "connect", "unix", "syscall", "tool") if getattr(options, name)]
    if not asked and options.program is None:
        raise UsageError("nothing is asked", remedy="name --program, or one of " + ", ".join(QUESTIONS))
    if options.arguments is not None and "tool" not in asked:
        raise UsageError("only a tool has arguments", "--arguments", "add --tool NAME")
    program = (options.program or "true",)
    identity = new_identity(options.agent_id, options.team_id, (), dry_run=True)
    found = run.preview(request(options, program), identity, by_hand=False)
    _become_the_program(found)
    told = [*_program(found, options.program), *(_one(found, options, name) for name in asked)]
    say(_as_json(told) if options.json else "\n".join(one_line(line) for item in told for line in _lines(item)))
    return OK if all(item.answer.allowed for item in told) else INVALID


def _parser() -> Parser:
    made = Parser(
        prog="aasm policy explain",
        usage="aasm policy explain [--policy PATH]... [--program X] [QUESTION] [--json]",
        description="Say what a policy allows on this host, by which statement at which line, and what to add.",
        allow_abbrev=False,
        formatter_class=_Formatter,
        epilog="Exit code: 0 allowed, 1 refused, 2 the command line is wrong.",
    )
    made._optionals.title = "options"  # Python 3.9 has another word for it
    add_places(made)
    made.add_argument("--program", metavar="X", action=Once, help="list what X needs before its first line")
    group = made.add_argument_group("questions", "At most one.").add_mutually_exclusive_group()
    words = {"--connect": "HOST:PORT", "--syscall": "NAME", "--tool": "NAME"}
    for name, text in QUESTIONS.items():
        group.add_argument(name, metavar=words.get(name, "PATH"), action=Once, help=text)
    made.add_argument("--arguments", metavar="JSON", action=Once, help="with --tool: the arguments of the call, a map")
    made.add_argument("--json", action="store_true", help="print one JSON object")
    return made


def _become_the_program(found: Resolution) -> None:
    """Give up the capabilities that the program would not have: the kernel is asked about file modes next."""
    allowed = found.policy.names(PRIVILEGES) if found.policy is not None else None
    boundary.keep_capabilities(privileges.mask(allowed or ()))


# --- questions --------------------------------------------------------------------------------------


def _one(found: Resolution, options: argparse.Namespace, name: str) -> Told:
    text = getattr(options, name)
    if name == "tool":
        return Told(_tool(found, text, options.arguments))
    if name == "syscall":
        if text.startswith("@") or not calls.known(text):
            raise UsageError(f"{text} is no system call", "--syscall", "name one call of Linux")
        question = Question(Action.SYSCALL, text)
    elif name == "connect":
        question = _destination(text)
    else:
        path = answering.absolute(text, found.run.working_dir.path)
        question = Question(_ACTIONS[name], path, answering.target(path))
    if name == "exec":
        return Told(answering.execution(found, found.policy, question, answering.by_modes))
    return Told(answering.answer(found, found.policy, question, answering.by_modes))


def _destination(text: str) -> Question:
    try:
        host = host_value(text, "--connect")
    except PolicyError as problem:
        raise UsageError(problem.what, "--connect", problem.remedy) from None
    if host.port is None or host.kind in (HostKind.ANY, HostKind.SUFFIX):
        raise UsageError(f"{text} is not one host and one port", "--connect", "write HOST:PORT, or [ADDRESS]:PORT")
    return Question(Action.CONNECT, host.host, port=host.port)


def _tool(found: Resolution, name: str, arguments: Optional[str]) -> Answer:
    if found.policy is None:
        why = found.run.refusal.text.splitlines()[0] if found.run.refusal else "there is no policy"
        return Answer("tool", name, False, why, (), "")
    judged = tools.judge(found.policy, name, _arguments(arguments))
    if not judged.allowed:
        return Answer("tool", name, False, "the policy does not allow it", judged.by, "")
    why = "somebody has to approve this call" if judged.approval else "the policy asks for no approval"
    return Answer("tool", name, not judged.approval, f"{why}; no launch acts on rules about tools", judged.by, "")


def _arguments(text: Optional[str]) -> Mapping[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"this is no JSON: {problem}", "--arguments", 'write a map, such as {"amount": 5}') from None
    if not isinstance(value, dict):
        raise UsageError("this is no map", "--arguments", 'write a map, such as {"amount": 5}')
    return value


def _program(found: Resolution, program: Optional[str]) -> Iterator[Told]:
    """Yield an answer for each file that is opened before the program's first line."""
    if program is None:
        return
    path = os.fsdecode(found.run.environment.get(b"PATH") or os.fsencode(os.defpath))
    for need in needs.needs(program, path, found.run.working_dir.path):
        action = Action.EXECUTE if need.right == "execute" else Action.READ
        if need.missing:
            optional = need.why.startswith(needs.OPTIONAL)
            yield Told(Answer(action.value, need.path, optional, "it does not exist", (), ""), need.why)
            continue
        place = answering.absolute(need.path, found.run.working_dir.path)
        asked = Question(action, place, answering.target(place))
        yield Told(answering.answer(found, found.policy, asked, answering.by_modes), need.why)


# --- words ------------------------------------------------------------------------------------------


def _lines(told: Told) -> Iterator[str]:
    answer = told.answer
    note = f" ({told.note})" if told.note else ""
    yield f"{'allowed' if answer.allowed else 'refused'}: {answer.action} {answer.subject}{note}"
    if answer.why:
        yield f"  why: {answer.why}"
    for origin in answer.by:
        yield f"  by:  {origin}"
    if answer.add:
        yield f"  add: {answer.add}"


def _as_json(told: Sequence[Told]) -> str:
    answers: List[Dict[str, Any]] = [{**item.answer._asdict(), "note": item.note} for item in told]
    made = {"schema": SCHEMA, "allowed": all(item.answer.allowed for item in told), "answers": answers}
    return json.dumps(made, sort_keys=True, indent=2)
