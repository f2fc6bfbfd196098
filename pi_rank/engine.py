"""MemoryEngine: the façade over one memory root. It opens, keeps fresh, and hands the work to others."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pi_rank.batch import in_order
from pi_rank.block.sections import MAX_BLOCK_BYTES
from pi_rank.clock import utc_day
from pi_rank.embedding.queries import GivenVector
from pi_rank.errors import ConfigError, ContextError
from pi_rank.memory.root import MemoryRoot
from pi_rank.places import Places
from pi_rank.snapshot.upkeep import Upkeep
from pi_rank.sources.registry import open_sources
from pi_rank.store.model_change import StoreModels
from pi_rank.store.schema import DamagedStoreError
from pi_rank.store.stand_in import StandIn, open_for_turns
from pi_rank.store.store import MemoryStore, default_store_path
from pi_rank.turn.request import Request, checked_share, deadline_in, given_vector
from pi_rank.turn.rerank import RerankStage
from pi_rank.turn.search import Search, SearchMode, run_search
from pi_rank.turn.turn import Memory, Stopwatch, run_turn, run_turns, store_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from datetime import date
    from types import TracebackType

    import numpy.typing as npt

    from pi_rank.context import SessionContext
    from pi_rank.embedding import Embedder
    from pi_rank.embedding.queries import QueryVector
    from pi_rank.memory.config import RootConfig
    from pi_rank.memory.sources.protocol import SourceSpec
    from pi_rank.results import Hit, RetrievalContext
    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import RankingRule
    from pi_rank.turn.rerank import Reranker

    Vector = npt.NDArray[np.float32]
    Progress = Callable[[int, int], None]


class MemoryEngine(Upkeep):
    """Retrieval over one memory root. Threads may share an engine; a turn never waits for a writer.

    Made by `open`. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        root: MemoryRoot,
        store: MemoryStore,
        models: StoreModels,
        config: RootConfig | None,
        ranking: RankingRule = "default",
        reranker: Reranker | None = None,
    ) -> None:
        super().__init__(root, store, models)
        self._config = config
        self._rule = ranking
        self._reranking = RerankStage(reranker)
        self._places = Places()

    @classmethod
    def open(
        cls,
        root: str | Path,
        *,
        store: str | Path | None = None,
        model: str | Embedder | None = "default",
        config: RootConfig | None = None,
        ranking: RankingRule = "default",
        reranker: Reranker | None = None,
        sources: Sequence[SourceSpec] | None = None,
    ) -> MemoryEngine:
        """Opens a memory root. Nothing is read from it before `sync`, and nothing is ever written to it.

        :param store: the store's file; by default one per root in the user's cache folder.
        :param model: "default" is what was chosen for the store (`use_model`), at first the shipped one; else
            a model card's id or path, a sentence-transformers name, an embedder, or None: ranking by words.
        :param config: used instead of the root's config.json.
        :param ranking: how lexical and semantic hits become one order: "default", measured to be at least as
            good as the better of the two (docs/ranking.md), or "rrf", PI's Reciprocal Rank Fusion.
        :param reranker: orders the best 32 candidates anew, such as
            `pi_rank.embedding.cross_encoder.CrossEncoderReranker`. A turn in which it fails, or is late,
            keeps the ranking's order and says so in `stats["reranked"]`.
        :param sources: memory in other forms, used instead of what the root's config.json names
            (docs/sources.md); the store is then another one than the root's, and the root may be missing.

        A store that may not be written to is read, with a warning that `sync` will fail. While one is damaged
        or of another version, turns are answered from the memory files, by words alone, and say so.

        :raises ConfigError: there is no such ranking.
        :raises MemoryRootError: the root is missing or is no folder.
        :raises StoreError: the store cannot be opened; the message says what to do.
        """
        if ranking not in ("default", "rrf"):
            raise ConfigError(f"unknown ranking {ranking!r}: use default or rrf")
        place = default_store_path(Path(root), map(str, sources or ())) if store is None else Path(store)
        kept = place.with_name(f"{place.name}.config.json")
        memory_root = MemoryRoot(root, kept_config=kept, opener=open_sources, sources=sources)
        memory_root.require_folder()
        opened = open_for_turns(place)
        engine = cls(memory_root, opened, StoreModels(opened, model), config, ranking, reranker)
        if isinstance(opened, StandIn):
            opened.sync_root(memory_root, engine._analyzer)
        return engine

    def close(self) -> None:
        """Closes the store and lets go of the model. Closing twice is harmless."""
        self._models.close()
        self._reranking.close()
        self._keeper.close()
        self._store.close()
        self._analyzer.close()

    def __enter__(self) -> MemoryEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def root(self) -> Path:
        """The memory root's folder."""
        return self._root.path

    @property
    def store_path(self) -> Path:
        """The store's file."""
        return self._store.place

    @property
    def is_sound(self) -> bool:
        """Whether turns are answered from the store, as it is after the last sync.

        Nothing stands in for it.
        """
        return not self.trouble and not isinstance(self._store, StandIn)

    def look_again(self) -> None:
        """Forget what folders said about their projects, which is otherwise believed for a second."""
        self._places = Places()

    def build_retrieval_context(
        self,
        context: SessionContext,
        *,
        today: date | None = None,
        max_bytes: int = MAX_BLOCK_BYTES,
        max_records: int | None = None,
        min_relevance: float | None = None,
        deadline_ms: float | None = None,
        query_vector: Vector | None = None,
    ) -> RetrievalContext:
        """One turn: the block to inject, what was chosen and why, and what was left out.

        This is the one way from a prompt, a place, a day and a budget to a turn: every door goes through
        here, or through `iterate_batch`, which asks the same of many.

        :param context: the prompt, and where it is asked: `working_directory` is enough.
        :param today: dates the day's log and the ages: a day in UTC, or a moment in it; today by default.
        :param max_bytes: the block's size in bytes of UTF-8, everything counted.
        :param max_records: records under Selected Memory; the root's config.json by default, else 12.
        :param min_relevance: how likely a record must belong to be selected, 0 to 1; 0 fills the places. By
            default what config.json says, else the model's own threshold (docs/ranking.md).
        :param deadline_ms: milliseconds after which the turn goes on without the query's vector, or the
            reranker's scores, where they are not there yet.
        :param query_vector: float32[dimension] of unit length, instead of embedding the prompt.
        :raises ContextError, ConfigError, VectorError: an argument is out of range, or the working
            directory's settings cannot be read.
        """
        watch = Stopwatch()
        deadline = deadline_in(deadline_ms)
        given = None if query_vector is None else given_vector(query_vector)
        asked = given or self._models.queries.request(context.latest_user_message, deadline)
        day = utc_day(today)
        memory = self._memory(day, wait_for_model=deadline is None)
        vector = given or self._comparable(asked, memory)
        placed = self._places.placed(context)
        least = checked_share("min_relevance", min_relevance)
        request = Request(placed, day, max_bytes, max_records, least, vector, deadline)
        return run_turn(memory, request, watch)

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: SearchMode = "hybrid",
        context: SessionContext | None = None,
        abstain: bool = True,
        min_relevance: float | None = None,
    ) -> list[Hit]:
        """The k best records for a query, best first; a record that the query names by id before all others.

        Blank queries find nothing.

        :param context: where the question is asked: only what is eligible there is found. None searches every
            active record, whatever its profile, project and scope.
        :param mode: "lexical" and "semantic" give that source's own order; no reranker is asked.
        :param abstain: what a turn would not select is not found, so nothing is where nothing in memory has
            to do with the query; False gives the nearest, always.
        :param min_relevance: as in `build_retrieval_context`; by default the model's own threshold.
        :raises ContextError: k is negative, or the mode is unknown.
        """
        if k < 0:
            raise ContextError(f"k must be 0 or more, got {k}")
        if mode not in ("hybrid", "lexical", "semantic"):
            raise ContextError(f"unknown mode {mode!r}: use hybrid, lexical or semantic")
        queries = self._models.queries
        snapshot = self._fresh(wait_for_model=True)
        comparable = mode != "lexical" and snapshot.model_id in (None, queries.model_id)
        vector = queries.request(query, None).get() if comparable and query.strip() else None
        place = None if context is None else self._places.placed(context)
        least = checked_share("min_relevance", min_relevance)
        spelled = vector is not None and queries.reading(query) == "letters"
        asked = Search(query, k, mode, vector, place, utc_day(None), abstain, least, spelled)
        found, reranked = run_search(
            snapshot, self._analyzer, asked, self._rule, self._reranking, queries.calibration
        )
        if reranked not in (None, "ok"):  # hits have no stats to say it in
            warnings.warn(f"searched without the reranker: {reranked}", RuntimeWarning, stacklevel=2)
        return found

    def retrieve_batch(
        self,
        contexts: Iterable[SessionContext],
        *,
        threads: int | None = None,
        today: date | None = None,
        max_bytes: int = MAX_BLOCK_BYTES,
        max_records: int | None = None,
        min_relevance: float | None = None,
    ) -> list[RetrievalContext]:
        """One turn for each context, in their order, on all cores.

        :param threads: how many threads to use; by default one a core.
        :param today, max_bytes, max_records, min_relevance: as in `build_retrieval_context`, the same for
            each turn.
        """
        answers = self.iterate_batch(
            contexts,
            threads=threads,
            today=today,
            max_bytes=max_bytes,
            max_records=max_records,
            min_relevance=min_relevance,
        )
        return list(answers)

    def iterate_batch(
        self,
        contexts: Iterable[SessionContext],
        *,
        threads: int | None = None,
        today: date | None = None,
        max_bytes: int = MAX_BLOCK_BYTES,
        max_records: int | None = None,
        min_relevance: float | None = None,
    ) -> Iterator[RetrievalContext]:
        """As `retrieve_batch`, one answer at a time; only a few are read, or kept, ahead."""
        self._fresh(wait_for_model=True)  # while one thread refreshes, an older snapshot serves the others
        queries = self._models.queries
        least = checked_share("min_relevance", min_relevance)

        def answer(task: list[SessionContext]) -> list[RetrievalContext]:
            day = utc_day(today)
            memory = self._memory(day, wait_for_model=True)
            asked = (queries.request(context.latest_user_message, None) for context in task)
            vectors = (self._comparable(each, memory) for each in asked)
            placed = map(self._places.placed, task)
            return run_turns(
                memory,
                [
                    Request(context, day, max_bytes, max_records, least, vector, None)
                    for context, vector in zip(placed, vectors, strict=True)
                ],
            )

        return in_order(answer, contexts, threads)

    def problems(self) -> list[str]:
        """What of the store cannot be read, and what is done instead: what a turn says in its warnings."""
        return store_problems(self._fresh(wait_for_model=False), self.trouble)

    def record_statuses(self, ids: Collection[str]) -> dict[str, str]:
        """Record id → present status, `tombstoned` included; an id that no longer exists is left out."""
        return self._fresh(wait_for_model=False).statuses(ids)

    def status(self) -> dict[str, Any]:
        """What the store holds, JSON-ready."""
        snapshot = self._fresh(wait_for_model=False)
        model_id = self._models.queries.model_id
        choice = self._store.model_choice()
        return {
            "root": str(self.root),
            "store": str(self.store_path),
            "generation": snapshot.version.generation,
            "records": snapshot.live_count,
            "active": int(np.count_nonzero(snapshot.active)),
            "model": model_id,
            "vectors": self._store.vector_counts().get(model_id or "", 0),
            "changing_to": None if choice.wanted == choice.answering else choice.wanted,
            "graph": self._keeper.graph_state(snapshot),
            "to_embed": 0 if model_id is None else len(self._store.missing_vectors(model_id)),
            "rebuilt": list(self._keeper.rebuilt),
        }

    def _comparable(self, vector: QueryVector, memory: Memory) -> QueryVector:
        """The vector, unless those of the snapshot are of another model."""
        if memory.snapshot.model_id in (None, self._models.queries.model_id):
            return vector
        return GivenVector(None, "the model is being changed")

    def _memory(self, today: date, *, wait_for_model: bool) -> Memory:
        return Memory(
            snapshot=self._fresh(wait_for_model=wait_for_model),
            notes=self._root.notes(today),
            config=self._config or self._root.config(),
            analyzer=self._analyzer,
            rule=self._rule,
            reranking=self._reranking,
            calibration=self._models.queries.calibration,
            trouble=self.trouble,
        )

    def _fresh(self, *, wait_for_model: bool) -> Snapshot:
        """The newest snapshot that can be had without waiting for another thread's refresh."""
        queries = self._models.queries
        if wait_for_model and queries.model_id is None:
            queries.model()
        try:
            return self._keeper.current(queries.model_id)
        except DamagedStoreError as error:  # only now, in a page that nobody had read before
            if isinstance(self._store, StandIn):
                raise
            self._stand_in(error)
            return self._keeper.current(queries.model_id)
