#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Write the golden files of plans and reports, tests/golden/plans/ and tests/golden/reports/.

    python tools/golden.py            write what changed, and print how
    python tools/golden.py --check    write nothing; print what would change

The unified diff that it prints is what is reviewed: each line of it is something that a launch will do, hold, refuse or
say in another way than before. Regenerating without reading the diff defeats the files.

Everything is made by the stages of aasm from values (tests/support/runs.py): a policy as text, a kernel as facts. No
file holds a version, an id, a time or a path of this host, so they are the same for every user, Python and machine.
"""

from __future__ import annotations

import difflib
import hashlib
import resource
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
for _place in (str(ROOT / "tools"), str(ROOT / "tests"), str(ROOT)):  # as pytest's own `pythonpath` has them
    if _place not in sys.path:
        sys.path.insert(0, _place)

import generated  # noqa: E402
from support import reports as cases, runs  # noqa: E402
from support.host import ALL_OF_SECCOMP  # noqa: E402

from aasm._sys import landlock  # noqa: E402
from aasm._sys.bpf import length  # noqa: E402
from aasm._sys.probe import CapabilityFacts  # noqa: E402
from aasm.backends.base import LaunchFacts  # noqa: E402
from aasm.backends.native import capability, prepare  # noqa: E402
from aasm.cli import human, machine, preview  # noqa: E402
from aasm.model import privileges  # noqa: E402
from aasm.model.grants import Grant  # noqa: E402
from aasm.model.plan import Outcome  # noqa: E402
from aasm.model.requirements import ResourceLimits, stated_ceilings  # noqa: E402
from aasm.policy.lowering import describe  # noqa: E402
from aasm.run import Resolution  # noqa: E402

FOLDERS = ("tests/golden/plans", "tests/golden/reports")
ABIS = range(landlock.NEWEST_ABI + 1)
VERSION = "VERSION"  # stands for that of the package, which is no part of a plan

CEILINGS = ResourceLimits(
    max_open_files=64, max_file_size_bytes=4096, max_cpu_seconds=60, max_wall_clock_seconds=600
)  # fmt: skip
FILES = "filesystem:\n  read:\n    allow: ['${system}', '${workdir}']\n  write:\n    allow: ['${workdir}/build']\n"
EVERY_CAPABILITY = CapabilityFacts(0, (1 << 41) - 1, (1 << 41) - 1, (1 << 41) - 1, 0)
NO_FILTERS = ALL_OF_SECCOMP._replace(filter=False, detail="not built into this kernel")


class Plan(NamedTuple):
    """One policy, how it is asked for, and what is different about its host."""

    policy: str
    options: Dict[str, Any] = {}


PLANS: Dict[str, Plan] = {
    "files": Plan(FILES),
    "files-aarch64": Plan(FILES, {"arch": "aarch64"}),
    "files-riscv64": Plan(FILES, {"arch": "riscv64"}),
    "files-as-root": Plan(FILES, {"euid": 0}),
    "files-without-filters": Plan(FILES, {"seccomp": NO_FILTERS}),
    "files-of-auto": Plan(FILES, {"isolation": "auto"}),
    "files-pinned": Plan(FILES, {"isolation": "auto", "backend": "aasm-native"}),
    "files-pinned-elsewhere": Plan(FILES, {"backend": "sandlock"}),
    "nothing-may-be-read-or-written": Plan("filesystem:\n  read:\n    allow: []\n  write:\n    allow: []\n"),
    "no-network": Plan("network:\n  allowlist: []\n"),
    "hosts": Plan(cases.HOSTS),
    "hosts-of-auto": Plan(cases.HOSTS, {"isolation": "auto"}),
    "few-calls": Plan("syscalls:\n  allow: [read, write, openat, exit_group]\n"),
    "no-new-processes": Plan("capabilities:\n  deny: [terminal_exec]\n"),
    "capabilities-that-are-allowed": Plan("capabilities:\n  allow: [file_read, terminal_exec]\n" + FILES),
    "everything-denied": Plan(cases.DENY_ALL),
    "ceilings": Plan(FILES, {"ceilings": CEILINGS}),
    "ceilings-that-nothing-holds": Plan(FILES, {"ceilings": ResourceLimits(max_memory_bytes=4096, max_pids=9)}),
    "executing-by-itself": Plan(cases.EXECUTE),
    "parts-of-domains": Plan(cases.PARTS, {"environ": {b"MY_TOKEN": b"x"}}),
    "parts-of-domains-as-root": Plan(cases.PARTS, {"euid": 0, "capabilities": EVERY_CAPABILITY}),
    "unix-sockets": Plan("ipc:\n  unix:\n    allow: [/run/x]\n"),
    "ports-and-hosts": Plan(
        "network:\n  allowlist: ['example.org:443', '*.example.org']\n  ports: [443]\n  bind: []\n"
    ),
    "ceilings-of-the-policy": Plan(cases.CEILINGS, {"ceilings": CEILINGS}),
    "groups-of-calls": Plan("syscalls:\n  allow: ['@time', mlockall]\n"),
    "only-tools": Plan(cases.ONLY_TOOLS),
    "a-permission-to-degrade": Plan("", {"case": "degraded"}),
    "an-optional-requirement": Plan("", {"case": "optional"}),
}  # fmt: skip
# Chosen reports, by the name of their case in tests/support/reports.py.
REPORTS: Dict[str, str] = {
    "none": "no boundary, with inherited authority",
    "ready": "ready",
    "ready-with-ceilings": "ceilings held",
    "ready-with-variables": "delegated",
    "auto": "ready, of auto",
    "parts-of-domains": "parts of domains",
    "governing-runtime": "a policy for a governing runtime",
    "degraded": "degraded",
    "degraded-by-a-ceiling": "ceilings, held and not",
    "refused-by-negotiation": "refused: hosts, of auto",
    "refused-by-policy": "refused: no policy",
    "unavailable": "refused: too old",
}  # fmt: skip


# --- plans ------------------------------------------------------------------------------------------


def plan_file(plan: Plan) -> str:
    """Return what becomes of one policy on every kernel; kernels on which it is the same stand together.

    Of two plans in a row the second is shown by what differs.
    """
    found: Dict[str, List[str]] = {}
    for abi in ABIS:
        text = "\n".join(_planned(_resolved(plan, abi)))
        found.setdefault(text.replace(f"ABI {abi} is usable", "ABI N is usable"), []).append(str(abi))
    parts = ["\n".join(_head(plan))]
    before = ""
    for text, abis in found.items():
        both = _ORDER in before and _ORDER in text
        shown = "\n".join(_changed(before, text)) if both else text
        parts.append(f"== Landlock ABI {', '.join(abis)}" + (": as before, but for" if both else "") + f"\n{shown}")
        before = text
    return "\n\n".join(parts) + "\n"


_ORDER = "\norder:\n"


def _changed(before: str, after: str) -> List[str]:
    """Return the lines of two texts that differ, with - and + as a diff has them."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in list(lines)[2:] if not line.startswith("@@")]


def _head(plan: Plan) -> Iterator[str]:
    yield f"policy: {plan.options.get('case', '')}".rstrip()
    yield from (f"    {line}" for line in plan.policy.splitlines())
    yield from (f"{name}: {_option(value)}" for name, value in plan.options.items() if name != "case")


def _option(value: Any) -> str:
    if isinstance(value, ResourceLimits):
        return ", ".join(f"{name}={number}" for name, number in stated_ceilings(value).items())
    if isinstance(value, dict):
        return ", ".join(name.decode() for name in value)
    return {NO_FILTERS: "no filters", EVERY_CAPABILITY: "all"}.get(value) or str(value)


def _resolved(plan: Plan, abi: int) -> Resolution:
    options = dict(plan.options)
    if "case" in options:
        return runs.resolution(cases.CASES[options.pop("case")]().run.spec.requirements, abi=abi, **options)
    return runs.resolution(policy=plan.policy, abi=abi, **options)


def _planned(found: Resolution) -> Iterator[str]:
    """Yield what the stages made of a run: who was asked, the outcome of each requirement, and the order."""
    run = found.run
    yield f"selection: {run.selection.mode.value}"
    for item in run.selection.considered:
        unmet = ", ".join(domain.value for domain in item.unmet_domains)
        yield f"  {item.id}: {item.verdict.value}" + (f" ({unmet})" if unmet else "")
        yield from [f"      {item.detail}"] if item.detail else ()
    if run.refusal is not None:
        yield f"refused by: {run.refusal.kind.value}"
        yield from (f"  {line}" for line in run.refusal.text.splitlines())
        for lacking in run.refusal.shortfalls:
            domain = lacking.domain.value if lacking.domain else "the backend"
            yield f"  unmet: {domain}, {lacking.reason.value}" + (f", {lacking.stated_by}" if lacking.stated_by else "")
    if run.plan is not None:
        yield f"posture: {run.plan.posture.value}"
        for outcome in run.plan.outcomes:
            yield from _outcome(outcome)
        yield f"floor: {len(run.plan.floor)} groups"
        yield from _order(found)


def _outcome(outcome: Outcome) -> Iterator[str]:
    levels = f"timing={outcome.timing.value}, descendants={outcome.descendants.value}"
    yield f"{outcome.requirement.domain.value}: {outcome.kind.value}, {levels}"
    yield f"  asked: {describe(outcome.requirement)}"
    yield f"  stated by: {outcome.requirement.stated_by}"
    yield f"  lowering: {outcome.lowering}"
    if outcome.shortfall:
        yield f"  shortfall: {outcome.shortfall.reason.value}: {outcome.shortfall.detail}"


LIMITS = {getattr(resource, row.limit): row.limit for row in capability.HELD_BY_LIMIT.values()}


def _order(found: Resolution) -> Iterator[str]:
    """Yield what the launcher would be told, without what every run has: its command and most of its environment."""
    root = Grant("/", 1, 1, 0o040755, False, False, "root")
    order = prepare.build(found.run, LaunchFacts(found.host, 0, b"golden"), root)
    yield "order:"
    for family, mask in zip(("fs", "net", "scope", "flags"), order.handled):
        yield f"  handled {family}: {_names(mask, family)}"
    for access, _, _, path in order.rules:
        yield f"  rule {path.decode()}: {_names(access, 'fs')}"
    for number, soft, hard in order.limits:
        yield f"  limit {LIMITS[number]}: soft {soft}, hard {hard}"
    if order.capabilities:
        kept = (name for at, name in enumerate(privileges.NAMES) if order.capabilities >> at & 1)
        yield f"  capabilities: {', '.join(kept)}"
    passed = [entry.name.decode() for entry in found.run.environment.entries if entry.origin == "policy"]
    if passed:
        yield f"  variables that the policy passes on: {', '.join(passed)}"
    yield f"  filter: {', '.join(_filter(found))}"
    yield f"    {length(order.filter_b)} instructions, sha256:{hashlib.sha256(order.filter_b).hexdigest()}"
    for name, reason in prepare.canaries(found.run):
        yield f"  canary {name}: {reason or 'tried'}"


def _filter(found: Resolution) -> Iterator[str]:
    yield "the floor"
    for name, value in prepare.filter_plan(prepare.held(found.run))._asdict().items():
        if value is True:
            yield name
        elif value not in (False, None):
            yield f"{name} {' '.join(value)}"


def _names(mask: int, family: str) -> str:
    return ", ".join(landlock.names(mask, family)) or "nothing"


# --- reports ----------------------------------------------------------------------------------------


def report_file(name: str) -> str:
    """Return what is said of one case: its dry run, its lines for a terminal, and what the run changes in the keys."""
    found = _unversioned(cases.CASES[name]())
    before = runs.before(found.run)
    parts = [("the dry run", preview.render(found)), ("before the launch, on a terminal", human.summary(before))]
    if name in cases.LAUNCHED:
        after = runs.after(found, file_read="held", file_write="inconclusive", call="held", open_files="held")
        changed = _changed(machine.block(before), machine.block(after))
        parts.append(("after the run, on a terminal", human.summary(after)))
        parts.append(("after the run, as keys: what differs from before", "\n".join(changed)))
    return "\n\n".join(f"========== {title}\n{text}" for title, text in parts) + "\n"


def _unversioned(found: Resolution) -> Resolution:
    plan = found.run.plan
    if plan is None:
        return found
    backend = plan.backend._replace(provenance=plan.backend.provenance._replace(version=VERSION))
    return found._replace(run=found.run._replace(plan=plan._replace(backend=backend)))


# --- the files --------------------------------------------------------------------------------------


def texts() -> Dict[str, str]:
    """Return the text of every golden file by its name in the tree."""
    made = {f"{FOLDERS[0]}/{name}.txt": plan_file(plan) for name, plan in PLANS.items()}
    return {**made, **{f"{FOLDERS[1]}/{name}.txt": report_file(case) for name, case in REPORTS.items()}}


def stored(root: Path) -> List[str]:
    """Return the names of all files that lie in the folders of the tree at `root`."""
    paths = [path for folder in FOLDERS for path in sorted((root / folder).glob("**/*")) if path.is_file()]
    return [path.relative_to(root).as_posix() for path in paths]


def main(argv: List[str], root: Path = ROOT) -> int:
    """Write the golden files of the tree at `root`, or compare them with `--check`; return the exit code."""
    doc = __doc__ or ""
    return generated.run("tools/golden.py", doc, lambda tree: {**dict.fromkeys(stored(tree)), **texts()}, argv, root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
