from __future__ import annotations

import random
import sqlite3
import threading
import timeit
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_rank.folding import TOKENIZER, document_text
from pi_rank.ranking import analysis
from pi_rank.ranking.analysis import FUNCTION_WORDS, FtsAnalyzer, pack_terms, unpack_terms

ANALYZER = FtsAnalyzer()
WORDS = st.sampled_from(
    [
        "run",
        "running",
        "Tests",
        "the",
        "don't",
        "CAFÉ",
        "e\u0301",
        "20.11",
        "C++",
        "部署",
        "部署前",
        "팀은",
        "Straße",
        "🚀",
        "\x00",
    ]
)
TEXTS = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=12).map(" ".join))


def fts5_counts(texts):
    """Per document what FTS5's own vocabulary says, statement and tags together."""
    database = sqlite3.connect(":memory:")
    database.execute(f'CREATE VIRTUAL TABLE f USING fts5(statement, tags, tokenize = "{TOKENIZER}")')
    database.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, instance)")
    database.executemany(
        "INSERT INTO f(rowid, statement, tags) VALUES (?, ?, ?)",
        [(i, *map(document_text, t)) for i, t in enumerate(texts)],
    )
    counts = [Counter() for _ in texts]
    for row, term in database.execute("SELECT doc, term FROM v"):
        counts[row][term] += 1
    return counts


def stem_counts(packed):
    content, function = unpack_terms(packed)
    return Counter(content | function)


def test_a_document_is_its_stems_with_counts_function_words_apart():
    assert ANALYZER.document_terms([("Run the bun tests, and test the tests", "testing")]) == [
        b"run bun test:4\nthe:2 and"
    ]


def test_no_documents_and_empty_documents():
    assert ANALYZER.document_terms([]) == []
    assert ANALYZER.document_terms([("", ""), ("🚀 …", "")]) == [b"\n", b"\n"]


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_documents_have_the_terms_of_fts5(texts):
    assert [stem_counts(packed) for packed in ANALYZER.document_terms(texts)] == fts5_counts(texts)


def test_every_character_is_folded_or_separates_as_in_fts5():
    # The first two planes, the variation selectors and tags, and the last of the private ones.
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200), *range(0x10FF00, 0x110000)]
    characters = [chr(code) for code in codes]
    random.Random(1).shuffle(characters)
    texts = [("x".join(characters[i : i + 500]), "") for i in range(0, len(characters), 500)]
    assert [stem_counts(packed) for packed in ANALYZER.document_terms(texts)] == fts5_counts(texts)


def test_more_documents_than_a_chunk_and_more_words_than_the_cache(monkeypatch):
    monkeypatch.setattr(analysis, "CHUNK_DOCUMENTS", 3)
    monkeypatch.setattr(analysis, "STEM_CACHE_WORDS", 8)
    texts = [(f"running w{i} w{i + 1}s tests", f"tag{i % 4}") for i in range(40)]
    analyzer = FtsAnalyzer()
    for _ in range(2):
        assert [stem_counts(packed) for packed in analyzer.document_terms(texts)] == fts5_counts(texts)


@given(st.text(max_size=30))
def test_packing_keeps_counts(text):
    counts = dict(Counter(ANALYZER.query_terms(text)))
    assert unpack_terms(pack_terms(counts, {"the": 3})) == (counts, {"the": 3})
    assert unpack_terms(pack_terms({}, {})) == ({}, {})


@pytest.mark.parametrize(
    ("prompt", "terms"),
    [
        ("how do I run the tests?", ("run", "test")),
        ("run, Run, RUN!", ("run",)),  # one word, written thrice
        ("running runs tests", ("run", "run", "test")),  # two words that share a stem
        ("don't deploy", ("don", "t", "deploi")),
        ("Café cafe", ("cafe",)),
        ("pre-commit", ("pre", "commit")),
        ("to be or not to be", ("not",)),
        ("to be", ("to", "be")),  # nothing but function words: they are all there is
        ("", ()),
        ("🚀 ???", ()),
        ('"AND" (NEAR* col:x', ("near", "col", "x")),  # FTS5's syntax is text, and "and" a function word
        ("a\x00b \ud800 bun", ("b", "bun")),
        ("部署 周二", ("部署", "周二")),
    ],
)
def test_query_terms(prompt, terms):
    assert ANALYZER.query_terms(prompt) == terms


def test_fts_query_quotes_and_ors_the_same_words():
    assert ANALYZER.fts_query('run "the" Tests NOT run* naïve') == '"run" OR "tests" OR "not" OR "naive"'
    assert ANALYZER.fts_query(" ?") == ""


def test_a_prompt_of_5000_words():
    terms = ANALYZER.query_terms(" ".join(f"Word{i}" for i in range(5000)))
    assert len(terms) == 5000
    assert terms[4999] == "word4999"


def test_a_word_that_fts5_cuts_at_32768_bytes_still_has_one_stem():
    assert ANALYZER.query_terms("x" * 40_000) == ("x" * 32_768,)
    assert len(ANALYZER.query_terms("部" * 20_000)) == 1


def test_function_words_are_what_one_types():
    assert {"the", "when", "with"} <= FUNCTION_WORDS
    assert "not" not in FUNCTION_WORDS


def test_threads_share_an_analyzer():
    analyzer = FtsAnalyzer()
    wrong = []

    def work(start):
        for i in range(start, start + 300):
            if analyzer.query_terms(f"testing{i % 50} runs{i}x {chr(0x4E00 + i)}") != ANALYZER.query_terms(
                f"testing{i % 50} runs{i}x {chr(0x4E00 + i)}"
            ):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(start,)) for start in (0, 100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_close():
    analyzer = FtsAnalyzer()
    analyzer.close()
    with pytest.raises(sqlite3.ProgrammingError):
        analyzer.query_terms("never seen before")


def test_a_query_takes_no_longer_where_many_characters_are_known():
    """A memory of many scripts must not slow each question down."""

    def seconds(analyzer):
        def two():  # since the last query's stems are kept
            return analyzer.query_terms("déjà vu"), analyzer.query_terms("naïve façade")

        two()
        return min(timeit.repeat(two, number=50))

    few, many = FtsAnalyzer(), FtsAnalyzer()
    many.document_terms([("".join(map(chr, range(0x100, 0xD800))), "")])
    assert seconds(many) < 5 * seconds(few)
