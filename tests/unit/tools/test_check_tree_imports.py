# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The rules about imports and layers: each finds its own violation in a tree that has one, and nothing without."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List

import pytest
import tree_imports
import tree_layers
from project import PACKAGE
from support.planted import found, plant, told
from tree import Rule
from tree_layers import Closure

LAUNCHER = {
    "aasm/launcher.py": "from ._sys import boundary, order\n",
    "aasm/_sys/__init__.py": "",
    "aasm/_sys/boundary.py": "import ctypes\n",
    "aasm/_sys/order.py": "",
}
ROWS = (
    Closure("launcher", ("launcher", "_sys.boundary", "_sys.order"), "the inner one"),
    Closure("receipt.__main__", ("receipt", "model", "errors"), "the lone one"),
)
VERIFIER = {
    "aasm/errors.py": "",
    "aasm/model/__init__.py": "",
    "aasm/model/plan.py": "",
    "aasm/receipt/__init__.py": "",
    "aasm/receipt/__main__.py": "from ..errors import x\nfrom ..model import plan\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"aasm/run.py": "import requests\n"}, ["aasm/run.py:4: imports: requests"]),
        ({"aasm/run.py": "def f():\n    from requests import get\n"}, ["aasm/run.py:5: imports: requests"]),
        ({"aasm/run.py": "import tools.check\n"}, ["aasm/run.py:4: imports: tools.check"]),
        ({"aasm/run.py": "import pytest\n"}, ["aasm/run.py:4: imports: pytest"]),
        ({"aasm/run.py": "import tomllib\n"}, ["aasm/run.py:4: imports: tomllib"]),
        ({"aasm/run.py": "def f():\n    import tomllib\n"}, []),
        ({"aasm/run.py": "try:\n    import tomllib\nexcept ImportError:\n    tomllib = None\n"}, []),
        ({"aasm/run.py": "import distutils\n"}, ["aasm/run.py:4: imports: distutils"]),
        ({"aasm/run.py": "from . import other\nimport os.path\n", "aasm/other.py": ""}, []),
        ({"tools/one.py": "import two\nimport aasm\nimport support.x\n", "tools/two.py": ""}, []),
        ({"tools/one.py": "import pytest\n"}, ["tools/one.py:4: imports: pytest"]),
        ({"tools/one.py": "import three\n", "tests/three.py": ""}, ["tools/one.py:4: imports: three"]),
        ({"tests/test_one.py": "import pytest\nimport two\nimport aasm\n", "tools/two.py": ""}, []),
        ({"docs/one.py": "import two\nimport aasm\n", "tools/two.py": ""}, []),
        ({"docs/one.py": "import requests\n"}, ["docs/one.py:4: imports: requests"]),
        ({"one.py": "import requests\n"}, ["one.py:4: imports: requests"]),
        ({"examples/a/b/one.py": "import pytest\n"}, ["examples/a/b/one.py:4: imports: pytest"]),
        ({"tests/test_one.py": "import hypothesis\n"}, ["tests/test_one.py:4: imports: hypothesis"]),
    ],
)
def test_a_stranger_is_found(files: Dict[str, str], expected: List[str], tmp_path: Path) -> None:
    why = " is neither ours nor in the standard library of every supported Python"
    assert found(tree_imports.strangers, tmp_path, files) == [line + why for line in expected]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("json.py", "json"),
        ("aasm/struct.py", "struct"),
        ("aasm/typing/__init__.py", "typing"),
        ("tools/signal.py", "signal"),
        ("tools/token/x.py", "token"),
        ("tests/types.py", "types"),
        ("aasm/tomllib.py", "tomllib"),
        ("tools/bench/json.py", "json"),
        ("tools/a/b/json/x.py", "json"),
        ("docs/a/re.py", "re"),
        ("docs/re/__init__.py", "re"),
    ],
)
def test_a_file_that_stands_in_for_a_standard_module_is_found(file: str, name: str, tmp_path: Path) -> None:
    expected = f"{file}:1: stand-ins: it could be found instead of the standard module {name}"
    assert expected in found(tree_imports.stand_ins, tmp_path, {file: ""})


def test_a_module_deep_in_the_package_stands_in_for_nothing(tmp_path: Path) -> None:
    assert found(tree_imports.stand_ins, tmp_path, {"aasm/policy/json.py": "", "aasm/policy/__init__.py": ""}) == []


@pytest.mark.parametrize("name", sorted(tree_imports.NEVER_ON_THE_WAY))
def test_an_import_that_every_launch_would_pay_for_is_found(name: str, tmp_path: Path) -> None:
    text = f"def f():\n    import {name}\nfrom {name} import x\n"
    assert found(tree_imports.heavy, tmp_path, {"aasm/run.py": text}) == [
        f"aasm/run.py:6: heavy: {name} costs every launch its time"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "match 1:\n    case 1:\n        pass\n",
        "try:\n    pass\nexcept* OSError:\n    pass\n",
        "def f(:\n",
        "x = '\0'\n",
    ],
)
def test_newer_and_broken_syntax_is_found(text: str, tmp_path: Path) -> None:
    findings = found(tree_imports.syntax, tmp_path, {"aasm/run.py": text})
    assert len(findings) == 1
    assert findings[0].startswith("aasm/run.py:") and ": syntax: Python 3.9 cannot parse this" in findings[0]


def test_a_file_that_is_no_text_is_broken(tmp_path: Path) -> None:
    (tmp_path / "aasm").mkdir()
    (tmp_path / "aasm" / "run.py").write_bytes(b"x = '\xff'\n")
    assert len(told(tree_imports.syntax(plant(tmp_path, {})))) == 1


# Layers.


@pytest.mark.parametrize(
    ("rule", "files", "expected"),
    [
        (
            tree_layers.levels,
            {"aasm/newcomer.py": ""},
            ["aasm/newcomer.py:1: levels: newcomer has no level: give it one in tools/tree_layers.py"],
        ),
        (
            tree_layers.layers,
            {"aasm/planner.py": "def f():\n    from .run import x\n", "aasm/run.py": ""},
            ["aasm/planner.py:5: layers: planner imports run"],
        ),
        (
            tree_layers.layers,
            {"aasm/planner.py": "import aasm.state\n", "aasm/state.py": ""},
            ["aasm/planner.py:4: layers: planner imports state"],
        ),
        (tree_layers.layers, {"aasm/run.py": "from .planner import x\n", "aasm/planner.py": ""}, []),
        (
            tree_layers.root_alone,
            {"aasm/__init__.py": "import os\n"},
            ["aasm/__init__.py:4: root alone: aasm itself imports os"],
        ),
        (
            tree_layers.ctypes_home,
            {**LAUNCHER, "aasm/run.py": "def f():\n    from ctypes import CDLL\n"},
            ["aasm/run.py:5: ctypes: only aasm/_sys/ may import ctypes"],
        ),
    ],
)
def test_each_rule_of_the_layers(rule: Rule, files: Dict[str, str], expected: List[str], tmp_path: Path) -> None:
    assert found(rule, tmp_path, files) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({**LAUNCHER, **VERIFIER}, []),
        (
            {**LAUNCHER, **VERIFIER, "aasm/_sys/order.py": "def f():\n    from . import bpf\n", "aasm/_sys/bpf.py": ""},
            ["aasm/launcher.py:1: closures: launcher (the inner one) reaches _sys.bpf"],
        ),
        (
            {**LAUNCHER, **VERIFIER, "aasm/model/plan.py": "from .. import state\n", "aasm/state.py": ""},
            ["aasm/receipt/__main__.py:1: closures: receipt.__main__ (the lone one) reaches state"],
        ),
        (
            {**LAUNCHER, **VERIFIER, "aasm/launcher.py": "from ._sys import boundary\n"},
            ["aasm/launcher.py:1: closures: launcher no longer reaches _sys.order: take it off its row"],
        ),
        (LAUNCHER, ["aasm:1: closures: there is no receipt.__main__ (the lone one)"]),
    ],
)
def test_what_a_closure_must_and_must_not_reach(files: Dict[str, str], expected: List[str], tmp_path: Path) -> None:
    assert told(tree_layers.closures(plant(tmp_path, files), ROWS)) == expected


def test_every_module_that_has_a_row_has_its_own_stage_or_a_folder_of_one() -> None:
    rows = [row for row, _, _ in tree_layers.LEVELS]
    assert len(set(rows)) == len(rows)
    assert all(tree_layers.level_and_stage(row)[1] == stage for row, _, stage in tree_layers.LEVELS)


def test_the_lists_do_not_contradict_each_other() -> None:
    launcher = tree_imports.LAUNCHER_MAY_LOAD
    own = {name for name in launcher if name.split(".")[0] == PACKAGE}
    assert launcher - own <= tree_imports.listed() | {"_stat", "ctypes._endian", "os.path"}
    assert not launcher & (tree_imports.NEVER_IN_THE_LAUNCHER | tree_imports.NEVER_ON_THE_WAY)
    (row,) = [row for row in tree_layers.CLOSURES if row.start == "launcher"]
    assert own == {PACKAGE, f"{PACKAGE}._sys", *(f"{PACKAGE}.{name}" for name in row.may)}
