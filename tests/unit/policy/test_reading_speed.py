# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Reading time grows with the size of a document and with nothing else, whatever the document holds."""

from __future__ import annotations

import sys
import time
from typing import Dict, Tuple

import pytest

from aasm.errors import PolicyError
from aasm.policy.node import MAX_BYTES
from aasm.policy.reader import read_document

SMALLER = MAX_BYTES // 8  # time that grows with the square of the size shows here as well
Shape = Tuple[str, str, str]  # what is repeated until the document is full, what stands before it, what behind it


def filled(shape: Shape, size: int) -> bytes:
    unit, start, end = shape
    return (start + unit * ((size - len(start) - len(end)) // len(unit)) + end).encode()


SHAPES: Dict[str, Shape] = {
    "items": ("- a\n", "", ""),
    "dashes": ("-\n", "", ""),
    "maps in items": ("- a: b\n", "", ""),
    "flow items": ("1,", "[", "1]"),
    "flow maps": ("{a: 1},", "[", "{}]"),
    "deep flow": ("[", "", ""),
    "deep flow maps": ("{a: ", "", ""),
    "nested blocks": ("".join("  " * level + "- a:\n" for level in range(12)), "", ""),
    "indentation": (" " * 1000 + "- a\n", "", ""),
    "long plain": ("x ", "a: ", "x"),
    "long number": ("1_", "a: ", "x"),
    "long base 60": ("1:", "a: ", "1"),
    "long quoted": ("x", "a: '", "'"),
    "quotes in quotes": ("''", "a: '", "'"),
    "escapes": ("\\n", 'a: "', '"'),
    "alternating quotes": ("'\"", "a: ", ""),
    "alternating quoted": ("'\"',", "[", "'']"),
    "unclosed": ("[a, 'b", "a: ", ""),
    "colons": ("a:", "a: ", "a"),
    "colons in flow": ("a:", "[", "a]"),
    "sharps": ("#", "a: x", ""),
    "long comment": ("x", "#", "\na: 1\n"),
    "comments": ("#\n", "", "a: 1\n"),
    "blank lines": ("\n", "", "a: 1\n"),
    "blanks": (" ", "a:", "b"),
    "block text": ("  x\n", "a: |\n", ""),
    "folded text": ("  x\n\n", "a: >\n", ""),
    "block of blank lines": ("\n", "a: |\n", "b: 1\n"),
    "tabs": ("\t", "", ""),
    "long key": ("k", "", ": 1"),
    "json items": ("1,", '{"a": [', "1]}"),
    "json maps": ('{"a":1},', '{"a": [', "1]}"),
    "json deep": ("[", '{"a":', ""),
    "json text": ("\\n", '{"a": "', '"}'),
    "json unclosed": ("\\\\", '{"a": "', ""),
    "json number": ("1", '{"a": 1.', "x}"),
    "json blanks": (" \n", '{"a":', "1}"),
}
TOML_SHAPES: Dict[str, Shape] = {
    "items": ("1,", "a = [", "1]"),
    "texts": ("'',", "a = [", "1]"),
    "items on lines": ("1 # x\n,\n", "a = [", "1]"),
    "lists": ("[],", "a = [", "1]"),
    "lists of one": ("[1],", "a = [", "1]"),
    "inline tables": ("{a=1},", "a = [", "1]"),
    "nested lists": ("[" * 30 + "]" * 30 + ",", "a = [", "1]"),
    "nested tables": ("{a=" * 30 + "1" + "}" * 30 + ",", "a = [", "1]"),
    "dotted in tables": ("{a.b.c.d.e.f=1},", "a = [", "1]"),
    "deep lists": ("[", "a = ", ""),
    "deep tables": ("{a=", "a = ", ""),
    "deep headers": ("[", "", ""),
    "a long dotted key": ("a.", "", "a = 1"),
    "a long dotted header": ("a.", "[", "a]"),
    "a long quoted dotted key": ("''.", "", "a = 1"),
    "lists of tables": ("[[a]]\n", "", ""),
    "lists of tables with a key": ("[[a]]\nb=1\n", "", ""),
    "long headers with many keys": ("[[a.a.a.a.a.a]]\n" + "".join(f"{key}=1\n" for key in "abcdefghijk"), "", ""),
    "long headers, long keys": ("[[a.a.a.a.a.a]]\n" + "".join(f"a.a.a.a.a.{key}=1\n" for key in "abcdef"), "", ""),
    "a key again and again": ("a=1\n", "", ""),
    "a long text": ("x", 'a = "', '"'),
    "escapes": ("\\n", 'a = "', '"'),
    "wide escapes": ("\\U0001f600\\u00e9x", 'a = "', '"'),
    "a text over lines": ("x\n", 'a = """', '"""'),
    "quotes in a text over lines": ('""x', 'a = """', '"""'),
    "folded lines": ("\\\n", 'a = """', '"""'),
    "quotes in a plain text over lines": ("''x", "a = '''", "'''"),
    "an unclosed text": ("\\n", 'a = "', ""),
    "an unclosed text over lines": ('""x', 'a = """', ""),
    "an unclosed plain text over lines": ("''x", "a = '''", ""),
    "an unclosed list": ("1,", "a = [", ""),
    "an unclosed list of texts": ("'b',", 'a = ["', ""),
    "quotes": ("'", "a = ", ""),
    "double quotes": ('"', "a = ", ""),
    "a long comment": ("x", "a = 1 #", "\n"),
    "comments": ("#\n", "", "a = 1\n"),
    "comments in a list": ("#\n", "a = [", "]"),
    "blank lines": ("\n", "", "a = 1\n"),
    "blanks before =": (" ", "a", "= 1"),
    "blanks": (" ", "a =", "1"),
    "blanks in a list": (" " * 1000 + "[],", "a = [", "1]"),
    "a long key": ("k", "", " = 1"),
    "a long number": ("1", "a = 1.", ""),
    "a long integer": ("1_", "a = ", "1"),
    "long words": ("x" * 399 + " ,", "a = [", "1]"),
    "a wrong word at the end": ("1,", "a = [", "x]"),
}
if sys.version_info >= (3, 11):  # without tomllib there is one refusal, before the text is looked at
    SHAPES.update({f"toml {shape}": row for shape, row in TOML_SHAPES.items()})


def seconds(data: bytes, name: str) -> float:
    start = time.process_time()
    try:
        read_document(data, name)
    except PolicyError as error:
        assert len(str(error)) < 400
    return time.process_time() - start


def within(limit: float, data: bytes, name: str = "p") -> bool:
    """Say whether a document is read or refused in `limit` seconds of processor time; a busy host gets three tries."""
    return any(seconds(data, name) < limit for _ in range(3))


def suffixed(shape: str) -> str:
    return "p.toml" if shape.startswith("toml ") else "p"


@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_size_only(shape: str) -> None:
    assert within(1, filled(SHAPES[shape], SMALLER), suffixed(shape))


LARGEST = ["flow items", "maps in items", "json items", "toml items", "toml inline tables", "toml lists of tables"]


@pytest.mark.parametrize("shape", [shape for shape in LARGEST if shape in SHAPES])
def test_the_largest_document_is_read_in_time(shape: str) -> None:
    assert within(6, filled(SHAPES[shape], MAX_BYTES), suffixed(shape))


def test_many_different_keys_are_read_in_time() -> None:
    keys = range(15_000)
    assert within(1, "".join(f"k{key}: {key}\n" for key in keys).encode(), "p.yaml")
    assert within(1, ("{" + ",".join(f'"k{key}":{key}' for key in keys) + "}").encode(), "p.json")
    if sys.version_info >= (3, 11):
        assert within(1, "".join(f"k{key} = {key}\n" for key in keys).encode(), "p.toml")
        assert within(1, "".join(f"[k{key}.a]\n" for key in keys).encode(), "p.toml")
        assert within(1, "".join(f'"\\u0061{key}" = 1\n' for key in keys).encode(), "p.toml")
