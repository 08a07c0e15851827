# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The dry run: every section in its order, the same facts as text and as JSON, and no secret in either."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from support.reports import CASES, REFUSED
from support.runs import IDENTITY, before, resolution

from aasm.cli import human, machine, preview
from aasm.errors import RefusalError, UsageError, one_line
from aasm.model.ambient import CONTROLLED_BY, authority_kind
from aasm.model.grants import Grant
from aasm.model.requirements import ResourceLimits
from aasm.policy.lowering import describe
from aasm.run import Resolution

HEADERS = (
    "--- aasm run dry-run ---",
    "--- preview fidelity ---",
    "--- protection ---",
    "--- policy ---",
    "--- execution isolation ---",
    "--- execution isolation (machine-readable) ---",
    "--- managed settings ---",
    "--- launch command ---",
    "--- environment ---",
    "--- lease plan (PLAN: point-in-time, not authorization) ---",
)
KEYS = {
    "schema", "identity", "preview_fidelity", "protection", "policy", "isolation", "lineage", "requirements", "grants",
    "not_held", "floor", "descriptors", "managed_settings", "launch_command", "environment", "lease_plan", "refusal",
}  # fmt: skip
MORE: Dict[str, Resolution] = {
    "settings": resolution(settings='{"a": 1}\n--- environment ---\nX=1'),
    "long settings": resolution(settings="x" * 3000),
    "odd words": resolution(program=("a b", "it's", "", "$HOME", "é", "two\nlines", "\udcff\x1b"), isolation="none"),
    "odd variables": resolution(isolation="none", environ={b"A": b"x\ny", b"\xff": b"\xfe", b"Z": b""}),
}
EVERY = [*CASES, *MORE]


def made(name: str) -> Resolution:
    return MORE[name] if name in MORE else CASES[name]()


def sections(text: str) -> Dict[str, List[str]]:
    """Return the lines of each section; a header is preceded by an empty line, but for the first."""
    found: Dict[str, List[str]] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line in HEADERS:
            assert number == 0 or lines[number - 1] == ""
            assert line not in found
            found[line] = []
        elif line:
            found[list(found)[-1]].append(line)
    return found


def pairs(lines: List[str]) -> Dict[str, str]:
    return {name: value.lstrip(" ") for name, value in (line.split(":", 1) for line in lines)}


def parsed(found: Resolution) -> Dict[str, Any]:
    loaded: Dict[str, Any] = json.loads(preview.as_json(found))
    return loaded


@pytest.mark.parametrize("name", EVERY)
def test_every_section_is_there_in_its_order_of_refused_runs_too(name: str) -> None:
    text = preview.render(made(name))
    assert tuple(sections(text)) == HEADERS
    assert all(line.isprintable() for line in text.split("\n"))
    assert all(sections(text)[header] for header in HEADERS if header != "--- environment ---")


@pytest.mark.parametrize("name", EVERY)
def test_json_is_one_object_with_every_section_in_ascii(name: str) -> None:
    text = preview.as_json(made(name))
    loaded = json.loads(text)
    assert text.isascii() and set(loaded) == KEYS and loaded["schema"] == "aasm.run.preview/1"
    assert text == json.dumps(loaded, sort_keys=True, indent=2)


# --- the same facts in both, section by section -----------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_the_small_sections_are_the_same_in_both(name: str) -> None:
    shown, loaded = sections(preview.render(made(name))), parsed(made(name))
    assert pairs(shown[HEADERS[0]]) == loaded["identity"]
    words = {"verbatim": "verbatim", "from_adapter": "from adapter", "degraded": "DEGRADED"}
    fidelity = loaded["preview_fidelity"]
    assert pairs(shown[HEADERS[1]]) == {**fidelity, "state": words[fidelity["state"]]}
    for header, key in ((HEADERS[2], "protection"), (HEADERS[3], "policy"), (HEADERS[9], "lease_plan")):
        assert pairs(shown[header]) == loaded[key]


@pytest.mark.parametrize("name", EVERY)
def test_the_records_are_the_same_in_both(name: str) -> None:
    shown, loaded = sections(preview.render(made(name)))[HEADERS[5]], parsed(made(name))["isolation"]
    words = {True: "true", False: "false"}
    expected = {k: words[v] if isinstance(v, bool) else machine.flat(str(v)) for k, v in loaded.items()}
    assert dict(line.split("=", 1) for line in shown) == expected
    assert [line.split("=", 1)[0] for line in shown] == [key for key, _ in machine.records(before(made(name).run))]


def listed(lines: List[str], title: str) -> List[str]:
    """Return the items of one list of the human section."""
    if f"{title}:" not in lines:
        return []
    rest = lines[lines.index(f"{title}:") + 1 :]
    end = next((number for number, line in enumerate(rest) if not line.startswith("  ")), len(rest))
    return [line[2:] for line in rest[:end]]


def requirement(item: Dict[str, Any]) -> str:
    by = f"{item['domain']}: {item['detail']}" + (f"; stated by {item['stated_by']}" if item["stated_by"] else "")
    words = {kind.value: text for kind, text in human.HOLDS.items()}
    return by + (f"; {words[item['outcome']]}: {item['lowering']}" if item["outcome"] else "")


def grant(item: Dict[str, Any]) -> str:
    verbs = ",".join(verb for verb in ("read", "write", "execute") if item[verb]) or "nothing"
    return f"{verbs:18} {item['path']} ({item['origin']})"


def ambient(name: str) -> str:
    kind = authority_kind(os.fsencode(name))
    assert kind is not None
    return f"{name}: {kind.value} ({', '.join(domain.value for domain in CONTROLLED_BY[kind])})"


@pytest.mark.parametrize("name", EVERY)
def test_what_the_keys_do_not_have_is_the_same_in_both(name: str) -> None:
    shown, loaded = sections(preview.render(made(name)))[HEADERS[4]], parsed(made(name))
    assert listed(shown, "requested capability set") == [requirement(item) for item in loaded["requirements"]]
    assert [grant(item) for item in loaded["grants"]] == listed(shown, "grants")
    granted = [(item["read"], item["write"], item["execute"]) for item in loaded["grants"]]
    assert granted == [(item.read, item.write, item.execute) for item in made(name).run.grants]
    assert (loaded["not_held"], loaded["floor"]) == (listed(shown, "not held"), listed(shown, "floor"))
    residual = [
        f"descriptor {d['number']}: {d['disposition']}: {d['reason']}" for d in loaded["descriptors"]["residual"]
    ]
    names = [loaded["isolation"][key] for key in loaded["isolation"] if key.startswith("credential.ambient_unremoved.")]
    assert listed(shown, "residual ambient authority") == [*map(ambient, names), *residual]
    unlisted = loaded["descriptors"]["not_enumerable"]
    assert listed(shown, "descriptors that could not be listed") == ([unlisted] if unlisted else [])
    assert f"lineage:         {' > '.join(loaded['lineage'])}" in shown
    refusal = loaded["refusal"]
    assert [line for line in shown if line.startswith("refused by:")] == (
        [f"refused by:      {refusal['kind']}"] if refusal else []
    )
    assert refusal is None or refusal["text"] == loaded["isolation"]["posture_detail"]


@pytest.mark.parametrize("name", EVERY)
def test_command_and_environment_are_the_same_in_both(name: str) -> None:
    shown, loaded = sections(preview.render(made(name))), parsed(made(name))
    command = loaded["launch_command"]
    first, second, *ceilings = shown[HEADERS[7]]
    assert (first, second) == (f"working_dir: {command['working_dir']}", f"command:     {command['command']}")
    assert ceilings == [f"{c['name']}: {c['value']}, kept by {c['kept_by']}" for c in command["ceilings"]]
    assert list(map(one_line, variables(loaded["environment"]))) == shown[HEADERS[8]]
    settings = loaded["managed_settings"]
    text = "\n".join(line[2:] for line in shown[HEADERS[6]] if line.startswith("  "))
    assert text == settings["text"]
    assert ("truncated" in shown[HEADERS[6]][-1]) is (settings["characters_left_out"] > 0)
    assert settings["text"] or shown[HEADERS[6]] == [f"<{settings['detail']}>"]


def variables(items: List[Dict[str, Any]]) -> Iterator[str]:
    for item in items:
        assert set(item) == {"name", "value", "masked", "origin"}
        if item["origin"] == "removed":
            assert (item["value"], item["masked"]) == (None, False)
            yield f"{item['name']}=<removed>"
        else:
            value = "***MASKED***" if item["value"] is None else item["value"]
            assert item["masked"] is ("***MASKED***" in value)
            yield f"{item['name']}={value}  ({item['origin']})"


# --- single sections --------------------------------------------------------------------------------


def test_who_the_run_is_attributed_to() -> None:
    assert preview.render(resolution()).split("\n")[:5] == [
        "--- aasm run dry-run ---",
        "agent_id:    agent-7",
        "agent_did:   <no-durable-identity-key>",
        "trace_id:    trace-9",
        "session_id:  session-5",
    ]


def test_there_is_no_lease_plan_yet() -> None:
    lines = sections(preview.render(resolution()))[HEADERS[9]]
    assert lines == ["plan: not available", "reason: this release issues no capability leases"]


def test_requirements_are_whole_in_json_and_abridged_in_text() -> None:
    found = CASES["many selectors"]()
    (item,) = parsed(found)["requirements"]
    assert item["permitted"] == [f"/p/{n}" for n in range(9)] and item["limits"] == {}
    assert item["detail"] == describe(found.run.spec.requirements[0]) and "and 3 more" in item["detail"]
    ceilings = parsed(CASES["ceilings held"]())["requirements"][2:]
    assert [item["limits"] for item in ceilings] == [
        {"max_wall_clock_seconds": 9}, {"max_file_size_bytes": 5000}, {"max_open_files": 64},
    ]  # fmt: skip


def test_every_ceiling_says_who_keeps_it() -> None:
    limits = ResourceLimits(max_open_files=64, max_cpu_seconds=5, max_wall_clock_seconds=9)

    def of(**options: Any) -> Dict[str, str]:
        return pairs(sections(preview.render(resolution(ceilings=limits, **options)))[HEADERS[7]][2:])

    kept = of()
    assert kept["max_open_files"].startswith("64, kept by RLIMIT_NOFILE")
    assert kept["max_wall_clock_seconds"].startswith("9, kept by the supervisor's clock")
    assert kept["max_cpu_seconds"].startswith("5, kept by nothing (")
    assert set(of(abi=3).values()) == {"64, kept by nothing (there is no plan)"} | {
        f"{value}, kept by nothing (there is no plan)" for value in (5, 9)
    }
    assert of(isolation="none") == of(abi=3)  # stated, and kept by nothing: a preview says so instead of nothing


@pytest.mark.parametrize("length", [1, 1024, 1025, 5000])
def test_managed_settings_are_cut_at_1024_characters(length: int) -> None:
    lines = sections(preview.render(resolution(settings="y" * length)))[HEADERS[6]]
    assert lines[0] == "  " + "y" * min(length, 1024)
    assert lines[1:] == ([f"<truncated: {length - 1024} more character(s)>"] if length > 1024 else [])


def test_settings_cannot_open_a_section() -> None:
    assert "  --- environment ---" in sections(preview.render(MORE["settings"]))[HEADERS[6]]


WORDS = ("plain", "a b", "it's", "", "$HOME", "`x`", 'a"b', "é", "*", "-n", "a\\b", "#", "~")


def test_the_command_is_what_a_shell_takes_back() -> None:
    shown = parsed(resolution(program=WORDS))["launch_command"]
    script = "for word in " + shown["command"] + "; do printf '%s\\0' \"$word\"; done"
    done = subprocess.run(["/bin/sh", "-c", script], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"".join(os.fsencode(word) + b"\0" for word in WORDS)
    assert shown["argv"] == list(WORDS)


@pytest.mark.parametrize(
    "word", ["two\nlines", "\x1b[31m", "quote' back\\\t", "\udcff\udc80", "\u202e", "a\u2028b", "\x7f7"]
)
def test_a_word_that_does_not_print_is_quoted_by_its_bytes(word: str) -> None:
    shown = parsed(resolution(program=(word,), isolation="none"))["launch_command"]
    assert shown["command"].startswith("$'") and shown["command"].isascii() and shown["command"].isprintable()
    assert ast.literal_eval("b" + shown["command"][1:]) == os.fsencode(word)  # \ooo means the same there
    assert shown["argv"] == [os.fsencode(word).decode("utf-8", "backslashreplace")]


def test_a_program_that_looks_like_an_assignment_is_quoted_so_that_a_shell_runs_it(tmp_path: Path) -> None:
    found = resolution(program=("A=b", "C=d", "e"))
    shown = parsed(found)["launch_command"]["command"]
    assert shown == "'A=b' 'C=d' e"
    program = tmp_path / "A=b"
    program.write_text("#!/bin/sh\nprintf '%s,' \"$@\"\n")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.defpath}"}
    done = subprocess.run(["/bin/sh", "-c", shown], stdout=subprocess.PIPE, check=True, env=environment)
    assert done.stdout == b"C=d,e,"


# --- runs that are refused --------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_run_has_no_order_and_says_why(name: str) -> None:
    found = REFUSED[name]()
    assert found.run.refusal is not None
    with pytest.raises(RefusalError) as caught:
        preview.order(found)
    assert str(caught.value).splitlines()[0] == found.run.refusal.text.splitlines()[0]
    assert parsed(found)["refusal"] == {"kind": found.run.refusal.kind.value, "text": found.run.refusal.text}
    assert "posture:         REFUSED" in sections(preview.render(found))[HEADERS[4]]


def test_a_run_without_a_boundary_has_no_order() -> None:
    with pytest.raises(UsageError, match="there is no order"):
        preview.order(resolution(isolation="none"))


def test_what_could_not_even_be_resolved_is_said_in_both_forms() -> None:
    reason = "the host is gone\x1b\n--- environment ---\nX=1"
    text = preview.refused(IDENTITY, reason)
    shown = sections(text)
    assert list(shown) == [HEADERS[0], HEADERS[1], HEADERS[4], HEADERS[5]]
    assert shown[HEADERS[1]][0] == "state:  DEGRADED"
    assert shown[HEADERS[4]] == [
        "posture: REFUSED", "detail:  the host is gone\\x1b", "         --- environment ---", "         X=1",
    ]  # fmt: skip
    assert shown[HEADERS[5]] == [
        "schema=aasm.isolation.report/1", "stage=pre_launch", "posture=refused",
        "posture_detail=the host is gone --- environment --- X=1",
    ]  # fmt: skip
    loaded = json.loads(preview.refused(IDENTITY, reason, in_json=True))
    assert loaded["refusal"] == {"kind": None, "text": reason} and loaded["isolation"]["posture_detail"] == reason
    assert loaded["identity"]["agent_did"] == "<no-durable-identity-key>" and loaded["schema"] == preview.SCHEMA


# --- what a name or a path may hold -----------------------------------------------------------------


def test_bytes_that_are_no_utf8_are_spelled_out_in_both() -> None:
    found = MORE["odd variables"]
    shown = {item["name"]: item["value"] for item in parsed(found)["environment"]}
    assert shown == {"A": "x\ny", "\\xff": "\\xfe", "Z": ""}
    assert sections(preview.render(found))[HEADERS[8]] == [
        "A=x\\x0ay  (inherited)", "Z=  (inherited)", "\\xff=\\xfe  (inherited)",
    ]  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_json_has_no_half_of_a_character(name: str) -> None:
    """A strict reader refuses or replaces a lone surrogate, of which no text that is interchanged has any."""
    assert not re.search(r"\\u[dD][89a-fA-F]", preview.as_json(made(name)))


def test_a_character_beyond_sixteen_bits_and_a_backslash_survive_in_json() -> None:
    program = ("\U0001f600", "\\xff", "é\n")
    text = preview.as_json(resolution(program=program))
    assert tuple(json.loads(text)["launch_command"]["argv"]) == program
    reason = "\udcff\U0001f600"
    assert json.loads(preview.refused(IDENTITY, reason, in_json=True))["refusal"]["text"] == "\\xff\U0001f600"


def test_a_path_is_shown_as_it_is() -> None:
    odd = "/w/two  spaces\nand a line"
    found = resolution()
    run = found.run._replace(grants=(Grant(odd, 1, 2, 0o40755, True, True, "a test"),))
    text = preview.render(found._replace(run=run))
    assert "  read,write         /w/two  spaces\\x0aand a line (a test)" in text.split("\n")
    assert parsed(found._replace(run=run))["grants"][0]["path"] == odd
