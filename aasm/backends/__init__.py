# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The backends of this build, as a static tuple: no entry points, no registration, nothing to steer from outside.

Each comes as a function, so that a backend that nobody asks is not even imported. The order is the order in which
`--isolation auto` asks them.
"""

from __future__ import annotations

from typing import Callable

from .base import Backend


def _sandlock() -> Backend:
    from .sandlock import SandlockBackend

    return SandlockBackend()


def _native() -> Backend:
    from .native.prepare import NativeBackend

    return NativeBackend()


def _macos_vm() -> Backend:
    from .macos_vm import MacosVmBackend

    return MacosVmBackend()


CANDIDATES: tuple[tuple[str, Callable[[], Backend]], ...] = (
    ("sandlock", _sandlock),
    ("aasm-native", _native),
    ("aasm-macos-vm", _macos_vm),
)
DEFAULT = "aasm-native"  # of `--isolation process`: the one that this build can use
IDS = tuple(name for name, _ in CANDIDATES)


def backend(backend_id: str) -> Backend:
    """Return the backend of this id. KeyError for one that this build does not have."""
    return dict(CANDIDATES)[backend_id]()
