# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""From domains and grants to one ruleset, for every version of the kernel interface."""

from __future__ import annotations

import itertools
import stat
from typing import Tuple

import pytest

from aasm._sys import landlock
from aasm.backends.native import rules
from aasm.model.domains import CapabilityDomain as Domain
from aasm.model.grants import Grant
from aasm.model.requirements import EXECUTING, PARTS, WHOLE, Requirement, none_of, permit_only

READ, WRITE, NETWORK = Domain.FILESYSTEM_READ, Domain.FILESYSTEM_WRITE, Domain.NETWORK_EGRESS
EVERY_ABI = range(1, landlock.NEWEST_ABI + 1)
KINDS = {"directory": stat.S_IFDIR, "file": stat.S_IFREG, "device": stat.S_IFCHR, "disk": stat.S_IFBLK,
         "fifo": stat.S_IFIFO, "socket": stat.S_IFSOCK}  # fmt: skip
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8  # linux/landlock.h
MAKE_CHAR, MAKE_BLOCK, REFER, TRUNCATE, IOCTL_DEV, RESOLVE_UNIX = (1 << at for at in (6, 11, 13, 14, 15, 16))
SUBSETS = [found for size in range(4) for found in itertools.combinations((READ, WRITE, NETWORK), size)]


def grant(kind: str, read: bool, write: bool, path: str = "/x", execute: bool = False) -> Grant:
    return Grant(path, 1, 2, KINDS[kind] | 0o755, read, write, "test", execute)


ROOT = grant("directory", False, False, "/")
VERBS = tuple(itertools.product((False, True), repeat=3))
GRANTS = tuple(grant(kind, read, write, execute=execute) for kind in KINDS for read, write, execute in VERBS)
each_abi = pytest.mark.parametrize("abi", EVERY_ABI)


def names(wanted: Tuple[Domain, ...], abi: int) -> rules.Handled:
    return rules.handled([Requirement(domain, WHOLE) for domain in wanted], landlock.rights_known(abi))


EXECUTION = (
    Requirement(READ, permit_only((f"{EXECUTING}:/usr/bin",))),
    Requirement(READ, none_of(EXECUTING)),
)


# --- what is decided about ---


@each_abi
@pytest.mark.parametrize("wanted", SUBSETS, ids=lambda found: "+".join(item.value for item in found) or "nothing")
def test_what_is_handled_is_what_was_asked_and_what_the_kernel_knows(abi: int, wanted: Tuple[Domain, ...]) -> None:
    known, found = landlock.rights_known(abi), names(wanted, abi)
    assert not found.fs & ~known.fs and not found.net & ~known.net
    assert found.scope == known.scope  # the floor: always all of it
    assert bool(found.fs & READ_FILE) == bool(found.fs & EXECUTE) == bool(found.fs & READ_DIR) == (READ in wanted)
    assert bool(found.fs & WRITE_FILE) == bool(found.fs & MAKE_CHAR) == bool(found.fs & MAKE_BLOCK) == (WRITE in wanted)
    assert bool(found.fs & TRUNCATE) == (WRITE in wanted and abi >= 3)
    assert bool(found.fs & IOCTL_DEV) == (WRITE in wanted and abi >= 5)
    assert bool(found.fs & REFER) == (bool({READ, WRITE} & set(wanted)) and abi >= 2)
    assert bool(found.fs & RESOLVE_UNIX) == (bool({READ, WRITE} & set(wanted)) and abi >= 9)
    assert bool(found.net) == (NETWORK in wanted and abi >= 4)


def test_with_both_verbs_every_right_of_the_newest_kernel_is_decided() -> None:
    known = landlock.rights_known(landlock.NEWEST_ABI)
    assert names((READ, WRITE, NETWORK), landlock.NEWEST_ABI) == rules.Handled(known.fs, known.net, known.scope)


def test_other_domains_add_nothing_to_a_ruleset() -> None:
    others = [domain for domain in Domain if domain not in (READ, WRITE, NETWORK)]
    known = landlock.rights_known(landlock.NEWEST_ABI)
    requirements = [Requirement(domain, WHOLE) for domain in others]
    assert rules.handled(requirements, known) == rules.Handled(0, 0, known.scope)


@each_abi
@pytest.mark.parametrize("stated", EXECUTION, ids=["some", "none"])
def test_executing_is_decided_by_itself_where_it_is_stated_by_itself(abi: int, stated: Requirement) -> None:
    known = landlock.rights_known(abi)
    found = rules.handled([stated], known)
    assert found.fs & ~(REFER | RESOLVE_UNIX) == EXECUTE and found.net == 0 and found.scope == known.scope
    assert bool(found.fs & REFER) == (abi >= 2) and bool(found.fs & RESOLVE_UNIX) == (abi >= 9)
    for domain in (READ, WRITE):
        both = rules.handled([stated, Requirement(domain, WHOLE)], known)
        assert both == rules.Handled(names((domain,), abi).fs | EXECUTE, 0, known.scope)


@pytest.mark.parametrize("part", [part for part in PARTS if part != EXECUTING])
@pytest.mark.parametrize("domain", [READ, WRITE, NETWORK])
def test_a_part_of_a_domain_handles_nothing_of_the_whole(part: str, domain: Domain) -> None:
    known = landlock.rights_known(landlock.NEWEST_ABI)
    for scope in (none_of(part), permit_only((f"{part}:1",))):
        assert rules.handled([Requirement(domain, scope)], known) == rules.Handled(0, 0, known.scope)


# --- what a grant gives ---


def test_what_each_kind_of_grant_gives() -> None:
    assert rules.access(grant("directory", True, False)) == READ_FILE | READ_DIR
    assert rules.access(grant("directory", True, False, execute=True)) == EXECUTE | READ_FILE | READ_DIR
    assert rules.access(grant("directory", False, False, execute=True)) == EXECUTE
    assert rules.access(grant("file", True, False)) == READ_FILE
    assert rules.access(grant("file", True, False, execute=True)) == EXECUTE | READ_FILE
    assert rules.access(grant("file", False, False, execute=True)) == EXECUTE
    assert rules.access(grant("file", False, True)) == WRITE_FILE | TRUNCATE | IOCTL_DEV
    assert rules.access(grant("device", True, True)) == READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV
    assert rules.access(grant("device", True, False)) == READ_FILE
    everything_written = landlock.WRITE_RIGHTS | IOCTL_DEV
    assert rules.access(grant("directory", False, True)) == everything_written
    assert rules.access(grant("directory", True, True)) == everything_written | landlock.READ_RIGHTS
    assert rules.access(grant("directory", False, False)) == 0


@pytest.mark.parametrize("item", GRANTS, ids=lambda item: f"{stat.S_IFMT(item.mode):o} {item[4:6]} {item[7]}")
def test_no_grant_gives_device_nodes_or_path_sockets(item: Grant) -> None:
    given = rules.access(item)
    assert not given & (MAKE_CHAR | MAKE_BLOCK | RESOLVE_UNIX)
    assert bool(given & IOCTL_DEV) == item.write
    assert bool(given & EXECUTE) == item.execute and bool(given & READ_FILE) == item.read
    if not item.is_directory:
        assert not given & ~landlock.FILE_RIGHTS  # a directory's right on anything else is EINVAL


@each_abi
@pytest.mark.parametrize("wanted", SUBSETS, ids=lambda found: "+".join(item.value for item in found) or "nothing")
def test_every_rule_is_one_that_the_kernel_takes(abi: int, wanted: Tuple[Domain, ...]) -> None:
    deciding = names(wanted, abi)
    for rule in rules.rules(GRANTS, deciding, ROOT):
        assert rule.access and not rule.access & ~deciding.fs
        assert rule.grant.is_directory or not rule.access & ~landlock.FILE_RIGHTS


@each_abi
def test_a_grant_gives_nothing_that_it_does_not_say(abi: int) -> None:
    deciding = names((READ, WRITE), abi)
    for rule in rules.rules(GRANTS, deciding, ROOT):
        assert rule.grant.read or not rule.access & landlock.READ_RIGHTS
        assert rule.grant.execute or not rule.access & EXECUTE
        assert rule.grant.write or not rule.access & (landlock.WRITE_RIGHTS | IOCTL_DEV)


# --- renaming between directories ---


def test_where_writing_is_not_restricted_renaming_is_given_back() -> None:
    own = grant("directory", True, False, "/own")
    reading = rules.rules([own], names((READ,), 7), ROOT)
    assert [(rule.grant.path, rule.access) for rule in reading] == [
        ("/own", landlock.READ_RIGHTS), ("/", REFER),
    ]  # fmt: skip
    for wanted in ((WRITE,), (READ, WRITE)):
        made = rules.rules([own._replace(write=True)], names(wanted, 7), ROOT)
        assert [rule.grant.path for rule in made] == ["/own"]
    assert rules.rules([own], names((NETWORK,), 7), ROOT) == ()
    assert [rule.grant.path for rule in rules.rules([own], names((READ,), 1), ROOT)] == ["/own"]  # no such right yet


def test_a_grant_without_any_handled_right_makes_no_rule() -> None:
    only_written = grant("directory", False, True)
    assert rules.rules([only_written], names((READ,), 1), ROOT) == ()
    assert rules.rules([grant("file", True, False)], names((WRITE,), 7), ROOT) == ()
    executing = rules.handled(EXECUTION[:1], landlock.rights_known(1))
    assert rules.rules([grant("directory", True, True)], executing, ROOT) == ()
    (rule,) = rules.rules([grant("directory", True, True, execute=True)], executing, ROOT)
    assert rule.access == EXECUTE
    assert rules.rules([], names((READ, WRITE), 7), ROOT) == ()
