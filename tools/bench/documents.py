# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The documents that tools/bench/policy.py measures: small policies, large ones, and hostile shapes. Data only."""

from __future__ import annotations

import json
from typing import Callable, Dict, NamedTuple, Tuple

LARGEST = 1 << 20  # bytes of a policy, at most
MANY = 10_000  # entries

TEN = b"""\
apiVersion: agent-assembly/v1
kind: Policy
metadata: {name: ten rules}
spec:
  filesystem:
    read:
      allow: ["${system}", "${workdir}", /opt/tools]
    write:
      allow:
        - ${workdir}/build
        - {path: /var/tmp/cache, optional: true}
  network:
    allowlist: ["*.example.com", "api.example.org:443"]
  capabilities:
    deny: [agent_spawn]
  resources:
    max_open_files: 256
  tools:
    "*": {allow: true}
"""
TEN_OF_EVERY_KIND = b"""\
filesystem: {read: {allow: ["${system}"]}}
network: {allowlist: ["[2001:db8::1]:443"]}
syscalls: {allow: ["@files", read, write]}
schedule: {active_hours: {start: "09:00", end: "17:30", timezone: Europe/Berlin}}
budget: {daily_limit_usd: 20.0, window: 30d}
data:
  sensitive_patterns: ['\\bAKIA[0-9A-Z]{16}\\b']
tools:
  pay: {requires_approval_if: "amount > 100 AND currency == 'EUR'", limit_per_hour: 5}
credentials: {environment: {allow: [LANG]}, capabilities: {allow: [CAP_NET_BIND_SERVICE]}}
ipc: {unix: {allow: [/run/x.sock]}}
authority:
  leases:
    - {domain: ipc, scope: whole}
"""
TEN_IN_JSON = json.dumps(
    {
        "filesystem": {"read": {"allow": ["${system}", "${workdir}", "/opt"]}, "write": {"allow": ["${workdir}/x"]}},
        "network": {"allowlist": ["*.example.com", "example.org"], "ports": [80, 443]},
        "capabilities": {"deny": ["agent_spawn"]},
        "resources": {"max_open_files": 256},
    }
).encode()


# --- large ------------------------------------------------------------------------------------------


class List(NamedTuple):
    """A key whose value is a list, and how its entry of a number is written."""

    key: str
    entry: Callable[[int], str]


LISTS: Dict[str, List] = {
    "paths": List("filesystem.read.allow", lambda at: f"/srv/d{at % 100}/project{at}/src"),
    "hosts": List("network.allowlist", lambda at: f"host{at}.zone{at % 100}.example.com"),
    "names": List("credentials.environment.allow", lambda at: f"VARIABLE_{at}"),
}


def listed(lists: List, first: int = 0, many: int = MANY) -> bytes:
    """Return the policy with this list of so many entries, in YAML."""
    parts = lists.key.split(".")
    head = "".join(f"{'  ' * depth}{part}:\n" for depth, part in enumerate(parts))
    return (head + "".join(f"      - {lists.entry(at)}\n" for at in range(first, first + many))).encode()


def as_json(lists: List) -> bytes:
    policy: object = list(map(lists.entry, range(MANY)))
    for part in reversed(lists.key.split(".")):
        policy = {part: policy}
    return json.dumps(policy, indent=1).encode()


def as_toml(lists: List) -> bytes:
    table, _, last = lists.key.rpartition(".")
    entries = "".join(f"  {json.dumps(lists.entry(at))},\n" for at in range(MANY))
    return f"[{table}]\n{last} = [\n{entries}]\n".encode()


def tools() -> bytes:
    lines = (f"  tool{at}: {{allow: true, limit_per_hour: {at + 1}}}\n" for at in range(MANY))
    return ("tools:\n" + "".join(lines)).encode()


def faults() -> bytes:
    """Return a policy that is wrong 10,000 times."""
    return listed(List("syscalls.allow", lambda at: f"call{at}"))


def _hosts(entry: Callable[[int], str], many: int) -> bytes:
    return listed(List("network.allowlist", entry), many=many)


# Two policies, or one, whose lists have a product in common.
PRODUCTS: Dict[str, Tuple[bytes, ...]] = {
    "every host on 2,000 ports, and 2,000 hosts": (
        _hosts(lambda at: f"'*:{at + 1}'", 2000),
        _hosts(lambda at: f"h{at}.example.com", 2000),
    ),
    "2,000 hosts and 2,000 ports": (
        _hosts(lambda at: f"h{at}.example.com", 2000)
        + b"  ports:\n"
        + "".join(f"    - {at + 1}\n" for at in range(2000)).encode(),
    ),
    "one host on 5,000 ports, twice": (_hosts(lambda at: f"example.com:{at + 1}", 5000),) * 2,
    "one path 10,000 times, twice": (listed(List("filesystem.read.allow", lambda at: "/srv/a")),) * 2,
}


# --- hostile ----------------------------------------------------------------------------------------


class Shape(NamedTuple):
    """What is repeated until the document is full; what stands before and behind it. NUMBER counts the units."""

    unit: str
    start: str = ""
    end: str = ""


NUMBER = "\0"
WIDE = "[\u00e0-\ufffd]"  # in a pattern that ignores case: few characters, and milliseconds to make code of


def filled(shape: Shape, size: int) -> bytes:
    """Return the document of this shape that is as long as `size` bytes allow."""
    start, unit, end = (part.encode() for part in (shape.start, shape.unit, shape.end))
    number = NUMBER.encode()
    count = (size - len(start) - len(end)) // len(unit.replace(number, b"%07d" % 0))
    if number not in unit:
        return start + unit * count + end
    return start + b"".join(unit.replace(number, b"%07d" % at) for at in range(count)) + end


_YAML: Dict[str, Shape] = {
    "items": Shape("- a\n"),
    "dashes": Shape("-\n"),
    "maps in items": Shape("- a: b\n"),
    "keys": Shape("k\0: 1\n"),
    "keys in quotes": Shape('"\\u0061\0": 1\n'),
    "equal keys": Shape("k: 1\n"),
    "list of numbers": Shape("1,", "[", "1]"),
    "maps in a list": Shape("{a: 1},", "[", "{}]"),
    "keys in braces": Shape("k\0: 1, ", "{", "z: 1}"),
    "opening brackets": Shape("["),
    "opening braces": Shape("{a: "),
    "nested as far as allowed": Shape("[" * 30 + "]" * 30 + ",", "[", "1]"),
    "nested blocks": Shape("".join("  " * level + "- a:\n" for level in range(12))),
    "deeper and deeper": Shape("".join(" " * level + "a:\n" for level in range(1000))),
    "indentation": Shape(" " * 1000 + "- a\n"),
    "long plain text": Shape("x ", "a: ", "x"),
    "long number": Shape("1", "a: "),
    "underscores": Shape("1_", "a: ", "x"),
    "base 60": Shape("1:", "a: ", "1"),
    "numbers that are refused late": Shape("0.1\0, ", "a: [", "0x1]"),
    "long quoted text": Shape("x", "a: '", "'"),
    "quotes in quotes": Shape("''", "a: '", "'"),
    "escapes": Shape("\\n", 'a: "', '"'),
    "long escapes": Shape("\\U0001f600", 'a: "', '"'),
    "quotes in turn": Shape("'\",", "a: [", "]"),
    "unclosed": Shape("[a, 'b", "a: "),
    "colons": Shape("a:", "a: ", "a"),
    "colons in brackets": Shape("a:", "[", "a]"),
    "sharps": Shape("#", "a: x"),
    "one comment": Shape("x", "#", "\na: 1\n"),
    "comments": Shape("#\n", "", "a: 1\n"),
    "comments behind values": Shape("- a # c\n"),
    "blank lines": Shape("\n", "", "a: 1\n"),
    "carriage returns": Shape("\r\n", "", "a: 1\n"),
    "blanks": Shape(" ", "a:", "b"),
    "block text": Shape("  x\n", "a: |\n"),
    "folded text": Shape("  x\n\n", "a: >\n"),
    "folded text, indented": Shape("  x\n   y\n", "a: >-\n"),
    "block texts": Shape("- |\n  x\n"),
    "empty block texts": Shape("- |\n"),
    "a block of blank lines": Shape("\n", "a: |\n", "b: 1\n"),
    "blanks behind a block text": Shape("   \n", "a: |\n  x\n", "b: 1\n"),
    "tabs": Shape("\t"),
    "one key": Shape("k", "", ": 1"),
    "anchors": Shape("- &a a\n"),
    "letters beyond ASCII": Shape("- \u00e9\n"),
    "emoji": Shape("\U0001f600", "a: ", "x"),
    "unknown keys": Shape("k\0: 1\n"),
    "unknown calls": Shape("    - call\0\n", "syscalls:\n  allow:\n"),
    "unknown capabilities": Shape("    - cap\0\n", "capabilities:\n  allow:\n"),
    "nulls for paths": Shape("      -\n", "filesystem:\n  read:\n    allow:\n"),
    "wrong patterns": Shape("    - '(\0'\n", "data:\n  sensitive_patterns:\n"),
    "one pattern": Shape("a[bc]?", "data:\n  sensitive_patterns: ['", "']\n"),
    "wide patterns": Shape(f"    - '(?i){WIDE * 800}'\n", "data:\n  sensitive_patterns:\n"),
    "patterns of groups": Shape(f"    - '(?<=a){'(|)' * 1360}'\n", "data:\n  sensitive_patterns:\n"),
    "short patterns": Shape("    - a\0\n", "data:\n  sensitive_patterns:\n"),
    "wrong addresses": Shape("    - '::\0:z'\n", "network:\n  allowlist:\n"),
    "leases for one domain": Shape("    - {domain: ipc}\n", "authority:\n  leases:\n"),
    "conditions": Shape("  t\0: {requires_approval_if: 'a > 1 AND b == \"c\"'}\n", "tools:\n"),
    "one condition": Shape("NOT ", "tools:\n  t:\n    requires_approval_if: '", "a == 1'\n"),
    "a deep condition": Shape("(", "tools:\n  t:\n    requires_approval_if: '", "'\n"),
}
_JSON: Dict[str, Shape] = {
    "numbers": Shape("1,", '{"a": [', "1]}"),
    "maps": Shape('{"a":1},', '{"a": [', "1]}"),
    "keys": Shape('"k\0":1,', "{", '"z":1}'),
    "equal keys": Shape('"k":1,', "{", '"z":1}'),
    "opening brackets": Shape("[", '{"a":'),
    "opening braces": Shape('{"a":'),
    "nested as far as allowed": Shape("[" * 29 + "]" * 29 + ",", '{"a": [', "1]}"),
    "one text": Shape("x", '{"a": "', '"}'),
    "escapes": Shape("\\n", '{"a": "', '"}'),
    "pairs of escapes": Shape("\\ud83d\\ude00", '{"a": "', '"}'),
    "half characters": Shape("\\ud83d", '{"a": "', '"}'),
    "unclosed": Shape("\\\\", '{"a": "'),
    "one number": Shape("1", '{"a": 1.', "x}"),
    "one whole number": Shape("1", '{"a": ', "}"),
    "blanks": Shape(" \n", '{"a":', "1}"),
    "commas": Shape(",", '{"a":[1', "]}"),
    "words": Shape("true,", "[", "nul]"),
}
_TOML: Dict[str, Shape] = {
    "pairs": Shape("k\0 = 1\n"),
    "equal keys": Shape("k = 1\n"),
    "numbers": Shape("1,", "a = [", "1]\n"),
    "texts": Shape('"x",', "a = [", "1]\n"),
    "tables": Shape("[t\0]\n", "a = 1\n"),
    "lists of tables": Shape("[[t]]\n", "a = 1\n"),
    "tables in lists": Shape("[[t]]\n[t.a]\n", "a = 1\n"),
    "one dotted key": Shape("a.", "", "a = 1\n"),
    "dotted keys": Shape("a.b.k\0 = 1\n"),
    "dotted headers": Shape("[a.b.k\0]\n", "z = 1\n"),
    "opening brackets": Shape("[", "a = "),
    "opening braces": Shape("{a=", "a = "),
    "maps": Shape("{a=1},", "a = [", "1]\n"),
    "one map": Shape("k\0=1,", "a = {", "z=1}\n"),
    "one text": Shape("x", 'a = "', '"\n'),
    "escapes": Shape("\\n", 'a = "', '"\n'),
    "lines of a text": Shape("x\n", 'a = """', '"""\n'),
    "quotes in a text": Shape('""x', 'a = """', '"""\n'),
    "joined lines": Shape("\\\n  ", 'a = """', '"""\n'),
    "unclosed": Shape("x\n", 'a = """'),
    "comments": Shape("#\n", "", "a = 1\n"),
    "blank lines": Shape("\n", "", "a = 1\n"),
    "one number": Shape("1", "a = ", "\n"),
    "underscores": Shape("1_", "a = ", "1\n"),
    "dates": Shape("2026-01-02,", "a = [", "1]\n"),
    "keys in quotes": Shape('"\\u0061\0" = 1\n'),
}
SHAPES: Dict[str, Dict[str, Shape]] = {".yaml": _YAML, ".json": _JSON, ".toml": _TOML}
