# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A document while it is read, and every fault that was found in it. Knows no kind of value and no key."""

from __future__ import annotations

from typing import Any, Callable, Container, List, Optional, Sequence, Tuple, TypeVar

from ..errors import PolicyError
from . import checks
from .node import Members, Node, where

T = TypeVar("T")


MOST_FAULTS = 1000  # of one document; who mends those sees the rest


class Enough(Exception):
    """So many faults were found that looking for more would only take time."""


class Kept(Exception):
    """A value cannot be read, and each of its faults is kept already."""


class Reading:
    """One document while it is read: its name, the calls that nobody may be allowed, and every fault so far."""

    def __init__(self, name: str, refused_calls: Container[str] = (), most: int = MOST_FAULTS) -> None:
        self.name, self.refused_calls, self.most = name, refused_calls, most
        self.faults: List[PolicyError] = []
        self.patterns = 0  # characters of all patterns so far, as they are counted

    def attempt(self, read: Callable[..., T], *args: Any) -> Optional[T]:
        """Return what `read` gives, or None once its PolicyError has been kept."""
        try:
            return read(*args)
        except Kept:
            return None
        except PolicyError as problem:
            self.faults.append(problem.with_traceback(None))
            if len(self.faults) >= self.most:
                raise Enough from None
            return None

    def members(self, node: Node, label: str, known: Sequence[str]) -> Tuple[Members, bool]:
        """Return the entries of a map, and whether all of its keys are `known`: the first of the others is a fault."""
        found = checks.mapping(self.name, node, label)
        return found, self.attempt(checks.members, self.name, node, label, known) is not None

    def at(self, node: Node) -> Tuple[str]:
        """Return the origin of a node, as entries keep it."""
        return (where(self.name, node),)
