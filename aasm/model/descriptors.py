# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of each open descriptor: a descriptor is authority that no path rule decides about."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class DescriptorDisposition(Enum):
    """What becomes of one descriptor of the command's process when the program is executed."""

    DELEGATED = "delegated"
    CLOSED_BEFORE_EXEC = "closed_before_exec"
    RESIDUAL_UNCLOSABLE = "residual_unclosable"
    UNMEASURED = "unmeasured"


class Descriptor(NamedTuple):
    """One descriptor; `reason` is empty only for one that is closed."""

    number: int
    disposition: DescriptorDisposition
    reason: str = ""


class DescriptorInventory(NamedTuple):
    """All descriptors that were found, or the reason for which they could not be listed."""

    descriptors: tuple[Descriptor, ...]
    not_enumerable: str = ""

    @property
    def complete(self) -> bool:
        """Say whether every descriptor is in the list."""
        return not self.not_enumerable

    @property
    def residual(self) -> tuple[Descriptor, ...]:
        """Return the descriptors that reach the program although nobody delegated them, or may do so."""
        known = (DescriptorDisposition.DELEGATED, DescriptorDisposition.CLOSED_BEFORE_EXEC)
        return tuple(item for item in self.descriptors if item.disposition not in known)

    @property
    def asserts_clean_boundary(self) -> bool:
        """Say whether it is known that nothing but what was delegated reaches the program."""
        return self.complete and not self.residual
