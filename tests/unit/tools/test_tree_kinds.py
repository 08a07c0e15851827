# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of what names of the standard library can do, held to the Python that runs this."""

from __future__ import annotations

import builtins
import functools
import importlib
import io
import operator
import os
import threading
import types
from typing import Iterator, Tuple

import pytest
import tree_kinds as kinds

DANGEROUS = (
    exec, eval, compile, open, __import__, io.open, io.FileIO, io.TextIOWrapper, builtins.breakpoint, type, super,
    getattr, setattr, delattr, vars, globals, functools.update_wrapper, functools.wraps, operator.attrgetter,
    operator.methodcaller, types.CodeType, types.FunctionType, types.ModuleType, threading.Thread,
)  # fmt: skip


def harmless_names() -> Iterator[Tuple[str, str, object]]:
    """Yield (module, name, value) for all that the tables call harmless, in modules that this Python has."""
    for module in sorted(kinds.TABLES):
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            continue
        for name in dir(loaded):
            if kinds.kind_of(module, name) == kinds.HARMLESS:
                yield module, name, getattr(loaded, name)


@pytest.mark.filterwarnings("ignore")
def test_nothing_harmless_leads_to_a_module_that_nobody_has_looked_at() -> None:
    wrong = [
        f"{module}.{name}"
        for module, name, value in harmless_names()
        if isinstance(value, types.ModuleType) and not kinds.is_module(f"{module}.{name}")
    ]
    assert wrong == []


@pytest.mark.filterwarnings("ignore")
def test_nothing_harmless_is_something_else_by_another_name() -> None:
    by_value = {
        id(getattr(os, name)): name
        for name in dir(os)
        if callable(getattr(os, name)) and kinds.kind_of("os", name) not in (kinds.HARMLESS, "hidden")
    }
    wrong = [
        f"{module}.{name}"
        for module, name, value in harmless_names()
        if id(value) in by_value
        or any(value is one for one in DANGEROUS)
        or isinstance(value, type) and issubclass(value, type)
    ]
    assert wrong == []


def test_of_os_every_name_is_decided() -> None:
    names = [name for name in dir(os) if not name.startswith("_") and callable(getattr(os, name))]
    undecided = {name for name in names if kinds.kind_of("os", name) == "hidden"}
    assert undecided <= {"GenericAlias", "Mapping", "MutableMapping", "fdopen"}  # fdopen is judged by its mode
