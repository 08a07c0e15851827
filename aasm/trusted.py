# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one run may write, the next must not trust: everything that a run and the next one rely on, listed once.

Lists only; aasm/policy/grants.py holds the grants to it.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from typing import Callable, NamedTuple

from . import origin
from .model.request import Request
from .policy import locate
from .policy.grants import Trusted
from .supervise import spawn
from .surroundings import Surroundings


def ours(around: Surroundings, policy_files: tuple[str, ...]) -> list[Trusted]:
    """Return what is ours alone: our records and code, and the policies in use."""
    code = origin.running()
    found = [
        Trusted(around.state, "the ledger and the receipts", True),
        Trusted(code.place, "the code of aasm itself", True),
        *(Trusted(path, "what says where this copy of aasm is from", True) for path in origin.told_by(code)),
    ]
    return found + [Trusted(os.path.join(around.cwd, path), "the policy in use", True) for path in policy_files]


def trusted(request: Request, around: Surroundings, policy_files: tuple[str, ...]) -> list[Trusted]:
    """Return what this run and the next one rely on; there are no `policy_files` for a policy on the command line."""
    what = "a place where policies are looked for"
    found = [*ours(around, policy_files), *(Trusted(folder, what, True) for folder in locate.folders(around.home))]
    found += _python(around)
    found += [Trusted(path, "the command that was started", True) for path in _script(around.cwd)]
    found += [Trusted(path, "code that this command has loaded", True) for path in _links_to_modules()]
    found += _found_by_the_loader(around)
    found += [Trusted(path, what, inside) for path, what, inside in _TRUSTED_OF_THE_HOST]
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


def _script(cwd: str) -> list[str]:
    """Return the script that was started, and the program that its first line names: the kernel starts that one."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not path or not (cwd or path.startswith("/")):  # without one there is no script
        return []
    path = _file_of(os.path.join(cwd, path))
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # it may be a pipe that nobody writes to
    except OSError:  # it is gone
        return [path]
    try:
        line = os.read(file, 256).partition(b"\n")[0].partition(b"\0")[0]  # as much as the kernel: linux/binfmts.h
    except OSError:  # a directory, or an empty pipe
        line = b""
    finally:
        os.close(file)
    words = line[2:].split(None, 1) if line.startswith(b"#!") else []
    return [path, *(os.path.join(cwd, os.fsdecode(word)) for word in words[:1])]


def _file_of(path: str) -> str:
    """Return the path of the file that a script is in: of a zip archive that is the archive."""
    above = os.path.dirname(path)
    return above if os.path.isfile(above) else path


# --- what Python imports ----------------------------------------------------------------------------


def _python(around: Surroundings) -> list[Trusted]:
    what = "the Python installation"
    # what it calls itself too, though nothing may be there: the next run would start its launcher from there
    interpreters = [path for path in dict.fromkeys((sys.executable, spawn.interpreter())) if path]
    found = [Trusted(path, "the Python interpreter", True) for path in interpreters]
    found += [Trusted(entry, "an entry of sys.path", True) for entry in _import_path()]
    found += [Trusted(path, "modules that Python would import", True) for path in _places_for_modules(around)]
    # a virtual environment is found by this file, beside the interpreter or one directory above (site)
    beside = (os.path.join(folder, "pyvenv.cfg") for folder in (sys.prefix, *map(os.path.dirname, interpreters)))
    found += [Trusted(path, what, True) for path in beside]
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    return found + [Trusted(prefix, what, False) for prefix in prefixes]


def _import_path() -> list[str]:
    return list(dict.fromkeys(os.path.abspath(entry or ".") for entry in sys.path))


def _places_for_modules(around: Surroundings) -> list[str]:
    """Return where Python would look for code once it exists there: compiled modules, site directories."""
    found = [sys.pycache_prefix] if sys.pycache_prefix else []
    site = sys.modules.get("site")  # not with -S
    found += site.getsitepackages() if site else []
    base = around.variable("PYTHONUSERBASE") or (os.path.join(around.home, ".local") if around.home else "")
    if base and not sys.flags.no_user_site:
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        found.append(os.path.join(os.path.abspath(base), "lib", version))
    return [path for path in found if path not in sys.path]


def _links_to_modules() -> list[str]:
    """Return what is a link of the loaded modules and the directories of them: it may lead anywhere.

    Debian's sitecustomize.py is one, into /etc.
    """
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    paths = {path for path in files if isinstance(path, str)}
    folders = set(map(os.path.dirname, paths))
    compiled = {os.path.join(folder, "__pycache__") for folder in folders}
    return [path for path in sorted(paths | folders | compiled) if path.startswith("/") and os.path.islink(path)]


# --- what the loader loads: ld.so(8) ----------------------------------------------------------------


_LOADERS_OWN = ("/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
# Where loaders look by convention. A directory of links alone is among them: Debian's /lib64 leads to the loader.
_LIBRARIES = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib32", "/usr/lib32", "/libx32", "/usr/libx32")


def _found_by_the_loader(around: Surroundings) -> list[Trusted]:
    """Return the files that this process executes code from, and by what they are found."""
    what = "code that this command has loaded"
    mapped = _mapped()
    asked = [_asked_of_the_loader(path) for path in mapped]
    loaders = [each.loader for each in asked if each.loader]
    named = around.variable("LD_PRELOAD") or "", around.variable("LD_AUDIT") or ""
    before = [path for path in re.split("[ :]", ":".join(named)) if "/" in path]
    files = dict.fromkeys((*mapped, *loaders, *_LOADERS_OWN, *(os.path.join(around.cwd, path) for path in before)))
    folders = _library_folders(loaders, [folder for each in asked for folder in each.folders])
    found = [Trusted(path, what, True) for path in files if path.startswith("/")]
    remedy = "grant a narrower path, or mend LD_LIBRARY_PATH (an empty entry is the working directory)"
    what, stated = "a directory in which the loader finds libraries", _stated_folders(around)
    found += [Trusted(folder, what, False, remedy) for folder in stated]
    found += [Trusted(folder, what, False) for folder in folders]
    for folder in (*stated, *folders):
        better = os.path.join(folder, "glibc-hwcaps")  # for a kind of processor: looked into first
        found += [Trusted(better, "libraries that the loader would load", True)] if os.path.isdir(better) else []
    return found


def _mapped() -> list[str]:
    """Return the files that this process executes code from, by the names that the kernel gives: without links."""
    try:
        with open("/proc/self/maps", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:  # without /proc nothing is launched at all
        lines = []
    mapped = [line.split(None, 5)[5] for line in lines if b"x" in line.split(None, 2)[1] and b"/" in line]
    return list(map(os.fsdecode, dict.fromkeys(mapped)))


def _stated_folders(around: Surroundings) -> list[str]:
    stated = around.variable("LD_LIBRARY_PATH")
    folders = [os.path.join(around.cwd, folder) for folder in re.split("[:;]", stated)] if stated else []
    return [folder for folder in folders if folder.startswith("/")]


def _library_folders(loaders: list[str], asked: list[str]) -> list[str]:
    """Return the directories in which the loader finds libraries without being told, as they are spelled."""
    kind = getattr(sys.implementation, "_multiarch", "")
    usual = [*_LIBRARIES, *(f"{folder}/{kind}" for folder in _LIBRARIES[:2] if kind)]
    found = [*asked, *map(os.path.dirname, loaders), *_cached_folders(), *filter(os.path.isdir, usual)]
    return [folder for folder in dict.fromkeys(found) if folder.startswith("/")]


def _cached_folders(cache: str = _LOADERS_OWN[0]) -> list[str]:
    """Return the directories of the libraries that the loader's cache names."""
    try:
        with open(cache, "rb") as stream:
            return list(map(os.fsdecode, set(re.findall(rb"\0(/[^\0]+)/", stream.read()))))
    except OSError:  # a host need not have one
        return []


class _Asked(NamedTuple):
    """What a file asks its loader for: by which name it is to be found itself, and where libraries are."""

    loader: str = ""
    folders: tuple[str, ...] = ()


# elf(5), of files for this very interpreter: e_phoff, e_phentsize, e_phnum; p_type, p_offset, p_vaddr, p_filesz; d_tag
_WIDE = sys.maxsize > 1 << 32
_HEADER = struct.Struct("=32xQ14xHH" if _WIDE else "=28xI10xHH")
_SEGMENT = struct.Struct("=I4xQQ8xQ16x" if _WIDE else "=III4xI12x")
_ENTRY = struct.Struct("=QQ" if _WIDE else "=II")
_LOAD, _DYNAMIC, _INTERP = 1, 2, 3
_STRTAB, _RPATH, _RUNPATH = 5, 15, 29
_LONGEST = 65536  # bytes of what is read at once
Read = Callable[[int, int], bytes]  # how many bytes, from where


def _asked_of_the_loader(path: str) -> _Asked:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:  # gone, or not to be read: then nothing more is known of it
        return _Asked()
    try:
        return _read(lambda size, offset: os.pread(file, min(size, _LONGEST), offset), os.path.dirname(path))
    except (OSError, OverflowError, struct.error):  # no ELF file
        return _Asked()
    finally:
        os.close(file)


def _read(read: Read, origin: str) -> _Asked:
    head = read(1024, 0)
    start, size, count = _HEADER.unpack_from(head)
    end = start + size * count
    segments = list(_SEGMENT.iter_unpack(head[start:end] if end <= len(head) else read(size * count, start)))
    loader, folders = "", ""
    for kind, offset, _, length in segments:
        if kind == _INTERP:
            loader = os.fsdecode(read(length, offset).partition(b"\0")[0])
        elif kind == _DYNAMIC:
            entries = dict(_ENTRY.iter_unpack(read(length, offset)))
            for tag in entries.keys() & {_RPATH, _RUNPATH}:
                folders += ":" + _text(read, segments, entries.get(_STRTAB, 0) + entries[tag])
    spelled = re.sub(r"\$(ORIGIN\b|\{ORIGIN\})", lambda _: origin, folders)
    return _Asked(loader, tuple(filter(None, spelled.split(":"))))


def _text(read: Read, segments: list[tuple[int, ...]], address: int) -> str:
    for kind, offset, begin, length in segments:
        if kind == _LOAD and begin <= address < begin + length:
            return os.fsdecode(read(_LONGEST, address - begin + offset).partition(b"\0")[0])
    return ""
