# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Devices are controlled by whoever may write them: an ioctl on one needs a write grant that covers it."""

from __future__ import annotations

import os

from support.inside import bare, grants, policy, under
from support.launch import Lab

# TIOCGPTN of asm-generic/ioctls.h asks a new pseudo terminal for its number. The device is opened for reading alone,
# so that no grant but the one in question matters.
ASK = """
import fcntl, struct
device = os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY)
tell(number=attempt(fcntl.ioctl, device, 0x80045430, struct.pack("i", 0)), opened="ok")
"""
DEVICE = os.path.realpath("/dev/ptmx")


def test_an_ioctl_takes_a_write_grant_on_the_device(lab: Lab) -> None:
    answers = {}
    for name, written in (("read", [lab.workspace]), ("written", [lab.workspace, DEVICE])):
        text = policy(filesystem=grants([DEVICE], written))
        answers[name] = under(lab, text, ASK, DEVICE).told
    assert answers == {"read": {"number": "EACCES", "opened": "ok"}, "written": {"number": "ok", "opened": "ok"}}
    assert bare(lab, ASK, DEVICE).told == {"number": "ok", "opened": "ok"}
    # a policy that restricts no writing restricts no ioctl either
    assert under(lab, policy(filesystem=grants([DEVICE], None)), ASK, DEVICE).told["number"] == "ok"
