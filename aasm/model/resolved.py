# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One resolved run: everything that is known before a launch, as one immutable value.

A dry run renders exactly this value and a live launch consumes exactly this value, so neither can drift from the other.
"""

from __future__ import annotations

from typing import NamedTuple

from .descriptors import DescriptorInventory
from .environment import Environment
from .evidence import EvidenceRecord
from .grants import Grant
from .plan import EnforcementPlan, Refusal, Selection
from .report import Coverage
from .requirements import ExecutionSpec, Identity, Lease, ResourceLimits


class Place(NamedTuple):
    """A directory, pinned to the object that was checked."""

    path: str
    device: int
    inode: int


class ResolvedPolicy(NamedTuple):
    """Where the policy came from and what it is, as every output shows it."""

    state: str
    source: str
    detail: str
    digest: str  # sha256 over the canonical form of the document, or "" when there is none
    unmapped: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # files whose scope covers another run
    narrowing: tuple[str, ...] = ()  # files that the program could write, and that therefore only take away
    exposed: tuple[str, ...] = ()  # files that another user can change


class ResolvedRun(NamedTuple):
    """What one launch is. `plan` is None when no boundary was asked for, and when the launch is refused.

    A run with a `refusal` can be shown and never be launched; what could not be resolved is empty in it.
    """

    identity: Identity
    isolation: str
    policy: ResolvedPolicy
    coverage: tuple[Coverage, ...]
    spec: ExecutionSpec
    plan: EnforcementPlan | None
    selection: Selection
    refusal: Refusal | None
    grants: tuple[Grant, ...]
    working_dir: Place
    argv: tuple[bytes, ...]
    candidates: tuple[bytes, ...]  # the paths that exec tries, in order
    environment: Environment
    ceilings: ResourceLimits  # as stated; without a boundary nothing enforces them
    canary_path: str
    descriptors: DescriptorInventory
    target: str  # the id under which the command line names what is run
    settings: str  # managed settings that an adapter generates; "" when there are none
    leases: tuple[Lease, ...] = ()


class SpawnSpec(NamedTuple):
    """What to spawn and the order for it, as a backend prepared it."""

    order: bytes
    name: bytes  # what the launcher's thread is called until exec replaces it
    notifies: bool  # a first filter asks the supervisor, so a listener will be handed over
    rule_paths: tuple[str, ...]  # what each rule of the order is about, for a failure that names one by its number
    expected_canaries: tuple[tuple[str, str], ...]  # name -> why it is not tried; "" when it is
    installed: tuple[EvidenceRecord, ...]  # what will be in force once the launcher sealed
