# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Who may import whom: downwards only, and stages on one level meet in `model`, not in each other.

Read from the imports themselves, those inside functions included.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import pytest
from project import PACKAGE, ROOT, imports, module_name, package_modules, parsed, python_files, reached

# The first row whose name is the module, or a folder that holds it, decides: its level, and the stage that it is part
# of. Modules of one stage may import each other, as far as their levels allow.
LEVELS: Tuple[Tuple[str, int, str], ...] = (
    ("errors", 0, "errors"),
    ("_sys._nr_x86_64", 0, "_sys"),
    ("_sys._nr_aarch64", 0, "_sys"),
    ("_sys._nr_riscv64", 0, "_sys"),
    ("_sys", 1, "_sys"),
    ("model", 1, "model"),
    ("receipt.canonical", 1, "receipt.canonical"),
    ("receipt.screen", 1, "receipt.screen"),  # what text may be in a receipt or an identity
    ("receipt.read", 1, "receipt.read"),  # opens what somebody hands over; needs nothing but errors
    ("policy", 2, "policy"),
    ("planner", 2, "planner"),
    ("evidence", 2, "evidence"),
    ("state", 2, "state"),
    ("receipt.rules", 2, "receipt.rules"),
    ("receipt.shape", 2, "receipt.rules"),  # the pure half of the rules: what is where in a receipt
    ("receipt.facts", 2, "receipt.rules"),
    ("governance.identity", 2, "governance.identity"),
    ("launcher", 2, "launcher"),
    ("needs", 2, "needs"),
    ("backends", 3, "backends"),
    ("workspace", 3, "workspace"),
    ("governance", 3, "governance"),
    ("proxy", 3, "proxy"),
    ("devtools", 3, "devtools"),
    ("receipt", 3, "receipt"),
    ("supervise", 4, "supervise"),
    ("run", 5, "run"),
    ("bind", 5, "run"),  # these are steps of the pipeline that `run` is
    ("surroundings", 5, "run"),
    ("trusted", 5, "run"),
    ("selecting", 5, "run"),
    ("stating", 5, "run"),
    ("sealing", 5, "run"),
    ("explain", 5, "run"),
    ("answering", 5, "run"),
    ("refusing", 5, "run"),
    ("targets", 5, "run"),
    ("cli", 6, "cli"),
    ("__main__", 6, "cli"),
)
# Importing a.b runs a/__init__.py first. In a folder whose modules stand on several levels, that file belongs to the
# lowest of them.
FOLDER_LEVELS: Dict[str, int] = {"": 0, "_sys": 0, "model": 1, "receipt": 1, "governance": 2}

LAUNCHER_MAY = {"_sys.boundary", "_sys.order"}
COMPUTED_IMPORTS = {"aasm/__main__.py": "run as a directory, it has no package to import from until it knows its name"}
VERIFIER_MAY = ("receipt", "model", "errors")


def inside(name: str) -> str:
    """Return a module's name without the package: `aasm.policy.reader` is `policy.reader`, `aasm` is empty."""
    return name[len(PACKAGE) + 1 :]


def under(name: str, folder: str) -> bool:
    return name == folder or name.startswith(folder + ".")


def level_and_stage(name: str) -> Tuple[int, str]:
    for row, level, stage in LEVELS:
        if under(name, row):
            return FOLDER_LEVELS.get(name, level), stage
    if name == "":
        return 0, ""
    raise LookupError(f"{PACKAGE}.{name} has no level: give it one in {Path(__file__).name}")


def edges(path: Path) -> List[Tuple[int, str, str]]:
    """Return (line, importer, imported) for every import of the package by itself in `path`."""
    importer = inside(module_name(path))
    found = imports(path, package_modules())
    return [(one.line, importer, inside(one.name)) for one in found if under(one.name, PACKAGE)]


def allowed(importer: str, imported: str) -> bool:
    if imported == "" or importer == imported:
        return True  # the version
    (from_level, from_stage), (to_level, to_stage) = level_and_stage(importer), level_and_stage(imported)
    return to_level < from_level or (to_level == from_level and from_stage == to_stage)


def test_every_module_has_a_level() -> None:
    assert [level_and_stage(inside(name)) for name in sorted(package_modules())]


def test_imports_go_downwards_only() -> None:
    wrong = []
    for path in python_files(PACKAGE):
        for line, importer, imported in edges(path):
            if not allowed(importer, imported):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {importer} imports {imported}")
    assert wrong == []


@pytest.mark.parametrize(
    ("importer", "imported", "expected"),
    [
        ("cli.main", "run", True),
        ("run", "cli.main", False),
        ("policy.reader", "policy.document", True),
        ("policy.reader", "planner", False),
        ("planner", "model.plan", True),
        ("model.plan", "planner", False),
        ("backends.native.filters", "_sys.bpf", True),
        ("governance.ledger", "receipt.store", False),
        ("receipt.rules", "receipt.canonical", True),
        ("receipt.rules", "receipt.store", False),
        ("receipt.canonical", "model.plan", False),
        ("receipt", "receipt.store", False),
        ("_sys._nr_x86_64", "_sys.bpf", False),
        ("supervise.spawn", "backends.base", True),
    ],
)
def test_the_rule_itself(importer: str, imported: str, expected: bool) -> None:
    assert allowed(importer, imported) is expected


def test_the_package_itself_imports_nothing() -> None:
    assert imports(ROOT / PACKAGE / "__init__.py", package_modules()) == []


def test_only_the_kernel_layer_imports_ctypes() -> None:
    users = {
        path.relative_to(ROOT).as_posix()
        for path in python_files(PACKAGE)
        if any(under(one.name, "ctypes") for one in imports(path, set()))
    }
    assert users and all(user.startswith(f"{PACKAGE}/_sys/") for user in users)


def test_the_launcher_reaches_the_boundary_and_the_order_and_nothing_else_of_ours() -> None:
    own = {inside(name) for name in reached({f"{PACKAGE}.launcher"})}
    assert own - {"", "_sys"} == LAUNCHER_MAY | {"launcher"}


def test_the_verifier_needs_receipt_model_and_errors_only() -> None:
    own = {inside(name) for name in reached({f"{PACKAGE}.receipt.__main__"})} - {""}
    assert "receipt.rules" in own
    assert {name for name in own if not any(under(name, folder) for folder in VERIFIER_MAY)} == set()


def test_the_verifier_runs_with_those_files_alone(tmp_path: Path) -> None:
    package = tmp_path / PACKAGE
    package.mkdir()
    shutil.copy(ROOT / PACKAGE / "__init__.py", package)
    for name in VERIFIER_MAY:
        source = ROOT / PACKAGE / name
        if source.is_dir():
            shutil.copytree(source, package / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source.with_suffix(".py"), package)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-m", f"{PACKAGE}.receipt", "verify", "missing.json"]
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


def test_nothing_is_imported_by_a_computed_name() -> None:
    wrong = []
    for path in python_files(PACKAGE):
        for node in ast.walk(parsed(path)):
            name = getattr(node, "id", "") or getattr(node, "attr", "")
            if name in ("__import__", "import_module", "exec", "eval"):
                wrong.append(path.relative_to(ROOT).as_posix())
    assert sorted(set(wrong)) == list(COMPUTED_IMPORTS)
