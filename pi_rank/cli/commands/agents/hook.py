"""`pi-rank hook AGENT`: stands in a coding agent's hook, and never holds up or blocks a turn."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from pi_rank.agents.event import Event, read_event
from pi_rank.agents.hosts import HOSTS, Host
from pi_rank.cli import arguments as options

if TYPE_CHECKING:
    from pi_rank.agents.recall import Answer
    from pi_rank.engine import MemoryEngine

DEADLINE_MS = 800.0

EPILOG = """\
examples:
  pi-rank install claude-code          puts the command where Claude Code finds it
  echo '{"hook_event_name": "UserPromptSubmit", "prompt": "How do we deploy?"}' | pi-rank hook claude-code

The event is read from stdin, and what the conversation does not hold yet is printed in the agent's own form.
Nothing else is printed and the exit code is always 0: three of the agents take our code for wrong usage, 2,
as an order to drop the prompt. What went wrong is told by `pi-rank installed`. What is not ready within
--deadline-ms of the start of this process is left out.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `hook`."""
    parser.epilog = EPILOG
    parser.add_argument("agent", choices=list(HOSTS), metavar="AGENT", help=", ".join(HOSTS))
    parser.add_argument(
        "--deadline-ms",
        type=options.milliseconds,
        default=DEADLINE_MS,
        metavar="MS",
        help="time for everything, from the start of the process (%(default).0f)",
    )
    parser.add_argument(
        "--max-bytes", type=options.whole_number(0), metavar="N", help="size of the block (the agent's limit)"
    )
    parser.add_argument(
        "--max-records", type=options.whole_number(0), metavar="N", help="records under Selected Memory"
    )
    parser.add_argument(
        "--today", type=options.date, metavar="DATE", help="the day of the turn, in UTC (today)"
    )
    parser.add_argument("--profile", metavar="ID", help="profile id (worked out from the event's folder)")
    options.add_store(parser)
    options.add_daemon(parser)
    parser.set_defaults(run=run, began=None)


def run(arguments: argparse.Namespace) -> int:
    """Answer one event.

    :raises PiRankError: there is no answer; the caller keeps that from the agent.
    """
    until = (arguments.began or time.monotonic()) + arguments.deadline_ms / 1000
    host = HOSTS[arguments.agent]
    event = read_event(sys.stdin.buffer.read(), host)
    arguments.cwd = event.cwd or None
    if event.hook_event_name in host.begin:
        _begin(arguments)
    elif event.hook_event_name in host.recall and event.prompt.strip():
        work = _Work(arguments, event, host, until)
        if arguments.engines is None:
            _do_in_time(work)
        else:
            work.do()
            _write(work)
    return 0


def _begin(arguments: argparse.Namespace) -> None:
    """A session's first event: its prompts will find a warm process."""
    from pi_rank.cli import session

    if arguments.engines is None:
        _start_daemon(arguments)
        return
    with session.opened(arguments) as memory:
        memory.catch_up()
        memory.build_retrieval_context(session.turn(arguments, "What is to be known here?"))


def _do_in_time(work: _Work) -> None:
    """Do the work in a thread that is left behind where it is late; nothing is printed then."""
    work.start()
    work.answered.wait(work.left())
    told = _write(work)
    _start_daemon(work.arguments)
    work.join(work.left())  # it puts files in order for the next start
    if work.is_alive():
        if not told:
            _tell_late(work)
        os._exit(0)  # whatever it still does can be cut off at any moment, as by the agent itself


def _write(work: _Work) -> bool:
    """Print the answer, if there is one in time; whether the work was done.

    :raises BaseException: what went wrong in it.
    """
    if work.error is not None:
        raise work.error
    if work.answer is None:
        return False
    if not work.left():
        _tell_late(work)
    else:
        sys.stdout.buffer.write(work.answer)
        sys.stdout.flush()
    return True


def _tell_late(work: _Work) -> None:
    from pi_rank.agents.failures import keep_failure

    limit = work.arguments.deadline_ms
    keep_failure(f"{work.host.title}: not ready within {limit:.0f} ms; nothing was recalled")


def _start_daemon(arguments: argparse.Namespace) -> None:
    """Start the warm process for the next prompt, where there is none."""
    from pi_rank.daemon import process

    path = None if arguments.no_daemon else process.place()
    if path is not None and process.running(path) is None:
        process.start(path, options.working_directory(arguments))


class _Work(threading.Thread):
    """The turn, in a thread that may be left behind. `answer` is None until there is one."""

    def __init__(self, arguments: argparse.Namespace, event: Event, host: Host, until: float) -> None:
        super().__init__(name="hook", daemon=True)
        self.arguments = arguments
        self.host = host
        self.answered = threading.Event()
        self.answer: bytes | None = None
        self.error: BaseException | None = None
        self._event = event
        self._until = until

    def left(self) -> float:
        """Seconds until it is too late."""
        return max(0.0, self._until - time.monotonic())

    def run(self) -> None:
        """Do it, and keep what goes wrong for the thread that waits."""
        try:
            self.do()
        except BaseException as error:  # it is raised where somebody can tell it
            self.error = error
        finally:
            self.answered.set()

    def do(self) -> None:
        """Find the answer."""
        from pi_rank.agents.answers import in_form
        from pi_rank.cli import session

        with session.opened(self.arguments) as memory:
            memory.catch_up(deadline_ms=self._left_ms())
            self.answer = in_form(self._recalled(memory), self._event, self.host)
            self.answered.set()

    def _recalled(self, memory: MemoryEngine) -> Answer:
        from pi_rank.agents.recall import answer, shown_before
        from pi_rank.cli import session

        arguments = self.arguments
        turn = session.turn(arguments, self._event.prompt)
        return answer(
            lambda max_bytes: memory.build_retrieval_context(
                turn,
                today=arguments.today,
                max_bytes=max_bytes,
                max_records=arguments.max_records,
                deadline_ms=self._left_ms(),
            ),
            lambda: shown_before(self._event, self.host),
            memory.record_statuses,
            self.host.max_bytes if arguments.max_bytes is None else arguments.max_bytes,
        )

    def _left_ms(self) -> float:
        return max(1.0, self.left() * 1000)
