# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the dynamic loader of one process opens: it looks for libraries as glibc's loader does, or musl's.

Follows ld.so(8) with glibc's elf/dl-load.c, and musl's ldso/dynlink.c.
"""

from __future__ import annotations

import os
import re
from typing import Iterable, Iterator, Mapping, NamedTuple

from ..errors import HostError
from ..model.question import NOT_KNOWN
from . import elf
from .listing import OPTIONAL, File, Listing, absolute, beginning, reading, whole

_LOADER_BYTES = 1 << 20  # of a loader; its texts are among the first
# Variables by which glibc's loader takes other files, with what their values hold then: ld.so(8), tunables of glibc.
_NOT_FOLLOWED = {"LD_AUDIT": "", "LD_HWCAP_MASK": "", "LD_ASSUME_KERNEL": "", "GLIBC_TUNABLES": "hwcap"}


class _Object(NamedTuple):
    """One loaded file. `inherited` are directories that count for what it asks for, and so on down; `own` do not."""

    path: str
    dynamic: elf.Dynamic
    origin: str
    inherited: tuple[str, ...]
    own: tuple[str, ...]
    above: _Object | None  # the next one that hands down directories


class Linker:
    """The loader of one process: looks for libraries as glibc's does, or musl's."""

    def __init__(self, listing: Listing, program: File, loader: File, cwd: str, variables: Mapping[str, str]) -> None:
        self.listing, self.program, self.loader, self.cwd, self.variables = listing, program, loader, cwd, variables
        self.kind = program.kind or elf.Kind(0, "", 0)
        self.musl = os.path.basename(loader.path).startswith("ld-musl-")
        musl = elf.Built((), (), "", "")  # it reads a list of its own
        self.built = musl if self.musl else elf.built(beginning(loader.path, _LOADER_BYTES), self.kind)
        self.levels = _usable(self.built.levels)
        self.objects: list[_Object] = []
        # What is loaded by this name; "" where that takes no reading: program, loader, and the kernel's own vdso(7).
        self.names = dict.fromkeys(("", program.loader, "linux-vdso.so.1", "linux-gate.so.1"), "")
        self.files: set[tuple[int, int]] = set()
        self.existing: dict[str, tuple[str, ...]] = {}
        self.given: tuple[str, ...] = ()  # the directories of LD_LIBRARY_PATH

    def run(self) -> None:
        """Add everything that the loader opens: breadth first, as it does it."""
        with reading(self.loader.path) as read:
            self.names[elf.dynamic_of(read, self.loader.path).name] = ""
        main = self._object(self.program.path, self.program.dynamic, os.path.realpath(self.program.path), None)
        self.given = self._given(main.origin)
        self._hear(main)
        for one in self.objects:  # grows meanwhile
            for name in one.dynamic.needed:
                self._need(name, one, f"needed by {one.path}")
            for name in one.dynamic.wanted:
                self._need(name, one, f"{OPTIONAL}wanted by {one.path}")

    def _given(self, origin: str) -> tuple[str, ...]:
        """Return the directories of LD_LIBRARY_PATH, each with a slash at its end."""
        text = self.variables.get("LD_LIBRARY_PATH", "")
        if not self.musl:
            return self._folders(text.replace(";", ":"), origin)
        parts = filter(None, re.split(r"[:\n]+", text))  # musl expands nothing here
        return tuple(f"{absolute(part, self.cwd).rstrip('/')}/" for part in parts)

    def _hear(self, main: _Object) -> None:
        """Add what is loaded before all others, and the variables of which nobody here knows what they do."""
        for name, part in _NOT_FOLLOWED.items():
            value = "" if self.musl else self.variables.get(name, "")
            if value and part in value:
                why = f"a variable that {self.loader.path} acts on"
                self.listing.add(name, "read", why, refused=f"{NOT_KNOWN}what the loader opens for it")
        separators = r"[:\s]+" if self.musl else "[: ]+"
        for name in re.split(separators, self.variables.get("LD_PRELOAD", "")):
            self._need(name, main, f"{OPTIONAL}named by LD_PRELOAD")
        if os.access(self.built.preload, os.R_OK):
            self._preload(main)

    def _preload(self, main: _Object) -> None:
        path = self.built.preload
        self.listing.add(path, "read", f"{OPTIONAL}names libraries that are loaded before all others")
        names = re.split(rb"[:\s]+", re.sub(rb"#[^\n]*", b"", whole(path))) if self.listing.may(path, "read") else []
        for name in names:
            self._need(os.fsdecode(name), main, f"{OPTIONAL}named by {path}")

    def _object(self, path: str, dynamic: elf.Dynamic, place: str, above: _Object | None) -> _Object:
        origin = os.path.dirname(place)
        rpath, runpath = dynamic.rpath if dynamic.runpath is None else "", dynamic.runpath or ""
        if self.musl:  # makes no difference between the two
            rpath, runpath = dynamic.rpath if dynamic.runpath is None else dynamic.runpath, ""
        made = _Object(path, dynamic, origin, self._folders(rpath, origin), self._folders(runpath, origin), above)
        self.objects.append(made)
        file = "" if path == self.program.path else path
        for name in () if self.musl else (path, dynamic.name):  # musl knows a library by what it looked for
            self.names.setdefault(name, file)
        return made

    def _need(self, name: str, by: _Object, why: str) -> None:
        """Look for one library, and add it."""
        self.listing.spend(self.program.path)
        name = name if self.musl else self._expand(name, by.origin)
        if self.musl and re.match(r"lib(c|pthread|rt|m|dl|util|xnet)\.", name):
            return  # the loader itself
        if name in self.names:
            if self.names[name]:
                self.listing.add(self.names[name], "read", why)
            return
        refused: list[str] = []
        if self._search(name, by, why, refused):
            return
        if refused and why.startswith(OPTIONAL):
            self.listing.add(refused[0], "read", why)  # the loader goes on without it, and without what it asks for
        elif not self._take(name, refused, by, why):
            path = absolute(name, self.cwd) if "/" in name else name
            self.listing.add(path, "read", why, "the loader finds it nowhere")

    def _search(self, name: str, by: _Object, why: str, refused: list[str]) -> bool:
        """Take the first place where the loader may open `name`; those that it may not open are put into `refused`.

        Both loaders go on to the next place after EACCES: open_path() of glibc, path_open() of musl.
        """
        try:
            return self._take(name, self._permitted(name, by, refused), by, why)
        except HostError:
            if not why.startswith(OPTIONAL):
                raise
        return False

    def _permitted(self, name: str, by: _Object, refused: list[str]) -> Iterator[str]:
        for place in self._places(name, by):
            self.listing.spend(self.program.path)
            if _status(place) is None:
                continue
            if os.access(place, os.R_OK) and self.listing.may(place, "read"):
                yield place
            else:
                refused.append(place)

    def _take(self, name: str, places: Iterable[str], by: _Object, why: str) -> bool:
        """Add the first library that the loader would take, and keep it under `name`."""
        for place in places:
            if self._load(place, by, why):
                self.names[name] = place
                return True
        return False

    def _load(self, place: str, by: _Object, why: str) -> bool:
        """Add the library at `place`, when the loader would take it."""
        found = _status(place)
        if found is None:
            return False
        if not os.access(place, os.R_OK):  # what it asks for is not known
            self.listing.add(place, "read", why)
            return True
        self.listing.spend(self.program.path, 20)
        with reading(place) as read:
            kind = elf.kind_of(read(0, elf.HEAD))
            if kind is None or kind != self.kind and self.musl:
                raise HostError("is no library that the loader takes, and it looks no further", place, "remove it")
            if kind != self.kind:
                return False
            dynamic = elf.dynamic_of(read, place)
        self.listing.add(place, "read", why)
        if (found.st_dev, found.st_ino) not in self.files:
            self.files.add((found.st_dev, found.st_ino))
            self.listing.spend(self.program.path, len(dynamic.needed))
            self._object(place, dynamic, place, by if by.inherited else by.above)
        return True

    def _places(self, name: str, by: _Object) -> Iterator[str]:
        """Yield where the loader looks for `name`, in its order."""
        if "/" in name:
            yield absolute(name, self.cwd)
            return
        yield from (folder + name for folder in (self.given if self.musl else ()))
        one: _Object | None = by if self.musl or by.dynamic.runpath is None else None
        while one:
            yield from (folder + name for folder in one.inherited)
            one = one.above
        yield from (folder + name for folder in (*(() if self.musl else self.given), *by.own))
        if self.built.cache:
            yield from self._cached(name, by)
        if by.dynamic.defaults or self.musl:
            defaults = self._musl_defaults() if self.musl else ":".join(self.built.defaults)
            yield from (folder + name for folder in self._folders(defaults, ""))

    def _musl_defaults(self) -> str:
        """Return the directories of a musl loader: those of its list, else its own."""
        prefix = os.path.dirname(os.path.dirname(self.loader.path)).rstrip("/")
        architecture = os.path.basename(self.loader.path)[len("ld-musl-") :].partition(".")[0]
        path = f"{prefix}/etc/ld-musl-{architecture}.path"
        if not os.path.exists(path):
            return "/lib:/usr/local/lib:/usr/lib"
        self.listing.add(path, "read", f"the list of library directories of {self.loader.path}")
        return ":".join(os.fsdecode(folder) for folder in re.split(rb"[:\n]+", whole(path)) if folder)

    def _cached(self, name: str, by: _Object) -> list[str]:
        """Return the one place that the cache has for `name`, or none."""
        wanted = elf.CACHE_FLAGS.get((self.kind.bits, self.kind.machine))
        order = [*self.levels, ""]
        lines = [
            line
            for line in self._cache().get(name, [])
            if line.level in order and (wanted is None or line.flags == wanted)
        ]
        best = [line.path for line in sorted(lines, key=lambda line: order.index(line.level))[:1]]
        if not by.dynamic.defaults:
            best = [path for path in best if not path.startswith(tuple(f"{one}/" for one in self.built.defaults))]
        return best

    def _cache(self) -> dict[str, list[elf.Cached]]:
        path = self.built.cache
        if path not in self.listing.caches:
            there = os.access(path, os.R_OK)
            usable = there and self.listing.may(path, "read")
            why = f"{OPTIONAL}where libraries are; without it only the default directories are searched"
            self.listing.add(path, "read", why, "" if there else "it does not exist, or cannot be read")
            self.listing.caches[path] = elf.cached(whole(path), self.kind.order) if usable else {}
        return self.listing.caches[path]

    def _folders(self, text: str, origin: str) -> tuple[str, ...]:
        """Return the directories of a list that exist, each with a slash at its end."""
        if not text or self.musl and re.search(r"\$(?!ORIGIN|\{ORIGIN\})", text):
            return ()
        found: list[str] = []
        for part in text.split(":"):
            self.listing.spend(self.program.path)
            found += self._levels_of(absolute(self._expand(part, origin), self.cwd).rstrip("/"))
        return tuple(dict.fromkeys(found))

    def _levels_of(self, folder: str) -> tuple[str, ...]:
        """Return a directory behind those below it that hold libraries for this processor, as far as they exist."""
        if folder not in self.existing:
            self.listing.spend(self.program.path, len(self.levels))
            several = [f"{folder}/glibc-hwcaps/{level}/" for level in self.levels] + [f"{folder}/"]
            self.existing[folder] = tuple(one for one in several if os.path.isdir(one))
        return self.existing[folder]

    def _expand(self, text: str, origin: str) -> str:
        """Replace what may begin with $: ORIGIN, LIB, PLATFORM. LIB is told from the first default directory."""
        if "$" not in text:
            return text
        self.listing.spend(self.program.path, len(text) // 64)
        first = self.built.defaults[0] if self.built.defaults else "/lib"
        known = {"ORIGIN": origin}
        if not self.musl:
            platform = "i686" if self.kind.machine == 3 else os.uname().machine
            known.update(LIB=first[first.rfind("/lib") + 1 :], PLATFORM=platform)
        pattern = "|".join(known)
        return re.sub(rf"\$(?:({pattern})|\{{({pattern})\}})", lambda found: known[found[1] or found[2]], text)


def _usable(levels: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these levels this processor has, by what Linux says of it."""
    if not levels or not os.access("/proc/cpuinfo", os.R_OK):
        return ()
    flags = re.search(rb"^flags\s*:(.*)$", beginning("/proc/cpuinfo", 1 << 16), re.MULTILINE)
    return elf.usable_levels(levels, set(os.fsdecode(flags[1]).split()) if flags else set())


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
