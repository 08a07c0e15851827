# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The canonical form is that of `jq -jcS .` on this machine: so an auditor needs none of our code."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any, List

import pytest
import receipt_samples as samples

from aasm.receipt import build
from aasm.receipt.canonical import MAX_INTEGER, canonical

if shutil.which("jq") is None:
    pytest.skip("jq is not installed", allow_module_level=True)

VALUES = 400
CHARACTERS = [chr(code) for code in range(0x110000) if code != 0x7F and not 0xD800 <= code <= 0xDFFF]


def jq(program: str, data: bytes) -> bytes:
    return subprocess.run(["jq", "-jcS", program], input=data, stdout=subprocess.PIPE, check=True).stdout


def some_value(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(8 if depth else 5)
    if kind == 0:
        return draw.choice([True, False, None])
    if kind == 1:
        return draw.randint(-MAX_INTEGER, MAX_INTEGER) // 10 ** draw.randrange(16)
    if kind < 5:
        return "".join(some_character(draw) for _ in range(draw.randrange(8)))
    size = draw.randrange(5)
    if kind == 5:
        return [some_value(draw, depth - 1) for _ in range(size)]
    return {some_key(draw): some_value(draw, depth - 1) for _ in range(size)}


def some_character(draw: random.Random) -> str:
    return chr(draw.choice([draw.randrange(0x20), draw.randrange(0x20, 0x7F), draw.randrange(0x80, 0xD800), 0x1F600]))


def some_key(draw: random.Random) -> str:
    return "".join(draw.choice("abcxyz019_") for _ in range(draw.randrange(1, 6)))


def test_every_character_is_written_as_jq_writes_it() -> None:
    value = ["".join(CHARACTERS[at : at + 1000]) for at in range(0, len(CHARACTERS), 1000)]
    assert canonical(value) == jq(".", json.dumps(value).encode())


def test_integers_are_written_as_jq_writes_them() -> None:
    draw = random.Random(1)
    powers = [sign * base**power for sign in (1, -1) for base in (2, 10) for power in range(53)]
    value = [number for number in powers if abs(number) <= MAX_INTEGER] + [MAX_INTEGER, -MAX_INTEGER, 0]
    value += [draw.randint(-MAX_INTEGER, MAX_INTEGER) // 10 ** draw.randrange(16) for _ in range(5000)]
    assert canonical(value) == jq(".", json.dumps(value).encode())


def test_random_values_are_written_as_jq_writes_them() -> None:
    draw = random.Random(2)
    values: List[Any] = [{"v": some_value(draw, 5)} for _ in range(VALUES)]
    lines = jq('., "\\n"', b"\n".join(json.dumps(value).encode() for value in values)).split(b"\n")
    assert lines.pop() == b""
    assert lines == [canonical(value) for value in values]


def test_the_sealed_digest_is_what_jq_and_sha256sum_give(tmp_path: Path) -> None:
    receipt = build.make(samples.FACTS, samples.SEALED_AT)
    path = tmp_path / "receipt.json"
    path.write_bytes(receipt.data)
    command = 'jq -jcS .body "$1" | sha256sum'
    done = subprocess.run(["sh", "-c", command, "sh", str(path)], stdout=subprocess.PIPE, check=True, text=True)
    assert receipt.digest == "sha256:" + done.stdout.split()[0]
