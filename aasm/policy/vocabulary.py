# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The words of a policy: its keys, capabilities, system calls and scopes. Tables only; nothing here validates."""

from __future__ import annotations

API_VERSION = "agent-assembly/v1"
KIND = "Policy"

ENVELOPE_KEYS = ("apiVersion", "kind", "metadata", "spec")
METADATA_KEYS = ("name", "version", "description")
SPEC_KEYS = ("scope", "filesystem", "network", "capabilities", "syscalls", "tools")
TOOL_KEYS = ("allow", "limit_per_hour", "requires_approval_if", "capabilities")

# Sections that the format has and this release does not read. They state restrictions, so they are refused by name
# and never passed over.
LATER_KEYS = (
    "schedule",
    "budget",
    "data",
    "approval",
    "approval_timeout_secs",
    "authority",
    "egress",
    "credentials",
)

# What `capabilities` may name; the last two take a name of their own behind the colon.
CAPABILITIES = (
    "file_read",
    "file_write",
    "file_delete",
    "network_outbound",
    "network_inbound",
    "terminal_exec",
    "agent_spawn",
)
NAMED_CAPABILITIES = ("mcp_tool:", "model:")
# What no boundary of this release can hold by itself: deleting is not told apart from writing, no domain covers
# listening, and tool calls and models have no names that a kernel sees.
UNMAPPED_CAPABILITIES = ("file_delete", "network_inbound", *NAMED_CAPABILITIES)

# What `syscalls.allow` may name.
SYSCALLS = (
    "read",
    "write",
    "close",
    "openat",
    "fstat",
    "lseek",
    "mmap",
    "munmap",
    "brk",
    "rt_sigaction",
    "rt_sigprocmask",
    "exit",
    "exit_group",
    "clock_gettime",
    "getrandom",
)

GLOBAL_SCOPE = "global"
NAMED_SCOPES = ("org:", "team:", "agent:", "tool:")
