# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy explain`: what a policy allows here, by which statement, and what to add. Executes nothing."""

from __future__ import annotations

import argparse
import json
import os
from functools import lru_cache, partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple

from .. import answering, needs, refusing, run
from .._sys import boundary
from ..answering import Answer
from ..backends.native.prepare import inheritable
from ..errors import INVALID, OK, USAGE, PolicyError, UsageError, one_line
from ..governance.identity import new_identity
from ..model import privileges
from ..model.question import NOT_KNOWN, Action, Question
from ..model.request import Request
from ..policy import calls, tools
from ..policy.hosts import HostKind, host_value
from ..policy.lowering import PRIVILEGES
from ..policy.node import shown
from ..policy.places import host_places
from ..policy.values import Policy
from ..run import Resolution
from . import complain, complain_of, say
from .parsing import Once, Parser, _Formatter
from .policy import add_places, as_json, effective, here, request

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
_RIGHTS = {"execute": Action.EXECUTE, "read": Action.READ}
_ACTIONS = {"read": Action.READ, "write": Action.WRITE, "exec": Action.EXECUTE, "unix": Action.UNIX}


class Told(NamedTuple):
    """One answer, and what it is about when it was not asked for by itself."""

    answer: Answer
    note: str = ""


def main(args: List[str]) -> int:
    """Carry out `policy explain`; return 0 when all that was asked is allowed, 1 when anything is not, 2 without a
    policy to go by.
    """
    options = _parser().parse_args(args)
    asked = _asked(options)
    wanted = request(options, (options.program or "true",))
    try:
        documents = _documents(wanted)
    except PolicyError as problem:  # 1 would say that it was judged
        complain_of(problem)
        return USAGE
    identity = new_identity(options.agent_id, options.team_id, (), dry_run=True)
    found = run.preview(wanted, identity, by_hand=False)
    _become_the_program(found)
    told = [*_program(found, options.program, documents), *(_one(found, options, name, documents) for name in asked)]
    for text in run.cautions(found, wanted) if found.run.refusal is None else ():
        complain(text, "warning")
    say(_as_json(told) if options.json else "\n".join(one_line(line) for item in told for line in _lines(item)))
    return OK if all(item.answer.allowed for item in told) else INVALID


def _asked(options: argparse.Namespace) -> List[str]:
    """Return the names of the questions. UsageError for none, and for one without a value."""
    asked = [option[2:] for option in QUESTIONS if getattr(options, option[2:]) is not None]
    for name in (*asked, "program"):
        if getattr(options, name) == "":
            raise UsageError("is empty", f"--{name}", "name what is asked about")
    if not asked and options.program is None:
        raise UsageError("nothing is asked", remedy="name --program, or one of " + ", ".join(QUESTIONS))
    if options.arguments is not None and "tool" not in asked:
        raise UsageError("only a tool has arguments", "--arguments", "add --tool NAME")
    return asked


def _documents(wanted: Request) -> Tuple[Policy, ...]:
    """Return each document that a launch would go by, by itself. PolicyError when none could go by them."""
    where = here(wanted)
    return refusing.documents(effective(wanted, where), host_places(where.workdir, where.around.home))


def _parser() -> Parser:
    made = Parser(
        prog="aasm policy explain",
        usage="aasm policy explain [--policy PATH]... [--program X] [QUESTION] [--json]",
        description="Say what a policy allows on this host, by which statement at which line, and what to add.",
        allow_abbrev=False,
        formatter_class=_Formatter,
        epilog="Exit code: 0 allowed, 1 refused or not known, 2 the command line is wrong or there is no policy that a "
        "launch could go by. Not known is what a path means that is another one for each process (/dev/stdin, "
        "/proc/self/exe), what executing a file takes that cannot be read, and whether the entry for one name of a "
        "file covers another name on an overlay.",
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
    boundary.keep_capabilities(privileges.mask(allowed or ()) & inheritable(found.host))


# --- questions --------------------------------------------------------------------------------------


def _one(found: Resolution, options: argparse.Namespace, name: str, documents: Sequence[Policy] = ()) -> Told:
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
        return Told(answering.execution(found, found.policy, question, answering.by_modes, documents))
    return Told(answering.answer(found, found.policy, question, answering.by_modes, documents))


_DESTINATION = "write HOST:PORT or [ADDRESS]:PORT, HOST in ASCII and PORT from 1 to 65535"


def _destination(text: str) -> Question:
    try:
        host = host_value(text, "--connect")
    except PolicyError as problem:
        raise UsageError(problem.what, "--connect", _DESTINATION) from None
    if host.port is None or host.kind in (HostKind.ANY, HostKind.SUFFIX):
        raise UsageError(f"{shown(text)} is not one host and one port", "--connect", _DESTINATION)
    return Question(Action.CONNECT, host.host, port=host.port)


def _tool(found: Resolution, name: str, arguments: Optional[str]) -> Answer:
    if found.policy is None:
        why = found.run.refusal.text.splitlines()[0] if found.run.refusal else "there is no policy"
        return Answer("tool", name, False, why, (), "")
    judged = tools.judge(found.policy, name, _arguments(arguments))
    if not judged.allowed:
        return Answer("tool", name, False, "the policy does not allow it", judged.by, "")
    why = "the policy asks for no approval"
    if judged.approval:
        unclear = "its condition cannot be judged: a field is missing, or not of its kind"
        why = f"somebody has to approve this call: {unclear if judged.unclear else 'its condition holds'}"
    return Answer("tool", name, not judged.approval, f"{why}; no launch acts on rules about tools", judged.by, "")


# --- arguments of a tool ----------------------------------------------------------------------------

_MAP = 'write a map, such as {"amount": 5}'


def _arguments(text: Optional[str]) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        value = json.loads(text, object_pairs_hook=_members, parse_constant=_no_number)
    except json.JSONDecodeError as problem:
        raise UsageError(f"this is no JSON: {problem}", "--arguments", _MAP) from None
    except RecursionError:
        raise UsageError("this is nested too deeply", "--arguments", "write fewer levels") from None
    except ValueError:  # int() has a longest text
        raise UsageError("this holds a number that is too long", "--arguments", "write it in quotes") from None
    if not isinstance(value, dict):
        raise UsageError("this is no map", "--arguments", _MAP)
    return value


def _members(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    """Return the members of one map; two of one name would be two calls in one."""
    made: Dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise UsageError(f"the key {shown(name)} stands twice in one map", "--arguments", "keep one of them")
        made[name] = value
    return made


def _no_number(name: str) -> NoReturn:
    raise UsageError(f"this is no JSON: {name} is no number", "--arguments", "write a number, or a text in quotes")


def _program(found: Resolution, program: Optional[str], documents: Sequence[Policy] = ()) -> List[Told]:
    """Return an answer for each file that is opened before the program's first line."""
    if program is None:
        return []
    if found.run.refusal is not None or found.backend is None or found.policy is None:  # nothing would start: said once
        asked = Question(Action.EXECUTE, program)
        return [Told(answering.answer(found, found.policy, asked, answering.by_modes, documents))]
    judge = lru_cache(maxsize=None)(partial(_judged, found, documents))
    path = os.fsdecode(found.run.environment.get(b"PATH") or os.fsencode(os.defpath))
    variables = {os.fsdecode(entry.name): os.fsdecode(entry.value) for entry in found.run.environment.entries}
    workdir = found.run.working_dir.path

    def may(path: str, right: str) -> bool:
        told = judge(path, right)
        return told.allowed or told.why.startswith(NOT_KNOWN)  # nobody may take another in its place

    listed = needs.needs(program, path, workdir, variables, may)
    told = _that_matter([Told(_of_need(need, judge), need.why) for need in listed])
    return [*told, *_opening(found, listed, documents)]


def _opening(found: Resolution, listed: Sequence[needs.Need], documents: Sequence[Policy]) -> Iterator[Told]:
    """Yield that libraries cannot be opened: loaders do it by openat alone, with which the kernel itself does not."""
    asked = Question(Action.SYSCALL, "openat")
    told = answering.answer(found, found.policy, asked, answering.by_modes, documents)
    if not told.allowed and any(need.right == "read" for need in listed):
        yield Told(told, "by which the loader opens libraries")


def _judged(found: Resolution, documents: Sequence[Policy], path: str, right: str) -> Answer:
    place = answering.absolute(path, found.run.working_dir.path)
    question = Question(_RIGHTS[right], place, answering.target(place))
    return answering.answer(found, found.policy, question, answering.by_modes, documents)


def _of_need(need: needs.Need, judge: Callable[[str, str], Answer]) -> Answer:
    action = _RIGHTS[need.right].value
    if need.missing:
        return Answer(action, need.path, need.why.startswith(needs.OPTIONAL), "it does not exist", (), "")
    return Answer(action, need.path, False, need.refused, (), "") if need.refused else judge(need.path, need.right)


def _that_matter(told: List[Told]) -> List[Told]:
    """Leave out what is refused and optional where all else is allowed: the program starts without it."""
    without = [item for item in told if item.answer.allowed or not item.note.startswith(needs.OPTIONAL)]
    return without if all(item.answer.allowed for item in without) else told


# --- words ------------------------------------------------------------------------------------------


def _lines(told: Told) -> Iterator[str]:
    answer = told.answer
    note = f" ({told.note})" if told.note else ""
    unknown = answer.why.startswith(NOT_KNOWN)
    verdict = "allowed" if answer.allowed else "not known" if unknown else "refused"
    yield f"{verdict}: {answer.action} {answer.subject}{note}"
    if answer.why:
        yield f"  why: {answer.why[len(NOT_KNOWN) if unknown else 0 :]}"
    for origin in answer.by:
        yield f"  by:  {origin}"
    if answer.add:
        yield f"  add: {answer.add}"


def _as_json(told: Sequence[Told]) -> str:
    answers: List[Dict[str, Any]] = [{**item.answer._asdict(), "note": item.note} for item in told]
    return as_json({"schema": SCHEMA, "allowed": all(item.answer.allowed for item in told), "answers": answers})
