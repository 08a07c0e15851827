# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Rules about files as such: licence lines, sizes, text and nothing but text, and what may lie in the package.

They read bytes and syntax trees; what the words in them say is the matter of tree_words.py and tree_hosts.py.
"""

from __future__ import annotations

import ast
import hashlib
import re
from typing import Dict, Iterator, List, Optional

import licences
from project import PACKAGE, shown
from tree import TESTS, Finding, Tree, matches

# The tags in pieces: whole, they would be a statement about this file.
HOLDER = "2026 The aasm authors"
COPYRIGHT = "SPDX-" f"FileCopyrightText: {HOLDER}"
LICENSE = "SPDX-" "License-Identifier: Apache-2.0"
# SHA-256 of the published text of the licence, and every file that must be just that.
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
LICENSE_TEXTS = ("LICENSE", "LICENSES/Apache-2.0.txt")

# Files that cannot carry the two lines. The last two are in unpacked archives.
NO_HEADER = (*LICENSE_TEXTS, "*.json", "tests/golden/*.txt", "REVISION", "PKG-INFO")
GENERATED = ("aasm/_sys/_nr_*.py",)
MODULE_LINES, FUNCTION_LINES = 400, 60

# Files that are no text, each with the reason. There is none; a row here is a decision for a review.
NOT_TEXT: Dict[str, str] = {}
# Texts about characters: what a canonical form does to each of them.
SHOWS_EVERYTHING = ("tests/golden/receipt/canonical-jq-*.txt",)
# Controls, and what changes the order or the look of what stands beside it; tab and line end are none of them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_NOT_ASCII = re.compile("[^\t\n\x20-\x7e]")
_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")  # PEP 263

# Statements of a copyright, as REUSE reads them. A year stands behind the word, else it is only spoken of.
_HOLDER = re.compile(
    rb"(?:SPDX-\w*CopyrightText[ \t]*:|\xc2\xa9|\bCopyright[ \t]*(?:\(c\)|(?=[ \t][12][0-9]{3}\b)))([^\r\n]*)",
    re.IGNORECASE,
)
_IN_ANNOTATIONS = re.compile(rb"SPDX-\w*CopyrightText[ \t]*=([^\r\n]*)", re.IGNORECASE)
# Files in which a statement is no statement about them.
SPEAKS_OF_HOLDERS = {"tools/spdx.py": "puts the statement of the SBOM together, of a year and a name"}

# Programs that are no Python, or not called so: no rule reads what they do. Each with what it is for.
PROGRAMS = {
    ".ci/run": "bash: what continuous integration runs",
    "tools/completions/*": "what the shells' completions are made of",
    "docs/completions/*": "completions, which a shell reads if its user wants that",
}
_PROGRAM_NAMES = (
    "*.sh", "*.bash", "*.zsh", "*.fish", "*.csh", "*.ps1", "*.bat", "*.pl", "*.rb", "*.js", "*.mjs", "*.ts", "*.lua",
    "*.c", "*.h", "*.cc", "*.cpp", "*.rs", "*.go", "*.s", "*.awk", "*.pyw", "*.pyi", "*.pyx", "*.pth", "*.ipynb",
    "*Makefile", "*.mk", "*Dockerfile",
)  # fmt: skip

# What the package holds that is no Python source.
IN_THE_PACKAGE = {f"{PACKAGE}/py.typed": "says that the package has type hints (PEP 561)"}


def licence_lines(tree: Tree) -> Iterator[Finding]:
    """Yield every file that does not say whose it is, and under which licence, or that says another one anywhere."""
    for path in tree.files:
        name, first = tree.name(path), tree.lines(path)[:5]
        if not matches(name, NO_HEADER) and not (_states(first, COPYRIGHT) and _states(first, LICENSE)):
            yield Finding(name, 1, "licence lines", "the two SPDX lines are not among the first five")
        for line, licence in licences.others(name, tree.data(path)):
            yield Finding(name, line, "licence lines", f"it states the licence {licence}")


def _states(lines: List[str], tag: str) -> bool:
    return any(line.strip("#/;*<!->\"\\. \t") == tag for line in lines)


def holders(tree: Tree) -> Iterator[Finding]:
    """Yield every statement, in any line of any file, of a copyright of somebody else."""
    for path in tree.files:
        name, data = tree.name(path), tree.data(path)
        found = [*_HOLDER.finditer(data), *(_IN_ANNOTATIONS.finditer(data) if name == licences.ANNOTATIONS else ())]
        for one in found:
            value = re.split(r"-->|\*/|\\n", one[1].decode("utf-8", "replace"))[0].strip("[](){}\"',.; \t")
            if value != HOLDER and name not in SPEAKS_OF_HOLDERS and name not in LICENSE_TEXTS:
                line = data.count(b"\n", 0, one.start()) + 1
                yield Finding(name, line, "holder", f"it states a copyright: {shown(value) or 'of nobody'}")


def programs(tree: Tree) -> Iterator[Finding]:
    """Yield every program, but the tests, that is no Python file and is not listed."""
    for path in tree.files:
        name = tree.name(path)
        runs = tree.data(path)[:2] == b"#!" or matches(name, _PROGRAM_NAMES)
        if runs and path.suffix != ".py" and not name.startswith(f"{TESTS}/") and not matches(name, PROGRAMS):
            yield Finding(name, 1, "programs", "no rule reads what it does: it needs a row in tools/tree_files.py")


def licence_text(tree: Tree) -> Iterator[Finding]:
    """Yield every text of the licence that is not the published one, of another licence, and a tree that has none."""
    there = [path for path in tree.files if tree.name(path) in LICENSE_TEXTS]
    for path in there:
        if hashlib.sha256(tree.data(path)).hexdigest() != APACHE_2:
            yield Finding(tree.name(path), 1, "licence text", "it is not the published text of Apache-2.0")
    for name in map(tree.name, tree.files):
        if name.startswith(licences.FOLDER) and name not in LICENSE_TEXTS:
            yield Finding(name, 1, "licence text", "the text of another licence than Apache-2.0")
    if tree.root / LICENSE_TEXTS[0] not in there:
        yield Finding(LICENSE_TEXTS[0], 1, "licence text", "it is missing")


def module_sizes(tree: Tree) -> Iterator[Finding]:
    """Yield every module that is too long."""
    for path in tree.python():
        lines = tree.data(path).count(b"\n")
        if lines > MODULE_LINES and not matches(tree.name(path), GENERATED):
            yield Finding(tree.name(path), lines, "module size", f"{lines} lines, at most {MODULE_LINES}")


def function_sizes(tree: Tree) -> Iterator[Finding]:
    """Yield every function that is too long."""
    for path in tree.python():
        for node in tree.nodes(path, ast.FunctionDef, ast.AsyncFunctionDef):
            assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > FUNCTION_LINES:
                what = f"{node.name} has {lines} lines, at most {FUNCTION_LINES}"
                yield Finding(tree.name(path), node.lineno, "function size", what)


def purposes(tree: Tree) -> Iterator[Finding]:
    """Yield every module that does not say what it is for."""
    for path in (*tree.own(), *tree.tools()):
        if not ast.get_docstring(tree.parsed(path)):
            yield Finding(tree.name(path), 1, "purpose", "the module has no docstring")


def text(tree: Tree) -> Iterator[Finding]:
    """Yield every file that is no text, every text without plain line ends, and whatever cannot be read as a file."""
    yield from tree.unread
    for path in tree.files:
        name = tree.name(path)
        fault = _fault(tree.data(path))
        if fault and name not in NOT_TEXT:
            yield Finding(name, 1, "text", fault)


def _fault(data: bytes) -> Optional[str]:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        return f"byte {problem.start} is no UTF-8: a binary file needs a row in tools/tree_files.py"
    if b"\0" in data:
        return "a NUL byte: a binary file needs a row in tools/tree_files.py"
    if b"\r" in data:
        return "a carriage return"
    return None if data.endswith(b"\n") else "the last line does not end"


def visible(tree: Tree) -> Iterator[Finding]:
    """Yield the first place in each line where a reader could see something else than what Python reads."""
    for path in tree.files:
        name, code = tree.name(path), path.suffix == ".py"
        pattern = _NOT_ASCII if code and not name.startswith(f"{TESTS}/") else _INVISIBLE
        if pattern.search(tree.text(path)) and b"\0" not in tree.data(path) and not matches(name, SHOWS_EVERYTHING):
            for number, line in enumerate(tree.lines(path), 1):
                found = pattern.search(line)
                if found:
                    yield Finding(name, number, "visible", f"U+{ord(found.group()):04X} in column {found.start() + 1}")
        for number, line in enumerate(tree.lines(path)[:2] if code else (), 1):
            if _ENCODING.match(line):
                yield Finding(name, number, "visible", "declares an encoding: source is UTF-8 and says nothing")


def package_files(tree: Tree) -> Iterator[Finding]:
    """Yield whatever lies in the package and is not its source.

    The folders into which Python puts what it compiled are left alone: they come from running it.
    """
    for path in tree.files:
        name = tree.name(path)
        if name.startswith(f"{PACKAGE}/") and path.suffix != ".py" and name not in IN_THE_PACKAGE:
            yield Finding(name, 1, "package files", "neither source nor listed in tools/tree_files.py")


RULES = (
    ("licence lines", "every file states its licence, and no other", licence_lines),
    ("holder", f"the copyright is that of {HOLDER[5:]} alone", holders),
    ("programs", "what is a program, and no Python file, is listed", programs),
    ("licence text", "the licence is the published text", licence_text),
    ("module size", f"no module has more than {MODULE_LINES} lines", module_sizes),
    ("function size", f"no function has more than {FUNCTION_LINES} lines", function_sizes),
    ("purpose", "every module says what it is for", purposes),
    ("text", "every file is UTF-8 text with plain line ends", text),
    ("visible", "no invisible characters; code of the package and the tools is ASCII", visible),
    ("package files", "the package holds its sources and nothing else", package_files),
)
