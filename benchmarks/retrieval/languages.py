"""Questions and records in ten languages: what a model, and the blend, find in one and across."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from benchmarks.retrieval.beir import Collection, write_memory_root
from benchmarks.tables import table
from models.e5_small import common_parts, read_texts
from pi_rank import MemoryEngine
from pi_rank.embedding import cards, load_embedder
from pi_rank.embedding.registry import find_card

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pi_rank.embedding import Embedder

ENGLISH = "en"
EPILOG = """\
Twenty facts, each with a record and a question in ten languages (benchmarks/retrieval/data/languages.jsonl),
asked of memories of ten records. "same": a memory of one language, asked in it. "English asks": the record of
the fact is in another language, all others are in English; "English answers": the other way about. A model of
whose vectors a part is taken away (common.npy) is judged on ten facts by what the other ten showed, and the
other way about.
"""


class Asked(NamedTuple):
    """A memory of records by id, a question, and the id of the record that answers it."""

    kind: str
    corpus: dict[str, str]
    question: str
    answer: str


class HeldOut:
    """A model with what other facts than those that are asked for showed to be common taken away."""

    def __init__(self, bare: Embedder, rows: list[dict[str, Any]], facts: set[str]) -> None:
        seen = [row for row in rows if row["fact"] not in facts]
        queries = np.array([bare.embed_query(row["question"]) for row in seen])
        documents = bare.embed_documents([row["record"] for row in seen])
        self._common = common_parts(queries, documents, np.array([row["language"] for row in seen]))
        self._bare = bare
        self.model_id = f"{bare.model_id}-without-{'-'.join(sorted(facts))}"
        self.dimension = bare.dimension

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._without(self._bare.embed_query(text), self._common[0])

    def embed_documents(self, texts: Any, progress: Any = None) -> NDArray[np.float32]:
        return self._without(self._bare.embed_documents(texts, progress), self._common[1])

    def _without(self, vectors: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
        moved = vectors - mean
        moved = moved - (moved @ self._common[2:].T) @ self._common[2:]
        found: NDArray[np.float32] = moved / np.linalg.norm(moved, axis=-1, keepdims=True)
        return found


def main(argv: list[str]) -> int:
    """Prints, for each model, kind of question and ranking, how often the record is first and among five."""
    options = _parser().parse_args(argv)
    rows = read_texts()
    found = [
        {"model": model, **line} for model in options.model for line in measure(model, rows, options.ranking)
    ]
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print(table(list(found[0]), [[str(value) for value in line.values()] for line in found]))
    return 0


def measure(model: str, rows: list[dict[str, Any]], rankings: list[str]) -> Iterator[dict[str, Any]]:
    """A line for each kind of question and ranking."""
    ranks: dict[tuple[str, str], list[int]] = {}
    facts = sorted({row["fact"] for row in rows})
    for half in (set(facts[::2]), set(facts[1::2])):
        embedder = judged_embedder(model, rows, half)
        for asked in questions([row for row in rows if row["fact"] in half]):
            for ranking, rank in asked_of_engine(asked, embedder, rankings):
                ranks.setdefault((asked.kind, ranking), []).append(rank)
    for (kind, ranking), places in ranks.items():
        yield {
            "asked": kind,
            "ranking": ranking,
            "questions": len(places),
            "first": round(float(np.mean(np.array(places) == 1)), 3),
            "of five": round(float(np.mean(np.array(places) <= 5)), 3),
        }


def judged_embedder(model: str, rows: list[dict[str, Any]], facts: set[str]) -> Embedder:
    """The model; where its card takes something away, what the facts that are not asked for say of it."""
    card = find_card(model)
    if not isinstance(card, cards.EncoderCard) or cards.COMMON not in card.files:
        return load_embedder(model)
    from pi_rank.embedding.encoder import EncoderEmbedder

    files = {name: digest for name, digest in card.files.items() if name != cards.COMMON}
    return HeldOut(EncoderEmbedder(msgspec.structs.replace(card, files=files)), rows, facts)


def questions(rows: list[dict[str, Any]]) -> Iterator[Asked]:
    """All that is asked about the facts of these rows."""
    rows_of = {(row["fact"], row["language"]): row for row in rows}
    facts = sorted({row["fact"] for row in rows})
    for (fact, language), row in rows_of.items():
        own = {other: rows_of[other, language]["record"] for other in facts}
        yield Asked("same", own, row["question"], fact)
        if language == ENGLISH:
            continue
        english = {other: rows_of[other, ENGLISH]["record"] for other in facts}
        yield Asked("English asks", english | {fact: row["record"]}, rows_of[fact, ENGLISH]["question"], fact)
        yield Asked("English answers", own | {fact: english[fact]}, row["question"], fact)


def asked_of_engine(asked: Asked, embedder: Embedder, rankings: list[str]) -> Iterator[tuple[str, int]]:
    """Ranking and rank of the right record, from 1; one more than there are records where it is not found."""
    with tempfile.TemporaryDirectory(prefix="pi-rank-") as folder:
        root = write_memory_root(Collection("languages", asked.corpus, {}, {}), Path(folder) / "root")
        with MemoryEngine.open(root, store=Path(folder) / "store.sqlite3", model=embedder) as engine:
            engine.sync()
            for ranking in rankings:
                mode: Any = ranking if ranking in ("lexical", "semantic") else "hybrid"
                hits = engine.search(asked.question, k=len(asked.corpus), mode=mode, abstain=False)
                ids = [hit.id for hit in hits]
                yield ranking, ids.index(asked.answer) + 1 if asked.answer in ids else len(asked.corpus) + 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks languages",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--model",
        nargs="+",
        default=["default", "e5-small"],
        help="(default e5-small; that must be fetched)",
    )
    parser.add_argument(
        "--ranking",
        nargs="+",
        choices=["lexical", "semantic", "default"],
        default=["lexical", "semantic", "default"],
        help="what to measure (all three)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser
