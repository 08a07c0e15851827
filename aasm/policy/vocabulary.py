# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The words that a policy may use as values. Tables only; the keys are in schema.py, and nothing here validates."""

from __future__ import annotations

API_VERSION = "agent-assembly/v1"
KIND = "Policy"

ENVELOPE_KEYS = ("apiVersion", "kind", "metadata", "spec")
METADATA_KEYS = ("name", "version", "description")

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

# The calls that the contract names. Any other call of the kernel, and the groups of calls.py, are this format's own.
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

# The tiers of a cascade, outermost first. All but the first take a name behind the colon.
GLOBAL_SCOPE = "global"
NAMED_SCOPES = ("org:", "team:", "agent:", "tool:")

# From mild to strict: a cascade keeps the strictest.
CREDENTIAL_ACTIONS = ("alert_only", "redact_only", "alert_and_redact", "block")
EXCEED_ACTIONS = ("deny", "suspend")
NOT_REQUIRED, BROKER_REQUIRED = "not_required", "broker_required"
POSTURES = (NOT_REQUIRED, BROKER_REQUIRED)
