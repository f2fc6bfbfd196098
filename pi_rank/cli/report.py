"""A turn's answer in words and tables: what was chosen, what was left out and why, how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pi_rank.cli.output import ELLIPSIS, one_line, print_table

if TYPE_CHECKING:
    from pi_rank.results import Hit, ProcessorTrace, RetrievalContext

MAX_REASONS = 12  # per processor; `--json` gives all of them
MAX_IDS = 3  # per reason


def summary(result: RetrievalContext) -> str:
    """The turn in one line: mode, counts, size and the time of each step."""
    rules, selected, contested = len(result.hard_rules), len(result.selected), len(result.contested)
    counts = f"{rules} hard rules, {selected} selected, {contested} contested"
    return f"{result.mode}: {counts}, {len(result.markdown.encode())} bytes; {timings(result.timings)}"


def timings(steps: Mapping[str, float]) -> str:
    """Milliseconds per step, in the order the steps ran."""
    return (
        " · ".join(f"{name} {value:.2f}" for name, value in steps.items()) + " ms" if steps else "not timed"
    )


def print_selected(result: RetrievalContext) -> None:
    """Each selected record, with the rankings that put it there."""
    if not result.selected:
        print("Nothing was selected.")
        return
    from pi_rank.block.lines import statement_line
    from pi_rank.memory.sources.protocol import origin_of

    titles = ["selected", "layer", "conf", "score", "relevance", "from", "statement"]
    rows = [
        [
            hit.id,
            hit.layer,
            f"{hit.confidence:.2f}",
            f"{hit.score:.5f}",
            relevance(hit),
            sources(hit),
            one_line(statement_line(hit.record), 60),
        ]
        for hit in result.selected
    ]
    places = [origin_of(hit.record) for hit in result.selected]
    if any(places):  # of memory in other forms than PI's
        titles.insert(6, "in")
        for row, place in zip(rows, places, strict=True):
            row.insert(6, place)
    print_table(titles, rows)


def relevance(hit: Hit) -> str:
    """How likely a hit belongs to the prompt: "0.31"; a dash where nothing tells."""
    return "–" if hit.relevance is None else f"{hit.relevance:.2f}"


def sources(hit: Hit) -> str:
    """Where a hit was found: "lexical #3 + semantic #1"; "every turn" for identity that none found."""
    return " + ".join(f"{found.source} #{found.rank or '–'}" for found in hit.sources) or "every turn"


def print_left_out(result: RetrievalContext) -> None:
    """What each processor let through, and the reasons it gave, with some of the records for each."""
    rows = [row for trace in result.traces for row in _trace_rows(trace)]
    print_table(["processor", "in", "out", "left out", "reason", "records"], rows)


def _trace_rows(trace: ProcessorTrace) -> Iterator[list[str]]:
    by_reason = _by_reason(trace.exclusion_reasons)
    first = [trace.processor, str(trace.input_count), str(trace.output_count)]
    for reason, ids in list(by_reason.items())[:MAX_REASONS]:
        yield [*first, str(len(ids)), one_line(reason, 50), _some(ids)]
        first = ["", "", ""]
    if not by_reason:
        yield [*first, "0", "", ""]
    elif len(by_reason) > MAX_REASONS:
        yield [*first, "", f"{len(by_reason) - MAX_REASONS} more reasons: --json lists them", ""]
    for reason, ids in _by_reason(trace.admission_reasons).items():
        yield ["", "", "", "", f"let in, {len(ids)}: {one_line(reason, 50)}", _some(ids)]


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for record_id, reason in reasons.items():
        groups.setdefault(reason, []).append(record_id)
    return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])))


def _some(ids: list[str]) -> str:
    shown = ", ".join(ids[:MAX_IDS])
    return shown if len(ids) <= MAX_IDS else f"{shown}, {ELLIPSIS}"
