# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The vocabulary: immutable values and enums that the stages hand to each other. No I/O, no kernel."""
