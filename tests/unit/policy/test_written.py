# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A policy as a document with its origins: the text itself, and what no document can state."""

from __future__ import annotations

import json
from typing import List, Sequence

import pytest

from aasm.policy import load
from aasm.policy.cascade import merge
from aasm.policy.document import validate
from aasm.policy.places import Places
from aasm.policy.reader import read_document
from aasm.policy.values import Policy
from aasm.policy.written import Written, number, written

HERE = Places("/w", "/h", ("/usr", "/lib"))


def policy(text: str, name: str = "a.yaml", here: Places = HERE) -> Policy:
    return load.placed(validate(read_document(text.encode(), name)), here)


def merged(*texts: str) -> Written:
    return written(merge([policy(text, f"{name}.yaml") for name, text in zip("abc", texts)]))


def test_the_text_is_the_policy_with_the_origin_of_each_value() -> None:
    text = """\
scope: team:a
filesystem:
  read: {allow: ["${system}", {path: /, optional: true}]}
  write: {allow: []}
network: {ports: [80]}
approval_timeout_secs: 5
budget: {daily_limit_usd: 20.50, action_on_exceed: deny}
schedule: {active_hours: {end: "17:00", start: "09:05"}}
syscalls: {allow: ['@files', read]}
tools: {"*": {}, sh: {requires_approval_if: 'x  == "y"', allow: true}}
authority: {leases: [{scope: [a, b], domain: ipc, delegable: false}]}
"""
    assert "\n".join(written(policy(text)).lines) == """\
scope: "team:a"  # a.yaml:1:8
filesystem:
  read:
    allow:  # a.yaml:3:17
      - "/usr"  # a.yaml:3:18
      - "/lib"  # a.yaml:3:18
      - {path: "/", optional: true}  # a.yaml:3:38
  write:
    allow: []  # a.yaml:4:18
network:
  ports:  # a.yaml:5:18
    - 80  # a.yaml:5:19
syscalls:
  allow:  # a.yaml:9:19
    - "@files"  # a.yaml:9:20
    - "read"  # a.yaml:9:30
schedule:
  active_hours: {start: "09:05", end: "17:00", timezone: "UTC"}  # a.yaml:8:26
budget:
  daily_limit_usd: 20.5  # a.yaml:7:27
  action_on_exceed: "deny"  # a.yaml:7:52
approval_timeout_secs: 5  # a.yaml:6:24
tools:
  "*": {}
  "sh":
    allow: true  # a.yaml:10:65
    requires_approval_if: "x  == \\"y\\""  # a.yaml:10:45
authority:
  leases:
    - domain: "ipc"  # a.yaml:11:46
      scope: ["a", "b"]  # a.yaml:11:30
      delegable: false  # a.yaml:11:62"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("{}", []),
        ("tools: {}", ["tools: {}"]),
        ("authority: {leases: []}", ["authority:", "  leases: []"]),
        ("filesystem: {}", []),
    ],
)
def test_what_is_empty(text: str, lines: Sequence[str]) -> None:
    assert written(policy(text)) == Written(tuple(lines), ())


def test_statements_of_several_tiers_are_one_where_one_can_say_it() -> None:
    first = "schedule: {active_hours: {start: '08:00', end: '17:00'}}\ntools: {a: {requires_approval_if: x > 1}}"
    second = "schedule: {active_hours: {start: '09:00', end: '18:00'}}\n"
    second += "tools: {a: {requires_approval_if: y == 2 AND x < 0}}"
    assert merged(first, second) == Written(
        (
            "schedule:",
            '  active_hours: {start: "09:00", end: "17:00", timezone: "UTC"}  # a.yaml:1:26 and b.yaml:1:26',
            "tools:",
            '  "a":',
            '    requires_approval_if: "x > 1 OR y == 2 AND x < 0"  # a.yaml:2:35 and b.yaml:2:35',
        ),
        (),
    )


@pytest.mark.parametrize(
    ("start", "end", "zone"), [("18:00", "19:00", "UTC"), ("09:00", "18:00", "Etc/GMT-3"), ("17:00", "18:00", "UTC")]
)
def test_hours_that_no_window_states_are_told_apart(start: str, end: str, zone: str) -> None:
    first = "schedule: {active_hours: {start: '08:00', end: '17:00'}}"
    second = f"schedule: {{active_hours: {{start: '{start}', end: '{end}', timezone: {zone}}}}}"
    why = "(no single window states it: it is open while all of them are)"
    assert merged(first, second) == Written((), (
        f"schedule.active_hours: 08:00-17:00 UTC  # a.yaml:1:26 {why}",
        f"schedule.active_hours: {start}-{end} {zone}  # b.yaml:1:26 {why}",
    ))  # fmt: skip


def test_conditions_that_no_condition_states_are_told_apart() -> None:
    first, second = "requires_approval_if: x > 1", "requires_approval_if: x == 'y', allow: true"
    made = merged(f"tools: {{a: {{{first}}}}}", f"tools: {{a: {{{second}}}}}")
    assert made.lines == ("tools:", '  "a":', "    allow: true  # b.yaml:1:52")
    assert [text.partition("  #")[0] for text in made.left_out] == [
        'tools."a".requires_approval_if: x > 1',
        "tools.\"a\".requires_approval_if: x == 'y'",
    ]
    assert all("no single condition states it, and each of them counts" in text for text in made.left_out)


def test_a_path_that_no_document_can_name_is_told_apart() -> None:
    for workdir, why in (("/a$b", 'a $ in the path "/a$b"'), ("/a\udcff", "the path is not UTF-8"), ("/a/../b", "..")):
        made = written(policy("filesystem: {write: {allow: ['${workdir}', /c]}}", here=Places(workdir, "/h", ())))
        assert made.lines[-1] == '      - "/c"  # a.yaml:1:44'
        (text,) = made.left_out
        assert text.startswith("filesystem.write.allow: /a") and why in text and text.isprintable()


def test_a_tool_with_too_long_a_name_is_told_apart() -> None:
    tools = {name: {"allow": False} for name in ("x" * 1022, "y" * 1023)}
    made = written(policy(json.dumps({"tools": tools}), "a.json"))
    assert made.lines[1] == f'  "{"x" * 1022}":' and "yyy" not in "".join(made.lines)
    assert len(made.left_out) == 1 and made.left_out[0].startswith('tools."yyy')


def test_numbers_have_no_exponent() -> None:
    values = (0.0, -0.0, 1.0, 0.1, 1e22, 1.5e-7, 123456789012345.67, 9007199254740991, 5e-60)
    texts: List[str] = [number(value) for value in values]
    assert texts[:4] == ["0.0", "-0.0", "1.0", "0.1"] and texts[4] == "1" + "0" * 22 + ".0"
    for value, text in zip(values, texts):
        document = read_document(f"budget: {{daily_limit_usd: {text}}}".encode(), "n.yaml")
        found = document.root.value["budget"].node.value["daily_limit_usd"].node.value  # type: ignore[index,union-attr]
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("value", ["1e300", "5e-324"])
def test_a_number_of_too_many_digits_is_told_apart(value: str) -> None:
    made = written(policy(f'{{"budget": {{"daily_limit_usd": {value}, "monthly_limit_usd": 1}}}}', "a.json"))
    assert [line.partition("  #")[0] for line in made.lines] == ["budget:", "  monthly_limit_usd: 1"]
    assert "more digits than every reader reads" in made.left_out[0]
