# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A copy compared with a listing: every change is named, and compiled files are what their sources compile to."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import py_compile
import random
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest
from project import PACKAGE, ROOT
from support import copied

from aasm import copies, origin
from aasm.errors import UsageError

A, B, C = ("0" * 63 + digit for digit in "123")
GOOD = f"{A}  a.py\n{B} *b/c.py\n{C}  ./d e\n".encode()


def spdx(*rows: Tuple[str, str], **more: Any) -> bytes:
    files = [
        {"fileName": name, "checksums": [{"algorithm": "SHA1", "checksumValue": "x"},
                                         {"algorithm": "SHA256", "checksumValue": digest}]}
        for name, digest in rows
    ]  # fmt: skip
    return json.dumps({"spdxVersion": "SPDX-2.3", "files": files, **more}).encode()


# --- listings -----------------------------------------------------------------------------------------


def test_a_list_by_sha256sum_and_an_spdx_document_are_read() -> None:
    assert copies.listing(GOOD, "x") == copies.Listing("x", True, {"a.py": A, "b/c.py": B, "d e": C})
    found = copies.listing(spdx(("./aasm/a.py", A), ("./x", B)), "x")
    assert found == copies.Listing("x", False, {"aasm/a.py": A, "x": B})


def test_sha256sum_itself_writes_such_a_list(tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text("x")
    (tmp_path / "\u00fc").write_text("y")
    data = subprocess.check_output(["sha256sum", "a b.py", "\u00fc"], cwd=tmp_path)
    assert copies.listing(data, "x").digests == {"a b.py": origin.sha256(b"x"), "\u00fc": origin.sha256(b"y")}


WRONG: Dict[str, bytes] = {
    "nothing": b"",
    "a line feed": b"\n",
    "no end of the line": f"{A}  a.py".encode(),
    "a short digest": f"{A[1:]}  a.py\n".encode(),
    "capital digits": f"{'A' * 64}  a.py\n".encode(),
    "an escaped name": f"\\{A}  a\\nb.py\n".encode(),
    "a name twice": f"{A}  a.py\n{A}  a.py\n".encode(),
    "a name twice, spelled in two ways": f"{A}  a.py\n{A}  ./a.py\n".encode(),
    "the output of another tool": f"SHA256 (a.py) = {A}\n".encode(),
    "no JSON": b"{",
    "an empty object": b"{}",
    "no files": spdx(),
    "files that are none": b'{"files": 7}',
    "a file that is none": b'{"files": [7]}',
    "a key twice": b'{"files": [], "files": []}',
    "a file twice": spdx(("./a", A), ("./a", B)),
    "no SHA256": b'{"files": [{"fileName": "./a", "checksums": [{"algorithm": "SHA1", "checksumValue": "x"}]}]}',
    "two SHA256": b'{"files": [{"fileName": "./a", "checksums": [' + b", ".join([b'{"algorithm": "SHA256", '
                  b'"checksumValue": "x"}'] * 2) + b"]}]}",
    "an absolute name": spdx(("/a", A)),
    "a digest that is none": b'{"files": [{"fileName": "./a", "checksums": [{"algorithm": "SHA256", '
                             b'"checksumValue": 7}]}]}',
    "very deep": b'{"files": ' + b"[" * 100_000,
    "noise": random.Random(1).getrandbits(8000).to_bytes(1000, "big"),
    "noise in braces": b"{" + random.Random(2).getrandbits(8000).to_bytes(1000, "big"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG))
def test_what_is_no_listing_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "list").write_bytes(WRONG[name])
    with pytest.raises(UsageError) as caught:
        copies.read_listing(str(tmp_path / "list"))
    assert str(caught.value).startswith(str(tmp_path)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["", "/", "/nonexistent", "/dev/zero", "a\0b", "/proc/self/mem"])
def test_what_cannot_be_read_is_one_line(path: str) -> None:
    with pytest.raises(UsageError):
        copies.read_listing(path)


# --- comparing ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copied.vendored(tmp_path)


def compared(folder: Path, against: Optional[copies.Listing] = None) -> copies.Comparison:
    copy = origin.Copy(str(folder))
    stated = against or copies.listing_beside(copy)
    assert stated is not None
    return copies.compare(copy, stated)


def test_an_unchanged_copy_is_the_same(folder: Path) -> None:
    found = compared(folder)
    assert found.same and found == (found.files, (), (), (), ())
    assert found.files == len([path for path in folder.rglob("*") if path.is_file()]) - 1


def _link_to_folder(folder: Path) -> None:
    (folder / "policy2").symlink_to(folder / "policy")


def _fifo(folder: Path) -> None:
    (folder / "errors.py").unlink()
    os.mkfifo(folder / "errors.py")


def _written(name: str, data: bytes = b"x") -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)

    return write


# What is done to a copy, and what is then said: differs, missing, too much.
CHANGES: Dict[str, Tuple[Callable[[Path], object], List[List[str]]]] = {
    "a byte": (lambda top: (top / "errors.py").write_bytes((top / "errors.py").read_bytes() + b"\n"),
               [["acme/errors.py"], [], []]),
    "an empty file": (_written("model/plan.py", b""), [["acme/model/plan.py"], [], []]),
    "a missing file": (lambda top: (top / "errors.py").unlink(), [[], ["acme/errors.py"], []]),
    "a missing licence": (lambda top: (top / "LICENSE").unlink(), [[], ["acme/LICENSE"], []]),
    "another revision": (_written("REVISION"), [["acme/REVISION"], [], []]),
    "another name": (lambda top: os.rename(top / "errors.py", top / "Errors.py"),
                     [[], ["acme/errors.py"], ["acme/Errors.py"]]),
    "a module more": (_written("sitecustomize.py"), [[], [], ["acme/sitecustomize.py"]]),
    "an extension that stands before the source": (_written("errors.abi3.so"), [[], [], ["acme/errors.abi3.so"]]),
    "a package that stands before the source": (_written("errors/__init__.py"), [[], [], ["acme/errors/__init__.py"]]),
    "a compiled file without a source": (_written("evil.pyc"), [[], [], ["acme/evil.pyc"]]),
    "an extension among compiled files": (_written("__pycache__/x.so"), [[], [], ["acme/__pycache__/x.so"]]),
    "a source among compiled files": (_written("__pycache__/x.py"), [[], [], ["acme/__pycache__/x.py"]]),
    "a path file": (_written("x.pth"), [[], [], ["acme/x.pth"]]),
    "a hidden file": (_written(".x"), [[], [], ["acme/.x"]]),
    "a link to a folder": (_link_to_folder, [[], [], ["acme/policy2"]]),
    "a fifo in place of a file": (_fifo, [["acme/errors.py"], [], []]),
    "a link to nothing": (lambda top: (top / "x").symlink_to("nothing"), [[], [], ["acme/x"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CHANGES))
def test_every_change_is_named(folder: Path, name: str) -> None:
    change, expected = CHANGES[name]
    change(folder)
    found = compared(folder)
    assert [list(found.differs), list(found.missing), list(found.extra)] == expected
    assert not found.same


def test_compiled_files_and_empty_folders_are_no_change(folder: Path) -> None:
    _written("__pycache__/errors.cpython-39.pyc")(folder)
    (folder / "empty").mkdir()
    assert compared(folder).same


def test_a_whole_copy_is_the_same_as_the_sbom_of_a_tree(folder: Path) -> None:
    entries = [*copied.code(), *((name, (ROOT / name).read_bytes()) for name in ("LICENSE", "NOTICE", "README.md"))]
    stated = copies.listing(copied.listed(entries, copied.TREE), "x")
    found = compared(folder, stated)
    assert found.same and found.unlisted == ("acme/MANIFEST.sha256", "acme/REVISION")
    (folder / "NOTICE").write_text("other")
    (folder / "errors.py").unlink()
    found = compared(folder, stated)
    assert (found.differs, found.missing) == (("acme/NOTICE",), ("acme/errors.py",))


def test_a_part_has_a_list_of_its_own_and_lacks_much_of_another(tmp_path: Path) -> None:
    part = copied.vendored(tmp_path, "part", "verifier")
    assert compared(part).same
    whole = copies.read_listing(str(copied.vendored(tmp_path, "whole") / "MANIFEST.sha256"))
    assert "part/run.py" in compared(part, whole).missing


def test_an_unpacked_wheel_and_a_source_tree_are_the_same_as_their_sboms(tmp_path: Path) -> None:
    for make in (copied.wheel, copied.tree):
        folder = make(tmp_path / make.__name__)
        assert compared(folder).same
        (folder / "errors.py").write_text("other")
        assert compared(folder).differs == ("aasm/errors.py",)


def test_a_copy_of_unknown_kind_has_nothing_beside_it(tmp_path: Path, folder: Path) -> None:
    (folder / "MANIFEST.sha256").unlink()
    assert copies.listing_beside(origin.Copy(str(folder))) is None


# --- compiled files -----------------------------------------------------------------------------------

SOURCE = """\
X = {1, 2} if "a" in {"b", "c"} else (1, 2.0, None)


def f(a, *, b=1):
    'Text.'
    return a + b + X
"""
MODES = py_compile.PycInvalidationMode


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A package of one module, which no listing knows."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "m.py").write_text(SOURCE)
    return tmp_path / "small"


def compile_it(folder: Path, level: int = 0, mode: MODES = MODES.TIMESTAMP) -> Path:
    return Path(py_compile.compile(str(folder / "m.py"), optimize=level, doraise=True, invalidation_mode=mode))


def states(folder: Path) -> Tuple[int, Tuple[str, ...], int, int]:
    return copies.compiled(origin.Copy(str(folder)))


@pytest.mark.parametrize("mode", list(MODES), ids=lambda mode: mode.name)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_this_python_compiles_is_the_same(small: Path, level: int, mode: MODES) -> None:
    compile_it(small, level, mode)
    assert states(small) == (1, (), 0, 0)


def test_every_module_of_the_package_compiles_to_the_same(tmp_path: Path) -> None:
    folder = copied.vendored(tmp_path)
    for option in ([], ["-O"], ["-OO"]):
        subprocess.run([sys.executable, *option, "-m", "compileall", "-q", str(folder)], check=True)
    subprocess.run([sys.executable, "-I", str(folder), "policy", "schema"], stdout=subprocess.DEVNULL, check=True)
    sources = len(list(folder.rglob("*.py")))
    assert states(folder) == (3 * sources, (), 0, 0)


def test_a_file_for_another_python_or_of_no_source_is_not_compared(small: Path) -> None:
    compiled = compile_it(small)
    tag = compiled.name[1:-4]
    for name in ("m.cpython-27.pyc", "m.pypy39.pyc", f"gone{tag}.pyc", f"m{tag}.opt-9.pyc"):
        (compiled.parent / name).write_bytes(compiled.read_bytes())
    assert states(small) == (1, (), 0, 4)


def plain(source: str, folder: Path) -> types.CodeType:
    """Return what Python compiles a source to when it imports it: not with the features of this very file."""
    code = compile(source, str(folder / "m.py"), "exec", dont_inherit=True)
    assert isinstance(code, types.CodeType)
    return code


def forged(compiled: Path, code: types.CodeType) -> None:
    """Put other code behind the header that this Python accepts."""
    compiled.write_bytes(compiled.read_bytes()[:16] + marshal.dumps(code))


def test_other_code_behind_a_header_that_python_believes_differs(small: Path) -> None:
    for mode in MODES:
        compiled = compile_it(small, mode=mode)
        forged(compiled, compile("import os", "m.py", "exec"))
        assert states(small) == (0, (f"small/__pycache__/{compiled.name}",), 0, 0)


def test_code_of_an_older_source_is_outdated_where_python_sees_it_and_differs_where_it_does_not(small: Path) -> None:
    for mode, expected in ((MODES.TIMESTAMP, 1), (MODES.CHECKED_HASH, 1), (MODES.UNCHECKED_HASH, 0)):
        (small / "m.py").write_text(SOURCE)
        compile_it(small, mode=mode)
        (small / "m.py").write_text("# longer\n" + SOURCE)
        found = states(small)
        assert (found[0], len(found[1]), found[2]) == (0, 1 - expected, expected)
        assert _executes_the_source(small) is bool(expected)


def _executes_the_source(folder: Path) -> bool:
    """Ask Python itself: of what source is the code that it takes?"""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import m; print(m.f.__code__.co_firstlineno)"
    line = subprocess.check_output([sys.executable, "-I", "-B", "-c", code, str(folder)])
    return int(line) == SOURCE.split("\n").index("def f(a, *, b=1):") + 2


def test_a_change_to_any_part_of_the_code_is_seen(small: Path) -> None:
    compiled = compile_it(small)
    code = plain(SOURCE, small)
    inner = next(item for item in code.co_consts if isinstance(item, types.CodeType))
    changes: List[Dict[str, Any]] = [
        {"co_stacksize": 99}, {"co_flags": inner.co_flags | 0x20}, {"co_firstlineno": 9}, {"co_name": "g"},
        {"co_names": (*inner.co_names, "x")}, {"co_consts": (*inner.co_consts, 1)}, {"co_varnames": ("b", "a")},
        {"co_code": inner.co_code + inner.co_code[-2:]}, {"co_argcount": 0, "co_kwonlyargcount": 2},
    ]  # fmt: skip
    for change in changes:
        other = tuple(inner.replace(**change) if item is inner else item for item in code.co_consts)
        forged(compiled, code.replace(co_consts=other))
        assert states(small)[1] == (f"small/__pycache__/{compiled.name}",), change
    forged(compiled, code)
    assert states(small)[0] == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (1, 1.0), (0.0, -0.0), ("a", b"a"), ((1,), (True,)), ((), None), (frozenset({1}), frozenset({True})),
        (frozenset({"a"}), frozenset({"b"})), ((1, 2), (1, 2, 3)), (1j, 1), (..., None),
    ],
)  # fmt: skip
def test_constants_that_are_equal_in_python_are_told_apart(one: object, other: object) -> None:
    assert not copies._same(one, other) and copies._same(one, one) and copies._same(other, other)


def specialized(source: str) -> Dict[int, int]:
    """Return where this interpreter puts another instruction once the function f of `source` has run often, and which.

    Before Python 3.11 it never does.
    """
    space: Dict[str, Any] = {}
    exec(source, space)  # a function of this test
    code = space["f"].__code__
    for _ in range(200):
        space["f"](1, 2)
    hot = getattr(code, "_co_code_adaptive", code.co_code)
    return {at: hot[at] for at in range(0, len(hot), 2) if hot[at] != code.co_code[at] and code.co_code[at] != 0}


def test_an_instruction_that_only_the_interpreter_makes_is_seen_in_a_file(small: Path) -> None:
    """co_code and == show it as the plain one; executed from a file it would take for granted what nobody checked."""
    source = "def f(a, b):\n    return a + b\n"
    (small / "m.py").write_text(source)
    compiled = compile_it(small)
    code = plain(source, small)
    inner = next(item for item in code.co_consts if isinstance(item, types.CodeType))
    fresh = getattr(inner, "_co_code_adaptive", inner.co_code)  # 3.12 puts some in place by itself
    found = {at: number for at, number in specialized(source).items() if fresh[at] != number}
    assert bool(found) is (sys.version_info >= (3, 11))
    original, hidden = compiled.read_bytes(), 0
    for at, number in found.items():
        data = bytearray(original)
        data[data.index(inner.co_code) + at] = number
        loaded = marshal.loads(bytes(data[16:]))
        hidden += loaded == code
        compiled.write_bytes(data)
        assert states(small)[1] == (f"small/__pycache__/{compiled.name}",)
    assert bool(hidden) is bool(found)


def test_a_copy_that_was_moved_after_it_was_compiled_is_still_the_same(small: Path) -> None:
    compile_it(small)
    moved = small.rename(small.parent / "moved")
    assert states(moved) == (1, (), 0, 0)


@pytest.mark.parametrize("cut", [0, 1, 15, 16, 17, 40, -1])
def test_a_file_that_was_cut_short_is_never_the_same(small: Path, cut: int) -> None:
    compiled = compile_it(small)
    compiled.write_bytes(compiled.read_bytes()[:cut])
    same, differs, unused, other = states(small)
    assert (same, other) == (0, 0) and len(differs) + unused == 1


def test_a_source_that_is_none_has_no_compiled_file_that_is_the_same(small: Path) -> None:
    compiled = compile_it(small, mode=MODES.UNCHECKED_HASH)
    (small / "m.py").write_text("def (\n")
    assert states(small) == (0, (f"small/__pycache__/{compiled.name}",), 0, 0)


def test_compiled_files_in_another_place_are_found_there(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(small.parent / "cache"))
    compiled = compile_it(small)
    assert str(compiled).startswith(str(small.parent / "cache"))
    assert states(small) == (1, (), 0, 0)
    forged(compiled, compile("import os", "m.py", "exec"))
    assert len(states(small)[1]) == 1


def test_a_fifo_among_compiled_files_holds_nobody_up(small: Path) -> None:
    compiled = Path(importlib.util.cache_from_source(str(small / "m.py")))
    compiled.parent.mkdir()
    os.mkfifo(compiled)
    assert states(small)[1] == (f"small/__pycache__/{compiled.name}",)


def test_nothing_is_compiled_in_an_archive_that_is_not_listed(tmp_path: Path) -> None:
    """What lies there is a file like any other, and Python would take it first."""
    archive = copied.archive(tmp_path / "a.pyz", aasm__errors__pyc="x")
    with_it = [sys.executable, "-I", "-S", str(archive), "self-verify", "--json"]
    done = subprocess.run(with_it, capture_output=True, text=True, check=False)
    assert (done.returncode, json.loads(done.stdout)["extra"]) == (1, ["aasm/errors/pyc"])
    assert origin.Copy(str(ROOT / PACKAGE)).archive == ""
