"""The quality harness: metrics by hand and by trec_eval's own code, collections, and whole runs."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from benchmarks.retrieval import quality, quality_parts
from benchmarks.retrieval.beir import read_collections, write_memory_root
from benchmarks.retrieval.metrics import METRICS, bootstrap, compare, evaluate
from pi_rank.memory.root import MemoryRoot

CORPUS = {"d0": "Bun runs the tests", "d1": "Deploy on Tuesdays", "d2": "Shaders live in render"}
QUERIES = {"q0": "how do tests run", "q1": "when to deploy", "q2": "not judged"}


def write_collection(folder):
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": key, "title": "", "text": text} for key, text in CORPUS.items()]
    queries = [{"_id": key, "text": text} for key, text in QUERIES.items()]
    for name, lines in (("corpus", documents), ("queries", queries)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    qrels = "query-id\tcorpus-id\tscore\nq0\td0\t2\nq0\td1\t0\nq1\td1\t1\n"
    (folder / "qrels" / "test.tsv").write_text(qrels, encoding="utf-8")
    return folder


def test_metrics_by_hand():
    # Found at ranks 2 and 4 of three relevant ones, the best grade last.
    found = evaluate(["x", "a", "y", "b"], {"a": 1, "b": 3, "c": 2})
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    dcg = 1 / math.log2(3) + 3 / math.log2(5)
    assert found == pytest.approx((2 / 3, dcg / ideal, 1 / 2, 0.0))
    assert evaluate(["a"], {"a": 1}) == (1.0, 1.0, 1.0, 1.0)
    assert evaluate([], {"a": 1}) == (0.0, 0.0, 0.0, 0.0)
    assert evaluate([*"bcdefghijk", "a"], {"a": 1}) == (0.0, 0.0, 0.0, 0.0)  # rank 11


def test_metrics_are_those_of_ir_measures():
    ir = pytest.importorskip("ir_measures", reason="extra bench is not installed")
    random = np.random.default_rng(0)
    qrels, run, expected = {}, {}, {}
    for query in map(str, range(50)):
        documents = [f"d{i}" for i in random.permutation(40)]
        relevant = random.choice(40, random.integers(1, 15), replace=False)
        qrels[query] = {f"d{i}": int(random.integers(1, 4)) for i in relevant}
        run[query] = {document: 1.0 - place / 100 for place, document in enumerate(documents[:20])}
        expected[query] = evaluate(documents[:20], qrels[query])
    measures = [ir.R @ 10, ir.nDCG @ 10, ir.RR @ 10, ir.Success @ 1]
    for metric in ir.iter_calc(measures, qrels, run):
        assert metric.value == pytest.approx(expected[metric.query_id][measures.index(metric.measure)])


def test_intervals_and_the_paired_test():
    random = np.random.default_rng(1)
    values = random.random(400)
    interval = bootstrap(values)
    assert interval.mean == values.mean()
    # The interval of a mean is about 1.96 standard errors to each side.
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)
    assert compare(values + 0.02, values).p < 0.001
    assert compare(values, values) == ((0.0, 0.0, 0.0), 1.0)
    noise = random.standard_normal(400)
    assert compare(values + noise - noise.mean(), values).p > 0.9


def test_a_collection_becomes_a_memory_root(tmp_path):
    (collection,) = read_collections(write_collection(tmp_path / "small"))
    assert (collection.name, collection.corpus) == ("small", CORPUS)
    assert collection.qrels == {"q0": {"d0": 2}, "q1": {"d1": 1}}
    assert list(collection.queries) == ["q0", "q1"]  # q2 has nothing to find
    contents = MemoryRoot(write_memory_root(collection, tmp_path / "root")).read()
    assert {item.record.id: item.record.statement for item in contents.records} == CORPUS
    assert contents.skipped == []


def test_a_folder_of_collections_and_one_of_none(tmp_path):
    for name in ("two", "one"):
        write_collection(tmp_path / name)
    assert [collection.name for collection in read_collections(tmp_path)] == ["one", "two"]
    with pytest.raises(FileNotFoundError, match=r"holds no corpus\.jsonl"):
        read_collections(tmp_path / "one" / "qrels")


class Counting(HashingEmbedder):
    texts = 0

    def embed_query(self, text):
        Counting.texts += 1
        return super().embed_query(text)


def test_a_whole_run_and_a_second_one_that_embeds_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(quality, "load_embedder", lambda model: Counting(32))
    folder = write_collection(tmp_path / "small")
    arguments = [str(folder), "--cache", str(tmp_path / "cache"), "--json"]
    assert quality.main(arguments) == 0
    report = json.loads(capsys.readouterr().out)
    found = report["collections"]["small"]
    assert (report["model"], found["queries"]) == (Counting(32).model_id, 2)
    assert list(found["rankings"]) == ["lexical", "semantic", "rrf", "default"]
    assert found["rankings"]["lexical"] == {
        metric: {"mean": 1.0, "low": 1.0, "high": 1.0} for metric in METRICS
    }
    assert found["default_against_best_source"]["source"] == "lexical"
    embedded = Counting.texts
    assert embedded == len(CORPUS) + 2
    assert quality.main([*arguments, "--ranking", "lexical", "rrf"]) == 0
    again = json.loads(capsys.readouterr().out)["collections"]["small"]
    assert again == {"queries": 2, "rankings": {name: found["rankings"][name] for name in ("lexical", "rrf")}}
    assert Counting.texts == embedded


def test_the_table_has_a_row_for_each_ranking_and_a_comparison(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(quality, "load_embedder", lambda model: HashingEmbedder(32))
    quality.main([str(write_collection(tmp_path / "small")), "--cache", str(tmp_path / "cache")])
    lines = capsys.readouterr().out.splitlines()
    one = " | ".join(["1.000 [1.000, 1.000]"] * 4)
    assert f"| small (2) | lexical | {one} |" in lines
    assert "| mean of 1 | lexical | 1.000 | 1.000 | 1.000 | 1.000 |" in lines
    assert lines[-1].startswith("- small: default − lexical = ")


def test_parts_are_measured_one_by_one(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(quality_parts, "load_embedder", lambda model: HashingEmbedder(32))
    for name in ("one", "two"):
        write_collection(tmp_path / name)
    arguments = [str(tmp_path / "one"), str(tmp_path / "two"), "--cache", str(tmp_path / "cache")]
    assert quality_parts.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("| nDCG@10 | one | two | mean | recall@10 |") == 2
    for name in (*quality_parts.VARIANTS, "rrf", "sum of min-max scores", "sum of z-scores"):
        assert f"| {name} | 1.0000 | 1.0000 | 1.0000 | 1.0000 |" in lines


@pytest.mark.skipif("PI_RANK_SHARED" not in os.environ, reason="set PI_RANK_SHARED to the folder with data/")
def test_the_default_loses_to_neither_source_on_a_conversation(tmp_path):
    folder = Path(os.environ["PI_RANK_SHARED"]) / "data" / "locomo" / "conv-2"
    embedder = quality.load_embedder("default")
    scores = quality.measure(read_collections(folder), embedder, quality.RANKINGS, tmp_path)
    ndcg = {ranking: rows[:, METRICS.index("nDCG@10")].mean() for ranking, rows in scores.items()}
    assert ndcg["default"] > max(ndcg["lexical"], ndcg["semantic"], ndcg["rrf"])
