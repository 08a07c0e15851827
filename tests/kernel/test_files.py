# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Denials of files: each with its control, exact errno, allowed sibling, unaffected parent and agreeing receipt."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.inside import (
    PRELUDE,
    Run,
    bare,
    grants,
    held,
    launch,
    policy,
    read,
    snapshot,
    under,
)
from support.launch import PYTHON, Lab, domain

SCRIPT = """
import errno, sys
def attempt(path, mode):
    try:
        open(path, mode).close()
        return "ok"
    except OSError as problem:
        return errno.errorcode[problem.errno]
outside, inside = sys.argv[1:3]
print(attempt(outside, "r"), attempt(outside, "r+"), attempt(inside, "r"), attempt(inside, "r+"))
"""


def test_a_file_outside_the_grants_is_neither_read_nor_written(lab: Lab) -> None:
    secret = lab.file(lab.outside / "secret", "s")
    sibling = lab.file(lab.workspace / "file", "f")
    argv = (*PYTHON, "-c", SCRIPT, str(secret), str(sibling))
    assert lab.bare(*argv).stdout.split() == ["ok", "ok", "ok", "ok"]
    done = lab.confined(*argv)
    assert done.stdout.split() == ["EACCES", "EACCES", "ok", "ok"], done.stderr
    assert secret.read_text() == "s"
    for name in ("filesystem_read", "filesystem_write"):
        line = domain(lab.receipt(), name)
        assert (line["state"], line["claim"], line["prevention_supported"]) == ("prevention", "observed", False)
    assert lab.leftovers() == []


# --- every kind of change, on three copies of the same directory ---

# Each entry changes something of its own, so that the order does not matter and every one can succeed.
CHANGES = """
def renameat2(old, new, flags):
    number = {"x86_64": 316, "aarch64": 276, "riscv64": 276}[os.uname().machine]
    raw(number, -100, os.fsencode(old), -100, os.fsencode(new), flags)
CHANGES = {
    "write": lambda top: open(top + "/file", "r+").close(),
    "append": lambda top: open(top + "/file", "a").close(),
    "open truncating": lambda top: open(top + "/emptied", "w").close(),
    "truncate by path": lambda top: os.truncate(top + "/shrunk", 1),
    "create": lambda top: open(top + "/new", "x").close(),
    "create without a name": lambda top: os.close(os.open(top, os.O_TMPFILE | os.O_RDWR)),
    "mkdir": lambda top: os.mkdir(top + "/newdir"),
    "rmdir": lambda top: os.rmdir(top + "/empty"),
    "unlink": lambda top: os.unlink(top + "/doomed"),
    "rename": lambda top: os.rename(top + "/before", top + "/after"),
    "rename into another directory": lambda top: os.rename(top + "/moved", top + "/dir/moved"),
    "exchange": lambda top: renameat2(top + "/one", top + "/two", 2),
    "link": lambda top: os.link(top + "/file", top + "/hard"),
    "link into another directory": lambda top: os.link(top + "/file", top + "/dir/hard"),
    "symlink": lambda top: os.symlink("/etc/passwd", top + "/soft"),
    "mkfifo": lambda top: os.mkfifo(top + "/fifo"),
    "mknod of a file": lambda top: os.mknod(top + "/made", 0o100644),
    "mknod of a socket": lambda top: os.mknod(top + "/socket", 0o140644),
}
READS = {
    "read": lambda top: open(top + "/file").close(),
    "list": lambda top: os.listdir(top),
    "execute": lambda top: os.posix_spawn(top + "/script", [top + "/script"], {}),
}
def table(names, top):
    return {name: attempt(do, top) for name, do in names.items()}
"""
ALL_CHANGES = CHANGES + "tell(**{top: {**table(READS, top), **table(CHANGES, top)} for top in sys.argv[1:]})"
CROSSING = ("rename into another directory", "link into another directory")


def filled(lab: Lab, path: Path) -> Path:
    """Return a directory with something for every entry of CHANGES to work on."""
    for directory in (path, path / "dir", path / "empty"):
        directory.mkdir()
        lab.own(directory)
    for name in ("file", "emptied", "shrunk", "doomed", "before", "moved", "one", "two"):
        lab.file(path / name, f"{path.name} {name}")
    lab.file(path / "script", "#!/bin/true\n", 0o755)
    return path


def everything(run: Run, top: Path, answer: str) -> bool:
    """Say whether all that was tried beneath `top` gave the same answer."""
    return set(run.told[str(top)].values()) == {answer}


def test_nothing_outside_the_grants_is_changed_in_any_way(lab: Lab) -> None:
    tops = (lab.top / "control", lab.outside / "o", lab.workspace / "i")
    control, outside, inside = (filled(lab, top) for top in tops)
    assert everything(bare(lab, ALL_CHANGES, str(control)), control, "ok")
    before = snapshot(lab.outside)
    done = held(lab, ALL_CHANGES, str(outside), str(inside))
    assert everything(done, inside, "ok"), done.told
    assert everything(done, outside, "EACCES"), done.told[str(outside)]
    assert snapshot(lab.outside) == before
    assert not (inside / "doomed").exists() and (inside / "dir" / "moved").exists()


def test_a_read_grant_gives_no_writing(lab: Lab) -> None:
    readable, inside = filled(lab, lab.outside / "r"), filled(lab, lab.workspace / "i")
    before = snapshot(readable)
    done = held(lab, ALL_CHANGES, str(readable), str(inside), options=("--read", str(readable)))
    answers = done.told[str(readable)]
    assert [answers.pop(name) for name in ("read", "list", "execute")] == ["ok", "ok", "ok"], done.stderr
    assert set(answers.values()) == {"EACCES"}, answers
    assert everything(done, inside, "ok"), done.told
    assert snapshot(readable) == before


def test_a_write_list_gives_no_reading(lab: Lab) -> None:
    top = filled(lab, lab.workspace / "w")
    done = under(lab, policy(filesystem=grants([], [lab.workspace])), CHANGES + "tell(**table(READS, sys.argv[1]),"
                 "write=attempt(lambda: os.close(os.open(sys.argv[1] + '/file', os.O_WRONLY))),"
                 "create=attempt(lambda: os.close(os.open(sys.argv[1] + '/new', os.O_WRONLY | os.O_CREAT))),"
                 "both=attempt(open, sys.argv[1] + '/file', 'r+'))", str(top))  # fmt: skip
    assert done.told == {
        "read": "EACCES", "list": "EACCES", "execute": "EACCES", "write": "ok", "create": "ok", "both": "EACCES",
    }, done.stderr  # fmt: skip
    assert (top / "new").exists()


ON_PATHS = """
paths = sys.argv[1:4]
def each(do, *args):
    return [attempt(do, path, *args) for path in paths]
tell(read=each(open), write=each(open, "r+"), truncate=each(os.truncate, 1), remove=each(os.unlink),
     list=attempt(os.listdir, os.path.dirname(paths[0])))
"""


def test_a_grant_on_one_file_is_for_that_file_alone(lab: Lab) -> None:
    names = ("read", "sibling", "written")
    paths = [lab.file(lab.outside / name, name) for name in names]
    options = ("--read", str(paths[0]), "--write", str(paths[2]))
    done = held(lab, ON_PATHS, *map(str, paths), options=options)
    assert done.told == {
        "read": ["ok", "EACCES", "ok"],
        "write": ["EACCES", "EACCES", "ok"],
        "truncate": ["EACCES", "EACCES", "ok"],
        "remove": ["EACCES", "EACCES", "EACCES"],
        "list": "EACCES",
    }, done.stderr
    assert [path.read_text() for path in paths] == ["read", "sibling", "w"]
    assert set(bare(lab, ON_PATHS, *map(str, paths)).told["remove"]) == {"ok"}


# --- lists that allow nothing, and denials by capability ---


def test_an_empty_read_list_lets_nothing_be_executed(lab: Lab) -> None:
    text = policy(filesystem={"read": {"allow": []}, "write": {"allow": [str(lab.workspace)]}})
    done = launch(lab, text, "/bin/sh", "-c", f"echo ran > {lab.workspace}/ran")
    assert done.returncode == 126
    assert "error: /bin/sh: " in done.stderr and "outside the grants; add" in done.stderr
    assert not (lab.workspace / "ran").exists()
    assert lab.ledger()[-1]["event"] == "not_started" and lab.receipts() == []
    # the same list with the system in it runs the same program
    assert launch(lab, policy(filesystem=grants([], [lab.workspace])), "/bin/sh", "-c", "exit 7").returncode == 7


EVERYWHERE = CHANGES + """
home, temporary = os.environ["HOME"], os.environ["TMPDIR"]
tell(reads=table(READS, sys.argv[1]), changes=table(CHANGES, sys.argv[1]), home=attempt(open, home + "/f", "w"),
     temporary=attempt(open, temporary + "/f", "w"), null=attempt(open, "/dev/null", "w"))
"""


@pytest.mark.parametrize(
    "sections",
    [
        {"filesystem": "empty list"},
        {"filesystem": "workspace", "capabilities": {"deny": ["file_write"]}},
        {"filesystem": "workspace", "capabilities": {"allow": ["file_read", "network_outbound", "terminal_exec"]}},
    ],
    ids=["an empty list", "a denied capability outranks the list", "an allow-list without the capability does too"],
)
def test_writing_that_is_denied_as_a_whole_is_denied_everywhere(lab: Lab, sections: dict[str, object]) -> None:
    whole = "capabilities" in sections
    top = filled(lab, lab.workspace / "w")
    filesystem = grants([lab.workspace], [lab.workspace] if whole else [])
    before = snapshot(top)
    done = under(lab, policy(**{**sections, "filesystem": filesystem}), EVERYWHERE, str(top))
    assert set(done.told["reads"].values()) == {"ok"}, done.stderr
    assert set(done.told["changes"].values()) == {"EACCES"}, done.told
    assert snapshot(top) == before
    # an empty list leaves the run's own directory, a denied capability leaves the device nodes alone
    private = "EACCES" if whole else "ok"
    assert [done.told[name] for name in ("home", "temporary", "null")] == [private, private, "ok"]
    assert domain(lab.receipt(), "filesystem_write")["state"] == "prevention"


def test_reading_that_is_denied_as_a_whole_outranks_the_list(lab: Lab) -> None:
    text = policy(filesystem=grants([lab.workspace], [lab.workspace]), capabilities={"deny": ["file_read"]})
    done = launch(lab, text, "/bin/sh", "-c", f"echo ran > {lab.workspace}/ran")
    assert done.returncode == 126 and lab.ledger()[-1]["event"] == "not_started"
    assert not (lab.workspace / "ran").exists()


# --- renaming between directories: Landlock refuses it with EXDEV unless it is granted ---

MOVES = """
def moves(top):
    return {"rename": attempt(os.rename, top + "/a/file", top + "/b/file"),
            "link": attempt(os.link, top + "/b/file", top + "/a/again"),
            "directory": attempt(os.rename, top + "/a/sub", top + "/b/sub")}
tell(**moves(sys.argv[1]))
"""


@pytest.mark.parametrize("restricted", ["both", "reading", "writing"])
def test_names_move_between_directories_inside_a_grant(lab: Lab, restricted: str) -> None:
    for name in ("a", "b", "a/sub"):
        lab.directory(f"ws/{name}")
    lab.file(lab.workspace / "a" / "file", "moved")
    reading = [lab.workspace] if restricted != "writing" else None
    writing = [lab.workspace] if restricted != "reading" else None
    done = under(lab, policy(filesystem=grants(reading, writing)), MOVES, str(lab.workspace))
    assert done.told == {"rename": "ok", "link": "ok", "directory": "ok"}, done.stderr
    assert (lab.workspace / "b" / "file").read_text() == "moved"
    assert (lab.workspace / "b" / "sub").is_dir()
    stated = {"both": (True, True), "reading": (True, False), "writing": (False, True)}[restricted]
    lines = [domain(lab.receipt(), name)["state"] for name in ("filesystem_read", "filesystem_write")]
    assert tuple(state == "prevention" for state in lines) == stated


# --- descendants ---

DEPTHS = PRELUDE + """
secret, inside, depth = sys.argv[1], sys.argv[2], int(sys.argv[3])
found = [attempt(open, secret), attempt(open, secret, "r+"), attempt(open, inside + "/depth%d" % depth, "w")]
if depth < 3:
    if depth == 1:
        os.setsid()  # a session of its own leads nowhere either
    again = [sys.executable, "-I", "-S", "-c", sys.argv[4], secret, inside, str(depth + 1), sys.argv[4]]
    out, to = os.pipe()
    os.posix_spawn(sys.executable, again, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, to, 1)])
    os.close(to)
    found = [found, *json.loads(open(out).read())["found"]]
else:
    found = [found]
tell(found=found)
"""


def test_every_descendant_is_held_like_the_program_itself(lab: Lab) -> None:
    secret = lab.file(lab.outside / "secret", "s")
    argv = (*PYTHON, "-c", DEPTHS, str(secret), str(lab.workspace), "0", DEPTHS)
    assert read(lab.bare(*argv)).told["found"] == [["ok", "ok", "ok"]] * 4
    done = read(lab.confined(*argv))
    assert done.told["found"] == [["EACCES", "EACCES", "ok"]] * 4, done.stderr
    assert secret.read_text() == "s" and (lab.workspace / "depth3").exists()
    assert domain(lab.receipt(), "filesystem_read")["state"] == "prevention"
