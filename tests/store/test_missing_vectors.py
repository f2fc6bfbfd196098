"""Embedding what a store lacks: in chunks that stay, and never a vector that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank.errors import VectorError
from pi_rank.memory.root import MemoryRoot
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.store.missing_vectors import embed_missing
from pi_rank.store.store import MemoryStore
from tests.support.memory import write_root

MODEL = HashingEmbedder(16).model_id


class Altered(HashingEmbedder):
    """Gives other vectors for texts that speak of shaders."""

    def __init__(self, alter):
        super().__init__(16)
        self.alter = alter

    def embed_documents(self, texts, progress=None):
        matrix = super().embed_documents(texts, progress)
        for row, text in enumerate(texts):
            if "shader" in text:
                matrix[row] = self.alter(matrix[row])
        return matrix


@pytest.fixture
def store(tmp_path):
    records = [{"id": f"mem_{n}", "statement": f"{'shader' if n == 5 else 'deploy'} {n}"} for n in range(8)]
    root = write_root(tmp_path / "root", records)
    with MemoryStore.open(tmp_path / "store.sqlite3") as store:
        store.sync_root(MemoryRoot(root), FtsAnalyzer())
        yield store


def test_each_chunk_stays_and_is_told(store):
    told = []
    assert embed_missing(store, HashingEmbedder(16), lambda *counts: told.append(counts), chunk_size=3) == 8
    assert told == [(3, 8), (6, 8), (8, 8)]
    assert embed_missing(store, HashingEmbedder(16)) == 0


@pytest.mark.parametrize(
    ("alter", "length"),
    [(lambda row: row * np.nan, "nan"), (lambda row: row * 3, "3"), (lambda row: row * np.inf, "(nan|inf)")],
)
def test_a_vector_that_cannot_be_used_is_refused_with_its_record(store, alter, length):
    with pytest.raises(VectorError, match=f"{MODEL} gave record 'mem_5' a vector of length {length} inst"):
        embed_missing(store, Altered(alter), chunk_size=3)
    assert store.vector_counts() == {MODEL: 3}
    assert embed_missing(store, HashingEmbedder(16)) == 5


def test_a_matrix_of_another_shape_or_type_is_refused(store):
    class Short(HashingEmbedder):
        def embed_documents(self, texts, progress=None):
            return super().embed_documents(texts, progress)[1:]

    class Doubles(HashingEmbedder):
        def embed_documents(self, texts, progress=None):
            return super().embed_documents(texts, progress).astype(np.float64)

    for embedder in (Short(16), Doubles(16)):
        with pytest.raises(VectorError, match=r"expected float32\[8, dimension\]"):
            embed_missing(store, embedder)
    assert store.vector_counts() == {}
