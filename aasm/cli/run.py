# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm run exec`: from options to a request, and from a result to the exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import OK, AasmError, RefusalError, SupervisionError
from ..governance.identity import check_id
from ..model.requirements import ResourceLimits, option, stated_ceilings
from . import complain, complain_of, deliver, note, put, say
from .options import CEILINGS, check, check_words, parser, split, variables

if TYPE_CHECKING:
    import argparse

    from ..devtools import Adapter, Command
    from ..model.report import IsolationReport
    from ..model.request import Request
    from ..run import Result


def main(target: Adapter, args: list[str], imports_cwd: bool) -> int:
    """Carry out `run TARGET` with these arguments; return the exit code."""
    before, words = split(args)
    options = parser().parse_args(before)
    check(options)
    check_words(options, words)
    for name in ("agent_id", "team_id"):
        if getattr(options, name) is not None:
            check_id(getattr(options, name), f"--{name.replace('_', '-')}")
    request = _request(options, target.id, target.command(tuple(words)), imports_cwd)
    _warn(options, request)
    return _preview(options, request) if options.dry_run else _launch(options, request)


def _request(options: argparse.Namespace, target: str, command: Command, imports_cwd: bool) -> Request:
    from ..model.request import Request

    return Request(
        program=command.argv,
        target=target,
        isolation=options.isolation,
        backend=options.isolation_backend,
        policies=tuple(options.policy),
        read=tuple(options.read),
        write=tuple(options.write),
        system=options.system,
        env=variables(options.env),
        adapter_env={os.fsencode(name): os.fsencode(value) for name, value in command.environment.items()},
        settings=command.settings,
        real_home=options.home == "real",
        workdir=options.workdir,
        ceilings=ResourceLimits(**{name: getattr(options, name) for name in CEILINGS}),
        agent_id=options.agent_id,
        team_id=options.team_id,
        receipt=options.receipt,
        imports_cwd=imports_cwd,
    )


def _launch(options: argparse.Namespace, request: Request) -> int:
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

        run.refuse(request, Voice(options.report), problem)
        raise
    from .. import run

    return run.launch(request, begun, Voice(options.report), lambda event: None)


def _warn(options: argparse.Namespace, request: Request) -> None:
    if options.no_proxy:
        complain("--no-proxy: this release mediates no traffic, with or without it", "warning")
    ceilings = [option(name) for name in stated_ceilings(request.ceilings)]
    if request.isolation == "none" and ceilings:
        complain(f"without a boundary no ceiling is enforced: {', '.join(ceilings)}", "warning")


class Voice:
    """Says what a launch has to say, on standard error; `--report` decides about all but warnings and errors."""

    def __init__(self, report: str) -> None:
        self.report = report
        self.in_keys = report == "always" or (report == "auto" and not os.isatty(2))

    def say(self, kind: str, text: str) -> None:
        """Say one text; `kind` is note, warning or error."""
        if kind != "note":
            complain(text, kind)
        elif self.report != "never":
            note([text])

    def show(self, report: IsolationReport) -> None:
        """Show the report of one stage: its keys, or a line for a person. That of a refusal only when asked for."""
        if self.report == "never" or (report.refusal is not None and self.report != "always"):
            return
        if self.in_keys:
            from .machine import block

            note(block(report).split("\n"))
        else:
            from .human import summary

            note([summary(report)])


def _refused(problem: AasmError) -> Result:
    from ..run import Result

    if isinstance(problem, SupervisionError):
        return Result(problem.exit_code, "unknown", "supervision_failed", None, problem.run_id, None)
    return Result(problem.exit_code, "launcher", "refused", None, problem.run_id, None)


def _tell(options: argparse.Namespace, result: Result) -> None:
    """Write the one line of --status-fd: a program may exit with any code, so only this says whose code it is."""
    if options.status_fd is None:
        return
    import json

    place = result.receipt and os.fsencode(result.receipt).decode("utf-8", "backslashreplace")  # JSON is UTF-8
    told = {"schema": "aasm.run.status/1", **result._replace(receipt=place)._asdict()}
    line = json.dumps(told, sort_keys=True) + "\n"
    if not deliver(options.status_fd, line.encode()):
        complain("--status-fd: the line could not be written; have somebody read that descriptor", "warning")


# --- the dry run ------------------------------------------------------------------------------------


def _preview(options: argparse.Namespace, request: Request) -> int:
    from .. import run
    from ..governance.identity import new_identity
    from ..surroundings import refusable
    from . import preview

    identity = new_identity(request.agent_id, request.team_id, (), dry_run=True)
    try:
        found = run.preview(request, identity, options.show_order)
    except AasmError as problem:
        if not refusable(problem) or options.show_order:
            raise
        _would_refuse(problem)
        say(preview.refused(identity, str(problem), options.json))
        return OK
    if options.show_order:
        put(preview.order(found))
        for text in run.cautions(found, request):
            complain(text, "warning")
        if found.run.ceilings.max_wall_clock_seconds is not None:
            complain(f"{run.clock_stated_by(found.run)} is not in the order: the supervisor keeps it", "warning")
        return OK
    if found.run.refusal is not None:
        _would_refuse(RefusalError(found.run.refusal.text))
    else:
        for text in run.cautions(found, request):
            complain(text, "warning")
    say(preview.as_json(found) if options.json else preview.render(found))
    return OK


def _would_refuse(problem: AasmError) -> None:
    complain_of(problem, "warning")
    complain("a live run with these options would refuse", "warning")
