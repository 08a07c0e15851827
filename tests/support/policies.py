# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Policies by lot over every key there is, as documents that the reader reads, from a seeded generator.

`permissions.py` says what they permit. A key of schema.py without a row here is a failure, not a key that is left out.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from aasm.policy import load
from aasm.policy.document import validate
from aasm.policy.load import Loaded, Subject
from aasm.policy.locate import Located
from aasm.policy.places import Places
from aasm.policy.reader import read_document
from aasm.policy.schema import KEYS, LEASE_KEYS, TOOL_KEYS
from aasm.policy.values import Policy

Draw = Callable[[random.Random], Any]
SCOPES = ("global", "org:o", "team:t", "agent:a", "tool:x")  # outermost first

# --- a tree of files that paths are about ---------------------------------------------------------------

DIRECTORIES = ("ws/src/deep", "ws/out", "ws-evil", "outside/sub", "home/.cache", "usr/bin", "usr/lib", "lib")
FILES = ("ws/file", "ws/src/code", "ws-evil/file", "outside/secret", "usr/bin/tool")
LINKS = {
    "ws/link": "../outside",
    "ws/inner": "src",
    "ws/src/up": "..",
    "ws/dangling": "../outside/absent",
    "alias": "ws",
    "bin": "usr/bin",
    "ws-evil/back": "../ws/src",
}

# How entries are spelled; {top} is the tree.
SPELLED = (
    "/", "{top}", "{top}/ws", "{top}/ws/", "{top}//ws/./src", "{top}/ws-evil", "{top}/ws/link", "{top}/ws/link/sub",
    "{top}/ws/inner", "{top}/ws/src/up", "{top}/ws/dangling", "{top}/alias", "{top}/alias/src", "{top}/ws/src/deep",
    "{top}/ws-evil/back", "{top}/ws-evil/back/up/out", "{top}/outside", "{top}/outside/absent", "{top}/outside/secret",
    "{top}/ws/file", "{top}/ws/new/file", "{top}/bin", "{top}/usr", "{top}/w", "${{workdir}}", "${{workdir}}/src",
    "${{home}}", "${{home}}/.cache", "${{system}}",
)  # fmt: skip
NEVER_WRITTEN = "${system}"


class Tree:
    """A real tree with links in it, and what placeholders stand for there."""

    def __init__(self, top: Path) -> None:
        self.top = os.path.realpath(top)
        for name in DIRECTORIES:
            os.makedirs(os.path.join(self.top, name))
        for name in FILES:
            Path(self.top, name).write_text(name)
        for name, target in LINKS.items():
            os.symlink(target, os.path.join(self.top, name))
        system = tuple(os.path.join(self.top, name) for name in ("usr", "bin", "lib"))
        self.places = Places(f"{self.top}/ws", f"{self.top}/home", system)
        self.spelled = tuple(text.format(top=self.top) for text in SPELLED)

    def placed(self, policy: Policy) -> Policy:
        """Return a policy as a cascade of several places it on this tree."""
        return load.placed(policy, self.places, follow=True)


# --- one value of each kind -----------------------------------------------------------------------------

HOSTS = (
    "*", "*:443", "*.example.com", "*.example.com:443", "*.api.example.com", "example.com", "example.com:80",
    "api.example.com", "API.example.com:443", "v1.api.example.com", "notexample.com", "*.com", "10.0.0.1",
    "10.0.0.1:22", "2001:DB8::1", "[2001:db8:0:0:0:0:0:1]:443", "[::1]:80", "localhost",
)  # fmt: skip
PORTS = (22, 80, 443, 8080, 65535)
VARIABLES = ("CI", "API_TOKEN", "PATH", "_X1", "GIT_AUTHOR")
PRIVILEGES = ("CAP_NET_BIND_SERVICE", "CAP_CHOWN", "CAP_KILL", "CAP_NET_RAW")
CAPABILITIES = (
    "file_read", "file_write", "file_delete", "network_outbound", "network_inbound", "terminal_exec", "agent_spawn",
    "mcp_tool:search", "mcp_tool:mail", "model:small",
)  # fmt: skip
CALLS = (
    "@files", "@descriptors", "@memory", "@processes", "@identity", "@network", "@program", "read", "write", "openat",
    "socket", "getpid", "sethostname", "ioctl", "mmap",
)  # fmt: skip
HOURS = ("00:00", "06:30", "09:00", "12:15", "17:00", "21:00", "23:59")
ZONES = {"UTC": 0, "Etc/GMT-3": 180, "Etc/GMT+5": -300}  # minutes ahead of UTC; the sign of the names is POSIX's
PATTERNS = ("sk-[a-z]+", "[0-9]{4}", "secret", "^$", "(?i)token")
PACKS = ("de", "fr", "us")
COUNTS = (1, 2, 5, 60, 3600, 1 << 20, 2**53 - 1)
AMOUNTS = (0, 0.5, 1, 1.0, 20, 99.99)
DOMAINS = (
    "filesystem_read", "filesystem_write", "network_egress", "name_resolution", "ipc", "credential", "resource",
)  # fmt: skip
TOOLS = ("*", "shell", "mail", "search")
# Selectors of leases. Those of a path or host mean more than their letters in their own domains only.
_SUBTREES = (
    "/", "/b", "/b/", "/b/c", "/b//c/./", "/b/c/d", "/bc", "/x", "/b/../x", "/b/c/..", "b/c", "one", "${workdir}",
)  # fmt: skip
_PATTERNS = (
    "*", "*:443", "*.example.com", "*.api.example.com:443", "example.com", "api.example.com", "API.example.com:443",
    "v1.api.example.com", "10.0.0.1", "one", "ONE", "any host", "https://example.com",
)  # fmt: skip
_TOKENS = ("one", "One", "/b", "/b/c", "*", "*.example.com", "api.example.com")
SELECTORS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("filesystem_read", "filesystem_write"), _SUBTREES),
    **dict.fromkeys(("network_egress", "name_resolution"), _PATTERNS),
    **dict.fromkeys(("ipc", "credential"), _TOKENS),
}
# The conditions, for a judge that needs no parser.
CONDITIONS = (
    "amount > 100", "amount <= 5", 'path starts_with "/etc"', 'kind in ["mail", "call"]', "urgent == true",
)  # fmt: skip


def some(names: Sequence[Any], most: int = 4) -> Draw:
    """Return a drawer of lists, the empty one and one with a repetition among them."""

    def draw(rng: random.Random) -> List[Any]:
        found = rng.sample(names, rng.randrange(min(most, len(names)) + 1))
        return [*found, found[0]] if found and rng.random() < 0.1 else found

    return draw


def one(values: Sequence[Any]) -> Draw:
    """Return a drawer of single values."""
    return lambda rng: rng.choice(values)


def hours(rng: random.Random) -> Dict[str, str]:
    start, end = sorted(rng.sample(HOURS, 2))
    return {"start": start, "end": end, "timezone": rng.choice(tuple(ZONES))}


def paths(written: bool) -> Draw:
    """Return a drawer of lists of paths, still with {top} in them; some entries are optional."""
    texts = tuple(text for text in SPELLED if not (written and text.format(top="") == NEVER_WRITTEN))

    def entry(rng: random.Random, text: str) -> Any:
        return {"path": text, "optional": rng.random() < 0.7} if rng.random() < 0.3 else text

    return lambda rng: [entry(rng, text) for text in some(texts, 5)(rng)]


# The drawer of every key. A key that several drawers could serve has one of its own kind.
ROWS: Mapping[str, Draw] = {
    **dict.fromkeys(("filesystem.read.allow", "filesystem.execute.allow", "ipc.unix.allow"), paths(False)),
    "filesystem.write.allow": paths(True),
    "network.allowlist": some(HOSTS, 6),
    **dict.fromkeys(("network.ports", "network.bind"), some(PORTS)),
    "credentials.environment.allow": some(VARIABLES),
    "credentials.capabilities.allow": some(PRIVILEGES),
    **dict.fromkeys(
        (
            "resources.max_memory_bytes", "resources.max_cpu_seconds", "resources.max_pids",
            "resources.max_wall_clock_seconds", "resources.max_file_size_bytes", "resources.max_open_files",
            "approval_timeout_secs", "approval.timeout_seconds",
        ),
        one(COUNTS),
    ),
    **dict.fromkeys(("capabilities.allow", "capabilities.deny"), some(CAPABILITIES, 7)),
    "syscalls.allow": some(CALLS, 5),
    "schedule.active_hours": hours,
    **dict.fromkeys(
        (
            "budget.daily_limit_usd", "budget.monthly_limit_usd", "budget.team_daily_limit_usd",
            "budget.team_monthly_limit_usd", "budget.org_daily_limit_usd", "budget.org_monthly_limit_usd",
        ),
        one(AMOUNTS),
    ),
    "budget.timezone": one(tuple(ZONES)),
    "budget.action_on_exceed": one(("deny", "suspend")),
    "budget.window": one(("30d", "12h 30m", "1 week")),
    "data.sensitive_patterns": some(PATTERNS),
    "data.credential_action": one(("block", "alert_only", "alert_and_redact", "redact_only")),
    "data.locale_packs": some(PACKS),
    "approval.escalation_role": one(("oncall", "lead", "security")),
    "egress.posture": one(("not_required", "broker_required")),
}  # fmt: skip
TOOL_ROWS: Mapping[str, Draw] = {
    "allow": one((True, False)),
    "limit_per_hour": one(COUNTS),
    "requires_approval_if": one(CONDITIONS),
    "capabilities": some(DOMAINS),
}
LEASE_ROWS: Mapping[str, Draw] = {
    "domain": one(DOMAINS),
    "scope": one(("whole", "whole", "selectors", "selectors", "selectors")),  # which ones, the domain decides
    "max_count": one(COUNTS),
    "ttl_seconds": one(COUNTS),
    "delegable": one((True, False)),
    **dict.fromkeys(("issuer", "policy_rule", "approval_ref", "reason"), one(("alpha", "beta"))),
}


def undrawn() -> List[str]:
    """Return the keys of the schema that no row draws, and the rows that draw no key."""
    tables = ((KEYS, ROWS), (TOOL_KEYS, TOOL_ROWS), (LEASE_KEYS, LEASE_ROWS))
    return [name for keys, rows in tables for name in set(keys) ^ set(rows)]


# --- a document -------------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """What one document states, as plain data: `values` by dotted key, None for a section that is absent."""

    name: str
    scope: Optional[str]
    values: Mapping[str, Any]
    tools: Optional[Mapping[str, Mapping[str, Any]]]
    leases: Optional[Sequence[Mapping[str, Any]]]

    def text(self) -> str:
        """Return the document."""
        spec: Dict[str, Any] = {} if self.scope is None else {"scope": self.scope}
        for key, value in self.values.items():
            *above, last = key.split(".")
            section = spec
            for part in above:
                section = section.setdefault(part, {})
            section[last] = value
        if self.tools is not None:
            spec["tools"] = self.tools
        if self.leases is not None:
            spec["authority"] = {"leases": self.leases}
        return json.dumps(spec, indent=1)  # a line for each value, so that no two have one place

    def policy(self) -> Policy:
        """Return the document as the package reads it."""
        return validate(read_document(self.text().encode(), self.name))


def draw(rng: random.Random, tree: Tree, name: str, scope: Optional[str] = None) -> Drawn:
    """Return any document about a tree: each key is stated or not by itself, often enough to meet in a cascade."""
    share = rng.choice((0.2, 0.5, 0.8))
    values = {key: _about(tree, row(rng)) for key, row in ROWS.items() if rng.random() < share}
    tools = {name: _group(rng, TOOL_ROWS) for name in some(TOOLS, 3)(rng)} if rng.random() < share else None
    leases = [_lease(rng, domain) for domain in rng.sample(DOMAINS, rng.randrange(5))] if rng.random() < share else None
    return Drawn(f"{name}.json", scope, values, tools, leases)


def _group(rng: random.Random, rows: Mapping[str, Draw]) -> Dict[str, Any]:
    return {key: row(rng) for key, row in rows.items() if rng.random() < 0.5}


def _lease(rng: random.Random, domain: str) -> Dict[str, Any]:
    made = {**_group(rng, LEASE_ROWS), "domain": domain}
    return {**made, "scope": selectors(rng, domain)} if made.get("scope") == "selectors" else made


def selectors(rng: random.Random, domain: str) -> Any:
    """Return some selectors of a domain, or all of it where it has none."""
    found = SELECTORS.get(domain)
    return rng.sample(found, rng.randrange(1, 4)) if found else "whole"


def _about(tree: Tree, value: Any) -> Any:
    """Put the tree into the paths of a value."""
    if isinstance(value, list):
        return [_about(tree, item) for item in value]
    if isinstance(value, dict) and "path" in value:
        return {**value, "path": value["path"].format(top=tree.top)}
    return value.format(top=tree.top) if isinstance(value, str) and value in SPELLED else value


def cascade(rng: random.Random, tree: Tree, tiers: int) -> Tuple[Drawn, ...]:
    """Return documents in the order of their tiers, outermost first; a tier may hold several."""
    scopes = sorted((rng.choice(SCOPES) for _ in range(tiers)), key=SCOPES.index)
    return tuple(draw(rng, tree, f"{'abcdef'[at]}", scope) for at, scope in enumerate(scopes))


# --- a place with documents in reach and out of it ------------------------------------------------------------


class Place:
    """A folder with the operator's policies in `safe`, a workspace `ws`, and something beside it."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        for name in ("safe", "ws/src", "ws-evil", "outside/sub"):
            (self.top / name).mkdir(parents=True)
        self.ws, self.outside = self.top / "ws", self.top / "outside"

    def document(
        self, name: str, read: Any = None, write: Any = None, gives: Sequence[str] = (), **sections: Any
    ) -> str:
        """Write a policy with these lists of paths beneath the place, and return its path."""
        lists = {"read": read, "write": write}
        filesystem = {verb: {"allow": [self.spelled(item) for item in items]} for verb, items in lists.items()
                      if items is not None}  # fmt: skip
        spec = {"filesystem": filesystem, **({"credentials": {"environment": {"allow": gives}}} if gives else {})}
        spec.setdefault("network", {"allowlist": []})
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**spec, **sections}, indent=1))
        return str(path)

    def spelled(self, item: Any) -> Any:
        if isinstance(item, dict):
            return {**item, "path": self.spelled(item["path"])}
        return item if item.startswith(("/", "$")) else f"{self.top}/{item}"

    def load(self, *options: str, subject: Optional[Subject] = None) -> Loaded:
        here = Places(str(self.ws), str(self.top / "home"), (str(self.outside),))
        return load.load(Located(options, "--policy"), here, subject or Subject())

    def leads(self, loaded: Loaded, key: str = "filesystem.read.allow") -> List[str]:
        """Return where the entries of a list lead, beneath the place."""
        assert loaded.policy is not None, loaded.detail
        listing = loaded.policy.listing(key)
        assert listing is not None
        return sorted(os.path.relpath(entry.value.real, self.top) for entry in listing.entries)
