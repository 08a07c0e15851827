# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""`aasm self-verify`: the running copy compared with the list of what it should be. Every part of the package has it.

It compares files and decides nothing else; whoever changed a copy on purpose could change this too, and it says so.
"""

from __future__ import annotations

import os
from typing import Any, Iterator

from .. import __version__, copies, origin
from ..errors import INVALID, OK, USAGE, UsageError, one_line
from . import complain_of, say
from .parsing import Once, Parser, _Formatter

SCHEMA = "aasm.self_verify/1"
JQ = (
    "jq -r '.files[] | select(.fileName | startswith(\"./aasm/\")) | (.checksums[] | select(.algorithm == \"SHA256\")"
    " | .checksumValue) + \"  \" + .fileName' {listing} | sha256sum -c --quiet"
)


def _parser() -> Parser:
    """Return the parser of `self-verify`."""
    made = Parser(
        prog="aasm self-verify",
        usage="aasm self-verify [--json] [--against FILE]",
        description="Compare the running copy of aasm, file by file, with the list that lies with it: the manifest of "
        "a vendored copy, or the SBOM of an installed package, of a zip archive or of a checkout.",
        epilog="Exit status: 0 when it is the same, 1 when a file differs, is missing or is too much, 2 for a wrong "
        "command line or when there is no answer: nothing to compare with, a module in the place of Python's own. A "
        "copy that was changed on purpose can say anything about itself; the last line is a command that checks it "
        "from outside.",
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    made._optionals.title = "options"  # Python 3.9 has another word for it
    made.add_argument("--json", action="store_true", help="print one JSON object")
    made.add_argument("--against", metavar="FILE", action=Once, help="compare with this manifest or SPDX SBOM (JSON)")
    return made


def main(args: list[str]) -> int:
    """Carry out `self-verify`; return the exit code."""
    options = _parser().parse_args(args)
    copy = origin.running()
    try:
        facts = _facts(copy, options.against)
        text = _as_json(facts) if options.json else "\n".join(map(one_line, _lines(facts)))
    except Exception:  # noqa: BLE001 - of whatever kind: first of all, whose modules were at work has to be said
        _expect_pythons_own()
        raise
    _expect_pythons_own()
    say(text)
    if facts["same"] is None:
        complain_of(UsageError("there is nothing to compare with", copy.place, "name a list of its files by --against"))
        return USAGE
    return OK if facts["same"] else INVALID


def _expect_pythons_own() -> None:
    """Raise UsageError when a module was loaded in the place of one of Python's: nothing here is an answer then."""
    for name, file in copies.stand_ins(__name__.rpartition(".cli.")[0]).items():
        what = f"was loaded in the place of Python's own {name}, so there is no answer"
        raise UsageError(what, file, "start this with python3 -I, and take that file away if it is still loaded")


def _facts(copy: origin.Copy, against: str | None) -> dict[str, Any]:
    stated = copies.read_listing(against) if against is not None else copies.listing_beside(copy)
    compared = copies.compare(copy, stated) if stated else None
    compiled = copies.compiled(copy)
    kind, code = origin.kind_of(copy), origin.Reading(copy).finish()
    unknown = "a zip archive with other code in it" if copy.archive else "a copy of unknown kind"
    return {
        "schema": SCHEMA,
        "copy": copy.place,
        "kind": kind.word if kind else unknown,
        "version": __version__,
        "revision": code.revision,
        "code_digest": code.code_digest,
        "compared_with": stated.where if stated else None,
        **(compared or copies.Comparison(0, (), (), (), ()))._asdict(),
        "compiled": compiled._asdict(),
        "same": compared.same and not compiled.differs if compared else None,
        "from_outside": from_outside(copy, kind),
    }


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    compiled = facts["compiled"]
    yield f"copy: {facts['copy']} ({facts['kind']})"
    yield f"version: {facts['version']}"
    yield f"revision: {facts['revision'] or 'unknown'}"
    yield f"code digest: {facts['code_digest'] or 'unknown'}"
    if facts["compared_with"]:
        yield f"compared with: {facts['compared_with']}, {facts['files']} files"
    for key, word in (("differs", "differs"), ("missing", "missing"), ("extra", "too much")):
        yield from (f"{word}: {name}" for name in facts[key])
    yield from (f"differs from its source: {name}" for name in compiled["differs"])
    yield from (f"not in the list: {name} (no code)" for name in facts["unlisted"])
    yield (
        f"compiled files: {compiled['same']} as this Python compiles their sources, {compiled['unused']} outdated, "
        f"{compiled['other']} not compared (for another Python, or of no source)"
    )
    if facts["same"] is not None:
        yield f"same: {'yes' if facts['same'] else 'no'}"
    yield f"from outside, since a changed copy can say anything: {facts['from_outside']}"


def from_outside(copy: origin.Copy, kind: origin.Kind | None) -> str:
    """Return a command that checks a copy without any code of it."""
    from shlex import quote

    if copy.archive:
        return f"sha256sum {quote(copy.archive)}, and compare with what was published"
    if kind is None:
        return f"diff -r {quote(copy.folder)} with a copy that you trust"
    if kind.listing.endswith(origin.MANIFEST):
        return f"cd {quote(copy.folder)} && sha256sum -c --quiet {origin.MANIFEST}"
    return f"cd {quote(copy.root)} && {JQ.format(listing=quote(kind.listing))}"


def _as_json(facts: dict[str, Any]) -> str:
    import json

    return json.dumps(_text(facts), indent=2)


def _text(value: Any) -> Any:
    """Return a value whose texts JSON can carry: bytes that are no UTF-8 are spelled out."""
    if isinstance(value, str):
        return os.fsencode(value).decode("utf-8", "backslashreplace")
    if isinstance(value, dict):
        return {name: _text(item) for name, item in value.items()}
    return [_text(item) for item in value] if isinstance(value, (list, tuple)) else value
