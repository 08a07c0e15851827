# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one run may write, the next must not trust: everything that a run and the next one rely on, listed once.

Lists only; aasm/policy/grants.py holds the grants to it.
"""

from __future__ import annotations

import os
import sys

from .model.request import Request
from .policy import locate
from .policy.grants import Trusted
from .supervise import spawn
from .surroundings import Surroundings


def ours(around: Surroundings, policy_files: tuple[str, ...]) -> list[Trusted]:
    """Return what is ours alone: our records and code, and the policies in use."""
    root, package = spawn.code_root()
    found = [
        Trusted(around.state, "the ledger and the receipts", True),
        Trusted(os.path.join(root, package), "the code of aasm itself", True),
    ]
    return found + [Trusted(os.path.join(around.cwd, path), "the policy in use", True) for path in policy_files]


def trusted(request: Request, around: Surroundings, policy_files: tuple[str, ...]) -> list[Trusted]:
    """Return what this run and the next one rely on; there are no `policy_files` for a policy on the command line."""
    found = [*ours(around, policy_files), Trusted(sys.executable, "the Python interpreter", True)]
    what = "a place where policies are looked for"
    found += [Trusted(folder, what, True) for folder in locate.folders(around.home)]
    found += [Trusted(entry, "an entry of sys.path", True) for entry in _import_path()]
    found += [Trusted(path, "code that this command has loaded", True) for path in _loaded()]
    found += [Trusted(path, what, inside) for path, what, inside in _TRUSTED_OF_THE_HOST]
    found += [Trusted(path, "modules that Python would import", True) for path in _places_for_modules(around)]
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    found.append(Trusted(os.path.join(sys.prefix, "pyvenv.cfg"), "the Python installation", True))
    found += [Trusted(prefix, "the Python installation", False) for prefix in prefixes]
    if request.receipt is not None:
        found.append(Trusted(os.path.join(around.cwd, request.receipt), "the receipt (--receipt)", False))
    if request.imports_cwd:
        what = "the working directory, from which `python -m` imports"
        remedy = "start aasm as the installed script, or with -I, or with -P (Python 3.11 and later)"
        found.append(Trusted(around.cwd, what, True, remedy))
    return found


# What a program of root could write, without any capability, to have something done outside.
_TRUSTED_OF_THE_HOST = (
    ("/proc/sys", "the kernel's settings", True),
    ("/proc/sysrq-trigger", "the kernel's settings", False),
    ("/sys", "the kernel's settings", True),
    ("/dev/block", "the host's devices", False),
)


def _places_for_modules(around: Surroundings) -> list[str]:
    """Return where Python would look for code once it exists there: compiled modules, and the user's own."""
    found = [sys.pycache_prefix] if sys.pycache_prefix else []
    base = around.variable("PYTHONUSERBASE") or (os.path.join(around.home, ".local") if around.home else "")
    if base and not sys.flags.no_user_site:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        found.append(os.path.join(os.path.abspath(base), "lib", version))
    return found


def _loaded() -> list[str]:
    """Return the files that this process executes code from, and what the loader finds them by (ld.so(8))."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:  # without /proc nothing is launched at all
        lines = []
    mapped = [line.split(None, 5)[5] for line in lines if b"x" in line.split(None, 2)[1] and b"/" in line]
    return [*map(os.fsdecode, dict.fromkeys(mapped)), "/etc/ld.so.cache", "/etc/ld.so.preload"]


def _import_path() -> list[str]:
    return list(dict.fromkeys(os.path.abspath(entry or ".") for entry in sys.path))
