# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy says about one call of one tool: the rule of its name or of `*`, and approval when in doubt."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Tuple

import pytest

from aasm.policy import cascade
from aasm.policy.document import validate
from aasm.policy.reader import read_document
from aasm.policy.tools import ToolAnswer, judge
from aasm.policy.values import Policy


def stating(tools: Any, name: str = "p", scope: str = "global") -> Policy:
    return validate(read_document(json.dumps({"scope": scope, "tools": tools}).encode(), name))


def answer(tools: Any, name: str, **arguments: Any) -> Tuple[bool, bool, int]:
    found = judge(stating(tools), name, arguments)
    return found.allowed, found.approval, len(found.by)


SILENT = (True, False, 0)
DENIED = (False, False, 1)
APPROVAL = (True, True, 1)
OVER = {"requires_approval_if": "amount > 100"}

CASES: Dict[str, Tuple[Any, str, Mapping[str, Any], Tuple[bool, bool, int]]] = {
    "no tools": ({}, "mail", {}, SILENT),
    "allowed": ({"mail": {"allow": True}}, "mail", {}, SILENT),
    "denied": ({"mail": {"allow": False}}, "mail", {}, DENIED),
    "another is denied": ({"mail": {"allow": False}}, "mailer", {}, SILENT),
    "the others are denied": ({"*": {"allow": False}}, "mail", {}, DENIED),
    "all but one are denied": ({"*": {"allow": False}, "mail": {"allow": True}}, "mail", {}, SILENT),
    "a named tool takes nothing of the others": ({"*": {"allow": False}, "mail": {}}, "mail", {}, SILENT),
    "a condition of the others": ({"*": OVER}, "mail", {"amount": 101}, APPROVAL),
    "no condition of the others": ({"*": OVER, "mail": {}}, "mail", {"amount": 101}, SILENT),
    "over": ({"mail": OVER}, "mail", {"amount": 100.5}, APPROVAL),
    "not over": ({"mail": OVER}, "mail", {"amount": 100}, SILENT),
    "missing": ({"mail": OVER}, "mail", {}, APPROVAL),
    "of another kind": ({"mail": OVER}, "mail", {"amount": "1"}, APPROVAL),
    "a truth is no number": ({"mail": OVER}, "mail", {"amount": True}, APPROVAL),
    "nobody is asked about what is denied": ({"mail": {"allow": False, **OVER}}, "mail", {"amount": 101}, DENIED),
    "a limit is said": ({"mail": {"limit_per_hour": 1, "capabilities": []}}, "mail", {}, (True, False, 1)),
    "a tool called so": ({"*": {"allow": False}}, "*", {}, DENIED),
}


@pytest.mark.parametrize("case", CASES)
def test_a_call_is_allowed_denied_or_asked_about(case: str) -> None:
    tools, name, arguments, expected = CASES[case]
    assert answer(tools, name, **arguments) == expected


def test_a_policy_without_the_section_says_nothing() -> None:
    assert judge(Policy("p"), "mail", {}) == ToolAnswer(True, False, ())


class Broken(Dict[str, Any]):
    """Arguments that cannot be looked at."""

    def __contains__(self, key: object) -> bool:
        raise RuntimeError("broken")


def test_whatever_goes_wrong_with_the_arguments_asks_for_approval() -> None:
    assert judge(stating({"mail": OVER}), "mail", Broken()).approval


def test_an_answer_names_the_statement_and_its_place() -> None:
    found = judge(stating({"mail": OVER}), "mail", {"amount": 101}).by
    assert len(found) == 1 and "mail" in found[0] and ".requires_approval_if: amount > 100 at p:1:" in found[0]
    (denial,) = judge(stating({"*": {"allow": False}}), "mail", {}).by
    assert denial.startswith('tools."*".allow: false at p:1:')


def test_a_name_stands_in_quotes_as_in_every_other_statement() -> None:
    """A name may hold anything, also what would read like the rest of the statement."""
    for name in ("mail", "a.allow: true at p:1:1"):
        (denial,) = judge(stating({name: {"allow": False}}), name, {}).by
        assert denial.startswith(f'tools."{name}".allow: false at p:1:')


def test_every_tier_of_a_cascade_is_asked() -> None:
    """Either condition asks for approval, each with its own place, and a denial of either tier denies."""
    outer = stating({"mail": OVER}, "org", "org:o")
    inner = stating({"mail": {"requires_approval_if": 'to == "all"'}}, "team", "team:t")
    merged = cascade.merge(cascade.ordered([inner, outer]))
    for arguments, places in (
        ({"amount": 101, "to": "all"}, ["org", "team"]), ({"amount": 101, "to": "x"}, ["org"]),
        ({"amount": 1, "to": "all"}, ["team"]), ({"amount": 1, "to": "x"}, []), ({}, ["org", "team"]),
    ):  # fmt: skip
        found = judge(merged, "mail", arguments)
        assert found.approval is bool(places) and found.allowed
        assert [text.rpartition(" at ")[2].split(":")[0] for text in found.by] == places
    denying = stating({"mail": {"allow": False}}, "agent", "agent:a")
    assert not judge(cascade.merge(cascade.ordered([outer, denying])), "mail", {}).allowed


def test_what_an_outer_tier_says_of_all_tools_holds_for_one_that_an_inner_tier_names() -> None:
    outer = stating({"*": {"allow": False}}, "org", "org:o")
    inner = stating({"mail": {"allow": True}}, "team", "team:t")
    merged = cascade.merge(cascade.ordered([outer, inner]))
    assert not judge(merged, "mail", {}).allowed and not judge(merged, "other", {}).allowed


def with_capabilities(tools: Any, **capabilities: Any) -> Policy:
    stated = {"tools": tools, "capabilities": capabilities}
    return validate(read_document(json.dumps(stated).encode(), "p"))


def test_a_capability_that_denies_the_tool_outranks_what_is_said_of_it() -> None:
    policy = with_capabilities({"mail": {"allow": True}}, deny=["mcp_tool:mail", "file_delete"])
    (denial,) = judge(policy, "mail", {}).by
    assert not judge(policy, "mail", {}).allowed and denial.startswith("capabilities.deny: mcp_tool:mail at p:1:")
    assert judge(policy, "mailer", {}) == ToolAnswer(True, False, ())


def test_an_allow_list_of_capabilities_leaves_a_tool_that_it_does_not_name_to_nobody() -> None:
    policy = with_capabilities({"mail": {"allow": True}}, allow=["file_read", "mcp_tool:search"])
    (denial,) = judge(policy, "mail", {}).by
    assert not judge(policy, "mail", {}).allowed
    assert denial.startswith("capabilities.allow without mcp_tool:mail at p:1:")
    assert judge(policy, "search", {}).allowed


def test_every_statement_that_denies_is_named() -> None:
    policy = with_capabilities({"mail": {"allow": False}}, deny=["mcp_tool:mail"], allow=["file_read"])
    assert [text.split(" ")[0] for text in judge(policy, "mail", {}).by] == [
        "capabilities.deny:", "capabilities.allow", 'tools."mail".allow:',
    ]  # fmt: skip


@pytest.mark.parametrize(
    "condition, arguments, unclear",
    [
        ("amount > 100", {"amount": 101}, False),
        ("amount > 100", {}, True),
        ("amount > 100", {"amount": "101"}, True),
        ('to contains "x" OR amount > 1', {"to": "ax"}, True),
        ('to contains "x"', {"to": ["x"]}, False),
        ('to starts_with "x" AND to in ["x", "y"]', {"to": "x"}, False),
        ("a.b == true", {"a": {"b": True}}, False),
        ("a.b == true", {"a": 1}, True),
    ],
)
def test_a_condition_that_holds_is_told_from_one_that_cannot_be_evaluated(
    condition: str, arguments: Mapping[str, Any], unclear: bool
) -> None:
    found = judge(stating({"mail": {"requires_approval_if": condition}}), "mail", arguments)
    assert (found.approval, found.unclear) == (True, unclear)


def test_one_condition_that_holds_is_enough() -> None:
    outer = stating({"mail": OVER}, "org", "org:o")
    inner = stating({"mail": {"requires_approval_if": 'to == "all"'}}, "team", "team:t")
    merged = cascade.merge(cascade.ordered([inner, outer]))
    assert judge(merged, "mail", {"amount": 101}).unclear is False and judge(merged, "mail", {}).unclear


def test_an_hourly_limit_is_named_where_the_call_is_allowed() -> None:
    (limit,) = judge(stating({"mail": {"limit_per_hour": 5}}), "mail", {}).by
    assert limit.startswith('tools."mail".limit_per_hour: 5 at p:1:')
