# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The probe against kernels of every kind, played by a stand-in, and once against the real one."""

from __future__ import annotations

import errno
import os
import platform
import types

import pytest
from support import host

from aasm._sys import boundary, landlock, probe, syscalls

ALL_ABIS = range(landlock.NEWEST_ABI + 1)
SECCOMP = syscalls.host_arch().numbers["seccomp"]


class FakeKernel:
    """Answers as a kernel of the given ABI; every attribute may be bent."""

    PR_GET_NO_NEW_PRIVS = boundary.PR_GET_NO_NEW_PRIVS
    SECCOMP_SET_MODE_FILTER = boundary.SECCOMP_SET_MODE_FILTER
    SECCOMP_GET_ACTION_AVAIL = boundary.SECCOMP_GET_ACTION_AVAIL
    SECCOMP_FILTER_FLAG_NEW_LISTENER = boundary.SECCOMP_FILTER_FLAG_NEW_LISTENER
    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV = boundary.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

    def __init__(self, abi=7, **bent):
        self.abi = abi
        self.rights = landlock.rights_known(abi)
        self.version_errno = 0 if abi else errno.ENOSYS
        self.errata = errno.EINVAL if abi < 7 else None  # an errno, or None for the mask 5
        self.refused = {}  # (family, bit) -> errno
        self.actions = {0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000}
        self.seccomp_errno = errno.EFAULT
        self.prctl_errno = 0
        self.asked = []
        self.__dict__.update(bent)

    def landlock_abi(self):
        if self.version_errno:
            raise OSError(self.version_errno, os.strerror(self.version_errno))
        return self.abi

    def landlock_errata(self):
        if self.errata is not None:
            raise OSError(self.errata, os.strerror(self.errata))
        return 5

    def landlock_create_ruleset(self, fs, net, scoped):
        asked = [(family, mask) for family, mask in zip(("fs", "net", "scope"), (fs, net, scoped)) if mask]
        assert len(asked) == 1 and bin(asked[0][1]).count("1") == 1  # one right at a time
        family, bit = asked[0]
        number = self.refused.get((family, bit), 0) or (0 if bit & getattr(self.rights, family) else errno.EINVAL)
        if number:
            raise OSError(number, os.strerror(number))
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def seccomp_action_available(self, action):
        return action in self.actions

    def syscall(self, number, *args):
        self.asked.append((number, *args))
        if self.seccomp_errno:
            raise OSError(self.seccomp_errno, os.strerror(self.seccomp_errno))
        return 0

    def prctl(self, option):
        assert option == 39
        if self.prctl_errno:
            raise OSError(self.prctl_errno, os.strerror(self.prctl_errno))
        return 0


def ask(abi=7, **bent):
    return probe.host_facts(FakeKernel(abi, **bent))


# --- Landlock ---


@pytest.mark.parametrize("abi", ALL_ABIS[1:])
def test_every_abi_is_found_with_exactly_its_rights(abi):
    found = ask(abi).landlock
    errata = 5 if abi >= 7 else 0
    assert found == (abi, errata, abi, "available", "", *landlock.rights_known(abi))


def test_no_descriptor_is_left_open():
    before = set(os.listdir("/proc/self/fd"))
    ask(9)
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("number", [errno.EINVAL, errno.E2BIG, errno.ENOMSG])
def test_a_version_whose_rights_are_refused_is_not_believed(number):
    found = ask(6, refused={("scope", 1): number}).landlock
    assert (found.reported, found.abi, found.scope, found.fs) == (6, 5, 2, 0xFFFF)
    assert found.detail == "the kernel reports ABI 6 and refuses rights of ABI 6"
    found = ask(7, refused={("fs", 1 << 14): number}).landlock
    assert (found.reported, found.abi, found.flags, found.net) == (7, 2, 0, 3)
    assert (found.state, found.detail) == ("available", "the kernel reports ABI 7 and refuses rights of ABI 3")


def test_a_kernel_newer_than_the_table_is_used_as_the_newest_known():
    found = ask(12).landlock
    assert (found.reported, found.abi, found.state, found.detail) == (12, landlock.NEWEST_ABI, "available", "")
    assert found[5:] == landlock.rights_known(landlock.NEWEST_ABI)


def test_a_right_beyond_the_reported_version_is_measured_and_does_not_raise_it():
    found = ask(3, rights=landlock.rights_known(5)).landlock
    assert (found.abi, found.fs, found.net) == (3, 0xFFFF, 3)


def test_an_odd_answer_is_a_fact_once_and_no_exception():
    refused = {("fs", 1 << at): errno.ENOMEM for at in range(20)}
    found = ask(7, refused=refused, errata=errno.EPERM).landlock
    assert (found.abi, found.state, found.fs, found.net) == (0, "unmeasured", 0, 3)
    assert found.detail.split("; ") == [
        "asking for fs rights: Cannot allocate memory (ENOMEM)",
        "asking for errata: Operation not permitted (EPERM)",
        "the kernel reports ABI 7 and refuses rights of ABI 1",
    ]


@pytest.mark.parametrize(
    "number, mode, state, detail",
    [
        (errno.ENOSYS, "0", "not_built", "not built into this kernel"),
        (errno.ENOSYS, "2", "not_built", "not built into this kernel, or refused by a filter around this process"),
        (errno.ENOSYS, "", "not_built", "not built into this kernel, or refused by a filter around this process"),
        (errno.EOPNOTSUPP, "0", "disabled_at_boot", "built but switched off at boot (lsm= does not list landlock)"),
        (errno.EPERM, "2", "filtered",
         "refused by a filter around this process: Operation not permitted (EPERM)"),
        (errno.EIO, "0", "unmeasured", "the kernel's answer is not understood: Input/output error (EIO)"),
    ],
)
def test_why_landlock_is_missing(number, mode, state, detail, monkeypatch):
    monkeypatch.setattr(probe, "_status", lambda notes: {"Seccomp": mode})
    assert ask(7, version_errno=number).landlock == (0, 0, 0, state, detail, 0, 0, 0, 0)


# --- seccomp ---


def test_seccomp_actions_are_told_apart():
    found = ask().seccomp
    assert found[:5] == (True, True, True, True, True)
    assert found.detail == ""
    for at, action in enumerate((0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000)):
        kernel = FakeKernel()
        kernel.actions = kernel.actions - {action}
        assert probe.host_facts(kernel).seccomp[:4] == tuple(other != at for other in range(4))


def test_the_question_about_flags_hands_in_no_program():
    kernel = FakeKernel()
    probe.host_facts(kernel)
    assert kernel.asked == [(SECCOMP, 1, 0b101000, 0)]


@pytest.mark.parametrize(
    "number, known", [(errno.EFAULT, True), (errno.EINVAL, False), (errno.EPERM, False), (0, False)]
)
def test_flags_are_known_only_when_the_missing_program_is_what_is_wrong(number, known):
    assert ask(seccomp_errno=number).seccomp.wait_killable is known


@pytest.mark.parametrize(
    "number, words",
    [
        (errno.ENOSYS, "not built into this kernel, or refused by a filter"),
        (errno.EPERM, "refused by a filter around this process: Operation not permitted (EPERM)"),
        (errno.EINVAL, "the kernel has no filter mode: Invalid argument (EINVAL)"),
        (0, "not understood"),
    ],
)
def test_why_there_is_no_filter(number, words):
    found = ask(actions=(), seccomp_errno=number).seccomp
    assert found[:4] == (False, False, False, False)
    assert words in found.detail


# --- the process ---


def test_no_new_privs():
    assert ask().no_new_privs is True
    found = ask(prctl_errno=errno.EINVAL)
    assert found.no_new_privs is False
    assert found.unmeasured[-1] == "no_new_privs cannot be asked for: Invalid argument (EINVAL)"


def _files(monkeypatch, files):
    """Let the probe read these texts (or meet these errnos) and nothing else."""

    def read(path):
        found = files.get(path, errno.ENOENT)
        if isinstance(found, int):
            raise OSError(found, os.strerror(found))
        return found

    monkeypatch.setattr(probe, "_read", read)


STATUS = "Name:\tx\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000001\nCapEff:\t0000000000000002\n" \
         "CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000004\nNoNewPrivs:\t0\nSeccomp:\t2\n"
YAMA = "/proc/sys/kernel/yama/ptrace_scope"


def test_status_and_yama_are_read(monkeypatch):
    _files(monkeypatch, {"/proc/self/status": STATUS, YAMA: "2\n"})
    found = ask()
    assert found.capabilities == (0, 1, 2, 0x1FFFFFFFFFF, 4)
    assert (found.seccomp.mode, found.yama_scope, found.unmeasured) == (2, 2, ())


def test_without_proc_everything_in_it_is_unmeasured(monkeypatch):
    _files(monkeypatch, {})
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    found = ask()
    assert (found.capabilities, found.seccomp.mode, found.yama_scope) == (None, None, None)
    assert found.landlock.state == "available"
    assert found.unmeasured == (
        "/proc/self/status cannot be read: No such file or directory (ENOENT)",
        "the capability sets are unmeasured: /proc/self/status does not give them",
        f"{YAMA} cannot be read: /proc/sys is not there",
    )


def test_a_kernel_without_yama_is_measured(monkeypatch):
    _files(monkeypatch, {"/proc/self/status": STATUS})
    monkeypatch.setattr(os.path, "isdir", lambda path: True)
    found = ask()
    assert (found.yama_scope, found.unmeasured) == (None, ())


@pytest.mark.parametrize("content, words", [(errno.EACCES, "Permission denied (EACCES)"), ("what\n", "a number")])
def test_an_unreadable_yama_is_a_note(content, words, monkeypatch):
    _files(monkeypatch, {"/proc/self/status": STATUS, YAMA: content})
    found = ask()
    assert found.yama_scope is None
    assert len(found.unmeasured) == 1 and words in found.unmeasured[0]


@pytest.mark.parametrize("field", ["CapInh", "CapAmb"])
def test_a_set_that_is_missing_or_no_number_leaves_the_capabilities_unmeasured(field, monkeypatch):
    _files(monkeypatch, {"/proc/self/status": STATUS.replace(field, "Other"), YAMA: "0\n"})
    assert ask().capabilities is None
    _files(monkeypatch, {"/proc/self/status": STATUS.replace(f"{field}:\t", f"{field}:\tz"), YAMA: "0\n"})
    assert ask().unmeasured == ("the capability sets are unmeasured: /proc/self/status does not give them",)


@pytest.mark.parametrize("changes", [{"machine": "s390x"}, {"sysname": "Darwin"}])
def test_on_other_hosts_nothing_is_asked(changes, monkeypatch):
    fields = dict(sysname="Linux", machine="x86_64", release="9.9")
    monkeypatch.setattr(os, "uname", lambda: types.SimpleNamespace(**{**fields, **changes}))
    monkeypatch.setattr(probe, "_boundary", None)  # would fail when called
    found = probe.host_facts()
    assert found.landlock.state == "unsupported_host"
    assert (found.arch, found.kernel_release) == (changes.get("machine", "x86_64"), "9.9")
    assert found.unmeasured and next(iter(changes.values())) in found.unmeasured[0]
    assert not found.seccomp.filter and not found.no_new_privs


# --- the real one ---


def test_this_host():
    found = probe.host_facts()
    assert (found.arch, found.kernel_release, found.euid) == (platform.machine(), platform.release(), os.geteuid())
    again = probe.host_facts()
    assert found == again
    try:
        reported = boundary.landlock_abi()
    except OSError:
        reported = 0
    assert found.landlock.reported == reported
    assert bool(found.landlock.abi) == (found.landlock.state == "available")
    if found.capabilities:
        assert found.capabilities.effective == boundary.capability_sets()[0]


def test_made_up_hosts_look_as_the_probe_reports_them():
    for abi in (*ALL_ABIS, 12):
        assert host.facts_for_abi(abi).landlock == ask(abi, errata=errno.EINVAL).landlock
    changed = host.facts_for_abi(4, arch="aarch64", euid=0)
    assert (changed.arch, changed.euid, changed.landlock.abi, changed.kernel_release) == ("aarch64", 0, 4, "6.7.0")
    assert host.facts_for_abi(0).landlock.state == "not_built"
