# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the package can do to the world, reviewed: the table that an auditor reads instead of searching the code.

A row says: in these files, these functions use these names, of this kind (tools/tree_kinds.py has the kinds), for this
reason. tools/check_tree.py finds the uses and holds the two together: a use without a row fails, and so does a word of
a row without a use. `(top)` is what a file does when it is imported, `.x` a method of an object, `native.x` a function
of the C library. The tools have a table of their own in tools/tree_reviewed_tools.py.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple


class Row(NamedTuple):
    """One reviewed answer. All but the reason are words with blanks between them, and each must be needed."""

    files: str
    kind: str
    what: str
    functions: str
    why: str

    def explains(self, file: str, kind: str, what: str, function: str) -> bool:
        fits = (file, self.files), (what, self.what), (function, self.functions)
        return kind == self.kind and all(word in words.split() for word, words in fits)


PROCESSES = (
    Row("aasm/supervise/spawn.py", "process", "os.posix_spawn", "_spawn_launcher start_unconfined",
        "the launcher; and the program of a run that asks for no boundary. No other place creates a process"),
    Row("aasm/supervise/spawn.py", "code", "`-c`", "_spawn_launcher",
        "the launcher starts from the text BOOT beside it, so that no directory is on the import path"),
    Row("aasm/launcher.py", "native",
        "aasm._sys.boundary.execve aasm._sys.boundary.prctl aasm._sys.boundary.syscall",
        "execute set_descriptors forbid_new_privileges _canary_call",
        "execve is how the launcher becomes the program; prctl sets no_new_privs and the signal for the supervisor's "
        "death; the system call is the canary that the filter must refuse"),
    Row("aasm/_sys/process.py", "signal", "os.kill", "send_signal",
        "forwards signals to the program, and ends its tree"),
    Row("aasm/supervise/loop.py", "signal", "os.kill", "Supervisor._stopped",
        "stops the supervisor itself when the program stops, as a shell expects"),
)  # fmt: skip

NETWORK = (
    Row("aasm/supervise/spawn.py", "network", "_socket.socketpair", "start_launcher",
        "the unnamed channel between supervisor and launcher"),
    Row("aasm/launcher.py", "network", "_socket.socket", "_hand_over",
        "the other end of that channel, to hand over a listener for notifications"),
    Row("aasm/supervise/begin.py", "network", "_socket.socket", "_connected_stream",
        "asks what an inherited descriptor 0, 1 or 2 is connected to; nothing is sent"),
)  # fmt: skip

FILES = (
    Row("aasm/state.py", "write", "os.mkdir os.open os.fchmod", "_mkdir _open_file open_canary",
        "the state directory and the files in it: ledger, lock, canary"),
    Row("aasm/governance/ledger.py", "write", "os.write os.ftruncate os.fchmod", "append _append _write",
        "appends to the ledger, takes back a line that was cut short, keeps the lock's mode"),
    Row("aasm/receipt/store.py", "write",
        "os.open os.fchmod os.posix_fallocate os.pwrite os.ftruncate os.link os.rename os.unlink",
        "_hold _allocate _fill _write_all _give_name _release",
        "a receipt: reserved under a temporary name, filled, given its name; never over another file"),
    Row("aasm/supervise/private.py", "write", "os.mkdir os.chmod os.rename os.rmdir os.unlink",
        "create remove _dissolve _move_up",
        "makes HOME and TMPDIR of one run, and removes them with whatever the program left in them"),
    Row("aasm/cli/policy_new.py", "write", "os.open os.write os.link os.rename os.unlink",
        "_write _give_name _remove", "`policy new --output`: a new file, never over another one"),
    Row("aasm/_sys/streams.py", "write", "os.open", "_filled",
        "/dev/null, where one of the first three descriptors is closed"),
    Row("aasm/cli/__init__.py", "write", "os.write", "put deliver _ended_by", "standard output and standard error"),
    Row("aasm/launcher.py", "write", "os.open os.write os.memfd_create os.pwrite",
        "_keeps _opens _byte_beyond _complain main",
        "standard output and standard error; canaries: opens a file that the boundary must refuse, "
        "writes one byte beyond a ceiling into a file without a name"),
    Row("aasm/_sys/process.py", "write", "os.ftruncate", "memory_page", "the size of the status page, in memory"),
    Row("aasm/origin.py", "write", "os.open", "read_regular",
        "opens files of this copy for reading; its flags are put together"),
    Row("aasm/receipt/read.py", "write", "os.open", "open_regular",
        "opens a receipt for reading; its flags are put together in a loop"),
    Row("aasm/receipt/read.py", "hidden", "getattr os", "(top)",
        "that loop: flags of open(2) that not every system has"),
    Row("aasm/receipt/verify.py", "write", "os.open", "_forget_output", "/dev/null, for an output that is gone"),
    Row("aasm/policy/toml_structure.py", "write", ".open", "Structure.descend Structure.append",
        "no file: whether a table may still grow"),
    Row("aasm/supervise/terminal.py", "write", "os.open", "_controlling_terminal",
        "/dev/tty, for its modes and its foreground; nothing is written"),
)  # fmt: skip

KERNEL = (
    Row("aasm/_sys/boundary.py", "native", "ctypes.CDLL native.syscall native.prctl", "(top)",
        "the C library is loaded, and its functions are told their types"),
    Row("aasm/_sys/boundary.py", "native", "native.syscall", "syscall",
        "any system call: Landlock, seccomp, close_range"),
    Row("aasm/_sys/boundary.py", "native", "native.prctl", "prctl", "prctl(2)"),
    Row("aasm/_sys/boundary.py", "native", "native.capget native.capset", "capability_sets keep_capabilities",
        "asks for the capabilities of this process, and drops them"),
    Row("aasm/_sys/boundary.py", "native", "native.execve", "execve", "the launcher becomes the program"),
    Row("aasm/_sys/boundary.py", "native", "mmap.mmap", "StatusPage.__init__", "the shared status page"),
    Row("aasm/_sys/process.py", "native", "ctypes.CDLL", "(top)", "the C library is loaded"),
    Row("aasm/_sys/process.py", "native", "native.signalfd native.memfd_create", "signal_descriptor memory_page",
        "signals as a descriptor, and the memory of the status page"),
    Row("aasm/_sys/process.py", "native", "aasm._sys.boundary.prctl", "become_subreaper become_undumpable",
        "orphans of the program become ours; no other process of this user reads our memory"),
    Row("aasm/_sys/probe.py", "native", ".prctl .syscall", "_no_new_privs _why_no_filter _wait_killable",
        "asks whether no_new_privs is set, and with null pointers whether seccomp can do what is wanted"),
    Row("aasm/_sys/probe.py", "hidden", "aasm._sys.boundary", "_boundary",
        "the module itself, loaded late: not every host has the C library that is expected"),
    Row("aasm/needs/filecaps.py aasm/backends/native/prepare.py", "native", "aasm._sys.boundary.prctl",
        "of_this_process inheritable", "asks for the capability bounding set, and for the securebits"),
    Row("aasm/_sys/notify.py", "state", "fcntl.ioctl", "add_fd set_sync_wake_up _done",
        "the requests of seccomp_unotify(2), on the listener"),
    Row("aasm/targets.py", "state", "fcntl.ioctl", "_only_appended_to", "asks for a file's flags"),
)  # fmt: skip

OF_THE_PROCESS = (
    Row("aasm/supervise/begin.py", "state", "signal.signal signal.pthread_sigmask os.umask", "_begin",
        "what the command does to its own process, in one place"),
    Row("aasm/_sys/process.py", "state", "signal.pthread_sigmask", "blocked_signals", "asks for the mask"),
    Row("aasm/run.py", "state", "os.chdir os.umask", "_enter _run_unconfined",
        "goes to the program's directory; gives a program without a boundary the umask that we were started with"),
    Row("aasm/launcher.py", "state",
        "os.chdir os.dup2 resource.setrlimit _signal.signal _signal.pthread_sigmask",
        "enter_directory run_controls set_limits _number_beyond restore_signals",
        "what the program inherits: directory, ceilings, signals; canaries that try the ceilings"),
    Row("aasm/cli/__init__.py aasm/__main__.py", "state", "_signal.signal", "main (top)",
        "an interrupt ends us without a traceback"),
    Row("aasm/supervise/terminal.py", "state", "os.tcsetpgrp termios.tcflow termios.tcsetattr",
        "Terminal._set_foreground Terminal.reclaim", "takes the terminal back from the program"),
    Row("aasm/receipt/verify.py", "state", "os.dup2", "_forget_output",
        "standard output to /dev/null once it cannot be written"),
    Row("aasm/policy/toml.py", "state", "gc.disable gc.enable", "parse", "for the time of one parse: twice as fast"),
    Row("aasm/surroundings.py", "environment", "os.environb", "surroundings",
        "a copy, from which the program's environment is chosen; ours is never changed"),
)  # fmt: skip

IMPORTS = (
    Row("aasm/__main__.py", "import", "__import__ sys.path", "(top) _clean_path _adopted",
        "run as a directory, it has no package to import from until it knows its name; takes the working directory off "
        "the import path"),
    Row("aasm/receipt/__main__.py", "import", "sys.path", "(top)", "takes the working directory off the import path"),
    Row("aasm/origin.py", "import", "zipimport._zip_directory_cache", "_contents",
        "what the interpreter knows of the archive that it imports from"),
    Row("aasm/copies.py", "import", "importlib.util", "_states _is_used", "where compiled files lie, and which count"),
    Row("aasm/copies.py", "code", "compile marshal.dumps marshal.loads types.CodeType", "(top) _state _same",
        "`self-verify` compiles the sources and compares with what compiled files hold; executes nothing of it"),
    Row("aasm/copies.py", "import", "sys.modules", "stand_ins",
        "`self-verify` asks which file each loaded module is from; changes nothing"),
    Row("aasm/trusted.py", "import", "sys.modules sys.path",
        "_script _import_path _places_for_modules _links_to_modules",
        "lists every place that code comes from, so that no grant lets a program write there; changes none"),
)  # fmt: skip

UNDECIDED = (
    Row("aasm/origin.py", "hidden", "__spec__", "running", "asks this very module where it came from"),
    Row("aasm/copies.py", "hidden", "getattr", "_same", "the parts of a code object, named in a table"),
    Row("aasm/cli/options.py aasm/cli/parsing.py aasm/cli/policy.py aasm/cli/policy_explain.py "
        "aasm/cli/policy_show.py aasm/cli/run.py",
        "hidden", "getattr setattr",
        "Once.__call__ check _check_output request _asked _one main _request",
        "options of the command line by their names, in the parser's own record"),
    Row("aasm/_sys/order.py", "hidden", "getattr setattr", "_word _string _item",
        "fields of an Order by the names in the table of tags"),
    Row("aasm/_sys/bpf.py aasm/_sys/landlock.py", "hidden", "globals", "(top)",
        "the module's own constants, listed by their prefix"),
    Row("aasm/backends/native/prepare.py", "hidden", "getattr resource", "limits",
        "RLIMIT_ constants by the names in the table of ceilings"),
    Row("aasm/cli/options.py aasm/cli/policy.py aasm/cli/policy_explain.py aasm/cli/self_verify.py",
        "hidden", "._optionals", "parser _parser", "argparse: the heading above the options in --help"),
    Row("aasm/trusted.py", "hidden", "._multiarch", "_library_folders",
        "of sys.implementation: the folder of this machine's libraries, as text"),
    Row("aasm/receipt/canonical.py", "hidden", "type", "_write",
        "the class of a value is held, to compare it four times and to name it; nothing is made with it"),
    Row("aasm/model/authority.py", "hidden", "getattr", "_lacks", "three fields of a requirement, named in a table"),
    Row("aasm/policy/kinds.py", "hidden", "getattr re re._parser", "(top) _parsed",
        "the parser of regular expressions, which has two names; it parses and compiles nothing"),
)  # fmt: skip

REVIEWED: Tuple[Row, ...] = (
    *PROCESSES, *NETWORK, *FILES, *KERNEL, *OF_THE_PROCESS, *IMPORTS, *UNDECIDED,
)  # fmt: skip
