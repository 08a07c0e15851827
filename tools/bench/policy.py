#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""How long policies take: to read, validate, place, merge and lower, and to import what does so.

    python3 tools/bench/policy.py            measure, and print everything
    python3 tools/bench/policy.py --check    also exit 1 when a goal is missed by more than SLACK times

Each time is the median of several rounds, and each round is a fresh interpreter (-I -S), so that what is compiled on
first use counts, and what is imported then. The row of ten rules of every kind is there twice: its goal is for the
work beyond imports. Printed are processor time and wall time; goals are held by processor time, since wall
time on a busy machine measures the others. Standard library only; it writes to a temporary directory and nowhere else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
for _place in (str(ROOT), str(ROOT / "tools")):
    if _place not in sys.path:
        sys.path.insert(0, _place)

import command  # noqa: E402
from bench import documents  # noqa: E402

SLACK = 3.0  # a busy or slow machine; a goal that is missed by more is missed by the code
LIMIT = 60  # seconds of wall time, after which one round is ended and counts as no answer
PATIENCE = 5  # seconds; what takes longer is measured once

# Run in a fresh interpreter: the root of the project, what to import first, then policy files. Prints the seconds of
# each stage over all of the files, and the answer: "valid", or the refusal.
_CHILD = """
import sys, time
sys.path.insert(0, sys.argv[1])
from aasm.errors import PolicyError
from aasm.model.requirements import UNLIMITED
from aasm.policy import cascade, document, load, lowering, reader
from aasm.policy.places import Places
for module in sys.argv[2].split():
    __import__(module)

made, answer = {}, "valid"
def timed(stage, work, *args):
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        return work(*args)
    finally:
        before = made.get(stage, (0.0, 0.0))
        made[stage] = (before[0] + time.process_time() - cpu, before[1] + time.perf_counter() - wall)

here = Places("/nowhere/here", "/nowhere/home", ("/usr", "/etc"))
try:
    read = [timed("read", reader.read_file, path) for path in sys.argv[3:]]
    valid = [timed("validate", document.validate, item) for item in read]
    placed = [timed("place", load.placed, item, here, len(valid) > 1) for item in valid]
    merged = timed("merge", cascade.merge, placed)
    timed("lower", lowering.lower, merged, UNLIMITED)
except PolicyError as problem:
    answer = str(problem)
import json
print(json.dumps([made, answer]))
"""


# What a policy makes the package import when it states something of the kind.
ON_FIRST_USE = (
    "aasm.policy.calls aasm.policy.expression aasm.policy.hosts ipaddress warnings "
    "aasm._sys._nr_x86_64 aasm._sys._nr_aarch64 aasm._sys._nr_riscv64"
)


class Measure(NamedTuple):
    """What is measured: the stages over the documents together. `goal` is in seconds, None where there is none."""

    name: str
    documents: Tuple[bytes, ...]
    suffix: str = ".yaml"
    stages: Tuple[str, ...] = ("read", "validate")
    goal: float = 1.0
    rounds: int = 5
    refusable: bool = False  # a refusal is an answer as well
    imported: str = ""  # modules that are imported before anything is measured


class Took(NamedTuple):
    """Medians in seconds, and what came of the documents. Without an answer the times are those of the limit.

    `stages` are the processor seconds of each stage that counts.
    """

    cpu: float
    wall: float
    answer: str
    stages: Dict[str, float] = {}


class Imported(NamedTuple):
    """What one command imports: modules of the policy stages with their own milliseconds, and sums over more."""

    policy: Dict[str, float]
    package: float  # all modules of aasm
    every: float
    modules: int


NO_ANSWER = f"no answer in {LIMIT} s"


# --- measuring --------------------------------------------------------------------------------------


class Bench:
    """Runs children over files in one temporary directory, where their bytecode lies as well."""

    def __init__(self, place: str) -> None:
        self.place = Path(place)
        flags = ("-I", "-S", "-X", f"pycache_prefix={place}/cache")
        self.python = (sys.executable, *flags)

    def files(self, measure: Measure) -> List[str]:
        names = [f"{at}{measure.suffix}" for at in range(len(measure.documents))]
        for name, data in zip(names, measure.documents):
            (self.place / name).write_bytes(data)
        return names

    def take(self, measure: Measure, rounds: int = 0) -> Took:
        """Return the medians of `rounds` rounds, or of as many as the measure itself wants."""
        command = [*self.python, "-c", _CHILD, str(ROOT), measure.imported, *self.files(measure)]
        taken: List[Dict[str, Tuple[float, float]]] = []
        answer, end = "", time.monotonic() + PATIENCE
        while len(taken) < (rounds or measure.rounds) and not (taken and time.monotonic() > end):
            try:
                done = subprocess.run(
                    command, cwd=self.place, capture_output=True, text=True, timeout=LIMIT, check=True
                )
            except subprocess.TimeoutExpired:
                return Took(LIMIT, LIMIT, NO_ANSWER)
            made, answer = json.loads(done.stdout)
            taken.append({stage: made.get(stage, (0.0, 0.0)) for stage in measure.stages})
        cpu, wall = (median(sum(times[at] for times in one.values()) for one in taken) for at in (0, 1))
        return Took(cpu, wall, answer, {stage: median(one[stage][0] for one in taken) for stage in measure.stages})

    def interpreter(self, rounds: int = 9) -> Took:
        """Return what an interpreter takes that does nothing."""
        return self.whole([*self.python, "-c", "pass"], rounds)

    def whole(self, command: Sequence[str], rounds: int = 5) -> Took:
        """Return what a whole command takes, from its start to its end."""
        times = [_spawned(command) for _ in range(rounds)]
        return Took(median(cpu for cpu, _ in times), median(wall for _, wall in times), "")

    def warm(self) -> None:
        """Have everything compiled, which is no part of any measure."""
        for words in self.commands().values():
            _spawned(words)
        self.take(Measure("", (documents.TEN_OF_EVERY_KIND,)), 1)

    def commands(self) -> Dict[str, List[str]]:
        """Return the commands whose imports are of interest."""
        path = str(self.place / "ten.yaml")
        Path(path).write_bytes(documents.TEN)
        start = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); from aasm.cli import main; sys.exit(main(sys.argv[1:]))"
        )
        python = [*self.python, "-c", start]
        run = ["run", "exec", "--isolation", "process", "--policy", str(path), "--dry-run", "--", "true"]
        return {"policy validate": [*python, "policy", "validate", str(path)], "run exec --dry-run": [*python, *run]}

    def imports(self, command: Sequence[str]) -> Imported:
        """Return what a command imports, by the interpreter's own account (-X importtime, which slows it a little)."""
        timing = [command[0], "-X", "importtime", *command[1:]]
        done = subprocess.run(timing, capture_output=True, text=True, timeout=LIMIT, check=False)
        own: Dict[str, float] = {}
        for line in done.stderr.splitlines():
            fields = line.partition("import time:")[2].split("|")
            if len(fields) == 3 and fields[0].strip().isdigit():
                own[fields[2].strip()] = int(fields[0]) / 1000
        policy = {name: spent for name, spent in own.items() if name.startswith("aasm.policy")}
        package = sum(spent for name, spent in own.items() if name.partition(".")[0] == "aasm")
        return Imported(policy, package, sum(own.values()), len(own))


def _spawned(command: Sequence[str]) -> Tuple[float, float]:
    """Run a command to its end; return its processor time and its wall time."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, time.perf_counter() - started


# --- what is measured -------------------------------------------------------------------------------


def small() -> Iterator[Measure]:
    """Yield the policies that a launch meets every day."""
    yield Measure("ten rules", (documents.TEN,), goal=0.005, rounds=9)
    every = (documents.TEN_OF_EVERY_KIND,)
    yield Measure("ten rules, of every kind", every, goal=0.005, rounds=9, imported=ON_FIRST_USE)
    yield Measure("ten rules, of every kind, with imports", every, rounds=9)
    yield Measure("ten rules in JSON", (documents.TEN_IN_JSON,), ".json", goal=0.005, rounds=9)


def large() -> Iterator[Measure]:
    """Yield policies of 10,000 entries, and what becomes of two of them."""
    for name, lists in documents.LISTS.items():
        yield Measure(f"10,000 {name}", (documents.listed(lists),))
    yield Measure("10,000 paths in JSON", (documents.as_json(documents.LISTS["paths"]),), ".json")
    yield Measure("10,000 paths in TOML", (documents.as_toml(documents.LISTS["paths"]),), ".toml", refusable=True)
    yield Measure("10,000 tools", (documents.tools(),))
    yield Measure("10,000 faults", (documents.faults(),), refusable=True)
    for name, lists in documents.LISTS.items():
        two = (documents.listed(lists), documents.listed(lists, first=documents.MANY // 2))
        yield Measure(f"two tiers of 10,000 {name}: merge", two, stages=("merge",), rounds=3)
        yield Measure(f"10,000 {name}: place and lower", two[:1], stages=("place", "lower"), rounds=3)
    for name, both in documents.PRODUCTS.items():
        yield Measure(f"{name}: merge and lower", both, stages=("merge", "lower"), rounds=1, refusable=True)


def hostile() -> Iterator[Measure]:
    """Yield documents of the largest size that hold one thing over and over."""
    for suffix, shapes in documents.SHAPES.items():
        for name, shape in shapes.items():
            document = documents.filled(shape, documents.LARGEST)
            yield Measure(f"1 MiB {suffix[1:]}: {name}", (document,), suffix, goal=2.0, rounds=3, refusable=True)


GROUPS = {"small": small, "large": large, "hostile": hostile}


def verdict(measure: Measure, took: Took, slack: float = SLACK) -> str:
    """Return what is wrong with a measure, or an empty text."""
    if took.answer == NO_ANSWER:
        return took.answer
    if took.answer != "valid" and not measure.refusable:
        return f"refused: {took.answer}"
    return f"over {slack:g} times its goal" if took.cpu > slack * measure.goal else ""


# --- printing ---------------------------------------------------------------------------------------


def line(measure: Measure, took: Took) -> str:
    times = f"{took.cpu * 1000:9.2f} {took.wall * 1000:9.2f} {measure.goal * 1000:7.0f}"
    stages = ", ".join(f"{stage} {spent * 1000:.1f}" for stage, spent in took.stages.items())
    answer = took.answer if len(took.answer) < 60 else took.answer[:57] + "..."
    return f"{measure.name:46} {times}  {stages:32}  {answer}".rstrip()


def report_imports(bench: Bench) -> None:
    nothing = bench.interpreter()
    for name, words in bench.commands().items():
        found, whole = bench.imports(words), bench.whole(words)
        print(f"\naasm {name}: {whole.cpu * 1000:.1f} ms of processor, {whole.wall * 1000:.1f} ms of wall time;")
        print(f"    an interpreter that does nothing: {nothing.cpu * 1000:.1f} and {nothing.wall * 1000:.1f} ms")
        print(f"    {found.modules} modules take {found.every:.1f} ms to import, those of aasm {found.package:.1f} ms,")
        print(f"    {len(found.policy)} of aasm.policy {sum(found.policy.values()):.1f} ms:")
        for module, spent in sorted(found.policy.items(), key=lambda item: -item[1]):
            print(f"    {spent:9.2f}  {module}")


def main(argv: List[str]) -> int:
    parser = command.Parser("tools/bench/policy.py", __doc__, "when it is done, 1 when --check finds a goal missed")
    parser.add_argument("--check", action="store_true", help="compare with the goals")
    check = parser.parse_args(argv).check
    missed: List[str] = []
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(place)
        bench.warm()
        nothing = bench.interpreter()
        print(f"Python {sys.version.split()[0]}: an interpreter that does nothing takes {nothing.cpu * 1000:.2f} ms of "
              f"processor and {nothing.wall * 1000:.2f} ms of wall time")  # fmt: skip
        print(f"{'milliseconds':46} {'processor':>9} {'wall':>9} {'goal':>7}  {'of the processor':32}  answer")
        for name, group in GROUPS.items():
            for measure in group():
                took = bench.take(measure)
                ratio = f"  {took.cpu / nothing.cpu:.2f} of an interpreter" if name == "small" else ""
                print(line(measure, took) + ratio, flush=True)
                wrong = verdict(measure, took)
                missed += [f"{measure.name}: {wrong}"] if wrong else []
        report_imports(bench)
    for text in missed:
        print(f"missed: {text}")
    return command.differs(f"{len(missed)} goal(s) missed; measure again on a quiet machine") if missed and check else 0


if __name__ == "__main__":
    sys.exit(command.run(main))
