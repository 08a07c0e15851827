# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The backends of this build, as a static tuple: no entry points, no registration, nothing to steer from outside."""

from __future__ import annotations

from .base import Backend
from .native.prepare import NativeBackend

BACKENDS: tuple[Backend, ...] = (NativeBackend(),)
