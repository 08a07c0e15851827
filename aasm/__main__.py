# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m aasm`, and `python3 -I PATH/TO/aasm` from any directory without installing anything.

Before anything is imported the working directory is taken off the import path: it may hold an `argparse.py`.
"""

import sys  # built in, so nothing can stand in front of it


def _clean_path() -> bool:
    """Mend sys.path; return whether the interpreter had put the working directory on it."""
    first = sys.path.pop(0) if sys.path else ""
    if not __package__:  # a directory was run: it is the package itself, and its parent is what we import from
        import os

        sys.path.insert(0, os.path.dirname(os.path.abspath(first)))
        return False
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):  # -I or -P: that entry is none of ours
        sys.path.insert(0, first)
        return False
    return True


if __name__ == "__main__":
    imports_cwd = _clean_path()
    if __package__:
        from .cli import main
    else:
        main = __import__(f"{__file__.replace(chr(92), '/').split('/')[-2]}.cli", fromlist=["main"]).main
    raise SystemExit(main(sys.argv[1:], imports_cwd))
