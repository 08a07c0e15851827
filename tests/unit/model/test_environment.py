# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The environment is replaced, not filtered; names decide and values are never looked at."""

from __future__ import annotations

import pytest

from aasm.errors import UsageError
from aasm.model.ambient import SECRET_FRAGMENTS, looks_like_authority
from aasm.model.environment import INHERITED, parse_option, replaced, untouched

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


LOOKING = (b"LC_API_TOKEN", b"LC_PASS", b"LC_SSH_KEY", b"LC_DB_URL", b"LC_AUTH", b"LC_my_secret")


def test_a_name_that_travels_and_looks_like_authority_does_not_travel() -> None:
    """Whoever logs in to a host may pass LC_* on to it, and so names what they like so."""
    inherited = {**OPERATOR, **dict.fromkeys(LOOKING, b"secret"), b"LC_TIME": b"C"}
    made = replaced(inherited, {}, PRIVATE)
    names = {entry.name for entry in made.entries}
    assert not names & set(LOOKING) and {b"LC_ALL", b"LC_TIME", b"PATH"} <= names
    assert set(made.posture.removed) == {
        "DATABASE_URL", "GITHUB_TOKEN", "SSH_AUTH_SOCK", *(name.decode() for name in LOOKING),
    }  # fmt: skip
    assert made.posture.removed == tuple(sorted(made.posture.removed))
    assert made.posture.delegated == made.posture.ambient_unremoved == ()


def test_nothing_that_looks_like_authority_is_inherited_whatever_its_name_begins_with() -> None:
    for item in INHERITED:
        for fragment in SECRET_FRAGMENTS:
            name = (item[:-1] + fragment).encode() if item.endswith("*") else item.encode()
            made = replaced({name: b"x"}, {}, ())
            assert (made.get(name) is None) is looks_like_authority(name)
            assert made.posture.removed == ((name.decode(),) if looks_like_authority(name) else ())


def test_one_that_is_named_is_delegated_all_the_same_and_no_longer_removed() -> None:
    made = replaced({b"LC_API_TOKEN": b"secret", b"LC_PASS": b"a"}, {b"LC_API_TOKEN": None, b"LC_PASS": b"b"}, ())
    assert [(entry.name, entry.value, entry.origin) for entry in made.entries] == [
        (b"LC_API_TOKEN", b"secret", "--env"), (b"LC_PASS", b"b", "--env"),
    ]  # fmt: skip
    assert (made.posture.removed, made.posture.delegated) == ((), ("LC_API_TOKEN", "LC_PASS"))


def test_the_operator_delegates_by_name_or_sets_a_value() -> None:
    made = replaced(OPERATOR, {b"GITHUB_TOKEN": None, b"NEW": b"1", b"ABSENT": None, b"TMPDIR": b"/mine"}, PRIVATE)
    assert made.get(b"GITHUB_TOKEN") == b"secret" and made.get(b"NEW") == b"1"
    assert made.get(b"ABSENT") is None and made.get(b"TMPDIR") == b"/mine"
    assert made.posture.delegated == ("GITHUB_TOKEN",)
    assert "GITHUB_TOKEN" not in made.posture.removed


def test_what_the_policy_passes_on_is_passed_when_it_is_set_and_everything_above_wins() -> None:
    passed = (b"GITHUB_TOKEN", b"EDITOR", b"ABSENT", b"HOME", b"PATH")
    made = replaced({**OPERATOR, b"SET": b"1"}, {b"EDITOR": b"ed"}, PRIVATE, passed)
    found = {entry.name: (entry.value, entry.origin) for entry in made.entries}
    assert found[b"GITHUB_TOKEN"] == (b"secret", "policy") and found[b"PATH"] == (b"/bin", "policy")
    assert found[b"EDITOR"] == (b"ed", "--env") and found[b"HOME"] == (b"/private/home", "private")
    assert b"ABSENT" not in found and b"SET" not in found and b"LD_PRELOAD" not in found
    assert made.posture.delegated == ("GITHUB_TOKEN",)
    assert made.posture.removed == ("DATABASE_URL", "SSH_AUTH_SOCK")


@pytest.mark.parametrize("name", [b"AA_GATEWAY_TOKEN", b"AASM_SECRET", b"aa_token"])
def test_authority_of_the_supervisor_is_not_passed_on_even_when_the_policy_names_it(name: bytes) -> None:
    made = replaced({name: b"secret", b"LANG": b"C"}, {}, (), (name, b"LANG"))
    assert [entry.name for entry in made.entries] == [b"LANG"]
    assert made.posture.delegated == () and made.posture.removed == (name.decode(),)


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
