"""LangChain and LangGraph: a middleware that adds memory to the human message in the agent's state.

    agent = create_agent(model, tools, middleware=[LangChainMemory(Injector(engine))], checkpointer=saver)

The message keeps its id, so the state's reducer replaces it and the checkpointer stores it with the block.
The mark is in `additional_kwargs`, which chat models do not send for human messages. Read the conversation
without injected text through `without_injected(state["messages"])` (or `strip_injected`: once this module is
imported, it knows LangChain's messages). `SummarizationWithoutMemory` is LangChain's summariser on what that
gives.

Blocks are sent as user text whatever `rendering` they ask for: LangChain's chat models take system messages
at
the start only. Cache points are LangChain's own (`AnthropicPromptCachingMiddleware`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from pi_rank.injection.adapters import missing
from pi_rank.injection.history.consumers import strip_injected
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.history.objects import ObjectKind, register
from pi_rank.injection.history.quarantine import quarantine
from pi_rank.injection.injector import Injector
from pi_rank.injection.result import InjectionResult

try:
    from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
    from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
except ImportError as error:
    raise missing("langchain", "langchain") from error

MARKS = "pi_rank"
_EARLIER: RawMessage = {"role": "other", "content": None}  # a message in which there is nothing to look for
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


class LangChainMemory(AgentMiddleware[Any, Any, Any]):
    """The middleware: writes before the model is called, or, per call, around the call."""

    def __init__(self, injector: Injector) -> None:
        super().__init__()
        self.injector = injector

    @property
    def name(self) -> str:
        """The injector's source, so that an agent cannot have one injector twice."""
        return self.injector.source

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """The state update that stores the block, if this turn has something new."""
        if self.injector.mode == "per_call" or not self._open(state["messages"]):
            return None
        raws = _views(state["messages"])
        return _update(state["messages"], self.injector.inject(raws, dialect="openai_chat"))

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """As `before_model`; other runs of the event loop go on while the memory is asked."""
        if self.injector.mode == "per_call" or not self._open(state["messages"]):
            return None
        raws = _views(state["messages"])
        return _update(state["messages"], await self.injector.ainject(raws, dialect="openai_chat"))

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Per call: the request's own copy of the messages has the block, the state does not."""
        if self.injector.mode != "per_call":
            return handler(request)
        result = self.injector.inject(_views(request.messages), dialect="openai_chat")
        return handler(_for_call(request, result))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """As `wrap_model_call`."""
        if self.injector.mode != "per_call":
            return await handler(request)
        result = await self.injector.ainject(_views(request.messages), dialect="openai_chat")
        return await handler(_for_call(request, result))

    def _open(self, messages: Sequence[AnyMessage]) -> bool:
        """Whether the turn may still get a block; in a tool loop nothing else has to be looked at."""
        return bool(messages) and (messages[-1].type == "human" or self.injector.trigger == "every_turn")


class SummarizationWithoutMemory(SummarizationMiddleware):
    """LangChain's summariser on the conversation as the user had it: the rest can be recalled again."""

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        return super()._create_summary(without_injected(messages_to_summarize))

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        return await super()._acreate_summary(without_injected(messages_to_summarize))


def quarantine_update(messages: Sequence[AnyMessage], block_id: str) -> dict[str, Any]:
    """The state update that replaces a block that trips a guardrail by a placeholder.

        agent.update_state(config, quarantine_update(state["messages"], block_id))

    :raises ContextError: no block of the conversation has this id.
    """
    changed = list(messages)
    return {"messages": [changed[quarantine(changed, block_id).message_index]]}


def _update(messages: Sequence[AnyMessage], result: InjectionResult) -> dict[str, Any] | None:
    changed = _changed(messages, result)
    return None if changed is None else {"messages": [changed[1]]}


def _for_call(request: Any, result: InjectionResult) -> Any:  # noqa: ANN401
    changed = _changed(request.messages, result)
    if changed is None:
        return request
    index, message = changed
    return request.override(messages=[*request.messages[:index], message, *request.messages[index + 1 :]])


def _changed(messages: Sequence[AnyMessage], result: InjectionResult) -> tuple[int, HumanMessage] | None:
    index = next((r.message_index for r in (result, *result.texts) if r.outcome == "written"), None)
    if index is None:
        return None
    old = messages[index] if index < len(messages) else HumanMessage("", id=str(uuid4()))
    return index, _message(old, result.outgoing[index])


def _views(messages: Sequence[AnyMessage]) -> list[RawMessage]:
    """The views of what an injector has to look at: marked messages, and those of this turn."""
    first = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].type == "human"), 0)
    earlier = [
        _raw(m) if m.additional_kwargs and MARKS in m.additional_kwargs else _EARLIER
        for m in messages[:first]
    ]
    return earlier + [_raw(message) for message in messages[first:]]


def without_injected(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The conversation as the user had it, for titles, previews, summaries and extraction."""
    return strip_injected(messages)


def _raw(message: AnyMessage) -> RawMessage:
    """The view of a message: its content, and its marks where ours are kept."""
    raw: RawMessage = {"role": _ROLES.get(message.type, message.type), "content": message.content}
    calls = getattr(message, "tool_calls", None)
    if calls:
        raw["tool_calls"] = calls
    if message.type == "tool":
        raw["tool_call_id"] = message.tool_call_id
    kept = message.additional_kwargs.get(MARKS)
    return {**raw, **kept} if isinstance(kept, dict) else raw


def _message(message: Any, raw: RawMessage) -> Any:  # noqa: ANN401 - any LangChain message
    """A message with the view's content and marks, its id and everything else kept."""
    content = raw["content"]
    if isinstance(content, list):  # a provider may refuse a key that it does not know
        content = [_bare(part) for part in content]
    marks = {key: raw[key] for key in ("metadata", "tracking_id") if key in raw}
    extra = {key: value for key, value in message.additional_kwargs.items() if key != MARKS}
    kwargs = {**extra, MARKS: marks} if marks.get("metadata") else extra
    return message.model_copy(update={"content": content, "additional_kwargs": kwargs})


def _bare(part: Any) -> Any:  # noqa: ANN401
    return (
        {key: value for key, value in part.items() if key != "metadata"} if isinstance(part, dict) else part
    )


register(ObjectKind((BaseMessage,), "openai_chat", _raw, _message))
