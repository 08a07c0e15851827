# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Every key of a policy: what its value is, and how the tiers of a cascade are joined. The one list there is.

document.py validates by it, cascade.py merges by it, the JSON schema and the manual are made of it or held to it. A
key whose node the contract does not have is marked as our own.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, Mapping, NamedTuple, Tuple, Union

from . import kinds
from .kinds import Kind
from .vocabulary import NOT_REQUIRED


class Join(Enum):
    """How two tiers that both state a key become one. Whatever the order of the tiers, none of these widens."""

    MEET = "what both allow"
    UNION = "what either states"
    LEAST = "the smaller number"
    STRICTEST = "the stricter word"
    EVERY = "both hold"
    OUTERMOST = "the outermost tier that states it"


class Key(NamedTuple):
    """One key. `grants`: an absent key means nothing at all, so that stating it gives something.

    `absent` is the value that holds where nobody states one; None where there is no such value.
    """

    kind: Kind
    join: Join
    grants: bool = False
    own: bool = False  # a node that the contract does not have
    absent: Union[None, bool, int, str] = None


KEYS: Mapping[str, Key] = {
    "filesystem.read.allow": Key(kinds.PATHS, Join.MEET),
    "filesystem.write.allow": Key(kinds.PATHS, Join.MEET),
    "filesystem.execute.allow": Key(kinds.PATHS, Join.MEET, own=True),
    "network.allowlist": Key(kinds.HOSTS, Join.MEET),
    "network.ports": Key(kinds.PORTS, Join.MEET, own=True),
    "network.bind": Key(kinds.PORTS, Join.MEET, own=True),
    "ipc.unix.allow": Key(kinds.PATHS, Join.MEET, grants=True, own=True),
    "credentials.environment.allow": Key(kinds.VARIABLES, Join.MEET, grants=True, own=True),
    "credentials.capabilities.allow": Key(kinds.PRIVILEGES, Join.MEET, grants=True, own=True),
    "resources.max_memory_bytes": Key(kinds.COUNT, Join.LEAST, own=True),
    "resources.max_cpu_seconds": Key(kinds.COUNT, Join.LEAST, own=True),
    "resources.max_pids": Key(kinds.COUNT, Join.LEAST, own=True),
    "resources.max_wall_clock_seconds": Key(kinds.COUNT, Join.LEAST, own=True),
    "resources.max_file_size_bytes": Key(kinds.COUNT, Join.LEAST, own=True),
    "resources.max_open_files": Key(kinds.COUNT, Join.LEAST, own=True),
    "capabilities.allow": Key(kinds.CAPABILITIES, Join.MEET),
    "capabilities.deny": Key(kinds.CAPABILITIES, Join.UNION),
    "syscalls.allow": Key(kinds.SYSCALLS, Join.MEET),
    "schedule.active_hours": Key(kinds.HOURS, Join.EVERY),
    "budget.daily_limit_usd": Key(kinds.AMOUNT, Join.LEAST),
    "budget.monthly_limit_usd": Key(kinds.AMOUNT, Join.LEAST),
    "budget.team_daily_limit_usd": Key(kinds.AMOUNT, Join.LEAST),
    "budget.team_monthly_limit_usd": Key(kinds.AMOUNT, Join.LEAST),
    "budget.org_daily_limit_usd": Key(kinds.AMOUNT, Join.LEAST),
    "budget.org_monthly_limit_usd": Key(kinds.AMOUNT, Join.LEAST),
    "budget.timezone": Key(kinds.TIMEZONE, Join.OUTERMOST),
    "budget.action_on_exceed": Key(kinds.EXCEED_ACTION, Join.STRICTEST),
    "budget.window": Key(kinds.DURATION, Join.OUTERMOST),
    "data.sensitive_patterns": Key(kinds.PATTERNS, Join.UNION),
    "data.credential_action": Key(kinds.CREDENTIAL_ACTION, Join.STRICTEST, absent="redact_only"),
    "data.locale_packs": Key(kinds.WORDS, Join.UNION),
    "approval_timeout_secs": Key(kinds.COUNT, Join.LEAST, absent=300),
    "approval.timeout_seconds": Key(kinds.COUNT, Join.LEAST, absent=300),
    "approval.escalation_role": Key(kinds.WORD, Join.OUTERMOST),
    "egress.posture": Key(kinds.POSTURE, Join.STRICTEST, absent=NOT_REQUIRED),
}

# Of `tools.NAME`.
TOOL_KEYS: Mapping[str, Key] = {
    "allow": Key(kinds.TRUTH, Join.STRICTEST, absent=True),
    "limit_per_hour": Key(kinds.COUNT, Join.LEAST),
    "requires_approval_if": Key(kinds.CONDITION, Join.EVERY),
    "capabilities": Key(kinds.DOMAINS_OF_TOOL, Join.MEET),
}

# Of an entry of `authority.leases`. A lease gives something, so a cascade keeps what every tier gives.
LEASE_KEYS: Mapping[str, Key] = {
    "domain": Key(kinds.DOMAIN, Join.MEET),
    "scope": Key(kinds.LEASE_SCOPE, Join.MEET),
    "max_count": Key(kinds.COUNT, Join.LEAST),
    "ttl_seconds": Key(kinds.COUNT, Join.LEAST),
    "delegable": Key(kinds.TRUTH, Join.LEAST, absent=False),
    "issuer": Key(kinds.WORD, Join.OUTERMOST),
    "policy_rule": Key(kinds.WORD, Join.OUTERMOST),
    "approval_ref": Key(kinds.WORD, Join.OUTERMOST),
    "reason": Key(kinds.WORD, Join.OUTERMOST),
}

TOOLS, AUTHORITY, LEASES, SCOPE = "tools", "authority", "leases", "scope"

Branch = Dict[str, Union[Key, "Branch"]]  # a tree of keys


def _tree(keys: Mapping[str, Key]) -> Branch:
    top: Branch = {}
    for path, key in keys.items():
        *above, last = path.split(".")
        branch = top
        for part in above:
            deeper = branch.setdefault(part, {})
            assert isinstance(deeper, dict)  # no key is also a section
            branch = deeper
        branch[last] = key
    return top


TREE: Branch = _tree(KEYS)
# The keys of `spec` in the order in which an error line names them; three have a shape of their own.
SECTIONS: Tuple[str, ...] = (SCOPE, *(name for name in TREE), TOOLS, AUTHORITY)
