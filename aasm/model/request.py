# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one command line asks for, understood and checked option by option; nothing of the host is in it."""

from __future__ import annotations

from typing import Mapping, NamedTuple

from .requirements import ResourceLimits


class Request(NamedTuple):
    """One command line, understood."""

    program: tuple[str, ...]
    target: str  # the id under which the command line names what is run
    isolation: str
    backend: str | None  # the pin
    policies: tuple[str, ...]  # files and directories; none: look for one
    read: tuple[str, ...]
    write: tuple[str, ...]
    system: bool
    env: Mapping[bytes, bytes | None]
    adapter_env: Mapping[bytes, bytes]  # what the target's adapter sets
    settings: str  # managed settings that the adapter generates; "" when there are none
    real_home: bool
    workdir: str | None
    ceilings: ResourceLimits
    agent_id: str | None
    team_id: str | None
    receipt: str | None
    imports_cwd: bool
