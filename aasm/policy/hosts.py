# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of `network.allowlist`: a host name, `*.suffix`, `*`, or an IP address. Text only; nothing is resolved."""

from __future__ import annotations

import enum
import re
from typing import NamedTuple, NoReturn, Tuple

from ..errors import PolicyError
from .node import shown

_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_OCTET = re.compile(r"0|[1-9][0-9]{0,2}")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_LONGEST_NAME = 253  # RFC 1035, section 2.3.4: 255 octets on the wire


class HostKind(enum.Enum):
    """What an entry matches: one name, every name below a suffix (not the suffix itself), one address, everything."""

    NAME = "name"
    SUFFIX = "suffix"
    ADDRESS = "address"
    ANY = "any"


class HostEntry(NamedTuple):
    """One entry. `host` is what to compare with: lower case, without `*.`, an IPv6 address in its shortest form."""

    text: str
    kind: HostKind
    host: str
    source: str
    line: int
    column: int

    @property
    def where(self) -> str:
        return f"{self.source}:{self.line}:{self.column}"


def host_entry(text: str, source: str, line: int, column: int) -> HostEntry:
    """Return the entry for `text`, or raise PolicyError at its place."""

    def fail(what: str, remedy: str) -> NoReturn:
        raise PolicyError(what, f"{source}:{line}:{column}", remedy)

    try:
        kind, host = _parse(text)
    except _Unfit as problem:
        fail(f"{shown(text)} {problem.args[0]}", problem.args[1])
    return HostEntry(text, kind, host, source, line, column)


class _Unfit(ValueError):
    """Why a text is no entry, and the remedy."""


def _parse(text: str) -> Tuple[HostKind, str]:
    if text == "*":
        return HostKind.ANY, text
    if not text:
        raise _Unfit("is no host", "name a host, or leave the entry out")
    if "/" in text:
        raise _Unfit("is more than a host name or address", "leave scheme, path and network size out")
    if text.count(":") > 1 or text[0] == "[":
        return HostKind.ADDRESS, _ipv6(text)
    if ":" in text:
        raise _Unfit("states a port, which this release does not read", "write the host alone")
    if text.startswith("*."):
        return HostKind.SUFFIX, _name(text[2:])
    labels = text.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # what ends in a number is an address to every resolver
        return HostKind.ADDRESS, _ipv4(text, labels)
    return HostKind.NAME, _name(text)


def _name(text: str) -> str:
    if "*" in text:
        raise _Unfit("has a * inside", "a * may only stand alone or as the first label (*.example.com)")
    if not text.isascii():
        raise _Unfit("is not ASCII", "write the name in its xn-- form")
    if text.endswith("."):
        raise _Unfit("ends with a dot", "leave the last dot out")
    if len(text) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in text.split(".")):
        raise _Unfit("is not a host name", "labels of letters, digits, - and _ are divided by single dots")
    if _NUMBER.fullmatch(text.rpartition(".")[2]):
        raise _Unfit("has a number as its last label", "no host name ends in a number")
    return text.lower()


def _ipv4(text: str, labels: list[str]) -> str:
    if len(labels) != 4 or not all(_OCTET.fullmatch(label) and int(label) < 256 for label in labels):
        raise _Unfit("is not an IPv4 address in its usual form", "write four decimal numbers without leading zeros")
    return text


def _ipv6(text: str) -> str:
    import ipaddress  # only here: few policies name an IPv6 address, and every launch pays for what it imports

    if "%" in text or text[0] == "[":
        raise _Unfit("is more than an IPv6 address", "leave brackets, port and zone out")
    try:
        return ipaddress.IPv6Address(text).compressed
    except ValueError:
        raise _Unfit("is not an IPv6 address", "write up to eight groups of hexadecimal digits") from None
