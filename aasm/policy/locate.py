# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where the policy comes from, and which of four states it puts a launch into.

The first place that holds anything decides; a place that is named or found and cannot be used never falls through to
the next. Nothing here raises for a bad policy: the state says so, and carries the error.
"""

from __future__ import annotations

import enum
import os
from typing import Mapping, NamedTuple, Optional, Tuple

from ..errors import PolicyError
from .document import Policy, validate
from .node import Document
from .sections import ToolRule

OPTION, VARIABLE = "--policy", "AA_POLICY"
_NAMES = ("policy.yaml", "policies")  # a file, then a directory, in each folder


class PolicyState(enum.Enum):
    """What was found. Only the first two let a launch go on."""

    ENFORCED = "enforced"
    PERMISSIVE = "permissive"
    UNCONFIGURED = "unconfigured"
    LOAD_FAILED = "load_failed"


class Located(NamedTuple):
    """Which place decides. `path` is None when no place holds a policy; `origin` says why this place, `seen` which
    places were asked."""

    path: Optional[str]
    origin: str
    seen: Tuple[str, ...] = ()


class Loaded(NamedTuple):
    """The outcome. `detail` is one line for a report and says what to do; `error` is set when no launch may go on."""

    state: PolicyState
    source: str
    policy: Optional[Policy]
    document: Optional[Document]
    detail: str
    error: Optional[PolicyError]


def locate(option: Optional[str], environ: Mapping[str, str], home: str, etc: str = "/etc") -> Located:
    """Return the place that decides: `option` alone when given, then $AA_POLICY (when not empty), then the files.

    `home` is the user's home directory, empty when none is known; `etc` is the folder of the host's settings.
    """
    if option is not None:
        return Located(option, OPTION)
    if environ.get(VARIABLE):
        return Located(environ[VARIABLE], f"${VARIABLE}")
    places = tuple(os.path.join(folder, name) for folder in folders(home, etc) for name in _NAMES)
    for number, place in enumerate(places, 1):
        if _holds_something(place):
            return Located(place, "found", places[:number])
    return Located(None, "", places)


def folders(home: str, etc: str = "/etc") -> Tuple[str, ...]:
    """Return the folders in which a policy is looked for, in this order; `home` is empty when none is known."""
    return ((os.path.join(home, ".aasm"),) if home else ()) + (os.path.join(etc, "aasm"),)


def _holds_something(place: str) -> bool:
    """Return whether anything is at `place`. What cannot be looked at counts: it may be the policy that is meant."""
    try:
        os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def load(located: Located) -> Loaded:
    """Read and judge the policy at the place that decides. Never raises for what is there."""
    if located.path is None:
        what = f"no policy was found in {', '.join(located.seen)}"
        remedy = "name one with --policy, or state one with --read, --write or --system"
        return _refused(PolicyState.UNCONFIGURED, "none", None, None, PolicyError(what, "policy", remedy))
    try:
        document = _read(located)
        policy = validate(document)
    except PolicyError as problem:
        return _refused(PolicyState.LOAD_FAILED, located.path, None, None, problem)
    return judge(policy, document)


def _read(located: Located) -> Document:
    path = located.path or ""
    if not path:
        raise PolicyError("no file is named", located.origin, "name a policy file")
    if os.path.isdir(path):
        remedy = "name one policy file with --policy, or move the directory away"
        raise PolicyError("this release does not read a directory of policies yet", path, remedy)
    from .reader import read_file  # only here: a policy on the command line needs no reader

    return read_file(path)


def judge(policy: Policy, document: Optional[Document] = None) -> Loaded:
    """Return the state of a policy that was read, or stated on the command line (then without a document)."""
    stated = dimensions(policy)
    if not stated:
        what = "the policy states no rule that a launch can act on"
        remedy = "state filesystem, network, capabilities, syscalls or tools"
        error = PolicyError(what, policy.source, remedy)
        return _refused(PolicyState.UNCONFIGURED, policy.source, policy, document, error)
    if stated == ("tools",) and _allows_every_tool(policy):
        detail = 'the policy allows every tool ("*") and restricts nothing; state a restriction to have it enforced'
        return Loaded(PolicyState.PERMISSIVE, policy.source, policy, document, detail, None)
    detail = f"the policy states rules for {', '.join(stated)}"
    return Loaded(PolicyState.ENFORCED, policy.source, policy, document, detail, None)


def dimensions(policy: Policy) -> Tuple[str, ...]:
    """Return the sections in which a policy states a rule. An empty allow-list is one, an empty deny-list is none."""
    stated = {
        "filesystem": policy.filesystem_read is not None or policy.filesystem_write is not None,
        "network": policy.network_allowlist is not None,
        "capabilities": policy.capabilities_allow is not None or bool(policy.capabilities_deny),
        "syscalls": policy.syscalls_allow is not None,
        "tools": bool(policy.tools),
    }
    return tuple(name for name, is_stated in stated.items() if is_stated)


def _allows_every_tool(policy: Policy) -> bool:
    rules = policy.tools or ()
    return len(rules) == 1 and rules[0] == ToolRule("*", True)


def _refused(
    state: PolicyState, source: str, policy: Optional[Policy], document: Optional[Document], error: PolicyError
) -> Loaded:
    return Loaded(state, source, policy, document, str(error), error)
