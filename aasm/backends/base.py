# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The contract between the pipeline and a backend. Values in, values out; a backend starts nothing itself."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from .._sys.probe import HostFacts
from ..model.domains import BackendCapabilities
from ..model.grants import Grant
from ..model.question import Decision, Question
from ..model.requirements import Requirement
from ..model.resolved import ResolvedRun, SpawnSpec


class LaunchFacts(NamedTuple):
    """What a backend needs beside the resolved run: facts of this moment."""

    host: HostFacts
    signal_mask: int
    name: bytes  # unguessable; the launcher bears it until exec


class Backend(Protocol):
    """What every backend answers. All but `own_grants` are pure functions of their arguments."""

    id: str

    def capabilities(self, host: HostFacts) -> BackendCapabilities:
        """Return what this backend can do on a host with these facts."""

    def narrow(self, found: BackendCapabilities, requirements: tuple[Requirement, ...]) -> BackendCapabilities:
        """Return the capabilities with a report of its own on each requirement that its domain's does not fit."""

    def floor(self) -> tuple[str, ...]:
        """Return what the backend refuses by itself, one line each."""

    def own_grants(self) -> tuple[Grant, ...]:
        """Return the objects that every program needs: device nodes and the terminal in use."""

    def decide(self, run: ResolvedRun, host: HostFacts, question: Question) -> Decision:
        """Return what the boundary of this run makes of one action, from the very controls that a launch installs."""

    def prepare(self, run: ResolvedRun, launch: LaunchFacts) -> SpawnSpec:
        """Return what to spawn for this run."""
