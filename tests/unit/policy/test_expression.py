# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Approval expressions: what is one, where a text is none, when approval is needed, and one spelling for each value.

In the tables " / " divides texts that have the same outcome.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import OrderedDict, defaultdict
from types import MappingProxyType
from typing import Any, Dict, Mapping

import pytest

from aasm.errors import PolicyError
from aasm.policy.expression import Comparison, ExpressionError, evaluate, fields, needed, parse, spelled

OPERATORS = "== != > >= < <= contains starts_with in not_in".split()
NUMBER, TEXT, TRUTH, TEXT_OR_LIST = "a number", "a text", "true or false", "a text or a list of texts"


def refusal(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    return caught.value


def only(text: str) -> Comparison:
    ((comparison,),) = parse(text).alternatives
    return comparison


# What is an expression

LITERALS: Dict[str, Dict[str, Any]] = {
    NUMBER: {
        **{"100": 100, "-1": -1, "-0": 0, "0.5": 0.5, "-0.25": -0.25, "1.0": 1.0, "1.50": 1.5, "0.00": 0.0},
        **{"9007199254740991": 2**53 - 1, "-9007199254740991": 1 - 2**53},
        **{"99999999999999.9": 99999999999999.9, "-0.00000000000001": -1e-14},
    },
    TRUTH: {"true": True, "false": False},
    TEXT: {
        **{'""': "", '"it\'s"': "it's", "'say \"x\"'": 'say "x"', r'"\"\\"': '"\\', r"'\'\\'": "'\\", r'"\\n"': r"\n"},
        '"AND ( ] \t\n é 𝄞"': "AND ( ] \t\n é 𝄞",
    },
}


@pytest.mark.parametrize("kind", LITERALS)
def test_a_literal_alone_and_in_a_list(kind: str) -> None:
    for written, value in LITERALS[kind].items():
        found = [only(f"a =={written}"), only(f"a != {written} "), only(f"a in[{written}]")]
        due = [Comparison("a", *rest) for rest in (("==", kind, value), ("!=", kind, value), ("in", kind, (value,)))]
        assert repr(found) == repr(due)  # 1, 1.0 and True are equal
    whole = only(f"a not_in [{' ,'.join(LITERALS[kind])}]")
    assert repr(whole) == repr(Comparison("a", "not_in", kind, tuple(LITERALS[kind].values())))


@pytest.mark.parametrize("field", ["a", "_a.b-c.D_9-", "a-b", "filter.not.AND.true", "in", "android", "a" + ".a" * 31])
def test_a_field_and_the_blanks_around_it(field: str) -> None:
    assert only(f"\n\t {field} \n >=\t1 \n") == Comparison(field, ">=", NUMBER, 1)
    assert only(f"{field}<-1") == Comparison(field, "<", NUMBER, -1)
    assert only(f"{field} contains'x'") == Comparison(field, "contains", TEXT_OR_LIST, "x")


def test_and_binds_tighter_than_or() -> None:
    shapes = {
        **{"a": [["a"]], "a AND b": [["a", "b"]], "a OR b": [["a"], ["b"]]},
        **{"a OR b AND c": [["a"], ["b", "c"]], "a AND b OR c": [["a", "b"], ["c"]]},
        "a AND b OR c AND d AND e OR f": [["a", "b"], ["c", "d", "e"], ["f"]],
    }
    for (text, shape), literal in itertools.product(shapes.items(), ("== 1", "== 'x'", "in [1]")):
        found = parse("".join(f"{letter} {literal}" if letter.islower() else letter for letter in text))
        assert [[item.field for item in joined] for joined in found.alternatives] == shape


def test_the_kind_of_a_field_may_be_stated_more_than_once_and_become_narrower() -> None:
    found = fields(parse("b.c contains 'x' AND n in [1] OR b.c == 'y' AND n > 2.5 OR b.d == true OR l contains 'z'"))
    assert list(found.items()) == [("b.c", TEXT), ("n", NUMBER), ("b.d", TRUTH), ("l", TEXT_OR_LIST)]
    assert fields(parse("a starts_with 'x' AND a contains 'y'")) == {"a": TEXT}


# What is none

FIRST = "write a comparison such as amount > 100, the field first"
KNOWN = "use one of " + " ".join(OPERATORS)
QUOTES = "write a number, true, false, or a text in quotes"
JOIN = "join comparisons with AND or OR"
COMMAS = "divide the list with commas and close it with ]"
LIST = 'write it as ["a", "b"]'
BRACKETS = "there are no such brackets: AND binds tighter than OR, and a list is written [1, 2]"
LISTS = "a list stands only behind in and not_in, and holds no other list"
ITEMS = "a list has a literal behind its [ and behind each comma"
NO_NOT = "there is no NOT: use != or not_in"
NO_NULL = "there is no null: a field without a value needs approval anyway"
MISPLACED = [  # what is due, the remedy, texts: ^marks^ what stands there, nothing at the end
    ("a field", FIRST, "^AND^ a == 1 / a == 1 AND ^OR^ b == 1 / ^100^ < amount / ^100^ < a < 300 / ^'x'^ == a"),
    ("a field", FIRST, '^"x"^ == a / ^true^ == a / ^or^ == 1 / ^False^ == 1 / ^$^a == 1 / ^ä^ == 1 / a == 1 OR ^==^ 1'),
    ("a field", FIRST, "a == 1 AND^^ / a == 1 OR \t^^"),
    ("a field", BRACKETS, "^(^a == 1) / a == 1 AND ^(^b == 2 OR c == 3)"),
    ("a field", NO_NOT, "^not^ a == 1 / ^NOT^ a == 1 / ^!^a"),
    ("an operator", KNOWN, "a ^=~^ 'x' / a ^matches^ 'x' / a ^AND^ b == 1 / a ^'=='^ 1 / a ^1^ / a ^true^ / a ^-^ 1"),
    ("an operator", KNOWN, "amount^^ / a == 1 AND b\n^^"),
    ("an operator", "write ==", "a ^=^ 1 / a^=^1 / a^=^-1 / a ^===^ 1 / a ^is^ true / a ^equals^ 1"),
    ("an operator", "write !=", "a ^!==^ 1 / a ^<>^ 1 / a ^=!^ 1"),
    ("an operator", "write >=", "a ^=>^ 1"),
    ("an operator", "write <=", "a ^=<^ 1"),
    ("an operator", "write contains", "a ^CONTAINS^ 'x' / a ^includes^ 'x'"),
    ("an operator", "write starts_with", "a ^startsWith^ 'x' / a ^starts-with^ 'x' / a ^Starts_With^ 'x'"),
    ("an operator", "write in", "a ^IN^ [1]"),
    ("an operator", "write not_in", "a ^notin^ [1] / a ^not-in^ [1] / a ^NOT_IN^ [1]"),
    ("an operator", NO_NOT, "a ^not^ in [1] / a ^NOT^ IN [1]"),
    ("an operator", LISTS, "a^[^0] == 1"),
    ("a literal", QUOTES, "a == ^b^ / a == ^b.c^ / a == ^==^ 1 / a == ^-^b / a == ^-^-1 / a == ^“^x” / a == ^١^"),
    ("a literal", QUOTES, "a == ^AND^ b == 1 / a in [^,^1] / a in [^x^] / a ==^^ / a in [^^ / a in [1, ^^"),
    ("a literal", "write true", "a == ^True^ / a in [true, ^TRUE^]"),
    ("a literal", "write false", "a == ^FALSE^"),
    ("a literal", NO_NULL, "a == ^null^ / a != ^None^ / a in [^nil^]"),
    ("a literal", BRACKETS, "a == ^(^1)"),
    ("a literal", LISTS, "a == ^[^1] / a contains ^[^'x'] / a in [1, ^[^2]]"),
    ("a literal", ITEMS, "a in [^]^ / a in [1,^]^"),
    ("a list", LIST, "a in ^1^ / a not_in ^'x'^ / a in ^b^ / a in^^"),
    ("a list", BRACKETS, "a in ^(^1, 2)"),
    ("a comma or ]", COMMAS, "a in [1 ^2^] / a in [1 ^AND^ b == 1 / a in ['x'^'y'^] / a in [1^^ / a in ['x', 'y'^^"),
    ("AND or OR", JOIN, "a == 1^,^ b == 1 / a > 1^,^000 / a == 1^;^ / a == 1^\r^ / a == 1 ^b^ == 1 / a == 1 ^true^"),
    ("AND or OR", JOIN, "a == 'x' ^'AND'^ b == 1 / a == 'x'^'y'^ / a > 1 ^<^ 3 / a == 1^\0^ / a == 1^\u00a0^"),
    ("AND or OR", "write AND", "a == 1 ^and^ b == 1 / a == 1^&&^b == 1 / a == 1 ^And^ b == 1"),
    ("AND or OR", "write OR", "a == 1 ^or^ b == 1 / a == 1 ^||^ b == 1 / a == 1 ^|^ b == 1"),
    ("AND or OR", BRACKETS, "a == 1^)^"),
]


@pytest.mark.parametrize(("due", "remedy", "texts"), MISPLACED)
def test_what_stands_where_something_else_is_due(due: str, remedy: str, texts: str) -> None:
    for marked in texts.split(" / "):
        before, wrong, behind = marked.split("^")
        quote = "'" if '"' in wrong else '"'
        what = f"{quote}{wrong}{quote} stands" if wrong else "the expression ends"
        found = refusal(before + wrong + behind)
        assert (found.at, found.what, found.remedy) == (len(before), f"{what} where {due} is due", remedy), marked


LEAVE = "write a comparison such as amount > 100, or leave the key out"
PARTS = "each part begins with a letter or _, and single dots divide them"
LARGE = "the number is larger than 2^53-1, which not every reader holds exactly"
DIGITS = "write digits with at most one point between them, such as 20, -3 or 0.5; a text stands in quotes"
BACKSLASH = "write \\\\ for a backslash and \\{} for the quote; every other character stands for itself"
NO_NUMBERS = "+1 01 -01 1. .5 -.5 1e3 1e+3 1E-3 0x1F 1_000 1.2.3 1-2 1AND 10USD 1.e 00 00.5".split()
KEEP, INSTEAD = "keep a list to one kind", "or == or != instead of"
WRONG = [  # what is said, the remedy, texts: ^ is the place
    ("the expression is empty", LEAVE, "^ / ^ \t\n"),
    ('an empty part in the field "a..b"', PARTS, "a.^.b == 1"),
    ('an empty part in the field "a.b."', PARTS, " a.b.^ == 1"),
    ('"0" is no part of a field', PARTS, "a.^0.b == 1"),
    ('"-c" is no part of a field', PARTS, "a == 1 AND b.^-c == 1"),
    ("a field of more than 32 parts", "shorten it", "a == 1 OR ^" + "a." * 32 + "a == 1"),
    ("the text is not closed with '", "close it", "a == ^'x / a == ^'x\" AND b == 1 / a in [^'x]"),
    ('the text is not closed with "', "close it", 'a == ^"x\\" / a == ^"'),
    (r"\n is not an escape of this language", BACKSLASH.format('"'), r'a == "x^\n" / a == "\\^\n\q"'),
    (r"\' is not an escape of this language", BACKSLASH.format('"'), r'a == "^\'"'),
    (r"\" is not an escape of this language", BACKSLASH.format("'"), r"a == '^\"'"),
    *((f'"{number}" is no number', DIGITS, f"a == ^{number} AND b == 1") for number in NO_NUMBERS),
    (LARGE, "write a smaller one", "a == ^9007199254740992 / a in [^-9007199254740992] / a == ^" + "9" * 4000),
    ("a decimal number has 15 digits at most", "write fewer digits", "a == ^0.123456789012345 / a < ^-1." + "0" * 4000),
    ("\"'x'\" is a text in a list that begins with a number", KEEP, "a in [1, ^'x']"),
    ('"true" is true or false in a list that begins with a text', KEEP, "a in ['x', ^true]"),
    ('"1" is a number in a list that begins with true or false', KEEP, "a in [true, ^1]"),
    ("> needs a number, and this is a text", f"write a number, {INSTEAD} >", "a > ^'x'"),
    ("<= needs a number, and this is true or false", f"write a number, {INSTEAD} <=", "a <= ^true"),
    ("starts_with needs a text, and this is a number", f"write a text, {INSTEAD} starts_with", "a starts_with ^1"),
    ("contains needs a text, and this is a number", f"write a text, {INSTEAD} contains", "a contains ^1"),
    ("more than 64 comparisons", "use in with a list where a field has several values", "a==1 OR " * 64 + "^a==1"),
]
TWO_KINDS = [  # field, its kind at the ^, its kind at the earlier character, the text
    ("a", TEXT, NUMBER, 1, "a > 1 AND ^a == 'x'"),
    ("a", NUMBER, TEXT, 1, "a == 'x' OR ^a in [1]"),
    ("a", NUMBER, TRUTH, 14, "b == true OR a == true AND ^a > 1"),
    ("a", NUMBER, TEXT_OR_LIST, 1, "a contains 'x' AND ^a > 1"),
    ("a", NUMBER, TEXT, 19, "a contains 'x' OR a == 'y' OR ^a < 1"),  # the second made it a text
    ("a", NUMBER, TEXT, 1, "a == 'y' OR a contains 'x' OR ^a < 1"),
    ("a", "a map", NUMBER, 1, "a > 1 AND ^a.b > 1"),
    ("a.b", NUMBER, "a map", 1, "a.b.c > 1 AND ^a.b > 1"),
]


@pytest.mark.parametrize(("what", "remedy", "texts"), WRONG, ids=[row[0] for row in WRONG])
def test_what_is_wrong_in_another_way(what: str, remedy: str, texts: str) -> None:
    for marked in texts.split(" / "):
        found = refusal(marked.replace("^", ""))
        assert (found.at, found.what, found.remedy) == (marked.index("^"), what, remedy), marked


@pytest.mark.parametrize(("field", "kind", "first", "place", "marked"), TWO_KINDS)
def test_a_field_of_two_kinds(field: str, kind: str, first: str, place: int, marked: str) -> None:
    at = marked.index("^")
    what = f'"{field}" is used as {kind} at character {at + 1} and as {first} at character {place}'
    found = refusal(marked.replace("^", ""))
    assert (found.at, found.what) == (at, what)
    assert found.remedy == "keep to one kind: a value of another kind needs approval anyway"


def test_an_error_fits_into_the_line_that_a_policy_error_prints() -> None:
    found = refusal("a == 1\n\0")
    line = str(PolicyError(found.what, "p.yaml:3:7", found.remedy))
    assert line == 'p.yaml:3:7: "\\x00" stands where AND or OR is due; join comparisons with AND or OR'


# Limits


def test_the_longest_text_and_one_longer_as_written_and_as_spelled() -> None:
    longest = f'a == "{"x" * 4089}"'
    assert only(longest).operand == "x" * 4089
    found, quotes = refusal(longest + " "), refusal("a=='" + '"' * 3000 + "'")
    assert (found.at, found.what) == (4096, "an expression has 4096 characters at most")
    assert quotes.at == 0
    assert quotes.what == "in its canonical spelling the expression has 6007 characters, and 4096 is the most"
    assert len(parse(" OR ".join(["a == 1"] * 64)).alternatives) == 64


GARBAGE = ['"', "\\", 'a == "\\\\\\', "a.", "[", "(", " ", "9", "-1", "a==1 OR ", "a in [1,", "\0", "AND ", "\ud800"]


def test_garbage_is_refused_quickly_at_any_length_and_the_largest_expression_read() -> None:
    begin = time.perf_counter()
    for start, unit, size in itertools.product(("", "a == ", "a == '", "a in [", "a."), GARBAGE, (65536, 4096)):
        refusal((start + unit * size)[:size])
    expression = parse("a in [" + ",".join(["1"] * 900) + "] OR " + " OR ".join(["b.c not_in ['x']"] * 60))
    assert evaluate(expression, {"a": 2, "b": {"c": "x"}}) is False
    assert time.perf_counter() - begin < 1  # second; all of it takes a twentieth


# When approval is needed

ARGUMENTS: Dict[str, Any] = {
    **{"n": 10, "half": 0.5, "large": 2**80, "nan": float("nan"), "infinite": float("inf"), "huge": 10**400},
    **{"path": "/etc/passwd", "empty": "", "bytes": b"/etc", "yes": True, "no": False, "nothing": None},
    **{"tags": ["a", "b"], "pair": ("a", "b"), "none": [], "mixed": ["a", 1]},
    **{"deep": {"er": {"n": 1, "x-y": "z"}}, "deep.er": 5},
}
HOLD = [
    "n == 10 / n == 10.0 / n != 11 / n > 9.5 / n >= 10 / n < 11 / n <= 10 / half == 0.5 / half < 1",
    "large > 9007199254740991 / n in [1, 10.0] / n not_in [1, 2] / yes == true / no != true / no in [false]",
    "path == '/etc/passwd' / path != '/etc' / path starts_with '/etc' / path contains 'pass' / path contains ''",
    "path in ['/etc', '/etc/passwd'] / path not_in ['/etc'] / empty == '' / tags contains 'a' / pair contains 'b'",
    "deep.er.n == 1 / deep.er.x-y == 'z' / n == 10 AND half < 1 / n == 1 OR half < 1",
    "n == 10 OR half > 1 AND yes == false",  # would not hold with OR first
    "no == true AND yes == true OR n == 10",
]
DO_NOT = [
    "n == 11 / n != 10 / n > 10 / n >= 11 / n < 10 / n <= 9 / large < 9007199254740991 / n in [1, 2]",
    "n not_in [1, 10] / yes != true / no == true / no not_in [false] / path == '/ETC/passwd' / path != '/etc/passwd'",
    "path starts_with 'etc' / path contains 'Pass' / path in ['/etc'] / path not_in ['/etc/passwd']",
    "empty contains 'a' / tags contains 'c' / none contains '' / deep.er.n > 1 / n == 10 AND half > 1",
    "n == 1 OR half > 1 / no == true AND yes == true OR n == 1",
]
ERRORS = [
    "missing == 1 / missing != 1 / missing not_in ['x'] / deep.missing == 1 / n.x == 1 / path.x == 1 / tags.x == 1",
    "deep.er == 5",  # a dotted field looks into maps, whatever keys with dots there are
    "nothing.x == 1 / nothing == '' / n == 'x' / n == true / n contains '1' / path == 1 / path > 1 / path == true",
    "yes == 1 / yes > 0 / yes in [1] / no == 0 / no contains 'x' / nan < 1 / nan != 1 / infinite < 1 / huge < 1",
    "tags == 'a' / tags starts_with 'a' / tags in ['a'] / deep contains 'er' / mixed contains 'c' / bytes in ['x']",
]


@pytest.mark.parametrize(("texts", "answer"), [*((row, True) for row in HOLD), *((row, False) for row in DO_NOT)])
def test_the_answer(texts: str, answer: bool) -> None:
    for text in texts.split(" / "):
        assert evaluate(parse(text), ARGUMENTS) is answer, text


@pytest.mark.parametrize("texts", ERRORS)
def test_an_error_means_that_approval_is_needed_wherever_it_stands(texts: str) -> None:
    forms = "E / F AND E / E AND F / F OR E / E OR F / F OR F AND E / E AND F OR F / F AND F AND E".split(" / ")
    assert not any(evaluate(parse(form.replace("E", "F").replace("F", "half > 1")), ARGUMENTS) for form in forms)
    for text, form in itertools.product(texts.split(" / "), forms):
        whole = form.replace("E", text).replace("F", "half > 1")
        assert evaluate(parse(whole), ARGUMENTS) is True, whole


class Hostile(Dict[str, object]):
    def __contains__(self, key: object) -> bool:
        raise RuntimeError(key)


class EqualToAll(str):
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


class NeverGreater(int):
    def __gt__(self, other: object) -> bool:
        return False


def test_arguments_that_are_not_plain_data_mean_that_approval_is_needed() -> None:
    greater: Any
    for greater in (Hostile(), {"a": NeverGreater(2)}, None, [("a", 0)], "a"):
        assert evaluate(parse("a > 1"), greater) is True
    assert evaluate(parse("a.b > 1"), {"a": Hostile()}) is True
    assert evaluate(parse("a not_in ['x']"), {"a": EqualToAll("y")}) is True


def test_any_mapping_will_do_and_none_is_changed() -> None:
    expression, filling = parse("a.b > 1"), defaultdict(dict)  # type: ignore[var-annotated]
    nested: Mapping[str, object] = MappingProxyType({"a": OrderedDict(b=1)})
    assert evaluate(expression, nested) is False
    assert evaluate(expression, filling) is True and dict(filling) == {}  # missing, though asking would have made one


def test_any_of_several_expressions_is_enough() -> None:
    no, yes, error = parse("n > 10"), parse("n > 9"), parse("missing > 1")
    assert not any(needed(iter(several), ARGUMENTS) for several in ([], [no], [no, no]))
    assert all(needed(iter(several), ARGUMENTS) for several in ([no, yes], [yes, no], [no, error], [error, no]))


# One spelling

CANONICAL = {
    "a==1": "a == 1",
    " a\n>=\t-1.50 ": "a >= -1.5",
    "a=='x'AND b.c!='y'OR c in[ 1,2 ]": 'a == "x" AND b.c != "y" OR c in [1, 2]',
    "a == 'it\\'s \"x\" \\\\'": 'a == "it\'s \\"x\\" \\\\"',
    "a == -0.00001": "a == -0.00001",
    "a in [0.00000000000001,99999999999999.9,1.0,-0]": "a in [0.00000000000001, 99999999999999.9, 1.0, 0]",
    "a in[true,false]": "a in [true, false]",
}
LETTERS = "ab \"'\\\n\t[],()=.-éß\u200b𝄞\0AND OR"


def test_the_canonical_spelling() -> None:
    assert {text: spelled(parse(text)) for text in CANONICAL} == CANONICAL


def drawn_scalar(draw: random.Random, kind: str) -> str:
    if kind == TRUTH:
        return draw.choice(("true", "false"))
    if kind == NUMBER:
        whole = str(draw.choice((0, draw.randrange(10), draw.randrange(2**53))))
        places = draw.choice(range(1, 16 - len(whole))) if len(whole) < 15 and draw.random() < 0.7 else 0
        return draw.choice(("", "-")) + whole + "." * bool(places) + "".join(draw.choices("0000123456789", k=places))
    quote = draw.choice("\"'")
    body = "".join(draw.choices(LETTERS, k=draw.randrange(6)))
    return quote + body.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def drawn_comparison(draw: random.Random) -> str:
    sign = draw.choice(OPERATORS)
    kinds = {"contains": [TEXT], "starts_with": [TEXT], **dict.fromkeys((">", ">=", "<", "<="), [NUMBER])}
    kind = draw.choice(kinds.get(sign, [NUMBER, TEXT, TRUTH]))
    field = "".join(draw.choices(("x.", "y-", "_", "Z9."), k=draw.randrange(4))) + "ends_in_" + kind.replace(" ", "_")
    scalars = [drawn_scalar(draw, kind) for _ in range(draw.randrange(1, 4))]
    literal = f"[{draw.choice((',', ' , ')).join(scalars)}]" if sign.endswith("in") else scalars[0]
    return f"{field} {sign}{draw.choice(('', ' ', '  '))}{literal}"


def drawn(draw: random.Random) -> str:
    more = (draw.choice((" AND ", "\nOR ", " OR\t")) + drawn_comparison(draw) for _ in range(draw.randrange(8)))
    return drawn_comparison(draw) + "".join(more)


def garbled(draw: random.Random, text: str) -> str:
    """Return `text` with one to three characters taken out, put in or doubled."""
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(text) + 1)
        put = draw.choice(("", draw.choice(LETTERS + "!<>&|1f"), text[at : at + 1] * 2))
        text = text[:at] + put + text[at + draw.randrange(2) :]
    return text


def test_a_spelling_parses_back_to_the_same_value() -> None:
    draw = random.Random(4)
    for _ in range(2000):
        source = drawn(draw)
        expression = parse(source)
        again = parse(spelled(expression))
        assert repr(again) == repr(expression), source  # 1, 1.0 and True are equal
        assert (spelled(again), fields(again)) == (spelled(expression), fields(expression))


def test_a_garbled_expression_is_another_one_or_an_error_within_the_text() -> None:
    draw = random.Random(5)
    read = 0
    for _ in range(3000):
        source = garbled(draw, drawn(draw))
        try:
            expression = parse(source)
        except ExpressionError as found:
            assert 0 <= found.at <= len(source) and found.what and found.remedy, source
        else:
            assert repr(parse(spelled(expression))) == repr(expression), source
            read += 1
    assert 300 < read < 2700  # both were tried
