# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""How every command reads its options: argparse, with our errors, our output and one width. Knows no option."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from ..errors import UsageError
from . import say


class Parser(argparse.ArgumentParser):
    """argparse with whole option names only, and errors that go the way of all others."""

    def _print_message(self, message: str, file: object = None) -> None:
        """Print help the way of all other output, so that a full disk is one error line."""
        say(message.rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing and leaving."""
        text = message.replace("ignored explicit argument", "takes no value, and was given")
        text = re.sub(r"\\udc([89a-f][0-9a-f])", r"\\x\1", text)  # how it shows a byte that is no UTF-8
        raise UsageError(text, remedy=f"see `{self.prog} --help`")


class _Formatter(argparse.HelpFormatter):
    """One width everywhere; without a width argparse imports shutil, and with it five compression modules."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=110, max_help_position=34)


class Once(argparse.Action):
    """Stores a value, and refuses an option that stands twice: which of the two was meant?"""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        given: set[str] = getattr(namespace, "_given", set())
        if self.dest in given:
            parser.error(f"{option}: given more than once")
        namespace._given = given | {self.dest}
        setattr(namespace, self.dest, values)
