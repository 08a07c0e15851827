# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One run for each thing that a report can have to say, so that every output of reports is tried with all of them."""

from __future__ import annotations

from typing import Any, Callable, Dict

from support.runs import CLEAN, resolution

from aasm.model.descriptors import Descriptor, DescriptorDisposition, DescriptorInventory
from aasm.model.domains import CapabilityDomain as Domain
from aasm.model.plan import Refusal, RefusalKind
from aasm.model.requirements import (
    WHOLE,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    permit_only,
)
from aasm.run import Resolution

SECRETS = {
    b"MY_TOKEN": b"t0psecret-a",
    b"DATABASE_URL": b"pg://u:t0psecret-b@h/d",
    b"PLAIN": b"plain",
    b"PATH": b"/usr/bin",
}
LEFT_OPEN = Descriptor(7, DescriptorDisposition.RESIDUAL_UNCLOSABLE, "nothing closes it")
OPEN = DescriptorInventory((*CLEAN.descriptors, LEFT_OPEN))
UNLISTED = DescriptorInventory((), "/proc/self/fd: Permission denied")
HOSTS = "network:\n  allowlist: [example.org]\n"
UNMAPPED = "capabilities:\n  deny: [terminal_exec, network_inbound]\n"
ONLY_TOOLS = "tools:\n  a:\n    allow: true\n"
EXECUTE = "filesystem:\n  read:\n    allow: [/usr]\n  execute:\n    allow: [/usr/bin, /lib]\n"
PARTS = (
    "ipc:\n  unix:\n    allow: []\ncredentials:\n  environment:\n    allow: [MY_TOKEN, LANG, ABSENT]\n"
    "  capabilities:\n    allow: [CAP_CHOWN]\n"
)
CEILINGS = "resources:\n  max_open_files: 64\n  max_wall_clock_seconds: 9\n  max_cpu_seconds: 5\n"
GOVERNING = (
    "filesystem:\n  read:\n    allow: [/usr]\nbudget:\n  daily_limit_usd: 20\negress:\n  posture: not_required\n"
    "data:\n  credential_action: block\ntools:\n  sh:\n    allow: false\n    limit_per_hour: 3\n"
)
DENY_ALL = "filesystem:\n  read:\n    allow: []\nnetwork:\n  allowlist: []\nsyscalls:\n  allow: [read]\n"


def wanted(
    domain: Domain, posture: Posture = Posture.REQUIRED, intent: Intent = Intent.PREVENT_BEFORE_EFFECT
) -> Requirement:
    return Requirement(domain, WHOLE, intent, posture, stated_by=f"the test of {domain.value}")


def _made(*requirements: Requirement, **options: Any) -> Callable[[], Resolution]:
    return lambda: resolution(requirements or None, **options)


# Runs that would be launched.
LAUNCHED: Dict[str, Callable[[], Resolution]] = {
    "no boundary": _made(isolation="none"),
    "no boundary, with inherited authority": _made(isolation="none", environ=SECRETS, descriptors=OPEN),
    "no boundary, nothing known of descriptors": _made(isolation="none", descriptors=UNLISTED),
    "no boundary, with ceilings": _made(isolation="none", ceilings=ResourceLimits(max_open_files=64, max_pids=2)),
    "ready": _made(abi=6),
    "ready, of auto": _made(isolation="auto", abi=9),
    "ready, pinned": _made(backend="aasm-native", isolation="auto"),
    "root": _made(euid=0),
    "everything denied": _made(policy=DENY_ALL),
    "unmapped": _made(policy=UNMAPPED),
    "delegated": _made(environ=SECRETS, env={b"MY_TOKEN": None, b"GIVEN": b"t0psecret-c"}),
    "ceilings held": _made(
        ceilings=ResourceLimits(max_open_files=64, max_file_size_bytes=5000, max_wall_clock_seconds=9)
    ),
    "ceilings not held": _made(ceilings=ResourceLimits(max_cpu_seconds=5)),
    "ceilings, held and not": _made(ceilings=ResourceLimits(max_open_files=64, max_cpu_seconds=5)),
    "degraded": _made(wanted(Domain.FILESYSTEM_READ), wanted(Domain.IPC, Posture.DEGRADE_IF_UNAVAILABLE)),
    "optional": _made(wanted(Domain.FILESYSTEM_READ), wanted(Domain.CREDENTIAL, Posture.OPTIONAL, Intent.OBSERVE)),
    "executing by itself": _made(policy=EXECUTE),
    "executing alone": _made(policy="filesystem:\n  execute:\n    allow: [/usr]\n"),
    "parts of domains": _made(policy=PARTS, environ=SECRETS),
    "parts of domains, of root": _made(policy=PARTS, environ=SECRETS, euid=0),
    "ceilings of the policy": _made(policy=CEILINGS, ceilings=ResourceLimits(max_open_files=128)),
    "a policy for a governing runtime": _made(policy=GOVERNING),
    "a broker, no boundary": _made(policy="egress:\n  posture: broker_required\n" + EXECUTE, isolation="none"),
    "many selectors": _made(Requirement(Domain.FILESYSTEM_READ, permit_only(tuple(f"/p/{n}" for n in range(9))))),
}
# Runs that would be refused, one for each gate at least.
REFUSED: Dict[str, Callable[[], Resolution]] = {
    "refused: no policy": _made(policy="nonsense: 1\n"),
    "refused: no policy, no boundary": _made(policy="nonsense: 1\n", isolation="none"),
    "refused: nothing lowered": _made(policy=ONLY_TOOLS),
    "refused: no Landlock": _made(abi=0),
    "refused: too old": _made(abi=5),
    "refused: no candidate": _made(abi=3, isolation="auto"),
    "refused: pinned": _made(backend="sandlock", isolation="auto"),
    "refused: hosts": _made(policy=HOSTS),
    "refused: hosts with ports": _made(policy="network:\n  allowlist: ['example.org:443']\n  ports: [443]\n"),
    "refused: ports to listen on": _made(policy="network:\n  bind: [8080]\n"),
    "refused: unix sockets": _made(policy="ipc:\n  unix:\n    allow: [/run/x]\n"),
    "refused: nothing to execute": _made(policy="filesystem:\n  execute:\n    allow: []\n"),
    "refused: a broker": _made(policy="egress:\n  posture: broker_required\n" + EXECUTE),
    "refused: a variable that is not listed": _made(policy=PARTS, env={b"GIVEN": b"1"}),
    "refused: hosts, of auto": _made(policy=HOSTS, isolation="auto"),
    "refused: ceilings": _made(ceilings=ResourceLimits(max_memory_bytes=1, max_pids=2, max_open_files=3)),
    "refused: paths": _made(refusal=Refusal(RefusalKind.PATHS, "/x: is a link\nsecond line")),
    "refused: unregistered": _made(refusal=Refusal(RefusalKind.REGISTRATION, "refusing to launch unregistered: x")),
}
CASES = {**LAUNCHED, **REFUSED}
