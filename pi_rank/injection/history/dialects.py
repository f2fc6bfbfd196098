"""What the four message shapes call their blocks, and how to tell the shapes apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

Dialect = Literal["strands", "anthropic", "openai_chat", "openai_responses"]
BlockKind = Literal[
    "text", "tool_use", "tool_result", "reasoning", "media", "cache_point", "native", "unknown"
]
ItemRole = Literal["user", "assistant", "tool", "system", "other"]

# One-key blocks: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
STRANDS_KEYS: dict[str, BlockKind] = {
    "text": "text",
    "toolUse": "tool_use",
    "toolResult": "tool_result",
    "reasoningContent": "reasoning",
    "image": "media",
    "document": "media",
    "video": "media",
    "audio": "media",
    "cachePoint": "cache_point",
    "guardContent": "native",
    "citationsContent": "native",
    "searchResult": "native",
}
# Typed blocks: https://docs.anthropic.com/en/api/messages. `native` ones pass through to their own provider
# only.
ANTHROPIC_TYPES: dict[str, BlockKind] = {
    "text": "text",
    "tool_use": "tool_use",
    "tool_result": "tool_result",
    "thinking": "reasoning",
    "redacted_thinking": "reasoning",
    "image": "media",
    "document": "media",
    "search_result": "native",
    "server_tool_use": "native",
    "web_search_tool_result": "native",
    "web_fetch_tool_result": "native",
    "code_execution_tool_result": "native",
    "bash_code_execution_tool_result": "native",
    "text_editor_code_execution_tool_result": "native",
    "tool_search_tool_result": "native",
    "mcp_tool_use": "native",
    "mcp_tool_result": "native",
    "container_upload": "native",
}
# Content parts: https://platform.openai.com/docs/api-reference/chat
OPENAI_CHAT_TYPES: dict[str, BlockKind] = {
    "text": "text",
    "refusal": "native",
    "image_url": "media",
    "input_audio": "media",
    "file": "media",
}
# Items and their parts: https://platform.openai.com/docs/api-reference/responses
RESPONSES_PARTS: dict[str, BlockKind] = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "refusal": "native",
    "input_image": "media",
    "input_file": "media",
    "input_audio": "media",
}
RESPONSES_ITEMS: dict[str, BlockKind] = {
    "function_call": "tool_use",
    "custom_tool_call": "tool_use",
    "function_call_output": "tool_result",
    "custom_tool_call_output": "tool_result",
    "reasoning": "reasoning",
    "item_reference": "native",
    "compaction": "native",
    "file_search_call": "native",
    "web_search_call": "native",
    "code_interpreter_call": "native",
    "image_generation_call": "native",
    "computer_call": "native",
    "computer_call_output": "native",
    "local_shell_call": "native",
    "local_shell_call_output": "native",
    "shell_call": "native",
    "shell_call_output": "native",
    "apply_patch_call": "native",
    "apply_patch_call_output": "native",
    "mcp_call": "native",
    "mcp_list_tools": "native",
    "mcp_approval_request": "native",
    "mcp_approval_response": "native",
}
ITEM_ROLES: dict[str, ItemRole] = {
    name: "tool" if name.endswith(("_output", "_response")) else "assistant"
    for name in RESPONSES_ITEMS
    if name not in ("item_reference", "compaction")
}
_TEXTS = (None, "text", "input_text", "output_text")
PART_TYPES: dict[Dialect, dict[str, BlockKind]] = {
    "anthropic": ANTHROPIC_TYPES,
    "openai_chat": OPENAI_CHAT_TYPES,
    "openai_responses": RESPONSES_PARTS,
}


def block_kind(part: Any, dialect: Dialect) -> BlockKind:  # noqa: ANN401
    """What a content part is. A text part without a string is half-written, and unknown."""
    if not isinstance(part, dict):
        return "text" if isinstance(part, str) else "unknown"
    if dialect == "strands":
        kind = _first_known(part)
    else:
        named = part.get("type")
        kind = PART_TYPES[dialect].get(named, "unknown") if isinstance(named, str) else "unknown"
    if kind == "unknown" and part.get("type") in _TEXTS and isinstance(part.get("text"), str):
        return "text"  # another dialect's: stores and frameworks rebuild texts in their own
    return "unknown" if kind == "text" and not isinstance(part.get("text"), str) else kind


def _first_known(part: dict[str, Any]) -> BlockKind:
    for key in part:
        if key in STRANDS_KEYS:
            return STRANDS_KEYS[key]
    return "unknown"


def text_part(text: str, dialect: Dialect) -> dict[str, Any]:
    """A new text block of the dialect, for a user message."""
    if dialect == "strands":
        return {"text": text}
    return {"type": "input_text" if dialect == "openai_responses" else "text", "text": text}


def outside_content(raw: dict[str, Any]) -> Iterator[tuple[BlockKind, dict[str, Any]]]:
    """Blocks that OpenAI keeps outside `content`: tool calls and Responses items."""
    calls = raw.get("tool_calls")
    if isinstance(calls, list):
        for call in calls:
            yield ("tool_use" if isinstance(call, dict) else "unknown"), call
    if "role" not in raw and raw.get("type") is not None:
        yield RESPONSES_ITEMS.get(str(raw["type"]), "unknown"), raw


def detect(messages: Sequence[Any]) -> Dialect:
    """The dialect of a history, from the first message that only one dialect can have.

    A history of plain strings, or of `{"type": "text"}` parts, is the same in several; it is then called
    `openai_chat`, and what is written to it is right in all of them.
    """
    for raw in messages:
        found = _decisive(raw) if isinstance(raw, dict) else None
        if found is not None:
            return found
    return "openai_chat"


def _decisive(raw: dict[str, Any]) -> Dialect | None:
    if raw.get("type") is not None:
        return "openai_responses"
    if raw.get("role") in ("tool", "developer") or "tool_calls" in raw:
        return "openai_chat"
    content = raw.get("content")
    if not isinstance(content, list):
        return None
    return next((found for found in map(_decisive_part, content) if found is not None), None)


def _decisive_part(part: Any) -> Dialect | None:  # noqa: ANN401
    if not isinstance(part, dict):
        return None
    kind = part.get("type")
    if kind is None:
        return "strands" if any(key in STRANDS_KEYS for key in part) else None
    if kind == "text":
        return "anthropic" if "cache_control" in part or "citations" in part else None
    if not isinstance(kind, str):
        return None
    if kind in ANTHROPIC_TYPES:
        return "anthropic"
    if kind in OPENAI_CHAT_TYPES and kind not in RESPONSES_PARTS:
        return "openai_chat"
    return "openai_responses" if kind in RESPONSES_PARTS else None
