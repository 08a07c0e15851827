# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What tools/tree_pythons.py runs under every Python of the host: imports the package and says from where it all came.

Run as `PYTHON -I -S -B tree_child.py ROOT LAUNCHER`, with the modules and the files to compile on standard input, one
a line and an empty line between the two lists; with files it also tries the modules in the other order. Prints one JSON
object. It imports nothing but `sys` before it looks, so that what the launcher loads is seen; it must not write, and
must run under each Python from 3.9 on.
"""

import sys

BARE = set(sys.modules)
FOR_A_PERSON = "tools/tree_child.py is a part of tools/check_tree.py; run that instead"


def loaded() -> "dict[str, list[str]]":
    """Return kind and place of every module that was loaded: builtin, frozen, or the path that it came from."""
    found = {}
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        path = getattr(module, "__file__", None) or ""
        origin = getattr(spec, "origin", None) or ""
        # a frozen module may have a path, which nobody has read
        kind = origin if origin in ("built-in", "frozen") else "file"
        found[name] = [kind, path]
    return found


def import_all(*orders: "list[str]") -> "list[list[str]]":
    """Import the names in each of the orders, each time anew; return the names that failed, with the reason."""
    import importlib

    failed = []
    for names in orders:
        for name in [name for name in sys.modules if name.split(".")[0] == names[0].split(".")[0]]:
            del sys.modules[name]
        for name in names:
            try:
                importlib.import_module(name)
            except BaseException as problem:
                failed.append([name, f"{type(problem).__name__}: {problem}"])
    return failed


def compile_all(root: str, files: "list[str]") -> "list[list[str]]":
    """Compile `files` and return those that failed, with line and reason."""
    failed = []
    for name in files:
        try:
            with open(f"{root}/{name}", "rb") as file:
                compile(file.read(), name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, Warning) as problem:
            failed.append([name, str(getattr(problem, "lineno", None) or 1), f"{type(problem).__name__}: {problem}"])
    return failed


def standard_names() -> "list[str]":
    """Return the names of the standard library's modules: as Python lists them, or, before 3.10, as they lie there."""
    listed = getattr(sys, "stdlib_module_names", None)
    return sorted(listed or set(sys.builtin_module_names).union(*map(_lying_in, standard_places())))


def standard_places() -> "list[str]":
    """Return the directories of the standard library; those of installed packages are none of them."""
    import os
    import sysconfig

    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    places += [os.path.join(place, "lib-dynload") for place in places]
    return sorted({os.path.realpath(place) for place in places if os.path.isdir(place)})


def _lying_in(folder: str) -> "set[str]":
    import os

    found = set()
    for entry in os.scandir(folder):
        is_package = entry.is_dir() and os.path.exists(os.path.join(entry.path, "__init__.py"))
        if is_package or entry.name.endswith((".py", ".so")):
            found.add(entry.name.split(".")[0])
    return found


def main() -> int:
    """Tell what there is to tell; of whatever goes wrong one line. Return the exit code."""
    try:
        if len(sys.argv) != 3 or sys.stdout is None:
            raise ValueError(FOR_A_PERSON)
        tell(*sys.argv[1:])
        sys.stdout.flush()
        return 0
    except BaseException as problem:
        kind = "" if type(problem) is ValueError else f"{type(problem).__name__}: "
        if sys.stderr is not None:
            print(f"error: {kind}{' '.join(str(problem).split())}", file=sys.stderr)
        sys.stdout = None  # else Python tries once more to get it out, and complains in its own words
        return 2


def tell(root: str, launcher: str) -> None:
    """Print the answer about the tree at `root`, whose launcher is the module of that name."""
    sys.path.insert(0, root)
    __import__(launcher)
    first = sorted(set(sys.modules) - BARE)
    modules, files = (part.split("\n") if part else [] for part in sys.stdin.read().rstrip("\n").partition("\n\n")[::2])
    if not modules:
        raise ValueError(FOR_A_PERSON)
    failed = import_all(modules, modules[::-1]) if files else import_all(modules)
    modules_then = loaded()
    del sys.path[0]
    import json

    told = {
        "launcher": first, "loaded": modules_then, "failed": failed, "broken": compile_all(root, files),
        "standard": standard_names(), "places": standard_places(),
    }  # fmt: skip
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
