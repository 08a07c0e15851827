# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The bind stage: everything that a run is, checked and pinned, as one immutable value. Changes nothing."""

from __future__ import annotations

import os
import stat
import sys
from typing import Mapping, NamedTuple

from . import state
from .backends.base import Backend
from .errors import HostError, UsageError, system_text
from .model import environment
from .model.domains import CapabilityDomain as Domain
from .model.grants import Grant, beneath
from .model.plan import EnforcementPlan
from .model.request import Request
from .model.requirements import ExecutionSpec, Identity
from .model.resolved import Coverage, Place, ResolvedPolicy, ResolvedRun
from .policy import grants as grant_checks
from .policy.grants import Trusted, Wanted
from .policy.lowering import Lowered
from .policy.walk import Walked, walk
from .supervise import private, spawn


class Surroundings(NamedTuple):
    """What the operator's process gives: its environment, home, directory, and where state is kept."""

    environ: Mapping[bytes, bytes]
    home: str
    cwd: str
    state: str

    def variable(self, name: str) -> str | None:
        """Return one environment variable as text, or None."""
        value = self.environ.get(os.fsencode(name))
        return None if value is None else os.fsdecode(value)


def surroundings() -> Surroundings:
    """Return the surroundings of this process. Raises HostError or UsageError."""
    environ = dict(os.environb)
    texts = {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()}
    home = _home(texts)
    try:
        cwd = os.getcwd()
    except OSError as problem:
        raise HostError(f"the working directory is gone: {system_text(problem)}", "", "change to another") from None
    return Surroundings(environ, home, cwd, state.state_dir(texts, home))


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    if home.startswith("/"):
        return os.path.normpath(home)
    import pwd  # only where HOME says nothing

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""


class Stated(NamedTuple):
    """What the policy states, lowered and expanded."""

    policy: ResolvedPolicy
    lowered: Lowered | None  # None without a policy that can be acted on
    coverage: tuple[Coverage, ...]
    wanted: tuple[Wanted, ...]
    policy_file: str  # "" when the policy stands on the command line


def workdir_as_given(request: Request, around: Surroundings) -> str:
    """Return the working directory as it was named, absolute, with every link still in it."""
    return os.path.join(around.cwd, request.workdir or "")


def working_dir(request: Request, around: Surroundings) -> Walked:
    """Return the directory in which the program starts, and the links on the way to it. Raises UsageError."""
    path = workdir_as_given(request, around)
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
    request: Request,
    around: Surroundings,
    identity: Identity,
    stated: Stated,
    chosen: tuple[Backend, EnforcementPlan] | None,
    scratch: str,
    mode: str,
) -> ResolvedRun:
    """Return the resolved run. `scratch` is the private directory: a preview has it only by name, "" is none."""
    walked = working_dir(request, around)
    place = _place(walked)
    plan = chosen[1] if chosen else None
    grants = _grants(request, around, stated, chosen[0], scratch) if chosen else ()
    grant_checks.check_place(walked, grants, "--workdir")
    real = _real_home(request, around, grants)
    made = _environment(request, around, scratch, real if chosen else None, chosen is not None)
    spec = ExecutionSpec(
        program=request.program[0],
        args=request.program[1:],
        working_dir=place.path,
        identity=identity,
        requirements=stated.lowered.requirements if stated.lowered and chosen else (),
        credentials=made.posture,
    )
    return ResolvedRun(
        identity=identity,
        isolation=request.isolation,
        policy=stated.policy,
        coverage=stated.coverage,
        spec=spec,
        plan=plan,
        selection_mode=mode,
        grants=grants,
        working_dir=place,
        argv=tuple(os.fsencode(item) for item in request.program),
        candidates=_candidates(os.fsencode(request.program[0]), made),
        environment=made,
        wall_clock_seconds=request.wall_clock_seconds if chosen else None,
        canary_path=os.path.join(os.path.realpath(around.state), state.CANARY),
    )


def _environment(
    request: Request, around: Surroundings, scratch: str, real_home: str | None, confined: bool
) -> environment.Environment:
    adapter = ("adapter", request.adapter_env)
    if not confined:
        return environment.untouched(around.environ, request.env, (adapter,))
    own = private.variables(scratch, real_home) if scratch else {b"HOME": os.fsencode(real_home or "/")}
    return environment.replaced(around.environ, request.env, (("private", own), adapter))


def _real_home(request: Request, around: Surroundings, grants: tuple[Grant, ...]) -> str | None:
    """Return the real home when the program is to use it, else None."""
    if not around.home:
        return None
    home = os.path.realpath(around.home)
    granted = any(grant.write and beneath(home, grant.path) for grant in grants)
    return around.home if request.real_home or granted else None


# --- grants -----------------------------------------------------------------------------------------


def _grants(
    request: Request, around: Surroundings, stated: Stated, backend: Backend, scratch: str
) -> tuple[Grant, ...]:
    stated_grants = grant_checks.resolve(stated.wanted)
    grant_checks.check_trusted(stated_grants, _trusted(request, around, stated))
    return (*stated_grants, *_own(stated, backend, scratch))


def _own(stated: Stated, backend: Backend, scratch: str) -> tuple[Grant, ...]:
    denied = stated.lowered.denied if stated.lowered else frozenset()
    read, write = Domain.FILESYSTEM_READ not in denied, Domain.FILESYSTEM_WRITE not in denied
    if not scratch:
        return backend.own_grants()
    try:
        found = os.stat(scratch)
        place = Grant(scratch, found.st_dev, found.st_ino, found.st_mode, read, write, "private directory")
    except OSError:  # a preview: the directory is made only for a launch
        place = Grant(scratch, 0, 0, stat.S_IFDIR, read, write, "private directory, made at launch")
    return (place, *backend.own_grants())


def _trusted(request: Request, around: Surroundings, stated: Stated) -> list[Trusted]:
    """Return what this run and the next one rely on, so that no program may be let to write it."""
    root, package = spawn.code_root()
    trusted = [
        Trusted(around.state, "the ledger and the receipts", True),
        Trusted(os.path.join(root, package), "the code of aasm itself", True),
        Trusted(sys.executable, "the Python interpreter", True),
    ]
    folders = (os.path.join(around.home, ".aasm") if around.home else "", "/etc/aasm")
    trusted += [Trusted(folder, "a place where policies are looked for", True) for folder in folders if folder]
    trusted += [Trusted(entry, "an entry of sys.path", True) for entry in _import_path()]
    trusted += [Trusted(path, what, inside) for path, what, inside in _TRUSTED_OF_THE_HOST]
    trusted += [Trusted(path, "modules that Python would import", True) for path in _places_for_modules(around)]
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    trusted.append(Trusted(os.path.join(sys.prefix, "pyvenv.cfg"), "the Python installation", True))
    trusted += [Trusted(prefix, "the Python installation", False) for prefix in prefixes]
    if request.receipt is not None:
        trusted.append(Trusted(os.path.join(around.cwd, request.receipt), "the receipt (--receipt)", False))
    if stated.policy_file:
        trusted.append(Trusted(os.path.join(around.cwd, stated.policy_file), "the policy in use", True))
    if request.imports_cwd:
        what = "the working directory, from which `python -m` imports"
        remedy = "start aasm as the installed script, or with -I, or with -P (Python 3.11 and later)"
        trusted.append(Trusted(around.cwd, what, True, remedy))
    return trusted


# What a program of root could write, without any capability, to have something done outside.
_TRUSTED_OF_THE_HOST = (
    ("/proc/sys", "the kernel's settings", True),
    ("/proc/sysrq-trigger", "the kernel's settings", False),
    ("/sys", "the kernel's settings", True),
    ("/dev/block", "the host's devices", False),
)


def _places_for_modules(around: Surroundings) -> list[str]:
    """Return where Python would look for code once it exists there: compiled modules, and the user's own."""
    found = [sys.pycache_prefix] if sys.pycache_prefix else []
    base = around.variable("PYTHONUSERBASE") or (os.path.join(around.home, ".local") if around.home else "")
    if base and not sys.flags.no_user_site:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        found.append(os.path.join(os.path.abspath(base), "lib", version))
    return found


def _import_path() -> list[str]:
    return list(dict.fromkeys(os.path.abspath(entry or ".") for entry in sys.path))


# --- the program ------------------------------------------------------------------------------------


def _candidates(program: bytes, made: environment.Environment) -> tuple[bytes, ...]:
    """Return the paths that exec tries, in order: as execvp(3) does, by the program's own PATH."""
    if not program or b"/" in program:
        return (program,)
    path = made.get(b"PATH") or os.fsencode(os.defpath)
    return tuple(os.path.join(entry or b".", program) for entry in path.split(b":"))
