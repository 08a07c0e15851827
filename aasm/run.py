# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The pipeline: calls each stage once, in this order. The only module that knows them all.

policy -> lowering -> backends -> planner -> bind -> registration -> prepare -> supervise -> evidence -> receipt
"""

from __future__ import annotations

import errno
import os
import time
from functools import partial
from typing import Callable, NamedTuple, Protocol

from . import evidence as evidence_stage, origin, state
from ._sys.order import OrderError
from ._sys.probe import HostFacts, host_facts
from .backends.base import Backend, LaunchFacts
from .bind import Scratch, bind, inadmissible, workdir_as_given, working_dir
from .errors import (
    CANNOT_EXECUTE,
    NOT_FOUND,
    REFUSED,
    SIGNAL_BASE,
    WALL_CLOCK,
    AasmError,
    HostError,
    InternalError,
    RefusalError,
    SupervisionError,
    one_line,
    system_text,
    unforeseen,
)
from .explain import not_run
from .governance.identity import new_identity
from .governance.session import Session, record_refusal
from .model import privileges
from .model.domains import CapabilityDomain as Domain
from .model.record import Ending, Event, RunRecord
from .model.report import IsolationReport, ReportStage
from .model.request import Request
from .model.requirements import CAPABILITY, Identity, permitted_of
from .model.resolved import ResolvedRun, SpawnSpec
from .policy.grants import Wanted
from .policy.values import Policy
from .receipt import build, store
from .sealing import receipt_facts
from .selecting import choose
from .stating import state_policy
from .supervise import private
from .supervise.begin import Begun
from .supervise.loop import Supervisor, judged
from .supervise.spawn import start_unconfined
from .surroundings import Surroundings, surroundings

Beside = tuple[Callable[[Event], None], Callable[[], bool]]  # who hears of a run, and what is done while it goes on


class Voice(Protocol):
    """Says what a launch has to say; how, and whether at all, is the command line's affair."""

    def say(self, kind: str, text: str) -> None:
        """Say one text; `kind` is note, warning or error."""

    def show(self, report: IsolationReport) -> None:
        """Show the report of one stage."""


def _unknown(further: Wanted) -> str:
    raise InternalError(f"nobody knows whether {further.path} could be granted: the run was not resolved")


class Resolution(NamedTuple):
    """A resolved run, with what its launch needs beside it. `backend` is None when there is nothing to launch with."""

    run: ResolvedRun
    backend: Backend | None
    host: HostFacts
    policy: Policy | None  # what it goes by, merged and placed; None when there is none that can be used
    admits: Callable[[Wanted], str] = _unknown  # why a further path could not be granted beside the others, or ""


class Result(NamedTuple):
    """How one command ended, for the exit code and for the status descriptor."""

    code: int
    origin: str  # program or launcher
    ending: str
    signal: int | None
    run_id: str
    receipt: str | None


def resolve(request: Request, around: Surroundings, identity: Identity, scratch: Scratch) -> Resolution:
    """Return the resolved run: a refusal of policy, backends, host or paths is part of it.

    UsageError when the command line is wrong. The one way to a ResolvedRun, for a preview and for a launch.
    """
    host = host_facts()
    working_dir(request, around)  # the very first check: everything else may depend on it
    stated = state_policy(request, around, workdir_as_given(request, around))
    chosen = choose(request, stated, host)
    run = bind(request, around, identity, stated, chosen, scratch)
    return Resolution(run, chosen.backend, host, stated.effective, partial(inadmissible, request, around, stated))


def preview(request: Request, identity: Identity, by_hand: bool) -> Resolution:
    """Return what a launch would be, without changing anything on this host.

    A launch that is carried out `by_hand` has no private directory: nobody would make and remove it.
    """
    around = surroundings()
    name = "" if by_hand else os.path.join(private.parent(around.variable("TMPDIR")), "aasm-dry-run")
    return resolve(request, around, identity, Scratch(name))


def launch(request: Request, begun: Begun, voice: Voice, listen: Callable[[Event], None]) -> Result:
    """Launch, supervise to the end, and leave what a run leaves: ledger records, a receipt, nothing else."""
    try:
        identity = new_identity(request.agent_id, request.team_id, (), dry_run=False)
        return _launch(_Held(request, surroundings(), identity, voice), begun, listen)
    finally:
        begun.discard()


def refuse(request: Request, voice: Voice, problem: AasmError) -> None:
    """Record a launch that was refused before there was anything to launch with."""
    identity = new_identity(request.agent_id, request.team_id, (), dry_run=False)
    try:
        held = _Held(request, surroundings(), identity, voice)
    except AasmError:
        return  # there is no place to record it in; what is reported is the first failure
    held.refused(problem)
    held.show_refusal()
    held.clean()


def _launch(held: _Held, begun: Begun, listen: Callable[[Event], None]) -> Result:
    try:
        return held.launch(begun, listen)
    except Exception as problem:  # noqa: BLE001 - a defect of ours is recorded like every other end
        ours = _ours(problem)
        held.broke(ours)
        if held.under_way:
            ours = SupervisionError(ours.what, ours.where, ours.remedy)
        ours.run_id = held.identity.session_id
        raise ours from None
    finally:
        held.clean()


def _ours(problem: Exception) -> AasmError:
    if not isinstance(problem, OSError):
        return unforeseen(problem)
    return HostError(system_text(problem), str(problem.filename or ""), "raise the limits of this process (ulimit -a)")


class _Held:
    """What a launch holds while it goes on, and must let go of whatever happens."""

    def __init__(self, request: Request, around: Surroundings, identity: Identity, voice: Voice) -> None:
        self.request, self.around, self.identity, self.voice = request, around, identity, voice
        self.scratch = ""
        self.reservation: store.Reservation | None = None
        self.session: Session | None = None
        self.messages: list[tuple[str, str]] = []
        self.resolved: ResolvedRun | None = None
        self.shown: IsolationReport | None = None  # what is reported of the run once all is recorded
        self.code = origin.Reading(origin.running())  # for the receipt, read while the program runs
        self.under_way = False  # from then on the program may have run, so nothing is a refusal any more

    def launch(self, begun: Begun, listen: Callable[[Event], None]) -> Result:
        """Carry one launch out from resolution to receipt."""
        try:
            found = self._admitted(begun)
        except AasmError:
            self.show_refusal()
            raise
        for text in cautions(found, self.request):
            self.voice.say("warning", text)
        self.voice.show(evidence_stage.report(found.run, evidence_stage.planned(found.run), ReportStage.PRE_LAUNCH))
        spec = _prepare(found, begun)
        if spec is None:
            _enter(found.run)
        self.under_way = True
        record = _run(found.run, spec, begun, (listen, self.code.step if self.reservation else lambda: False))
        if not record.program_ran:
            return self._not_started(found.run, spec, record)
        return self._ended(found, spec, record)

    def _admitted(self, begun: Begun) -> Resolution:
        """Return the run once it is resolved, has a place for its receipt, and is registered."""
        state.open_canary(self.around.state)
        if begun.launcher is not None:
            self.scratch = private.create(private.parent(self.around.variable("TMPDIR")))
        found = resolve(self.request, self.around, self.identity, Scratch(self.scratch, exists=True))
        self.resolved = found.run
        if found.run.refusal is not None:
            raise RefusalError(found.run.refusal.text)
        self._reserve(found.run)
        self.session = Session.register(self.around.state, self.identity, _what(found.run))
        return found

    def show_refusal(self) -> None:
        """Show the report of a refused run; where it was refused before or after it was resolved, that of a preview."""
        found = self.resolved
        if found is None or found.refusal is None:
            try:
                found = preview(self.request, self.identity, by_hand=False).run
            except Exception:  # noqa: BLE001 - the refusal itself is on its way, and nothing may take its place
                return
        if found.refusal is not None:
            self.voice.show(evidence_stage.report(found, evidence_stage.planned(found), ReportStage.PRE_LAUNCH))

    def _reserve(self, run: ResolvedRun) -> None:
        if self.request.receipt is not None:
            self.reservation = store.reserve_file(os.path.join(self.around.cwd, self.request.receipt))
        elif run.plan is not None:
            self.reservation = store.reserve(self.around.state, self.identity.session_id)

    def _not_started(self, run: ResolvedRun, spec: SpawnSpec | None, record: RunRecord) -> Result:
        text = not_run(run, spec.rule_paths if spec else (), record)
        self._note_in_ledger(lambda session: session.not_started(record.ending.value))
        self.later("error", one_line(text))
        codes = {Ending.NOT_FOUND: NOT_FOUND, Ending.NOT_EXECUTABLE: CANNOT_EXECUTE}
        code = codes.get(record.ending, REFUSED)
        return Result(code, "launcher", record.ending.value, record.signal, self.identity.session_id, None)

    def _ended(self, found: Resolution, spec: SpawnSpec | None, record: RunRecord) -> Result:
        code = _exit_code(record)
        self._remove_scratch()  # nothing of the run is alive, and the receipt may need the room
        if record.ending is Ending.WALL_CLOCK:
            stated = f"{found.run.ceilings.max_wall_clock_seconds} s ({clock_stated_by(found.run)})"
            self.later("warning", f"the program reached its ceiling of {stated} and was told to end")
        if record.survivors:
            left = f"{record.survivors} process(es) were left over when the program ended"
            self.later("warning", f"{left}, and were ended")
        digest, path = self._account(found, spec, record)
        self._note_in_ledger(lambda session: session.ended(record.code, record.ending.value, digest))
        return Result(code, "program", record.ending.value, record.signal, self.identity.session_id, path)

    def _account(self, found: Resolution, spec: SpawnSpec | None, record: RunRecord) -> tuple[str | None, str | None]:
        """Report and write the receipt; a failure is a warning and a note, and never changes how the program ended."""
        try:
            evidence = evidence_stage.collect(found.run, spec, record)
            report = evidence_stage.report(found.run, evidence, ReportStage.POST_RUN)
            self.shown = report if found.run.plan else None
            if self.reservation is None:
                return None, None
            now = int(time.time())
            facts = receipt_facts(found.run, spec, record, evidence, report, found.host, self.code.finish(), now)
            made = build.make(facts, now)
            reservation, self.reservation = self.reservation, None
            path = store.write(reservation, made.data, now)
        except Exception as problem:  # noqa: BLE001 - of whatever kind: the program has ended as it has ended
            self._complain(f"no receipt was written: {type(problem).__name__}: {one_line(str(problem))}")
            return None, None
        for defect in made.defects:
            self._complain(f"the receipt breaks its own rule {defect.rule}; this is a defect of aasm: report it")
        self.later("note", one_line(f"aasm: receipt: {path}"))
        return made.digest, path

    def _complain(self, text: str) -> None:
        self.later("warning", text)
        self._note_in_ledger(lambda session: session.note(text))

    def _note_in_ledger(self, note: Callable[[Session], None]) -> None:
        try:
            if self.session is not None:
                note(self.session)
        except AasmError as problem:
            self.later("warning", f"the ledger could not be written: {problem}")

    def refused(self, problem: AasmError) -> None:
        """Record a refusal, before or after registration."""
        try:
            if self.session is not None:
                self.session.refused(str(problem))
            else:
                record_refusal(self.around.state, self.identity, str(problem))
        except AasmError as second:
            if str(second) != str(problem):
                self.later("warning", f"the refusal could not be recorded: {second}")

    def broke(self, problem: AasmError) -> None:
        """Record that we failed ourselves: a refusal before the launch, afterwards only what is known."""
        if not self.under_way:
            self.refused(problem)
            return
        self._note_in_ledger(lambda session: session.note(f"supervision failed, the program may have run: {problem}"))

    def clean(self) -> None:
        """Let go of the reservation and the private directory."""
        if self.reservation is not None:
            store.abandon(self.reservation)
        self._remove_scratch()
        try:
            if self.shown is not None:
                self.voice.show(self.shown)
        except (ImportError, MemoryError) as problem:  # which never changes how the program ended
            self.later("warning", f"the report is not shown: {unforeseen(problem)}")
        for kind, text in self.messages:
            self.voice.say(kind, text)

    def _remove_scratch(self) -> None:
        scratch, self.scratch = self.scratch, ""
        try:
            if scratch:
                private.remove(scratch)
        except OSError as problem:
            self.later("warning", f"{scratch}: the private directory stays behind: {system_text(problem)}")

    def later(self, kind: str, text: str) -> None:
        """Keep a message until all is recorded: a terminal or pipe that blocks must not stop the end of a run."""
        self.messages.append((kind, text))


def clock_stated_by(run: ResolvedRun) -> str:
    """Return the node or option that states the wall clock of a run that has one."""
    limits = ((item.scope.limits, item.stated_by) for item in run.spec.requirements)
    return next(node for scope, node in limits if scope and scope.max_wall_clock_seconds is not None)


def _what(run: ResolvedRun) -> str:
    return f"exec {os.path.basename(run.spec.program)}, isolation {run.isolation}"


def cautions(found: Resolution, request: Request) -> list[str]:
    """Return what an operator must hear before a launch, and in its preview."""
    run = found.run
    missing = set(request.env) - {entry.name for entry in run.environment.entries}
    lines = [f"--env {os.fsdecode(name)}: not set here, so nothing is passed on" for name in sorted(missing)]
    if run.plan is None:
        return lines
    lines += [f"{path}: its scope is of another, so it is left out" for path in run.policy.left_out]
    why = "the other policies let the program write it or restrict no writing, or it is for a scope that was not stated"
    lines += [f"{path}: this policy can only narrow: {why}" for path in run.policy.narrowing]
    lines += [f"{path}: this policy can be changed by another user" for path in run.policy.exposed]
    lines += [f"the policy allows {name}, which a program of this user does not get" for name in _not_had(found)]
    lines += [f"the policy states {item}, and nothing in this release acts on it" for item in run.policy.unmapped]
    if Domain.FILESYSTEM_WRITE not in [outcome.requirement.domain for outcome in run.plan.outcomes]:
        lines.append("the policy does not restrict writing: the program can change what the next run trusts")
    return lines


def _not_had(found: Resolution) -> tuple[str, ...]:
    """Return the capabilities that the policy allows and that a program of this process cannot get."""
    names = [name for item in found.run.spec.requirements for name in permitted_of(CAPABILITY, item.scope)]
    held = found.host.capabilities.permitted if found.host.capabilities and found.host.euid == 0 else 0
    return privileges.missing(names, held)


def _prepare(found: Resolution, begun: Begun) -> SpawnSpec | None:
    if found.backend is None:
        return None
    name = b"aasm-" + os.urandom(5).hex().encode()  # 15 bytes, the most a thread's name can hold
    try:
        return found.backend.prepare(found.run, LaunchFacts(found.host, begun.mask, name))
    except OrderError as problem:
        raise RefusalError(f"refusing to launch: {problem}; give fewer arguments or variables") from None


def _run(run: ResolvedRun, spec: SpawnSpec | None, begun: Begun, beside: Beside) -> RunRecord:
    launcher = begun.launcher
    if spec is None or launcher is None:
        return _run_unconfined(run, begun, beside)
    if spec.notifies:
        raise InternalError("a backend wants notifications, and nothing here answers them")
    supervisor = Supervisor(launcher.pid, begun.signals, begun.bystanders, True, *beside)
    supervisor.send(launcher, spec.order, spec.name)
    return judged(supervisor.run(run.ceilings.max_wall_clock_seconds), launcher, supervisor)


def _enter(run: ResolvedRun) -> None:
    try:
        os.chdir(run.working_dir.path)
    except OSError as problem:
        remedy = "name a directory that this user can enter"
        raise HostError(system_text(problem), run.working_dir.path, remedy) from None


def _run_unconfined(run: ResolvedRun, begun: Begun, beside: Beside) -> RunRecord:
    now = int(time.time())
    ours = os.umask(begun.umask)
    try:
        pid, number = start_unconfined(run.candidates, run.argv, run.environment.strings(), begun.mask)
    finally:
        os.umask(ours)
    if pid == 0:
        ending = Ending.NOT_FOUND if number in (errno.ENOENT, errno.ENOTDIR) else Ending.NOT_EXECUTABLE
        return RunRecord(ending, None, None, number, "", 0, False, {}, now, now, None, 0)
    return Supervisor(pid, begun.signals, begun.bystanders, False, *beside).run(None)


def _exit_code(record: RunRecord) -> int:
    if record.ending is Ending.WALL_CLOCK:
        return WALL_CLOCK
    return SIGNAL_BASE + record.signal if record.signal is not None else record.code or 0
