# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The starting policies at work: everyday programs do their jobs under `agent`, and no template opens what it must not.

One launch a program, with the text that `aasm policy new` would write, in a file outside the workspace; what it did is
checked from outside. What only some hosts have is tried where it is; tools/try_templates.py tries the rest and says
what is missing.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Callable, NamedTuple

import pytest
from kernel.test_programs import BUILD, NODE, check_receipt, make_wheel
from support.launch import PATH, Lab, domain, users
from support.outcome import ONCE

from aasm.policy.templates import TEMPLATES, template

FIRST = pytest.mark.parametrize("user", users()[:1], indirect=True)  # root, when root runs the tests
OWN_HOME = os.path.expanduser("~")


def under(lab: Lab, text: str, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script of bash inside the boundary that a policy of this text states."""
    policy = lab.file(lab.top / "policy.yaml", text)
    options = ("--isolation", "process", "--report", "never", "--policy", str(policy))
    return lab.aasm("run", "exec", *options, "--", "bash", "-euc", script, env=env)


# --- everyday programs ------------------------------------------------------------------------------


class Job(NamedTuple):
    """Something to do: what must be there before, the script, and what must be there afterwards."""

    script: str
    before: Callable[[Lab], None]
    after: Callable[[Lab], None]


GIT = """
git init -q -b main .
echo one > file; git add .; git commit -qm first
git checkout -qb side; echo two > more; git add .; git commit -qm second
git checkout -q main; git merge -q --no-edit side
git worktree add -q linked side; git gc -q
git clone -q . copy
"""


def git_after(lab: Lab) -> None:
    found = lab.bare("git", "-C", "copy", "log", "--format=%s by %an <%ae>")
    who = "by Tester <tester@example.org>"  # as the settings in the home say
    assert found.stdout.splitlines() == [f"second {who}", f"first {who}"], found.stderr
    assert lab.bare("git", "fsck", "--strict").returncode == 0
    assert (lab.workspace / "linked" / "more").read_text() == "two\n"


PYTHON_SCRIPT = """
python3 -m venv env
env/bin/python -m pip install -q --no-index --disable-pip-version-check parcel-1.0-*.whl
env/bin/parcel > answer
"""


def python_after(lab: Lab) -> None:
    assert (lab.workspace / "answer").read_text() == "unpacked\n"
    assert lab.bare("env/bin/python", "-c", "import parcel; print(parcel.WORD)").stdout == "unpacked\n"


NPM = """
cd app; npm init -y > ../made
npm install --offline --no-audit --no-fund --no-update-notifier ../package
node -p 'require("local")()' > ../answer
"""


def npm_before(lab: Lab) -> None:
    package, _ = lab.directory("ws/package"), lab.directory("ws/app")
    lab.file(package / "package.json", json.dumps({"name": "local", "version": "1.2.3", "main": "index.js"}))
    lab.file(package / "index.js", "module.exports = () => 'from the package';\n")


def npm_after(lab: Lab) -> None:
    stated = json.loads((lab.workspace / "app" / "package.json").read_text())
    assert stated["dependencies"] == {"local": "file:../package"}
    assert (lab.workspace / "answer").read_text() == "from the package\n"


def node_after(lab: Lab) -> None:
    assert json.loads((lab.workspace / "answer.json").read_text()) == {"child": "42", "answer": 42}


JAVA = """
cat > Sum.java <<'END'
import java.util.stream.IntStream;
class Sum {
    public static void main(String[] args) throws Exception {
        var sum = IntStream.range(0, 7).parallel().map(n -> n * 2).sum();
        java.nio.file.Files.writeString(java.nio.file.Path.of("answer"), sum + "\\n");
    }
}
END
javac Sum.java; java Sum
"""
GO = """
cat > main.go <<'END'
package main

import "os"

func main() { os.WriteFile("answer", []byte("42\\n"), 0o644) }
END
go mod init example.org/answer 2> said || (cat said; exit 1)
go build -o program . && ./program
"""
CARGO = """
cargo init -q --vcs none --name answer --bin crate
printf 'fn main() { std::fs::write("answer", "42\\\\n").unwrap(); }\\n' > crate/src/main.rs
(cd crate && cargo build -q --offline); crate/target/debug/answer
"""


def nothing(lab: Lab) -> None:
    """Need nothing but the workspace."""


def answered(lab: Lab) -> None:
    assert (lab.workspace / "answer").read_text() == "42\n"


def built(lab: Lab) -> None:
    answered(lab)
    assert lab.bare("./hello").stdout == "42\n"


JOBS = {
    "git": Job(GIT, nothing, git_after),
    "gcc": Job(BUILD, nothing, built),
    "node": Job("node main.js", lambda lab: write(lab, "main.js", NODE), node_after),
    "npm": Job(NPM, npm_before, npm_after),
    "python3": Job(PYTHON_SCRIPT, lambda lab: make_wheel(lab.workspace / "parcel-1.0-py3-none-any.whl"), python_after),
    "javac": Job(JAVA, nothing, answered),
    "go": Job(GO, nothing, answered),
}
EVERYWHERE = ("git", "gcc", "node", "npm")  # continuous integration states them; the others are tried where they are
THERE = [name for name in JOBS if name in EVERYWHERE or shutil.which(name, path=PATH)]


def write(lab: Lab, name: str, text: str) -> None:
    lab.file(lab.workspace / name, text)


def settings_of_git(lab: Lab) -> str:
    """Write settings into the home, as a user has them, and return where they are."""
    return str(lab.file(lab.home / ".gitconfig", "[user]\n\tname = Tester\n\temail = tester@example.org\n"))


@ONCE
@pytest.mark.parametrize("name", THERE)
def test_an_everyday_program_does_its_job_under_agent(name: str, lab: Lab) -> None:
    job, settings = JOBS[name], settings_of_git(lab)
    job.before(lab)
    text = template("agent", None, str(lab.home), os.path.exists)
    done = under(lab, text, job.script, GIT_CONFIG_GLOBAL=settings)
    assert done.returncode == 0, done.stderr
    job.after(lab)
    check_receipt(lab)
    assert os.listdir(lab.home) == [".gitconfig"]  # caches and the like went into the private home, which is gone


def cargo() -> list[str]:
    """Return where cargo is, when it is anywhere: of the host, or in the home of whoever runs the tests."""
    found = shutil.which("cargo", path=f"{OWN_HOME}/.cargo/bin:{PATH}")
    return [] if found is None else [found]


@FIRST
@pytest.mark.parametrize("program", cargo(), ids=lambda path: "cargo")
def test_cargo_builds_under_agent_with_the_toolchain_in_the_home(program: str, lab: Lab) -> None:
    # Only the owner of a home reaches the toolchain in it. HOME is another one inside, so RUSTUP_HOME has to say where.
    env = {"HOME": OWN_HOME, "PATH": f"{os.path.dirname(program)}:{PATH}", "RUSTUP_HOME": f"{OWN_HOME}/.rustup"}
    text = template("agent", str(lab.workspace), OWN_HOME, os.path.exists)
    before = sorted(os.listdir(os.path.dirname(os.path.dirname(program))))
    done = under(lab, text, CARGO, **env)
    assert done.returncode == 0, done.stderr
    answered(lab)
    assert lab.bare("crate/target/debug/answer").returncode == 0
    assert sorted(os.listdir(os.path.dirname(os.path.dirname(program)))) == before
    check_receipt(lab)


SEVERAL = f"""
(mkdir tree; cd tree; {GIT})
(cd tree; {BUILD}) > built
node main.js
perl -e 'print scalar `echo child`' > answer
seq 20 | xargs -P 4 -n 5 echo | sort -n | tail -n 1; mkfifo pipe; (echo through > pipe) & cat pipe; wait
"""


@ONCE
def test_the_group_of_all_calls_is_enough_for_everyday_programs(lab: Lab) -> None:
    write(lab, "main.js", NODE)
    settings = settings_of_git(lab)
    text = template("offline", None, str(lab.home), os.path.exists) + '  syscalls:\n    allow: ["@program"]\n'
    done = under(lab, text, f"{SEVERAL}\nunshare --user true || echo unshared $?", GIT_CONFIG_GLOBAL=settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["16 17 18 19 20", "through", "unshared 1"]
    node_after(lab)
    assert (lab.workspace / "tree" / "answer").read_text() == "42\n"
    assert (lab.workspace / "answer").read_text() == "child\n"
    assert domain(check_receipt(lab), "syscall")["state"] == "prevention"


# --- what no template opens -------------------------------------------------------------------------

ATTEMPTS = """
cat /etc/shadow && echo shadow
cat link && echo link
cat /etc/passwd > /dev/null && echo passwd
echo made > made && echo wrote
echo changed > "$OUTSIDE" && echo outside
(exec 3<> "/dev/tcp/127.0.0.1/$PORT") && echo connected
echo "${ANTHROPIC_API_KEY-no key} ${JAVA_HOME-no jdk}"
"""
DENIED = "Permission denied"  # EACCES
NO_SOCKET = "Address family not supported by protocol"  # EAFNOSUPPORT


@FIRST
@pytest.mark.parametrize("name", TEMPLATES)
def test_under_every_template_shadow_stays_unreadable_and_the_rest_is_as_stated(name: str, lab: Lab) -> None:
    control = lab.bare("cat", "/etc/shadow")
    as_root = os.geteuid() == 0
    assert ("root:" in control.stdout) if as_root else (DENIED in control.stderr)
    (lab.workspace / "link").symlink_to("/etc/shadow")
    outside = lab.file(lab.outside / "file", "kept\n")
    before = os.stat("/etc/shadow")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        script = f"OUTSIDE={outside}; PORT={listener.getsockname()[1]}; set +e; {ATTEMPTS}"
        text = template(name, str(lab.workspace), str(lab.home), os.path.exists)
        done = under(lab, text, script, ANTHROPIC_API_KEY="of mine", JAVA_HOME="/a/jdk")
        reached = bool(select.select([listener], [], [], 0)[0])
    assert done.returncode == 0, done.stderr
    writes, connects, java = name != "minimal", name == "agent", name in ("agent", "java", "offline")
    stated = [*["wrote"] * writes, *["connected"] * connects, f"no key {'/a/jdk' if java else 'no jdk'}"]
    assert done.stdout.splitlines() == ["passwd", *stated]
    assert f"cat: /etc/shadow: {DENIED}\ncat: link: {DENIED}\n" in done.stderr
    assert (f"{outside}: {DENIED}" in done.stderr, f"made: {DENIED}" in done.stderr) == (True, not writes)
    assert (NO_SOCKET in done.stderr, reached) == (not connects, connects)
    assert (lab.workspace / "made").exists() is writes and outside.read_text() == "kept\n"
    assert_untouched(Path("/etc/shadow"), before)
    assert domain(check_receipt(lab), "network_egress")["state"] == ("unmeasured" if connects else "prevention")


def assert_untouched(path: Path, before: os.stat_result) -> None:
    now = path.stat()
    assert (now.st_ino, now.st_size, now.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
