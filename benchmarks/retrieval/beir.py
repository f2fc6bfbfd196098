"""Test collections in BEIR layout (corpus.jsonl, queries.jsonl, qrels/test.tsv), and memory roots of them."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Qrels = dict[str, dict[str, int]]


class Collection(NamedTuple):
    """`corpus` and `queries` by id; `qrels`: query id → document id → grade, relevant ones only (above 0)."""

    name: str
    corpus: dict[str, str]
    queries: dict[str, str]
    qrels: Qrels

    @property
    def key(self) -> str:
        """Changes with the corpus: names what was made from it."""
        return hashlib.sha256(json.dumps(self.corpus).encode()).hexdigest()[:16]


def read_collections(folder: Path) -> list[Collection]:
    """The collection in `folder`, or those in its sub-folders, by name.

    :raises FileNotFoundError: there is none.
    """
    folders = [path.parent for path in sorted(folder.glob("corpus.jsonl"))] or [
        path.parent for path in sorted(folder.glob("*/corpus.jsonl"))
    ]
    if not folders:
        raise FileNotFoundError(f"{folder} holds no corpus.jsonl, nor does a folder in it")
    return [read_collection(path) for path in folders]


def read_collection(folder: Path) -> Collection:
    """One folder's collection; queries without a relevant document are left out."""
    corpus = {
        line["_id"]: " ".join(filter(None, (line.get("title"), line["text"])))
        for line in _lines(folder / "corpus.jsonl")
    }
    qrels = _read_qrels(folder / "qrels" / "test.tsv")
    queries = {line["_id"]: line["text"] for line in _lines(folder / "queries.jsonl") if line["_id"] in qrels}
    return Collection(folder.name, corpus, queries, {query: qrels[query] for query in queries})


def write_memory_root(collection: Collection, root: Path) -> Path:
    """A memory root with one global record for each document, under the document's id; returns `root`."""
    memory = root / "memory"
    memory.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(_record(*document), ensure_ascii=False) for document in collection.corpus.items()]
    (memory / "L2.playbooks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def _record(record_id: str, statement: str) -> dict[str, Any]:
    return {
        "id": record_id,
        "layer": "L2",
        "scope": {"type": "global"},
        "tags": [],
        "statement": statement,
        "confidence": 0.8,
        "status": "active",
        "created_at": "2026-01-01",
        "updated_at": "2026-01-01",
    }


def _read_qrels(path: Path) -> Qrels:
    qrels: Qrels = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if (grade := int(row["score"])) > 0:
                qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = grade
    return qrels


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
