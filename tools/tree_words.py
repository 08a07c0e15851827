# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Rules about words: no place where this was written, no package registry, nothing unfinished, no skip without reason.

They look at lines of text. The patterns are written in pieces, so that this file does not find itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, Iterable, Iterator, Pattern, Set, Tuple

from tree import Finding, Tree

FORBIDDEN: Dict[str, Pattern[str]] = {
    "a home directory": re.compile("/ro" r"ot/\.|/ho" r"me/\w|/Us" r"ers/\w"),
    "a place where this was written": re.compile(r"(?<![\w.}-])/wo" r"rk/|/fa" r"rm/|\.libr" r"ary\b|/tmp/br" "ief"),
    "a package registry": re.compile(
        r"\b(py" r"pi\.org|python" r"hosted\.org|npm" r"js\.(org|com)|deb" r"ian\.org|crates" r"\.io|"
        r"proxy\.gol" r"ang\.org|ruby" r"gems\.org|ana" r"conda\.(org|com)|ubu" r"ntu\.com)\b"
    ),
}
UNFINISHED: Dict[str, Pattern[str]] = {
    "a promise": re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b"),
    "a stub": re.compile(r"Not" r"ImplementedError"),
    "a skip": re.compile(r"pytest\.sk" r"ip\(|mark\.(sk" r"ip|xf" r"ail)|import" r"orskip|unittest\.sk" r"ip"),
    "a test that cannot fail": re.compile(r"assert Tr" r"ue\b"),
}
# (file, kind): why this one is right. Only something that the host lacks is a reason.
ALLOWED: Dict[Tuple[str, str], str] = {
    ("tests/conftest.py", "a skip"): "no Landlock in this kernel; nobody cannot execute this interpreter",
    ("tests/kernel/test_explain_program.py", "a skip"): "another machine than x86_64; no setpriv",
    ("tests/meta/test_completions.py", "a skip"): "no bash, no zsh, no fish, no bash-completion",
    ("tests/meta/test_man.py", "a skip"): "no man, no jq",
    ("tests/property/test_explain_equals_kernel.py", "a skip"): "no root, no chattr, no overlay to mount",
    ("tests/support/program_asked.py", "a skip"): "a file system on which files have no capabilities",
    ("tests/support/rootfs.py", "a skip"): "no namespaces for this user",
    ("tests/unit/_sys/test_sys_landlock.py", "a skip"): "no kernel headers",
    ("tests/unit/_sys/test_sys_live.py", "a skip"): "no user notification in this kernel",
    ("tests/unit/_sys/test_sys_notify.py", "a skip"): "no C compiler, no kernel headers",
    ("tests/unit/_sys/test_sys_syscalls.py", "a skip"): "no kernel headers",
    ("tests/unit/receipt/test_receipt_jq.py", "a skip"): "no jq",
    ("tests/unit/tools/conftest.py", "a skip"): "a Python without ensurepip",
    ("tests/unit/tools/test_build_backend.py", "a skip"): "a Python without tomllib; no other Python; not root",
    ("tests/unit/tools/test_check_command.py", "a skip"): "the text of a test that is run as data",
}


def hits(tree: Tree, paths: Iterable[Path], kinds: Dict[str, Pattern[str]]) -> Iterator[Tuple[str, int, str, str]]:
    """Yield (file, line number, kind, line) for each line of `paths` that one of `kinds` finds."""
    for path in paths:
        for kind, pattern in kinds.items():
            if pattern.search(tree.text(path)):  # most files hold none, and are done with this
                for number, line in enumerate(tree.lines(path), 1):
                    if pattern.search(line):
                        yield tree.name(path), number, kind, line.strip()


def places(tree: Tree) -> Iterator[Finding]:
    """Yield every line that names a home directory, a place where this was written, or a package registry."""
    for file, line, kind, text in hits(tree, tree.files, FORBIDDEN):
        yield Finding(file, line, "places", f"{kind}: {text}")


def unfinished(tree: Tree, allowed: Dict[Tuple[str, str], str] = ALLOWED) -> Iterator[Finding]:
    """Yield every line of code that is unfinished or skips, and is not allowed; and every allowance without use."""
    seen: Set[Tuple[str, str]] = set()
    for file, line, kind, text in hits(tree, tree.python(), UNFINISHED):
        seen.add((file, kind))
        if (file, kind) not in allowed:
            yield Finding(file, line, "unfinished", f"{kind}: {text}")
    for file, kind in sorted(set(allowed) - seen):
        yield Finding(file, 1, "unfinished", f"{kind} is allowed here and is no longer needed: tools/tree_words.py")


RULES = (
    ("places", "nothing names a home directory, a place where this was written, or a package registry", places),
    ("unfinished", "nothing is unfinished, and a test skips only for what the host lacks", unfinished),
)
