# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Everyday programs do real work inside the boundary, with the host's programs readable and one workspace writable.

One launch for each program. What it did is checked from outside, and its receipt is read.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import subprocess
import zipfile
from pathlib import Path
from typing import Any, Sequence

from support.launch import PYTHON, Lab, domain
from support.outcome import ALL_HELD, canaries


def ran(lab: Lab, script: str, *more: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run a script of bash inside the boundary; it and its receipt must be as they should, and nothing left over."""
    done = lab.confined("bash", "-euc", script, "bash", *more, options=options)
    assert done.returncode == 0, done.stderr
    check_receipt(lab)
    return done


def check_receipt(lab: Lab, exit_code: int = 0) -> dict[str, Any]:
    """Return the receipt of the run that just ended, after the checks that every such run must pass."""
    body = lab.receipt()
    assert body["execution"]["exit_code"] == exit_code
    assert body["execution"]["termination"] == {"kind": "self_exited"}
    assert (body["boundary"]["sealed"], body["boundary"]["survivors_killed"]) == (True, 0)
    assert canaries(body) == ALL_HELD
    for name in ("filesystem_read", "filesystem_write"):
        assert domain(body, name)["state"] == "prevention"
    assert lab.ledger()[-1]["event"] == "ended"
    assert lab.leftovers() == []
    return body


GIT = """
git init -q -b main .
git config user.name Tester; git config user.email tester@example.org
seq 200 > numbers; echo one > file
git add .; git commit -qm first
git checkout -qb side; echo two > more; git add more; git commit -qm second
git checkout -q main; git mv numbers digits; git commit -qm moved
git merge -q --no-edit side
git diff -M --name-status HEAD~2 HEAD
git worktree add -q ../linked side
git gc -q
"""


def test_git_commits_merges_sees_a_rename_and_links_a_worktree(lab: Lab) -> None:
    repository = lab.directory("ws/repository")
    done = lab.confined("bash", "-euc", GIT, cwd=repository)
    assert done.returncode == 0, done.stderr
    assert "R100\tnumbers\tdigits" in done.stdout.splitlines()

    def git(*args: str, at: str = "repository") -> str:
        return lab.bare("git", "-C", str(lab.workspace / at), *args).stdout

    assert lab.bare("git", "-C", str(repository), "fsck", "--strict").returncode == 0
    assert sorted(git("log", "--format=%s").splitlines()) == ["Merge branch 'side'", "first", "moved", "second"]
    assert git("log", "--format=%an <%ae>", "-1", "side") == "Tester <tester@example.org>\n"
    assert git("status", "--porcelain") == "" and git("rev-parse", "--abbrev-ref", "HEAD", at="linked") == "side\n"
    check_receipt(lab)


BUILD = """
cat > hello.c <<'END'
#include <stdio.h>
int half(int); int quarter(int);
int main(void) { printf("%d\\n", half(84) + quarter(0)); return 0; }
END
echo 'int half(int n) { return n / 2; }' > half.c
echo 'int quarter(int n) { return n / 4; }' > quarter.c
printf 'hello: hello.o half.o quarter.o\\n\\tgcc -o $@ $^\\n%%.o: %%.c\\n\\tgcc -O2 -c $<\\n' > Makefile
make -j2
./hello > answer
echo 'int main(void) { return 7; }' > seven.c
gcc -o seven seven.c && (./seven || echo "code $?")
"""


def test_gcc_and_make_build_programs_that_run(lab: Lab) -> None:
    done = ran(lab, BUILD)
    assert done.stdout.splitlines()[-1] == "code 7"
    assert (lab.workspace / "answer").read_text() == "42\n"
    assert lab.bare("./hello").stdout == "42\n"


NODE = """
const { execFileSync } = require("child_process");
const { Worker } = require("worker_threads");
const fs = require("fs");
const child = execFileSync(process.execPath, ["-e", "console.log(6 * 7)"]).toString().trim();
const worker = new Worker('require("worker_threads").parentPort.postMessage(21 * 2)', { eval: true });
worker.on("message", (answer) => fs.writeFileSync("answer.json", JSON.stringify({ child, answer })));
"""


def test_node_starts_a_child_process_and_a_worker_thread(lab: Lab) -> None:
    lab.file(lab.workspace / "main.js", NODE)
    ran(lab, "node main.js")
    assert json.loads((lab.workspace / "answer.json").read_text()) == {"child": "42", "answer": 42}


NPM_POLICY = {
    "filesystem": {"read": {"allow": ["${system}", "${workdir}"]}, "write": {"allow": ["${workdir}"]}},
    "network": {"allowlist": []},
}


def test_npm_installs_a_local_package_with_every_socket_refused(lab: Lab) -> None:
    package, app = lab.directory("ws/package"), lab.directory("ws/app")
    lab.file(package / "package.json", json.dumps({"name": "local", "version": "1.2.3", "main": "index.js"}))
    lab.file(package / "index.js", "module.exports = () => 'from the package';\n")
    lab.file(app / "package.json", json.dumps({"name": "app", "version": "1.0.0"}))
    policy = lab.file(lab.top / "policy.json", json.dumps(NPM_POLICY))
    script = "cd app; npm install --offline --no-audit --no-fund --no-update-notifier ../package; ls -A ~ > home"
    options = ("--isolation", "process", "--policy", str(policy))
    done = lab.aasm("run", "exec", *options, "--", "bash", "-euc", script)
    assert done.returncode == 0, done.stderr
    assert json.loads((app / "package.json").read_text())["dependencies"] == {"local": "file:../package"}
    assert lab.bare("node", "-p", "require('local')()", cwd=app).stdout == "from the package\n"
    # its cache lay in the private home, which is gone
    assert (app / "home").read_text() == ".npm\n" and list(lab.home.iterdir()) == []
    assert domain(check_receipt(lab), "network_egress")["state"] == "prevention"


VENV = '"$1" -m venv env; env/bin/python -m pip install -q --no-index --disable-pip-version-check parcel-1.0-*.whl'


def test_a_virtual_environment_takes_a_local_wheel(lab: Lab) -> None:
    make_wheel(lab.workspace / "parcel-1.0-py3-none-any.whl")
    ran(lab, VENV, PYTHON[0])
    inside = str(lab.workspace / "env" / "bin" / "python")
    assert lab.bare(inside, "-c", "import parcel; print(parcel.WORD)").stdout == "unpacked\n"
    assert lab.bare(str(lab.workspace / "env" / "bin" / "parcel")).stdout == "unpacked\n"


def make_wheel(path: Path) -> None:
    """Write a wheel with one module and one script (binary distribution format 1.0)."""
    files = {
        "parcel.py": "WORD = 'unpacked'\ndef main() -> None:\n    print(WORD)\n",
        "parcel-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: parcel\nVersion: 1.0\n",
        "parcel-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "parcel-1.0.dist-info/entry_points.txt": "[console_scripts]\nparcel = parcel:main\n",
    }
    record = "parcel-1.0.dist-info/RECORD"
    files[record] = "".join(f"{name},,\n" for name in (*files, record))
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


BASH = """
seq 10 | grep -v 5 | sort -rn | head -n 2 | tr '\\n' ' '; echo
(cd /usr; x=inner; pwd); echo "${x-outer}"
sleep 0.05 & first=$!; (exit 3) & second=$!
wait "$first"; echo "first $?"; wait "$second" || echo "second $?"
trap 'echo caught' USR1; kill -USR1 $$; trap - USR1
cat <<END
here $((6 * 7))
END
mkfifo pipe; (echo through > pipe) & cat pipe; wait
cat <(echo substituted) <(echo twice)
echo into > >(cat > taken); wait $!
trap 'echo leaving > trapped' EXIT
set -m; sleep 5 & kill %1; wait %1 || echo "job $?"
"""
BASH_SAYS = (
    "10 9 ", "/usr", "outer", "first 0", "second 3", "caught", "here 42", "through", "substituted", "twice", "job 143",
)  # fmt: skip


def test_bash_has_pipes_jobs_traps_here_documents_fifos_and_process_substitution(lab: Lab) -> None:
    # Process substitution opens /dev/fd/N, a link into /proc/self/fd: looking up a path is no right of Landlock, and a
    # pipe lies in no file system that it covers. So no grant of /proc is needed.
    assert ran(lab, BASH).stdout.splitlines() == list(BASH_SAYS)
    assert (lab.workspace / "taken").read_text() == "into\n"
    assert (lab.workspace / "trapped").read_text() == "leaving\n"
    assert stat.S_ISFIFO((lab.workspace / "pipe").stat().st_mode)


# bash does not wait for a substituted process by itself, which would then count as left behind.
LISTING = "ls /proc/self/fd; cat <(echo sibling); wait $!"


def test_the_descriptors_in_proc_can_be_opened_but_not_listed_without_a_grant(lab: Lab) -> None:
    control = lab.bare("bash", "-c", LISTING)
    assert control.stdout.split()[:3] == ["0", "1", "2"] and control.stderr == ""
    done = lab.confined("bash", "-c", LISTING)
    assert done.stdout == "sibling\n"
    assert "ls: cannot open directory '/proc/self/fd': Permission denied" in done.stderr.splitlines()
    check_receipt(lab)
    assert os.listdir("/proc/self/fd")
    granted = lab.confined("bash", "-c", LISTING, options=("--read", "/proc"))
    assert granted.stdout.split()[:3] == ["0", "1", "2"]


# A reader keeps its snapshot in one process while another process writes: both map the -shm file.
WAL = """
sqlite3 base 'pragma journal_mode=wal; create table t(x); insert into t values(1);'
coproc READER { sqlite3 base; }
to=${READER[1]}; from=${READER[0]}; reader=$READER_PID
echo 'begin; select count(*) from t;' >&"$to"; read -r before <&"$from"
sqlite3 base 'insert into t values(2);'
ls base*
printf 'select count(*) from t;\\ncommit;\\nselect count(*) from t;\\n.quit\\n' >&"$to"
read -r during <&"$from"; read -r after <&"$from"; wait "$reader"
echo "$before $during $after"
"""


def test_sqlite_shares_a_write_ahead_log_between_two_connections(lab: Lab) -> None:
    assert ran(lab, WAL).stdout.split() == ["wal", "base", "base-shm", "base-wal", "1", "1", "2"]
    with sqlite3.connect(lab.workspace / "base") as base:
        assert base.execute("select x from t order by x").fetchall() == [(1,), (2,)]
        assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
    base.close()


FILES = """
mkdir -p tree/deep; echo one > tree/first; echo two > tree/deep/second
chmod 640 tree/first; ln -s first tree/link; ln tree/first tree/hard; touch -d '2020-01-02 03:04:05 UTC' tree/first
tar -cf tree.tar tree; mkdir unpacked; tar -xpf tree.tar -C unpacked
find unpacked -type f -name '*s*' -print0 | sort -z | xargs -0 cat > found
sed -i s/two/TWO/ tree/deep/second
cp -a tree copy
mv copy/deep/second copy/moved; rm -r copy/deep
"""


def test_files_are_packed_found_edited_and_copied_with_their_metadata(lab: Lab) -> None:
    ran(lab, FILES)
    top = lab.workspace
    assert (top / "found").read_text() == "two\none\n" and (top / "copy" / "moved").read_text() == "TWO\n"
    for place in ("unpacked/tree", "copy"):
        first = (top / place / "first").stat()
        assert (stat.S_IMODE(first.st_mode), int(first.st_mtime), first.st_nlink) == (0o640, 1577934245, 2)
        assert os.readlink(top / place / "link") == "first"


SET_ID = """
cp -a program copied; echo "cp $?"
mkdir out; tar -cf program.tar program; tar -xpf program.tar -C out; echo "tar $?"
chmod u+s plain; echo "chmod $?"
cp -a plain sibling; echo "sibling $?"
"""


def test_no_tool_keeps_a_set_id_bit_and_it_says_so(lab: Lab) -> None:
    program = lab.file(lab.workspace / "program", "#!/bin/sh\n")
    program.chmod(0o4755)  # after the change of owner, which takes the bit away
    lab.file(lab.workspace / "plain", mode=0o640)
    control = lab.bare("bash", "-c", "cp -a program kept && chmod u+s kept && stat -c %a kept")
    assert control.stdout == "4755\n", control.stderr
    done = lab.confined("bash", "-c", SET_ID)
    assert done.stdout.split("\n")[:4] == ["cp 1", "tar 2", "chmod 1", "sibling 0"]
    assert len(re.findall("Operation not permitted$", done.stderr, re.MULTILINE)) >= 3
    found = {name: stat.S_IMODE((lab.workspace / name).stat().st_mode) for name in ("copied", "out/program", "plain")}
    assert {name for name, mode in found.items() if mode & 0o6000} == set()
    assert stat.S_IMODE((lab.workspace / "sibling").stat().st_mode) == 0o640
    assert stat.S_IMODE(program.stat().st_mode) == 0o4755  # what was there before keeps it
    floor = [line["value"] for line in check_receipt(lab)["boundary"]["floor"]]
    assert "set-id bits on files" in floor


def test_metadata_outside_the_grants_can_be_changed_which_no_report_denies(lab: Lab) -> None:
    # A gap that the kernel leaves (Landlock has no right for it), stated in README.md. Contents stay out of reach.
    file = lab.file(lab.outside / "file", "kept")
    script = 'touch -d "2001-02-03 04:05:06 UTC" "$1"; chmod 600 "$1"; stat -c %s "$1"; echo x >> "$1" || echo refused'
    done = ran(lab, script, str(file))
    assert done.stdout == "4\nrefused\n"
    found = file.stat()
    assert (stat.S_IMODE(found.st_mode), int(found.st_mtime)) == (0o600, 981173106)
    assert file.read_text() == "kept"
    assert domain(lab.receipt(), "filesystem_write")["prevention_supported"] is False


POOL = """
import multiprocessing
def squared(n):
    return n * n
if __name__ == "__main__":
    try:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(squared, [1, 2, 3]))
    except OSError as problem:
        print(problem.errno)
"""


def test_process_pools_of_python_need_a_grant_of_dev_shm(lab: Lab) -> None:
    script = lab.file(lab.workspace / "pool.py", POOL)
    assert lab.bare(*PYTHON, str(script)).stdout == "[1, 4, 9]\n"
    assert lab.confined(*PYTHON, str(script)).stdout == "13\n"  # EACCES: a semaphore is a file in /dev/shm
    assert lab.confined(*PYTHON, str(script), options=("--write", "/dev/shm")).stdout == "[1, 4, 9]\n"
    check_receipt(lab)


def test_pseudo_terminals_need_a_grant_of_dev_pts(lab: Lab) -> None:
    argv = (*PYTHON, "-c", "import pty; pty.spawn(['/bin/echo', 'in a terminal'])")
    assert "in a terminal" in lab.bare(*argv).stdout
    assert "in a terminal" not in lab.confined(*argv).stdout
    done = lab.confined(*argv, options=("--write", "/dev/ptmx", "--write", "/dev/pts"))
    assert "in a terminal" in done.stdout, done.stderr
    check_receipt(lab)
