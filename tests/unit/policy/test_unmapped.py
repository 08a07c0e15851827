# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a policy states is asked of a boundary or said not to be acted on: no key falls between the two."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from support.policies import LEASE_ROWS, ROWS, TOOL_ROWS, Drawn, Tree, cascade

from aasm.model.requirements import Requirement
from aasm.policy import cascade as tiers
from aasm.policy.document import validate
from aasm.policy.lowering import lower
from aasm.policy.reader import read_document
from aasm.policy.schema import KEYS
from aasm.policy.unmapped import allows_every_tool, statements
from aasm.policy.values import Policy

ACTED_ON = ("filesystem", "network", "ipc", "credentials", "resources", "syscalls")
FREE = ("file_read", "file_write", "network_outbound", "terminal_exec")  # what an allow-list must name to deny nothing


def read(spec: Any) -> Policy:
    return validate(read_document(json.dumps(spec).encode(), "p"))


def filled(value: Any, tree: Tree) -> Any:
    """Return a drawn value with the tree in its paths."""
    return json.loads(json.dumps(value).replace("{top}", tree.top).replace("{{", "{").replace("}}", "}"))


def asked(policy: Policy, tree: Tree) -> Tuple[Requirement, ...]:
    return lower(tree.placed(policy)).requirements


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_asked_of_a_boundary_or_said_not_to_be_acted_on(key: str, tmp_path: Path) -> None:
    tree, rng = Tree(tmp_path), random.Random(key)
    for value in [filled(ROWS[key](rng), tree) for _ in range(20)]:
        policy = Drawn("p", None, {key: value}, None, None).policy()
        said, stated = statements(policy, confined=False), asked(policy, tree)
        if key.startswith("capabilities."):
            assert said or stated or value == [], value
        elif key.startswith(ACTED_ON):
            assert stated and not said, value
        else:
            assert [line.split(":")[0] for line in said] == [key] and not stated, value


@pytest.mark.parametrize("key", TOOL_ROWS)
def test_every_key_of_a_tool_is_said(key: str) -> None:
    value = TOOL_ROWS[key](random.Random(1))
    said = statements(read({"tools": {"a b": {key: value}}}))
    assert [line.split(":")[0] for line in said] == ([f'tools."a b".{key}'] if value is not True else [])


@pytest.mark.parametrize("key", LEASE_ROWS)
def test_a_lease_is_said_once_whatever_it_states(key: str) -> None:
    lease = {"domain": "ipc", key: LEASE_ROWS[key](random.Random(1))}
    assert len(statements(read({"authority": {"leases": [lease]}}))) == 1


def test_postures_are_said() -> None:
    for posture, confined in (("not_required", True), ("not_required", False), ("broker_required", False)):
        assert statements(read({"egress": {"posture": posture}}), confined) == (f"egress.posture: {posture}",)
    assert statements(read({"egress": {"posture": "broker_required"}})) == ()  # it refuses a launch with a boundary


def test_a_capability_is_asked_or_said_and_never_both(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    lowered = (*FREE, "agent_spawn")
    for name in (*lowered, "file_delete", "network_inbound", "mcp_tool:x", "model:y"):
        policy = read({"capabilities": {"deny": [name]}})
        assert bool(asked(policy, tree)) is (name in lowered)
        assert statements(policy) == (() if name in lowered else (f"capabilities.deny: {name}",))


@pytest.mark.parametrize("name", ["mcp_tool:search", "model:small"])
def test_an_allow_list_of_names_denies_all_others_which_is_said(name: str, tmp_path: Path) -> None:
    both = ("mcp_tool:search", "model:small")
    policy = read({"capabilities": {"allow": [*FREE, "file_delete", "network_inbound", *both]}})
    assert asked(policy, Tree(tmp_path)) == ()
    assert [line for line in statements(policy) if name.partition(":")[0] in line]


def test_what_several_documents_state_is_said_once(tmp_path: Path) -> None:
    tree, rng = Tree(tmp_path), random.Random(7)
    for _ in range(30):
        documents = cascade(rng, tree, 3)
        merged = tiers.merge(tiers.ordered([tree.placed(item.policy()) for item in documents]))
        said = statements(merged, confined=False)
        assert len(set(said)) == len(said)
        alone = [line for item in documents for line in statements(item.policy(), confined=False)]
        single = {line.split(":")[0].split()[0] for line in alone}
        # a lease gives something, so one that not every document gives is gone; so is what is milder than silence
        gone = single - {line.split(":")[0].split()[0] for line in said}
        assert gone <= {"authority.leases", *(key for key, row in KEYS.items() if row.absent is not None)}


def test_what_a_list_repeats_is_said_once() -> None:
    said = statements(read({"capabilities": {"deny": ["model:y", "file_delete", "model:y"]}}))
    assert said == ("capabilities.deny: model:y", "capabilities.deny: file_delete")


EVERY: List[Tuple[Dict[str, Any], bool]] = [
    ({"*": {"allow": True}}, True),
    ({"*": {}}, True),
    ({"*": {"allow": False}}, False),
    ({"*": {"allow": True, "limit_per_hour": 5}}, False),
    ({"*": {"allow": True}, "shell": {}}, False),
    ({"shell": {"allow": True}}, False),
    ({}, False),
]


@pytest.mark.parametrize(("tools", "every"), EVERY)
def test_which_tools_are_every_tool_without_a_restriction(tools: Dict[str, Any], every: bool) -> None:
    assert allows_every_tool(read({"tools": tools}).tools or {}) is every
