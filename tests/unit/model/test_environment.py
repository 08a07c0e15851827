# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The environment is replaced, not filtered; names decide and values are never looked at."""

from __future__ import annotations

import pytest

from aasm.errors import UsageError
from aasm.model.ambient import looks_like_authority
from aasm.model.environment import parse_option, replaced, untouched

OPERATOR = {
    b"PATH": b"/bin",
    b"LC_ALL": b"C",
    b"HOME": b"/h",
    b"GITHUB_TOKEN": b"secret",
    b"DATABASE_URL": b"secret",
    b"LD_PRELOAD": b"/evil.so",
    b"EDITOR": b"vi",
    b"SSH_AUTH_SOCK": b"/agent",
}
PRIVATE = (("private", {b"HOME": b"/private/home", b"TMPDIR": b"/private/tmp"}),)


def test_only_harmless_names_travel_by_themselves() -> None:
    made = replaced(OPERATOR, {}, PRIVATE)
    assert {e.name: e.origin for e in made.entries} == {
        b"PATH": "inherited", b"LC_ALL": "inherited", b"HOME": "private", b"TMPDIR": "private",
    }  # fmt: skip
    assert made.get(b"HOME") == b"/private/home"
    assert made.posture.removed == ("DATABASE_URL", "GITHUB_TOKEN", "SSH_AUTH_SOCK")
    assert made.posture.delegated == made.posture.ambient_unremoved == ()


def test_the_operator_delegates_by_name_or_sets_a_value() -> None:
    made = replaced(OPERATOR, {b"GITHUB_TOKEN": None, b"NEW": b"1", b"ABSENT": None, b"TMPDIR": b"/mine"}, PRIVATE)
    assert made.get(b"GITHUB_TOKEN") == b"secret" and made.get(b"NEW") == b"1"
    assert made.get(b"ABSENT") is None and made.get(b"TMPDIR") == b"/mine"
    assert made.posture.delegated == ("GITHUB_TOKEN",)
    assert "GITHUB_TOKEN" not in made.posture.removed


def test_no_entry_is_lost_or_doubled_whatever_bytes_it_holds() -> None:
    odd = {b"LC_" + bytes([n]): bytes(range(1, 256)) for n in range(1, 256) if n != ord("=")}
    made = replaced(odd, {}, ())
    assert len(made.strings()) == len(odd)
    assert dict(item.split(b"=", 1) for item in made.strings()) == odd
    assert list(made.entries) == sorted(made.entries, key=lambda entry: entry.name)


def test_a_later_layer_wins_and_keeps_its_origin() -> None:
    adapter = ("adapter", {b"TMPDIR": b"/tool", b"TOOL_TOKEN": b"x"})
    made = replaced(OPERATOR, {b"TOOL_TOKEN": b"mine"}, (*PRIVATE, adapter))
    origins = {entry.name: entry.origin for entry in made.entries}
    assert (origins[b"HOME"], origins[b"TMPDIR"], origins[b"TOOL_TOKEN"]) == ("private", "adapter", "--env")
    assert made.get(b"TMPDIR") == b"/tool" and made.get(b"TOOL_TOKEN") == b"mine"
    assert untouched({}, {}, (adapter,)).get(b"TMPDIR") == b"/tool"


def test_without_a_boundary_the_environment_is_the_operators_own_and_said_to_be_ambient() -> None:
    made = untouched(OPERATOR, {b"DATABASE_URL": b"other"})
    assert {e.name for e in made.entries} == set(OPERATOR)
    assert made.posture.ambient_unremoved == ("GITHUB_TOKEN", "SSH_AUTH_SOCK")
    assert made.posture.delegated == ("DATABASE_URL",)


@pytest.mark.parametrize("name", ["AA_GATEWAY_TOKEN", "AASM_SECRET", "AGENT_ASSEMBLY_KEY", "aa_token"])
def test_authority_of_the_supervisor_is_refused_even_when_named(name: str) -> None:
    with pytest.raises(UsageError, match="supervisor"):
        parse_option(f"{name}=x")


@pytest.mark.parametrize("text", ["", "=", "=value", "A\0B=1"])
def test_an_option_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_option(text)


@pytest.mark.parametrize(("text", "parsed"), [("A", ("A", None)), ("A=", ("A", "")), ("A=b=c", ("A", "b=c"))])
def test_an_option_is_split_at_the_first_sign(text: str, parsed: tuple[str, str | None]) -> None:
    assert parse_option(text) == parsed


@pytest.mark.parametrize("name", [b"PATH", b"LANG", b"TERM", b"EDITOR", b"\xff\xfe"])
def test_harmless_names_are_no_authority(name: bytes) -> None:
    assert not looks_like_authority(name)
