# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Selection: lazily, in the declared order, and never anything else than what was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, List, Optional, Tuple

import pytest
from support.contract import NETWORK, PROVENANCE, READ, WRITE, backend, capable, wanted
from support.host import facts_for_abi
from support.runs import request, resolved

from aasm import backends
from aasm.backends.native.capability import HELD_BY_LIMIT
from aasm.model.domains import BackendCapabilities, CapabilityDomain as Domain, CapabilityReport, unsupported
from aasm.model.plan import (
    CandidateVerdict,
    Considered,
    EnforcementPlan,
    Refusal,
    RefusalKind,
    RefusalReason,
    SelectionMode,
)
from aasm.model.requirements import Requirement, RequirementPosture as Posture, ResourceLimits
from aasm.model.resolved import ResolvedPolicy, ResolvedRun
from aasm.policy.lowering import CEILINGS, Lowered
from aasm.selecting import choose
from aasm.stating import Stated

ROOT = Path(__file__).resolve().parents[2]
SELECTED, UNAVAILABLE, UNMET = CandidateVerdict
ALL_THREE = ("sandlock", "aasm-native", "aasm-macos-vm")
ASKED = "refusing to launch: an execution-isolation boundary was requested and"


class StandIn:
    """A backend that says what it is told, and remembers that it was asked."""

    def __init__(self, name: str, *reports: CapabilityReport, unavailable: str = "") -> None:
        self.id, self.asked = name, 0
        self._found = backend(*reports, unavailable=unavailable)._replace(provenance=PROVENANCE._replace(id=name))

    def capabilities(self, host: object) -> BackendCapabilities:
        self.asked += 1
        return self._found

    def narrow(self, found: BackendCapabilities, requirements: Tuple[Requirement, ...]) -> BackendCapabilities:
        assert found == self._found and requirements
        return found

    def floor(self) -> Tuple[str, ...]:
        return (f"floor of {self.id}",)


Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that puts stand-ins in the place of the candidates of this build."""

    def put(*stand_ins: StandIn) -> None:
        listed = tuple((item.id, lambda item=item: item) for item in stand_ins)
        monkeypatch.setattr(backends, "CANDIDATES", listed)
        monkeypatch.setattr(backends, "IDS", tuple(item.id for item in stand_ins))
        monkeypatch.setattr(backends, "DEFAULT", stand_ins[0].id)

    return put


def considered(run: ResolvedRun) -> List[Tuple[str, CandidateVerdict]]:
    return [(item.id, item.verdict) for item in run.selection.considered]


def refusal_of(run: ResolvedRun) -> Refusal:
    assert run.refusal is not None and run.plan is None
    return run.refusal


def words(text: str) -> str:
    return " ".join(text.split())


# --- the mode ---


@pytest.mark.parametrize(
    "isolation, pin, mode",
    [
        ("none", None, SelectionMode.DEFAULT),
        ("process", None, SelectionMode.DEFAULT),
        ("auto", None, SelectionMode.AUTOMATIC),
        ("auto", "aasm-native", SelectionMode.EXPLICIT),
        ("process", "aasm-native", SelectionMode.EXPLICIT),
        ("process", "sandlock", SelectionMode.EXPLICIT),
    ],
)
def test_who_chose_is_recorded(isolation: str, pin: Optional[str], mode: SelectionMode) -> None:
    assert resolved(isolation=isolation, backend=pin).selection.mode is mode


# --- the walk of `auto` ---


def test_auto_takes_the_first_that_can_hold_the_run_and_asks_no_later_one(install: Install) -> None:
    first = StandIn("first", unavailable="not on this host")
    second, third = StandIn("second", unsupported(READ, "none")), StandIn("third", capable(READ))
    fourth = StandIn("fourth", capable(READ))
    install(first, second, third, fourth)
    run = resolved([wanted(READ)], isolation="auto")
    assert considered(run) == [("first", UNAVAILABLE), ("second", UNMET), ("third", SELECTED)]
    assert run.plan is not None and run.plan.backend.provenance.id == "third"
    assert run.plan.floor == ("floor of third",)
    assert [item.asked for item in (first, second, third, fourth)] == [1, 1, 1, 0]


@pytest.mark.parametrize("winner", range(3))
def test_the_declared_order_decides_and_no_score(install: Install, winner: int) -> None:
    limited = capable(READ, limitations=("much",))
    stand_ins = [StandIn(f"b{at}", limited if at == winner else capable(WRITE)) for at in range(3)]
    stand_ins.append(StandIn("better", capable(READ), capable(WRITE), capable(NETWORK)))
    install(*stand_ins)
    run = resolved([wanted(READ)], isolation="auto")
    assert run.plan is not None and run.plan.backend.provenance.id == f"b{winner}"


def test_a_candidate_that_meets_only_what_is_optional_is_eligible(install: Install) -> None:
    install(StandIn("first", capable(READ)), StandIn("second", capable(READ), capable(NETWORK)))
    run = resolved([wanted(READ), wanted(NETWORK, posture=Posture.OPTIONAL)], isolation="auto")
    assert considered(run) == [("first", SELECTED)]


def test_what_was_turned_down_is_recorded_with_its_reasons_and_domains(install: Install) -> None:
    install(
        StandIn("first", unavailable="not on this host"),
        StandIn("second", capable(READ), unsupported(WRITE, "cannot write")),
        StandIn("third", capable(WRITE), capable(NETWORK), capable(READ)),
    )
    requirements = [wanted(WRITE, stated_by="a"), wanted(NETWORK, stated_by="b"), wanted(READ)]
    requirements.append(wanted(WRITE, stated_by="c"))
    run = resolved(requirements, isolation="auto")
    away, second, chosen = run.selection.considered
    assert away == Considered("first", UNAVAILABLE, "not on this host", ())
    assert second.verdict is UNMET and second.unmet_domains == (WRITE, NETWORK)
    for part in ("filesystem_write (a): cannot write", "network_egress (b): ", "filesystem_write (c): cannot write"):
        assert part in second.detail
    assert chosen == Considered("third", SELECTED)


def test_when_none_can_hold_it_every_candidate_is_named_with_everything_it_lacks(install: Install) -> None:
    install(
        StandIn("first", unavailable="not on this host"),
        StandIn("second", unsupported(READ, "cannot read")),
        StandIn("third", capable(READ)),
    )
    run = resolved([wanted(READ), wanted(WRITE, stated_by="a node")], isolation="auto")
    refusal = refusal_of(run)
    assert considered(run) == [("first", UNAVAILABLE), ("second", UNMET), ("third", UNMET)]
    text = words(refusal.text)
    assert text.startswith(f"{ASKED} no backend can hold it. ")
    for part in (
        "the `first` backend cannot be selected on this host: not on this host",
        "the `second` backend cannot meet what is required: - filesystem_read: cannot read - filesystem_write (a node)",
        "the `third` backend cannot meet what is required: - filesystem_write (a node)",
        "There is no fallback.",
        "re-run with `--isolation none` to launch unconfined deliberately.",
    ):
        assert part in text
    assert [item.domain for item in refusal.shortfalls] == [None, READ, WRITE, WRITE]
    assert refusal.kind is RefusalKind.NEGOTIATION


@pytest.mark.parametrize(
    "reports, kind",
    [
        (((), ()), RefusalKind.SELECTION),
        ((None, None), RefusalKind.NEGOTIATION),
        (((), None), RefusalKind.NEGOTIATION),
    ],
)
def test_the_kind_of_the_refusal(install: Install, reports: Tuple[Any, ...], kind: RefusalKind) -> None:
    install(*(StandIn(f"b{at}", unavailable="" if item is None else "away") for at, item in enumerate(reports)))
    assert refusal_of(resolved([wanted(READ)], isolation="auto")).kind is kind


# --- this build's own candidates ---


def test_auto_on_this_build_names_sandlock_and_takes_the_native_backend() -> None:
    run = resolved(isolation="auto")
    assert considered(run) == [("sandlock", UNAVAILABLE), ("aasm-native", SELECTED)]
    assert run.plan is not None and run.plan.backend.provenance.id == "aasm-native"


def test_auto_on_an_old_kernel_names_all_three() -> None:
    run = resolved(isolation="auto", abi=4)
    assert considered(run) == [(name, UNAVAILABLE) for name in ALL_THREE]
    text = refusal_of(run).text
    assert all(f"the `{name}` backend cannot be selected on this host: " in text for name in ALL_THREE)
    assert [item.reason for item in refusal_of(run).shortfalls] == [RefusalReason.BACKEND_UNAVAILABLE] * 3


def test_auto_with_what_nobody_holds_names_all_three() -> None:
    run = resolved([wanted(Domain.IPC)], isolation="auto")
    assert considered(run) == list(zip(ALL_THREE, (UNAVAILABLE, UNMET, UNAVAILABLE)))
    assert run.selection.considered[1].unmet_domains == (Domain.IPC,)


LAZY = """
import sys
from support.contract import backend, capable, wanted
from support.host import facts_for_abi
from aasm import selecting
from aasm.model.request import Request
from aasm.policy.lowering import Lowered
from aasm.stating import Stated

if {eligible}:
    from aasm.backends.sandlock import SandlockBackend
    SandlockBackend.capabilities = lambda self, host: backend(capable())
blank = dict.fromkeys(Request._fields)
request = Request(**dict(blank, isolation={isolation!r}, backend={pin!r}))
stated = Stated(None, Lowered((wanted(),), (), frozenset()), (), "")
selecting.choose(request, stated, facts_for_abi({abi}))
modules = ("sandlock", "native.prepare", "native.capability", "macos_vm")
print(*(name for name in modules if "aasm.backends." + name in sys.modules))
"""
NATIVE = "native.prepare native.capability"


@pytest.mark.parametrize(
    "isolation, pin, abi, eligible, loaded",
    [
        ("none", None, 7, False, ""),
        ("process", None, 7, False, NATIVE),
        ("process", None, 4, False, NATIVE),  # refused, and nobody else is asked
        ("auto", "aasm-native", 4, False, NATIVE),
        ("auto", None, 7, True, "sandlock"),
        ("auto", None, 7, False, f"sandlock {NATIVE}"),
        ("auto", None, 4, False, f"sandlock {NATIVE} macos_vm"),
        ("process", "aasm-macos-vm", 7, False, "macos_vm"),
    ],
)
def test_a_candidate_that_nobody_asks_is_not_even_imported(
    isolation: str, pin: Optional[str], abi: int, eligible: bool, loaded: str
) -> None:
    code = LAZY.format(isolation=isolation, pin=pin, abi=abi, eligible=eligible)
    paths = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, env={"PYTHONPATH": paths}, check=False
    )
    assert (done.stderr, done.stdout.strip()) == ("", loaded)


# --- the default and the pin ---


@pytest.mark.parametrize("isolation, pin", [("process", None), ("process", "first"), ("auto", "first")])
@pytest.mark.parametrize("away", [True, False])
def test_what_was_named_is_never_replaced_by_another(
    install: Install, isolation: str, pin: Optional[str], away: bool
) -> None:
    first = StandIn("first", unavailable="not on this host" if away else "")
    second = StandIn("second", capable(READ))
    install(first, second)
    run = resolved([wanted(READ)], isolation=isolation, backend=pin)
    refusal = refusal_of(run)
    assert considered(run) == [("first", UNAVAILABLE if away else UNMET)] and second.asked == 0
    assert "second" not in refusal.text
    text = words(refusal.text)
    why = "selected on this host: not on this host" if away else "meet what is required: - filesystem_read"
    verb = "cannot be" if away else "cannot"
    assert text.startswith(f"{ASKED} the `first` backend {verb} {why}")
    assert "There is no fallback." in text and "`--isolation none` to launch unconfined deliberately." in text
    assert refusal.kind is (RefusalKind.SELECTION if away else RefusalKind.NEGOTIATION)


def test_a_pin_wins_over_the_walk_even_when_an_earlier_one_could_hold_it(install: Install) -> None:
    first, second = StandIn("first", capable(READ)), StandIn("second", capable(READ))
    install(first, second)
    run = resolved([wanted(READ)], isolation="auto", backend="second")
    assert considered(run) == [("second", SELECTED)] and first.asked == 0


@pytest.mark.parametrize("pin", ["sandlock", "aasm-macos-vm"])
def test_a_pinned_backend_without_a_driver_refuses_for_its_own_reason(pin: str) -> None:
    run = resolved(backend=pin)
    reason = backends.backend(pin).capabilities(facts_for_abi(7)).unavailable
    assert considered(run) == [(pin, UNAVAILABLE)]
    assert f"the `{pin}` backend cannot be selected on this host: {reason}" in refusal_of(run).text


PINNED = "There is no fallback. Leave `--isolation-backend` out, change the policy, the ceilings or the host, or re-run"
UNPINNED = "There is no fallback. Change the policy, the ceilings or the host, or re-run"


@pytest.mark.parametrize(
    "isolation, pin, remedy",
    [
        ("process", None, UNPINNED),
        ("auto", None, UNPINNED),
        ("process", "aasm-native", PINNED),
        ("auto", "aasm-native", PINNED),
        ("process", "sandlock", PINNED),
    ],
)
@pytest.mark.parametrize("abi", [4, 7])
def test_the_remedy_of_a_pin_is_to_leave_it_out(isolation: str, pin: Optional[str], remedy: str, abi: int) -> None:
    run = resolved([wanted(Domain.IPC)], isolation=isolation, backend=pin, abi=abi)
    assert remedy in words(refusal_of(run).text)


def test_the_default_is_the_backend_that_this_build_can_use() -> None:
    run = resolved()
    assert considered(run) == [("aasm-native", SELECTED)]


# --- who is not asked at all ---


class Raises:
    """A candidate that must not be made."""

    def __call__(self) -> object:
        raise AssertionError("a backend was made")


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "CANDIDATES", tuple((name, Raises()) for name in ALL_THREE))


def test_without_a_boundary_no_backend_is_asked(nobody: None) -> None:
    run = resolved(isolation="none")
    assert run.plan is None and run.refusal is None and run.selection.considered == ()


NOTHING_TO_HOLD = "tools:\n  a:\n    allow: true\n"


@pytest.mark.parametrize("isolation, pin", [("process", None), ("auto", None), ("process", "aasm-native")])
def test_a_boundary_that_would_hold_nothing_is_refused_and_no_backend_is_asked(
    nobody: None, isolation: str, pin: Optional[str]
) -> None:
    run = resolved(policy=NOTHING_TO_HOLD, isolation=isolation, backend=pin)
    refusal = refusal_of(run)
    assert refusal.kind is RefusalKind.NO_REQUIREMENTS_LOWERED and refusal.shortfalls == ()
    assert refusal.text.startswith("refusing to launch: NoRequirementsLowered: ")
    assert "policy.yaml" in refusal.text and "`--isolation none`" in refusal.text
    assert run.selection.considered == ()


@pytest.mark.parametrize("name", [name for name, (_, posture) in CEILINGS.items() if posture is Posture.REQUIRED])
def test_a_ceiling_that_is_required_is_something_to_hold(name: str) -> None:
    run = resolved(policy=NOTHING_TO_HOLD, ceilings=ResourceLimits(**{name: 64}))
    if name in HELD_BY_LIMIT:
        assert run.refusal is None and isinstance(run.plan, EnforcementPlan)
    else:
        assert refusal_of(run).kind is RefusalKind.NEGOTIATION  # it is asked for, and then nothing here holds it


OPTIONAL = tuple(name for name, (_, posture) in CEILINGS.items() if posture is Posture.OPTIONAL)


@pytest.mark.parametrize("names", [OPTIONAL[:1], OPTIONAL[1:], OPTIONAL], ids="+".join)
@pytest.mark.parametrize("isolation", ["process", "auto"])
def test_what_may_go_unmet_is_nothing_that_a_boundary_would_hold(names: Tuple[str, ...], isolation: str) -> None:
    """A boundary was asked for; one that need not hold anything at all would be none."""
    limits = ResourceLimits(**dict.fromkeys(names, 5))
    run = resolved(policy=NOTHING_TO_HOLD, isolation=isolation, ceilings=limits)
    assert refusal_of(run).kind is RefusalKind.NO_REQUIREMENTS_LOWERED and run.selection.considered == ()
    assert len(run.spec.requirements) == len(names)  # and yet what was asked is said
    beside = resolved(isolation=isolation, ceilings=limits)
    assert beside.refusal is None and beside.plan is not None and len(beside.plan.outcomes) == 2 + len(names)


def test_no_name_of_a_policy_makes_a_line_of_the_refusal() -> None:
    stated = Stated(ResolvedPolicy("enforced", "q\nwarning: none", "", "", ()), Lowered((), (), frozenset()), (), "q")
    refusal = choose(request(), stated, facts_for_abi(7)).refusal
    assert refusal is not None and refusal.text.count("\n") == 0 and "(q\\x0awarning: none)" in refusal.text


def test_a_policy_that_could_not_be_used_is_the_refusal_and_no_backend_is_asked(nobody: None) -> None:
    run = resolved(policy="filesystem: [")
    assert refusal_of(run).kind is RefusalKind.POLICY and run.selection.considered == ()


def test_a_probe_and_a_run_reach_the_same_verdict(install: Install) -> None:
    install(StandIn("first", capable(READ)))
    plain = resolved([wanted(READ)], isolation="auto")
    other = resolved([wanted(READ)], isolation="auto", program=("other", "x"), environ={b"A": b"b"}, env={b"T": b"v"})
    assert plain.plan == other.plan and plain.selection == other.selection
