# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Make the identity that a run is attributed to. It is asserted by the caller; nothing here authenticates anybody."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..model.requirements import Identity
from ..receipt.screen import credential_shape

MAX_LINEAGE = 64
_PUNCTUATION = str.maketrans("._:-", "0000")


def new_identity(agent_id: str | None, team_id: str | None, lineage: tuple[str, ...], dry_run: bool) -> Identity:
    """Return an identity with a fresh session and trace; a missing `agent_id` is made up too.

    What is made up for a dry run begins with `dry-run-`, so that nobody takes it for a run. UsageError when a given
    id is malformed or looks like a credential: ids are printed and recorded.
    """
    prefix = "dry-run-" if dry_run else ""
    for option, given in (("--agent-id", agent_id), ("--team-id", team_id)):
        if given is not None:
            check_id(given, option)
    for ancestor in lineage:
        check_id(ancestor, "lineage")
    if len(lineage) > MAX_LINEAGE:
        raise UsageError(f"more than {MAX_LINEAGE} ancestors", "lineage")
    agent = prefix + random_uuid() if agent_id is None else agent_id
    return Identity(agent, team_id, lineage, prefix + random_uuid(), prefix + random_uuid())


def check_id(text: str, where: str) -> None:
    """Raise a UsageError about `where` unless `text` can be an id."""
    if not (0 < len(text) <= 128 and text.isascii() and text.translate(_PUNCTUATION).isalnum()):
        raise UsageError("not an id", where, "use 1 to 128 letters, digits and the signs . _ : -")
    if credential_shape(text):
        raise UsageError("looks like a credential, and ids are recorded", where, "use another id")


def random_uuid() -> str:
    """Return a random UUID (RFC 9562, version 4) as text."""
    data = bytearray(os.urandom(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
