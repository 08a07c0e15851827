# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The order: everything the launcher is told, as one bounded stream of tagged, length-prefixed fields.

Pure. The supervisor encodes, the launcher decodes; any byte but NUL may stand in a path, an argument or an
environment entry. Whatever is not one complete, well-formed order is an OrderError, never half an order.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False  # `typing` is not imported here: it costs more than all the rest
if TYPE_CHECKING:
    from typing import Callable, Iterator, Tuple

    Rule = Tuple[int, int, int, bytes]  # access bits, device, inode, path
    Limit = Tuple[int, int, int]  # RLIMIT_ number, soft, hard
    Take = Callable[["Order", bytes], None]

MAGIC = b"aasm-or1"
HEADER = struct.Struct("<8sQ")  # magic, length of all that follows
FIELD = struct.Struct("<4sI")  # tag, length of the payload
LARGEST = 64 << 20  # far above ARG_MAX; bounds what a broken writer can make us read

_HANDLED = struct.Struct("<QQQI")  # fs, net, scope, restrict_self flags
_RULE = struct.Struct("<QQQ")  # access, device, inode; the path follows
_LIMIT = struct.Struct("<IQQ")
_WORD = struct.Struct("<Q")
_PLACE = struct.Struct("<QQ")  # device, inode; the path follows
_FLAGS = struct.Struct("<I")  # flags; the filter program follows

SINGLE = (b"hand", b"caps", b"fltA", b"fltB", b"cnyR", b"cnyW", b"cnyC", b"mask", b"name", b"wdir")
REPEATED = (b"rule", b"limi", b"exec", b"argv", b"envv")
NEEDED = (b"hand", b"caps", b"fltB", b"mask", b"name", b"wdir", b"exec", b"argv")


class OrderError(ValueError):
    """The bytes are not a complete order."""


class Order:
    """What one launch needs. Plain attributes: the launcher may not afford more."""

    def __init__(self) -> None:
        self.handled = (0, 0, 0, 0)
        self.rules: list[Rule] = []
        self.capabilities = 0
        self.limits: list[Limit] = []
        self.filter_a = b""  # empty: no notifications are needed
        self.filter_a_flags = 0
        self.filter_b = b""
        self.canary_read = b""
        self.canary_write = b""
        self.canary_call = -1
        self.signal_mask = 0  # bit n-1: signal n stays blocked in the program
        self.name = b""
        self.working_dir = (0, 0, b"")
        self.candidates: list[bytes] = []
        self.argv: list[bytes] = []
        self.environment: list[bytes] = []


def encode(order: Order) -> bytes:
    """Return the order as bytes; OrderError when it is larger than the launcher would read."""
    body = b"".join(FIELD.pack(tag, len(payload)) + payload for tag, payload in _fields(order))
    if len(body) > LARGEST:
        raise OrderError(f"the order has {len(body)} bytes; {LARGEST} is the most a launch may need")
    return HEADER.pack(MAGIC, len(body)) + body


def _fields(order: Order) -> Iterator[tuple[bytes, bytes]]:
    yield b"hand", _HANDLED.pack(*order.handled)
    yield from ((b"rule", _RULE.pack(*rule[:3]) + rule[3]) for rule in order.rules)
    yield b"caps", _WORD.pack(order.capabilities)
    yield from ((b"limi", _LIMIT.pack(*limit)) for limit in order.limits)
    if order.filter_a:
        yield b"fltA", _FLAGS.pack(order.filter_a_flags) + order.filter_a
    yield b"fltB", order.filter_b
    if order.canary_read:
        yield b"cnyR", order.canary_read
    if order.canary_write:
        yield b"cnyW", order.canary_write
    if order.canary_call >= 0:
        yield b"cnyC", _WORD.pack(order.canary_call)
    yield b"mask", _WORD.pack(order.signal_mask)
    yield b"name", order.name
    yield b"wdir", _PLACE.pack(*order.working_dir[:2]) + order.working_dir[2]
    yield from ((b"exec", path) for path in order.candidates)
    yield from ((b"argv", item) for item in order.argv)
    yield from ((b"envv", item) for item in order.environment)


def body_length(header: bytes) -> int:
    """Return how many bytes follow the header; OrderError when it is none of ours or too large."""
    if len(header) != HEADER.size:
        raise OrderError("the order ends inside its header")
    magic, length = HEADER.unpack(header)
    if magic != MAGIC or length > LARGEST:
        raise OrderError("this is not an order")
    return int(length)


def decode(body: bytes) -> Order:
    """Return the order that the bytes after the header spell; OrderError for anything but a complete one."""
    order, seen, at = Order(), set(), 0
    while at < len(body):
        tag, length = _field_at(body, at)
        at += FIELD.size + length
        if at > len(body) or tag in seen:
            raise OrderError("a field is cut short or stands twice")
        if tag in SINGLE:
            seen.add(tag)
        _take(order, tag, body[at - length : at])
    _check_needed(order, seen)
    return order


def _field_at(body: bytes, at: int) -> tuple[bytes, int]:
    if at + FIELD.size > len(body):
        raise OrderError("the order ends inside a field")
    tag, length = FIELD.unpack_from(body, at)
    if tag not in SINGLE and tag not in REPEATED:
        raise OrderError("the order has a field that this launcher does not know")
    return tag, length


def _check_needed(order: Order, seen: set[bytes]) -> None:
    present = seen | {tag for tag, items in ((b"exec", order.candidates), (b"argv", order.argv)) if items}
    if not present.issuperset(NEEDED):
        raise OrderError("the order lacks a field that every launch needs")


def _take(order: Order, tag: bytes, payload: bytes) -> None:
    try:
        _TAKE[tag](order, payload)
    except struct.error:
        raise OrderError("a field has the wrong length") from None


def _text(payload: bytes) -> bytes:
    if b"\0" in payload:
        raise OrderError("a string of the order holds a NUL byte")
    return payload


def _handled(order: Order, payload: bytes) -> None:
    order.handled = _HANDLED.unpack(payload)


def _rule(order: Order, payload: bytes) -> None:
    access, device, inode = _RULE.unpack_from(payload)
    order.rules.append((access, device, inode, _text(payload[_RULE.size :])))


def _filter_a(order: Order, payload: bytes) -> None:
    (order.filter_a_flags,) = _FLAGS.unpack_from(payload)
    order.filter_a = _program(payload[_FLAGS.size :])


def _program(payload: bytes) -> bytes:
    if not payload or len(payload) % 8:
        raise OrderError("a filter program is not a whole number of instructions")
    return payload


def _working_dir(order: Order, payload: bytes) -> None:
    device, inode = _PLACE.unpack_from(payload)
    order.working_dir = (device, inode, _text(payload[_PLACE.size :]))


def _word(attribute: str) -> Take:
    return lambda order, payload: setattr(order, attribute, _WORD.unpack(payload)[0])


def _string(attribute: str) -> Take:
    return lambda order, payload: setattr(order, attribute, _text(payload))


def _item(attribute: str) -> Take:
    return lambda order, payload: getattr(order, attribute).append(_text(payload))


_TAKE: dict[bytes, Take] = {
    b"hand": _handled,
    b"rule": _rule,
    b"caps": _word("capabilities"),
    b"limi": lambda order, payload: order.limits.append(_LIMIT.unpack(payload)),
    b"fltA": _filter_a,
    b"fltB": lambda order, payload: setattr(order, "filter_b", _program(payload)),
    b"cnyR": _string("canary_read"),
    b"cnyW": _string("canary_write"),
    b"cnyC": _word("canary_call"),
    b"mask": _word("signal_mask"),
    b"name": _string("name"),
    b"wdir": _working_dir,
    b"exec": _item("candidates"),
    b"argv": _item("argv"),
    b"envv": _item("environment"),
}
