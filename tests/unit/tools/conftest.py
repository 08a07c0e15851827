# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One environment with pip for all tests that need one: making it takes several seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest


class Environment:
    """A virtual environment with pip, which has no configuration and no index: what it would have to fetch, fails."""

    def __init__(self, home: Path) -> None:
        self.home, self.python = home, home / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)

    def pip(self, *words: str) -> "subprocess.CompletedProcess[str]":
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
        nothing = {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        command = [str(self.python), "-m", "pip", "--isolated", *words, "--quiet"]
        return subprocess.run(command, cwd="/", env={**clean, **nothing}, capture_output=True, text=True, check=False)

    def files(self) -> Dict[str, Path]:
        """Return what is in it, compiled files excepted, by names relative to it."""
        found = (path for path in sorted(self.home.rglob("*")) if path.is_file() and path.suffix != ".pyc")
        return {path.relative_to(self.home).as_posix(): path for path in found}


@pytest.fixture(scope="session")
def with_pip(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment; a test leaves it as it was."""
    pytest.importorskip("ensurepip", reason="this Python cannot make a virtual environment with pip")
    return Environment(tmp_path_factory.mktemp("with pip") / "venv")
