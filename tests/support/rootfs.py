# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A host with nothing but Python and libc: its files, made once for a Python, and the way into it.

Imported, it makes the tree and describes a host. Executed (`rootfs.py HOST`, HOST is JSON, see `Host`), it builds that
host in namespaces of its own and executes a program there. All of its mounts end with its last process.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any, Dict, List, NoReturn, Optional

# linux/sched.h, linux/mount.h, linux/prctl.h
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x4000000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
MNT_DETACH, PR_SET_PDEATHSIG = 2, 1
UID = 12345  # nobody has heard of it
PLACE = "/place"  # where the host shows what a test brings along and looks at afterwards

_libc = ctypes.CDLL(None, use_errno=True)


class Host(Dict[str, Any]):
    """What a host has; JSON, since it travels to another process.

    shown: directories of the tree, by their place in the host. mounts: [type, place, flags, data], made in order.
    binds: [source, place, flags]. devices: names below /dev, None for no /dev at all. folders: what is made empty.
    read_only: the root afterwards. uid, umask, directory, limits, closed (descriptors), environment, argv.
    """


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: Optional[str], flags: int, data: str = "") -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None), f"mount {target}")


def _bind(source: str, target: str, flags: int = 0) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(source, target, None, MS_BIND)
    kept = _locked(target)
    if flags:
        _mount(source, target, None, MS_REMOUNT | MS_BIND | flags | kept)


def _locked(target: str) -> int:
    """Return the flags of a mount: in a user namespace none of them may be taken away."""
    found = os.statvfs(target).f_flag
    pairs = ((os.ST_NOSUID, MS_NOSUID), (os.ST_NODEV, MS_NODEV), (os.ST_NOEXEC, MS_NOEXEC), (os.ST_RDONLY, MS_RDONLY))
    return sum(flag for seen, flag in pairs if found & seen)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as stream:
        stream.write(text)


def _namespaces(host: Host) -> None:
    uid, gid = os.geteuid(), os.getegid()
    flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS
    _check(_libc.unshare(flags if uid == 0 else flags | CLONE_NEWUSER), "unshare")
    if uid != 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{host['uid']} {uid} 1")
        _write("/proc/self/gid_map", f"{host['uid']} {gid} 1")


def _build(host: Host, top: str) -> None:
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("host", top, "tmpfs", MS_NOSUID, "mode=755")
    for place, source in host["shown"].items():
        _bind(source, top + place, MS_RDONLY)
    for place in host["folders"]:
        os.makedirs(top + place)
    if host["devices"] is not None:
        os.mkdir(top + "/dev", 0o755)
        for name in host["devices"]:
            _bind(f"/dev/{name}", f"{top}/dev/{name}")
    for kind, place, flags, data in host["mounts"]:
        os.makedirs(top + place, exist_ok=True)
        _mount(kind, top + place, kind, flags, data)
    for source, place, flags in host["binds"]:
        _bind(source, top + place, flags)
    if host["read_only"]:
        _mount("host", top, None, MS_REMOUNT | MS_BIND | MS_RDONLY)
    os.chdir(top)
    _check(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")


_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}  # asm/unistd.h


def _become(host: Host) -> None:
    if host.get("hostname") is not None:
        name = host["hostname"].encode()
        _check(_libc.sethostname(name, len(name)), "sethostname")
    for name, pair in host["limits"].items():
        resource.setrlimit(getattr(resource, name), tuple(pair))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(host["uid"], host["uid"], host["uid"])
        os.setresuid(host["uid"], host["uid"], host["uid"])
    os.umask(host["umask"])
    os.chdir(host["directory"])
    for gone in host["gone"]:
        os.rmdir(gone)
    for number in host["closed"]:
        os.close(number)


def _execute(host: Host) -> NoReturn:
    _become(host)
    argv: List[str] = host["argv"]
    os.execve(host["program"] or argv[0], argv, host["environment"])


def main() -> None:
    """Build the host and execute the program; end as it ends."""
    host = Host(json.loads(sys.argv[1]))
    _namespaces(host)
    first = os.fork()
    if first:
        os._exit(_ended(os.waitpid(first, 0)[1]))
    try:
        _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
        _build(host, host["top"])
        if host["as_init"]:
            _execute(host)
        _first_process(host)
    except BaseException as problem:  # noqa: BLE001 - nothing of this process may go on as if it were the test
        os.write(2, f"no host: {problem}\n".encode())
        os._exit(99)


def _first_process(host: Host) -> NoReturn:
    """Be process 1 of the host: wait for the program; everything else ends with us."""
    program = os.fork()
    if not program:
        _execute(host)
    while True:
        pid, status = os.wait()
        if pid == program:
            os._exit(_ended(status))


def _ended(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    main()
