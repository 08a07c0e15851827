# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What code can do is found, however it is written, and held to the reviewed table in both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, List, Tuple

import pytest
import tree_effects
import tree_kinds as kinds
import tree_reviewed
import tree_reviewed_tools
from support.planted import found, plant, told
from tree import Tree
from tree_reviewed import Row

HEAD = "from __future__ import annotations\n"


def uses(root: Path, text: str, **others: str) -> List[Tuple[str, str, str]]:
    """Return (kind, what, function) for every use in a planted module, which may import others of the package."""
    tree = plant(root, {"aasm/planted.py": text, **{f"aasm/{name}.py": one for name, one in others.items()}})
    return [(use.kind, use.what, use.function) for use in tree_effects.uses(tree, tree.own())["aasm/planted.py"]]


PLAINLY = [
    ("__import__('x')", "import", "__import__"),
    ("import importlib\nimportlib.import_module('x')", "import", "importlib.import_module"),
    ("import importlib.util\nimportlib.util.find_spec('x')", "import", "importlib.util"),
    ("import runpy\nrunpy.run_path('x')", "import", "runpy.run_path"),
    ("import pkgutil\npkgutil.resolve_name('x')", "import", "pkgutil.resolve_name"),
    ("import sys\nsys.path.insert(0, 'x')", "import", "sys.path"),
    ("exec('x')", "code", "exec"),
    ("eval('x')", "code", "eval"),
    ("compile('x', 'x', 'exec')", "code", "compile"),
    ("breakpoint()", "code", "breakpoint"),
    ("import pickle\npickle.loads(b'')", "code", "pickle.loads"),
    ("import marshal\nmarshal.loads(b'')", "code", "marshal.loads"),
    ("import sys\nsys.settrace(print)", "code", "sys.settrace"),
    ("import types\ntypes.FunctionType(1, {})", "code", "types.FunctionType"),
    ("import subprocess\nsubprocess.run(['x'])", "process", "subprocess.run"),
    ("import os\nos.system('x')", "process", "os.system"),
    ("import os\nos.popen('x')", "process", "os.popen"),
    ("import os\nos.fork()", "process", "os.fork"),
    ("import os\nos.forkpty()", "process", "os.forkpty"),
    ("import os\nos.execv('x', [])", "process", "os.execv"),
    ("import os\nos.spawnlp(0, 'x')", "process", "os.spawnlp"),
    ("import os\nos.posix_spawnp('x', [], {})", "process", "os.posix_spawnp"),
    ("import posix\nposix.fork()", "process", "posix.fork"),
    ("import pty\npty.spawn('x')", "process", "pty.spawn"),
    ("import multiprocessing.pool\nmultiprocessing.pool.Pool()", "process", "multiprocessing.pool"),
    ("import concurrent.futures as f\nf.ProcessPoolExecutor()", "process", "concurrent.futures.ProcessPoolExecutor"),
    ("import _posixsubprocess\n_posixsubprocess.fork_exec()", "process", "_posixsubprocess.fork_exec"),
    ("import uuid\nuuid.getnode()", "process", "uuid.getnode"),
    ("import socket\nsocket.create_connection(('x', 1))", "network", "socket.create_connection"),
    ("import _socket\n_socket.socket()", "network", "_socket.socket"),
    ("import http.client\nhttp.client.HTTPConnection('x')", "network", "http.client"),
    ("import urllib.request\nurllib.request.urlopen('x')", "network", "urllib.request"),
    ("import ssl\nssl.create_default_context()", "network", "ssl.create_default_context"),
    ("def f(peer):\n    peer.connect(('x', 1))", "network", ".connect"),
    ("open('x', 'w')", "write", "open"),
    ("open('x', mode='a')", "write", "open"),
    ("open('x', 'r+')", "write", "open"),
    ("def f(mode):\n    open('x', mode)", "write", "open"),
    ("def f(words):\n    open(*words)", "write", "open"),
    ("def f(words):\n    open('x', **words)", "write", "open"),
    ("import io\nio.open('x', 'x')", "write", "io.open"),
    ("import codecs\ncodecs.open('x', 'w')", "write", "codecs.open"),
    ("import gzip\ngzip.open('x', 'w')", "write", "gzip.open"),
    ("import os\nos.fdopen(1, 'w')", "write", "os.fdopen"),
    ("import os\nos.open('x', os.O_WRONLY)", "write", "os.open"),
    ("import os\nos.open('x', os.O_RDONLY | os.O_CREAT)", "write", "os.open"),
    ("import os\nos.open('x', 1)", "write", "os.open"),
    ("import os\ndef f(flags):\n    os.open('x', os.O_CLOEXEC | flags)", "write", "os.open"),
    ("import os\nFLAGS = os.O_RDONLY\nFLAGS |= os.O_RDWR\nos.open('x', FLAGS)", "write", "os.open"),
    ("import os\nF = os.O_RDONLY\ndef f():\n    global F\n    F = 2\nos.open('x', F)", "write", "os.open"),
    ("import os\nos.write(1, b'')", "write", "os.write"),
    ("import os\nos.rename('x', 'y')", "write", "os.rename"),
    ("import os\nos.unlink('x')", "write", "os.unlink"),
    ("import os\nos.removedirs('x')", "write", "os.removedirs"),
    ("import os\nos.truncate('x', 0)", "write", "os.truncate"),
    ("import shutil\nshutil.rmtree('x')", "write", "shutil.rmtree"),
    ("import tempfile\ntempfile.mkdtemp()", "write", "tempfile.mkdtemp"),
    ("import sqlite3\nsqlite3.connect('x')", "write", "sqlite3.connect"),
    ("from pathlib import Path\nPath('x').write_text('')", "write", ".write_text"),
    ("from pathlib import Path\nPath.write_text(Path('x'), '')", "write", ".write_text"),
    ("from pathlib import Path\nPath('x').open('w')", "write", ".open"),
    ("def f(path):\n    path.replace('x')", "write", ".replace"),
    ("def f(path):\n    path.symlink_to('x')", "write", ".symlink_to"),
    ("def f(archive):\n    archive.extractall()", "write", ".extractall"),
    ("import argparse\nargparse.FileType('w')", "write", "argparse.FileType"),
    ("import ctypes\nctypes.CDLL(None)", "native", "ctypes.CDLL"),
    ("import ctypes\nctypes.cdll.LoadLibrary('x')", "native", "ctypes.cdll"),
    ("import ctypes\nlibrary = ctypes.CDLL(None)\nlibrary.system(b'x')", "native", "native.system"),
    ("import ctypes\nctypes.CDLL(None).system(b'x')", "native", "native.system"),
    ("import ctypes\nctypes.CDLL(None)['system'](b'x')", "native", "ctypes.CDLL"),
    ("import ctypes\nlibrary = ctypes.CDLL(None)\nlibrary['system'](b'x')", "hidden", "native"),
    ("import ctypes\nctypes.c_long.from_address(1).value = 2", "native", ".from_address"),
    ("import ctypes.util\nctypes.util.find_library('x')", "native", "ctypes.util"),
    ("import mmap\nmmap.mmap(1, 2)", "native", "mmap.mmap"),
    ("import os\nos.putenv('x', 'y')", "environment", "os.putenv"),
    ("import os\nos.environ['x'] = 'y'", "environment", "os.environ"),
    ("import os\ndel os.environ['x']", "environment", "os.environ"),
    ("import os\nos.environ.update({})", "environment", "os.environ"),
    ("import os\ntable = os.environb", "environment", "os.environb"),
    ("import os\nos.kill(1, 9)", "signal", "os.kill"),
    ("import signal\nsignal.pidfd_send_signal(1, 9)", "signal", "signal.pidfd_send_signal"),
    ("import os\nos.umask(0)", "state", "os.umask"),
    ("import os\nos.setuid(0)", "state", "os.setuid"),
    ("import resource\nresource.setrlimit(1, (1, 1))", "state", "resource.setrlimit"),
    ("import fcntl\nfcntl.fcntl(1, fcntl.F_SETFL, 0)", "state", "fcntl.fcntl"),
    ("import json\njson.loads = print", "state", "json.loads"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "what"), PLAINLY)
def test_what_is_written_plainly_is_found(text: str, kind: str, what: str, tmp_path: Path) -> None:
    assert (kind, what) in {use[:2] for use in uses(tmp_path, HEAD + text + "\n")}


IN_DISGUISE = [
    ("import os as x\nx.system('y')", "process", "os.system"),
    ("from os import system\nsystem('y')", "process", "os.system"),
    ("from os import system as x\nx('y')", "process", "os.system"),
    ("from os import system\nrun = system", "process", "os.system"),
    ("import os\nrun = {'a': os.system}['a']", "process", "os.system"),
    ("import os.path as p\np.os.system('y')", "hidden", "os.path.os"),
    ("import enum\nenum.bltns.exec('y')", "hidden", "enum.bltns"),
    ("import shlex\nshlex.os.system('y')", "hidden", "shlex.os"),
    ("import argparse\nargparse._sys.modules", "hidden", "argparse._sys"),
    ("import json.tool as t\nt.sys.exit()", "hidden", "json.tool"),
    ("from os import *\nsystem('y')", "hidden", "os.*"),
    ("import os\nother = os\nother.system('y')", "hidden", "os"),
    ("import os\n[os][0].system('y')", "hidden", "os"),
    ("import os\ndef f(m=os):\n    m.system('y')", "hidden", "os"),
    ("import os\nf = lambda m=os: m.system('y')", "hidden", "os"),
    ("import os\ndef f():\n    return os\nf().system('y')", "hidden", "os"),
    ("import os\nclass A:\n    m = os\nA.m.system('y')", "hidden", "os"),
    ("import os\nsystem = getattr(os, 'sys' + 'tem')", "hidden", "getattr"),
    ("import os\ngetattr(os, 'system')('y')", "process", "os.system"),
    ("import os\nget = getattr\nget(os, 'x')", "hidden", "getattr"),
    ("import operator, os\noperator.attrgetter('system')(os)", "hidden", "operator.attrgetter"),
    ("import operator\noperator.methodcaller('x')", "hidden", "operator.methodcaller"),
    ("globals()['__built' + 'ins__']", "hidden", "globals"),
    ("vars()['x']", "hidden", "vars"),
    ("locals()['x']", "hidden", "locals"),
    ("__builtins__['exec']('y')", "hidden", "__builtins__"),
    ("__loader__.load_module('os')", "hidden", "__loader__"),
    ("import builtins\nbuiltins.exec('y')", "hidden", "builtins.exec"),
    ("import sys\nsys.modules['os'].system('y')", "import", "sys.modules"),
    ("import sys\nsys._getframe()", "hidden", "sys._getframe"),
    ("import os\nos.getpid.__self__.system('y')", "hidden", ".__self__"),
    ("().__class__.__base__.__subclasses__()", "hidden", ".__subclasses__"),
    ("def f():\n    pass\nf.__globals__['x']", "hidden", ".__globals__"),
    ("getattr(print, '__self__').exec('y')", "hidden", ".__self__"),
    ("def f(g):\n    g.gi_frame.f_back.f_builtins['exec']('y')", "hidden", ".f_builtins"),
    ("import gc\ngc.get_objects()", "hidden", "gc.get_objects"),
    ("import inspect\ninspect.stack()", "hidden", "inspect.stack"),
    ("import somewhere_else\nsomewhere_else.do()", "hidden", "somewhere_else"),
    ("__path__ = ['/somewhere']", "hidden", "__path__"),
    ("__path__.append('/somewhere')", "hidden", "__path__"),
    ("run = exec", "code", "exec"),
    ("do = open", "hidden", "open"),
    ("list(map(open, ['x'], ['w']))", "hidden", "open"),
    ("import os\ndo = os.open", "hidden", "os.open"),
    ("def f(open):\n    def g():\n        global open\n        open('x', 'w')", "write", "open"),
    ("def f():\n    g = lambda open: open\n    open('x', 'w')", "write", "open"),
    ("def f():\n    [open for open in ()]\n    open('x', 'w')", "write", "open"),
    ("def f():\n    def g(open):\n        pass\n    open('x', 'w')", "write", "open"),
    ("if 0:\n    open = print\nopen('x', 'w')", "write", "open"),
    ("def f():\n    os = 1\n    import os\n    os.system('y')", "process", "os.system"),
    ("class A:\n    def open(self):\n        pass\ndef f(it):\n    it.open('w')", "write", ".open"),
    ("import _socket\nargv = ['python3', '-c', 'text']", "code", "`-c`"),
    ("argv = ['python3', '-Ic', 'text']", "code", "`-Ic`"),
    ("\uff45xec('y')", "code", "exec"),
    ("@eval\ndef f():\n    pass", "code", "eval"),
    ("class A(metaclass=eval):\n    pass", "code", "eval"),
    ("f'{eval(1)}'", "code", "eval"),
    ("import typing\ntyping.get_type_hints(A)", "code", "typing.get_type_hints"),
    ("from os import open", "hidden", "open"),
    ("def f():\n    from os import getcwd as exec\nexec('y')", "hidden", "exec"),
    ("def f():\n    import json as eval\neval('y')", "hidden", "eval"),
    ("from os import system as getattr\ngetattr('y', 'x')", "hidden", "getattr"),
    ("def f():\n    from os import getcwd as type\ntype(1)('y')", "hidden", "type"),
    ("def g():\n    import json as p\ndef f(p):\n    p.write_text('y')", "write", ".write_text"),
    ("import json as p\np = other\np.write_text('y')", "write", ".write_text"),
    ("import json as p\ndef f():\n    global p\n    p = 1\ndef g():\n    p.connect('y')", "network", ".connect"),
    ("def g():\n    import json as p\ndef f(p):\n    p.replace('y')", "write", ".replace"),
    ("def f(open):\n    class A:\n        global open\n        open('x', 'w')", "write", "open"),
    ("getattr(*[print, '__self__'], 'x')", "hidden", "getattr"),
    ("getattr(*[print], 'x')", "hidden", "getattr"),
    ("setattr(name='x')", "hidden", "setattr"),
    ("import os\nos.open(*['x', 1], os.O_RDONLY)", "write", "os.open"),
    ("import os\nos.open('x', os.O_RDONLY, **{})", "write", "os.open"),
    ("def f(path):\n    path.replace(target='y')", "write", ".replace"),
    ("def f(path):\n    path.replace(*['y'], *[])", "write", ".replace"),
    ("def f(path):\n    do = path.replace", "write", ".replace"),
    ("def f(path):\n    do = path.open\n    do('w')", "write", ".open"),
    ("def f(path):\n    list(map(path.open, ['w']))", "write", ".open"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "what"), IN_DISGUISE)
def test_a_disguise_does_not_help(text: str, kind: str, what: str, tmp_path: Path) -> None:
    assert (kind, what) in {use[:2] for use in uses(tmp_path, HEAD + text + "\n")}


@pytest.mark.parametrize(
    "text",
    [
        "import os\nprint(os.getcwd(), os.path.join('x', 'y'))",
        "import os\nprint(os.environ.get('x'), os.environ['x'], 'x' in os.environ)",
        "open('x')\nopen('x', 'rb')\nopen('x', encoding='ascii')",
        "import os\nos.open('x', os.O_RDONLY | os.O_CLOEXEC)",
        "import os as o\nFLAGS = o.O_PATH | o.O_CLOEXEC\no.open('x', FLAGS | o.O_DIRECTORY)",
        "import os\ndef f(a):\n    os.open('x', os.O_RDONLY if a else os.O_PATH)",
        "from os import O_RDONLY, open as o\no('x', O_RDONLY)",
        "import datetime\ndef f(a):\n    a.replace(tzinfo=None, microsecond=0), a.replace('b', 'c', 1)",
        "def f():\n    import json\n    json.dumps(1)",
        "class A:\n    def __init__(self):\n        self.open = False",
        "import fcntl\nfcntl.fcntl(1, fcntl.F_GETFL)",
        "import os\ngetattr(os, 'O_PATH', 0)\nhasattr(print, 'x' + 'y')",
        "import time, re, json\ntime.time()\nre.compile('x')\njson.loads('1')",
        "'a'.replace('b', 'c')",
        "class A:\n    def open(self, x):\n        self.open('w')",
        "def f(open, compile):\n    return open(compile, 'w')",
        "def f():\n    for open in ():\n        open('x', 'w')",
        "import _socket\ndef f(a: _socket.socket) -> _socket.socket:\n    b: _socket.socket = a\n    return b",
        "import os\nprint(__name__, __file__, os.__name__, type(os.path).__name__)",
        "import pathlib\npathlib.Path('x').read_text()",
    ],
)
def test_what_only_reads_or_computes_is_left_alone(text: str, tmp_path: Path) -> None:
    allowed = {("hidden", "os.path")} if "type(os.path)" in text else set()
    assert {use[:2] for use in uses(tmp_path, HEAD + text + "\n")} == allowed


def test_an_annotation_that_is_evaluated_is_a_use(tmp_path: Path) -> None:
    text = "import os\ndef f(a: os.system('x')):\n    b: int = 1\n"
    assert ("process", "os.system", "(top)") in uses(tmp_path / "a", text)
    assert uses(tmp_path / "b", HEAD + text) == []


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("from .other import os\nos.system('y')", "process", "os.system"),
        ("from .other import o\no.system('y')", "process", "os.system"),
        ("from . import other\nother.os.system('y')", "process", "os.system"),
        ("from .other import run\nrun('y')", "process", "os.system"),
        ("from . import other as o\no.loaded.execve(b'y')", "native", "native.execve"),
        ("from . import other\nagain = other\nagain.os.system('y')", "hidden", "aasm.other"),
        ("from . import other\nother.FLAG = 1", "state", "aasm.other.FLAG"),
        ("from . import other\nother.path.write_text('y')", "write", ".write_text"),
    ],
)
def test_our_own_modules_are_no_hiding_place(text: str, kind: str, what: str, tmp_path: Path) -> None:
    other = "import ctypes\nimport os\nimport os as o\nfrom os import system as run\nloaded = ctypes.CDLL(None)\n"
    assert (kind, what) in {use[:2] for use in uses(tmp_path, HEAD + text + "\n", other=HEAD + other)}


def test_modules_that_import_each_other_in_a_circle_are_no_trouble(tmp_path: Path) -> None:
    text = "from .other import a as b\nb.system('x')\n"
    assert uses(tmp_path, HEAD + text, other=HEAD + "from .planted import b as a\n") == []


def test_who_makes_any_call_through_the_kernel_layer_is_found(tmp_path: Path) -> None:
    tree = plant(
        tmp_path,
        {
            "aasm/planted.py": "from ._sys import boundary\n\ndef f():\n    boundary.syscall(59)\n",
            "aasm/_sys/__init__.py": "",
            "aasm/_sys/boundary.py": "def syscall(number):\n    return number\n",
        },
    )
    found_uses = tree_effects.uses(tree, tree.own())["aasm/planted.py"]
    assert [use[1:4] for use in found_uses] == [("f", "native", "aasm._sys.boundary.syscall")]


def test_a_use_is_named_with_its_class_and_function(tmp_path: Path) -> None:
    inner = "        def g():\n            os.fork()\n        return lambda: os.kill(1, 2)\n"
    text = f"import os\nclass A:\n    def f(self):\n{inner}"
    assert uses(tmp_path, HEAD + text) == [
        ("process", "os.fork", "A.f.g"),
        ("signal", "os.kill", "A.f"),
    ]


FORKS = {"aasm/planted.py": HEAD + "import os\n\ndef f():\n    os.fork()\n"}


def row(**changes: str) -> Row:
    return Row("aasm/planted.py", "process", "os.fork", "f", "a reason")._replace(**changes)


def compared(root: Path, *rows: Row) -> List[str]:
    return told(tree_effects.of_package(plant(root, FORKS), rows))


def test_a_use_needs_a_row(tmp_path: Path) -> None:
    assert compared(tmp_path, row()) == []
    reason = kinds.KINDS["process"]
    line = 8
    assert compared(tmp_path) == [f"aasm/planted.py:{line}: effects: process: os.fork in f: {reason}"]


@pytest.mark.parametrize(
    "changes",
    [{"files": "aasm/other.py"}, {"kind": "signal"}, {"what": "os.kill"}, {"functions": "g"}],
    ids=lambda changes: next(iter(changes)),
)
def test_a_row_for_something_else_is_none_for_this(changes: Dict[str, str], tmp_path: Path) -> None:
    findings = compared(tmp_path, row(**changes))
    assert any("os.fork in f" in line for line in findings) and any("used no more" in line for line in findings)


@pytest.mark.parametrize(("field", "word"), [("files", "aasm/__init__.py"), ("what", "os.kill"), ("functions", "g")])
def test_every_word_of_a_row_is_needed(field: str, word: str, tmp_path: Path) -> None:
    wide = row(**{field: f"{getattr(row(), field)} {word}"})
    assert compared(tmp_path, wide) == [
        f"aasm/planted.py:1: effects: process: {word} is reviewed and is used no more: tools/tree_reviewed.py"
    ]


def test_the_tools_have_rows_of_their_own(tmp_path: Path) -> None:
    text = {"tools/planted.py": "import os\n\nos.fork()\n"}
    assert len(found(tree_effects.of_tools, tmp_path, text)) > 1
    tree = Tree(tmp_path)
    assert told(tree_effects.of_tools(tree, [row(files="tools/planted.py", functions="(top)")])) == []
    assert told(tree_effects.of_package(tree, [])) == []


@pytest.mark.parametrize("name", ["planted.py", "docs/planted.py", "examples/a/planted.py", ".ci/planted.py"])
def test_code_that_is_neither_package_nor_test_is_looked_at_like_a_tool(name: str, tmp_path: Path) -> None:
    tree = plant(tmp_path, {name: "import os\n\nos.fork()\n", "tests/planted.py": "import os\n\nos.fork()\n"})
    assert told(tree_effects.of_tools(tree, [])) == [
        f"{name}:6: effects: process: os.fork in (top): {kinds.KINDS['process']}"
    ]


@pytest.mark.parametrize("table", [tree_reviewed.REVIEWED, tree_reviewed_tools.REVIEWED_TOOLS])
def test_the_rows_have_a_known_kind_and_a_reason(table: Tuple[Row, ...]) -> None:
    assert {one.kind for one in table} <= set(kinds.KINDS)
    assert all(len(one.why) > 5 for one in table)
    assert len(set(table)) == len(table)
