"""`pi-rank participant`: ask command-line agents, each turn with what memory holds for it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pi_rank.cli import arguments as options
from pi_rank.cli.output import note, print_json
from pi_rank.errors import ConfigError

if TYPE_CHECKING:
    from pi_rank.recall.participants.conversation import OnResult, Transcript
    from pi_rank.recall.participants.participants import Participant, TurnResult
    from pi_rank.recall.types import MemoryPolicy

OK, FAILED, USAGE = 0, 1, 2
EPILOG = """\
examples:
  pi-rank participant ask "Why is the build red?" --participant 'claude=claude -p'
  pi-rank participant exchange "Is it sound?" --participant 'a=claude -p' --participant 'b=codex exec -'
  pi-rank participant convene "Which database?" --participant ... --participant ... \\
      --moderator 'm=claude -p' --memory-url http://127.0.0.1:8001

A participant is NAME=COMMAND. The command is run without a shell; it is given the context, a blank line
and the prompt on its standard input, and what it prints is its answer. What others said, and what memory
holds, is in the context, fenced as data. Exit codes: 0 everybody answered; 1 a participant was not available,
failed or said nothing; 2 the configuration was refused. Memory that fails changes neither the turn nor the
exit code. --json prints the whole conversation as one JSON value.
"""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare `ask`, `exchange` and `convene`."""
    parser.epilog = EPILOG
    modes = parser.add_subparsers(metavar="MODE", required=True, parser_class=type(parser))
    for name, summary in (
        ("ask", "one participant, one turn"),
        ("exchange", "one answers, a second answers knowing what the first said"),
        ("convene", "a panel in rounds, with an optional moderator"),
    ):
        mode = modes.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        mode.epilog = EPILOG
        _add_options(mode)
        if name == "convene":
            mode.add_argument("--rounds", type=options.whole_number(1), default=2, metavar="N")
            mode.add_argument(
                "--moderator", type=_named_command, metavar="NAME=COMMAND", help="sums up at the end"
            )
        mode.set_defaults(run=run, mode=name)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", metavar="QUESTION", help="what is asked; - reads it from stdin")
    parser.add_argument(
        "--participant",
        type=_named_command,
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        required=True,
    )
    parser.add_argument(
        "--context", default="", metavar="TEXT", help="framing that every participant is given"
    )
    parser.add_argument("--topic", metavar="ID", help="id of the conversation (a new one)")
    parser.add_argument(
        "--timeout", type=_seconds, default=600.0, metavar="SECONDS", help="for one turn (600)"
    )
    parser.add_argument("--transcript", metavar="FILE", help="append each result to this file, as JSON lines")
    options.add_json(parser)
    memory = parser.add_argument_group("memory")
    memory.add_argument(
        "--memory-url", metavar="URL", help="https origin, or http://127.0.0.1:PORT; none by default"
    )
    memory.add_argument("--memory-token-file", metavar="FILE", help="bearer token of the memory service")
    memory.add_argument("--memory-timeout", type=_seconds, metavar="SECONDS", help="for one recall (2)")
    memory.add_argument("--memory-top-k", type=options.whole_number(1), metavar="N", help="hits a turn (3)")
    memory.add_argument(
        "--memory-max-chars", type=options.whole_number(1), metavar="N", help="of a block (4096)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Hold the conversation and print it."""
    try:
        question = options.prompt_text(arguments.question)
        wrap = _memory(arguments)
        seats = [wrap(_participant(named, arguments)) for named in arguments.participant]
        _check_seats(arguments.mode, len(seats))
        with _transcript(arguments.transcript) as on_result:
            held = asyncio.run(_hold(arguments, question, seats, wrap, on_result))
    except ConfigError as error:
        print(f"pi-rank participant: {error}", file=sys.stderr)
        return USAGE
    _print(held, as_json=arguments.json)
    return OK if held.succeeded else FAILED


async def _hold(
    arguments: argparse.Namespace,
    question: str,
    seats: list[Participant],
    wrap: Callable[[Participant], Participant],
    on_result: OnResult,
) -> Transcript:
    from pi_rank.recall.participants import conversation

    topic = arguments.topic or conversation.new_topic()
    context = arguments.context
    if arguments.mode == "ask":
        return await conversation.ask(
            question, seats[0], topic_id=topic, context=context, on_result=on_result
        )
    if arguments.mode == "exchange":
        return await conversation.exchange(
            question, seats[0], seats[1], topic_id=topic, context=context, on_result=on_result
        )
    moderator = wrap(_participant(arguments.moderator, arguments)) if arguments.moderator else None
    return await conversation.convene(
        question,
        seats,
        topic_id=topic,
        rounds=arguments.rounds,
        moderator=moderator,
        context=context,
        on_result=on_result,
    )


def _check_seats(mode: str, count: int) -> None:
    expected = {"ask": 1, "exchange": 2}.get(mode, count)
    if count != expected:
        raise ConfigError(f"{mode} takes {expected} --participant, got {count}")


def _participant(named: tuple[str, list[str]], arguments: argparse.Namespace) -> Participant:
    from pi_rank.recall.participants.command import CommandParticipant

    name, command = named
    return CommandParticipant(name, command, timeout=arguments.timeout)


def _memory(arguments: argparse.Namespace) -> Callable[[Participant], Participant]:
    """What puts memory around a participant, or leaves it as it is.

    :raises ConfigError: a memory option without --memory-url, or with a value that is not usable.
    """
    given = [name for name in _TUNING if getattr(arguments, name) is not None]
    if arguments.memory_url is None:
        if given:
            raise ConfigError(f"--{given[0].replace('_', '-')} needs --memory-url")
        return lambda participant: participant
    if find_spec("h11") is None:
        raise ConfigError("--memory-url needs h11: pip install 'pi-rank[serve]'")
    from pi_rank.recall.client.client import RemanentiaHttpRecall
    from pi_rank.recall.participants.participants import MemoryAugmentedParticipant

    policy = _policy(arguments)
    recall = RemanentiaHttpRecall(arguments.memory_url, arguments.memory_token_file, policy.timeout_seconds)
    return lambda participant: MemoryAugmentedParticipant(participant, recall, policy)


_TUNING = ("memory_token_file", "memory_timeout", "memory_top_k", "memory_max_chars")


def _policy(arguments: argparse.Namespace) -> MemoryPolicy:
    from pi_rank.recall.types import MemoryPolicy

    given = {
        "timeout_seconds": arguments.memory_timeout,
        "top_k": arguments.memory_top_k,
        "max_chars": arguments.memory_max_chars,
    }
    return MemoryPolicy(**{name: value for name, value in given.items() if value is not None})


@contextmanager
def _transcript(file: str | None) -> Iterator[OnResult]:
    """What writes each result down as soon as it is there, so that a conversation cut short is not lost."""
    if file is None:
        yield lambda result: None
        return
    try:
        # Its owner's alone: it holds what was asked and answered.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise ConfigError(f"the transcript file cannot be opened: {error.strerror}") from None
    with os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as out:

        def write(result: TurnResult) -> None:
            out.write(json.dumps(result, ensure_ascii=False) + "\n")
            out.flush()

        yield write


def _print(held: Transcript, *, as_json: bool) -> None:
    if as_json:
        print_json(held.to_dict())
        return
    for turn in held.turns:
        if turn["is_error"] or turn["abstained"]:
            note(f"{turn['participant']}: {turn['reason']}")
            continue
        if held.mode != "ask":
            print(f"==== {_printable(turn['participant'])} ====")
        print(_printable(turn["answer"]))


def _printable(text: str) -> str:
    """Text that cannot steer the terminal."""
    return _CONTROL.sub("\ufffd", text)


def _named_command(text: str) -> tuple[str, list[str]]:
    name, separator, command = text.partition("=")
    try:
        words = shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None
    if not name.strip() or not separator or not words:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=COMMAND")
    return name.strip(), words


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above zero")
    return value
