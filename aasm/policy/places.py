# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Path entries of a policy, their placeholders, and what a placeholder stands for on this host.

Entries are kept as written: nothing is normalised or pruned here, and no file is opened.
"""

from __future__ import annotations

import os
from typing import Callable, List, NamedTuple, NoReturn, Optional, Tuple

from ..errors import InternalError, PolicyError, UsageError
from .node import shown
from .values import Entry, Listing
from .walk import walk_as_far_as_possible

WORKDIR, HOME, SYSTEM = "workdir", "home", "system"
_PLACEHOLDERS = (WORKDIR, HOME, SYSTEM)
_SPELLED = ", ".join("${" + name + "}" for name in _PLACEHOLDERS)

# What `${system}` stands for: read and execute, never write. A last `*` takes every name that begins so.
# Left out on purpose: /proc (granted only by policy), /opt (only what a policy names), /etc as a whole (as root it
# would open the password hashes), machine-id (it tracks), the private keys below /etc/ssl and /etc/pki.
_SYSTEM = (
    # programs and libraries; on a merged system all but the first are links
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    # the dynamic loader
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    # names: of hosts, services, users
    "/etc/nsswitch.conf",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/passwd",
    "/etc/group",
    # time and the name of the system
    "/etc/localtime",
    "/etc/timezone",
    "/etc/os-release",
    "/etc/lsb-release",
    "/etc/debian_version",  # pip ends with a traceback when it exists and cannot be read
    "/etc/redhat-release",
    "/etc/alpine-release",
    # certificates that are trusted, and the settings of the TLS libraries
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/openssl.cnf",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    # settings of shells and terminals
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/inputrc",
    "/etc/terminfo",
    # settings that everyday programs refuse to start without when they exist and cannot be read
    "/etc/gitconfig",
    "/etc/npmrc",
    "/etc/pip.conf",
    "/etc/alternatives",
    "/etc/java-*",
    "/etc/manpath.config",
    "/etc/magic",
    "/etc/magic.mime",
    "/etc/mime.types",
    "/etc/xdg",
)

_LONGEST = 4095  # linux/limits.h: PATH_MAX without its NUL

Fail = Callable[[str, str], NoReturn]


class PathValue(NamedTuple):
    """What a path entry says. Without a placeholder `rest` is the absolute path itself."""

    placeholder: Optional[str]
    rest: str


class Placed(NamedTuple):
    """A path entry on this host: the absolute path, and the place that it leads to when it was asked for."""

    path: str
    real: str


class Places(NamedTuple):
    """What the placeholders stand for. `home` is empty where no home is known; the other paths are absolute."""

    workdir: str
    home: str
    system: Tuple[str, ...]


def host_places(workdir: str, home: str) -> Places:
    """Return the places of this host for a launch in `workdir` (absolute). A `home` that is not absolute is none."""
    if not workdir.startswith("/"):
        raise InternalError(f"the working directory {shown(workdir)} is not absolute", "policy.places")
    return Places(workdir, home if home.startswith("/") else "", system_paths())


def system_paths() -> Tuple[str, ...]:
    """Return what `${system}` stands for on this host: of the table, what exists (a link whose target does)."""
    return tuple(path for pattern in _SYSTEM for path in _named(pattern) if os.path.exists(path))


def _named(pattern: str) -> List[str]:
    if not pattern.endswith("*"):
        return [pattern]
    folder, start = os.path.split(pattern[:-1])
    try:
        names = os.listdir(folder)
    except OSError:  # a folder that cannot be listed can hold nothing that a program may be given
        return []
    return [os.path.join(folder, name) for name in sorted(names) if name.startswith(start)]


def path_value(text: str, where: str) -> PathValue:
    """Return what `text` says as a policy states it, or raise PolicyError at its place."""

    def fail(what: str, remedy: str) -> NoReturn:
        raise PolicyError(what, where, remedy)

    placeholder, rest = _split(text)
    if "$" in rest:
        fail(f"a $ in the path {shown(text)}", f"only {_SPELLED} are replaced, and only at the start of an entry")
    if placeholder == SYSTEM and rest:
        fail(f"text behind ${{system}} in {shown(text)}", "write ${system} alone, and name further paths as entries")
    if placeholder and rest and not rest.startswith("/"):
        fail(f"text behind ${{{placeholder}}} that does not begin with /", f"write ${{{placeholder}}}/...")
    if text.startswith("~"):
        fail(f"~ is not replaced in the path {shown(text)}", "write ${home}/...")
    if rest and not rest.startswith("/"):
        fail(f"the path {shown(text)} is relative", "write it from / or from ${workdir}/")
    _check(text, fail)
    return PathValue(placeholder, rest)


def _split(text: str) -> Tuple[Optional[str], str]:
    """Return the placeholder at the start of `text`, None without one, and the rest."""
    for name in _PLACEHOLDERS:
        spelled = "${" + name + "}"
        if text.startswith(spelled):
            return name, text[len(spelled) :]
    return None, text


def command_line_entry(path: str, option: str) -> Entry:
    """Return the entry for an absolute path that `option` of the command line names; a `$` in it is a `$`."""

    def fail(what: str, remedy: str) -> NoReturn:
        raise UsageError(what, option, remedy)

    if path and not path.startswith("/"):
        fail(f"the path {shown(path)} is relative", "name it from /")
    _check(path, fail)
    return Entry(path, PathValue(None, path), (option,))


def system_entry(option: str) -> Entry:
    """Return the entry `${system}` that `option` of the command line stands for."""
    return Entry("${system}", PathValue(SYSTEM, ""), (option,))


def _check(path: str, fail: Fail) -> None:
    """Refuse what no path entry may be, wherever it is stated."""
    if not path:
        fail("an empty path", "name an absolute path")
    if len(os.fsencode(path)) > _LONGEST:
        fail(f"the path {shown(path)} is longer than {_LONGEST} bytes", "no call of the kernel takes it: shorten it")
    if "\0" in path:
        fail(f"a NUL in the path {shown(path)}", "no path can hold one: take it out")
    if ".." in path.split("/"):
        fail(f"the path {shown(path)} contains ..", "write the path that is meant, without ..")


def place(listing: Listing, places: Places, follow: bool) -> Listing:
    """Return the list with an entry for each path that it stands for here; a missing optional one is left out.

    With `follow` each path is followed to where it leads, so that lists can be compared.
    """
    made = (
        entry._replace(value=Placed(path, walk_as_far_as_possible(path).path if follow else path))
        for entry in listing.entries
        for path in expand(entry, places)
        if not (entry.optional and _missing(path))
    )
    return listing._replace(entries=tuple(made))


def _missing(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # whatever is there, it is not missing
        return False
    return False


def expand(entry: Entry, places: Places) -> Tuple[str, ...]:
    """Return the absolute paths that `entry` stands for: several for `${system}`, else one. Pure.

    Raises PolicyError when the entry begins with `${home}` and no home is known.
    """
    placeholder, rest = entry.value
    if placeholder is None:
        return (rest,)
    if placeholder == SYSTEM:
        return places.system
    base = places.workdir if placeholder == WORKDIR else places.home
    if not base:
        raise PolicyError("no home directory is known for ${home}", entry.where, "set HOME, or write the path itself")
    return (base.rstrip("/") + rest or "/",)
