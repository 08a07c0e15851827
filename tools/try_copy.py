#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Try a copy of aasm, of any kind, step by step. It needs nothing but Python: no tree, no tests, no network.

    python3 try_copy.py -- python3 -I aasm.pyz            the zip archive
    python3 try_copy.py -- aasm                           what is installed
    python3 try_copy.py -- python3 -I DEST/NAME           a vendored copy
    python3 try_copy.py --part verifier -- python3 -I DEST/NAME
    python3 try_copy.py --part launcher -- python3 -I DEST/NAME

What stands behind `--` is the command, without a subcommand. Each step prints a line. The first that is wrong ends the
trial with its output and exit code 1; 0 says that all steps were right, 2 that there was nothing to try.

It looks from outside: what a denied program could not read or write is looked at in the file system, and what the copy
says about its own files is compared with hashes of ours where it is a folder. It cannot find what a copy hides well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, List, NoReturn, Sequence, Tuple

POLICY = "filesystem:\n  read:\n    allow: ['${system}', '${workdir}']\n  write:\n    allow: ['${workdir}']\n"
# Run inside: it reads and writes in the working directory, and tries both outside it.
PROGRAM = "cat in; cat ../outside/secret; echo x > ../outside/made; echo y > made; exit 7"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SAMPLE = os.path.join("tests", "golden", "receipt", "sample.execution-receipt.json")
LIMIT_SECONDS = 120  # for one command

# What the part `launcher` is for: an order made by a program of one's own, with the native backend. docs/vendoring.md
# explains it. It is run with the place of the copy, the name of its package, and the directory of the program.
ORDER_BY_HAND = '''\
import importlib, os, sys

place, name, workdir = sys.argv[1:]
sys.path.insert(0, place)  # where the copy lies


def module(path):
    return importlib.import_module(f"{name}.{path}")


domains, needs, orders = module("model.domains"), module("model.requirements"), module("_sys.order")
native, filters, rules = (module(f"backends.native.{part}") for part in ("prepare", "filters", "rules"))
bpf, landlock = module("_sys.bpf"), module("_sys.landlock")

host = module("_sys.probe").host_facts()
why = module("backends.native.capability").unavailable(host)
if why:
    sys.exit(f"error: no boundary can be built here: {why}")

# What is to be held: reading, writing and the network, each as a whole but for what is granted below.
domain = domains.CapabilityDomain
held = [domain.FILESYSTEM_READ, domain.FILESYSTEM_WRITE, domain.NETWORK_EGRESS]
requirements = tuple(needs.Requirement(item, needs.WHOLE) for item in held)
grants = [native.pinned(workdir, read=True, write=True, origin="by hand"), *native.device_grants()]
for path in ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"):
    if os.path.exists(path):
        grants.append(native.pinned(path, read=True, write=False, origin="by hand")._replace(execute=True))

known = host.landlock
deciding = rules.handled(requirements, landlock.Rights(known.fs, known.net, known.scope, known.flags))
machine = module("_sys.syscalls").arch(host.arch)
root, place = native.pinned("/", read=False, write=False, origin="root"), os.stat(workdir)

order = orders.Order()
order.handled = (*deciding, 0)
order.rules = [
    (rule.access, rule.grant.device, rule.grant.inode, os.fsencode(rule.grant.path))
    for rule in rules.rules(grants, deciding, root)
]
order.filter_b = bpf.assemble(filters.last(machine, native.filter_plan(requirements)))
order.canary_read = order.canary_write = os.fsencode(os.path.join(workdir, "..", "outside", "secret"))
order.canary_call = machine.numbers["process_vm_readv"]
order.name = b"by-hand"
order.working_dir = (place.st_dev, place.st_ino, os.fsencode(workdir))
order.candidates, order.argv = [b"/bin/sh"], [b"sh", b"-c", os.fsencode(sys.stdin.read())]
order.environment = [b"PATH=/usr/bin:/bin"]
sys.stdout.buffer.write(orders.encode(order))
'''


class WrongError(Exception):
    """A step came out otherwise than it must."""


class Done:
    """What a command did: exit code, standard output, standard error."""

    def __init__(self, command: Sequence[str], code: int, data: bytes, err: bytes) -> None:
        self.command, self.code, self.data = command, code, data
        self.out, self.err = (text.decode("utf-8", "backslashreplace") for text in (data, err))

    def expect(self, code: int, *words: str) -> "Done":
        """Return this when the code is right and each of `words` was said; else WrongError with all of it."""
        if self.code != code or any(word not in self.out + self.err for word in words):
            wanted = f"expected code {code}" + "".join(f", {word!r}" for word in words)
            told = f"{' '.join(self.command)}\n  {wanted}; it ended with code {self.code}"
            raise WrongError(f"{told}\n--- standard output\n{self.out}\n--- standard error\n{self.err}")
        return self

    def expect_error(self, code: int, *words: str) -> "Done":
        """The same for a command that must fail: exactly one `error:` line, nothing on standard output."""
        self.expect(code, *words)
        if self.out or not self.err.startswith("error: ") or "Traceback" in self.err or self.err.count("\nerror: "):
            self.expect(-1)
        return self


class Trial:
    """One copy, and a place of its own in which it is tried."""

    def __init__(self, command: Sequence[str], options: argparse.Namespace, top: str) -> None:
        self.command = [os.path.abspath(word) if os.path.exists(word) else word for word in command]
        self.options, self.top = options, top
        self.work, self.outside, self.home = (self._folder(name) for name in ("work", "outside", "home"))
        self.policy = self._file(self.home, "policy.yaml", POLICY)
        self._file(self.work, "in", "inside\n")
        self.secret = self._file(self.outside, "secret", "hidden\n")
        self.told: Dict[str, Any] = {}  # what the copy says about itself

    def _folder(self, name: str) -> str:
        os.mkdir(os.path.join(self.top, name))
        return os.path.join(self.top, name)

    def _file(self, folder: str, name: str, text: str) -> str:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run(self, *words: str, command: Sequence[str] = (), given: str = "", cwd: str = "") -> Done:
        """Run the copy's command with these words, or another, in an environment of its own."""
        full = [*(command or self.command), *words]
        kept = {name: value for name, value in os.environ.items() if name in ("LANG", "PYTHONPATH")}
        kept.update(PATH=os.environ.get("PATH", PATH), HOME=self.home, AASM_STATE_DIR=os.path.join(self.top, "state"))
        if sys.dont_write_bytecode:
            kept["PYTHONDONTWRITEBYTECODE"] = "1"
        place, data = cwd or self.home, given.encode("utf-8")
        done = subprocess.run(full, input=data, cwd=place, env=kept, timeout=LIMIT_SECONDS, capture_output=True)
        return Done(full, done.returncode, done.stdout, done.stderr)

    def confined(self, *words: str, options: Sequence[str] = ()) -> Done:
        """Run a program inside a boundary, in the working directory."""
        base = ("run", "exec", "--isolation", "process", "--report", "never", "--workdir", self.work)
        return self.run(*base, *(options or ("--policy", self.policy)), "--", *words)


# --- steps for every part -----------------------------------------------------------------------------


def says_its_version(trial: Trial) -> str:
    done = trial.run("--version").expect(0, "aasm ")
    if done.out.count("\n") != 1 or done.err:
        done.expect(-1)
    return done.out.strip()


def helps(trial: Trial) -> str:
    for words in (("--help",), ("self-verify", "--help")):
        trial.run(*words).expect(0, "usage: aasm")
    return "--help"


def compares_itself(trial: Trial) -> str:
    done = trial.run("self-verify", "--json")
    if trial.options.unlisted and done.code == 2:
        done.expect(2, "there is nothing to compare with")
    else:
        done.expect(0)
    trial.told = json.loads(done.out)
    same = None if done.code else True
    if trial.told["same"] is not same or not str(trial.told["code_digest"]).startswith("sha256:"):
        done.expect(-1)
    return f"self-verify: {trial.told['kind']}, {trial.told['files']} files, {trial.told['code_digest']}"


def has_the_digest_that_we_compute(trial: Trial) -> str:
    place = trial.told["copy"]
    if not os.path.isdir(place):
        return f"code digest: not computed here, {place} is an archive"
    lines = []
    for folder, _, names in os.walk(place):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".py"):
                with open(path, "rb") as file:
                    lines.append((os.path.relpath(path, place), hashlib.sha256(file.read()).hexdigest()))
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(lines))
    found = "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()
    if found != trial.told["code_digest"]:
        raise WrongError(f"the copy says that its code is {trial.told['code_digest']}; it is {found}")
    return "code digest: computed from outside, the same"


def refuses_what_is_no_command(trial: Trial) -> str:
    for words in ((), ("no-such-command",), ("self-verify", "--no-such-option")):
        trial.run(*words).expect_error(2)
    return "a wrong command line is one error line"


# --- steps for all of it ------------------------------------------------------------------------------


def knows_policies(trial: Trial) -> str:
    trial.run("policy", "validate", trial.policy).expect(0, "policy.yaml: valid")
    trial.run("policy", "schema").expect(0, '"$schema"')
    trial.run("policy", "new", "--list").expect(0, "offline")
    where = ("policy", "explain", "--policy", trial.policy, "--workdir", trial.work)
    trial.run(*where, "--write", trial.outside).expect(1, "refused: write")
    trial.run(*where, "--write", trial.work).expect(0, "allowed: write")
    return "policy validate, schema, new, explain"


def previews(trial: Trial) -> str:
    where = ("run", "exec", "--isolation", "process", "--policy", trial.policy, "--workdir", trial.work, "--dry-run")
    trial.run(*where, "--", "sh", "-c", "echo ran > made").expect(0, "--- aasm run dry-run ---")
    if os.path.exists(os.path.join(trial.work, "made")) or os.path.exists(os.path.join(trial.top, "state")):
        raise WrongError("the dry run has executed the program, or left something")
    return "run exec --dry-run: shows the run, starts nothing"


def confines(trial: Trial) -> str:
    trial.run(command=["cat", trial.secret]).expect(0, "hidden")  # the control: it can be read without a boundary
    done = trial.confined("sh", "-c", PROGRAM)
    if trial.options.no_boundary:
        done.expect_error(125, "refusing to launch")
        return "run exec: refused on this host, and nothing was executed"
    done.expect(7, "inside", "Permission denied")
    _look_around(trial, done)
    return "run exec: a read and a write outside were denied, those inside worked, the exit code came back"


def _look_around(trial: Trial, done: Done) -> None:
    made = os.path.exists(os.path.join(trial.work, "made"))
    if "hidden" in done.out or os.listdir(trial.outside) != ["secret"] or not made:
        done.expect(-1)


def leaves_a_receipt(trial: Trial) -> str:
    if trial.options.no_boundary:
        return "receipt: none, since nothing ran"
    folder = os.path.join(trial.top, "state", "execution-receipts")
    (name,) = os.listdir(folder)
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        body = json.load(file)["body"]
    held = {item["name"]: item["result"] for item in body["boundary"]["canaries"]}
    right = body["boundary"]["sealed"] and body["execution"]["exit_code"] == 7
    if not right or [held[name] for name in ("file_read", "file_write", "call")] != ["held"] * 3:
        raise WrongError(f"the receipt does not say what happened: {json.dumps(body, indent=1)}")
    producer = body["producer"]
    if (producer["code_digest"], producer["source_revision"]) != (trial.told["code_digest"], trial.told["revision"]):
        raise WrongError(f"the receipt names other code than self-verify: {producer}")
    return _verifies(trial, path)


def _verifies(trial: Trial, path: str) -> str:
    trial.run("receipt", "verify", path).expect(0, "trustworthy: true")
    with open(path, encoding="utf-8") as file:
        text = file.read().replace('"survivors_killed":', '"survivors_killed":1', 1)
    trial.run("receipt", "verify", trial._file(trial.home, "changed.json", text)).expect(1, "seal: mismatch")
    return "receipt verify: the seal holds; of a changed one it does not"


def keeps_itself_from_programs(trial: Trial) -> str:
    if trial.options.no_boundary:
        return "a grant to write the copy: not tried, since nothing runs here"
    place = trial.told["copy"]
    for path in (place, os.path.dirname(place)):
        done = trial.confined("true", options=("--system", "--write", path))
        done.expect_error(125, "could change what the next run trusts")
    return f"a grant to write {place}, or its directory, is refused"


# --- steps for parts ----------------------------------------------------------------------------------


def verifies_a_receipt(trial: Trial) -> str:
    return _verifies(trial, trial.options.receipt)


def lacks(*commands: Tuple[str, ...]) -> Callable[[Trial], str]:
    """Return the step that what a part does not have is one error line that says so."""

    def step(trial: Trial) -> str:
        for words in commands:
            trial.run(*words).expect_error(2, "this copy of aasm does not have all that this command needs")
        return f"{', '.join(' '.join(words[:2]) for words in commands)}: not in this part, and it says so"

    return step


def carries_an_order_out(trial: Trial) -> str:
    folder = trial.told["copy"]
    root, name = os.path.split(folder)
    python = [sys.executable, "-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    made = trial.run("-c", ORDER_BY_HAND, root, name, trial.work, command=python, given=PROGRAM)
    if trial.options.no_boundary:
        made.expect(1, "error: no boundary can be built here")
        return "an order by hand: not made, since nothing can hold it here"
    order = os.path.join(trial.home, "order")
    with open(order, "wb") as file:
        file.write(made.expect(0).data)
    start = [*python[:1], *python[2:], "-m", f"{name}.launcher"]  # not -I: `-m` is to find it in this directory
    trial.run("--print", order, command=start, cwd=root).expect(0, "argument 'sh'")
    done = trial.run("--order", order, command=start, cwd=root).expect(7, "inside", "Permission denied")
    _look_around(trial, done)
    trial.run("--order", trial.secret, command=start, cwd=root).expect_error(125, "nothing was executed")
    return "launcher --print, --order: an order by hand, with a read and a write outside denied"


FIRST = (says_its_version, helps, compares_itself, has_the_digest_that_we_compute, refuses_what_is_no_command)
STEPS: Dict[str, Tuple[Callable[[Trial], str], ...]] = {
    "all": (*FIRST, knows_policies, previews, confines, leaves_a_receipt, keeps_itself_from_programs),
    "verifier": (*FIRST, verifies_a_receipt, lacks(("run", "exec", "--", "true"), ("policy", "schema"))),
    "launcher": (
        *FIRST,
        carries_an_order_out,
        lacks(("run", "exec", "--", "true"), ("policy", "schema"), ("receipt", "verify", "x")),
    ),
}


# --- the command --------------------------------------------------------------------------------------


class NoAnswerError(Exception):
    """A command line that cannot be followed, or an answer that cannot be delivered."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise NoAnswerError(f"{message}; see try_copy.py --help")

    def print_help(self, file: Any = None) -> None:
        say(self.format_help())  # argparse itself keeps quiet where it cannot be delivered


def say(text: str) -> None:
    try:
        os.stat(1)  # where it is closed, print(3) would keep quiet
        print(text.rstrip("\n"), flush=True)
    except OSError as problem:
        raise NoAnswerError(f"standard output: {problem.strerror}; see that it can be written") from None


def parsed(argv: Sequence[str]) -> Tuple[argparse.Namespace, List[str]]:
    split = argv.index("--") if "--" in argv else len(argv)
    here = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), SAMPLE)
    usage, kept = "try_copy.py [OPTIONS] -- COMMAND...", argparse.RawDescriptionHelpFormatter
    made = _Parser("try_copy.py", description=__doc__, usage=usage, allow_abbrev=False, formatter_class=kept)
    made.add_argument("--part", choices=tuple(STEPS), default="all", help="which part of aasm it is (default: all)")
    made.add_argument("--receipt", default=here, help="one for the part verifier (default: the sample of the tree)")
    made.add_argument("--unlisted", action="store_true", help="no list of its files lies with the copy")
    made.add_argument("--no-boundary", action="store_true", help="this host can hold none: expect that it is refused")
    options, command = made.parse_args(list(argv[:split])), list(argv[split + 1 :])
    if not command:
        made.error("no command stands behind `--`")
    if options.part == "verifier" and not os.path.isfile(options.receipt):
        made.error(f"{options.receipt}: no receipt is here; name one by --receipt")
    return options, command


def main(argv: Sequence[str]) -> int:
    """Try what the command line says and return the exit code; one `error:` line where there is no answer."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # what was made for the trial is taken away then too
        signal.signal(number, signal.default_int_handler)
    try:
        return _tried(*parsed(argv))
    except (NoAnswerError, OSError, KeyboardInterrupt) as problem:
        if sys.stderr is not None:
            print(f"error: {str(problem) or 'interrupted; try it again'}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter's own flush finds nothing to complain about
        return 130 if isinstance(problem, KeyboardInterrupt) else 2


def _tried(options: argparse.Namespace, command: List[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="try-aasm-") as top:
        trial = Trial(command, options, os.path.realpath(top))
        try:
            for step in STEPS[options.part]:
                say(f"right: {step(trial)}")
        except (WrongError, OSError, ValueError, LookupError, subprocess.TimeoutExpired) as problem:
            say(f"wrong: {step.__name__.replace('_', ' ')}: {problem}")
            return 1
    say(f"all {len(STEPS[options.part])} steps are right")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
