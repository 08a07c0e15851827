# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the generators in tools/ share: write what they make where it differs, or with --check only say how it differs.

The unified diff is what a person reviews. All texts are made before the first file is touched, and each file is
replaced whole. It must not know what is made.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Callable, Iterator, List, Mapping, Optional, Tuple

import archives
import command

# What a generator makes of the tree at a path: the texts of files by their names in it, None for one that is to go.
Maker = Callable[[Path], Mapping[str, Optional[str]]]
Parts = Mapping[str, Callable[[], str]]  # what makes each part of a page that is otherwise written by hand, by its name
# The comment that begins a part, and the one that ends it: in Markdown, and in roff.
MARKS = re.compile(
    r"^(?P<open><!-- |\.\\\" )made: (?P<name>\w+)(?: -->)?\n(?P<body>.*?)^(?P=open)made: end(?: -->)?$", re.M | re.S
)


def run(prog: str, doc: str, maker: Maker, words: List[str], root: Path) -> int:
    """Carry out the command line `words` of the generator `prog` on the tree at `root`; return the exit code."""
    parser = command.Parser(prog, doc, "when it is done or nothing differs, 1 when --check finds a difference")
    parser.add_argument("--check", action="store_true", help="write nothing; print what would change")
    return command.run(lambda given: _carried_out(prog, maker, parser.parse_args(given).check, root), words)


def _carried_out(prog: str, maker: Maker, check: bool, root: Path) -> int:
    new = maker(root)
    found = list(differences({name: _text(root / name) for name in new}, new))
    for name, diff in found:
        print(diff, end="")
        if not check:
            _put(root / name, new[name])
    if not check or not found:
        return 0
    names = ", ".join(name for name, _ in found)
    return command.differs(f"{names}: not what {prog} makes; read the difference, then run it")


def differences(old: Mapping[str, Optional[str]], new: Mapping[str, Optional[str]]) -> Iterator[Tuple[str, str]]:
    """Yield (name, unified diff) for each file that is changed, missing or to go."""
    for name in sorted(new):
        before, after = old.get(name), new[name]
        if before != after:
            names = ("/dev/null" if before is None else name, "/dev/null" if after is None else name)
            yield name, "".join(difflib.unified_diff(_lines(before), _lines(after), *names))


def _lines(text: Optional[str]) -> List[str]:
    return (text or "").splitlines(keepends=True)


def _text(path: Path) -> Optional[str]:
    return path.read_bytes().decode("utf-8", "backslashreplace") if path.exists() else None


def _put(path: Path, text: Optional[str]) -> None:
    if text is None:
        path.unlink()
        return
    os.makedirs(path.parent, exist_ok=True)
    archives.write_whole(str(path), text.encode("utf-8"))


def renewed(root: Path, page: str, parts: Parts) -> str:
    """Return the page of the tree at `root` with each of its parts made again; ValueError where it has not just those.

    A part stands between two comments, `made: NAME` and `made: end`.
    """
    text = (root / page).read_text(encoding="utf-8")
    found = [match["name"] for match in MARKS.finditer(text)]
    if sorted(found) != sorted(parts):
        expected, there = ", ".join(sorted(parts)), ", ".join(found) or "none"
        raise ValueError(f"{page}: parts {expected} are expected, and {there} found; put back the comments around them")
    return MARKS.sub(lambda match: "".join(_renewed(match, parts)), text)


def _renewed(match: "re.Match[str]", parts: Parts) -> Iterator[str]:
    whole, start = match[0], match.start()
    yield whole[: match.start("body") - start]
    gap = "\n" if match["open"].startswith("<") else ""  # Markdown ends a comment at an empty line
    yield gap + parts[match["name"]]() + gap
    yield whole[match.end("body") - start :]
