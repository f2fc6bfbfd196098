from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pi_rank.ranking.analysis import pack_terms
from pi_rank.ranking.blend import BlendConstants, blend, lexical_part, lexical_weight, relevance
from pi_rank.ranking.lexical import LexicalIndex
from pi_rank.ranking.semantic import VectorHits, VectorIndex
from tests.reference import blend as reference
from tests.reference.vectors import unit_vectors

TERMS = ("a", "b", "c")


def index_of(vectors, row_node=None):
    rows = np.arange(len(vectors), dtype=np.int32) if row_node is None else row_node
    return VectorIndex.build(vectors, rows)


def ranked(lexical, vectors, query, tie_rank, depth=100, **constants):
    """The blend of both sources' first `depth` hits, and those hits."""
    words, _ = lexical.search(TERMS, depth, eligible=None, tie_rank=tie_rank)
    hits = vectors.search(query, depth, tie_rank=tie_rank)
    chosen = BlendConstants(**constants)
    found = blend(lexical, TERMS, words, vectors, query, hits, tie_rank=tie_rank, constants=chosen)
    return found, words, hits


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 80),
    depth=st.sampled_from([3, 20, 100]),
    embedded=st.sampled_from([0.5, 1.0]),
)
def test_the_blend_is_the_reference(seed, rows, depth, embedded):
    random = np.random.default_rng(seed)
    counts = [
        {term: int(random.integers(1, 4)) for term in "abcdef" if random.random() < 0.4} for _ in range(rows)
    ]
    lexical = LexicalIndex.build([pack_terms(count, {}) for count in counts])
    matrix = unit_vectors(seed, rows, 16)
    node = np.where(random.random(rows) < embedded, np.arange(rows), -1).astype(np.int32)
    assume((node >= 0).any())
    vectors, query = index_of(matrix, node), unit_vectors(seed + 1, 1, 16)[0]
    tie_rank = random.permutation(rows).astype(np.int32)
    found, words, hits = ranked(lexical, vectors, query, tie_rank, depth)
    everything = np.arange(rows, dtype=np.int32)
    bm25, coverage = lexical.score_rows(TERMS, everything)
    expected = reference.blend(
        sorted({*words.tolist(), *hits.rows.tolist()}),
        hits.rows.tolist(),
        query,
        [matrix[row] if node[row] >= 0 else None for row in range(rows)],
        bm25,
        coverage,
        tie_rank,
    )
    # Sums in another order differ in their last bits: order is compared where scores are further apart.
    scores = np.array([one + two for _, one, two in expected])
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)
    clear = np.diff(scores, prepend=np.inf) < -1e-6
    clear &= np.append(clear[1:], True)
    assert found.rows[clear].tolist() == [row for row, *_ in np.array(expected, object)[clear]]
    np.testing.assert_array_equal(found.scores, found.lexical + found.semantic)


def test_equal_rows_come_in_tie_order():
    lexical = LexicalIndex.build([b"a\n"] * 5)
    vectors = index_of(unit_vectors(1, 5, 8, distinct=1))
    tie_rank = np.array([3, 1, 4, 0, 2], np.int32)
    found, _, _ = ranked(lexical, vectors, unit_vectors(2, 1, 8)[0], tie_rank)
    assert found.rows.tolist() == [3, 1, 4, 0, 2]
    assert len(set(found.scores.tolist())) == 1


def test_a_row_without_a_vector_is_found_by_its_words():
    documents = [pack_terms({"a": 1, "b": 1}, {})] + [pack_terms({"z": 1}, {})] * 20
    node = np.array([-1, *range(20)], np.int32)
    # No cosine is negative here, so words do count.
    vectors, query = index_of(np.abs(unit_vectors(1, 20, 8)), node), np.abs(unit_vectors(2, 1, 8)[0])
    found, _, hits = ranked(LexicalIndex.build(documents), vectors, query, np.arange(21, dtype=np.int32))
    assert 0 not in hits.rows
    place = found.rows.tolist().index(0)
    assert found.semantic[place] == pytest.approx(np.delete(found.semantic, place).mean())
    assert found.lexical[place] > 0
    assert np.delete(found.lexical, place).max() == 0


@pytest.mark.parametrize(
    ("cosines", "weight"),
    [
        ([0.8] * 60, 0.5),  # nothing stands out: words count in full
        ([0.8] + [0.4] * 59, 0.25),
        ([0.8] + [0.4] * 49 + [-1.0] * 50, 0.25),  # past the 50th nothing counts
        ([0.8] * 9, 0.5),  # no background is known
        ([0.8] + [-0.4] * 20, 0.0),
        ([-0.1] * 20, 0.5),  # no direction at all: words decide
    ],
)
def test_words_weigh_less_the_more_the_best_cosine_stands_out(cosines, weight):
    assert lexical_weight(np.array(cosines)) == pytest.approx(weight)
    assert reference.lexical_weight(cosines) == pytest.approx(weight)


def test_the_lexical_part_is_bm25_and_coverage():
    part = lexical_part(np.array([4.0, 2.0, 0.0]), np.array([0.5, 1.0, 0.0]))
    assert part.tolist() == [0.75, 0.75, 0.0]
    assert lexical_part(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]


def test_coverage_can_have_all_of_the_lexical_part_or_none():
    bm25, coverage = np.array([4.0, 2.0]), np.array([0.5, 1.0])
    assert lexical_part(bm25, coverage, 1.0).tolist() == [0.5, 1.0]
    assert lexical_part(bm25, coverage, 0.0).tolist() == [1.0, 0.5]


def test_constants_scale_their_part_alone():
    lexical = LexicalIndex.build([pack_terms({"a": row % 3 + 1, "z": 1}, {}) for row in range(12)])
    vectors, query = index_of(np.abs(unit_vectors(1, 12, 8))), np.abs(unit_vectors(2, 1, 8)[0])
    tie_rank = np.arange(12, dtype=np.int32)
    bare, words, hits = ranked(lexical, vectors, query, tie_rank, words=0.0, centre=0.0, feedback=0.0)
    assert len(words)
    assert (bare.rows.tolist(), bare.scores.tolist()) == (hits.rows.tolist(), hits.scores.tolist())
    one, *_ = ranked(lexical, vectors, query, tie_rank, words=0.2)
    two, *_ = ranked(lexical, vectors, query, tie_rank, words=0.4)
    np.testing.assert_allclose(2 * one.lexical[one.rows.argsort()], two.lexical[two.rows.argsort()])
    every, *_ = ranked(lexical, vectors, query, tie_rank, centre=0.0, feedback_rows=12)
    mean = vectors.products(vectors.mean(tie_rank), every.rows)
    np.testing.assert_allclose(every.semantic, vectors.products(query, every.rows) + mean / 2)


def test_relevance_is_the_best_cosine_and_half_the_coverage_of_one_row():
    hits = VectorHits(np.array([4, 2], np.int32), np.array([0.4, 0.1]), "exact")
    rows = np.array([2, 4, 7], np.int32)  # 7 is no semantic hit: its cosine is 0.1 at most
    assert relevance(rows, np.array([0.2, 0.0, 0.0]), hits) == pytest.approx(0.4)
    assert relevance(rows, np.array([0.8, 0.0, 0.0]), hits) == pytest.approx(0.5)
    assert relevance(rows, np.array([0.0, 0.0, 1.0]), hits) == pytest.approx(0.6)
