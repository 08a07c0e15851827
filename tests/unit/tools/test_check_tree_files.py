# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The rules about files, words and hosts: each finds its own violation in a tree that has one, and nothing without.

What must not stand in this file is put together while it runs.
"""

from __future__ import annotations

import errno
import os
import textwrap
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest
import tree_files
import tree_hosts
import tree_words
from project import ROOT
from support.planted import DOCSTRING, HEADER, found, plant, plant_bytes, told
from tree import Rule
from tree_hosts import Hosts

CODE = (HEADER + DOCSTRING).encode()
LICENCE = (ROOT / "LICENSE").read_bytes()
ENCODING = "visible: declares an encoding: source is UTF-8 and says nothing"
LONG = "x = 1\n" * (tree_files.MODULE_LINES - 3)
LONG_FUNCTION = "def f():\n" + "    x = 1\n" * (tree_files.FUNCTION_LINES - 1)


def found_in_bytes(rule: Rule, root: Path, files: Dict[str, bytes]) -> List[str]:
    return told(rule(plant_bytes(root, files)))


@pytest.mark.parametrize("name", ["aasm/run.py", "docs/x.md", "run.sh", "NOTICE", "docs/x.1"])
@pytest.mark.parametrize("data", [b"", b"x\n", HEADER.splitlines()[0].encode(), b"\n" * 5 + HEADER.encode()])
def test_a_file_without_the_licence_lines_is_found(name: str, data: bytes, tmp_path: Path) -> None:
    expected = [f"{name}:1: licence lines: the two SPDX lines are not among the first five"]
    assert found_in_bytes(tree_files.licence_lines, tmp_path, {name: data}) == expected


@pytest.mark.parametrize(
    "data",
    [
        HEADER,
        f"#!/bin/sh\n{HEADER}",
        HEADER.replace("# ", '.\\" '),
        f"<!--\n{HEADER.replace('# ', '')}-->\n",
        f"/* {tree_files.COPYRIGHT} */\n// {tree_files.LICENSE}\n",
    ],
)
def test_the_licence_lines_may_stand_in_any_comment(data: str, tmp_path: Path) -> None:
    files = {"x": data.encode(), "x.json": b"{}", "LICENSE": LICENCE, "tests/golden/x.txt": b""}
    assert found_in_bytes(tree_files.licence_lines, tmp_path, files) == []


def test_another_licence_is_found_in_any_line_of_any_file(tmp_path: Path) -> None:
    line = b"# " + tree_files.LICENSE.replace("Apache-2.0", "GPL-3.0-only").encode() + b"\n"
    files = {"aasm/run.py": CODE + b"x = 1\n" * 9 + line, "x.json": line, "y.py": CODE}
    assert found_in_bytes(tree_files.licence_lines, tmp_path, files) == [
        "aasm/run.py:13: licence lines: it states the licence GPL-3.0-only",
        "x.json:1: licence lines: it states the licence GPL-3.0-only",
    ]


TAG = tree_files.COPYRIGHT.partition(" ")[0]


@pytest.mark.parametrize(
    ("line", "told_there"),
    [
        (f"# {TAG} 2020 Evil Corp", "2020 Evil Corp"),
        (f"/* {TAG.lower()} 2020 Evil Corp */", "2020 Evil Corp"),
        (f"x = '{TAG} 2020 Evil Corp'", "2020 Evil Corp"),
        (f"# {TAG.replace('File', 'Snippet')} 2020 Evil Corp", "2020 Evil Corp"),
        (f"# {TAG} 2026 The aasm authors and Evil Corp", "2026 The aasm authors and Evil Corp"),
        (f"# {TAG}", "of nobody"),
        ("Copy" "right (c) 2020 Evil Corp", "2020 Evil Corp"),
        ("Copy" "right 2020 Evil Corp", "2020 Evil Corp"),
        ("COPY" "RIGHT 2020-2024 Evil Corp.", "2020-2024 Evil Corp"),
        ("\u00a9" " Evil Corp", "Evil Corp"),
    ],
)
def test_a_copyright_of_somebody_else_is_found_in_any_line_of_any_file(
    line: str, told_there: str, tmp_path: Path
) -> None:
    for name in ("aasm/run.py", "tests/x.py", "docs/x.md", "x.json", "NOTICE"):
        files = {name: CODE + b"x = 1\n" * 9 + line.encode() + b"\n"}
        expected = [f"{name}:13: holder: it states a copyright: {told_there}"]
        assert found_in_bytes(tree_files.holders, tmp_path / name, files) == expected


def test_our_own_copyright_and_what_only_speaks_of_one_are_left_alone(tmp_path: Path) -> None:
    ours = f"<!-- {tree_files.COPYRIGHT} -->\nCopy" "right 2026 The aasm authors\n"
    spoken = 'x = {"copy' 'rightText": "Copy' 'right 2026 The aasm authors"}\none holder of copyright\n'
    files = {"x.md": ours.encode(), "LICENSE": LICENCE, "y": spoken.encode()}
    assert found_in_bytes(tree_files.holders, tmp_path, files) == []


def test_an_annotation_for_somebody_else_is_found(tmp_path: Path) -> None:
    line = TAG.replace(":", " = ") + '"2020 Evil Corp"\n'
    files = {"REUSE.toml": line.encode(), "other.toml": line.encode()}
    expected = ["REUSE.toml:1: holder: it states a copyright: 2020 Evil Corp"]
    assert found_in_bytes(tree_files.holders, tmp_path, files) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [("tools/run", "#!/bin/sh\n"), ("docs/run", "#!/usr/bin/env python3\n"), ("aasm/x.pth", ""), ("a/b.sh", ""),
     ("Makefile", ""), ("x.pyw", ""), (".ci/other", "#!/bin/sh\n"), ("docs/x.js", "")],
)  # fmt: skip
def test_a_program_that_no_rule_reads_needs_a_row(name: str, text: str, tmp_path: Path) -> None:
    files = {name: text.encode(), ".ci/run": b"#!/bin/sh\n", "tools/x.py": b"#!/usr/bin/env python3\n",
             "tests/x.sh": b"#!/bin/sh\n", "docs/x.md": b"\n#!/bin/sh\n", "tools/completions/x.bash": b""}  # fmt: skip
    expected = [f"{name}:1: programs: no rule reads what it does: it needs a row in tools/tree_files.py"]
    assert found_in_bytes(tree_files.programs, tmp_path, files) == expected


def test_the_text_of_another_licence_is_found(tmp_path: Path) -> None:
    files = {"LICENSE": LICENCE, "LICENSES/Apache-2.0.txt": LICENCE, "LICENSES/MIT.txt": b"x\n"}
    expected = ["LICENSES/MIT.txt:1: licence text: the text of another licence than Apache-2.0"]
    assert found_in_bytes(tree_files.licence_text, tmp_path, files) == expected


def test_the_licence_must_be_the_published_text(tmp_path: Path) -> None:
    assert found_in_bytes(tree_files.licence_text, tmp_path / "a", {"LICENSE": LICENCE}) == []
    changed = {"LICENSE": LICENCE + b"\n", "LICENSES/Apache-2.0.txt": b"free\n"}
    assert found_in_bytes(tree_files.licence_text, tmp_path / "b", changed) == [
        "LICENSE:1: licence text: it is not the published text of Apache-2.0",
        "LICENSES/Apache-2.0.txt:1: licence text: it is not the published text of Apache-2.0",
    ]
    assert found_in_bytes(tree_files.licence_text, tmp_path / "c", {}) == ["LICENSE:1: licence text: it is missing"]


def test_a_long_module_is_found(tmp_path: Path) -> None:
    assert found(tree_files.module_sizes, tmp_path, {"tools/x.py": LONG, "aasm/_sys/_nr_x.py": LONG * 2}) == []
    assert found(tree_files.module_sizes, tmp_path, {"tools/x.py": LONG + "x = 1\n"}) == [
        "tools/x.py:401: module size: 401 lines, at most 400"
    ]


def test_a_long_function_is_found(tmp_path: Path) -> None:
    longer = textwrap.indent("async " + LONG_FUNCTION + "    x = 1\n", "    ")
    files = {"aasm/x.py": LONG_FUNCTION, "tests/y.py": f"class A:\n{longer}"}
    assert found(tree_files.function_sizes, tmp_path, files) == [
        "tests/y.py:5: function size: f has 61 lines, at most 60"
    ]


def test_a_module_without_a_purpose_is_found(tmp_path: Path) -> None:
    files = {"aasm/x.py": HEADER.encode(), "tools/y.py": HEADER.encode(), "tests/z.py": HEADER.encode()}
    files["docs/z.py"] = HEADER.encode()
    assert found_in_bytes(tree_files.purposes, tmp_path, files) == [
        "aasm/x.py:1: purpose: the module has no docstring",
        "docs/z.py:1: purpose: the module has no docstring",
        "tools/y.py:1: purpose: the module has no docstring",
    ]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\x7fELF\x02\x01\xff\n", "byte 6 is no UTF-8: a binary file needs a row in tools/tree_files.py"),
        (b"x\0y\n", "a NUL byte: a binary file needs a row in tools/tree_files.py"),
        (b"x\r\n", "a carriage return"),
        (b"x", "the last line does not end"),
    ],
)
def test_what_is_no_plain_text_is_found(data: bytes, fault: str, tmp_path: Path) -> None:
    files = {"docs/x": data, "docs/y": "\u00fc\n".encode()}
    assert found_in_bytes(tree_files.text, tmp_path, files) == [f"docs/x:1: text: {fault}"]


UNREAD: Dict[str, Tuple[Callable[[Path], Any], str]] = {
    "a link to nothing": (lambda path: path.symlink_to("/nowhere"), "is a symbolic link; put a regular file"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "is a symbolic link; put a regular file"),
    "a link to a folder": (lambda path: path.symlink_to("aasm"), "is a symbolic link; put a regular file"),
    "a pipe": (os.mkfifo, "is no regular file; put one in its place"),
    "a huge file": (lambda path: [path.touch(), os.truncate(path, 3 << 30)], "is larger than 64 MiB, unlike all"),
}


@pytest.mark.parametrize("file", ["odd", "odd.py", "aasm/odd.py"])
@pytest.mark.parametrize("name", UNREAD)
def test_what_cannot_be_read_is_one_finding_and_nothing_waits_for_it(name: str, file: str, tmp_path: Path) -> None:
    make, words = UNREAD[name]
    (tmp_path / "aasm").mkdir()
    make(tmp_path / file)
    tree = plant(tmp_path, {})
    (finding,) = told(tree_files.text(tree))
    assert finding.startswith(f"{file}:1: text: {words}") and "\n" not in finding
    others = [told(rule(tree)) for name, _, rule in tree_files.RULES if name not in ("text", "licence text")]
    assert not any(others)


def test_a_file_that_is_closed_to_us_is_one_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def closed(path: Any, *words: Any, **named: Any) -> int:
        if os.fspath(path).endswith("/closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, *words, **named)

    monkeypatch.setattr(os, "open", closed)
    expected = "closed:1: text: cannot be read (Permission denied); see that it is there and readable"
    assert found_in_bytes(tree_files.text, tmp_path, {"closed": b"x\n"}) == [expected]


def test_a_name_of_several_lines_or_of_no_text_is_one_line_of_ascii(tmp_path: Path) -> None:
    names = ["a\nerror: b", os.fsdecode(b"a\xff"), "\u00fc"]
    findings = found_in_bytes(tree_files.text, tmp_path, {name: b"x" for name in names})
    assert sorted(line.partition(":1: ")[0] for line in findings) == ["\\xfc", "a\\nerror: b", "a\\udcff"]


@pytest.mark.parametrize(
    ("name", "text", "found_there"),
    [
        ("docs/x.md", "a\nb \u202e c\n", "docs/x.md:2: visible: U+202E in column 3"),
        ("docs/x.md", "\x1b[1m\n", "docs/x.md:1: visible: U+001B in column 1"),
        ("docs/x.md", "a\u200bb\n", "docs/x.md:1: visible: U+200B in column 2"),
        ("tests/x.py", "# \u2066\n", "tests/x.py:1: visible: U+2066 in column 3"),
        ("aasm/x.py", "\u0435val = 1\n", "aasm/x.py:1: visible: U+0435 in column 1"),
        ("docs/x.py", "# \u00e4\n", "docs/x.py:1: visible: U+00E4 in column 3"),
        ("tools/x.py", "# \u00e4\n", "tools/x.py:1: visible: U+00E4 in column 3"),
        ("tests/x.py", "# coding: utf-7\n", f"tests/x.py:1: {ENCODING}"),
        ("aasm/x.py", "\n# vim: fileencoding=utf-7\n", f"aasm/x.py:2: {ENCODING}"),
    ],
)
def test_what_a_reader_cannot_see_is_found(name: str, text: str, found_there: str, tmp_path: Path) -> None:
    assert found_in_bytes(tree_files.visible, tmp_path, {name: text.encode()}) == [found_there]


def test_other_letters_may_stand_in_documents_and_tests(tmp_path: Path) -> None:
    files = {"docs/x.md": "\u00fc\t\u4e2d\n".encode(), "tests/x.py": "# \u00fc\n".encode()}
    assert found_in_bytes(tree_files.visible, tmp_path, files) == []


@pytest.mark.parametrize("name", ["aasm/x.so", "aasm/x.pyc", "aasm/policy/data.json", "aasm/policy/py.typed"])
def test_what_is_no_source_of_the_package_is_found(name: str, tmp_path: Path) -> None:
    files = {name: b"x\n", "aasm/py.typed": b"", "aasm/__pycache__/x.cpython-39.pyc": b""}
    expected = [f"{name}:1: package files: neither source nor listed in tools/tree_files.py"]
    assert found_in_bytes(tree_files.package_files, tmp_path, files) == expected


# Words.

HOME, PLACE, REGISTRY = "/ho" + "me/someone/x", "/wo" + "rk/main", "https://pypi" + ".org/simple"
PROMISE, SKIP = "# TO" + "DO: x", "@pytest.mark.s" + "kipif(1)"
STUB, SURE = "raise Not" + "ImplementedError", "assert " + "True"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (f"cd {HOME}", "a home directory"),
        ("cat /ro" + "ot/.profile", "a home directory"),
        (f"see {PLACE}", "a place where this was written"),
        (f"index = {REGISTRY}", "a package registry"),
    ],
)
def test_a_place_is_found_in_any_file(line: str, kind: str, tmp_path: Path) -> None:
    for name in ("docs/x.md", "aasm/x.py", "run.sh"):
        files = {name: f"\n{line}\n".encode()}
        expected = [f"{name}:2: places: {kind}: {line}"]
        assert found_in_bytes(tree_words.places, tmp_path / name.replace("/", "-"), files) == expected


@pytest.mark.parametrize("line", ["${workdir}/src", "a home directory such as ~/.ssh", "/var" + PLACE, "frame" + PLACE])
def test_what_only_looks_like_a_place_is_left_alone(line: str, tmp_path: Path) -> None:
    assert found_in_bytes(tree_words.places, tmp_path, {"docs/x.md": line.encode()}) == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [(PROMISE, "a promise"), (SKIP, "a skip"), (STUB, "a stub"), (SURE, "a test that cannot fail")],
)
def test_what_is_unfinished_is_found_and_a_row_allows_it(line: str, kind: str, tmp_path: Path) -> None:
    tree = plant_bytes(tmp_path, {"tests/x.py": b"def f():\n    \"\"\"\n" + line.encode() + b"\n\"\"\"\n"})
    assert told(tree_words.unfinished(tree, {})) == [f"tests/x.py:3: unfinished: {kind}: {line}"]
    assert told(tree_words.unfinished(tree, {("tests/x.py", kind): "a reason"})) == []


def test_an_allowance_that_nothing_needs_is_found(tmp_path: Path) -> None:
    findings = told(tree_words.unfinished(plant(tmp_path, {}), {("tests/x.py", "a skip"): "no reason"}))
    assert findings == ["tests/x.py:1: unfinished: a skip is allowed here and is no longer needed: tools/tree_words.py"]


# Hosts. The names are made of parts, since the rule reads this file as well.

NAME, OTHER, ADDRESS = ".".join(("one", "com")), ".".join(("two", "co", "uk")), ".".join("8888")


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("docs/x.md", f"see {NAME} for more", NAME),
        ("docs/x.md", f"see {NAME.upper()}.", NAME),
        ("docs/x.md", f"see https://user:word@{OTHER}:80/path", OTHER),
        ("docs/x.md", "see ftp://" + "odd.ending", "odd." + "ending"),
        ("docs/x.md", f"write to someone@{NAME}", NAME),
        ("docs/x.md", f"ping {ADDRESS}", ADDRESS),
        ("run.sh", f"curl {OTHER}", OTHER),
        ("aasm/x.py", f"X = 'a {NAME}'", NAME),
        ("aasm/x.py", f"X = '{NAME[:2]}' '{NAME[2:]}'", NAME),
        ("aasm/x.py", f"# {NAME}", NAME),
        ("aasm/x.py", f"X = f'{{1}} {NAME}'", NAME),
    ],
)
def test_a_host_needs_a_row(file: str, text: str, name: str, tmp_path: Path) -> None:
    tree = plant_bytes(tmp_path, {file: f"\n{text}\n".encode()})
    expected = [f"{file}:2: hosts: {name} is in no row of tools/tree_hosts.py"]
    assert told(tree_hosts.hosts(tree, [])) == expected
    assert told(tree_hosts.hosts(tree, [Hosts(file, f"{name}", "a reason")])) == []
    other = told(tree_hosts.hosts(tree, [Hosts("elsewhere/*", name, "a reason")]))
    assert other == [*expected, f"elsewhere/*:1: hosts: {name} is listed in tools/tree_hosts.py and no longer there"]


@pytest.mark.parametrize(
    "text",
    [
        "example.com www.example.org a.example x.test y.invalid z.localhost",
        "http://localhost:80 http://gateway/x http://127.0.0.1 http://[::1] 999.1.1.1 0.0.0.0",
        "192.0.2.1 198.51.100.7 203.0.113.9 2001:db8::1 [2001:DB8::1]:80 ff02::1 169.254.1.1",
        "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fd00::/8 fe80::/10",
        "at 12:30:45 a::b std::dead::beef dead:beef::1 x::1 local.py the.internals 172.32.0 v10.0.0.x locale.localed",
        "README.md run.sh libc.so module.py a.b x.net( 1.2.3 3.11 os.path",
    ],
)
def test_what_is_reserved_or_no_host_needs_none(text: str, tmp_path: Path) -> None:
    assert told(tree_hosts.hosts(plant_bytes(tmp_path, {"docs/x.md": text.encode()}), [])) == []


INSIDE = (
    *(("x1", *ending) for ending in (("local",), ("lan",), ("intranet",), ("corp",), ("internal",), ("localdomain",))),
    ("x1", "home", "arpa"), ("a", "b", "local"),
)  # fmt: skip
PRIVATE = (
    *(".".join(parts) for parts in (("10", "9", "8", "7"), ("172", "16", "0", "9"), ("172", "31", "9", "9"))),
    *(".".join(parts) for parts in (("192", "168", "1", "1"), ("10", "0", "0", "9"))),
    *(":".join(parts) for parts in (("fd12", "3456", "", "9"), ("fe80", "", "9"), ("fc00", "", "9"))),
    ":".join(("febf", "0", "0", "0", "0", "0", "0", "9")),
    ":".join(("2606", "4700", "", "1111")),
)


@pytest.mark.parametrize("form", ["{}", "http://{}/x", "({}),", "'{}' # {}", "someone@{}:80", "{}/24", "{}.", "b'{}'"])
@pytest.mark.parametrize("name", [*map(".".join, INSIDE), *PRIVATE])
def test_what_is_inside_a_house_needs_a_row(name: str, form: str, tmp_path: Path) -> None:
    if ":" in name and ":80" in form:
        form = "[{}]:80"  # as an IPv6 address is written beside a port
    text = form.format(name, name) + "\n"
    expected = f"hosts: {name} is in no row of tools/tree_hosts.py"
    files = {"docs/x.md": text.encode(), "tests/x.py": f"x = {text!r}\n".encode(), "aasm/y.py": f"# {text}".encode()}
    findings = told(tree_hosts.hosts(plant_bytes(tmp_path, {**files, "z.yaml": text.upper().encode()}), []))
    assert findings == [f"{file}:1: {expected}" for file in ("aasm/y.py", "docs/x.md", "tests/x.py", "z.yaml")]


def test_bytes_in_code_are_read_too(tmp_path: Path) -> None:
    files = {"aasm/x.py": f"X = b'{NAME}'\nY = b'\\xff {PRIVATE[0]}'\n".encode()}
    findings = told(tree_hosts.hosts(plant_bytes(tmp_path, files), []))
    assert [line.split()[2] for line in findings] == [NAME, PRIVATE[0]]


def test_attributes_in_code_are_no_hosts(tmp_path: Path) -> None:
    code = f"a = {NAME}\nb = f'{{{NAME}}}'\n".encode()
    assert told(tree_hosts.hosts(plant_bytes(tmp_path, {"aasm/x.py": code}), [])) == []
