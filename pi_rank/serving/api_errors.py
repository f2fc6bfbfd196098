"""What a caller is told when a request is refused: one short sentence that repeats nothing it was sent."""

from __future__ import annotations

import msgspec
from starlette.responses import Response


class ApiError(Exception):
    """A request is answered with this status, and `{"error": message}`."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as an uncompressed JSON answer in UTF-8."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


def error_response(error: ApiError) -> Response:
    """The answer that an error stands for."""
    return json_response({"error": error.message}, error.status, error.headers)
