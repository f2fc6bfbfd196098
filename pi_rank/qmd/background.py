"""Starts commands that outlive the process that starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pi_rank
from pi_rank.files.private import open_private

LOG_BYTES = 1 << 20  # past this the log begins anew
BOOT = (
    "import sys; sys.path[:] = sys.argv.pop(1).split(chr(10)); "
    "from pi_rank.qmd.command import main; sys.exit(main())"
)


class Background(subprocess.Popen[bytes]):
    """A process that is not waited for."""

    def __del__(self) -> None:
        """Nothing to warn of: it still runs because it is meant to."""


def start(words: list[str], log: Path, environment: Mapping[str, str]) -> Background:
    """Start a qmd command in a session of its own; what it says goes to the end of `log`.

    :raises OSError: the log cannot be written, or is a link.
    """
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(open_private(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as stream:
        if os.fstat(stream.fileno()).st_size > LOG_BYTES:
            stream.truncate(0)
        return Background(
            own_python(words),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=log.parent,
            start_new_session=True,
            env=dict(environment),
        )


def own_python(words: list[str]) -> list[str]:
    """The command line of a qmd command that outlives this process.

    It gets this process's own sys.path, and nothing of the environment's or the working directory's. The
    package's folder comes last: an editable install is found by a hook, which is no part of sys.path.
    """
    folders = dict.fromkeys([*filter(None, sys.path), str(Path(pi_rank.__file__).resolve().parents[1])])
    return [sys.executable, "-I", "-S", "-c", BOOT, "\n".join(folders), *words]
