# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""The starting policies: on every host they are read and valid, and they name what is there and no login of anybody."""

from __future__ import annotations

import os
import random
import re
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

import pytest

from aasm.errors import UsageError
from aasm.model.ambient import looks_like_authority
from aasm.policy.document import validate
from aasm.policy.node import to_data
from aasm.policy.reader import read_document
from aasm.policy.templates import TEMPLATES, template

NAMES = ("minimal", "agent", "build", "node", "python", "go", "rust", "java", "offline")
HOME = "/h/user"
OPTIONAL = "${home}/.gitconfig"
EXTRAS = {"/proc", "/dev/shm", "/dev/ptmx", "/dev/pts", "/etc/maven", "/opt/maven"}
every_template = pytest.mark.parametrize("name", NAMES)

# Where logins, tokens and keys are stored, below the home (the manuals of the programs that write them).
CREDENTIALS = (
    ".ssh/id_ed25519", ".gnupg/private-keys-v1.d", ".netrc", ".npmrc", ".npm-global/etc/npmrc", ".yarnrc.yml",
    ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".config/pip/pip.conf", ".config/uv/uv.toml",
    ".pypirc", ".pip/pip.conf", ".cargo/credentials.toml", ".cargo/credentials", ".cargo/config.toml",
    ".local/share/uv/credentials/credentials.toml", ".local/share/keyrings/login.keyring", ".m2/settings.xml",
    ".sdkman/etc/config", ".gradle/gradle.properties", ".docker/config.json", ".kube/config", ".aws/credentials",
    ".azure/msal_token_cache.json", ".config/gcloud/credentials.db", ".claude/.credentials.json", ".claude.json",
    ".codex/auth.json", ".gemini/oauth_creds.json", ".copilot/config.json", ".local/share/opencode/auth.json",
    ".config/go/env", ".bash_history", ".local/state/aasm/ledger.jsonl",
)  # fmt: skip
OF_THE_HOST = ("/etc/shadow", "/etc/ssh/ssh_host_ed25519_key", "/opt/conda/.condarc", "/opt/node/etc/npmrc")

Exists = Callable[[str], bool]


def everything(path: str) -> bool:
    return True


def nothing(path: str) -> bool:
    return False


def some(seed: int, asked: Dict[str, bool]) -> Exists:
    """Return a host on which about half of everything exists; what was asked, and answered, is noted."""
    chance = random.Random(seed)
    return lambda path: asked.setdefault(path, chance.random() < 0.5)


def data(text: str) -> Dict[str, Any]:
    """Return the spec of a policy that is valid."""
    document = read_document(text.encode(), "made.yaml")
    validate(document)
    found = to_data(document.root)
    assert isinstance(found, dict) and set(found) == {"apiVersion", "kind", "metadata", "spec"}
    return dict(found["spec"])


def paths(spec: Dict[str, Any], verb: str) -> List[str]:
    stated = spec["filesystem"][verb]["allow"]
    return [item["path"] if isinstance(item, dict) else item for item in stated]


def at(path: str) -> str:
    return path.replace("${home}", HOME)


def uncommented(text: str) -> str:
    """Return the policy with every statement in it that was a comment."""
    return re.sub(r'^( *)# (?=- ["A-Z]|network:|  allowlist:)', r"\1", text, flags=re.MULTILINE)


def test_the_templates_have_these_names_and_a_line_each() -> None:
    assert tuple(TEMPLATES) == NAMES
    assert all(summary.isprintable() and 20 < len(summary) < 100 for summary in TEMPLATES.values())


@every_template
@pytest.mark.parametrize("workdir", [None, "/srv/it"])
@pytest.mark.parametrize("home", ["", HOME, HOME + "/"])
@pytest.mark.parametrize("exists", [everything, nothing])
def test_every_text_is_read_and_valid(name: str, workdir: Optional[str], home: str, exists: Exists) -> None:
    text = template(name, workdir, home, exists)
    for policy in (text, uncommented(text)):
        spec = data(policy)
        place = workdir or "${workdir}"
        assert paths(spec, "read")[:2] == ["${system}", place]
        assert [path for path in paths(spec, "write") if path not in EXTRAS] == ([] if name == "minimal" else [place])
        assert home or "${home}" not in "".join(paths(spec, "read"))


@every_template
def test_a_policy_names_what_exists_and_all_of_it(name: str) -> None:
    full = set(paths(data(uncommented(template(name, None, HOME, everything))), "read"))
    for seed in range(30):
        asked: Dict[str, bool] = {}
        spec = data(uncommented(template(name, None, HOME, some(seed, asked))))
        named = set(paths(spec, "read")) - {"${system}", "${workdir}"}
        assert named == {path for path in full if asked.get(at(path))}
        assert all(path.startswith("/") and "$" not in path for path in asked)
        assert set(paths(spec, "write")) - {"${workdir}"} <= named & EXTRAS


@every_template
def test_where_nothing_exists_only_the_host_and_the_directory_are_named(name: str) -> None:
    text = template(name, None, HOME, nothing)
    assert paths(data(uncommented(text)), "read") == ["${system}", "${workdir}"]


@every_template
def test_the_same_host_gives_the_same_text(name: str) -> None:
    assert template(name, None, HOME, everything) == template(name, None, HOME, everything)
    assert template(name, None, HOME, everything) == template(name, None, HOME + "/", everything)


@every_template
def test_no_policy_names_a_place_of_logins_tokens_or_keys(name: str) -> None:
    text = template(name, None, HOME, everything)
    secret = (*(f"{HOME}/{path}" for path in CREDENTIALS), *OF_THE_HOST)
    for path in map(at, paths(data(uncommented(text)), "read")):
        above = [other for other in secret if (other + "/").startswith(path.rstrip("/") + "/")]
        within = [other for other in secret if (path + "/").startswith(other + "/")]
        assert (above, within) == ([], [])
    assert paths(data(text), "read") == [p for p in paths(data(uncommented(text)), "read") if p not in EXTRAS]


@every_template
def test_nothing_is_named_twice_or_beneath_something_named(name: str) -> None:
    named = [path for path in paths(data(uncommented(template(name, None, HOME, everything))), "read")]
    assert len(named) == len(set(named))
    assert [one for one in named for other in named if one.startswith(other + "/")] == []
    assert not any(path.startswith(("/usr/", "/bin/", "/lib")) for path in named)  # ${system} has it


@every_template
def test_the_network_is_open_for_an_agent_alone_and_closed_with_two_marks_less(name: str) -> None:
    text = template(name, None, HOME, everything)
    assert data(text).get("network") == (None if name == "agent" else {"allowlist": []})
    assert data(uncommented(text))["network"] == {"allowlist": []}
    assert ("network is open: " in text) is (name == "agent")


@every_template
def test_only_names_without_authority_are_passed_on_and_secrets_are_comments(name: str) -> None:
    text = template(name, None, HOME, everything)
    spec, all_of_it = data(text), data(uncommented(text))
    if name == "minimal":
        assert "credentials" not in all_of_it
        return
    allowed = spec["credentials"]["environment"]["allow"]
    assert allowed and len(allowed) == len(set(allowed))
    assert [word for word in allowed if looks_like_authority(word.encode())] == []
    secrets = set(all_of_it["credentials"]["environment"]["allow"]) - set(allowed)
    assert bool(secrets) is (name == "agent")
    assert all(looks_like_authority(word.encode()) or word.endswith("_PROXY") for word in secrets)
    assert ("RUSTUP_HOME" in allowed) is (name in ("agent", "offline", "rust"))


@every_template
def test_git_settings_need_not_exist_when_they_are_named(name: str) -> None:
    stated = data(template(name, None, HOME, everything))["filesystem"]["read"]["allow"]
    maps = [item for item in stated if isinstance(item, dict)]
    assert maps == ([] if name == "minimal" else [{"path": OPTIONAL, "optional": True}])


@every_template
def test_every_part_is_explained_in_lines_that_fit(name: str) -> None:
    lines = template(name, None, HOME, everything).splitlines()
    assert lines[0].startswith(f"# A starting policy, made from the template `{name}`: ")
    head = " ".join(line[2:] for line in lines[: lines.index("")])
    assert "outside every directory that it lets the program write" in head
    assert all(word in head for word in ("${workdir}", "${home}", "${system}", "left out", "empty list"))
    explained = re.compile(r" +(read|write|network|credentials):| +- ")
    bare = [line for before, line in zip(lines, lines[1:]) if explained.match(line) and not said(before)]
    assert bare == []
    assert all(len(line) <= 100 for line in lines if line.lstrip().startswith("#"))
    assert "SPDX" not in "".join(lines) and all(line == line.rstrip() and line.isascii() for line in lines)


def said(before: str) -> bool:
    """Say whether a line explains the next one: a comment, or an entry under the same comment."""
    return before.lstrip().startswith(("#", "- "))


@pytest.mark.parametrize(
    "workdir",
    ["/a b", '/it"s', "/it's", "/back\\slash", "/two\nlines", "/tab\there", "/x: y # z", "/\u00fcber/\u4e2d",
     "/\U0001f600", "/\u2028\u202e\ufeff\uffff", "/\x7f\x85\x01\x1b", "/{a}", "/a//b/.", "/yes", "/" + "d" * 4000,
     HOME + "/project", "/h/user2", "/h/us"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["agent", "minimal"])
def test_a_directory_of_any_name_is_named_as_it_is(name: str, workdir: str) -> None:
    spec = data(template(name, workdir, HOME, nothing))
    assert paths(spec, "read") == ["${system}", workdir]
    assert paths(spec, "write") == ([] if name == "minimal" else [workdir])


@pytest.mark.parametrize(
    ("workdir", "what"),
    [
        ("", "an empty path"),
        ("here", "is relative"),
        ("~/here", "is relative"),
        ("/a/../b", "contains .."),
        ("/a\0b", "a NUL"),
        ("/pay/$100", "has a $ in it"),
        ("${workdir}", "is relative"),
        ("/\udcff", "is not UTF-8"),
        (HOME, "holds your home directory"),
        (HOME + "/", "holds your home directory"),
        ("//h/./user", "holds your home directory"),
        ("/h", "holds your home directory"),
        ("/", "holds your home directory"),
        ("/usr", "belongs to the system"),
        ("/etc", "belongs to the system"),
        ("/etc/ssl/private", "belongs to the system"),
        ("/dev/shm/x", "belongs to the system"),
    ],
)
def test_a_directory_that_no_policy_should_name_is_refused(workdir: str, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        template("agent", workdir, HOME, everything)
    assert caught.value.where == "--workdir" and what in caught.value.what and caught.value.remedy
    assert "\n" not in str(caught.value)


def test_a_name_that_is_no_template_is_refused_with_those_that_are() -> None:
    for name in ("", "Agent", "agents", "minimal "):
        with pytest.raises(UsageError, match="known are minimal, agent, build, node, python, go, rust, java, offline"):
            template(name, None, HOME, everything)


def test_on_this_host_everything_named_is_there() -> None:
    home = os.path.expanduser("~")
    found: Set[Tuple[str, str]] = set()
    for name in NAMES:
        for path in paths(data(template(name, None, home, os.path.exists)), "read"):
            if path not in ("${system}", "${workdir}"):
                found.add((name, path.replace("${home}", home.rstrip("/"))))
    assert [item for item in sorted(found) if not os.path.exists(item[1])] == []
