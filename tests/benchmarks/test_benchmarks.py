"""What the benchmarks say is computed, drawn and dispatched right; no timing is asserted here."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks.__main__ import commands, main
from benchmarks.corpus import NESTED_PLACES, Corpus
from benchmarks.hashing_embedder import HashingEmbedder
from benchmarks.plot import bars, figure, lines
from benchmarks.speed.bare_turn import bare_turn
from benchmarks.speed.common import TODAY, turns
from benchmarks.speed.gates import ATTEMPTS, Gate
from benchmarks.speed.timings import summary
from benchmarks.tables import gates_table, microseconds, peers_table, table, turn_table
from pi_rank import MemoryEngine, SessionContext

CORPUS = Corpus(seed=3, size=3_000, nested=True)


def test_help_lists_every_benchmark(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["--help"])
    assert exit_info.value.code == 0
    said = capsys.readouterr().out
    assert {"gates", "report"} <= commands().keys()
    assert all(f"  {name} " in said for name in commands())


def test_an_unknown_benchmark_is_refused(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(["nonsense"])
    assert exit_info.value.code == 2
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


def test_quantiles_are_of_each_argument_at_its_best():
    passes_over_two = [3e-6, 10e-6, 1e-6, 20e-6, 2e-6, 30e-6]
    assert summary(passes_over_two, 2) == {
        "p50": 5.5,
        "p99": 9.91,
        "p50_all": 6.5,
        "p99_all": 29.5,
        "arguments": 2,
        "passes": 3,
    }


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.51, "0.51 µs"),
        (12.34, "12.3 µs"),
        (123.4, "123 µs"),
        (1234.0, "1.23 ms"),
        (98_765.0, "98.8 ms"),
        (2e6, "2 s"),
    ],
)
def test_microseconds_have_three_digits(value, said):
    assert microseconds(value) == said


def test_a_table_is_markdown():
    assert table(["", "a"], [["x", "1"]]) == "|  | a |\n| --- | ---: |\n| x | 1 |\n"


def test_a_turn_is_a_row_with_a_column_per_share():
    common = {"question": "turn", "size": 1_000, "words": 5, "p50": 200.0, "p99": 300.0}
    results = [
        common | {"share": 0.1, "p50_all": 1.0, "p99_all": 2.0},
        common | {"share": 1.0, "p50": 250.0, "p50_all": 260.0, "p99_all": 9_000.0},
    ]
    assert turn_table(results).splitlines() == [
        "| records, prompt | 100% eligible | 10% eligible | 100%, all timings |",
        "| --- | ---: | ---: | ---: |",
        "| 1,000, 5 words | 250 µs / 300 µs | 200 µs / 300 µs | 260 µs / 9 ms |",
    ]


def test_a_peer_that_was_not_measured_leaves_its_cell_empty():
    results = [
        {"question": "bm25", "library": "pi_rank", "size": 10, "p50": 1.0},
        {"question": "bm25", "library": "pi_rank", "size": 20, "p50": 2.0},
        {"question": "bm25", "library": "fts5", "size": 10, "p50": 3.0},
    ]
    assert peers_table(results, "bm25", ("size",)).splitlines()[2:] == [
        "| 10 | 1 µs | 3 µs |",
        "| 20 | 2 µs |  |",
    ]


def test_the_plot_is_xml_and_escapes_names():
    panels = [lines("a < b", {"x & y": [(10, 1.0), (100, 50.0)]}, "records"), bars("c", {"d": {"e": 5.0}})]
    root = ElementTree.fromstring(figure(panels))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "x & y", "10", "100", "1 µs", "e", "5 µs"} <= set(texts)


def test_a_gate_is_measured_again_before_it_is_missed():
    ratios = iter([9.0, 7.0, 3.0])
    gate = Gate("g", lambda memories: next(ratios), 8, False, "why")
    assert gate.measured(None) == 7.0
    always = Gate("g", lambda memories: 9.0, 8, False, "why")
    assert ATTEMPTS > 1
    assert not always.holds(always.measured(None))
    assert "| g | 9.00 | ≤ 8 | **no** |" in gates_table([{"question": "gates", **always.facts(9.0)}])


@pytest.mark.parametrize("share", NESTED_PLACES)
def test_a_nested_corpus_has_every_eligible_share(tmp_path, share):
    root = CORPUS.write(tmp_path / "root")
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=None) as engine:
        engine.sync()
        turn = SessionContext(**CORPUS.turn("where are the releases kept", share))
        stats = engine.build_retrieval_context(turn, today=TODAY).stats
    assert stats["records"] == 3_000
    assert stats["eligible"] / 3_000 == pytest.approx(share, rel=0.3)


def test_the_bare_turn_shows_what_the_whole_turn_ranks_first(tmp_path):
    root = Corpus(seed=3, size=500, nested=True).write(tmp_path / "root")
    turn = turns(500, 1, 12)[0]
    with MemoryEngine.open(root, store=tmp_path / "store.sqlite3", model=HashingEmbedder()) as engine:
        engine.sync()
        whole = engine.build_retrieval_context(turn.context, today=TODAY, query_vector=turn.vector)
        snapshot = engine._fresh(wait_for_model=True)
        bare = bare_turn(snapshot, engine._analyzer)(turn)
    assert whole.selected
    assert bare.selected[:5] == tuple(hit.id for hit in whole.selected)[:5]
