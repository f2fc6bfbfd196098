from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pi_rank.ranking.analysis import pack_terms
from pi_rank.ranking.blend import BlendConstants, blend
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
    candidates, nearest = sorted({*words.tolist(), *hits.rows.tolist()}), hits.rows.tolist()
    known = [matrix[row] if node[row] >= 0 else None for row in range(rows)]
    expected = reference.blend(candidates, nearest, query, known, bm25, coverage, tie_rank)
    cosines = reference.cosines(candidates, query, known)
    np.testing.assert_allclose(found.cosines, [cosines[row] for row in found.rows.tolist()], atol=1e-6)
    np.testing.assert_array_equal(found.coverage, coverage[found.rows])
    # Sums in another order differ in their last bits: order is compared where scores are further apart.
    scores = np.array([one + two for _, one, two in expected])
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)
    clear = np.diff(scores, prepend=np.inf) < -1e-6
    clear &= np.append(clear[1:], True)
    assert found.rows[clear].tolist() == [row for row, *_ in np.array(expected, object)[clear]]
    for part, listed in ((found.lexical, words), (found.semantic, hits.rows)):
        rank_of = {row: rank for rank, row in enumerate(listed.tolist(), 1)}
        assert part.ranks.tolist() == [rank_of.get(row, 0) for row in found.rows.tolist()]
    np.testing.assert_array_equal(found.scores, found.lexical.scores + found.semantic.scores)


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
    assert found.semantic.scores[place] == pytest.approx(np.delete(found.semantic.scores, place).mean())
    assert found.lexical.scores[place] > 0
    assert np.delete(found.lexical.scores, place).max() == 0


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
    found, _, hits = ranked(*with_cosines(cosines, ["a"]), tie_rank_of(cosines), coverage=0.0)
    assert hits.scores.tolist() == pytest.approx(cosines, abs=1e-6)
    # The only row with a word has the best BM25: its lexical part is the whole weight.
    assert found.lexical.scores[found.rows == 0] == pytest.approx(weight)
    assert reference.lexical_weight(cosines) == pytest.approx(weight)


def with_cosines(cosines, words):
    """An index of rows with these words, vectors with these cosines to a query, and the query."""
    documents = [pack_terms(dict.fromkeys(each, 1), {}) for each in words]
    documents += [pack_terms({"z": 1}, {})] * (len(cosines) - len(words))
    cosines = np.array(cosines)
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    return LexicalIndex.build(documents), index_of(vectors), np.array([1, 0], np.float32)


def tie_rank_of(rows):
    return np.arange(len(rows), dtype=np.int32)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_lexical_part_is_bm25_and_coverage(share):
    lexical, vectors, query = with_cosines([0.8] * 4, ["a", "ab", "abc"])
    found, *_ = ranked(lexical, vectors, query, tie_rank_of(range(4)), coverage=share)
    bm25, coverage = lexical.score_rows(TERMS, found.rows.copy()[found.rows.argsort()])
    expected = 0.5 * ((1 - share) * bm25 / bm25.max() + share * coverage)
    np.testing.assert_allclose(found.lexical.scores[found.rows.argsort()], expected)
    assert coverage.tolist() == pytest.approx([coverage[0], coverage[1], 1.0, 0.0])


def test_constants_scale_their_part_alone():
    lexical = LexicalIndex.build([pack_terms({"a": row % 3 + 1, "z": 1}, {}) for row in range(12)])
    vectors, query = index_of(np.abs(unit_vectors(1, 12, 8))), np.abs(unit_vectors(2, 1, 8)[0])
    tie_rank = np.arange(12, dtype=np.int32)
    bare, words, hits = ranked(lexical, vectors, query, tie_rank, words=0.0, centre=0.0, feedback=0.0)
    assert len(words)
    assert (bare.rows.tolist(), bare.scores.tolist()) == (hits.rows.tolist(), hits.scores.tolist())
    one, *_ = ranked(lexical, vectors, query, tie_rank, words=0.2)
    two, *_ = ranked(lexical, vectors, query, tie_rank, words=0.4)
    np.testing.assert_allclose(
        2 * one.lexical.scores[one.rows.argsort()], two.lexical.scores[two.rows.argsort()]
    )
    every, *_ = ranked(lexical, vectors, query, tie_rank, centre=0.0, feedback_rows=12)
    centre = vectors.vectors(0, 12).astype(np.float64).mean(axis=0).astype(np.float32)
    mean = vectors.products(centre, every.rows)
    np.testing.assert_allclose(every.semantic.scores, vectors.products(query, every.rows) + mean / 2)


def test_a_row_that_is_no_semantic_hit_has_its_own_cosine():
    lexical, vectors, query = with_cosines([0.4, 0.3, -0.9], ["", "", "abc"])
    found, _, hits = ranked(lexical, vectors, query, tie_rank_of(range(3)), depth=2)
    assert hits.rows.tolist() == [0, 1]
    by_row = found.rows.argsort()
    np.testing.assert_allclose(found.cosines[by_row], [0.4, 0.3, -0.9], atol=1e-6)
    np.testing.assert_allclose(found.coverage[by_row], [0.0, 0.0, 1.0])


NONE = VectorHits(np.array([], np.int32), np.array([]), "exact")
ONE = VectorHits(np.array([0], np.int32), np.array([0.8]), "exact")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hits": NONE}, "semantic hits"),
        ({"hits": ONE._replace(scores=np.array([0.8, 0.7]))}, "score of each"),
        ({"hits": ONE._replace(rows=np.array([2], np.int32))}, "rows from 0 to 1"),
        ({"lexical_rows": np.array([-1], np.int32)}, "rows from 0 to 1"),
        ({"query_vector": np.array([1, 0, 0], np.float32)}, "dimension 2"),
        ({"tie_rank": np.array([0], np.int32)}, "2 rows"),
        ({"constants": BlendConstants(feedback_rows=0)}, "each mean"),
    ],
)
def test_hits_of_another_index_are_refused(change, words):
    lexical, vectors, query = with_cosines([0.8, 0.1], ["a"])
    given = {
        "lexical": lexical,
        "terms": TERMS,
        "lexical_rows": np.array([0], np.int32),
        "vectors": vectors,
        "query_vector": query,
        "hits": ONE,
        "tie_rank": tie_rank_of(range(2)),
    }
    assert blend(**given).rows.tolist() == [0]
    with pytest.raises(ValueError, match=words):
        blend(**given | change)


def test_a_semantic_hit_without_a_vector_is_refused():
    lexical, _, query = with_cosines([0.8, 0.1], ["a"])
    vectors = index_of(np.array([[1, 0]], np.float32), np.array([-1, 0], np.int32))
    with pytest.raises(ValueError, match="with a vector"):
        blend(lexical, TERMS, tie_rank_of([0]), vectors, query, ONE, tie_rank=tie_rank_of(range(2)))
