# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Why a program did not run, in one line with the remedy. Looks at files from outside; decides nothing."""

from __future__ import annotations

import errno
import os
import signal
import stat

from .model.domains import CapabilityDomain
from .model.grants import covers, executes
from .model.record import Ending, RunRecord
from .model.requirements import EXECUTING, part
from .model.resolved import ResolvedRun
from .policy.values import COMMAND_LINE


def not_run(run: ResolvedRun, rule_paths: tuple[str, ...], record: RunRecord) -> str:
    """Return the line for a run whose program was never executed; `rule_paths` are what the order's rules name."""
    if record.ending is Ending.NOT_FOUND:
        return _not_found(run)
    if record.ending is Ending.NOT_EXECUTABLE:
        return _not_executable(run, record)
    if record.ending is Ending.NOT_STARTED:
        return f"the launcher was ended{_by(record)} after the boundary stood and before {run.spec.program} ran"
    return _setup(rule_paths, record)


def _by(record: RunRecord) -> str:
    return "" if record.signal is None else f" by {_signal_name(record.signal)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _setup(rule_paths: tuple[str, ...], record: RunRecord) -> str:
    what = f"the boundary could not be set up: step {record.stage}"
    breached = [name for name, result in record.canaries.items() if result == "breached"]
    if breached:
        return f"the boundary does not hold here: its canary {breached[0]} was not refused; nothing was executed"
    if record.stage == "landlock" and record.error and record.rule < len(rule_paths):
        return f"{what}: {rule_paths[record.rule]}: {_rule_problem(record.error)}; nothing was executed"
    if record.error:
        return f"{what}: {os.strerror(record.error)}; nothing was executed"
    ended = f"{what}: the launcher was ended{_by(record)}; nothing was executed"
    if record.stage == "start" and record.signal is None:  # it is started with an empty environment
        return f"{ended}; use a Python that starts without LD_LIBRARY_PATH and PYTHONHOME, or raise the limits"
    return ended


def _rule_problem(error: int) -> str:
    if error == errno.ESTALE:
        return "it was replaced after it was checked; run it again"
    if error == errno.EACCES and os.geteuid() == 0:
        return "it lies in a directory of another user, which root without capabilities cannot enter; run as that user"
    return os.strerror(error)


def _not_found(run: ResolvedRun) -> str:
    found = _existing(run)
    if found is not None:  # the file is there, so what is missing is what it names: a script's interpreter, a loader
        return f"{run.spec.program}: {found} names an interpreter or loader that does not exist; install it"
    return f"{run.spec.program or repr('')}: not found; name a program that exists, or set PATH with --env"


def _not_executable(run: ResolvedRun, record: RunRecord) -> str:
    found = _existing(run)
    if found is None or record.error != errno.EACCES:
        text = os.strerror(record.error)
        hint = "; a script needs a first line that names its interpreter" if record.error == errno.ENOEXEC else ""
        return f"{run.spec.program}: cannot be executed: {text}{hint}"
    return f"{run.spec.program}: {_denied(run, found)}"


def _denied(run: ResolvedRun, found: str) -> str:
    target = os.path.realpath(found)
    if os.path.isdir(target):
        return f"{target} is a directory; name a program"
    if run.plan is not None and _denied_as_a_whole(run):
        return f"{target}: the policy denies file_read as a whole, so nothing can be executed; allow that capability"
    lists = _lacking(run, target)
    if lists:
        return f"{target} is outside the grants; add {_grant(_folder(target), lists, run)}"
    interpreter = _interpreter(target) if os.path.isfile(target) else ""
    lists = _lacking(run, os.path.realpath(interpreter)) if interpreter else ()
    if lists:
        remedy = _grant(os.path.realpath(interpreter), lists, run)
        return f"its interpreter {interpreter} is outside the grants; add {remedy}"
    if os.path.exists(interpreter) and not (os.path.isfile(interpreter) and os.access(interpreter, os.X_OK)):
        return f"its interpreter {interpreter} is not an executable file; name another in its first line"
    if not os.path.isfile(target):
        return f"{target} is not a regular file"
    if not os.access(target, os.X_OK):
        return f"{target} is not executable; chmod +x it, or name its interpreter"
    return f"{target} or its loader may not be executed inside the grants; {_system(run)}"


def _system(run: ResolvedRun) -> str:
    if run.policy.source == COMMAND_LINE:
        return "add --system"
    if _list_stated(run, reading=False):
        return "`aasm policy explain --program` with the same policy names what filesystem.execute.allow lacks"
    return "add `${system}` to filesystem.read.allow"


def _list_stated(run: ResolvedRun, reading: bool) -> bool:
    """Say whether the policy has a list of what may be read, or of what may be executed."""
    stated = [item.scope for item in run.spec.requirements if item.domain is CapabilityDomain.FILESYSTEM_READ]
    return any((part(scope) != EXECUTING) is reading for scope in stated)


def _denied_as_a_whole(run: ResolvedRun) -> bool:
    reading = [item for item in run.spec.requirements if item.domain is CapabilityDomain.FILESYSTEM_READ]
    return any(item.scope.whole and item.stated_by == "capabilities" for item in reading)


def _lacking(run: ResolvedRun, path: str) -> tuple[str, ...]:
    """Return the lists in which a program must be and is not: it is read as well, execve(2) opens it."""
    if run.plan is None:
        return ()
    unread = _list_stated(run, reading=True) and not covers(run.grants, path, write=False)
    unexecuted = _list_stated(run, reading=False) and not executes(run.grants, path)
    return (*("read",) * unread, *("execute",) * unexecuted)


def _grant(path: str, lists: tuple[str, ...], run: ResolvedRun) -> str:
    if run.policy.source == COMMAND_LINE:
        return f"--read {path}"
    return f"{path} to {' and '.join(f'filesystem.{name}.allow' for name in lists)}"


def _folder(target: str) -> str:
    """Return what to grant for a program: its directory, unless that would open the whole disk or a home."""
    folder = os.path.dirname(target)
    return target if folder in ("/", os.path.expanduser("~")) else folder


def _existing(run: ResolvedRun) -> str | None:
    for candidate in run.candidates:
        if candidate.endswith((b"/.", b"/..")):
            continue  # a name that PATH was searched for and that means a directory everywhere
        path = os.path.join(run.working_dir.path, os.fsdecode(candidate))
        if candidate and os.path.exists(path):
            return path
    return None


def _interpreter(path: str) -> str:
    """Return the interpreter that a script's first line names, or an empty text."""
    try:
        script = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        first = os.read(script, 256).partition(b"\n")[0] if stat.S_ISREG(os.fstat(script).st_mode) else b""
    except OSError:
        return ""
    finally:
        os.close(script)
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    return words[0] if words else ""
