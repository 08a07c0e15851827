# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Strict JSON, and every difference between what was found and what is wanted.

A reader that keeps the last of two equal keys, or takes NaN for a number, sees another document than the next reader
does; here the first is told and the second refused. It must not open a file, and nothing in it knows what it compares.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Dict, Iterator, List, NoReturn, Optional, Sequence, Tuple

# What tells one entry of a list from the next: the first of these that it has, else all of it.
_NAMES = ("fileName", "SPDXID", "algorithm")


def parsed(data: bytes) -> Tuple[Any, List[str]]:
    """Return the value of JSON text in UTF-8, and a sentence for each key that stands twice in one object.

    ValueError with one line for what is no JSON as RFC 8259 has it, or cannot be read.
    """
    twice: List[str] = []

    def members(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        counts = Counter(key for key, _ in pairs)
        twice.extend(f"{shown(key)} stands {times} times in one object" for key, times in counts.items() if times > 1)
        return dict(pairs)

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=members, parse_constant=_no_number), twice
    except UnicodeDecodeError as problem:
        raise ValueError(f"no JSON: no UTF-8 at byte {problem.start}") from problem
    except json.JSONDecodeError as problem:
        raise ValueError(f"no JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}") from problem
    except (ValueError, RecursionError) as problem:  # a number with too many digits, too many brackets
        raise ValueError(f"no JSON that is read here: {problem}") from problem


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


def differences(found: Any, wanted: Any, at: str = "") -> Iterator[str]:
    """Yield each difference between two JSON values with its place: types, values, keys, entries and their order."""
    place = f"{at}: " if at else ""
    if isinstance(wanted, dict) and isinstance(found, dict):
        yield from (f"{place}{shown(key)} is missing" for key in wanted if key not in found)
        yield from (f"{place}{shown(key)} is unknown" for key in found if key not in wanted)
        for key in (key for key in wanted if key in found):
            yield from differences(found[key], wanted[key], f"{at}.{key}" if at else key)
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from _entries(found, wanted, at)
    elif type(found) is not type(wanted) or found != wanted:
        yield f"{place}{shown(found)} must be {shown(wanted)}"


def _entries(found: Sequence[Any], wanted: Sequence[Any], at: str) -> Iterator[str]:
    have, need = [name_of(item) for item in found], [name_of(item) for item in wanted]
    are, must = Counter(have), Counter(need)
    for name in dict.fromkeys([*need, *have]):
        if are[name] != must[name]:
            said = "is missing" if not are[name] else "is unknown" if not must[name] else f"stands {are[name]} times"
            yield f"{at}: {name} {said}"
    both = are & must
    if [name for name in dict.fromkeys(have) if name in both] != [name for name in dict.fromkeys(need) if name in both]:
        yield f"{at}: out of order"
    right = dict(zip(need, wanted))
    for name, item in zip(have, found):
        if name in both:
            yield from differences(item, right[name], f"{at}: {name}")


def name_of(item: Any) -> str:
    """Return what an entry of a list is called: by the key that tells it from others, else by all that it says."""
    name = next((item[key] for key in _NAMES if key in item), None) if isinstance(item, dict) else None
    return shown(name if isinstance(name, str) else item, None)


def shown(value: Any, longest: Optional[int] = 90) -> str:
    """Return a JSON value as one line of ASCII, cut after `longest` signs."""
    try:
        text = json.dumps(value, sort_keys=True)
    except RecursionError:  # it was just about shallow enough to be read
        return "what is nested too deeply"
    return text if longest is None or len(text) <= longest else f"{text[:longest]}..."
