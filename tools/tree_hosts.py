# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The rule about hosts: every name, URL and address of somebody's is in the reviewed table below, with its reason.

What counts: the host of a URL, what ends like a public domain or like a name inside a house (.local, .lan, .corp), and
addresses that are routed in public or are private (RFC 1918, RFC 4193, link-local IPv6). What does not: names that are
reserved for documents and tests (RFC 2606), names without a dot, loopback, the ranges for documents (RFC 5737, RFC
3849), and a private range itself, written with its length. Of Python files the constants (as the parser joins them) and
the comments are read, of all others everything. Nothing is resolved or connected to.
"""

from __future__ import annotations

import ast
import ipaddress
import re
from pathlib import Path
from typing import Dict, Iterator, NamedTuple, Sequence, Set, Tuple

from tree import Finding, Tree, matches


class Hosts(NamedTuple):
    """A row of the table: where, as a pattern of paths; the names, blanks between them; why they are there."""

    where: str
    names: str
    why: str


REVIEWED: Tuple[Hosts, ...] = (
    Hosts("LICENSE*", "www.apache.org", "part of the text of the licence"),
    Hosts("CHANGELOG.md", "keepachangelog.com semver.org", "what the form of the changelog and of versions is called"),
    Hosts("aasm/policy/json_schema.py", "json-schema.org", "the name of the dialect, as its specification states it"),
    Hosts("tests/unit/policy/test_json_schema.py", "json-schema.org", "compared with the schema that is made"),
    Hosts(
        "aasm/model/ambient.py", "metadata.google.internal 168.63.129.16 fd00:ec2::254",
        "where clouds answer with credentials: recognised in a policy, never asked",
    ),
    Hosts("tools/provenance.py", "in-toto.io slsa.dev", "names of formats, as their specifications state them"),
    Hosts("aasm/model/authority.py", "2.5.5.2", "no address, a section of RFC 4291"),
    Hosts("tools/try_copy.py", "known.net", "no name, a field of a record in code"),
    Hosts("docs/vendoring.md", "known.net", "the same, in the example"),
    Hosts("aasm/policy/strict_json.py", "0-9.ee", "no name, part of a regular expression"),
    Hosts("tests/golden/yaml/written.json", "b.c yaml.org fe80::1", "texts for readers of YAML; the tags of YAML"),
    Hosts(
        "tests/unit/model/test_ambient.py", "metadata.google.internal 168.63.129.16 fd00:ec2::254",
        "as in aasm/model/ambient.py",
    ),
    Hosts("tools/tree_pythons.py", "typing.io typing.re", "no names, modules of Python"),
    Hosts(
        "tests/*",
        "a.com b.com xa.com b.a.com c.b.a.com a.b.com notexample.com xexample.com example.com.evil.org a.org b.org "
        "c.org d.org x.a.org all.org evila.org a.org.evil.net 1and1.com 2e.com k.com 1.2.3.4 11.0.0.1 "
        "10.0.0.1 10.0.0.2 10.0.0.11 10.0.0.0 10.1.0.0 10.1.2.3 10.2.0.1 10.128.0.0 fd00::1 fd00:0:: fd01::2 "
        "fdab::1 fe80::1",
        "stand for any host or network where tests compare what policies say of them; nothing asks for one of them",
    ),
)  # fmt: skip
HOME = "tools/tree_hosts.py"  # this file; what it lists is no use of it

# Endings of public names, and of names inside a house.
# Those that are more often an English word or the end of a file's name are left out.
ENDINGS = frozenset(
    "com org net edu gov mil int arpa info biz io dev app cloud ai page tech site online xyz club top internal "
    "local localdomain lan intranet corp "
    "ac ad ae af ag al am ao aq ar au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw bz ca cd cf cg ch ci ck "
    "cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg es et eu fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm "
    "gn gp gq gr gt gu gw gy hk hm hn hr ht hu ie il im iq ir je jm jo jp ke kg kh ki km kn kp kr kw ky kz lb lc li lk "
    "ls lt lu lv ly ma mc mg mh mm mn mo mp mq mr ms mt mu mv mw mx mz na nc ne nf ng ni nl np nr nu nz om pa pe pf pg "
    "ph pk pm pn pr pt pw qa re ro ru rw sa sb sc sd se sg si sj sk sl sm sn sr ss st su sv sx sy sz tc td tf tg th tj "
    "tk tl tm tn tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw".split()
)
RESERVED = ("example", "test", "invalid", "localhost", "example.com", "example.net", "example.org")

_NAME = re.compile(r"(?<![\w.-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+([a-z]{2,})(?![\w-]|\.\w|\()", re.IGNORECASE)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://(?:[^\s/@\"'`]*@)?([a-z0-9._-]+)", re.IGNORECASE)
_INSIDE = tuple(map(ipaddress.ip_network, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fe80::/10".split()))
_ROUTED = ipaddress.ip_network("2000::/3")  # all of IPv6 that was given to anybody
_RANGES = (*map(str, _INSIDE), "fd00::/8")
_ADDRESS = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?![\w.]*\w)")
_ADDRESS6 = re.compile(r"(?<![\w:.])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?![\w:]|\.\w)", re.IGNORECASE)


def named(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (offset, name in lower case) for every host and address of somebody's that `text` names."""
    for found in _NAME.finditer(text):
        if found.group(1).lower() in ENDINGS:
            yield found.start(), found.group().lower()
    for found in _URL.finditer(text):
        name = found.group(1).strip(".").lower()
        if "." in name and not _ADDRESS.fullmatch(name):
            yield found.start(1), name
    for pattern in (_ADDRESS, _ADDRESS6):
        for found in pattern.finditer(text):
            if _is_of_somebody(found.group()) and not _is_range(text[found.start() :]):
                yield found.start(), found.group().lower()


def _is_of_somebody(text: str) -> bool:
    """Tell whether an address is routed in public, or is one of those that networks inside a house use."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    routed = address.is_global and (address.version == 4 or address in _ROUTED)
    return routed or any(address in network for network in _INSIDE)


def _is_range(text: str) -> bool:
    """Tell whether a text begins with the name of a whole range, as the standards write it: nobody's address."""
    found = re.match(r"[0-9a-f.:]+/\d+(?!\w)", text, re.IGNORECASE)
    return found is not None and found[0].lower() in _RANGES


def _is_reserved(name: str) -> bool:
    return any(name == ending or name.endswith(f".{ending}") for ending in RESERVED)


def texts(tree: Tree, path: Path) -> Iterator[Tuple[int, str]]:
    """Yield (line, text) for every piece of a file that may name a host."""
    if not tree.is_code(path):
        yield from enumerate(tree.lines(path), 1)
        return
    for node in tree.nodes(path, ast.Constant):
        value = node.value if isinstance(node, ast.Constant) else None
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        if isinstance(text, str) and ("." in text or ":" in text):
            yield getattr(node, "lineno", 1), text
    for number, line in enumerate(tree.lines(path), 1):
        if "#" in line and ("." in line or ":" in line):  # a sign within a text only makes this read too much
            yield number, line.partition("#")[2]


def hosts(tree: Tree, table: Sequence[Hosts] = REVIEWED) -> Iterator[Finding]:
    """Yield every host that no row lists for this file, and every name in the table that is in no file."""
    needed: Set[Tuple[Hosts, str]] = set()
    for path in tree.files:
        file = tree.name(path)
        for name, line in () if file == HOME else _first_lines(tree, path).items():
            rows = [row for row in table if matches(file, (row.where,)) and name in row.names.split()]
            needed.update((row, name) for row in rows)
            if not rows and not _is_reserved(name):
                yield Finding(file, line, "hosts", f"{name} is in no row of {HOME}")
    for row in table:
        for name in row.names.split():
            if (row, name) not in needed:
                yield Finding(row.where, 1, "hosts", f"{name} is listed in {HOME} and no longer there")


def _first_lines(tree: Tree, path: Path) -> Dict[str, int]:
    """Return each host of a file with the line that names it first."""
    found: Dict[str, int] = {}
    for line, text in texts(tree, path):
        for at, name in named(text):
            here = line + text.count("\n", 0, at)
            found[name] = min(here, found.get(name, here))
    return found


RULES = (("hosts", "every host and private address that is named has a reason", hosts),)
