"""The mark of an injected block: what tells recalled text from the user's own, whatever either of them says.

A mark is metadata, so no text that a user types or pastes can make or unmake one. It is kept twice:

* on the block, `block["metadata"]["injected"]`, which survives a merge of two messages;
* on the message, `message["metadata"]["injected"]` (a list), which survives code that rebuilds the block as
  `{"text": …}`, and is the only place where the content is a plain string.

Either copy is enough. The message's copy finds its text by digest, so an edit of the user's words cannot move
it. Both are stripped from what is sent (`pi_rank.injection.render`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, Literal
from uuid import uuid4

import msgspec

Rendering = Literal["text", "system", "developer"]
RENDERINGS: tuple[Rendering, ...] = ("text", "system", "developer")
DIGEST_CHARS = 16


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who injected a block, when, and which records it holds.

    `versions[i]` is the digest of what `record_ids[i]` said when it was written; `withdrawn` are records that
    the block takes back; `sections` are digests of parts that are no records (scratchpad, daily log).
    `digest` is that of the text without leading newlines. `start` and `chars` place the text in a string
    content. `quarantined` is when the text was replaced, `quarantined_digest` the digest that it had before.
    """

    source: str
    id: str
    digest: str
    rendering: str
    record_ids: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    sections: dict[str, str] = {}
    created_at: str = ""
    start: int = 0
    chars: int = 0
    per_call: bool = False
    quarantined: str = ""
    quarantined_digest: str = ""

    def each_version(self) -> tuple[str, ...]:
        """One version digest for each of `record_ids`, "" where a mark of another version lacks one."""
        missing = len(self.record_ids) - len(self.versions)
        return self.versions if not missing else (self.versions + ("",) * missing)[: len(self.record_ids)]

    def versions_by_id(self) -> Iterator[tuple[str, str]]:
        """Record ids with their version digests."""
        return zip(self.record_ids, self.each_version(), strict=True)


def text_digest(text: str) -> str:
    """First 16 hex digits of the SHA-256 of the text, leading newlines (the separator) left out."""
    return hashlib.sha256(text.lstrip("\n").encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_CHARS]


def new_mark(source: str, text: str, **fields: Any) -> Mark:  # noqa: ANN401 - fields of Mark
    """A mark for text that is about to be written, with a fresh id and the time in UTC."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Mark(source=source, id=str(uuid4()), digest=text_digest(text), created_at=now, **fields)


def mark_to_dict(mark: Mark) -> dict[str, Any]:
    """The mark as plain JSON values, defaults left out."""
    encoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(mark))
    return encoded


def with_message_mark(message: dict[str, Any], mark: Mark) -> dict[str, Any]:
    """The metadata of a message dict with one more mark."""
    metadata = message.get("metadata") or {}
    earlier = metadata.get("injected")
    return {**metadata, "injected": [*(earlier if isinstance(earlier, list) else []), mark_to_dict(mark)]}


def read_mark(raw: Any) -> Mark | None:  # noqa: ANN401 - whatever stands in a stored history
    """The mark that a metadata value holds, or None when it is none.

    A mark of a newer version is read for what this one knows: an unknown key, or a key of another type, is
    ignored, and only `source`, `id` and `digest` are needed.
    """
    if not isinstance(raw, dict):
        return None
    try:
        return msgspec.convert(raw, Mark)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter: half a surrogate pair in a key
        return _read_essentials(raw)


def read_marks(raws: list[dict[str, Any]]) -> list[Mark]:
    """The marks that a list of dicts holds, in its order; what is none is left out."""
    try:
        return msgspec.convert(raws, list[Mark])
    except (msgspec.ValidationError, UnicodeEncodeError):
        return [mark for mark in map(read_mark, raws) if mark is not None]


def _read_essentials(raw: dict[str, Any]) -> Mark | None:
    needed = {key: raw.get(key) for key in ("source", "id", "digest")}
    if not all(isinstance(value, str) for value in needed.values()):
        return None
    ids = raw.get("record_ids")
    known = tuple(item for item in ids if isinstance(item, str)) if isinstance(ids, list) else ()
    return Mark(**needed, rendering="text", record_ids=known)  # type: ignore[arg-type]  # checked above
