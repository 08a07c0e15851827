# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Policies made by hand, as if they were read and placed: each test names the nodes that it states."""

from __future__ import annotations

from typing import Any, Dict, Sequence

from aasm.model.requirements import UNLIMITED, ResourceLimits
from aasm.policy.hosts import host_value
from aasm.policy.places import Placed
from aasm.policy.values import Entry, Listing, Policy

AT = ("p.yaml:1:1",)

# How a test names the node that it states.
KEYS = {
    "read": "filesystem.read.allow",
    "write": "filesystem.write.allow",
    "execute": "filesystem.execute.allow",
    "hosts": "network.allowlist",
    "ports": "network.ports",
    "bind": "network.bind",
    "unix": "ipc.unix.allow",
    "variables": "credentials.environment.allow",
    "privileges": "credentials.capabilities.allow",
    "calls": "syscalls.allow",
    "allow": "capabilities.allow",
    "deny": "capabilities.deny",
}


def policy(limits: ResourceLimits = UNLIMITED, **stated: Sequence[Any]) -> Policy:
    """Return a policy, placed, with these lists; a list that is not named is absent."""
    values: Dict[str, Any] = {KEYS[name]: Listing(tuple(_entry(name, item) for item in items), AT)
                              for name, items in stated.items()}  # fmt: skip
    for name, value in limits._asdict().items():
        if value is not None:
            values[f"resources.{name}"] = Entry(str(value), value, AT)
    return Policy("p.yaml", values=values)


def _entry(name: str, item: Any) -> Entry:
    if name in ("read", "write", "execute", "unix"):
        return Entry(item, Placed(item, item), AT)
    if name == "hosts":
        return Entry(item, host_value(item, AT[0]), AT)
    return Entry(str(item), (item,) if name == "calls" else item, AT)
