"""Retrieval quality of an embedding model alone, on collections in BEIR's layout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from pi_rank.embedding import Embedder

K = 10


class Quality(NamedTuple):
    """Means over all queries; of a folder of collections, over the queries of all of them."""

    recall_at_10: float
    ndcg_at_10: float
    queries: int


def quality(embedder: Embedder, folder: Path) -> Quality:
    """Of the collection in `folder`, or of each collection in a folder below it, its own corpus to each."""
    collections = [folder] if (folder / "corpus.jsonl").exists() else sorted(folder.iterdir())
    scores = np.concatenate([_scores(embedder, collection) for collection in collections])
    recall, ndcg = scores.mean(axis=0)
    return Quality(round(float(recall), 3), round(float(ndcg), 3), len(scores))


def _scores(embedder: Embedder, folder: Path) -> np.ndarray:
    """Recall@10 and nDCG@10 of each query that has a relevant document, float64[queries, 2]."""
    documents, queries, relevant = _read(folder)
    ids = list(documents)
    matrix = embedder.embed_documents(list(documents.values()))
    found = []
    for query_id, grades in relevant.items():
        scores = matrix @ embedder.embed_query(queries[query_id])
        top = np.argsort(-scores, kind="stable")[:K]
        gains = np.array([grades.get(ids[row], 0.0) for row in top])
        ideal = np.sort(np.array(list(grades.values())))[::-1][:K]
        found.append((np.count_nonzero(gains) / len(grades), _dcg(gains) / _dcg(ideal)))
    return np.array(found)


def _dcg(gains: np.ndarray) -> float:
    """Discounted cumulative gain with linear gains (Järvelin and Kekäläinen, 2002)."""
    return float((gains / np.log2(np.arange(2, len(gains) + 2))).sum())


def _read(folder: Path) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, float]]]:
    """Document texts, query texts, and grades above 0 by query and document."""
    documents = {
        row["_id"]: f"{row.get('title', '')} {row['text']}".strip() for row in _rows(folder / "corpus.jsonl")
    }
    queries = {row["_id"]: row["text"] for row in _rows(folder / "queries.jsonl")}
    relevant: dict[str, dict[str, float]] = {}
    for path in sorted((folder / "qrels").glob("*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            query_id, document_id, grade = line.split("\t")
            if float(grade) > 0:
                relevant.setdefault(query_id, {})[document_id] = float(grade)
    return documents, queries, relevant


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]
