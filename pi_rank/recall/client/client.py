"""The client of a recall service: REMANENTIA's, or ours."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from pi_rank.errors import ConfigError
from pi_rank.recall.client.answer import check_headers, read_hits
from pi_rank.recall.client.http_call import call, request_headers
from pi_rank.recall.client.origin import parse_origin
from pi_rank.recall.types import (
    MAX_TOP_K,
    MemoryRecallResult,
    RecallUnavailableError,
    checked_int,
    checked_timeout,
)
from pi_rank.serving.token_file import read_token

MAX_REQUEST_BYTES = 16_384
MAX_RESPONSE_BYTES = 1_048_576
MIN_BYTES, MOST_BYTES = 64, 64 * 1_048_576
SOURCE = "HTTP recall"
_NOTE_HITS = "The service says nothing of how its memory was verified; every hit is boundary data."
_NOTE_NONE = "The service returned no admissible hits."


class RemanentiaHttpRecall:
    """Asks `POST /recall`, once for each call, within one hard deadline. Implements `MemoryRecall`.

    :param base_url: an https origin, or an http one with a literal loopback address.
    :param token_file: read at every call, so that the token may change; see `read_token`.
    :param timeout_seconds: for the whole exchange, from the look-up of the name to the last byte.
    :raises ConfigError: an argument is not usable. Nothing is sent, read or looked up here.
    """

    def __init__(
        self,
        base_url: str,
        token_file: str | Path | None = None,
        timeout_seconds: float = 2.0,
        max_request_bytes: int = MAX_REQUEST_BYTES,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
    ) -> None:
        self._origin = parse_origin(base_url)
        if token_file is not None and not (isinstance(token_file, (str, Path)) and str(token_file)):
            raise ConfigError("token_file must be the path of a file")
        self._token_file = None if token_file is None else Path(token_file)
        self._timeout = checked_timeout(timeout_seconds)
        self._max_request = checked_int("max_request_bytes", max_request_bytes, MIN_BYTES, MOST_BYTES)
        self._max_response = checked_int("max_response_bytes", max_response_bytes, MIN_BYTES, MOST_BYTES)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._origin.scheme}, token={'yes' if self._token_file else 'no'})"

    async def recall(self, query: str, *, top_k: int) -> MemoryRecallResult:
        """The service's best `top_k` hits (1 to 20) for a query.

        :raises ConfigError: `query` is no text, or `top_k` is out of range.
        :raises RecallUnavailableError: whatever else went wrong; it says nothing more.
        """
        checked_int("top_k", top_k, 1, MAX_TOP_K)
        if not isinstance(query, str) or not query.strip():
            raise ConfigError("query must be text that is not blank")
        try:
            body = await asyncio.wait_for(self._exchange(query, top_k), self._timeout)
            hits = read_hits(body, query, top_k)
        except Exception:  # of sockets, TLS, h11, the token file: none of it may reach a prompt or a log
            raise RecallUnavailableError from None
        return MemoryRecallResult(query, hits, not hits, SOURCE, _NOTE_HITS if hits else _NOTE_NONE)

    async def _exchange(self, query: str, top_k: int) -> bytes:
        body = msgspec.json.encode({"query": query, "top_k": top_k})
        if len(body) > self._max_request:
            raise RecallUnavailableError
        token = None if self._token_file is None else read_token(self._token_file)
        headers = request_headers(self._origin, len(body), token)
        status, headers, answer = await call(
            self._origin, "POST", "/recall", headers, body, self._max_response
        )
        check_headers(status, headers)
        return answer
