# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Outside the boundary: start the launcher, wait, forward signals, keep the terminal and the tree in order."""
