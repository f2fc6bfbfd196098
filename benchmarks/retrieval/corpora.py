"""Corpora of other sizes made from collections: random parts, and all in one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.retrieval.beir import Collection
from pi_rank.memory.records import embedded_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from benchmarks.retrieval.rules import Memory
    from pi_rank.embedding import Embedder

    Vectors = npt.NDArray[np.float32]

ANSWERS = 5  # relevant documents of a question that a part is sure to have, at most
_DOCUMENTS_PER_QUESTION = 10


def part(collection: Collection, size: int, seed: int) -> Collection:
    """`size` of the documents, with a question for each ten (two at least) and up to ANSWERS answers of each.

    Fewer documents where the collection has no more, and more where the answers alone are.
    """
    chosen = random.Random(seed)
    count = max(2, size // _DOCUMENTS_PER_QUESTION)
    queries = chosen.sample(list(collection.queries), min(count, len(collection.queries)))
    kept = {document for query in queries for document in list(collection.qrels[query])[:ANSWERS]}
    others = [document for document in collection.corpus if document not in kept]
    kept.update(chosen.sample(others, min(len(others), max(0, size - len(kept)))))
    return Collection(
        f"{collection.name}-{size}-{seed}",
        {document: text for document, text in collection.corpus.items() if document in kept},
        {query: collection.queries[query] for query in queries},
        {query: _within(collection.qrels[query], kept) for query in queries},
    )


def merged(collections: Iterable[Collection]) -> Collection:
    """One corpus of all documents, with all queries; ids have their collection's name before them."""
    whole = Collection("merged", {}, {}, {})
    for name, corpus, queries, qrels in collections:
        whole.corpus.update({f"{name}-{document}": text for document, text in corpus.items()})
        whole.queries.update({f"{name}-{query}": text for query, text in queries.items()})
        for query, relevant in qrels.items():
            whole.qrels[f"{name}-{query}"] = {
                f"{name}-{document}": grade for document, grade in relevant.items()
            }
    return whole


def asked(memory: Memory, collections: Iterable[Collection]) -> Memory:
    """A merged corpus's memory with the questions of these collections only."""
    names = merged(collections).queries
    whole = memory.collection
    return memory._replace(collection=whole._replace(queries={name: whole.queries[name] for name in names}))


def _within(relevant: dict[str, int], kept: set[str]) -> dict[str, int]:
    return {document: grade for document, grade in relevant.items() if document in kept}


class KnownDocuments:
    """`embedder`, save that documents of `memories` have the vectors that are stored there."""

    def __init__(self, embedder: Embedder, memories: Iterable[Memory]) -> None:
        self.model_id = embedder.model_id
        self.dimension = embedder.dimension
        self.embed_query = embedder.embed_query
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}
        for memory in memories:
            self._learn(memory)

    def _learn(self, memory: Memory) -> None:
        vectors = memory.snapshot.vectors
        if vectors is None:
            return
        matrix = vectors.vectors(0, vectors.count)
        for row, node in enumerate(vectors.row_node.tolist()):
            if node >= 0:
                self._known[embedded_text(memory.snapshot.record(row))] = matrix[node]

    def embed_documents(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Vectors:
        """float32[len(texts), dimension], unit length."""
        unknown = [text for text in texts if text not in self._known]
        if unknown:
            self._known.update(zip(unknown, self._embedder.embed_documents(unknown), strict=True))
        if progress is not None:
            progress(len(texts))
        return np.array([self._known[text] for text in texts], np.float32).reshape(-1, self.dimension)
