# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The program's environment, built from nothing in layers, each entry with its origin. Names decide, never values."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Sequence, Tuple

from ..errors import UsageError
from .ambient import looks_like_authority, supervisors_own
from .requirements import CredentialPosture

# Harmless names that travel by themselves; a name that ends in * is a prefix.
INHERITED = (
    "PATH", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "TZ", "USER", "LOGNAME",
    "SHELL",
)  # fmt: skip


class Entry(NamedTuple):
    """One variable and the layer that set it."""

    name: bytes
    value: bytes
    origin: str


class Environment(NamedTuple):
    """The entries in the order of their names, and what became of inherited authority."""

    entries: tuple[Entry, ...]
    posture: CredentialPosture

    def strings(self) -> list[bytes]:
        """Return the entries as execve(2) takes them."""
        return [entry.name + b"=" + entry.value for entry in self.entries]

    def get(self, name: bytes) -> bytes | None:
        """Return the value of one variable, or None."""
        return next((entry.value for entry in self.entries if entry.name == name), None)


Layers = Sequence[Tuple[str, Mapping[bytes, bytes]]]  # origin and what it sets, in the order in which they apply


def replaced(
    inherited: Mapping[bytes, bytes],
    delegated: Mapping[bytes, bytes | None],
    above: Layers,
    passed: Sequence[bytes] = (),
) -> Environment:
    """Return the environment of a confined program: nothing but the layers, later ones win.

    `delegated` holds what the operator named, with a value, or None to pass the inherited one; it wins over all.
    The supervisor's own authority is not passed on, not even when it is named there.
    `above` are the layers between the inherited names and that: the private directory, an adapter's own. `passed` are
    the names that the policy passes on when they are set; what stands above them wins.
    """
    layers: dict[bytes, Entry] = {}
    for name, value in inherited.items():
        if name and _travels(name) and not looks_like_authority(name):
            layers[name] = Entry(name, value, "inherited")
    named = [name for name in passed if name in inherited and not supervisors_own(name)]
    layers.update({name: Entry(name, inherited[name], "policy") for name in named})
    for origin, values in above:
        layers.update({name: Entry(name, value, origin) for name, value in values.items()})
    for name, given in delegated.items():
        if supervisors_own(name):
            continue
        value = inherited.get(name, b"") if given is None else given
        if given is not None or name in inherited:
            layers[name] = Entry(name, value, "--env")
    removed = _names(name for name in inherited if name not in layers and looks_like_authority(name))
    given_on = _names(name for name in layers if name in (*delegated, *named) and looks_like_authority(name))
    return Environment(_sorted(layers.values()), CredentialPosture(removed=removed, delegated=given_on))


def untouched(
    inherited: Mapping[bytes, bytes], delegated: Mapping[bytes, bytes | None], above: Layers = ()
) -> Environment:
    """Return the environment of a program without a boundary: the operator's own, `above`, and what `--env` adds."""
    # an entry without a name is legal for execve(2) and means nothing; the C library refuses to pass it on
    layers = {name: Entry(name, value, "inherited") for name, value in inherited.items() if name}
    for origin, values in above:
        layers.update({name: Entry(name, value, origin) for name, value in values.items()})
    layers.update({name: Entry(name, value, "--env") for name, value in delegated.items() if value is not None})
    passed = _names(name for name in layers if name in delegated and looks_like_authority(name))
    ambient = _names(name for name in inherited if name not in delegated and looks_like_authority(name))
    return Environment(_sorted(layers.values()), CredentialPosture(delegated=passed, ambient_unremoved=ambient))


def parse_option(text: str) -> tuple[str, str | None]:
    """Split `NAME` or `NAME=VALUE`; UsageError for an empty name, or one that belongs to the supervisor."""
    name, sign, value = text.partition("=")
    if not name or "\0" in text:
        raise UsageError("expected NAME or NAME=VALUE", "--env", "give the name of a variable")
    if supervisors_own(name.encode("utf-8", "replace")):
        raise UsageError(f"{name} is authority of the supervisor and never passed on", "--env", "leave it out")
    return name, value if sign else None


def _travels(name: bytes) -> bool:
    text = _text(name)
    return any(text.startswith(item[:-1]) if item.endswith("*") else text == item for item in INHERITED)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _names(names: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted(_text(name) for name in names))


def _sorted(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.name))
