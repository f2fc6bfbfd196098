"""Ties a memory engine to conversations: one call per turn filters, retrieves, compares and writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from pi_rank.context import SessionContext
from pi_rank.errors import ContextError
from pi_rank.injection.call import MAX_BYTES, Call, Mode, Secrets
from pi_rank.injection.history import dialects
from pi_rank.injection.history.consumers import own_words
from pi_rank.injection.history.dialects import Dialect
from pi_rank.injection.history.marks import Rendering
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.history.objects import refuse_objects
from pi_rank.injection.result import InjectionResult
from pi_rank.injection.target import Trigger
from pi_rank.injection.write import ainject_call, inject_call
from pi_rank.places import current_folder
from pi_rank.results import RetrievalContext

SOURCE = "pi-persistent-intelligence-context"


class Memory(Protocol):
    """What an injector needs of a memory engine."""

    def build_retrieval_context(self, context: SessionContext) -> RetrievalContext:
        """The block of one turn and the records that it shows; in `ainject` it may be awaitable."""

    def record_statuses(self, ids: Collection[str]) -> Mapping[str, str]:
        """Record id → status (`tombstoned` included); an id that no longer exists is left out."""


class OwnText(msgspec.Struct, frozen=True, kw_only=True):
    """A text of yours that an injector keeps in the conversation: the date, AGENTS.md, a mode, a budget.

    It is a source of its own: written when it is new or changed, with a note of what it replaces. `content`
    may
    be a function, asked at each turn; `rendering` is for text that you wrote yourself (`operator_text`).
    """

    source: str
    content: str | Callable[[], str | None]
    rendering: Rendering = "text"
    operator_text: bool = False


class Injector:
    """One source of memory for any number of conversations. Holds no state about any of them: it is all in
    the messages, so it may be shared between threads, restarted, or replaced at any turn.

        injector = Injector(engine, SessionContext(latest_user_message="", profile_id="project:web"))
        result = injector.inject(messages)      # once per turn, before the model is called
        client.messages.create(**render(result.outgoing, rules), …)

    `await injector.ainject(messages)` does the same without stopping an event loop.

    :param memory: the engine; None for an injector of `texts` alone.
    :param context: the turn's fixed part, or a function that makes the turn's context from the user's
        words. By default the turns are asked in the folder that the process works in; a server of several
        projects says here which one a conversation is of.
    :param texts: texts of your own, written before the memory and in this order.
    :param mode: and what follows it: see `inject`.
    :raises ContextError: two sources have one name, or an argument has a value that is not known.
    """

    def __init__(
        self,
        memory: Memory | None,
        context: SessionContext | Callable[[str], SessionContext] | None = None,
        *,
        source: str = SOURCE,
        texts: Sequence[OwnText] = (),
        mode: Mode = "persist",
        trigger: Trigger = "user_turn",
        secrets: Secrets = "mask",
        max_bytes: int = MAX_BYTES,
        repeat_rules_after: int = 0,
    ) -> None:
        self.memory = memory
        self.source = source
        self.texts = tuple(texts)
        self.mode: Mode = mode
        self.trigger: Trigger = trigger
        self._context = context or SessionContext(latest_user_message="", working_directory=current_folder())
        self._options: dict[str, Any] = {
            "mode": mode,
            "trigger": trigger,
            "secrets": secrets,
            "max_bytes": max_bytes,
            "repeat_rules_after": repeat_rules_after,
        }
        names = [source, *(text.source for text in self.texts)]
        if len({*names}) < len(names):
            raise ContextError(f"each source needs a name of its own, not {', '.join(names)}")
        for text in (None, *self.texts):
            self._call([], "openai_chat", False, text)  # a wrong option is said here, not at the first turn

    def inject(
        self, messages: list[RawMessage], *, dialect: Dialect | None = None, server_state: bool = False
    ) -> InjectionResult:
        """Add what this turn recalls and the conversation lacks. A failing memory is skipped and logged."""
        found = dialect or dialects.detect(messages)
        outgoing, texts = refuse_objects(messages), []
        for text in self.texts:
            texts.append(inject_call(self._call(outgoing, found, server_state, text), text.content))
            outgoing = texts[-1].outgoing
        call = self._call(outgoing, found, server_state, None)
        if self.memory is None:
            return _nothing(call, texts)
        result = inject_call(
            call, lambda: self.recall(own_words(outgoing, found)), self.memory.record_statuses
        )
        return msgspec.structs.replace(result, texts=tuple(texts))

    async def ainject(
        self, messages: list[RawMessage], *, dialect: Dialect | None = None, server_state: bool = False
    ) -> InjectionResult:
        """As `inject`. The memory is asked in a thread, or awaited where its methods are asynchronous, so
        other
        conversations of the event loop go on meanwhile."""
        found = dialect or dialects.detect(messages)
        outgoing, texts = refuse_objects(messages), []
        for text in self.texts:
            texts.append(await ainject_call(self._call(outgoing, found, server_state, text), text.content))
            outgoing = texts[-1].outgoing
        call = self._call(outgoing, found, server_state, None)
        if self.memory is None:
            return _nothing(call, texts)
        result = await ainject_call(
            call, lambda: self.recall(own_words(outgoing, found)), self.memory.record_statuses
        )
        return msgspec.structs.replace(result, texts=tuple(texts))

    def recall(self, words: str) -> RetrievalContext | None:
        """The turn's context for the user's own words; None when there are none to look up."""
        if not words or self.memory is None:
            return None
        if callable(self._context):
            return self.memory.build_retrieval_context(self._context(words))
        turn = msgspec.structs.replace(self._context, latest_user_message=words)
        return self.memory.build_retrieval_context(turn)

    def _call(
        self, messages: list[RawMessage], dialect: Dialect, server_state: bool, text: OwnText | None
    ) -> Call:
        own: dict[str, Any] = (
            {}
            if text is None
            else {
                "rendering": text.rendering,
                "operator_text": text.operator_text or text.rendering == "text",
            }
        )
        return Call(
            messages=messages,
            source=self.source if text is None else text.source,
            dialect=dialect,
            server_state=server_state,
            **self._options,
            **own,
        )


def _nothing(call: Call, texts: list[InjectionResult]) -> InjectionResult:
    """The result of an injector without a memory."""
    closed = call.closed("") or call.outcome("nothing_new", "there is no memory beside the texts")
    return msgspec.structs.replace(closed, outgoing=call.messages, texts=tuple(texts))
