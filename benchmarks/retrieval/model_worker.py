"""Measures one embedding model in its own process.

python -m benchmarks.retrieval.model_worker MODEL TEXTS [DIR…]

The load of an engine that must convert the weights first takes in that conversion.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_rank.embedding import Embedder

QUERIES, QUERY_WORDS, QUERY_PASSES = 40, 9, 5
TEXT_WORDS = 25
BATCHES = 3  # of which the fastest counts


def main(argv: list[str]) -> None:
    """Prints what was measured as one line of JSON."""
    model, texts, *folders = argv
    began = time.perf_counter()
    embedder = _load(model)
    embedder.embed_query("the first query pays for what a model puts off")
    measured: dict[str, Any] = {"load_seconds": round(time.perf_counter() - began, 3)}
    measured["query_milliseconds"] = round(_query_seconds(embedder) * 1000, 3)
    measured["texts_per_second"] = round(_texts_per_second(embedder, int(texts)))
    measured["resident_megabytes"] = _resident_megabytes()
    if folders:
        from benchmarks.retrieval.semantic_quality import quality

        measured["quality"] = {
            Path(folder).name: quality(embedder, Path(folder))._asdict() for folder in folders
        }
    print(json.dumps(measured))


def _load(model: str) -> Embedder:
    """A model by name, or another engine for the default one: "onnxruntime", "ctranslate2:FOLDER"."""
    if model == "onnxruntime":
        from benchmarks.retrieval.model_peers import onnxruntime

        return onnxruntime()
    if model.startswith("ctranslate2:"):
        from benchmarks.retrieval.model_peers import CTranslate2

        return CTranslate2(model.partition(":")[2])
    from pi_rank.embedding import load_embedder

    return load_embedder(model)


def sentences(count: int, words: int) -> list[str]:
    """English from the words of the memories that the other benchmarks use; no two alike."""
    from benchmarks.speed.common import corpus

    return corpus(1_000).prompts(count, words)


def _query_seconds(embedder: Embedder) -> float:
    """Median over queries of the least of some timings."""
    queries = sentences(QUERIES, QUERY_WORDS)
    best = [float("inf")] * len(queries)
    for number in range(QUERY_PASSES):
        for row, query in enumerate(queries):
            began = time.perf_counter()
            embedder.embed_query(f"{query} {number}")  # never the same query twice: no cache answers
            best[row] = min(best[row], time.perf_counter() - began)
    return sorted(best)[len(best) // 2]


def _texts_per_second(embedder: Embedder, count: int) -> float:
    texts = sentences(count, TEXT_WORDS)
    best = float("inf")
    for _ in range(BATCHES):
        began = time.perf_counter()
        embedder.embed_documents(texts)
        best = min(best, time.perf_counter() - began)
    return count / best


def _resident_megabytes() -> int:
    import psutil

    return round(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    main(sys.argv[1:])
