"""Memory in a conversation: written once, only what is new, left there, sent as each model accepts it."""

from __future__ import annotations

from pi_rank.injection.history.consumers import echoes, own_words, strip_injected
from pi_rank.injection.history.quarantine import find_tripping, quarantine
from pi_rank.injection.injector import Injector, OwnText
from pi_rank.injection.result import InjectionResult
from pi_rank.injection.write import inject

__all__ = [
    "InjectionResult",
    "Injector",
    "OwnText",
    "echoes",
    "find_tripping",
    "inject",
    "own_words",
    "quarantine",
    "strip_injected",
]
