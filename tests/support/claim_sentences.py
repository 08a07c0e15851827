# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Every sentence with a word that claims (support/claim_words.py), reviewed: by reason, by file, the exact fragment.

A reason says why the words in it claim no more than is known: that the sentence denies, that the word means something
else there, or the tests that show it. A new sentence is looked at by a person and gets its line here; one that is gone
loses it. Fragments are as the text flows: one line, with `_` in place of each code span and of each name of a file.
"""

from __future__ import annotations

from typing import Dict, Tuple

# In an output such a fragment is excused nowhere by itself: support/claims.py looks for its evidence where it stands.
BESIDE = "its evidence is looked for beside it"

DENIES = "says that it is not so, or that nobody knows"
NAME = "the name of a section, a command, a file or a part of a page"
WORKING = "about a format, a file or a process of ours, and no claim about the program"
RULE = "a rule about claims, or the meaning of a word: it says what would be needed"
STATED = "to deny is what a policy does: it is stated there, and the plan says what becomes of it"
AFTER_REFUSAL = "a launch or a policy is refused: nothing starts (tests/kernel/test_exit_codes.py)"
MECHANISM = "what a mechanism does, in the plan and in its limits (tests/kernel/test_processes_and_calls.py)"
ANSWER = "an answer about a policy, compared with what the kernel does (tests/property/test_explain_equals_kernel.py)"
FLOOR = "what every boundary answers whatever a policy says (tests/kernel/test_floor.py)"
BOUNDARY = "shown by tests/kernel/test_files.py and tests/adversarial/test_escapes.py"
CEILINGS = "shown by tests/kernel/test_ceilings.py, for each process"
CANARIES = "what a canary found; recorded only when it held (tests/kernel/test_launcher_steps.py)"
DIGEST = "a digest over the receipt's body, no signature (tests/unit/receipt/test_receipt_verify.py)"
PAGE = "the word on the status page (tests/kernel/test_launcher_steps.py)"
SURROUNDINGS = "shown by tests/unit/model/test_environment.py and tests/kernel/test_planted.py"
TRUST = "shown by tests/kernel/test_trust.py"

SENTENCES: Dict[str, Dict[str, Tuple[str, ...]]] = {
    BESIDE: {
        "aasm/backends/native/prepare.py": ("held by ",),
        "aasm/cli/human.py": (
            "would be held by",
            "aasm: boundary planned by ",
            "aasm: refused: ",
            "refused by",
            "measured in this run: ",
            "; only observed: ",
        ),
        "aasm/cli/preview.py": (", kept by ",),
        "aasm/evidence.py": (", achieved=",),
        "aasm/receipt/verify.py": ("trustworthy: ",),
    },
    DENIES: {
        "aasm/backends/native/capability.py": (
            "single destinations are not held",
            "ports to listen on are not held",
            "single unix sockets are not held",
            "single paths are not held",
            "credentials are not refused as a whole",
            "channels are not refused as a whole",
            "memory, processes and processor time are not held",
        ),
        "aasm/backends/native/prepare.py": (" it is not refused",),
        "aasm/cli/human.py": (
            "is not held as asked, by its own permission",
            "is not held, by its own permission",
            "; not held as asked: ",
            "nothing was measured in this run",
            "; not measured: ",
            "no control is asked for, and nothing is enforced",
            "degraded or unsupported",
            "not held",
        ),
        "aasm/cli/options.py": ("without a boundary none is enforced",),
        "aasm/cli/run.py": ("without a boundary no ceiling is enforced: ",),
        "aasm/_sys/boundary.py": ("capabilities are still held after capset",),
        "aasm/_sys/probe.py": ("the capability sets are unmeasured",),
        "aasm/explain.py": (" was not refused; nothing was executed",),
        "aasm/receipt/facts.py": ("it was impossible before the boundary as well",),
        "aasm/policy/load.py": ("restricts nothing; state a restriction to have it enforced",),
        "README.md": (
            "no receipt of this release claims prevention",
            "reported as observation, not as prevention",
            "no ceiling is enforced",
        ),
        "docs/adr/0007-isolation-none.md": ("a warning says that it is not enforced", "protects nothing"),
        "docs/adr/0017-ceilings-one-requirement-each.md": (
            "Memory and processes are required, prevention, and held by nothing yet",
            "prevention would be the wrong word",
            "no ceiling is a requirement and none is enforced",
        ),
        "docs/isolation.md": (
            "has no boundary, says so, and enforces nothing",
            "| protection of nearly the same worth. No run of this release has it",
            "| that it was safe, or open: nothing looked",
            "| that it was prevented. A run that its wall clock ended",
            "| any protection. It is never called",
            "| that it cannot prevent |",
            "The wall clock is no prevention",
            "Without a boundary no ceiling is enforced",
            "that it is harmless: it keeps the rights",
            "a secret under a harmless name is not found",
            "nothing may call this prevention",
            "No report of this release claims prevention",
        ),
        "docs/man/aasm-run.1": ("without a boundary none is enforced",),
        "docs/receipt-format.md": ("nothing in this format prevents that",),
        "docs/threat-model.md": ("What is **not** defended",),
    },
    NAME: {
        "aasm/cli/preview.py": ("--- protection ---",),
        "aasm/receipt/__main__.py": ("the only subcommand here is `verify`", "verify [--json] RECEIPT"),
        "CHANGELOG.md": (
            "*Security* says what was reachable",
            "preview fidelity, protection, isolation",
        ),
        "SECURITY.md": ("# Security", "in its security tab", "an entry under *Security*"),
        "docs/architecture.md": ("evidence --> sealing --> receipt", "| enforce | `_` | the order |"),
    },
    WORKING: {
        "aasm/_sys/landlock.py": ("which denials the kernel's audit log gets",),
        "aasm/governance/ledger.py": ("another process has held the lock too long",),
        "aasm/model/domains.py": (
            "a control that is only planned is unsupported (",
            "an unsupported report needs a reason (",
        ),
        "aasm/receipt/shape.py": (" is unknown; it is kept and judged by no rule",),
        "aasm/receipt/store.py": ("it was kept as ",),
        "README.md": ("which denials the kernel's audit log gets",),
        "CONTRIBUTING.md": (
            "a denial with all five parts",
            "what enforces it, what it does not cover",
            "A denial in a test",
        ),
        "docs/adr/0006-system-v-ipc-in-the-floor.md": ("which hardened hosts and containers refuse",),
        "docs/adr/0018-a-control-that-is-not-validated-is-no-control.md": ("until its denials are in the tests",),
        "docs/adr/0021-keys-of-the-block.md": ("who reads one of the two blocks",),
        "docs/architecture.md": ("real launches: denials with all five parts",),
        "docs/man/aasm-run.1": ("when the run was confined, again after it",),
        "docs/receipt-format.md": ("it knows private key blocks",),
    },
    RULE: {
        "aasm/planner.py": ("prevention was asked and the control can only ",),
        "aasm/receipt/rules.py": (
            "The prevention claim rests on a decision, and prevention_supported agrees.",
            "prevention_supported rests on a decision: a record",
            "or in another state than prevention, carries no prevention claim.",
            "A domain in the state unmeasured or unsupported claims no coverage.",
            "is listed in withheld_fields and in degraded, and nothing else is.",
            "A sealed boundary has a backend and no breached canary.",
            "text is withheld and degraded has no condition",
            ": prevention is claimed on ",
            ": prevention is claimed and prevention_supported is not true",
            ": prevention_supported rests on ",
            ": prevention_supported without a decision record",
            ": prevention is claimed in the state ",
            ": prevention is claimed beside the condition `",
        ),
        "docs/adr/0009-sections-that-are-not-read-are-refused.md": ("still worth enforcing",),
        "docs/adr/0018-a-control-that-is-not-validated-is-no-control.md": ("A requirement to prevent, or to observe",),
        "docs/isolation.md": ("The only word for prevention", "| prevention is asked, and the control only watches"),
        "docs/receipt-format.md": (
            "A receipt counts as trustworthy only when the seal holds and no rule is broken",
            "(the only one that is prevention)",
            "| R2 | The prevention claim rests on a decision",
            "or in another state than prevention, carries no prevention claim.",
            "A sealed boundary has a backend and no breached canary.",
            "Prevention claims rest on the records",
        ),
        "docs/man/aasm-receipt.1": (
            "trustworthy: true The seal holds and no rule is broken",
            "trustworthy: false One of the two is not so",
            "trustworthy True or false",
            ", and trustworthy is false",
        ),
    },
    STATED: {
        "aasm/policy/compare.py": (", which the other refuses",),
        "aasm/explain.py": ("the policy denies file_read as a whole",),
        "aasm/policy/descriptions.py": ("`deny` turns down what would cost more",),
        "docs/man/aasm-policy.5": (
            "deny turns down what would cost more",
            "one of deny, suspend",
            "block; deny, suspend; not_required",
            "capabilities: deny: [agent_spawn]",
            "capabilities: deny: [network_outbound, agent_spawn]",
        ),
        "docs/policy-format.md": ("one of deny, suspend",),
        "aasm/policy/lowering.py": ("capabilities denies neither terminal_exec nor agent_spawn",),
        "aasm/selecting.py": ("or deny a capability that stands for a whole domain",),
        "README.md": (
            "an empty list denies all.",
            "list denies those of them that it leaves out",
            "a denied `_` does not",
        ),
        "docs/adr/0008-the-private-directory-and-an-empty-write-list.md": (
            "`_` denies all writing",
            "An empty list denies the private directory too",
            "a denied capability does",
            "is a denial of the whole domain",
        ),
        "docs/adr/0011-a-capability-list-that-leaves-the-network-out.md": (
            "list that leaves `_` out denies it",
            "only `_` denies. 2. What is not named is denied",
            "The denial is of the whole domain",
            "is denied only by name",
            "An empty one denies all four",
            "alone denies the files",
        ),
        "docs/isolation.md": ("unless a capability denies the domain",),
        "docs/kernel-support.md": ("**Network.** With `_`, or `_` denied", "**Processes.** With `_` or `_` denied"),
        "docs/threat-model.md": ("that states no `_` and does not deny `_`", "or a denied `_`"),
    },
    AFTER_REFUSAL: {
        "aasm/_sys/probe.py": ("refused by a filter around this process", " and refuses rights of ABI "),
        "aasm/backends/native/capability.py": ("this kernel refuses the Landlock rights ",),
        "aasm/errors.py": ("refused, or the boundary could not be set up",),
    },
    MECHANISM: {
        "aasm/backends/native/capability.py": (
            "this backend refuses and records no single actions",
            "a seccomp filter that refuses fork, vfork and every clone",
            "a seccomp filter that refuses every socket but connected pairs",
            "a seccomp filter that refuses every unix socket but connected pairs",
            "only all of them can be refused ([])",
            "held as a whole: no unix socket that leads anywhere",
            "only the network as a whole can be refused",
            "only new processes as a whole can be refused",
            "held as a whole: no new process",
            "held as a whole: no socket of any family, connected pairs apart",
        ),
    },
    ANSWER: {
        "aasm/refusing.py": (" is denied as a whole; only ", ", since the policy refuses what it is for"),
        "aasm/backends/native/judge.py": ("some of its arguments are refused (",),
        "aasm/cli/policy_explain.py": ("0 allowed, 1 refused or not known",),
        "aasm/errors.py": ("what was asked is refused, or two policies differ",),
    },
    FLOOR: {
        "aasm/policy/kinds.py": (" is refused in every boundary, so allowing it would mean nothing",),
    },
    BOUNDARY: {
        "aasm/cli/__init__.py": ("a boundary that the Linux kernel enforces",),
        "README.md": ("a boundary that the Linux kernel enforces",),
        "docs/threat-model.md": ("## What is defended",),
    },
    CEILINGS: {
        "aasm/backends/native/capability.py": (
            "open files and file size are held, for each process by itself",
            "the wall clock is kept by the supervisor, which ends the tree",
            "held for each process by itself and not for the tree",
        ),
        "docs/adr/0017-ceilings-one-requirement-each.md": (
            "Open files and file size are required, prevention, and held",
        ),
        "docs/isolation.md": (
            "| enforced | whatever would open one more fails with EMFILE",
            "| enforced | a write beyond it fails with EFBIG",
        ),
    },
    CANARIES: {
        "aasm/evidence.py": ("before the boundary was refused inside it (E", "possible before, was refused (E"),
        "aasm/launcher.py": ("proves it with canaries",),
        "CHANGELOG.md": ("proves the boundary with canaries in that very run",),
        "docs/architecture.md": ("proves it, executes the target",),
    },
    DIGEST: {
        "aasm/cli/__init__.py": ("and leaves a sealed receipt",),
        "CHANGELOG.md": ("to a verified receipt",),
        "README.md": ("leaves a sealed receipt", "Receipts can be verified anywhere", "are enough to verify elsewhere"),
        "docs/architecture.md": ("facts to a sealed receipt", "verifies with `_` and `_` alone"),
        "docs/isolation.md": ("the same once more, sealed", "Where the same is kept, sealed"),
        "docs/man/aasm-run.1": ("a sealed receipt is written",),
        "docs/receipt-format.md": (
            "shows accidental change and careless tampering",
            "when it was sealed |",
            "and again when it is verified",
            "is the sealed digest of the run's receipt",
        ),
    },
    PAGE: {
        "docs/adr/0012-the-launcher-bears-a-random-name.md": (
            "when SEALED is on the status page",
            "page sealed, channel ended",
        ),
        "docs/architecture.md": (
            "call canary, | | SEALED, execve",
            "when SEALED is on the page",
            "An end without SEALED is a setup failure",
            "A launcher that ends after SEALED and before exec",
        ),
        "docs/receipt-format.md": ("the launcher reported a sealed boundary",),
    },
    SURROUNDINGS: {
        "aasm/backends/native/capability.py": (
            "held where it is inherited: in variables, descriptors above 2",
            "a fixed list of harmless variables",
        ),
        "aasm/cli/options.py": ("nothing but a few harmless names",),
        "README.md": ("gets a few harmless names", "a fixed list of harmless variables"),
        "docs/man/aasm-run.1": ("nothing but a few harmless names",),
        "docs/threat-model.md": ("started with an empty environment, isolated",),
    },
    TRUST: {
        "README.md": ("Four ways are safe from any directory",),
        "docs/man/aasm.1": ("Three ways to start it are safe from any directory",),
    },
}
