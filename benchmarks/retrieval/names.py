"""Is the record that holds an identifier first? Forty in three phrasings among 300 others; forty held out."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.retrieval.beir import Collection, write_memory_root
from pi_rank import MemoryEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pi_rank.turn.search import SearchMode

DATA = Path(__file__).parent / "data"
SETS = ("known", "held_out")
OTHERS = 300  # records beside those that are asked for, near neighbours among them
PHRASINGS = (
    "{name}",
    "what do we know about {name}?",
    "The build log of this morning mentions {name} again. What did we decide about it?",
)
RANKINGS: tuple[tuple[str, SearchMode], ...] = (
    ("default", "hybrid"),
    ("default", "lexical"),
    ("rrf", "hybrid"),
)
_TEAMS = ("data", "web", "mail", "search", "mobile", "payments", "identity", "platform", "support", "growth")
_THINGS = (
    "invoice",
    "login",
    "export",
    "image",
    "report",
    "ledger",
    "cache",
    "queue",
    "audit",
    "proxy",
    "cart",
    "feed",
)
_SAYINGS = (
    "The {team} team owns the {thing} service.",
    "Deploys of the {thing} service are announced to the {team} team a day ahead, see RUN-{number}.",
    "The {thing}_{team} table is vacuumed at night; version 2.{number} brought the index.",
)
# What of a name is a word by itself: `get`, `User`, `By`, `Id`.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class Named(NamedTuple):
    """A name, the record that holds it, and records that hold names like it."""

    name: str
    statement: str
    neighbours: list[str]


class Row(NamedTuple):
    """How many of the questions find their record first, and among the first five."""

    names: str
    ranking: str
    mode: str
    asked: str
    questions: int
    first: int
    in_five: int


def main(argv: list[str]) -> int:
    """Prints a table of both sets, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks names", description=__doc__)
    parser.add_argument("--model", default="default", help="an embedding model (%(default)s)")
    parser.add_argument("--misses", action="store_true", help="also print each question that misses")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args(argv)
    rows = [row for names in SETS for row in measure(names, options.model, misses=options.misses)]
    print(json.dumps([row._asdict() for row in rows], indent=2) if options.json else markdown(rows))
    return 0


def read(names: str) -> list[Named]:
    """One set of names."""
    return [Named(*each) for each in json.loads((DATA / f"names_{names}.json").read_text(encoding="utf-8"))]


def collection(names: str) -> Collection:
    """The set's records and OTHERS others, under ids that say nothing; names by the ids of their records."""
    known = read(names)
    others = [statement for each in known for statement in each.neighbours]
    others += islice(_distractors(), OTHERS - len(others))
    corpus = {f"r{number}": text for number, text in enumerate([each.statement for each in known] + others)}
    return Collection(names, corpus, {f"r{number}": each.name for number, each in enumerate(known)}, {})


def _distractors() -> Iterator[str]:
    for number, (saying, team, thing) in enumerate(product(_SAYINGS, _TEAMS, _THINGS)):
        yield saying.format(team=team, thing=thing, number=number % 90 + 10)


def spelled_out(name: str) -> str | None:
    """The words of a name in camelCase or with underscores, as a sentence has them; None for other names."""
    parts = _PART.findall(name)
    words = name.replace("_", "").isalpha() and len(parts) > 1
    return " ".join(part.lower() for part in parts) if words else None


def questions(name: str) -> Iterator[tuple[str, str]]:
    """(how it is asked, the question) for each phrasing of a name, and for its words."""
    for phrasing in PHRASINGS:
        yield "as written", phrasing.format(name=name)
    if words := spelled_out(name):
        yield "in words", f"what do we know about {words}?"


def measure(names: str, model: str, *, misses: bool = False) -> Iterator[Row]:
    """A row for each ranking and each way of asking."""
    asked = collection(names)
    with tempfile.TemporaryDirectory() as folder:
        root = write_memory_root(asked, Path(folder) / "root")
        for ranking, mode in RANKINGS:
            with MemoryEngine.open(
                root, store=Path(folder) / "store", model=model, ranking=ranking
            ) as engine:
                engine.sync()
                ranks = list(_ranks(engine, asked, mode, misses=misses and ranking == "default"))
            for way in ("as written", "in words"):
                own = [rank for asked_in, rank in ranks if asked_in == way]
                yield Row(names, ranking, mode, way, len(own), own.count(1), sum(rank <= 5 for rank in own))


def _ranks(
    engine: MemoryEngine, asked: Collection, mode: SearchMode, *, misses: bool
) -> Iterator[tuple[str, int]]:
    """How each question is asked, and the place of its record: behind all others where it is missing."""
    for right, name in asked.queries.items():
        for way, question in questions(name):
            found = [hit.id for hit in engine.search(question, k=10, mode=mode, abstain=False)]
            rank = found.index(right) + 1 if right in found else len(asked.corpus) + 1
            if misses and rank > 1:
                first = asked.corpus[found[0]] if found else "nothing"
                print(f"{mode}: {question!r} finds its record at {rank}, first {first!r}")
            yield way, rank


def markdown(rows: list[Row]) -> str:
    """The rows as a table."""
    lines = ["| names | ranking | mode | asked | first | in the first five |", "|---|---|---|---|---|---|"]
    for row in rows:
        found = f"{row.first} of {row.questions} | {row.in_five} of {row.questions}"
        lines.append(f"| {row.names} | {row.ranking} | {row.mode} | {row.asked} | {found} |")
    return "\n".join(lines)
