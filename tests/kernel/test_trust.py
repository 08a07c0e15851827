# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one run may write, the next must not trust: every refusal under that rule, each over two runs.

The first run would have its program plant something; it is refused, so that nothing is planted, although the same
program without a boundary could. The second run, with what the remedy says, works and finds nothing planted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Mapping, Sequence

from support.launch import PACKAGE, ROOT, Lab
from support.outcome import ONCE, Done, events, one_error

RUN = ("run", "exec", "--isolation", "process", "--system")
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


def started_as(
    lab: Lab, start: Sequence[str], *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Done[str]:
    """Run the command in the way that `start` says."""
    return subprocess.run(
        [*start, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **lab.options(env, cwd)
    )  # fmt: skip


def plant(target: Path) -> tuple[str, ...]:
    """Return a program that plants a file, or replaces one; it leaves nothing of its own behind when it cannot."""
    return "sh", "-c", f"echo planted > {target}"


def assert_two_runs(
    lab: Lab,
    start: Sequence[str],
    grant: Path,
    target: Path,
    what: str,
    env: Mapping[str, str] | None = None,
    last: bool = True,
) -> None:
    """`grant` lets a program write `target`, which is `what`: refused; without that grant the next run works.

    After several refused runs one next run is enough: `last` says that it is time for it.
    """
    kept = target.read_bytes() if target.exists() else None
    before = len(events(lab))
    done = started_as(lab, start, *RUN, "--write", str(grant), "--", *plant(target), env=env)
    line = one_error(done)
    assert done.returncode == 125, done.stderr
    assert line.startswith("error: --write: ") and str(grant) in line and what in line, line
    assert "grant a narrower path" in line
    assert (target.read_bytes() if target.exists() else None) == kept, "something was planted"
    assert events(lab)[before:] == ["refused"]
    place = next(path for path in (target, *target.parents) if path.exists())
    assert lab.bare("test", "-w", str(place)).returncode == 0, "the user could not have planted it anyway"
    if not last:
        return
    after = started_as(lab, start, *RUN, "--write", str(lab.workspace), "--", "sh", "-c", "exit 4", env=env)
    assert after.returncode == 4, after.stderr
    assert events(lab)[before + 1 :] == ["registered", "ended"]


ISOLATED = (sys.executable, "-I", PACKAGE)


# --- the state directory ---------------------------------------------------------------------------------------


def test_the_ledger_and_the_receipts_cannot_be_granted(lab: Lab) -> None:
    assert started_as(lab, ISOLATED, *RUN, "--", "true").returncode == 0  # so that everything is there
    below = [lab.state / name for name in ("ledger.jsonl", "ledger.lock", "execution-receipts", "canary")]
    for grant in (lab.top, *below, lab.state):
        what, last = "the ledger and the receipts", grant == lab.state
        assert_two_runs(lab, ISOLATED, grant, lab.state / "canary", what, last=last)


def test_a_state_directory_that_is_not_there_yet_cannot_be_granted_beforehand(lab: Lab) -> None:
    env = {"AASM_STATE_DIR": str(lab.home / "deep" / "state")}
    lab.directory("home/deep")
    done = started_as(lab, ISOLATED, *RUN, "--write", str(lab.home / "deep"), "--", "true", env=env)
    assert done.returncode == 125 and "the ledger and the receipts" in one_error(done)


@ONCE
def test_a_receipt_of_ones_own_may_not_lie_where_the_program_writes(lab: Lab) -> None:
    receipt = lab.workspace / "receipt.json"
    command = (*RUN, "--write", str(lab.workspace), "--receipt", str(receipt), "--", "sh", "-c", "ls -a > list")
    done = started_as(lab, ISOLATED, *command)
    assert done.returncode == 125 and "the receipt (--receipt)" in one_error(done)
    assert list(lab.workspace.iterdir()) == []


# --- code that the next run would execute -------------------------------------------------------------------------


def copy_of_the_package(lab: Lab) -> Path:
    """Return a directory of the user's own with our code in it."""
    code = lab.directory("code")
    shutil.copytree(PACKAGE, code / "aasm", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [code, *code.rglob("*")]:
        lab.own(path)
    return code


@ONCE
def test_our_own_code_cannot_be_granted(lab: Lab) -> None:
    package = copy_of_the_package(lab) / "aasm"
    start = (sys.executable, "-I", str(package))
    for grant in (package.parent, package, package / "cli", package / "launcher.py"):
        what, last = "the code of aasm itself", grant.name == "launcher.py"
        assert_two_runs(lab, start, grant, package / "launcher.py", what, last=last)


@ONCE
def test_an_entry_of_the_import_path_cannot_be_granted(lab: Lab) -> None:
    lab.directory("lib/inner")
    lab.own(lab.top / "lib")
    library = lab.top / "lib"
    start = (sys.executable, PACKAGE)  # without -I: PYTHONPATH counts
    for grant in (library, library / "inner"):
        env = {"PYTHONPATH": str(library)}
        assert_two_runs(lab, start, grant, library / "inner" / "x.py", "an entry of sys.path", env)
    again = started_as(lab, ISOLATED, *RUN, "--write", str(library), "--", "true", env={"PYTHONPATH": str(library)})
    assert again.returncode == 0, again.stderr  # with -I it does not, so nothing there is trusted


@ONCE
def test_where_python_would_look_for_modules_of_the_user_cannot_be_granted(lab: Lab) -> None:
    user = lab.directory(f"home/.local/lib/{VERSION}")
    cache = lab.directory("cache")
    start = (sys.executable, PACKAGE)
    cases: tuple[tuple[Path, Path, dict[str, str]], ...] = (
             (lab.home / ".local" / "lib", user / "site-packages" / "usercustomize.py", {}),
             (cache, cache / "argparse.pyc", {"PYTHONPYCACHEPREFIX": str(cache)}))  # fmt: skip
    for grant, target, env in cases:
        assert_two_runs(lab, start, grant, target, "modules that Python would import", env)


def environment_of_its_own(lab: Lab) -> Path:
    """Return a virtual environment, as small as they come."""
    venv = lab.directory("venv")
    for name in ("bin", "lib", f"lib/{VERSION}", f"lib/{VERSION}/site-packages"):
        lab.directory(f"venv/{name}")
    base = Path(os.path.realpath(sys.executable))
    lab.file(venv / "pyvenv.cfg", f"home = {base.parent}\ninclude-system-site-packages = false\n")
    (venv / "bin" / "python").symlink_to(base)
    return venv


@ONCE
def test_the_python_installation_in_use_cannot_be_granted(lab: Lab) -> None:
    venv = environment_of_its_own(lab)
    start = (str(venv / "bin" / "python"), "-I", PACKAGE)
    for grant in ("", "bin", "lib", f"lib/{VERSION}/site-packages", "pyvenv.cfg"):
        what = "an entry of sys.path" if grant.startswith("lib") else "the Python in"  # installation or interpreter
        assert_two_runs(lab, start, venv / grant, venv / "pyvenv.cfg", what, last=grant == "pyvenv.cfg")


@ONCE
def test_the_interpreter_itself_cannot_be_granted(lab: Lab) -> None:
    base = Path(os.path.realpath(sys.base_prefix))
    for grant in (base, base / "bin", base / "lib" / VERSION, Path(os.path.realpath(sys.executable))):
        done = started_as(lab, ISOLATED, *RUN, "--write", str(grant), "--", "true")
        assert done.returncode == 125 and "grant a narrower path" in one_error(done), grant


# --- the policy ---------------------------------------------------------------------------------------------------


def policy(lab: Lab, path: Path, write: Sequence[Path]) -> Path:
    """Write a policy with the host's programs and these paths."""
    lines = "".join(f"      - {item}\n" for item in write)
    return lab.file(path, f"filesystem:\n  read:\n    allow: ['${{system}}']\n  write:\n    allow:\n{lines}")


def test_the_policy_in_use_cannot_be_granted_wherever_it_comes_from(lab: Lab) -> None:
    place = lab.directory("home/policies")
    stated = policy(lab, place / "policy.yaml", [lab.workspace, place])
    base = ("run", "exec", "--isolation", "process")
    ways: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
        (("--policy", str(stated)), {}),
        (("--policy", os.path.relpath(stated, lab.workspace)), {}),
        ((), {"AA_POLICY": str(stated)}),
    )
    for option, env in ways:
        text = stated.read_text()
        done = started_as(lab, ISOLATED, *base, *option, "--", *plant(stated), env=env)
        assert done.returncode == 125 and "the policy in use" in one_error(done), done.stderr
        assert stated.read_text() == text
    policy(lab, stated, [lab.workspace])
    assert started_as(lab, ISOLATED, *base, "--policy", str(stated), "--", "true").returncode == 0


def test_the_places_where_policies_are_looked_for_cannot_be_granted(lab: Lab) -> None:
    place = lab.directory("home/.aasm")
    assert_two_runs(lab, ISOLATED, place, place / "policy.yaml", "a place where policies are looked for")
    (lab.home / ".aasm").rmdir()
    assert_two_runs(lab, ISOLATED, lab.home, place / "policy.yaml", "a place where policies are looked for")


# --- the working directory that Python imports from ------------------------------------------------------------------


def module(lab: Lab, *flags: str, write: str = ".", cwd: Path | None = None) -> Done[str]:
    """Run `python FLAGS -m aasm` with a write grant."""
    env = {"PYTHONPATH": str(ROOT)}
    start = (sys.executable, *flags, "-m", "aasm")
    return started_as(lab, start, *RUN, "--write", write, "--", "sh", "-c", "touch ran; exit 4", env=env, cwd=cwd)


def test_a_run_as_a_module_from_inside_a_write_grant_is_refused_on_every_python(lab: Lab) -> None:
    """The working directory is on the path before the first line of ours: what lies there would be imported."""
    below = lab.directory("ws/below")
    for done in (module(lab), module(lab, cwd=below, write=".."), module(lab, write=str(lab.workspace))):
        line = one_error(done)
        assert done.returncode == 125, done.stderr
        assert "start aasm as the installed script, or with -I, or with -P" in line
    assert list(lab.workspace.iterdir()) == [below]
    names = lab.directory("ws/aasm"), lab.directory("ws/runpy")
    for name in names:  # a package of this name there would be imported by the next run
        done = module(lab, write=str(name))
        assert done.returncode == 125 and "the working directory" in one_error(done)
    assert module(lab, write=str(lab.outside)).returncode == 4  # from elsewhere it works


@ONCE
def test_the_remedies_of_that_refusal_work(lab: Lab) -> None:
    write = ("--write", ".", "--", "sh", "-c", "touch ran; exit 4")
    assert started_as(lab, ISOLATED, *RUN, *write).returncode == 4
    text = "from aasm.cli import main_script\nraise SystemExit(main_script())\n"
    script = lab.file(lab.directory("bin") / "aasm", text)
    done = started_as(lab, (sys.executable, str(script)), *RUN, *write, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 4, done.stderr
    if sys.version_info >= (3, 11):  # -P came with it
        assert module(lab, "-P").returncode == 4
    assert (lab.workspace / "ran").exists()
    done = started_as(lab, (sys.executable, str(script)), *RUN, "--write", str(script.parent), "--", "true",
                      env={"PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 125 and "an entry of sys.path" in one_error(done)  # the script's own directory


# --- links that a run could leave for the next ----------------------------------------------------------------------


def swap(place: Path, target: Path) -> tuple[str, ...]:
    """Return a program that puts a link in the place of a directory."""
    return "sh", "-c", f"rmdir {place} && ln -s {target} {place}"


def assert_link_refused(lab: Lab, command: Sequence[str], place: Path, code: int = 125) -> None:
    """The same command a second time, after the program replaced a directory by a link: refused, the link is named."""
    first = started_as(lab, ISOLATED, *command, "--", *swap(place, lab.outside))
    assert first.returncode == 0, first.stderr
    assert place.is_symlink()
    assert lab.bare("touch", str(place / "control")).returncode == 0  # without the check it would lead out
    (lab.outside / "control").unlink()
    before = len(events(lab))
    second = started_as(lab, ISOLATED, *command, "--", "touch", str(place / "planted"), str(lab.outside / "planted"))
    line = one_error(second)
    assert second.returncode == code, second.stderr
    assert str(place) in line and "link" in line, line
    assert list(lab.outside.iterdir()) == []
    assert events(lab)[before:] == ["refused"]


def test_a_granted_directory_that_was_replaced_by_a_link_is_refused(lab: Lab) -> None:
    data = lab.directory("ws/data")
    assert_link_refused(lab, (*RUN, "--write", str(lab.workspace), "--write", str(data)), data)


def test_a_component_that_was_replaced_by_a_link_is_refused_for_reading_too(lab: Lab) -> None:
    data = lab.directory("ws/data")
    lab.directory("outside/inner").rmdir()
    command = (*RUN, "--write", str(lab.workspace), "--read", str(data))
    assert_link_refused(lab, command, data)


def test_a_path_with_dots_does_not_hide_the_link(lab: Lab) -> None:
    data = lab.directory("ws/data")
    lab.directory("ws/other")
    spelled = f"{lab.workspace}/other/../data"
    assert_link_refused(lab, (*RUN, "--write", str(lab.workspace), "--write", spelled), data, code=2)


def test_a_working_directory_that_was_replaced_by_a_link_is_refused(lab: Lab) -> None:
    """A policy may grant ${workdir}: the link would decide what that is."""
    data = lab.directory("ws/data")
    stated = lab.file(lab.home / "policy.yaml", (
        "filesystem:\n  read:\n    allow: ['${system}']\n"
        f"  write:\n    allow: [{lab.workspace}, '${{workdir}}']\n"
    ))  # fmt: skip
    command = ("run", "exec", "--isolation", "process", "--policy", str(stated), "--workdir", str(data))
    assert_link_refused(lab, command, data)


def test_a_link_on_the_way_to_what_is_trusted_cannot_be_granted(lab: Lab) -> None:
    """Whoever may replace the link decides which policy, which ledger and which modules the next run has."""
    real = lab.directory("real")
    real.chmod(0o700)
    lab.directory("real/lib")
    policy(lab, real / "policy.yaml", [lab.workspace])
    link = lab.workspace / "link"
    link.symlink_to(real)
    base = ("run", "exec", "--isolation", "process")
    inline = (*RUN, "--write", str(lab.workspace))
    cases: tuple[tuple[Sequence[str], Sequence[str], dict[str, str], str], ...] = (
        (ISOLATED, (*base, "--policy", str(link / "policy.yaml")), {}, "the policy in use"),
        (ISOLATED, inline, {"AASM_STATE_DIR": str(link / "state")}, "the ledger and the receipts"),
        ((sys.executable, PACKAGE), inline, {"PYTHONPATH": str(link / "lib")}, "an entry of sys.path"),
    )
    for start, command, env, what in cases:
        done = started_as(lab, start, *command, "--", "touch", "ran", env=env)
        assert done.returncode == 125 and what in one_error(done), (what, done.stderr)
        assert not (lab.workspace / "ran").exists()
    command = (*base, "--policy", str(real / "policy.yaml"))
    assert started_as(lab, ISOLATED, *command, "--", "touch", "ran").returncode == 0


@ONCE
def test_a_standard_stream_into_what_is_ours_is_refused(lab: Lab) -> None:
    """No rule decides about a descriptor that the operator opened, so the program could write there."""
    policy = lab.file(lab.top / "p.yaml", "filesystem: {read: {allow: ['${system}']}, write: {allow: []}}\n")
    words = ("run", "exec", "--isolation", "process", "--policy", str(policy))
    assert lab.aasm(*words, "--", "true").returncode == 0
    before = (lab.state / "ledger.jsonl").read_bytes()
    for place in (lab.state / "ledger.jsonl", next((lab.state / "execution-receipts").iterdir()), policy):
        kept = place.read_bytes()
        with open(place, "ab") as stream:
            done = subprocess.run(
                lab.command(*words, "--", "echo", "planted"), stdin=subprocess.DEVNULL, stdout=stream,
                stderr=subprocess.PIPE, text=True, timeout=60, **lab.options(),
            )  # fmt: skip
        assert done.returncode == 125 and done.stderr.startswith("error: descriptor 1: "), done.stderr
        assert "planted" not in place.read_text() and place.read_bytes().startswith(kept)
    assert (lab.state / "ledger.jsonl").read_bytes().startswith(before) and events(lab)[-1] == "refused"
    with open(lab.workspace / "log", "ab") as stream:  # its sibling
        command = lab.command(*words, "--report", "never", "--", "echo", "said")
        subprocess.run(command, stdout=stream, check=True, timeout=60, **lab.options())
    assert (lab.workspace / "log").read_text() == "said\n"


@ONCE
def test_what_this_command_has_loaded_may_not_be_granted_for_writing(lab: Lab) -> None:
    """The C library, the loader and what finds them: every later run would execute what this one left there."""
    with open("/proc/self/maps", encoding="utf-8") as stream:
        mapped = {line.split(None, 5)[5].strip() for line in stream if " r-xp " in line and ".so" in line}
    libc = next(path for path in mapped if os.path.basename(path).startswith(("libc.so", "libc-")))
    for path in (libc, os.path.dirname(libc), "/etc/ld.so.cache"):
        done = lab.aasm(*RUN, "--write", path, "--", "true")
        assert done.returncode == 125, path
        assert "what the next run trusts" in one_error(done) and path in done.stderr
