# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The kernel: tables, filters and calls. The only package that may import ctypes; importing it imports nothing."""
