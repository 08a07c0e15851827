# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A backend that has a place in the order of candidates and no driver in this build: it reports why, no more."""

from __future__ import annotations

from .._sys.probe import HostFacts
from ..errors import InternalError
from ..model.domains import BackendCapabilities, PlatformBoundary, Provenance, capabilities
from ..model.grants import Grant
from ..model.question import Decision, Question
from ..model.requirements import Requirement
from ..model.resolved import ResolvedRun, SpawnSpec
from .base import LaunchFacts


class AbsentBackend:
    """The contract of backends/base.py, answered by a backend that can never be selected."""

    id = ""
    boundary = PlatformBoundary.SHARED_HOST_KERNEL
    license = ""
    reason = ""

    def capabilities(self, host: HostFacts) -> BackendCapabilities:
        """Return the reason for which it is unavailable; it reports about no domain."""
        provenance = Provenance(self.id, "none", "not in this build", self.license, modified=False)
        return capabilities(provenance, self.boundary, (), self.reason)

    def narrow(self, found: BackendCapabilities, requirements: tuple[Requirement, ...]) -> BackendCapabilities:
        """Return what it was given: there is nothing to narrow."""
        return found

    def floor(self) -> tuple[str, ...]:
        """Return nothing: it refuses nothing."""
        return ()

    def own_grants(self) -> tuple[Grant, ...]:
        """Return nothing: it runs no program."""
        return ()

    def decide(self, run: ResolvedRun, host: HostFacts, question: Question) -> Decision:
        """Raise InternalError: nothing may select it."""
        raise InternalError(f"`{self.id}` was selected and has no driver in this build")

    def prepare(self, run: ResolvedRun, launch: LaunchFacts) -> SpawnSpec:
        """Raise InternalError: nothing may select it."""
        raise InternalError(f"`{self.id}` was selected and has no driver in this build")
