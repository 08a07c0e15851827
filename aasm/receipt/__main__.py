# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m aasm.receipt verify FILE...`: the verifier alone, for a host that has nothing else of aasm.

Imports nothing but `sys` before the working directory, which `-m` puts first, is off the search path (and therefore
not even `__future__`, which is a module like any other).
"""

import sys

_PROG = f"python -m {__package__}"  # a vendored copy may have another name
_USAGE = f"usage: {_PROG} verify [--json] RECEIPT [RECEIPT ...]"


def main(args: list[str]) -> int:
    """Run the one subcommand that this package has, and return its exit code."""
    if args[:1] == ["verify"]:
        from .verify import main as verify

        return verify(args[1:], " ".join((_PROG, "verify")))
    if args in (["--help"], ["-h"]):
        print(_USAGE)
        return 0
    print(f"error: the only subcommand here is `verify`; {_USAGE}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
