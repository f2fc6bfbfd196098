"""Reads the JSON body of a request: whole, in time, of a bounded size, and of the fields' own types."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
from starlette.requests import ClientDisconnect, Request

from pi_rank.recall.server.api_errors import ApiError

MAX_CONTENT = 65_536  # characters of a note: it is one memory, not a document
_decode = msgspec.json.Decoder().decode


async def read_object(request: Request, max_bytes: int, seconds: float) -> dict[str, Any]:
    """The body as a JSON object.

    :raises ApiError: it is too long, came too slowly, is shorter than announced, or is no JSON object in
    UTF-8.
    """
    body = bytearray()
    try:
        with anyio.fail_after(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > max_bytes:
                    raise ApiError(413, "request body too large")
    except TimeoutError:
        raise ApiError(408, "the request body took too long", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise ApiError(400, "incomplete request body") from None
    if len(body) != int(request.headers["content-length"]):
        raise ApiError(400, "the request body is not of its Content-Length", {"Connection": "close"})
    return _object(bytes(body))


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ApiError(400, "the body must be JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise ApiError(400, "the body must be a JSON object")
    return value


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
