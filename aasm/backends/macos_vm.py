# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm-macos-vm`: a Linux guest on macOS. This build does not drive it, on any host."""

from __future__ import annotations

from ..model.domains import PlatformBoundary
from .absent import AbsentBackend


class MacosVmBackend(AbsentBackend):
    """A candidate that is always unavailable in this build."""

    id = "aasm-macos-vm"
    boundary = PlatformBoundary.GUEST_KERNEL
    license = "Apache-2.0"
    reason = "it needs macOS on Apple silicon, and this build has no driver for it"
