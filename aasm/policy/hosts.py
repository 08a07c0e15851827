# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of `network.allowlist`: a host name, `*.suffix`, `*`, or an IP address, with or without a port.

Text only; nothing is resolved.
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple, Optional, Tuple

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


class Host(NamedTuple):
    """One entry. `host` is what to compare with: lower case, without `*.`, an IPv6 address in its shortest form.

    Without a `port` the entry is about every port.
    """

    kind: HostKind
    host: str
    port: Optional[int] = None


def host_value(text: str, where: str) -> Host:
    """Return what `text` says, or raise PolicyError at its place."""
    try:
        return _parse(*_split(text))
    except _Unfit as problem:
        raise PolicyError(f"{shown(text)} {problem.args[0]}", where, problem.args[1]) from None


class _Unfit(ValueError):
    """Why a text is no entry, and the remedy."""


def _split(text: str) -> Tuple[str, Optional[int]]:
    """Return the host and the port behind its colon; an IPv6 address stands in brackets when a port follows."""
    if text.startswith("["):
        inner, bracket, behind = text[1:].partition("]")
        if not bracket or not behind.startswith(":"):
            raise _Unfit("has a bracket and no port", "write [ADDRESS]:PORT, or the address alone")
        if inner.count(":") < 2:
            raise _Unfit("has brackets around what is no IPv6 address", "write the host without brackets")
        return inner, _port(behind[1:])
    if text.count(":") != 1 or "/" in text:
        return text, None
    host, _, port = text.partition(":")
    return host, _port(port)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535 and text[0] != "0"):
        raise _Unfit("has no port behind its colon", "write HOST:PORT with a port from 1 to 65535")
    return int(text)


def _parse(text: str, port: Optional[int]) -> Host:
    if text == "*":
        return Host(HostKind.ANY, text, port)
    if not text:
        raise _Unfit("names no host", "name a host, or leave the entry out")
    if "/" in text:
        raise _Unfit("is more than a host name or address", "leave scheme, path and network size out")
    if ":" in text:
        return Host(HostKind.ADDRESS, _ipv6(text), port)
    if text.startswith("*."):
        return Host(HostKind.SUFFIX, _name(text[2:]), port)
    labels = text.split(".")
    if _NUMBER.fullmatch(labels[-1]):  # what ends in a number is an address to every resolver
        return Host(HostKind.ADDRESS, _ipv4(text, labels), port)
    return Host(HostKind.NAME, _name(text), port)


def spelled(host: Host) -> str:
    """Return a host as an entry states it."""
    name = f"*.{host.host}" if host.kind is HostKind.SUFFIX else host.host
    if host.port is None:
        return name
    return f"[{name}]:{host.port}" if ":" in name else f"{name}:{host.port}"


def wider(host: Host) -> Tuple[Tuple[HostKind, str], ...]:
    """Return every pattern that matches all that this one does, itself first, without ports."""
    found = [(host.kind, host.host)]
    if host.kind in (HostKind.NAME, HostKind.SUFFIX):
        labels = host.host.split(".")
        found += [(HostKind.SUFFIX, ".".join(labels[at:])) for at in range(1, len(labels))]
    if host.kind is not HostKind.ANY:
        found.append((HostKind.ANY, "*"))
    return tuple(found)


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

    if "%" in text:
        raise _Unfit("is more than an IPv6 address", "leave the zone out")
    try:
        return ipaddress.IPv6Address(text).compressed
    except ValueError:
        raise _Unfit("is not an IPv6 address", "write up to eight groups of hexadecimal digits") from None
