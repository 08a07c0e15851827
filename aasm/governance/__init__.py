# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Governance: who a run is attributed to, and the ledger in which every launch is registered before it starts."""
