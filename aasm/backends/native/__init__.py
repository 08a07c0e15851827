# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm-native`: Landlock and seccomp, configured by us and enforced by the kernel.

floor.py, filters.py, rules.py and capability.py are pure; prepare.py turns a run into an order.
"""
