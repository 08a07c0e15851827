# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of what is held, by kernel and by policy node, say what the code says: they are made from it here."""

from __future__ import annotations

import re
from typing import List

from project import ROOT
from support.host import facts_for_abi

from aasm._sys import landlock
from aasm.backends.native import capability, floor, rules
from aasm.model.domains import DOMAINS, Support
from aasm.model.requirements import WHOLE, Requirement
from aasm.policy.lowering import CAPABILITIES, NODES

README = (ROOT / "README.md").read_text(encoding="utf-8")
KERNELS = (ROOT / "docs" / "kernel-support.md").read_text(encoding="utf-8")

REFUSED, HELD = "refused", "all of the table above"
UNUSED = {  # what a kernel brings and aasm does not use, and why
    7: "not used: no right of it decides about a program",
    8: "not used: the launcher has one thread",
}


def use(abi: int) -> str:
    """Return what a boundary makes of the rights that an ABI brought."""
    if abi in UNUSED:
        return UNUSED[abi]
    if abi == 4:
        return "used beside the filter when the network is refused"
    return "never granted, and unix sockets are refused by the filter on every kernel" if abi == 9 else "used"


def kernel_rows() -> List[str]:
    """Return the table by kernel."""
    titles = ("Landlock ABI", "since Linux", "what can then be restricted", "its use", "a launch on such a kernel")
    rows = [f"| {' | '.join(titles)} |", "|-|-|-|-|-|"]
    for row in landlock.ROWS:
        launch = REFUSED if capability.unavailable(facts_for_abi(row.abi)) else HELD
        rows.append(f"| {row.abi} | {row.kernel} | {row.brings} | {use(row.abi)} | {launch} |")
    return rows


def domain_rows() -> List[str]:
    """Return the table by domain: how a policy states it, and what is not held of it."""
    rows = ["| domain | a policy states it by | held | what is not held |", "|-|-|-|-|"]
    found = capability.capabilities_of(facts_for_abi(landlock.NEWEST_ABI))
    for domain in DOMAINS:
        report = found.report_for(domain)
        assert report is not None
        names = [f"`{node}`" for node in NODES.get(domain, ()) if node != "capabilities"]
        names += [f"`capabilities` ({', '.join(CAPABILITIES[domain])})"] if domain in CAPABILITIES else []
        held = "no" if report.support is Support.UNSUPPORTED else "yes"
        text = report.reason or "; ".join(report.limitations)
        rows.append(f"| `{domain.value}` | {' or '.join(names) or 'nothing'} | {held} | {text} |")
    return rows


def floor_rows() -> List[str]:
    """Return the list of what the floor refuses."""
    return [f"- {line}" for line in floor.describe()]


def table_of(first_title: str) -> List[str]:
    """Return the rows of the table in README.md whose first column has that title."""
    found = re.search(rf"^\| {first_title} \|.*\n(?:\|.*\n)+", README, re.MULTILINE)
    return found.group().splitlines() if found else []


def test_the_table_by_kernel_is_that_of_the_code() -> None:
    assert table_of("Landlock ABI") == kernel_rows()


def test_rights_that_are_not_used_are_those_that_no_ruleset_handles() -> None:
    for abi in range(capability.FLOOR_ABI, landlock.NEWEST_ABI + 1):
        asked = [Requirement(domain, WHOLE) for domain in DOMAINS]
        now, before = (rules.handled(asked, landlock.rights_known(number)) for number in (abi, abi - 1))
        assert (now == before) is (abi in UNUSED), abi


def test_below_the_floor_nothing_is_launched_and_the_remedy_is_named() -> None:
    refused = [abi for abi in range(landlock.NEWEST_ABI + 1) if capability.unavailable(facts_for_abi(abi))]
    assert refused == list(range(capability.FLOOR_ABI))
    assert f"Landlock ABI {capability.FLOOR_ABI}" in README
    assert f"Linux {landlock.ROWS[capability.FLOOR_ABI - 1].kernel}" in README


def test_the_table_by_policy_node_is_that_of_the_code() -> None:
    assert table_of("domain") == domain_rows()


def test_the_same_is_held_on_every_kernel_that_is_not_refused() -> None:
    tables = {
        tuple(item._replace() for item in capability.capabilities_of(facts_for_abi(abi)).reports)
        for abi in range(capability.FLOOR_ABI, landlock.NEWEST_ABI + 1)
    }
    assert len(tables) == 1


def test_the_list_of_the_floor_is_that_of_the_code() -> None:
    listed = re.findall(r"^- .*(?:\n  .*)*", KERNELS.partition("## The floor\n")[2], re.MULTILINE)
    assert [re.sub(r"\s+", " ", item) for item in listed] == floor_rows()

