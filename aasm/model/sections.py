# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The owners of the dry run's smaller sections: what is previewed, protected, configured and leased. Values only."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class FidelityState(Enum):
    """How far the preview shows what a launch would be."""

    VERBATIM = "verbatim"  # the command line is the operator's own, passed on as it stands
    FROM_ADAPTER = "from_adapter"  # a developer tool's adapter made it
    DEGRADED = "degraded"  # something could not be resolved and is missing; the detail says what


class Fidelity(NamedTuple):
    """How faithful the preview is, and why."""

    state: FidelityState
    detail: str


class ProtectionState(Enum):
    """Whether the program's traffic is mediated."""

    PROXY_CONFIGURED = "proxy_configured"
    UNPROTECTED = "unprotected"


class Protection(NamedTuple):
    """Whether traffic is mediated, and why not."""

    state: ProtectionState
    detail: str


class ManagedSettings(NamedTuple):
    """The settings that an adapter generates for its tool: none for a program of the operator's own."""

    text: str  # "" when there are none
    detail: str


class LeasePlan(NamedTuple):
    """What leases a governed runtime would decide by; `unavailable` says why there is no plan."""

    unavailable: str
