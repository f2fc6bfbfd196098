"""The words and tables for one turn's answer, from answers built by hand."""

from __future__ import annotations

from pi_rank.cli import report
from pi_rank.memory.records import MemoryRecord
from pi_rank.results import Hit, ProcessorTrace, RankSource, RetrievalContext


def record(record_id, statement="Deploy on Tuesday.", confidence=0.9):
    return MemoryRecord(id=record_id, statement=statement, layer="L2", status="active", confidence=confidence)


def trace(name, count_in, reasons):
    return ProcessorTrace(name, count_in, count_in - len(reasons), lambda: reasons)


def test_summary_of_a_turn():
    result = RetrievalContext(
        markdown="# 部署\n",
        mode="lexical",
        hard_rules=(record("mem_1"),),
        timings={"filter": 0.1234, "total": 1.0},
    )
    assert report.summary(result) == (
        "lexical: 1 hard rules, 0 selected, 0 contested, 9 bytes; filter 0.12 · total 1.00 ms"
    )


def test_summary_of_a_turn_without_memory():
    assert report.summary(RetrievalContext(markdown="")) == (
        "none: 0 hard rules, 0 selected, 0 contested, 0 bytes; not timed"
    )


def test_selected_records_with_their_rankings(capsys):
    both = (RankSource("lexical", 3, 0.007142857), RankSource("semantic", 1, 0.009016393))
    hits = (
        Hit("mem_1", 0.01615925, record("mem_1", "one\ntwo"), both, 0.314),
        Hit("mem_22", 0.005, record("mem_22")),
    )
    report.print_selected(RetrievalContext(markdown="x", selected=hits))
    assert capsys.readouterr().out == (
        "selected  layer  conf  score    relevance  from                      statement\n"
        "mem_1     L2     0.90  0.01616  0.31       lexical #3 + semantic #1  one two\n"
        "mem_22    L2     0.90  0.00500  –          every turn                Deploy on Tuesday.\n"
    )


def test_nothing_selected(capsys):
    report.print_selected(RetrievalContext(markdown=""))
    assert capsys.readouterr().out == "Nothing was selected.\n"


def test_left_out_is_grouped_by_reason_most_frequent_first(capsys):
    reasons = {f"mem_{n}": "status:deprecated" for n in range(4)} | {"mem_9": "status:contested"}
    traces = (trace("StatusFilterProcessor", 8, reasons), trace("ProfileScopeProcessor", 3, {}))
    report.print_left_out(RetrievalContext(markdown="", traces=traces))
    assert capsys.readouterr().out == (
        "processor              in  out  left out  reason             records\n"
        "StatusFilterProcessor  8   3    4         status:deprecated  mem_0, mem_1, mem_2, …\n"
        "                                1         status:contested   mem_9\n"
        "ProfileScopeProcessor  3   3    0\n"
    )


def test_many_reasons_are_cut_and_said(capsys):
    reasons = {f"mem_{n:02}": f"does_not_apply_when:phrase {n:02}" for n in range(20)}
    report.print_left_out(
        RetrievalContext(markdown="", traces=(trace("NegativeScopeProcessor", 20, reasons),))
    )
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + report.MAX_REASONS + 1
    assert "phrase 11" in lines[-2]
    assert lines[-1].endswith("8 more reasons: --json lists them")


def test_what_is_let_in_for_pis_id_is_named(capsys):
    trace = ProcessorTrace(
        "ProfileScopeProcessor", 3, 2, dict, lambda: {"mem_1": "pi_profile:project:default"}
    )
    report.print_left_out(RetrievalContext(markdown="x", traces=(trace,)))
    assert "let in, 1: pi_profile:project:default  mem_1" in capsys.readouterr().out
