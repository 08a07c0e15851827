# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The options of `aasm run exec`: the parser, built for this one subcommand, and the checks of single values."""

from __future__ import annotations

import argparse
import fcntl
import os

from ..errors import UsageError, short
from ..model import environment
from ..model.requirements import option
from .parsing import Once, Parser, _Formatter

ISOLATION = ("none", "auto", "process")
HOMES = ("private", "real")
REPORTS = ("auto", "always", "never")
LARGEST = 2**53 - 1  # a receipt carries the number


def parser() -> Parser:
    """Return the parser of everything before the first `--`."""
    made = Parser(
        prog="aasm run exec",
        usage="aasm run exec [OPTIONS] -- PROGRAM [ARGS...]",
        description="Launch a program inside a boundary, and leave a receipt.",
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    made._optionals.title = "options"  # Python 3.9 has another word for it
    _add_boundary(made)
    _add_ceilings(made)
    _add_program(made)
    _add_output(made)
    return made


def _add_boundary(made: Parser) -> None:
    group = made.add_argument_group("boundary")
    group.add_argument("--isolation", choices=ISOLATION, default="none", action=Once,
                       help="the boundary that is required; process and auto never fall back to none (default: none)")
    group.add_argument("--policy", metavar="PATH", action="append", default=[],
                       help="the policy, a file or a directory of them; repeat it for a cascade, of which the most "
                       "restrictive statements count; exclusive of every other place a policy is looked for")
    group.add_argument("--read", metavar="PATH", action="append", default=[],
                       help="let it read and execute PATH and what is beneath it (instead of a policy)")
    group.add_argument("--write", metavar="PATH", action="append", default=[],
                       help="let it read, execute and write PATH and what is beneath it (instead of a policy)")
    group.add_argument("--system", action="store_true",
                       help="let it read and execute the host's programs and libraries (instead of a policy)")
    group.add_argument("--isolation-backend", metavar="ID", action=Once,
                       help="for diagnosis: this backend or a refusal, whatever would be chosen")  # fmt: skip


# What each ceiling does, in the order in which it is shown; the names are the fields of ResourceLimits.
CEILINGS = {
    "max_memory_bytes": "memory of the whole tree; no backend of this build can hold it",
    "max_pids": "processes of the whole tree; no backend of this build can hold it",
    "max_open_files": "open descriptors of each process (RLIMIT_NOFILE)",
    "max_file_size_bytes": "size of a file that a process writes (RLIMIT_FSIZE)",
    "max_cpu_seconds": "processor time; no backend of this build measures it",
    "max_wall_clock_seconds": "end it after N seconds: SIGTERM, five seconds of grace, then SIGKILL",
}


def _add_ceilings(made: Parser) -> None:
    group = made.add_argument_group("ceilings", "Each is its own requirement; without a boundary none is enforced.")
    for name, text in CEILINGS.items():
        group.add_argument(option(name), metavar="N", type=ceiling, action=Once, help=text)


def _add_program(made: Parser) -> None:
    group = made.add_argument_group("program")
    group.add_argument("--workdir", metavar="DIR", action=Once, help="start the program in DIR (default: here)")
    group.add_argument("--env", metavar="NAME[=VALUE]", action="append", default=[],
                       help="pass the variable NAME on, or set it; nothing but a few harmless names passes by itself")
    group.add_argument("--home", choices=HOMES, default="private", action=Once,
                       help="HOME and XDG directories: of the run alone, or the real ones (default: private)")
    group.add_argument("--agent-id", metavar="ID", action=Once, help="who the run is attributed to (default: random)")
    group.add_argument("--team-id", metavar="ID", action=Once, help="the team of that identity")
    group.add_argument("--no-proxy", action="store_true",
                       help="accepted; this release mediates no traffic")  # fmt: skip


def _add_output(made: Parser) -> None:
    group = made.add_argument_group("output")
    group.add_argument("--dry-run", action="store_true", help="print the resolved plan and execute nothing")
    group.add_argument("--json", action="store_true", help="with --dry-run: print the plan as one JSON object")
    group.add_argument("--show-order", action="store_true",
                       help="with --dry-run: write the launcher's order to standard output instead of the plan")
    group.add_argument("--receipt", metavar="FILE", action=Once, help="write the receipt to FILE, which must not exist")
    group.add_argument("--report", choices=REPORTS, default="auto", action=Once,
                       help="standard error gets the isolation report as a block of keys; auto: on a terminal a line "
                       "instead (default: auto)")
    group.add_argument("--status-fd", metavar="N", type=descriptor, action=Once,
                       help="write one JSON line on how the run ended to the open descriptor N")  # fmt: skip


def _digits(text: str) -> bool:
    return len(text) <= 16 and text.isascii() and text.isdigit()


def ceiling(text: str) -> int:
    """Return a positive whole number for a ceiling."""
    if not (_digits(text) and 0 < int(text) <= LARGEST):
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {LARGEST}, not {text!r}")
    return int(text)


def descriptor(text: str) -> int:
    """Return an open descriptor that is not the program's own."""
    if not (_digits(text) and 2 < int(text) < 1 << 20):
        raise argparse.ArgumentTypeError(f"expected the number of an open descriptor above 2, not {text!r}")
    try:
        flags = fcntl.fcntl(int(text), fcntl.F_GETFL)
    except OSError:
        raise argparse.ArgumentTypeError(f"descriptor {text} is not open") from None
    if flags & os.O_ACCMODE == os.O_RDONLY:
        raise argparse.ArgumentTypeError(f"descriptor {text} is not open for writing")
    return int(text)


def split(args: list[str]) -> tuple[list[str], list[str]]:
    """Return what stands before the first `--` and the program behind it. UsageError when there is no program."""
    before, sign, program = args, False, []
    if "--" in args:
        at = args.index("--")
        before, sign, program = args[:at], True, args[at + 1 :]
    if not program and not {"-h", "--help"} & set(before):
        what = "no program stands behind `--`" if sign else "no `--` separates the options from the program"
        raise UsageError(what, remedy="write aasm run exec [OPTIONS] -- PROGRAM [ARGS...]")
    return before, program


def check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    inline = options.read or options.write or options.system
    if options.policy and inline:
        raise UsageError("states a policy, and so does --read, --write or --system", "--policy", "use one of the two")
    _check_backend(options)
    _check_output(options)
    for name in ("policy", "workdir", "receipt"):
        if getattr(options, name) == "" or (name == "policy" and "" in options.policy):
            raise UsageError("is empty", f"--{name}", "name a path")


def _check_backend(options: argparse.Namespace) -> None:
    chosen = options.isolation_backend
    if chosen is None:
        return
    from ..backends import IDS  # here: nobody else needs it before the launcher is started

    if chosen not in IDS:
        what = f"there is no backend `{short(chosen, 60)}`; this build has {', '.join(IDS)}"
        raise UsageError(what, "--isolation-backend", "name one of these, or leave the option out")
    if options.isolation == "none":
        what = "names a backend, and --isolation none asks for no boundary: one half would have no effect"
        raise UsageError(what, "--isolation-backend", "ask for --isolation process or auto, or leave the backend out")


def _check_output(options: argparse.Namespace) -> None:
    for name, what in (("json", "only a dry run is printed as JSON"), ("show_order", "only a dry run shows an order")):
        if getattr(options, name) and not options.dry_run:
            raise UsageError(what, f"--{name.replace('_', '-')}", "add --dry-run")
    if options.json and options.show_order:
        raise UsageError("an order is bytes, not JSON", "--show-order", "leave one of the two out")
    if options.show_order and options.isolation == "none":
        raise UsageError("without a boundary there is no order", "--show-order", "ask for --isolation process")
    if options.show_order and options.home != "real":
        remedy = "add --home real"
        raise UsageError("an order carried out by hand cannot have a private home", "--show-order", remedy)


def check_words(options: argparse.Namespace, words: list[str]) -> None:
    """Refuse a program or argument that is not UTF-8 when a boundary is asked for: reports and receipts name it."""
    for number, word in enumerate(words if options.isolation != "none" else ()):
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:
            what = f"{'argument ' + str(number) if number else 'the program'} is not UTF-8, and reports name it"
            raise UsageError(what, remedy="give it another name, or run it without a boundary") from None


def variables(items: list[str]) -> dict[bytes, bytes | None]:
    """Return the `--env` options by name; a name given twice is an error."""
    found: dict[bytes, bytes | None] = {}
    for item in items:
        name, value = environment.parse_option(item)
        if os.fsencode(name) in found:
            raise UsageError(f"{name} is given more than once", "--env", "keep one of them")
        found[os.fsencode(name)] = None if value is None else os.fsencode(value)
    return found
