"""Vectors from a server that answers `POST /embeddings` as OpenAI's does: batches, retries, checked answers.

The standard library's http.client and no more: it never follows a redirect, by which another host would be
given the key, and it lets a connection be kept, so that a query does not pay for a new TLS handshake.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pi_rank.embedding.http_pool import Answer, HttpPool, RequestFailed
from pi_rank.embedding.texts import VectorCache, readable
from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pi_rank.embedding.cards import EndpointCard

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})  # statuses that another try may not meet
FIRST_WAIT_SECONDS = 0.5  # doubled with each further try
LONGEST_WAIT_SECONDS = 60.0  # of one Retry-After that is waited for
QUOTED_CHARACTERS = 200  # of what the server says is wrong


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Body(msgspec.Struct):
    data: list[_Item]


class EndpointEmbedder:
    """An embedder for an `EndpointCard`. Making one sends nothing; vectors have unit length.

    A request for documents is tried `card.attempts` times, as the server's Retry-After says, where its
    failure may pass: a timeout, a lost connection, a status of `PASSING`. A wrong answer is not asked again.

    :raises ModelError: the key is missing or unusable, or would cross a network in the clear.
    """

    def __init__(self, card: EndpointCard) -> None:
        self.model_id = card.model_id
        self.dimension = card.dimension
        self._card = card
        self._key = _read_key(card)
        self._pool = HttpPool(f"{card.url.rstrip('/')}/embeddings", card.timeout_seconds)
        if self._key and not self._pool.secure and self._pool.host not in LOCAL_HOSTS:
            raise ModelError(
                f"model {card.id}: the key is not sent over http to {self._pool.host}; use https"
            )
        self._cache = VectorCache()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Unit-length float32 [dimension], read-only; recent queries are answered from memory.

        :raises ModelError: the server failed, did not answer in time, or its answer cannot be used.
        """
        prompted = self._card.query_prompt + readable(text)
        return self._cache.get(text, lambda: self._embed([prompted], attempts=1)[0])

    def embed_documents(
        self, texts: Sequence[str], progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Unit-length float32 [len(texts), dimension]; `progress` is called after each request.

        :raises ModelError: as `embed_query`, once `card.attempts` tries have failed.
        """
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), self._card.texts_per_request):
            part = texts[start : start + self._card.texts_per_request]
            prompted = [self._card.document_prompt + readable(text) for text in part]
            vectors[start : start + len(part)] = self._embed(prompted, self._card.attempts)
            if progress is not None:
                progress(start + len(part))
        return vectors

    def _embed(self, texts: list[str], attempts: int) -> NDArray[np.float32]:
        # Servers of this kind refuse an empty text; a blank one is the nearest they take.
        request = {"model": self._card.model, "input": [text or " " for text in texts]}
        body = msgspec.json.encode(request | {"encoding_format": "float"})
        return self._vectors(self._ask(body, attempts), len(texts))

    def _ask(self, body: bytes, attempts: int) -> bytes:
        """The body of the first answer with status 200."""
        failure = ""
        for attempt in range(attempts):
            pause = FIRST_WAIT_SECONDS * 2**attempt
            try:
                answer = self._pool.post(body, self._headers())
            except RequestFailed as error:
                failure = str(error)
            else:
                if answer.status == 200:
                    return answer.body
                failure = self._described(answer)
                if answer.status not in PASSING:
                    break
                pause = answer.retry_after if answer.retry_after is not None else pause
            if attempt + 1 == attempts:
                break
            if pause > LONGEST_WAIT_SECONDS:
                failure += f"; it asks to wait {pause:,.0f} seconds"
                break
            time.sleep(pause)
        raise ModelError(f"model {self._card.id}: {self._pool.url}: {failure}")

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        return headers | {"Authorization": f"Bearer {self._key}"} if self._key else headers

    def _described(self, answer: Answer) -> str:
        """The status and what the server says, without the key, which some quote."""
        text = " ".join(answer.body.decode("utf-8", "replace").split())
        if self._key:
            text = text.replace(self._key, "[key]")
        hint = f"; is the key in {_key_place(self._card)} right?" if answer.status in (401, 403) else ""
        return f"status {answer.status}: {text[:QUOTED_CHARACTERS]}{hint}"

    def _vectors(self, body: bytes, count: int) -> NDArray[np.float32]:
        problem = f"model {self._card.id}: {self._pool.url} answered"
        try:
            items = msgspec.json.decode(body, type=_Body).data
        except msgspec.DecodeError as error:  # NaN is no JSON either
            raise ModelError(f"{problem} what is no list of embeddings: {error}") from error
        if sorted(item.index for item in items) != list(range(count)):
            raise ModelError(
                f"{problem} {len(items)} vectors, or not those asked for: {count} texts were sent"
            )
        lengths = {len(item.embedding) for item in items}
        if lengths != {self.dimension}:
            raise ModelError(
                f"{problem} vectors of {', '.join(map(str, sorted(lengths)))} dimensions, "
                f"its card says {self.dimension}"
            )
        items.sort(key=lambda item: item.index)
        matrix = np.array([item.embedding for item in items], np.float64)
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise ModelError(f"{problem} a vector of zeros, or with a value that is not finite")
        vectors: NDArray[np.float32] = (matrix / norms).astype(np.float32)
        return vectors


def _read_key(card: EndpointCard) -> str:
    if not card.key_environment and not card.key_file:
        return ""
    in_environment = os.environ.get(card.key_environment, "").strip()
    key = in_environment if card.key_environment else _read_key_file(card)
    if not key:
        raise ModelError(f"model {card.id}: there is no key in {_key_place(card)}")
    if not all("!" <= character <= "~" for character in key):
        raise ModelError(
            f"model {card.id}: what is in {_key_place(card)} is no key: it has spaces or non-ASCII"
        )
    return key


def _read_key_file(card: EndpointCard) -> str:
    path = Path(card.path).parent / Path(card.key_file).expanduser()
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ModelError(f"model {card.id}: the key file {path} cannot be read: {reason}") from error


def _key_place(card: EndpointCard) -> str:
    return card.key_environment or card.key_file or "no place: the card names none"
