# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The port for developer tools: one adapter a tool, found by its id before `exec` is tried."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Protocol


class Command(NamedTuple):
    """What an adapter makes of a tool's arguments: passed on verbatim, with what the tool needs around them."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    settings: str  # managed settings in the tool's own format; "" when there are none


class Adapter(Protocol):
    """One developer tool."""

    id: str
    aliases: tuple[str, ...]

    def command(self, args: tuple[str, ...]) -> Command:
        """Return the command for these arguments."""


class ExecAdapter:
    """The generic target: a program that the operator owns. No settings, no environment, no detection."""

    id = "exec"
    aliases: tuple[str, ...] = ()

    def command(self, args: tuple[str, ...]) -> Command:
        """Return the arguments as they are."""
        return Command(args, {}, "")


ADAPTERS: tuple[Adapter, ...] = ()  # this release has none


def names() -> tuple[str, ...]:
    """Return every id and alias."""
    return tuple(name for adapter in ADAPTERS for name in (adapter.id, *adapter.aliases))


def adapter(name: str) -> Adapter | None:
    """Return the adapter of a target; tools come first, so `exec` can never shadow one."""
    for candidate in (*ADAPTERS, ExecAdapter()):
        if name in (candidate.id, *candidate.aliases):
            return candidate
    return None
