# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The sections of a policy, one function each: a node to validated values, or PolicyError at its place.

None means that the policy does not state the node; an empty tuple is a statement (nothing is allowed). The two must
never collapse into one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Optional, Tuple

from ..model.domains import DOMAINS
from . import checks
from .node import Members, Node, refuse, shown
from .places import SYSTEM, PathList, path_entry
from .vocabulary import (
    CAPABILITIES,
    GLOBAL_SCOPE,
    METADATA_KEYS,
    NAMED_CAPABILITIES,
    NAMED_SCOPES,
    SYSCALLS,
    TOOL_KEYS,
)

if TYPE_CHECKING:
    from .hosts import HostEntry

Names = Tuple[str, ...]
_DOMAIN_NAMES = tuple(domain.value for domain in DOMAINS)


class ToolRule(NamedTuple):
    """What a policy says about one tool, or about every tool (`*`). `capabilities` are names of domains."""

    name: str
    allow: bool
    limit_per_hour: Optional[int] = None
    requires_approval_if: Optional[str] = None
    capabilities: Optional[Names] = None


def metadata(name: str, node: Node) -> Tuple[Optional[str], Optional[str], Optional[str]]:
    """Return name, version and description."""
    found = checks.members(name, node, "metadata", METADATA_KEYS)
    own_name, version, description = (_text_at(name, found, key, f"metadata.{key}") for key in METADATA_KEYS)
    return own_name, version, description


def scope(name: str, node: Node) -> str:
    """Return `global`, or one of `org:` `team:` `agent:` `tool:` with a name behind it."""
    value = checks.text(name, node, "scope")
    if value == GLOBAL_SCOPE:
        return value
    prefix = next((prefix for prefix in NAMED_SCOPES if value.startswith(prefix)), "")
    own = value[len(prefix) :]
    if not prefix or not own or not own.isprintable() or " " in own:
        spelled = ", ".join(f"{prefix}NAME" for prefix in NAMED_SCOPES)
        refuse(name, node, f"{shown(value)} is not a scope", f"write {GLOBAL_SCOPE}, or one of {spelled}")
    return value


def filesystem(name: str, node: Node) -> Tuple[Optional[PathList], Optional[PathList]]:
    """Return the read list and the write list."""
    found = checks.members(name, node, "filesystem", ("read", "write"))
    read, write = (_verb(name, found, verb) for verb in ("read", "write"))
    for entry in write or ():
        if entry.placeholder == SYSTEM:
            place = Node(None, entry.line, entry.column)
            refuse(name, place, "${system} in filesystem.write.allow", "the system may be read, never written")
    return read, write


def _verb(name: str, found: Members, verb: str) -> Optional[PathList]:
    if verb not in found:
        return None
    label = f"filesystem.{verb}"
    inner = checks.members(name, found[verb].node, label, ("allow",))
    if "allow" not in inner:
        return None
    stated = checks.texts(name, inner["allow"].node, f"{label}.allow")
    return tuple(path_entry(text, name, item.line, item.column) for text, item in stated)


def network(name: str, node: Node) -> Optional[Tuple[HostEntry, ...]]:
    found = checks.members(name, node, "network", ("allowlist",))
    if "allowlist" not in found:
        return None
    stated = checks.texts(name, found["allowlist"].node, "network.allowlist")
    if not stated:
        return ()
    from .hosts import host_entry  # only here: a launch without hosts need not pay for it

    return tuple(host_entry(text, name, item.line, item.column) for text, item in stated)


def capabilities(name: str, node: Node) -> Tuple[Optional[Names], Optional[Names]]:
    """Return what is allowed and what is denied."""
    found = checks.members(name, node, "capabilities", ("allow", "deny"))
    allow, deny = (_capability_list(name, found, key) for key in ("allow", "deny"))
    return allow, deny


def _capability_list(name: str, found: Members, key: str) -> Optional[Names]:
    if key not in found:
        return None
    label = f"capabilities.{key}"
    return tuple(_capability(name, item, text, label) for text, item in checks.texts(name, found[key].node, label))


def _capability(name: str, node: Node, text: str, label: str) -> str:
    if any(text.startswith(prefix) and text[len(prefix) :].strip() for prefix in NAMED_CAPABILITIES):
        return text
    known = (*CAPABILITIES, *(f"{prefix}NAME" for prefix in NAMED_CAPABILITIES))
    return checks.one_of(name, node, label, known, "a capability")


def syscalls(name: str, node: Node) -> Optional[Names]:
    found = checks.members(name, node, "syscalls", ("allow",))
    if "allow" not in found:
        return None
    label = "syscalls.allow"
    words = "one of the fifteen calls a policy may name"
    stated = checks.texts(name, found["allow"].node, label)
    return tuple(checks.one_of(name, item, label, SYSCALLS, words) for _, item in stated)


def tools(name: str, node: Node) -> Tuple[ToolRule, ...]:
    found = checks.any_members(name, node, "tools")
    return tuple(_tool(name, key, member.node) for key, member in found.items())


def _tool(name: str, tool: str, node: Node) -> ToolRule:
    label = f"tools.{tool}"
    found = checks.members(name, node, label, TOOL_KEYS)
    allow, limit, domains = (found.get(key) for key in ("allow", "limit_per_hour", "capabilities"))
    return ToolRule(
        tool,
        True if allow is None else checks.truth(name, allow.node, f"{label}.allow"),
        None if limit is None else checks.count(name, limit.node, f"{label}.limit_per_hour"),
        _text_at(name, found, "requires_approval_if", f"{label}.requires_approval_if"),
        None if domains is None else _domains(name, domains.node, f"{label}.capabilities"),
    )


def _domains(name: str, node: Node, label: str) -> Names:
    stated = checks.texts(name, node, label)
    return tuple(checks.one_of(name, item, label, _DOMAIN_NAMES, "a capability domain") for _, item in stated)


def _text_at(name: str, found: Members, key: str, label: str) -> Optional[str]:
    """Return the text at `key`, None without the key; an empty text is refused."""
    if key not in found:
        return None
    node = found[key].node
    value = checks.text(name, node, label)
    if not value.strip():
        refuse(name, node, f"{label} is empty", "write a text, or leave the key out")
    return value
