# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Tells whether code can get from an object to the class that made it, or to an attribute whose name nobody sees.

Whoever has the class of an open file or of a socket can make another one. `type(x)` may be compared, named, and looked
up in a table of built-in classes; `super()` may be asked for what its class defines; a template of `format` must be
seen. Each function returns whether a use is one of these, and everything else is a finding of tree_effects.py. They
read syntax trees only.
"""

from __future__ import annotations

import ast
import re
from typing import Callable, Optional, Sequence

import tree_kinds as kinds

_NAMING = ("__name__", "__qualname__")
_PRIVATE_FIELD = re.compile(r"\{[^{}]*[.\[]_")  # of a template: {0._x} or {0[_x]}

# From an expression to what it is, once and for all, in this file or another; None where that is not seen.
Constant = Callable[[ast.expr], Optional[ast.expr]]
# Whether a name is one of the built-in classes, and nothing that the file calls so.
BuiltIn = Callable[[str], bool]


def asks_for_a_class(around: Sequence[ast.AST], constant: Constant, built_in: BuiltIn) -> bool:
    """Tell whether the name `type`, the last of `around`, is called only to compare, to name or to look up a class.

    `around` is every node from the top of the file to that name.
    """
    call = around[-2] if len(around) > 2 else None
    if not (isinstance(call, ast.Call) and call.func is around[-1] and len(call.args) == 1 and not call.keywords):
        return False
    user = around[-3]
    if isinstance(call.args[0], ast.Constant):
        return not (isinstance(user, ast.Call) and user.func is call)
    if isinstance(user, ast.Attribute):
        return user.attr in _NAMING
    if isinstance(user, ast.Compare):
        return _compares(user, call, built_in)
    return _looks_up(user, call, constant, built_in)


def _compares(user: ast.Compare, call: ast.Call, built_in: BuiltIn) -> bool:
    """Tell whether `call` is compared by `is`, or by `in` with built-in classes: == could hand it to anybody's code."""
    if all(isinstance(sign, (ast.Is, ast.IsNot)) for sign in user.ops):
        return True
    among, sign = user.comparators[0], user.ops[0]
    listed = among.elts if isinstance(among, (ast.Tuple, ast.List, ast.Set)) else []
    alone = len(user.ops) == 1 and user.left is call and isinstance(sign, (ast.In, ast.NotIn))
    return alone and bool(listed) and all(_is_built_in(one, built_in) for one in listed)


def _is_built_in(node: Optional[ast.expr], built_in: BuiltIn) -> bool:
    """Tell whether an expression is a built-in class by its name, or the type of a literal: type(None)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type":
        return len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
    return isinstance(node, ast.Name) and built_in(node.id)


def _looks_up(user: ast.AST, call: ast.Call, constant: Constant, built_in: BuiltIn) -> bool:
    """Tell whether `call` is a key with which a table of built-in classes is asked: TABLE[call] or TABLE.get(call)."""
    table: Optional[ast.expr] = None
    if isinstance(user, ast.Subscript) and user.value is not call:
        table = constant(user.value)
    elif isinstance(user, ast.Call) and isinstance(user.func, ast.Attribute) and user.func.attr == "get":
        table = constant(user.func.value) if user.args[:1] == [call] else None
    return isinstance(table, ast.Dict) and all(_is_built_in(key, built_in) for key in table.keys)


def is_plain_super(around: Sequence[ast.AST]) -> bool:
    """Tell whether the name `super`, the last of `around`, is called with nothing and asked for an attribute."""
    call = around[-2] if len(around) > 2 else None
    plain = isinstance(call, ast.Call) and call.func is around[-1] and not call.args and not call.keywords
    return plain and isinstance(around[-3], ast.Attribute)


def is_method_of_super(node: ast.Attribute, call: Optional[ast.Call]) -> bool:
    """Tell whether an attribute is super().__init__ or the like, called on the spot."""
    made = node.value
    by_super = isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "super"
    return by_super and call is not None and node.attr in kinds.OF_SUPER


def is_seen_template(node: ast.Attribute, call: Optional[ast.Call], constant: Constant) -> bool:
    """Tell whether `node`, the method `format` of a template, is called on a text that takes no private attribute."""
    text = constant(node.value)
    if call is None or not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return False
    return not _PRIVATE_FIELD.search(text.value)
