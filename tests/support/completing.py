# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Shells that complete: what each offers behind a line, and what its user would have run by pressing Tab and Enter.

bash and zsh sit at a pseudo terminal, with their own line editors; fish says by itself what it would offer. `aasm` is a
program that writes down its arguments.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Dict, List, Mapping, Sequence, Set, Tuple

from support.terminal import LOGIN

OURS = {"bash": "aasm.bash", "zsh": "_aasm", "fish": "aasm.fish"}
PATIENCE = 20.0  # seconds
TO_THE_START = "\x15"  # takes the line away, in all three
_STUB = '#!/bin/sh\nprintf "%s\\0" "$@" >"$TOLD.new"\nmv "$TOLD.new" "$TOLD"\n'

# What bash and zsh read before the first line. What is offered goes to the file $TOLD, a NUL behind each word; in
# bash when the outermost `aasm` is done, and without the names of files, which readline finds itself.
_BASH = """
PS1= ; set +o history
bind 'set enable-bracketed-paste off'; bind 'set completion-query-items 0'; bind 'set page-completions off'
told() { printf '%s\\0' "$@" >"$TOLD.new"; mv "$TOLD.new" "$TOLD"; }
depth=0
watched() {
    depth=$((depth + 1)); _aasm "$@"; depth=$((depth - 1))
    if ((depth == 0)); then told "${COMPREPLY[@]}"; fi
}
"""
_ZSH = """
PS1= ; LISTMAX=10000; unset HISTFILE; unsetopt beep zle_bracketed_paste 2>/dev/null
autoload -Uz compinit && compinit -u -D
bindkey '^I' tab  # what it does otherwise is to expand the word first, without asking us
told() { printf '%s\\0' "$@" >"$TOLD.new"; mv "$TOLD.new" "$TOLD" }
typeset -a offered
compadd() {
    local word
    local -a found
    for word; do
        case $word in
            (-|--) break ;;
            (-[OAD]) builtin compadd "$@"; return ;;
        esac
    done
    builtin compadd -A found "$@"
    offered+=($found)
    builtin compadd "$@"
}
tab() { offered=(); zle complete-word; told $offered; }
zle -N tab
"""


class Shell:
    """One shell, started when it is first asked. `folder` is its home and holds `bin`; it works in `files`."""

    def __init__(self, name: str, scripts: Path, folder: Path, more: str = "") -> None:
        self.name, self.script, self.folder, self.more = name, scripts / OURS[name], folder, more
        self.told = folder / "told"
        for made in (folder / "bin", folder / "files"):
            made.mkdir(exist_ok=True)
        self.program("aasm", _STUB)

    def program(self, name: str, text: str = "#!/bin/sh\n") -> None:
        """Put a program on the PATH."""
        path = self.folder / "bin" / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def environment(self) -> Dict[str, str]:
        where = {"HOME": str(self.folder), "TOLD": str(self.told), "PATH": f"{self.folder}/bin:{os.defpath}"}
        return {"TERM": "dumb", "LC_ALL": "C.UTF-8", "AASM_TRY_ME": "1", **where}

    def start(self) -> None:
        """Have the scripts read."""

    def close(self) -> None:
        """End it."""

    def offered(self, line: str) -> Set[str]:
        """Return the words that are offered behind `line`, where the cursor is; not the names of files."""
        return self.all_offered([line])[0]

    def all_offered(self, lines: Sequence[str]) -> List[Set[str]]:
        """Return the same for several lines."""
        raise AssertionError(self.name)

    def typed(self, line: str) -> Tuple[str, ...]:
        """Return the arguments that `aasm` gets when Tab and then Enter are pressed behind `line`."""
        raise AssertionError(self.name)


class AtTerminal(Shell):
    """bash or zsh."""

    OPTIONS: Mapping[str, Sequence[str]] = {"bash": ("--norc", "--noprofile", "-i"), "zsh": ("-f", "-i")}

    def start(self) -> None:
        watch = "complete -F watched aasm" if self.name == "bash" else "compdef _aasm aasm"
        ours = f". {shlex.quote(str(self.script))}"
        if self.name == "zsh":  # it is loaded when it is first needed, as from a directory of $fpath
            ours = f"fpath=({shlex.quote(str(self.script.parent))} $fpath); autoload -Uz _aasm"
        setup = "\n".join([{"bash": _BASH, "zsh": _ZSH}[self.name], self.more, ours, watch, "told ready", ""])
        (self.folder / "setup").write_text(setup, encoding="utf-8")
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 200, 0, 0))  # or it asks before it shows a list
        self.screen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LOGIN, str(shutil.which(self.name)), *self.OPTIONS[self.name]],
            stdin=slave, stdout=slave, stderr=slave, cwd=self.folder / "files", env=self.environment(),
        )  # fmt: skip
        os.close(slave)
        self.type(f". {shlex.quote(str(self.folder / 'setup'))}\n")
        assert self.answer() == ("ready",)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        os.close(self.master)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def answer(self) -> Tuple[str, ...]:
        """Wait for what is told, reading the screen meanwhile, or the shell would stop when that is full."""
        deadline = time.monotonic() + PATIENCE
        while not self.told.exists():
            assert time.monotonic() < deadline, f"{self.name} says nothing: {self.screen[-2000:]!r}"
            if select.select([self.master], [], [], 0.002)[0]:
                self.screen += os.read(self.master, 65536).decode("utf-8", "replace")
        text = self.told.read_bytes().decode("utf-8", "surrogateescape")
        self.told.unlink()
        return tuple(text.split("\0")[:-1])

    def all_offered(self, lines: Sequence[str]) -> List[Set[str]]:
        return [self._offered(line) for line in lines]

    def _offered(self, line: str) -> Set[str]:
        self.type(f"{TO_THE_START}{line}\t")
        return set(self.answer()) - {""}

    def typed(self, line: str) -> Tuple[str, ...]:
        self._offered(line)
        self.type("\n")
        return self.answer()


class Fish(Shell):
    """fish, which has a command that says what it would offer."""

    def _run(self, code: str, *arguments: str) -> str:
        command = ["fish", "-c", f"{self.more}\nsource $argv[1]\nset -e argv[1]\n{code}", str(self.script), *arguments]
        done = subprocess.run(
            command, cwd=self.folder / "files", env=self.environment(), capture_output=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
        assert done.stderr == b"", done.stderr
        return done.stdout.decode("utf-8", "surrogateescape")

    def all_offered(self, lines: Sequence[str]) -> List[Set[str]]:
        code = "for line in $argv; complete --do-complete=$line; printf '\\0'; end"
        parts = self._run(code, *lines).split("\0")[:-1]
        return [{row.partition("\t")[0] for row in part.splitlines()} for part in parts]

    def typed(self, line: str) -> Tuple[str, ...]:
        rows = self._run("complete --escape --do-complete=$argv[1]", line).splitlines()
        (only,) = (row.partition("\t")[0] for row in rows)
        self._run(f"{line.rpartition(' ')[0]} {only}")
        text = self.told.read_bytes().decode("utf-8", "surrogateescape")
        self.told.unlink()
        return tuple(text.split("\0")[:-1])


def shell(name: str, scripts: Path, folder: Path, more: str = "") -> Shell:
    """Return the shell with this name, and what it is to read first."""
    return (Fish if name == "fish" else AtTerminal)(name, scripts, folder, more)


def words(offered: Set[str]) -> List[str]:
    """Return what is offered as a list, without the sign that ends the options and what some shells leave out."""
    return sorted(offered - {"--", "-h"})
