# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`__main__.py` at the root of the zip archive: `python3 aasm.pyz`, from any directory, also with -I and -S.

Python has put the archive itself first on sys.path, by the name it was given. It is taken off again, since nothing in
there is to stand in for a module of Python; the package finds its own modules by an absolute path from then on, also
after the command has changed its directory.
"""

import sys  # built in

if sys.version_info < (3, 9):
    sys.stderr.write("error: this is Python %d.%d; start it with Python 3.9 or a later one\n" % sys.version_info[:2])
    raise SystemExit(2)

if __name__ == "__main__":
    import _signal  # type: ignore[import-not-found]  # built in as well

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # an interrupt from here on ends us without a traceback
    import os  # loaded already: the interpreter needs it to get here

    sys.path[0] = os.path.abspath(sys.path[0])
    import aasm.cli

    del sys.path[0]
    raise SystemExit(aasm.cli.main_script())
