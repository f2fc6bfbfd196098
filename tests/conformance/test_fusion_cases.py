"""What PI's fusion gave, against ours: every observed merge, with provenance."""

from __future__ import annotations

import numpy as np
import pytest

from pi_rank.ranking.fusion import LEXICAL_WEIGHT, RRF_K, SEMANTIC_WEIGHT, provenance, weighted_rrf
from tests.conformance.observed import observed

CASES = observed("rrf_merge")
CONSTANTS = observed("rrf_constants")
WEIGHTS = (LEXICAL_WEIGHT, SEMANTIC_WEIGHT)
SOURCES = ("fts", "semantic")

# PI adds up an id that a list holds twice (contract, section 7, number 13). Ours counts it once, at its best
# rank.
OURS = {
    "duplicate semantic ids accumulate": [("a", 0.55 / 61)],
    "duplicate semantic ids with fts accumulate": [("a", 0.45 / 61 + 0.55 / 61), ("b", 0.55 / 63)],
}


def merged(case):
    """(ids in row order, the two lists as rows, fused rows, fused scores). An unknown id is row -1."""
    ids = sorted({*case["fts_ids"], *case["known_ids"]})
    known = [ids.index(id_) if id_ in case["known_ids"] else -1 for id_ in case["semantic_ids"]]
    lists = [np.array([ids.index(id_) for id_ in case["fts_ids"]], np.int32), np.array(known, np.int32)]
    tie_rank = np.arange(len(ids), dtype=np.int32)
    rows, scores = weighted_rrf(lists, WEIGHTS, limit=case["limit"], tie_rank=tie_rank)
    return ids, lists, rows.tolist(), scores.tolist()


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_rrf_merge(case):
    ids, _, rows, scores = merged(case)
    ours = [(ids[row], pytest.approx(score, abs=1e-11)) for row, score in zip(rows, scores, strict=True)]
    observed_hits = [(hit["id"], hit["score"]) for hit in case["output"]]
    if case["name"] in OURS:
        assert ours == OURS[case["name"]]
        assert ours != observed_hits
    else:
        assert ours == observed_hits


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_provenance(case):
    ids, lists, rows, _ = merged(case)
    for row, hit in zip(rows, case["output"], strict=True):
        best = {}
        for source in hit["rank_sources"]:  # ours names each source once
            best.setdefault(source["source"], (source["source"], source["rank"], source["score"]))
        assert ids[row] == hit["id"]
        assert [
            (SOURCES[part.list_index], part.rank, pytest.approx(part.contribution, abs=1e-11))
            for part in provenance([row], lists, WEIGHTS)[0]
        ] == list(best.values())


def test_rrf_constants():
    assert {
        "k": RRF_K,
        "fts_weight": LEXICAL_WEIGHT,
        "semantic_weight": SEMANTIC_WEIGHT,
        "formula": "weight / (60 + rank0 + 1)",
    } == CONSTANTS
    rows = np.array([0], np.int32)
    _, scores = weighted_rrf([rows], [1.0], limit=1, tie_rank=rows)
    assert scores.tolist() == [1 / (60 + 0 + 1)]


def test_every_deviation_is_an_observed_case():
    assert OURS.keys() <= {case["name"] for case in CASES}
