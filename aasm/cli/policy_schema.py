# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy schema`: the JSON Schema of a policy, for editors and for whoever makes policies by program."""

from __future__ import annotations

from typing import List

from ..backends.native.floor import REFUSED_CALLS
from ..errors import OK
from ..policy.json_schema import schema
from . import say
from .parsing import Parser
from .policy import as_json, parser


def main(args: List[str]) -> int:
    """Carry out `policy schema`; return 0."""
    _parser().parse_args(args)
    say(as_json(schema(REFUSED_CALLS)))
    return OK


def _parser() -> Parser:
    return parser(
        "schema",
        "",
        "Print the JSON Schema (draft 2020-12) of a policy. Every valid policy fits it; `aasm policy validate` also "
        "judges what no schema can express.",
    )
