# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy new`: a starting policy for this host, printed, or written to a file that the program cannot reach."""

from __future__ import annotations

import errno
import os
from typing import List, Optional

from ..backends.native.floor import REFUSED_CALLS
from ..errors import OK, HostError, InternalError, PolicyError, UsageError, system_text
from ..policy import load, places
from ..policy.document import validate
from ..policy.grants import within_reach
from ..policy.lowering import WRITE
from ..policy.reader import read_document
from ..policy.templates import TEMPLATES, template
from ..policy.values import Policy
from . import put, say
from .parsing import Once, Parser
from .policy import Here, here, parser, request_at

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)  # of a file system that has none


def main(args: List[str]) -> int:
    """Carry out `policy new`; return 0. UsageError for a name, directory or file that cannot be taken."""
    options = _parser().parse_args(args)
    if options.list:
        if options.template or options.workdir or options.output:
            raise UsageError("goes with no other option", "--list")
        say("\n".join(f"{name:<8}  {summary}" for name, summary in TEMPLATES.items()))
        return OK
    if options.template is None:
        raise UsageError("no template is named", "--template", "name one of those that `aasm policy new --list` shows")
    where = here(request_at((), options.workdir))
    workdir = None if options.workdir is None else _absolute(where)
    text = template(options.template, workdir, where.around.home, os.path.exists)
    policy = _validated(text)
    if options.output is None:
        put(text.encode())
        return OK
    path = _file(options.output, where)
    _out_of_reach(path, options.output, policy, where)
    _save(path, options.output, text.encode())
    return OK


def _parser() -> Parser:
    made = parser(
        "new",
        "--template NAME [--workdir DIR] [--output FILE] | --list",
        "Make a commented policy to start from. It names the paths that exist on this host.",
        "Exit status: 0, 2 for a wrong command line, 125 when the file cannot be written.",
    )
    made.add_argument("--template", metavar="NAME", action=Once, help="what it is for: a name that --list shows")
    made.add_argument("--list", action="store_true", help="list the templates")
    made.add_argument("--workdir", metavar="DIR", action=Once,
                      help="name DIR as the directory to work in (default: ${workdir}, wherever a launch starts)")
    made.add_argument("--output", metavar="FILE", action=Once,
                      help="write to FILE, which must not exist and which the program must not be able to write "
                      "(default: standard output)")  # fmt: skip
    return made


def _absolute(where: Here) -> str:
    """Return the directory as it was named, absolute; one that was named with `..` is the place that it leads to."""
    parts = where.workdir.split("/")
    return where.real if ".." in parts else "/" + "/".join(part for part in parts if part not in ("", "."))


def _validated(text: str) -> Policy:
    try:
        return validate(read_document(text.encode(), "template"), REFUSED_CALLS)
    except PolicyError as problem:
        raise InternalError(f"a template is not valid: {problem}", "", "this is a defect of aasm: report it") from None


# --- the file ---------------------------------------------------------------------------------------


def _file(named: str, where: Here) -> str:
    if os.path.basename(named) in ("", ".", ".."):
        raise UsageError(f"{named or 'an empty text'} names no file", "--output", "name a file that does not exist yet")
    if named.lower().endswith((".json", ".toml")):
        raise UsageError(f"{named} would be read as another format than YAML", "--output", "let it end with .yaml")
    path = os.path.join(where.around.cwd, named)
    if os.path.lexists(path):
        raise _exists(named)
    return path


def _exists(named: str) -> UsageError:
    return UsageError(f"{named} exists already", "--output", "name another file")


def _out_of_reach(path: str, named: str, policy: Policy, where: Here) -> None:
    """Refuse a place that the policy lets the program write: a launch would refuse a policy there."""
    here_now = places.host_places(where.workdir, where.around.home)
    writable = load.placed(policy, here_now, follow=True).listing(WRITE)
    top = _top(path, [entry.value.real for entry in writable.entries] if writable is not None else [])
    if top is not None:
        what = f"{named} lies where this policy lets the program write ({top}), so no launch would start with it"
        raise UsageError(what, "--output", "write it outside of that, or name another --workdir")


def _top(path: str, writable: List[str]) -> Optional[str]:
    return next((top for top in writable if within_reach(path, [top])), None)


def _save(path: str, named: str, data: bytes) -> None:
    """Write a new file: whole, or not at all."""
    temporary = os.path.join(os.path.dirname(path), f".aasm-{os.urandom(8).hex()}")
    try:
        _write(temporary, data)
        try:
            _give_name(temporary, path)
        finally:
            _remove(temporary)
    except FileExistsError:
        raise _exists(named) from None
    except OSError as problem:
        missing = isinstance(problem, (FileNotFoundError, NotADirectoryError))
        if missing and not os.path.isdir(os.path.dirname(path)):
            raise UsageError(f"{named}: {system_text(problem)}", "--output", "create its directory first") from None
        raise HostError(system_text(problem), named, "name a place that can be written") from None


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    except OSError:
        _remove(path)
        raise
    finally:
        os.close(descriptor)


def _give_name(temporary: str, path: str) -> None:
    """Give the file its name without ever replacing another file."""
    try:
        os.link(temporary, path, follow_symlinks=False)
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):  # not at the same moment, but only where the file system has no links
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(temporary, path)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # it has its name already, or the reason is on its way
