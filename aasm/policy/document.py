# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A document to a validated policy, and a policy stated on the command line. Pure.

Accepted are the envelope (apiVersion, kind, metadata, spec) and the flat form (the keys of spec at the top), never a
mixture. Unknown keys are errors. Nothing here asks what a host can enforce, and no restriction that is stated is
passed over: what this release does not read is refused by name, what a launch cannot act on is listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import checks, sections
from .node import Document, Members, Node, refuse, shown
from .places import PathList, command_line_entry, system_entry
from .sections import Names, ToolRule
from .vocabulary import API_VERSION, ENVELOPE_KEYS, KIND, LATER_KEYS, SPEC_KEYS, UNMAPPED_CAPABILITIES

if TYPE_CHECKING:
    from .hosts import HostEntry

COMMAND_LINE = "command line"


class Policy(NamedTuple):
    """What a policy states, validated. None: the node is absent; an empty tuple: nothing is allowed.

    `statements_unmapped` names what the policy states and a launch cannot act on. `source` is the file, or
    `command line`. `api_version` is None for the flat form.
    """

    source: str
    api_version: Optional[str] = None
    name: Optional[str] = None
    version: Optional[str] = None
    description: Optional[str] = None
    scope: Optional[str] = None
    filesystem_read: Optional[PathList] = None
    filesystem_write: Optional[PathList] = None
    network_allowlist: Optional[Tuple[HostEntry, ...]] = None  # entries: hosts.py
    capabilities_allow: Optional[Names] = None
    capabilities_deny: Optional[Names] = None
    syscalls_allow: Optional[Names] = None
    tools: Optional[Tuple[ToolRule, ...]] = None
    statements_unmapped: Names = ()


def validate(document: Document) -> Policy:
    """Return the policy that `document` states, or raise PolicyError with file:line:column of its first fault."""
    name, root = document.text_name, document.root
    top = root.value
    if not isinstance(top, dict):
        refuse(name, root, f"a policy is a map, and this document is {checks.kind(root)}", "begin with a key")
    if not any(key in top for key in ENVELOPE_KEYS):
        return _spec(name, root, "the policy", Policy(name))
    _envelope_keys(name, top)
    _fixed(name, root, "apiVersion", API_VERSION)
    _fixed(name, root, "kind", KIND)
    policy = Policy(name, API_VERSION)
    if "metadata" in top:
        own_name, version, description = sections.metadata(name, top["metadata"].node)
        policy = policy._replace(name=own_name, version=version, description=description)
    return _spec(name, _required(name, root, "spec"), "spec", policy)


def inline(read: Sequence[str], write: Sequence[str], system: bool) -> Policy:
    """Return the policy that --read, --write and --system state; the paths are absolute already.

    Both lists are stated, so that what no option names is refused. Raises UsageError naming the option.
    """
    written = tuple(command_line_entry(path, "--write") for path in write)
    only_read = tuple(command_line_entry(path, "--read") for path in read)
    hosts_own = (system_entry("--system"),) if system else ()
    return Policy(COMMAND_LINE, filesystem_read=(*only_read, *written, *hosts_own), filesystem_write=written)


def _envelope_keys(name: str, top: Members) -> None:
    for key, member in top.items():
        if key == "scope":
            refuse(name, member.key, "scope beside spec", "move it into spec, where it counts")
        if key in SPEC_KEYS or key in LATER_KEYS:
            refuse(name, member.key, f"{key} beside apiVersion, kind, metadata or spec", "move it into spec")
        if key not in ENVELOPE_KEYS:
            _unread(name, member.key, key)
            checks.unknown_key(name, member.key, "the policy", ENVELOPE_KEYS)


def _required(name: str, root: Node, key: str) -> Node:
    found = root.value
    if not isinstance(found, dict) or key not in found:
        refuse(name, root, f"the key {key} is missing", "an envelope has apiVersion, kind and spec")
    return found[key].node


def _fixed(name: str, root: Node, key: str, value: str) -> None:
    node = _required(name, root, key)
    if node.value != value:
        refuse(name, node, f"{key} is {checks.kind(node)}", f"this release reads {key}: {value}")


def _spec(name: str, node: Node, label: str, policy: Policy) -> Policy:
    if isinstance(node.value, dict):
        for key, member in node.value.items():
            _unread(name, member.key, key)
    found = checks.members(name, node, label, SPEC_KEYS)
    for key, member in found.items():
        policy = _section(name, policy, key, member.node)
    return policy._replace(statements_unmapped=tuple(_unmapped(policy)))


def _section(name: str, policy: Policy, key: str, node: Node) -> Policy:
    if key == "scope":
        return policy._replace(scope=sections.scope(name, node))
    if key == "filesystem":
        read, write = sections.filesystem(name, node)
        return policy._replace(filesystem_read=read, filesystem_write=write)
    if key == "network":
        return policy._replace(network_allowlist=sections.network(name, node))
    if key == "capabilities":
        allow, deny = sections.capabilities(name, node)
        return policy._replace(capabilities_allow=allow, capabilities_deny=deny)
    if key == "syscalls":
        return policy._replace(syscalls_allow=sections.syscalls(name, node))
    return policy._replace(tools=sections.tools(name, node))


def _unread(name: str, key: Node, word: str) -> None:
    """Refuse a key that exists elsewhere: in a later release, or in another format."""
    if word in LATER_KEYS:
        what = f"this release does not read {word} yet"
        refuse(name, key, what, "take it out: a launch must not go on as if it were in force")
    if word == "rules":
        refuse(name, key, "rules is not a key of this format", f"state {', '.join(SPEC_KEYS[1:])}")


def _unmapped(policy: Policy) -> Iterator[str]:
    """Yield what the policy states and a launch cannot act on."""
    for capability in policy.capabilities_deny or ():
        if any(_covers(word, capability) for word in UNMAPPED_CAPABILITIES):
            yield f"capabilities.deny: {capability}"
    allowed = policy.capabilities_allow
    for word in UNMAPPED_CAPABILITIES if allowed is not None else ():
        if not any(_covers(word, capability) for capability in allowed or ()):
            yield f"capabilities.allow without {word.rstrip(':')}"
    for rule in policy.tools or ():
        yield from _unmapped_of_tool(rule)


def _covers(word: str, capability: str) -> bool:
    return capability.startswith(word) if word.endswith(":") else capability == word


def _unmapped_of_tool(rule: ToolRule) -> List[str]:
    label = f"tools.{shown(rule.name)}"
    stated = [] if rule.allow else [f"{label}.allow: false"]
    for key in ("limit_per_hour", "requires_approval_if", "capabilities"):
        if getattr(rule, key) is not None:
            stated.append(f"{label}.{key}")
    return stated
