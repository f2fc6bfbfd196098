"""Terms that stand in for a query without a hit."""

from __future__ import annotations

import time

import pytest

from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.lexical import LexicalIndex
from pi_rank.ranking.terms import MAX_TERMS, matching_terms


@pytest.fixture(scope="module")
def index():
    texts = ["authentication by token", "部署必须在周二早上", "author names", "auth", "use node"]
    texts.append("テストを実行する")
    return LexicalIndex.build(FtsAnalyzer().document_terms([(text, "") for text in texts]))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("auth", {"auth", "authent", "author"}),
        ("authenticated", {"authent", "auth"}),
        ("nodes.js", {"node"}),
        ("周二部署", set()),
        ("art", set()),
        ("部", {"部署"}),
        ("行", {"実行", "行す"}),
        ("署 的", set()),
        ("", set()),
        ("🚀", set()),
    ],
)
def test_terms_of_the_vocabulary(index, query, found):
    known = set(index.vocabulary().splitlines())
    assert known & set(matching_terms(query, index)) == found


def test_long_and_many_words_stay_cheap(index):
    many = " ".join(f"word{number:06d}xyz" for number in range(20_000))
    for query in ("a" * 200_000, "部" * 200_000, many):
        began = time.process_time()
        assert len(matching_terms(query, index)) <= MAX_TERMS
        assert time.process_time() - began < 5
