# SPDX-FileCopyrightText: 2026 The aasm authors
# SPDX-License-Identifier: Apache-2.0
"""What a program inside the boundary does for real to answer a question about a path, and undoes again.

`PROBE` is the text of that program: `each(questions)` returns "ok" or the name of an errno for each.
"""

from __future__ import annotations

PROBE = """
import errno, json, os, stat, sys

def read(path):
    found = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(os.fstat(found).st_mode):
            os.listdir(found)
        else:
            os.read(found, 1)
    finally:
        os.close(found)

def write(path):
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        return make(path)
    if stat.S_ISDIR(kind):
        return make(path + "/made-by-the-program")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as problem:
        if not (problem.errno == errno.ENXIO and stat.S_ISFIFO(kind)):  # nobody reads it: it could be opened
            raise

def make(path):
    real, made = os.path.realpath(path), []
    above = os.path.dirname(real)
    while not os.path.lexists(above):
        made.append(above)
        above = os.path.dirname(above)
    missing, made = made, []
    try:
        for folder in reversed(missing):
            os.mkdir(folder)
            made.append(folder)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL * (not os.path.islink(path)) | os.O_CLOEXEC))
        made.append(real)
    finally:
        for item in reversed(made):
            os.rmdir(item) if os.path.isdir(item) else os.unlink(item)

def execute(path):
    os.waitpid(os.posix_spawn(path, [path], {}), 0)

WAYS = {"read": read, "write": write, "exec": execute}

def tried(action, path):
    try:
        WAYS[action](path)
    except OSError as problem:
        return errno.errorcode.get(problem.errno, str(problem.errno))
    return "ok"

def each(questions):
    return [tried(action, path) for action, path in questions]
"""
TOLD = PROBE + "sys.stdout.write(json.dumps(each(json.load(sys.stdin))))"
