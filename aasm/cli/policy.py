# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy`: which subcommand is meant, and what the subcommands share. Each is imported only when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import INVALID, InternalError, PolicyError, UsageError
from . import COMMANDS, complain_of
from .parsing import Once, Parser, _Formatter

if TYPE_CHECKING:
    import argparse

    from ..model.request import Request
    from ..policy.load import Loaded
    from ..surroundings import Surroundings

_USAGE_TEXT = """\
usage: {usage}

Reads, judges, compares and writes policies. Starts no program and, but for new --output, changes nothing.

{commands}
Exit status: 0; 1 for a policy that is not valid or that no launch could go by; 2 for a wrong command line; 125 when
the work itself could not be done. diff: 1 different; explain: 1 not allowed; both: 2 for a policy that cannot be used.
Each has its own --help.
"""


def main(name: str, args: list[str]) -> int:
    """Carry out the subcommand `name`, one of the table of commands, with these arguments; return the exit code."""
    try:
        return _dispatch(name, args)
    except PolicyError as problem:
        complain_of(problem)
        return INVALID


def _dispatch(name: str, args: list[str]) -> int:
    if name == "validate":
        from . import policy_validate

        return policy_validate.main(args)
    if name == "show":
        from . import policy_show

        return policy_show.main(args)
    if name == "explain":
        from . import policy_explain

        return policy_explain.main(args)
    if name == "new":
        from . import policy_new

        return policy_new.main(args)
    if name == "diff":
        from . import policy_diff

        return policy_diff.main(args)
    if name == "schema":
        from . import policy_schema

        return policy_schema.main(args)
    raise InternalError(f"nothing carries out `policy {name}`")


def usage() -> str:
    """Return the text of `aasm policy --help`."""
    found = {words[1]: row for words, row in COMMANDS.items() if words[0] == "policy"}
    lines = "\n       ".join(f"aasm policy {name} {takes}".rstrip() for name, (takes, _) in found.items())
    commands = "".join(f"  {name:<9}  {says}\n" for name, (_, says) in found.items())
    return _USAGE_TEXT.format(usage=lines, commands=commands)


# --- options ----------------------------------------------------------------------------------------


def parser(name: str, usage: str, description: str, epilog: str = "") -> Parser:
    """Return an empty parser for the subcommand `name`."""
    made = Parser(
        prog=f"aasm policy {name}",
        usage=f"aasm policy {name} {usage}".rstrip(),
        description=description,
        epilog=epilog or None,
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    made._optionals.title = "options"  # Python 3.9 has another word for it
    return made


def add_json(made: Parser) -> None:
    """Add the option `--json`."""
    made.add_argument("--json", action="store_true", help="print one JSON object")


def add_workdir(made: Parser) -> None:
    """Add the option for the directory that `${workdir}` stands for."""
    made.add_argument("--workdir", metavar="DIR", action=Once, help="${workdir} is DIR (default: here)")


def add_places(made: Parser) -> None:
    """Add the options that decide which policy a launch goes by, and where it starts: `request` takes them."""
    made.add_argument("--policy", metavar="PATH", action="append", default=[],
                      help="the policy, a file or a directory of them; repeat it for a cascade (default: the places in "
                      "which a launch looks for one)")
    add_workdir(made)
    made.add_argument("--team-id", metavar="ID", action=Once,
                      help="of the team ID: a policy with the scope of another team is left out")
    made.add_argument("--agent-id", metavar="ID", action=Once,
                      help="of the agent ID: a policy with the scope of another agent is left out")  # fmt: skip


def request(options: argparse.Namespace, program: tuple[str, ...] = ("true",)) -> Request:
    """Return the request of a confined launch with these options (of `add_places`). UsageError for a wrong value."""
    from ..governance.identity import check_id

    for name in ("policy", "workdir"):
        if getattr(options, name) == "" or (name == "policy" and "" in options.policy):
            raise UsageError("is empty", f"--{name}", "name a path")
    for name in ("team_id", "agent_id"):
        if getattr(options, name) is not None:
            check_id(getattr(options, name), f"--{name.replace('_', '-')}")
    return _request(program, tuple(options.policy), options.workdir, options.team_id, options.agent_id)


def request_at(policies: tuple[str, ...], workdir: str | None) -> Request:
    """Return the request of a confined launch by the policies at these places. UsageError for an empty `workdir`."""
    if workdir == "":
        raise UsageError("is empty", "--workdir", "name a directory")
    return _request(("true",), policies, workdir, None, None)


def _request(
    program: tuple[str, ...], policies: tuple[str, ...], workdir: str | None, team_id: str | None, agent_id: str | None
) -> Request:
    from ..model.request import Request
    from ..model.requirements import UNLIMITED

    return Request(
        program=program,
        target="exec",
        isolation="process",
        backend=None,
        policies=policies,
        read=(),
        write=(),
        system=False,
        env={},
        adapter_env={},
        settings="",
        real_home=False,
        workdir=workdir,
        ceilings=UNLIMITED,
        agent_id=agent_id,
        team_id=team_id,
        receipt=None,
        imports_cwd=False,
    )


# --- what a launch would go by ----------------------------------------------------------------------


class Here(NamedTuple):
    """Where a launch would be. `workdir` is absolute, with every link still in it; `real` is the place itself."""

    around: Surroundings
    workdir: str
    real: str


def here(asked: Request) -> Here:
    """Return where a launch would be. UsageError for a working directory that is none."""
    from ..bind import workdir_as_given, working_dir
    from ..surroundings import surroundings

    around = surroundings()
    real = working_dir(asked, around).path
    return Here(around, workdir_as_given(asked, around), real)


def effective(asked: Request, where: Here) -> Loaded:
    """Return the policy that a launch would go by, merged and placed. PolicyError when none could go by it."""
    from .. import stating

    found = stating.loaded(asked, where.around, where.workdir)
    if found.error is not None:
        raise found.error
    return found


# --- output -----------------------------------------------------------------------------------------


def as_json(data: Any) -> str:
    """Return data as JSON in ASCII; bytes that are no UTF-8 are spelled out, since JSON has no word for them."""
    import json

    return json.dumps(_text(data), indent=2)


def _text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {_text(name): _text(item) for name, item in value.items()}
    return [_text(item) for item in value] if isinstance(value, (list, tuple)) else value
