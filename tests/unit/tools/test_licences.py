# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What files state about their licence, REUSE.toml, and every way in which a tree can fail to say whose it is."""

from __future__ import annotations

from typing import Dict, List, Optional

import licences
import pytest
from licences import Annotation, Stated
from project import ROOT, project_files
from support.small_tree import FILES, HEADER

IDENTIFIER, COPYRIGHT = b"SPDX-" b"License-Identifier: ", b"SPDX-" b"FileCopyrightText: "
OURS = Stated(("Apache-2.0",), ("2026 The aasm authors",))


def test_this_tree_states_its_licence_everywhere() -> None:
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in project_files()}
    assert licences.faults(files) == []
    assert files["LICENSES/Apache-2.0.txt"] == files["LICENSE"]
    notes = licences.annotations_of(files)
    texts = {name for name in files if licences.stated(name, files[name], notes) != OURS}
    assert texts == {"LICENSE", "LICENSES/Apache-2.0.txt"}


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", Stated()),
        (HEADER, OURS),
        (b"#!/bin/sh\r\n" + HEADER.replace(b"\n", b"\r\n"), OURS),
        (b"<!--\n" + HEADER.replace(b"# ", b"") + b"-->\n", OURS),
        (b"<!-- " + IDENTIFIER + b"MIT -->\n", Stated(("MIT",))),
        (b"/* " + IDENTIFIER + b"MIT */\n", Stated(("MIT",))),
        (b'.\\" ' + IDENTIFIER + b"MIT", Stated(("MIT",))),
        (b"x\n" * 9000 + b"y = 1  # " + IDENTIFIER + b"MIT\n" + HEADER, Stated(("Apache-2.0", "MIT"), OURS.holders)),
        (b"\0\xff" + IDENTIFIER + b"M\xffT\n", Stated(("M\\xffT",))),
        (COPYRIGHT + b"2026 B\n" + COPYRIGHT + b"2025 A\n" + COPYRIGHT + b"2026 B\n", Stated((), ("2025 A", "2026 B"))),
        ((ROOT / "LICENSE").read_bytes(), Stated(("Apache-2.0",))),
        ((ROOT / "LICENSE").read_bytes() + b"\n", Stated()),
    ],
)
def test_what_a_file_states_itself(data: bytes, found: Stated) -> None:
    assert licences.stated("x", data) == found


def test_own_lines_count_before_an_annotation_and_the_last_annotation_before_the_others() -> None:
    notes = [Annotation(("a/*",), Stated(("MIT",), ("A",))), Annotation(("a/b*", "c"), Stated(("ISC",), ("B",)))]
    assert licences.stated("a/x", b"", notes) == Stated(("MIT",), ("A",))
    assert licences.stated("a/bx", b"", notes) == licences.stated("c", b"", notes) == Stated(("ISC",), ("B",))
    assert licences.stated("a/x", HEADER, notes) == OURS
    assert licences.stated("a/x", IDENTIFIER + b"Apache-2.0\n", notes) == Stated(("Apache-2.0",), ("A",))
    assert licences.stated("d", b"", notes) == Stated()


@pytest.mark.parametrize(
    ("path", "name", "covered"),
    [
        ("**.json", "a.json", True), ("**.json", "a/b.json", True), ("**.json", "a/b.json5", False),
        ("a/*.txt", "a/b.txt", True), ("a/*.txt", "a/b/c.txt", False), ("a/**.txt", "a/b/c.txt", True),
        ("a.c", "abc", False), ("*", "a", True), ("*", "a/b", False), ("**", "a/b\nc", True), ("a", "a/b", False),
    ],
)  # fmt: skip
def test_what_a_path_covers(path: str, name: str, covered: bool) -> None:
    assert Annotation((path,), OURS).covers(name) is covered


TABLE = b'[[annotations]]\npath = "a"\nSPDX-FileCopyrightText = "2026 A"\nSPDX-License-Identifier = "MIT"\n'
GOOD = b"# a comment\n\nversion = 1\n" + TABLE


def test_annotations_are_read() -> None:
    assert licences.read_annotations(GOOD) == [Annotation(("a",), Stated(("MIT",), ("2026 A",)))]
    two = GOOD.replace(b'"a"', b'["a", "b/**"]') + TABLE
    assert [note.paths for note in licences.read_annotations(two)] == [("a", "b/**"), ("a",)]
    assert licences.read_annotations(b"version = 1\n") == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "`version = 1` must come first"),
        (GOOD.replace(b"= 1", b"= 2"), "`version = 1` must come first"),
        (GOOD + b"version = 1\n", "REUSE.toml:8: only path"),
        (GOOD + b'precedence = "override"\n', "REUSE.toml:8: only path"),
        (GOOD + b'path = "b"\n', "REUSE.toml:8: only path"),
        (GOOD.replace(b'"a"', b'"a\\\\b"'), "REUSE.toml:5: only path"),
        (GOOD.replace(b'"a"', b'"a" # all'), "REUSE.toml:5: only path"),
        (GOOD.replace(b'"a"', b"'a'"), "REUSE.toml:5: only path"),
        (GOOD.replace(b'"a"', b"[]"), "REUSE.toml:5: only path"),
        (GOOD.replace(b'"a"', b'["a" "b"]'), "REUSE.toml:5: only path"),
        (GOOD.replace(b"[[annotations]]\n", b""), "REUSE.toml:4: only path"),
        (GOOD + b"[[annotations]]\n", "each table needs path"),
        (b"\xff" + GOOD, "codec can't decode"),
    ],
)
def test_what_is_not_read_is_a_fault(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=r"^.*") as caught:
        licences.read_annotations(data)
    assert words in str(caught.value)
    assert licences.faults({**FILES, "REUSE.toml": data}) == [str(caught.value)]


TEXT = "LICENSES/Apache-2.0.txt"
NOT_PUBLISHED = "LICENSE: is not the published text of Apache-2.0"
ALL = "all of this is under Apache-2.0 and nothing else"
UNSTATED = "; add the two SPDX lines, or cover it in REUSE.toml"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"new": b"x\n"}, [f"new: states no licence and no copyright{UNSTATED}"]),
        ({"new": COPYRIGHT + b"2026 A\n"}, [f"new: states no licence{UNSTATED}"]),
        ({"new": IDENTIFIER + b"Apache-2.0\n"}, [f"new: states no copyright{UNSTATED}"]),
        ({"new": HEADER + IDENTIFIER + b"MIT\n"}, [f"new:3: states the licence MIT; {ALL}"]),
        ({"new": HEADER, "LICENSES/MIT.txt": b"x"}, ["LICENSES/MIT.txt: the text of another licence than Apache-2.0"]),
        (
            {"new": HEADER + IDENTIFIER + b"MIT\n", "LICENSES/MIT.txt": b"x"},
            [f"new:3: states the licence MIT; {ALL}", "LICENSES/MIT.txt: the text of another licence than Apache-2.0"],
        ),
        (
            {"new": HEADER, "REUSE.toml": FILES["REUSE.toml"].replace(b'"Apache-2.0"', b'["Apache-2.0", "MIT"]')},
            [f'REUSE.toml:11: states the licence Apache-2.0", "MIT; {ALL}'],
        ),
        ({TEXT: b"x"}, [f"{TEXT}: differs from LICENSE"]),
        ({"LICENSE": b"x"}, [NOT_PUBLISHED, f"{TEXT}: differs from LICENSE"]),
        ({"LICENSE": None}, [NOT_PUBLISHED, f"{TEXT}: differs from LICENSE"]),
        ({"LICENSE": b"x", TEXT: b"x"}, [NOT_PUBLISHED]),
        ({TEXT: None}, [f"{TEXT}: differs from LICENSE"]),
        ({"tests/a_b.json": None}, ["REUSE.toml: **.json covers no file that needs it"]),
        ({"tests/a_b.json": HEADER}, ["REUSE.toml: **.json covers no file that needs it"]),
        ({"REUSE.toml": None}, ["REUSE.toml: `version = 1` must come first"]),
    ],
)
def test_every_lack_is_told(change: Dict[str, Optional[bytes]], said: List[str]) -> None:
    changed = {**FILES, **change}
    found = licences.faults({name: data for name, data in changed.items() if data is not None})
    assert found == said


@pytest.mark.parametrize(
    ("line", "licence"),
    [
        (b"# " + IDENTIFIER + b"GPL-3.0-only", "GPL-3.0-only"),
        (b"# " + IDENTIFIER + b"Apache-2.0 OR MIT", "Apache-2.0 OR MIT"),
        (b"<!-- " + IDENTIFIER + b"apache-2.0 -->", "apache-2.0"),
        (b"# " + IDENTIFIER.lower() + b"MIT", "MIT"),
        (b"# " + IDENTIFIER.replace(b":", b" :\t") + b"MIT\r", "MIT"),
        (b"# " + IDENTIFIER.strip(), ""),
    ],
)
def test_another_licence_is_found_wherever_it_stands(line: bytes, licence: str) -> None:
    for name in ("new.py", "LICENSE", "a.json", "a.bin"):
        assert list(licences.others(name, HEADER + b"\n" * 7 + line + b"\n" + HEADER)) == [(10, licence)]


def test_the_one_licence_and_words_about_it_are_no_other() -> None:
    about = b"x = '" + IDENTIFIER.replace(b":", b" =") + b"MIT'\n/* " + IDENTIFIER + b"Apache-2.0 */\n"
    assert list(licences.others("x.py", HEADER + about)) == []
    assert list(licences.others("REUSE.toml", TABLE)) == [(4, "MIT")]
