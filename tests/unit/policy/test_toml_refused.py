# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""TOML that is refused: at its place, with a remedy, and before tomllib can fail; below Python 3.11 all of it."""

from __future__ import annotations

import sys
from typing import Any, List, Tuple

import pytest

from aasm.errors import PolicyError
from aasm.policy import toml

HAS_TOMLLIB = sys.version_info >= (3, 11)
if HAS_TOMLLIB:
    import tomllib

NEEDS = "p.toml: TOML needs Python 3.11; write it in YAML or JSON, or use a newer Python"


def test_an_older_python_is_told_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", min(tuple(sys.version_info), (3, 10)))
    for text in ("a = 1", "", "[[["):
        with pytest.raises(PolicyError) as caught:
            toml.parse(text, "p.toml")
        assert str(caught.value) == NEEDS


SECOND = "this table is declared already"
INNER = "the dotted key reaches into a table with a header of its own"
DATES = "dates and times are not read"
NOT_FINITE = "the number is too large, infinite or none"
BIG = "the number is larger than 2^53-1"
DEEP = "more than 32 maps and lists"
LONG = "a value of more than 400 characters"
REFUSED: List[Tuple[str, str, str]] = [
    ("", "1:1", "the document is empty"),
    (" \n# a = 1\n", "1:1", "the document is empty"),
    # keys
    ("a", "1:2", "= is due before the end of the document"),
    ("a\nb = 1", "1:2", "= is due before the end of the line"),
    ("a b = 1", "1:3", '= is due before "b"'),
    ("= 1", "1:1", 'a key is due before "="'),
    ("a. = 1", "1:4", 'a key is due before "="'),
    ("\u00e9 = 1", "1:1", 'a key is due before "\u00e9"'),
    ('"""a""" = 1', "1:3", "= is due before '\"'"),
    ('"a = 1\n', "1:1", 'the " is not closed on its line'),
    ('x."\\u12" = 1', "1:3", "\\u needs 4 hexadecimal digits"),
    ('"\\ud800" = 1', "1:1", "the escape names no character"),
    ('"\\e" = 1', "1:2", '"\\e" is not an escape of TOML'),
    ("a = 1\nb.c.d.e.f.g.h = 1", "2:13", "a dotted key of more than 6 parts"),
    # values
    ("a =", "1:4", "a value is due before the end of the document"),
    ("a = # b", "1:5", 'a value is due before "#"'),
    ("a =\n1", "1:4", "a value is due before the end of the line"),
    ("a = ,", "1:5", 'a value is due before ","'),
    ("a = b", "1:5", '"b" is not a TOML value'),
    ("a = True", "1:5", '"True" is not a TOML value'),
    ("a = 1x", "1:5", '"1x" is not a TOML value'),
    ("a = 01", "1:5", '"01" is not a TOML value'),
    ("b = 1\na = [1,\n 2, 1__0]", "3:5", '"1__0" is not a TOML value'),
    ("a = {b = 5.}", "1:10", '"5." is not a TOML value'),
    ("a = [\nb]", "2:1", '"b" is not a TOML value'),
    ("a = null", "1:5", '"null" is not a TOML value'),
    ("a = b=1", "1:5", '"b=1" is not a TOML value'),
    ("a = 2026-13-01", "1:5", '"2026-13-01" is not a TOML value'),
    ("a = 1 2", "1:7", 'the end of the line is due before "2"'),
    ("a = 1, b = 2", "1:6", 'the end of the line is due before ","'),
    ("a = 'b' 'c'", "1:9", 'the end of the line is due before "\'"'),
    # texts
    ('a = 1\nb = "c\n', "2:5", 'the " is not closed on its line'),
    ("b = 'c\n'", "1:5", "the ' is not closed on its line"),
    ('b = "c\\\n"', "1:5", 'the " is not closed on its line'),
    ('a = 1\nb = """c\n""', "2:5", 'the """ are never closed'),
    ("b = '''c\n''", "1:5", "the ''' are never closed"),
    ('b = """c\\', "1:5", 'the """ are never closed'),
    ('b = "c\\e"', "1:7", '"\\e" is not an escape of TOML'),
    ('b = "c\\x41"', "1:7", '"\\x" is not an escape of TOML'),
    ('b = """\nc\\q"""', "2:2", '"\\q" is not an escape of TOML'),
    ('b = """\nc\\ d"""', "2:4", "a backslash that begins no escape"),
    ('b = "\\u12"', "1:8", "\\u needs 4 hexadecimal digits"),
    ('a = 1\nb = [1,\n"\\ud800"]', "3:8", "the escape names no character"),
    # brackets
    ("a = [", "1:5", "the [ is never closed"),
    ("a = [1,\n[2\n", "2:1", "the [ is never closed"),
    ("a = [1\nb = 2", "2:1", 'a comma or ] is due before "b"'),
    ("a = [1 2]", "1:8", 'a comma or ] is due before "2"'),
    ("a = [,]", "1:6", 'a value is due before ","'),
    ("a = [1,,]", "1:8", 'a value is due before ","'),
    ("a = [1}", "1:7", 'a comma or ] is due before "}"'),
    ("a = {b = 1", "1:11", "a comma or } is due before the end of the document"),
    ("a = {b = 1\n}", "1:11", "a comma or } is due before the end of the line"),
    ("a = {\nb = 1}", "1:6", "a key is due before the end of the line"),
    ("a = {b = 1,}", "1:12", 'a key is due before "}"'),
    ("a = {b}", "1:7", '= is due before "}"'),
    ("a = {b = 1]", "1:11", 'a comma or } is due before "]"'),
    ("a = 1]", "1:6", 'the end of the line is due before "]"'),
    # headers
    ("[a", "1:3", "] is due before the end of the document"),
    ("[a\n]", "1:3", "] is due before the end of the line"),
    ("[]", "1:2", 'a key is due before "]"'),
    ("[a] b = 1", "1:5", 'the end of the line is due before "b"'),
    ("[a]]", "1:4", 'the end of the line is due before "]"'),
    ("[[a]", "1:4", ']] is due before "]"'),
    ("[[a] ]", "1:4", ']] is due before "]"'),
    ("[ [a]]", "1:3", 'a key is due before "["'),
    # twice
    ("a = 1\nb = 2\na = [\n3]", "3:1", 'duplicate key "a", first on line 1'),
    ("ab = 1\n'ab' = 2", "2:1", 'duplicate key "ab", first on line 1'),
    ('ab = 1\n"\\u0061b" = 2', "2:1", 'duplicate key "ab", first on line 1'),
    ("a.b = 1\n\na.b = 2", "3:3", 'duplicate key "b", first on line 1'),
    ("a = {b = 1, b = 2}", "1:13", 'duplicate key "b", first on line 1'),
    ("[a.b]\n[a]\nb = 1", "3:1", 'duplicate key "b", first on line 1'),
    ("a = 1\n[a]", "2:2", 'the key "a" holds something else since line 1'),
    ("a = 1\na.b = 1", "2:1", 'the key "a" holds something else since line 1'),
    ("a = {}\na.b = 1", "2:1", 'the key "a" holds something else since line 1'),
    ("a = {b.c = {}, b.c.d = 1}", "1:18", 'the key "c" holds something else since line 1'),
    ("a = []\n[[a]]", "2:3", 'the key "a" holds something else since line 1'),
    ("a = [{}]\n[a.b]", "2:2", 'the key "a" holds something else since line 1'),
    ("[a]\n\n[[a]]", "3:3", 'the key "a" holds something else since line 1'),
    ("[a]\nb = 1\n[a] # c", "3:2", SECOND),
    ("[[a]]\n[a]", "2:2", SECOND),
    ("a.b = 1\n[a]\n", "2:2", SECOND),
    ("[a.b]\nc = 1\n[a]\nb.d = [\n2]\n", "4:1", INNER),
    # what has no place in a policy
    ("a = [1, nan]", "1:9", NOT_FINITE),
    ("a = 1\nb = -inf", "2:5", NOT_FINITE),
    ("a = 1e999", "1:5", NOT_FINITE),
    ("a = 2026-01-02", "1:5", DATES),
    ("a = 2026-01-02 03:04:05", "1:5", DATES),
    ("a = [\n2026-01-02 03:04:05Z ]", "2:1", DATES),
    ("a = {b = 03:04:05}", "1:10", DATES),
    ("a = [1, 9007199254740992]", "1:9", BIG),
    ("a = 0x20000000000000", "1:5", BIG),
    ("a = " + "1" * 401, "1:5", LONG),
    ("a = 0." + "0" * 399, "1:5", LONG),
    ("a = [" + "1" * 5000, "1:6", LONG),
    # depth: the root and the list are two levels
    ("a = " + "[" * 32 + "]" * 32, "1:36", DEEP),
    ("a = " + "[" * 5000, "1:36", DEEP),
    ("a = " + "{a=" * 32 + "1" + "}" * 32, "1:98", DEEP),
    ("a = " + "{a.b.c=" * 5000, "1:76", DEEP),
    ("[a.b.c.d.e.f]\na.b.c.d.e.f = " + "[" * 21 + "1" + "]" * 21, "2:35", DEEP),
    ("[[a]]\nb = " + "[" * 30 + "]" * 30, "2:34", DEEP),
]


class TestRefusing:
    """With tomllib: elsewhere there is nothing that these could try."""

    __test__ = HAS_TOMLLIB

    @pytest.mark.parametrize(("text", "place", "what"), REFUSED)
    def test_refusals_name_their_place(self, text: str, place: str, what: str) -> None:
        with pytest.raises(PolicyError) as caught:
            toml.parse(text, "p.toml")
        assert (caught.value.where, caught.value.what[: len(what)]) == (f"p.toml:{place}", what)
        assert caught.value.remedy and str(caught.value).isprintable()

    @pytest.mark.parametrize("opening", ["[", "{a=", "[{a=", "{a.b="])
    def test_depth_is_refused_before_tomllib_sees_it(self, opening: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def never(text: str) -> Any:
            raise AssertionError("tomllib was asked")

        monkeypatch.setattr(tomllib, "loads", never)
        with pytest.raises(PolicyError, match="more than 32 maps and lists"):
            toml.parse("a = " + opening * 10_000, "p")

    @pytest.mark.parametrize("data", [{"a": 1}, {"a": [1]}, {"a": [1, [2]]}, {"a": {}}, {"a": [1, 2], "b": 1}, {}])
    def test_two_readers_that_differ_are_refused(self, data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tomllib, "loads", lambda text: data)
        with pytest.raises(PolicyError, match="^p:1:[1569]: this Python reads a structure here that TOML 1.0"):
            toml.parse("a = [1, 2]", "p")

    @pytest.mark.parametrize(
        ("said", "place"),
        [
            ("Odd\tthing (at line 4, column 1)", "2:1"),
            ("Odd\tthing (at end of document)", "5:1"),
            ("Odd\tthing", "5:1"),
        ],
    )
    def test_words_of_tomllib_that_are_new_are_told_at_their_statement(
        self, said: str, place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(text: str) -> Any:
            raise tomllib.TOMLDecodeError(said)

        monkeypatch.setattr(tomllib, "loads", refuse)
        with pytest.raises(PolicyError) as caught:
            toml.parse("a = 1\nb = [\n2,\n3]\nc = 1\n", "p")
        assert str(caught.value) == f'p:{place}: not TOML: "Odd\\x09thing"; correct the statement'
