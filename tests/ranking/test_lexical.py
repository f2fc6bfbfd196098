from __future__ import annotations

import threading

import numpy as np
import pytest

from pi_rank.ranking import lexical
from pi_rank.ranking.analysis import FtsAnalyzer
from pi_rank.ranking.array_file import read_arrays, write_arrays
from pi_rank.ranking.lexical import LexicalIndex
from tests.reference.bm25 import Fts5
from tests.reference.memory import Writer

ANALYZER = FtsAnalyzer()
NONE_DEAD = np.array([], np.int32)


def index_of(*statements):
    return LexicalIndex.build(ANALYZER.document_terms([(statement, "") for statement in statements]))


def ranks(n):
    return np.arange(n, dtype=np.int32)


def found(index, prompt, k=10, eligible=None):
    rows, _ = index.search(ANALYZER.query_terms(prompt), k, eligible=eligible, tie_rank=ranks(index.n_rows))
    return rows.tolist()


def assert_equals_fts5(index, fts5, writer, n_queries):
    for number in range(n_queries):
        prompt = writer.prompt((1, 3, 12, 60)[number % 4])
        expected = fts5.search(ANALYZER.fts_query(prompt), 50)
        terms = ANALYZER.query_terms(prompt)
        rows, scores = index.search(terms, 50, eligible=None, tie_rank=ranks(index.n_rows))
        assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == [
            (row, pytest.approx(score, rel=1e-12)) for row, score in expected
        ]


def test_top_50_is_that_of_fts5_after_inserts_updates_and_deletes(monkeypatch):
    monkeypatch.setattr(lexical, "DELTA_ROWS", 40)  # small, so that base and delta are merged on the way
    writer = Writer(seed=3)
    texts = writer.texts(600)
    index, fts5 = LexicalIndex.build(ANALYZER.document_terms(texts)), Fts5()
    fts5.add(0, texts)
    assert_equals_fts5(index, fts5, writer, 40)
    live = list(range(600))
    for step in range(25):
        dead, added = writer.rows(live, 3 * (step % 3)), writer.texts(step % 5)
        fts5.remove(dead)
        fts5.add(index.n_rows, added)
        live = [row for row in live if row not in dead] + list(range(index.n_rows, index.n_rows + len(added)))
        index = index.updated(np.array(dead, np.int32), ANALYZER.document_terms(added))
        assert_equals_fts5(index, fts5, writer, 4)
    assert index.n_live == len(live) < index.n_rows


def test_an_update_leaves_the_earlier_version_as_it_was():
    before = index_of("run bun tests", "deploy on tuesday")
    after = before.updated(np.array([0], np.int32), ANALYZER.document_terms([("bun bun", "")]))
    assert found(before, "bun deploy") == [0, 1]
    assert found(after, "bun") == [2]
    assert (before.n_rows, before.n_live, after.n_rows, after.n_live) == (2, 2, 3, 2)


def test_all_rows_dead_and_an_empty_index():
    index = index_of("run").updated(np.array([0], np.int32), [])
    assert (found(index, "run"), index.n_live) == ([], 0)
    empty = LexicalIndex.build([])
    assert found(empty, "run") == []
    assert found(empty.updated(NONE_DEAD, ANALYZER.document_terms([("run", "")])), "run") == [0]


def test_the_delta_joins_the_base_when_it_has_grown(monkeypatch):
    monkeypatch.setattr(lexical, "DELTA_ROWS", 2)
    index = index_of("a1", "a2", "a3")
    sizes = []
    for number in range(4):
        index = index.updated(NONE_DEAD, ANALYZER.document_terms([(f"b{number}", "")]))
        sizes.append([segment["lengths"].size for segment in index._segments])
    assert sizes == [[3, 1], [3, 2], [6], [6, 1]]
    assert [found(index, word) for word in ("a3", "b0", "b3", "a4")] == [[2], [3], [6], []]


def test_filtered_queries_still_return_k_hits():
    index = index_of(*["bun tests"] * 50, *["bun"] * 50)
    eligible = np.zeros(100, np.uint8)
    eligible[50::5] = 1
    assert found(index, "bun tests", 10, eligible) == list(range(50, 100, 5))
    assert found(index, "bun tests", 10, np.zeros(100, np.uint8)) == []


@pytest.mark.parametrize("prompt", ["", "?", "zzz", "\x00\ud800"])
def test_nothing_to_search_for_finds_nothing(prompt):
    assert found(index_of("run bun tests"), prompt) == []


def test_function_words_are_searched_when_there_is_nothing_else():
    assert found(index_of("to be or nothing", "run tests"), "to be") == [0]


def test_k_of_zero_and_k_beyond_the_store():
    index = index_of("bun", "bun", "run")
    assert found(index, "bun", 0) == []
    assert found(index, "bun", 2**62) == [0, 1]
    with pytest.raises(ValueError, match="k must not be negative, not -1"):
        found(index, "bun", -1)
    with pytest.raises(TypeError):
        found(index, "bun", 1.5)


def test_a_prompt_of_5000_words_and_a_vocabulary_of_one():
    index = index_of(*["bun"] * 100)
    rows, scores = index.search(("bun",) * 5000, 1, eligible=None, tie_rank=ranks(100))
    assert rows.tolist() == [0]
    assert scores.tolist() == [pytest.approx(5000 * 1e-6)]


def test_a_large_vocabulary_has_one_hit_per_word():
    index = LexicalIndex.build([f"w{i:x}\n".encode() for i in range(200_000)])
    rows, _ = index.search(("w0", "w30d3f", "w30d40"), 5, eligible=None, tie_rank=ranks(200_000))
    assert rows.tolist() == [0, 199_999]


def test_arrays_of_another_kind_are_refused():
    index = index_of("bun", "run")
    search = {"eligible": np.ones(2, np.uint8), "tie_rank": ranks(2)}
    for name, array, error, message in [
        ("eligible", np.ones(2, np.bool_), TypeError, "eligible must have dtype uint8, not bool"),
        ("eligible", [1, 1], TypeError, "eligible must be a numpy array of uint8, not list"),
        (
            "eligible",
            np.ones(3, np.uint8),
            ValueError,
            "eligible must have 2 entries, one for each row, not 3",
        ),
        ("eligible", np.ones(4, np.uint8)[::2], ValueError, "eligible must be contiguous"),
        ("eligible", np.ones((2, 1), np.uint8), ValueError, "eligible must have one dimension, not 2"),
        ("tie_rank", np.arange(2), TypeError, "tie_rank must have dtype int32, not int64"),
        ("tie_rank", ranks(1), ValueError, "tie_rank must have 2 entries"),
    ]:
        with pytest.raises(error, match=message):
            index.search(("bun",), 1, **{**search, name: array})
    with pytest.raises(TypeError, match="Expected str, got bytes"):
        index.search((b"bun",), 1, **search)


def test_deaths_that_cannot_be_are_refused():
    index = index_of("bun", "run").updated(np.array([0], np.int32), [])
    for dead in ([2], [-1], [2**31 - 1]):
        with pytest.raises(ValueError, match="dead rows must be 0 to 1"):
            index.updated(np.array(dead, np.int32), [])
    for dead in ([0], [1, 1]):
        with pytest.raises(ValueError, match="a row can die once"):
            index.updated(np.array(dead, np.int32), [])
    with pytest.raises(TypeError, match="dead must have dtype int32, not int64"):
        index.updated(np.array([1]), [])


def kept_in_a_file(index, path):
    write_arrays(path, "lexical", "", index.arrays())
    return LexicalIndex.from_arrays(read_arrays(path, "lexical", ""))


def test_an_index_of_mapped_arrays_is_the_same_and_goes_on(tmp_path):
    index = index_of("run bun tests", "deploy", "café").updated(
        np.array([1], np.int32), ANALYZER.document_terms([("bun on tuesday", "")])
    )
    loaded = kept_in_a_file(index, tmp_path / "lexical")
    rows = [0, None, 1, 2]  # the dead one is not kept
    for prompt in ("bun tests", "deploy", "cafe tuesday"):
        assert found(loaded, prompt) == [rows[row] for row in found(index, prompt)]
    assert (loaded.n_rows, loaded.n_live) == (3, 3)
    assert "deploi" in index.vocabulary()
    assert "deploi" not in loaded.vocabulary()
    later = loaded.updated(np.array([0], np.int32), ANALYZER.document_terms([("tests", "")]))
    assert found(later, "bun tests") == [3, 2]
    assert kept_in_a_file(LexicalIndex.build([]), tmp_path / "empty").n_rows == 0


def test_nbytes_is_about_what_the_arrays_take(tmp_path):
    index = LexicalIndex.build(ANALYZER.document_terms(Writer(seed=5).texts(500)))
    kept_in_a_file(index, tmp_path / "lexical")
    assert 0.7 < index.nbytes / (tmp_path / "lexical").stat().st_size < 1.3


def test_searches_run_beside_updates():
    index = index_of(*[f"bun w{i}" for i in range(5000)])
    versions, wrong = [index], []

    def search():
        for _ in range(100):
            version = versions[-1]
            if len(found(version, "bun", 10_000)) != version.n_live:
                wrong.append(version)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for row in range(100):
        versions.append(versions[-1].updated(np.array([row], np.int32), [b"bun\n"] * (row % 3)))
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_search_leaves_the_interpreter_to_other_threads():
    index = LexicalIndex.build([b"bun\n"] * 100_000)
    terms = ("bun",) * 5_000
    searcher = threading.Thread(
        target=index.search, args=(terms, 1), kwargs={"eligible": None, "tie_rank": ranks(100_000)}
    )
    turns = 0
    searcher.start()
    while searcher.is_alive():
        turns += 1
    # Half a billion postings take some hundred milliseconds; with the lock held this loop would see two ends.
    assert turns > 10_000


def test_the_vocabulary_has_the_terms_of_base_and_delta_one_a_line():
    index = index_of("run bun", "café").updated(NONE_DEAD, ANALYZER.document_terms([("部署 bun", "")]))
    assert sorted(index.vocabulary().split("\n")) == ["bun", "bun", "cafe", "run", "署", "部署"]
