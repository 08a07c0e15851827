# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What documents permit, judged by definition and one by one: the measure that a merged policy is held to.

Shares no code with the merge: paths are asked of the file system, hosts compared as texts, conditions looked up. An
answer is True, False, or None where nothing is stated.
"""

from __future__ import annotations

import functools
import ipaddress
import itertools
import os
import re
from typing import Any, Callable, Dict, Hashable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from support import policies
from support.policies import Drawn, Tree

from aasm.policy import calls, hosts
from aasm.policy.places import Placed
from aasm.policy.schema import KEYS, Join
from aasm.policy.values import Entry, Group, Listing, Policy, Value

Answers = Dict[Hashable, Optional[bool]]


class Stated(NamedTuple):
    """What a document or a merged policy states, in one plain form: lists of texts or numbers, and single ones."""

    values: Mapping[str, Any]
    tools: Optional[Mapping[str, Mapping[str, Any]]]
    leases: Optional[Sequence[Mapping[str, Any]]]


# --- the plain form ---------------------------------------------------------------------------------------


def of_document(drawn: Drawn, tree: Tree) -> Stated:
    """Return what a document states, from its data alone."""
    values = {key: _plain(value, tree) for key, value in drawn.values.items()}
    tools = None if drawn.tools is None else {name: _plain_group(group) for name, group in drawn.tools.items()}
    return Stated(values, tools, drawn.leases)


def _plain(value: Any, tree: Tree) -> Any:
    if isinstance(value, dict):
        return [f"{value['start']}-{value['end']} {value['timezone']}"]
    if not isinstance(value, list):
        return value
    return [text for item in value for text in _spelled_out(item, tree)]


def _spelled_out(item: Any, tree: Tree) -> Tuple[Any, ...]:
    """Return the paths that an entry stands for; anything else stands for itself."""
    text = item["path"] if isinstance(item, dict) else item
    if text == "${system}":
        found: Tuple[Any, ...] = tree.places.system
    elif isinstance(text, str):
        found = (text.replace("${workdir}", tree.places.workdir).replace("${home}", tree.places.home),)
    else:
        found = (text,)
    optional = isinstance(item, dict) and item["optional"]
    return tuple(path for path in found if not optional or os.path.exists(path))


def _plain_group(group: Mapping[str, Any]) -> Dict[str, Any]:
    return {key: [value] if key == "requires_approval_if" else value for key, value in group.items()}


def of_policy(policy: Policy, by_value: bool = False) -> Stated:
    """Return what a placed policy states, from its texts, or from the values behind them: the two must agree."""
    values = {key: _of_value(key, value, by_value) for key, value in policy.values.items() if key in KEYS}
    tools = None if policy.tools is None else {name: _of_group(group) for name, group in policy.tools.items()}
    leases = None if policy.leases is None else [_of_lease(group, by_value) for group in policy.leases]
    return Stated(values, tools, leases)


def _of_value(key: str, value: Value, by_value: bool) -> Any:
    found = [item for entry in _entries(value) for item in _of_entry(entry, by_value)]
    return found if isinstance(value, Listing) or KEYS[key].join is Join.EVERY else found[0]


def _entries(value: Value) -> Sequence[Entry]:
    return value.entries if isinstance(value, Listing) else (value,)


def _of_entry(entry: Entry, by_value: bool) -> Sequence[Any]:
    if isinstance(entry.value, Placed):
        return (entry.value.real if by_value else entry.value.path,)
    if isinstance(entry.value, (bool, int, float)):
        return (entry.value,)
    if by_value and isinstance(entry.value, hosts.Host):
        return (hosts.spelled(entry.value),)
    return entry.value if by_value and isinstance(entry.value, tuple) and entry.text in _CALLS else (entry.text,)


_CALLS = (*calls.GROUPS, *calls.GROUPS["@program"])


def _of_group(group: Group) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for key, value in group.items():
        listed = key in ("requires_approval_if", "capabilities")
        texts = [entry.value if isinstance(entry.value, (bool, int)) else entry.text for entry in _entries(value)]
        found[key] = texts if listed else texts[0]
    return found


def _of_lease(group: Group, by_value: bool) -> Dict[str, Any]:
    found, scope = _of_group(group), group.get("scope")
    if isinstance(scope, Entry):
        names = scope.value if by_value else None if scope.text == "whole" else scope.text.split(", ")
        found["scope"] = "whole" if names is None else list(names)
    return found


# --- one statement about one probe ------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def _real(path: str) -> str:
    return os.path.realpath(path)


@functools.lru_cache(maxsize=None)
def _beneath(probe: str, entry: str) -> bool:
    return os.path.commonpath((_real(entry), _real(probe))) == _real(entry)


def _path(stated: Sequence[str], probe: str) -> bool:
    return any(_beneath(probe, entry) for entry in stated)


def _host(stated: Sequence[str], probe: Tuple[str, int]) -> bool:
    return any(_host_matches(entry.lower(), *probe) for entry in stated)


@functools.lru_cache(maxsize=None)
def _host_matches(entry: str, host: str, port: int) -> bool:
    with_port = re.fullmatch(r"\[([^]]*)\]:([0-9]+)|([^:]*):([0-9]+)", entry)
    if with_port:
        if int(with_port[2] or with_port[4]) != port:
            return False
        entry = with_port[1] or with_port[3]
    if entry == "*":
        return True
    if entry.startswith("*."):
        return host.endswith(entry[1:])
    return entry == host or (":" in entry and ":" in host and ipaddress.ip_address(entry) == ipaddress.ip_address(host))


def _call(stated: Sequence[str], probe: str) -> bool:
    return probe in stated or any(probe in calls.GROUPS[entry] for entry in stated if entry in calls.GROUPS)


def _among(stated: Sequence[Any], probe: Any) -> bool:
    return probe in stated


def _not_among(stated: Sequence[Any], probe: Any) -> bool:
    return probe not in stated


def _unmatched(stated: Sequence[str], probe: str) -> bool:
    return not any(re.search(pattern, probe) for pattern in stated)


def _up_to(stated: float, probe: float) -> bool:
    return probe <= stated


def _awake(stated: Sequence[str], probe: int) -> bool:
    """Say whether an agent may act `probe` minutes after midnight UTC."""
    return all(_within_hours(entry, probe) for entry in stated)


def _within_hours(entry: str, minute: int) -> bool:
    span, zone = entry.split(" ")
    start, end = (int(text[:2]) * 60 + int(text[3:]) for text in span.split("-"))
    return start <= (minute + policies.ZONES[zone]) % 1440 < end


def _as_strict(*words: str) -> Callable[[str, str], bool]:
    """Return the judge of a word: it lets everything be done that is as strict, in this order from mild to strict."""
    return lambda stated, probe: words.index(probe) >= words.index(stated)


class Judge(NamedTuple):
    """What is asked about a key, and whether what is stated lets it."""

    probes: Callable[[Tree], Sequence[Hashable]]
    permits: Callable[[Any, Any], bool]


def _always(probes: Sequence[Hashable]) -> Callable[[Tree], Sequence[Hashable]]:
    return lambda tree: probes


def _probed_paths(tree: Tree) -> List[str]:
    return [*_ELSEWHERE, *(f"{tree.top}/{name}" for name in _BENEATH)]


_ELSEWHERE = ("/", "/etc/passwd")
_BENEATH = (
    "", "ws", "ws/file", "ws/link", "ws/link/secret", "ws/inner/code", "ws/src/up/out", "ws/dangling", "ws/new",
    "ws/new/file", "ws/src/deep/new", "ws-evil", "ws-evil/file", "ws-evil/back", "ws-evil/back/code", "w", "ws.",
    "outside", "outside/secret", "outside/sub", "outside/absent", "outside/absent/x", "alias/out", "home/.cache/x",
    "home", "usr/bin/tool", "bin/tool", "lib", "lib64",
)  # fmt: skip


_NAMES = (
    "example.com", "api.example.com", "v1.api.example.com", "notexample.com", "example.com.evil.org", "com",
    "localhost", "10.0.0.1", "10.0.0.11", "2001:db8::1", "::1",
)  # fmt: skip
_PROBED_CALLS = (
    "read", "write", "openat", "socket", "getpid", "sethostname", "ioctl", "mmap", "execve", "connect", "dup",
    "getuid", "mkdir", "brk", "chroot",
)  # fmt: skip
_NUMBERS = (0, 0.25, 0.5, 1, 2, 3, 5, 20, 60, 99.99, 3600, 3601, 1 << 20, 2**53 - 1, 2**53)
_TEXTS = ("sk-abc", "1234", "a secret", "", "Token", "nothing")
_CREDENTIAL = ("alert_only", "redact_only", "alert_and_redact", "block")

# What may be asked about, two among them that no document names.
CAPABILITIES = (*policies.CAPABILITIES, "mcp_tool:other", "model:other")

_OF_NUMBERS = ("_usd", "_secs", "_seconds")
_COUNTED = Judge(_always(_NUMBERS), _up_to)
_PATHS, _PORTS = Judge(_probed_paths, _path), Judge(_always((*policies.PORTS, 23, 1)), _among)
JUDGES: Mapping[str, Judge] = {
    **{key: _COUNTED for key in policies.ROWS if key.startswith("resources.") or key.endswith(_OF_NUMBERS)},
    **{key: _PATHS for key in policies.ROWS if key.startswith(("filesystem.", "ipc."))},
    "network.allowlist": Judge(_always([(name, port) for name in _NAMES for port in (22, 80, 443)]), _host),
    **{key: _PORTS for key in ("network.ports", "network.bind")},
    "credentials.environment.allow": Judge(_always((*policies.VARIABLES, "HOME")), _among),
    "credentials.capabilities.allow": Judge(_always((*policies.PRIVILEGES, "CAP_FOWNER")), _among),
    "capabilities.allow": Judge(_always(CAPABILITIES), _among),
    "capabilities.deny": Judge(_always(CAPABILITIES), _not_among),
    "syscalls.allow": Judge(_always(_PROBED_CALLS), _call),
    "schedule.active_hours": Judge(_always(range(0, 1440, 45)), _awake),
    "budget.action_on_exceed": Judge(_always(("deny", "suspend")), _as_strict("deny", "suspend")),
    "data.sensitive_patterns": Judge(_always(_TEXTS), _unmatched),
    "data.credential_action": Judge(_always(_CREDENTIAL), _as_strict(*_CREDENTIAL)),
    "data.locale_packs": Judge(_always((*policies.PACKS, "pl")), _not_among),
    "egress.posture": Judge(
        _always(("not_required", "broker_required")), _as_strict("not_required", "broker_required")
    ),
}
# What holds where nobody states another value.
SILENT = {"data.credential_action": "redact_only", "approval_timeout_secs": 300, "approval.timeout_seconds": 300}
# What only one tier can say; nothing is permitted or refused by it.
SAID_BY_ONE = ("budget.timezone", "budget.window", "approval.escalation_role")


# --- calls of tools, and leases ---------------------------------------------------------------------------

ARGUMENTS: Tuple[Mapping[str, Any], ...] = (
    {}, {"amount": 3}, {"amount": 500, "path": "/etc/passwd", "kind": "mail", "urgent": False},
    {"amount": 50, "path": "/ws", "kind": "note", "urgent": False}, {"amount": "many"}, {"amount": True},
    {"amount": 50, "path": "/ws", "kind": "call", "urgent": True},
)  # fmt: skip


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


_CONDITIONS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = dict(
    zip(
        policies.CONDITIONS,
        (
            lambda arguments: _number(arguments["amount"]) > 100,
            lambda arguments: _number(arguments["amount"]) <= 5,
            lambda arguments: arguments["path"].startswith("/etc"),
            lambda arguments: arguments["kind"] in ("mail", "call"),
            lambda arguments: arguments["urgent"] is True,
        ),
    )
)


def _needs_approval(condition: str, arguments: Mapping[str, Any]) -> bool:
    try:
        return _CONDITIONS[condition](arguments)
    except (LookupError, TypeError):
        return True


def _of_tools(stated: Stated) -> Iterator[Tuple[Hashable, Optional[bool]]]:
    """Yield whether each call of a tool is let through, and whether it is without anybody's approval."""
    for name in (*policies.TOOLS[1:], "other"):
        tools = {} if stated.tools is None else stated.tools
        group = tools.get(name, tools.get("*", {}))
        for domain in policies.DOMAINS:
            yield ("domain", name, domain), domain in group.get("capabilities", policies.DOMAINS)
        yield ("allow", name), group.get("allow", True)
        for number in _NUMBERS:
            yield ("rate", name, number), number <= group.get("limit_per_hour", number)
        conditions = group.get("requires_approval_if", ())
        for at, arguments in enumerate(ARGUMENTS):
            yield ("alone", name, at), not any(_needs_approval(text, arguments) for text in conditions)


def _of_leases(stated: Stated) -> Iterator[Tuple[Hashable, Optional[bool]]]:
    """Yield whether each request for a lease is granted; None without any statement about leases."""
    limits = [(number, delegated) for number in (1, 60, 3601) for delegated in (False, True)]
    for domain in policies.DOMAINS:
        for (number, delegated), name in itertools.product(limits, asked(domain)):
            granted = None if stated.leases is None else any(
                lease["domain"] == domain
                and leased(domain, lease.get("scope", "whole"), name)
                and number <= lease.get("max_count", number) and number <= lease.get("ttl_seconds", number)
                and (lease.get("delegable", False) or not delegated)
                for lease in stated.leases
            )  # fmt: skip
            yield ("lease", domain, name, number, delegated), granted


def asked(domain: str) -> Sequence[Asked]:
    """Return what may be asked for: the whole domain, one place or one host and port in it, or a name."""
    return _ASKED.get(domain, ("whole", "other", *policies.SELECTORS.get(domain, ())))


Asked = Union[str, Tuple[str, int]]
_OF_FILES = ("whole", "/", "/b", "/b/c", "/b/c/d/e", "/bc", "/bcd", "/x/y", "/b/../x", "/b/c/..", "b/c", "one")
_OF_HOSTS = ("example.com", "api.example.com", "v1.api.example.com", "notexample.com", "one", "10.0.0.1")
_OF_NETWORKS: Sequence[Asked] = (*itertools.product(_OF_HOSTS, (80, 443)), "whole", "any host", "https://example.com")
_ASKED: Mapping[str, Sequence[Asked]] = {
    **dict.fromkeys(("filesystem_read", "filesystem_write"), _OF_FILES),
    **dict.fromkeys(("network_egress", "name_resolution"), _OF_NETWORKS),
}


def leased(domain: str, scope: Any, name: Asked) -> bool:
    """Say whether a scope, `whole` or a list of texts, has in it what is asked for."""
    if scope == "whole":
        return True
    if domain in ("filesystem_read", "filesystem_write"):
        return any(_subtree(item, str(name)) for item in scope)
    return any(_matched(item, name) for item in scope)


def _subtree(selector: str, name: str) -> bool:
    if not all(text.startswith("/") and ".." not in text.split("/") for text in (selector, name)):
        return selector == name
    top, place = (os.path.normpath(text) for text in (selector, name))
    return os.path.commonpath((top, place)) == top


def _matched(selector: str, name: Asked) -> bool:
    if isinstance(name, str):
        return selector == name
    return not re.search("[ /]", selector) and _host_matches(selector.lower(), *name)


# --- everything ---------------------------------------------------------------------------------------------


def answers(stated: Stated, tree: Tree) -> Answers:
    """Return the answer to every probe."""
    found: Answers = {}
    for key, judge in JUDGES.items():
        value = stated.values.get(key, SILENT.get(key))
        for probe in judge.probes(tree):
            found[(key, probe)] = None if value is None else judge.permits(value, probe)
    found.update(_of_tools(stated))
    found.update(_of_leases(stated))
    return found


def together(tables: Sequence[Answers]) -> Answers:
    """Return what several documents permit together: what each permits that states anything about it."""
    found: Answers = {}
    for probe in tables[0]:
        said = [table[probe] for table in tables if table[probe] is not None]
        found[probe] = all(said) if said else None
    return found
