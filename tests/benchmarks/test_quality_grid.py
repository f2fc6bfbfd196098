"""The grid, the corpora of other sizes, and the rules that are measured beside the product's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from benchmarks.retrieval import quality_grid, reorderings, rules
from benchmarks.retrieval.beir import Collection
from benchmarks.retrieval.corpora import KnownDocuments, merged, part
from benchmarks.retrieval.metrics import METRICS
from benchmarks.retrieval.quality import run_queries
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.blend import DEFAULTS

SUBJECTS = ("tests", "deploys", "shaders", "invoices", "backups", "queues")
CORPUS = {
    f"{subject}-{number}": f"{subject} need step {number}, then step {number + 1}"
    for subject in SUBJECTS
    for number in range(6)
}
QUERIES = {f"{subject}?": f"what step {subject} need" for subject in SUBJECTS}
QRELS = {
    f"{subject}?": {f"{subject}-{number}": 1 + number % 2 for number in range(6)} for subject in SUBJECTS
}
COLLECTION = Collection("steps", CORPUS, QUERIES, QRELS)


def write(folder, collection=COLLECTION):
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", collection.corpus), ("queries", collection.queries)):
        lines = "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in texts.items())
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    grades = [
        f"{query}\t{document}\t{g}" for query, of in collection.qrels.items() for document, g in of.items()
    ]
    (folder / "qrels" / "test.tsv").write_text(
        "\n".join(["query-id\tcorpus-id\tscore", *grades]), encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    return rules.load_memory(COLLECTION, HashingEmbedder(32), tmp_path_factory.mktemp("cache"))


def questions(memory):
    embedder, analyzer = HashingEmbedder(32), FtsAnalyzer()
    return [
        rules.Question(memory.snapshot, analyzer, text, embedder.embed_query(text))
        for text in QUERIES.values()
    ]


@pytest.mark.parametrize("ranking", ["lexical", "semantic", "rrf", "default"])
def test_a_ranking_is_what_the_engine_searches_by(memory, tmp_path, ranking):
    run = run_queries(COLLECTION, HashingEmbedder(32), ranking, tmp_path)
    for question, found in zip(questions(memory), run.values(), strict=True):
        rows = rules.RANKINGS[ranking](question)[:10]
        assert [memory.snapshot.ids[row] for row in rows.tolist()] == found


def test_other_rules_meet_the_product_where_they_are_the_same(memory):
    for question in questions(memory):
        default, published = rules.blended()(question), rules.rrf(question)
        assert rules.fused(0.45, 60)(question).tolist() == published[:10].tolist()
        assert rules.blended(words=DEFAULTS.words)(question).tolist() == default.tolist()
        bare = rules.blended(words=0.0, centre=0.0, feedback=0.0)(question)
        assert bare.tolist() == rules.semantic(question).tolist() != default.tolist()
        assert reorderings.widened(question).tolist()[:10] == default.tolist()[:10]
        assert reorderings.without_hubs(0.0)(question).tolist() == default.tolist()
        assert reorderings.diverse(0.0)(question).tolist() == default[:10].tolist()
        assert reorderings.distinct(1.1)(question).tolist() == default[: reorderings.POOL].tolist()


def test_no_two_records_are_as_near_as_is_too_near(memory):
    vectors = memory.snapshot.vectors
    matrix = vectors.vectors(0, vectors.count)[vectors.row_node]
    for question in questions(memory):
        rows = reorderings.distinct(0.6)(question)
        cosines = matrix[rows] @ matrix[rows].T
        assert (cosines[~np.eye(len(rows), dtype=bool)] < 0.6).all()
        assert rows[0] == rules.blended()(question)[0]


def test_scales():
    assert rules.min_max(np.array([2.0, 4.0, 3.0])).tolist() == [0.0, 1.0, 0.5]
    assert rules.z_score(np.array([1.0, 3.0])).tolist() == [-1.0, 1.0]
    assert rules.min_max(np.ones(2)).tolist() == rules.z_score(np.ones(2)).tolist() == [0.0, 0.0]


def test_a_part_has_its_questions_answers_and_the_size_asked_for():
    small = part(COLLECTION, 20, seed=3)
    assert (len(small.corpus), len(small.queries)) == (20, 2)
    assert small == part(COLLECTION, 20, seed=3)
    assert small.corpus != part(COLLECTION, 20, seed=4).corpus
    for query, relevant in small.qrels.items():
        assert len(relevant) >= 5  # of six
        assert relevant == {key: QRELS[query][key] for key in QRELS[query] if key in small.corpus}
    assert part(COLLECTION, 1000, seed=0).corpus == CORPUS


def test_merged_collections_keep_their_answers_apart():
    other = Collection("other", {"a": "one"}, {"q": "which"}, {"q": {"a": 2}})
    whole = merged([COLLECTION, other])
    assert len(whole.corpus) == len(CORPUS) + 1
    assert (whole.corpus["other-a"], whole.queries["other-q"]) == ("one", "which")
    assert whole.qrels["other-q"] == {"other-a": 2}
    assert set(whole.qrels["steps-tests?"]) == {f"steps-tests-{number}" for number in range(6)}


def test_known_documents_are_not_embedded_again(memory):
    class Unwilling(HashingEmbedder):
        def embed_documents(self, texts, progress=None):
            assert list(texts) == ["unheard of"]
            return super().embed_documents(texts, progress)

    texts = [*list(CORPUS.values())[:3], "unheard of"]
    vectors = KnownDocuments(Unwilling(32), [memory]).embed_documents(texts)
    np.testing.assert_allclose(vectors, HashingEmbedder(32).embed_documents(texts), atol=1e-6)


def test_the_held_out_folder_has_no_say():
    def rule(words, one, two):
        constants = {"words": words, "centre": 0.5, "feedback": 0.5, "feedback_rows": 2}
        return {"constants": constants, "nDCG@10": {"one": one, "two": two}}

    alone = {"lexical": {"one": 0.3, "two": 0.1}, "semantic": {"one": 0.2, "two": 0.4}}
    found = quality_grid.held_out([rule(0.5, 0.6, 0.5), rule(0.7, 0.9, 0.2)], alone)
    assert found["one"]["chosen"]["words"] == 0.5  # best on two
    assert (found["one"]["reached"], found["one"]["default"]) == (0.6, 0.6)
    assert (found["two"]["chosen"]["words"], found["two"]["reached"]) == (0.7, 0.2)
    assert found["two"]["best source"] == {"name": "semantic", "reached": 0.4}


def test_a_whole_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(quality_grid, "load_embedder", lambda model: HashingEmbedder(32))
    monkeypatch.setattr(quality_grid, "GRID", {**quality_grid.GRID, "words": (0.3, 0.5)})
    monkeypatch.setattr(quality_grid, "SIZES", (20,))
    monkeypatch.setattr(quality_grid, "PARTS", 2)
    folders = [str(write(tmp_path / name)) for name in ("one", "two")]
    arguments = [*folders, "--cache", str(tmp_path / "cache")]
    assert quality_grid.main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["rules"]) == 2 * 3 * 3 * 3
    assert list(report["corpora"]) == ["parts of 20", "all 72 in one corpus"]
    expected = rules.score(
        [rules.load_memory(COLLECTION, HashingEmbedder(32), tmp_path)], HashingEmbedder(32), rules.blended()
    )[:, METRICS.index("nDCG@10")].mean()
    assert report["held_out"]["one"]["default"] == pytest.approx(expected)
    assert quality_grid.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "over 54 rules (words 0.3–0.5, centre 0.25–0.75," in printed
    assert f"| {expected:.4f} |" in printed


def test_one_folder_cannot_be_held_out(tmp_path, monkeypatch):
    monkeypatch.setattr(quality_grid, "load_embedder", lambda model: HashingEmbedder(32))
    with pytest.raises(SystemExit, match="name two at least"):
        quality_grid.main([str(write(tmp_path / "one")), "--cache", str(tmp_path / "cache")])
