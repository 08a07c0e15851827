# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Entries of a network allow-list."""

from __future__ import annotations

import pytest

from aasm.errors import PolicyError
from aasm.policy.hosts import Host, HostKind, host_value, spelled, wider


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
    assert host_value(text, "p.yaml:3:5") == Host(kind, host, None)
    port = f"[{text}]:443" if ":" in text else f"{text}:443"
    assert host_value(port, "p.yaml:3:5") == Host(kind, host, 443)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("a.com:1", Host(HostKind.NAME, "a.com", 1)),
        ("A.com:65535", Host(HostKind.NAME, "a.com", 65535)),
        ("*:443", Host(HostKind.ANY, "*", 443)),
        ("*.a.com:80", Host(HostKind.SUFFIX, "a.com", 80)),
        ("10.0.0.1:80", Host(HostKind.ADDRESS, "10.0.0.1", 80)),
        ("[::1]:80", Host(HostKind.ADDRESS, "::1", 80)),
        ("[2001:DB8:0:0::1]:80", Host(HostKind.ADDRESS, "2001:db8::1", 80)),
    ],
)
def test_hosts_with_a_port_and_how_they_are_spelled(text: str, host: Host) -> None:
    assert host_value(text, "p") == host
    assert host_value(spelled(host), "p") == host


def test_everything_that_a_pattern_is_part_of() -> None:
    every = (HostKind.ANY, "*")
    assert wider(Host(HostKind.NAME, "a.b.com", 443)) == (
        (HostKind.NAME, "a.b.com"), (HostKind.SUFFIX, "b.com"), (HostKind.SUFFIX, "com"), every,
    )  # fmt: skip
    assert wider(Host(HostKind.SUFFIX, "b.com")) == ((HostKind.SUFFIX, "b.com"), (HostKind.SUFFIX, "com"), every)
    assert wider(Host(HostKind.ADDRESS, "10.0.0.1")) == ((HostKind.ADDRESS, "10.0.0.1"), every)
    assert wider(Host(HostKind.ANY, "*")) == (every,)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "names no host"),
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
        ("example.com:", "has no port behind its colon"),
        ("example.com:0", "has no port behind its colon"),
        ("example.com:080", "has no port behind its colon"),
        ("example.com:65536", "has no port behind its colon"),
        ("example.com:100000", "has no port behind its colon"),
        ("example.com:+80", "has no port behind its colon"),
        ("example.com:80 ", "has no port behind its colon"),
        ("example.com:http", "has no port behind its colon"),
        ("example.com:\uff18\uff10", "has no port behind its colon"),
        (":80", "names no host"),
        ("a b:80", "is not a host name"),
        ("a*.com:80", "has a * inside"),
        ("127.1:80", "is not an IPv4 address in its usual form"),
        ("*.0.0.1:80", "has a number as its last label"),
        ("https://example.com", "is more than a host name or address"),
        ("https://example.com:443", "is more than a host name or address"),
        ("10.0.0.0/8", "is more than a host name or address"),
        ("[::1]", "has a bracket and no port"),
        ("[::1", "has a bracket and no port"),
        ("[::1]80", "has a bracket and no port"),
        ("[::1]:", "has no port behind its colon"),
        ("[::1]:80:80", "has no port behind its colon"),
        ("[a.com]:80", "has brackets around what is no IPv6 address"),
        ("[10.0.0.1]:80", "has brackets around what is no IPv6 address"),
        ("[[::1]]:80", "has a bracket and no port"),
        ("[::1%eth0]:80", "is more than an IPv6 address"),
        ("fe80::1%eth0", "is more than an IPv6 address"),
        ("::1]:80", "is not an IPv6 address"),
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
        host_value(text, "p.yaml:3:5")
    assert caught.value.where == "p.yaml:3:5"
    assert what in caught.value.what
    assert caught.value.remedy
