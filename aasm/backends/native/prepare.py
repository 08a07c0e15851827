# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From a resolved run to the order that the launcher carries out, and the native backend itself."""

from __future__ import annotations

import errno
import os
import resource
import stat
from typing import Iterator

from ..._sys import boundary, bpf, landlock, order as orders
from ..._sys.bpf import length
from ..._sys.probe import HostFacts, LimitFacts
from ..._sys.syscalls import arch
from ...errors import HostError, InternalError, system_text
from ...model import privileges
from ...model.domains import BackendCapabilities, CapabilityDomain as Domain
from ...model.evidence import ClaimTerm, EvidenceKind, EvidenceRecord
from ...model.grants import Grant, covers
from ...model.plan import OutcomeKind
from ...model.question import Decision, Question
from ...model.requirements import CAPABILITY, Requirement, part, permitted, permitted_of, stated_ceilings
from ...model.resolved import ResolvedRun, SpawnSpec
from ..base import LaunchFacts
from . import capability, filters, floor, rules
from .judge import Compiled, decide

_PR_GET_SECUREBITS, _SECBIT_NOROOT = 27, 1 << 0  # linux/prctl.h, linux/securebits.h

# --- pure: a run and facts in, an order out ----------------------------------------------------


def held(run: ResolvedRun) -> tuple[Requirement, ...]:
    """Return the requirements that the plan enforces."""
    if run.plan is None:
        raise InternalError("a run without a plan has no order")
    return tuple(o.requirement for o in run.plan.outcomes if o.kind is OutcomeKind.ENFORCED)


def domains(requirements: tuple[Requirement, ...]) -> tuple[Domain, ...]:
    """Return the domains of these requirements, each once."""
    return tuple(dict.fromkeys(item.domain for item in requirements))


def filter_plan(requirements: tuple[Requirement, ...]) -> filters.FilterPlan:
    """Return what the filter has to hold for these requirements."""
    stated = {item.domain for item in requirements if not part(item.scope)}
    calls = [permitted(item.scope) for item in requirements if item.domain is Domain.SYSCALL]
    return filters.FilterPlan(
        no_network=Domain.NETWORK_EGRESS in stated,
        no_new_process=Domain.PROCESS_CREATION in stated,
        bounded_size="max_file_size_bytes" in dict(_ceilings(requirements)),
        allowed_calls=tuple(name for name in calls[0] if all(name in each for each in calls)) if calls else None,
    )


def limits(requirements: tuple[Requirement, ...], hard: LimitFacts) -> list[orders.Limit]:
    """Return the resource limits that hold the ceilings, soft and hard: never more than the host gives this process."""
    of_host = hard._asdict()
    found: dict[int, int] = {}
    for name, value in _ceilings(requirements):
        row = capability.HELD_BY_LIMIT[name]
        number = getattr(resource, row.limit)
        found[number] = min(n for n in (value, of_host[row.name], found.get(number, -1)) if n >= 0)
    return [(number, value, value) for number, value in found.items()]


def _ceilings(requirements: tuple[Requirement, ...]) -> Iterator[tuple[str, int]]:
    for item in requirements:
        if item.scope.limits is not None:
            yield from stated_ceilings(item.scope.limits).items()


def canaries(run: ResolvedRun) -> tuple[tuple[str, str], ...]:
    """Return each canary with the reason for which it is not applicable, or "" when it will be tried.

    The plan says what has to be tried, not the order: an order that lacks a control must not lack its canary as well.
    """
    planned = {item.domain for item in held(run) if not part(item.scope)}
    return (
        ("file_read", _untried(run, Domain.FILESYSTEM_READ in planned, "reading", write=False)),
        ("file_write", _untried(run, Domain.FILESYSTEM_WRITE in planned, "writing", write=True)),
        *((row.name, _unlimited(run, ceiling)) for ceiling, row in capability.HELD_BY_LIMIT.items()),
        ("call", ""),
    )


def _unlimited(run: ResolvedRun, ceiling: str) -> str:
    return "" if ceiling in dict(_ceilings(held(run))) else f"no {ceiling} is stated"


def _untried(run: ResolvedRun, decided: bool, verb: str, write: bool) -> str:
    if not decided:
        return f"the policy does not restrict {verb}"
    if covers(run.grants, run.canary_path, write):
        return f"the grants cover the canary file, so {verb} it is not refused"
    return ""


def compiled(run: ResolvedRun, host: HostFacts, root: Grant) -> Compiled:
    """Return the controls of one launch: what an order is made of, and what a question about the run is answered by."""
    requirements = held(run)
    known = landlock.Rights(host.landlock.fs, host.landlock.net, host.landlock.scope, host.landlock.flags)
    deciding = rules.handled(requirements, known)
    made = filters.last(arch(host.arch), filter_plan(requirements))
    return Compiled(deciding, rules.rules(run.grants, deciding, root), made)


def build(run: ResolvedRun, launch: LaunchFacts, root: Grant) -> orders.Order:
    """Return the order of one launch."""
    machine, requirements = arch(launch.host.arch), held(run)
    controls = compiled(run, launch.host, root)
    tried = {name for name, reason in canaries(run) if not reason}
    order = orders.Order()
    order.handled = (*controls.deciding, 0)
    order.rules = [_rule(item) for item in controls.rules]
    order.limits = limits(requirements, launch.host.limits)
    order.capabilities = privileges.mask(_privileges(requirements)) & inheritable(launch.host)
    order.filter_b = bpf.assemble(controls.filter)
    path = os.fsencode(run.canary_path)
    order.canary_read = path if "file_read" in tried else b""
    order.canary_write = path if "file_write" in tried else b""
    order.canary_call = machine.numbers["process_vm_readv"]
    order.signal_mask, order.name = launch.signal_mask, launch.name
    order.working_dir = (run.working_dir.device, run.working_dir.inode, os.fsencode(run.working_dir.path))
    order.candidates, order.argv = list(run.candidates), list(run.argv)
    order.environment = run.environment.strings()
    return order


def inheritable(host: HostFacts) -> int:
    """Return the capabilities that a program can get from this process.

    Root's survive exec, unless SECBIT_NOROOT says that it is a user like others, and those of others do not:
    capabilities(7), PR_GET_SECUREBITS of prctl(2).
    """
    if host.capabilities is None or host.euid != 0 or boundary.prctl(_PR_GET_SECUREBITS) & _SECBIT_NOROOT:
        return 0
    return host.capabilities.permitted


def _privileges(requirements: tuple[Requirement, ...]) -> list[str]:
    """Return the kernel's capabilities that the program keeps: those that every requirement about them permits."""
    about = [item.scope for item in requirements if part(item.scope) == CAPABILITY]
    lists = [permitted_of(CAPABILITY, scope) for scope in about]
    return [name for name in lists[0] if all(name in each for each in lists)] if lists else []


def _rule(item: rules.Rule) -> orders.Rule:
    grant = item.grant
    return item.access, grant.device, grant.inode, os.fsencode(grant.path)


def installed(run: ResolvedRun, order: orders.Order) -> tuple[EvidenceRecord, ...]:
    """Return what will be in force once the launcher has sealed: setup evidence, never a claim of coverage."""
    records = [_installed(domain, f"held by {_mechanism(domain, order)}") for domain in domains(held(run))]
    floor_text = f"floor of {len(floor.describe())} groups in a filter of {length(order.filter_b)} instructions"
    return (*records, _installed(None, floor_text))


def _mechanism(domain: Domain, order: orders.Order) -> str:
    by_rules = {Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE}
    if domain in by_rules:
        return f"a ruleset of {len(order.rules)} rules"
    if domain is Domain.CREDENTIAL:
        return f"an environment of {len(order.environment)} variables, capabilities {order.capabilities:#x}"
    if domain is Domain.RESOURCE:
        return ", ".join(f"resource limit {number} of {soft}" for number, soft, _ in order.limits)
    return f"a filter of {length(order.filter_b)} instructions"


def _installed(domain: Domain | None, detail: str) -> EvidenceRecord:
    return EvidenceRecord(EvidenceKind.INSTALLED, domain, ClaimTerm.PLANNED, detail)


# --- effects: read-only questions to the file system ----------------------------------------------

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")


def pinned(path: str, read: bool, write: bool, origin: str) -> Grant:
    """Return the grant of an existing object, pinned to its device and inode; to execute it is never among it.

    Raises OSError.
    """
    found = os.stat(path)
    return Grant(path, found.st_dev, found.st_ino, found.st_mode, read, write, origin)


def device_grants() -> tuple[Grant, ...]:
    """Return the device nodes that every program needs, and the terminal in use, as far as this host has them.

    Raises HostError.
    """
    found = []
    for path in dict.fromkeys((*DEVICES, *_terminals())):
        try:
            grant = pinned(path, read=True, write=True, origin="every program")
        except OSError as problem:
            if problem.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENXIO, errno.EACCES):
                raise HostError(system_text(problem), path, "make the device node usable") from None
            continue
        if not stat.S_ISCHR(grant.mode):  # every program could write it, and what it writes would stay
            raise HostError("is no device", path, "make the device node, or remove this")
        found.append(grant)
    return tuple(found)


def _terminals() -> list[str]:
    paths = []
    for descriptor in (0, 1, 2):
        try:
            paths.append(os.ttyname(descriptor))
        except OSError:  # not a terminal, or one of another mount namespace
            continue
    return paths


class NativeBackend:
    """`aasm-native` behind the contract of backends/base.py."""

    id = capability.ID

    def capabilities(self, host: HostFacts) -> BackendCapabilities:
        """See backends/base.py."""
        return capability.capabilities_of(host)

    def narrow(self, found: BackendCapabilities, requirements: tuple[Requirement, ...]) -> BackendCapabilities:
        """See backends/base.py."""
        return capability.narrow(found, requirements)

    def floor(self) -> tuple[str, ...]:
        """See backends/base.py."""
        return floor.describe()

    def own_grants(self) -> tuple[Grant, ...]:
        """See backends/base.py."""
        return device_grants()

    def decide(self, run: ResolvedRun, host: HostFacts, question: Question) -> Decision:
        """See backends/base.py."""
        return decide(compiled(run, host, pinned("/", read=False, write=False, origin="root")), question)

    def prepare(self, run: ResolvedRun, launch: LaunchFacts) -> SpawnSpec:
        """See backends/base.py. OrderError is turned into a refusal by the caller."""
        order = build(run, launch, pinned("/", read=False, write=False, origin="root"))
        tried = canaries(run)
        paths = tuple(os.fsdecode(rule[3]) for rule in order.rules)
        data = orders.encode(order)
        return SpawnSpec(data, launch.name, bool(order.filter_a), paths, tried, installed(run, order))
