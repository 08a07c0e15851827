# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""A small tree, and the SBOM that is right for it."""

from __future__ import annotations

from typing import Dict

import sbom
from project import ROOT

DATE = "2026-11-30T08:00:00Z"
HEADER = b"# SPDX-" b"FileCopyrightText: 2026 The aasm authors\n# SPDX-" b"License-Identifier: Apache-2.0\n"
VERSION = "7.8.9"
FILES: Dict[str, bytes] = {
    "LICENSE": (ROOT / "LICENSE").read_bytes(),
    "LICENSES/Apache-2.0.txt": (ROOT / "LICENSE").read_bytes(),
    "REUSE.toml": (ROOT / "REUSE.toml").read_bytes().replace(b', "tests/golden/**.txt"', b""),
    "aasm/__init__.py": HEADER + f'__version__ = "{VERSION}"\n'.encode(),
    "tests/a_b.json": b"{}\n",
}
ENTRIES = list(FILES.items())
GOOD = sbom.document(ENTRIES, sbom.TREE, DATE, VERSION)
BYTES_ONLY = "it says what it must, but not in the bytes that tools/sbom.py writes"
