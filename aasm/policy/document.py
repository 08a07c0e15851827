# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A document to a validated policy, and a policy stated on the command line. Pure.

Accepted are the envelope (apiVersion, kind, metadata, spec) and the flat form (the keys of spec at the top), never a
mixture. Unknown keys are errors. Nothing here asks what a host can enforce.
"""

from __future__ import annotations

from typing import Any, Container, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

from ..errors import PolicyError
from . import checks, kinds
from .faults import MOST_FAULTS, Enough, Reading
from .kinds import Kind
from .node import Document, Members, Node, refuse
from .places import SYSTEM, command_line_entry, system_entry
from .schema import AUTHORITY, LEASE_KEYS, LEASES, SCOPE, SECTIONS, TOOL_KEYS, TOOLS, TREE, Branch, Key
from .values import COMMAND_LINE, Entry, Group, Listing, Policy, Value
from .vocabulary import API_VERSION, ENVELOPE_KEYS, KIND, METADATA_KEYS

NOTHING = Listing((), ())


def validate(document: Document, refused_calls: Container[str] = ()) -> Policy:
    """Return the policy that `document` states, or raise PolicyError with file:line:column of its first fault.

    First are keys that do not belong where they stand: what is missing may only be missing there. `refused_calls` are
    calls that no boundary lets through, so that allowing one of them is a fault.
    """
    policy, found = _read_all(document, refused_calls, 1)
    if found:
        raise found[0]
    return policy


def examine(document: Document, refused_calls: Container[str] = ()) -> Tuple[Policy, List[PolicyError]]:
    """Return the policy and every fault of the document by place; past MOST_FAULTS a last one says so.

    With a fault the policy is not to be used.
    """
    policy, found = _read_all(document, refused_calls, MOST_FAULTS)
    faults = sorted(found, key=_position)
    if len(faults) == MOST_FAULTS:
        what = f"the first {MOST_FAULTS} faults that were found are told, and no more were looked for"
        faults.append(PolicyError(what, document.text_name, "mend those and look again"))
    return policy, faults


def _read_all(document: Document, refused_calls: Container[str], most: int) -> Tuple[Policy, List[PolicyError]]:
    reading, policy = Reading(document.text_name, refused_calls, most), None
    try:
        policy = reading.attempt(_policy, reading, document.root)
    except Enough:
        pass
    return policy or Policy(document.text_name), reading.faults


def _position(fault: PolicyError) -> Tuple[int, ...]:
    return tuple(int(part) for part in fault.where.rsplit(":", 2)[1:])


def inline(read: Sequence[str], write: Sequence[str], system: bool) -> Policy:
    """Return the policy that --read, --write and --system state; the paths are absolute already.

    Both lists are stated, so that what no option names is refused. Raises UsageError naming the option.
    """
    written = tuple(command_line_entry(path, "--write") for path in write)
    only_read = tuple(command_line_entry(path, "--read") for path in read)
    hosts_own = (system_entry("--system"),) if system else ()
    origins = (COMMAND_LINE,)
    values = {
        "filesystem.read.allow": Listing((*only_read, *written, *hosts_own), origins),
        "filesystem.write.allow": Listing(written, origins),
    }
    return Policy(COMMAND_LINE, values=values)


# --- the document -----------------------------------------------------------------------------------


def _policy(reading: Reading, root: Node) -> Policy:
    top = root.value
    if not isinstance(top, dict):
        refuse(reading.name, root, f"a policy is a map, and this document is {checks.kind(root)}", "begin with a key")
    if not any(key in top for key in ENVELOPE_KEYS):
        return _spec(reading, root, "the policy", Policy(reading.name))
    reading.attempt(_envelope_keys, reading, top)
    for key, value in (("apiVersion", API_VERSION), ("kind", KIND)):
        reading.attempt(_fixed, reading, root, key, value)
    policy = Policy(reading.name, API_VERSION)
    if "metadata" in top:
        policy = policy._replace(**reading.attempt(_metadata, reading, top["metadata"].node) or {})
    return _spec(reading, _required(reading, root, "spec"), "spec", policy)


def _envelope_keys(reading: Reading, top: Members) -> None:
    for key, member in top.items():
        if key in ENVELOPE_KEYS:
            continue
        if key == SCOPE:
            refuse(reading.name, member.key, "scope beside spec", "move it into spec, where it counts")
        if key in SECTIONS:
            refuse(reading.name, member.key, f"{key} beside apiVersion, kind, metadata or spec", "move it into spec")
        _unknown(reading, member.key, "the policy", ENVELOPE_KEYS)


def _required(reading: Reading, root: Node, key: str) -> Node:
    found = root.value
    if not isinstance(found, dict) or key not in found:
        refuse(reading.name, root, f"the key {key} is missing", "an envelope has apiVersion, kind and spec")
    return found[key].node


def _fixed(reading: Reading, root: Node, key: str, value: str) -> None:
    node = _required(reading, root, key)
    if node.value != value:
        refuse(reading.name, node, f"{key} is {checks.kind(node)}", f"this release reads {key}: {value}")


def _metadata(reading: Reading, node: Node) -> Dict[str, Any]:
    found = checks.members(reading.name, node, "metadata", METADATA_KEYS)
    return {key: checks.filled(reading.name, item.node, f"metadata.{key}") for key, item in found.items()}


# --- the sections -----------------------------------------------------------------------------------


def _spec(reading: Reading, node: Node, label: str, policy: Policy) -> Policy:
    values: Dict[str, Value] = {}
    for key, member in _members(reading, node, label, SECTIONS).items():
        if key == SCOPE:
            _put(values, key, reading.attempt(kinds.scope, reading, member.node, SCOPE))
        elif key == TOOLS:
            policy = policy._replace(tools=reading.attempt(_tools, reading, member.node))
        elif key == AUTHORITY:
            policy = policy._replace(leases=reading.attempt(_authority, reading, member.node))
        else:
            reading.attempt(_value, reading, member.node, key, TREE[key], values)
    reading.attempt(_no_writable_system, reading, values)
    return policy._replace(values=values)


def _members(reading: Reading, node: Node, label: str, known: Sequence[str]) -> Members:
    """Return the entries of a map whose keys are known; each other key is a fault of its own."""
    value = checks.mapping(reading.name, node, label)
    for key, member in value.items():
        if key not in known:
            reading.attempt(_unknown, reading, member.key, label, known)
    return {key: member for key, member in value.items() if key in known}


def _unknown(reading: Reading, key: Node, label: str, known: Sequence[str]) -> NoReturn:
    if key.value == "rules":
        sections = ", ".join(SECTIONS[1:])
        refuse(reading.name, key, "rules is not a key of this format", f"state {sections}")
    checks.unknown_key(reading.name, key, label, known)


def _value(reading: Reading, node: Node, label: str, due: object, values: Dict[str, Value]) -> None:
    """Read a key, or the keys of a section, into `values` by their dotted names."""
    if isinstance(due, Key):
        _put(values, label, _read(reading, due.kind, node, label))
        return
    assert isinstance(due, dict)
    branch: Branch = due
    for key, member in _members(reading, node, label, tuple(branch)).items():
        reading.attempt(_value, reading, member.node, f"{label}.{key}", branch[key], values)


def _read(reading: Reading, kind: Kind, node: Node, label: str) -> Value:
    return kinds.listed(reading, node, label, kind.one) if kind.many else kind.one(reading, node, label)


def _put(values: Dict[str, Value], key: str, value: Optional[Value]) -> None:
    if value is not None:  # else it was a fault
        values[key] = value


def _no_writable_system(reading: Reading, values: Mapping[str, Value]) -> None:
    found = values.get("filesystem.write.allow")
    for entry in found.entries if isinstance(found, Listing) else ():
        if entry.value.placeholder == SYSTEM:
            what = "${system} in filesystem.write.allow"
            raise PolicyError(what, entry.where, "the system may be read, never written")


def _group(reading: Reading, node: Node, label: str, keys: Mapping[str, Key]) -> Group:
    made: Dict[str, Value] = {}
    for key, member in _members(reading, node, label, tuple(keys)).items():
        _put(made, key, reading.attempt(_read, reading, keys[key].kind, member.node, f"{label}.{key}"))
    return made


def _tools(reading: Reading, node: Node) -> Mapping[str, Group]:
    found = checks.any_members(reading.name, node, TOOLS)
    made: Dict[str, Optional[Group]] = {}
    for name, item in found.items():
        made[name] = reading.attempt(_group, reading, item.node, f"tools.{name}", TOOL_KEYS)
    return {name: group for name, group in made.items() if group is not None}


def _authority(reading: Reading, node: Node) -> Tuple[Group, ...]:
    found = _members(reading, node, AUTHORITY, (LEASES,))
    if LEASES not in found:
        refuse(reading.name, node, "authority states no leases", "state authority.leases, or leave the section out")
    label = f"{AUTHORITY}.{LEASES}"
    made: Dict[str, Group] = {}
    for item in checks.items(reading.name, found[LEASES].node, label):
        reading.attempt(_lease, reading, item, f"{checks.ENTRY}{label}", made)
    return tuple(made.values())


def _lease(reading: Reading, node: Node, label: str, made: Dict[str, Group]) -> None:
    group = _group(reading, node, label, LEASE_KEYS)
    domain = group.get("domain")
    if not isinstance(domain, Entry):
        if isinstance(node.value, dict) and "domain" not in node.value:
            refuse(reading.name, node, f"{label} has no domain", "name one of the ten domains")
        return
    if domain.text in made:
        first = made[domain.text]["domain"]
        refuse(reading.name, node, f"a second lease for {domain.text}, first at {first.where}", "keep one of the two")
    scope = group.get("scope")
    if domain.text == "resource" and isinstance(scope, Entry) and scope.value is not None:
        raise PolicyError("a lease for resource has no selectors", scope.where, "write scope: whole")
    made[domain.text] = group
