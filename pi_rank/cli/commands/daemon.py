"""`pi-rank daemon`: the warm process of this user."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pi_rank.cli import arguments as options
from pi_rank.cli.output import note, print_json
from pi_rank.errors import PiRankError

if TYPE_CHECKING:
    from pi_rank.daemon.request import Request

IDLE_MINUTES = 60
START_SECONDS = 20.0

EPILOG = """\
examples:
  pi-rank daemon status
  pi-rank daemon stop

A hook starts it; `context`, `search`, `batch`, `hook` and `qmd` ask it where it runs, and where it does
not they do the work themselves, with the same answers. It ends after an hour without a question.
PI_RANK_DAEMON=off, or --no-daemon, never asks.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions of `daemon`."""
    parser.epilog = EPILOG
    parser.add_argument("action", choices=["start", "stop", "status", "serve"], metavar="start|stop|status")
    parser.add_argument(
        "--idle-minutes",
        type=options.whole_number(1),
        default=IDLE_MINUTES,
        metavar="N",
        help="end after so long without a question (%(default)s)",
    )
    parser.add_argument("--folder", metavar="DIR", help="where the first question will be asked")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """One of the actions."""
    from pi_rank.daemon import process

    path = process.place()
    if path is None:
        raise PiRankError(
            "there can be no daemon here: it is switched off (PI_RANK_DAEMON), the cache folder's path is "
            "too long for a socket, or this system has no Unix sockets; commands work without one"
        )
    actions = {"start": _start, "stop": _stop, "status": _status, "serve": _serve}
    return actions[arguments.action](arguments, path)


def _start(arguments: argparse.Namespace, path: Path) -> int:
    from pi_rank.daemon import process

    if process.running(path) is None:
        process.start(path, arguments.folder or str(Path.cwd()), arguments.idle_minutes)
        deadline = time.monotonic() + START_SECONDS
        while process.running(path) is None or not path.exists():
            if time.monotonic() > deadline:
                raise PiRankError(f"the daemon did not start; see {process.log_of(path)}")
            time.sleep(process.POLL_SECONDS)
    return _status(arguments, path)


def _stop(arguments: argparse.Namespace, path: Path) -> int:
    from pi_rank.daemon import process

    pid = process.stop(path)
    if arguments.json:
        print_json({"stopped": pid})
    else:
        print("not running" if pid is None else f"stopped (PID {pid})")
    return 0


def _status(arguments: argparse.Namespace, path: Path) -> int:
    from pi_rank.daemon import process

    pid = process.running(path)
    if arguments.json:
        print_json({"running": pid, "socket": str(path), "log": str(process.log_of(path))})
    else:
        print("not running" if pid is None else f"running (PID {pid}), socket {path}")
    return 0


def _serve(arguments: argparse.Namespace, path: Path) -> int:
    from pi_rank.cli.program import main
    from pi_rank.daemon import process
    from pi_rank.daemon.engines import Engines
    from pi_rank.daemon.server import Server
    from pi_rank.files.locks import Held, exclusive

    engines = Engines()
    try:
        with exclusive(process.lock_of(path)):
            server = Server(
                path,
                lambda words, began: main(words, began, engines),
                arguments.idle_minutes * 60.0,
                sys.stderr,
            )
            outdated = server.serve(_first(arguments.folder))
            engines.close()
    except Held as held:
        note(f"already running (PID {held.pid})")
        return 0
    if outdated:
        os.execv(sys.executable, sys.orig_argv)
    return 0


def _first(folder: str | None) -> Request | None:
    """A session's beginning in that folder, which reads what its prompts will need."""
    from pi_rank.daemon.request import Request

    if folder is None or not Path(folder).is_dir():
        return None
    return Request(
        words=["hook", "pi", "--deadline-ms", "600000"],
        environment=dict(os.environ),
        mask=0o077,
        began=time.monotonic(),
        terminals=(False, False),
        stdin=json.dumps({"hook_event_name": "session_start", "cwd": folder}).encode(),
        folder=os.open(folder, os.O_RDONLY),
    )
