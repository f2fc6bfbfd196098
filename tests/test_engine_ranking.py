"""The two rankings as an engine gives them: RRF to the letter, and what the shares of the default say."""

from __future__ import annotations

import pytest

from benchmarks.hashing_embedder import HashingEmbedder
from pi_rank import ConfigError, MemoryEngine, SessionContext
from tests.memory import write_root

QUERY = "render shaders on tuesday before the tests run"
WORDS = ("bun", "tests", "commit", "deploy", "tuesday", "shaders", "render", "folder", "run", "before")
RECORDS = [
    {"id": f"mem_{i:03}", "statement": " ".join(WORDS[(i * step + 1) % 10] for step in (1, 3, 7)) + f" w{i}"}
    for i in range(130)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_root(tmp_path_factory.mktemp("ranking") / "root", RECORDS)


def opened(folder, ranking):
    engine = MemoryEngine.open(
        folder, store=folder.parent / "s.sqlite3", model=HashingEmbedder(32), ranking=ranking
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
    assert ids(turn.selected) == expected[:8]  # all are L2, which has eight places
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
    assert ids(turn.selected) == ids(found[:8])
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


class WithFloor(HashingEmbedder):
    relevance_floor = 0.6


@pytest.mark.parametrize(
    ("prompt", "model", "ranking", "off_topic", "selected"),
    [
        ("plan a birthday party", WithFloor(32), "default", True, 0),
        ("plan a birthday party", WithFloor(32), "rrf", False, 8),
        ("plan a birthday party", HashingEmbedder(32), "default", False, 8),  # no card, no floor
        (QUERY, WithFloor(32), "default", False, 8),
    ],
)
def test_a_prompt_of_another_subject_selects_nothing(tmp_path, prompt, model, ranking, off_topic, selected):
    with MemoryEngine.open(
        write_root(tmp_path / "root", RECORDS), store=tmp_path / "s.sqlite3", model=model, ranking=ranking
    ) as engine:
        engine.sync()
        turn = engine.build_retrieval_context(SessionContext(latest_user_message=prompt))
        assert len(engine.search(prompt, k=8)) == 8  # a search gives the nearest, whatever they are
    assert (turn.stats["off_topic"], len(turn.selected)) == (off_topic, selected)
    if ranking == "default":
        assert (turn.stats["relevance"] < 0.6) == (prompt != QUERY)


def test_an_unknown_ranking_is_refused(folder):
    with pytest.raises(ConfigError, match="unknown ranking 'best': use default or rrf"):
        MemoryEngine.open(folder, ranking="best")
