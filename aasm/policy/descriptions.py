# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Every key of a policy in words: what it does, what its absence means, what holds it in this release, an example.

The JSON schema and the manual are made of this table or held to it. Words only: what a key may hold is in schema.py and
kinds.py. Nothing is claimed here that no test of a boundary shows.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Tuple, Union

from .schema import AUTHORITY, KEYS, LEASE_KEYS, LEASES, SCOPE, TOOL_KEYS, TOOLS
from .vocabulary import API_VERSION, KIND

TOOL, LEASE = f"{TOOLS}.NAME.", f"{AUTHORITY}.{LEASES}."  # what stands before their keys in the table
ENVELOPE = ("apiVersion", "kind", "metadata.name", "metadata.version", "metadata.description", "spec")


class Description(NamedTuple):
    """One key. `effect`, `default` (what its absence means) and `held_by` are a line each; `example` is a document."""

    effect: str
    default: str
    held_by: str
    example: str


def labels() -> Tuple[str, ...]:
    """Return every key of a document as the table names it, in the order of a manual."""
    return (*ENVELOPE, SCOPE, *KEYS, *(TOOL + name for name in TOOL_KEYS), *(LEASE + name for name in LEASE_KEYS))


def _document(label: str, value: Union[str, Tuple[str, ...]]) -> str:
    """Return a document that states one key; a tuple is a list with a line for each entry."""
    if label.startswith(LEASE):
        name = label[len(LEASE) :]
        first = [] if name == "domain" else ["    - domain: filesystem_write"]
        return "\n".join([f"{AUTHORITY}:", f"  {LEASES}:", *first, f"    {' ' if first else '-'} {name}: {value}"])
    return "\n".join(_lines(label.replace("NAME", "shell").split("."), value))


def _lines(parts: list[str], value: Union[str, Tuple[str, ...]]) -> Iterator[str]:
    for depth, part in enumerate(parts[:-1]):
        yield f"{'  ' * depth}{part}:"
    indent = "  " * (len(parts) - 1)
    yield f"{indent}{parts[-1]}:" + (f" {value}" if isinstance(value, str) else "")
    yield from (f"{indent}  - {item}" for item in value if isinstance(value, tuple))


_ENVELOPE = f"apiVersion: {API_VERSION}\nkind: {KIND}"
_SPEC = "spec:\n  filesystem:\n    write:\n      allow: []"

_BESIDE = "beside statements that a boundary can hold, a launch"
NOTHING = f"nothing in this release: {_BESIDE} warns that no part of it acts on this one, and goes on"
READER = "the reader, which takes no other value"
NOBODY = "nobody: it is for people who read the document"
SCHEMA_ONLY = f"nothing in this release, which issues no leases: {_BESIDE} warns of each, and goes on"
LIMIT = "the kernel ({}), for each process by itself and not for the tree"
SMALLER = "no ceiling but that of the command line; where both state one, the smaller counts"

_WAITING = "300, to a runtime that acts on it"

_Row = Tuple[str, str, str, Union[str, Tuple[str, ...]]]

_SECTIONS: Mapping[str, _Row] = {
    SCOPE: (
        "Whom the document is for: everybody (global), or one org, team, agent or tool. In a cascade the documents are "
        "merged in that order, and of each statement the most restrictive counts.",
        "global",
        "the launch: a document for another team than --team-id, another agent than --agent-id or another tool is left "
        "out with a warning; where the run does not say which it is, the document applies and, beside others, only "
        "narrows",
        "team:builders",
    ),
    "filesystem.read.allow": (
        "Paths that may be read and listed with all that lies beneath them, and executed unless "
        "filesystem.execute.allow is stated.",
        "reading and executing are not restricted",
        "the kernel (Landlock); names, sizes and times of other files stay visible, and what is open as descriptor 0, "
        "1 or 2 stays usable",
        ('"${system}"', '"${workdir}"', "{path: /opt/tools, optional: true}"),
    ),
    "filesystem.write.allow": (
        "Paths that may be written with all that lies beneath them; creating, renaming and removing belong to it. The "
        "private directory of a run can always be written.",
        "writing is not restricted, and a launch warns of it",
        "the kernel (Landlock); mode, owner, times and extended attributes of the user's own files elsewhere can still "
        "be changed",
        ('"${workdir}"',),
    ),
    "filesystem.execute.allow": (
        "Paths that may be executed with all that lies beneath them, and no others, those in the private directory of "
        "the run included.",
        "what may be read may be executed",
        "the kernel (Landlock); an interpreter or loader that may be executed runs any code that it can read. With an "
        "empty list no launch inside a boundary starts",
        ("/usr/bin", "/usr/lib"),
    ),
    "network.allowlist": (
        "Hosts that may be reached: a name, *.suffix for what lies below it, an IP address, or * for all, each with or "
        "without :port.",
        "the network is not restricted",
        "an empty list: a filter (seccomp) that leaves no socket but connected pairs, and Landlock for TCP beside it. "
        "With entries no launch inside a boundary starts: this release cannot tell destinations apart",
        "[]",
    ),
    "network.ports": (
        "Ports on which hosts may be reached. Beside network.allowlist both must allow; an entry's own port counts "
        "only where it is listed here.",
        "every port",
        "an empty list: as network.allowlist: []. With entries no launch inside a boundary starts, unless the network "
        "is closed as a whole",
        "[443]",
    ),
    "network.bind": (
        "Ports on which the program may listen.",
        "listening is not restricted by itself; without a network nothing can listen",
        "an empty list where the network is closed as a whole. Otherwise no launch inside a boundary starts: this "
        "release cannot tell ports to listen on apart",
        "[]",
    ),
    "ipc.unix.allow": (
        "Unix sockets that the program may connect to, by their paths.",
        "none",
        "an empty list: a filter (seccomp) that leaves no unix socket but connected pairs, as each boundary has "
        "without it. With entries no launch inside a boundary starts: this release cannot tell sockets apart",
        "[]",
    ),
    "credentials.environment.allow": (
        "Variables that are passed on when they are set, beside PATH, LANG, TERM and the like, which always are. Once "
        "stated, --env may name no others.",
        "none beside PATH and the like, and whatever --env names",
        "the supervisor, which builds the environment of a program inside a boundary from nothing; without a boundary "
        "all are passed on",
        ("EDITOR", "RUSTUP_HOME"),
    ),
    "credentials.capabilities.allow": (
        "Capabilities of the kernel that a program started by root keeps.",
        "none",
        "the kernel: the others are taken out of every capability set before the program starts; who is not root has "
        "none to keep",
        "[CAP_NET_BIND_SERVICE]",
    ),
    "resources.max_memory_bytes": (
        "The most memory of the whole tree, in bytes.",
        SMALLER,
        "nothing in this release: no launch inside a boundary starts",
        "1073741824",
    ),
    "resources.max_cpu_seconds": (
        "The most processor time of the whole tree, in seconds.",
        SMALLER,
        f"nothing in this release: {_BESIDE} goes on, and its report says so",
        "600",
    ),
    "resources.max_pids": (
        "The most processes of the whole tree at a time.",
        SMALLER,
        "nothing in this release: no launch inside a boundary starts",
        "64",
    ),
    "resources.max_wall_clock_seconds": (
        "Seconds after which the run is ended: SIGTERM, five seconds of grace, then SIGKILL for what is left.",
        SMALLER,
        "the supervisor; what was done before stays done. Where nothing is stated that a boundary can hold, no launch "
        "inside one starts",
        "3600",
    ),
    "resources.max_file_size_bytes": (
        "The largest size of a file that a process writes, in bytes.",
        SMALLER,
        LIMIT.format("RLIMIT_FSIZE"),
        "104857600",
    ),
    "resources.max_open_files": (
        "The most open descriptors of a process.",
        SMALLER,
        LIMIT.format("RLIMIT_NOFILE"),
        "256",
    ),
    "capabilities.allow": (
        "What an agent may do. What it leaves out of file_read, file_write, network_outbound and terminal_exec is "
        "taken away as a whole, whatever lists of paths or hosts say.",
        "nothing is taken away; an empty list takes all four away",
        "the kernel (Landlock, seccomp) for these four. Leaving out any other, and naming tools or models, is acted on "
        "by nothing: a launch warns of it",
        "[file_read, file_write, terminal_exec]",
    ),
    "capabilities.deny": (
        "What an agent may not do. file_read, file_write and network_outbound take files and network away as a "
        "whole, terminal_exec and agent_spawn new processes.",
        "nothing is taken away",
        "the kernel (Landlock, seccomp) for these five; a program may still replace itself and start threads. Nothing "
        "acts on file_delete, network_inbound, mcp_tool: and model:, and a launch warns of them",
        "[agent_spawn]",
    ),
    "syscalls.allow": (
        "System calls by the kernel's names, or groups of them such as @files; no other call may be made.",
        "every call but those that no boundary lets through",
        "the kernel (seccomp); what the loader needs before a program's first line is added. With an empty list "
        "no launch inside a boundary starts",
        '["@program"]',
    ),
    "schedule.active_hours": (
        'When the agent may act: from start to before end ("HH:MM", on one day) by the clock of timezone.',
        "at any time; the timezone is UTC unless it is stated",
        NOTHING,
        '{start: "08:00", end: "18:00", timezone: Europe/Berlin}',
    ),
    "budget.daily_limit_usd": ("The most that may be spent in a day, in US dollars.", "no limit", NOTHING, "20.0"),
    "budget.monthly_limit_usd": ("The most that may be spent in a month, in US dollars.", "no limit", NOTHING, "300"),
    "budget.team_daily_limit_usd": ("The most that the team may spend in a day.", "no limit", NOTHING, "100.0"),
    "budget.team_monthly_limit_usd": ("The most that the team may spend in a month.", "no limit", NOTHING, "2000"),
    "budget.org_daily_limit_usd": ("The most that the organisation may spend in a day.", "no limit", NOTHING, "500"),
    "budget.org_monthly_limit_usd": (
        "The most that the organisation may spend in a month.",
        "no limit",
        NOTHING,
        "9000",
    ),
    "budget.timezone": ("By whose clock days and months begin.", "not stated", NOTHING, "Europe/Berlin"),
    "budget.action_on_exceed": (
        "What follows when a limit is reached: `deny` turns down what would cost more, `suspend` ends the "
        "agent's work.",
        "not stated",
        NOTHING,
        "suspend",
    ),
    "budget.window": ("How long a budget of its own period lasts.", "not stated", NOTHING, "30d"),
    "data.sensitive_patterns": (
        "Regular expressions, as Python's re reads them, of text that is sensitive.",
        "none",
        NOTHING,
        (r"'\bAKIA[0-9A-Z]{16}\b'",),
    ),
    "data.credential_action": (
        "What is done about a credential that is found in data, from mild to strict: alert_only, redact_only, "
        "alert_and_redact, block.",
        "redact_only, to a runtime that acts on it",
        NOTHING,
        "block",
    ),
    "data.locale_packs": ("Collections of patterns, by name.", "none", NOTHING, "[eu]"),
    "approval_timeout_secs": ("How many seconds an approval is waited for.", _WAITING, NOTHING, "300"),
    "approval.timeout_seconds": ("How many seconds an approval is waited for.", _WAITING, NOTHING, "300"),
    "approval.escalation_role": (
        "Who is asked when nobody has answered in time.",
        "not stated",
        NOTHING,
        "on-call",
    ),
    "egress.posture": (
        "Whether traffic needs a broker: not_required, or broker_required.",
        "not_required",
        "the launch: `broker_required` lets none inside a boundary start, since this release has no broker; nothing "
        "acts on `not_required`",
        "not_required",
    ),
}

_TOOLS: Mapping[str, _Row] = {
    "allow": (
        'Whether the tool may be called. NAME is the tool; "*" stands for every tool that has no entry of its own.',
        "true",
        NOTHING,
        "false",
    ),
    "limit_per_hour": ("How many calls of the tool an hour may have.", "no limit", NOTHING, "20"),
    "requires_approval_if": (
        "A condition on the arguments of a call under which somebody must approve it; an error in it asks for approval "
        "too.",
        "no call needs approval",
        f"{NOTHING}; `aasm policy explain --tool` answers by it",
        "'amount > 100 OR path starts_with \"/etc\"'",
    ),
    "capabilities": ("The capability domains that the tool may use.", "any", NOTHING, "[filesystem_read]"),
}

_LEASES: Mapping[str, _Row] = {
    "domain": ("The capability domain that the lease is about; a domain has one lease at most.", "it must be stated",
               SCHEMA_ONLY, "filesystem_write"),
    "scope": ("How much of the domain is leased: whole, or a list of selectors.", "whole", SCHEMA_ONLY, "[/srv/data]"),
    "max_count": ("How often the lease may be used.", "no limit", SCHEMA_ONLY, "10"),
    "ttl_seconds": ("How many seconds the lease lasts.", "no limit", SCHEMA_ONLY, "3600"),
    "delegable": ("Whether the lease may be handed on to a descendant.", "false", SCHEMA_ONLY, "true"),
    "issuer": ("Who gives the lease.", "not stated", SCHEMA_ONLY, "platform-team"),
    "policy_rule": ("The rule that the lease rests on.", "not stated", SCHEMA_ONLY, "workspace-write"),
    "approval_ref": ("The approval that the lease rests on.", "not stated", SCHEMA_ONLY, "CHANGE-1042"),
    "reason": ("Why the lease is given.", "not stated", SCHEMA_ONLY, "nightly build"),
}  # fmt: skip

_ENVELOPES: Mapping[str, Description] = {
    "apiVersion": Description(
        "The version of the format. With kind and spec it makes the envelope; a flat document has the keys of spec at "
        "its top and none of these.",
        "the document is flat",
        READER,
        f"{_ENVELOPE}\n{_SPEC}",
    ),
    "kind": Description("What the document is.", "the document is flat", READER, f"{_ENVELOPE}\n{_SPEC}"),
    "metadata.name": Description(
        "What the policy is called.", "it has no name", NOBODY, f"{_ENVELOPE}\nmetadata:\n  name: builders\n{_SPEC}"
    ),
    "metadata.version": Description(
        "Which version of the policy this is.",
        "it has no version",
        NOBODY,
        f'{_ENVELOPE}\nmetadata:\n  version: "1.2"\n{_SPEC}',
    ),
    "metadata.description": Description(
        "What the policy is for.",
        "it has no description",
        NOBODY,
        f"{_ENVELOPE}\nmetadata:\n  description: What a build may do.\n{_SPEC}",
    ),
    "spec": Description(
        "The keys that restrict, all those below.", "the document is flat", READER, f"{_ENVELOPE}\n{_SPEC}"
    ),
}


def _described(label: str, row: _Row) -> Description:
    effect, default, held_by, value = row
    return Description(effect, default, held_by, _document(label, value) + "\n")


# By the labels that `labels` returns.
DESCRIPTIONS: Mapping[str, Description] = {
    **{label: item._replace(example=item.example + "\n") for label, item in _ENVELOPES.items()},
    **{label: _described(label, row) for label, row in _SECTIONS.items()},
    **{TOOL + name: _described(TOOL + name, row) for name, row in _TOOLS.items()},
    **{LEASE + name: _described(LEASE + name, row) for name, row in _LEASES.items()},
}
