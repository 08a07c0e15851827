# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""TOML: it is read as tomllib reads it, and every key and value has its place."""

from __future__ import annotations

import gc
import json
import random
import sys
from typing import Dict, List, Tuple

import pytest

from aasm.errors import PolicyError
from aasm.policy import toml
from aasm.policy.node import MAX_DEPTH, Node, to_data
from aasm.policy.reader import read_document

HAS_TOMLLIB = sys.version_info >= (3, 11)
if HAS_TOMLLIB:
    import tomllib


def places(node: Node, path: str = "") -> Dict[str, str]:
    """Return path: "line:column" for each value, and under "path:" for each key."""
    found = {path: f"{node.line}:{node.column}"}
    if isinstance(node.value, dict):
        for name, member in node.value.items():
            assert member.key.value == name
            below = f"{path}/{name}"
            found[below + ":"] = f"{member.key.line}:{member.key.column}"
            found.update(places(member.node, below))
    elif isinstance(node.value, tuple):
        for number, item in enumerate(node.value):
            found.update(places(item, f"{path}/{number}"))
    return found


# The places of a document, in the order in which the plain data names them: "path place", and "path: place" of a key.
PLACED: Dict[str, Tuple[str, str]] = {
    "pairs": ("a = 1\n  b=2.5", " 1:1, /a: 1:1, /a 1:5, /b: 2:3, /b 2:5"),
    "comments and blank lines": ("# a = 2\n\n\t # [x]\na = 1 # b = 2\n# c", " 4:1, /a: 4:1, /a 4:5"),
    "dotted": ("a.b = 1\na . c = 2", " 1:1, /a: 1:1, /a 1:1, /a/b: 1:3, /a/b 1:7, /a/c: 2:5, /a/c 2:9"),
    "quoted keys": (
        '"a.b" = 1\n\'c"d\'."\\u0065=" = 2',
        ' 1:1, /a.b: 1:1, /a.b 1:9, /c"d: 2:1, /c"d 2:1, /c"d/e=: 2:7, /c"d/e= 2:19',
    ),
    "empty keys": ("\"\" = 1\n[x.'']", " 1:1, /: 1:1, / 1:6, /x: 2:2, /x 2:2, /x/: 2:4, /x/ 2:4"),
    "keys that look like values": (
        "1.2 = 3\ntrue = 4\n-_ = 5",
        " 1:1, /1: 1:1, /1 1:1, /1/2: 1:3, /1/2 1:7, /true: 2:1, /true 2:8, /-_: 3:1, /-_ 3:6",
    ),
    "headers": (
        "[a]\nb = 1\n[ c . d ] # x\ne = 2",
        " 1:2, /a: 1:2, /a 1:2, /a/b: 2:1, /a/b 2:5, /c: 3:3, /c 3:3, /c/d: 3:7, /c/d 3:7, /c/d/e: 4:1, /c/d/e 4:5",
    ),
    "a table above later": (
        "[a.b]\nc = 1\n[a]\nd = 2",
        " 1:2, /a: 1:2, /a 1:2, /a/b: 1:4, /a/b 1:4, /a/b/c: 2:1, /a/b/c 2:5, /a/d: 4:1, /a/d 4:5",
    ),
    "lists of tables": (
        "[[a]]\nb = 1\n\n[[ a ]]\n[a.c]\nd = 2\n[[a.e]]\n[[a.e]]\n",
        " 1:3, /a: 1:3, /a 1:3, /a/0 1:3, /a/0/b: 2:1, /a/0/b 2:5, /a/1 4:4, /a/1/c: 5:4, /a/1/c 5:4, /a/1/c/d: 6:1,"
        " /a/1/c/d 6:5, /a/1/e: 7:5, /a/1/e 7:5, /a/1/e/0 7:5, /a/1/e/1 8:5",
    ),
    "lists": (
        "a = [1, 'b',\"c\" , [ ], [2,],]",
        " 1:1, /a: 1:1, /a 1:5, /a/0 1:6, /a/1 1:9, /a/2 1:13, /a/3 1:19, /a/4 1:24, /a/4/0 1:25",
    ),
    "a list over lines": (
        "a = [ # [ x\n  1, # , 2\n\n  '#]', [\n3 ]\n# ]\n, 4\n]\nb = 5",
        " 1:1, /a: 1:1, /a 1:5, /a/0 2:3, /a/1 4:3, /a/2 4:9, /a/2/0 5:1, /a/3 7:3, /b: 9:1, /b 9:5",
    ),
    "inline tables": (
        "a = { b = 1, 'c'.d=[{e = 2}], c.f = {} }",
        " 1:1, /a: 1:1, /a 1:5, /a/b: 1:7, /a/b 1:11, /a/c: 1:14, /a/c 1:14, /a/c/d: 1:18, /a/c/d 1:20, /a/c/d/0 1:21,"
        " /a/c/d/0/e: 1:22, /a/c/d/0/e 1:26, /a/c/f: 1:33, /a/c/f 1:37",
    ),
    "texts over lines": (
        "a = \"\"\"\nx = 1\n[y]\n\\\"\"\"\" # \"\nb = '''\n''\\'''\nc = 1",
        " 1:1, /a: 1:1, /a 1:5, /b: 5:1, /b 5:5, /c: 7:1, /c 7:5",
    ),
    "texts that end with quotes": (
        'a = ["""b""""", """c"""",\n\'\'\'d\'\'\'\'\', """""", \'\'\'\'\'\'\n, "", \'\']',
        " 1:1, /a: 1:1, /a 1:5, /a/0 1:6, /a/1 1:17, /a/2 2:1, /a/3 2:12, /a/4 2:20, /a/5 3:3, /a/6 3:7",
    ),
    "a text with escapes": ('a = "\\"]\\\\"\nb = 1', " 1:1, /a: 1:1, /a 1:5, /b: 2:1, /b 2:5"),
    "a line folded in a text": ('a = ["""\\\n\n  b""",\n1]', " 1:1, /a: 1:1, /a 1:5, /a/0 1:6, /a/1 4:1"),
    "letters of more than one byte": (
        "'\u00e9\U0001f600' = ['\U0001f600', 1]",
        " 1:1, /\u00e9\U0001f600: 1:1, /\u00e9\U0001f600 1:8, /\u00e9\U0001f600/0 1:9, /\u00e9\U0001f600/1 1:14",
    ),
    "numbers": (
        "a = [0x1F, 1_000, -0.5e-3, +1, 0b1, 9007199254740991]",
        " 1:1, /a: 1:1, /a 1:5, /a/0 1:6, /a/1 1:12, /a/2 1:19, /a/3 1:28, /a/4 1:32, /a/5 1:37",
    ),
}


def spelled(source: random.Random, name: str) -> str:
    return source.choice([name, f'"{name}"', f"'{name}'", f"{name} ", f'"\\u{ord(name[0]):04x}{name[1:]}"'])


def some_value(source: random.Random, marks: List[str], depth: int) -> str:
    """Return a value whose texts and numbers are all different, and put them into `marks`."""
    kind = source.randrange(8 if depth < 3 else 5)
    mark = str(10_000 + len(marks))
    forms = [mark, f'"{mark} # ]"', f"'{mark}\\'", f'"""\n{mark}\\""" ]\n""""', f"'''{mark}\n[x]\n'''"]
    if kind < 5:
        marks.append(forms[kind])
        return forms[kind]
    gap = source.choice(["", " ", "\n", " # ,]\n\t"])
    if kind < 7:
        values = [some_value(source, marks, depth + 1) for _ in range(source.randrange(4))]
        return "[" + gap + (gap + "," + gap).join(values) + gap + "]"
    values = [some_value(source, marks, depth + 1) for _ in range(source.randrange(3))]
    return "{" + ", ".join(f"{spelled(source, f'k{number}')} = {text}" for number, text in enumerate(values)) + "}"


def some_document(source: random.Random, marks: List[str]) -> str:
    """Return a document, valid or with keys that are at odds."""
    lines = []
    for _ in range(source.randrange(1, 8)):
        key = ".".join(spelled(source, source.choice("abcdefgh")) for _ in range(source.choice([1, 1, 2, 3])))
        blank = source.choice(["", " ", "\t"])
        kind = source.randrange(6)
        if kind < 3:
            lines.append(f"{blank}{key}{blank}={blank}{some_value(source, marks, 0)}{blank}")
        else:
            lines.append([f"[{key}]", f"[[{blank}{key}]]", f"# {key} = 1\n"][kind - 3])
    return "\n".join(lines)


def position(text: str, at: int) -> str:
    return f"{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"


class TestReading:
    """With tomllib: elsewhere there is nothing that these could try."""

    __test__ = HAS_TOMLLIB

    @pytest.mark.parametrize("case", PLACED)
    def test_every_value_and_key_has_its_place(self, case: str) -> None:
        text, expected = PLACED[case]
        node = toml.parse(text, "p")
        assert ", ".join(f"{path} {place}" for path, place in places(node).items()) == expected
        assert json.dumps(to_data(node)) == json.dumps(tomllib.loads(text))

    @pytest.mark.parametrize("seed", range(300))
    def test_random_documents_are_read_as_tomllib_reads_them(self, seed: int) -> None:
        marks: List[str] = []
        text = some_document(random.Random(seed), marks)
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            with pytest.raises(PolicyError):
                toml.parse(text, "p")
            return
        if not data:
            return
        node = toml.parse(text, "p")
        assert json.dumps(to_data(node)) == json.dumps(data)
        found = sorted(place for path, place in scalars(node))
        assert found == sorted(position(text, text.index(mark)) for mark in marks)
        for line, column, name in keys(node):
            rest = text.split("\n")[line - 1][column - 1 :]
            assert rest.startswith((name, f'"{name}"', f"'{name}'", f'"\\u{ord(name[0]):04x}{name[1:]}"'))

    def test_enough_of_the_random_documents_are_valid_and_enough_are_not(self) -> None:
        valid = 0
        for seed in range(300):
            try:
                toml.parse(some_document(random.Random(seed), []), "p")
                valid += 1
            except PolicyError:
                pass
        assert 50 < valid < 250

    @pytest.mark.parametrize("seed", range(40))
    def test_a_damaged_document_is_refused_or_read_as_tomllib_does(self, seed: int) -> None:
        source = random.Random(seed)
        whole = '[a]\nb."c" = [1, {d = \'e\'}]\n[[f]] # g\nh = """i\n"""\nj = -1.5e3\nk = {}\n'
        for _ in range(100):
            at = source.randrange(len(whole))
            put = source.choice(["", *"=.,[]{}\"'\\#-0e \n", '"""', "[["])
            text = whole[:at] + put + whole[at + source.randrange(2) :]
            try:
                found = to_data(toml.parse(text, "p"))
            except PolicyError as problem:
                line, column = map(int, problem.where.split(":")[1:])
                assert 1 <= column <= len(text.split("\n")[line - 1]) + 1
                with pytest.raises(tomllib.TOMLDecodeError):
                    tomllib.loads(text)
            else:
                assert json.dumps(found) == json.dumps(tomllib.loads(text))

    def test_the_deepest_document_is_read(self) -> None:
        lists = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
        assert to_data(toml.parse(f"a = {lists}", "p")) == {"a": json.loads(lists)}
        headers = "[[a.b.c.d]]\na.b.c = [[]]"  # root, a, b, c, list, d, a, b, list, list
        assert to_data(toml.parse(headers, "p")) == tomllib.loads(headers)

    def test_the_collector_of_garbage_is_left_as_it_was(self) -> None:
        for text in ("a = 1", "a", "a = x"):
            for wanted in (False, True):
                (gc.enable if wanted else gc.disable)()
                try:
                    toml.parse(text, "p")
                except PolicyError:
                    pass
                found = gc.isenabled()
                gc.enable()
                assert found is wanted

    def test_three_formats_hold_one_policy(self) -> None:
        data = {"filesystem": {"read": {"allow": ["/usr", "/etc"]}}, "budget": {"x": 1.5, "y": True}, "n": [{"a": "b"}]}
        written = (
            'filesystem.read.allow = [\n  "/usr", # all\n  "/etc",\n]\n[budget]\nx = 1.5\ny = true\n[[n]]\na = \'b\'\n'
        )
        found = read_document(written.replace("\n", "\r\n").encode(), "p.TOML")
        assert (found.format, found.text_name) == ("toml", "p.TOML")
        assert to_data(found.root) == data
        assert repr(to_data(read_document(json.dumps(data).encode(), "p.json").root)) == repr(to_data(found.root))
        assert places(found.root)["/filesystem/read/allow/1"] == "3:3"


def scalars(node: Node, path: str = "") -> List[Tuple[str, str]]:
    if isinstance(node.value, dict):
        return [row for name, member in node.value.items() for row in scalars(member.node, f"{path}/{name}")]
    if isinstance(node.value, tuple):
        return [row for number, item in enumerate(node.value) for row in scalars(item, f"{path}/{number}")]
    return [(path, f"{node.line}:{node.column}")]


def keys(node: Node) -> List[Tuple[int, int, str]]:
    if isinstance(node.value, dict):
        own = [(member.key.line, member.key.column, name) for name, member in node.value.items()]
        return own + [row for member in node.value.values() for row in keys(member.node)]
    return [row for item in node.value for row in keys(item)] if isinstance(node.value, tuple) else []
