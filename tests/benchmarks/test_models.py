"""`python -m benchmarks models`: its measures on a tiny model, its quality figures on a tiny collection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.retrieval.models import chosen, main
from benchmarks.retrieval.semantic_quality import quality
from pi_rank.embedding import load_embedder

TINY = Path(__file__).parents[1] / "embedding" / "tiny.toml"


@pytest.fixture
def collection(tmp_path):
    """Two queries: the first finds one of its two documents, the second its only one."""
    folder = tmp_path / "data" / "small"
    (folder / "qrels").mkdir(parents=True)
    documents = {"a": "word1 word2", "b": "word3 word4", "c": "word5 word6"}
    documents |= {f"n{i}": f"word{i} word{i + 1}" for i in range(20, 40)}
    rows = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in documents.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows), encoding="utf-8")
    queries = [{"_id": "q1", "text": "word2 word1"}, {"_id": "q2", "text": "word3 word4"}]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tmissing\t1\nq2\tb\t2\nq2\tc\t0\n"
    (folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_quality_of_a_collection_and_of_a_folder_of_them(collection):
    embedder = load_embedder(str(TINY))
    # q1: one of two found, at rank 1 of 2: 1 / (1 + 1/log2(3)); q2: all found.
    expected = (0.75, round((1 / (1 + 1 / 1.5849625) + 1) / 2, 3), 2)
    assert quality(embedder, collection) == expected
    assert quality(embedder, collection.parent) == expected


def test_the_table_of_a_model(collection, capsys, monkeypatch):
    monkeypatch.delenv("PI_RANK_MINILM", raising=False)
    assert main([str(TINY), "--texts", "64", "--data", str(collection), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    row = found["models"][str(TINY)]
    assert found["ratios"] == {}
    assert row["quality"] == {"small": {"recall_at_10": 0.75, "ndcg_at_10": 0.807, "queries": 2}}
    assert 0 < row["query_milliseconds"] < 100
    assert row["texts_per_second"] > 10
    assert 20 < row["resident_megabytes"] < 2000


def test_a_model_that_cannot_be_measured(tmp_path):
    with pytest.raises(SystemExit, match=r"none\.toml cannot be measured"):
        main([str(tmp_path / "none.toml"), "--data"])


def test_an_engine_beside_ours_gives_nearly_the_same_vectors():
    pytest.importorskip("onnx", reason="the graph is written with onnx (extra peers)")
    pytest.importorskip("onnxruntime", reason="the other engine is onnxruntime (extra onnx)")
    from benchmarks.retrieval.model_peers import onnxruntime

    peer, ours = onnxruntime(), load_embedder("default")
    text = "The user prefers tabs over spaces in the parser code."
    assert peer.embed_query(text) @ ours.embed_query(text) > 0.99


def test_engines_are_measured_where_nothing_else_is_asked_for():
    assert "onnxruntime" not in chosen(["static-256"], None)
    assert list(chosen(["static-256"], "folder"))[-1] == "torch"
    everything = chosen([], None)
    assert {"minilm-l6-int8", "static-256"} <= everything.keys()
