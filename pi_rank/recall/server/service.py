"""What the routes do, over one engine that all requests share."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from pi_rank.clock import utc_day
from pi_rank.context import context_from_json
from pi_rank.errors import ConfigError, ContextError
from pi_rank.memory.records import embedded_text
from pi_rank.recall.engine_recall import scoped
from pi_rank.recall.rows import wire_row
from pi_rank.results import hit_to_dict, record_to_dict
from pi_rank.serving.api_errors import ApiError

if TYPE_CHECKING:
    from pi_rank.context import SessionContext
    from pi_rank.recall.notes.engine import NotedEngine
    from pi_rank.recall.notes.keeper import NoteKeeper
    from pi_rank.recall.server.audit import AuditLog
    from pi_rank.recall.server.metrics import Metrics
    from pi_rank.recall.server.refresh import Refresher
    from pi_rank.results import Hit, RetrievalContext

T = TypeVar("T")
_WORD = re.compile(r"\w+")
MAX_ENTITIES = 10
PLACE = ("working_directory", "project_root", "repository_id", "profile_id")
# What these leave out is of other profiles and projects.
OTHERS = ("ProfileScopeProcessor", "BasicScopeProcessor")
_UNUSABLE_FOLDER = "context.working_directory cannot be used: it is no path, or its settings cannot be read"
THREADS = min(8, (os.cpu_count() or 1) + 1)


class Service:
    """The work behind the routes; it closes nothing that it was given.

    :param scope: the one place that every route answers for, whatever a caller says; None recalls from every
        active record, and lets a turn name its own place.
    """

    def __init__(
        self,
        engine: NotedEngine,
        keeper: NoteKeeper,
        refresher: Refresher,
        audit: AuditLog,
        metrics: Metrics,
        scope: SessionContext | None = None,
    ) -> None:
        self.keeper = keeper
        self.refresher = refresher
        self._engine = engine
        self._audit = audit
        self._metrics = metrics
        self._scope = scope
        self._started = time.time()
        # Searching lets go of the GIL for most of its time; more threads than cores only queue.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="pi-rank-recall")

    def close(self) -> None:
        """Wait for the searches that have begun."""
        self._threads.shutdown()

    async def recall(self, query: str, top_k: int) -> dict[str, Any]:
        """The body of /recall: REMANENTIA's keys; the query is repeated code point for code point."""
        hits = await self._run(
            "recall", lambda: self._engine.recall(query, top_k, scoped(self._scope, query))
        )
        self._metrics.add("hits", len(hits))
        self._metrics.mode(_mode(hits))
        today = utc_day()
        tags = dict.fromkeys(tag for hit in hits for tag in hit.record.tags if tag.strip())
        return {
            "results": [wire_row(hit, today) for hit in hits],
            "query": query,
            "entities": list(tags)[:MAX_ENTITIES],
            "novelty": _novelty(query, hits),
        }

    async def search(self, query: str, k: int, mode: str, context: object) -> dict[str, Any]:
        """The body of /search.

        :raises ApiError: the context or the mode is not usable.
        """
        place = self._place_of_search(query, context)
        if mode not in ("hybrid", "lexical", "semantic"):
            raise ApiError(400, "mode must be hybrid, lexical or semantic")
        try:
            hits = await self._run(
                "search", lambda: self._engine.search(query, k=k, mode=cast("Any", mode), context=place)
            )
        except (ContextError, ConfigError):
            raise ApiError(400, _UNUSABLE_FOLDER) from None
        return {"query": query, "hits": [hit_to_dict(hit) for hit in hits]}

    async def context(self, context: object, max_bytes: int) -> dict[str, Any]:
        """The body of /context: what was chosen; what was left out only as counts.

        :raises ApiError: the context is not usable.
        """
        turn = await self._turn(context, max_bytes)
        traces = [
            {"processor": t.processor, "input_count": t.input_count, "output_count": t.output_count}
            for t in turn.traces
        ]
        return {
            "markdown": turn.markdown,
            "bytes": len(turn.markdown.encode()),
            "mode": turn.mode,
            "selected": [hit_to_dict(hit) for hit in turn.selected],
            "hard_rules": [record_to_dict(record) for record in turn.hard_rules],
            "contested": [record_to_dict(record) for record in turn.contested],
            "traces": traces,
            "stats": turn.stats,
            "timings_ms": turn.timings,
        }

    async def explain(self, context: object, max_bytes: int) -> dict[str, Any]:
        """The body of /explain: the whole turn, each record left out with its reason.

        :raises ApiError: the context is not usable.
        """
        turn = await self._turn(context, max_bytes)
        explained: dict[str, Any] = await self._run("explain", turn.to_dict)
        if self._scope is not None:  # who else has records here is not for this project to know
            for trace in explained["traces"]:
                if trace["processor"] in OTHERS:
                    trace["excluded_ids"], trace["exclusion_reasons"] = [], {}
        return explained

    def health(self) -> str:
        """`ok`; or `degraded`, while answers come from an earlier state, or from the memory files alone."""
        return "degraded" if self.refresher.failing else "ok"

    async def status(self) -> dict[str, Any]:
        """The body of /status. No path: whoever may ask need not know the machine."""
        counts = await self._run("status", self._engine.status)
        return {
            "status": self.health(),
            **{key: value for key, value in counts.items() if key not in ("root", "store")},
            **self.keeper.status(),
            "uptime_seconds": round(time.time() - self._started, 3),
            "index_age_seconds": round(self.refresher.index_age, 3),
            "refresh": "failing" if self.refresher.failing else "ok",
            "audit": "off" if self._audit.path is None else "failing" if self._audit.failures else "on",
            "audit_failures": self._audit.failures,
        }

    def gauges(self) -> dict[str, float]:
        """Values of this moment for /metrics."""
        return {
            "index_age_seconds": self.refresher.index_age,
            "refresh_failing": float(self.refresher.failing),
            "audit_failures": float(self._audit.failures),
            "notes": float(self.keeper.status()["notes"]),
            "uptime_seconds": time.time() - self._started,
        }

    async def _turn(self, context: object, max_bytes: int) -> RetrievalContext:
        asked = self._in_scope(_context(context))
        try:
            turn = await self._run(
                "context", lambda: self._engine.build_retrieval_context(asked, max_bytes=max_bytes)
            )
        except (ContextError, ConfigError):
            raise ApiError(400, _UNUSABLE_FOLDER) from None
        for step, milliseconds in turn.timings.items():
            self._metrics.stage(f"turn_{step}", milliseconds / 1000)
        return turn

    def _place_of_search(self, query: str, context: object) -> SessionContext | None:
        if context is None:
            return scoped(self._scope, query)
        return self._in_scope(_context(context))

    def _in_scope(self, turn: SessionContext) -> SessionContext:
        """The turn where the server is; where that is nowhere, where it says itself that it is asked.

        :raises ApiError: it is asked of another place than the server's.
        """
        if self._scope is None:
            return turn
        for name in PLACE:
            named, ours = getattr(turn, name), getattr(self._scope, name)
            if named is not None and named != ours:
                raise ApiError(
                    403, f"this server answers for another {name} than the context's: leave it out"
                )
        return msgspec.structs.replace(turn, **{name: getattr(self._scope, name) for name in PLACE})

    async def _run(self, stage: str, work: Callable[[], T]) -> T:
        def timed() -> T:
            started = time.perf_counter()
            try:
                return work()
            finally:
                self._metrics.stage(stage, time.perf_counter() - started)

        return await asyncio.get_running_loop().run_in_executor(self._threads, timed)


def _context(value: object) -> SessionContext:
    try:
        return context_from_json(value)
    except ContextError:
        raise ApiError(400, "context must be an object with a string latest_user_message") from None


def _novelty(query: str, hits: list[Hit]) -> float:
    """The share of the query's words that none of the hits has: 0 is all known, 1 all new."""
    asked = set(_WORD.findall(query.casefold()))
    known = {word for hit in hits for word in _WORD.findall(embedded_text(hit.record).casefold())}
    return len(asked - known) / len(asked) if asked else 1.0


def _mode(hits: list[Hit]) -> str:
    sources = {source.source for hit in hits for source in hit.sources}
    if "semantic" in sources and len(sources) > 1:
        return "hybrid"
    return next(iter(sources), "none")
