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
    parser.set_defaults(run=run, began=None)


def run(arguments: argparse.Namespace) -> int:
    """Answer one event.

    :raises PiRankError: there is no answer; the caller keeps that from the agent.
    """
    until = (arguments.began or time.monotonic()) + arguments.deadline_ms / 1000
    host = HOSTS[arguments.agent]
    event = read_event(sys.stdin.buffer.read(), host)
    if event.hook_event_name not in host.recall or not event.prompt.strip():
        return 0
    work = _Work(arguments, event, host, until)
    work.start()
    work.answered.wait(max(0.0, until - time.monotonic()))
    written = work.answer
    if written:
        sys.stdout.buffer.write(written)
        sys.stdout.flush()
    work.join(max(0.0, until - time.monotonic()))  # it puts files in order for the next start
    if work.is_alive():
        if not written:
            from pi_rank.agents.failures import keep_failure

            keep_failure(
                f"{host.title}: not ready within {arguments.deadline_ms:.0f} ms; nothing was recalled"
            )
        os._exit(0)  # whatever it still does can be cut off at any moment, as by the agent itself
    if work.error is not None:
        raise work.error
    return 0


class _Work(threading.Thread):
    """The turn, in a thread that may be left behind."""

    def __init__(self, arguments: argparse.Namespace, event: Event, host: Host, until: float) -> None:
        super().__init__(name="hook", daemon=True)
        self.answered = threading.Event()
        self.answer = b""
        self.error: BaseException | None = None
        self._arguments = arguments
        self._event = event
        self._host = host
        self._until = until

    def run(self) -> None:
        try:
            self._run()
        except BaseException as error:  # told by the thread that waits
            self.error = error
        finally:
            self.answered.set()

    def _run(self) -> None:
        from pi_rank.agents.answers import in_form
        from pi_rank.cli import session

        arguments = self._arguments
        arguments.cwd = self._event.cwd or None
        with session.opened(arguments) as memory:
            memory.catch_up(deadline_ms=self._left_ms())
            self.answer = in_form(self._recalled(memory), self._event, self._host)
            self.answered.set()

    def _recalled(self, memory: MemoryEngine) -> Answer:
        from pi_rank.agents.recall import answer, shown_before
        from pi_rank.cli import session

        arguments = self._arguments
        turn = session.turn(arguments, self._event.prompt)
        return answer(
            lambda max_bytes: memory.build_retrieval_context(
                turn,
                today=arguments.today,
                max_bytes=max_bytes,
                max_records=arguments.max_records,
                deadline_ms=self._left_ms(),
            ),
            lambda: shown_before(self._event, self._host),
            memory.record_statuses,
            self._host.max_bytes if arguments.max_bytes is None else arguments.max_bytes,
        )

    def _left_ms(self) -> float:
        return max(1.0, (self._until - time.monotonic()) * 1000)
