# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Documents to policies. Refusals at their place are in tests/golden/policy/invalid."""

from __future__ import annotations

import json
import warnings
from typing import Any, Dict, List, Tuple

import pytest

from aasm.errors import PolicyError, UsageError
from aasm.model.domains import DOMAINS
from aasm.policy import expression
from aasm.policy.document import examine, inline, validate
from aasm.policy.places import PathValue
from aasm.policy.reader import read_document
from aasm.policy.schema import SECTIONS
from aasm.policy.unmapped import statements
from aasm.policy.values import Entry, Listing, Policy
from aasm.policy.vocabulary import CAPABILITIES, SYSCALLS

ENVELOPE = {"apiVersion": "agent-assembly/v1", "kind": "Policy"}


def policy(spec: Dict[str, Any], **top: Any) -> Policy:
    """Validate `spec` in both forms, which must agree, and return the policy of the envelope."""
    flat = validate(read_document(json.dumps(spec).encode(), "p"))
    full = validate(read_document(json.dumps({**ENVELOPE, **top, "spec": spec}).encode(), "p"))
    if not top:
        assert without_places(flat._replace(api_version="agent-assembly/v1")) == without_places(full)
    return full


def without_places(found: Policy) -> Any:
    """The policy with the places of its values taken out."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            known = {name: getattr(value, name) for name in value._fields if name != "origins"}
            return {name: plain(item) for name, item in known.items()}
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, tuple) else value

    return plain(found)


def listing(found: Policy, key: str) -> Listing:
    """The list at a key that must be stated."""
    listed = found.listing(key)
    assert listed is not None, key
    return listed


def refusal(spec: Any) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        validate(read_document(json.dumps(spec).encode(), "p"))
    return caught.value


def test_an_empty_spec_states_nothing() -> None:
    assert policy({}) == Policy("p", "agent-assembly/v1")
    assert validate(read_document(b"{}", "p")) == Policy("p")


def test_metadata_and_scope() -> None:
    about = {"name": "n", "version": "1.0", "description": "two\nlines"}
    found = policy({"scope": "team:a"}, metadata=about)
    assert (found.name, found.version, found.description) == ("n", "1.0", "two\nlines")
    assert found.entry("scope") == Entry("team:a", "team:a", found.values["scope"].origins)
    assert policy({}, metadata={}).name is None


@pytest.mark.parametrize(
    "scope", ["global", "org:a", "team:b-c", "agent:123e4567-e89b-42d3-a456-426614174000", "tool:x:y"]
)
def test_scopes(scope: str) -> None:
    found = policy({"scope": scope}).entry("scope")
    assert found is not None and found.text == found.value == scope


@pytest.mark.parametrize("scope", ["", "Global", "org", "org:", "team: a", "user:x", "org:a b", "agent:a\n", " global"])
def test_what_is_no_scope(scope: str) -> None:
    assert "is not a scope" in refusal({"scope": scope}).what


@pytest.mark.parametrize("verb", ["read", "write", "execute"])
def test_an_absent_list_and_an_empty_one_never_collapse(verb: str) -> None:
    def of(section: Any) -> Any:
        return policy({"filesystem": section}).names(f"filesystem.{verb}.allow")

    assert of({}) is None
    assert of({verb: {}}) is None
    assert of({verb: {"allow": []}}) == ()
    assert of({verb: {"allow": ["/a", "/a", "/a/b"]}}) == ("/a", "/a", "/a/b")


def test_the_verbs_are_apart() -> None:
    found = policy({"filesystem": {"read": {"allow": ["${system}", "/r"]}, "write": {"allow": ["${home}/w"]}}})
    assert found.names("filesystem.read.allow") == ("${system}", "/r")
    assert found.names("filesystem.write.allow") == ("${home}/w",)
    assert found.names("filesystem.execute.allow") is None
    assert [entry.value for entry in listing(found, "filesystem.read.allow").entries] == [
        PathValue("system", ""),
        PathValue(None, "/r"),
    ]


def test_an_entry_may_be_a_map_that_says_whether_the_path_must_exist() -> None:
    stated: List[Any] = ["/a", {"path": "/b"}, {"path": "/c", "optional": True}, {"path": "/d", "optional": False}]
    entries = listing(policy({"filesystem": {"read": {"allow": stated}}}), "filesystem.read.allow").entries
    assert [(entry.text, entry.optional) for entry in entries] == [
        ("/a", False), ("/b", False), ("/c", True), ("/d", False),
    ]  # fmt: skip
    for wrong, what in (
        ({"optional": True}, "has no path"),
        ({"path": "/a", "optional": "yes"}, "must be true or false"),
        ({"path": "a"}, "is relative"),
        ({"path": "/a", "maybe": True}, 'unknown key "maybe"'),
    ):
        assert what in refusal({"filesystem": {"read": {"allow": [wrong]}}}).what


def test_network() -> None:
    assert policy({"network": {}}).names("network.allowlist") is None
    assert policy({"network": {"allowlist": []}}).names("network.allowlist") == ()
    found = policy({"network": {"allowlist": ["*.A.com", "10.0.0.1", "b.org:443"]}})
    hosts = [(entry.value.host, entry.value.port) for entry in listing(found, "network.allowlist").entries]
    assert hosts == [("a.com", None), ("10.0.0.1", None), ("b.org", 443)]


def test_capabilities() -> None:
    every = [*CAPABILITIES, "mcp_tool:x", "model:y", "model:NAME"]
    found = policy({"capabilities": {"allow": every, "deny": []}})
    assert (found.names("capabilities.allow"), found.names("capabilities.deny")) == (tuple(every), ())
    assert policy({"capabilities": {"deny": every}}).names("capabilities.allow") is None


def test_syscalls() -> None:
    assert len(SYSCALLS) == 15
    assert policy({"syscalls": {}}).names("syscalls.allow") is None
    assert policy({"syscalls": {"allow": []}}).names("syscalls.allow") == ()
    found = policy({"syscalls": {"allow": list(SYSCALLS)}})
    assert found.names("syscalls.allow") == SYSCALLS
    assert [entry.value for entry in listing(found, "syscalls.allow").entries] == [(name,) for name in SYSCALLS]


def test_calls_that_no_boundary_lets_through_cannot_be_allowed() -> None:
    """Any other call of the kernel may be named, or a group of them."""
    document = read_document(b"syscalls: {allow: [read, mkdir, '@time']}", "p.yaml")
    assert validate(document, {"ptrace"}).names("syscalls.allow") == ("read", "mkdir", "@time")
    for refused in ("mkdir", "clock_gettime"):
        with pytest.raises(PolicyError, match=f'"{refused}" is refused in every boundary'):
            validate(document, {refused})


def test_tools() -> None:
    domains = [domain.value for domain in DOMAINS]
    stated = {
        "*": {},
        "a": {"allow": False},
        "b": {"limit_per_hour": 3, "requires_approval_if": 'path starts_with "/etc"', "capabilities": domains},
    }
    found = policy({"tools": stated}).tools or {}
    assert {name: {key: _value(value) for key, value in group.items()} for name, group in found.items()} == {
        "*": {},
        "a": {"allow": False},
        "b": {
            "limit_per_hour": 3,
            "requires_approval_if": expression.parse('path starts_with "/etc"'),
            "capabilities": domains,
        },
    }
    assert policy({"tools": {}}).tools == {}
    assert policy({}).tools is None


def _value(stated: Any) -> Any:
    return [entry.value for entry in stated.entries] if isinstance(stated, Listing) else stated.value


def test_what_a_launch_cannot_act_on_is_listed() -> None:
    spec = {
        "capabilities": {
            "deny": ["file_read", "file_delete", "network_inbound", "mcp_tool:x", "model:y", "terminal_exec"]
        },
        "tools": {
            "*": {"allow": True},
            "sh": {"allow": False},
            "x y": {"limit_per_hour": 1, "requires_approval_if": "a == 1", "capabilities": []},
        },
    }
    assert statements(policy(spec)) == (
        "capabilities.deny: file_delete",
        "capabilities.deny: network_inbound",
        "capabilities.deny: mcp_tool:x",
        "capabilities.deny: model:y",
        'tools."sh".allow: false',
        'tools."x y".limit_per_hour: 1',
        'tools."x y".requires_approval_if: a == 1',
        'tools."x y".capabilities: ',
    )


def test_an_allow_list_denies_what_it_leaves_out_and_that_is_listed_too() -> None:
    assert statements(policy({"capabilities": {"allow": []}})) == (
        "capabilities.allow without file_delete",
        "capabilities.allow without network_inbound",
        "capabilities.allow without mcp_tool",
        "capabilities.allow without model",
    )
    every = ["file_delete", "network_inbound", "mcp_tool:x", "model:y"]
    named = ("capabilities.allow: mcp_tool:x", "capabilities.allow: model:y")  # which forbid all others of their kind
    assert statements(policy({"capabilities": {"allow": every}})) == named


# A statement of each section that no launch acts on, how it is read, and how it is reported.
GOVERNING: Dict[str, Tuple[Any, str, str]] = {
    "schedule": (
        {"active_hours": {"start": "09:00", "end": "17:30", "timezone": "UTC"}},
        "09:00-17:30 UTC",
        "schedule.active_hours: 09:00-17:30 UTC",
    ),
    "budget": ({"daily_limit_usd": 20.0}, "20.0", "budget.daily_limit_usd: 20.0"),
    "data": ({"credential_action": "block"}, "block", "data.credential_action: block"),
    "approval": ({"timeout_seconds": 60}, "60", "approval.timeout_seconds: 60"),
    "approval_timeout_secs": (30, "30", "approval_timeout_secs: 30"),
    "egress": ({"posture": "not_required"}, "not_required", "egress.posture: not_required"),
}


@pytest.mark.parametrize("key", GOVERNING)
def test_what_speaks_to_a_governing_runtime_is_read_and_reported_as_acted_on_by_nothing(key: str) -> None:
    stated, text, reported = GOVERNING[key]
    found = policy({key: stated})
    ((dotted, value),) = found.section(key)
    assert isinstance(value, Entry) and value.text == text
    assert statements(found) == (reported,) and reported.startswith(f"{dotted}: ")


def test_leases_are_read_and_reported_as_acted_on_by_nothing() -> None:
    leases = [{"domain": "ipc", "scope": "whole", "ttl_seconds": 5}, {"domain": "syscall", "scope": ["a"]}]
    found = policy({"authority": {"leases": leases}})
    assert [[(key, _value(value)) for key, value in group.items()] for group in found.leases or ()] == [
        [("domain", "ipc"), ("scope", None), ("ttl_seconds", 5)],
        [("domain", "syscall"), ("scope", ("a",))],
    ]
    assert statements(found) == ("authority.leases: ipc", "authority.leases: syscall")


@pytest.mark.parametrize("key", [key for key in SECTIONS if key not in ("scope", "approval_timeout_secs")])
def test_no_section_is_passed_over_and_none_takes_what_it_does_not_know(key: str) -> None:
    documents: List[Any] = [{key: {"no_such": 1}}, {**ENVELOPE, "spec": {key: {"no_such": 1}}}]
    for document in documents:
        error = refusal(document)
        assert "no_such" in error.what and key in error.what and error.remedy
    assert refusal({key: None}).what == f"{key} must be a map, and is null (no value)"


@pytest.mark.parametrize("value", [None, 0, -1, 1.5, "30", True, {}])
def test_a_timeout_that_is_no_count(value: Any) -> None:
    assert refusal({"approval_timeout_secs": value}).what.startswith("approval_timeout_secs ")


def test_every_fault_is_told_in_the_order_of_the_document_and_one_of_them_is_raised() -> None:
    text = b"filesystem: {red: 1, read: {allow: [a, /b]}}\nnetwork: []\ntools: {a: {limit_per_hour: 0}}\nx: 1\n"
    found, faults = examine(read_document(text, "p.yaml"))
    assert [fault.where for fault in faults] == [
        "p.yaml:1:14", "p.yaml:1:37", "p.yaml:2:10", "p.yaml:3:29", "p.yaml:4:1",
    ]  # fmt: skip
    assert found.names("filesystem.read.allow") == ("/b",)
    with pytest.raises(PolicyError) as caught:
        validate(read_document(text, "p.yaml"))
    assert str(caught.value) in map(str, faults)


@pytest.mark.parametrize("key", ["scope", "network", "filesystem", "tools", "budget"])
def test_the_two_forms_do_not_mix(key: str) -> None:
    documents: List[Any] = [{**ENVELOPE, "spec": {}, key: {}}, {"metadata": {}, key: {}}]
    for document in documents:
        error = refusal(document)
        assert "beside" in error.what and "into spec" in error.remedy


@pytest.mark.parametrize("document", [{"rules": []}, {**ENVELOPE, "rules": []}, {**ENVELOPE, "spec": {"rules": []}}])
def test_rules_have_a_message_of_their_own(document: Any) -> None:
    assert refusal(document).what == "rules is not a key of this format"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "null"),
        ("/usr", 'the text "/usr"'),
        (1, "the number 1"),
        (1.5, "the number 1.5"),
        (True, "true"),
        ({}, "a map"),
    ],
)
def test_what_is_no_list(value: Any, what: str) -> None:
    error = refusal({"filesystem": {"read": {"allow": value}}})
    assert error.what.startswith(f"filesystem.read.allow must be a list, and is {what}")
    assert error.remedy == "write [] for nothing at all, or leave the key out"


@pytest.mark.parametrize("value", [None, [], "x", 0, False])
@pytest.mark.parametrize("key", ["filesystem", "network", "capabilities", "syscalls", "tools"])
def test_a_section_that_is_no_map(key: str, value: Any) -> None:
    assert refusal({key: value}).what.startswith(f"{key} must be a map, and is ")


@pytest.mark.parametrize("value", [None, 1, 1.0, True, [], {}, "", "  "])
def test_metadata_that_is_no_text(value: Any) -> None:
    error = refusal({**ENVELOPE, "metadata": {"version": value}, "spec": {}})
    assert error.what.startswith("metadata.version ")


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None])
def test_a_limit_that_is_no_count(value: Any) -> None:
    assert refusal({"tools": {"a": {"limit_per_hour": value}}}).what.startswith("tools.a.limit_per_hour ")


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    error = refusal({"filesystem": {"red": {}}})
    assert error.remedy == "did you mean read? known are read, write, execute"
    assert refusal({"x" * 500: 1}).remedy.startswith("known are scope, ")
    assert len(str(refusal({"x" * 100_000: 1}))) < 300


def test_a_policy_on_the_command_line() -> None:
    found = inline(["/r"], ["/w"], True)
    assert found.source == "command line"
    assert [(entry.text, entry.where) for entry in listing(found, "filesystem.read.allow").entries] == [
        ("/r", "--read"),
        ("/w", "--write"),
        ("${system}", "--system"),
    ]
    assert found.names("filesystem.write.allow") == ("/w",)
    assert set(found.values) == {"filesystem.read.allow", "filesystem.write.allow"}
    assert found._replace(values={}) == Policy("command line")


def test_a_policy_on_the_command_line_states_both_verbs() -> None:
    for found in (inline([], [], True), inline(["/r"], [], False)):
        assert found.names("filesystem.read.allow") and found.names("filesystem.write.allow") == ()


def test_a_policy_on_the_command_line_is_checked() -> None:
    with pytest.raises(UsageError, match="^--read: a NUL in the path"):
        inline(["/a\0"], [], False)
    with pytest.raises(UsageError, match="^--write: the path"):
        inline([], ["a"], False)


@pytest.mark.parametrize("text", ["(", "[a-", "x(?i)y", "[[a]", "[a--b]", "a{5}{6}", "x" * 5000])
def test_what_is_no_pattern_to_every_python_is_none_and_nothing_is_printed(text: str) -> None:
    """Whatever some Python only warns of is refused by all of them; a warning would be a line that nobody expects."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as if the interpreter had been told to say nothing
        assert "pattern" in (what := refusal({"data": {"sensitive_patterns": [text]}}).what) or "expression" in what
    assert listing(policy({"data": {"sensitive_patterns": ["(?i)x"]}}), "data.sensitive_patterns").entries


@pytest.mark.parametrize(("count", "told"), [(999, 999), (1000, 1001), (2000, 1001)])
def test_a_document_of_faults_alone_is_not_looked_through_to_its_end_and_that_is_said(count: int, told: int) -> None:
    _, faults = examine(read_document(json.dumps({"syscalls": {"allow": ["x"] * count}}).encode(), "p"))
    assert len(faults) == told
    assert faults[998].where == "p:1:%d" % (len('{"syscalls": {"allow": [') + 998 * len('"x", ') + 1)
    last = "p: the first 1000 faults that were found are told, and no more were looked for; mend those and look again"
    assert (str(faults[-1]) == last) is (told == 1001)
