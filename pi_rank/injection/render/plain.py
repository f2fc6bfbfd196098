"""Messages sent as they are stored but for our own keys: most of a history, spared the general way."""

from __future__ import annotations

from typing import Any

from pi_rank.injection.dialects import PART_TYPES, STRANDS_KEYS, BlockKind, Dialect
from pi_rank.injection.render.portable import without_own_keys


def plain_message(raw: Any, dialect: Dialect) -> dict[str, Any] | None:  # noqa: ANN401 - whatever a history holds
    """A user's or assistant's message as it is sent in its own dialect; None where more is to be done."""
    role = raw.get("role") if isinstance(raw, dict) else None
    if role != "user" and role != "assistant":
        return None
    parts = plain_parts(raw, dialect)
    return None if parts is None else {"role": role, "content": parts}


def plain_parts(raw: dict[str, Any], dialect: Dialect) -> list[dict[str, Any]] | None:
    """The parts of a message as they are sent in its own dialect, where only our keys have to go.

    None where more is to be done: an empty or unknown part, tool results behind something else, calls outside
    the content, operator text or text for this call only.
    """
    content = raw.get("content")
    if not isinstance(content, list) or not content or "tool_calls" in raw:
        return None
    if "metadata" in raw and not _all_sent_as_text(raw["metadata"]):
        return None
    try:
        return _stripped(content, PART_TYPES.get(dialect))
    except (KeyError, TypeError):
        return None  # an unknown part, or none at all: the general way says which


def _stripped(content: list[Any], kinds: dict[str, BlockKind] | None) -> list[dict[str, Any]] | None:
    parts: list[dict[str, Any]] = []
    last: BlockKind = "tool_result"
    for part in content:
        if not isinstance(part, dict):
            return None
        kind = kinds[part["type"]] if kinds is not None else STRANDS_KEYS[next(iter(part), "")]
        if kind == "text":
            if not part["text"] or not isinstance(part["text"], str):
                return None
        elif kind == "tool_result" and last != "tool_result":
            return None
        last = kind
        if "metadata" in part or "tracking_id" in part:
            if not _is_sent_as_text(_injected(part.get("metadata"))):
                return None
            part = without_own_keys(part)
        if kinds is None and len(part) > 1:
            if kind == "text":
                return None
            part = {key: value for key, value in part.items() if key in STRANDS_KEYS}
        parts.append(part)
    return parts


def _injected(metadata: Any) -> Any:  # noqa: ANN401 - whatever stands where metadata does
    return metadata.get("injected") if isinstance(metadata, dict) else None


def _all_sent_as_text(metadata: Any) -> bool:  # noqa: ANN401
    listed = _injected(metadata)
    return not isinstance(listed, list) or all(map(_is_sent_as_text, listed))


def _is_sent_as_text(mark: Any) -> bool:  # noqa: ANN401 - whatever stands where a mark does
    if not isinstance(mark, dict):
        return mark is None
    return mark.get("rendering") == "text" and "per_call" not in mark
