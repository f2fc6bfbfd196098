"""A user of a daemon: a home with a short name (a socket's path has a limit).

And commands in processes of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import pi_rank
from pi_rank.daemon import process
from pi_rank.daemon.client import socket_path

PACKAGE = Path(pi_rank.__file__).parent
SAMPLE = PACKAGE / "sample"
# Asks the daemon alone: whoever got no answer of it ends with 99.
ASK = """
import sys, time
sys.path.append({folder!r})
from pi_rank.daemon import client
code = client.answer(sys.argv[1:], time.monotonic())
sys.exit(99 if code is None else code)
"""


class Ran(NamedTuple):
    code: int
    out: bytes
    err: bytes


class User:
    """One user, in a folder of a project."""

    def __init__(self, home):
        self.home = home
        self.folder = home / "orchard-api"
        self.folder.mkdir()
        shutil.copytree(SAMPLE, home / "memory")
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PI_MEMORY_ROOT": str(home / "memory"),
            "LANG": "C.UTF-8",
        }
        self.socket = Path(socket_path(self.environment))

    def run(self, *words, stdin=b"", cwd=None, **environment):
        """A command as it is started in a hook."""
        return self._run([str(PACKAGE / "launch.py"), *words], stdin, cwd, environment)

    def ask(self, *words, stdin=b"", cwd=None, **environment):
        """What the daemon says; code 99 where it says nothing."""
        return self._run(["-c", ASK.format(folder=str(PACKAGE.parent)), *words], stdin, cwd, environment)

    def _run(self, arguments, stdin, cwd, environment):
        done = subprocess.run(
            [sys.executable, "-I", "-S", *arguments],
            input=stdin,
            capture_output=True,
            cwd=cwd or self.folder,
            env={**self.environment, **environment},
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @property
    def pid(self):
        return process.running(self.socket)


@pytest.fixture(scope="module")
def user():
    """A user without a daemon, which is stopped in any case."""
    with tempfile.TemporaryDirectory(prefix="pi") as home:
        made = User(Path(home).resolve())
        yield made
        process.stop(made.socket)
        if made.socket.parent.exists():
            shutil.rmtree(made.socket.parent)


@pytest.fixture(scope="module")
def warm(user):
    """A user whose daemon has read the memory."""
    assert user.run("qmd", "collection", "add", str(user.home / "memory" / "daily"), "--name", "d").code == 0
    assert user.run("daemon", "start").code == 0
    until(lambda: user.ask("context", "How do we deploy?").code == 0)
    return user


def until(condition, seconds=60.0):
    """Wait until it is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)
