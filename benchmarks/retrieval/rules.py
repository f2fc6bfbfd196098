"""Rules that put one memory's records in order for a query: the product's, with any constants, and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.retrieval.metrics import CUT, METRICS, evaluate
from benchmarks.retrieval.quality import home, opened
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.blend import BlendConstants
from pi_rank.ranking.fusion import weighted_rrf
from pi_rank.snapshot.snapshot import load_snapshot
from pi_rank.store.store import MemoryStore
from pi_rank.turn.ranking import Ranking, rank

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from benchmarks.retrieval.beir import Collection
    from pi_rank.embedding import Embedder
    from pi_rank.snapshot.snapshot import Snapshot

    Rows = NDArray[np.int32]
    Scores = NDArray[np.float64]

NDCG = METRICS.index("nDCG@10")
RECALL = METRICS.index("recall@10")


class Memory(NamedTuple):
    """A collection, and the snapshot that an engine has of it."""

    collection: Collection
    snapshot: Snapshot


class Question(NamedTuple):
    """One query as a rule gets it: `vector` is float32[dimension] of unit length."""

    snapshot: Snapshot
    analyzer: FtsAnalyzer
    text: str
    vector: NDArray[np.float32]

    def ranked(self, words: str, vector: NDArray[np.float32] | None, **options: Any) -> Ranking:
        """The product's ranking of all active records, with the options of `pi_rank.turn.ranking.rank`."""
        eligible = self.snapshot.active.view(np.uint8)
        return rank(self.snapshot, self.analyzer, words, vector, eligible, **options)


if TYPE_CHECKING:
    Rule = Callable[[Question], Rows]


def load_memory(collection: Collection, embedder: Embedder, cache: Path) -> Memory:
    """The collection's snapshot, after an engine has brought its store up to date."""
    with opened(collection, embedder, "default", cache):
        pass
    with MemoryStore.open(home(collection, cache) / "store.sqlite3") as store:
        return Memory(collection, load_snapshot(store, embedder.model_id))


def score(memories: Iterable[Memory], embedder: Embedder, rule: Rule) -> Scores:
    """What the rule reaches for each query of the memories: float64[queries, METRICS]."""
    analyzer = FtsAnalyzer()
    found = []
    for collection, snapshot in memories:
        for query, text in collection.queries.items():
            rows = rule(Question(snapshot, analyzer, text, embedder.embed_query(text)))
            documents = [snapshot.ids[row] for row in rows[:CUT].tolist()]
            found.append(evaluate(documents, collection.qrels[query]))
    return np.array(found)


def lexical(question: Question) -> Rows:
    """BM25's own order."""
    return question.ranked(question.text, None).rows


def semantic(question: Question) -> Rows:
    """The vectors' own order."""
    return question.ranked("", question.vector).rows


def rrf(question: Question) -> Rows:
    """The published Weighted Reciprocal Rank Fusion."""
    return question.ranked(question.text, question.vector, rule="rrf").rows


def blended(**constants: Any) -> Rule:
    """The default rule with other constants than BlendConstants has."""
    chosen = BlendConstants(**constants)
    return lambda question: question.ranked(question.text, question.vector, constants=chosen).rows


def fused(share: float, k: int) -> Rule:
    """Weighted Reciprocal Rank Fusion with another lexical share of the weights, and another k."""

    def rule(question: Question) -> Rows:
        found = question.ranked(question.text, question.vector, rule="rrf")
        weights = [share if ranked.source != "semantic" else 1 - share for ranked in found.lists]
        lists = [ranked.rows for ranked in found.lists]
        return weighted_rrf(lists, weights, k=k, limit=CUT, tie_rank=question.snapshot.tie_rank)[0]

    return rule


def summed(scale: Callable[[Scores], Scores]) -> Rule:
    """The sum of the candidates' BM25 scores and cosines, each put on a common scale first."""

    def rule(question: Question) -> Rows:
        snapshot = question.snapshot
        rows = np.sort(rrf(question))
        terms = question.analyzer.query_terms(question.text)
        assert snapshot.vectors is not None
        words, _ = snapshot.lexical.score_rows(terms, rows)
        total = scale(words) + scale(snapshot.vectors.products(question.vector, rows))
        return rows[np.lexsort((snapshot.tie_rank[rows], -total))]

    return rule


def min_max(scores: Scores) -> Scores:
    """From 0 for the least to 1 for the greatest."""
    width = np.ptp(scores)
    return (scores - scores.min()) / width if width > 0 else np.zeros_like(scores)


def z_score(scores: Scores) -> Scores:
    """Mean 0, standard deviation 1."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros_like(scores)


SOURCES: dict[str, Rule] = {"lexical": lexical, "semantic": semantic}
RANKINGS: dict[str, Rule] = {**SOURCES, "rrf": rrf, "default": blended()}
