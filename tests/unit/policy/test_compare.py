# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What one policy permits and another does not: every kind of statement, in the right direction, once."""

from __future__ import annotations

import time
from typing import List, Tuple

import pytest

from aasm.policy import load
from aasm.policy.compare import FIRST, SECOND, differences
from aasm.policy.document import validate
from aasm.policy.places import Places
from aasm.policy.reader import read_document
from aasm.policy.values import Policy

HERE = Places("/w", "/h", ("/usr", "/lib"))


def policy(text: str, name: str) -> Policy:
    return load.placed(validate(read_document(text.encode() or b"{}", name)), HERE, follow=False)


def found(first: str, second: str) -> List[Tuple[str, str, str]]:
    """Return the differences of two documents without their places."""
    made = differences(policy(first, "a"), policy(second, "b"))
    return [({FIRST: "-", SECOND: "+"}[item.by], item.key, item.what) for item in made]


def lease(domain: str, selectors: str) -> str:
    return f"authority: {{leases: [{{domain: {domain}, scope: [{selectors}]}}]}}"


def refused(name: str) -> str:
    return f"capabilities: {name}, which the other refuses"


# (first, second, what only the second permits, what only the first permits); each pair is compared both ways.
CASES = (
    # lists: what is not covered by the other
    ("filesystem: {read: {allow: [/a, /b]}}", "filesystem: {read: {allow: [/a/x, /c]}}",
     ["filesystem.read.allow: /c"], ["filesystem.read.allow: /a", "filesystem.read.allow: /b"]),
    ("filesystem: {write: {allow: [/ws]}}", "filesystem: {write: {allow: [/ws-evil]}}",
     ["filesystem.write.allow: /ws-evil"], ["filesystem.write.allow: /ws"]),
    ("filesystem: {read: {allow: ['${system}']}}", "filesystem: {read: {allow: [/usr]}}",
     [], ["filesystem.read.allow: /lib"]),
    ("filesystem: {read: {allow: [/a/b, /a]}}", "filesystem: {read: {allow: [/a]}}", [], []),
    ("filesystem: {write: {allow: []}}", "", ["filesystem.write.allow: everything, since there is no list"], []),
    ("filesystem: {write: {allow: [/]}}", "", [], []),
    # executing follows reading until it is stated
    ("filesystem: {read: {allow: [/a]}}", "filesystem: {read: {allow: [/a]}, execute: {allow: [/a/bin]}}",
     [], ["filesystem.execute.allow: /a"]),
    ("filesystem: {read: {allow: [/a]}}", "filesystem: {read: {allow: [/a]}, execute: {allow: [/a]}}", [], []),
    ("filesystem: {read: {allow: [/a]}}", "filesystem: {read: {allow: [/a]}, execute: {allow: [/]}}", [], []),
    ("filesystem: {execute: {allow: [/a]}}", "", ["filesystem.execute.allow: everything, since there is no list"], []),
    ("filesystem: {read: {allow: [/a]}}", "", ["filesystem.read.allow: everything, since there is no list"], []),
    # hosts and ports are one list
    ("network: {allowlist: ['*.a.example']}", "network: {allowlist: [x.a.example, a.example]}",
     ["network.allowlist: a.example"], ["network.allowlist: *.a.example"]),
    ("network: {allowlist: [a.example]}", "network: {allowlist: ['a.example:443']}",
     [], ["network.allowlist: a.example"]),
    ("network: {allowlist: ['a.example:443']}", "network: {allowlist: [a.example], ports: [443]}", [], []),
    ("network: {allowlist: [a.example], ports: [443]}", "network: {allowlist: [a.example], ports: [443, 80]}",
     ["network.allowlist: a.example:80"], []),
    ("network: {ports: [443]}", "", ["network.allowlist: everything, since there is no list"], []),
    ("network: {allowlist: ['*']}", "", [], []),
    ("network: {allowlist: []}", "network: {ports: []}", [], []),
    ("network: {bind: [80]}", "network: {bind: [80, 443]}", ["network.bind: 443"], []),
    ("network: {bind: [80]}", "", ["network.bind: everything, since there is no list"], []),
    # keys whose absence gives nothing
    ("", "ipc: {unix: {allow: [/run/a]}}", ["ipc.unix.allow: /run/a"], []),
    ("", "ipc: {unix: {allow: []}}", [], []),
    ("", "credentials: {capabilities: {allow: [CAP_KILL]}}", ["credentials.capabilities.allow: CAP_KILL"], []),
    ("", "credentials: {environment: {allow: [A]}}", ["credentials.environment.allow: A"],
     ["credentials.environment.allow: any variable that --env names, since there is no list"]),
    # calls by name, a group by its own where all of it is missing
    ("syscalls: {allow: [read]}", "syscalls: {allow: [read, write, '@signals']}",
     ["syscalls.allow: write", "syscalls.allow: @signals"], []),
    ("syscalls: {allow: [pause, rt_sigaction]}", "syscalls: {allow: ['@signals', sigaltstack]}",
     [f"syscalls.allow: {name}" for name in
      ("rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack")], []),
    ("syscalls: {allow: [read]}", "", ["syscalls.allow: everything, since there is no list"], []),
    # capabilities: what is refused in effect, by whichever of the two lists
    ("capabilities: {deny: [agent_spawn]}", "capabilities: {deny: [file_delete]}",
     [refused("agent_spawn")], [refused("file_delete")]),
    ("capabilities: {deny: [file_delete]}", "", [refused("file_delete")], []),
    ("capabilities: {deny: []}", "", [], []),
    ("capabilities: {deny: [file_delete, file_delete]}", "capabilities: {deny: [file_delete]}", [], []),
    ("capabilities: {allow: []}", "capabilities: {deny: [file_read, file_write, network_outbound, terminal_exec]}",
     [refused(name) for name in ("file_delete", "network_inbound", "every mcp_tool", "every model")], []),
    ("capabilities: {allow: [network_inbound, file_delete, 'mcp_tool:a']}",
     "capabilities: {deny: [file_read, file_write, network_outbound, terminal_exec, file_delete, 'mcp_tool:a']}",
     [refused("every other mcp_tool"), refused("every model")], [refused("file_delete"), refused("mcp_tool:a")]),
    # an allow list says nothing about agent_spawn, neither by naming it nor by leaving it out
    ("capabilities: {allow: [agent_spawn, terminal_exec]}", "capabilities: {allow: [terminal_exec]}", [], []),
    ("capabilities: {allow: [], deny: [agent_spawn]}", "capabilities: {allow: [agent_spawn]}",
     [refused("agent_spawn")], []),
    # denying what an allow list leaves out anyway, and allowing what is denied, change nothing
    ("capabilities: {allow: [file_delete]}", "capabilities: {allow: [file_delete, 'model:x'], deny: ['model:x']}",
     [], []),
    ("capabilities: {allow: [file_delete]}", "capabilities: {allow: [file_delete], deny: [network_inbound]}", [], []),
    ("capabilities: {allow: ['model:x', 'model:y']}", "capabilities: {allow: ['model:y', 'model:z']}",
     [refused("model:z")], [refused("model:x")]),
    ("capabilities: {deny: ['model:x']}", "capabilities: {allow: [file_read, file_write, file_delete, "
     "network_outbound, network_inbound, terminal_exec, 'mcp_tool:a', 'model:x']}",
     [refused("model:x")], [refused("every other mcp_tool"), refused("every other model")]),
    # patterns
    ("data: {sensitive_patterns: [a, b]}", "data: {sensitive_patterns: [b]}",
     ["data.sensitive_patterns: without a"], []),
    ("capabilities: {allow: [file_read]}", "capabilities: {allow: [file_read, 'model:x']}",
     [refused("model:x")], []),
    # numbers
    ("resources: {max_pids: 5}", "resources: {max_pids: 7}", ["resources.max_pids: 7 instead of 5"], []),
    ("budget: {daily_limit_usd: 1.5}", "", ["budget.daily_limit_usd: no limit instead of 1.5"], []),
    ("budget: {daily_limit_usd: 1}", "budget: {daily_limit_usd: 1.0}", [], []),
    # words from mild to strict, and what absence is as good as
    ("data: {credential_action: block}", "data: {credential_action: redact_only}",
     ["data.credential_action: redact_only instead of block"], []),
    ("data: {credential_action: alert_only}", "",
     [], ["data.credential_action: alert_only instead of redact_only"]),
    ("data: {credential_action: redact_only}\napproval_timeout_secs: 300", "", [], []),
    ("approval_timeout_secs: 301", "", [], ["approval_timeout_secs: 301 instead of 300"]),
    ("approval: {timeout_seconds: 299}", "", ["approval.timeout_seconds: 300 instead of 299"], []),
    ("egress: {posture: not_required}", "", [], []),
    ("egress: {posture: broker_required}", "", ["egress.posture: not_required instead of broker_required"], []),
    # what nobody can order
    ("budget: {window: 1d}", "budget: {window: 2d}", ["budget.window: 2d"], ["budget.window: 1d"]),
    ("scope: team:a", "", ["scope: global"], ["scope: team:a"]),
    ("scope: global", "", [], []),
    # hours
    ("schedule: {active_hours: {start: '09:00', end: '12:00'}}",
     "schedule: {active_hours: {start: '09:00', end: '13:00'}}",
     ["schedule.active_hours: 09:00-13:00 UTC instead of 09:00-12:00 UTC"], []),
    ("schedule: {active_hours: {start: '09:00', end: '12:00'}}", "",
     ["schedule.active_hours: at any time instead of 09:00-12:00 UTC"], []),
    ("schedule: {active_hours: {start: '09:00', end: '12:00'}}",
     "schedule: {active_hours: {start: '09:00', end: '12:00', timezone: Etc/GMT-3}}",
     ["schedule.active_hours: 09:00-12:00 Etc/GMT-3 instead of 09:00-12:00 UTC"],
     ["schedule.active_hours: 09:00-12:00 UTC instead of 09:00-12:00 Etc/GMT-3"]),
    # tools
    ("tools: {a: {allow: false}}", "tools: {'*': {allow: true}}", ['tools."a".allow: true instead of false'], []),
    ("tools: {'*': {allow: false}}", "tools: {'*': {allow: false}, a: {}}",
     ['tools."a".allow: true instead of false'], []),
    ("tools: {a: {limit_per_hour: 1}}", "", ['tools."a".limit_per_hour: no limit instead of 1'], []),
    ("tools: {a: {capabilities: [ipc]}}", "tools: {a: {capabilities: [ipc, syscall]}}",
     ['tools."a".capabilities: syscall'], []),
    ("tools: {}", "", [], []),
    # conditions: any of the alternatives asks
    ("tools: {a: {requires_approval_if: 'x > 1'}}", "tools: {a: {}}",
     ['tools."a".requires_approval_if: without approval when x > 1'], []),
    ("tools: {a: {requires_approval_if: 'x > 1'}}", "tools: {a: {requires_approval_if: 'x > 1 OR y == 2'}}",
     [], ['tools."a".requires_approval_if: without approval when x > 1 OR y == 2']),
    ("tools: {a: {requires_approval_if: 'x > 1 AND x < 9'}}", "tools: {a: {requires_approval_if: 'x > 1'}}",
     [], ['tools."a".requires_approval_if: without approval when x > 1']),
    ("tools: {a: {requires_approval_if: 'x > 1 AND y == 2'}}", "tools: {a: {requires_approval_if: 'x > 1'}}",
     ['tools."a".requires_approval_if: without approval when x > 1 AND y == 2'],
     ['tools."a".requires_approval_if: without approval when x > 1']),  # a call without y needs it in the first alone
    # leases
    ("", "authority: {leases: [{domain: ipc}]}", ["authority.leases: ipc"], []),
    ("authority: {leases: []}", "", [], []),
    ("authority: {leases: [{domain: ipc, scope: [a, b]}]}", "authority: {leases: [{domain: ipc}]}",
     ["authority.leases for ipc: scope: the whole domain"], []),
    ("authority: {leases: [{domain: ipc, scope: [a, b]}]}", "authority: {leases: [{domain: ipc, scope: [b, c]}]}",
     ["authority.leases for ipc: scope: c"], ["authority.leases for ipc: scope: a"]),
    (lease("filesystem_read", "/b"), lease("filesystem_read", "/b/c, /b//d/."), [],
     ["authority.leases for filesystem_read: scope: /b"]),
    (lease("filesystem_write", "/b"), lease("filesystem_write", "/bc, //b/./"),
     ["authority.leases for filesystem_write: scope: /bc"], []),
    (lease("filesystem_read", "/"), lease("filesystem_read", "/b/../c, b/c"),  # no places: equal to themselves alone
     ["authority.leases for filesystem_read: scope: /b/../c", "authority.leases for filesystem_read: scope: b/c"],
     ["authority.leases for filesystem_read: scope: /"]),
    (lease("network_egress", "'*.a.example', B.example"), lease("network_egress", "x.a.example, 'b.example:443'"), [],
     [f"authority.leases for network_egress: scope: {name}" for name in ("*.a.example", "B.example")]),
    (lease("name_resolution", "'*'"), lease("name_resolution", "a.example, 'no host'"),
     ["authority.leases for name_resolution: scope: no host"], ["authority.leases for name_resolution: scope: *"]),
    (lease("credential", "/b"), lease("credential", "/b/c"), ["authority.leases for credential: scope: /b/c"],
     ["authority.leases for credential: scope: /b"]),  # equal names alone
    ("authority: {leases: [{domain: ipc, delegable: true, max_count: 1}]}", "authority: {leases: [{domain: ipc}]}",
     ["authority.leases for ipc: max_count: no limit instead of 1"],
     ["authority.leases for ipc: delegable: true instead of false"]),
    ("authority: {leases: [{domain: ipc, delegable: false, scope: whole}]}", "authority: {leases: [{domain: ipc}]}",
     [], []),
)  # fmt: skip


@pytest.mark.parametrize(("first", "second", "more", "less"), CASES)
def test_what_only_one_permits(first: str, second: str, more: List[str], less: List[str]) -> None:
    for one, other, signs in ((first, second, "+-"), (second, first, "-+")):
        told = found(one, other)
        assert [f"{key}: {what}" for sign, key, what in told if sign == signs[0]] == more
        assert [f"{key}: {what}" for sign, key, what in told if sign == signs[1]] == less


@pytest.mark.parametrize("text", sorted({text for case in CASES for text in case[:2]}))
def test_a_policy_permits_what_it_permits(text: str) -> None:
    assert found(text, text) == []


def test_a_denied_domain_outranks_its_lists() -> None:
    denied = "capabilities: {deny: [file_write, network_outbound]}\n"
    lists = "filesystem: {write: {allow: [/a]}}\nnetwork: {allowlist: [a.example], bind: [80]}"
    assert found(denied, denied + lists) == []
    assert found(denied, lists) == [
        ("+", "filesystem.write.allow", "/a"),
        ("+", "network.allowlist", "a.example"),
        ("+", "network.bind", "80"),
        ("+", "capabilities", "file_write, which the other refuses"),
        ("+", "capabilities", "network_outbound, which the other refuses"),
    ]


@pytest.mark.parametrize("denial", ["deny: [file_read]", "allow: [file_write, network_outbound, terminal_exec]"])
def test_what_is_listed_of_a_denied_domain_is_not_permitted(denial: str) -> None:
    lists = "filesystem: {read: {allow: [/a]}, execute: {allow: [/a/bin]}, write: {allow: [/w]}}\n"
    denied = f"{lists}capabilities: {{{denial}}}\n"
    told = [item for item in found(denied, lists.replace("/a", "/b")) if item[1].startswith("filesystem.")]
    assert told == [("+", "filesystem.read.allow", "/b"), ("+", "filesystem.execute.allow", "/b/bin")]
    told = [item for item in found(denied, "") if item[1].startswith("filesystem.")]
    nothing = "everything, since there is no list"
    assert told == [("+", f"filesystem.{verb}.allow", nothing) for verb in ("read", "write", "execute")]


def test_a_closed_domain_is_told_with_the_statements_that_close_it() -> None:
    first = policy("capabilities: {allow: [file_read, file_write], deny: [file_delete, network_outbound]}", "a")
    found = {item.key: item.origins for item in differences(first, policy("", "b"))}
    assert found["network.allowlist"] == found["network.bind"] == ("a:1:68", "a:1:23")


def test_a_capability_is_told_with_the_statements_that_refuse_it() -> None:
    first = policy("capabilities: {allow: [file_read], deny: [file_read, 'model:x', agent_spawn]}", "a")
    found = {item.what.split(",")[0]: item.origins for item in differences(first, policy("", "b"))
             if item.key == "capabilities"}  # fmt: skip
    assert found["file_read"] == ("a:1:43",)
    assert found["model:x"] == ("a:1:54", "a:1:23")  # both lists refuse it
    assert found["agent_spawn"] == ("a:1:65",)
    assert found["file_write"] == found["every mcp_tool"] == found["every other model"] == ("a:1:23",)
    assert all(item.by == SECOND for item in differences(first, policy("", "b")))


def test_capabilities_are_told_in_the_order_of_the_keys() -> None:
    first = "resources: {max_pids: 5}\ncapabilities: {deny: [file_delete]}\nsyscalls: {allow: []}"
    keys = [key for _, key, _ in found(first, "")]
    assert keys == ["resources.max_pids", "capabilities", "syscalls.allow"]


def test_many_names_of_capabilities_take_no_square_of_time() -> None:
    first, second = (", ".join(f"'model:{letter}{number}'" for number in range(3000)) for letter in "ab")
    one, other = (policy(f"capabilities: {{allow: [{names}]}}", "p") for names in (first, second))
    begun = time.process_time()
    assert len(differences(one, other)) == 6000
    assert time.process_time() - begun < 2


def test_a_difference_names_the_statements_that_make_it() -> None:
    first, second = policy("resources: {max_pids: 5}", "a"), policy("resources: {max_pids: 7}", "b")
    (item,) = differences(first, second)
    assert item.origins == ("b:1:23", "a:1:23")
    (item,) = differences(policy("capabilities: {deny: [agent_spawn]}", "a"), policy("", "b"))
    assert item.origins == ("a:1:23",)


def test_many_hosts_and_ports_are_compared_by_themselves() -> None:
    hosts, ports = [f"h{number}.example" for number in range(300)], list(range(1, 301))
    first = f"network: {{allowlist: [{', '.join(hosts)}], ports: {ports}}}"
    second = f"network: {{allowlist: [{', '.join(hosts[:-1])}], ports: {ports[:-1]}}}"
    assert found(first, first) == []
    assert found(first, second) == [("-", "network.allowlist", "h299.example"), ("-", "network.ports", "300")]
