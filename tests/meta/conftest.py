# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the tree share: this tree, read once for each file of tests and then forgotten."""

from __future__ import annotations

import pytest
from tree import Tree


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree()
