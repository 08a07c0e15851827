# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""In what a descendant has more than its ancestor: each kind by itself, and which name covers which."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import pytest

from aasm.model.authority import AuthorityWidening as Kind, Widening, authority_widening, uncovered
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.requirements import (
    WHOLE,
    CredentialPosture,
    DescendantRequirement as Descendants,
    ExecutionSpec,
    Identity,
    Requirement,
    RequirementIntent as Intent,
    RequirementPosture as Posture,
    ResourceLimits,
    Scope,
    ceilings,
    permit_only,
)

READ, WRITE, EGRESS, SYSCALL = (
    Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE, Domain.NETWORK_EGRESS, Domain.SYSCALL,
)  # fmt: skip
RESOURCE = Domain.RESOURCE


def spec(
    *requirements: Requirement, lineage: Tuple[str, ...] = ("root", "parent"), cwd: str = "/ws", **names: Any
) -> ExecutionSpec:
    identity = Identity("child" if "parent" in lineage else "other", None, lineage, "session", "trace")
    return ExecutionSpec("true", (), cwd, identity, requirements, CredentialPosture(**names))


def ancestor(*requirements: Requirement, **names: Any) -> ExecutionSpec:
    made = spec(*requirements, **names)
    return made._replace(identity=made.identity._replace(agent_id="parent", lineage=("root",)))


def only(domain: Domain, *names: str, **changes: Any) -> Requirement:
    return Requirement(domain, permit_only(names))._replace(**changes)


def limit(**stated: int) -> Requirement:
    return Requirement(RESOURCE, ceilings(ResourceLimits(**stated)))


def found(above: List[Requirement], below: List[Requirement]) -> List[Tuple[Kind, Optional[Domain]]]:
    return [(item.kind, item.domain) for item in authority_widening(ancestor(*above), spec(*below))]


# --- lineage and credentials ------------------------------------------------------------------------


@pytest.mark.parametrize("lineage", [("parent",), ("root", "parent"), ("parent", "between")])
def test_a_lineage_that_names_the_ancestor_is_whole(lineage: Tuple[str, ...]) -> None:
    assert authority_widening(ancestor(), spec(lineage=lineage)) == ()


@pytest.mark.parametrize("lineage", [(), ("root",), ("parents",), ("PARENT",)])
def test_a_lineage_that_does_not_name_the_ancestor_is_broken(lineage: Tuple[str, ...]) -> None:
    expected = Widening(Kind.LINEAGE_BROKEN, None, "the lineage does not name parent")
    assert authority_widening(ancestor(), spec(lineage=lineage)) == (expected,)


@pytest.mark.parametrize(
    ("above", "below", "widened"),
    [
        ({}, {}, []),
        ({"delegated": ("A",)}, {"delegated": ("A",)}, []),
        ({"delegated": ("A",)}, {"ambient_unremoved": ("A",)}, []),
        ({"ambient_unremoved": ("A",)}, {"delegated": ("A",)}, []),
        ({"delegated": ("A",)}, {"removed": ("A", "B")}, []),
        ({}, {"delegated": ("A",)}, ["A"]),
        ({}, {"ambient_unremoved": ("B", "A"), "delegated": ("C", "A")}, ["A", "B", "C"]),
        ({"removed": ("A",)}, {"delegated": ("A",)}, ["A"]),  # what an ancestor removed cannot come back
        ({"delegated": ("A",)}, {"delegated": ("A", "a")}, ["a"]),
        ({}, {"removed": ("A",), "delegated": ("A",)}, ["A"]),  # said to be removed, and is not
    ],
)
def test_a_name_that_newly_reaches_the_program_is_listed(above: Any, below: Any, widened: List[str]) -> None:
    listed = authority_widening(ancestor(**above), spec(**below))
    assert listed == tuple(
        Widening(Kind.CREDENTIAL_WIDENED, Domain.CREDENTIAL, f"{name} reaches the program") for name in widened
    )


# --- requirements -----------------------------------------------------------------------------------

BASE = only(READ, "/ws")


def test_a_domain_that_is_no_longer_covered_is_dropped_and_a_new_one_is_no_widening() -> None:
    assert found([BASE, only(WRITE, "/ws")], [only(WRITE, "/ws")]) == [(Kind.REQUIREMENT_DROPPED, READ)]
    assert found([], [BASE]) == []
    assert found([BASE], [BASE, only(EGRESS, "example.com")]) == []


@pytest.mark.parametrize(
    ("field", "kind", "words"),
    [
        ("intent", Kind.INTENT_WEAKENED, list(Intent)),
        ("posture", Kind.POSTURE_WEAKENED, [Posture.REQUIRED, Posture.DEGRADE_IF_UNAVAILABLE, Posture.OPTIONAL]),
        ("descendants", Kind.DESCENDANT_SCOPE_REDUCED, list(Descendants)),
    ],
)
def test_each_axis_may_only_become_stricter(field: str, kind: Kind, words: List[Any]) -> None:
    for was in words:
        for now in words:
            listed = authority_widening(ancestor(BASE._replace(**{field: was})), spec(BASE._replace(**{field: now})))
            weaker = words.index(now) > words.index(was)
            detail = f"{was.value} became {now.value}"
            assert listed == ((Widening(kind, READ, detail),) if weaker else ())


def test_everything_that_is_weaker_is_listed() -> None:
    weak = only(READ, "/", intent=Intent.OBSERVE, posture=Posture.OPTIONAL, descendants=Descendants.TARGET_PROCESS_ONLY)
    assert found([BASE], [weak]) == [
        (Kind.SCOPE_WIDENED, READ), (Kind.INTENT_WEAKENED, READ), (Kind.POSTURE_WEAKENED, READ),
        (Kind.DESCENDANT_SCOPE_REDUCED, READ),
    ]  # fmt: skip


def test_who_stated_a_requirement_does_not_matter() -> None:
    assert found([BASE], [BASE._replace(stated_by="elsewhere")]) == []


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_whole_domain_is_the_strictest_scope(domain: Domain) -> None:
    whole, some = Requirement(domain, WHOLE), only(domain, "name")
    assert found([whole], [whole]) == [] == found([some], [whole])
    listed = authority_widening(ancestor(whole), spec(some))
    assert listed == (Widening(Kind.SCOPE_WIDENED, domain, "permits name"),)


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_name_beyond_the_ancestors_is_listed(domain: Domain) -> None:
    listed = authority_widening(ancestor(only(domain, "a", "b")), spec(only(domain, "b", "c", "a", "d")))
    assert [item.detail for item in listed] == ["permits c", "permits d"]
    assert found([only(domain, "a", "b")], [only(domain, "b")]) == []


def test_a_bare_selector_grants_nothing() -> None:
    bare = Requirement(SYSCALL, Scope(False, ("read",)))
    assert found([Requirement(SYSCALL, WHOLE)], [bare]) == []
    assert found([bare], [only(SYSCALL, "read")]) == [(Kind.SCOPE_WIDENED, SYSCALL)]
    assert found([only(SYSCALL, "read")], [bare]) == []
    assert found([only(SYSCALL, "read")], [Requirement(SYSCALL, Scope(False, ("write", "permit-only:read")))]) == []


# --- ceilings ---------------------------------------------------------------------------------------

PIDS, FILES = limit(max_pids=10), limit(max_open_files=100)
BOTH = limit(max_pids=10, max_open_files=100)


@pytest.mark.parametrize(
    ("above", "below", "widened"),
    [
        ([PIDS], [PIDS], []),
        ([PIDS], [limit(max_pids=9)], []),
        ([PIDS], [limit(max_pids=0)], []),
        ([PIDS], [limit(max_pids=-1)], []),
        ([PIDS], [limit(max_pids=11)], ["max_pids was raised"]),
        ([PIDS], [limit(max_pids=10**100)], ["max_pids was raised"]),
        ([PIDS], [PIDS, FILES], []),
        ([PIDS, FILES], [FILES, PIDS], []),
        ([PIDS, FILES], [BOTH], []),
        ([BOTH], [PIDS, FILES], []),
        ([BOTH], [PIDS], ["max_open_files is no longer limited"]),
        ([PIDS, FILES], [FILES], ["max_pids is no longer limited"]),
        ([PIDS, FILES], [limit(max_pids=11), limit(max_open_files=101)], [
            "max_pids was raised", "max_open_files was raised",
        ]),
        ([BOTH], [limit(max_pids=11, max_open_files=100)], ["max_pids was raised"]),
        ([BOTH], [limit(max_pids=11), limit(max_cpu_seconds=1)], [
            "max_pids was raised", "max_open_files is no longer limited",
        ]),
        ([PIDS], [limit(max_pids=20), limit(max_pids=5)], []),  # the lower one holds
        ([PIDS], [Requirement(RESOURCE, WHOLE)], []),
        ([PIDS], [only(RESOURCE, "max_pids")], ["max_pids is no longer limited"]),
    ],
)  # fmt: skip
def test_ceilings_are_compared_one_by_one(
    above: List[Requirement], below: List[Requirement], widened: List[str]
) -> None:
    listed = authority_widening(ancestor(*above), spec(*below))
    assert [(item.kind, item.domain, item.detail) for item in listed] == [
        (Kind.LIMIT_RAISED, RESOURCE, detail) for detail in widened
    ]


def test_a_ceiling_is_wider_than_the_whole_domain() -> None:
    listed = authority_widening(ancestor(Requirement(RESOURCE, WHOLE)), spec(PIDS))
    assert listed == (Widening(Kind.SCOPE_WIDENED, RESOURCE, "nothing but max_pids is limited"),)


def test_a_ceiling_that_became_optional_is_a_weaker_posture_and_not_a_raised_limit() -> None:
    optional = PIDS._replace(posture=Posture.OPTIONAL)
    assert found([PIDS, FILES], [FILES, optional]) == [(Kind.POSTURE_WEAKENED, RESOURCE)]


# --- several requirements of one domain -----------------------------------------------------------------

AB, A, B = only(READ, "/a", "/b"), only(READ, "/a"), only(READ, "/b")


@pytest.mark.parametrize(
    ("above", "below", "kinds"),
    [
        ([AB, A], [A, AB], []),
        ([AB, A], [A, A], []),
        ([AB, A], [A, B], []),
        ([AB], [AB, only(READ, "/c")], []),  # one more holds as well
        ([AB], [only(READ, "/a", "/c"), A], []),  # permitted is what both permit
        ([AB], [only(READ, "/a", "/c"), only(READ, "/a", "/d")], [Kind.SCOPE_WIDENED]),  # in doubt
        ([A, B], [AB, AB], [Kind.SCOPE_WIDENED]),
        ([A, A], [AB, A], [Kind.SCOPE_WIDENED]),  # one grew
        ([AB, A], [A], [Kind.REQUIREMENT_DROPPED]),
        ([A, A], [A], [Kind.REQUIREMENT_DROPPED]),
        ([AB, A], [AB], [Kind.REQUIREMENT_DROPPED, Kind.SCOPE_WIDENED]),
        ([AB, A], [Requirement(READ, WHOLE)], [Kind.REQUIREMENT_DROPPED]),
    ],
)
def test_each_of_several_requirements_counts(
    above: List[Requirement], below: List[Requirement], kinds: List[Kind]
) -> None:
    listed = [kind for kind, _ in found(above, below)]
    assert sorted(set(listed), key=list(Kind).index) == sorted(kinds, key=list(Kind).index)


def test_one_that_is_strict_in_everything_is_needed() -> None:
    observed = only(READ, "/ws", intent=Intent.OBSERVE)
    assert found([BASE], [observed, only(READ, "/")]) == [(Kind.INTENT_WEAKENED, READ)]
    both = only(READ, "/", intent=Intent.OBSERVE)
    assert found([BASE], [both, observed]) == [(Kind.INTENT_WEAKENED, READ)]  # the nearest one
    assert found([BASE], [only(READ, "/"), both]) == [(Kind.SCOPE_WIDENED, READ)]


@pytest.mark.parametrize(
    "odd",
    [
        Scope(False),
        Scope(False, (), ResourceLimits()),
        Scope(True, ("permit-only:name",)),
        Scope(True, (), ResourceLimits(max_pids=1)),
        Scope(True, (), ResourceLimits()),
        Scope(False, ("permit-only:name",), ResourceLimits(max_pids=1)),
        Scope(False, ("permit-only:name",), ResourceLimits()),
    ],
)
def test_a_scope_that_is_none_of_the_three_compares_with_itself_alone(odd: Scope) -> None:
    for domain, other in ((READ, A), (RESOURCE, PIDS), (EGRESS, Requirement(EGRESS, WHOLE))):
        strange = Requirement(domain, odd)
        assert found([strange], [strange]) == []
        assert found([other], [strange]) == [(Kind.SCOPE_WIDENED, domain)]
        assert found([strange], [other]) == [(Kind.SCOPE_WIDENED, domain)]
        assert found([strange], []) == [(Kind.REQUIREMENT_DROPPED, domain)]


# --- which name covers which ----------------------------------------------------------------------------

PATHS_COVERED = """
    /ws /ws | /ws /ws/a | /ws /ws/a/b.c | / / | / /ws | / /ws/a | /a/b /a/b/c | /ws /ws/... | /ws /ws/.a | / /..a
    /w\u00e4 /w\u00e4/x | /ws/ /ws/ | /ws/.. /ws/.. | ws ws"""
PATHS_NOT_COVERED = """
    /ws /ws-evil | /ws /w | /ws / | /ws/a /ws | /ws /WS | /ws /ws/../etc | / /.. | / /../etc | / /ws/. | / /./ws
    / /ws/ | / //ws | / /ws//a | / // | / ws | /ws ws | ws ws/a | /ws/ /ws | /ws /ws/ | /ws/ /ws/a | /ws/.. /ws
    /ws/../ws /ws | /ws/../ws /ws/a | . ./a | . /ws | /ws/* /ws/a | * /ws | /w\u00e4 /wa\u0308/x"""


def pairs(text: str) -> List[Tuple[str, str]]:
    split = [pair.split() for line in text.splitlines() for pair in line.split("|") if pair.strip()]
    return [(above, below) for above, below in split]


@pytest.mark.parametrize("domain", [READ, WRITE])
@pytest.mark.parametrize(("above", "below"), pairs(PATHS_COVERED))
def test_a_path_covers_what_lies_beneath_it(domain: Domain, above: str, below: str) -> None:
    assert found([only(domain, above)], [only(domain, below)]) == []


@pytest.mark.parametrize("domain", [READ, WRITE])
@pytest.mark.parametrize(("above", "below"), pairs(PATHS_NOT_COVERED))
def test_a_path_covers_nothing_else(domain: Domain, above: str, below: str) -> None:
    assert found([only(domain, above)], [only(domain, below)]) == [(Kind.SCOPE_WIDENED, domain)]


@pytest.mark.parametrize("odd", ["", "/a\0b", "/" + "a" * 4095, "/a" * 100000])
def test_no_path_covers_what_is_no_path(odd: str) -> None:
    assert uncovered(READ, (odd,), ("/",)) == (odd,)
    assert uncovered(READ, (odd,), (odd,)) == ()
    assert uncovered(READ, ("/" + "a" * 4094,), ("/",)) == ()


def test_two_names_together_cover_no_third() -> None:
    assert uncovered(READ, ("/a",), ("/a/b", "/a/c")) == ("/a",)
    assert uncovered(EGRESS, ("10.0.0.0/8",), ("10.0.0.0/9", "10.128.0.0/9")) == ("10.0.0.0/8",)


def test_a_relative_path_means_something_else_elsewhere() -> None:
    relative = only(READ, "src", "/ws")
    assert authority_widening(ancestor(relative), spec(relative)) == ()
    listed = authority_widening(ancestor(relative), spec(relative, cwd="/"))
    assert listed == (Widening(Kind.SCOPE_WIDENED, READ, "permits src"),)
    assert authority_widening(ancestor(BASE), spec(BASE, cwd="/")) == ()
    assert authority_widening(ancestor(BASE), spec(BASE, only(WRITE, "src"), cwd="/")) == ()
    calls = only(SYSCALL, "read")
    assert authority_widening(ancestor(calls), spec(calls, cwd="/")) == ()


HOSTS_COVERED = """
    example.com example.com | example.com EXAMPLE.Com | EXAMPLE.COM example.com | example.com example.com.
    example.com. example.com | example.com example.com:443 | example.com:443 example.com:443 | localhost localhost
    *.example.com a.example.com | *.example.com a.b.example.com | *.example.com *.b.example.com | a_b a_b
    *.example.com *.example.com | *.EXAMPLE.com A.example.com. | *.example.com. a.example.com
    *.example.com a.example.com:80 | *.example.com:80 a.example.com:80 | *.com example.com | *.com *.example.com:1
    * example.com | * *.com | * 10.0.0.1 | * ::1 | * 10.0.0.0/8 | * * | * *:443 | *:443 *:443 | *:443 example.com:443
    *:443 10.0.0.1:443 | *:443 [::1]:443 | * [fd00::/8]:1
    10.0.0.1 10.0.0.1 | 10.0.0.1 10.0.0.1/32 | 10.0.0.1/32 10.0.0.1 | 10.0.0.1 10.0.0.1:65535 | 10.0.0.0/8 10.1.2.3
    10.0.0.0/8 10.0.0.0/8 | 10.0.0.0/8 10.1.0.0/16 | 10.0.0.0/8 10.1.2.3:53 | 10.0.0.0/8:53 10.1.2.3:53
    10.0.0.0/8:53 10.1.0.0/16:53 | 0.0.0.0/0 192.0.2.1 | 0.0.0.0/0 0.0.0.0/0:1
    ::1 ::1 | ::1 0:0:0:0:0:0:0:1 | ::1 [::1] | ::1 [::1]:80 | [::1]:80 [0::1]:80 | fd00::/8 fdAB::1 | FD00::/8 fd00::1
    fd00::/8 [fd00::1]:80 | [fd00::/8]:80 [fd00::1]:80 | ::/0 2001:db8::/32 | fd00:0::/8 fd00::/8
    http://x http://x | a:b:c a:b:c | 1.2.3 1.2.3 | b\u00fccher.de b\u00fccher.de | ::ffff:1.2.3.4 ::ffff:1.2.3.4
    fe80::1%eth0 fe80::1%eth0 | example.com:http example.com:http"""
HOSTS_NOT_COVERED = """
    example.com a.example.com | example.com example.org | example.com example.com.evil.org | example.com xexample.com
    example.com *.example.com | example.com * | *.example.com example.com | *.example.com xexample.com | *.com *
    *.example.com example.com.evil.org | *.b.example.com *.example.com | *.example.com *.org
    *.example.com .example.com
    example.com:443 example.com | example.com:443 example.com:80 | *.example.com:443 a.example.com | *:443 *
    *:443 example.com | *:443 example.com:80 | 10.0.0.0/8:53 10.0.0.1 | 10.0.0.0/8:53 10.0.0.1:54
    example.com 10.0.0.1 | 10.0.0.1 example.com | *.com 10.0.0.1 | 0.0.0.0/0 * | 0.0.0.0/0 example.com
    10.0.0.1 10.0.0.2 | 10.0.0.0/8 11.0.0.1 | 10.0.0.0/8 10.0.0.0/7 | 10.0.0.0/8 0.0.0.0/0 | 10.0.0.0/8 ::1
    0.0.0.0/0 ::1 | ::/0 10.0.0.1 | ::/0 ::ffff:1.2.3.4 | ::/0 ::ffff:0:0/96 | 1.2.3.4 ::ffff:1.2.3.4 | ::1 ::2
    fd00::/8 fe00::1 | fd00::/8 fc00::/7 | [::1]:80 ::1 | [::1]:80 [::1]:81
    * http://x | * a:b:c | * 1.2.3 | * 127.1 | * 0x7f.1
    * 0x7f000001 | * a.0x7F | * 010.0.0.1 | * 1.2.3.4. | * 256.0.0.1 | * 10.0.0.1/8
    * 10.0.0.0/33 | * 10.0.0.0/255.0.0.0 | * 10.0.0.0/ | 0.0.0.0/0 10.0.0.1/8 | 10.0.0.0/8 10.0.0.0/255.0.0.0
    * b\u00fccher.de
    * \u212a.com | * -a.com | * a-.com | * a..com | * .com | * com.. | * a*.com | * *.*.com | * *. | * *.. | * .
    * *.10.0.0.1 | * a.b.1 | * example.com: | * example.com:0 | * example.com:0443 | * example.com:65536
    * example.com:80-90 | * example.com:http | * example.com:* | * :80 | * [::1 | * [::1]80 | * [::1]: | * [::1]/64
    * [1.2.3.4] | * [example.com]:80 | * [::1]:80:81 | * fd00::/8:443 | * fe80::1%eth0 | * user@host | * a/b
    * example.com:\u0664\u0664\u0663 | * 1.2.3.\u0664 | fe80::/10 fe80::1%eth0 | *.com. *. | ** a | ** **.com"""


@pytest.mark.parametrize(("above", "below"), pairs(HOSTS_COVERED))
def test_a_host_pattern_covers_what_it_matches(above: str, below: str) -> None:
    assert found([only(EGRESS, above)], [only(EGRESS, below)]) == []


@pytest.mark.parametrize(("above", "below"), pairs(HOSTS_NOT_COVERED))
def test_a_host_pattern_covers_nothing_else(above: str, below: str) -> None:
    assert found([only(EGRESS, above)], [only(EGRESS, below)]) == [(Kind.SCOPE_WIDENED, EGRESS)]


@pytest.mark.parametrize(
    "odd",
    ["", "\0", " ", "a b", "example.com\n", "\ud800", "a." * 200 + "com", "a" * 64 + ".com", "1" * 10000, "x" * 300]
    + ["10.0.0.0/" + "9" * 10000, "example.com:" + "9" * 10000, ":" * 1000, "[" * 1000, "*" * 1000],
)
def test_no_pattern_covers_what_cannot_be_understood(odd: str) -> None:
    assert uncovered(EGRESS, (odd,), ("*", "0.0.0.0/0", "::/0", "*.com")) == (odd,)
    assert uncovered(EGRESS, (odd,), (odd,)) == ()


@pytest.mark.parametrize("domain", [domain for domain in DOMAINS if domain not in (READ, WRITE, EGRESS)])
def test_elsewhere_only_equal_names_count(domain: Domain) -> None:
    assert uncovered(domain, ("read", "READ", "/a", "*.b", "a"), ("read", "/", "*", "*.b")) == ("READ", "/a", "a")


# --- what a line carries ----------------------------------------------------------------------------------


def test_a_detail_is_one_line_whatever_the_names_hold() -> None:
    odd = "\n\x1b\ud800\udcff\u202e"
    above = ancestor(BASE)
    above = above._replace(identity=above.identity._replace(agent_id=odd))
    listed = authority_widening(above, spec(only(READ, odd), delegated=(odd,)))
    assert [item.kind for item in listed] == [Kind.LINEAGE_BROKEN, Kind.SCOPE_WIDENED, Kind.CREDENTIAL_WIDENED]
    assert all(item.detail.isprintable() for item in listed)


def test_what_is_found_twice_is_listed_once() -> None:
    assert found([A, A], []) == [(Kind.REQUIREMENT_DROPPED, READ)]
    assert found([A], [only(READ, "/c", "/c")]) == [(Kind.SCOPE_WIDENED, READ)]
