"""The engine in this process as a memory that can be asked: no HTTP, and presentation from the record
itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pi_rank.errors import ConfigError
from pi_rank.recall.rows import memory_hit
from pi_rank.recall.types import MAX_TOP_K, MemoryRecallResult, checked_int

if TYPE_CHECKING:
    from pi_rank.context import SessionContext
    from pi_rank.engine import MemoryEngine
    from pi_rank.results import Hit

SOURCE = "pi_rank"
_NOTE_HITS = "Validated means active, of high confidence and resting on evidence when it was stored."
_NOTE_NONE = "Nothing remembered matches."
# A fusion of short lists is another ranking than that of long ones: hits are asked for in full depth, then
# cut.
DEPTH = 100


class EngineRecall:
    """A `MemoryRecall` over an open engine, which may be shared and stays open.

    :param context: where the questions are asked: only what is eligible there is recalled. None recalls from
        every active record.
    """

    def __init__(self, engine: MemoryEngine, context: SessionContext | None = None) -> None:
        self._engine = engine
        self._context = context

    async def recall(self, query: str, *, top_k: int) -> MemoryRecallResult:
        """The best `top_k` records (1 to 20) for a query.

        :raises ConfigError: `query` is no text, or `top_k` is out of range.
        """
        checked_int("top_k", top_k, 1, MAX_TOP_K)
        if not isinstance(query, str):
            raise ConfigError("query must be text")
        ranked = await asyncio.to_thread(self._search, query) if query.strip() else []
        hits = tuple(memory_hit(hit) for hit in ranked[:top_k])
        return MemoryRecallResult(query, hits, not hits, SOURCE, _NOTE_HITS if hits else _NOTE_NONE)

    def _search(self, query: str) -> list[Hit]:
        return self._engine.search(query, k=DEPTH, context=scoped(self._context, query))


def scoped(context: SessionContext | None, query: str) -> SessionContext | None:
    """The place of a question with the question asked there, so that negative scope applies to it."""
    import msgspec

    return None if context is None else msgspec.structs.replace(context, latest_user_message=query)
