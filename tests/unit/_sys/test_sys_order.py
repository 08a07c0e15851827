# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The order codec: what is encoded is decoded, and nothing but one complete order is an order."""

from __future__ import annotations

import random

import pytest

from aasm._sys import order as orders
from aasm._sys.order import FIELD, HEADER, Order, OrderError

ANY = bytes(range(1, 256))


def sample() -> Order:
    order = Order()
    order.handled = (0xFFFF, 3, 3, 0)
    order.rules = [(4, 1, 2, b"/usr"), (0x1FFF, 2**64 - 1, 2**64 - 1, ANY)]
    order.capabilities, order.limits = 1 << 40, [(7, 10, 20), (1, 0, 2**64 - 1)]
    order.filter_a, order.filter_a_flags, order.filter_b = b"A" * 16, 32, b"B" * 8
    order.canary_read, order.canary_write, order.canary_call = b"/canary", b"/canary", 310
    order.signal_mask, order.name = 1 << 63, b"aasm-0123456789"
    order.working_dir = (5, 6, b"/ws " + ANY)
    order.candidates, order.argv = [b"/bin/x", b""], [b"x", b"", ANY]
    order.environment = [b"A=" + ANY, b"="]
    return order


def decoded(data: bytes) -> Order:
    length = orders.body_length(data[: HEADER.size])
    body = data[HEADER.size :]
    if len(body) != length:
        raise OrderError("not the length that the header states")
    return orders.decode(body)


def test_every_field_survives() -> None:
    assert vars(decoded(orders.encode(sample()))) == vars(sample())


def test_an_order_without_the_optional_fields_survives() -> None:
    order = sample()
    order.filter_a, order.filter_a_flags = b"", 0
    order.canary_read, order.canary_write, order.canary_call = b"", b"", -1
    order.rules, order.limits, order.environment = [], [], []
    assert vars(decoded(orders.encode(order))) == vars(order)


def test_no_prefix_of_an_order_is_an_order() -> None:
    data = orders.encode(sample())
    for length in range(len(data)):
        with pytest.raises(OrderError):
            decoded(data[:length])
    with pytest.raises(OrderError):
        decoded(data + b"\0")


def test_whatever_is_done_to_the_bytes_is_an_order_or_an_order_error() -> None:
    data, dice = orders.encode(sample()), random.Random(20)
    for _ in range(3000):
        broken = bytearray(data)
        for _ in range(dice.randint(1, 4)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        try:
            decoded(bytes(broken))
        except OrderError:
            pass


@pytest.mark.parametrize("tag", orders.SINGLE)
def test_a_field_that_may_stand_once_is_refused_twice(tag: bytes) -> None:
    body = orders.encode(sample())[HEADER.size :]
    fields = {name: payload for name, payload in orders._fields(sample())}
    with pytest.raises(OrderError):
        orders.decode(body + FIELD.pack(tag, len(fields[tag])) + fields[tag])


@pytest.mark.parametrize("tag", orders.NEEDED)
def test_a_needed_field_is_missed(tag: bytes) -> None:
    kept = [(name, payload) for name, payload in orders._fields(sample()) if name != tag]
    with pytest.raises(OrderError):
        orders.decode(b"".join(FIELD.pack(name, len(payload)) + payload for name, payload in kept))


def test_unknown_fields_wrong_lengths_and_nul_bytes_are_refused() -> None:
    body = orders.encode(sample())[HEADER.size :]
    for tag, payload in (
        (b"wide", b""), (b"argv", b"a\0b"), (b"rule", b"short"), (b"limi", b"123"), (b"exec", b"/bin/\0x"),
    ):  # fmt: skip
        with pytest.raises(OrderError):
            orders.decode(body + FIELD.pack(tag, len(payload)) + payload)
    with pytest.raises(OrderError):
        orders.body_length(HEADER.pack(b"not-ours", 1))
    with pytest.raises(OrderError):
        orders.body_length(HEADER.pack(orders.MAGIC, orders.LARGEST + 1))


def test_an_order_that_is_too_large_is_not_encoded() -> None:
    order = sample()
    order.argv = [b"x" * (1 << 20)] * 65
    with pytest.raises(OrderError, match="most a launch may need"):
        orders.encode(order)
