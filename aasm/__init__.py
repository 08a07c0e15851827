# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The version, nothing else: importing this package must cost nothing, since every launch pays for it."""

__version__ = "0.1.0"
