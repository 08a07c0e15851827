# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy schema`: the schema that the tests of aasm.policy.json_schema hold to the validator."""

from __future__ import annotations

import json

import pytest

from aasm.backends.native.floor import REFUSED_CALLS
from aasm.cli import policy_schema
from aasm.policy.json_schema import schema


def test_it_prints_the_schema_in_ascii(capfd: pytest.CaptureFixture[str]) -> None:
    assert policy_schema.main([]) == 0
    out, err = capfd.readouterr()
    assert err == "" and out.isascii() and out.endswith("}\n")
    assert json.loads(out) == schema(REFUSED_CALLS)
