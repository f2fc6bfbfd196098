"""Reads the answer of a recall service, and trusts nothing in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from pi_rank.recall.types import MemoryHit, RecallUnavailableError

PROVENANCE = "HTTP /recall, unverified"
_BOM = b"\xef\xbb\xbf"
_decode = msgspec.json.Decoder().decode  # refuses NaN, Infinity, numbers past a float's range, invalid UTF-8


def check_headers(status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Accept any 2xx with an uncompressed JSON body.

    :raises RecallUnavailableError: it is something else; a redirect, for one, is never followed.
    """
    types = [value for name, value in headers if name.lower() == b"content-type"]
    encodings = [value for name, value in headers if name.lower() == b"content-encoding"]
    is_json = len(types) == 1 and types[0].split(b";")[0].strip().lower() == b"application/json"
    plain = all(value.strip().lower() == b"identity" for value in encodings)
    if not (200 <= status < 300 and is_json and plain):
        raise RecallUnavailableError


def read_hits(body: bytes, query: str, top_k: int) -> tuple[MemoryHit, ...]:
    """The first `top_k` hits of an answer to `query`, each of them boundary data.

    :raises RecallUnavailableError: the answer is not one, is of another query, or one of those hits is
    unusable.
    """
    try:
        answer = None if body.startswith(_BOM) else _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RecallUnavailableError from None
    if (
        not isinstance(answer, dict)
        or answer.get("query") != query
        or not isinstance(answer.get("results"), list)
    ):
        raise RecallUnavailableError
    return tuple(_hit(row) for row in answer["results"][:top_k])


def _hit(row: object) -> MemoryHit:
    if not isinstance(row, dict):
        raise RecallUnavailableError
    name, kind, snippet = (_text(row.get(key)) for key in ("name", "type", "snippet"))
    return MemoryHit(name, kind, _score(row.get("score")), snippet, "boundary", PROVENANCE)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise RecallUnavailableError
    return value


def _score(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RecallUnavailableError
    try:
        score = float(value)
    except OverflowError:
        raise RecallUnavailableError from None
    if not math.isfinite(score):
        raise RecallUnavailableError
    return score
