"""A memory that changes at random, and what a snapshot answers, to compare it with another."""

from __future__ import annotations

import random

import numpy as np

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.store.missing_vectors import embed_missing
from pi_rank.store.store import MemoryStore
from tests.support.memory import write_root

ANALYZER = FtsAnalyzer()
EMBEDDER = HashingEmbedder(32)
WORDS = ["run", "bun", "tests", "deploy", "tuesday", "shader", "render", "billing", "invoice", "cache"]


class ChangingMemory:
    """A memory root and its store; the same seed gives the same history."""

    def __init__(self, folder, *, seed=1, size=200):
        self.rng = random.Random(seed)
        self.root = folder / "root"
        self.store = MemoryStore.open(folder / "store.sqlite3")
        self.made = 0
        self.records = {}
        self.tombstones = set()
        self.add(size)

    def record(self, id_):
        rng = self.rng
        return {
            "id": id_,
            "layer": rng.choice(["L1", "L2", "L2"]),
            "statement": " ".join(rng.choices(WORDS, k=rng.randint(2, 9))),
            "tags": rng.choices(WORDS, k=rng.randint(0, 2)),
            "status": rng.choice(["active"] * 4 + ["contested", "deprecated"]),
            "confidence": round(rng.uniform(0.4, 1.0), 2),
            "ruleType": rng.choice(["workflow", "tool", "correction", None]),
            "profile_id": rng.choice([None, "project:1", "project:2"]),
            "does_not_apply_when": [" ".join(rng.choices(WORDS, k=2))] if rng.random() < 0.3 else [],
        }

    def add(self, count):
        for _ in range(count):
            self.made += 1
            # Not in order of age: where an id stands among the others must not depend on its row.
            id_ = f"mem_{self.rng.randrange(10**6):06d}_{self.made}"
            self.records[id_] = self.record(id_)

    def change(self, count):
        """Adds, rewrites and removes `count` records each, and marks one as deleted."""
        for id_ in self.rng.sample(sorted(self.records), count):
            self.records[id_] = self.record(id_)
        for id_ in self.rng.sample(sorted(self.records), count):
            del self.records[id_]
        self.add(count)
        self.tombstones.add(self.rng.choice(sorted(self.records)))

    def sync(self, *, embed=True):
        write_root(self.root, self.records.values(), tombstones=sorted(self.tombstones))
        report = self.store.sync_root(MemoryRoot(self.root), ANALYZER)
        if embed:
            embed_missing(self.store, EMBEDDER)
        return report


def answers(snapshot):
    """What a snapshot holds and finds, without rows and nodes: equal for equal memories, however made."""
    ids, live = snapshot.ids, np.flatnonzero(snapshot.live).tolist()
    alive, active = snapshot.live.view(np.uint8), snapshot.active.view(np.uint8)
    return {
        "records": {ids[row]: snapshot.payloads[row] for row in live},
        "order": [ids[row] for row in snapshot.order],
        "active": {ids[row] for row in np.flatnonzero(active)},
        "hard rules": [ids[row] for row in snapshot.hard_rules],
        "identity": [ids[row] for row in snapshot.identity],
        "places": {
            profile: {ids[row] for row in np.flatnonzero(snapshot.place(profile, frozenset()).in_project)}
            for profile in (None, "project:1", "project:2")
        },
        "lexical": [_named(ids, *_search(snapshot, word, active)) for word in WORDS],
        "overlap": [
            _named(
                ids, *snapshot.contested.best((word,), len(ids), eligible=alive, tie_rank=snapshot.tie_rank)
            )
            for word in WORDS
        ],
        "phrases": {
            ids[row]: phrase
            for row, phrase in zip(
                *(array.tolist() for array in snapshot.phrases.match([" ".join(WORDS * 2)])), strict=True
            )
        },
        "vectors": [_nearest(snapshot, word, active) for word in WORDS],
    }


def _search(snapshot, word, eligible):
    terms = ANALYZER.query_terms(word)
    return snapshot.lexical.search(terms, 50, eligible=eligible, tie_rank=snapshot.tie_rank)


def _nearest(snapshot, word, eligible):
    if snapshot.vectors is None:  # as good as vectors that no row has, such as those of records that went
        return []
    query = EMBEDDER.embed_query(word)
    hits = snapshot.vectors.search(query, 50, tie_rank=snapshot.tie_rank, eligible=eligible)
    return _named(snapshot.ids, hits.rows, hits.scores)


def _named(ids, rows, scores):
    return [(ids[row], round(score, 9)) for row, score in zip(rows.tolist(), scores.tolist(), strict=True)]
