# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What each file states about its licence and copyright: in lines of its own, or for it in REUSE.toml.

The rules are those of the REUSE specification 3.3, as far as this tree uses them: a file has both, its own lines count
before an annotation, and LICENSES/ holds the text of the one licence of the project and no other. Whatever it cannot
read with certainty is a fault. It judges bytes that it is given and must not open a file.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Pattern, Sequence, Tuple

LICENCE = "Apache-2.0"  # of the whole project, as the SPDX licence list names it
TEXT = "LICENSE"
ANNOTATIONS = "REUSE.toml"
FOLDER = "LICENSES/"

_PUBLISHED = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"  # SHA-256 of the licence's own text

# A tag counts wherever it stands in a file, as it does for other tools.
_TAG = re.compile(rb"SPDX-(License-Identifier|FileCopyrightText):([^\r\n]*)")
# The same, and whatever a reader or a laxer tool takes for it; in REUSE.toml it is a key.
_LOOKS_LIKE = re.compile(rb"SPDX-License-Identifier[ \t]*([:=])([^\r\n]*)", re.IGNORECASE)
_ENDS = ("-->", "*/")  # of a comment, behind the value
_KEYS = ("path", "SPDX-FileCopyrightText", "SPDX-License-Identifier")
_LINE = re.compile(rf'({"|".join(_KEYS)}) = ("[^"\\]+"|\["[^"\\]+"(?:, "[^"\\]+")*\])')


class Stated(NamedTuple):
    """What is stated about one file: identifiers of licences and holders of copyright, each once and sorted."""

    licences: Tuple[str, ...] = ()
    holders: Tuple[str, ...] = ()


class Annotation(NamedTuple):
    """One table of REUSE.toml: patterns as they are written there, and what holds for the files that they match."""

    paths: Tuple[str, ...]
    stated: Stated

    def covers(self, name: str) -> bool:
        return any(pattern(path).fullmatch(name) for path in self.paths)


def stated(name: str, data: bytes, annotations: Sequence[Annotation] = ()) -> Stated:
    """Return what is stated about the file `name` with the contents `data`; empty parts where nothing is.

    The text of the licence itself is the statement of that licence, and of no holder. Of several annotations that
    cover a file the last one counts.
    """
    own = _own(data)
    for annotation in reversed(annotations):
        if annotation.covers(name):
            return Stated(own.licences or annotation.stated.licences, own.holders or annotation.stated.holders)
    return own


def _own(data: bytes) -> Stated:
    found: Dict[bytes, List[str]] = {b"License-Identifier": [], b"FileCopyrightText": []}
    for tag, value in _TAG.findall(data) if b"SPDX-" in data else ():
        found[tag].append(_value(value))
    if hashlib.sha256(data).hexdigest() == _PUBLISHED:
        found[b"License-Identifier"].append(LICENCE)
    return Stated(*(tuple(sorted(set(values))) for values in found.values()))


def _value(text: bytes) -> str:
    value = text.decode("utf-8", "backslashreplace").strip()
    return next((value[: -len(end)].rstrip() for end in _ENDS if value.endswith(end)), value)


def read_annotations(data: bytes) -> List[Annotation]:
    """Return the annotations of a REUSE.toml; ValueError with the line that is not of the few forms read here."""
    tables: List[Dict[str, Tuple[str, ...]]] = []
    lines = [line.rstrip() for line in data.decode("utf-8").split("\n")]
    body = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    if not body or body[0][1] != "version = 1":
        raise ValueError(f"{ANNOTATIONS}: `version = 1` must come first")
    for number, line in body[1:]:
        row = _LINE.fullmatch(line)
        if line == "[[annotations]]":
            tables.append({})
        elif row and tables and row[1] not in tables[-1]:
            value = json.loads(row[2])  # text without escapes is the same in TOML and in JSON
            tables[-1][row[1]] = (value,) if isinstance(value, str) else tuple(value)
        else:
            raise ValueError(f"{ANNOTATIONS}:{number}: only {', '.join(_KEYS)} are read here, once in each table")
    if any(set(table) != set(_KEYS) for table in tables):
        raise ValueError(f"{ANNOTATIONS}: each table needs {', '.join(_KEYS)}")
    return [Annotation(table[_KEYS[0]], Stated(table[_KEYS[2]], table[_KEYS[1]])) for table in tables]


def annotations_of(files: Mapping[str, bytes]) -> List[Annotation]:
    """Return the annotations that the REUSE.toml among `files` holds, none where there is no such file."""
    return read_annotations(files[ANNOTATIONS]) if ANNOTATIONS in files else []


def pattern(path: str) -> Pattern[str]:
    """Return what a path of REUSE.toml matches: `*` stays inside a folder, `**` does not."""
    signs = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(signs.get(part, re.escape(part)) for part in re.split(r"(\*\*|\*)", path)), re.DOTALL)


def others(name: str, data: bytes) -> Iterator[Tuple[int, str]]:
    """Yield (line, identifier) for every statement in a file of another licence than LICENCE, and of a choice of it."""
    for found in _LOOKS_LIKE.finditer(data):
        if found[1] == b":":
            value = _value(found[2])
        elif name == ANNOTATIONS:
            value = _value(found[2]).strip('[]" ')
        else:
            continue
        if value != LICENCE:
            yield data.count(b"\n", 0, found.start()) + 1, value


def faults(files: Mapping[str, bytes]) -> List[str]:
    """Return every reason for which the tree of these files does not state its licence as REUSE demands, and no other.

    Of a text in LICENSES/ the name counts, of the text of the licence itself its bytes.
    """
    try:
        annotations = read_annotations(files.get(ANNOTATIONS, b""))
    except ValueError as problem:
        return [str(problem)]
    texts = {name for name in files if name == TEXT or name.startswith(FOLDER)}
    found = {name: stated(name, files[name], annotations) for name in sorted(files.keys() - texts)}
    return [*_unstated(found), *_others(files), *_texts(files), *_idle(files, annotations)]


def _others(files: Mapping[str, bytes]) -> Iterator[str]:
    for name in sorted(files):
        for line, licence in others(name, files[name]):
            yield f"{name}:{line}: states the licence {licence}; all of this is under {LICENCE} and nothing else"


def _unstated(found: Mapping[str, Stated]) -> Iterator[str]:
    for name, one in found.items():
        lacking = [word for word, values in (("licence", one.licences), ("copyright", one.holders)) if not values]
        if lacking:
            yield f"{name}: states no {' and no '.join(lacking)}; add the two SPDX lines, or cover it in {ANNOTATIONS}"


def _texts(files: Mapping[str, bytes]) -> Iterator[str]:
    for name in sorted(files):
        if name.startswith(FOLDER) and name != f"{FOLDER}{LICENCE}.txt":
            yield f"{name}: the text of another licence than {LICENCE}"
    if LICENCE not in _own(files.get(TEXT, b"")).licences:
        yield f"{TEXT}: is not the published text of {LICENCE}"
    if files.get(f"{FOLDER}{LICENCE}.txt") != files.get(TEXT):
        yield f"{FOLDER}{LICENCE}.txt: differs from {TEXT}"


def _idle(files: Mapping[str, bytes], annotations: Sequence[Annotation]) -> Iterator[str]:
    needing = [name for name, data in files.items() if not all(_own(data))]
    for path in (path for annotation in annotations for path in annotation.paths):
        if not any(pattern(path).fullmatch(name) for name in needing):
            yield f"{ANNOTATIONS}: {path} covers no file that needs it"
