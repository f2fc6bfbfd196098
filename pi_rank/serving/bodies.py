"""Reads the JSON body of a request: whole, in time, and of a bounded size."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
from starlette.requests import ClientDisconnect, Request

from pi_rank.serving.api_errors import ApiError

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
