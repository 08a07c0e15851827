# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A file or its bytes to a document. The only place in this package that opens the policy file.

It never hangs and never reads more than the limit: only regular files are opened, without blocking. It must not know
what a policy is.
"""

from __future__ import annotations

import os
import stat

from ..errors import PolicyError, system_text
from . import text, yaml
from .node import MAX_BYTES, Document

_SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_document(data: bytes, name: str) -> Document:
    """Return the document that `data` holds; `name` (a path) is what errors call it.

    The format follows the suffix of the name (.json, .yaml, .yml, .toml). Any other name is JSON when the first
    character that is not blank is `{`, else YAML. Raises PolicyError with file:line:column.
    """
    form = _SUFFIXES.get(os.path.splitext(name)[1].lower(), "")
    source = text.decode(data, name)
    if not form:
        form = "json" if source.lstrip(" \t\n").startswith("{") else "yaml"
    if form == "yaml":
        return Document(yaml.parse(source, name), name, form)
    if form == "toml":
        from . import toml  # only here, as below

        return Document(toml.parse(source, name), name, form)
    from . import strict_json  # only here: most policies are YAML, and every launch pays for what it imports

    return Document(strict_json.parse(source, name), name, form)


def read_file(path: str) -> Document:
    """Return the document in the regular file `path` (links are followed), or raise PolicyError."""
    return read_document(contents(path), path)


def contents(path: str) -> bytes:
    """Return what the regular file `path` holds, at most one byte beyond the limit, or raise PolicyError."""
    try:
        _only_regular(path, os.stat(path).st_mode)  # before the open, which can have effects on a device
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            _only_regular(path, os.fstat(descriptor).st_mode)
            return _read(descriptor)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise PolicyError(f"the policy cannot be read: {system_text(problem)}", path, _remedy(problem)) from None
    except ValueError:  # a NUL, or a character that no file name can hold
        raise PolicyError("no file can have this name", path, "name a policy file") from None


def _only_regular(path: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((words for test, words in _KINDS if test(mode)), "not a regular file")
        raise PolicyError(f"the policy is {kind}", path, "name a regular file")


def _read(descriptor: int) -> bytes:
    """Return what the file holds, at most one byte more than the limit."""
    parts = []
    left = MAX_BYTES + 1
    while left:
        part = os.read(descriptor, left)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _remedy(problem: OSError) -> str:
    if isinstance(problem, FileNotFoundError):
        return "name a file that exists"
    if isinstance(problem, PermissionError):
        return "make it readable for the user who launches"
    return "name a policy file that can be read"
