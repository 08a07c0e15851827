# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The words about the keys of a policy: there for each key, with an example that states it, true where code can say."""

from __future__ import annotations

import re

import pytest

from aasm.backends.native import capability
from aasm.backends.native.floor import REFUSED_CALLS
from aasm.model.requirements import ResourceLimits
from aasm.policy import load, unmapped
from aasm.policy.descriptions import DESCRIPTIONS, LEASE, NOTHING, SCHEMA_ONLY, TOOL, labels
from aasm.policy.document import validate
from aasm.policy.lowering import lower
from aasm.policy.places import Places
from aasm.policy.reader import read_document
from aasm.policy.schema import KEYS, LEASE_KEYS, SCOPE, TOOL_KEYS
from aasm.policy.values import Policy
from aasm.policy.vocabulary import ENVELOPE_KEYS, METADATA_KEYS

every_key = pytest.mark.parametrize("label", DESCRIPTIONS)


def example(label: str) -> Policy:
    text = DESCRIPTIONS[label].example
    assert text.endswith("\n") and not text.endswith("\n\n")
    return validate(read_document(text.encode(), "example.yaml"), REFUSED_CALLS)


def test_every_key_is_described_and_nothing_else_in_the_order_of_the_labels() -> None:
    envelope = [key for key in ENVELOPE_KEYS if key != "metadata"] + [f"metadata.{key}" for key in METADATA_KEYS]
    own = [SCOPE, *KEYS, *(TOOL + name for name in TOOL_KEYS), *(LEASE + name for name in LEASE_KEYS)]
    assert tuple(DESCRIPTIONS) == labels()
    assert set(labels()) == {*envelope, *own} and len(labels()) == len(envelope) + len(own)


@every_key
def test_each_part_is_one_line_without_its_full_stop_but_for_the_effect(label: str) -> None:
    item = DESCRIPTIONS[label]
    for text in (item.effect, item.default, item.held_by):
        assert text == text.strip() and text.isprintable() and text.isascii() and "  " not in text
    assert item.effect.endswith(".") and item.effect[0].isupper()
    assert not item.default.endswith(".") and not item.held_by.endswith(".")


@every_key
def test_the_example_states_the_key(label: str) -> None:
    policy = example(label)
    if label.startswith(TOOL):
        assert policy.tools is not None and list(policy.tools["shell"]) == [label[len(TOOL) :]]
    elif label.startswith(LEASE):
        assert policy.leases is not None and label[len(LEASE) :] in policy.leases[0]
    elif label in KEYS or label == SCOPE:
        assert list(policy.values) == [label]
    elif label.startswith("metadata."):
        assert getattr(policy, label.partition(".")[2])
    else:
        assert policy.api_version and policy.values


@every_key
def test_nothing_holds_what_is_reported_as_not_acted_on(label: str) -> None:
    """What unmapped.py finds in an example is said to be held by nothing, and nothing else is."""
    reported = unmapped.statements(example(label))
    said = DESCRIPTIONS[label].held_by
    if label.startswith(("capabilities.", "egress.")):
        assert re.search("[Nn]othing acts on|acted on by nothing", said)
    else:
        assert bool(reported) is said.startswith((NOTHING, SCHEMA_ONLY))


@pytest.mark.parametrize("name", ResourceLimits._fields)
def test_ceilings_are_said_to_be_held_by_what_holds_them(name: str) -> None:
    said = DESCRIPTIONS[f"resources.{name}"].held_by
    if name in capability.HELD_BY_LIMIT:
        assert capability.HELD_BY_LIMIT[name].limit in said
    elif name == capability.BY_SUPERVISOR:
        assert said.startswith("the supervisor")
    else:
        assert name in capability.NOT_HELD and said.startswith("nothing in this release")


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("network: {allowlist: []}", True), ("network: {allowlist: [a.example]}", False),
        ('network: {allowlist: ["*"]}', False), ("network: {ports: []}", True), ("network: {ports: [443]}", False),
        ("network: {allowlist: [], ports: [443]}", True), ("network: {bind: []}", False),
        ("network: {allowlist: [], bind: []}", True), ("network: {allowlist: [], bind: [80]}", False),
        ("capabilities: {deny: [network_outbound]}", True), ("ipc: {unix: {allow: []}}", True),
        ("ipc: {unix: {allow: [/run/x]}}", False), ("syscalls: {allow: []}", False),
        ("syscalls: {allow: [read]}", True), ("filesystem: {execute: {allow: []}}", False),
        ("filesystem: {execute: {allow: [/usr]}}", True), ("filesystem: {read: {allow: []}}", True),
        ("credentials: {environment: {allow: [A]}}", True), ("credentials: {capabilities: {allow: []}}", True),
    ],
)  # fmt: skip
def test_what_is_said_to_refuse_a_launch_cannot_be_lowered(text: str, held: bool) -> None:
    policy = load.placed(validate(read_document(text.encode(), "x.yaml")), Places("/w", "/h", ()))
    requirements = lower(policy).requirements
    gaps = [capability.lowering_gap(item, requirements) for item in requirements]
    assert requirements and (gaps == [""] * len(gaps)) is held
    if not held and "[]" not in text:
        assert "no launch inside a boundary starts" in DESCRIPTIONS[next(iter(policy.values))].held_by
