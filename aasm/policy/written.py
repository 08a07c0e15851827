# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A policy, merged and placed, as a document that reads back as the same, each value with its origin. Pure.

What no single document can state is told apart, in words. Nothing here knows where a policy came from.
"""

from __future__ import annotations

from typing import Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..errors import PolicyError, one_line
from .expression import ExpressionError, parse, spelled
from .kinds import CONDITION, HOURS, LEASE_SCOPE, Hours
from .node import MAX_KEY
from .places import Placed, path_value
from .schema import AUTHORITY, LEASE_KEYS, LEASES, SCOPE, TOOL_KEYS, TOOLS, TREE, Branch, Key
from .values import Entry, Group, Listing, Policy, Value

_STEP = "  "
_MOST_DIGITS = 64  # of a number that the YAML reader reads


class Written(NamedTuple):
    """The lines of the document, and what it could not state: each `key: value`, with its origin and the reason."""

    lines: Tuple[str, ...]
    left_out: Tuple[str, ...]


class _Unfit(ValueError):
    """What no document can state; the text says why."""


def written(policy: Policy) -> Written:
    """Return the policy as lines of YAML without line ends. Raises nothing for any policy that was validated."""
    made = _Writing(policy)
    return Written(tuple(made.document()), tuple(made.left_out))


def quote(text: str) -> str:
    """Return text in the double quotes of YAML; what does not print is escaped (YAML 1.2.2, section 5.7)."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: float) -> str:
    """Return a number without an exponent, as every reader reads it. _Unfit where that takes too many digits."""
    text = repr(value)
    if "e" in text:
        from decimal import Decimal  # only here: who budgets such amounts?

        text = f"{Decimal(text):f}"
        text += "" if "." in text else ".0"
    if len(text) > _MOST_DIGITS:
        raise _Unfit("a number of more digits than every reader reads")
    return text


def window(listing: Listing) -> Optional[Hours]:
    """Return the one window in which all of these are open, None when none can state it."""
    every: Sequence[Hours] = [entry.value for entry in listing.entries]
    start, end = max(item.start for item in every), min(item.end for item in every)
    same = len({item.timezone for item in every}) == 1
    return Hours(start, end, every[0].timezone) if same and start < end else None


def clock(minutes: int) -> str:
    """Return minutes since midnight as HH:MM."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


class _Writing:
    """The policy while it is written; `left_out` grows."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.left_out: List[str] = []

    def document(self) -> Iterator[str]:
        scope = self.policy.entry(SCOPE)
        if scope is not None:
            yield f"{SCOPE}: {quote(scope.text)}{_comment(scope.origins)}"
        yield from self.branch(TREE, "", "")
        if self.policy.tools is not None:
            yield from self.tools(self.policy.tools)
        if self.policy.leases is not None:
            yield from self.leases(self.policy.leases)

    def branch(self, branch: Branch, above: str, indent: str) -> Iterator[str]:
        """Yield the keys of a section; a section of which nothing is left is left out too."""
        for name, due in branch.items():
            label = above + name
            if isinstance(due, Key):
                value = self.policy.values.get(label)
                yield from () if value is None else self.value(due, name, label, value, indent)
                continue
            inner = list(self.branch(due, label + ".", indent + _STEP))
            if inner:
                yield f"{indent}{name}:"
                yield from inner

    def tools(self, tools: Mapping[str, Group]) -> Iterator[str]:
        made: List[str] = []
        for name, group in tools.items():
            label, key = f"{TOOLS}.{quote(name)}", quote(name)
            if len(key) > MAX_KEY:
                self.lose(label, "", (), "a key of more characters than every reader reads")
                continue
            inner = list(self.group(TOOL_KEYS, group, label + ".", _STEP * 2))
            made += [f"{_STEP}{key}:", *inner] if inner else [f"{_STEP}{key}: {{}}"]
        yield from [f"{TOOLS}:", *made] if made else [f"{TOOLS}: {{}}"]

    def leases(self, leases: Sequence[Group]) -> Iterator[str]:
        label = f"{AUTHORITY}.{LEASES}"
        yield f"{AUTHORITY}:"
        yield f"{_STEP}{LEASES}:" if leases else f"{_STEP}{LEASES}: []"
        for group in leases:
            first, *rest = self.group(LEASE_KEYS, group, label + ".", _STEP * 3)
            yield f"{_STEP * 2}- {first.lstrip()}"
            yield from rest

    def group(self, keys: Mapping[str, Key], group: Group, above: str, indent: str) -> Iterator[str]:
        for name, key in keys.items():
            if name in group:
                yield from self.value(key, name, above + name, group[name], indent)

    def value(self, key: Key, name: str, label: str, value: Value, indent: str) -> Iterator[str]:
        """Yield one key with its value."""
        if isinstance(value, Listing) and key.kind.many:
            yield from self.listing(name, label, value, indent)
            return
        try:
            text = _joined(key, value) if isinstance(value, Listing) else _text(key, value)
        except _Unfit as problem:
            for entry in value.entries if isinstance(value, Listing) else (value,):
                self.lose(label, entry.text, entry.origins, str(problem))
        else:
            yield f"{indent}{name}: {text}{_comment(value.origins)}"

    def listing(self, name: str, label: str, listing: Listing, indent: str) -> Iterator[str]:
        items = list(self.items(label, listing.entries, indent + _STEP))
        yield f"{indent}{name}:{'' if items else ' []'}{_comment(listing.origins)}"
        yield from items

    def items(self, label: str, entries: Iterable[Entry], indent: str) -> Iterator[str]:
        for entry in entries:
            try:
                yield f"{indent}- {_item(entry)}{_comment(entry.origins)}"
            except _Unfit as problem:
                self.lose(label, _plain(entry), entry.origins, str(problem))

    def lose(self, label: str, text: str, origins: Sequence[str], why: str) -> None:
        value = f"{label}: {text}" if text else label
        self.left_out.append(one_line(f"{value}{_comment(origins)} ({why})"))


def _comment(origins: Sequence[str]) -> str:
    return f"  # {one_line(' and '.join(origins))}" if origins else ""


def _plain(entry: Entry) -> str:
    return entry.value.path if isinstance(entry.value, Placed) else entry.text


def _item(entry: Entry) -> str:
    """Return one entry of a list."""
    value = entry.value
    if isinstance(value, (int, float)):
        return number(value)
    if not isinstance(value, Placed):
        return quote(entry.text)
    try:
        value.path.encode()
        path_value(value.path, "")
    except UnicodeEncodeError:
        raise _Unfit("the path is not UTF-8, as a document is") from None
    except PolicyError as problem:
        raise _Unfit(problem.what) from None
    text = quote(value.path)
    return f"{{path: {text}, optional: true}}" if entry.optional else text


def _text(key: Key, entry: Entry) -> str:
    """Return one value that is no list."""
    value = entry.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number(value)
    if key.kind is HOURS:
        return _hours(value)
    if key.kind is LEASE_SCOPE and value is not None:
        return f"[{', '.join(map(quote, value))}]"
    return quote(entry.text)


def _joined(key: Key, listing: Listing) -> str:
    """Return what several tiers state, all of which holds, as one value."""
    if key.kind is HOURS:
        both = window(listing)
        if both is None:
            raise _Unfit("no single window states it: it is open while all of them are")
        return _hours(both)
    assert key.kind is CONDITION  # no other key keeps what several tiers state
    text = " OR ".join(spelled(entry.value) for entry in listing.entries)
    try:
        parse(text)
    except ExpressionError as problem:
        raise _Unfit(f"no single condition states it, and each of them counts: {problem.what}") from None
    return quote(text)


def _hours(hours: Hours) -> str:
    return f'{{start: "{clock(hours.start)}", end: "{clock(hours.end)}", timezone: {quote(hours.timezone)}}}'
