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
from pi_rank.injection.history.consumers import strip_injected
from pi_rank.injection.history.marks import read_mark
from pi_rank.injection.history.messages import RawMessage
from pi_rank.injection.history.objects import ObjectKind, register
from pi_rank.injection.injector import Injector
from pi_rank.injection.result import InjectionResult

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


_EARLIER: RawMessage = {"role": "other", "content": None}  # a message in which there is nothing to look for


@dataclass
class PydanticMemory(AbstractCapability[Any]):
    """The capability: before each request, in the run's history or, per call, in the request alone."""

    injector: Injector

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:  # noqa: ANN401
        """Called by the agent before each model request; other runs go on while the memory is asked."""
        messages: list[ModelMessage] = list(request_context.messages)
        if not messages or not isinstance(messages[-1], ModelRequest):
            return request_context
        result = await self.injector.ainject(_views(messages), dialect="strands")
        if result.wrote:
            changed = _written(messages, result)
            request_context.messages = changed
            if self.injector.mode == "persist":
                ctx.messages[:] = changed
        return request_context


def without_injected(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The history as the user had it, for titles, previews, summaries and extraction."""
    return strip_injected(messages)


def _written(messages: list[ModelMessage], result: InjectionResult) -> list[ModelMessage]:
    """The messages with what was written: the injector's own texts, then the memory."""
    changed = list(messages)
    for each in (*result.texts, result):
        if each.outcome == "written":
            at = each.message_index
            added = next(p for p in result.outgoing[at]["content"] if _block_id(p) == each.block_id)
            changed[at] = _with_text(changed[at], TextContent(added["text"], metadata=added["metadata"]))
    return changed


def _block_id(part: dict[str, Any]) -> str:
    mark = read_mark((part.get("metadata") or {}).get("injected"))
    return mark.id if mark is not None else ""


def _views(messages: list[ModelMessage]) -> list[RawMessage]:
    """The views of what an injector has to look at: the user's prompts, and the messages of this turn."""
    first = next((i for i in range(len(messages) - 1, -1, -1) if _prompts(messages[i])), 0)
    earlier = [_raw(m) if isinstance(m, ModelRequest) and _marked(m) else _EARLIER for m in messages[:first]]
    return earlier + [_raw(message) for message in messages[first:]]


def _prompts(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(p, UserPromptPart) for p in message.parts)


def _marked(message: ModelRequest) -> bool:
    """Whether a message may hold injected text: its prompt is then a list."""
    return any(isinstance(p, UserPromptPart) and not isinstance(p.content, str) for p in message.parts)


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


def _rebuilt(message: Any, raw: RawMessage) -> Any:  # noqa: ANN401 - a ModelRequest
    """The request with the texts of a changed view, each in its place; an empty prompt is left out."""
    left = list(raw["content"])
    parts: list[Any] = []
    for part in message.parts:
        if not isinstance(part, UserPromptPart):
            if isinstance(part, ToolReturnPart):
                left = left[1:]
            parts.append(part)
            continue
        items = [part.content] if isinstance(part.content, str) else list(part.content)
        kept: list[Any] = []
        for item in items:
            if left and _same(item, left[0]):
                kept.append(_item(item, left.pop(0)))
        if isinstance(part.content, str) and kept:
            parts.append(replace(part, content=kept[0]))
        elif kept:
            parts.append(replace(part, content=kept))
    return replace(message, parts=parts)


def _same(item: Any, block: dict[str, Any]) -> bool:  # noqa: ANN401 - any UserContent
    """Whether a view's block is that of an item: the same text or media, or what is left of its text."""
    seen = _block(item)
    if "text" not in block or "text" not in seen:
        return seen.get("document") is block.get("document", seen)
    id_of = _block_id
    return block["text"] in seen["text"] or bool(id_of(block) and id_of(block) == id_of(seen))


def _item(item: Any, block: dict[str, Any]) -> Any:  # noqa: ANN401 - any UserContent
    if isinstance(item, str):
        return block["text"]
    if isinstance(item, TextContent):
        return replace(item, content=block["text"], metadata=block.get("metadata"))
    return item


register(ObjectKind((ModelRequest, ModelResponse), "strands", _raw, _rebuilt))
