#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Write the cases of tests/property/test_reader_agrees.py: YAML documents beside what independent readers see in them.

    python tools/gen_yaml_cases.py            ask about every document of written.json, and draw drawn.json anew
    python tools/gen_yaml_cases.py --ask-again   write nothing; ask about all that is stored, exit 1 on a change

This is the one tool that needs more than the standard library, and only when it runs: a Python with PyYAML (built with
libyaml) and ruamel.yaml, and `node` with the package `yaml`, found through NODE_PATH. Neither the package nor its tests
need any of them: the answers are kept as data.

A case is [document] when the readers differ, one of them refuses, or what they see has no form in JSON: nobody may
accept it then. It is [document, value] when all of them see this value, types included. The documents of written.json
are kept by hand; to add one, add [document] to a group. The readers are four, of three families: PyYAML and libyaml
(YAML 1.1), ruamel.yaml (1.2), and `yaml` of JavaScript (1.2), which does not tell 1 from 1.0: the others do.
"""

from __future__ import annotations

import base64
import importlib
import json
import math
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

ROOT = Path(__file__).resolve().parent.parent
for _place in (str(ROOT / "tools"), str(ROOT)):  # the first is missing under python -I
    if _place not in sys.path:
        sys.path.insert(0, _place)

import archives  # noqa: E402
import command  # noqa: E402
from draw_yaml import CONTEXTS, SCALARS, Draw, mutated  # noqa: E402
from project import TreeError  # noqa: E402

from aasm.errors import PolicyError  # noqa: E402
from aasm.policy.node import MAX_INTEGER  # noqa: E402
from aasm.policy.reader import read_document  # noqa: E402

TARGET = ROOT / "tests" / "golden" / "yaml"
WRITTEN, DRAWN = "written.json", "drawn.json"
SEED, DRAWS = "drawn", 60_000
LONGEST = 110  # characters of a document that is drawn
MOST_ASKED = 300  # documents that are refused for one reason
MOST_READ, MOST_REFUSED = 2, 8  # documents that are kept, of those that look alike and of those that fare alike
_MARKS = ("- ", "|", ">", "#", "[", "{", "'", '"', "\n\n", "\r", "\t", ":\n")
Case = List[Any]  # [document] or [document, value]
Groups = Dict[str, List[Case]]

# --- the readers ------------------------------------------------------------------------------------

_JAVASCRIPT = r"""
const YAML = require('yaml');
function tag(v) {
  if (v === null || v === undefined) return ['null'];
  if (v instanceof Map) return ['map', [...v].map(([key, value]) => [tag(key), tag(value)])];
  if (Array.isArray(v)) return ['list', v.map(tag)];
  return [typeof v, typeof v === 'number' && !Number.isFinite(v) ? null : v];
}
function read(text) {
  const found = YAML.parseAllDocuments(text, {logLevel: 'error', prettyErrors: false});
  if (found.length !== 1 || found[0].errors.length) return ['refused'];
  return tag(found[0].toJS({mapAsMap: true}));
}
const decoder = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
console.log(JSON.stringify(require('yaml/package.json').version));
require('readline').createInterface({input: process.stdin}).on('line', line => {
  let answer;
  try { answer = read(decoder.decode(Buffer.from(line, 'base64'))); } catch (problem) { answer = ['refused']; }
  console.log(JSON.stringify(answer));
});
"""


class Unfit(ValueError):
    """A value that has no form in JSON, so that no policy can hold it."""


class Readers:
    """The four readers. `ask` gives for each what it sees, spelled as JSON, or "refused"."""

    def __init__(self) -> None:
        warnings.simplefilter("ignore")  # a reader's doubts are no answer
        self.yaml, self.ruamel = importlib.import_module("yaml"), importlib.import_module("ruamel.yaml")
        self.node = subprocess.Popen(["node", "-e", _JAVASCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.versions = {
            "PyYAML": self.yaml.__version__,
            "libyaml": ".".join(map(str, importlib.import_module("yaml._yaml").get_version())),
            "ruamel.yaml": self.ruamel.__version__,
            "yaml (JavaScript)": self._answer(),
        }

    def ask(self, data: bytes) -> List[str]:
        loads: List[Callable[[], Any]] = [
            lambda: self.yaml.load(data, self.yaml.SafeLoader),
            lambda: self.yaml.load(data, self.yaml.CSafeLoader),
            lambda: self.ruamel.YAML(typ="safe", pure=True).load(data),
            lambda: self._javascript(data),
        ]
        return [_seen(load) for load in loads]

    def agreed(self, data: bytes) -> Tuple[Any, ...]:
        """Return (value,) when all readers see it, else ()."""
        *pythons, javascript = self.ask(data)
        if len(set(pythons)) > 1 or "refused" in (pythons[0], javascript):
            return ()
        value = json.loads(pythons[0])
        return (value,) if spelled(_loose(value)) == spelled(_loose(json.loads(javascript))) else ()

    def _javascript(self, data: bytes) -> Any:
        assert self.node.stdin is not None
        self.node.stdin.write(base64.b64encode(data) + b"\n")
        self.node.stdin.flush()
        return _untagged(self._answer())

    def _answer(self) -> Any:
        assert self.node.stdout is not None
        return json.loads(self.node.stdout.readline())


def _seen(load: Callable[[], Any]) -> str:
    try:
        return spelled(_plain(load()))
    except Exception:  # noqa: BLE001 - readers raise whatever comes to their mind
        return "refused"


def spelled(value: Any) -> str:
    """Return a value so that two are the same exactly when value, types and order are."""
    return json.dumps(value, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Return the value if JSON has a form for it, else raise Unfit."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, int) and abs(value) <= MAX_INTEGER:  # and true and false
        return value
    if value is None:
        return None
    raise Unfit(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unfit(value)
    value.encode("utf-8")  # no half characters
    return value


def _untagged(answer: Any) -> Any:
    kind = answer[0]
    if kind == "null":
        return None
    if kind == "list":
        return [_untagged(item) for item in answer[1]]
    if kind == "map":
        return {_text(_untagged(key)): _untagged(item) for key, item in answer[1]}
    if kind not in ("string", "number", "boolean") or answer[1] is None:
        raise Unfit(answer)
    return answer[1]


def _loose(value: Any) -> Any:
    """Return the value with every number as a float: one of the readers knows no other."""
    if isinstance(value, dict):
        return {key: _loose(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_loose(item) for item in value]
    return value if value is None or isinstance(value, (bool, str)) else float(value) + 0.0


def encoded(document: str) -> bytes:
    """Return the bytes of a document; a byte that is no UTF-8 is kept as a half character U+DC80 to U+DCFF."""
    return document.encode("utf-8", "surrogateescape")


# --- drawing ----------------------------------------------------------------------------------------


def documents(rng: random.Random) -> Iterator[str]:
    """Yield different documents without end: drawn afresh, or one that was read, with faults."""
    read, known = ["a: 1\n"], set()
    while True:
        text = mutated(rng, rng.choice(read)) if rng.random() < 0.5 else Draw(rng).document()
        if len(text) <= LONGEST and text not in known:
            known.add(text)
            if len(read) < 3000 and ours(text) == "read":
                read.append(text)
            yield text


def ours(document: str) -> str:
    """Return "read", or why our reader refuses a document. It decides which documents are kept, not their values."""
    try:
        read_document(encoded(document), "p.yaml")
    except PolicyError as problem:
        return re.sub("[\"'].*|0x.*|U\\+.*", "", problem.what)
    return "read"


def chosen(readers: Readers) -> Iterator[Case]:
    """Yield documents by lot, a few for each way in which they are read or refused."""
    kept: Counter[Tuple[object, ...]] = Counter()
    for document, _ in zip(documents(random.Random(SEED)), range(DRAWS)):
        verdict = ours(document)
        if verdict == "read":
            sight: Tuple[object, ...] = tuple(mark in document for mark in _MARKS)
        elif kept[(verdict,)] < MOST_ASKED:  # a few reasons stand for most refusals: no need to ask about each
            kept[(verdict,)] += 1
            seen = readers.ask(encoded(document))
            sight = (verdict, *(item == "refused" for item in seen), len({*seen}))
        else:
            continue
        kept[sight] += 1
        if kept[sight] <= (MOST_READ if verdict == "read" else MOST_REFUSED):
            yield [document, *readers.agreed(encoded(document))]


def scalars(readers: Readers) -> Iterator[Case]:
    """Yield each plain or quoted text in each place where it can stand."""
    for context in CONTEXTS:
        for text in SCALARS:
            yield [context % text, *readers.agreed(encoded(context % text))]


# --- the files --------------------------------------------------------------------------------------


def stored(name: str) -> Groups:
    groups: Groups = json.loads((TARGET / name).read_text(encoding="utf-8"))["groups"]
    return groups


def asked(readers: Readers, groups: Groups) -> Groups:
    """Return the groups with the answers of today."""
    return {name: [[case[0], *readers.agreed(encoded(case[0]))] for case in cases] for name, cases in groups.items()}


def file_text(about: str, readers: Readers, groups: Groups) -> str:
    """Return the text of a file: one case on a line, so that a diff shows what changed."""
    parts = [f'  "about": {json.dumps(about)}', f'  "readers": {json.dumps(readers.versions)}']
    shown = (
        f"    {json.dumps(name)}: [\n" + ",\n".join(map(spelled, cases)) + "\n    ]" for name, cases in groups.items()
    )
    return "{\n" + ",\n".join([*parts, '  "groups": {\n' + ",\n".join(shown) + "\n  }"]) + "\n}\n"


def main(argv: List[str]) -> int:
    """Write the cases, or ask again with `--ask-again`; return the exit code."""
    return command.run(_carried_out, argv)


def _carried_out(words: List[str]) -> int:
    parser = command.Parser("tools/gen_yaml_cases.py", __doc__, "when it is done, 1 when an answer differs today")
    parser.add_argument("--ask-again", action="store_true", help="write nothing; ask about all that is stored")
    again = parser.parse_args(words).ask_again
    try:
        readers = Readers()
    except ImportError as problem:
        raise TreeError(f"{problem}; see tools/gen_yaml_cases.py --help for the readers that it needs") from None
    if again:
        return check(readers)
    how = "Documents, and what four YAML readers see in them; see tools/gen_yaml_cases.py. "
    by_hand = asked(readers, stored(WRITTEN))
    by_lot = {"scalars": list(scalars(readers)), "drawn": list(chosen(readers))}
    for name, about, groups in ((WRITTEN, "Kept by hand.", by_hand), (DRAWN, "All by that tool.", by_lot)):
        archives.write_whole(str(TARGET / name), file_text(how + about, readers, groups).encode("utf-8"))
        counts = {group: len(cases) for group, cases in groups.items()}
        print(f"{name}: {counts}, {(TARGET / name).stat().st_size} bytes")
    return 0


def check(readers: Readers) -> int:
    """Ask again about every stored document, and print each whose answer is another one today."""
    changed = 0
    for name in (WRITTEN, DRAWN):
        for group, cases in stored(name).items():
            for case in cases:
                now = [case[0], *readers.agreed(encoded(case[0]))]
                if spelled(case) != spelled(now):
                    changed += 1
                    print(f"{name}: {group}: stored {spelled(case)}, now {spelled(now)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
