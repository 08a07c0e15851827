# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Typed access to the nodes of a document: a value of the kind that is due, or an error at its place.

`label` is the dotted name of the value (`filesystem.read.allow`); it goes into the error. Nothing here knows which
keys exist.
"""

from __future__ import annotations

from typing import NoReturn, Sequence, Tuple

from .node import Members, Node, refuse, shown

ENTRY = "an entry of "  # how the label of something in a list begins
_CLOSE_KEY = 64  # characters; longer keys are no misspelling, and comparing them costs time


def mapping(name: str, node: Node, label: str) -> Members:
    """Return the entries of a map, whatever their keys are."""
    value = node.value
    if not isinstance(value, dict):
        wrong(name, node, label, "a map", "state its keys, or leave it out")
    return value


def members(name: str, node: Node, label: str, known: Sequence[str]) -> Members:
    """Return the entries of a map whose keys are all `known`."""
    value = mapping(name, node, label)
    for key, member in value.items():
        if key not in known:
            unknown_key(name, member.key, label, known)
    return value


def any_members(name: str, node: Node, label: str) -> Members:
    """Return the entries of a map with keys of the author's choice, none of them empty."""
    value = mapping(name, node, label)
    for key, member in value.items():
        if not key:
            refuse(name, member.key, f"an empty key in {label}", "name what it is about")
    return value


def inside(label: str) -> str:
    """Return the label of the list for that of an entry of it, to go behind `in`."""
    return label[len(ENTRY) :] if label.startswith(ENTRY) else label


def items(name: str, node: Node, label: str) -> Tuple[Node, ...]:
    """Return the entries of a list, whatever they are."""
    value = node.value
    if not isinstance(value, tuple):
        wrong(name, node, label, "a list", "write [] for nothing at all, or leave the key out")
    return value


def text(name: str, node: Node, label: str) -> str:
    value = node.value
    if not isinstance(value, str):
        wrong(name, node, label, "a text", "write it in quotes")
    return value


def filled(name: str, node: Node, label: str) -> str:
    """Return a text that is not blank."""
    value = text(name, node, label)
    if not value.strip():
        refuse(name, node, f"{label} is empty", "write a text, or leave the key out")
    return value


def truth(name: str, node: Node, label: str) -> bool:
    value = node.value
    if not isinstance(value, bool):
        wrong(name, node, label, "true or false", "write true or false without quotes")
    return value


def count(name: str, node: Node, label: str) -> int:
    """Return a whole number from 1 up."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int):
        wrong(name, node, label, "a whole number", "write a number from 1 up")
    if value < 1:
        refuse(name, node, f"{label} is {value}", "write a number from 1 up")
    return value


def one_of(name: str, node: Node, label: str, known: Sequence[str], words: str) -> str:
    """Return a text out of `known`; `words` say what a text outside of it is not."""
    value = text(name, node, label)
    if value not in known:
        refuse(name, node, f"{shown(value)} in {inside(label)} is not {words}", _known(value, known))
    return value


def unknown_key(name: str, key: Node, label: str, known: Sequence[str]) -> NoReturn:
    """Refuse a key that does not exist, naming those that do."""
    word = str(key.value)
    refuse(name, key, f"unknown key {shown(word)} in {label}", _known(word, known))


def _known(word: str, known: Sequence[str]) -> str:
    return closest(word, known) + f"known are {', '.join(known)}"


def closest(word: str, known: Sequence[str]) -> str:
    """Return the question whether the most similar of `known` was meant, or an empty text."""
    if len(word) > _CLOSE_KEY:
        return ""
    from difflib import get_close_matches  # only for an error line

    close = get_close_matches(word, known, 1)
    return f"did you mean {close[0]}? " if close else ""


def wrong(name: str, node: Node, label: str, due: str, remedy: str) -> NoReturn:
    """Refuse a value of another kind than the one that is due."""
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
