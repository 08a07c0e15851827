# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Policies and ceilings by lot, and narrower ones made of them: what property tests draw from a seeded generator."""

from __future__ import annotations

import json
import random
from typing import Any, Dict, NamedTuple, Optional, Tuple

from aasm.model.requirements import ResourceLimits
from aasm.policy.vocabulary import SYSCALLS

Names = Optional[Tuple[str, ...]]

# What a list may hold, and what a narrower list may have in the place of an entry.
PATHS = {"/a": ("/a/b", "/a/x"), "/a/b": ("/a/b/c",), "/d": ("/d/e",), "/usr": ("/usr/lib",)}
HOSTS = {"*": ("example.org", "*.example.org"), "*.example.org": ("api.example.org",), "example.net": ("example.net",)}
CALLS: Dict[str, Tuple[str, ...]] = {name: (name,) for name in SYSCALLS}
LISTS: Dict[str, Dict[str, Tuple[str, ...]]] = {"read": PATHS, "write": PATHS, "hosts": HOSTS, "calls": CALLS}
# What is given only where it is stated: a narrower list has less of it, and a new one would be wider.
GIVEN: Dict[str, Tuple[str, ...]] = {
    "variables": ("LANG", "A_TOKEN", "B_KEY", "C"),
    "privileges": ("CAP_CHOWN", "CAP_KILL", "CAP_NET_BIND_SERVICE"),
}
CAPABILITIES = (
    "file_read", "file_write", "file_delete", "network_outbound", "network_inbound", "terminal_exec", "agent_spawn",
)  # fmt: skip
NUMBERS = (1, 4, 100, 1 << 20)
HELD = ("max_open_files", "max_file_size_bytes", "max_wall_clock_seconds", "max_cpu_seconds")
REFUSED = ("max_memory_bytes", "max_pids")


class Drawn(NamedTuple):
    """What one policy and one command line state. None is absent, an empty list permits nothing."""

    read: Names = None
    write: Names = None
    hosts: Names = None
    calls: Names = None
    execute: Names = None
    unix: Names = None
    variables: Names = None
    privileges: Names = None
    deny: Tuple[str, ...] = ()
    allow: Names = None
    ceilings: ResourceLimits = ResourceLimits()

    def text(self) -> str:
        """Return the policy as a document. It always has a tool, so that an empty one is a policy too."""
        spec: Dict[str, Any] = {"tools": {"a": {"allow": True}}}
        verbs = {"read": self.read, "write": self.write, "execute": self.execute}
        spec["filesystem"] = {verb: {"allow": list(names)} for verb, names in verbs.items() if names is not None}
        spec["network"] = None if self.hosts is None else {"allowlist": list(self.hosts)}
        spec["syscalls"] = None if self.calls is None else {"allow": list(self.calls)}
        spec["ipc"] = None if self.unix is None else {"unix": {"allow": list(self.unix)}}
        given = {"environment": self.variables, "capabilities": self.privileges}
        spec["credentials"] = {key: {"allow": list(names)} for key, names in given.items() if names is not None}
        stated = {"deny": self.deny or None, "allow": self.allow}
        spec["capabilities"] = {key: list(names) for key, names in stated.items() if names is not None}
        return json.dumps({key: value for key, value in spec.items() if value})


def _some(rng: random.Random, names: Tuple[str, ...], most: int = 3) -> Tuple[str, ...]:
    return tuple(rng.sample(names, rng.randrange(min(most, len(names)) + 1)))


def draw(rng: random.Random) -> Drawn:
    """Return any policy with any ceilings; what the native backend always refuses is rare, so that most are planned."""

    def maybe(names: Tuple[str, ...], chance: float, most: int = 3) -> Names:
        return _some(rng, names, most) if rng.random() < chance else None

    hosts = maybe(tuple(HOSTS), 0.15)
    calls = maybe(SYSCALLS, 0.3, len(SYSCALLS))
    return Drawn(
        read=maybe(tuple(PATHS), 0.6),
        write=maybe(tuple(PATHS), 0.6),
        hosts=() if hosts is None and rng.random() < 0.2 else hosts,
        calls=calls or None,
        execute=maybe(tuple(PATHS), 0.3) or None,
        unix=() if rng.random() < 0.3 else None,
        variables=maybe(GIVEN["variables"], 0.3),
        privileges=maybe(GIVEN["privileges"], 0.3),
        deny=maybe(CAPABILITIES, 0.3, 2) or (),
        allow=tuple(rng.sample(CAPABILITIES, rng.randrange(4, 8))) if rng.random() < 0.2 else None,
        ceilings=_ceilings(rng),
    )


def _ceilings(rng: random.Random) -> ResourceLimits:
    names = _some(rng, HELD, 2) + (_some(rng, REFUSED, 1) if rng.random() < 0.1 else ())
    return ResourceLimits(**{name: rng.choice(NUMBERS) for name in names})


def narrower(rng: random.Random, drawn: Drawn) -> Drawn:
    """Return a policy that permits nothing more: names dropped or replaced by what lies beneath, more denied."""
    for _ in range(rng.randrange(1, 4)):
        kind = rng.choice((*LISTS, *GIVEN, "execute", "unix", "deny", "allow", "ceilings"))
        if kind == "ceilings":
            drawn = drawn._replace(ceilings=_lower(rng, drawn.ceilings))
        elif kind == "execute":
            drawn = drawn._replace(execute=_fewer_executed(rng, drawn) or drawn.execute)
        elif kind == "unix":
            drawn = drawn._replace(unix=())
        elif kind in GIVEN:
            now = getattr(drawn, kind)
            less: Dict[str, Any] = {kind: now if now is None else _without_one(rng, now)}
            drawn = drawn._replace(**less)
        elif kind == "deny":
            drawn = drawn._replace(deny=tuple(dict.fromkeys((*drawn.deny, rng.choice(CAPABILITIES)))))
        elif kind == "allow":
            words = CAPABILITIES if drawn.allow is None else drawn.allow
            drawn = drawn._replace(allow=_without_one(rng, words))
        else:
            changed: Dict[str, Any] = {kind: _fewer(rng, getattr(drawn, kind), LISTS[kind])}
            drawn = drawn._replace(**changed)
    return drawn


def _fewer(rng: random.Random, now: Names, known: Dict[str, Tuple[str, ...]]) -> Tuple[str, ...]:
    if now is None:
        return _some(rng, tuple(known))
    if now and rng.random() < 0.5:
        at = rng.randrange(len(now))
        beneath = rng.choice(known.get(now[at], (now[at],)))
        return tuple(dict.fromkeys((*now[:at], beneath, *now[at + 1 :])))
    return _without_one(rng, now)


def _fewer_executed(rng: random.Random, drawn: Drawn) -> Tuple[str, ...]:
    """Return what a narrower policy lets be executed: as long as no list says so, that is what can be read."""
    if drawn.execute is None and drawn.read is not None:
        return _some(rng, drawn.read)
    return _fewer(rng, drawn.execute, PATHS)


def _without_one(rng: random.Random, now: Tuple[str, ...]) -> Tuple[str, ...]:
    dropped = rng.choice(now) if now else None
    return tuple(name for name in now if name != dropped)


def _lower(rng: random.Random, now: ResourceLimits) -> ResourceLimits:
    name = rng.choice(HELD)
    value = getattr(now, name)
    return now._replace(**{name: rng.choice(NUMBERS) if value is None else max(1, value // 2)})
