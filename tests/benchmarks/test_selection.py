"""The benchmarks of what turns select, on collections small enough to know the answers."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from benchmarks.plot import shares
from benchmarks.selection import duplicates, precision, precisionmembench, relevance
from pi_rank.embedding.cards import Calibration

CALIBRATION = Calibration(intercept=1.0, evidence=2.5, best=1.5, threshold=0.6)
WORDS = (
    *("amber", "birch", "cedar", "dogwood", "elder", "fir", "gorse", "hazel"),
    *("iris", "juniper", "larch", "maple", "nettle", "oak", "pine", "rowan"),
)


class Calibrated(HashingEmbedder):
    calibration = CALIBRATION


def write_collection(folder, words):
    """Forty documents of a few words each; a query is two words of the one that it is for."""
    (folder / "qrels").mkdir(parents=True)
    random = np.random.default_rng(len(words))
    texts = {f"d{n}": " ".join(random.choice(words, 4)) + f" {folder.name}{n}" for n in range(40)}
    queries = {f"q{n}": f"{texts[f'd{n}'].split()[0]} {folder.name}{n}" for n in range(40)}
    for name, lines in (("corpus", texts), ("queries", queries)):
        rows = [json.dumps({"_id": key, "text": text}) for key, text in lines.items()]
        (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    judged = "".join(f"q{n}\td{n}\t1\n" for n in range(40))
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")
    return folder


@pytest.fixture
def folders(tmp_path):
    return [
        str(write_collection(tmp_path / "one", WORDS[:8])),
        str(write_collection(tmp_path / "two", WORDS[8:])),
    ]


def test_logistic_finds_the_constants_that_made_the_labels():
    random = np.random.default_rng(3)
    features = np.column_stack([np.ones(20_000), random.standard_normal((20_000, 2))])
    likely = 1 / (1 + np.exp(-(features @ [-1.0, 2.0, 0.5])))
    labels = (random.random(20_000) < likely).astype(np.float64)
    assert relevance.logistic(features, labels, np.ones(20_000)) == pytest.approx([-1.0, 2.0, 0.5], abs=0.08)
    doubled = np.concatenate([features, features[:5_000]])
    weighed = relevance.logistic(features, labels, np.repeat([2.0, 1.0], [5_000, 15_000]))
    again = relevance.logistic(doubled, np.concatenate([labels, labels[:5_000]]), np.ones(25_000))
    assert weighed == pytest.approx(again, abs=1e-3)


def test_constants_are_fitted_without_the_folder_that_they_judge(folders, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(relevance, "load_embedder", lambda model: Calibrated(64))
    assert relevance.main([*folders, "--cache", str(tmp_path / "c"), "--results", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "relevance.json").read_text(encoding="utf-8"))
    assert list(report["constants"]) == ["one", "two", "all"]
    assert report["constants"]["one"] != report["constants"]["two"]
    bins = report["reliability"]["all"]
    assert bins[-1]["true"] > bins[0]["true"]
    assert all(low["said"] < high["said"] for low, high in pairwise(bins))
    assert (tmp_path / "relevance.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "| all but one |" in capsys.readouterr().out


def test_one_folder_alone_is_refused(folders, tmp_path):
    with pytest.raises(SystemExit, match="name two at least"):
        relevance.main([folders[0], "--cache", str(tmp_path / "c"), "--model", "none-such"][:3])


BELIEF = {"user_id": "test-user", "type": "preference", "epistemic_status": "active", "confidence": 0.9}
BELIEF |= {"pinned": False, "superseded_by": None, "resolved_at": None, "updated_at": "2026-10-01T00:00:00Z"}
BELIEFS = [
    {"_id": "b-k8s", "canonical_name": "kubernetes", "aliases": ["k8s"], "content": "Deploys to a cluster."},
    {"_id": "b-react", "canonical_name": "react", "aliases": ["jsx"], "content": "The frontend is React."},
    {"_id": "b-old", "canonical_name": "swarm", "aliases": [], "content": "Deployed to k8s by hand."},
    {"_id": "b-db", "canonical_name": "database", "aliases": ["db"], "content": "The database is MongoDB."},
]
BELIEFS[2] |= {"epistemic_status": "superseded", "superseded_by": "b-k8s"}
BELIEFS[3] |= {"pinned": True}
CASES = [
    {"caseId": "alias", "query": "k8s?", "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["b-k8s"]}}},
    {
        "caseId": "pinned",
        "query": "the database",
        "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}},
    },
    {"caseId": "empty", "query": "", "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}}},
]


def test_precisionmembench_is_scored_by_its_protocol(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "bench"
    folder.mkdir()
    beliefs = [{**BELIEF, "scope": ["domain:code"], "why_it_matters": "", **belief} for belief in BELIEFS]
    cases = [{"scope": ["domain:code"], **case} for case in CASES]
    (folder / "beliefs.seed.json").write_text(json.dumps(beliefs), encoding="utf-8")
    (folder / "retrieval.cases.json").write_text(json.dumps(cases), encoding="utf-8")
    found = precisionmembench.answers(folder, tmp_path / "c", Calibrated(64), least=None, aliases=True)
    assert [(case.name, case.precision, case.recall, case.passed) for case in found] == [
        ("alias", 1.0, 1.0, True),
        ("pinned", None, None, True),
        ("empty", None, None, True),
    ]
    assert precisionmembench.scored(found) == (1.0, 1.0, 3, 3)
    filled = precisionmembench.answers(folder, tmp_path / "d", Calibrated(64), least=0, aliases=False)
    assert filled[0].precision == 0.5
    assert "b-react" in filled[1].found
    assert (filled[1].precision, filled[1].passed) == (0.0, False)
    monkeypatch.setattr(precision, "load_embedder", lambda model: Calibrated(64))
    assert precision.main([str(folder), "--cache", str(tmp_path / "q")]) == 0
    assert "| selected, aliases in applies_when | 1.000 [1.000, 1.000] |" in capsys.readouterr().out


def test_small_memories_are_judged_by_others_constants(folders, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(precision, "load_embedder", lambda model: Calibrated(64))
    assert precision.main([*folders, "--cache", str(tmp_path / "c")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| answered | one | ") for line in lines) == 3
    assert sum(line.startswith("| foreign | ") for line in lines) == 2


def test_facts_of_the_duplicates_are_four_different_statements():
    statements = [statement for _, each in duplicates.FACTS for statement in each]
    assert len(set(statements)) == 4 * len(duplicates.FACTS)


def test_the_diagonal_plot_keeps_shares_in_its_panel():
    drawn = shares("title", {"a": [(0.0, 0.0), (1.0, 1.0)]}, "said")
    assert drawn.count("<polyline") == 1
    assert "title" in drawn
