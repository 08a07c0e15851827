# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the real command in a process of its own, as this user or as an unprivileged one, with a state of its own."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = str(ROOT / "aasm")
# a Python for programs inside the boundary: the interpreter itself, without the environment of the tests
PYTHON = (os.path.realpath(sys.executable), "-I", "-S")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class User:
    """Who runs the command. `uid` None: whoever runs the tests."""

    def __init__(self, name: str, uid: int | None, gid: int | None) -> None:
        self.name, self.uid, self.gid = name, uid, gid

    def drop(self) -> dict[str, Any]:
        """Return the arguments that make subprocess start a child as this user."""
        return {} if self.uid is None else {"user": self.uid, "group": self.gid, "extra_groups": []}


def users() -> list[Any]:
    """Return the users that a test runs as: root and nobody when root runs the tests, else the one there is."""
    if os.geteuid() != 0:
        return [pytest.param(User("self", None, None), id="self")]
    nobody = pwd.getpwnam("nobody")
    dropped = User("nobody", nobody.pw_uid, nobody.pw_gid)
    root = pytest.param(User("root", None, None), id="root")
    return [root, pytest.param(dropped, id="nobody", marks=pytest.mark.unprivileged)]


class Lab:
    """A place for one test: a home, a state directory, a workspace and a place outside, all owned by the user."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.top = Path(os.path.realpath(tempfile.mkdtemp(prefix="aasm-lab-")))
        self.top.chmod(0o755)
        self.home, self.state, self.workspace, self.outside, self.tmp = (
            self.directory(name) for name in ("home", "state", "ws", "outside", "tmp")
        )
        self.state.chmod(0o700)

    def directory(self, name: str) -> Path:
        """Return a new directory below the place, owned by the user."""
        path = self.top / name
        path.mkdir(parents=True)
        self.own(path)
        return path

    def file(self, path: Path, text: str = "", mode: int = 0o644) -> Path:
        """Return a new file, owned by the user."""
        path.write_text(text)
        path.chmod(mode)
        self.own(path)
        return path

    def own(self, path: Path) -> None:
        """Give a path to the user."""
        if self.user.uid is not None:
            os.chown(path, self.user.uid, self.user.gid or 0)

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of the command: small, and the same on every machine."""
        base = {"PATH": PATH, "HOME": str(self.home), "AASM_STATE_DIR": str(self.state), "LANG": "C.UTF-8"}
        return {**base, "TMPDIR": str(self.tmp), "PYTHONDONTWRITEBYTECODE": "1", **more}

    def command(self, *args: str, python: Sequence[str] = ("-I",)) -> list[str]:
        """Return the command line of `aasm ARGS`."""
        return [sys.executable, *python, PACKAGE, *args]

    def options(self, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> dict[str, Any]:
        """Return what subprocess needs to start the command as the user."""
        return {"cwd": cwd or self.workspace, "env": self.environment(**(env or {})), **self.user.drop()}

    def aasm(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout: float = 60,
        **more: Any,
    ) -> subprocess.CompletedProcess[str]:
        """Run `aasm ARGS` to its end."""
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            self.command(*args), capture_output=True, text=True, errors="surrogateescape", timeout=timeout,
            **self.options(env, cwd), **more,
        )  # fmt: skip

    def bare(self, *argv: str, cwd: Path | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a program as the user without any boundary: the control of a denial."""
        more.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, **self.options(None, cwd), **more)

    def confined(self, *argv: str, options: Sequence[str] = (), **more: Any) -> subprocess.CompletedProcess[str]:
        """Run a program inside the boundary with the host's programs readable and the workspace writable."""
        base = ("run", "exec", "--isolation", "process", "--system", "--write", str(self.workspace))
        return self.aasm(*base, *python_grants(), *options, "--", *argv, **more)

    def receipts(self) -> list[dict[str, Any]]:
        """Return the envelopes of all receipts in the state directory, oldest first."""
        folder = self.state / "execution-receipts"
        names = sorted(folder.glob("*.execution-receipt.json"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(path.read_text()) for path in names]

    def receipt(self) -> dict[str, Any]:
        """Return the body of the newest receipt."""
        body = self.receipts()[-1]["body"]
        assert isinstance(body, dict)
        return body

    def ledger(self) -> list[dict[str, Any]]:
        """Return the records of the ledger."""
        path = self.state / "ledger.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def leftovers(self) -> list[str]:
        """Return what lies in the temporary directory: after a run there must be nothing."""
        return sorted(os.listdir(self.tmp))

    def remove(self) -> None:
        """Remove the place."""
        shutil.rmtree(self.top, ignore_errors=True)


def python_grants() -> tuple[str, ...]:
    """Return the options that let PYTHON run inside: it may lie outside the system's directories."""
    return ("--read", os.path.realpath(sys.base_prefix))


def domain(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what a receipt says about one domain."""
    found = [line for line in body["domains"] if line["domain"] == name]
    assert len(found) == 1
    return dict(found[0])


@pytest.fixture(params=users())
def user(request: pytest.FixtureRequest) -> User:
    """Every test that takes this runs once as each user."""
    chosen = request.param
    assert isinstance(chosen, User)
    return chosen


@pytest.fixture
def lab(user: User) -> Iterator[Lab]:
    """A fresh place for the test, owned by the user it runs as."""
    made = Lab(user)
    try:
        yield made
    finally:
        made.remove()
