# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the operator's process gives a run: environment, home, working directory, and where state is kept."""

from __future__ import annotations

import os
from typing import Mapping, NamedTuple

from . import state
from .errors import REFUSED, AasmError, InternalError


class Surroundings(NamedTuple):
    """What the operator's process gives: its environment, home, directory, and where state is kept."""

    environ: Mapping[bytes, bytes]
    home: str  # "" when none is known
    cwd: str  # "" when it is gone
    state: str

    def variable(self, name: str) -> str | None:
        """Return one environment variable as text, or None."""
        value = self.environ.get(os.fsencode(name))
        return None if value is None else os.fsdecode(value)


def surroundings() -> Surroundings:
    """Return the surroundings of this process. Raises HostError or UsageError."""
    environ = dict(os.environb)
    texts = {os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()}
    home = _home(texts)
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = ""  # it is gone, which is nobody's business but the run's that would start in it
    return Surroundings(environ, home, cwd, state.state_dir(texts, home))


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    if home.startswith("/"):
        return os.path.normpath(home)
    try:
        import pwd  # only where HOME says nothing

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):  # a user without an entry, or a Python that cannot look
        return ""


def refusable(problem: AasmError) -> bool:
    """Say whether an error is a refusal that a preview shows: neither a wrong command line nor a defect of ours."""
    return problem.exit_code == REFUSED and not isinstance(problem, InternalError)
