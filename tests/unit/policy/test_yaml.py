# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML subset: what is read, every refusal at its place, and the positions of nodes."""

from __future__ import annotations

from typing import Any, List, Tuple

import pytest

from aasm.errors import PolicyError
from aasm.policy.node import MAX_DEPTH, Node, to_data
from aasm.policy.reader import read_document


def read(text: str) -> Any:
    return to_data(read_document(text.encode(), "p.yaml").root)


def refusal(text: str) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        read(text)
    return caught.value


INDICATORS = [
    ("a: &x 1", "1:4", "anchors (&) are not read"),
    ("&x a: 1", "1:1", "anchors (&) are not read"),
    ("- &x a", "1:3", "anchors (&) are not read"),
    ("a: [&x 1]", "1:5", "anchors (&) are not read"),
    ("a: *x", "1:4", "aliases (*) are not read"),
    ("*x : 1", "1:1", "aliases (*) are not read"),
    ("*: 1", "1:1", "aliases (*) are not read"),
    ("a: *.example.com", "1:4", "aliases (*) are not read"),
    ("a: !t x", "1:4", "tags (!) are not read"),
    ("!!map a: 1", "1:1", "tags (!) are not read"),
    ("a: {b: ! 1}", "1:8", "tags (!) are not read"),
    ("? a\n: b", "1:1", "explicit keys (?) are not read"),
    ("a: 1\n? b: c", "2:1", "explicit keys (?) are not read"),
    ("{? a: 1}", "1:2", "explicit keys (?) are not read"),
    (": a", "1:1", "a plain text or key cannot begin with :"),
    (":", "1:1", "a plain text or key cannot begin with :"),
    ("a: :x", "1:4", "a plain text or key cannot begin with :"),
    ("a: %x", "1:4", "directives (%) are not read"),
    ("a: @x", "1:4", "a plain text cannot begin with @"),
    ("a: `x", "1:4", "a plain text cannot begin with `"),
    ("a: ,x", "1:4", "a value is due here"),
    ("a: ]", "1:4", "a value is due here"),
    ("a: }", "1:4", "a key is due here"),
    ("a: -x", "1:4", "a plain text cannot begin with -"),
    ("a: -1x", "1:4", "a plain text cannot begin with -"),
    ("-a: 1", "1:1", "a plain text cannot begin with -"),
    ("a: - b", "1:4", "a plain text cannot begin with -"),
    ("a: [#x]", "1:5", "a plain text cannot begin with #"),
    ("a: [|]", "1:5", "a block text (|) begins on the line of its key"),
    ("a:\n  |\n  x", "2:3", "a block text (|) begins on the line of its key"),
    ("a:\n  >-\n  x", "2:3", "a block text (>) begins on the line of its key"),
]

KEYS = [
    ("<<: {a: 1}", "1:1", "<< has a meaning of its own"),
    ("[a]: 1", "1:1", "a list cannot be a key"),
    ("{a: 1}: 1", "1:1", "a map cannot be a key"),
    ("a: [b]: 1", "1:4", "a list cannot be a key"),
    ("a: {[b]: 1}", "1:5", "a list cannot be a key"),
    ("a: {{}: 1}", "1:5", "a map cannot be a key"),
    ("1: a", "1:1", "a key must be a text, and 1 is none"),
    ("0.5: a", "1:1", "a key must be a text, and 0.5 is none"),
    ("true: a", "1:1", "a key must be a text, and true is none"),
    ("null: a", "1:1", "a key must be a text, and null is none"),
    ("a: {1: b}", "1:5", "a key must be a text, and 1 is none"),
    ("on: a", "1:1", "on is a text for some readers"),
    ("- y: a", "1:3", "y is a text for some readers"),
    ("a: {no: b}", "1:5", "no is a text for some readers"),
    ("2026-01-02: a", "1:1", "a date is a text for some readers"),
    ("a: 1\nb: 2\na: 3", "3:1", 'duplicate key "a", first on line 1'),
    ("a: 1\n'a': 2", "2:1", 'duplicate key "a", first on line 1'),
    ('a: 1\n"\\x61": 2', "2:1", 'duplicate key "a", first on line 1'),
    ("x: {a: 1, 'a': 2}", "1:11", 'duplicate key "a", first on line 1'),
    ("- a: 1\n  a: 2", "2:3", 'duplicate key "a", first on line 1'),
    ("a : 1", "1:2", "a blank between a key and its colon"),
    ("'a' : 1", "1:4", "a blank between a key and its colon"),
    ("x: {a : 1}", "1:6", "a blank between a key and its colon"),
    ("x: {'a' : 1}", "1:8", "a blank between a key and its colon"),
    ("a:1", "1:2", "a blank is missing behind the colon"),
    ("a: 1\nb:2", "2:2", "a blank is missing behind the colon"),
    ('"a":1', "1:4", "a blank is missing behind the colon"),
    ("x: {a:1}", "1:6", "a blank is missing behind the colon"),
    ("x: {a:}", "1:6", "a blank is missing behind the colon"),
    ("x: {'a':1}", "1:8", "a blank is missing behind the colon"),
    ("k" * 1025 + ": 1", "1:1", "a key of more than 1024 characters"),
    ("x: {" + "k" * 1025 + ": 1}", "1:5", "a key of more than 1024 characters"),
    ("a: b: c", "1:5", "a second colon on the line of a key"),
    ("a: b:", "1:5", "a second colon on the line of a key"),
    ("a: 'b': c", "1:7", "a colon after a complete value"),
    ("a: 1\nb", "2:1", "a key is due here"),
    ("a: 1\n'b'", "2:1", "a key is due here"),
    ("a: 1\n- b", "2:1", "a list item where a key is due"),
]

SCALARS = [
    ("a: yes", "1:4", "yes is a text for some readers"),
    ("a:\n  - Off", "2:5", "Off is a text for some readers"),
    ("a: [x, NO]", "1:8", "NO is a text for some readers"),
    ("a: ~", "1:4", "~ is a text for some readers and null"),
    ("a: 0755", "1:4", "a leading zero"),
    ("a: 0x1F # c", "1:4", "only decimal numbers"),
    ("a: 22:30", "1:4", "a number with colons is base 60"),
    ("a: [2026-01-02]", "1:5", "a date is a text for some readers"),
    ("a: .inf", "1:4", "infinity and not-a-number"),
    ("a: -.inf", "1:4", "infinity and not-a-number"),
    ("a: =", "1:4", "= has a meaning of its own"),
    ("a: 'b", "1:4", "the single quote is not closed on its line"),
    ("a: 'b\n  c'", "1:4", "the single quote is not closed on its line"),
    ("a: 'b''", "1:4", "the single quote is not closed on its line"),
    ('a: "b', "1:4", "the double quote is not closed on its line"),
    ('a: "b\n  c"', "1:4", "the double quote is not closed on its line"),
    ('a: "b\\\n  c"', "1:6", '"\\" is not an escape'),
    ('a: "\\N"', "1:5", '"\\N" is not an escape'),
    ('a: "x\\ y"', "1:6", '"\\ " is not an escape'),
    ('a: "\\x4"', "1:5", "\\x needs 2 hexadecimal digits"),
    ('a: "\\u12 4"', "1:5", "\\u needs 4 hexadecimal digits"),
    ('a: "\\u+123"', "1:5", "\\u needs 4 hexadecimal digits"),
    ('a: "\\ud800"', "1:5", "the surrogate \\ud800 is half a character"),
    ('a: "\\ud83d\\ude00"', "1:5", "the surrogate \\ud83d is half a character"),
    ('a: "\\U0000d800"', "1:5", "the surrogate \\U0000d800 is half a character"),
    ('a: "\\U00110000"', "1:5", "\\U00110000 is beyond the last character"),
    ("a: 'b' c", "1:8", 'text after a complete value: "c"'),
    ('a: "b"#c', "1:7", 'text after a complete value: "#c"'),
    ("a: [b]#c", "1:7", 'text after a complete value: "#c"'),
    ("a: [b] c", "1:8", 'text after a complete value: "c"'),
]

FLOW = [
    ("a: [b", "1:4", "the [ is not closed on its line"),
    ("a: [b,\n  c]", "1:4", "the [ is not closed on its line"),
    ("a: [b, # c", "1:4", "the [ is not closed on its line"),
    ("a: [b # c]", "1:4", "the [ is not closed on its line"),
    ("a: {b: 1", "1:4", "the { is not closed on its line"),
    ("a: {b", "1:4", "the { is not closed on its line"),
    ("a: {", "1:4", "the { is not closed on its line"),
    ("a: {b: ", "1:4", "the { is not closed on its line"),
    ("a: [b, ]", "1:8", "a value is due here"),
    ("a: [b,]", "1:7", "a value is due here"),
    ("a: [, b]", "1:5", "a value is due here"),
    ("a: [b,, c]", "1:7", "a value is due here"),
    ("a: {b: 1, }", "1:11", "a key is due here"),
    ("a: {, b: 1}", "1:5", "a value is due here"),
    ("a: [b: 1]", "1:6", "a colon after a value inside brackets"),
    ("a: ['b': 1]", "1:8", "a colon after a value inside brackets"),
    ("a: [[b]: 1]", "1:8", "a colon after a value inside brackets"),
    ("a: {b}", "1:5", "a key in { } without a colon"),
    ("a: {b, c: 1}", "1:5", "a key in { } without a colon"),
    ("a: {'b'}", "1:5", "a key in { } without a colon"),
    ("a: [b}", "1:6", 'a comma or ] is due before "}"'),
    ("a: {b: 1]", "1:9", 'a comma or } is due before "]"'),
    ("a: ['b' 'c']", "1:9", "a comma or ] is due before"),
    ("a: [${workdir}]", "1:6", 'a comma or ] is due before "{"'),
    ("a: [b?c]", "1:6", "a question mark in a plain text inside"),
    ("[a, b", "1:1", "the [ is not closed on its line"),
]

LINES = [
    ("", "1:1", "the document is empty"),
    ("\n  \n# c\n", "1:1", "the document is empty"),
    ("---\n", "1:1", "the document is empty"),
    ("text", "1:1", "the document is one single value"),
    ("# c\n  'text'", "2:3", "the document is one single value"),
    ("1", "1:1", "the document is one single value"),
    ("a: 1\n---\nb: 1", "2:1", "a second document"),
    ("---\na: 1\n--- # c", "3:1", "a second document"),
    ("---\n---\na: 1", "2:1", "a second document"),
    ("--- a: 1", "1:5", "text on the line of ---"),
    ("a: 1\n...\n", "2:1", "the end marker ..."),
    ("... # c", "1:1", "the end marker ..."),
    ("%YAML 1.2\n---\na: 1", "1:1", "directives (%) are not read"),
    ("%TAG ! x\n---\na: 1", "1:1", "directives (%) are not read"),
    ("a: b\n  c", "2:3", "this line is indented like no open level"),
    ("a: b\n  c: 1", "2:3", "this line is indented like no open level"),
    ("a: 'b'\n  c", "2:3", "this line is indented like no open level"),
    ("- b\n  c", "2:3", "this line is indented like no open level"),
    ("a:\n    b: 1\n  c: 2", "3:3", "this line is indented like no open level"),
    ("a:\n  - b\n  c: 2", "3:3", "this line is indented like no open level"),
    ("a:\n  - b\n - c", "3:2", "this line is indented like no open level"),
    ("  a: 1\nb: 2", "2:1", "this line is indented like no open level"),
    ("- a\nb: 1", "2:1", "this line is indented like no open level"),
    ("- - a", "1:3", "a list directly inside a list item"),
    ("-\n  - a", "2:3", "a list directly inside a list item"),
    ("a:\n- - b", "2:3", "a list directly inside a list item"),
    ("- -", "1:3", "a list directly inside a list item"),
]

TABS = [
    ("\ta: 1", "1:1"),
    ("a:\n\tb: 1", "2:1"),
    ("a:\n  \tb: 1", "2:3"),
    ("a:\tb", "1:3"),
    ("a: \tb", "1:4"),
    ("a: b\tc", "1:5"),
    ("a: b\t", "1:5"),
    ("a: b \t# c", "1:6"),
    ("a: 'b'\t", "1:7"),
    ("a: # c\td", "1:7"),
    ("a:\t# c", "1:3"),
    ("# c\td\na: 1", "1:4"),
    ("a: 1\n \t \nb: 2", "2:2"),
    ("-\ta", "1:2"),
    ("- \ta", "1:3"),
    ("a\t: 1", "1:2"),
    ("a: [b,\tc]", "1:7"),
    ("a: [b\t, c]", "1:6"),
    ("a: [\tb]", "1:5"),
    ("a: ['b'\t]", "1:8"),
    ("a: {b:\t1}", "1:7"),
    ("a: {\tb: 1}", "1:5"),
    ("a: {'b':\t1}", "1:9"),
    ("'a':\tb", "1:5"),
    ("---\t", "1:4"),
    ("a: |\t\n  b", "1:5"),
    ("a: | # c\td\n  b", "1:9"),
    ("a: |\n  b\n\tc", "3:1"),
    ("a: |\n\tb", "2:1"),
]

BLOCKS = [
    ("a: |2\n  b\n", "1:4", "a block text begins with one of"),
    ("a: |+\n  b\n", "1:4", "a block text begins with one of"),
    ("a: >2-\n  b\n", "1:4", "a block text begins with one of"),
    ("a: >+\n  b\n", "1:4", "a block text begins with one of"),
    ("a: | b\n", "1:4", "a block text begins with one of"),
    ("- >x\n", "1:3", "a block text begins with one of"),
    ("a: |#c\n  b\n", "1:4", "a block text begins with one of"),
    ("a: |\n    b\n  c\n", "3:3", "this line is indented like no open level"),
    ("a: |\n   \n  b\n", "2:1", "blanks on a line before the first text"),
    ("a: |\n  \n", "2:1", "blanks on a line before the first text"),
    ("a: |\n  b", "2:4", "the document ends inside a block text"),
    ("a: >\n  b\n  c", "3:4", "the document ends inside a block text"),
    ("- |\n  b\n  c\nd: 1\n", "4:1", "this line is indented like no open level"),
]


@pytest.mark.parametrize(("text", "place", "what"), INDICATORS + KEYS + SCALARS + FLOW + LINES + BLOCKS)
def test_what_readers_judge_differently_is_refused_at_its_place(text: str, place: str, what: str) -> None:
    error = refusal(text)
    assert error.where == f"p.yaml:{place}"
    assert error.what.startswith(what)
    assert error.remedy


@pytest.mark.parametrize(("text", "place"), TABS)
def test_a_tab_outside_quotes_and_block_texts_is_named(text: str, place: str) -> None:
    error = refusal(text)
    assert (error.where, error.what) == (f"p.yaml:{place}", "a tab outside quotes and block texts")


def test_columns_count_characters_not_bytes() -> None:
    assert refusal("gr\u00fc\u00dfe \U0001f600: *x").where == "p.yaml:1:10"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("---\na: 1", {"a": 1}),
        ("# c\n--- # c\n\na: 1\n", {"a": 1}),
        ("---a: 1".replace("---a", "'---a'"), {"---a": 1}),
        ("a:", {"a": None}),
        ("a:   # c", {"a": None}),
        ("-", [None]),
        ("- # c\n- a", [None, "a"]),
        ("a: b # c", {"a": "b"}),
        ("a: b#c", {"a": "b#c"}),
        ("a: b   ", {"a": "b"}),
        ("a: 'b' # c", {"a": "b"}),
        ("a: [b] # c", {"a": ["b"]}),
        ("{a: 1}", {"a": 1}),
        ("[a]", ["a"]),
        ('a: "b # c: d"', {"a": "b # c: d"}),
        ("a: 'b # c: d'", {"a": "b # c: d"}),
        ("a b c: 1", {"a b c": 1}),
        ("a:\n- b", {"a": ["b"]}),
        ("a:\n- b\nc:\n- d", {"a": ["b"], "c": ["d"]}),
        ("a:\n  -\n  - b", {"a": [None, "b"]}),
        ("a:\n-\nb: 1", {"a": [None], "b": 1}),
        ("- a:\n  - b\n- c", [{"a": ["b"]}, "c"]),
        ("- a:\n- b", [{"a": None}, "b"]),
        ("-\n  a: 1\n  b: 2", [{"a": 1, "b": 2}]),
        ("- 'a': 1\n  \"b\": 2", [{"a": 1, "b": 2}]),
        ("- a:b", ["a:b"]),
        ("- 'a: b'", ["a: b"]),
        ("k" * 1024 + ": 1", {"k" * 1024: 1}),
        ("a: |\n  b\n\n\nc: 1\n", {"a": "b\n", "c": 1}),
        ("a: |-\n  b", {"a": "b"}),
        ("a: |\n  b\n # c\nd: 1\n", {"a": "b\n", "d": 1}),
        ("a: |\n  # b\n", {"a": "# b\n"}),
        ("a: |\n\n\n  b\n", {"a": "\n\nb\n"}),
        ("a: |\n  b\n   \n", {"a": "b\n \n"}),
        ("a: |\n", {"a": ""}),
        ("a: >\n  b\n\n\n  c\n", {"a": "b\n\nc\n"}),
        ("a: >\n  b\n   c\n  d\n", {"a": "b\n c\nd\n"}),
        ("a: >\n  b\n\n   c\n\n  d\n", {"a": "b\n\n c\n\nd\n"}),
        ("a: >-\n  b\n  ---\n", {"a": "b ---"}),
        ("a: >\n  b\n  \tc\n  d\n", {"a": "b\n\tc\nd\n"}),
    ],
)
def test_what_every_reader_sees_alike_is_read(text: str, value: Any) -> None:
    assert read(text) == value


@pytest.mark.parametrize("deep", ["flow lists", "flow maps", "block maps", "block items"])
def test_depth_ends_at_its_limit(deep: str) -> None:
    def nested(levels: int) -> str:
        if deep == "flow lists":
            return "[" * levels + "]" * levels
        if deep == "flow maps":
            return "{a: " * levels + "1" + "}" * levels
        if deep == "block maps":
            return "".join(" " * level + "a:\n" for level in range(levels))
        return "".join("  " * level + "- a:\n" for level in range(levels // 2))

    read(nested(MAX_DEPTH))
    for levels in (MAX_DEPTH + 2, 1000):
        assert refusal(nested(levels)).what == "more than 32 maps and lists inside each other"
    if deep != "block items":
        assert refusal(nested(MAX_DEPTH + 1)).what == "more than 32 maps and lists inside each other"


def positions(node: Node) -> List[Tuple[object, int, int]]:
    """Return (value, line, column) of the node, its keys and what is inside; collections by their type."""
    value = node.value
    if isinstance(value, dict):
        inner = [part for member in value.values() for part in positions(member.key) + positions(member.node)]
    else:
        inner = [part for item in value for part in positions(item)] if isinstance(value, tuple) else []
    shown = type(value).__name__ if isinstance(value, (dict, tuple)) else value
    return [(shown, node.line, node.column), *inner]


def test_every_node_knows_its_line_and_column() -> None:
    text = "# c\nab: 1\nc:\n  - x\n  -   g: 'z'\n  -\nd: [p, {q: r}]\ne: |\n  t\nf:\n"
    root = read_document(text.encode(), "p").root
    assert positions(root) == [
        ("dict", 2, 1),
        ("ab", 2, 1),
        (1, 2, 5),
        ("c", 3, 1),
        ("tuple", 4, 3),
        ("x", 4, 5),
        ("dict", 5, 7),
        ("g", 5, 7),
        ("z", 5, 10),
        (None, 6, 3),
        ("d", 7, 1),
        ("tuple", 7, 4),
        ("p", 7, 5),
        ("dict", 7, 8),
        ("q", 7, 9),
        ("r", 7, 12),
        ("e", 8, 1),
        ("t\n", 8, 4),
        ("f", 10, 1),
        (None, 10, 1),
    ]
