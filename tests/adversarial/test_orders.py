# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What steers a launch from outside: damaged orders execute nothing, and no variable comes in by itself."""

from __future__ import annotations

import json
import random
import sys
from typing import Any, Dict

import pytest
from support import orders
from support.inside import bare, grants, policy, under
from support.launch import ROOT, Lab

from aasm._sys import order as order_format

SECRETS = {
    "DATABASE_URL": "postgres://secret-1", "AWS_SECRET_ACCESS_KEY": "secret-2", "GITHUB_TOKEN": "secret-3",
    "SSH_AUTH_SOCK": "/secret-4", "LD_PRELOAD": "", "PYTHONPATH": "/secret-5", "BASH_ENV": "/secret-6",
    "NODE_OPTIONS": "secret-7", "GIT_SSH_COMMAND": "secret-8", "unheard_of": "secret-9",
}  # fmt: skip
LISTING = """
tell(names=sorted(os.environ), values=sorted(os.environ.values()),
     seen=open("/proc/self/environ", "rb").read().decode(), arguments=open("/proc/self/cmdline", "rb").read().decode())
"""


def test_the_program_sees_no_name_that_was_not_delegated(lab: Lab) -> None:
    control = bare(lab, LISTING)  # without a boundary every name of the parent arrives
    assert {"AASM_STATE_DIR", "PYTHONDONTWRITEBYTECODE"} <= set(control.told["names"])
    text = policy(filesystem=grants(["/proc", lab.workspace], [lab.workspace]))
    done = under(lab, text, LISTING, env={**SECRETS, "DELEGATED": "not passed on either"})
    assert "secret-" not in str(done.told) and "not passed on" not in str(done.told), done.told
    assert not set(SECRETS) & set(done.told["names"])
    assert "AASM_STATE_DIR" not in done.told["names"] and {"HOME", "PATH", "TMPDIR"} <= set(done.told["names"])
    credentials = str(lab.receipt()["credentials"])
    assert "DATABASE_URL" in credentials and "secret-1" not in credentials


KINDS = (
    "truncated", "truncated, length corrected", "structure", "a field twice", "a field missing", "an unknown field",
    "a field of the wrong length", "a filter of the wrong length", "a zero byte", "a length that is not there",
    "an oversized field", "another magic", "nothing", "noise", "noise behind a header",
)  # fmt: skip


def damage(lab: Lab) -> Dict[str, Dict[str, Any]]:
    """Return what became of some six hundred damaged orders; a failing test shows the seed."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    script = str(ROOT / "tests" / "support" / "garbled.py")
    done = lab.bare(sys.executable, "-I", script, str(ROOT), str(lab.tmp), str(seed))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_no_part_of_an_order_is_ever_carried_out(lab: Lab) -> None:
    damaged = damage(lab)
    assert damaged["whole"]["codes"] == [0] and len(damaged["whole"]["executed"]) == 1  # the control
    for kind in KINDS:
        found = damaged[kind]
        assert found["executed"] == [], (kind, found)
        assert found["codes"] == [125], (kind, found)
        for line in found["errors"]:
            assert line.startswith("error: launcher: order: ") and line.endswith("; nothing was executed\n"), line
            assert line.count("\n") == 1, line
    assert damaged["truncated"]["tried"] > 200 and damaged["structure"]["tried"] > 90
    # a bit wrong in a value may be another well-formed value, which is then meant: the channel is trusted; but nothing
    # ends in a mess (-31: the damaged filter kills)
    found = damaged["anywhere"]
    assert set(found["codes"]) <= {0, 1, 125, 126, 127, -31}, found
    for text in found["errors"]:
        assert "Traceback" not in text and text.count("\n") <= 1, text


@pytest.mark.parametrize("by", ["another directory", "a link to outside", "nothing"])
@pytest.mark.parametrize("what", ["working directory", "granted directory"])
def test_an_order_is_not_carried_out_on_what_took_the_place_of_a_checked_path(lab: Lab, what: str, by: str) -> None:
    granted = lab.directory("granted")
    path, stage = (lab.workspace, "directory") if what == "working directory" else (granted, "landlock")
    order = orders.for_program(lab, "/bin/echo", "ran", options=("--write", str(granted)))
    whole = order_format.encode(order)
    assert orders.by_hand(lab, whole, cwd=lab.top).stdout == "ran\n"
    path.rename(lab.top / "moved")
    if by == "another directory":
        lab.directory(path.name)
    elif by == "a link to outside":
        path.symlink_to(lab.outside)
    done = orders.by_hand(lab, whole, cwd=lab.top)
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.startswith(f"error: launcher: {stage}: ") and done.stderr.count("\n") == 1, done.stderr


def test_a_mask_of_every_signal_is_set_without_a_word(lab: Lab) -> None:
    order = orders.for_program(lab, "/bin/grep", "SigBlk", "/proc/self/status", options=("--read", "/proc"))
    order.signal_mask = 2**64 - 1
    done = orders.by_hand(lab, order_format.encode(order))
    # SIGKILL and SIGSTOP cannot be blocked; 32 and 33 belong to the C library, which may leave them out
    assert (done.returncode, done.stderr) == (0, "")
    blocked, internal = int(done.stdout.split()[1], 16), 0b11 << 31
    assert blocked | internal == (2**64 - 1) & ~(1 << 8 | 1 << 18)
