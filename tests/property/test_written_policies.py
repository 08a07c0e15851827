# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A policy that is written out reads back as the same: random cascades of every key, and texts that try to get out.

What one document cannot state is told, and is all that is missing.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any, Dict, List, Optional, Tuple

import pytest
from support.policies import Tree, cascade

from aasm.policy.cascade import merge
from aasm.policy.compare import differences
from aasm.policy.document import validate
from aasm.policy.expression import Comparison
from aasm.policy.kinds import CONDITION, HOURS
from aasm.policy.places import Placed
from aasm.policy.reader import read_document
from aasm.policy.schema import KEYS, LEASE_KEYS, TOOL_KEYS, Key
from aasm.policy.values import Entry, Group, Listing, Policy, Value
from aasm.policy.written import quote, window, written


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("tree"))


def read_back(policy: Policy) -> Policy:
    text = "\n".join(written(policy).lines)
    return validate(read_document(text.encode() or b"{}", "back.yaml"))


# --- values without their places --------------------------------------------------------------------------


def plain(key: Key, value: Value) -> Any:
    """Return a value by itself. Conditions that all count are the set of their alternatives, hours one window."""
    entries = value.entries if isinstance(value, Listing) else (value,)
    if key.kind is CONDITION:
        alternatives: List[Tuple[Comparison, ...]] = [one for entry in entries for one in entry.value.alternatives]
        return set(alternatives)
    if key.kind is HOURS:
        return window(Listing(entries, ()))
    return [_entry(entry) for entry in entries] if isinstance(value, Listing) else _entry(value)


def _entry(entry: Entry) -> Any:
    value = entry.value.path if isinstance(entry.value, Placed) else entry.value
    return value, type(value), entry.optional


def group(keys: Dict[str, Key], stated: Group) -> Dict[str, Any]:
    return {name: plain(keys[name], value) for name, value in stated.items()}


def everything(policy: Policy) -> Dict[str, Any]:
    tools, leases = policy.tools, policy.leases
    return {
        **group(dict(KEYS), {key: value for key, value in policy.values.items() if key != "scope"}),
        "scope": policy.entry("scope") and policy.values["scope"].text,  # type: ignore[union-attr]
        "tools": None if tools is None else {name: group(dict(TOOL_KEYS), one) for name, one in tools.items()},
        "leases": None if leases is None else [group(dict(LEASE_KEYS), one) for one in leases],
    }


def without(made: Dict[str, Any], left_out: Tuple[str, ...]) -> Dict[str, Any]:
    """Return a policy without the keys that are told to be left out as a whole."""
    labels = {text.partition(": ")[0] for text in left_out}
    tools: Optional[Dict[str, Dict[str, Any]]] = made["tools"] and {
        name: {key: value for key, value in one.items() if f"tools.{quote(name)}.{key}" not in labels}
        for name, one in made["tools"].items()
    }
    return {**{key: value for key, value in made.items() if key not in labels}, "tools": tools}


@pytest.mark.parametrize("tiers", [1, 2, 3])
def test_a_merged_policy_reads_back_as_it_is(tree: Tree, tiers: int) -> None:
    rng = random.Random(f"written {tiers}")
    lost = 0
    for _ in range(60):
        made = merge([tree.placed(item.policy()) for item in cascade(rng, tree, tiers)])
        left_out = written(made).left_out
        back = tree.placed(read_back(made))
        assert without(everything(made), left_out) == everything(back), "\n".join(written(made).lines)
        lost += bool(left_out)
        if not left_out:
            assert differences(made, back) == ()
    assert (lost > 0) is (tiers > 1)  # only several tiers can state what one document cannot


def test_it_is_the_same_text_again(tree: Tree) -> None:
    rng = random.Random("again")
    for _ in range(30):
        made = merge([tree.placed(item.policy()) for item in cascade(rng, tree, 2)])
        once = [line.partition("  #")[0] for line in written(made).lines]
        back = tree.placed(read_back(made))
        assert [line.partition("  #")[0] for line in written(back).lines] == once


# --- texts that try to get out -----------------------------------------------------------------------------

HOSTILE = (
    "", " ", "a: b", "# no comment", "- x", "'", '"', "\\", "\\n", "${system}", "*", "&a", "!t", "|", ">", "%", "@",
    "`", "[", "]", "{", "}", ",", "null", "true", "yes", "~", "1", "1.0", "0x1", "2026-01-01", "\n", "\r\n", "\t",
    "a\nfilesystem: {}", '"\nb: c', "\x1b[2J", "\x7f", "\x85", "\u2028", "\u202e", "\ufeff", "\U0001f600", "ü", "日本",
    "\ufffe", "\U000e0001", "a #b", "x" * 300,
)  # fmt: skip


def test_every_character_can_be_quoted() -> None:
    codes = [code for code in (*range(0x3000), *range(0xD000, 0x10000), 0x1F600, sys.maxunicode) if code >> 11 != 0x1B]
    for start in range(0, len(codes), 512):
        texts = [chr(code) for code in codes[start : start + 512]]
        document = read_document(("data: {locale_packs: [" + ", ".join(map(quote, texts)) + "]}").encode(), "q.yaml")
        value: Any = document.root.value
        assert [node.value for node in value["data"].node.value["locale_packs"].node.value] == texts


def in_condition(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_texts_of_every_kind_read_back_as_they_are() -> None:
    filled = [text for text in HOSTILE if text.strip()]
    for at, text in enumerate(filled):
        other = filled[at - 1]
        spec = {
            "filesystem": {"read": {"allow": ["/" + text.replace("$", ""), {"path": "/" + other.replace("$", "")}]}},
            "data": {"locale_packs": [text, other]},
            "tools": {text: {"requires_approval_if": f"a == {in_condition(other)}"}, "*": {"allow": False}},
            "authority": {"leases": [{"domain": "ipc", "scope": [text, other], "reason": text}]},
            "capabilities": {"deny": ["model:" + text]},
        }  # fmt: skip
        made = validate(read_document(json.dumps(spec).encode(), f"na me\n{other}\x85.json"))
        assert written(made).left_out == ()
        assert everything(read_back(made)) == everything(made)


def test_a_comment_stays_a_comment_whatever_the_file_is_called() -> None:
    for text in HOSTILE:
        made = validate(read_document(b'{"scope": "global", "network": {"bind": [80]}}', f"{text}.json"))
        assert written(made).lines[0].startswith('scope: "global"  # ')
        assert everything(read_back(made)) == everything(made)
