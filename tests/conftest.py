# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the suite may expect of its host: stated expectations fail the session, they never turn into skips.

Each expectation is an option and an environment variable (tools/check.py and tox pass the variables on). Without
them, tests that need Landlock, or an interpreter that the user nobody can execute, skip with a counted reason.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check import SUITE_EXPECTATIONS, option_settings

ROOT = Path(__file__).resolve().parent.parent

NEEDS_LANDLOCK = (ROOT / "tests" / "kernel", ROOT / "tests" / "adversarial")

_CREATE_RULESET, _VERSION_FLAG = 444, 1  # linux/landlock.h; one number on every architecture


@functools.lru_cache(maxsize=None)
def landlock_abi() -> int:
    """Return the ABI that the kernel reports, 0 when there is none. Asks by itself: no code under test decides."""
    libc = ctypes.CDLL(None, use_errno=True)
    reported = libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION_FLAG))
    return max(int(reported), 0)


@functools.lru_cache(maxsize=None)
def why_not_unprivileged() -> str:
    """Return why a test cannot drop to the user nobody, or the empty text when it can (or need not)."""
    if os.geteuid() != 0:
        return ""
    command = [sys.executable, "-c", f"open({str(ROOT / 'aasm' / '__init__.py')!r}).close()"]
    try:
        who = pwd.getpwnam("nobody")
        done = subprocess.run(
            command, user=who.pw_uid, group=who.pw_gid, extra_groups=[], cwd="/", capture_output=True
        )
    except (OSError, LookupError) as problem:
        return f"the user nobody cannot execute {sys.executable}: {problem}"
    return "" if done.returncode == 0 else f"the user nobody cannot read {ROOT} with {sys.executable}"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("aasm", "what the host must have")
    for row in SUITE_EXPECTATIONS:
        group.addoption(row[0], dest=row[1], **option_settings(row))


def expectation(config: pytest.Config, variable: str) -> str:
    """Return what was stated as an option, else in the environment variable, else the empty text."""
    return str(config.getoption(variable) or os.environ.get(variable, ""))


def unmet(config: pytest.Config) -> list[str]:
    """Return one sentence for each stated expectation that this host does not meet."""
    problems = []
    abi = expectation(config, "AASM_EXPECT_ABI")
    if abi and abi != str(landlock_abi()):
        problems.append(f"Landlock ABI {abi} is expected, this kernel reports {landlock_abi()}")
    for program in filter(None, expectation(config, "AASM_EXPECT_PROGRAMS").split(",")):
        if shutil.which(program) is None:
            problems.append(f"the program {program} is expected and is not on PATH")
    if expectation(config, "AASM_EXPECT_UNPRIVILEGED") == "1" and why_not_unprivileged():
        problems.append(why_not_unprivileged())
    return problems


def pytest_sessionstart(session: pytest.Session) -> None:
    problems = unmet(session.config)
    if problems:
        raise pytest.UsageError("; ".join(problems))


def pytest_report_header(config: pytest.Config) -> str:
    python = f"Python {platform.python_version()} on {platform.release()} {platform.machine()}"
    return f"{python}, uid {os.geteuid()}, Landlock ABI {landlock_abi()}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(folder in item.path.parents for folder in NEEDS_LANDLOCK):
            item.add_marker(pytest.mark.landlock)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("landlock") and landlock_abi() == 0:
        pytest.skip("this kernel has no Landlock")
    if item.get_closest_marker("unprivileged") and why_not_unprivileged():
        pytest.skip(why_not_unprivileged())


pytest_plugins = ("support.launch", "support.rootfs")
