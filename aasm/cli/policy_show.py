# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy show`: the policy that a launch would go by, as text or as JSON; or what a reader saw in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from .. import stating
from ..errors import INVALID, OK, UsageError, one_line
from ..policy import unmapped
from ..policy.kinds import Hours
from ..policy.load import Loaded
from ..policy.node import MAX_BYTES, to_data
from ..policy.places import Placed
from ..policy.reader import read_file
from ..policy.values import Entry, Group, Listing, Policy, Value
from ..policy.written import Written, clock, written
from . import say
from .parsing import Once, Parser
from .policy import Here, add_json, add_places, as_json, effective, here, parser, request

if TYPE_CHECKING:
    from ..model.request import Request

SCHEMA = "aasm.policy.effective/1"
_NARROWS = "the others let the program write it or restrict no writing, or it is for a scope that was not stated"
BESIDE_RAW = ("policy", "workdir", "team_id", "agent_id", "json")


def main(args: List[str]) -> int:
    """Carry out `policy show`; return 1 when no launch here could go by the policy. PolicyError where there is none."""
    options = _parser().parse_args(args)
    if options.raw == "":
        raise UsageError("is empty", "--raw", "name a file")
    if options.raw is not None:
        given = [name for name in BESIDE_RAW if getattr(options, name)]
        if given:
            raise UsageError(f"goes with no other option, and --{given[0].replace('_', '-')} is given", "--raw")
        say(stating.canonical_text(to_data(read_file(options.raw).root)))
        return OK
    asked = request(options)
    where = here(asked)
    found = effective(asked, where)
    assert found.policy is not None  # `effective` has raised otherwise
    refusal = refused(asked)
    if options.json:
        say(as_json({**_facts(found, found.policy), "refusal": refusal or None}))
    else:
        say(document(found, found.policy, where, refusal))
    return INVALID if refusal else OK


def refused(asked: Request) -> str:
    """Return why a launch with a boundary would be refused here, or an empty text."""
    from .. import run
    from ..governance.identity import new_identity

    found = run.preview(asked, new_identity(asked.agent_id, asked.team_id, (), dry_run=True), by_hand=False)
    return found.run.refusal.text if found.run.refusal else ""


def _parser() -> Parser:
    made = parser(
        "show",
        "[--policy PATH]... [--workdir DIR] [--team-id ID] [--agent-id ID] [--json] | --raw FILE",
        "Print the policy that a launch would go by: merged, its paths as they stand on this host, each value with its "
        "origin. The text is a policy itself.",
        "Exit status: 0, 1 when no launch with a boundary could go by the policy here, 2 for a wrong command line.",
    )
    add_places(made)
    add_json(made)
    made.add_argument("--raw", metavar="FILE", action=Once,
                      help="print what the reader saw in FILE, valid or not, as one line of JSON with sorted keys; the "
                      "digest of a policy is made of it")  # fmt: skip
    return made


# --- the document -----------------------------------------------------------------------------------


def document(found: Loaded, policy: Policy, where: Here, refusal: str) -> str:
    """Return the text: comments about where it comes from, the policy, and comments about what it cannot state."""
    made = written(policy)
    body = "\n".join(made.lines) or "{}"
    ends = [one_line(f"# {line}".rstrip()) for line in _behind(made, policy)]
    heads = [one_line(f"# {line}".rstrip()) for line in (*_head(found, where, made), *_refusal(refusal))]
    text = "\n".join([*heads, body, *ends])
    if len(text.encode("utf-8", "replace")) >= MAX_BYTES:
        heads.append("# This text is longer than a policy may be, so it cannot be read back.")
    return "\n".join([*heads, body, *ends])


def _head(found: Loaded, where: Here, made: Written) -> Iterator[str]:
    yield f"The policy of a launch in {where.workdir.rstrip('/') or '/'}."
    several = len(found.documents) > 1
    if several:
        yield "Merged, the outermost first; of each statement the most restrictive counts:"
    yield from (f"  {item.text_name}" if several else f"File: {item.text_name}" for item in found.documents)
    yield from (f"Left out, since its scope is of another: {path}" for path in found.left_out)
    yield from (f"Only narrows, since {_NARROWS}: {path}" for path in found.narrowing)
    yield from (f"Can be changed by another user: {path}" for path in found.exposed)
    yield f"State: {found.state.value}: {found.detail}"
    if made.left_out:
        yield "Not the whole policy: no single document can state what is listed at its end."


def _refusal(text: str) -> Iterator[str]:
    if text:
        yield "No launch with a boundary would start here:"
    yield from (f"  {line}" for line in text.splitlines())


def _behind(made: Written, policy: Policy) -> Iterator[str]:
    if made.left_out:
        yield "Not stated above, and in force all the same:"
    yield from (f"  {text}" for text in made.left_out)
    statements = unmapped.statements(policy)
    if statements:
        yield "No launch of this release acts on:"
    yield from (f"  {text}" for text in statements)


# --- JSON -------------------------------------------------------------------------------------------


def _facts(found: Loaded, policy: Policy) -> Dict[str, Any]:
    return {
        "schema": SCHEMA,
        "state": found.state.value,
        "detail": found.detail,
        "files": [item.text_name for item in found.documents],
        "left_out": found.left_out,
        "narrowing": found.narrowing,
        "exposed": found.exposed,
        "values": _group(policy.values),
        "tools": _groups(policy.tools),
        "leases": None if policy.leases is None else list(map(_lease, policy.leases)),
        "unmapped": unmapped.statements(policy),
    }


def _groups(tools: Optional[Mapping[str, Group]]) -> Optional[Dict[str, Any]]:
    return None if tools is None else {name: _group(group) for name, group in tools.items()}


def _lease(group: Group) -> Dict[str, Any]:
    made, scope = _group(group), group.get("scope")
    if isinstance(scope, Entry) and scope.value is not None:  # else it is the whole domain
        made["scope"]["value"] = list(scope.value)
    return made


def _group(group: Group) -> Dict[str, Any]:
    return {key: _value(value) for key, value in group.items()}


def _value(value: Value) -> Dict[str, Any]:
    """Return a value with its origins; of a list each entry has its own as well."""
    if isinstance(value, Listing):
        return {"value": [_value(entry) for entry in value.entries], "origins": value.origins}
    made = {"value": _plain(value), "origins": value.origins}
    return {**made, "optional": True} if value.optional else made


def _plain(entry: Entry) -> Any:
    value = entry.value
    if isinstance(value, Placed):
        return value.path
    if isinstance(value, Hours):
        return {"start": clock(value.start), "end": clock(value.end), "timezone": value.timezone}
    return value if isinstance(value, (bool, int, float)) else entry.text
