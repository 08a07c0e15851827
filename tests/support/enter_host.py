# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`enter_host.py HOST`: builds the host that support/rootfs.py describes (JSON), and executes a program in it.

Mount, process and host name namespaces of its own: whatever happens, nothing of it is left when its last process has
ended, and all of them end with this one. Root needs nothing more; others get a user namespace, where the system lets
them. Ends as the program ends, and with NO_HOST and one line when there can be no such host.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from typing import Any, Dict, NoReturn, Optional

NO_HOST = 99

# linux/sched.h, linux/mount.h, linux/prctl.h, asm/unistd.h
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x4000000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_NOATIME, MS_NODIRATIME, MS_BIND, MS_REC, MS_PRIVATE = 1024, 2048, 4096, 16384, 1 << 18
MNT_DETACH, PR_SET_PDEATHSIG = 2, 1
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}

Host = Dict[str, Any]
libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: Optional[str], flags: int, data: str = "") -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    checked(libc.mount(*words, ctypes.c_ulong(flags), data.encode() or None), f"mount {target}")


def bind(source: str, target: str, flags: int) -> None:
    """Show a file or directory of the world outside at another place; `flags` are added to what it has."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(source, target, None, MS_BIND)
    if flags:
        mount(source, target, None, MS_REMOUNT | MS_BIND | flags | _kept(target))


def _kept(target: str) -> int:
    """Return the flags that a mount has: in a user namespace none of them may be taken away."""
    found = os.statvfs(target).f_flag
    pairs = (
        (os.ST_RDONLY, MS_RDONLY), (os.ST_NOSUID, MS_NOSUID), (os.ST_NODEV, MS_NODEV), (os.ST_NOEXEC, MS_NOEXEC),
        (os.ST_NOATIME, MS_NOATIME), (os.ST_NODIRATIME, MS_NODIRATIME),
    )  # fmt: skip
    return sum(flag for seen, flag in pairs if found & seen)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as stream:
        stream.write(text)


def separate(host: Host) -> None:
    """Leave the namespaces of everybody else. Whoever is not root is, from then on, the user of the host."""
    uid, gid = os.geteuid(), os.getegid()
    host["by_root"] = uid == 0
    flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS
    checked(libc.unshare(flags if uid == 0 else flags | CLONE_NEWUSER), "unshare")
    if uid != 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{host['uid']} {uid} 1")
        _write("/proc/self/gid_map", f"{host['uid']} {gid} 1")


def build(host: Host) -> None:
    """Make the root file system, and make it the only one."""
    top = host["top"]
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("host", top, "tmpfs", MS_NOSUID, "mode=755")
    for source, place in host["code"]:
        bind(source, top + place, MS_RDONLY)
    for name in host["devices"] or ():
        os.makedirs(f"{top}/dev", exist_ok=True)
        bind(f"/dev/{name}", f"{top}/dev/{name}", 0)
    for kind, place, flags, data in host["mounts"]:
        os.makedirs(top + place, exist_ok=True)
        mount(kind, top + place, kind, flags, data)
    for source, place in host["shown"]:
        os.makedirs(os.path.dirname(top + place), exist_ok=True)
        bind(source, top + place, 0)
    mount("host", top, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)
    os.chdir(top)
    checked(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    checked(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")


def execute(host: Host) -> NoReturn:
    """Become who the host knows nothing of, and execute the program."""
    checked(libc.sethostname(b"", 0), "sethostname")
    for name, value in host["limits"].items():
        resource.setrlimit(getattr(resource, name), (value, value))
    if host["by_root"]:
        os.setgroups([])
        os.setresgid(host["uid"], host["uid"], host["uid"])
        os.setresuid(host["uid"], host["uid"], host["uid"])
    os.umask(host["umask"])
    os.chdir(host["directory"])
    if host["directory_becomes"] == "gone":
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir("../gone")
    elif host["directory_becomes"] == "closed":
        os.chmod(".", 0)
    for number in host["closed"]:
        os.close(number)
    os.execve(host["program"], host["argv"], host["environment"])


def first_process(host: Host) -> NoReturn:
    """Be process 1 of the host: wait for the program; everything else ends with us."""
    program = os.fork()
    if not program:
        execute(host)
    while True:
        pid, status = os.wait()
        if pid == program:
            os._exit(ended(status))


def ended(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def main() -> NoReturn:
    """Build the host and execute the program; end as it ends."""
    host = json.loads(sys.argv[1])
    first = 0
    try:
        separate(host)
        first = os.fork()
        if not first:
            checked(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
            build(host)
            execute(host) if host["as_init"] else first_process(host)
    except BaseException as problem:  # noqa: BLE001 - no copy of this process may go on
        os.write(2, f"no host: {problem}\n".encode())
        os._exit(NO_HOST)
    os._exit(ended(os.waitpid(first, 0)[1]))


if __name__ == "__main__":
    main()
