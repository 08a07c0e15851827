# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""Starting policies for `aasm policy new`: a commented text that names only what exists on this host.

Asks the host nothing but `exists`, and writes nothing. What may stand in a policy is known elsewhere: a test reads and
validates every text that can come out. No row of a table may name a place where logins, tokens or keys are stored.
"""

from __future__ import annotations

import os
import textwrap
from functools import partial
from typing import Callable, Iterable, Iterator, Mapping, NamedTuple, Optional, Tuple

from ..errors import UsageError
from .node import shown
from .places import command_line_entry

Exists = Callable[[str], bool]
_WIDTH = 100  # of a line of comment
_HOME = "${home}"


class Place(NamedTuple):
    """A path to read and execute, and why. Named only where it exists; `optional`: a launch goes on without it."""

    path: str
    why: str
    optional: bool = False


class Extra(NamedTuple):
    """Paths that some programs need and that have a price: named in a comment, for whoever wants to pay it."""

    paths: Tuple[str, ...]
    why: str
    write: bool = False


class Recipe(NamedTuple):
    """What a template is made of: rows of the tables below, by name."""

    summary: str
    places: Tuple[str, ...] = ()
    variables: Tuple[str, ...] = ()
    extras: Tuple[str, ...] = ()
    write: bool = True
    network: bool = False  # left open
    secrets: bool = False  # named in a comment


# What lies outside ${system}. Never a directory that holds more than programs: no ~/.cargo, ~/.config, ~/.local/share.
_PLACES: Mapping[str, Tuple[Place, ...]] = {
    "host": (Place("/nix/store", "programs and libraries that Nix installed"),),
    "git": (
        Place(
            _HOME + "/.gitconfig",
            "Your own git settings. git finds them with --home real, and ends when it finds and cannot read them; "
            "or through GIT_CONFIG_GLOBAL, below. Look that no token stands in a url there.",
            optional=True,
        ),
    ),
    "user": (Place(_HOME + "/.local/bin", "programs installed for you alone"),),
    "agent": (
        Place(_HOME + "/.local/share/claude/versions", "where ~/.local/bin/claude leads"),
        Place(_HOME + "/.local/share/cursor-agent/versions", "where ~/.local/bin/cursor-agent leads"),
        Place(_HOME + "/.claude/local", "claude, installed by itself; not ~/.claude as a whole: its login lies there"),
        Place(_HOME + "/.opencode/bin", "opencode"),
    ),
    "build": (
        Place("/opt/cmake", "cmake"),
        Place("/opt/rh", "newer compilers of an enterprise system"),
    ),
    "node": (
        Place(_HOME + "/.nvm", "the versions of Node that nvm installed"),
        Place(_HOME + "/.volta/bin", "the programs of volta; VOLTA_HOME, below, says where the rest is"),
        Place(_HOME + "/.volta/tools", "what these programs start"),
        Place(_HOME + "/.local/share/fnm", "the versions of Node that fnm installed"),
        Place(_HOME + "/.npm-global/bin", "what `npm install --global` installed for you alone"),
        Place(_HOME + "/.npm-global/lib", "the packages of these programs; the settings beside them stay out"),
        Place(_HOME + "/.bun/bin", "bun"),
        Place(_HOME + "/.deno/bin", "deno"),
        Place("/opt/node/bin", "Node"),
        Place("/opt/node/lib", "Node"),
    ),
    "python": (
        Place(_HOME + "/.pyenv", "the versions of Python that pyenv built"),
        Place(_HOME + "/.local/share/uv/python", "the versions of Python that uv installed"),
        Place(_HOME + "/.local/share/uv/tools", "the tools that uv installed; the credentials beside them stay out"),
        Place(_HOME + "/.local/share/pipx/venvs", "the tools that pipx installed"),
        Place("/opt/conda/bin", "the Python of conda"),
        Place("/opt/conda/lib", "the Python of conda"),
    ),
    "go": (
        Place("/opt/go", "the Go toolchain"),
        Place(_HOME + "/go/bin", "what `go install` installed"),
        Place(_HOME + "/go/pkg/mod", "the modules that are there already; GOMODCACHE, below, says where"),
    ),
    "rust": (
        Place(_HOME + "/.cargo/bin", "cargo, rustc and their kin; not ~/.cargo as a whole: its tokens lie there"),
        Place(_HOME + "/.rustup", "the toolchains that they start; RUSTUP_HOME, below, says where"),
    ),
    "java": (
        Place(_HOME + "/.sdkman/candidates/java", "the JDKs that sdkman installed"),
        Place(_HOME + "/.sdkman/candidates/gradle", "gradle"),
        Place(_HOME + "/.jdks", "the JDKs that an editor installed"),
        Place("/opt/java", "a JDK"),
        Place("/opt/jdk", "a JDK"),
        *(Place(f"/opt/jdk-{version}", "a JDK") for version in (11, 17, 21, 25)),
        Place("/opt/gradle", "gradle"),
    ),
}

_EXTRAS: Mapping[str, Extra] = {
    "proc": Extra(
        ("/proc",),
        "For tools that list processes or /dev/fd (ps, top), and for programs made with Bun, claude and opencode among "
        "them, which abort without it. The price: command lines of the host's other processes can then be read; their "
        "environment and memory cannot.",
    ),
    "shm": Extra(
        ("/dev/shm",),
        "For multiprocessing of Python, here and under write. The price: what lies there is shared with the whole "
        "host.",
        write=True,
    ),
    "pty": Extra(
        ("/dev/ptmx", "/dev/pts"),
        "For programs that open terminals of their own, here and under write. The price: your other terminals can be "
        "read and written too.",
        write=True,
    ),
    "maven": Extra(
        ("/etc/maven", "/opt/maven"),
        "For the maven of the host. The price: its settings can then be read, and may hold passwords.",
    ),
}

# Environment variables that are no secrets: what for, and their names.
_VARIABLES: Mapping[str, Tuple[str, Tuple[str, ...]]] = {
    "agent": (
        "your editor, and switches of agents",
        ("EDITOR", "VISUAL", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "COPILOT_AUTO_UPDATE"),
    ),
    "trust": (
        "certificates of your own; the file that they name needs an entry in the read list",
        ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
    ),
    "git": ('GIT_CONFIG_GLOBAL="$HOME/.gitconfig" lets git find your settings', ("GIT_CONFIG_GLOBAL",)),
    "build": (
        "compilers and their flags",
        ("CC", "CXX", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH"),
    ),
    "node": ('volta needs VOLTA_HOME="$HOME/.volta": inside, HOME is another one', ("NODE_ENV", "VOLTA_HOME")),
    "python": (
        "the environment that is active, and where the versions of Python are",
        ("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION", "UV_PYTHON_INSTALL_DIR"),
    ),
    "go": (
        'GOMODCACHE="$HOME/go/pkg/mod" uses the modules that are there already',
        ("GOROOT", "GOMODCACHE", "GOFLAGS", "GOOS", "GOARCH", "CGO_ENABLED"),
    ),
    "rust": (
        'cargo and rustc of rustup need RUSTUP_HOME="$HOME/.rustup": inside, HOME is another one',
        ("RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "CARGO_TARGET_DIR", "RUST_BACKTRACE"),
    ),
    "java": ("the JDK that is wanted", ("JAVA_HOME",)),
}

_SECRETS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GITHUB_TOKEN", "HTTPS_PROXY")

_TOOLCHAINS = ("node", "python", "go", "rust", "java")
_OF_AGENTS = ("git", "user", "agent", "build", *_TOOLCHAINS)
_EXTRAS_OF_AGENTS = ("proc", "shm", "pty", "maven")

_RECIPES: Mapping[str, Recipe] = {
    "minimal": Recipe("reads one directory and the host's programs, writes nothing, no network", write=False),
    "agent": Recipe(
        "an agent at work in one directory, with the toolchains of this host and an open network",
        _OF_AGENTS, ("agent", "trust", "git", *_TOOLCHAINS), _EXTRAS_OF_AGENTS, network=True, secrets=True,
    ),
    "build": Recipe(
        "gcc, make, cmake and the like at work in one directory, no network",
        ("git", "build"), ("git", "build"), ("proc",),
    ),
    "node": Recipe(
        "Node and npm at work in one directory, no network", ("git", "node"), ("git", "node"), ("proc",)
    ),
    "python": Recipe(
        "Python and pip at work in one directory, no network",
        ("git", "user", "python"), ("git", "python"), ("proc", "shm"),
    ),
    "go": Recipe("Go at work in one directory, no network", ("git", "go"), ("git", "build", "go"), ("proc",)),
    "rust": Recipe(
        "cargo and rustc at work in one directory, no network", ("git", "rust"), ("git", "build", "rust"), ("proc",)
    ),
    "java": Recipe(
        "Java, maven and gradle at work in one directory, no network",
        ("git", "java"), ("git", "java"), ("proc", "maven"),
    ),
    "offline": Recipe(
        "an agent, or any program, at work in one directory with the toolchains of this host, no network",
        _OF_AGENTS, ("agent", "git", *_TOOLCHAINS), _EXTRAS_OF_AGENTS,
    ),
}  # fmt: skip

# Name -> what it is for, in one line; in the order in which they are listed.
TEMPLATES: Mapping[str, str] = {name: recipe.summary for name, recipe in _RECIPES.items()}


def template(name: str, workdir: Optional[str], home: str, exists: Exists) -> str:
    """Return the text of a policy (YAML) made from the template `name` for this host.

    `workdir` is the absolute path of the directory to work in, None for whichever a launch starts in. `home` is the
    user's home, "" where none is known. `exists` says whether something lies at an absolute path. Raises UsageError
    for a name that is none, and for a directory that no policy can name or that holds the home.
    """
    recipe = _RECIPES.get(name)
    if recipe is None:
        raise UsageError(f"{shown(name)} is not a template", "--template", f"known are {', '.join(TEMPLATES)}")
    work = "${workdir}" if workdir is None else _checked(workdir, home)
    here = partial(_existing, home, exists)
    places = [item for kind in ("host", *recipe.places) for item in _PLACES[kind] if here(item.path)]
    offered = [_EXTRAS[kind] for kind in recipe.extras]
    offered = [extra._replace(paths=tuple(filter(here, extra.paths))) for extra in offered]
    extras = [extra for extra in offered if extra.paths]
    lines = [
        *_head(name, recipe),
        *_read(work, places, extras),
        *(_write(work, extras) if recipe.write else _write_nothing()),
        *_network(recipe),
        *_variables(recipe),
    ]
    return "\n".join(lines) + "\n"


def _existing(home: str, exists: Exists, path: str) -> bool:
    """Say whether a path of the tables exists; with no home known, nothing in it does."""
    if not path.startswith(_HOME):
        return exists(path)
    return bool(home) and exists(home.rstrip("/") + path[len(_HOME) :])


def _checked(workdir: str, home: str) -> str:
    """Return `workdir` when a policy can name it, and when it is not the home or a directory above it."""
    command_line_entry(workdir, "--workdir")
    problem = ""
    if "$" in workdir:
        problem = "has a $ in it, which begins a placeholder in a policy"
    elif any("\ud800" <= char <= "\udfff" for char in workdir):
        problem = "is not UTF-8, as a policy is"
    elif home and _as_folder(home).startswith(_as_folder(workdir)):
        problem = "holds your home directory, with every login and key in it"
    elif _as_folder(workdir) in _SYSTEM or _as_folder(workdir).startswith(_NEVER):
        problem = "belongs to the system, and its files are no work"
    if problem:
        raise UsageError(f"{shown(workdir)} {problem}", "--workdir", "name a directory made for the work")
    return workdir


# Directories of the system (hier(7)) in which nobody works: those alone, and those with all that is beneath them.
_SYSTEM = tuple(f"/{name}/" for name in ("usr", "bin", "sbin", "lib", "lib64", "var", "opt", "srv", "home"))
_NEVER = tuple(f"/{name}/" for name in ("etc", "boot", "proc", "sys", "dev", "run"))


def _as_folder(path: str) -> str:
    return os.path.normpath("/" + path.strip("/")).rstrip("/") + "/"


def _head(name: str, recipe: Recipe) -> Iterator[str]:
    yield from _comment(0, f"A starting policy, made from the template `{name}`: {recipe.summary}.")
    yield "#"
    yield from _comment(
        0,
        "Read it through, take out what you do not need, add what is missing: a path that no list names cannot be "
        "opened. Keep this file outside every directory that it lets the program write. There the program could "
        "change it for the next run, so a launch with it does not start.",
    )
    yield "#"
    yield from _comment(
        0,
        "Paths are absolute and stand for all that lies beneath them. ${workdir} is the directory in which the "
        "program starts, ${home} your home directory, ${system} the host's programs and libraries with the few files "
        "of /etc that every program needs. Where filesystem or network is left out, nothing about it is restricted; an "
        "empty list, [], gives nothing.",
    )
    yield "#"
    yield "#     aasm run exec --isolation process --policy FILE -- PROGRAM"
    yield ""
    yield from ("apiVersion: agent-assembly/v1", "kind: Policy", "metadata:", f"  name: {name}")
    yield f"  description: {_quoted(recipe.summary)}"
    yield "spec:"


def _read(work: str, places: Iterable[Place], extras: Iterable[Extra]) -> Iterator[str]:
    yield "  filesystem:"
    yield from _comment(4, "What may be read and executed; writing is stated apart, below.")
    yield from ("    read:", "      allow:")
    yield from _comment(8, "the host's programs and libraries")
    yield _item("${system}")
    yield from _comment(8, _WORK)
    yield _item(work)
    said = ""
    for place in places:
        if place.why != said:
            yield from _comment(8, place.why)
        said = place.why
        yield _item(place.path, place.optional)
    for extra in extras:
        yield from _comment(8, extra.why)
        yield from map(_item_in_comment, extra.paths)


_WORK = "the directory to work in"
_WRITE = "What may be written. HOME and TMPDIR are a private directory of each run and need no entry."
_LEFT = "A program can leave hooks, build scripts and settings here: look before you run them outside."


def _write(work: str, extras: Iterable[Extra]) -> Iterator[str]:
    yield from _comment(4, f"{_WRITE} {_LEFT}")
    yield from ("    write:", "      allow:", *_comment(8, _WORK), _item(work))
    paths = [path for extra in extras if extra.write for path in extra.paths]
    if paths:
        yield from _comment(8, "see above")
    yield from map(_item_in_comment, paths)


def _write_nothing() -> Iterator[str]:
    yield from _comment(4, f"{_WRITE} Nothing else can be written.")
    yield from ("    write:", "      allow: []")


_OPEN = (
    "The network is open: an agent must reach its model, and this release can close the network only as a whole. So "
    "whatever the program can read, it can also send away. To close it, take the # off these two lines, or use the "
    "template `offline`."
)
_CLOSED = (
    "No host can be reached: an empty list leaves no socket but connected pairs between the program's own processes. "
    "Without this section the network is open."
)


def _network(recipe: Recipe) -> Iterator[str]:
    yield from _comment(2, _OPEN if recipe.network else _CLOSED)
    mark = "# " if recipe.network else ""
    yield from (f"  {mark}network:", f"  {mark}  allowlist: []")


def _variables(recipe: Recipe) -> Iterator[str]:
    if not recipe.variables:
        return
    yield from _comment(
        2,
        "Environment variables that the program gets where they are set, beside PATH, LANG, TERM and the like. All "
        "others stay outside; --env can name no other.",
    )
    yield from ("  credentials:", "    environment:", "      allow:")
    for why, names in (_VARIABLES[kind] for kind in recipe.variables):
        yield from _comment(8, why)
        yield from (f"        - {name}" for name in names)
    if recipe.secrets:
        why = "Secrets, a proxy's address among them: take the # off what the program cannot do without. It can send "
        yield from _comment(8, f"{why}them away.")
        yield from (f"        # - {name}" for name in _SECRETS)


def _comment(indent: int, text: str) -> Iterable[str]:
    begin = " " * indent + "# "
    return textwrap.wrap(
        text, _WIDTH, initial_indent=begin, subsequent_indent=begin, break_long_words=False, break_on_hyphens=False
    )


def _item(path: str, optional: bool = False) -> str:
    text = _quoted(path)
    return f"        - {{path: {text}, optional: true}}" if optional else f"        - {text}"


def _item_in_comment(path: str) -> str:
    return f"        # - {_quoted(path)}"


def _quoted(text: str) -> str:
    """Return `text` in the double quotes of YAML; what does not print is escaped (YAML 1.2.2, section 5.7)."""
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    return char if char.isprintable() else f"\\U{ord(char):08x}"
