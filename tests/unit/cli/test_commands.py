# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""One table says which commands there are: usage, dispatch and errors go by it."""

from __future__ import annotations

from typing import Tuple

import pytest

import aasm.cli as cli
from aasm.cli import policy

USAGE = cli.usage() + policy.usage()


@pytest.mark.parametrize("words", cli.COMMANDS, ids=" ".join)
def test_a_command_is_carried_out_and_stands_in_the_usage(
    words: Tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    takes, says = cli.COMMANDS[words]
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, "--help"])
    assert not ended.value.code
    assert capfd.readouterr().out.startswith(f"usage: aasm {' '.join(words)}")
    assert f"aasm {' '.join((*words, takes))}".rstrip() in USAGE and says in USAGE


def test_a_command_that_is_not_in_the_table_is_none(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", {("run", "exec"): cli.COMMANDS["run", "exec"]})
    assert cli.main(["policy", "schema"]) == cli.main(["receipt", "verify", "-"]) == 2
    assert capfd.readouterr().err.splitlines() == [
        f"error: unknown command '{name}'; there is: run; see `aasm --help`" for name in ("policy", "receipt")
    ]


def test_a_row_that_nobody_carries_out_is_a_defect(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "COMMANDS", {("receipt", "forge"): ("", ""), ("policy", "forge"): ("", "")})
    assert cli.main(["receipt", "forge"]) == cli.main(["policy", "forge"]) == 125
    assert capfd.readouterr().err.count("nothing carries out") == 2


@pytest.mark.parametrize("group", sorted({words[0] for words in cli.COMMANDS if len(words) > 1}))
def test_a_group_has_its_usage_and_names_its_commands(group: str, capfd: pytest.CaptureFixture[str]) -> None:
    for option in cli.HELP:
        assert cli.main([group, option]) == 0
        assert capfd.readouterr().out.startswith("usage: aasm ")
    for words in ([group], [group, "other"]):
        assert cli.main(words) == 2
        out, err = capfd.readouterr()
        assert out == "" and err.count("\n") == 1 and err.endswith(f"; see `aasm {group} --help`\n")
        assert f"there is: {', '.join(cli.below(group))};" in err
