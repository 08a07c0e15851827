# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the capabilities of a file do when this process executes it: execve is refused, or the loader is on its guard.

Follows capabilities(7), linux/capability.h (struct vfs_cap_data) and the kernel's security/commoncap.c. It reads;
what this process holds itself decides, so whoever asks for another has to give up first what that one would not have.
"""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

from .._sys import boundary
from ..model import privileges

_ATTRIBUTE = "security.capability"
_EFFECTIVE, _REVISIONS = 1, 0xFF000000
_LAYOUTS = {0x01000000: "<3I", 0x02000000: "<5I", 0x03000000: "<6I"}  # of the third the last word is a user


class FileCapabilities(NamedTuple):
    """The sets of a file as masks. `effective`: its programs know nothing of capabilities and need all of them."""

    permitted: int = 0
    inheritable: int = 0
    effective: bool = False


def decoded(data: bytes) -> FileCapabilities:
    """Return what an attribute says; nothing for one that the kernel ignores: malformed, or another namespace's."""
    layout = _LAYOUTS.get(int.from_bytes(data[:4], "little") & _REVISIONS, "")
    if not layout or len(data) != struct.calcsize(layout):
        return FileCapabilities()
    magic, *words = struct.unpack(layout, data)
    if len(words) == 5 and words.pop():  # the root of a user namespace that is not this one
        return FileCapabilities()
    low, high = words[:2], words[2:] or [0, 0]
    return FileCapabilities(low[0] | high[0] << 32, low[1] | high[1] << 32, bool(magic & _EFFECTIVE))


def of_file(path: str) -> FileCapabilities:
    """Return the capabilities of a file, none where its file system is mounted without them (nosuid)."""
    try:
        if os.statvfs(path).f_flag & os.ST_NOSUID:
            return FileCapabilities()
        return decoded(os.getxattr(path, _ATTRIBUTE))
    except OSError:  # it has none, or those of another user namespace
        return FileCapabilities()


class Held(NamedTuple):
    """What a process passes on to a file with capabilities, as masks. `known`: what its kernel has at all."""

    bounding: int
    inheritable: int
    known: int


def of_this_process() -> Held:
    """Return the sets of this process."""
    bounding = known = 0
    for number in range(64):
        try:
            bounding |= boundary.prctl(boundary.PR_CAPBSET_READ, number) << number
        except OSError:  # EINVAL: past the last that this kernel has
            break
        known |= 1 << number
    return Held(bounding, boundary.capability_sets()[2], known)


def lacking(found: FileCapabilities, held: Held) -> tuple[str, ...]:
    """Return the capabilities for whose lack execve ends with EPERM: a file with `effective` gets all of its own."""
    gained = found.permitted & held.bounding | found.inheritable & held.inheritable
    short = found.permitted & ~gained & held.known if found.effective else 0
    return tuple(_name(number) for number in range(64) if short >> number & 1)


def guarded(found: FileCapabilities) -> bool:
    """Say whether a loader starts in secure-execution mode (ld.so(8)), in which it hears no variable."""
    return found.effective and os.getuid() != 0


def _name(number: int) -> str:
    return privileges.NAMES[number] if number < len(privileges.NAMES) else f"capability {number}"
