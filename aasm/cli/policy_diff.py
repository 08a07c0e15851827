# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm policy diff`: what one policy permits here that another does not, and the reverse."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

from ..errors import INVALID, OK, USAGE, PolicyError, UsageError, one_line
from ..policy.compare import SECOND, Difference, differences
from ..policy.kinds import PATHS
from ..policy.load import Loaded
from ..policy.places import Placed
from ..policy.schema import KEYS, SCOPE
from ..policy.values import Listing, Policy
from ..policy.walk import walk_as_far_as_possible
from . import complain_of, say
from .parsing import Parser
from .policy import add_json, add_workdir, as_json, effective, here, parser, request_at

SCHEMA = "aasm.policy.diff/1"
SAME = "both permit the same"


def main(args: List[str]) -> int:
    """Carry out `policy diff`; return 0 when both permit the same, 1 when not, 2 for a policy that cannot be used."""
    options = _parser().parse_args(args)
    where, places = here(request_at((), options.workdir)), (options.first, options.second)
    if "" in places:
        raise UsageError("is empty", "A" if places[0] == "" else "B", "name a policy file")
    try:
        first, second = (effective(request_at((place,), options.workdir), where) for place in places)
    except PolicyError as problem:  # 1 would say that they differ
        complain_of(problem)
        return USAGE
    whole = len(first.documents) == len(second.documents) == 1
    found = differences(_policy(first, whole), _policy(second, whole))
    say(_as_json(found, *places) if options.json else "\n".join(map(one_line, lines(found))))
    return INVALID if found else OK


def _parser() -> Parser:
    made = parser(
        "diff",
        "[--workdir DIR] [--json] A B",
        "Compare two policies as a launch here would go by them, the files of a directory as a cascade. A line with - "
        "is permitted by A alone, a line with + by B alone.",
        "Exit status: 0 both permit the same, 1 they differ, 2 a wrong command line or a policy that no launch could "
        "go by.",
    )
    add_workdir(made)
    add_json(made)
    made.add_argument("first", metavar="A", help="a policy, or a directory of them")
    made.add_argument("second", metavar="B", help="another one")
    return made


def _policy(found: Loaded, with_scope: bool) -> Policy:
    """Return the policy with each path followed, so that two spellings of one place are the same.

    Its scope is left out beside a cascade, which has none: whom its documents are for was asked when it was made.
    """
    policy = found.policy
    assert policy is not None  # `effective` has raised otherwise
    kept = {label: value for label, value in policy.values.items() if with_scope or label != SCOPE}
    paths = (label for label, key in KEYS.items() if key.kind is PATHS)
    return policy._replace(values={**kept, **{label: _followed(value) for label, value in _lists(policy, paths)}})


def _lists(policy: Policy, labels: Iterable[str]) -> Iterator[Tuple[str, Listing]]:
    for label in labels:
        value = policy.listing(label)
        if value is not None:
            yield label, value


def _followed(listing: Listing) -> Listing:
    entries = (
        entry._replace(value=Placed(entry.value.path, walk_as_far_as_possible(entry.value.path).path))
        for entry in listing.entries
    )
    return listing._replace(entries=tuple(entries))


def lines(found: Sequence[Difference]) -> List[str]:
    """Return the differences as lines of text."""
    return [f"{_sign(item)} {item.key}: {item.what}{_by(item)}" for item in found] or [SAME]


def _sign(item: Difference) -> str:
    return "+" if item.by == SECOND else "-"


def _by(item: Difference) -> str:
    return f" ({' and '.join(item.origins)})" if item.origins else ""


def _as_json(found: Sequence[Difference], first: str, second: str) -> str:
    made: List[Dict[str, Any]] = [item._asdict() for item in found]
    return as_json({"schema": SCHEMA, "first": first, "second": second, "same": not found, "differences": made})
