# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a policy states, as values that remember where: entries, lists, tools, leases, and the policy itself.

Values only. One value is the same type before and after a cascade is merged; afterwards it has several origins.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional, Tuple, Union

COMMAND_LINE = "command line"

Names = Tuple[str, ...]
Origins = Tuple[str, ...]  # file:line:column of every statement that a value comes from, or the option


class Entry(NamedTuple):
    """One value, or one entry of a list. `text` is how it is written; what `value` is depends on its key.

    `optional`: the path need not exist.
    """

    text: str
    value: Any
    origins: Origins
    optional: bool = False

    @property
    def where(self) -> str:
        """Every origin, in one text."""
        return " and ".join(self.origins)


class Listing(NamedTuple):
    """A list. An empty one is a statement: nothing is allowed. `origins` are the places of the list itself."""

    entries: Tuple[Entry, ...]
    origins: Origins

    @property
    def texts(self) -> Names:
        """The entries as they are written."""
        return tuple(entry.text for entry in self.entries)

    @property
    def where(self) -> str:
        """Every origin, in one text."""
        return " and ".join(self.origins)


Value = Union[Entry, Listing]
Group = Mapping[str, Value]  # the keys of one tool or of one lease


class Policy(NamedTuple):
    """What a policy states, validated. `values` are by dotted key; an absent key is not stated.

    `source` is the file, `command line`, or every file of a cascade. `api_version` is None for the flat form.
    `tools` are by name, None when the section is absent; `leases` likewise.
    """

    source: str
    api_version: Optional[str] = None
    name: Optional[str] = None
    version: Optional[str] = None
    description: Optional[str] = None
    values: Mapping[str, Value] = {}
    tools: Optional[Mapping[str, Group]] = None
    leases: Optional[Tuple[Group, ...]] = None

    def listing(self, key: str) -> Optional[Listing]:
        """Return the list at a dotted key, None when it is not stated."""
        found = self.values.get(key)
        return found if isinstance(found, Listing) else None

    def names(self, key: str) -> Optional[Names]:
        """Return the texts of the list at a dotted key, None when it is not stated."""
        found = self.listing(key)
        return None if found is None else found.texts

    def entry(self, key: str) -> Optional[Entry]:
        """Return the single value at a dotted key, None when it is not stated."""
        found = self.values.get(key)
        return found if isinstance(found, Entry) else None

    def section(self, name: str) -> Iterator[Tuple[str, Value]]:
        """Yield the stated keys of one section."""
        return ((key, value) for key, value in self.values.items() if key == name or key.startswith(name + "."))
