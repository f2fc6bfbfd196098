"""pi_rank: retrieval and injection of agent memory, with a compiled core.

Names are loaded on first use, so that a command which never ranks anything does not pay for numpy.
"""

from __future__ import annotations

from pi_rank.version import __version__ as __version__

TYPE_CHECKING = False  # `typing` costs half as much as asking the daemon
if TYPE_CHECKING:
    from typing import Any

    from pi_rank.context import SessionContext
    from pi_rank.engine import MemoryEngine
    from pi_rank.errors import (
        ConfigError,
        ContextError,
        MemoryRootError,
        ModelError,
        PiRankError,
        RecordError,
        StoreError,
        StoreVersionError,
        VectorError,
    )
    from pi_rank.memory.records import MemoryRecord
    from pi_rank.once import build_retrieval_context
    from pi_rank.results import Hit, ProcessorTrace, RetrievalContext, SyncReport

_HOME = {
    "ConfigError": "errors",
    "ContextError": "errors",
    "Hit": "results",
    "MemoryEngine": "engine",
    "MemoryRecord": "memory.records",
    "MemoryRootError": "errors",
    "ModelError": "errors",
    "PiRankError": "errors",
    "ProcessorTrace": "results",
    "RecordError": "errors",
    "RetrievalContext": "results",
    "SessionContext": "context",
    "StoreError": "errors",
    "StoreVersionError": "errors",
    "SyncReport": "results",
    "VectorError": "errors",
    "build_retrieval_context": "once",
}

__all__ = [
    "ConfigError",
    "ContextError",
    "Hit",
    "MemoryEngine",
    "MemoryRecord",
    "MemoryRootError",
    "ModelError",
    "PiRankError",
    "ProcessorTrace",
    "RecordError",
    "RetrievalContext",
    "SessionContext",
    "StoreError",
    "StoreVersionError",
    "SyncReport",
    "VectorError",
    "build_retrieval_context",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    import importlib

    if name not in _HOME:
        raise AttributeError(f"module 'pi_rank' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pi_rank.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
