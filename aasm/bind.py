# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The bind stage: everything that a run is, checked and pinned, as one immutable value. Changes nothing."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import Iterator, NamedTuple

from . import state
from ._sys import process
from .backends.base import Backend
from .errors import AasmError, HostError, PolicyError, UsageError, system_text
from .governance import ledger
from .model import environment
from .model.descriptors import Descriptor, DescriptorDisposition, DescriptorInventory
from .model.domains import CapabilityDomain as Domain
from .model.grants import Grant, beneath
from .model.plan import Refusal, RefusalKind
from .model.request import Request
from .model.requirements import EXECUTING, ExecutionSpec, Identity, part
from .model.resolved import Place, ResolvedRun
from .policy import grants as grant_checks
from .policy.walk import Walked, walk
from .receipt import store
from .selecting import Chosen
from .stating import Stated
from .supervise import begin, private
from .surroundings import Surroundings, refusable
from .trusted import ours, trusted


class Scratch(NamedTuple):
    """The private directory of the run. A preview has it only by name; an order carried out by hand has none ("")."""

    path: str
    exists: bool = False


def workdir_as_given(request: Request, around: Surroundings) -> str:
    """Return the working directory as it was named, absolute, with every link still in it."""
    return os.path.join(around.cwd, request.workdir or "")


def working_dir(request: Request, around: Surroundings) -> Walked:
    """Return the directory in which the program starts, and the links on the way to it. UsageError, HostError."""
    path = workdir_as_given(request, around)
    if not path.startswith("/"):
        raise HostError("the working directory is gone", "", "change to another, or name one with --workdir")
    try:
        walked = walk(path)
    except OSError as problem:
        raise UsageError(f"{path}: {system_text(problem)}", "--workdir", "name a directory that exists") from None
    if walked.found is None or not stat.S_ISDIR(walked.found.st_mode):
        raise UsageError(f"{path} is not a directory", "--workdir", "name a directory")
    return walked


def _place(walked: Walked) -> Place:
    assert walked.found is not None  # `working_dir` has seen it
    return Place(walked.path, walked.found.st_dev, walked.found.st_ino)


def bind(
    request: Request, around: Surroundings, identity: Identity, stated: Stated, chosen: Chosen, scratch: Scratch
) -> ResolvedRun:
    """Return the resolved run. What cannot be granted is a refusal in it; a wrong command line raises UsageError."""
    walked = working_dir(request, around)
    place, confined = _place(walked), request.isolation != "none"
    grants, unusable = _granted(request, around, stated, chosen, scratch, walked)
    made = _environment(request, around, stated, scratch.path, grants, confined)
    unkept = _unkept(request, around, place, scratch)
    refusal = stated.refusal or chosen.refusal or unusable or unkept or _unregistered(around)
    spec = ExecutionSpec(
        program=request.program[0],
        args=request.program[1:],
        working_dir=place.path,
        identity=identity,
        requirements=stated.lowered.requirements if confined else (),
        credentials=made.posture,
    )
    return ResolvedRun(
        identity=identity,
        isolation=request.isolation,
        policy=stated.policy,
        coverage=stated.lowered.coverage,
        spec=spec,
        plan=chosen.plan if refusal is None else None,
        selection=chosen.selection,
        refusal=refusal,
        grants=grants,
        working_dir=place,
        argv=tuple(os.fsencode(item) for item in request.program),
        candidates=_candidates(os.fsencode(request.program[0]), made),
        environment=made,
        ceilings=stated.ceilings,
        canary_path=os.path.join(os.path.realpath(around.state), state.CANARY),
        descriptors=_descriptors(),
        target=request.target,
        settings=request.settings,
    )


def _granted(
    request: Request, around: Surroundings, stated: Stated, chosen: Chosen, scratch: Scratch, walked: Walked
) -> tuple[tuple[Grant, ...], Refusal | None]:
    if chosen.backend is None:
        return (), None
    try:
        grants = _grants(request, around, stated, chosen.backend, scratch)
        grant_checks.check_place(walked, grants, "--workdir", stated.open_before)
    except AasmError as problem:
        if not refusable(problem):
            raise
        return (), Refusal(RefusalKind.PATHS, str(problem))
    return grants, None


def _unkept(request: Request, around: Surroundings, place: Place, scratch: Scratch) -> Refusal | None:
    """Return the refusal of a run that could not be started here or whose records could not be kept.

    UsageError for a receipt that has no place.
    """
    try:
        if not os.access(place.path, os.X_OK, effective_ids=True):
            problem = os.strerror(errno.EACCES)
            raise HostError(problem, place.path, "name a working directory that this user can enter (--workdir)")
        if request.receipt is not None:
            store.foresee_file(os.path.join(around.cwd, request.receipt))
        if not scratch.exists:  # a launch has found out for itself by now, or does so next
            _foresee(request, around)
    except AasmError as problem:
        if not refusable(problem):
            raise
        return Refusal(RefusalKind.PATHS, str(problem))
    return None


def _foresee(request: Request, around: Surroundings) -> None:
    """Raise what a launch would be refused for before and after it has a resolved run. Changes nothing."""
    begin.foresee(request.isolation != "none")
    directory = state.foresee(around.state)
    if directory is None:
        return
    try:
        canary = state.foresee_file(directory, state.CANARY, os.O_RDWR)
        if canary is not None:
            os.close(canary)
        if request.isolation != "none" and request.receipt is None:
            store.foresee(directory)
        ledger.foresee(directory)
    finally:
        os.close(directory.descriptor)


def _unregistered(around: Surroundings) -> Refusal | None:
    if not around.variable("AA_GATEWAY_ENDPOINT"):
        return None
    text = (
        "refusing to launch unregistered: AA_GATEWAY_ENDPOINT names a gateway and this release speaks to none; unset "
        "it to register in the local ledger"
    )
    return Refusal(RefusalKind.REGISTRATION, text)


def _environment(
    request: Request, around: Surroundings, stated: Stated, scratch: str, grants: tuple[Grant, ...], confined: bool
) -> environment.Environment:
    adapter = ("adapter", request.adapter_env)
    if not confined:
        return environment.untouched(around.environ, request.env, (adapter,))
    home = _real_home(request, around, grants)
    own = private.variables(scratch, home) if scratch else {}
    real = {b"HOME": os.fsencode(home or "/")} if home or not scratch else {}
    passed = tuple(os.fsencode(name) for name in stated.variables)
    layers = (("private", own), ("real home", real), adapter)
    return environment.replaced(around.environ, request.env, layers, passed)


def _real_home(request: Request, around: Surroundings, grants: tuple[Grant, ...]) -> str | None:
    """Return the real home when the program is to use it, else None."""
    if not around.home:
        return None
    home = os.path.realpath(around.home)
    granted = any(grant.write and beneath(home, grant.path) for grant in grants)
    return around.home if request.real_home or granted else None


def _descriptors() -> DescriptorInventory:
    """Return what becomes of each open descriptor: every launch closes all but 0, 1 and 2 (supervise/begin.py)."""
    try:
        found = process.open_descriptors()
    except OSError as problem:
        return DescriptorInventory((), f"/proc/self/fd: {system_text(problem)}")
    return DescriptorInventory(tuple(map(_descriptor, found)))


def _descriptor(number: int) -> Descriptor:
    if number <= 2:
        return Descriptor(number, DescriptorDisposition.DELEGATED, "a standard stream of the program")
    return Descriptor(number, DescriptorDisposition.CLOSED_BEFORE_EXEC)


# --- grants -----------------------------------------------------------------------------------------


def _grants(
    request: Request, around: Surroundings, stated: Stated, backend: Backend, scratch: Scratch
) -> tuple[Grant, ...]:
    stated_grants = grant_checks.resolve(stated.wanted, stated.open_before)
    grant_checks.check_trusted(stated_grants, trusted(request, around, stated.policy_files))
    kept = [item._replace(remedy="send it elsewhere") for item in ours(around, stated.policy_files)]
    grant_checks.check_trusted(_streams(), kept)
    return (*stated_grants, *_own(stated, backend, scratch))


def inadmissible(request: Request, around: Surroundings, stated: Stated, further: grant_checks.Wanted) -> str:
    """Return why a launch would refuse one more path beside those that the policy states, or an empty text."""
    try:
        made = grant_checks.resolve((*stated.wanted, further), stated.open_before)
        place = walk(further.path).path
        new = [grant for grant in made if grant.path == place]
        grant_checks.check_trusted(new, trusted(request, around, stated.policy_files))
    except PolicyError as problem:
        return problem.what
    except OSError as problem:
        return system_text(problem)
    return ""


def _streams() -> Iterator[Grant]:
    """Yield a grant for each standard stream that is a file open for writing: no rule decides about those."""
    for number in (0, 1, 2):
        found = os.fstat(number)
        if stat.S_ISREG(found.st_mode) and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
            path = f"/proc/self/fd/{number}"
            try:
                path = os.readlink(path)
            except OSError:
                pass  # device and inode tell it apart as well
            yield Grant(path, found.st_dev, found.st_ino, found.st_mode, False, True, f"descriptor {number}")


def _own(stated: Stated, backend: Backend, scratch: Scratch) -> tuple[Grant, ...]:
    denied = stated.lowered.denied
    read, write = Domain.FILESYSTEM_READ not in denied, Domain.FILESYSTEM_WRITE not in denied
    if not scratch.path:
        return backend.own_grants()
    if scratch.exists:
        found = os.stat(scratch.path)
        place = Grant(scratch.path, found.st_dev, found.st_ino, found.st_mode, read, write, "private directory")
    else:
        private.foresee(os.path.dirname(scratch.path))
        place = Grant(scratch.path, 0, 0, stat.S_IFDIR, read, write, "private directory, made at launch")
    if not any(part(item.scope) == EXECUTING for item in stated.lowered.requirements):
        place = place._replace(execute=read)
    return (place, *backend.own_grants())


# --- the program ------------------------------------------------------------------------------------


def _candidates(program: bytes, made: environment.Environment) -> tuple[bytes, ...]:
    """Return the paths that exec tries, in order: as execvp(3) does, by the program's own PATH."""
    if not program or b"/" in program:
        return (program,)
    path = made.get(b"PATH") or os.fsencode(os.defpath)
    return tuple(os.path.join(entry or b".", program) for entry in path.split(b":"))
