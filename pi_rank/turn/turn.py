"""One turn over one snapshot: filter, rank, select, assemble. Reads memory, never writes it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi_rank.block.guidance import build_policy, build_wakeup
from pi_rank.block.sections import BlockParts, build_block, count_hard_rules
from pi_rank.block.triviality import is_trivial
from pi_rank.embedding.queries import SPELLED, UNREADABLE
from pi_rank.ranking.blend import DEFAULTS
from pi_rank.ranking.blend import SPELLED as WORDS_FIRST
from pi_rank.results import RetrievalContext
from pi_rank.turn.belonging import Asked, belonging
from pi_rank.turn.folding import AHEAD, folded, without_superseded
from pi_rank.turn.named import named_rows, with_named
from pi_rank.turn.processors import Eligibility, run_processors
from pi_rank.turn.ranking import DEPTH, QueryHits, hits, rank
from pi_rank.turn.relevance import Relevant
from pi_rank.turn.selection import MAX_HARD_RULES, choose, with_identity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pi_rank.block.page import Block
    from pi_rank.embedding.cards import Calibration
    from pi_rank.memory.config import RootConfig
    from pi_rank.memory.notes import Notes
    from pi_rank.memory.records import MemoryRecord
    from pi_rank.ranking.analysis import FtsAnalyzer
    from pi_rank.ranking.semantic import VectorHits
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import Ranking, RankingRule
    from pi_rank.turn.request import Request
    from pi_rank.turn.rerank import RerankStage

    Vector = npt.NDArray[np.float32]

# Contested memory is shown where it shares more than this with the prompt (contract of PI's memory).
MIN_OVERLAP = 0.15
MAX_CONTESTED = 2
FIRST_ROWS = 64


class Memory(NamedTuple):
    """What a turn reads, all of one moment."""

    snapshot: Snapshot
    notes: Notes
    config: RootConfig
    analyzer: FtsAnalyzer
    rule: RankingRule
    reranking: RerankStage
    calibration: Calibration | None
    trouble: tuple[str, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """What of store and files that a turn reads could not be read, and what was done instead."""
        return [
            *store_problems(self.snapshot, self.trouble),
            *self.config.warnings,
            *self.notes.warnings,
        ]


def store_problems(snapshot: Snapshot, trouble: tuple[str, ...]) -> list[str]:
    """What of the store a turn, or a search, goes without."""
    found = [*trouble, *snapshot.warnings]
    if snapshot.damaged:
        found.append(
            f"{len(snapshot.damaged)} records of the store are damaged and left out; "
            "`pi-rank doctor` names them, `pi-rank rebuild` makes them anew"
        )
    return found


class Stopwatch:
    """Milliseconds per step, in the order the steps ended."""

    def __init__(self) -> None:
        self._laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, step: str) -> None:
        """Ends a step: the time since the last one ended, or since `resume`, was its."""
        now = time.perf_counter()
        self._laps[step] = (now - self._last) * 1000
        self._last = now

    def resume(self) -> None:
        """What passed since the last step was another turn's."""
        self._last = time.perf_counter()

    def laps(self) -> dict[str, float]:
        """All steps and, last, the total."""
        return {**self._laps, "total": sum(self._laps.values())}


def run_turn(memory: Memory, request: Request, watch: Stopwatch) -> RetrievalContext:
    """The whole turn, in the root's injection mode. `watch` has been running since the turn was asked for."""
    watch.lap("memory")
    if is_trivial(request.context.latest_user_message):
        return RetrievalContext(
            markdown="", stats={"trivial": True, "warnings": memory.warnings}, timings=watch.laps()
        )
    allowed = run_processors(memory.snapshot, request.context, request.today)
    watch.lap("processors")
    mode = memory.config.injection_mode
    answer = {"scoped": _scoped, "policy_only": _policy_only, "wakeup": _wakeup}[mode]
    return answer(memory, request, allowed, watch)


def run_turns(memory: Memory, requests: Sequence[Request]) -> list[RetrievalContext]:
    """`run_turn` of each, but both sources are searched for all of them at once, without the GIL.

    A thread that gives the GIL away for each of a turn's short kernels waits longer for it than they take.
    """
    watches = [Stopwatch() for _ in requests]
    if memory.config.injection_mode != "scoped":
        return [run_turn(memory, *each) for each in zip(requests, watches, strict=True)]
    answers: dict[int, RetrievalContext] = {}
    waiting: list[_Waiting] = []
    for at, (request, watch) in enumerate(zip(requests, watches, strict=True)):
        watch.resume()
        if is_trivial(request.context.latest_user_message):
            answers[at] = run_turn(memory, request, watch)
            continue
        allowed = run_processors(memory.snapshot, request.context, request.today)
        watch.lap("processors")
        waiting.append(_Waiting(at, request, allowed, request.query_vector.get()))
        watch.lap("embedding")
    for turn, found in zip(waiting, _search_together(memory, waiting), strict=True):
        watches[turn.at].resume()
        answers[turn.at] = _scoped(memory, turn.request, turn.allowed, watches[turn.at], found)
    return [answers[at] for at in range(len(requests))]


class _Waiting(NamedTuple):
    """A turn of several, ready to be searched for; `at` is its place among them."""

    at: int
    request: Request
    allowed: Eligibility
    vector: Vector | None


def _search_together(memory: Memory, waiting: Sequence[_Waiting]) -> list[QueryHits]:
    """Both sources' hits of every turn; none by vectors where there is no vector."""
    snapshot = memory.snapshot
    words = snapshot.lexical.search_batch(
        [memory.analyzer.query_terms(turn.request.context.latest_user_message) for turn in waiting],
        DEPTH,
        eligible=[turn.allowed.eligible for turn in waiting],
        tie_rank=snapshot.tie_rank,
    )
    asked = [turn for turn in waiting if turn.vector is not None and snapshot.vectors is not None]
    hits: dict[int, VectorHits] = {}
    if asked and snapshot.vectors is not None:
        found = snapshot.vectors.search_batch(
            np.stack([turn.vector for turn in asked if turn.vector is not None]),
            DEPTH,
            tie_rank=snapshot.tie_rank,
            eligible=[turn.allowed.eligible for turn in asked],
        )
        hits = {turn.at: each for turn, each in zip(asked, found, strict=True)}
    return [
        QueryHits(rows, turn.vector, hits.get(turn.at))
        for turn, (rows, _) in zip(waiting, words, strict=True)
    ]


def _scoped(
    memory: Memory,
    request: Request,
    allowed: Eligibility,
    watch: Stopwatch,
    found: QueryHits | None = None,
) -> RetrievalContext:
    snapshot, prompt = memory.snapshot, request.context.latest_user_message
    contested = _contested(memory, prompt, allowed)
    watch.lap("contested")
    semantic: QueryHits | Vector | None = found
    if semantic is None:
        semantic = request.query_vector.get()
        watch.lap("embedding")
    constants = WORDS_FIRST if request.query_vector.status == SPELLED else DEFAULTS
    ranking = rank(
        snapshot, memory.analyzer, prompt, semantic, allowed.eligible, rule=memory.rule, constants=constants
    )
    watch.lap("ranking")
    candidates = len(ranking.rows)
    least = memory.config.min_relevance if request.min_relevance is None else request.min_relevance
    ranking, best, off_topic = _belonging(memory, request, ranking, allowed, semantic, least)
    ranking, reranked = memory.reranking.apply(snapshot, prompt, ranking, request.deadline)
    ranking = with_named(snapshot, ranking, prompt, allowed.eligible)
    if reranked is not None:
        watch.lap("reranking")
    identity = _first_eligible(snapshot.identity, allowed, memory.config.max_l1)
    max_records, max_l1, max_l2 = memory.config.budgets(request.max_records, len(identity))
    rule_rows = _first_eligible(snapshot.hard_rules, allowed, MAX_HARD_RULES)
    rules = [snapshot.record(row) for row in rule_rows]
    # A rule that has no room in its section may still be selected.
    shown = rule_rows[: count_hard_rules(rules, max_bytes=request.max_bytes)]
    distinct = folded(
        snapshot,
        ranking,
        lambda ranked: choose(
            ranked.rows,
            snapshot.columns.layer,
            max_records=max_records,
            max_l1=max_l1,
            max_l2=max_l2,
            exclude=shown,
            ahead=AHEAD,
        ),
    )
    ranking = distinct.ranking
    selected = with_identity(
        hits(snapshot, ranking, distinct.choice.places), [snapshot.record(row) for row in identity], max_l1
    )
    contested = without_superseded(contested, [*rules, *(hit.record for hit in selected)])
    watch.lap("selection")
    parts = BlockParts(
        today=request.today,
        hard_rules=rules,
        selected=[hit.record for hit in selected],
        scratchpad=memory.notes.scratchpad,
        contested=contested,
        daily_log=memory.notes.daily,
        sessions=memory.notes.sessions,
        prompt=prompt,
    )
    block = build_block(parts, max_bytes=request.max_bytes)
    watch.lap("block")
    return RetrievalContext(
        markdown=block.markdown,
        selected=tuple(hit for hit in selected if hit.id in block.selected),
        hard_rules=tuple(rule for rule in rules if rule.id in block.hard_rules),
        contested=tuple(record for record in contested if record.id in block.contested),
        traces=allowed.traces,
        mode=ranking.mode,
        stats=_stats(memory, allowed)
        | {
            "candidates": candidates,
            "query_vector": request.query_vector.status,
            "vector_search": ranking.strategy,
            "relevance": best,
            "off_topic": off_topic or (request.query_vector.status == UNREADABLE and not candidates),
            "folded": distinct.named(snapshot),
            "reranked": reranked,
            "omitted": block.omitted,
        },
        timings=watch.laps(),
    )


def _belonging(
    memory: Memory,
    request: Request,
    ranking: Ranking,
    allowed: Eligibility,
    semantic: QueryHits | Vector | None,
    least: float | None,
) -> Relevant:
    """What of a ranking, and of the records that apply when a turn is about this, belongs to the turn."""
    if memory.rule == "rrf":
        return Relevant(ranking, None, False)
    prompt = request.context.latest_user_message
    return belonging(
        memory.snapshot,
        memory.analyzer,
        ranking,
        Asked(prompt, request.context, semantic.vector if isinstance(semantic, QueryHits) else semantic),
        allowed.eligible,
        memory.calibration,
        least,
    )


def _policy_only(
    memory: Memory, request: Request, allowed: Eligibility, watch: Stopwatch
) -> RetrievalContext:
    return _guidance(build_policy(max_bytes=request.max_bytes), memory, allowed, watch)


def _wakeup(memory: Memory, request: Request, allowed: Eligibility, watch: Stopwatch) -> RetrievalContext:
    contested = int(np.count_nonzero(allowed.contested))
    block = build_wakeup(active=allowed.eligible_count, contested=contested, max_bytes=request.max_bytes)
    return _guidance(block, memory, allowed, watch)


def _guidance(block: Block, memory: Memory, allowed: Eligibility, watch: Stopwatch) -> RetrievalContext:
    watch.lap("block")
    return RetrievalContext(
        markdown=block.markdown,
        traces=allowed.traces,
        stats=_stats(memory, allowed) | {"omitted": block.omitted},
        timings=watch.laps(),
    )


def _stats(memory: Memory, allowed: Eligibility) -> dict[str, Any]:
    return {
        "records": memory.snapshot.live_count,
        "eligible": allowed.eligible_count,
        "generation": memory.snapshot.version.generation,
        "injection_mode": memory.config.injection_mode,
        "warnings": memory.warnings,
    }


def _first_eligible(rows: npt.NDArray[np.int32], allowed: Eligibility, count: int) -> list[int]:
    """The first `count` of the rows that are eligible, looked for a few at a time, then ever more."""
    found: list[int] = []
    start, size = 0, FIRST_ROWS
    while start < len(rows) and len(found) < count:
        some = rows[start : start + size]
        found += some[allowed.eligible[some].view(np.bool_)].tolist()
        start, size = start + size, 2 * size
    return found[:count]


def _contested(memory: Memory, prompt: str, allowed: Eligibility) -> list[MemoryRecord]:
    snapshot = memory.snapshot
    rows, _ = snapshot.contested.best(
        memory.analyzer.query_terms(prompt),
        MAX_CONTESTED,
        above=MIN_OVERLAP,
        eligible=allowed.contested,
        tie_rank=snapshot.tie_rank,
    )
    named = [row for row in named_rows(snapshot, prompt) if allowed.contested[row]]
    return [snapshot.record(row) for row in dict.fromkeys([*named, *rows.tolist()])][:MAX_CONTESTED]
