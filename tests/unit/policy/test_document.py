# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Documents to policies. Refusals at their place are in tests/golden/policy/invalid."""

from __future__ import annotations

import json
from typing import Any, Dict, List

import pytest

from aasm.errors import PolicyError, UsageError
from aasm.model.domains import DOMAINS
from aasm.policy.document import Policy, inline, validate
from aasm.policy.reader import read_document
from aasm.policy.sections import ToolRule
from aasm.policy.vocabulary import CAPABILITIES, LATER_KEYS, SYSCALLS

ENVELOPE = {"apiVersion": "agent-assembly/v1", "kind": "Policy"}


def policy(spec: Dict[str, Any], **top: Any) -> Policy:
    """Validate `spec` in both forms, which must agree, and return the policy of the envelope."""
    flat = validate(read_document(json.dumps(spec).encode(), "p"))
    full = validate(read_document(json.dumps({**ENVELOPE, **top, "spec": spec}).encode(), "p"))
    if not top:
        assert without_places(flat._replace(api_version="agent-assembly/v1")) == without_places(full)
    return full


def without_places(found: Policy) -> Any:
    """The policy with the columns of its entries taken out."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            known = {name: getattr(value, name) for name in value._fields if name not in ("line", "column")}
            return {name: plain(item) for name, item in known.items()}
        return [plain(item) for item in value] if isinstance(value, tuple) else value

    return plain(found)


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
    assert (found.name, found.version, found.description, found.scope) == ("n", "1.0", "two\nlines", "team:a")
    assert policy({}, metadata={}).name is None


@pytest.mark.parametrize(
    "scope", ["global", "org:a", "team:b-c", "agent:123e4567-e89b-42d3-a456-426614174000", "tool:x:y"]
)
def test_scopes(scope: str) -> None:
    assert policy({"scope": scope}).scope == scope


@pytest.mark.parametrize("scope", ["", "Global", "org", "org:", "team: a", "user:x", "org:a b", "agent:a\n", " global"])
def test_what_is_no_scope(scope: str) -> None:
    assert "is not a scope" in refusal({"scope": scope}).what


@pytest.mark.parametrize("verb", ["read", "write"])
def test_an_absent_list_and_an_empty_one_never_collapse(verb: str) -> None:
    def of(section: Any) -> Any:
        return getattr(policy({"filesystem": section}), f"filesystem_{verb}")

    assert of({}) is None
    assert of({verb: {}}) is None
    assert of({verb: {"allow": []}}) == ()
    assert [entry.text for entry in of({verb: {"allow": ["/a", "/a", "/a/b"]}})] == ["/a", "/a", "/a/b"]


def test_the_verbs_are_apart() -> None:
    found = policy({"filesystem": {"read": {"allow": ["${system}", "/r"]}, "write": {"allow": ["${home}/w"]}}})
    assert [entry.text for entry in found.filesystem_read or ()] == ["${system}", "/r"]
    assert [entry.text for entry in found.filesystem_write or ()] == ["${home}/w"]


def test_network() -> None:
    assert policy({"network": {}}).network_allowlist is None
    assert policy({"network": {"allowlist": []}}).network_allowlist == ()
    found = policy({"network": {"allowlist": ["*.A.com", "10.0.0.1"]}}).network_allowlist
    assert [entry.host for entry in found or ()] == ["a.com", "10.0.0.1"]


def test_capabilities() -> None:
    every = [*CAPABILITIES, "mcp_tool:x", "model:y", "model:NAME"]
    found = policy({"capabilities": {"allow": every, "deny": []}})
    assert (found.capabilities_allow, found.capabilities_deny) == (tuple(every), ())
    assert policy({"capabilities": {"deny": every}}).capabilities_allow is None


def test_syscalls() -> None:
    assert len(SYSCALLS) == 15
    assert policy({"syscalls": {}}).syscalls_allow is None
    assert policy({"syscalls": {"allow": []}}).syscalls_allow == ()
    assert policy({"syscalls": {"allow": list(SYSCALLS)}}).syscalls_allow == SYSCALLS


def test_tools() -> None:
    domains = [domain.value for domain in DOMAINS]
    stated = {
        "*": {},
        "a": {"allow": False},
        "b": {"limit_per_hour": 3, "requires_approval_if": 'path starts_with "/etc"', "capabilities": domains},
    }
    assert policy({"tools": stated}).tools == (
        ToolRule("*", True),
        ToolRule("a", False),
        ToolRule("b", True, 3, 'path starts_with "/etc"', tuple(domains)),
    )
    assert policy({"tools": {}}).tools == ()


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
    assert policy(spec).statements_unmapped == (
        "capabilities.deny: file_delete",
        "capabilities.deny: network_inbound",
        "capabilities.deny: mcp_tool:x",
        "capabilities.deny: model:y",
        'tools."sh".allow: false',
        'tools."x y".limit_per_hour',
        'tools."x y".requires_approval_if',
        'tools."x y".capabilities',
    )


def test_an_allow_list_denies_what_it_leaves_out_and_that_is_listed_too() -> None:
    assert policy({"capabilities": {"allow": []}}).statements_unmapped == (
        "capabilities.allow without file_delete",
        "capabilities.allow without network_inbound",
        "capabilities.allow without mcp_tool",
        "capabilities.allow without model",
    )
    every = ["file_delete", "network_inbound", "mcp_tool:x", "model:y"]
    assert policy({"capabilities": {"allow": every}}).statements_unmapped == ()


@pytest.mark.parametrize("key", LATER_KEYS)
def test_sections_of_a_later_release_are_refused_by_name_in_both_forms(key: str) -> None:
    documents: List[Any] = [{key: {}}, {**ENVELOPE, "spec": {key: None}}]
    for document in documents:
        error = refusal(document)
        assert error.what == f"this release does not read {key} yet"
        assert error.remedy.startswith("take it out")


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
    assert error.remedy == "did you mean read? known are read, write"
    assert refusal({"x" * 500: 1}).remedy.startswith("known are scope, ")
    assert len(str(refusal({"x" * 100_000: 1}))) < 300


def test_a_policy_on_the_command_line() -> None:
    found = inline(["/r"], ["/w"], True)
    assert found.source == "command line"
    assert [(entry.text, entry.where) for entry in found.filesystem_read or ()] == [
        ("/r", "--read"),
        ("/w", "--write"),
        ("${system}", "--system"),
    ]
    assert [entry.text for entry in found.filesystem_write or ()] == ["/w"]
    assert found._replace(filesystem_read=None, filesystem_write=None) == Policy("command line")


def test_a_policy_on_the_command_line_states_both_verbs() -> None:
    for found in (inline([], [], True), inline(["/r"], [], False)):
        assert found.filesystem_read and found.filesystem_write == ()


def test_a_policy_on_the_command_line_is_checked() -> None:
    with pytest.raises(UsageError, match="^--read: a NUL in the path"):
        inline(["/a\0"], [], False)
    with pytest.raises(UsageError, match="^--write: the path"):
        inline([], ["a"], False)
