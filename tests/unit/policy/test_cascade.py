# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Several policies to one: tiers and their order, how each kind of statement is joined, and where values come from.

The laws that hold for every key are in tests/property/test_cascade_laws.py; these are the examples.
"""

from __future__ import annotations

import time
from typing import Any, List, Optional, Sequence, Tuple

import pytest
from support.policies import Drawn

from aasm.errors import InternalError, PolicyError
from aasm.policy import expression, load, tools, unmapped
from aasm.policy.cascade import MOST, merge, ordered, tier
from aasm.policy.hosts import Host, spelled
from aasm.policy.places import Places
from aasm.policy.schema import LEASE_KEYS
from aasm.policy.values import Entry, Listing, Policy

HERE = Places("/w", "/h", ("/usr", "/lib"))


def document(name: str, scope: Optional[str] = None, tools: Any = None, leases: Any = None, **values: Any) -> Policy:
    """Return a policy with these values; in their names `__` stands for the dot."""
    dotted = {key.replace("__", "."): value for key, value in values.items()}
    return load.placed(Drawn(name, scope, dotted, tools, leases).policy(), HERE, follow=True)


def merged(*documents: Policy, narrowing: Sequence[bool] = ()) -> Policy:
    return merge(documents, narrowing)


def listed(policy: Policy, key: str) -> List[str]:
    found = policy.names(key)
    assert found is not None
    return sorted(found)


def values(policy: Policy, key: str) -> Tuple[Any, ...]:
    """Return the values of a list in the order of its texts, or the single value."""
    found = policy.values[key]
    entries = found.entries if isinstance(found, Listing) else (found,)
    return tuple(entry.value for entry in sorted(entries, key=lambda entry: entry.text))


# --- tiers ------------------------------------------------------------------------------------------------


def test_the_tiers_are_global_org_team_agent_tool() -> None:
    scopes = (None, "global", "org:o", "team:t", "agent:a", "tool:global")
    assert [tier(document("p", scope)) for scope in scopes] == [0, 0, 1, 2, 3, 4]


def test_documents_are_ordered_by_their_tiers_and_stay_in_order_within_one() -> None:
    given = ("tool:x", "team:b", None, "agent:a", "team:a", "global", "org:z", "team:b", "org:a")
    documents = [document(f"{at}", scope) for at, scope in enumerate(given)]
    assert [item.source for item in ordered(documents)] == ["2", "5", "6", "8", "1", "4", "7", "3", "0"]
    assert [item.source for item in ordered(documents[::-1])] == ["5", "2", "8", "6", "7", "4", "1", "3", "0"]


def test_an_empty_cascade_refuses() -> None:
    with pytest.raises(PolicyError, match="no policy is left to go by"):
        merge(())


def test_a_single_document_stays_as_it_is() -> None:
    only = document("p", "team:t", network__allowlist=["*"])
    assert merge([only]) is only


def test_a_merged_policy_names_all_its_documents_and_no_single_one() -> None:
    named = document("a")._replace(api_version="agent-assembly/v1", name="n", version="1", description="d")
    made = merged(named, document("b", "team:t"), document("c"))
    assert made.source == "a, b, c" and made.entry("scope") is None
    assert (made.api_version, made.name, made.version, made.description) == (None, None, None, None)
    assert merged(named, named._replace(source="b")).api_version == "agent-assembly/v1"


def test_a_key_that_one_document_states_is_taken_over_as_it_is() -> None:
    one, other = document("a", network__allowlist=["*.a.org"]), document("b", network__ports=[443])
    made = merged(one, other)
    assert made.values == {**one.values, **other.values}
    assert (made.tools, made.leases) == (None, None)


# --- lists: what all allow --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "one", "other", "both"),
    [
        ("network.allowlist", ["*.a.org", "b.org"], ["x.a.org", "a.org", "b.org"], ["b.org", "x.a.org"]),
        ("network.allowlist", ["*"], ["b.org:443", "10.0.0.1"], ["10.0.0.1", "b.org:443"]),
        ("network.allowlist", ["a.org:443", "a.org:80"], ["*:443"], ["a.org:443"]),
        ("network.allowlist", ["a.org:443"], ["a.org:80"], []),
        ("network.allowlist", ["*.x.a.org"], ["*.a.org:1", "x.a.org"], ["*.x.a.org:1"]),
        ("network.allowlist", ["A.org", "[2001:DB8::1]:1"], ["a.ORG", "2001:db8:0::1"], ["[2001:db8::1]:1", "a.org"]),
        ("network.allowlist", ["*.org"], ["evilorg", "org", "a.org.evil.net"], []),
        ("network.ports", [80, 443], [443, 8443], ["443"]),
        ("network.bind", [80], [], []),
        ("credentials.environment.allow", ["A", "B"], ["B", "b"], ["B"]),
        ("credentials.capabilities.allow", ["CAP_KILL"], ["CAP_KILL", "CAP_CHOWN"], ["CAP_KILL"]),
        ("capabilities.allow", ["file_read", "mcp_tool:a"], ["mcp_tool:a", "mcp_tool:ab"], ["mcp_tool:a"]),
        ("syscalls.allow", ["@memory", "read"], ["mmap", "@files", "socket"], ["mmap", "read"]),
        ("syscalls.allow", ["@time"], ["@signals"], ["pause"][:0]),
    ],
)
def test_a_list_becomes_what_both_lists_cover(key: str, one: List[Any], other: List[Any], both: List[str]) -> None:
    a, b = document("a", **{key: one}), document("b", **{key: other})
    for made in (merged(a, b), merged(b, a)):
        found = zip(listed(made, key), values(made, key))
        assert sorted({spelled(value) if isinstance(value, Host) else text for text, value in found}) == both


def test_two_lists_with_nothing_in_common_allow_nothing_and_are_still_a_statement() -> None:
    made = merged(document("a", network__allowlist=["a.org"]), document("b", network__allowlist=["b.org"]))
    found = made.listing("network.allowlist")
    assert found is not None and found.entries == () and len(found.origins) == 2


def test_groups_of_calls_are_met_by_the_calls_in_them() -> None:
    made = merged(document("a", syscalls__allow=["@program"]), document("b", syscalls__allow=["@time", "chroot"]))
    alone = document("b", syscalls__allow=["@time"])
    assert {name for value in values(made, "syscalls.allow") for name in value} == set(*values(alone, "syscalls.allow"))


def test_a_list_that_is_empty_anywhere_stays_empty() -> None:
    for key in ("filesystem.read.allow", "network.allowlist", "syscalls.allow", "capabilities.allow"):
        nothing, something = document("a", **{key: []}), document("b", **{key: [ANY[key]]})
        for order in ((nothing, something), (something, nothing), (something, nothing, something)):
            assert listed(merged(*order), key) == []


ANY = {"filesystem.read.allow": "/", "network.allowlist": "*", "syscalls.allow": "@files",
       "capabilities.allow": "file_read"}  # fmt: skip


def test_paths_that_were_not_placed_are_never_compared() -> None:
    raw = [Drawn(name, None, {"filesystem.read.allow": ["/a"]}, None, None).policy() for name in "ab"]
    with pytest.raises(InternalError, match="placed"):
        merge(raw)


# --- denials, numbers, words ------------------------------------------------------------------------------


def test_denials_add_up() -> None:
    outer, inner = document("a", capabilities__deny=["file_write", "model:a"]), document("b", capabilities__deny=[])
    again = document("c", capabilities__deny=["file_write", "terminal_exec"])
    assert listed(merged(outer, inner, again), "capabilities.deny") == ["file_write", "model:a", "terminal_exec"]
    patterns = document("a", data__sensitive_patterns=["x+"]), document("b", data__sensitive_patterns=["y"])
    assert listed(merged(*patterns), "data.sensitive_patterns") == ["x+", "y"]


def test_of_two_numbers_the_smaller_counts() -> None:
    keys = ("resources.max_open_files", "budget.daily_limit_usd", "approval_timeout_secs")
    for first, second in ((7, 30), (30, 7)):
        one, other = document("a", **dict.fromkeys(keys, first)), document("b", **dict.fromkeys(keys, second))
        made = merged(one, other)
        assert [values(made, key) for key in keys] == [(7,)] * 3
        assert all(value.origins[0].startswith("a" if first == 7 else "b") for value in made.values.values())


@pytest.mark.parametrize(
    ("key", "from_mild_to_strict"),
    [
        ("data.credential_action", ("alert_only", "redact_only", "alert_and_redact", "block")),
        ("budget.action_on_exceed", ("deny", "suspend")),
        ("egress.posture", ("not_required", "broker_required")),
    ],
)
def test_of_two_words_the_stricter_counts(key: str, from_mild_to_strict: Tuple[str, ...]) -> None:
    for at, mild in enumerate(from_mild_to_strict):
        for strict in from_mild_to_strict[at:]:
            a, b = document("a", **{key: mild}), document("b", **{key: strict})
            assert values(merged(a, b), key) == values(merged(b, a), key) == (strict,)


def test_hours_hold_one_beside_the_other() -> None:
    early, late = {"start": "08:00", "end": "16:00"}, {"start": "12:00", "end": "20:00", "timezone": "UTC"}
    made = merged(*(document(name, schedule__active_hours=hours) for name, hours in zip("abc", (early, late, early))))
    assert listed(made, "schedule.active_hours") == ["08:00-16:00 UTC", "12:00-20:00 UTC"]
    assert unmapped.statements(made) == ("schedule.active_hours: 08:00-16:00 UTC, 12:00-20:00 UTC",)


def test_the_outermost_document_decides_what_only_one_can() -> None:
    outer = document("a", budget__window="30d", approval__escalation_role="x")
    inner = document("b", budget__window="1d")
    assert values(merged(outer, inner), "budget.window") == ("30d",)
    assert values(merged(inner, outer), "budget.window") == ("1d",)
    assert values(merged(inner, outer), "approval.escalation_role") == ("x",)


# --- tools ------------------------------------------------------------------------------------------------


def test_a_tool_that_a_document_does_not_name_falls_under_its_star() -> None:
    outer = document("a", tools={"*": {"allow": False}, "mail": {"limit_per_hour": 9}})
    inner = document("b", tools={"shell": {"allow": True}, "mail": {"limit_per_hour": 20, "allow": True}})
    for made in (merged(outer, inner), merged(inner, outer)):
        allowed = {name: tools.judge(made, name, {}).allowed for name in ("mail", "shell", "other")}
        assert allowed == {"mail": True, "shell": False, "other": False}
        assert made.tools is not None
        limit = made.tools["mail"]["limit_per_hour"]
        assert isinstance(limit, Entry) and limit.value == 9 and limit.origins[0].startswith("a:")


def test_a_star_of_one_document_holds_for_every_tool_of_the_other() -> None:
    outer = document("a", tools={"*": {"requires_approval_if": "amount > 1", "capabilities": ["ipc"]}})
    inner = document("b", tools={"x": {"requires_approval_if": "amount > 5", "capabilities": ["ipc", "syscall"]}})
    made = merged(outer, inner)
    assert made.tools is not None
    domains = made.tools["x"]["capabilities"]
    assert isinstance(domains, Listing) and domains.texts == ("ipc",)
    assert [tools.judge(made, "x", {"amount": amount}).approval for amount in (1, 2, 6)] == [False, True, True]
    assert len(tools.judge(made, "x", {"amount": 6}).by) == 2
    assert tools.judge(made, "y", {"amount": 2}).approval


def test_one_condition_is_enough_for_approval_whichever_document_states_it() -> None:
    texts = ("amount > 5", 'to == "x"', "amount > 5")
    made = merged(*(document(name, tools={"t": {"requires_approval_if": text}}) for name, text in zip("abc", texts)))
    assert made.tools is not None
    found = made.tools["t"]["requires_approval_if"]
    assert isinstance(found, Listing) and found.texts == texts[:2]
    assert [expression.spelled(entry.value) for entry in found.entries] == list(texts[:2])
    assert [len(entry.origins) for entry in found.entries] == [2, 1]


def test_tools_of_one_document_alone_stay_as_they_are() -> None:
    one = document("a", tools={"x": {"allow": False}})
    assert merged(one, document("b")).tools == merged(document("b"), one).tools == one.tools
    assert merged(one, document("b", tools={})).tools == one.tools


# --- leases -----------------------------------------------------------------------------------------------


def lease(domain: str, **more: Any) -> Any:
    return {"domain": domain, **more}


def test_a_lease_is_given_when_every_document_that_states_leases_gives_it() -> None:
    outer = document("a", leases=[lease("ipc"), lease("syscall", max_count=3), lease("credential", scope=["a"])])
    inner = document("b", leases=[lease("syscall", max_count=9), lease("ipc", scope=["x", "y"], delegable=True)])
    for order in ((outer, inner), (inner, outer), (outer, document("c"), inner)):
        found = {group["domain"].text: group for group in merged(*order).leases or ()}  # type: ignore[union-attr]
        assert set(found) == {"ipc", "syscall"} and set(found["ipc"]) <= set(LEASE_KEYS)
        assert [found[name]["scope"].value for name in ("ipc", "syscall")] == [("x", "y"), None]  # type: ignore[union-attr]
        assert found["syscall"]["max_count"].value == 3  # type: ignore[union-attr]
        assert found["ipc"]["delegable"].value is False  # type: ignore[union-attr]


def test_leases_with_no_selector_in_common_are_none_and_stay_a_statement() -> None:
    one, other = (document(name, leases=[lease("ipc", scope=[name])]) for name in "ab")
    assert merged(one, other).leases == ()
    assert merged(one, other, document("c", leases=[lease("ipc")])).leases == ()
    assert merged(one, document("c", leases=[])).leases == ()
    assert merged(document("c"), document("d")).leases is None


@pytest.mark.parametrize(
    ("domain", "one", "other", "both"),
    [
        ("filesystem_read", ["/b"], ["/b/c", "/bc"], ("/b/c",)),
        ("filesystem_write", ["/b//c/./", "/x"], ["//b/c/d", "/xy"], ("//b/c/d",)),
        ("filesystem_read", ["/"], ["/b", "b", "/b/../c", "${workdir}", "~"], ("/b",)),
        ("filesystem_read", ["/b/../c", "b"], ["b", "/b/../c"], ("/b/../c", "b")),
        ("filesystem_write", ["/b", "/c/d", "/a" * 50_000], ["/b/e", "/c", "/"], ("/b", "/b/e", "/c/d")),
        ("network_egress", ["*.a.org"], ["x.a.org", "a.org", "evila.org"], ("x.a.org",)),
        ("network_egress", ["a.org"], ["*:443"], ("a.org:443",)),
        ("name_resolution", ["*", "no host"], ["A.org", "no host", "https://a.org"], ("A.org", "no host")),
        ("credential", ["/b", "TOKEN", "*"], ["/b/c", "TOKEN", "Token"], ("TOKEN",)),
        ("filesystem_read", "whole", ["c", "/b"], ("/b", "c")),
        ("filesystem_read", "whole", "whole", None),
    ],
)
def test_selectors_are_met_as_what_they_are_in_their_domain(domain: str, one: Any, other: Any, both: Any) -> None:
    a, b = (document(name, leases=[lease(domain, scope=scope)]) for name, scope in (("a", one), ("b", other)))
    begun = time.process_time()
    for order in ((a, b), (b, a), (a, b, a)):
        (scope,) = (group["scope"] for group in merged(*order).leases or ())
        assert isinstance(scope, Entry) and (scope.value, scope.text) == (both, ", ".join(both or ("whole",)))
        assert {origin[0] for origin in scope.origins} == {"a", "b"}
    assert time.process_time() - begun < 1  # what is too long for a path is not taken apart


# --- documents that may only narrow -----------------------------------------------------------------------

GIVES = {
    "ipc.unix.allow": "/run/x",
    "credentials.environment.allow": "TOKEN",
    "credentials.capabilities.allow": "CAP_KILL",
}


@pytest.mark.parametrize("key", GIVES)
def test_what_only_a_narrowing_document_would_give_is_not_given(key: str) -> None:
    own, silent = document("own", **{key: [GIVES[key]]}), document("silent", network__allowlist=[])
    for order, marks in (((own, silent), (True, False)), ((silent, own), (False, True))):
        assert listed(merged(*order), key) == [GIVES[key]]
        made = merged(*order, narrowing=marks)
        # the list stays, empty: what it left out is refused as before
        found = made.listing(key)
        assert found is not None and found.entries == () and found.origins == own.values[key].origins
        assert made.names("network.allowlist") == ()


@pytest.mark.parametrize("key", GIVES)
def test_a_narrowing_document_narrows_what_another_gives_in_whatever_order(key: str) -> None:
    more = {**GIVES, "ipc.unix.allow": "/run/y", "credentials.environment.allow": "B"}
    more["credentials.capabilities.allow"] = "CAP_CHOWN"
    own, full = document("own", **{key: [GIVES[key]]}), document("full", **{key: [GIVES[key], more[key]]})
    silent = document("silent")
    for order in ((own, full), (full, own), (silent, own, full), (own, silent, full), (full, silent, own)):
        assert listed(merged(*order, narrowing=[item is own for item in order]), key) == [GIVES[key]]


def test_a_narrowing_document_gives_no_lease_and_narrows_those_that_others_give() -> None:
    own = document("own", leases=[lease("ipc", max_count=1), lease("syscall")])
    silent, other = document("silent"), document("other", leases=[lease("ipc", max_count=5), lease("credential")])
    assert merged(own, silent, narrowing=[True, False]).leases == ()
    assert merged(silent, own, narrowing=[False, True]).leases == ()
    assert merged(silent, document("d"), narrowing=[False, True]).leases is None
    for order in ((own, other), (other, own), (own, silent, other), (other, silent, own)):
        (found,) = merged(*order, narrowing=[item is own for item in order]).leases or ()
        assert (found["domain"].text, found["max_count"].value) == ("ipc", 1)  # type: ignore[union-attr]


def test_everything_else_a_narrowing_document_says_counts_as_ever() -> None:
    sections = {"network__allowlist": ["a.org"], "capabilities__deny": ["file_write"], "resources__max_open_files": 9,
                "filesystem__read__allow": ["/usr"], "syscalls__allow": ["read"]}  # fmt: skip
    own, other = document("own", **sections), document("other", network__allowlist=["*"], resources__max_open_files=20)
    for order in ((own, other), (other, own)):
        made = merged(*order, narrowing=[item is own for item in order])
        assert made.values == merged(*order).values


# --- origins ----------------------------------------------------------------------------------------------


def test_every_entry_remembers_the_line_of_each_document_that_allows_it() -> None:
    outer, middle, inner = (document(name, filesystem__read__allow=paths) for name, paths in
                            (("a", ["/q", "/w"]), ("b", ["/w/x", "/v"]), ("c", ["/"])))  # fmt: skip
    (entry,) = merged(outer, middle, inner).values["filesystem.read.allow"].entries  # type: ignore[union-attr]
    assert entry.text == "/w/x"
    assert entry.origins == ("b:5:5", "a:6:5", "c:5:5")
    assert entry.where == "b:5:5 and a:6:5 and c:5:5"


def test_a_value_that_several_state_alike_comes_from_all_of_them_and_a_stricter_one_from_its_own() -> None:
    documents = [document(name, resources__max_open_files=number) for name, number in zip("abcd", (9, 7, 8, 7))]
    found = merged(*documents).values["resources.max_open_files"]
    assert found.origins == ("b:3:21", "d:3:21")


# --- size -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "one", "other", "left"),
    [
        ("filesystem.read.allow", ["/w"] * 3000, ["/w"] * 3000, 1),
        ("network.allowlist", [f"a.org:{n}" for n in range(1, 3001)], [f"a.org:{n}" for n in range(3001, 6001)], 0),
        ("network.allowlist", ["a.org"] * 3000, ["a.org"] * 3000, 1),
        ("network.ports", [1] * 3000, [1] * 3000, 1),
        ("credentials.environment.allow", ["A"] * 3000, ["A"] * 3000, 1),
    ],
)
def test_entries_that_are_stated_again_and_again_cost_no_more_than_others(
    key: str, one: List[Any], other: List[Any], left: int
) -> None:
    a, b = document("a", **{key: one}), document("b", **{key: other})
    begun = time.process_time()
    assert len(set(listed(merged(a, b), key))) == left
    assert time.process_time() - begun < 2


def test_lists_whose_common_entries_are_too_many_are_refused_at_their_places() -> None:
    count = 330
    hosts, ports = [f"h{n}.org" for n in range(count)], [f"*:{n}" for n in range(1, count + 1)]
    assert count * count > MOST
    with pytest.raises(PolicyError, match=f"more than {MOST} entries in common") as caught:
        merged(document("a", network__allowlist=hosts), document("b", network__allowlist=ports))
    assert caught.value.where == "a:3:16 and b:3:16"


def test_a_narrowing_document_chooses_for_nobody_and_nothing_is_milder_than_silence() -> None:
    milder = {"data__credential_action": "alert_only", "approval_timeout_secs": 900}
    own, silent = document("own", approval__escalation_role="mallory", **milder), document("b")
    assert merged(own, silent, narrowing=[True, False]).values == {}
    assert merged(silent, own, narrowing=[False, True]).values == {}
    assert set(merged(own, silent).values) == {"approval.escalation_role"}
