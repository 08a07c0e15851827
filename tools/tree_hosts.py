# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The rule about hosts: every public name, URL and address in the tree is in the reviewed table below, with its reason.

What counts: the host of a URL, what ends like a public domain, and IPv4 addresses that are routed in public. What does
not: names that are reserved for documents and tests (RFC 2606), names without a dot, addresses of no public network.
Of Python files the text constants (as the parser joins them) and the comments are read, of all others everything.
Nothing is resolved or connected to.
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
        "aasm/model/ambient.py", "metadata.google.internal 168.63.129.16",
        "where clouds answer with credentials: recognised in a policy, never asked",
    ),
    Hosts("tools/provenance.py", "in-toto.io slsa.dev", "names of formats, as their specifications state them"),
    Hosts("aasm/model/authority.py", "2.5.5.2", "no address, a section of RFC 4291"),
    Hosts("tools/try_copy.py", "known.net", "no name, a field of a record in code"),
    Hosts("docs/vendoring.md", "known.net", "the same, in the example"),
    Hosts("aasm/policy/strict_json.py", "0-9.ee", "no name, part of a regular expression"),
    Hosts("tests/golden/yaml/written.json", "b.c yaml.org", "texts that YAML readers were given; the tags of YAML"),
    Hosts("tests/unit/model/test_ambient.py", "metadata.google.internal 168.63.129.16", "as in aasm/model/ambient.py"),
    Hosts("tools/tree_pythons.py", "typing.io typing.re", "no names, modules of Python"),
    Hosts(
        "tests/*",
        "a.com b.com xa.com b.a.com c.b.a.com a.b.com notexample.com xexample.com example.com.evil.org a.org b.org "
        "c.org d.org x.a.org all.org evila.org a.org.evil.net 1and1.com 2e.com k.com 1.2.3.4 11.0.0.1",
        "stand for any host where tests compare what policies say about hosts; nothing asks for one of them",
    ),
)  # fmt: skip
HOME = "tools/tree_hosts.py"  # this file; what it lists is no use of it

# Endings of public names. Those that are more often an English word or the end of a file's name are left out.
ENDINGS = frozenset(
    "com org net edu gov mil int arpa info biz io dev app cloud ai page tech site online xyz club top internal "
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
_ADDRESS = re.compile(r"(?<![\w.])(\d{1,3}(?:\.\d{1,3}){3})(?![\w.]*\w)")


def named(text: str) -> Iterator[Tuple[int, str]]:
    """Yield (offset, name in lower case) for every public host that `text` names."""
    for found in _NAME.finditer(text):
        if found.group(1).lower() in ENDINGS:
            yield found.start(), found.group().lower()
    for found in _URL.finditer(text):
        name = found.group(1).strip(".").lower()
        if "." in name and not _ADDRESS.fullmatch(name):
            yield found.start(1), name
    for found in _ADDRESS.finditer(text):
        if _is_public(found.group()):
            yield found.start(), found.group()


def _is_public(text: str) -> bool:
    try:
        return ipaddress.IPv4Address(text).is_global
    except ValueError:
        return False


def _is_reserved(name: str) -> bool:
    return any(name == ending or name.endswith(f".{ending}") for ending in RESERVED)


def texts(tree: Tree, path: Path) -> Iterator[Tuple[int, str]]:
    """Yield (line, text) for every piece of a file that may name a host."""
    if not tree.is_code(path):
        yield from enumerate(tree.lines(path), 1)
        return
    for node in tree.nodes(path, ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            yield node.lineno, node.value
    for number, line in enumerate(tree.lines(path), 1):
        if "#" in line and "." in line:  # a sign within a text only makes this read too much
            yield number, line.partition("#")[2]


def hosts(tree: Tree, table: Sequence[Hosts] = REVIEWED) -> Iterator[Finding]:
    """Yield every public host that no row lists for this file, and every name in the table that is in no file."""
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
    """Return each public host of a file with the line that names it first."""
    found: Dict[str, int] = {}
    for line, text in texts(tree, path):
        for at, name in named(text):
            here = line + text.count("\n", 0, at)
            found[name] = min(here, found.get(name, here))
    return found


RULES = (("hosts", "every public host that is named has a reason", hosts),)
