# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Executes a program inside a filter that answers some system calls with an errno: a host that lacks them, or a
container around us. `refuser.py RULES -- PROGRAM ...`; RULES is JSON: [[call, errno, argument, value], ...], where the
last two say for which low word of an argument the rule holds, and are null for a call as a whole.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Dict, List

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main() -> None:
    """Install the filter on this process and execute the program."""
    sys.path.insert(0, ROOT)
    from aasm._sys import boundary, bpf, syscalls

    arch = syscalls.host_arch()
    clauses: Dict[int, List[bpf.Clause]] = {}
    rules: Dict[int, bpf.Rule] = {}
    for name, number, argument, value in json.loads(sys.argv[1]):
        call = arch.numbers[name]
        if argument is None:
            rules[call] = bpf.ERRNO(number)
        else:
            condition = bpf.Condition(argument, 0xFFFFFFFF, value)
            clauses.setdefault(call, []).append(bpf.Clause((condition,), bpf.ERRNO(number)))
    rules.update({call: bpf.Checked(tuple(found), bpf.ALLOW) for call, found in clauses.items()})
    program = bpf.assemble(bpf.Filter(arch, rules, bpf.ALLOW, bpf.ALLOW, bpf.ALLOW, bpf.ALLOW))
    boundary.prctl(boundary.PR_SET_NO_NEW_PRIVS, 1)
    boundary.seccomp_install(program, 0)
    os.execv(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()
