# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a launch may import: every module on that path is start-up time, and inside the launcher also attack surface.

The lists are in tools/tree_imports.py. What the launcher loads is the matter of tools/tree_pythons.py, which
test_stdlib_only.py asks; here a whole launch is watched.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from project import ROOT
from tree_imports import LAUNCHER_MAY_LOAD, NEVER_IN_THE_LAUNCHER, NEVER_ON_THE_WAY

assert not LAUNCHER_MAY_LOAD & (NEVER_IN_THE_LAUNCHER | NEVER_ON_THE_WAY)

POLICY = "filesystem:\n  read:\n    allow: [/usr]\n"
LAUNCH = """
import sys
root, report, *sys.argv = sys.argv[1:]
sys.path.insert(0, root)
from aasm.cli import main_script
try:
    code = main_script()
except SystemExit as ended:
    code = ended.code
with open(report, "w") as file:
    print(code, *sorted(sys.modules), file=file)
"""


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--isolation", "none", "--policy", "{policy}"], id="none"),
        pytest.param(
            ["--isolation", "process", "--system", "--write", "{work}"], id="process", marks=pytest.mark.landlock
        ),
    ],
)
def test_a_whole_launch_loads_nothing_of_the_listed(options: List[str], tmp_path: Path) -> None:
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    policy, report = tmp_path / "policy.yaml", tmp_path / "modules"
    policy.write_text(POLICY, encoding="utf-8")
    places = {"policy": str(policy), "work": str(tmp_path / "work")}
    words = ["aasm", "run", "exec", *(option.format(**places) for option in options), "--", "true"]
    environment = {"PATH": os.defpath, "HOME": str(tmp_path / "home"), "AASM_STATE_DIR": str(tmp_path / "state")}
    command = [sys.executable, "-I", "-S", "-B", "-c", LAUNCH, str(ROOT), str(report), *words]
    done = subprocess.run(command, env=environment, cwd=tmp_path / "work", capture_output=True, text=True, check=False)
    assert report.exists(), done.stderr
    code, *loaded = report.read_text(encoding="utf-8").split()
    assert code in ("0", "None"), done.stderr
    assert "aasm.run" in loaded
    assert NEVER_ON_THE_WAY.intersection(loaded) == set()
