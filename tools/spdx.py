# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""An SPDX 2.3 document, made of names and bytes.

It is pure: what it knows is what it is given, and two constants about the project. The same entries, kind, date and
version give the same bytes everywhere. It must not open a file, ask for the time or look at the environment.
"""

from __future__ import annotations

import calendar
import hashlib
import json
import re
import time
import uuid
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Sequence, Tuple

import licences
from project import PACKAGE, TreeError, shown

NAME = "SBOM.spdx.json"
EARLIEST = 315532800  # 1980-01-01 in seconds, before which no ZIP archive can be
AUTHORS = "The aasm authors"
PYTHONS = ">=3.9"  # as pyproject.toml has it; a test holds the two equal

Document = Dict[str, Any]


class SbomError(TreeError):
    """There is nothing to list or to compare; the text is one line with what, where and remedy."""


class Kind(NamedTuple):
    """What a document is about: its purpose in the words of SPDX, and files that it cannot or need not list."""

    purpose: str
    unlisted: Tuple[str, ...]


TREE, WHEEL, ZIPAPP = "tree", "wheel", "zipapp"
# What the build of a source archive adds to the files of the tree; the check of a tree judges them by themselves.
ADDED = ("PKG-INFO", "REVISION")
KINDS: Mapping[str, Kind] = {
    TREE: Kind("SOURCE", (*ADDED, NAME)),
    WHEEL: Kind("INSTALL", ("{stem}.dist-info/RECORD", "{stem}.dist-info/sboms/aasm.spdx.json")),
    ZIPAPP: Kind("APPLICATION", (NAME,)),
}

_NOTHING_ELSE = (
    "Python with its standard library is all that aasm needs: it has no other dependency, to build it or to run it. "
    "No code of third parties is among its files. The numbers of system calls and the constants of kernel interfaces "
    "in them are facts of the Linux kernel's binary interface, without any code or comment of the kernel; see NOTICE."
)
_PYTHON_IS = (
    f"The one dependency at run time: any CPython {PYTHONS} that the host has, with the standard library that belongs "
    "to it. It is not part of aasm and was not looked at. Its licence is the one that its project declares; the copy "
    "on a host states its own."
)


# --- the document -----------------------------------------------------------------------------------


def document(entries: Iterable[Tuple[str, bytes]], kind: str, created: str, version: str) -> Document:
    """Return the document that lists `entries`, pairs of a name with forward slashes and the bytes, in any order.

    `kind` is TREE, WHEEL or ZIPAPP, `created` a date as `stamp` writes it, `version` that of aasm. Entries that a
    document of this kind leaves out, itself above all, may be among them. SbomError where a name stands twice, cannot
    be written in UTF-8 or is not a relative path, or where a REUSE.toml among them cannot be read.
    """
    excluded = [name.format(stem=f"{PACKAGE}-{version}") for name in KINDS[kind].unlisted]
    files = _listed(entries)
    notes = _annotations(files)
    stated = {name: licences.stated(name, data, notes) for name, data in files.items() if name not in excluded}
    items = [_file(name, files[name], one) for name, one in stated.items()]
    made: Document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{PACKAGE}-{version}-{kind}",
        "documentNamespace": "",
        "creationInfo": {"created": created, "creators": [f"Organization: {AUTHORS}", f"Tool: aasm-sbom-{version}"]},
        "packages": [_package(items, kind, version, excluded), _python()],
        "files": items,
        "relationships": _relationships(items),
    }
    made["documentNamespace"] = _namespace(made)
    return made


def _listed(entries: Iterable[Tuple[str, bytes]]) -> Dict[str, bytes]:
    files: Dict[str, bytes] = {}
    for name, data in sorted(entries):
        parts = name.split("/")
        if name in files or not name.isprintable() or {"", ".", ".."} & {*parts}:
            raise SbomError(f"{shown(name)}: a name that cannot be listed; each must be a relative path, and once")
        files[name] = data
    return files


def _annotations(files: Mapping[str, bytes]) -> List[licences.Annotation]:
    try:
        return licences.annotations_of(files)
    except ValueError as problem:
        raise SbomError(str(problem)) from problem


def _file(name: str, data: bytes, stated: licences.Stated) -> Document:
    return {
        "fileName": f"./{name}",
        "SPDXID": file_id(name),
        "fileTypes": file_types(name, data),
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": _sha1(data)},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()},
        ],
        "licenseConcluded": " AND ".join(stated.licences) or licences.LICENCE,
        "licenseInfoInFiles": list(stated.licences) or ["NONE"],
        "copyrightText": "\n".join(f"Copyright {holder}" for holder in stated.holders) or "NONE",
    }


def file_id(name: str) -> str:
    """Return the SPDXID of a file. Only letters, digits, `.` and `-` may be in it; no two names have the same."""
    return "SPDXRef-File-" + re.sub(r"[^A-Za-z0-9.]", _escaped, name)


def _escaped(match: "re.Match[str]") -> str:
    return "".join(f"-{byte:02x}" for byte in match[0].encode("utf-8"))


# Types by the end of a name; what has a program in its first line is source as well, and other text is text.
_TYPES: Sequence[Tuple[str, List[str]]] = (
    *((end, ["SOURCE", "TEXT"]) for end in (".py", ".bash", ".fish", "/_aasm")),
    *((end, ["DOCUMENTATION", "TEXT"]) for end in (".md", ".1", ".5")),
)


def file_types(name: str, data: bytes) -> List[str]:
    """Return the types of a file in the words of SPDX."""
    if data.startswith(b"#!"):
        return ["SOURCE", "TEXT"]
    return next((types for end, types in _TYPES if name.endswith(end)), ["BINARY" if b"\0" in data else "TEXT"])


def _package(items: List[Document], kind: str, version: str, excluded: List[str]) -> Document:
    stated = sorted({licence for item in items for licence in item["licenseInfoInFiles"]})
    return {
        "SPDXID": f"SPDXRef-Package-{PACKAGE}",
        "name": PACKAGE,
        "versionInfo": version,
        "supplier": f"Organization: {AUTHORS}",
        "downloadLocation": "NOASSERTION",
        "primaryPackagePurpose": KINDS[kind].purpose,
        "filesAnalyzed": True,
        "packageVerificationCode": {
            "packageVerificationCodeValue": verification_code(items),
            "packageVerificationCodeExcludedFiles": [f"./{name}" for name in excluded],
        },
        "licenseConcluded": licences.LICENCE,
        "licenseDeclared": licences.LICENCE,
        "licenseInfoFromFiles": stated,
        "copyrightText": f"Copyright 2026 {AUTHORS}",
        "comment": _NOTHING_ELSE,
        "externalRefs": [_purl(f"pkg:generic/{PACKAGE}@{version}")],
    }


def _python() -> Document:
    return {
        "SPDXID": "SPDXRef-Package-python",
        "name": "CPython",
        "versionInfo": PYTHONS,
        "supplier": "Organization: Python Software Foundation",
        "downloadLocation": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "PSF-2.0",
        "copyrightText": "NOASSERTION",
        "comment": _PYTHON_IS,
        "externalRefs": [_purl("pkg:generic/python")],
    }


def _purl(locator: str) -> Document:
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}


def verification_code(items: List[Document]) -> str:
    """Return the SHA-1 over the sorted, joined SHA-1 of all files (SPDX 2.3, clause 7.9)."""
    return _sha1("".join(sorted(item["checksums"][0]["checksumValue"] for item in items)).encode("ascii"))


def _sha1(data: bytes) -> str:
    """Return the SHA-1 that SPDX demands; nothing here relies on it, each file has a SHA-256 too."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _relationships(items: List[Document]) -> List[Document]:
    ours, python = f"SPDXRef-Package-{PACKAGE}", "SPDXRef-Package-python"
    rows = [("SPDXRef-DOCUMENT", "DESCRIBES", ours), (ours, "DEPENDS_ON", python)]
    rows += [(ours, "CONTAINS", item["SPDXID"]) for item in items]
    return [{"spdxElementId": of, "relationshipType": word, "relatedSpdxElement": to} for of, word, to in rows]


def _namespace(made: Document) -> str:
    """Return a URI for exactly this content, date included: a UUID of version 8 (RFC 9562) made of its SHA-256."""
    digest = bytearray(hashlib.sha256(render({**made, "documentNamespace": ""})).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return f"urn:uuid:{uuid.UUID(bytes=bytes(digest))}"


def render(made: Document) -> bytes:
    """Return the document as ASCII bytes, the same on every Python: one line for each file and each relationship."""
    parts = []
    for key, value in made.items():
        if key in ("files", "relationships"):
            text = "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
        else:
            text = json.dumps(value, indent=2).replace("\n", "\n  ")
        parts.append(f"  {json.dumps(key)}: {text}")
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode("ascii")


# --- dates ------------------------------------------------------------------------------------------


_FORM = "%Y-%m-%dT%H:%M:%SZ"


def stamp(seconds: int) -> str:
    """Return a time in seconds since 1970 as SPDX writes it, in UTC; never one before 1980, when ZIP archives begin."""
    return time.strftime(_FORM, time.gmtime(max(seconds, EARLIEST)))


def seconds(text: object) -> int:
    """Return the time that `stamp` wrote as `text`; ValueError for anything else."""
    try:
        found = calendar.timegm(time.strptime(str(text), _FORM))
    except ValueError:
        found = -1
    if stamp(found) != text:
        raise ValueError("no date of the form YYYY-MM-DDThh:mm:ssZ from 1980 on")
    return found
