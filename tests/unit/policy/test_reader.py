# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Which format a document is, and what happens to files that are none."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Iterator

import pytest

from aasm.errors import PolicyError
from aasm.policy.node import MAX_BYTES, to_data
from aasm.policy.reader import read_document, read_file


@pytest.mark.parametrize(
    ("name", "data", "form"),
    [
        ("p.yaml", b"a: 1", "yaml"),
        ("p.yml", b'{"a": 1}'.replace(b'"', b""), "yaml"),
        ("p.YAML", b"a: 1", "yaml"),
        ("p.json", b'{"a": 1}', "json"),
        ("p.JSON", b' {"a": 1}', "json"),
        ("p", b"a: 1", "yaml"),
        ("p", b'\n\t {"a": 1}', "json"),
        ("p.conf", b'{"a": 1}', "json"),
        ("dir.json/p", b"a: 1", "yaml"),
    ],
)
def test_the_suffix_decides_and_else_the_first_character(name: str, data: bytes, form: str) -> None:
    document = read_document(data, name)
    assert (document.format, document.text_name) == (form, name)
    assert to_data(document.root) == {"a": 1}


def test_a_suffix_is_not_second_guessed() -> None:
    with pytest.raises(PolicyError, match=r"^p\.yaml:1:5: a blank is missing"):
        read_document(b'{"a":1}', "p.yaml")
    with pytest.raises(PolicyError, match=r"^p\.json:1:1: the document is not a map"):
        read_document(b"a: 1", "p.json")


@pytest.mark.parametrize("name", ["p.toml", "P.TOML"])
def test_toml_is_read_by_its_suffix_where_python_can(name: str) -> None:
    """Python 3.11 is the first that has a reader for it; before, the remedy is named."""
    if sys.version_info < (3, 11):
        with pytest.raises(PolicyError, match=rf"^{name}: TOML needs Python 3\.11; write it in YAML or JSON"):
            read_document(b"a = 1", name)
        return
    document = read_document(b"a = 1", name)
    assert (document.format, document.text_name, to_data(document.root)) == ("toml", name, {"a": 1})
    for text in (b"a: 1", b'{"a": 1}'):
        with pytest.raises(PolicyError, match=rf"^{name}:1:[0-9]+: "):
            read_document(text, name)


def refusal(path: str) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        read_file(path)
    assert caught.value.where == path
    assert caught.value.remedy
    return caught.value


def test_a_file_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("a: 1\n")
    (tmp_path / "link").symlink_to("p.yaml")
    assert to_data(read_file(str(tmp_path / "link")).root) == {"a": 1}


def test_a_missing_file(tmp_path: Path) -> None:
    assert "No such file" in refusal(str(tmp_path / "none")).what
    (tmp_path / "dangling").symlink_to("none")
    assert "No such file" in refusal(str(tmp_path / "dangling")).what
    assert "No such file" in refusal("").what


def test_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "the policy cannot be read" in refusal(str(tmp_path / "loop")).what


def test_a_directory(tmp_path: Path) -> None:
    assert refusal(str(tmp_path)).what == "the policy is a directory"


def test_a_named_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(str(tmp_path / "pipe")).what == "the policy is a named pipe"


def test_a_device() -> None:
    assert refusal("/dev/null").what == "the policy is a device"


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        yield str(tmp_path / "s")


def test_a_socket(listener: str) -> None:
    assert refusal(listener).what == "the policy is a socket"


def test_a_file_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "Not a directory" in refusal(str(tmp_path / "file" / "p")).what


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_that_no_file_can_have(name: str) -> None:
    error = refusal(name)
    assert error.what == "no file can have this name"
    assert str(error).isprintable()


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert refusal(str(path)).what == "the document is larger than 1 MiB"


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"a: 1\n#" + b"x" * (MAX_BYTES - 6))
    assert to_data(read_file(str(tmp_path / "p.yaml")).root) == {"a": 1}


def test_a_file_whose_size_is_not_known_beforehand_is_read() -> None:
    with pytest.raises(PolicyError, match="^/proc/self/status:1:6: a tab outside quotes"):
        read_file("/proc/self/status")


def test_a_name_that_is_not_utf8_prints_as_one_line(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/p\xff\n.yaml"
    with open(name, "wb") as file:
        file.write(b"a: *x")
    with pytest.raises(PolicyError) as caught:
        read_file(os.fsdecode(name))
    assert "p\\xff\\x0a.yaml:1:4: aliases (*) are not read" in str(caught.value)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Be nobody for a while when root runs the tests: root may read everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)


@pytest.fixture
def secret(tmp_path: Path) -> str:
    path = tmp_path / "secret"
    path.write_text("a: 1\n")
    path.chmod(0)
    return str(path)


def test_a_file_without_permission(secret: str, unprivileged: None) -> None:
    error = refusal(secret)
    assert "Permission denied" in error.what
    assert error.remedy == "make it readable for the user who launches"
