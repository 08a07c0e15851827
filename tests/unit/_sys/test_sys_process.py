# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tree of processes is found also where the system has no file left for a while; and not without end."""

from __future__ import annotations

import errno
import os
from typing import Callable, Dict, List

import pytest

from aasm._sys import process


def failing(times: int, number: int = errno.ENFILE) -> Callable[[], Dict[int, int]]:
    """Return a look at /proc that fails `times` times, then shows one child of ours and one of its own."""
    tries: List[int] = []

    def look() -> Dict[int, int]:
        tries.append(1)
        if len(tries) <= times:
            raise OSError(number, os.strerror(number))
        return {1: 0, 100: os.getpid(), 101: 100, 102: 1}

    return look


@pytest.mark.parametrize("number", [errno.ENFILE, errno.EMFILE, errno.ENOMEM])
def test_descendants_are_found_once_there_is_room(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    slept: List[float] = []
    monkeypatch.setattr(process, "_parents", failing(3, number))
    monkeypatch.setattr(process.time, "sleep", slept.append)
    assert sorted(process.descendants()) == [100, 101]
    assert len(slept) == 3


def test_a_system_that_never_has_room_again_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 7))
    monkeypatch.setattr(process, "_parents", failing(10_000))
    monkeypatch.setattr(process.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(process.time, "monotonic", lambda: float(next(now)))
    with pytest.raises(OSError) as caught:
        process.descendants()
    assert caught.value.errno == errno.ENFILE


def test_what_no_waiting_mends_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: List[float] = []
    monkeypatch.setattr(process, "_parents", failing(1, errno.ENOENT))
    monkeypatch.setattr(process.time, "sleep", slept.append)
    with pytest.raises(FileNotFoundError):
        process.descendants()
    assert slept == []


def test_the_descriptors_that_are_open_are_listed_without_that_of_the_listing() -> None:
    reading, writing = os.pipe()
    try:
        found = process.open_descriptors()
        assert {reading, writing} <= set(found) and found == sorted(found)
    finally:
        os.close(reading)
        os.close(writing)
    assert not {reading, writing} & set(process.open_descriptors())
