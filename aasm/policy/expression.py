# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The language of `tools.NAME.requires_approval_if`: text to value, value to answer, value to text. Pure.

    expression = comparison { ("AND" | "OR") comparison }      AND binds tighter than OR; there are no brackets
    comparison = field operator literal
    field      = part { "." part }                             part: [A-Za-z_][A-Za-z0-9_-]*, at most 32 of them
    operator   = "==" | "!=" | ">" | ">=" | "<" | "<=" | "contains" | "starts_with" | "in" | "not_in"
    literal    = scalar | "[" scalar { "," scalar } "]"
    scalar     = text | number | "true" | "false"

- A text stands in "..." or '...'. A backslash stands before the quote that surrounds the text and before a backslash,
  and nowhere else. Every other character stands for itself.
- A number is whole, up to 2^53-1, or decimal with digits on both sides of the point, 15 at most; a minus may
  precede it. No plus, no leading zero, no exponent: what is written is the value, nothing is rounded away.
- Spaces, tabs and line ends may stand between any two of these. Words are case-sensitive.
- The words and, or, not, true, false are no field, in upper case or lower; `filter.not` is one.
- A text may have 4096 characters and 64 comparisons, and its canonical spelling may be no longer than that either.

Kinds are checked when the text is read: `> >= < <=` need a number, `contains` and `starts_with` a text, `in` and
`not_in` a list of one kind, `==` and `!=` any scalar. No field is used as two kinds, nor as a scalar and as a map.

A value fits when it has the very kind of the literal: true is no number, 1 is no text, NaN and what is beyond a double
are nothing. `contains` also takes a list of texts, and asks whether the text is one of them. Texts are compared
character by character: no letter case is folded, no path is normalised. What is missing or does not fit is an error,
and one error anywhere means that approval is needed.

This module must not know files, lines or policies: an error has an offset into the text, and the caller its place.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Mapping
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, NoReturn, Tuple, Union

from .node import MAX_INTEGER, TOO_LARGE, shown

MAX_TEXT = 4096  # characters of an expression
MAX_COMPARISONS = 64
MAX_PARTS = 32  # of a field
MAX_DIGITS = 15  # of a decimal number: as many as a double holds whatever they are (DBL_DIG in <float.h>)

NUMBER = "a number"
TEXT = "a text"
TRUTH = "true or false"
TEXT_OR_LIST = "a text or a list of texts"
_MAP = "a map"  # what the beginning of a dotted field must be
_KINDS = {bool: TRUTH, int: NUMBER, float: NUMBER, str: TEXT}
_SCALARS = (TEXT, NUMBER, TRUTH)

Scalar = Union[bool, int, float, str]
Operand = Union[bool, int, float, str, Tuple[Scalar, ...]]


class ExpressionError(ValueError):
    """A text that is no expression. `what` is wrong `at` an offset from 0, in characters; `remedy` says what to do."""

    def __init__(self, what: str, at: int, remedy: str) -> None:
        super().__init__(what, at, remedy)
        self.what, self.at, self.remedy = what, at, remedy


class Comparison(NamedTuple):
    """One `field operator literal`; `kind` is what the field must hold: NUMBER, TEXT, TRUTH or TEXT_OR_LIST."""

    field: str
    operator: str
    kind: str
    operand: Operand


class Expression(NamedTuple):
    """What `parse` gives: the alternatives that OR divides, each of them the comparisons that AND joins."""

    alternatives: Tuple[Tuple[Comparison, ...], ...]


class _Operator(NamedTuple):
    takes: Tuple[str, ...]  # kinds of its literal, or of the scalars in its list
    listed: bool  # whether its literal is a list
    holds: Callable[[Any, Any], bool]  # value of the field, operand


_OPERATORS: Dict[str, _Operator] = {
    "==": _Operator(_SCALARS, False, operator.eq),
    "!=": _Operator(_SCALARS, False, operator.ne),
    ">": _Operator((NUMBER,), False, operator.gt),
    ">=": _Operator((NUMBER,), False, operator.ge),
    "<": _Operator((NUMBER,), False, operator.lt),
    "<=": _Operator((NUMBER,), False, operator.le),
    "contains": _Operator((TEXT,), False, operator.contains),
    "starts_with": _Operator((TEXT,), False, str.startswith),
    "in": _Operator(_SCALARS, True, lambda value, operand: value in operand),
    "not_in": _Operator(_SCALARS, True, lambda value, operand: value not in operand),
}
OPERATORS = tuple(_OPERATORS)
_TRUTHS = {"true": True, "false": False}
_RESERVED = frozenset("and or not true false".split())  # in any case


class _Due(NamedTuple):
    """What the grammar wants at a place: its name, the words that are right there, and the remedy."""

    name: str
    words: Tuple[str, ...]
    remedy: str


_EXAMPLE = "write a comparison such as amount > 100"
_FIELD = _Due("a field", (), f"{_EXAMPLE}, the field first")
_OPERATOR = _Due("an operator", OPERATORS, f"use one of {' '.join(OPERATORS)}")
_LITERAL = _Due("a literal", tuple(_TRUTHS), "write a number, true, false, or a text in quotes")
_LIST = _Due("a list", (), 'write it as ["a", "b"]')
_COMMA = _Due("a comma or ]", (), "divide the list with commas and close it with ]")
_JOINT = _Due("AND or OR", ("AND", "OR"), "join comparisons with AND or OR")

# How other languages write what this one has, in lower case.
_MEANT = {
    **{word.lower(): word for due in (_OPERATOR, _LITERAL, _JOINT) for word in due.words},
    **dict.fromkeys(("=", "===", "is", "equals"), "=="),
    **dict.fromkeys(("!==", "<>", "=!"), "!="),
    **{"=>": ">=", "=<": "<=", "&&": "AND", "&": "AND", "||": "OR", "|": "OR"},
    **{"includes": "contains", "startswith": "starts_with", "starts-with": "starts_with"},
    **{"notin": "not_in", "not-in": "not_in"},
}
_REMEDIES = {
    **dict.fromkeys("(){}", "there are no such brackets: AND binds tighter than OR, and a list is written [1, 2]"),
    **dict.fromkeys(("not", "!"), "there is no NOT: use != or not_in"),
    **dict.fromkeys(("null", "none", "nil"), "there is no null: a field without a value needs approval anyway"),
    "[": "a list stands only behind in and not_in, and holds no other list",
    "]": "a list has a literal behind its [ and behind each comma",
}


class _Token(NamedTuple):
    kind: str  # word, number, sign, text, other, end
    text: str  # as it is written
    at: int


_TOKEN = re.compile(
    r"""[ \t\n]*(?:
        (?P<word>[A-Za-z_][A-Za-z0-9_.-]*)
      | (?P<number>[-+]?\.?[0-9][A-Za-z0-9_.+-]*)
      | (?P<sign>[=!<>&|~]+)
      | (?P<text>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
      | (?P<other>.)
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?")
_ESCAPE = r"(?s)\\(.)"  # compiled only where a text has one

_Uses = Dict[str, Tuple[str, int]]  # field, or its beginning up to a dot -> its kind, and the offset that says so


def parse(text: str) -> Expression:
    """Return the expression that `text` states, or raise ExpressionError at the first place that is wrong."""
    _check_size(text)
    tokens = _tokens(text)
    uses: _Uses = {}
    alternatives: List[List[Comparison]] = [[]]
    for _ in range(MAX_COMPARISONS):
        alternatives[-1].append(_comparison(next(tokens), tokens, uses))
        joint = next(tokens)
        if joint.kind == "end":
            return _fitting(Expression(tuple(tuple(joined) for joined in alternatives)))
        if joint.text not in _JOINT.words:
            _misplaced(joint, _JOINT)
        if joint.text == "OR":
            alternatives.append([])
    what, remedy = f"more than {MAX_COMPARISONS} comparisons", "use in with a list where a field has several values"
    raise ExpressionError(what, next(tokens).at, remedy)


def _check_size(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"an expression has {MAX_TEXT} characters at most", MAX_TEXT, "shorten it")
    if not text.strip(" \t\n"):
        raise ExpressionError("the expression is empty", 0, f"{_EXAMPLE}, or leave the key out")


def _fitting(expression: Expression) -> Expression:
    """Return `expression` if its canonical spelling can be read again, which has blanks that the text may lack."""
    length = len(spelled(expression))
    if length > MAX_TEXT:
        what = f"in its canonical spelling the expression has {length} characters, and {MAX_TEXT} is the most"
        raise ExpressionError(what, 0, "shorten it")
    return expression


def _tokens(text: str) -> Iterator[_Token]:
    """Yield what `text` is made of, the end last. Lazily: the first error of a text is the one that is told."""
    at, kind = 0, ""
    while kind != "end":
        found = _TOKEN.match(text, at)
        assert found is not None and found.lastgroup is not None  # "other" takes any character, "end" none
        at, kind = found.end(), found.lastgroup
        yield _Token(kind, found.group(kind), found.start(kind))


def _misplaced(token: _Token, due: _Due) -> NoReturn:
    if token.kind == "end":
        raise ExpressionError(f"the expression ends where {due.name} is due", token.at, due.remedy)
    if token.text in ('"', "'"):  # alone, since a whole text is longer
        raise ExpressionError(f"the text is not closed with {token.text}", token.at, "close it")
    word = token.text.lower()
    meant = _MEANT.get(word, "")
    remedy = f"write {meant}" if meant in due.words else _REMEDIES.get(word, due.remedy)
    raise ExpressionError(f"{shown(token.text)} stands where {due.name} is due", token.at, remedy)


def _comparison(field: _Token, tokens: Iterator[_Token], uses: _Uses) -> Comparison:
    _check_field(field)
    sign = next(tokens)
    found = _OPERATORS.get(sign.text)
    if found is None:
        _misplaced(sign, _OPERATOR)
    first = next(tokens)
    operand: Operand = _list(first, tokens) if found.listed else _scalar(first)
    kind = _KINDS[type(operand[0] if isinstance(operand, tuple) else operand)]
    if kind not in found.takes:
        what, remedy = f"{sign.text} needs {found.takes[0]}, and this is {kind}", f"write {found.takes[0]}"
        raise ExpressionError(what, first.at, f"{remedy}, or == or != instead of {sign.text}")
    if sign.text == "contains":
        kind = TEXT_OR_LIST
    _note_uses(uses, field, kind)
    return Comparison(field.text, sign.text, kind, operand)


def _check_field(token: _Token) -> None:
    if token.kind != "word" or token.text.lower() in _RESERVED:
        _misplaced(token, _FIELD)
    parts = token.text.split(".", MAX_PARTS)
    if len(parts) > MAX_PARTS:
        raise ExpressionError(f"a field of more than {MAX_PARTS} parts", token.at, "shorten it")
    at = token.at
    for part in parts:
        if not part[:1].isalpha() and part[:1] != "_":  # that the rest fits, a word has seen to
            what = f"{shown(part)} is no part of a field" if part else f"an empty part in the field {shown(token.text)}"
            raise ExpressionError(what, at, "each part begins with a letter or _, and single dots divide them")
        at += len(part) + 1


def _note_uses(uses: _Uses, field: _Token, kind: str) -> None:
    """Remember that `field` has `kind` and that each beginning of it is a map; refuse what contradicts the uses."""
    end = field.text.find(".")
    while end != -1:
        _note_use(uses, field.text[:end], _MAP, field.at)
        end = field.text.find(".", end + 1)
    _note_use(uses, field.text, kind, field.at)


def _note_use(uses: _Uses, name: str, kind: str, at: int) -> None:
    first, place = uses.setdefault(name, (kind, at))
    both = _narrower(first, kind)
    if not both:
        what = f"{shown(name)} is used as {kind} at character {at + 1} and as {first} at character {place + 1}"
        raise ExpressionError(what, at, "keep to one kind: a value of another kind needs approval anyway")
    uses[name] = (both, place if both == first else at)


def _narrower(first: str, second: str) -> str:
    """Return the kind that is both, or nothing."""
    if first == second:
        return first
    return TEXT if {first, second} == {TEXT, TEXT_OR_LIST} else ""


def _list(opening: _Token, tokens: Iterator[_Token]) -> Tuple[Scalar, ...]:
    if opening.text != "[":
        _misplaced(opening, _LIST)
    items: List[Scalar] = []
    mark = opening
    while mark.text != "]":
        token = next(tokens)
        items.append(_scalar(token))
        first, kind = _KINDS[type(items[0])], _KINDS[type(items[-1])]
        if kind != first:
            what = f"{shown(token.text)} is {kind} in a list that begins with {first}"
            raise ExpressionError(what, token.at, "keep a list to one kind")
        mark = next(tokens)
        if mark.text not in (",", "]"):
            _misplaced(mark, _COMMA)
    return tuple(items)


def _scalar(token: _Token) -> Scalar:
    if token.kind == "number":
        return _number(token)
    if token.kind == "text":
        return _text(token)
    if token.text not in _TRUTHS:
        _misplaced(token, _LITERAL)
    return _TRUTHS[token.text]


def _number(token: _Token) -> Union[int, float]:
    found = _NUMBER.fullmatch(token.text)
    if found is None:
        remedy = "write digits with at most one point between them, such as 20, -3 or 0.5; a text stands in quotes"
        raise ExpressionError(f"{shown(token.text)} is no number", token.at, remedy)
    length = len(token.text.lstrip("-"))
    if found.group(1):
        if length > MAX_DIGITS + 1:
            raise ExpressionError(f"a decimal number has {MAX_DIGITS} digits at most", token.at, "write fewer digits")
        return float(token.text)
    if length > len(str(MAX_INTEGER)) or abs(int(token.text)) > MAX_INTEGER:
        raise ExpressionError(TOO_LARGE, token.at, "write a smaller one")
    return int(token.text)


def _text(token: _Token) -> str:
    quote, body = token.text[0], token.text[1:-1]
    if "\\" not in body:
        return body
    for escape in re.finditer(_ESCAPE, body):
        if escape.group(1) not in (quote, "\\"):
            at = token.at + 1 + escape.start()
            remedy = f"write \\\\ for a backslash and \\{quote} for the quote; every other character stands for itself"
            raise ExpressionError(f"{escape.group()} is not an escape of this language", at, remedy)
    return re.sub(_ESCAPE, r"\1", body)


def evaluate(expression: Expression, arguments: Mapping[str, object]) -> bool:
    """Return whether approval is needed for a call with `arguments`; a dotted field looks into maps inside maps.

    Every comparison is made, so that no error hides behind an AND or OR that is decided without it.
    """
    try:
        found = [[_holds(item, arguments) for item in joined] for joined in expression.alternatives]
    except Exception:  # not only ours: a mapping may be anybody's code, and whatever it raises answers nothing
        return True
    return any(all(joined) for joined in found)


def needed(expressions: Iterable[Expression], arguments: Mapping[str, object]) -> bool:
    """Return whether any of `expressions` says that approval is needed; none of them says nothing."""
    return any(evaluate(expression, arguments) for expression in expressions)


def _holds(comparison: Comparison, arguments: Mapping[str, object]) -> bool:
    value: object = arguments
    for part in comparison.field.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise LookupError(part)
        value = value[part]
    if not _fits(value, comparison.kind):
        raise TypeError(comparison.kind)
    return _OPERATORS[comparison.operator].holds(value, comparison.operand)


def _fits(value: Any, kind: str) -> bool:
    """Say whether `value` has `kind`. By exact type: a subclass may compare as it likes, and bool is one of int."""
    if type(value) in (list, tuple):
        return kind == TEXT_OR_LIST and all(type(item) is str for item in value)
    found = _KINDS.get(type(value), "")
    if found == NUMBER and not abs(value) <= sys.float_info.max:  # NaN compares as false, so it goes out here as well
        return False
    return found != "" and _narrower(found, kind) == found


def spelled(expression: Expression) -> str:
    """Return the canonical spelling; `parse` reads the same value from it. Its texts may hold control characters."""
    return " OR ".join(" AND ".join(map(_comparison_spelled, joined)) for joined in expression.alternatives)


def _comparison_spelled(item: Comparison) -> str:
    if isinstance(item.operand, tuple):
        literal = "[" + ", ".join(_scalar_spelled(value) for value in item.operand) + "]"
    else:
        literal = _scalar_spelled(item.operand)
    return f"{item.field} {item.operator} {literal}"


def _scalar_spelled(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    written = repr(value)
    # A double below 0.0001 gets an exponent; 15 digits have at most 14 places.
    return f"{value:.{MAX_DIGITS - 1}f}".rstrip("0") if "e" in written else written


def fields(expression: Expression) -> Mapping[str, str]:
    """Return each field, in the order of the text, with the kind that its value must have."""
    kinds: Dict[str, str] = {}
    for joined in expression.alternatives:
        for item in joined:
            kinds[item.field] = _narrower(kinds.get(item.field, item.kind), item.kind)
    return kinds
