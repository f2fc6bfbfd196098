from __future__ import annotations

import numpy as np
import pytest

from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.lexical import LexicalIndex
from pi_rank.ranking.overlap import OverlapIndex

ANALYZER = FtsAnalyzer()
STATEMENTS = ("the deploys on Tuesday", "deploy on the server with care and tests", "on the and")


def index_of(*statements):
    return LexicalIndex.build(ANALYZER.document_terms([(statement, "") for statement in statements]))


def best(index, prompt, rows=(0, 1, 2), eligible=(1, 1, 1), **options):
    return OverlapIndex(index, np.array(rows, np.int32)).best(
        ANALYZER.query_terms(prompt),
        5,
        eligible=np.array(eligible, np.uint8),
        tie_rank=np.arange(3, dtype=np.int32),
        **options,
    )


def test_content_stems_are_counted_over_the_smaller_set():
    index = index_of(*STATEMENTS)
    rows, ratios = best(index, "deploying with the tests")
    assert (rows.tolist(), ratios.tolist()) == ([1, 0], [1.0, 0.5])
    assert best(index, "deploying with the tests", above=0.5)[0].tolist() == [1]
    assert best(index, "on the and")[0].tolist() == []
    assert best(index, "deploying " * 9 + "tests")[1].tolist() == [1.0, 0.5]  # a repeated word counts once


def test_only_rows_of_the_index_that_are_eligible_are_found():
    index = index_of(*STATEMENTS)
    assert best(index, "deploy tests", rows=[0])[0].tolist() == [0]
    assert best(index, "deploy tests", eligible=(1, 0, 1))[0].tolist() == [0]
    assert best(index, "deploy tests", rows=[])[0].tolist() == []


def test_rows_of_base_and_delta_are_found_by_their_numbers():
    index = index_of(*STATEMENTS[:2]).updated(
        np.array([0], np.int32), ANALYZER.document_terms([("deploy", "")])
    )
    assert best(index, "deploy tests", rows=[1, 2])[0].tolist() == [1, 2]


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [-1], [3]])
def test_rows_that_are_not_there_or_do_not_ascend_are_refused(rows):
    with pytest.raises(ValueError, match="rows must ascend, from 0 to at most 2"):
        OverlapIndex(index_of(*STATEMENTS), np.array(rows, np.int32))


def test_arrays_of_another_kind_are_refused():
    index = index_of(*STATEMENTS)
    with pytest.raises(TypeError, match="rows must have dtype int32, not int64"):
        OverlapIndex(index, np.array([0]))
    with pytest.raises(TypeError, match="eligible must have dtype uint8"):
        OverlapIndex(index, np.array([0], np.int32)).best(
            ("a",), 1, eligible=np.ones(3), tie_rank=np.arange(3, dtype=np.int32)
        )
