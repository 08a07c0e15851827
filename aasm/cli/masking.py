# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a preview may show of the program's environment: values that may be secrets are masked. Pure.

A floor, not a proof: a secret of no known shape, under a harmless name, in the operator's own environment is shown.
"""

from __future__ import annotations

import os
from typing import NamedTuple, Optional

from ..model.ambient import looks_like_authority
from ..model.environment import Entry
from ..model.resolved import ResolvedRun
from ..receipt.screen import credential_shape

MASK = "***MASKED***"
REMOVED = "removed"  # the origin of a name that does not reach the program
CONNECTION_SUFFIXES = ("URL", "URI", "DSN")  # of names that do not look like authority by themselves
IN_AN_ADDRESS = "url_userinfo"  # the one shape of which a part can be shown


class Variable(NamedTuple):
    """One variable as it is shown. `value` is None when all of it is masked, and for a name that is removed.

    It is exact only when `masked` is false.
    """

    name: str
    value: Optional[str]
    masked: bool
    origin: str


def variables(run: ResolvedRun) -> list[Variable]:
    """Return the program's variables and the names that were removed, in the order of the names."""
    shown = [(entry.name, _variable(entry)) for entry in run.environment.entries]
    for name in run.spec.credentials.removed:
        shown.append((os.fsencode(name), Variable(name, None, False, REMOVED)))
    return [item for _, item in sorted(shown, key=lambda pair: pair[0])]


def _variable(entry: Entry) -> Variable:
    name, text = os.fsdecode(entry.name), os.fsdecode(entry.value)
    value = None if _is_secret(entry, text) else without_password(name, text)
    return Variable(name, value, value != text, entry.origin)


def _is_secret(entry: Entry, text: str) -> bool:
    if entry.origin == "--env" or looks_like_authority(entry.name):  # what is passed on may be anything
        return True
    return credential_shape(text) not in ("", IN_AN_ADDRESS)


def without_password(name: str, text: str) -> str | None:
    """Return a value without the password of an address in it; None when nothing of it can be shown.

    From the first `://` to the last `@` everything may belong to the password, so it goes, but for a plain user. Under
    a name that ends in URL, URI or DSN the query goes too, and a value that is no address goes whole.
    """
    scheme, sign, rest = text.partition("://")
    connection = name.upper().endswith(CONNECTION_SUFFIXES)
    if not sign:
        return None if connection and text else text
    who, at, where = rest.rpartition("@")
    if connection and "?" in where:
        where = where.partition("?")[0] + "?" + MASK
    return f"{scheme}://{_user(who) if at else ''}{at}{where}"


def _user(who: str) -> str:
    user, colon, _ = who.partition(":")
    return f"{user}:{MASK}" if colon and all(char.isalnum() or char in "-._+" for char in user) else MASK
