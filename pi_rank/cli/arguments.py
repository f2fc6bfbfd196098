"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_rank.memory.sources.protocol import SourceSpec

MOST_DIGITS = 18
DEFAULT_ROOT = "~/.pi/agent/pi-memory"


def add_root(parser: argparse.ArgumentParser) -> None:
    """`--root`, the folder of memory files."""
    parser.add_argument("--root", metavar="DIR", help=f"memory root (PI_MEMORY_ROOT, else {DEFAULT_ROOT})")
    parser.add_argument(
        "--trust", action="store_true", help="for this run, use this folder's settings and memory as they are"
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """`--root`, `--store` and `--model`: what an engine is opened with."""
    add_root(parser)
    add_sources(parser)
    add_store_file(parser)
    parser.add_argument(
        "--model",
        default="default",
        metavar="NAME",
        help='embedding model: "default" is the store\'s, at first the shipped one (see `pi-rank models`); '
        '"none" ranks by words only; else a name or a path',
    )


def add_sources(parser: argparse.ArgumentParser) -> None:
    """`--source`: memory in other forms than PI's."""
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="NAME[=PATH]",
        dest="sources",
        help="also read memory of this kind, instead of what config.json names: CLAUDE.md and the like, "
        "notes, MCP memory and others (docs/sources.md); may be given more than once",
    )


def add_store_file(parser: argparse.ArgumentParser) -> None:
    """`--store`."""
    parser.add_argument(
        "--store", metavar="FILE", help="store file (in your cache folder, one for each root)"
    )


def add_daemon(parser: argparse.ArgumentParser) -> None:
    """`--no-daemon`, which `pi_rank.daemon.client` looks for before anything is parsed."""
    parser.add_argument(
        "--no-daemon", action="store_true", help="do the work in this process (see `pi-rank daemon`)"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`: one JSON value on stdout and nothing else."""
    parser.add_argument("--json", action="store_true", help="print one JSON value")


def sources(arguments: argparse.Namespace) -> list[SourceSpec] | None:
    """The sources of `--source`, each where the command was started or of the project there; None for none.

    :raises ConfigError: one of them is none.
    """
    if not getattr(arguments, "sources", None):
        return None
    from pi_rank.sources.registry import parse_spec, usual_places

    folder = working_directory(arguments)
    given = [parse_spec(text, Path.cwd()) for text in arguments.sources]
    return [spec for each in given for spec in usual_places(each, folder)]


def add_min_relevance(parser: argparse.ArgumentParser) -> None:
    """`--min-relevance`: how likely a record must belong."""
    parser.add_argument(
        "--min-relevance",
        type=share,
        metavar="P",
        help="how likely a record must belong, 0 to 1; 0 fills the places (config.json, else the model's)",
    )


def model_name(arguments: argparse.Namespace) -> str | None:
    """The model to open the engine with; None for `--model none`."""
    return None if arguments.model == "none" else arguments.model


def working_directory(arguments: argparse.Namespace) -> str:
    """`--cwd` where the command has it, else the folder the command was started in."""
    return getattr(arguments, "cwd", None) or str(Path.cwd())


def prompt_text(argument: str) -> str:
    """The prompt itself; `-` reads it from stdin, as UTF-8, without its last line break.

    Bytes that are not UTF-8 become U+FFFD, on the command line as on stdin: a turn is never refused for them.
    """
    if argument != "-":
        return os.fsencode(argument).decode("utf-8", "replace") if _has_surrogates(argument) else argument
    if sys.stdin.isatty():
        print(
            "pi-rank: reading the prompt from the terminal; end it with Ctrl-D (Ctrl-Z on Windows)",
            file=sys.stderr,
        )
    text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    return text.removesuffix("\n").removesuffix("\r")


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def date(text: str) -> dt.date:
    """A day as YYYY-MM-DD."""
    try:
        return dt.datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date like 2026-06-30") from None


def whole_number(least: int) -> Callable[[str], int]:
    """A type for whole numbers of at least `least`."""

    def convert(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS or int(text) < least:
            shown = text if len(text) <= MOST_DIGITS else f"{text[:MOST_DIGITS]}…"
            raise argparse.ArgumentTypeError(
                f"{shown!r} is not a whole number of at least {least} with at most {MOST_DIGITS} digits"
            )
        return int(text)

    return convert


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value


def milliseconds(text: str) -> float:
    """A length of time in milliseconds, above zero."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of milliseconds above zero")
    return value
