# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy states and no launch of this release acts on. It is reported statement by statement, never dropped.

A table of what is acted on elsewhere would be a second list: whatever lowering.py has no domain for ends up here.
"""

from __future__ import annotations

from typing import Iterator, Mapping

from .node import shown
from .values import Entry, Group, Names, Policy, Value
from .vocabulary import BROKER_REQUIRED, NAMED_CAPABILITIES

# Deleting is not told apart from writing, no domain covers listening, and tool calls and models have no names that a
# kernel sees.
CAPABILITIES = ("file_delete", "network_inbound", *NAMED_CAPABILITIES)

# Sections that speak to a governing runtime: when, for how much, about which data, and whom to ask.
SECTIONS = ("schedule", "budget", "data", "approval_timeout_secs", "approval")


def statements(policy: Policy, confined: bool = True) -> Names:
    """Return the statements that no launch acts on, each as `key: value`; `confined` is one inside a boundary."""
    return tuple(dict.fromkeys(_statements(policy, confined)))


def _statements(policy: Policy, confined: bool) -> Iterator[str]:
    yield from _capabilities(policy)
    for name in SECTIONS:
        yield from (f"{key}: {_text(value)}" for key, value in policy.section(name))
    posture = policy.entry("egress.posture")
    if posture is not None and not (confined and posture.text == BROKER_REQUIRED):  # which refuses the launch
        yield f"egress.posture: {posture.text}"
    for lease in policy.leases or ():
        yield f"authority.leases: {_text(lease['domain'])}"
    for name, group in (policy.tools or {}).items():
        yield from _of_tool(f"tools.{shown(name)}", group)


def _capabilities(policy: Policy) -> Iterator[str]:
    for capability in policy.names("capabilities.deny") or ():
        if any(_covers(word, capability) for word in CAPABILITIES):
            yield f"capabilities.deny: {capability}"
    allowed = policy.names("capabilities.allow")
    for word in CAPABILITIES if allowed is not None else ():
        if not any(_covers(word, capability) for capability in allowed or ()):
            yield f"capabilities.allow without {word.rstrip(':')}"
    for capability in allowed or ():  # naming some forbids all others of its kind
        if capability.startswith(NAMED_CAPABILITIES):
            yield f"capabilities.allow: {capability}"


def _covers(word: str, capability: str) -> bool:
    return capability.startswith(word) if word.endswith(":") else capability == word


def _of_tool(label: str, group: Group) -> Iterator[str]:
    allow = group.get("allow")
    if isinstance(allow, Entry) and not allow.value:
        yield f"{label}.allow: false"
    yield from (f"{label}.{key}: {_text(value)}" for key, value in group.items() if key != "allow")


def _text(value: Value) -> str:
    return value.text if isinstance(value, Entry) else ", ".join(value.texts)


def allows_every_tool(tools: Mapping[str, Group]) -> bool:
    """Say whether the tools are exactly `"*": {allow: true}`, with nothing beside it; true is the default."""
    allow = tools.get("*", {}).get("allow")
    stated = set(tools.get("*", {})) <= {"allow"}
    return len(tools) == 1 and "*" in tools and stated and (not isinstance(allow, Entry) or bool(allow.value))
