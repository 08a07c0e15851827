# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the boundary around itself, proves it, and executes the target: the only code of ours inside.

It decides nothing. An order (see _sys/order.py) says everything, and the steps below run in the order in
which they stand, each exactly once. A step that fails is noted on the status page and ends the process;
there is no way from a failed step to exec. After the last filter no system call is needed to report.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` would import enum
import errno
import os
import sys

try:
    import _socket
    import resource

    from ._sys import boundary, order as orders, streams
except ImportError as lack:
    said = f"error: launcher: this Python cannot load {lack.name}: {lack}; use a complete one"
    raise SystemExit(said) if __name__ == "__main__" else lack from None

TYPE_CHECKING = False  # `typing` is not imported here: it costs more than all the rest
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn

FAILED = 125
READY = b"L"  # launcher -> supervisor, with the listener
GO_ON = b"G"  # supervisor -> launcher: the listener is being served


class Launch:
    """What the steps share: where the order comes from, the order, and what exec will need."""

    def __init__(self, source: int, page: boundary.StatusPage, parent: int, channel: bool) -> None:
        self.source, self.page, self.parent, self.channel = source, page, parent, channel
        self.order = orders.Order()
        self.argv: Any = None
        self.environment: Any = None
        self.controls: dict[str, bool] = {}
        self.kept: dict[str, tuple[int, os.stat_result]] = {}  # of a file canary: its descriptor and state


def read_order(launch: Launch) -> None:
    """Read one complete order; make everything that exec will need, so that nothing is allocated for it later."""
    length = orders.body_length(_read_exactly(launch.source, orders.HEADER.size))
    launch.order = orders.decode(_read_exactly(launch.source, length))
    if not launch.channel and os.read(launch.source, 1):
        raise orders.OrderError("something follows the order")
    launch.argv = boundary.string_array(launch.order.argv)
    launch.environment = boundary.string_array(launch.order.environment)


def _read_exactly(source: int, length: int) -> bytes:
    parts, left = [], length
    while left:
        part = os.read(source, min(left, 1 << 20))
        if not part:
            raise orders.OrderError("the order ends early")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def set_descriptors(launch: Launch) -> None:
    """Let 0, 1 and 2 exist and nothing else survive exec; end with the supervisor that started us."""
    streams.fill()
    boundary.close_on_exec_from(3)
    if launch.parent:
        boundary.prctl(boundary.PR_SET_PDEATHSIG, _signal.SIGKILL)
        if os.getppid() != launch.parent:  # it died before the line above
            raise OSError(errno.ESRCH, "the supervisor is gone")


def enter_directory(launch: Launch) -> None:
    """Enter the working directory, which must still be the one that was checked."""
    device, inode, path = launch.order.working_dir
    os.chdir(path)
    _same_object(os.stat("."), device, inode)


def _same_object(found: os.stat_result, device: int, inode: int) -> None:
    if (found.st_dev, found.st_ino) != (device, inode):
        raise OSError(errno.ESTALE, "the path no longer names the object that was checked")


def run_controls(launch: Launch) -> None:
    """Try what the canaries will try, before any restriction: only then does a later refusal mean anything."""
    order = launch.order
    launch.controls = {
        "file_read": bool(order.canary_read) and _keeps(launch, "file_read", order.canary_read, os.O_RDONLY),
        "file_write": bool(order.canary_write) and _keeps(launch, "file_write", order.canary_write, os.O_WRONLY),
        "call": order.canary_call >= 0 and _canary_call(order.canary_call) == 0,
    }
    for number, _, hard in order.limits:
        canary, attempt, _ = LIMIT_CANARIES[number]
        host = resource.getrlimit(number)[1]
        resource.setrlimit(number, (host, host))  # a lower soft limit would refuse the control
        launch.controls[canary] = attempt(hard) == 0


def _keeps(launch: Launch, canary: str, path: bytes, flags: int) -> bool:
    try:
        descriptor = os.open(path, flags | os.O_CLOEXEC)
    except OSError:
        return False
    launch.kept[canary] = descriptor, os.fstat(descriptor)
    return True


def _unchanged(launch: Launch, canary: str) -> bool:
    # another run of this user may take the mode away in between: then the mode refuses, and the boundary shows nothing
    if canary not in launch.kept:
        return True
    descriptor, before = launch.kept[canary]
    return os.fstat(descriptor).st_ctime_ns == before.st_ctime_ns


def _opens(path: bytes, flags: int) -> int:
    return _errno_of(lambda: os.close(os.open(path, flags)))


def _canary_call(number: int) -> int:
    # process_vm_readv(2) of nothing on oneself: 0 for every identity while no filter refuses it
    return _errno_of(lambda: boundary.syscall(number, os.getpid(), 0, 0, 0, 0, 0))


def _number_beyond(limit: int) -> int:
    # dup2(2) onto the first unused number that a ceiling of `limit` open files does not allow
    number = max(limit, 3)
    try:
        while True:
            os.fstat(number)
            number += 1
    except OSError:
        pass
    return _errno_of(lambda: os.close(os.dup2(0, number, inheritable=False)))


def _byte_beyond(limit: int) -> int:
    # pwrite(2) of one byte behind a ceiling of `limit` bytes; SIGXFSZ is still ignored here, as Python has it
    file = os.memfd_create("aasm-canary")
    try:
        return _errno_of(lambda: os.pwrite(file, b"x", limit))
    finally:
        os.close(file)


def _errno_of(attempt: Callable[[], object]) -> int:
    try:
        attempt()
    except OSError as problem:
        return problem.errno or errno.EIO
    return 0


# The ceilings that a resource limit holds: canary, attempt at more, and the errno of its refusal.
LIMIT_CANARIES: dict[int, tuple[str, Callable[[int], int], int]] = {
    resource.RLIMIT_NOFILE: ("open_files", _number_beyond, errno.EBADF),
    resource.RLIMIT_FSIZE: ("file_size", _byte_beyond, errno.EFBIG),
}


def drop_capabilities(launch: Launch) -> None:
    """Keep only the capabilities that the order names: normally none."""
    boundary.keep_capabilities(launch.order.capabilities)


def forbid_new_privileges(launch: Launch) -> None:
    """Set no_new_privs, without which neither Landlock nor a filter is for everyone."""
    boundary.prctl(boundary.PR_SET_NO_NEW_PRIVS, 1)


def restrict_paths(launch: Launch) -> None:
    """Build the one ruleset and bind ourselves to it; every path must still be the object that was checked."""
    fs, net, scope, flags = launch.order.handled
    ruleset = boundary.landlock_create_ruleset(fs, net, scope)
    for index, rule in enumerate(launch.order.rules):
        launch.page.at(index)
        _add_rule(ruleset, rule)
    boundary.landlock_restrict_self(ruleset, flags)
    os.close(ruleset)


def _add_rule(ruleset: int, rule: orders.Rule) -> None:
    access, device, inode, path = rule
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _same_object(os.fstat(descriptor), device, inode)
        boundary.landlock_add_path(ruleset, access, descriptor)
    finally:
        os.close(descriptor)


def try_files(launch: Launch) -> None:
    """The file canaries: what opened before must be refused now, with EACCES."""
    order = launch.order
    if order.canary_read:
        _judge(launch, "file_read", _opens(order.canary_read, os.O_RDONLY), errno.EACCES)
    if order.canary_write:
        _judge(launch, "file_write", _opens(order.canary_write, os.O_WRONLY), errno.EACCES)


def _judge(launch: Launch, canary: str, got: int, refused: int) -> None:
    if got == 0:
        launch.page.canary(canary, boundary.BREACHED)
        raise OSError(errno.EBADE, "the boundary did not hold its canary")
    held = launch.controls[canary] and got == refused and _unchanged(launch, canary)
    launch.page.canary(canary, boundary.HELD if held else boundary.INCONCLUSIVE)


def set_limits(launch: Launch) -> None:
    """Set the resource limits, soft and hard; what was allowed beyond each of them before must be refused now."""
    for number, soft, hard in launch.order.limits:
        resource.setrlimit(number, (soft, hard))
        canary, attempt, refused = LIMIT_CANARIES[number]
        _judge(launch, canary, attempt(hard), refused)


def restore_signals(launch: Launch) -> None:
    """Give the program the dispositions and the mask that the operator's shell would have given it."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # the interpreter ignores them, and that survives exec
        _signal.signal(number, _signal.SIG_DFL)
    if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    mask = launch.order.signal_mask  # 32 and 33 belong to the C library, which lets nobody block them
    _signal.pthread_sigmask(_signal.SIG_SETMASK, [n for n in _signal.valid_signals() if mask >> (n - 1) & 1])


def install_filter_a(launch: Launch) -> None:
    """Install the notifying filter, when there is one, and hand its listener to the supervisor alone."""
    order = launch.order
    if order.filter_a:
        flags = order.filter_a_flags | boundary.SECCOMP_FILTER_FLAG_NEW_LISTENER
        listener = boundary.seccomp_install(order.filter_a, flags)
        launch.page.enter(boundary.STAGES.index("handover"))
        _hand_over(launch, listener)


def _hand_over(launch: Launch, listener: int) -> None:
    if not launch.channel:
        raise OSError(errno.ENOTSUP, "an order with notifications needs a supervisor")
    channel = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, os.dup(launch.source))
    word = listener.to_bytes(4, sys.byteorder)
    channel.sendmsg([READY], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, word)])
    os.close(listener)  # a copy held here would keep callers waiting after the supervisor died
    if channel.recv(1) != GO_ON:
        raise OSError(errno.ECONNRESET, "the supervisor did not take the listener")
    channel.close()


def install_filter_b(launch: Launch) -> None:
    """Install the last filter: the floor, and the allow-list where the policy states one."""
    boundary.set_name(launch.order.name)  # tells the supervisor later that exec has not replaced us yet
    boundary.seccomp_install(launch.order.filter_b, 0)


def try_call(launch: Launch) -> None:
    """The call canary: what worked before must be refused now, with EPERM."""
    if launch.order.canary_call >= 0:
        _judge(launch, "call", _canary_call(launch.order.canary_call), errno.EPERM)


STEPS: tuple[tuple[str, Callable[[Launch], None]], ...] = (
    ("order", read_order),
    ("descriptors", set_descriptors),
    ("directory", enter_directory),
    ("capabilities", drop_capabilities),
    ("no_new_privs", forbid_new_privileges),
    ("controls", run_controls),  # with the rights of the program: what refuses later is the boundary alone
    ("landlock", restrict_paths),
    ("file_canary", try_files),
    ("limits", set_limits),
    ("signals", restore_signals),
    ("filter_a", install_filter_a),
    ("filter_b", install_filter_b),
    ("filter_canary", try_call),
)


def build(launch: Launch) -> None:
    """Run every step; afterwards the boundary stands and the page says so."""
    for stage, step in STEPS:
        launch.page.enter(boundary.STAGES.index(stage))
        step(launch)
    launch.page.enter(boundary.STAGES.index("exec"))
    launch.page.seal()


def execute(launch: Launch) -> None:
    """Execute the first candidate that can be; when none can, put the errno on the page and end."""
    worst = errno.ENOENT
    for path in launch.order.candidates:
        number = boundary.execve(path, launch.argv, launch.environment)
        if number not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            worst = number
            break
        worst = errno.EACCES if number == errno.EACCES else worst
    launch.page.exec_failed(worst)
    if not launch.channel:
        _complain(f"exec: {os.strerror(worst)}")
    os._exit(127 if worst == errno.ENOENT else 126)


def start(launch: Launch) -> NoReturn:
    """Build, then execute; whatever goes wrong ends this process and nothing else."""
    try:
        build(launch)
        execute(launch)
    except BaseException as problem:  # noqa: BLE001 - every failure, of any kind, must end here
        launch.page.fail(getattr(problem, "errno", None) or errno.EINVAL)
        _explain(launch, problem)
    os._exit(FAILED)


def _explain(launch: Launch, problem: BaseException) -> None:
    if not launch.channel:  # run by hand: nobody else reads the page
        stage, _, index, _, _, _ = launch.page.read()
        where = f"rule {index}: " if stage == "landlock" else ""
        _complain(f"{stage}: {where}{getattr(problem, 'strerror', None) or problem}; nothing was executed")


def _complain(text: str) -> None:
    try:
        os.write(2, f"{' '.join(f'error: launcher: {text}'.splitlines())}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # the exit code says it as well


HELP = f"""\
usage: python -m {__package__}.launcher --order FILE | --print FILE | --help

Builds a boundary around itself as an order says (Landlock rules, limits, seccomp filters), proves it with
canaries, and executes the program that the order names. `aasm run` starts it by itself.

By hand, to audit one launch:
  aasm run exec --dry-run --show-order --home real --isolation process --system -- true > /tmp/order
                                                    writes the order of a launch
  python -m {__package__}.launcher --print /tmp/order        shows it, field by field
  python -m {__package__}.launcher --order /tmp/order        carries it out

Exit status: the program's own. 125 when a step failed (one line names it), 126 or 127 when the program could not be
executed, 2 when there is no order in FILE; nothing was executed then.
"""


def main(args: list[str]) -> int:
    """Entry for a person: `--order FILE` carries an order out, `--print FILE` shows it."""
    where = streams.NOWHERE
    try:
        streams.fill()  # else the order could take the place of a standard stream of the program
        where = "command line" if len(args) != 2 else args[1]
        if args != ["--help"] and (len(args) != 2 or args[0] not in ("--order", "--print")):
            raise orders.OrderError("expected --order FILE, --print FILE or --help")
        text = HELP if len(args) == 1 else _by_hand(args[0], os.open(where, os.O_RDONLY | os.O_CLOEXEC))
        where, data = "standard output", text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(1, data) :]
        return 0
    except (OSError, orders.OrderError) as problem:
        _complain(f"{where}: {getattr(problem, 'strerror', None) or problem}; see --help")
        return 2


def _by_hand(option: str, source: int) -> str:
    launch = Launch(source, boundary.StatusPage(-1), 0, channel=False)
    if option == "--order":
        start(launch)
    read_order(launch)
    order = launch.order
    fs, net, scope, flags = order.handled
    lines = [f"handled fs={fs:#x} net={net:#x} scope={scope:#x} flags={flags:#x}"]
    lines += [f"rule {access:#x} {device}:{inode} {os.fsdecode(path)!r}" for access, device, inode, path in order.rules]
    lines += [f"capabilities {order.capabilities:#x}", f"signal_mask {order.signal_mask:#x}"]
    lines += [f"limit {number} soft={soft} hard={hard}" for number, soft, hard in order.limits]
    lines += [f"filter_a instructions={len(order.filter_a) // 8}", f"filter_b instructions={len(order.filter_b) // 8}"]
    lines += [f"canary read={os.fsdecode(order.canary_read)!r} write={os.fsdecode(order.canary_write)!r}"]
    lines += [f"canary call={order.canary_call}", f"working_dir {os.fsdecode(order.working_dir[2])!r}"]
    lines += [f"execute {os.fsdecode(path)!r}" for path in order.candidates]
    lines += [f"argument {os.fsdecode(item)!r}" for item in order.argv]
    names = (item.split(b"=", 1)[0] for item in order.environment)  # values are never shown
    lines += [f"environment {os.fsdecode(name)}" for name in names]
    return "\n".join(lines) + "\n"


def serve(source: int, page: int, parent: int) -> None:
    """Entry for the supervisor: the order comes on the socket `source`, `page` is the status page's memory."""
    try:
        status = boundary.StatusPage(page)
    except (OSError, ValueError):
        os._exit(FAILED)
    start(Launch(source, status, parent, channel=True))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
