"""Pydantic AI: a capability that adds memory to the user prompt in the run's message history.

    agent = Agent(model, capabilities=[PydanticMemory(Injector(engine))])
    result = agent.run_sync("…", message_history=history)       # store result.all_messages()

The block is a `TextContent` of the user prompt, its mark in that content's metadata: stored by
`ModelMessagesTypeAdapter`, never sent. Read a history without injected text through `without_injected`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pi_rank.injection.adapters import missing
from pi_rank.injection.history.marks import read_mark
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.injector import Injector

try:
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextContent,
        TextPart,
        ToolReturnPart,
        UserPromptPart,
    )
except ImportError as error:
    raise missing("pydantic-ai", "pydantic-ai") from error


@dataclass
class PydanticMemory(AbstractCapability[Any]):
    """The capability: before each request, in the run's history or, per call, in the request alone."""

    injector: Injector

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:  # noqa: ANN401
        """Called by the agent before each model request."""
        changed = self._injected(list(request_context.messages))
        request_context.messages = changed
        if self.injector.mode == "persist":
            ctx.messages[:] = changed
        return request_context

    def _injected(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        result = self.injector.inject([_raw(message) for message in messages], dialect="strands")
        if not result.wrote:
            return messages
        added = result.outgoing[result.message_index]["content"][-1]
        text = TextContent(added["text"], metadata=added["metadata"])
        at = result.message_index
        return [*messages[:at], _with_text(messages[at], text), *messages[at + 1 :]]


def without_injected(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The history as the user had it, for titles, previews, summaries and extraction."""
    return [_stripped(message) if isinstance(message, ModelRequest) else message for message in messages]


def _raw(message: ModelMessage) -> RawMessage:
    """The view of a message: what the injector has to know of it, in Strands' shape."""
    if isinstance(message, ModelResponse):
        texts = [{"text": part.content} for part in message.parts if isinstance(part, TextPart)]
        return {"role": "assistant", "content": texts}
    content: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            items = [part.content] if isinstance(part.content, str) else part.content
            content += [_block(item) for item in items]
        elif isinstance(part, ToolReturnPart):
            content.append({"toolResult": {"toolUseId": part.tool_call_id}})
    return {"role": "user" if content else "system", "content": content}


def _block(item: Any) -> dict[str, Any]:  # noqa: ANN401 - any UserContent
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, TextContent):
        return {"text": item.content, "metadata": item.metadata}
    return {"document": item}


def _with_text(message: Any, added: TextContent) -> Any:  # noqa: ANN401 - a ModelRequest
    """The request with one more text in its last user prompt, or in one of its own after tool results."""
    parts = list(message.parts)
    last = parts[-1] if parts else None
    if not isinstance(last, UserPromptPart):
        return replace(message, parts=[*parts, UserPromptPart([added])])
    items = [last.content] if isinstance(last.content, str) else list(last.content)
    return replace(message, parts=[*parts[:-1], replace(last, content=[*items, added])])


def _stripped(message: ModelRequest) -> ModelRequest:
    parts = [
        replace(p, content=_own(p.content)) if isinstance(p, UserPromptPart) else p for p in message.parts
    ]
    return replace(message, parts=[p for p in parts if not isinstance(p, UserPromptPart) or p.content])


def _own(content: Any) -> Any:  # noqa: ANN401 - a string, or a sequence of UserContent
    if isinstance(content, str):
        return content
    return [item for item in content if not _is_injected(item)]


def _is_injected(item: Any) -> bool:  # noqa: ANN401
    metadata = item.metadata if isinstance(item, TextContent) else None
    return isinstance(metadata, dict) and read_mark(metadata.get("injected")) is not None
