# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Facts of hosts that do not exist, for tests of pure code."""

from __future__ import annotations

from typing import Any

from aasm._sys import landlock, probe

NO_CAPABILITY = probe.CapabilityFacts(0, 0, 0, 0x1FFFFFFFFFF, 0)
ALL_OF_SECCOMP = probe.SeccompFacts(True, True, True, True, True, 0, "")


def landlock_for_abi(abi: int) -> probe.LandlockFacts:
    """Return what the probe finds on a kernel of ABI `abi`; 0 is a kernel without Landlock."""
    if abi == 0:
        return probe.LandlockFacts(0, 0, 0, probe.NOT_BUILT, "not built into this kernel", 0, 0, 0, 0)
    fs, net, scope, flags = landlock.rights_known(abi)
    known = min(abi, landlock.NEWEST_ABI)
    return probe.LandlockFacts(known, 0, abi, probe.AVAILABLE, "", fs, net, scope, flags)


def facts_for_abi(abi: int, arch: str = "x86_64", **changes: Any) -> probe.HostFacts:
    """Return facts of an otherwise complete host, as an unprivileged user; `changes` replace fields of HostFacts."""
    release = next((row.kernel for row in landlock.ROWS if row.abi == min(abi, landlock.NEWEST_ABI)), "5.10")
    facts = probe.HostFacts(
        arch, f"{release}.0", landlock_for_abi(abi), ALL_OF_SECCOMP, True, 1000, NO_CAPABILITY, None, ()
    )
    return facts._replace(**changes)
