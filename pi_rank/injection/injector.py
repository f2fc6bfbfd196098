"""Ties a memory engine to conversations: one call per turn filters, retrieves, compares and writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import msgspec

from pi_rank.context import SessionContext
from pi_rank.injection.history import dialects
from pi_rank.injection.history.consumers import own_words
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.result import InjectionResult
from pi_rank.injection.target import Trigger
from pi_rank.injection.write import Mode, inject
from pi_rank.places import current_folder
from pi_rank.results import RetrievalContext

SOURCE = "pi-persistent-intelligence-context"


class Memory(Protocol):
    """What an injector needs of a memory engine."""

    def build_retrieval_context(self, context: SessionContext) -> RetrievalContext:
        """The block of one turn and the records that it shows."""

    def record_statuses(self, ids: Collection[str]) -> Mapping[str, str]:
        """Record id → status (`tombstoned` included); an id that no longer exists is left out."""


class Injector:
    """One source of memory for any number of conversations. Holds no state about any of them: it is all in
    the messages, so it may be shared between threads, restarted, or replaced at any turn.

        injector = Injector(engine, SessionContext(latest_user_message="", profile_id="project:web"))
        result = injector.inject(messages)      # once per turn, before the model is called
        client.messages.create(**render(result.outgoing, rules), …)

    :param context: the turn's fixed part, or a function that makes the turn's context from the user's
        words. By default the turns are asked in the folder that the process works in; a server of several
        projects says here which one a conversation is of.
    """

    def __init__(
        self,
        memory: Memory,
        context: SessionContext | Callable[[str], SessionContext] | None = None,
        *,
        source: str = SOURCE,
        mode: Mode = "persist",
        trigger: Trigger = "user_turn",
    ) -> None:
        self.memory = memory
        self.source = source
        self.mode: Mode = mode
        self.trigger: Trigger = trigger
        self._context = context or SessionContext(latest_user_message="", working_directory=current_folder())

    def inject(
        self, messages: list[RawMessage], *, dialect: Dialect | None = None, server_state: bool = False
    ) -> InjectionResult:
        """Add what this turn recalls and the conversation lacks. A failing memory is skipped and logged."""
        found = dialect or dialects.detect(messages)
        return inject(
            messages,
            lambda: self.recall(own_words(messages, found)),
            source=self.source,
            mode=self.mode,
            trigger=self.trigger,
            dialect=found,
            status_of=self.memory.record_statuses,
            server_state=server_state,
        )

    def recall(self, words: str) -> RetrievalContext | None:
        """The turn's context for the user's own words; None when there are none to look up."""
        if not words:
            return None
        if callable(self._context):
            return self.memory.build_retrieval_context(self._context(words))
        turn = msgspec.structs.replace(self._context, latest_user_message=words)
        return self.memory.build_retrieval_context(turn)
