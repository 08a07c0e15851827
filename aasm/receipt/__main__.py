# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m aasm.receipt verify FILE...`: the verifier alone, for a host that has nothing else of aasm.

Imports nothing but `sys` before the working directory, which `-m` puts first, is off the search path (and therefore
not even `__future__`, which is a module like any other).
"""

import sys

if sys.version_info < (3, 9):
    sys.stderr.write("error: this is Python %d.%d; start it with Python 3.9 or a later one\n" % sys.version_info[:2])
    raise SystemExit(2)

_PROG = f"python -m {__package__}"  # a vendored copy may have another name
_USAGE = f"usage: {_PROG} verify [--json] RECEIPT [RECEIPT ...]"


def main(args: list[str]) -> int:
    """Run the one subcommand that this package has, and return its exit code."""
    try:
        from .verify import complain, main as verify

        if args[:1] == ["verify"]:
            return verify(args[1:], " ".join((_PROG, "verify")))
        if args in (["--help"], ["-h"]):
            print(_USAGE)
            return 0
        complain(f"the only subcommand here is `verify`; {_USAGE}")
    except Exception as problem:  # noqa: BLE001 - what this Python lacks, or a defect: one line, and no verdict
        _give_up(problem)
    return 2


def _give_up(problem: Exception) -> None:
    try:
        from ..errors import unforeseen

        text = str(unforeseen(problem))
    except Exception:  # noqa: BLE001 - there is nothing of ours to say it with
        text = f"{type(problem).__name__}: {problem}".replace("\n", " ")
    if sys.stderr is not None:
        sys.stderr.write(f"error: {text}\n")


if __name__ == "__main__":
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
