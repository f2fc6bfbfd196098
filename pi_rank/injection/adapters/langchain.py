"""LangChain and LangGraph: a middleware that adds memory to the human message in the agent's state.

    agent = create_agent(model, tools, middleware=[LangChainMemory(Injector(engine))], checkpointer=saver)

The message keeps its id, so the state's reducer replaces it and the checkpointer stores it with the block.
The mark is in `additional_kwargs`, which chat models do not send for human messages. Read the conversation
without injected text through `without_injected(state["messages"])`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from pi_rank.injection.adapters import missing
from pi_rank.injection.history.consumers import strip_injected
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.injector import Injector

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import AnyMessage, HumanMessage
except ImportError as error:
    raise missing("langchain", "langchain") from error

MARKS = "pi_rank"
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
        if self.injector.mode == "per_call":
            return None
        changed = self._injected(state["messages"])
        return None if changed is None else {"messages": [changed[1]]}

    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """As `before_model`."""
        return self.before_model(state, runtime)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Per call: the request's own copy of the messages has the block, the state does not."""
        return handler(self._for_call(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """As `wrap_model_call`."""
        return await handler(self._for_call(request))

    def _for_call(self, request: Any) -> Any:  # noqa: ANN401
        changed = self._injected(request.messages) if self.injector.mode == "per_call" else None
        if changed is None:
            return request
        index, message = changed
        messages = [*request.messages[:index], message, *request.messages[index + 1 :]]
        return request.override(messages=messages)

    def _injected(self, messages: Sequence[AnyMessage]) -> tuple[int, HumanMessage] | None:
        raws = [_raw(message) for message in messages]
        result = self.injector.inject(raws, dialect="openai_chat")
        if not result.wrote:
            return None
        index = result.message_index
        old = messages[index] if index < len(messages) else HumanMessage("", id=str(uuid4()))
        return index, _message(old, result.outgoing[index])


def without_injected(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The conversation as the user had it, for titles, previews, summaries and extraction."""
    kept: list[AnyMessage] = []
    for message in messages:
        raw = _raw(message)
        for stripped in strip_injected([raw], "openai_chat"):
            kept.append(message if stripped is raw else _message(message, stripped))
    return kept


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
