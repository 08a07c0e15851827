# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The device nodes that every program may use: those that are there, and nothing that only has their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from aasm.backends.native import prepare
from aasm.errors import HostError


def test_those_that_are_there_are_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "DEVICES", ("/dev/null", str(tmp_path / "absent"), "/dev/null/below"))
    monkeypatch.setattr(prepare, "_terminals", list)
    found = prepare.device_grants()
    (grant,) = found
    assert (grant.path, grant.read, grant.write, grant.execute) == ("/dev/null", True, True, False)


@pytest.mark.parametrize("kind", ["file", "directory", "link to a file"])
def test_what_is_no_device_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, file = tmp_path / "null", tmp_path / "file"
    file.write_text("")
    if kind == "directory":
        place.mkdir()
    elif kind == "file":
        place.write_text("")
    else:
        place.symlink_to(file)
    monkeypatch.setattr(prepare, "DEVICES", ("/dev/null", str(place)))
    with pytest.raises(HostError) as caught:
        prepare.device_grants()
    assert (caught.value.where, caught.value.what) == (str(place), "is no device") and caught.value.remedy
