"""Memory recall over HTTP: a server, a client, and participants whose turns are given what is remembered.

Names are loaded on first use: the client needs h11, the server starlette and uvicorn, and the records
nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_rank.recall.client.client import RemanentiaHttpRecall
    from pi_rank.recall.engine_recall import EngineRecall
    from pi_rank.recall.participants.command import CommandParticipant
    from pi_rank.recall.participants.participants import MemoryAugmentedParticipant, TurnRequest, TurnResult
    from pi_rank.recall.types import MemoryHit, MemoryPolicy, MemoryRecall, MemoryRecallResult

_HOME = {
    "CommandParticipant": "participants.command",
    "EngineRecall": "engine_recall",
    "MemoryAugmentedParticipant": "participants.participants",
    "MemoryHit": "types",
    "MemoryPolicy": "types",
    "MemoryRecall": "types",
    "MemoryRecallResult": "types",
    "RemanentiaHttpRecall": "client.client",
    "TurnRequest": "participants.participants",
    "TurnResult": "participants.participants",
}

__all__ = [
    "CommandParticipant",
    "EngineRecall",
    "MemoryAugmentedParticipant",
    "MemoryHit",
    "MemoryPolicy",
    "MemoryRecall",
    "MemoryRecallResult",
    "RemanentiaHttpRecall",
    "TurnRequest",
    "TurnResult",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOME:
        raise AttributeError(f"module 'pi_rank.recall' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pi_rank.recall.{_HOME[name]}"), name)
