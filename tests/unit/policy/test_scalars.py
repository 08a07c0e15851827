# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Plain scalars: a value only where YAML 1.1 and 1.2 agree."""

from __future__ import annotations

import pytest

from aasm.policy.scalars import Scalar, Unsure, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("0", 0),
        ("-0", 0),
        ("1", 1),
        ("-12", -12),
        ("9007199254740991", 2**53 - 1),
        ("-9007199254740991", 1 - 2**53),
        ("0.0", 0.0),
        ("-0.5", -0.5),
        ("20.00", 20.0),
        ("1.0", 1.0),
    ],
)
def test_values_and_their_types(text: str, value: Scalar) -> None:
    found = resolve(text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "text",
    "a yesterday trues nan inf None nil 1.2.3 10.0.0.1 10.0.0.1:80 1,000 0xg 0o8 08a 1a 1e e3 1-2 + - . .. ..a +a "
    "2026-01-02-x 2026-01 12:30pm 1::2 dead:beef::1 a=b == <<< ~a http://x".split(),
)
def test_texts_that_every_reader_sees_as_texts(text: str) -> None:
    assert resolve(text) == text


WORDS = "yes Yes YES no No NO on On ON off OFF y Y n N True TRUE False FALSE Null NULL".split()


@pytest.mark.parametrize("text", WORDS)
def test_words_that_some_readers_take_for_values(text: str) -> None:
    with pytest.raises(Unsure, match="is a text for some readers, true, false or null for others") as caught:
        resolve(text)
    assert f'"{text}"' in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("~", "~ is a text for some readers and null for others"),
        ("=", "= has a meaning of its own"),
        ("<<", "<< has a meaning of its own"),
        ("01", "a leading zero"),
        ("0755", "a leading zero"),
        ("-010", "a leading zero"),
        ("08", "a leading zero"),
        ("00.5", "a leading zero"),
        ("0o17", "only decimal numbers"),
        ("0x1F", "only decimal numbers"),
        ("-0xff", "only decimal numbers"),
        ("0b101", "only decimal numbers"),
        ("1_000", "an underscore"),
        ("1_0.5", "an underscore"),
        ("1.2_3", "an underscore"),
        ("5._", "an underscore"),
        ("1e3", "an exponent"),
        ("1E+3", "an exponent"),
        ("-1.5e-3", "an exponent"),
        ("1.e3", "an exponent"),
        (".5e1", "an exponent"),
        ("+1", "a plus sign"),
        ("+0.5", "a plus sign"),
        ("+_1", "a plus sign"),
        (".5", "a number needs digits on both sides"),
        ("-.5", "a number needs digits on both sides"),
        ("5.", "a number needs digits on both sides"),
        (".inf", "infinity and not-a-number"),
        ("-.Inf", "infinity and not-a-number"),
        ("+.INF", "infinity and not-a-number"),
        (".nan", "infinity and not-a-number"),
        (".NaN", "infinity and not-a-number"),
        ("22:30", "a number with colons is base 60"),
        ("1:2:3", "a number with colons is base 60"),
        ("22:30:15.5", "a number with colons is base 60"),
        ("-1:30", "a number with colons is base 60"),
        ("2026-01-02", "a date"),
        ("2026-1-2", "a date"),
        ("2026-01-02T03:04:05Z", "a date"),
        ("2026-01-02 03:04:05 +1", "a date"),
        ("9007199254740992", "the number is larger than 2^53-1"),
        ("-9007199254740992", "the number is larger than 2^53-1"),
        ("1" * 64, "the number is larger than 2^53-1"),
        ("1" * 65, "a number may have 64 characters at most"),
        ("1." + "0" * 64, "a number may have 64 characters at most"),
        ("1e" + "9" * 64, "a number may have 64 characters at most"),
    ],
)
def test_texts_that_readers_disagree_about(text: str, why: str) -> None:
    with pytest.raises(Unsure) as caught:
        resolve(text)
    assert caught.value.what.startswith(why)
    assert caught.value.remedy


def test_a_long_text_that_only_begins_like_a_number_is_a_text() -> None:
    text = "1" * 64 + " and more"
    assert resolve(text) == text
