# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel's capabilities by name and number, and which of them a policy cannot name."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from aasm.errors import PolicyError
from aasm.model import privileges
from aasm.policy.document import validate
from aasm.policy.reader import read_document

# linux/capability.h, as it was and as it has grown
NUMBERS = {
    "CAP_CHOWN": 0, "CAP_KILL": 5, "CAP_SETPCAP": 8, "CAP_NET_BIND_SERVICE": 10, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21,
    "CAP_MKNOD": 27, "CAP_SETFCAP": 31, "CAP_MAC_OVERRIDE": 32, "CAP_SYSLOG": 34, "CAP_AUDIT_READ": 37,
    "CAP_PERFMON": 38, "CAP_BPF": 39, "CAP_CHECKPOINT_RESTORE": 40,
}  # fmt: skip
DEFINITION = re.compile(r"^#define\s+(CAP_[A-Z_]+)\s+(\d+)\s*$", re.MULTILINE)


def test_every_name_has_its_number() -> None:
    assert {name: privileges.NAMES.index(name) for name in NUMBERS} == NUMBERS
    assert len(set(privileges.NAMES)) == len(privileges.NAMES) == 41
    assert all(re.fullmatch("CAP_[A-Z_]+", name) for name in privileges.NAMES)


def test_the_table_is_that_of_the_installed_header() -> None:
    """A header that is older or newer agrees about what both know."""
    for header in filter(Path.exists, [Path("/usr/include/linux/capability.h")]):
        defined = {name: int(number) for name, number in DEFINITION.findall(header.read_text())}
        assert len(defined) >= 38
        known = dict(zip(privileges.NAMES, range(len(privileges.NAMES))))
        assert {name: number for name, number in defined.items() if known.get(name, number) != number} == {}
        assert set(known) <= set(defined) or set(defined) <= set(known)


def validated(name: str) -> None:
    stated = {"credentials": {"capabilities": {"allow": [name]}}}
    validate(read_document(json.dumps(stated).encode(), "p.json"))


@pytest.mark.parametrize("name", privileges.NAMES)
def test_a_capability_can_be_named_exactly_where_it_undoes_no_boundary(name: str) -> None:
    reason = privileges.NEVER.get(name)
    if reason is None:
        validated(name)
        return
    with pytest.raises(PolicyError) as caught:
        validated(name)
    assert str(caught.value) == f"p.json:1:45: {name} cannot be allowed: {reason}; take it out"


@pytest.mark.parametrize("name", ["cap_chown", "CHOWN", "CAP_CHOWN ", "CAP_", "0", "ALL", "CAP_ALL", ""])
def test_only_the_kernels_own_names_are_names(name: str) -> None:
    with pytest.raises(PolicyError, match="is not a capability of the kernel"):
        validated(name)


def test_what_reaches_past_every_boundary_is_never_given() -> None:
    """By name, so that none is taken off the list by mistake: each of them defeats a stated control."""
    assert set(privileges.NEVER) <= set(privileges.NAMES)
    assert all(text.isprintable() and text for text in privileges.NEVER.values())
    assert {
        "CAP_SYS_ADMIN", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_PTRACE", "CAP_SYS_BOOT", "CAP_SYS_TIME", "CAP_BPF",
        "CAP_MKNOD", "CAP_SETPCAP", "CAP_SETFCAP", "CAP_SYS_RESOURCE", "CAP_NET_ADMIN", "CAP_SYSLOG", "CAP_PERFMON",
        "CAP_MAC_ADMIN", "CAP_MAC_OVERRIDE", "CAP_CHECKPOINT_RESTORE", "CAP_AUDIT_CONTROL",
    } == set(privileges.NEVER)  # fmt: skip


def test_a_mask_has_the_bit_of_each_name_once() -> None:
    assert privileges.mask(()) == 0
    assert privileges.mask(("CAP_CHOWN", "CAP_NET_BIND_SERVICE", "CAP_CHOWN")) == 0b100_0000_0001
    assert privileges.mask(privileges.NAMES) == 2 ** len(privileges.NAMES) - 1
    with pytest.raises(ValueError):
        privileges.mask(("CAP_NO_SUCH",))


def test_what_is_missing_is_what_the_mask_lacks_in_the_order_of_the_names() -> None:
    rng = random.Random(3)
    for _ in range(50):
        names = rng.sample(privileges.NAMES, rng.randrange(len(privileges.NAMES)))
        held = rng.sample(names, len(names) // 2)
        lacking = tuple(name for name in names if name not in held)
        assert privileges.missing(names, privileges.mask(held)) == lacking
    assert privileges.missing(privileges.NAMES, 0) == privileges.NAMES
