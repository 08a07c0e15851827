# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Trees of files by lot, from one seeded generator: what `explain` is held against the kernel with."""

from __future__ import annotations

import contextlib
import os
import platform
import random
import shutil
import socket
import struct
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

NAMES = (
    "a", "b", "ws", "ws-evil", "ws.d", "a b", "ä-ö", "data", "data-1", "x", ".hid", 'q"\\', "line\nbreak", "b\udcff",
)  # fmt: skip
FILE_MODES = (*(0o755,) * 8, 0o644, 0o644, 0o444, 0o555, 0o711, 0o600, 0o000, 0o111, 0o222)
DIRECTORY_MODES = (0o755,) * 8 + (0o555, 0o711, 0o333, 0o000, 0o700)

# A whole program that ends with 0: machine number (elf.h) and code, of exit(2) with no library and no interpreter.
_EXIT = {
    "x86_64": (62, "b83c00000031ff0f05"),
    "aarch64": (183, "000080d2a80b80d2010000d4"),
    "riscv64": (243, "130500009308d00573000000"),
}


def static_program() -> bytes:
    """Return the bytes of a static program for this machine that only ends."""
    machine, code = _EXIT[platform.machine()]
    base, size = 0x400000, 64 + 56
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, machine, 1, base + size, 64, 0, 0, 64, 56, 1,
                         0, 0, 0)  # fmt: skip
    whole = size + len(code) // 2
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, whole, whole, 0x1000) + bytes.fromhex(code)


class Owner(NamedTuple):
    """Who owns what is made; None leaves it to whoever runs the tests, who then cannot give anything to others."""

    mine: Optional[Tuple[int, int]]
    other: Optional[Tuple[int, int]]


class Tree:
    """One tree below `top`: `ws` is where the program starts. Restricted modes come last, by `lock`."""

    def __init__(self, rng: random.Random, top: Path, outside: Path, owner: Owner) -> None:
        self.rng, self.top, self.outside, self.owner = rng, str(top), str(outside), owner
        self.directories: List[str] = []
        self.files: List[str] = []
        self.links: List[str] = []
        self.special: List[str] = []  # fifos and sockets
        self.modes: Dict[str, int] = {}
        self.locked: List[str] = []
        self._count = 0
        self._directory(self.top, 0o755)
        for name in ("ws", "ws-evil", "out"):
            path = os.path.join(self.top, name)
            self._directory(path, 0o755)
            self._fill(path, 2)
        self._deep(os.path.join(self.top, "ws"))
        self._hard_links()
        self._symbolic_links()
        self._special()
        self.lock()

    def fresh(self, stem: str = "new") -> str:
        """Return a name that nothing in the tree has and no other question uses."""
        self._count += 1
        return f"{stem}-{os.path.basename(self.top)}-{self._count}"

    def _own(self, path: str) -> None:
        chosen = self.owner.other if self.rng.random() < 0.12 else self.owner.mine
        if chosen is not None:
            os.chown(path, *chosen, follow_symlinks=False)

    def _directory(self, path: str, mode: Optional[int] = None) -> str:
        os.mkdir(path)
        self._own(path)
        if mode is not None and self.owner.mine is not None:
            os.chown(path, *self.owner.mine)
        self.modes[path] = self.rng.choice(DIRECTORY_MODES) if mode is None else mode
        self.directories.append(path)
        return path

    def file(self, path: str) -> str:
        """Make a file of some kind: a program, a script or text."""
        kind = self.rng.randrange(6)
        if kind == 0:
            shutil.copyfile("/bin/true", path)
        else:
            Path(path).write_bytes((static_program(), b"#!/bin/true\n", b"text\n")[kind % 3])
        self._own(path)
        self.modes[path] = self.rng.choice(FILE_MODES)
        self.files.append(path)
        return path

    def _fill(self, path: str, depth: int) -> None:
        for name in self.rng.sample(NAMES, self.rng.randrange(3, 6)):
            below = os.path.join(path, name)
            if depth and self.rng.random() < 0.45:
                self._fill(self._directory(below), depth - 1)
            else:
                self.file(below)

    def _deep(self, path: str) -> None:
        for _ in range(6):
            path = self._directory(os.path.join(path, "deep"), 0o755)
        self.file(os.path.join(path, "bottom"))

    def _new_place(self, stem: str) -> str:
        return os.path.join(self.rng.choice(self.directories), self.fresh(stem))

    def _hard_links(self) -> None:
        for _ in range(4):
            path, source = self._new_place("hard"), self.rng.choice(self.files)
            os.link(source, path)
            self.files.append(path)

    def link(self, path: str, target: str) -> str:
        """Make a symbolic link."""
        os.symlink(target, path)
        self._own(path)
        self.links.append(path)
        return path

    def _symbolic_links(self) -> None:
        for _ in range(8):
            target = self.rng.choice((*self.directories, *self.files, *self.links))
            path = self._new_place("link")
            self.link(path, os.path.relpath(target, os.path.dirname(path)) if self.rng.random() < 0.4 else target)
        for target in (self.outside, os.path.join(self.outside, "file"), "/etc", "/etc/passwd"):
            self.link(self._new_place("away"), target)
        last = self.rng.choice(self.files)
        for _ in range(self.rng.choice((3, 39, 40))):  # path_resolution(7): forty are followed
            last = self.link(os.path.join(self.top, "out", self.fresh("chain")), last)
        loop = os.path.join(self.top, "out", "loop")
        self.link(loop, loop)

    def _special(self) -> None:
        for mode in (0o644, 0o755):
            path = self._new_place("fifo")
            os.mkfifo(path)
            self._own(path)
            self.modes[path] = mode
            self.special.append(path)
        path = os.path.join(self.top, "out", "socket")  # the name of a socket is short
        here = os.open(os.path.dirname(path), os.O_PATH)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        self.modes[path] = 0o777
        self.special.append(path)

    def lock(self) -> None:
        """Give everything its mode, what lies deepest first."""
        for path in sorted(self.modes, key=len, reverse=True):
            os.chmod(path, self.modes[path])
        self.locked = [path for path in self.directories if self.modes[path] != 0o755]

    @contextlib.contextmanager
    def unlocked(self) -> Iterator[None]:
        """Let whoever owns the tree change it for a while."""
        for path in sorted(self.locked, key=len):
            os.chmod(path, 0o755)
        try:
            yield
        finally:
            self.lock()

    def appear(self, asked: str, kind: str) -> None:
        """Put a program or a directory to a place that was missing, with the directories above it."""
        path = os.path.realpath(os.path.join(self.top, "ws", asked))
        made = []
        above = os.path.dirname(path)
        while not os.path.lexists(above):
            made.append(above)
            above = os.path.dirname(above)
        for directory in reversed(made):
            os.mkdir(directory)
        os.mkdir(path) if kind == "directory" else Path(path).write_bytes(static_program())
        for item in (*made, path):
            os.chmod(item, 0o755)
            if self.owner.mine is not None:
                os.chown(item, *self.owner.mine)
