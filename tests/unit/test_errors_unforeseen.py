# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a user is told of an exception that no stage foresaw: what the host lacks is no defect of ours."""

from __future__ import annotations

import errno
import sys
from typing import List

import pytest

from aasm import cli
from aasm.errors import REFUSED, HostError, InternalError, UsageError, unforeseen

LACKS = {
    "a module": (ImportError("x.so: cannot open", name="_x"), f"{sys.executable}: this Python cannot load _x: x.so: "),
    "an import without a name": (ImportError("x"), f"{sys.executable}: this Python cannot load a module: x; use a"),
    "memory": (MemoryError(), "this process may not grow: out of memory; raise its limits"),
    "memory, said": (MemoryError("a\nb"), "this process may not grow: a\\x0ab; raise its limits"),
    "the interpreter": (SystemError("error return without exception set"), "this process may not grow: error return"),
    "files": (OSError(errno.EMFILE, "Too many open files"), "this process may not grow: [Errno 24] Too many open"),
}


@pytest.mark.parametrize("name", list(LACKS))
def test_what_the_host_lacks_is_said_of_the_host(name: str) -> None:
    problem, words = LACKS[name]
    found = unforeseen(problem)
    assert isinstance(found, HostError) and words in str(found) and found.remedy and str(found).isprintable()


def test_a_part_of_the_package_that_a_copy_does_not_have_is_a_matter_of_the_command() -> None:
    found = unforeseen(ImportError("No module named 'aasm.run'", name="aasm.run"))
    assert isinstance(found, UsageError)
    assert "does not have all that this command needs (No module named 'aasm.run'); use a copy of the" in str(found)


def test_an_error_of_ours_stays_what_it_is_and_everything_else_is_a_defect() -> None:
    ours = UsageError("x")
    assert unforeseen(ours) is ours
    for problem in (ValueError("a\nb"), OSError(errno.EACCES, "no")):
        found = unforeseen(problem)
        assert isinstance(found, InternalError) and str(found).endswith("this is a defect of aasm: report it")


@pytest.mark.parametrize("second", [MemoryError(), SystemError("again"), ImportError("again")])
def test_where_even_the_line_takes_too_much_memory_another_one_is_ready(
    second: Exception, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> int:
        raise MemoryError

    def fail_again(*_: object) -> None:
        raise second

    monkeypatch.setattr(cli, "_fill_streams", lambda: None)
    monkeypatch.setattr(cli._signal, "signal", lambda *_: None)
    monkeypatch.setattr(cli, "_dispatch", fail)
    monkeypatch.setattr(cli, "complain_of", fail_again)
    words: List[str] = []
    assert cli.main(words) == REFUSED
    assert capfd.readouterr().err == "error: this process may not grow: out of memory; raise its limits (ulimit -a)\n"
