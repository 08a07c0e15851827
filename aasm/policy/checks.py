# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Typed access to the nodes of a document: a value of the kind that is due, or an error at its place.

`label` is the dotted name of the value (`filesystem.read.allow`); it goes into the error. Nothing here knows which
keys exist.
"""

from __future__ import annotations

from typing import NoReturn, Sequence, Tuple

from .node import Members, Node, refuse, shown

_CLOSE_KEY = 64  # characters; longer keys are no misspelling, and comparing them costs time


def members(name: str, node: Node, label: str, known: Sequence[str]) -> Members:
    """Return the entries of a map whose keys are all `known`."""
    value = node.value
    if not isinstance(value, dict):
        _wrong(name, node, label, "a map", "state its keys, or leave it out")
    for key, member in value.items():
        if key not in known:
            unknown_key(name, member.key, label, known)
    return value


def any_members(name: str, node: Node, label: str) -> Members:
    """Return the entries of a map with keys of the author's choice, none of them empty."""
    value = node.value
    if not isinstance(value, dict):
        _wrong(name, node, label, "a map", "state its keys, or leave it out")
    for key, member in value.items():
        if not key:
            refuse(name, member.key, f"an empty key in {label}", "name what it is about")
    return value


def texts(name: str, node: Node, label: str) -> Tuple[Tuple[str, Node], ...]:
    """Return the texts of a list, each with its node."""
    value = node.value
    if not isinstance(value, tuple):
        _wrong(name, node, label, "a list", "write [] for nothing at all, or leave the key out")
    return tuple((text(name, item, f"an entry of {label}"), item) for item in value)


def text(name: str, node: Node, label: str) -> str:
    value = node.value
    if not isinstance(value, str):
        _wrong(name, node, label, "a text", "write it in quotes")
    return value


def truth(name: str, node: Node, label: str) -> bool:
    value = node.value
    if not isinstance(value, bool):
        _wrong(name, node, label, "true or false", "write true or false without quotes")
    return value


def count(name: str, node: Node, label: str) -> int:
    """Return a whole number from 1 up."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int):
        _wrong(name, node, label, "a whole number", "write a number from 1 up")
    if value < 1:
        refuse(name, node, f"{label} is {value}", "write a number from 1 up")
    return value


def one_of(name: str, node: Node, label: str, known: Sequence[str], words: str) -> str:
    """Return a text out of `known`; `words` say what a text outside of it is not."""
    value = text(name, node, label)
    if value not in known:
        refuse(name, node, f"{shown(value)} in {label} is not {words}", _known(value, known))
    return value


def unknown_key(name: str, key: Node, label: str, known: Sequence[str]) -> NoReturn:
    """Refuse a key that does not exist, naming those that do."""
    word = str(key.value)
    refuse(name, key, f"unknown key {shown(word)} in {label}", _known(word, known))


def _known(word: str, known: Sequence[str]) -> str:
    listed = f"known are {', '.join(known)}"
    if len(word) > _CLOSE_KEY:
        return listed
    from difflib import get_close_matches  # only for an error line

    close = get_close_matches(word, known, 1)
    return f"did you mean {close[0]}? {listed}" if close else listed


def _wrong(name: str, node: Node, label: str, due: str, remedy: str) -> NoReturn:
    refuse(name, node, f"{label} must be {due}, and is {kind(node)}", remedy)


def kind(node: Node) -> str:
    """Return what a value is, in words."""
    value = node.value
    if value is None:
        return "null (no value)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    return "a map" if isinstance(value, dict) else "a list"
