#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Try the starting policies on this host: run what is installed inside the boundary, and say what is not installed.

    python3 tools/try_templates.py                      every job, under the template `agent`
    python3 tools/try_templates.py --template offline   under another template
    python3 tools/try_templates.py go claude            these jobs; one that is not installed counts as failed
    python3 tools/try_templates.py --also DIR           DIR is readable too, and the programs in it are found: DIR,
                                                        DIR/bin, DIR/node_modules/.bin; may be given several times
    python3 tools/try_templates.py --install codex      install this agent first, with npm inside the boundary: needs
                                                        the network, so it works under `agent` alone

Programs made with Bun (claude, opencode) abort where they cannot read /proc, which no template grants by itself: try
them with --also /proc.

Each job has a workspace of its own, and is good when it ends with 0 and the file `answer` in it, looked at from
outside, is as it should be. The tests run the same kind of jobs with what continuous integration has
(tests/kernel/test_templates_at_work.py); this is for the rest: compilers of other languages, and agents, of which only
`--version` is asked, since anything more needs a login. Prints one line a job; ends with 1 when one failed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

ROOT = Path(__file__).resolve().parent.parent
for _place in (str(ROOT / "tools"), str(ROOT)):  # the first is missing under python -I
    if _place not in sys.path:
        sys.path.insert(0, _place)

import command  # noqa: E402

from aasm.policy.templates import TEMPLATES, template  # noqa: E402

LIMIT_SECONDS = 600  # a job that takes longer has failed


class Job(NamedTuple):
    """What to do, and with what. `answer` is what the file of this name must hold; None: anything but nothing."""

    programs: Sequence[str]
    script: str
    answer: Optional[str] = "42\n"


def version_of(program: str) -> Job:
    """Return the job that asks a program for its version."""
    return Job((program,), f"{program} --version > answer", None)


GIT = """
git init -q -b main . && git config user.name Tester && git config user.email tester@example.org
echo 42 > file; git add .; git commit -qm first; git checkout -qb side; git worktree add -q linked main
git gc -q; git clone -q . copy; cp copy/file answer
"""
PYTHON = """
cat > make.py <<'END'
import zipfile
files = {"parcel.py": "def main():\\n    print(42)\\n",
         "parcel-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: parcel\\nVersion: 1\\n",
         "parcel-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
         "parcel-1.dist-info/entry_points.txt": "[console_scripts]\\nparcel = parcel:main\\n",
         "parcel-1.dist-info/RECORD": ""}
with zipfile.ZipFile("parcel-1-py3-none-any.whl", "w") as archive:
    for name, text in files.items():
        archive.writestr(name, text)
END
python3 make.py; python3 -m venv env
env/bin/python -m pip install -q --no-index --disable-pip-version-check ./parcel-1-py3-none-any.whl
env/bin/parcel > answer
"""
UV = "uv venv -q env && env/bin/python -c 'print(42)' > answer"
C = """
printf '#include <stdio.h>\\nint main(void) { puts("42"); return 0; }\\n' > main.c
printf 'answer: main\\n\\t./main > answer\\nmain: main.c\\n\\tgcc -o main main.c\\n' > Makefile; make -s -j2
"""
CMAKE = """
printf '#include <stdio.h>\\nint main(void) { puts("42"); return 0; }\\n' > main.c
printf 'cmake_minimum_required(VERSION 3.10)\\nproject(answer C)\\nadd_executable(main main.c)\\n' > CMakeLists.txt
cmake -S . -B build > log; cmake --build build >> log; build/main > answer
"""
NODE = """
node -e 'console.log(require("child_process").execFileSync("echo", ["42"]).toString().trim())' > answer
"""
NPM = """
mkdir package app; echo '{"name": "local", "version": "1.0.0"}' > package/package.json
echo 'console.log(42)' > package/index.js; cd app; npm init -y > ../log
npm install --offline --no-audit --no-fund ../package >> ../log; node -e 'require("local")' > ../answer
"""
CARGO = """
cargo init -q --vcs none --name answer --bin crate; echo 'fn main() { println!("42"); }' > crate/src/main.rs
(cd crate; cargo build -q --offline); crate/target/debug/answer > answer
"""
GO = """
printf 'package main\\n\\nimport "fmt"\\n\\nfunc main() { fmt.Println(42) }\\n' > main.go
go mod init example.org/answer 2> log; go vet .; go build -o program .; ./program > answer
"""
JAVA = """
echo 'class Answer { public static void main(String[] a) { System.out.println(42); } }' > Answer.java
javac Answer.java; java Answer > answer
"""
SQLITE = """
sqlite3 base 'pragma journal_mode=wal; create table t(x); insert into t values(42);' > log
sqlite3 base 'select x from t' > answer
"""
KEY = "ssh-keygen -q -t ed25519 -N '' -f pair; cut -d' ' -f1 pair.pub > answer"
CURL = 'curl --silent --show-error "file://$PWD/given" > answer'

JOBS: Dict[str, Job] = {
    "git": Job(("git",), GIT),
    "python": Job(("python3",), PYTHON),
    "uv": Job(("uv",), UV),
    "c": Job(("gcc", "make"), C),
    "cmake": Job(("cmake", "gcc"), CMAKE),
    "node": Job(("node",), NODE),
    "npm": Job(("npm", "node"), NPM),
    "rust": Job(("cargo", "rustc"), CARGO),
    "go": Job(("go",), GO),
    "java": Job(("javac", "java"), JAVA),
    "perl": Job(("perl",), "perl -e 'print `echo 42`' > answer"),
    "ruby": Job(("ruby",), "ruby -e 'puts `echo 42`' > answer"),
    "sqlite": Job(("sqlite3",), SQLITE),
    "ripgrep": Job(("rg",), "rg --no-filename 42 . > answer"),
    "curl": Job(("curl",), CURL),
    "ssh-keygen": Job(("ssh-keygen",), KEY, "ssh-ed25519\n"),
    **{name: version_of(name) for name in ("bun", "deno", "pnpm", "yarn", "gradle", "rustup", "pyenv")},
}
AGENTS = {  # the program, and the package that brings it
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "copilot": "@github/copilot",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
}
JOBS.update({name: version_of(name) for name in (*AGENTS, "aider", "cursor-agent")})


class Host(NamedTuple):
    """How jobs are started here: the template, the environment, and directories to add to its read list."""

    template: str
    environment: Dict[str, str]
    also: Sequence[str]


def host(chosen: str, also: Sequence[str]) -> Host:
    """Return this host with the variables that the template's own comments ask for, as far as what they name exists."""
    environment, home = dict(os.environ), os.path.expanduser("~")
    for name, path in (("RUSTUP_HOME", ".rustup"), ("VOLTA_HOME", ".volta"), ("GIT_CONFIG_GLOBAL", ".gitconfig")):
        if os.path.exists(os.path.join(home, path)):
            environment.setdefault(name, os.path.join(home, path))
    folders = [os.path.join(top, below) for top in also for below in ("", "bin", "node_modules/.bin")]
    environment["PATH"] = os.pathsep.join((*folders, environment.get("PATH", os.defpath)))
    return Host(chosen, environment, also)


def policy(here: Host, workspace: Path) -> str:
    """Return the text of the template, as `aasm policy new` would write it, with what was asked for in addition."""
    text = template(here.template, str(workspace), os.path.expanduser("~"), os.path.exists)
    more = "".join(f"        - {json.dumps(path, ensure_ascii=False)}\n" for path in here.also)
    return text.replace('        - "${system}"\n', f'        - "${{system}}"\n{more}', 1)


def attempt(job: Job, here: Host) -> str:
    """Do one job in a workspace of its own; return "" when all is as it should be, else what is not."""
    with tempfile.TemporaryDirectory(prefix="aasm-try-") as name:
        top = Path(os.path.realpath(name))
        workspace, file = top / "work", top / "policy.yaml"
        workspace.mkdir()
        (workspace / "given").write_text("42\n")
        file.write_text(policy(here, workspace), encoding="utf-8")
        options = ["--isolation", "process", "--report", "never", "--policy", str(file)]
        command = [sys.executable, "-I", str(ROOT / "aasm"), "run", "exec", *options, "--", "bash", "-euc", job.script]
        environment = {**here.environment, "AASM_STATE_DIR": str(top / "state")}
        try:
            done = subprocess.run(
                command, cwd=workspace, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", timeout=LIMIT_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"took longer than {LIMIT_SECONDS} s"
        return judged(done, job, workspace / "answer")


def judged(done: "subprocess.CompletedProcess[str]", job: Job, answer: Path) -> str:
    """Return what is wrong with a job that has ended, or ""."""
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["nothing on standard error"]
        return f"exit {done.returncode}: {said[-1].strip()}"
    found = answer.read_text(errors="replace") if answer.is_file() else ""
    if not found.strip() or job.answer not in (None, found):
        return f"the file answer holds {found[:60]!r}"
    return ""


def installed(agent: str) -> Job:
    """Return the job that installs an agent with npm in the workspace, and asks it for its version."""
    arguments = "--no-audit --no-fund --no-update-notifier"
    script = f"npm install {arguments} {AGENTS[agent]} > log; node_modules/.bin/{agent} --version > answer"
    return Job(("npm", "node"), script, None)


def report(state: str, name: str, rest: str = "") -> None:
    print(f"{state:<15}{name:<17}{rest}".rstrip(), flush=True)


def tried(name: str, job: Job, here: Host, expected: bool) -> bool:
    """Try one job and print its line; return whether that is as good as can be asked."""
    missing = [word for word in job.programs if shutil.which(word, path=here.environment["PATH"]) is None]
    if missing:
        report("not installed", name, "" if missing == [name] else f"without {', '.join(missing)}")
        return not expected
    begun = time.monotonic()
    problem = attempt(job, here)
    report("failed" if problem else "ok", name, problem or f"{time.monotonic() - begun:.1f} s")
    return not problem


def main(argv: Sequence[str]) -> int:
    """Try what the command line asks for."""
    parser = command.Parser("tools/try_templates.py", __doc__, "when every job is done, 1 when one failed")
    listed = f"one of {', '.join(JOBS)}; every one when none is given"
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=listed)
    parser.add_argument("--template", default="agent", choices=tuple(TEMPLATES), help="the template; agent by default")
    parser.add_argument("--also", action="append", default=[], metavar="DIR", help="a directory with further programs")
    agents = f"an agent, with npm from the network: one of {', '.join(AGENTS)}"
    parser.add_argument("--install", action="append", default=[], metavar="AGENT", choices=tuple(AGENTS), help=agents)
    given = parser.parse_args(argv)
    unknown = [name for name in given.jobs if name not in JOBS]
    if unknown:
        parser.error(f"{unknown[0]} is no job")
    here = host(given.template, [os.path.realpath(path) for path in given.also])
    chosen: List[str] = given.jobs or ([] if given.install else list(JOBS))
    results = [tried(name, JOBS[name], here, name in given.jobs) for name in chosen]
    results += [tried(f"{name} by npm", installed(name), here, True) for name in given.install]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(command.run(main))
