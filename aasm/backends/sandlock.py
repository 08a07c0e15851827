# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`sandlock`: a launcher of another project. This build does not drive it, installed or not."""

from __future__ import annotations

from .absent import AbsentBackend


class SandlockBackend(AbsentBackend):
    """A candidate that is always unavailable in this build."""

    id = "sandlock"
    license = "Apache-2.0"
    reason = "this build has no driver for the `sandlock` program, so it was not even looked for"
