# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tools can do to the world, reviewed, in the form of tools/tree_reviewed.py.

No tool is a part of what runs; each of them runs on the host of who works on this tree, and with that user's rights.
"""

from __future__ import annotations

from typing import Tuple

from tree_reviewed import Row

PROCESSES = (
    Row("tools/try_copy.py", "process", "subprocess.run", "Trial.run", "the copy that is tried, and sha256sum and jq"),
    Row("tools/try_copy.py", "code", "`-c`", "previews confines carries_an_order_out", "its own texts"),
    Row("tools/check.py tools/pythons.py", "process", "subprocess.Popen subprocess.run",
        "_supervised describe _install_step", "the tests and checks, each Python to ask what it is, venv and pip"),
    Row("tools/pythons.py", "code", "`-c`", "describe", "the question PROBE beside it"),
    Row("tools/check.py", "signal", "os.killpg", "end", "a test run that takes too long, or was interrupted"),
    Row("tools/project.py", "process", "subprocess.run", "git", "git, to list and to ask"),
    Row("tools/project.py", "code", "`-c`", "git", "an option of git, no program"),
    Row("tools/tree_pythons.py", "process", "subprocess.Popen", "Asked._started",
        "each Python of the host, with tools/tree_child.py"),
    Row("tools/gen_yaml_cases.py", "process", "subprocess.Popen", "Readers.__init__",
        "a YAML reader of another language"),
    Row("tools/try_templates.py", "process", "subprocess.run", "attempt",
        "programs of this host, each under a boundary"),
    Row("tools/bench/policy.py tools/bench/copies.py", "process", "subprocess.Popen subprocess.run",
        "Bench.take Bench.imports _spawned launched", "what is measured"),
    Row("tools/bench/policy.py", "code", "`-c`", "Bench.take Bench.interpreter Bench.commands", "its own texts"),
)  # fmt: skip

FILES = (
    Row("tools/try_copy.py", "write", "tempfile.TemporaryDirectory os.mkdir open",
        "_tried Trial._folder Trial._file carries_an_order_out",
        "scratch, in a temporary directory"),
    Row("tools/vendor.py", "write", "os.rename", "write",
        "a new copy in the directory that the caller names, under another name first"),
    Row("tools/archives.py", "write", "zipfile.ZipFile .writestr tarfile.open", "zip_bytes tar_gz_bytes",
        "archives in memory"),
    Row("tools/archives.py", "write", "open os.fchmod os.replace os.unlink", "write_all write_new _remove",
        "files, under other names first, where the caller says"),
    Row("tools/command.py tools/try_copy.py", "write", "os.open", "_failed main",
        "/dev/null, for an output that is gone"),
    Row("tools/build_backend.py tools/build.py", "write", "os.makedirs", "prepare_metadata_for_build_wheel write",
        "the directory that the caller names"),
    Row("tools/written.py", "write", "os.mkdir os.chmod os.rmdir os.unlink", "Written.folder remove",
        "new files and folders where the caller says; takes them away again"),
    Row("tools/check.py tools/pythons.py", "write",
        "open os.makedirs os.chmod shutil.rmtree tempfile.mkdtemp tempfile.TemporaryFile",
        "run_suite _supervised environment create", "environments under .venv-check/, scratch of the tests"),
    Row("tools/generated.py", "write", "os.makedirs .unlink", "_put", "the generated files of this tree"),
    Row("tools/try_templates.py tools/bench/copies.py tools/bench/policy.py", "write",
        "tempfile.TemporaryDirectory shutil.copytree .mkdir .write_text .write_bytes",
        "attempt main copies Bench.files Bench.commands", "scratch, in a temporary directory"),
)  # fmt: skip

IMPORTS = (
    Row("tools/try_copy.py", "import", "sys.dont_write_bytecode", "Trial.run carries_an_order_out",
        "passes on whether compiled files are to be written"),
    Row("tools/bench/copies.py tools/bench/policy.py tools/build.py tools/check.py tools/check_tree.py "
        "tools/gen_audit_guide.py tools/gen_completions.py tools/gen_policy_docs.py tools/gen_syscalls.py "
        "tools/gen_yaml_cases.py tools/golden.py tools/install.py tools/sbom.py tools/try_templates.py tools/vendor.py "
        "tools/verify_release.py",
        "import", "sys.path", "(top)", "puts this tree on the import path"),
    Row("tools/zip_main.py", "import", "sys.path", "(top)", "takes aasm.pyz, of which it is the start, off the path"),
    Row("tools/gen_completions.py tools/gen_policy_docs.py", "import", "importlib.import_module", "parser _taken",
        "a subcommand's module by its name"),
    Row("tools/gen_yaml_cases.py", "import", "importlib.import_module", "Readers.__init__",
        "YAML readers that are no requirement of this project, where they are installed"),
    Row("tools/check.py", "import", "importlib.util", "run_checks", "asks whether a linter is installed"),
    Row("tools/tree_child.py", "import", "__import__ importlib.import_module sys.modules sys.path",
        "(top) loaded import_all tell", "imports the package and tells what that loaded: that is what it is for"),
    Row("tools/install.py", "import", "importlib.util", "_compiled", "the form of compiled files"),
    Row("tools/install.py", "code", "compile marshal.dumps", "_compiled", "compiles what it installs; runs none"),
    Row("tools/tree_child.py", "code", "compile", "compile_all", "compiles every file and runs none"),
    Row("tools/tree_child.py", "hidden", ".__spec__", "loaded", "asks a module where it came from"),
)  # fmt: skip

OF_THE_PROCESS = (
    Row("tools/command.py tools/try_copy.py", "state", "os.dup2 signal.signal", "_failed main _interruptible",
        "standard output to /dev/null once it is gone; an end that was asked for is an interrupt"),
    Row("tools/check.py", "state", "os.umask", "main", "for tests that drop to another user"),
    Row("tools/check.py tools/pythons.py tools/try_templates.py", "environment", "os.environ",
        "parsed _install_step host", "expectations for the suite; a copy for pip; where programs are looked for"),
    Row("tools/verify_release.py", "environment", "os.environ", "verify",
        "SOURCE_DATE_EPOCH, as the release states it"),
    Row("tools/zip_main.py", "state", "_signal.signal", "(top)", "an interrupt ends us without a traceback"),
    Row("tools/check_tree.py", "state", "gc.disable sys.dont_write_bytecode", "(top) main",
        "leaves no compiled files in the tree that it looks at; syntax trees are no garbage"),
    Row("tools/tree_child.py", "state", "sys.stdout", "main", "once its answer cannot be written, nothing tries again"),
    Row("tools/command.py", "thread", "threading threading.current_thread threading.main_thread",
        "(top) _interruptible", "asks whether it is in the main thread, where alone signals are handled; starts none"),
    Row("tools/command.py", "state", "contextlib.redirect_stdout", "run",
        "standard output whose errors have a name, for the time of one command"),
    Row("tools/check.py tools/pythons.py", "thread",
        "concurrent concurrent.futures.ThreadPoolExecutor threading threading.Event threading.Lock",
        "(top) run_pythons", "one Python beside the other; a test that was interrupted; one printer at a time"),
    Row("tools/gen_completions.py tools/gen_policy_docs.py", "hidden",
        "._actions ._expand_help ._get_formatter ._group_actions ._mutually_exclusive_groups",
        "command _option _beside _taken", "argparse: which options a parser has, and their help"),
    Row("tools/spdx.py", "hidden", ".format", "document", "names of the SBOM's parts, from the table in that file"),
    Row("tools/tree.py", "hidden", "type", "Tree.nodes", "nodes of a syntax tree, in order of their classes"),
    Row("tools/bench/copies.py tools/check.py tools/golden.py tools/project.py tools/tree.py", "hidden",
        "getattr resource", "main together summary parsed (top) _statements every",
        "fields by the names in a table beside the line"),
    Row("tools/gen_completions.py tools/gen_policy_docs.py", "hidden", "argparse._AppendAction argparse._HelpAction",
        "_beside _taken", "which options may be repeated, and which are for help"),
)  # fmt: skip

REVIEWED_TOOLS: Tuple[Row, ...] = (*PROCESSES, *FILES, *IMPORTS, *OF_THE_PROCESS)
