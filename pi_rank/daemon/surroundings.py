"""Runs a command in this process as if it were the client's: its folder, environment, umask and standard
streams.

All of these belong to the whole process, so one command runs at a time.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pi_rank.daemon.request import Request

Run = Callable[[list[str], float], int]


class _Caught(io.BytesIO):
    """What a command writes, for a reader that is a terminal or none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def answered(request: Request, run: Run) -> tuple[int, bytes, bytes]:
    """(exit code, stdout, stderr) of a command."""
    out, err = map(_Caught, request.terminals)
    before = sys.stdin, sys.stdout, sys.stderr
    streams = [io.TextIOWrapper(each, encoding="utf-8", write_through=True) for each in (out, err)]
    sys.stdin = io.TextIOWrapper(io.BytesIO(request.stdin), encoding="utf-8")
    sys.stdout, sys.stderr = streams
    try:
        with _placed(request):
            code = run(request.words, request.began)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in streams:
            stream.flush()
    return code, out.getvalue(), err.getvalue()


@contextmanager
def _placed(request: Request) -> Iterator[None]:
    here = os.open(".", os.O_RDONLY)
    variables = dict(os.environ)
    mask = os.umask(request.mask)
    try:
        os.fchdir(request.folder)
        _become(request.environment)
        yield
    finally:
        _become(variables)
        os.umask(mask)
        os.fchdir(here)
        os.close(here)


def _become(variables: dict[str, str]) -> None:
    """Make these the environment; only what differs is touched."""
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    for name, value in variables.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
