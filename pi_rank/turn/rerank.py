"""A reranker that the caller brings: it orders the best candidates anew, in time or not at all."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from pi_rank.errors import ModelError
from pi_rank.memory.records import embedded_text
from pi_rank.turn.ranking import taken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from pi_rank.snapshot.snapshot import Snapshot
    from pi_rank.turn.ranking import Ranking

    Scores = npt.NDArray[np.float64]

# Candidates that a reranker sees: one batch of a cross-encoder, and enough for the 12 records of a turn when
# rules that are shown anyway and layers that are full drop out.
RERANKED = 32


class Reranker(Protocol):
    """Says how well texts answer a query, reading both together. Several threads may call it at once."""

    def scores(self, query: str, texts: Sequence[str]) -> npt.ArrayLike:
        """Finite numbers [len(texts)], higher is better; only their order counts."""
        ...


class Reranked(NamedTuple):
    """A ranking, and what became of the reranker.

    `status` is "ok", "late" or "failed: …"; the ranking is as it was unless "ok". None: nothing was asked.
    """

    ranking: Ranking
    status: str | None


class RerankStage:
    """The step between ranking and selection, none where there is no reranker. Threads may share it."""

    def __init__(self, reranker: Reranker | None) -> None:
        self._reranker = reranker
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pi-rank-rerank")

    def apply(self, snapshot: Snapshot, query: str, ranking: Ranking, deadline: float | None) -> Reranked:
        """The ranking with its best RERANKED rows in the reranker's order; never an exception.

        Equal scores are ordered by record id. The rows behind, and each row's score and sources, stay.

        :param deadline: on the clock of `time.perf_counter`; None waits on the caller's thread.
        """
        reranker = self._reranker
        if reranker is None or not len(ranking.rows):
            return Reranked(ranking, None)
        head = ranking.rows[:RERANKED]
        try:
            texts = [embedded_text(snapshot.record(row)) for row in head.tolist()]
            scores = self._in_time(lambda: _checked(reranker.scores(query, texts), len(texts)), deadline)
        except Exception as error:  # a model of anybody's may raise anything; the turn goes on and says so
            return Reranked(ranking, f"failed: {str(error) or type(error).__name__}")
        if scores is None:
            return Reranked(ranking, "late")
        return Reranked(_reordered(ranking, np.lexsort((snapshot.tie_rank[head], -scores))), "ok")

    def close(self) -> None:
        """Lets go of the worker; a call that hangs in it is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _in_time(self, compute: Callable[[], Scores], deadline: float | None) -> Scores | None:
        """What is computed, or None at the deadline: on the worker, where the caller can leave it behind."""
        if deadline is None:
            return compute()
        left = deadline - time.perf_counter()
        if left <= 0:
            return None
        future = self._pool.submit(compute)
        if not wait([future], left).done:
            future.cancel()  # still queued behind a stuck one, it would be late for nobody
            return None
        return future.result()


def _checked(given: npt.ArrayLike, count: int) -> Scores:
    scores = np.asarray(given, np.float64)
    if scores.shape != (count,):
        raise ModelError(f"the reranker gave scores of shape {scores.shape} for {count} texts")
    if not np.isfinite(scores).all():
        raise ModelError("the reranker gave a score that is not finite")
    return scores


def _reordered(ranking: Ranking, head: npt.NDArray[np.intp]) -> Ranking:
    """`ranking` with its first rows in the order of the places in `head`."""
    return taken(ranking, np.concatenate([head, np.arange(len(head), len(ranking.rows))]))
