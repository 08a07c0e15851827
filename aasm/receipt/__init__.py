# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Receipts: built from values, judged by rules, sealed, stored, and verified with nothing but this package.

The verifier (`python -m aasm.receipt verify`) needs `aasm.receipt`, `aasm.model` and `aasm.errors` only.
"""
