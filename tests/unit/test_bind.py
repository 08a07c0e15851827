# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The bind stage: what a run is, with and without a boundary, and what of it is a refusal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest
from support.host import facts_for_abi
from support.runs import IDENTITY, request

from aasm import bind as stage
from aasm.backends.native import capability
from aasm.bind import Scratch, bind, workdir_as_given, working_dir
from aasm.cli import sections
from aasm.errors import HostError, UsageError
from aasm.model.descriptors import DescriptorDisposition
from aasm.model.domains import DOMAINS, CapabilityDomain as Domain
from aasm.model.plan import RefusalKind
from aasm.model.report import RequestedControl
from aasm.model.request import Request
from aasm.model.requirements import ResourceLimits
from aasm.model.resolved import ResolvedRun
from aasm.selecting import choose
from aasm.stating import state_policy
from aasm.supervise import private
from aasm.surroundings import Surroundings

BOTH = pytest.mark.parametrize("isolation", ["none", "process"])
CEILINGS = ResourceLimits(
    max_open_files=64, max_pids=3, max_memory_bytes=5, max_cpu_seconds=7, max_wall_clock_seconds=9
)
HELD = ResourceLimits(max_open_files=64, max_wall_clock_seconds=9)
GATEWAY = {b"AA_GATEWAY_ENDPOINT": b"http://gateway"}


class Lab:
    """Places of one test, and what a run bound there would be."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        self.work, self.home, self.tmp = (self.top / name for name in ("work", "home", "tmp"))
        for folder in (self.work, self.home, self.tmp):
            folder.mkdir()

    def around(self, environ: Optional[Dict[bytes, bytes]] = None, **changes: Any) -> Surroundings:
        """Return the surroundings of the test, with `changes`."""
        made = Surroundings(environ or {}, str(self.home), str(self.work), str(self.top / "state"))
        return made._replace(**changes)

    def bound(
        self, asked: Request, around: Optional[Surroundings] = None, scratch: Optional[Scratch] = None, abi: int = 7
    ) -> ResolvedRun:
        """Return the run that a preview would bind."""
        here = around or self.around()
        stated = state_policy(asked, here, workdir_as_given(asked, here))
        chosen = choose(asked, stated, facts_for_abi(abi))
        name = Scratch(str(self.tmp / "aasm-dry-run")) if scratch is None else scratch
        return bind(asked, here, IDENTITY, stated, chosen, name)

    def everything(self) -> List[str]:
        """Return the name of everything in the place."""
        return sorted(str(path) for path in self.top.rglob("*"))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setattr("aasm.supervise.begin.foresee", lambda confined: None)  # the streams of the tests are their own
    return Lab(tmp_path)


def system(isolation: str = "process", **changes: Any) -> Request:
    """Return the request of a run that needs no policy file."""
    return request(isolation=isolation, policies=(), system=True, **changes)


@BOTH
def test_binding_a_run_that_can_be_launched_refuses_nothing_and_changes_nothing(lab: Lab, isolation: str) -> None:
    before = lab.everything()
    run = lab.bound(system(isolation))
    assert run.refusal is None and (run.plan is None) is (isolation == "none")
    assert (run.target, run.settings, run.isolation) == ("exec", "", isolation)
    assert lab.everything() == before


# --- the working directory ----------------------------------------------------------------------------


def test_where_it_starts_must_be_known_or_named(lab: Lab) -> None:
    gone = lab.around(cwd="")
    for asked in (system(), system(workdir="relative"), system(workdir="./x")):
        with pytest.raises(HostError, match="the working directory is gone") as caught:
            working_dir(asked, gone)
        assert "--workdir" in caught.value.remedy
    assert working_dir(system(workdir=str(lab.work)), gone).path == str(lab.work)
    assert working_dir(system(), lab.around()).path == str(lab.work)  # the control


@pytest.mark.parametrize("name", ["absent", "file"])
def test_a_named_one_that_is_none_is_a_wrong_command_line(lab: Lab, name: str) -> None:
    (lab.work / "file").write_text("")
    with pytest.raises(UsageError, match="--workdir"):
        working_dir(system(workdir=name), lab.around())


@BOTH
def test_one_that_cannot_be_entered_is_a_refusal_with_its_remedy(
    lab: Lab, isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = os.access

    def refusing(path: str, mode: int, **how: Any) -> bool:
        return False if path == str(lab.work) and mode == os.X_OK else access(path, mode, **how)

    monkeypatch.setattr(stage.os, "access", refusing)
    run = lab.bound(system(isolation))
    assert run.refusal is not None and run.refusal.kind is RefusalKind.PATHS and run.plan is None
    assert run.refusal.text.startswith(f"{lab.work}: Permission denied; ") and "--workdir" in run.refusal.text


# --- descriptors --------------------------------------------------------------------------------------


def test_what_is_open_is_closed_above_2_with_and_without_a_boundary(lab: Lab) -> None:
    read, write = os.pipe()
    try:
        os.set_inheritable(write, True)
        found = [lab.bound(system(isolation)).descriptors for isolation in ("none", "process", "auto")]
    finally:
        os.close(read)
        os.close(write)
    assert found[0] == found[1] == found[2] and found[0].asserts_clean_boundary
    dispositions = {item.number: item.disposition for item in found[0].descriptors}
    assert {read, write} <= set(dispositions)
    for number, disposition in dispositions.items():
        delegated = disposition is DescriptorDisposition.DELEGATED
        assert delegated is (number <= 2) and (delegated or disposition is DescriptorDisposition.CLOSED_BEFORE_EXEC)


# --- registration -------------------------------------------------------------------------------------


@BOTH
def test_a_gateway_that_is_spoken_to_by_nothing_refuses_and_hides_no_policy(lab: Lab, isolation: str) -> None:
    usual, refused = (lab.bound(system(isolation), lab.around(environ)) for environ in ({}, GATEWAY))
    assert usual.refusal is None and refused.refusal is not None
    assert refused.refusal.kind is RefusalKind.REGISTRATION and refused.refusal.shortfalls == ()
    assert refused.refusal.text.startswith("refusing to launch unregistered: AA_GATEWAY_ENDPOINT")
    assert (refused.policy, refused.coverage) == (usual.policy, usual.coverage)
    assert refused.spec.requirements == usual.spec.requirements and refused.selection == usual.selection
    assert refused.plan is None


@pytest.mark.parametrize("value", [b"", None])
def test_a_gateway_that_is_not_named_is_none(lab: Lab, value: Optional[bytes]) -> None:
    environ = {} if value is None else {b"AA_GATEWAY_ENDPOINT": value}
    assert lab.bound(system(), lab.around(environ)).refusal is None


def test_it_hides_no_other_refusal(lab: Lab) -> None:
    around = lab.around(GATEWAY)
    cases: Dict[RefusalKind, Tuple[Request, int]] = {
        RefusalKind.POLICY: (request(policies=(str(lab.top / "absent.yaml"),)), 7),
        RefusalKind.SELECTION: (system(), 4),
        RefusalKind.NEGOTIATION: (system(ceilings=CEILINGS), 7),
        RefusalKind.PATHS: (request(policies=(), read=(str(lab.top / "absent"),)), 7),
        RefusalKind.REGISTRATION: (system(), 7),
    }
    for kind, (asked, abi) in cases.items():
        found = lab.bound(asked, around, abi=abi).refusal
        assert found is not None and found.kind is kind


# --- ceilings -----------------------------------------------------------------------------------------


def test_without_a_boundary_ceilings_are_stated_kept_in_the_run_and_asked_of_nobody(lab: Lab) -> None:
    run = lab.bound(system("none", ceilings=CEILINGS))
    assert run.ceilings == CEILINGS and run.spec.requirements == () and run.refusal is None and run.plan is None
    line = run.coverage[DOMAINS.index(Domain.RESOURCE)]
    assert line.requested is RequestedControl.STATED
    for name, value in CEILINGS._asdict().items():
        assert (f"{name}={value}" in line.detail) is (value is not None)
    silent = lab.bound(system("none"))
    assert silent.ceilings == ResourceLimits()
    assert silent.coverage[DOMAINS.index(Domain.RESOURCE)].requested is RequestedControl.NOT_STATED


def test_with_and_without_a_boundary_the_same_is_said_to_be_asked(lab: Lab) -> None:
    with_one, without = (lab.bound(system(isolation, ceilings=HELD)) for isolation in ("process", "none"))
    assert with_one.coverage == without.coverage and with_one.ceilings == without.ceilings == HELD
    ceilings = [item for item in with_one.spec.requirements if item.domain is Domain.RESOURCE]
    assert [item.stated_by for item in ceilings] == ["--max-wall-clock-seconds", "--max-open-files"]
    assert with_one.policy.detail + "; without a boundary nothing acts on it" == without.policy.detail
    assert with_one.policy._replace(detail="") == without.policy._replace(detail="")


# --- the home and the private directory ---------------------------------------------------------------


def origins(run: ResolvedRun, *names: bytes) -> List[Tuple[str, bytes]]:
    found = {entry.name: (entry.origin, entry.value) for entry in run.environment.entries}
    return [found[name] for name in names]


def test_a_home_of_its_own_is_private_and_the_real_one_is_called_that(lab: Lab) -> None:
    scratch, home = os.fsencode(lab.tmp / "aasm-dry-run"), os.fsencode(lab.home)
    private_run = lab.bound(system())
    assert origins(private_run, b"HOME", b"TMPDIR") == [
        ("private", scratch + b"/home"), ("private", scratch + b"/tmp"),
    ]  # fmt: skip
    real = lab.bound(system(real_home=True))
    assert origins(real, b"HOME", b"TMPDIR") == [("real home", home), ("private", scratch + b"/tmp")]
    assert private_run.environment.get(b"XDG_CACHE_HOME") and real.environment.get(b"XDG_CACHE_HOME") is None
    by_hand = lab.bound(system(real_home=True), scratch=Scratch(""))
    assert origins(by_hand, b"HOME") == [("real home", home)] and by_hand.environment.get(b"TMPDIR") is None


def test_who_names_a_home_gets_it_and_no_boundary_leaves_it_as_it_is(lab: Lab) -> None:
    asked = system(real_home=True, env={b"HOME": b"/mine"})
    assert origins(lab.bound(asked), b"HOME") == [("--env", b"/mine")]
    inherited = lab.around({b"HOME": b"/theirs"})
    assert origins(lab.bound(system("none", real_home=True), inherited), b"HOME") == [("inherited", b"/theirs")]
    assert origins(lab.bound(system(), inherited), b"HOME")[0][0] == "private"


def test_where_no_home_is_known_there_is_no_real_one_to_use(lab: Lab) -> None:
    around = lab.around(home="")
    assert origins(lab.bound(system(real_home=True), around), b"HOME")[0][0] == "private"
    assert origins(lab.bound(system(real_home=True), around, Scratch("")), b"HOME") == [("real home", b"/")]


REMARK = "a launch makes a private directory of its own"


def test_a_preview_speaks_of_the_private_directory_exactly_where_a_launch_makes_one(lab: Lab) -> None:
    there = private.create(str(lab.tmp))
    for asked, scratch, said in (
        (system(), None, True),
        (system("auto"), None, True),
        (system("none"), None, False),
        (system(real_home=True), Scratch(""), False),
        (system(), Scratch(there, exists=True), False),
    ):
        run = lab.bound(asked, scratch=scratch)
        assert run.refusal is None and (REMARK in sections.fidelity(run).detail) is said


# --- what a launch could not write --------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("name", ["canary", "ledger.jsonl", "ledger.lock"])
def test_a_state_directory_that_no_launch_could_use_is_a_refusal_of_the_preview(
    lab: Lab, isolation: str, name: str
) -> None:
    (lab.top / "state").mkdir(mode=0o700)
    (lab.top / "state" / name).mkdir()
    before = lab.everything()
    run = lab.bound(system(isolation))
    assert run.refusal is not None and run.refusal.kind is RefusalKind.PATHS and run.plan is None
    assert run.refusal.text.startswith(f"{lab.top / 'state' / name}: ") and "\n" not in run.refusal.text
    assert lab.everything() == before
    made = Scratch(str(lab.tmp / "made"), exists=True)
    (lab.tmp / "made").mkdir()
    assert lab.bound(system(isolation), scratch=made).refusal is None  # a launch finds it out by doing it


def test_a_private_directory_that_no_launch_could_make_is_a_refusal_of_the_preview(lab: Lab) -> None:
    nowhere = Scratch(str(lab.tmp / "absent" / "aasm-dry-run"))
    run = lab.bound(system(), scratch=nowhere)
    assert run.refusal is not None and run.refusal.kind is RefusalKind.PATHS
    assert f"{lab.tmp / 'absent'}: no private directory can be made: No such file" in run.refusal.text
    assert lab.bound(system("none"), scratch=nowhere).refusal is None


@BOTH
def test_what_begins_a_launch_is_asked_of_this_process(
    lab: Lab, isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: List[bool] = []

    def fail(confined: bool) -> None:
        asked.append(confined)
        raise HostError("is a socket", "descriptor 0", "put a pipe there")

    monkeypatch.setattr("aasm.supervise.begin.foresee", fail)
    run = lab.bound(system(isolation))
    assert asked == [isolation != "none"]
    assert run.refusal is not None and run.refusal.text == "descriptor 0: is a socket; put a pipe there"


def test_the_backends_facts_are_those_that_were_given(lab: Lab) -> None:
    """The control of the tests above: the kernel in them is the one they name, not the one they run on."""
    for abi in (4, 6, 9):
        usable = not capability.unavailable(facts_for_abi(abi))
        assert (lab.bound(system(), abi=abi).refusal is None) is usable
