# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""No secret in a preview, neither as text nor as JSON: what may be one is masked."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, List

import pytest
from support.reports import SECRETS
from support.runs import resolution

from aasm.cli import masking, preview
from aasm.run import Resolution

HEADER = "--- environment ---"


def environment(found: Resolution) -> List[str]:
    """Return the lines of the section of the environment."""
    lines = preview.render(found).split("\n")
    rest = lines[lines.index(HEADER) + 1 :]
    return rest[: rest.index("")]


def parsed(found: Resolution) -> Dict[str, Any]:
    loaded: Dict[str, Any] = json.loads(preview.as_json(found))
    return loaded


SECRET = "t0psecret"
HIDDEN: Dict[bytes, bytes] = {
    b"MY_TOKEN": b"t0psecret",
    b"LC_API_TOKEN": b"t0psecret",  # its first letters travel by themselves, and this does not
    b"aws_key": b"t0psecret",
    b"DATABASE_URL": b"t0psecret",
    b"DATABASEURL": b"t0psecret",
    b"DSN": b"host=h password=t0psecret",
    b"URI": b"pg://h/d?user=u&pw=t0psecret",
    b"MYURL": b"pg://u:t0psecret?/@h/d?pw=t0psecret",
    b"PLAIN_1": b"see http://u:t0psecret@h/x",
    b"PLAIN_2": b"http://t0psecret@h/x",
    b"PLAIN_3": b"http://a:t0psecret@h,http://b:t0psecret@i",
    b"PLAIN_4": b"http://a/x http://u:t0psecret/with?odd#signs@h",
    b"PLAIN_5": b"redis://:t0psecret@h",
    b"PLAIN_6": b"--token=t0psecret",
    b"PLAIN_7": b"ghp_t0psecrett0psecrett0psecret",
    b"PLAIN_8": b"\xff://u:t0psecret\xfe@h",
    b"PLAIN_9": b"http://u:t0p secret-t0psecret@h",
}


@pytest.mark.parametrize("name", HIDDEN, ids=os.fsdecode)
@pytest.mark.parametrize("isolation", ["none", "process"])
def test_a_secret_value_is_in_neither(name: bytes, isolation: str) -> None:
    found = resolution(isolation=isolation, environ={name: HIDDEN[name]})
    assert found.run.environment.get(name) == (HIDDEN[name] if isolation == "none" else None)
    for text in (preview.render(found), preview.as_json(found)):
        assert SECRET not in text
    shown = [item for item in parsed(found)["environment"] if item["name"] == os.fsdecode(name)]
    assert [item["masked"] for item in shown if item["origin"] != "removed"] == ([True] if isolation == "none" else [])


def test_whatever_is_passed_on_is_masked_whatever_its_name() -> None:
    found = resolution(environ=SECRETS, env={b"PLAIN": None, b"A": b"t0psecret-z", b"MY_TOKEN": None, b"ABSENT": None})
    assert environment(found) == [
        "A=***MASKED***  (--env)",
        "DATABASE_URL=<removed>",
        "HOME=/tmp/aasm-dry-run/home  (private)",
        "MY_TOKEN=***MASKED***  (--env)",
        "PATH=/usr/bin  (inherited)",
        "PLAIN=***MASKED***  (--env)",
    ]
    assert SECRET not in preview.as_json(found) + preview.render(found)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("A", "plain", "plain"),
        ("A", "", ""),
        ("A", "http://host/a?b=c#d", "http://host/a?b=c#d"),
        ("A", "mail a@b", "mail a@b"),
        ("A", "a@b http://h", "a@b http://h"),
        ("A", "http://user:pw@host/x", "http://user:***MASKED***@host/x"),
        ("A", "http://:pw@host/x", "http://:***MASKED***@host/x"),
        ("A", "http://user@host/x", "http://***MASKED***@host/x"),
        ("A", "http://a/b:c@host", "http://***MASKED***@host"),
        ("SomeUrl", "http://host/x", "http://host/x"),
        ("SomeUrl", "http://u:p@host/x?a=b", "http://u:***MASKED***@host/x?***MASKED***"),
        ("DSN", "u:p@tcp(host)/d", None),
        ("DSN", "", ""),
    ],
)
def test_the_password_of_an_address_is_cut(name: str, value: str, shown: str) -> None:
    assert masking.without_password(name, value) == shown
