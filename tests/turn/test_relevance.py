from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.embedding.cards import Calibration
from pi_rank.ranking.blend import Part
from pi_rank.turn.ranking import Near, Ranking
from pi_rank.turn.relevance import likely, relevant
from tests.reference.selection import relevance as reference

CALIBRATION = Calibration(intercept=1.0, evidence=2.5, best=1.5, threshold=0.1, scripts=("LATIN",))
SHARE = st.floats(0, 1)


def ranking_of(cosines, coverage, words=3):
    count = len(cosines)
    scores = np.linspace(1, 0.5, count)
    part = Part(np.arange(1, count + 1, dtype=np.int32), scores)
    near = Near(np.array(cosines, np.float64), np.array(coverage, np.float64), words)
    return Ranking(np.arange(count, dtype=np.int32), scores, "hybrid", (), "exact", (part, part), near)


@given(
    rows=st.lists(st.tuples(st.floats(-1, 1), SHARE, st.sampled_from([0.0, 1.0])), min_size=1, max_size=30),
    words=st.integers(0, 200),
    read=SHARE,
    constants=st.tuples(*[st.floats(-8, 8)] * 3),
    least=SHARE,
    phrases=st.booleans(),
)
def test_relevance_is_the_reference(rows, words, read, constants, least, phrases):
    cosines, coverage, wanted = map(np.array, zip(*rows, strict=True))
    names = ("intercept", "evidence", "best")
    calibration = Calibration(threshold=least, **dict(zip(names, constants, strict=True)))
    found = likely(Near(cosines, coverage, words), wanted if phrases else None, calibration, read)
    applies = wanted.tolist() if phrases else [0.0] * len(rows)
    expected = reference.relevance(cosines.tolist(), coverage.tolist(), applies, words, read, *constants)
    np.testing.assert_allclose(found.relevance, [expected[place] for place in found.kept], atol=1e-12)
    # The last bits of a logarithm may fall on the other side of the limit.
    certain, possible = (
        {place for place, one in enumerate(expected) if one >= least + shift} for shift in (1e-12, -1e-12)
    )
    assert certain <= set(found.kept.tolist()) <= possible
    assert found.kept.tolist() == sorted(found.kept.tolist())
    first = reference.evidence(cosines.tolist(), coverage.tolist(), applies, words, read)
    assert found.best == pytest.approx(expected[first.index(max(first))])


def test_no_rows_have_no_relevance():
    none = np.empty(0)
    assert [len(each) for each in likely(Near(none, none, 3), None, CALIBRATION)[:2]] == [0, 0]


@pytest.mark.parametrize("wrong", ["coverage", "wanted"])
def test_arrays_of_another_length_are_refused(wrong):
    arrays = {"cosines": np.zeros(3), "coverage": np.zeros(3), "wanted": np.zeros(3)} | {wrong: np.zeros(2)}
    with pytest.raises(ValueError, match="3 cosines, but"):
        likely(Near(arrays["cosines"], arrays["coverage"], 3), arrays["wanted"], CALIBRATION)


def test_rows_that_belong_stay_in_their_order_with_all_that_is_known_of_them():
    whole = ranking_of([0.1, 0.9, 0.05, 0.8], [0.0, 0.2, 0.0, 0.0])
    found, best, off_topic = relevant(whole, "who deploys", CALIBRATION)
    assert (found.rows.tolist(), off_topic) == ([1, 3], False)
    assert best == found.relevance[0] == found.relevance.max()
    np.testing.assert_array_equal(found.parts[0].ranks, [2, 4])
    np.testing.assert_array_equal(found.scores, whole.scores[[1, 3]])


def test_nothing_is_kept_where_nothing_belongs_and_everything_at_zero():
    whole = ranking_of([0.1, 0.05], [0.0, 0.0])
    found, best, off_topic = relevant(whole, "who deploys", CALIBRATION)
    assert (len(found.rows), off_topic) == (0, True)
    assert 0 < best < CALIBRATION.threshold
    assert relevant(whole, "who deploys", CALIBRATION, 0.0).ranking.rows.tolist() == [0, 1]
    assert relevant(ranking_of([], []), "who deploys", CALIBRATION)[1:] == (None, False)


@pytest.mark.parametrize("calibration", [None, CALIBRATION])
def test_whatever_was_found_belongs_where_nothing_tells(calibration):
    whole = ranking_of([0.1, 0.05], [0.0, 0.0])
    unknown = whole if calibration is None else whole._replace(near=None)
    found, best, off_topic = relevant(unknown, "who deploys", calibration)
    assert (found.rows.tolist(), found.relevance, best, off_topic) == ([0, 1], None, None, False)


def test_cosines_count_as_far_as_the_query_can_be_read():
    english, chinese = "who deploys", "\u4eca\u5929\u5929\u6c14\u600e\u4e48\u6837"
    whole = ranking_of([0.6, 0.5], [0.0, 0.0])
    assert len(relevant(whole, english, CALIBRATION).ranking.rows) == 2
    assert relevant(whole, chinese, CALIBRATION).off_topic
    assert len(relevant(ranking_of([0.6], [1.0]), chinese, CALIBRATION).ranking.rows) == 1  # by its words
    everything = Calibration(intercept=1.0, evidence=2.5, best=1.5, threshold=0.1)
    assert len(relevant(whole, chinese, everything).ranking.rows) == 2


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("deploy", 1.0),
        ("42 \U0001f680", 1.0),
        ("d\u00e9ployer", 1.0),
        ("\u041f\u0440\u0438\u0432\u0435\u0442", 0.0),
        ("ab \u90e8\u7f72", 0.5),
    ],
)
def test_letters_of_a_models_scripts_can_be_read(text, share):
    assert CALIBRATION.readable(text) == share
