"""The benchmark of names: what it asks, and that the product's own order puts the right record first."""

from __future__ import annotations

import pytest

from benchmarks.retrieval import names


@pytest.mark.parametrize("chosen", names.SETS)
def test_a_set_has_forty_names_and_sixty_neighbours_among_three_hundred_others(chosen):
    known = names.read(chosen)
    asked = names.collection(chosen)
    assert len({each.name for each in known}) == 40
    assert sum(len(each.neighbours) for each in known) >= 60
    assert all(each.name in each.statement for each in known)
    assert len(asked.corpus) == len(set(asked.corpus.values())) == 340


def test_names_are_spelled_out():
    assert names.spelled_out("getUserById") == "get user by id"
    assert names.spelled_out("parse_line_items") == "parse line items"
    assert names.spelled_out("HTTPServer") == "http server"
    assert names.spelled_out("JIRA-4521") is None
    assert names.spelled_out("word") is None


@pytest.mark.parametrize("chosen", names.SETS)
def test_the_record_that_holds_the_name_is_first(chosen):
    rows = {(row.ranking, row.mode, row.asked): row for row in names.measure(chosen, "default")}
    for mode in ("hybrid", "lexical"):
        as_written, in_words = rows["default", mode, "as written"], rows["default", mode, "in words"]
        assert as_written.questions == 120
        assert as_written.first >= 118
        assert in_words.in_five == in_words.questions
