# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The kinds of values a policy has: each reads one node into an entry, or raises PolicyError at its place.

Nothing here knows which key a value belongs to; `label` is its dotted name, for the error.
"""

from __future__ import annotations

import re
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from ..model import privileges
from ..model.ambient import supervisors_own
from ..model.domains import DOMAINS
from . import checks
from .faults import Kept, Reading
from .node import Node, refuse, shown
from .places import path_value
from .values import Entry, Listing
from .vocabulary import (
    CAPABILITIES as CAPABILITY_WORDS,
    CREDENTIAL_ACTIONS,
    EXCEED_ACTIONS,
    GLOBAL_SCOPE,
    NAMED_CAPABILITIES,
    NAMED_SCOPES,
    POSTURES as POSTURE_WORDS,
)

One = Callable[[Reading, Node, str], Entry]


class Kind(NamedTuple):
    """A kind of value. `words` say what it is; with `many` it is a list of what `one` reads."""

    words: str
    one: One
    many: bool = False


def listed(reading: Reading, node: Node, label: str, one: One) -> Listing:
    """Return the list whose entries `one` reads; each fault is kept, and PolicyError raised for what is no list."""
    items = checks.items(reading.name, node, label)
    made = (reading.attempt(one, reading, item, f"{checks.ENTRY}{label}") for item in items)
    return Listing(tuple(entry for entry in made if entry is not None), reading.at(node))


def _entry(reading: Reading, node: Node, value: Any, text: Optional[str] = None, optional: bool = False) -> Entry:
    return Entry(str(value) if text is None else text, value, reading.at(node), optional)


# --- texts ------------------------------------------------------------------------------------------


def word(reading: Reading, node: Node, label: str) -> Entry:
    """Read a text that is not blank."""
    return _entry(reading, node, checks.filled(reading.name, node, label))


def _choice(words: Sequence[str], what: str) -> One:
    def one(reading: Reading, node: Node, label: str) -> Entry:
        return _entry(reading, node, checks.one_of(reading.name, node, label, words, what))

    return one


def _matching(pattern: str, what: str, remedy: str) -> One:
    compiled: List[re.Pattern[str]] = []

    def one(reading: Reading, node: Node, label: str) -> Entry:
        text = checks.text(reading.name, node, label)
        if not compiled:
            compiled.append(re.compile(pattern, re.ASCII))
        if not compiled[0].fullmatch(text):
            refuse(reading.name, node, f"{shown(text)} in {checks.inside(label)} is not {what}", remedy)
        return _entry(reading, node, text)

    return one


def _capability(reading: Reading, node: Node, label: str) -> Entry:
    text = checks.text(reading.name, node, label)
    if any(text.startswith(prefix) and text[len(prefix) :].strip() for prefix in NAMED_CAPABILITIES):
        return _entry(reading, node, text)
    known = (*CAPABILITY_WORDS, *(f"{prefix}NAME" for prefix in NAMED_CAPABILITIES))
    return _entry(reading, node, checks.one_of(reading.name, node, label, known, "a capability"))


STATED = ("team:", "agent:")  # what a run can say of itself by --team-id and --agent-id
ID = "[A-Za-z0-9._:-]{1,128}"


def scope(reading: Reading, node: Node, label: str) -> Entry:
    """Read `global`, or one of `org:` `team:` `agent:` `tool:` with a name behind it."""
    text = checks.text(reading.name, node, label)
    prefix = next((prefix for prefix in NAMED_SCOPES if text.startswith(prefix)), "")
    own = text[len(prefix) :]
    if text != GLOBAL_SCOPE and (not prefix or not own or not own.isprintable() or " " in own):
        spelled = ", ".join(f"{prefix}NAME" for prefix in NAMED_SCOPES)
        refuse(reading.name, node, f"{shown(text)} is not a scope", f"write {GLOBAL_SCOPE}, or one of {spelled}")
    if prefix in STATED and not re.fullmatch(ID, own):  # the document would be left out of every run
        what = f"no run can say that it is of {prefix}{shown(own)}"
        refuse(reading.name, node, what, "use 1 to 128 letters, digits and the signs . _ : -")
    return _entry(reading, node, text)


def _syscall(reading: Reading, node: Node, label: str) -> Entry:
    from . import calls  # only here: most policies name none, and it loads the tables of every architecture

    text = checks.text(reading.name, node, label)
    if not calls.known(text):
        remedy = f"name a call of Linux, or one of {', '.join(calls.GROUPS)}"
        close = checks.closest(text, calls.spellings())
        refuse(reading.name, node, f"{shown(text)} is no system call and no group of them", close + remedy)
    for name in calls.expand(text):
        if name in reading.refused_calls:
            what = f"{shown(name)} is refused in every boundary, so allowing it would mean nothing"
            refuse(reading.name, node, what, "take it out")
    return _entry(reading, node, calls.expand(text), text)


def _variable(reading: Reading, node: Node, label: str) -> Entry:
    entry = _name_of_variable(reading, node, label)
    if supervisors_own(entry.text.encode()):
        refuse(reading.name, node, f"{entry.text} is authority of the supervisor and never passed on", "take it out")
    return entry


# What these texts look like; the JSON schema says the same.
VARIABLE = "[A-Za-z_][A-Za-z0-9_]*"
ZONE = "[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9][A-Za-z0-9_+-]*){0,2}"
TIME_OF_DAY = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_SPAN = "[0-9]{1,9} ?(?:s|m|h|d|w|seconds?|minutes?|hours?|days?|weeks?|months?)"
SPANS = f"{_SPAN}(?: ?{_SPAN}){{0,5}}"

_name_of_variable = _matching(
    VARIABLE, "the name of an environment variable", "write a name alone, without = and without *"
)


def _privilege(reading: Reading, node: Node, label: str) -> Entry:
    text = checks.one_of(reading.name, node, label, privileges.NAMES, "a capability of the kernel")
    if text in privileges.NEVER:
        refuse(reading.name, node, f"{text} cannot be allowed: {privileges.NEVER[text]}", "take it out")
    return _entry(reading, node, text)


_LONGEST_PATTERN = 4096  # characters
# What is read of all patterns of a document; parsing takes up to four microseconds for a character, and some for each.
MOST_PATTERNS, SHORTEST = 65536, 16  # characters of all together, each pattern counted as so many at least
_FARTHEST_BEHIND = 2**31 - 1  # characters; what looks farther behind is no code to some release of re


def _pattern(reading: Reading, node: Node, label: str) -> Entry:
    text = checks.filled(reading.name, node, label)
    if len(text) > _LONGEST_PATTERN:
        refuse(reading.name, node, f"a pattern of more than {_LONGEST_PATTERN} characters", "divide it into several")
    before, reading.patterns = reading.patterns, reading.patterns + max(len(text), SHORTEST)
    if before <= MOST_PATTERNS < reading.patterns:
        what = f"with this one the patterns of the document count more than {MOST_PATTERNS} characters"
        refuse(reading.name, node, what, f"take some out (each counts as {SHORTEST} at least); no later one was read")
    try:
        if reading.patterns <= MOST_PATTERNS:  # else the document is refused already
            _parsed(text)
    except (re.error, ValueError, OverflowError, RecursionError, Warning) as problem:
        what = f"{shown(text)} in {checks.inside(label)} is no regular expression: {problem}"
        refuse(reading.name, node, what, "write it as Python's re reads it")
    return _entry(reading, node, text)


_PARSER = "_parser" if hasattr(re, "_parser") else "sre_parse"  # since Python 3.11, and before


def _parsed(text: str) -> None:
    """Raise whatever Python's re would raise for a text, warnings as well.

    It is parsed and no more: making code of it can take thousands of times as long, and nothing here runs it.
    """
    import warnings  # only here: few policies hold a pattern

    parser = getattr(re, _PARSER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what will read otherwise one day, or reads otherwise in another release
        tree = parser.parse(text)
    if "(?<" in text:
        _check_behind(tree, parser.SubPattern)


def _check_behind(tree: Any, branch: type) -> None:
    """Raise what only the compiler of re finds wrong in a parsed text: a look behind that has no one width."""
    todo = [tree]
    while todo:
        for name, inside in todo.pop().data:
            parts = inside if isinstance(inside, tuple) else (inside,)
            if str(name) in ("ASSERT", "ASSERT_NOT") and parts[0] < 0:
                least, most = parts[1].getwidth()
                if least != most or least > _FARTHEST_BEHIND:
                    raise ValueError("what it looks behind for has no fixed width, or an enormous one")
            each = (one for part in parts for one in (part if isinstance(part, list) else (part,)))
            todo += [one for one in each if isinstance(one, branch)]


def _condition(reading: Reading, node: Node, label: str) -> Entry:
    from . import expression  # only here: few policies hold one

    text = checks.filled(reading.name, node, label)
    try:
        return _entry(reading, node, expression.parse(text), text)
    except expression.ExpressionError as problem:
        what = f"in {label}, at character {problem.at + 1} of its text: {problem.what}"
        refuse(reading.name, node, what, problem.remedy)


def _timezone(reading: Reading, node: Node, label: str) -> Entry:
    entry = _name_of_timezone(reading, node, label)
    import os

    base = "/usr/share/zoneinfo"  # tzset(3); a host without it cannot tell, and a launch does not act on the key
    if os.path.isdir(base) and not os.path.isfile(os.path.join(base, entry.text)):
        refuse(reading.name, node, f"{shown(entry.text)} is no time zone of this host", "write Area/City")
    return entry


_name_of_timezone = _matching(
    ZONE,
    "the name of a time zone",
    "write it as in Europe/Berlin, or UTC",
)


# --- numbers ----------------------------------------------------------------------------------------


def _count(reading: Reading, node: Node, label: str) -> Entry:
    return _entry(reading, node, checks.count(reading.name, node, label))


def _truth(reading: Reading, node: Node, label: str) -> Entry:
    value = checks.truth(reading.name, node, label)
    return _entry(reading, node, value, "true" if value else "false")


def _amount(reading: Reading, node: Node, label: str) -> Entry:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        checks.wrong(reading.name, node, label, "a number", "write an amount such as 20.0, without quotes")
    if value < 0:
        refuse(reading.name, node, f"{label} is {value}", "write an amount from 0 up")
    return _entry(reading, node, value)


def _port(reading: Reading, node: Node, label: str) -> Entry:
    value, remedy = node.value, "write a port from 1 to 65535, without quotes"
    if isinstance(value, bool) or not isinstance(value, int):
        checks.wrong(reading.name, node, label, "a port", remedy)
    if not 1 <= value <= 65535:
        refuse(reading.name, node, f"{label} is {value}", remedy)
    return _entry(reading, node, value)


# --- paths, hosts, maps -----------------------------------------------------------------------------


def _path(reading: Reading, node: Node, label: str) -> Entry:
    if not isinstance(node.value, dict):
        text = checks.text(reading.name, node, label)
        return _entry(reading, node, path_value(text, reading.at(node)[0]), text)
    found, known = reading.members(node, label, ("path", "optional"))
    if "path" not in found:
        refuse(reading.name, node, f"{label} has no path", "write it as {path: /an/absolute/path, optional: true}")
    entry, stated = reading.attempt(_inner_path, reading, found["path"].node, f"path of {label}"), found.get("optional")
    optional = stated and reading.attempt(checks.truth, reading.name, stated.node, f"optional of {label}")
    if not known or entry is None or (stated is not None and optional is None):
        raise Kept
    return entry._replace(optional=bool(optional))


def _inner_path(reading: Reading, node: Node, label: str) -> Entry:
    text = checks.text(reading.name, node, label)
    return _entry(reading, node, path_value(text, reading.at(node)[0]), text)


def _host(reading: Reading, node: Node, label: str) -> Entry:
    from .hosts import host_value  # only here: a launch without hosts need not pay for it

    text = checks.text(reading.name, node, label)
    return _entry(reading, node, host_value(text, reading.at(node)[0]), text)


class Hours(NamedTuple):
    """When an agent may act: from `start` to before `end`, minutes since midnight, by the clock of a time zone."""

    start: int
    end: int
    timezone: str


def _hours(reading: Reading, node: Node, label: str) -> Entry:
    found, known = reading.members(node, label, ("start", "end", "timezone"))
    for key in ("start", "end"):
        if key not in found:
            refuse(reading.name, node, f"{label} has no {key}", 'write start and end as "HH:MM"')
    start, end = (reading.attempt(_clock, reading, found[key].node, f"{label}.{key}") for key in ("start", "end"))
    zone: Optional[Entry] = Entry("UTC", "UTC", ())
    if "timezone" in found:
        zone = reading.attempt(_timezone, reading, found["timezone"].node, f"{label}.timezone")
    if start is not None and end is not None and start.value >= end.value:
        what = f"{label} begins at {start.text} and ends at {end.text}, which is not later"
        refuse(reading.name, found["end"].node, what, "write an end behind the start, on the same day")
    if not known or start is None or end is None or zone is None:
        raise Kept
    return _entry(reading, node, Hours(start.value, end.value, zone.text), f"{start.text}-{end.text} {zone.text}")


_TIME = _matching(TIME_OF_DAY, "a time of day", 'write "HH:MM" in quotes, from 00:00 to 23:59')


def _clock(reading: Reading, node: Node, label: str) -> Entry:
    entry = _TIME(reading, node, label)
    hour, minute = entry.text.split(":")
    return entry._replace(value=int(hour) * 60 + int(minute))


def _lease_scope(reading: Reading, node: Node, label: str) -> Entry:
    """Read `whole` or a list of selectors; the value of `whole` is None."""
    if node.value == "whole":
        return _entry(reading, node, None, "whole")
    if not isinstance(node.value, tuple) or not node.value:
        checks.wrong(reading.name, node, label, "whole, or a list of selectors", "write whole, or name at least one")
    names = tuple(checks.filled(reading.name, item, f"{checks.ENTRY}{label}") for item in node.value)
    return _entry(reading, node, names, ", ".join(names))


_DOMAIN = _choice(tuple(domain.value for domain in DOMAINS), "a capability domain")

PATHS = Kind("list of paths", _path, True)
HOSTS = Kind("list of hosts", _host, True)
PORTS = Kind("list of ports", _port, True)
VARIABLES = Kind("list of variables", _variable, True)
PRIVILEGES = Kind("list of kernel capabilities", _privilege, True)
CAPABILITIES = Kind("list of capabilities", _capability, True)
SYSCALLS = Kind("list of system calls", _syscall, True)
PATTERNS = Kind("list of regular expressions", _pattern, True)
WORDS = Kind("list of texts", word, True)
DOMAINS_OF_TOOL = Kind("list of domains", _DOMAIN, True)
WORD = Kind("text", word)
COUNT = Kind("whole number from 1", _count)
AMOUNT = Kind("number from 0", _amount)
TRUTH = Kind("true or false", _truth)
CONDITION = Kind("condition", _condition)
HOURS = Kind("map of start, end, timezone", _hours)
TIMEZONE = Kind("time zone", _timezone)
DURATION = Kind("duration", _matching(SPANS, "a duration", "write it as in 30d or 12h 30m"))
DOMAIN = Kind("domain", _DOMAIN)
LEASE_SCOPE = Kind("whole, or list of selectors", _lease_scope)
EXCEED_ACTION = Kind("one of " + ", ".join(EXCEED_ACTIONS), _choice(EXCEED_ACTIONS, "what exceeding may lead to"))
CREDENTIAL_ACTION = Kind(
    "one of " + ", ".join(CREDENTIAL_ACTIONS), _choice(CREDENTIAL_ACTIONS, "what a credential may lead to")
)
POSTURE = Kind("one of " + ", ".join(POSTURE_WORDS), _choice(POSTURE_WORDS, "a posture"))
