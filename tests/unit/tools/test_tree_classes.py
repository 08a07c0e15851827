# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""No way leads from an object to the class that made it without a finding, and the few plain uses are none."""

from __future__ import annotations

from pathlib import Path
from typing import Set, Tuple

import pytest
import tree_effects
from support.planted import plant

HEAD = "from __future__ import annotations\nimport sys\nh = open('/etc/passwd', 'rb', 0)\n"


def uses(root: Path, text: str) -> Set[Tuple[str, str]]:
    """Return (kind, what) for every use in a planted module, in which `h` is a file that is open for reading."""
    tree = plant(root, {"aasm/planted.py": HEAD + text + "\n", "aasm/other.py": "import os\nX = 1\ndef f(): pass\n"})
    return {use[2:4] for use in tree_effects.uses(tree, tree.own())["aasm/planted.py"]}


WAYS = [
    ("X = type(h)\nX('/f', 'w').write(b'x')", "type"),
    ("type(h)('/f', 'w')", "type"),
    ("def f(launcher):\n    type(launcher.channel)(2, 2)", "type"),
    ("[type][0](h)", "type"),
    ("{'a': type}['a'](h)", "type"),
    ("(lambda make: make)(type)(h)", "type"),
    ("(x := type)(h)", "type"),
    ("list(map(type, [h]))[0]('/f', 'w')", "type"),
    ("[type(one) for one in [h]][0]('/f', 'w')", "type"),
    ("{type(h): 1}", "type"),
    ("for made in {type(h)}:\n    made('/f', 'w')", "type"),
    ("map(type(h), ['/f'], ['w'])", "type"),
    ("import functools\nfunctools.partial(type(h), '/f', 'w')()", "type"),
    ("import functools\nfunctools.partial(type)(h)('/f', 'w')", "type"),
    ("import functools\nfunctools.reduce(lambda a, b: b(a), [h, type])", "type"),
    ("@type\ndef f(): pass", "type"),
    ("@type(h)\ndef f(): pass", "type"),
    ("class A(type(h)): pass", "type"),
    ("class A(type): pass", "type"),
    ("class A(metaclass=type(h)): pass", "type"),
    ("def f(make=type): return make(h)", "type"),
    ("type('A', (), {})", "type"),
    ("type(*[h])('/f', 'w')", "type"),
    ("type(h) is None or type(h)('/f', 'w')", "type"),
    ("(type(h) if h else None)('/f', 'w')", "type"),
    ("type(h) if h is None else 1", "type"),
    ("type(h).fromkeys", "type"),
    ("type(None)('/f')", "type"),
    ("T = {}\ndef f():\n    global T\n    T = 1\nT[type(h)]", "type"),
    ("T = {}\nclass T:\n    def get(kind): kind('/f', 'w')\nT.get(type(h))", "type"),
    ("T = {}\nfrom .other import X as T\nT.get(type(h))", "type"),
    ("T = {}\ndef f(T): T.get(type(h))", "type"),
    ("T = {}\nT.setdefault(1, type(h))", "type"),
    ("T = {}\nT.get(1, type(h))", "type"),
    ("from collections import defaultdict\nT = defaultdict(int)\nT[type(h)]", "type"),
    ("f'{(t := type(h))}'", "type"),
    ("type(h) == 1", "type"),
    ("1 != type(h)", "type"),
    ("type(h) is 1 is not 2 == 3", "type"),
    ("type(h) in h", "type"),
    ("type(h) in (1, h)", "type"),
    ("type(h) in (int, str) == h", "type"),
    ("int in (type(h), int)", "type"),
    ("def f(int): type(h) in (int, str)", "type"),
    ("str = 1\ntype(h) in (int, str)", "type"),
    ("T = {int: 1, h: 2}\nT[type(h)]", "type"),
    ("T = {**sys.flags}\nT[type(h)]", "type"),
    ("class A:\n    def _missing_(cls, kind): kind('/f', 'w')", "_missing_"),
    ("import abc\nabc.ABCMeta('A', (), {'__subclasshook__': print})", "abc.ABCMeta"),
    ("import enum\nenum.EnumMeta", "enum.EnumMeta"),
    ("from numbers import ABCMeta as M\nM('A', (), {})", "numbers.ABCMeta"),
    ("from pathlib import attrgetter as get\nget('__class__')(h)", "pathlib.attrgetter"),
    ("from contextlib import wraps as copies\ncopies(h, ('__class__',))", "contextlib.wraps"),
    ("from dataclasses import FunctionType as F\nF(1, {})", "dataclasses.FunctionType"),
    ("isinstance(h, type)", "type"),
    ("h.__class__('/f', 'w')", ".__class__"),
    ("sys.stdin.buffer.raw.__class__('f', 'w')", ".__class__"),
    ("getattr(h, '__class__')('/f', 'w')", ".__class__"),
    ("h.__class__ is None", ".__class__"),
    ("class A: pass\nA().__class__ = int", ".__class__"),
    ("setattr(h, '__class__', int)", ".__class__"),
    ("h.__init__('/f', 'w')", ".__init__"),
    ("make = h.__init__\nmake('/f', 'w')", ".__init__"),
    ("def f(launcher):\n    launcher.channel.__init__(2, 2)", ".__init__"),
    ("object.__new__(int)", ".__new__"),
    ("h.__getattribute__('__class__')", ".__getattribute__"),
    ("h.__reduce__()", ".__reduce__"),
    ("h.__reduce_ex__(4)", ".__reduce_ex__"),
    ("h.__setstate__(1)", ".__setstate__"),
    ("h.__dir__()", ".__dir__"),
    ("h.__dict__", ".__dict__"),
    ("h.__enter__().__class__", ".__class__"),
    ("h.__eq__(1)", ".__eq__"),
    ("print.__call__('x')", ".__call__"),
    ("print.__self__", ".__self__"),
    ("h.read.__func__", ".__func__"),
    ("def f(g):\n    g.__wrapped__", ".__wrapped__"),
    ("def f(g):\n    g.__globals__, g.__builtins__, g.__closure__, g.__code__", ".__closure__"),
    ("int.__mro__", ".__mro__"),
    ("int.__bases__", ".__bases__"),
    ("int.__base__", ".__base__"),
    ("int.__subclasses__()", ".__subclasses__"),
    ("int.mro()", ".mro"),
    ("int.__class_getitem__", ".__class_getitem__"),
    ("def f(g):\n    g.__annotations__['x']", ".__annotations__"),
    ("def f(g):\n    g.__loader__, g.__spec__", ".__loader__"),
    ("from . import other\nother.__dict__['os']", "aasm.other.__dict__"),
    ("from . import other\nother.__builtins__['exec']", "aasm.other.__builtins__"),
    ("from .other import __builtins__ as b\nb['exec']", "aasm.other.__builtins__"),
    ("from .other import f\nf.__globals__['os']", ".__globals__"),
    ("super(int, h).__init__('/f', 'w')", "super"),
    ("class A:\n    def f(self):\n        make = super\n        make()", "super"),
    ("class A:\n    def f(self):\n        s = super()\n        s.__init__('/f', 'w')", "super"),
    ("class A:\n    def f(self):\n        super().__class__", ".__class__"),
    ("class A:\n    def f(self):\n        return super().__init__", ".__init__"),
    ("class A:\n    def f(self):\n        super().__getattribute__('x')", ".__getattribute__"),
    ("class A:\n    def __eq__(self, kind): kind('/f', 'w')", "__eq__"),
    ("class A:\n    def __contains__(self, kind): kind('/f', 'w')", "__contains__"),
    ("class A:\n    def __setattr__(self, name, made): made('/f', 'w')", "__setattr__"),
    ("class A:\n    def __get__(self, one, kind): kind('/f', 'w')", "__get__"),
    ("class A:\n    def __class_getitem__(cls, made): pass", "__class_getitem__"),
    ("class A:\n    def __missing__(self, kind): pass", "__missing__"),
    ("class A:\n    def __reduce__(self): pass", "__reduce__"),
    ("class A:\n    __eq__ = lambda self, kind: kind", "__eq__"),
    ("class A:\n    __init__ = 1", "__init__"),
    ("def __getattr__(name): pass", "__getattr__"),
    ("async def __getattr__(name): pass", "__getattr__"),
    ("class __builtins__: pass", "__builtins__"),
    ("from . import other as __builtins__", "__builtins__"),
    ("import sys as __builtins__", "__builtins__"),
    ("try: pass\nexcept OSError as __builtins__: pass", "__builtins__"),
    ("'{0.__class__}'.format(h)", ".format"),
    ("'{0[_x]}'.format(h)", ".format"),
    ("'{0:{1._x}}'.format(h, h)", ".format"),
    ("('{0.__cl' + 'ass__}').format(h)", ".format"),
    ("def f(text): text.format(h)", ".format"),
    ("T = '{0.__class__}'\nT.format(h)", ".format"),
    ("'{x.__class__}'.format_map({'x': h})", ".format_map"),
    ("str.format('{0.__class__}', h)", ".format"),
    ("list(map('{0}'.format, [h]))", ".format"),
    ("f'{h.__class__}'", ".__class__"),
    ("import string\nstring.Formatter().get_field('0.__class__', [h], {})", "string.Formatter"),
    ("import operator\noperator.attrgetter('__class__')(h)", "operator.attrgetter"),
    ("import operator\noperator.methodcaller('__init__', '/f', 'w')(h)", "operator.methodcaller"),
    ("import functools\nfunctools.update_wrapper(1, h, ('__class__',), ())", "functools.update_wrapper"),
    ("import functools\nfunctools.wraps(h, ('__class__',), ())", "functools.wraps"),
    ("import types\ntypes.prepare_class('A', (h,))[0]('/f', 'w')", "types.prepare_class"),
    ("import types\ntypes.new_class('A', (h,))", "types.new_class"),
    ("import enum\nenum.Enum._convert_('A', 'os', lambda name: True).system('x')", "._convert_"),
    ("def f(kind):\n    kind._convert_('A', 'os', lambda name: True)", "._convert_"),
    ("import enum\nenum.global_enum(1)", "enum.global_enum"),
    ("def f(path):\n    path._accessor.open('b', 577)", "._accessor"),
    ("def f(parser):\n    parser._registries['action']", "._registries"),
    ("import copy\ncopy.dispatch_table", "copy.dispatch_table"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "what"), WAYS)
def test_a_way_from_an_object_to_its_class_or_to_an_unseen_attribute_is_found(
    text: str, what: str, tmp_path: Path
) -> None:
    assert ("hidden", what) in uses(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "type(h) is int, type(h) is not type(sys), type(h) in (int, type(None)), int is type(h), type(h) not in [str]",
        "print(type(h).__name__, type(h).__qualname__, __name__, __file__, __package__)",
        "T = {int: 1, type(None): 2}\ndef f():\n    return T[type(h)], T.get(type(h)), T.get(type(h), 3)",
        "def f(a: type) -> type: pass",
        "class A(int):\n    def __init__(self):\n        super().__init__()\n        super().f(1)",
        "class A(int):\n    def __new__(cls):\n        return super().__new__(cls)",
        "class A:\n    __slots__ = ('a',)\n    def __enter__(self): pass\n    def __exit__(self, *words): pass",
        "'{0} {x[a]} {y.z}'.format(1, x={}, y=h)\nT = '{}' 'x'\nT.format(1)\ndef f():\n    return T.format(2)",
        "from .other import f as g\n__version__ = '1'\n__all__ = ['g']\nprint(g.__name__, g.__doc__)",
        "from typing import NamedTuple\nclass A(NamedTuple):\n    a: int\nA(1)._replace(a=2)._asdict()",
        "class A:\n    def __init__(self):\n        self._own = {}\ndef f(a):\n    return a._own.__getitem__",
        "def f(path):\n    path.open('rb')",
        "import contextlib\nwith contextlib.suppress(OSError): pass",
    ],
)  # fmt: skip
def test_comparing_naming_and_looking_up_is_left_alone(text: str, tmp_path: Path) -> None:
    assert uses(tmp_path, text) - {("hidden", "sys")} == set()


def test_templates_in_a_circle_of_imports_are_no_trouble(tmp_path: Path) -> None:
    files = {"aasm/a.py": "from .b import T\nT.format(1)\n", "aasm/b.py": "from .a import T\n"}
    tree = plant(tmp_path, files)
    assert [use.what for use in tree_effects.uses(tree, tree.own())["aasm/a.py"]] == [".format"]


THREADS = [
    ("import threading", "thread", "threading"),
    ("from threading import Thread as T\nT(target=print).start()", "thread", "threading.Thread"),
    ("def f():\n    import threading\n    threading.Timer(1, print)", "thread", "threading.Timer"),
    ("import _thread\n_thread.start_new_thread(print, ())", "thread", "_thread.start_new_thread"),
    ("import concurrent.futures", "thread", "concurrent"),
    ("from concurrent import futures\nfutures.ThreadPoolExecutor()", "thread", "concurrent.futures.ThreadPoolExecutor"),
    ("from concurrent.futures import thread", "thread", "concurrent"),
    ("import asyncio", "thread", "asyncio"),
    ("import asyncio\nasyncio.run(print())", "network", "asyncio.run"),
    ("import multiprocessing", "process", "multiprocessing"),
    ("from multiprocessing.dummy import Pool", "process", "multiprocessing"),
    ("import functools\nfunctools.RLock()", "thread", "functools.RLock"),
    ("import queue\nqueue.threading.Thread()", "hidden", "queue.threading"),
    ("import os\nos.fork(), os.forkpty()", "process", "os.fork"),
]


@pytest.mark.parametrize(("text", "kind", "what"), THREADS)
def test_a_thread_is_found_where_it_is_imported_and_where_it_is_used(
    text: str, kind: str, what: str, tmp_path: Path
) -> None:
    assert (kind, what) in uses(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("import contextlib\ncontextlib.chdir('/')", "state", "contextlib.chdir"),
        ("import contextlib\ncontextlib.redirect_stdout(None)", "state", "contextlib.redirect_stdout"),
        ("import calendar\ncalendar.different_locale('C')", "state", "calendar.different_locale"),
        ("import weakref\nweakref.finalize(h, print)", "state", "weakref.finalize"),
        ("import functools\n@functools.singledispatch\ndef f(a): pass", "code", "functools.singledispatch"),
        ("import dataclasses\ndataclasses.make_dataclass('A', ['a'])", "code", "dataclasses.make_dataclass"),
        ("def f(archive):\n    archive.open('b', 'w')", "write", ".open"),
        ("def f(archive, mode):\n    archive.open('b', mode)", "write", ".open"),
    ],
)
def test_what_a_harmless_module_does_to_the_process_is_found(text: str, kind: str, what: str, tmp_path: Path) -> None:
    assert (kind, what) in uses(tmp_path, text)
