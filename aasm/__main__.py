# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m aasm`, and `python3 -I PATH/TO/aasm` from any directory without installing anything.

Before anything is imported the working directory is taken off the import path: it may hold an `argparse.py`.
"""

import sys  # built in, so nothing can stand in front of it

if sys.version_info < (3, 9):
    sys.stderr.write("error: this is Python %d.%d; start it with Python 3.9 or a later one\n" % sys.version_info[:2])
    raise SystemExit(2)


def _clean_path() -> bool:
    """Take the entry that the interpreter added off sys.path; return whether it was the working directory."""
    if __package__ and (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        return False  # -I or -P: there is none
    if sys.path:
        del sys.path[0]
    return bool(__package__)


def _adopted(directory: str) -> str:
    """Import the package in `directory` and return its name; it finds its own modules from then on.

    Its parent is on the path for this one import only: a `json` beside the package must not stand in for json.
    """
    import os

    parent, name = os.path.split(os.path.abspath(directory))
    sys.path.insert(0, parent)
    __import__(name)
    del sys.path[0]
    return name


def _complain(problem: Exception) -> None:
    text = f"{type(problem).__name__}: {problem}".replace("\n", " ")
    remedy = "copy the whole package, or use a Python with its whole standard library and more memory"
    if sys.stderr:
        sys.stderr.write(f"error: {sys.executable or 'python'}: the command cannot be loaded: {text}; {remedy}\n")


if __name__ == "__main__":
    import _signal  # type: ignore[import-not-found]  # built in as well

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # an interrupt from here on ends us without a traceback
    directory = sys.path[0] if sys.path else ""
    imports_cwd = _clean_path()
    try:
        package = __package__ or _adopted(directory)  # without a package, the directory itself was run
        main = __import__(f"{package}.cli", fromlist=["main"]).main
    except Exception as problem:  # noqa: BLE001 - there is nothing of ours yet that could say it
        _complain(problem)
        raise SystemExit(125) from None
    raise SystemExit(main(sys.argv[1:], imports_cwd))
