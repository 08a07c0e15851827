# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The governed life of one launch: registered before anything starts, then refused, not started or ended.

The one seam through which the pipeline reports. Today every report is a line in the local ledger.
"""

from __future__ import annotations

from typing import NamedTuple

from ..model.requirements import Identity
from ..receipt.canonical import digest_bytes
from .ledger import Event, append, entry_of


def record_refusal(state: str, identity: Identity, reason: str) -> None:
    """Record a launch that was refused before it was registered; HostError when it cannot be recorded."""
    append(state, entry_of(identity, Event.REFUSED, reason))


class Session(NamedTuple):
    """A registered launch. Each method records one event and raises HostError when that fails."""

    state: str  # the state directory
    identity: Identity
    seq: int  # the number of the registration in the ledger

    @staticmethod
    def register(state: str, identity: Identity, what: str) -> Session:
        """Register the launch of `what`; when this returns, the registration is on disk."""
        digest_bytes(b"")  # the end of the run takes digests: where none can be made, nothing may begin
        return Session(state, identity, append(state, entry_of(identity, Event.REGISTERED, what)))

    def refused(self, reason: str) -> None:
        """Record that the launch was refused after its registration."""
        append(self.state, entry_of(self.identity, Event.REFUSED, reason))

    def not_started(self, reason: str) -> None:
        """Record that the program never ran."""
        append(self.state, entry_of(self.identity, Event.NOT_STARTED, reason))

    def ended(self, exit_code: int | None, ending: str, receipt: str | None = None) -> None:
        """Record how the program ended, and the sealed digest of its receipt if one was written."""
        entry = entry_of(self.identity, Event.ENDED, ending)
        append(self.state, entry._replace(exit_code=exit_code, receipt=receipt))

    def note(self, text: str) -> None:
        """Record something that an auditor should know, such as a receipt that could not be written."""
        append(self.state, entry_of(self.identity, Event.NOTED, text))
