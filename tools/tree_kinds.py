# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What each name of the standard library can do, as far as a reviewer of effects must care: tables and one lookup.

What is in no table is no harmless thing: it counts as `hidden`, and so does a module that nobody has looked at. So a
newer Python, or a new import, can add a finding and never take one away. Tables only; tree_effects.py does the looking.
"""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase
from typing import Dict, List

from tree_imports import NEWER, listed

HARMLESS = ""
KINDS = {
    "import": "imports by a computed name, or changes where imports are looked for",
    "code": "runs text or data as a program: exec, eval, compile, -c, pickle, debuggers",
    "process": "creates a process, or replaces this one by a program",
    "thread": "starts a thread, or is of use to threads alone",
    "network": "creates a socket, of whatever family, or speaks a protocol",
    "write": "changes a file or what there is in a directory, or is not seen to do nothing but read",
    "native": "calls machine code: ctypes, mapped memory, a system call by its number",
    "environment": "changes the environment, or hands it on whole",
    "signal": "sends a signal",
    "state": "changes what holds for the whole process: directory, mask, limits, handlers, terminal, other modules",
    "hidden": "cannot be decided by reading names: a computed attribute, a namespace as data, a module as a value",
}

# Modules of which everything is harmless: they compute, or read what they are told to read. Their own imports and
# their names with an underscore are not theirs to give away, see `kind_of`.
_PLAIN = (
    "__future__ abc array ast base64 binascii bisect collections collections.abc colorsys configparser "
    "contextvars csv datetime decimal difflib errno fnmatch fractions "
    "genericpath getopt glob graphlib grp hashlib heapq hmac ipaddress itertools keyword math numbers os.path "
    "posixpath pprint pwd queue random re reprlib secrets select shlex stat statistics stringprep struct "
    "textwrap token tokenize tomllib traceback unicodedata urllib.parse warnings zlib"
)
_WHOLE: Dict[str, str] = {  # modules that are of one kind as a whole
    "import": "imp importlib modulefinder pkgutil runpy site zipimport",
    "code": "bdb cProfile code codeop copyreg doctest marshal pdb pickle pickletools profile pyclbr shelve timeit "
    "trace",
    "process": "_posixsubprocess ensurepip multiprocessing pty venv webbrowser",
    "network": "asyncio ftplib http imaplib nntplib poplib smtplib socketserver ssl telnetlib urllib xmlrpc",
    "write": "_pyio compileall dbm fileinput mailbox plistlib sqlite3 syslog tempfile wave zipapp",
    "native": "_ctypes mmap",
    "thread": "_thread threading",
    "state": "atexit curses faulthandler locale readline sched tracemalloc tty turtle",
    "hidden": "__main__ builtins inspect pydoc",
}
# Modules of which some names are harmless and others are not. `*` stands for the rest.
_MIXED: Dict[str, Dict[str, str]] = {
    "os": {
        HARMLESS: "*_result CLD_* DirEntry EX_* F_* GRND_* MFD_* O_* POSIX_* PRIO_* P_* PathLike RTLD_* R_OK SCHED_* "
        "SEEK_* ST_* W* X_OK _exit access altsep close closerange confstr cpu_count ctermid curdir defpath "
        "device_encoding devnull dup error eventfd eventfd_read extsep fdatasync fpathconf fsdecode fsencode "
        "fspath fstat fstatvfs fsync fwalk get_blocking get_exec_path get_inheritable get_terminal_size getcwd "
        "getcwdb getegid getenv getenvb geteuid getgid getgrouplist getgroups getloadavg getlogin getpgid getpgrp "
        "getpid getppid getpriority getrandom getresgid getresuid getsid getuid getxattr isatty linesep listdir "
        "listxattr lseek lstat major makedev minor name pardir pathconf pathsep pidfd_open pipe pipe2 "
        "posix_fadvise pread preadv process_cpu_count ptsname read readlink readv scandir sched_get* sched_param "
        "sched_rr_get_interval sched_yield sep set_blocking set_inheritable stat statvfs strerror "
        "supports_* sync sysconf tcgetpgrp terminal_size timerfd_* times ttyname uname urandom wait wait3 wait4 "
        "waitid waitpid waitstatus_to_exitcode walk",
        "process": "exec* fork* popen posix_spawn* register_at_fork spawn* startfile system",
        "write": "chmod chown copy_file_range eventfd_write fchmod fchown ftruncate grantpt lchown link lockf makedirs "
        "memfd_create mkdir mkfifo mknod open openpty posix_fallocate posix_openpt pwrite* remove* rename* replace "
        "rmdir sendfile setxattr splice symlink truncate unlink unlockpt utime write writev",
        "environment": "putenv unsetenv",
        "signal": "kill killpg",
        "state": "abort chdir chroot dup2 fchdir initgroups login_tty nice sched_set* set*id setgroups setns "
        "setpgrp setpriority tcsetpgrp umask unshare",
    },
    "sys": {
        HARMLESS: "abiflags api_version argv audit base_exec_prefix base_prefix builtin_module_names byteorder "
        "exc_info exception exec_prefix executable exit flags float_info get*encod* getrecursionlimit "
        "getrefcount getsizeof hash_info hexversion implementation int_info intern is_finalizing maxsize maxunicode "
        "orig_argv platform platlibdir prefix pycache_prefix stderr stdin stdlib_module_names stdout version "
        "version_info warnoptions",
        "import": "dont_write_bytecode meta_path modules path path_hooks path_importer_cache",
        "code": "breakpointhook call_tracing monitoring setprofile settrace",
        "state": "addaudithook displayhook excepthook set* unraisablehook",
    },
    "signal": {
        HARMLESS: "ITIMER_* NSIG SIG* Handlers Sigmasks Signals default_int_handler getitimer getsignal pause sig* "
        "strsignal valid_signals",
        "signal": "pidfd_send_signal pthread_kill raise_signal alarm setitimer",
        "state": "pthread_sigmask set_wakeup_fd siginterrupt signal",
    },
    "_socket": {HARMLESS: "AF_* IPPROTO_* MSG_* SCM_* SOCK_* SOL_* SO_*", "network": "*"},
    "fcntl": {HARMLESS: "FD_* F_* LOCK_* flock", "state": "*"},
    "termios": {HARMLESS: "tcgetattr error [A-Z]*", "state": "*"},
    "resource": {HARMLESS: "RLIM* RUSAGE_* error getpagesize getrlimit getrusage", "state": "*"},
    "time": {HARMLESS: "*", "state": "clock_settime* tzset"},
    "gc": {HARMLESS: "collect isenabled", "state": "enable disable freeze unfreeze set_threshold", "hidden": "*"},
    "ctypes": {
        HARMLESS: "Array Structure Union addressof alignment byref c_* create_string_buffer get_errno sizeof",
        "native": "*",
    },
    "calendar": {HARMLESS: "*", "state": "Locale* different_locale"},
    "contextlib": {HARMLESS: "*", "state": "chdir redirect_*"},
    "copy": {HARMLESS: "*", "hidden": "dispatch_table"},
    "dataclasses": {HARMLESS: "*", "code": "make_dataclass"},
    "enum": {HARMLESS: "*", "hidden": "bltns global_*"},
    "string": {HARMLESS: "*", "hidden": "Formatter"},  # it takes attributes by name
    "weakref": {HARMLESS: "*", "state": "finalize"},
    "html": {HARMLESS: "escape unescape", "hidden": "*"},
    "io": {HARMLESS: "BytesIO StringIO SEEK_* UnsupportedOperation *Base", "write": "*"},
    "codecs": {HARMLESS: "BOM_* decode encode lookup", "write": "*"},
    "gzip": {HARMLESS: "BadGzipFile compress decompress", "write": "*"},
    "py_compile": {HARMLESS: "PyCompileError", "write": "*"},
    "bz2": {HARMLESS: "compress decompress", "write": "*"},
    "lzma": {HARMLESS: "compress decompress", "write": "*"},
    "tarfile": {HARMLESS: "*_FORMAT *TYPE TarInfo *Error is_tarfile", "write": "*"},
    "zipfile": {HARMLESS: "ZIP_* ZipInfo BadZipFile is_zipfile", "write": "*"},
    "shutil": {HARMLESS: "Error disk_usage get_terminal_size which ignore_patterns", "write": "*"},
    "pathlib": {HARMLESS: "*"},  # what its paths do is found by the names of methods
    "subprocess": {HARMLESS: "CalledProcessError CompletedProcess DEVNULL PIPE STDOUT TimeoutExpired", "process": "*"},
    "concurrent": {},
    "concurrent.futures": {"thread": "*", "process": "ProcessPoolExecutor"},
    "xml": {},
    "xml.etree": {},
    "xml.etree.ElementTree": {HARMLESS: "Element ParseError SubElement fromstring parse tostring", "write": "*"},
    "argparse": {HARMLESS: "*", "write": "FileType", "hidden": "_*"},
    # the first evaluates annotations, the next two copy attributes by name
    "functools": {HARMLESS: "*", "code": "singledispatch*", "hidden": "update_wrapper wraps", "thread": "RLock"},
    "json": {HARMLESS: "*", "hidden": "decoder encoder scanner tool"},
    "operator": {HARMLESS: "*", "hidden": "attrgetter methodcaller"},
    "platform": {HARMLESS: "machine python_version release", "process": "*"},
    "sysconfig": {HARMLESS: "get_*"},
    "types": {
        HARMLESS: "*", "code": "CodeType FunctionType LambdaType ModuleType",
        "hidden": "get_original_bases new_class prepare_class resolve_bases",  # from objects to their classes
    },
    "typing": {HARMLESS: "*", "code": "ForwardRef get_type_hints", "hidden": "stdlib_re"},
    "uuid": {HARMLESS: "*", "process": "getnode uuid1"},
}
# What some modules have by the way, since they import it: makers of classes and functions, attributes by name.
_PASSED_ON = frozenset(
    "ABCMeta CodeType EnumMeta EnumType FunctionType LambdaType ModuleType NamedTupleMeta RLock TextIOWrapper "
    "attrgetter global_enum methodcaller update_wrapper wraps".split()
)
# The built-in functions that matter. The last four are looked at with what is handed to them.
BUILTINS: Dict[str, str] = {
    "code": "breakpoint compile eval exec help",
    "import": "__import__",
    "hidden": "globals locals vars",  # and `type` and `super`, by what stands around them
}
OPEN, ATTRIBUTE_BY_NAME = "open", ("getattr", "setattr", "delattr", "hasattr")
# Names under which nothing else may be imported, since they are judged by what they are called.
JUDGED = frozenset((OPEN, "type", "super", *ATTRIBUTE_BY_NAME, *" ".join(BUILTINS.values()).split()))
# Modules that nobody imports by the way: the import alone is a use.
IMPORTED = {**dict.fromkeys("_thread asyncio concurrent threading".split(), "thread"), "multiprocessing": "process"}
# Names with two underscores that tell a name or a place, or do what an operator does. Every other one leads from an
# object to what made it, or to a namespace.
DUNDERS = frozenset("__contains__ __doc__ __file__ __getitem__ __name__ __package__ __qualname__ __version__".split())
# Those that a file may bind, and the methods that a class may define: Python hands no stranger's object to them.
BINDABLE = frozenset("__all__ __slots__ __version__".split())
DEFINABLE = frozenset(
    "__bool__ __call__ __enter__ __exit__ __init__ __iter__ __len__ __new__ __next__ __repr__ __str__".split()
)
HOOKS = ("_missing_",)  # what a class may define with one underscore, and `in` hands any object to
BUILTIN_CLASSES = frozenset("bool bytes dict float frozenset int list set str tuple".split())
OF_SUPER = ("__init__", "__new__")  # called of super() alone, which is the class that stands there
# Names with one underscore that named tuples have.
OF_TUPLES = frozenset("_asdict _field_defaults _fields _make _replace".split())
TEMPLATES = ("format", "format_map")  # `{0.x}` takes the attribute x
# Methods of objects whose class a reading cannot know: paths, sockets, archives, libraries, frames.
METHODS: Dict[str, str] = {
    "write": "chmod extract extractall hardlink_to lchmod link_to mkdir rename rmdir symlink_to touch unlink writestr "
    "write_bytes write_text",
    "network": "bind connect connect_ex sendto",
    "code": "exec_module load_module",
    "native": "LoadLibrary from_address from_buffer in_dll prctl syscall",
    "process": "execl execv execve fork popen posix_spawn",
    "hidden": "_accessor _convert _convert_ ag_frame cr_frame f_back f_builtins f_globals f_locals gi_frame mro "
    "tb_frame",
}
# Our own functions that pass on any call whatsoever: who uses them is as much of a matter as who uses ctypes.
OWN: Dict[str, Dict[str, str]] = {"_sys.boundary": {"native": "execve prctl syscall"}}

# Calls that take a mode: the dotted name, and where the mode stands. os.open takes flags instead, fcntl a command.
MODE_AT: Dict[str, int] = dict.fromkeys(
    "open io.open os.fdopen codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile".split(), 1
)
FLAGS_AT: Dict[str, int] = {"os.open": 1, "posix.open": 1, "fcntl.fcntl": 1}
READING_FLAGS = frozenset(
    "O_RDONLY O_CLOEXEC O_NONBLOCK O_DIRECTORY O_PATH O_NOFOLLOW O_NOCTTY O_NOATIME O_SYNC "
    "F_GETFD F_GETFL F_DUPFD_CLOEXEC".split()
)
# What datetime.replace and the like take by name: beside these, .replace with a keyword renames a file.
OF_TIMES = frozenset("day fold hour microsecond minute month second tzinfo year".split())
ENVIRONMENTS = ("os.environ", "os.environb")
READING_ENVIRONMENT = ("get", "items", "keys", "values", "copy")


def _tables() -> Dict[str, Dict[str, str]]:
    tables = {name: {HARMLESS: "*"} for name in _PLAIN.split()}
    for kind, names in _WHOLE.items():
        tables.update({name: {kind: "*"} for name in names.split()})
    tables.update(_MIXED)
    tables["posix"] = tables["os"]
    tables["_signal"] = tables["signal"]
    tables["socket"] = tables["_socket"]
    return tables


TABLES = _tables()


def is_module(name: str) -> bool:
    """Tell whether a dotted name is a module that somebody has looked at."""
    return name in TABLES


@functools.lru_cache(maxsize=None)
def kind_of(module: str, name: str) -> str:
    """Return the kind of `name` in a module of the standard library; HARMLESS for what has none."""
    if name in DUNDERS:
        return HARMLESS
    table = TABLES.get(module, {})
    found: List[str] = [kind for kind, names in table.items() if name in names.split()]
    found += [kind for kind, names in table.items() if _fits(name, [one for one in names.split() if one != "*"])]
    if found:
        return found[0]
    rest = [kind for kind, names in table.items() if "*" in names.split()]
    others = (listed() | set(NEWER)) - {module}  # time.time is no module
    if not rest or (rest[0] == HARMLESS and (name.startswith("_") or name in others or name in _PASSED_ON)):
        return "hidden"
    return rest[0]


def _fits(name: str, patterns: List[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def builtin_kind(name: str) -> str:
    """Return the kind of a name that no file binds; HARMLESS for what has none."""
    for kind, names in BUILTINS.items():
        if name in names.split():
            return kind
    return "hidden" if is_dunder(name) and name not in DUNDERS else HARMLESS


def is_dunder(name: str) -> bool:
    """Tell whether Python itself gives a name its meaning."""
    return name.startswith("__") and name.endswith("__")


def method_kind(name: str) -> str:
    """Return the kind of an attribute of who knows what; HARMLESS for what has none."""
    for kind, names in METHODS.items():
        if name in names.split():
            return kind
    return "hidden" if is_dunder(name) and name not in DUNDERS else HARMLESS


def own_kind(module: str, name: str) -> str:
    """Return the kind of a function of the package; HARMLESS for what has none: its own file is looked at."""
    for kind, names in OWN.get(module.partition(".")[2], {}).items():
        if name in names.split():
            return kind
    return "hidden" if is_dunder(name) and name not in DUNDERS else HARMLESS
