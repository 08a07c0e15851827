#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The one test command: the whole suite under every supported Python of this host, and the checks in tools/.

It makes its own virtual environment for each Python under .venv-check/ and never installs anything elsewhere, so
it also works where the system's Python is externally managed. A bad Python hides no other: all run, then it fails.
It needs nothing but the standard library, and it must not skip silently: what was not run is said.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # missing under python -I

import command  # noqa: E402
from pythons import ROOT, Python, SetupError, environment, find, say, supported  # noqa: E402

# Each runs once, with the Python that runs this: what it is called, and its command line.
CHECKS = (
    ("tools/gen_syscalls.py --check", ("tools/gen_syscalls.py", "--check")),
    ("tools/golden.py --check", ("tools/golden.py", "--check")),
    ("tools/gen_policy_docs.py --check", ("tools/gen_policy_docs.py", "--check")),
    ("tools/gen_completions.py --check", ("tools/gen_completions.py", "--check")),
    ("tools/gen_audit_guide.py --check", ("tools/gen_audit_guide.py", "--check")),
    ("tools/sbom.py --check", ("tools/sbom.py", "--check")),
    ("tools/check_tree.py", ("tools/check_tree.py",)),
)
# Run where they are installed; they are no requirement of this project.
LINTERS = (("mypy", ("-m", "mypy")), ("ruff", ("-m", "ruff", "check", ".")))

# What a host is expected to have: option, environment variable, what it states, whether it takes a value. The suite
# itself reads and holds all but the first (tests/conftest.py).
EXPECT_PYTHONS = ("--expect-pythons", "AASM_EXPECT_PYTHONS", "fail where one of these is missing (3.9,3.10,...)", True)
SUITE_EXPECTATIONS = (
    ("--expect-abi", "AASM_EXPECT_ABI", "fail unless the kernel reports exactly this Landlock ABI", True),
    ("--expect-programs", "AASM_EXPECT_PROGRAMS", "fail where one of these programs is missing (git,gcc,...)", True),
    ("--expect-unprivileged", "AASM_EXPECT_UNPRIVILEGED", "fail where tests cannot drop to the user nobody", False),
)
# The suite in two halves of about the same length, so that one Python keeps two processors busy.
HALVES = (("tests/kernel",), ("tests", "--ignore=tests/kernel"))
LIMIT_SECONDS = 1500  # for a part of the suite under one Python; what takes longer is ended and counts as failed

_live: Dict[int, "subprocess.Popen[bytes]"] = {}  # what an interrupt must end, by process id
_interrupted = threading.Event()
_making = threading.Lock()  # two parts of one suite must not make its environment at the same time


class Result(NamedTuple):
    """What one line of the summary says; `note` is a reason in words, where there is one."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    note: str = ""


# Running.


def run_suite(python: Python, arguments: Sequence[str]) -> Result:
    """Run the suite, or the part that `arguments` name, under `python`. Never raises for a failure."""
    name, started = f"Python {python.version}", time.monotonic()
    scratch = tempfile.mkdtemp(prefix=f"aasm-{python.minor}-")
    os.chmod(scratch, 0o711)  # tests that drop to another user must reach what they make in it
    try:
        with _making:
            program = environment(python)
            _supervised([program, "-m", "compileall", "-q", "aasm"])  # or a thousand launches would each compile it
        say(f"{name}: running {' '.join(arguments)}".rstrip())
        command = suite_command(program, scratch, arguments)
        code, output = _supervised(command)
        report = os.path.join(scratch, "report.xml")
        say(f"\n== {name} {' '.join(arguments)}".rstrip() + f"\n{output.rstrip()}\n")
        return judged(name, code, report)._replace(seconds=time.monotonic() - started)
    except SetupError as problem:
        say(f"error: {problem}")
        return Result(name, failed=1, note="not set up")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def suite_command(program: str, scratch: str, arguments: Sequence[str]) -> List[str]:
    files = [f"--basetemp={scratch}/t", f"--junitxml={scratch}/report.xml"]
    return [program, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, *arguments]


def _supervised(command: List[str]) -> Tuple[int, str]:
    """Run `command` as a process group of its own; return its exit code and all that it printed."""
    if _interrupted.is_set():
        raise SetupError("interrupted before it began")
    steering = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT")
    clean = {name: value for name, value in os.environ.items() if name not in steering}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=clean, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        _live[process.pid] = process
        try:
            process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            end(process)
        del _live[process.pid]
        output.seek(0)
        return process.wait(), output.read().decode("utf-8", "replace")


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process and its group, if it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def judged(name: str, code: int, report: str) -> Result:
    """Return what pytest's exit code and its report say together; anything but a clean pass has a failure."""
    try:
        suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
    except (OSError, xml.etree.ElementTree.ParseError):
        suite = None
    if suite is None:
        return Result(name, failed=1, note=f"pytest ended with code {code} and left no report")
    total, failures, errors, skipped = (int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped"))
    result = Result(name, max(total - failures - errors - skipped, 0), failures + errors, skipped)
    if result.passed + result.failed == 0:
        return result._replace(failed=1, note="no test was executed")
    if code != 0 and result.failed == 0:
        return result._replace(failed=1, note=f"pytest ended with code {code}")
    return result


def run_checks() -> List[Result]:
    """Run each check of the tools, and each linter that is installed, once."""
    results = [_run_check(name, arguments) for name, arguments in CHECKS]
    for name, arguments in LINTERS:
        if importlib.util.find_spec(name):
            results.append(_run_check(name, arguments))
        else:
            results.append(Result(name, note="not run: not installed for this Python"))
    return results


def _run_check(name: str, arguments: Sequence[str]) -> Result:
    started = time.monotonic()
    code, output = _supervised([sys.executable, *arguments])
    if code != 0:
        say(f"\n== {name}\n{output.rstrip()}\n")
    return Result(name, int(code == 0), int(code != 0), seconds=time.monotonic() - started)


def run_pythons(pythons: Sequence[Python], jobs: int, arguments: Sequence[str]) -> List[Result]:
    """Run the suite under each of `pythons`, `jobs` parts side by side, and return the results in their order."""
    halves = HALVES if not arguments and os.path.isdir(os.path.join(ROOT, HALVES[0][0])) else (tuple(arguments),)
    parts = [(python, half) for python in pythons for half in halves]
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        done = list(pool.map(lambda part: run_suite(*part), parts))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [together(done[at : at + len(halves)]) for at in range(0, len(done), len(halves))]


def together(parts: Sequence[Result]) -> Result:
    """Return the result of a suite from those of its parts."""
    passed, failed, skipped = (sum(getattr(one, key) for one in parts) for key in ("passed", "failed", "skipped"))
    note = "; ".join(one.note for one in parts if one.note)
    return Result(parts[0].name, passed, failed, skipped, max(one.seconds for one in parts), note)


# What is said at the end.


def summary(results: Sequence[Result]) -> str:
    """Return one line for each result, and the closing line `N passed, N failed, N skipped`."""
    lines = ["== summary"]
    for one in results:
        counts = f"{one.passed} passed, {one.failed} failed, {one.skipped} skipped, {one.seconds:.0f} s"
        parts = [counts] if one.passed + one.failed + one.skipped else []
        lines.append(f"{one.name:34}{'; '.join([*parts, *filter(None, [one.note])])}")
    passed, failed, skipped = (sum(getattr(one, key) for one in results) for key in ("passed", "failed", "skipped"))
    return "\n".join([*lines, f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")])


def missing_results(wanted: Sequence[str], found: Sequence[str], expected: Sequence[str]) -> List[Result]:
    """Return a line for each Python that is not there: a failure where it is expected or nothing was found."""
    results = []
    for minor in dict.fromkeys([*wanted, *expected]):
        if minor not in found:
            fails = minor in expected or not found
            note = "expected and missing" if fails else "missing"
            results.append(Result(f"Python {minor}", failed=int(fails), note=note))
    return results


def option_settings(row: Tuple[str, str, str, bool]) -> Dict[str, Any]:
    """Return the keywords with which an expectation is added to a parser, this one's or pytest's."""
    _, variable, text, takes_value = row
    kind = {"metavar": "VALUE"} if takes_value else {"action": "store_const", "const": "1"}
    return {"help": f"{text}; also {variable}={'VALUE' if takes_value else '1'}", **kind}


def parsed(argv: Sequence[str]) -> Tuple[argparse.Namespace, List[str]]:
    """Return the options, and what stands after the first `--` for pytest."""
    split = argv.index("--") if "--" in argv else len(argv)
    parser = command.Parser("tools/check.py", __doc__, "when all passed, 1 when anything failed")
    parser.add_argument("--python", action="append", choices=supported(), help="only this version; may be repeated")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=min(2, os.cpu_count() or 1), help="side by side")
    parser.add_argument("-k", metavar="EXPRESSION", help="only tests that match, as pytest has it")
    for row in (EXPECT_PYTHONS, *SUITE_EXPECTATIONS):
        parser.add_argument(row[0], dest=row[1], **option_settings(row))
    options = parser.parse_args(list(argv[:split]))
    for row in (EXPECT_PYTHONS, *SUITE_EXPECTATIONS):
        if getattr(options, row[1]) is not None:
            os.environ[row[1]] = getattr(options, row[1])  # one channel from here on: the suite reads its environment
    return options, (["-k", options.k] if options.k else []) + list(argv[split + 1 :])


def main(argv: Sequence[str]) -> int:
    options, arguments = parsed(argv)
    os.umask(0o022)  # tests that drop to another user must be able to read the environments
    wanted = options.python or supported()
    pythons = [python for python in map(find, wanted) if python]
    for python in pythons:
        say(f"found Python {python.version}: {python.base}")
    expected = [minor for minor in os.environ.get(EXPECT_PYTHONS[1], "").split(",") if minor]
    if options.python:  # the others were not asked for
        expected = [minor for minor in expected if minor in wanted]
    results = missing_results(wanted, [python.minor for python in pythons], expected)
    for absent in results:
        say(f"{'error: ' if absent.failed else ''}{absent.name} is {absent.note}")
    try:
        results = [*results, *run_checks(), *run_pythons(pythons, options.jobs, arguments)]
    except KeyboardInterrupt:
        _interrupted.set()
        for process in list(_live.values()):
            end(process)
        raise
    say(summary(results))
    return 1 if any(one.failed for one in results) else 0


if __name__ == "__main__":
    sys.exit(command.run(main))
