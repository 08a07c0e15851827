# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy new`: every template makes a policy that a launch takes; a file is made whole, once, out of reach."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from support.launch import PYTHON, Lab, python_grants

from aasm.cli import policy_new
from aasm.errors import HostError, InternalError, UsageError
from aasm.policy.document import validate
from aasm.policy.reader import read_document
from aasm.policy.templates import TEMPLATES


def test_the_templates_are_listed_with_what_they_are_for(lab: Lab) -> None:
    done = lab.aasm("policy", "new", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split(None, 1) for line in done.stdout.splitlines()] == [list(item) for item in TEMPLATES.items()]


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_makes_a_valid_policy(name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for more in ([], ["--workdir", str(tmp_path)]):
        assert policy_new.main(["--template", name, *more]) == 0
        text = capfd.readouterr().out
        validate(read_document(text.encode(), "new.yaml"))
        assert (f'- "{tmp_path}"\n' in text) is bool(more) is not ('- "${workdir}"\n' in text)


def test_a_file_is_written_and_a_launch_goes_by_it(lab: Lab) -> None:
    path = lab.outside / "policy.yaml"
    done = lab.aasm("policy", "new", "--template", "minimal", "--workdir", ".", "--output", str(path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644 & ~umask()
    assert f'"{lab.workspace}"' in path.read_text()
    assert os.listdir(lab.outside) == ["policy.yaml"]
    assert lab.aasm("policy", "validate", str(path)).returncode == 0


@pytest.mark.landlock
def test_a_launch_by_a_new_policy_holds_it(lab: Lab) -> None:
    path = lab.outside / "policy.yaml"
    assert lab.aasm("policy", "new", "--template", "build", "--output", str(path)).returncode == 0
    text = path.read_text().replace('- "${system}"', f'- "${{system}}"\n        - "{python_grants()[1]}"', 1)
    path.write_text(text)
    code = f"open('inside', 'w').close(); open({str(lab.outside / 'escaped')!r}, 'w')"
    done = lab.aasm("run", "exec", "--isolation", "process", "--policy", str(path), "--", *PYTHON, "-c", code)
    assert done.returncode == 1 and "PermissionError" in done.stderr
    assert (lab.workspace / "inside").exists() and not (lab.outside / "escaped").exists()


def umask() -> int:
    found = os.umask(0o022)
    os.umask(found)
    return found


def test_a_file_that_is_there_is_left_alone(lab: Lab) -> None:
    path = lab.file(lab.outside / "policy.yaml", "mine")
    link = lab.outside / "link"
    link.symlink_to(lab.outside / "elsewhere")
    for taken in (path, link, lab.outside):
        done = lab.aasm("policy", "new", "--template", "go", "--output", str(taken))
        assert done.returncode == 2 and done.stderr == f"error: --output: {taken} exists already; name another file\n"
    for name in ("p.json", "p.TOML"):
        done = lab.aasm("policy", "new", "--template", "offline", "--output", name)
        assert (done.returncode, os.path.lexists(lab.workspace / name)) == (2, False)
        what = f"{name} would be read as another format than YAML; let it end with .yaml"
        assert done.stderr == f"error: --output: {what}\n"
    assert path.read_text() == "mine" and not (lab.outside / "elsewhere").exists()
    assert sorted(os.listdir(lab.outside)) == ["link", "policy.yaml"]


@pytest.mark.parametrize("where", ["ws/p.yaml", "ws/deep/p.yaml", "alias/p.yaml", "ws/../ws/p.yaml", "bound/p.yaml"])
def test_a_place_that_the_program_could_write_is_refused(lab: Lab, where: str) -> None:
    (lab.workspace / "deep").mkdir()
    lab.own(lab.workspace / "deep")
    (lab.top / "alias").symlink_to(lab.workspace)
    (lab.top / "bound").symlink_to(lab.workspace / "deep")
    for more in ((), ("--workdir", str(lab.workspace)), ("--workdir", str(lab.top / "alias"))):
        done = lab.aasm("policy", "new", "--template", "go", "--output", str(lab.top / where), *more)
        assert done.returncode == 2 and "lets the program write" in done.stderr and done.stderr.count("\n") == 1
    assert os.listdir(lab.workspace) == ["deep"] and os.listdir(lab.workspace / "deep") == []


def test_where_the_policy_lets_nothing_be_written_every_place_will_do(lab: Lab) -> None:
    done = lab.aasm("policy", "new", "--template", "minimal", "--output", "p.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    done = lab.aasm("policy", "new", "--template", "go", "--workdir", str(lab.outside), "--output", "q.yaml")
    assert (done.returncode, done.stderr) == (0, "") and sorted(os.listdir(lab.workspace)) == ["p.yaml", "q.yaml"]


def test_the_directory_is_made_absolute(lab: Lab) -> None:
    (lab.workspace / "sub").mkdir()
    (lab.workspace / "link").symlink_to(lab.outside)
    for given, named in (
        ("sub", lab.workspace / "sub"), ("./sub//", lab.workspace / "sub"), ("sub/..", lab.workspace),
        ("link", lab.workspace / "link"), ("link/../ws", lab.workspace),
    ):  # fmt: skip
        done = lab.aasm("policy", "new", "--template", "go", "--workdir", given)
        assert done.returncode == 0 and f'- "{named}"\n' in done.stdout
    file = lab.file(lab.workspace / "file")
    for given in (str(file), str(lab.home), "/"):
        assert lab.aasm("policy", "new", "--template", "go", "--workdir", given).returncode == 2


# --- failures ---------------------------------------------------------------------------------------------


def saved(folder: Path) -> None:
    policy_new._save(str(folder / "p.yaml"), "p.yaml", b"x" * 100_000)


def failing(number: int) -> object:
    def fail(*args: object, **more: object) -> object:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("step", ["write", "fsync", "link"])
def test_what_is_not_written_whole_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.setattr(policy_new.os, step, failing(errno.ENOSPC))
    with pytest.raises(HostError, match="No space left"):
        saved(tmp_path)
    assert os.listdir(tmp_path) == []


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(policy_new.os, "write", lambda descriptor, data: write(descriptor, data[:4096]))
    saved(tmp_path)
    assert (tmp_path / "p.yaml").read_bytes() == b"x" * 100_000 and os.listdir(tmp_path) == ["p.yaml"]


@pytest.mark.parametrize("number", policy_new._NO_LINKS)
def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(policy_new.os, "link", failing(number))
    saved(tmp_path)
    assert (tmp_path / "p.yaml").stat().st_size == 100_000 and os.listdir(tmp_path) == ["p.yaml"]
    with pytest.raises(UsageError, match="exists already"):
        saved(tmp_path)


def test_a_directory_that_cannot_be_written_is_one_line_and_125(lab: Lab) -> None:
    root = lab.user.uid is None and os.geteuid() == 0
    lab.outside.chmod(0o555)  # which root does not mind
    place = "/proc/sys/kernel" if root else str(lab.outside)
    done = lab.aasm("policy", "new", "--template", "go", "--output", f"{place}/p.yaml")
    assert done.returncode == 125 and done.stderr.startswith(f"error: {place}/p.yaml: ")
    assert done.stderr.count("\n") == 1


def test_a_template_that_is_not_valid_is_a_defect_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_new, "template", lambda *args: "nothing: 1\n")
    with pytest.raises(InternalError, match="a template is not valid"):
        policy_new.main(["--template", "go", "--output", str(tmp_path / "p.yaml")])
    assert os.listdir(tmp_path) == []
