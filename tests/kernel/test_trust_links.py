# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one run may write, the next must not trust: what is found by name or through a link, and the command itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Mapping, Sequence

from kernel.test_trust import ISOLATED, RUN, VERSION, assert_two_runs, environment_of_its_own, started_as
from support.launch import PACKAGE, ROOT, Lab
from support.outcome import ONCE, one_error

from aasm.needs import needs
from aasm.policy.walk import walk


def assert_refused(
    lab: Lab, start: Sequence[str], grant: Path | str, what: str, env: Mapping[str, str] | None = None
) -> None:
    done = started_as(lab, start, *RUN, "--write", str(grant), "--", "true", env=env)
    assert done.returncode == 125 and what in one_error(done), (grant, done.stderr)


@ONCE
def test_the_names_by_which_the_loader_is_found_and_finds_cannot_be_granted(lab: Lab) -> None:
    """On Debian /lib64 holds one link, and every program names it: what it leads to alone would not be enough."""
    spelled = [need.path for need in needs(sys.executable, "", "/") if not need.missing]
    assert any(".so" in os.path.basename(path) for path in spelled)
    folders = {os.path.dirname(path) for path in (*spelled, *(link for path in spelled for link in walk(path).links))}
    assert len(folders) > 2
    for folder in folders - {"/", "/etc"}:  # these two hold links that --system names, and are refused for those
        assert_refused(lab, ISOLATED, folder, "what the next run trusts")
    for path in filter(os.path.exists, ("/etc/ld.so.conf", "/etc/ld.so.conf.d")):
        assert_refused(lab, ISOLATED, path, "code that this command has loaded")


@ONCE
def test_a_directory_with_nothing_but_a_link_to_a_library_cannot_be_granted(lab: Lab) -> None:
    with open("/proc/self/maps", encoding="utf-8") as stream:
        mapped = {line.split(None, 5)[5].strip() for line in stream if " r-xp " in line and ".so" in line}
    libc = next(path for path in mapped if os.path.basename(path).startswith(("libc.so", "libc-")))
    folder = lab.directory("links")
    (folder / "libc.so.6").symlink_to(libc)
    hwcaps = lab.directory("links/glibc-hwcaps")
    env = {"LD_LIBRARY_PATH": str(folder)}
    assert_two_runs(lab, ISOLATED, folder, folder / "libm.so.6", "in which the loader finds libraries", env)
    for entry in ("", f":{folder}"):  # an empty entry is the working directory; an empty variable is none
        done = started_as(lab, ISOLATED, *RUN, "--write", ".", "--", "true", env={"LD_LIBRARY_PATH": entry})
        assert done.returncode == (125 if entry else 0)
        assert not entry or "mend LD_LIBRARY_PATH" in one_error(done)
    assert_refused(lab, ISOLATED, hwcaps, "libraries that the loader would load", env=env)
    assert started_as(lab, ISOLATED, *RUN, "--write", str(folder), "--", "true").returncode == 0  # without the variable


def installed(lab: Lab, option: str, name: str) -> Path:
    """Return the command as a distribution installs it: nothing beside it is imported."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from aasm.cli import main_script; sys.exit(main_script())"
    return lab.file(lab.directory(name) / "aasm", f"#!{sys.executable} {option}\n{code}\n", mode=0o755)


@ONCE
def test_the_command_itself_cannot_be_granted(lab: Lab) -> None:
    options = ["-I", *(["-sP"] if sys.version_info >= (3, 11) else [])]  # -P came with it
    for option in options:
        script = installed(lab, option, f"installed{option}")
        for grant in (script.parent, script):
            what, last = "the command that was started", grant == script
            assert_two_runs(lab, (str(script),), grant, script, what, last=last)
    link = lab.directory("bin") / "aasm"
    link.symlink_to(script)
    for grant in (link.parent, script.parent, script):
        assert_refused(lab, (str(link),), grant, "the command that was started")
    done = started_as(lab, ("./aasm",), *RUN, "--write", str(link.parent), "--", "true", cwd=link.parent)
    assert done.returncode == 125 and "the command that was started" in one_error(done)


@ONCE
def test_the_interpreter_that_the_command_names_cannot_be_granted(lab: Lab) -> None:
    """The kernel starts what the first line names; a link to the interpreter is one more thing to replace."""
    script = installed(lab, "-I", "installed")
    link = lab.directory("names") / "env"
    link.symlink_to("/usr/bin/env")
    python = f"{link} -S {sys.executable} -I"
    script.write_text(script.read_text().replace(f"{sys.executable} -I", python, 1))
    assert_two_runs(lab, (str(script),), link.parent, link.parent / "new", "the command that was started")


@ONCE
def test_a_module_that_is_a_link_cannot_be_granted_where_it_leads(lab: Lab) -> None:
    """Debian's sitecustomize.py is a link into /etc: every Python executes what lies there."""
    venv = environment_of_its_own(lab)
    real = lab.file(lab.directory("settings") / "sitecustomize.py")
    (venv / "lib" / VERSION / "site-packages" / "sitecustomize.py").symlink_to(real)
    start = (str(venv / "bin" / "python"), "-I", PACKAGE)
    for grant in (real.parent, real):
        assert_two_runs(lab, start, grant, real, "code that this command has loaded", last=grant == real)
    started = started_as(lab, ISOLATED, *RUN, "--write", str(real.parent), "--", "true")
    assert started.returncode == 0, started.stderr  # another Python does not load it


@ONCE
def test_where_a_site_directory_would_be_cannot_be_granted(lab: Lab) -> None:
    venv = environment_of_its_own(lab)
    site = venv / "lib" / VERSION / "site-packages"
    site.rmdir()
    start = (str(venv / "bin" / "python"), "-I", PACKAGE)
    assert_two_runs(lab, start, site.parent, site.parent / "site-packages", "modules that Python would import")
