"""Takes a note back from a recall service of ours."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote

import msgspec

from pi_rank.errors import PiRankError
from pi_rank.recall.client.http_call import call, request_headers
from pi_rank.recall.client.origin import parse_origin
from pi_rank.serving.token_file import read_token

TIMEOUT_SECONDS = 10.0
MAX_RESPONSE_BYTES = 65_536


class NoteError(PiRankError):
    """A note could not be taken back: there is none, or nobody who could do it answered."""


async def forget(base_url: str, note_id: str, token_file: Path | None = None) -> int:
    """Take a note back, with those that say the same.

    :param base_url: as for `RemanentiaHttpRecall`.
    :returns: how many notes that were.
    :raises ConfigError: the URL or the token file is not usable.
    :raises NoteError: the server has no such note, refuses, or does not answer as ours does.
    """
    origin = parse_origin(base_url)
    token = None if token_file is None else read_token(token_file)
    target = f"/remember/{quote(note_id, safe='')}"
    try:
        status, _, body = await asyncio.wait_for(
            call(origin, "DELETE", target, request_headers(origin, 0, token), b"", MAX_RESPONSE_BYTES),
            TIMEOUT_SECONDS,
        )
    except Exception as error:  # of sockets, TLS, h11: what it says may hold what was sent
        reason = type(error).__name__
        raise NoteError(f"no answer from {base_url} ({reason}): is `pi-rank serve` running there?") from None
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        answer = None
    if not isinstance(answer, dict):
        raise NoteError(f"{base_url} answered {status}, not as `pi-rank serve` does")
    if status != 200:
        raise NoteError(f"{base_url} answered {status}: {str(answer.get('error', ''))[:200]}")
    return int(answer.get("forgotten", 0))
