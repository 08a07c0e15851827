# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A host with nothing but Python and libc: its files, made once a session from the Python under test, and the way in.

No shell, no tool, no /etc, no /sys. What a test takes away or puts there is said as changes of `Restricted.host`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

import pytest
from support.enter_host import NO_HOST
from support.launch import PACKAGE

ENTER = str(Path(__file__).with_name("enter_host.py"))
UID = 12345  # whom no host knows
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
PYTHON = "/usr/bin/python3"
PLACE = "/place"  # where a test finds what it put there, and what a run left
AASM = (PYTHON, "-I", "/opt/aasm")
AS_SCRIPT = (
    PYTHON, "-I", "-S", "-c",
    "import sys; sys.path.insert(0, '/opt'); from aasm.cli import main_script; sys.exit(main_script())",
)  # fmt: skip
PROC = ["proc", "/proc", 0, "subset=pid"]  # proc(5): nothing that is no process, so no /proc/sys either
TMP = ["tmpfs", "/tmp", 0, "mode=1777"]

# Modules with a C part: what these are linked with is among the libraries of the host.
LINKED = "ctypes _socket struct mmap resource fcntl select termios hashlib json math zlib binascii array".split()
_LOOK = """
import importlib, json, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
with open("/proc/self/maps") as stream:
    print(json.dumps(sorted({line.split(None, 5)[5].strip() for line in stream if "/" in line})))
"""
# Left out, for their size: no command imports them.
_LARGE = (
    "test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data", "unittest", "distutils",
    "site-packages", "dist-packages", "config-*", "*.opt-1.pyc", "*.opt-2.pyc", "sitecustomize.py",
)  # fmt: skip


class Tree(NamedTuple):
    """The files of the host. `top` is for nobody but the host: it is shown there read-only."""

    top: Path

    @property
    def modules(self) -> Path:
        """Return where the standard library lies."""
        return self.top / "usr" / "lib" / VERSION

    def code(self) -> List[Tuple[str, str]]:
        """Return what the host shows of it, by place."""
        return [(str(path), f"/{path.name}") for path in sorted(self.top.iterdir())]

    def module(self, name: str) -> List[Path]:
        """Return the files that a module of the standard library is."""
        folders = (self.modules, self.modules / "lib-dynload")
        return [path for folder in folders for path in (*folder.glob(f"{name}.*"), folder / name) if path.exists()]

    @contextlib.contextmanager
    def without(self, paths: Sequence[Path]) -> Iterator[None]:
        """Take files away for a while."""
        assert paths, "there is nothing to take away"
        moved = [(path, path.with_name(f"{path.name}-gone")) for path in paths]
        for path, gone in moved:
            path.rename(gone)
        try:
            yield
        finally:
            for path, gone in moved:
                gone.rename(path)


def make_tree(top: Path) -> Tree:
    """Make the files of the host below `top`, from the Python that runs this and the package as it is here."""
    binary = os.path.realpath(sys.executable)
    (top / "usr" / "bin").mkdir(parents=True)
    _copied(binary, top / "usr" / "bin" / VERSION)
    (top / PYTHON[1:]).symlink_to(VERSION)
    standard = sysconfig.get_path("stdlib")
    ignored = shutil.ignore_patterns(*_LARGE)
    library = top / "usr" / "lib" / VERSION
    shutil.copytree(standard, library, ignore=ignored, copy_function=_linked, ignore_dangling_symlinks=True)
    _libraries(top, binary, standard)
    _as_it_was_built(top)
    (top.parent / "root").mkdir()  # where each host is mounted, in its own namespace
    (top / "opt").mkdir()
    shutil.copytree(PACKAGE, top / "opt" / "aasm", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(top / "opt")], check=True)
    return Tree(top)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or files of another user
        shutil.copy2(source, target)


def _copied(source: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _libraries(top: Path, binary: str, standard: str) -> None:
    """Copy what the interpreter and its modules are linked with to where libc lies, under all of its names."""
    done = subprocess.run([binary, "-I", "-S", "-c", _LOOK, *LINKED], capture_output=True, text=True, check=True)
    mapped = [path for path in json.loads(done.stdout) if ".so" in path and not path.startswith(standard)]
    libc = next(path for path in mapped if re.match(r"libc[.-]", os.path.basename(path)))
    for path in mapped:
        for name in _names(path):
            _copied(path, top / os.path.dirname(libc)[1:] / name)
    loader = re.search(rb"\0(/lib[^\0]*/ld[^\0]*)\0", Path(binary).read_bytes()[:4096])
    assert loader, "the interpreter names no loader"
    named = loader.group(1).decode()
    _copied(named, top / named[1:])


def _names(path: str) -> List[str]:
    folder, name = os.path.split(path)
    others = [one for one in os.listdir(folder) if one.startswith(name.split(".so")[0]) and ".so" in one]
    return [one for one in others if os.path.realpath(os.path.join(folder, one)) == path] or [name]


def _as_it_was_built(top: Path) -> None:
    """Let the prefix that was compiled in lead to /usr: only by it an interpreter without a name finds its library."""
    built = top / sys.base_prefix[1:]
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        built.symlink_to("/usr")


class Restricted:
    """Such a host, and the places of one test in it: `state`, `ws`, `outside` and `tmp`, which survive its end."""

    def __init__(self, tree: Tree, place: Path, changes: Mapping[str, Any] = {}) -> None:
        self.tree, self.place, self.changes = tree, place, changes
        self.uid = changes.get("uid", UID)
        place.chmod(0o755)
        for name in ("state", "ws", "outside", "tmp"):
            self.owned(place / name).chmod(0o700)
        self.file("outside/secret", "secret")

    def owned(self, path: Path) -> Path:
        """Return a directory that belongs to the user of the host."""
        path.mkdir(exist_ok=True)
        return self._given(path)

    def file(self, name: str, text: str) -> Path:
        """Return a new file of the user of the host, by its name below PLACE."""
        path = self.place / name
        path.write_text(text)
        return self._given(path)

    def _given(self, path: Path) -> Path:
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.uid)
        return path

    def host(self, argv: Sequence[str], changes: Mapping[str, Any]) -> Dict[str, Any]:
        """Return the host as enter_host.py takes it: the barest on which a boundary is built, and then the changes."""
        base = {
            "code": self.tree.code(),
            "devices": [],
            "mounts": [PROC, TMP],
            "shown": [(str(self.place), PLACE)],
            "uid": UID,
            "umask": 0o077,
            "directory": f"{PLACE}/ws",
            "directory_becomes": "",
            "limits": {},
            "closed": [],
            "environment": {"AASM_STATE_DIR": f"{PLACE}/state"},
            "program": argv[0],
            "as_init": False,
        }
        found = {**base, **self.changes, **changes, "argv": list(argv), "top": str(self.tree.top.parent / "root")}
        found["shown"] = [*base["shown"], *found.get("more_shown", [])]
        return found

    def run(
        self, *argv: str, around: Sequence[str] = (), **changes: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a program there to its end; `around` is a command in which the host is built."""
        host = json.dumps(self.host(argv, changes))
        command = [*around, sys.executable, "-I", "-S", ENTER, host]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="surrogateescape", timeout=60,
            env={"PATH": os.defpath},
        )  # fmt: skip
        assert done.returncode != NO_HOST, done.stderr
        return done

    def aasm(self, *args: str, **changes: Any) -> subprocess.CompletedProcess[str]:
        """Run `aasm ARGS` there."""
        return self.run(*AASM, *args, **changes)

    def files(self) -> Dict[str, bytes]:
        """Return every file of the places, by its name below PLACE; of one that is only to be written, its name."""
        found = [path for path in self.place.rglob("*") if path.is_file()]
        readable = {path: path.stat().st_mode & 0o400 for path in found}  # root could read them all
        return {path.relative_to(self.place).as_posix(): path.read_bytes() if readable[path] else b"" for path in found}

    def ledger(self) -> List[str]:
        """Return the events of the ledger, oldest first."""
        lines = self.files().get("state/ledger.jsonl", b"").splitlines()
        return [json.loads(line)["event"] for line in lines]

    def receipt(self) -> str:
        """Return the name of the one receipt, below PLACE."""
        found = [name for name in self.files() if name.startswith("state/execution-receipts/")]
        assert len(found) == 1, found
        return found[0]


def why_no_host(tree: Tree, place: Path) -> str:
    """Return why this user can build no such host, or the empty text."""
    probe = Restricted(tree, place)
    host = json.dumps(probe.host([PYTHON, "-I", "-S", "-c", ""], {}))
    done = subprocess.run([sys.executable, "-I", "-S", ENTER, host], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, NO_HOST), done.stderr
    return done.stderr.strip() if done.returncode else ""


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Tree:
    """The files of the host, made once; where CI states that users can be changed, there must be such hosts."""
    expected = "AASM_EXPECT_UNPRIVILEGED"  # as an option, or in the environment
    made = make_tree(tmp_path_factory.mktemp("host") / "tree")
    why = why_no_host(made, tmp_path_factory.mktemp("place"))
    if why and "1" not in (request.config.getoption(expected), os.environ.get(expected)):
        pytest.skip(why)
    assert not why
    return made


@pytest.fixture
def bare(tree: Tree, tmp_path: Path) -> Restricted:
    """The barest host on which a boundary is built, with the places of one test."""
    return Restricted(tree, tmp_path)
