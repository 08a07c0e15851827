# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy says about one call of one tool. Pure; no launch acts on it, a governing runtime would.

A tool that is not named falls under `*`. Where anything about a condition goes wrong, approval is needed. What
`capabilities` say of a tool counts besides, as for every capability: what is in `deny`, or missing in `allow`, is gone.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Tuple

from . import expression
from .expression import Expression
from .node import shown
from .values import Entry, Group, Listing, Policy

CAPABILITY = "mcp_tool:"


class ToolAnswer(NamedTuple):
    """Whether a call is allowed, whether somebody has to approve it, and the statements about it.

    `unclear` is whether approval is needed only since no condition could be evaluated.
    """

    allowed: bool
    approval: bool
    by: Tuple[str, ...]
    unclear: bool = False


def judge(policy: Policy, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return what the policy says about calling the tool `name` with these arguments. Silence allows."""
    label, group = _rule(policy.tools or {}, name)
    denials = (*_denials(policy, CAPABILITY + name), *_denial(label, group))
    if denials:
        return ToolAnswer(False, False, denials)
    needed = [entry for entry in _conditions(group) if expression.evaluate(entry.value, arguments)]
    by = tuple(f"{label}.requires_approval_if: {entry.text} at {entry.where}" for entry in needed)
    unclear = bool(needed) and all(_is_unclear(entry.value, arguments) for entry in needed)
    return ToolAnswer(True, bool(needed), (*by, *_limit(label, group)), unclear)


def _denials(policy: Policy, capability: str) -> Iterator[str]:
    denied, allowed = policy.listing("capabilities.deny"), policy.listing("capabilities.allow")
    for entry in denied.entries if denied is not None else ():
        if entry.text == capability:
            yield f"capabilities.deny: {entry.text} at {entry.where}"
    if allowed is not None and capability not in allowed.texts:
        yield f"capabilities.allow without {capability} at {allowed.where}"


def _denial(label: str, group: Group) -> Iterator[str]:
    allow = group.get("allow")
    if isinstance(allow, Entry) and not allow.value:
        yield f"{label}.allow: false at {allow.where}"


def _limit(label: str, group: Group) -> Iterator[str]:
    limit = group.get("limit_per_hour")
    if isinstance(limit, Entry):
        yield f"{label}.limit_per_hour: {limit.text} at {limit.where}"


def _is_unclear(condition: Expression, arguments: Mapping[str, Any]) -> bool:
    """Say whether a condition cannot be evaluated. Nothing is in an empty list, so only an error makes it true."""
    each = (item._replace(operator="in", operand=()) for joined in condition.alternatives for item in joined)
    return expression.evaluate(Expression(tuple((item,) for item in each)), arguments)


def _rule(tools: Mapping[str, Group], name: str) -> Tuple[str, Group]:
    if name in tools:
        return f"tools.{shown(name)}", tools[name]
    return f"tools.{shown('*')}", tools.get("*", {})


def _conditions(group: Group) -> Tuple[Entry, ...]:
    found = group.get("requires_approval_if")
    if isinstance(found, Listing):
        return found.entries
    return () if found is None else (found,)
