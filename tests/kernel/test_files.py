# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Denials of files: each with its control, exact errno, allowed sibling, unaffected parent and agreeing receipt."""

from __future__ import annotations

from support.launch import PYTHON, Lab, domain

SCRIPT = """
import errno, sys
def attempt(path, mode):
    try:
        open(path, mode).close()
        return "ok"
    except OSError as problem:
        return errno.errorcode[problem.errno]
outside, inside = sys.argv[1:3]
print(attempt(outside, "r"), attempt(outside, "r+"), attempt(inside, "r"), attempt(inside, "r+"))
"""


def test_a_file_outside_the_grants_is_neither_read_nor_written(lab: Lab) -> None:
    secret = lab.file(lab.outside / "secret", "s")
    sibling = lab.file(lab.workspace / "file", "f")
    argv = (*PYTHON, "-c", SCRIPT, str(secret), str(sibling))
    assert lab.bare(*argv).stdout.split() == ["ok", "ok", "ok", "ok"]
    done = lab.confined(*argv)
    assert done.stdout.split() == ["EACCES", "EACCES", "ok", "ok"], done.stderr
    assert secret.read_text() == "s"
    for name in ("filesystem_read", "filesystem_write"):
        line = domain(lab.receipt(), name)
        assert (line["state"], line["claim"], line["prevention_supported"]) == ("prevention", "observed", False)
    assert lab.leftovers() == []
