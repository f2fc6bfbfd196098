"""Reads a qmd command line: known flags anywhere, and everything else is the query, dashes and all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pi_rank.qmd.errors import QmdError

# Flags by the name that the commands know them under.
VALUES = {
    "-n": "count", "-c": "collection", "--collection": "collection", "--min-score": "min_score",
    "--format": "format", "--name": "name", "--mask": "mask", "--index": "index", "-l": "lines",
    "--from": "from", "--max-bytes": "max_bytes", "--port": "port", "--host": "host", "--intent": "intent",
    "--idle-minutes": "idle_minutes",
    "--token-file": "token_file", "--allow-host": "allow_host",
    "-C": "ignored", "--candidate-limit": "ignored",
}  # fmt: skip
SWITCHES = {
    "--all": "all", "--json": "json", "--csv": "csv", "--md": "md", "--xml": "xml", "--files": "files",
    "--full": "full", "--line-numbers": "line_numbers", "--no-line-numbers": "no_line_numbers",
    "--full-path": "full_path", "--explain": "explain", "--no-rerank": "ignored", "--rerank": "ignored",
    "-f": "force", "--force": "force", "--dry-run": "dry_run", "--http": "http", "--daemon": "daemon",
    "--version": "version", "--wait": "wait", "--on-demand": "on_demand", "--uninstall": "uninstall",
}  # fmt: skip
SEARCHES = ("search", "vsearch", "query")
MANY = 1_000_000  # of `--all`


class Arguments(NamedTuple):
    """A command line. `words`: the command and what follows it. `unknown`: flags that mean nothing here."""

    words: list[str]
    values: dict[str, list[str]]
    switches: frozenset[str]
    unknown: list[str]

    def value(self, name: str) -> str | None:
        """The last value of a flag."""
        return self.values[name][-1] if self.values.get(name) else None

    def number(self, name: str, default: int) -> int:
        """A whole number above zero; anything else, as in qmd, means the default."""
        text = (self.value(name) or "").lstrip("0")
        known = text.isascii() and text.isdigit() and len(text) <= len(str(MANY))
        return int(text) if known and int(text) < MANY else default

    @property
    def min_score(self) -> float:
        """The least score to show; anything that is no number, as in qmd, means 0."""
        try:
            score = float(self.value("min_score") or 0)
        except ValueError:
            return 0.0
        return 0.0 if math.isnan(score) else score

    @property
    def format(self) -> str:
        """The output format.

        :raises QmdError: there is no such format.
        """
        known = ("cli", "json", "csv", "md", "xml", "files")
        named = self.value("format")
        if named is not None and named not in known:
            raise QmdError(f"Unknown --format value: {named}\nValid: {', '.join(known)}")
        return named or next((name for name in known if name in self.switches), "cli")


def parse(argv: Sequence[str]) -> Arguments:
    """The command line, without the program's name.

    After `--` everything is text. A flag that nobody knows belongs to the query where the query has begun,
    where it holds white space (one argument, so a sentence), or where there is nothing else to be the
    query; elsewhere it is left out, and `unknown` names it.
    """
    arguments = Arguments([], {}, frozenset(), [])
    switches: set[str] = set()
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        flag, equals, attached = word.partition("=")
        if word == "--":
            arguments.words.extend(rest)
            break
        if not word.startswith("-") or word == "-":
            arguments.words.append(word)
        elif word in SWITCHES:
            switches.add(SWITCHES[word])
        elif word in ("-h", "--help") and len(arguments.words) < 2:
            switches.add("help")
        elif flag in VALUES and equals and not any(map(str.isspace, flag)):
            arguments.values.setdefault(VALUES[flag], []).append(attached)
        elif word in VALUES and rest:
            arguments.values.setdefault(VALUES[word], []).append(rest.pop(0))
        elif _is_query(word, arguments.words, rest):
            arguments.words.append(word)
        else:
            arguments.unknown.append(word)
    return arguments._replace(switches=frozenset(switches))


def _is_query(word: str, words: list[str], rest: list[str]) -> bool:
    if not words or words[0] not in SEARCHES:
        return False
    return len(words) > 1 or any(map(str.isspace, word)) or not _has_text(rest)


def _has_text(rest: list[str]) -> bool:
    """Whether an argument that is neither a flag nor a flag's value is still to come."""
    skip = False
    for word in rest:
        if skip or word in SWITCHES:
            skip = False
        elif word in VALUES:
            skip = True
        elif word == "--" or not word.startswith("-") or any(map(str.isspace, word)):
            return True
    return False
