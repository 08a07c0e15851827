# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Verify receipts: whether the seal holds, and whether the claims keep the rules. Two results, never merged.

Works on any host, with no kernel feature and with nothing of aasm beside `aasm.receipt`, `aasm.model` and
`aasm.errors`. Must not import what launches, stores or probes.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, NamedTuple, NoReturn

from ..errors import INVALID, OK, NoReceiptError, ReceiptError, UsageError, one_line, system_text
from .canonical import MAX_BYTES, decode, digest
from .facts import CANONICAL_FORM, SEAL_KIND
from .read import read_file, read_standard_input
from .rules import judge
from .shape import Defect, show

REMEDY = "it was changed, cut short, or never a receipt: ask whoever wrote it for the original"
VERDICT_SCHEMA = "aasm.receipt.verdict/1"
HOLDS, MISMATCH, UNCOMPUTABLE = "holds", "mismatch", "uncomputable"


class Verdict(NamedTuple):
    """What was found out about one receipt. `defects` never counts the seal, and the seal never counts them."""

    seal: str  # HOLDS, MISMATCH or UNCOMPUTABLE
    seal_detail: str
    defects: tuple[Defect, ...]
    notes: tuple[str, ...]

    @property
    def trustworthy(self) -> bool:
        """Say whether the seal holds and no rule is broken. Nothing here says who wrote the receipt."""
        return self.seal == HOLDS and not self.defects


def verify_file(path: str) -> Verdict:
    """Return the verdict on the receipt at `path` (`-`: standard input); ReceiptError when it cannot be read at all."""
    if path == "-":
        return verify_bytes(read_standard_input(MAX_BYTES), "standard input")
    return verify_bytes(read_file(path, MAX_BYTES), path)


def verify_bytes(data: bytes, where: str) -> Verdict:
    """Return the verdict on the bytes of a receipt; NoReceiptError about `where` when they are not its strict JSON."""
    try:
        envelope = decode(data, where)
    except ReceiptError as problem:
        raise NoReceiptError(problem.what, problem.where, problem.remedy or REMEDY) from None
    seal, detail = check_seal(envelope)
    return Verdict(seal, detail, *judge(envelope))


def check_seal(envelope: object) -> tuple[str, str]:
    """Return whether the stated digest is that of the body in canonical form, and a sentence about it."""
    outer: dict[str, Any] = envelope if isinstance(envelope, dict) else {}
    stated = outer.get("seal")
    if not isinstance(stated, dict) or "body" not in outer:
        return UNCOMPUTABLE, "there is no seal beside a body"
    if stated.get("kind") != SEAL_KIND or stated.get("canonical_form") != CANONICAL_FORM:
        kind, form = show(stated.get("kind")), show(stated.get("canonical_form"))
        return UNCOMPUTABLE, f"unknown kind {kind} or canonical form {form}"
    try:
        found = digest(outer["body"])
    except ReceiptError as problem:
        return UNCOMPUTABLE, f"the body has no canonical form: {problem.what}"
    if stated.get("digest") != found:  # no secret is compared, so the time that it takes tells nothing
        return MISMATCH, f"the body is {found}, the seal states {show(stated.get('digest'))}"
    return HOLDS, f"the body is {found}"


def run(options: argparse.Namespace) -> int:
    """Verify what the command line names, print it, and return the exit code: the worst of 0, 1 and 2."""
    several = len(options.receipts) > 1
    return max([_verify_one(path, options.json, several) for path in options.receipts])


def main(args: list[str], prog: str = "aasm receipt verify") -> int:
    """Run `receipt verify` with the arguments that follow it, and return its exit code."""
    try:
        return run(_parser(prog).parse_args(args))
    except (UsageError, ReceiptError) as problem:
        complain(problem)
        return problem.exit_code


def _parser(prog: str = "aasm receipt verify") -> argparse.ArgumentParser:
    made = _Parser(prog=prog, description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False)
    made.add_argument("--json", action="store_true", help="print one line of JSON for each receipt")
    made.add_argument("receipts", nargs="+", metavar="RECEIPT", help="a receipt; `-` is standard input")
    return made


_DESCRIPTION = "Check the seal of receipts and the rules that their claims must keep. The two are separate results."
_EPILOG = (
    "Exit status: 0 when every seal holds and no rule is broken, 1 otherwise (also for a file that is no receipt),"
    " 2 for a wrong command line, a file that cannot be read, or output that cannot be written. A seal is a digest: it"
    " shows a change, never who wrote the receipt."
)


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: object = None) -> None:
        _say(message)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, "", f"see `{self.prog} --help`")


def _verify_one(path: str, as_json: bool, several: bool) -> int:
    try:
        verdict = verify_file(path)
    except ReceiptError as problem:
        if as_json:
            _say(_json_line(path, {"error": str(problem), "trustworthy": False}))
        complain(problem)
        return problem.exit_code
    if as_json:
        _say(_json_line(path, _as_json(verdict)))
    else:
        _say("".join(one_line(line) + "\n" for line in _lines(verdict, path if several else "")))
    return OK if verdict.trustworthy else INVALID


def _lines(verdict: Verdict, path: str) -> list[str]:
    lines = [f"receipt: {path}"] if path else []
    lines.append(f"seal: {verdict.seal} ({verdict.seal_detail})")
    lines.append(f"defects: {len(verdict.defects) or 'none'}")
    lines += [f"  {defect.rule}: {defect.text}" for defect in verdict.defects]
    lines.append(f"trustworthy: {'true' if verdict.trustworthy else 'false'} ({_reason(verdict)})")
    return lines + [f"note: {note}" for note in verdict.notes]


def _reason(verdict: Verdict) -> str:
    if verdict.trustworthy:
        return "the seal holds and no rule is broken; a seal does not say who wrote the receipt"
    seal = "" if verdict.seal == HOLDS else "the seal does not hold"
    rules = "rules are broken" if verdict.defects else ""
    return " and ".join(filter(None, (seal, rules)))


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "seal": verdict.seal,
        "seal_detail": one_line(verdict.seal_detail),
        "defects": [{"rule": defect.rule, "text": one_line(defect.text)} for defect in verdict.defects],
        "notes": [one_line(note) for note in verdict.notes],
        "trustworthy": verdict.trustworthy,
    }


def _json_line(path: str, fields: dict[str, Any]) -> str:
    import json

    return json.dumps({"schema": VERDICT_SCHEMA, "path": one_line(path), **fields}, sort_keys=True) + "\n"


def complain(problem: object) -> None:
    """Write one error to standard error where there is one; a lost line never changes the exit code."""
    try:
        if sys.stderr is not None:  # `print` would take standard output instead
            print(f"error: {problem}", file=sys.stderr, flush=True)
    except OSError:
        pass


def _say(text: str) -> None:
    """Write `text` to standard output and see that it arrives; what the encoding lacks is spelled out."""
    if sys.stdout is None:
        raise ReceiptError("is closed", "standard output", "send it somewhere")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as problem:
        _forget_output()
        raise ReceiptError(f"cannot be written: {system_text(problem)}", "standard output") from None


def _forget_output() -> None:
    """Point standard output nowhere, so that the interpreter's own flush at exit has nothing to complain about."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
