# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The verifier: what it prints, its exit codes, and every tampering."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
import receipt_samples as samples
from receipt_samples import one_error_line, run

from aasm.errors import ReceiptError
from aasm.receipt import build, verify
from aasm.receipt.canonical import canonical, decode

RECEIPT = build.make(samples.FACTS, samples.SEALED_AT)
Json = Dict[str, Any]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.json"
    path.write_bytes(RECEIPT.data)
    return path


@pytest.fixture
def lying(tmp_path: Path) -> Path:
    path = tmp_path / "lying.json"
    made = samples.bent(lambda body: samples.domain_of(body, samples.SYSCALL).update(claim="observed"))
    path.write_bytes(canonical(made))
    return path


# --- what it prints ------------------------------------------------------------------------------


def test_a_good_receipt(good: Path) -> None:
    done = run("verify", str(good))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"seal: holds (the body is {RECEIPT.digest})",
        "defects: none",
        "trustworthy: true (the seal holds and no rule is broken; a seal does not say who wrote the receipt)",
    ]


def test_a_changed_body(good: Path) -> None:
    good.write_bytes(RECEIPT.data.replace(b'"exit_code":0', b'"exit_code":1'))
    done = run("verify", str(good))
    assert (done.returncode, done.stderr) == (1, "")
    first, *rest = done.stdout.splitlines()
    assert first.startswith("seal: mismatch (the body is sha256:") and RECEIPT.digest in first
    assert rest == ["defects: none", "trustworthy: false (the seal does not hold)"]


def test_an_overclaim_under_a_good_seal(lying: Path) -> None:
    done = run("verify", str(lying))
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("seal: holds (")
    assert lines[1] == "defects: 2"
    assert [line[:6] for line in lines[2:4]] == ["  R1: ", "  R5: "]
    assert lines[4:] == ["trustworthy: false (rules are broken)"]


def test_both_results_are_reported(lying: Path) -> None:
    lying.write_bytes(lying.read_bytes().replace(b'"exit_code":0', b'"exit_code":1'))
    done = run("verify", str(lying))
    assert done.returncode == 1
    assert done.stdout.startswith("seal: mismatch (") and "\n  R5: " in done.stdout
    assert done.stdout.endswith("trustworthy: false (the seal does not hold and rules are broken)\n")


def test_unknown_fields_are_noted_and_trusted(tmp_path: Path) -> None:
    path = tmp_path / "newer.json"
    path.write_bytes(canonical(samples.bent(lambda body: body.update(later=1))))
    done = run("verify", str(path))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("note: receipt.body: the field `later` is unknown")


def test_json(good: Path, lying: Path) -> None:
    done = run("verify", "--json", str(good), str(lying))
    assert (done.returncode, done.stderr) == (1, "")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first == {
        "schema": "aasm.receipt.verdict/1",
        "path": str(good),
        "seal": "holds",
        "seal_detail": f"the body is {RECEIPT.digest}",
        "defects": [],
        "notes": [],
        "trustworthy": True,
    }
    assert second["seal"] == "holds" and second["trustworthy"] is False
    assert [defect["rule"] for defect in second["defects"]] == ["R1", "R5"]


def test_json_of_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    done = run("verify", "--json", str(tmp_path / "none"))
    assert done.returncode == 2 and one_error_line(done.stderr)
    found = json.loads(done.stdout)
    assert found.pop("error") == done.stderr[len("error: ") : -1]
    assert found == {"schema": "aasm.receipt.verdict/1", "path": str(tmp_path / "none"), "trustworthy": False}


def test_several_receipts_are_told_apart_and_the_worst_code_wins(good: Path, lying: Path, tmp_path: Path) -> None:
    done = run("verify", str(good), str(lying))
    assert done.returncode == 1
    heads = [line for line in done.stdout.splitlines() if line.startswith("receipt: ")]
    assert heads == [f"receipt: {good}", f"receipt: {lying}"]
    done = run("verify", str(tmp_path / "none"), str(lying), str(good))
    assert done.returncode == 2 and one_error_line(done.stderr)
    assert done.stdout.count("trustworthy: ") == 2


def test_what_a_receipt_says_cannot_steer_a_terminal(good: Path) -> None:
    evil = "\x1b[2J\nseal: holds (\x9b)\u202e"
    made = samples.envelope()
    made["schema"] = evil
    made["seal"]["digest"] = evil
    made["body"][evil] = 1
    good.write_bytes(json.dumps(made).encode())
    for words in (["verify"], ["verify", "--json"]):
        done = run(*words, str(good))
        assert done.returncode == 1
        assert all(char.isprintable() or char == "\n" for char in done.stdout)
        assert not any(line.startswith("seal: holds") for line in done.stdout.splitlines())


# --- tampering -----------------------------------------------------------------------------------


BODY = range(RECEIPT.data.index(b'{"body":') + len(b'{"body":'), RECEIPT.data.index(b',"schema":'))


def caught(position: int, value: int) -> bool:
    """Say whether the receipt with another byte at `position` is no JSON any more, or has a seal that does not hold."""
    changed = bytearray(RECEIPT.data)
    changed[position] = value
    try:
        return verify.check_seal(decode(bytes(changed)))[0] != verify.HOLDS
    except ReceiptError:
        return True


def test_every_single_byte_change_of_the_body_is_caught() -> None:
    draw = random.Random(4)
    for position in BODY:
        assert caught(position, RECEIPT.data[position] ^ 1 << draw.randrange(8)), position


@pytest.mark.parametrize("position", sorted(random.Random(5).sample(BODY, 4)))
def test_every_value_of_a_byte_is_caught(position: int) -> None:
    for value in range(256):
        assert value == RECEIPT.data[position] or caught(position, value), value


def test_every_truncation_is_caught() -> None:
    for length in range(0, len(RECEIPT.data) - 2, 7):
        with pytest.raises(ReceiptError):
            verify.verify_bytes(RECEIPT.data[:length], "x")


def test_every_changed_leaf_of_the_body_breaks_the_seal() -> None:
    for path, _ in samples.leaves(RECEIPT.envelope["body"]):
        made = samples.envelope()
        holder = made["body"]
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = "changed"
        assert verify.check_seal(made)[0] == verify.MISMATCH


def test_the_order_and_spacing_of_the_file_do_not_matter() -> None:
    made = samples.envelope()
    shuffled = {"seal": made["seal"], "body": dict(reversed(list(made["body"].items()))), "schema": made["schema"]}
    assert verify.verify_bytes(json.dumps(shuffled, indent=3).encode(), "x").trustworthy


@pytest.mark.parametrize("name", ["sealed_by", "sealed_at_unix_secs"])
def test_the_envelope_lies_outside_the_digest(name: str) -> None:
    """A property of the format, not a wish: the documentation says so, and nothing may rest on these two."""
    made = samples.envelope()
    made["seal"][name] = "someone" if name == "sealed_by" else 1
    assert verify.verify_bytes(json.dumps(made).encode(), "x").trustworthy


def drop(name: str) -> Callable[[Json], object]:
    return lambda made: made.pop(name)


@pytest.mark.parametrize(
    "change",
    [
        drop("seal"),
        drop("body"),
        lambda made: made.update(seal=[]),
        lambda made: made["seal"].update(kind="hmac"),
        lambda made: made["seal"].update(kind=[]),
        lambda made: made["seal"].update(canonical_form="json"),
        lambda made: made["body"].update({"Upper": 1}),
        lambda made: made["body"].update(later="\x7f"),
    ],
)
def test_a_seal_that_cannot_be_computed(change: Callable[[Json], object]) -> None:
    made = samples.envelope()
    change(made)
    verdict = verify.verify_bytes(json.dumps(made).encode(), "x")
    assert verdict.seal == verify.UNCOMPUTABLE
    assert not verdict.trustworthy


@pytest.mark.parametrize("digest", [None, 1, [], "", "sha256:", RECEIPT.digest.upper(), RECEIPT.digest[7:]])
def test_a_digest_in_another_form_is_not_the_digest(digest: object) -> None:
    made = samples.envelope()
    made["seal"]["digest"] = digest
    verdict = verify.verify_bytes(json.dumps(made).encode(), "x")
    assert verdict.seal == verify.MISMATCH
    assert [defect.rule for defect in verdict.defects] == ["Shape"] or digest == RECEIPT.digest
