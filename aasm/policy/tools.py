# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy says about one call of one tool. Pure; no launch acts on it, a governing runtime would.

A tool that is not named falls under `*`. Where anything about a condition goes wrong, approval is needed.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Tuple

from . import expression
from .node import shown
from .values import Entry, Group, Listing, Policy


class ToolAnswer(NamedTuple):
    """Whether a call is allowed, whether somebody has to approve it, and the statements that say so."""

    allowed: bool
    approval: bool
    by: Tuple[str, ...]


def judge(policy: Policy, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return what the policy says about calling the tool `name` with these arguments. Silence allows."""
    label, group = _rule(policy.tools or {}, name)
    allow = group.get("allow")
    if isinstance(allow, Entry) and not allow.value:
        return ToolAnswer(False, False, (f"{label}.allow: false at {allow.where}",))
    needed = [entry for entry in _conditions(group) if expression.evaluate(entry.value, arguments)]
    by = tuple(f"{label}.requires_approval_if: {entry.text} at {entry.where}" for entry in needed)
    return ToolAnswer(True, bool(needed), by)


def _rule(tools: Mapping[str, Group], name: str) -> Tuple[str, Group]:
    if name in tools:
        return f"tools.{shown(name)}", tools[name]
    return f"tools.{shown('*')}", tools.get("*", {})


def _conditions(group: Group) -> Tuple[Entry, ...]:
    found = group.get("requires_approval_if")
    if isinstance(found, Listing):
        return found.entries
    return () if found is None else (found,)
