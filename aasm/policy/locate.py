# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Where policies come from: the first place that holds anything decides, and never falls through to the next.

A place is a file or a directory of files. What they say is none of this module's business.
"""

from __future__ import annotations

import os
from typing import Mapping, NamedTuple, Sequence, Tuple

from ..errors import PolicyError, system_text
from .node import SUFFIXES

OPTION, VARIABLE = "--policy", "AA_POLICY"
MOST = 500  # files; comparing where each leads with what each lets be written grows with the square
_NAMES = ("policy.yaml", "policies")  # a file, then a directory, in each folder


class Located(NamedTuple):
    """Which places decide, none when no place holds a policy; `origin` says why these, `seen` which were asked."""

    paths: Tuple[str, ...]
    origin: str
    seen: Tuple[str, ...] = ()


def locate(options: Sequence[str], environ: Mapping[str, str], home: str, etc: str = "/etc") -> Located:
    """Return the places that decide: the `options` when given, then $AA_POLICY (when not empty), then the files.

    `home` is the user's home directory, empty when none is known; `etc` is the folder of the host's settings.
    """
    if options:
        return Located(tuple(options), OPTION)
    if environ.get(VARIABLE):
        return Located((environ[VARIABLE],), f"${VARIABLE}")
    places = tuple(os.path.join(folder, name) for folder in folders(home, etc) for name in _NAMES)
    for number, place in enumerate(places, 1):
        if _holds_something(place):
            return Located((place,), "found", places[:number])
    return Located((), "", places)


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


def files(located: Located) -> Tuple[str, ...]:
    """Return the files at the places that decide; of a directory those with the suffix of a policy, by name.

    PolicyError for a directory that cannot be listed or holds none, and for more files than anybody means.
    """
    found = tuple(path for place in located.paths for path in _files_at(place, located.origin))
    if len(found) > MOST:
        what = f"{len(found)} policies are named, and {MOST} is the most of one run"
        raise PolicyError(what, located.paths[0], "put several into one file, or name another directory")
    return found


def _files_at(place: str, origin: str) -> Tuple[str, ...]:
    if not place:
        raise PolicyError("no file is named", origin, "name a policy file")
    if not os.path.isdir(place):
        return (place,)
    try:
        names = sorted(os.listdir(place))
    except OSError as problem:
        raise PolicyError(system_text(problem), place, "make it readable for the user who launches") from None
    found = tuple(os.path.join(place, name) for name in names if name.lower().endswith(SUFFIXES) and name[0] != ".")
    if not found:
        raise PolicyError("the directory holds no policy", place, f"put a file with {' '.join(SUFFIXES)} into it")
    return found
