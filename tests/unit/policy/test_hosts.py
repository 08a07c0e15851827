# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of a network allow-list."""

from __future__ import annotations

import pytest

from aasm.errors import PolicyError
from aasm.policy.hosts import HostEntry, HostKind, host_entry


@pytest.mark.parametrize(
    ("text", "kind", "host"),
    [
        ("*", HostKind.ANY, "*"),
        ("localhost", HostKind.NAME, "localhost"),
        ("API.Example.com", HostKind.NAME, "api.example.com"),
        ("_srv.a-b.xn--bcher-kva.example", HostKind.NAME, "_srv.a-b.xn--bcher-kva.example"),
        ("1and1.com", HostKind.NAME, "1and1.com"),
        ("*.Example.com", HostKind.SUFFIX, "example.com"),
        ("*.com", HostKind.SUFFIX, "com"),
        ("127.0.0.1", HostKind.ADDRESS, "127.0.0.1"),
        ("::1", HostKind.ADDRESS, "::1"),
        ("2001:DB8:0:0::1", HostKind.ADDRESS, "2001:db8::1"),
        ("a" * 63 + ".com", HostKind.NAME, "a" * 63 + ".com"),
    ],
)
def test_hosts(text: str, kind: HostKind, host: str) -> None:
    entry = host_entry(text, "p.yaml", 3, 5)
    assert entry == HostEntry(text, kind, host, "p.yaml", 3, 5)
    assert entry.where == "p.yaml:3:5"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is no host"),
        (" ", "is not a host name"),
        ("a b", "is not a host name"),
        ("a..b", "is not a host name"),
        (".a", "is not a host name"),
        ("-a.com", "is not a host name"),
        ("a-.com", "is not a host name"),
        ("a\nb", "is not a host name"),
        ("a.com\n", "is not a host name"),
        ("a\0", "is not a host name"),
        ("a%2e.com", "is not a host name"),
        ("user@a.com", "is not a host name"),
        ("a" * 64 + ".com", "is not a host name"),
        (".".join(["a" * 49] * 6), "is not a host name"),
        ("example.com.", "ends with a dot"),
        ("*.", "is not a host name"),
        ("*.*.com", "has a * inside"),
        ("a*.com", "has a * inside"),
        ("**", "has a * inside"),
        ("b\u00fccher.example", "is not ASCII"),
        ("\uff11.com", "is not ASCII"),
        ("example.com:443", "states a port"),
        ("https://example.com", "is more than a host name or address"),
        ("10.0.0.0/8", "is more than a host name or address"),
        ("[::1]", "is more than an IPv6 address"),
        ("[::1]:80", "is more than an IPv6 address"),
        ("fe80::1%eth0", "is more than an IPv6 address"),
        ("1:2:3", "is not an IPv6 address"),
        ("a:b:c", "is not an IPv6 address"),
        ("127.1", "is not an IPv4 address in its usual form"),
        ("2130706433", "is not an IPv4 address in its usual form"),
        ("0x7f000001", "is not an IPv4 address in its usual form"),
        ("127.0.0.0x1", "is not an IPv4 address in its usual form"),
        ("0177.0.0.1", "is not an IPv4 address in its usual form"),
        ("127.0.0.256", "is not an IPv4 address in its usual form"),
        ("1.2.3.4.5", "is not an IPv4 address in its usual form"),
        ("a.1", "is not an IPv4 address in its usual form"),
        ("*.0.0.1", "has a number as its last label"),
    ],
)
def test_what_is_no_host_is_refused_at_its_place(text: str, what: str) -> None:
    with pytest.raises(PolicyError) as caught:
        host_entry(text, "p.yaml", 3, 5)
    assert caught.value.where == "p.yaml:3:5"
    assert what in caught.value.what
    assert caught.value.remedy
