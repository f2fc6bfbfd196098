"""The fields of a request's body, of their own types."""

from __future__ import annotations

from typing import Any

from pi_rank.serving.api_errors import ApiError

MAX_CONTENT = 65_536  # characters of a note: it is one memory, not a document


def text(fields: dict[str, Any], name: str) -> str:
    """A field that must be there and be a string with something in it.

    :raises ApiError: `<name> required`.
    """
    value = fields.get(name)
    if not isinstance(value, str) or not value:
        raise ApiError(400, f"{name} required")
    return value


def whole_number(fields: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A field that, where it is there, must be a whole number in a range.

    :raises ApiError: it is not.
    """
    value = fields.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ApiError(400, f"{name} must be an integer")
    if not least <= value <= most:
        raise ApiError(400, f"{name} must be from {least} to {most}")
    return value


def content_and_trigger(fields: dict[str, Any]) -> tuple[str, str | None]:
    """The fields of /remember.

    :raises ApiError: one is missing, blank, too long, or no string.
    """
    content, trigger = text(fields, "content"), fields.get("trigger")
    if not content.strip():
        raise ApiError(400, "content required")
    if trigger is not None and not isinstance(trigger, str):
        raise ApiError(400, "trigger must be a string")
    if max(len(content), len(trigger or "")) > MAX_CONTENT:
        raise ApiError(413, f"content and trigger may have at most {MAX_CONTENT} characters")
    return content, trigger
