# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON: one value, one sequence of bytes; and the strict reading that admits nothing else.

The admitted values are those on which RFC 8785 and `jq -jcS .` agree byte for byte: objects with keys of `[a-z0-9_]`,
lists, texts without DEL (jq escapes it) and without lone surrogates, integers within 2^53-1, true, false, null.
Everything else raises. No I/O, and no import of `json` for writing: each launch pays for what is imported.
"""

from __future__ import annotations

from typing import Any

from ..errors import ReceiptError

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64  # jq gives up at 257
MAX_INTEGER = 2**53 - 1  # the last integer before which a double is exact

_KEY_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789_"
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x20)}
_ESCAPES.update(str.maketrans({"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}))
_ESCAPES.update(str.maketrans({'"': '\\"', "\\": "\\\\"}))


def canonical(value: object) -> bytes:
    """Return the canonical bytes of `value`; ReceiptError when it holds anything that is not admitted."""
    parts: list[str] = []
    _write(value, parts, MAX_DEPTH)
    try:
        return "".join(parts).encode("utf-8")
    except UnicodeEncodeError:
        raise ReceiptError("a text holds a lone surrogate, which JSON cannot carry") from None


def digest(value: object) -> str:
    """Return `sha256:<hex>` over the canonical bytes of `value`, with nothing before or after them."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """Return `sha256:<hex>` over `data`."""
    import hashlib  # loads OpenSSL, some milliseconds: only where a digest is wanted

    return "sha256:" + hashlib.sha256(data).hexdigest()


def decode(data: bytes, where: str = "") -> Any:
    """Return the value that `data` spells, or raise a ReceiptError about `where` that says why it is not admitted."""
    if len(data) > MAX_BYTES:
        raise ReceiptError(f"more than {MAX_BYTES} bytes", where)
    import json  # only a reader needs it

    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_no_float,
            parse_constant=_no_float,
        )
        _admit(value, MAX_DEPTH)
    except UnicodeDecodeError as problem:
        raise ReceiptError(f"not UTF-8 at byte {problem.start}", where) from None
    except RecursionError:
        raise ReceiptError(f"nested deeper than {MAX_DEPTH} levels", where) from None
    except ValueError as problem:
        raise ReceiptError(f"not the JSON of a receipt: {problem}", where) from None
    return value


def _write(value: object, parts: list[str], depth: int) -> None:
    kind = type(value)  # exact types: an enum that is also a text prints differently from version to version
    if kind is str:
        parts.append(_text(value))  # type: ignore[arg-type]
    elif value is None or kind is bool:
        parts.append("null" if value is None else "true" if value else "false")
    elif kind is int:
        parts.append(_number(value))  # type: ignore[arg-type]
    elif kind is dict or kind is list:
        if depth == 0:
            raise ReceiptError(f"nested deeper than {MAX_DEPTH} levels")
        write = _write_object if kind is dict else _write_list
        write(value, parts, depth - 1)  # type: ignore[arg-type]
    else:
        raise ReceiptError(f"a value of type {kind.__name__} has no canonical form")


def _write_object(value: dict[str, object], parts: list[str], depth: int) -> None:
    for key in value:
        if type(key) is not str or not is_key(key):
            raise ReceiptError(f"the key {str(key)[:60]!r} is not made of a-z, 0-9 and _")
    mark = "{"
    for key in sorted(value):
        parts.append(f'{mark}"{key}":')
        _write(value[key], parts, depth)
        mark = ","
    parts.append("}" if value else "{}")


def _write_list(value: list[object], parts: list[str], depth: int) -> None:
    mark = "["
    for item in value:
        parts.append(mark)
        _write(item, parts, depth)
        mark = ","
    parts.append("]" if value else "[]")


def is_key(text: str) -> bool:
    """Say whether `text` may be the name of a member: one or more of a-z, 0-9 and _."""
    return text != "" and text.strip(_KEY_SIGNS) == ""


def _text(value: str) -> str:
    if "\x7f" in value:
        raise ReceiptError("a text holds the character DEL, which has no agreed canonical form")
    return '"' + value.translate(_ESCAPES) + '"'


def _number(value: int) -> str:
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise ReceiptError("an integer lies beyond 2^53-1")
    return str(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in made if names.count(name) > 1)
        raise ValueError(f"the key {twice[:60]!r} occurs twice in one object")
    return made


def _integer(text: str) -> int:
    # "-0" is refused because jq keeps it and we would print 0; a long text because int() of it takes quadratic time
    if text == "-0" or len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        raise ValueError(f"the number {text[:20]} is not an integer within 2^53-1")
    return int(text)


def _no_float(text: str) -> float:
    raise ValueError(f"the number {text[:20]} is not an integer")


def _admit(value: Any, depth: int) -> None:
    """Raise ValueError for a lone surrogate, which only an escape can bring in, and for nesting beyond `depth`."""
    if type(value) is str:
        if not value.isascii():
            value.encode("utf-8")  # a UnicodeEncodeError is a ValueError
    elif isinstance(value, (dict, list)):
        if depth == 0:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            _admit(item, depth - 1)
