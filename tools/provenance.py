# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The provenance of a release: an in-toto statement with the SLSA provenance predicate, both of version 1.

It says which files were built, from what and how. Nobody signs it, and it says so: it is a claim that is checked by
building again (tools/verify_release.py), and worth no more without that. No time and no host stand in it, so that
whoever builds the same tree makes the same statement.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Dict, List, Mapping

import sbom
from archives import members
from build_backend import sdist_name, source_date
from metadata import Project
from revision import revision

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"
BUILD_TYPE = "urn:aasm:build:1"  # `python3 tools/build.py DIR` in the tree; docs/release.md says what that means
BUILDER = "urn:aasm:builder:whoever-ran-it"
UNSIGNED = (
    "none: this statement is not signed. It is a claim of whoever hands it over, of SLSA build level 1 at the most. "
    "Build the same revision again and compare: python3 tools/verify_release.py DIR"
)


def name(root: Path) -> str:
    return f"{Project(root).stem}.provenance.json"


def statement(root: Path, archives: Mapping[str, bytes]) -> bytes:
    """Return the statement about `archives` (name to bytes), built from the tree at `root`, as JSON."""
    definition = {
        "buildType": BUILD_TYPE,
        "externalParameters": {"command": "python3 tools/build.py DIR", "SOURCE_DATE_EPOCH": source_date(root)},
        "internalParameters": {"signature": UNSIGNED},  # where the schema has room for a text of ours
        "resolvedDependencies": _sources(root, archives),
    }
    made: Dict[str, Any] = {
        "_type": STATEMENT,
        "subject": [{"name": one, "digest": _digest(data)} for one, data in sorted(archives.items())],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": definition,
            "runDetails": {"builder": {"id": BUILDER}},
        },
    }
    return (json.dumps(made, indent=2, sort_keys=True) + "\n").encode("ascii")


def _sources(root: Path, archives: Mapping[str, bytes]) -> List[Dict[str, Any]]:
    """Return what was built from: the list of the sources, as the sdist has it, and the commit if it is known."""
    project = Project(root)
    listing = members(archives[sdist_name(project)])[f"{project.stem}/{sbom.NAME}"]
    found: List[Dict[str, Any]] = [{"name": f"{sbom.NAME} of the sdist", "digest": _digest(listing)}]
    known = revision(root)
    if known:
        found.append({"name": "git commit", "digest": {"gitCommit": known}})
    return found


def _digest(data: bytes) -> Dict[str, str]:
    return {"sha256": hashlib.sha256(data).hexdigest()}
