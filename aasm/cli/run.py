# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm run exec`: from options to a request, and from a result to the exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import OK, REFUSED, AasmError
from ..governance.identity import check_id
from . import complain, deliver, note, put, say
from .options import check, parser, split, variables

if TYPE_CHECKING:
    import argparse

    from ..devtools import Adapter, Command
    from ..model.request import Request
    from ..run import Result


def main(target: Adapter, args: list[str], imports_cwd: bool) -> int:
    """Carry out `run TARGET` with these arguments; return the exit code."""
    before, words = split(args)
    options = parser().parse_args(before)
    check(options)
    for name in ("agent_id", "team_id"):
        if getattr(options, name) is not None:
            check_id(getattr(options, name), f"--{name.replace('_', '-')}")
    request = _request(options, target.command(tuple(words)), imports_cwd)
    return _preview(options, request) if options.dry_run else _launch(options, request)


def _request(options: argparse.Namespace, command: Command, imports_cwd: bool) -> Request:
    from ..model.request import Request

    return Request(
        program=command.argv,
        isolation=options.isolation,
        policy=options.policy,
        read=tuple(options.read),
        write=tuple(options.write),
        system=options.system,
        env=variables(options.env),
        adapter_env={os.fsencode(name): os.fsencode(value) for name, value in command.environment.items()},
        real_home=options.home == "real",
        workdir=options.workdir,
        wall_clock_seconds=options.max_wall_clock_seconds,
        agent_id=options.agent_id,
        team_id=options.team_id,
        receipt=options.receipt,
        imports_cwd=imports_cwd,
    )


def _launch(options: argparse.Namespace, request: Request) -> int:
    _warn(options)
    try:
        result = _launched(options, request)
    except AasmError as problem:
        _tell(options, _refused(problem))
        raise
    _tell(options, result)
    return result.code


def _launched(options: argparse.Namespace, request: Request) -> Result:
    from ..supervise.begin import begin

    try:  # the launcher starts while the rest is imported and planned
        begun = begin(confined=options.isolation != "none")
    except AasmError as problem:
        from .. import run

        run.refuse(request, _voice(options), problem)
        raise
    from .. import run

    return run.launch(request, begun, _voice(options), lambda event: None)


def _warn(options: argparse.Namespace) -> None:
    if options.no_proxy:
        complain("--no-proxy: this release mediates no traffic, with or without it", "warning")
    if options.isolation == "none" and options.max_wall_clock_seconds is not None:
        complain("--max-wall-clock-seconds is not enforced without a boundary", "warning")


class _voice:  # noqa: N801 - used as a function
    """Says what a launch has to say, on standard error; `--report never` silences the notes alone."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._notes = options.report != "never"

    def __call__(self, kind: str, text: str) -> None:
        if kind != "note":
            complain(text, kind)
        elif self._notes:
            note(text)


def _refused(problem: AasmError) -> Result:
    from ..run import Result

    return Result(problem.exit_code, "launcher", "refused", None, "", None)


def _tell(options: argparse.Namespace, result: Result) -> None:
    """Write the one line of --status-fd: a program may exit with any code, so only this says whose code it is."""
    if options.status_fd is None:
        return
    import json

    line = json.dumps({"schema": "aasm.run.status/1", **result._asdict()}, sort_keys=True) + "\n"
    if not deliver(options.status_fd, line.encode()):
        complain("--status-fd: the line could not be written; have somebody read that descriptor", "warning")


# --- the dry run ------------------------------------------------------------------------------------


def _preview(options: argparse.Namespace, request: Request) -> int:
    from .. import run
    from ..governance.identity import new_identity
    from . import preview

    identity = new_identity(request.agent_id, request.team_id, (), dry_run=True)
    try:
        found = run.preview(request, identity, options.show_order)
    except AasmError as problem:
        if problem.exit_code != REFUSED or options.show_order:
            raise
        complain(str(problem), "warning")
        complain("a live run with these options would refuse", "warning")
        say(preview.refused(identity, str(problem)))
        return OK
    if options.show_order:
        put(preview.order(found))
    else:
        say(preview.render(found))
    return OK
