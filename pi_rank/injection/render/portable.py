"""Blocks as plain values, for a conversation stored in one provider's shape and sent to another."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any

import msgspec

from pi_rank.injection.history.dialects import PART_TYPES, STRANDS_KEYS, Dialect
from pi_rank.injection.history.messages import Block

logger = logging.getLogger("pi_rank.injection")
_HALF_WRITTEN = (KeyError, TypeError, AttributeError, ValueError)  # what reading such a part raises


class ToolUse(msgspec.Struct, frozen=True):
    """A call: `arguments` is the JSON text where the source has text, so that its bytes stay as they were."""

    id: str
    name: str
    arguments: str

    @property
    def input(self) -> Any:  # noqa: ANN401 - a decoded JSON value
        """The arguments as a value; a text that is no JSON is passed on as it is."""
        try:
            return json.loads(self.arguments or "{}")
        except ValueError:
            return {"arguments": self.arguments}


class ToolResult(msgspec.Struct, frozen=True):
    """An answer to a call, as text."""

    id: str
    text: str
    is_error: bool = False


class Image(msgspec.Struct, frozen=True):
    """An image: base64 data with its media type, or a URL."""

    media_type: str = ""
    data: str = ""
    url: str = ""

    @property
    def as_url(self) -> str:
        """The image's URL, a data URL if it has none."""
        return self.url or f"data:{self.media_type};base64,{self.data}"


def skip(block: Block, why: str) -> None:
    """Say that a block is not sent. The same block is skipped in every request, so the prefix holds."""
    keys = sorted(block.raw) if isinstance(block.raw, dict) else type(block.raw).__name__
    logger.info("a %s block (%s) is not sent: %s", block.kind, keys, why)


def newer_block(block: Block, dialect: Dialect) -> dict[str, Any] | None:
    """A block that the table does not know, as it goes back to its own provider: as it came.

    None, with a log line, for what no provider can have made: a part without a type, or half of a known one.
    """
    raw = without_own_keys(block.raw) if isinstance(block.raw, dict) else {}
    named = raw.get("type")
    known = STRANDS_KEYS.keys() if dialect == "strands" else PART_TYPES[dialect].keys()
    if dialect == "strands" and raw and named is None and known.isdisjoint(raw):
        return raw
    if dialect != "strands" and isinstance(named, str) and named not in known:
        return raw
    skip(block, "it is half-written")
    return None


def without_own_keys(raw: dict[str, Any]) -> dict[str, Any]:
    """A copy without the keys that are ours, `metadata` and `tracking_id`, which no provider knows."""
    copy = raw.copy()
    copy.pop("metadata", None)
    copy.pop("tracking_id", None)
    return copy


def count_keys(value: Any, key: str) -> int:  # noqa: ANN401 - any JSON value
    """How many objects of a value, at any depth, have the key."""
    if isinstance(value, dict):
        return (key in value) + sum(count_keys(item, key) for item in value.values())
    return sum(count_keys(item, key) for item in value) if isinstance(value, list | tuple) else 0


def tool_use(raw: dict[str, Any]) -> ToolUse | None:
    """A call of any dialect; None when it is half-written."""
    try:
        return _tool_use(raw)
    except _HALF_WRITTEN:
        return None


def tool_result(raw: dict[str, Any]) -> ToolResult | None:
    """An answer of any dialect, parts that are no text as JSON; None when it is half-written."""
    try:
        return _tool_result(raw)
    except _HALF_WRITTEN:
        return None


def _tool_use(raw: dict[str, Any]) -> ToolUse:
    if "toolUse" in raw:
        call = raw["toolUse"]
        return ToolUse(call["toolUseId"], call["name"], dumps(call["input"]))
    if "function" in raw:
        return ToolUse(raw["id"], raw["function"]["name"], _as_text(raw["function"]["arguments"]))
    if "call_id" in raw:
        return ToolUse(
            raw["call_id"], raw["name"], _as_text(raw.get("arguments") or raw.get("input") or "{}")
        )
    return ToolUse(raw["id"], raw["name"], dumps(raw["input"]))


def _tool_result(raw: dict[str, Any]) -> ToolResult:
    if "toolResult" in raw:
        result = raw["toolResult"]
        return ToolResult(result["toolUseId"], _text(result.get("content")), result.get("status") == "error")
    if "call_id" in raw:
        return ToolResult(raw["call_id"], _text(raw.get("output")))
    if "tool_call_id" in raw:
        return ToolResult(raw["tool_call_id"], _text(raw.get("content")))
    return ToolResult(raw["tool_use_id"], _text(raw.get("content")), bool(raw.get("is_error")))


def image(raw: dict[str, Any], dialect: Dialect) -> Image | None:
    """An image of any dialect; None for other media, which have no common form, and for half-written ones."""
    try:
        return _image(raw, dialect)
    except _HALF_WRITTEN:
        return None


def _image(raw: dict[str, Any], dialect: Dialect) -> Image | None:
    if dialect == "strands" and "image" in raw and "bytes" in raw["image"].get("source", {}):
        data = base64.b64encode(raw["image"]["source"]["bytes"]).decode("ascii")
        return Image(f"image/{raw['image']['format']}", data)
    if dialect == "anthropic" and raw.get("type") == "image":
        source = raw["source"]
        return Image(source.get("media_type", ""), source.get("data", ""), source.get("url", ""))
    url = raw.get("image_url")
    url = url.get("url") if isinstance(url, dict) else url
    if not isinstance(url, str):
        return None
    head, comma, data = url.partition(";base64,")
    return Image(head.removeprefix("data:"), data) if comma and head.startswith("data:") else Image(url=url)


def thinking(raw: dict[str, Any]) -> dict[str, Any] | None:
    """Claude's reasoning as Anthropic's block, from Bedrock's; None for another model's, or half-written."""
    try:
        return _thinking(raw)
    except _HALF_WRITTEN:
        return None


def _thinking(raw: dict[str, Any]) -> dict[str, Any] | None:
    content = raw.get("reasoningContent")
    if isinstance(content, dict) and "signature" in content.get("reasoningText", {}):
        text = content["reasoningText"]
        return {"type": "thinking", "thinking": text["text"], "signature": text["signature"]}
    if isinstance(content, dict) and isinstance(content.get("redactedContent"), bytes):
        data = base64.b64encode(content["redactedContent"]).decode("ascii")
        return {"type": "redacted_thinking", "data": data}
    return None


def reasoning_content(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The reverse of `thinking`: Bedrock's reasoning content from Anthropic's block."""
    try:
        return _reasoning_content(raw)
    except _HALF_WRITTEN:
        return None


def image_bytes(picture: Image) -> bytes | None:
    """The bytes of an image that has data; None where that is no base64."""
    try:
        return base64.b64decode(picture.data)
    except _HALF_WRITTEN:
        return None


def _reasoning_content(raw: dict[str, Any]) -> dict[str, Any] | None:
    if raw.get("type") == "thinking" and "signature" in raw:
        return {"reasoningText": {"text": raw["thinking"], "signature": raw["signature"]}}
    if raw.get("type") == "redacted_thinking":
        return {"redactedContent": base64.b64decode(raw["data"])}
    return None


def dumps(value: Any) -> str:  # noqa: ANN401 - a JSON value
    """Compact JSON, key order kept: the same value always has the same bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _as_text(arguments: Any) -> str:  # noqa: ANN401 - some servers send an object where OpenAI has its text
    return arguments if isinstance(arguments, str) else dumps(arguments)


def _text(content: Any) -> str:  # noqa: ANN401
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return dumps(content)
    parts = []
    for part in content:
        text = part.get("text") if isinstance(part, dict) else part
        parts.append(text if isinstance(text, str) else dumps(part))
    return "\n".join(parts)
