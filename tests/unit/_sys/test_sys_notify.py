# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Layouts and ioctl numbers of user notification, as <linux/seccomp.h> gives them on every supported architecture."""

from __future__ import annotations

import errno
import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aasm._sys import notify
from aasm.errors import InternalError

ROOT = Path(__file__).resolve().parents[3]
HEADER = Path("/usr/include/linux/seccomp.h")
PROGRAM = """
#include <stddef.h>
#include <stdio.h>
#include <linux/types.h>
#include <linux/seccomp.h>
#include <asm/ioctl.h>
int main(void) {
    printf("%zu %zu %zu %zu %zu\\n", sizeof(struct seccomp_notif), sizeof(struct seccomp_notif_resp),
           sizeof(struct seccomp_notif_addfd), offsetof(struct seccomp_notif, data.args),
           offsetof(struct seccomp_notif_resp, error));
    printf("%lu %lu %lu %lu\\n", (unsigned long)SECCOMP_IOCTL_NOTIF_RECV, (unsigned long)SECCOMP_IOCTL_NOTIF_SEND,
           (unsigned long)SECCOMP_IOCTL_NOTIF_ID_VALID, (unsigned long)SECCOMP_IOCTL_NOTIF_ADDFD);
    return 0;
}
"""


def test_sizes_and_numbers():
    assert (notify.NOTIF.size, notify.RESP.size, notify.ADDFD.size) == (80, 24, 24)
    assert notify.SECCOMP_IOCTL_NOTIF_RECV == 0xC0502100
    assert notify.SECCOMP_IOCTL_NOTIF_SEND == 0xC0182101
    assert notify.SECCOMP_IOCTL_NOTIF_ID_VALID == 0x40082102
    assert notify.SECCOMP_IOCTL_NOTIF_ADDFD == 0x40182103
    assert notify.SECCOMP_IOCTL_NOTIF_SET_FLAGS == 0x40082104


def test_the_installed_header_gives_the_same(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not HEADER.is_file():
        pytest.skip("no C compiler or no kernel headers are installed")
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text(PROGRAM)
    subprocess.run([compiler, "-o", program, source], check=True, capture_output=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0].split() == ["80", "24", "24", "32", "16"]
    assert [int(word) for word in lines[1].split()] == [
        notify.SECCOMP_IOCTL_NOTIF_RECV,
        notify.SECCOMP_IOCTL_NOTIF_SEND,
        notify.SECCOMP_IOCTL_NOTIF_ID_VALID,
        notify.SECCOMP_IOCTL_NOTIF_ADDFD,
    ]


@pytest.fixture
def kernel(monkeypatch):
    """A kernel that notes what it is asked and gives a prepared answer, or an errno."""

    class Kernel:
        answer = b""
        problem = 0
        asked = ()

        def ioctl(self, descriptor, request, buffer, mutate=False):
            self.asked = (descriptor, request, bytes(buffer) if isinstance(buffer, bytearray) else buffer)
            if self.problem:
                raise OSError(self.problem, "refused")
            buffer_is_ours = isinstance(buffer, bytearray) and mutate
            if self.answer and buffer_is_ours:
                buffer[:] = self.answer
            return 5

    kernel = Kernel()
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    return kernel


def test_receive_hands_in_zeroes_and_reads_every_field(kernel):
    words = [2**64 - 1, 1, 2, 3, 4, 5]
    head = (7).to_bytes(8, "little") + (42).to_bytes(4, "little") + (1).to_bytes(4, "little")
    data = (-1).to_bytes(4, "little", signed=True) + (0xC000003E).to_bytes(4, "little") + (99).to_bytes(8, "little")
    kernel.answer = head + data + b"".join(word.to_bytes(8, "little") for word in words)
    assert notify.receive(3) == notify.Notification(7, 42, 1, -1, 0xC000003E, 99, tuple(words))
    assert kernel.asked == (3, 0xC0502100, bytes(80))


@pytest.mark.parametrize(
    "answer, value, error, flags",
    [
        ({"error": 13}, 0, -13, 0),
        ({"error": 512}, 0, -512, 0),  # ERESTARTSYS: let a pending signal be handled first
        ({"value": 77}, 77, 0, 0),
        ({"value": -1}, -1, 0, 0),
        ({"go_on": True}, 0, 0, 1),
        ({}, 0, 0, 0),
    ],
)
def test_respond_puts_each_part_in_its_place(answer, value, error, flags, kernel):
    assert notify.respond(3, 2**63, **answer) is True
    assert kernel.asked[:2] == (3, 0xC0182101)
    sent = kernel.asked[2]
    assert int.from_bytes(sent[:8], "little") == 2**63
    assert int.from_bytes(sent[8:16], "little", signed=True) == value
    assert int.from_bytes(sent[16:20], "little", signed=True) == error
    assert int.from_bytes(sent[20:], "little") == flags


@pytest.mark.parametrize("answer", [{"error": -1}, {"error": 1, "value": 1}, {"error": 1, "go_on": True},
                                    {"value": 1, "go_on": True}])
def test_an_answer_that_contradicts_itself_is_not_sent(answer, kernel):
    with pytest.raises(InternalError):
        notify.respond(3, 1, **answer)
    assert kernel.asked == ()


@pytest.mark.parametrize("replace, flags, set_flag, target", [(None, 0, 0, 0), (0, 0, 1, 0), (9, 0o2000000, 1, 9)])
def test_add_fd(replace, flags, set_flag, target, kernel):
    assert notify.add_fd(3, 6, 4, replace, flags) == 5
    descriptor, request, sent = kernel.asked
    assert (descriptor, request) == (3, 0x40182103)
    assert int.from_bytes(sent[:8], "little") == 6
    assert [int.from_bytes(sent[at : at + 4], "little") for at in (8, 12, 16, 20)] == [set_flag, 4, target, flags]


CALLS = {
    "receive": lambda: notify.receive(3),
    "respond": lambda: notify.respond(3, 1),
    "id_valid": lambda: notify.id_valid(3, 1),
    "add_fd": lambda: notify.add_fd(3, 1, 4),
    "set_sync_wake_up": lambda: notify.set_sync_wake_up(3),
}
QUIET = {
    ("receive", errno.ENOENT): None,
    ("respond", errno.ENOENT): False,
    ("id_valid", errno.ENOENT): False,
    ("add_fd", errno.ENOENT): None,
    ("set_sync_wake_up", errno.EINVAL): False,
}


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EINVAL, errno.EINTR, errno.EBADF, errno.EINPROGRESS])
@pytest.mark.parametrize("name", CALLS)
def test_only_the_expected_errno_is_an_answer(name, number, kernel):
    kernel.problem = number
    if (name, number) in QUIET:
        assert CALLS[name]() is QUIET[name, number]
    else:
        with pytest.raises(OSError) as problem:
            CALLS[name]()
        assert problem.value.errno == number


def test_sync_wake_up_asks_for_the_flag(kernel):
    assert notify.set_sync_wake_up(3) is True
    assert kernel.asked == (3, 0x40082104, 1)


def test_the_pure_modules_load_neither_ctypes_nor_anything_slow():
    unwanted = ("ctypes", "dataclasses", "inspect", "subprocess", "logging", "pathlib", "tempfile", "shutil", "json")
    code = (
        "import sys; from aasm._sys import bpf, landlock, notify, probe, syscalls; "
        f"print([name for name in {unwanted} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
