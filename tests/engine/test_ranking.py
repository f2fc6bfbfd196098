"""The two rankings as an engine gives them: RRF to the letter, and what the shares of the default say."""

from __future__ import annotations

import re
import threading

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import ConfigError, MemoryEngine, SessionContext
from pi_rank.embedding.cards import Calibration
from tests.support.memory import write_root

QUERY = "render shaders on tuesday before the tests run"
WORDS = ("bun", "tests", "commit", "deploy", "tuesday", "shaders", "render", "folder", "run", "before")
RECORDS = [
    {"id": f"mem_{i:03}", "statement": " ".join(WORDS[(i * step + 1) % 10] for step in (1, 3, 7)) + f" w{i}"}
    for i in range(130)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_root(tmp_path_factory.mktemp("ranking") / "root", RECORDS)


def opened(folder, ranking, reranker=None):
    engine = MemoryEngine.open(
        folder,
        store=folder.parent / "s.sqlite3",
        model=HashingEmbedder(32),
        ranking=ranking,
        reranker=reranker,
    )
    engine.sync()
    return engine


def ids(hits):
    return [hit.id for hit in hits]


def test_rrf_is_the_published_formula_over_lists_of_a_hundred(folder):
    with opened(folder, "rrf") as engine:
        lists = [(0.45, ids(engine.search(QUERY, k=100, mode="lexical")))]
        lists.append((0.55, ids(engine.search(QUERY, k=100, mode="semantic"))))
        found = engine.search(QUERY, k=12)
        turn = engine.build_retrieval_context(SessionContext(latest_user_message=QUERY))
    scores = {}
    for weight, listed in lists:
        for rank, record_id in enumerate(listed, 1):
            scores[record_id] = scores.get(record_id, 0.0) + weight / (60 + rank)
    expected = sorted(scores, key=lambda record_id: (-scores[record_id], record_id))[:12]
    assert [(hit.id, hit.score) for hit in found] == [(key, pytest.approx(scores[key])) for key in expected]
    assert ids(turn.selected) == expected  # all are L2, which has the places of L1 where there is none
    for hit in found:
        assert [(part.source, part.rank) for part in hit.sources] == [
            (source, listed.index(hit.id) + 1)
            for source, (_, listed) in zip(("lexical", "semantic"), lists, strict=True)
            if hit.id in listed
        ]


def test_shares_of_the_default_add_up_and_ranks_are_those_of_the_sources(folder):
    with opened(folder, "default") as engine:
        lexical = ids(engine.search(QUERY, k=100, mode="lexical"))
        semantic = ids(engine.search(QUERY, k=100, mode="semantic"))
        found = engine.search(QUERY, k=130)
        turn = engine.build_retrieval_context(SessionContext(latest_user_message=QUERY))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert ids(turn.selected) == ids(found[:12])
    places = {"lexical": lexical, "semantic": semantic}
    for hit in found[:12]:
        assert hit.score == sum(part.score for part in hit.sources)
        for part in hit.sources:
            listed = places[part.source]
            assert part.rank == (listed.index(hit.id) + 1 if hit.id in listed else None)


def test_an_order_does_not_depend_on_how_much_of_it_is_asked_for(folder):
    with opened(folder, "default") as engine:
        assert ids(engine.search(QUERY, k=3)) == ids(engine.search(QUERY, k=40))[:3]


@pytest.mark.parametrize("ranking", ["default", "rrf"])
def test_one_source_alone_keeps_its_order(folder, ranking):
    with opened(folder, ranking) as engine:
        found = engine.search(QUERY, k=5, mode="lexical")
        assert [part.rank for hit in found for part in hit.sources] == [1, 2, 3, 4, 5]
        assert found[0].score == pytest.approx(0.45 / 61)


class Calibrated(HashingEmbedder):
    # Evidence e is e / (1 + e): the threshold is that of 0.6.
    calibration = Calibration(intercept=0, evidence=1, best=0, threshold=0.375)


@pytest.mark.parametrize(
    ("prompt", "model", "ranking", "off_topic", "selected"),
    [
        ("plan a birthday party", Calibrated(32), "default", True, 0),
        ("plan a birthday party", Calibrated(32), "rrf", False, 12),
        ("plan a birthday party", HashingEmbedder(32), "default", False, 12),  # no card, nothing tells
        (QUERY, Calibrated(32), "default", False, 12),
    ],
)
def test_a_prompt_of_another_subject_selects_nothing(tmp_path, prompt, model, ranking, off_topic, selected):
    with MemoryEngine.open(
        write_root(tmp_path / "root", RECORDS), store=tmp_path / "s.sqlite3", model=model, ranking=ranking
    ) as engine:
        engine.sync()
        turn = engine.build_retrieval_context(SessionContext(latest_user_message=prompt))
        assert len(engine.search(prompt, k=12, abstain=False)) == 12
        assert len(engine.search(prompt, k=12)) == selected
    assert (turn.stats["off_topic"], len(turn.selected)) == (off_topic, selected)
    if ranking == "default":
        calibrated = isinstance(model, Calibrated)
        assert (turn.stats["relevance"] is not None) == calibrated
        assert not calibrated or (turn.stats["relevance"] < 0.375) == (prompt != QUERY)


def test_an_unknown_ranking_is_refused(folder):
    with pytest.raises(ConfigError, match="unknown ranking 'best': use default or rrf"):
        MemoryEngine.open(folder, ranking="best")


class LastNumberFirst:
    """Scores a text by the number that it ends in, w0 to w129: the most is the best."""

    def __init__(self):
        self.seen = []

    def scores(self, query, texts):
        self.seen.append((query, list(texts)))
        return [float(text.rpartition("w")[2]) for text in texts]


@pytest.mark.parametrize("ranking", ["default", "rrf"])
def test_a_reranker_orders_the_best_and_leaves_scores_and_the_rest(folder, ranking):
    reranker = LastNumberFirst()
    with opened(folder, ranking) as engine:
        plain = engine.search(QUERY, k=100)
    with opened(folder, ranking, reranker) as engine:
        found = engine.search(QUERY, k=100)
        few = engine.search(QUERY, k=3)
        turn = engine.build_retrieval_context(SessionContext(latest_user_message=QUERY))
        lexical = engine.search(QUERY, k=5, mode="lexical")
    expected = sorted(plain[:32], key=lambda hit: hit.id, reverse=True) + plain[32:]
    assert found == expected != plain
    assert few == expected[:3]
    assert list(turn.selected) == expected[:12]
    assert (turn.stats["reranked"], list(turn.timings)[4:6]) == ("ok", ["ranking", "reranking"])
    assert [part.rank for hit in lexical for part in hit.sources if part.source == "lexical"] == [
        1,
        2,
        3,
        4,
        5,
    ]
    assert reranker.seen == [(QUERY, [hit.record.statement for hit in plain[:32]])] * 3


class Raises:
    def scores(self, query, texts):
        raise TimeoutError("the endpoint hung up")


class Gives:
    def __init__(self, make):
        self.scores = lambda query, texts: make(len(texts))


FAULTS = [
    (Raises(), "failed: the endpoint hung up"),
    (
        Gives(lambda count: [1.0] * (count - 1)),
        r"failed: the reranker gave scores of shape \(31,\) for 32 texts",
    ),
    (
        Gives(lambda count: [[1.0]] * count),
        r"failed: the reranker gave scores of shape \(32, 1\) for 32 texts",
    ),
    (Gives(lambda count: [float("nan")] * count), "failed: the reranker gave a score that is not finite"),
    (Gives(lambda count: [float("inf")] + [1.0] * (count - 1)), "failed: .* not finite"),
    (Gives(lambda count: None), "failed: .+"),
    (Gives(lambda count: ["best"] * count), "failed: could not convert string to float: 'best'"),
]


@pytest.mark.parametrize(("reranker", "status"), FAULTS)
@pytest.mark.parametrize("deadline_ms", [None, 60_000])
def test_a_reranker_that_fails_is_left_out(folder, reranker, status, deadline_ms):
    context = SessionContext(latest_user_message=QUERY)
    with opened(folder, "default") as engine:
        plain = engine.build_retrieval_context(context)
        searched = engine.search(QUERY, k=40)
    with opened(folder, "default", reranker) as engine:
        turn = engine.build_retrieval_context(context, deadline_ms=deadline_ms)
        with pytest.warns(RuntimeWarning, match=f"searched without the reranker: {status}"):
            assert engine.search(QUERY, k=40) == searched
    assert re.fullmatch(status, turn.stats["reranked"])
    assert (turn.markdown, turn.selected) == (plain.markdown, plain.selected)


def test_a_reranker_that_hangs_is_late_again_and_again_and_then_answers(folder):
    go_on = threading.Event()

    class Hangs(LastNumberFirst):
        def scores(self, query, texts):
            assert go_on.wait(30)
            return super().scores(query, texts)

    context = SessionContext(latest_user_message=QUERY)
    with opened(folder, "default") as engine:
        plain = engine.build_retrieval_context(context)
    with opened(folder, "default", Hangs()) as engine:
        vector = HashingEmbedder(32).embed_query(QUERY)
        turns = [
            engine.build_retrieval_context(context, deadline_ms=limit, query_vector=vector)
            for limit in (0, 20, 20)
        ]
        go_on.set()
        after = engine.build_retrieval_context(context, deadline_ms=30_000, query_vector=vector)
    assert [turn.stats["reranked"] for turn in turns] == ["late"] * 3
    assert [turn.selected for turn in turns] == [plain.selected] * 3
    assert after.stats["reranked"] == "ok"
    assert after.selected != plain.selected


def test_a_reranker_is_not_asked_where_there_is_nothing_to_order(tmp_path):
    reranker = LastNumberFirst()
    root = write_root(tmp_path / "root", RECORDS)
    with MemoryEngine.open(
        root, store=tmp_path / "s.sqlite3", model=Calibrated(32), reranker=reranker
    ) as engine:
        engine.sync()
        away = engine.build_retrieval_context(SessionContext(latest_user_message="plan a birthday party"))
    with MemoryEngine.open(root, store=tmp_path / "s.sqlite3", model=None, reranker=reranker) as engine:
        unknown = engine.build_retrieval_context(SessionContext(latest_user_message="plan a birthday party"))
    assert (away.stats["off_topic"], away.stats["reranked"]) == (True, None)
    assert (unknown.stats["candidates"], unknown.stats["reranked"]) == (0, None)
    assert reranker.seen == []
