# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The Landlock table: rows that add up, names that come from it, and grants that divide it."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from aasm._sys import landlock as ll

FAMILIES = ("fs", "net", "scope", "flags")
COLUMN = dict(zip(FAMILIES, ("fs", "net", "scope", "restrict_flags")))
HEADER = Path("/usr/include/linux/landlock.h")
ALL_ABIS = range(ll.NEWEST_ABI + 1)


def _masks(abi):
    return ll.rights_known(abi)._asdict()


def test_rows_are_numbered_from_one_without_a_gap_and_kernels_ascend():
    assert [row.abi for row in ll.ROWS] == list(range(1, 10))
    releases = [tuple(map(int, row.kernel.split("."))) for row in ll.ROWS]
    assert releases == sorted(set(releases))
    assert all(row.brings for row in ll.ROWS)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_two_rows_bring_the_same_bit_and_together_they_have_no_hole(family):
    column = [getattr(row, COLUMN[family]) for row in ll.ROWS]
    for one, other in itertools.combinations(column, 2):
        assert one & other == 0
    together = _masks(ll.NEWEST_ABI)[family]
    assert together & (together + 1) == 0  # bits 0 to n, all of them


@pytest.mark.parametrize("row", ll.ROWS, ids=lambda row: f"abi{row.abi}")
def test_each_abi_knows_what_the_one_before_knew_and_its_own_row(row):
    before, now = _masks(row.abi - 1), _masks(row.abi)
    for family in FAMILIES:
        assert now[family] == before[family] | getattr(row, COLUMN[family])
    assert now != before


@pytest.mark.parametrize(
    "abi, fs, net, scope, flags",
    [
        (0, 0, 0, 0, 0),
        (1, 0x1FFF, 0, 0, 0),
        (2, 0x3FFF, 0, 0, 0),
        (3, 0x7FFF, 0, 0, 0),
        (4, 0x7FFF, 3, 0, 0),
        (5, 0xFFFF, 3, 0, 0),
        (6, 0xFFFF, 3, 3, 0),
        (7, 0xFFFF, 3, 3, 7),
        (8, 0xFFFF, 3, 3, 15),
        (9, 0x1FFFF, 3, 3, 15),
    ],
)
def test_masks_of_each_abi(abi, fs, net, scope, flags):
    assert ll.rights_known(abi) == (fs, net, scope, flags)


def test_a_newer_kernel_counts_as_the_newest_row():
    assert ll.rights_known(ll.NEWEST_ABI + 40) == ll.rights_known(ll.NEWEST_ABI)


# --- which ABI is in use ---


@pytest.mark.parametrize("abi", ALL_ABIS)
def test_the_abi_in_use_is_the_reported_one_when_all_its_rights_are_there(abi):
    fs, net, scope, _ = ll.rights_known(abi)
    assert ll.abi_in_use(abi, fs, net, scope) == abi
    assert ll.abi_in_use(abi, *ll.rights_known(ll.NEWEST_ABI)[:3]) == abi  # more bits do not raise it


@pytest.mark.parametrize("family", ("fs", "net", "scope"))
@pytest.mark.parametrize("row", ll.ROWS, ids=lambda row: f"abi{row.abi}")
def test_one_refused_right_lowers_it_below_the_row_of_that_right(row, family):
    for at in range(20):
        bit = getattr(row, COLUMN[family]) & 1 << at
        if bit:
            masks = {**_masks(ll.NEWEST_ABI)}
            masks[family] &= ~bit
            assert ll.abi_in_use(ll.NEWEST_ABI, masks["fs"], masks["net"], masks["scope"]) == row.abi - 1


def test_a_kernel_newer_than_the_table_uses_its_newest_row():
    fs, net, scope, _ = ll.rights_known(ll.NEWEST_ABI)
    assert ll.abi_in_use(ll.NEWEST_ABI + 3, fs, net, scope) == ll.NEWEST_ABI


# --- names ---


@pytest.mark.parametrize("family", FAMILIES)
def test_every_bit_has_its_own_name(family):
    mask = _masks(ll.NEWEST_ABI)[family]
    names = ll.names(mask, family)
    assert len(names) == len(set(names)) == bin(mask).count("1")
    assert not [name for name in names if name.startswith("bit_")]
    assert dict(ll.bits(family)) == {name: 1 << at for at, name in enumerate(names)}


def test_names_are_in_bit_order_and_unknown_bits_stay_visible():
    mask = ll.LANDLOCK_ACCESS_FS_MAKE_REG | ll.LANDLOCK_ACCESS_FS_EXECUTE | 1 << 40
    assert ll.names(mask, "fs") == ("execute", "make_reg", "bit_40")
    assert ll.names(0, "fs") == ()
    assert ll.names(3, "net") == ("bind_tcp", "connect_tcp")
    assert ll.names(3, "scope") == ("abstract_unix_socket", "signal")
    assert ll.names(15, "flags") == ("log_same_exec_off", "log_new_exec_on", "log_subdomains_off", "tsync")


# --- grants ---

GRANTS = (ll.READ_RIGHTS, ll.EXECUTE, ll.WRITE_RIGHTS, ll.DEVICE, ll.UNIX_CONNECT, ll.NEVER_GRANTED)


@pytest.mark.parametrize("abi", ALL_ABIS)
def test_grants_share_no_right_and_cover_every_right_of_every_abi(abi):
    for one, other in itertools.combinations(GRANTS, 2):
        assert one & other == 0
    assert ll.rights_known(abi).fs & ~sum(GRANTS) == 0
    assert sum(GRANTS) == ll.rights_known(ll.NEWEST_ABI).fs


def test_what_a_grant_never_gives():
    assert ll.names(ll.NEVER_GRANTED, "fs") == ("make_char", "make_block")
    assert ll.names(ll.READ_RIGHTS, "fs") == ("read_file", "read_dir")
    assert ll.names(ll.EXECUTE, "fs") == ("execute",)
    assert "read_file" not in ll.names(ll.WRITE_RIGHTS, "fs")


def test_rights_of_files_are_those_that_name_no_entry_of_a_directory():
    assert ll.names(ll.FILE_RIGHTS, "fs") == (
        "execute", "write_file", "read_file", "truncate", "ioctl_dev", "resolve_unix",
    )
    of_directories = ll.names(ll.rights_known(ll.NEWEST_ABI).fs & ~ll.FILE_RIGHTS, "fs")
    assert all(re.match(r"(read_dir|remove_\w+|make_\w+|refer)$", name) for name in of_directories)


# --- against the header of this host ---


def test_constants_agree_with_the_installed_header():
    if not HEADER.is_file():
        pytest.skip("no kernel headers are installed")
    pattern = r"#define\s+(LANDLOCK_(?:ACCESS_FS|ACCESS_NET|SCOPE|RESTRICT_SELF)_\w+)\s+\(1U*L*\s*<<\s*(\d+)\)"
    stated = {name: 1 << int(at) for name, at in re.findall(pattern, HEADER.read_text())}
    assert len(stated) >= 13
    ours = {name: value for name, value in vars(ll).items() if name in stated}
    assert ours == stated
