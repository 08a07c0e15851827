# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema against the validator: it accepts whatever is valid, and of every key refuses what is not."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import pytest
from support.json_schema import accepts, keywords
from support.policies import Tree, draw

from aasm.backends.native.floor import REFUSED_CALLS
from aasm.errors import PolicyError
from aasm.policy.descriptions import DESCRIPTIONS, LEASE, TOOL
from aasm.policy.document import examine, validate
from aasm.policy.json_schema import DIALECT, schema
from aasm.policy.node import to_data
from aasm.policy.reader import read_document, read_file
from aasm.policy.schema import KEYS, LEASE_KEYS, TOOL_KEYS

SCHEMA = schema(REFUSED_CALLS)
GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "policy"


def documents(kind: str) -> List[Path]:
    found = sorted(path for path in (GOLDEN / kind).iterdir() if path.suffix in (".yaml", ".json"))
    return [path for path in found if not path.name.endswith(".expect.json")]


def valid(data: Any) -> bool:
    """Say what the validator says about plain data."""
    try:
        validate(read_document(json.dumps(data).encode(), "made.json"), REFUSED_CALLS)
    except PolicyError:
        return False
    return True


def stated(label: str, value: Any) -> Dict[str, Any]:
    """Return a flat document that states one key, by its label in the descriptions."""
    if label.startswith(TOOL):
        return {"tools": {"shell": {label[len(TOOL) :]: value}}}
    if label.startswith(LEASE):
        return {"authority": {"leases": [{"domain": "ipc", label[len(LEASE) :]: value}]}}
    for part in reversed(label.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def test_it_is_json_and_uses_only_keywords_that_the_judge_knows() -> None:
    assert SCHEMA["$schema"] == DIALECT == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    used = set(keywords(SCHEMA))
    assert {"pattern", "enum", "if", "additionalProperties", "propertyNames", "minItems", "maximum"} <= used
    with pytest.raises(ValueError, match="not known"):
        accepts({"oneOf": []}, {})


@pytest.mark.parametrize("path", documents("valid"), ids=lambda path: str(path.name))
def test_the_validator_and_the_schema_agree_about_what_can_be_read(path: Path) -> None:
    document = read_file(str(path))
    _, faults = examine(document, REFUSED_CALLS)
    assert accepts(SCHEMA, to_data(document.root)) is (faults == [])


def test_there_are_valid_documents_among_them() -> None:
    found = [path.name for path in documents("valid") if not examine(read_file(str(path)))[1]]
    assert {"envelope.yaml", "flat.yaml", "strict.json"} <= set(found)


def test_every_invalid_document_that_the_schema_accepts_has_a_fault_beyond_it() -> None:
    accepted = []
    for path in documents("invalid"):
        try:
            document = read_file(str(path))
        except PolicyError:
            continue
        if accepts(SCHEMA, to_data(document.root)):
            accepted.append(path.stem)
    beyond = {"condition", "hours", "lease-selectors", "lease-twice", "pattern", "timezone"}
    assert {name for name in accepted if name not in beyond and not name.startswith(("host", "alias"))} == set()


@pytest.mark.parametrize("label", DESCRIPTIONS)
def test_the_example_of_every_key_is_accepted_by_both(label: str) -> None:
    data = to_data(read_document(DESCRIPTIONS[label].example.encode(), "example.yaml").root)
    assert valid(data) and accepts(SCHEMA, data)


def test_whatever_is_valid_is_accepted(tmp_path: Path) -> None:
    tree, rng, of_any_call = Tree(tmp_path / "tree"), random.Random("schema"), schema()
    agreed = 0
    for _ in range(150):
        drawn = draw(rng, tree, "a", rng.choice((None, "global", "team:t")))
        drawn.policy()  # it is valid
        spec = json.loads(drawn.text())
        whole = {"apiVersion": "agent-assembly/v1", "kind": "Policy", "metadata": {"name": "x"}, "spec": spec}
        assert accepts(of_any_call, spec) and accepts(of_any_call, whole), spec
        for document in (spec, whole):  # some name a call that is refused in every boundary
            assert accepts(SCHEMA, document) is valid(document), document
            agreed += valid(document)
    assert 100 < agreed < 300


# What is valid at the edge: (label, value).
VALID: Tuple[Tuple[str, Any], ...] = (
    ("filesystem.read.allow", []),
    ("filesystem.read.allow", ["/", "//a/./b", "/a..b/..c/d..", "/with\nline", "/a b/ü", "${home}", "${workdir}/"]),
    ("filesystem.read.allow", [{"path": "${system}", "optional": False}, {"path": "/a"}]),
    ("filesystem.write.allow", ["${workdir}", {"path": "${home}/x", "optional": True}]),
    ("network.allowlist", ["*", "*:1", "*.a", "a_b.c-d", "A.B:65535", "::", "[::1]:80", "1.2.3.4:80", "fe80::1.2.3.4"]),
    ("network.ports", [1, 65535]),
    ("credentials.environment.allow", ["_", "a9"]),
    ("capabilities.allow", ["mcp_tool: x ", "model:\n\nx", "file_read"]),
    ("syscalls.allow", ["@program", "read", "riscv_hwprobe", "arch_prctl"]),
    ("resources.max_pids", 2**53 - 1),
    ("budget.daily_limit_usd", 0),
    ("budget.daily_limit_usd", 0.01),
    ("budget.window", "12h 30m"),
    ("budget.window", "5 days"),
    ("budget.timezone", "Etc/GMT-3"),
    ("schedule.active_hours", {"start": "00:00", "end": "23:59"}),
    ("data.sensitive_patterns", [" a", "^$"]),
    ("scope", "org:a:b"),
    (TOOL + "requires_approval_if", 'a == "x"'),
    (LEASE + "scope", ["whole"]),
)


@pytest.mark.parametrize(("label", "value"), VALID)
def test_what_is_valid_at_the_edge_is_accepted_by_both(label: str, value: Any) -> None:
    assert valid(stated(label, value)) and accepts(SCHEMA, stated(label, value))


# What is not valid, by the words of a kind; with `many` each is an entry of an otherwise valid list.
BAD: Mapping[str, Tuple[Any, ...]] = {
    "list of paths": ("", "a", "~/a", "/a/../b", "/..", "${workdir}/..", "${workdir}x", "/a$b", "/a\0b", "${system}/a",
                      "${other}", 1, {"path": "a"}, {"optional": True}, {"path": "/a", "more": 1},
                      {"path": "/a", "optional": "yes"}),
    "list of hosts": ("", "http://a", "a/8", "a b", "a:0x1", "*a", 1, "*."),
    "list of ports": (0, 65536, "80", True, 1.5),
    "list of variables": ("", "A=1", "A*", "1A", "ü", 1),
    "list of kernel capabilities": ("", "cap_chown", "CAP_SYS_ADMIN", "CHOWN", 1),
    "list of capabilities": ("", "read", "mcp_tool:", "model:", 1),
    "list of system calls": ("", "reads", "@nothing", "ptrace", 1),
    "list of regular expressions": ("", 1, None),
    "list of texts": ("", 1, None),
    "list of domains": ("", "files", 1),
    "text": ("", 1, None, ["a"]),
    "whole number from 1": (0, -1, "1", True, 1.5, 2**53, None),
    "number from 0": (-1, -0.5, "1", True, None),
    "true or false": (0, 1, "true", None),
    "condition": ("", 1, True, "a == " + "1" * 5000),
    "map of start, end, timezone": (
        {}, {"start": "09:00"}, {"end": "09:00"}, {"start": "9:00", "end": "10:00"}, {"start": "09:00", "end": "24:00"},
        {"start": "09:00", "end": "10:00", "timezone": "a b"}, {"start": "09:00", "end": "10:00", "days": []}, [],
        "09:00-10:00",
    ),
    "time zone": ("", "/UTC", "a b", "../UTC", 1),
    "duration": ("", "30", "30 x", "d", "1h,2m", 30),
    "domain": ("", "files", 1),
    "whole, or list of selectors": ("", "all", [], [""], [1], None),
    "one of deny, suspend": ("", "Deny", 1),
    "one of alert_only, redact_only, alert_and_redact, block": ("", "log", 1),
    "one of not_required, broker_required": ("", "required", 1),
}  # fmt: skip


def keys() -> Iterator[Tuple[str, str, bool]]:
    """Yield every key: its label, the words of its kind, and whether that is a list."""
    for prefix, table in (("", KEYS), (TOOL, TOOL_KEYS), (LEASE, LEASE_KEYS)):
        for name, key in table.items():
            yield prefix + name, key.kind.words, key.kind.many


def test_there_are_bad_values_of_every_kind() -> None:
    assert {words for _, words, _ in keys()} == set(BAD)


@pytest.mark.parametrize(("label", "words", "many"), tuple(keys()))
def test_bad_values_of_every_key_are_refused_by_both(label: str, words: str, many: bool) -> None:
    values = [[value] for value in BAD[words]] + ["/a", None, {}, 1] if many else [*BAD[words]]
    for value in values:
        document = stated(label, value)
        assert not valid(document), document
        assert not accepts(SCHEMA, document), document


FLAT: Dict[str, Any] = {"filesystem": {"write": {"allow": []}}}
WHOLE: Dict[str, Any] = {"apiVersion": "agent-assembly/v1", "kind": "Policy", "spec": FLAT}


def changed(document: Dict[str, Any], **values: Any) -> Dict[str, Any]:
    """Return a document with other values at its top; None takes a key away."""
    made = {**copy.deepcopy(document), **values}
    return {key: value for key, value in made.items() if value is not None}


@pytest.mark.parametrize(
    "document",
    [
        [], "text", 1, changed(WHOLE, apiVersion="v1"), changed(WHOLE, apiVersion=1), changed(WHOLE, kind="policy"),
        changed(WHOLE, spec=None), changed(WHOLE, kind=None), changed(WHOLE, apiVersion=None), {"metadata": {}},
        changed(WHOLE, more=1), changed(WHOLE, scope="global"), changed(WHOLE, network={}), changed(WHOLE, spec=[]),
        changed(WHOLE, metadata=[]), changed(WHOLE, metadata={"name": ""}), changed(WHOLE, metadata={"owner": "x"}),
        changed(FLAT, more={}), changed(FLAT, filesystem=[]), {"filesystem": {"reed": {}}}, changed(FLAT, rules=[]),
        {"filesystem": {"read": {"allow": [], "deny": []}}}, changed(FLAT, scope="everybody"), {"scope": "team:"},
        {"scope": "team:a b"}, {"scope": 1}, {"tools": []}, {"tools": {"": {}}}, {"tools": {"a": True}},
        {"tools": {"a": {"deny": True}}}, {"authority": {}}, {"authority": {"leases": {}}}, {"authority": []},
        {"authority": {"leases": [{}]}}, {"authority": {"leases": [{"domain": "ipc", "more": 1}]}},
        {"filesystem": {"write": {"allow": ["${system}"]}}},
        {"filesystem": {"write": {"allow": [{"path": "${system}"}]}}}, {"syscalls": None},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_documents_of_the_wrong_shape_are_refused_by_both(document: Any) -> None:
    assert not valid(document)
    assert not accepts(SCHEMA, document)


def test_both_forms_are_accepted_and_an_empty_one_too() -> None:
    for document in (FLAT, WHOLE, {}, changed(WHOLE, spec={}), changed(WHOLE, metadata={})):
        assert valid(document) and accepts(SCHEMA, document)


def test_a_call_that_no_boundary_lets_through_is_in_no_schema() -> None:
    offered = SCHEMA["$defs"]["syscall"]["enum"]
    assert "read" in offered and "@program" in offered and not REFUSED_CALLS & set(offered)
    assert "ptrace" in schema()["$defs"]["syscall"]["enum"]


def test_every_key_is_described() -> None:
    found = json.dumps(SCHEMA)
    missing = [label for label, item in DESCRIPTIONS.items() if json.dumps(item.effect)[1:-1] not in found]
    assert missing == []


# What a mutation puts in the place of a value.
ODD: Tuple[Any, ...] = (
    "", " ", "a", "/", "/a", "*", "global", "whole", "UTC", "30d", "09:00", "read", "file_read", "ipc", "block", "deny",
    "a > 1", "\ufeff", "\n", "model:\u3000x", "mcp_tool:\ufeff", 0, 1, 2, 1.0, 0.5, 443, 2**53 - 1, True, False, None,
    [], ["/"], ["a"], [1], {}, {"path": "/a"}, {"allow": []},
)  # fmt: skip


def mutated(rng: random.Random, value: Any) -> Any:
    """Return data with one value in it replaced, taken away or added."""
    if not isinstance(value, (dict, list)) or not value or rng.random() < 0.2:
        return copy.deepcopy(rng.choice(ODD))
    made = copy.deepcopy(value)
    at = rng.choice(list(made)) if isinstance(made, dict) else rng.randrange(len(made))
    if rng.random() < 0.1:
        del made[at]
    else:
        made[at] = mutated(rng, made[at])
    return made


def test_what_is_still_valid_after_a_change_by_lot_is_still_accepted(tmp_path: Path) -> None:
    tree, rng = Tree(tmp_path / "tree"), random.Random("mutations")
    counts = {True: 0, False: 0}
    for _ in range(60):
        spec = json.loads(draw(rng, tree, "a").text())
        for _ in range(20):
            document = mutated(rng, spec)
            if valid(document):
                assert accepts(SCHEMA, document), document
            counts[accepts(SCHEMA, document)] += 1
    assert min(counts.values()) > 100
