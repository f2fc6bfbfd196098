"""The mark of an injected block: what tells recalled text from the user's own, whatever either of them says.

A mark is metadata, so no text that a user types or pastes can make or unmake one. It is kept twice:

* on the block, `block["metadata"]["injected"]`, which survives a merge of two messages;
* on the message, `message["metadata"]["injected"]` (a list), which survives code that rebuilds the block as
  `{"text": …}`, and is the only place where the content is a plain string.

Either copy is enough. A mark finds its text by digests (`find`), so an edit of the user's words, a joined or
rebuilt block and another line ending cannot lose it, and no word of the text is kept in it. Both copies are
stripped from what is sent (`pi_rank.injection.render`).
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any, Literal
from uuid import uuid4

import msgspec

Rendering = Literal["text", "system", "developer", "turn"]
RENDERINGS: tuple[Rendering, ...] = ("text", "system", "developer", "turn")
DIGEST_CHARS = 16
END_CHARS = 16  # of a text at either end, by which what is left of it is found where it was cut
_LINE_ENDING = re.compile(r"\r\n?")


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who injected a block, when, and which records it holds.

    `versions[i]` is the digest of what `record_ids[i]` said when it was written; `withdrawn` are records that
    the block takes back; `sections` are digests of parts that are no records (scratchpad, daily log).
    `lines` are, by section, the digests of the lines that the block adds, `gone` those that it takes back,
    and
    `continued` the sections whose earlier lines still hold. `content` is the digest of a text of the user's
    own
    as it was given, before a note was added.

    `digest` is that of the text without leading newlines, of which it has `lead`; `chars` is its whole
    length,
    `start` where it was put into a string content, `ends` a checksum of its first and of its last characters.
    `tools` is what the block changes about the tools that may be called (`pi_rank.injection.tools`).
    `tracked` says that the message had no tracking id before. `quarantined` is when the text was replaced,
    `quarantined_digest` the digest that it had before.
    """

    source: str
    id: str
    digest: str
    rendering: str
    record_ids: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    sections: dict[str, str] = {}
    lines: dict[str, tuple[str, ...]] = {}
    gone: dict[str, tuple[str, ...]] = {}
    continued: tuple[str, ...] = ()
    content: str = ""
    created_at: str = ""
    start: int = 0
    chars: int = 0
    lead: int = 0
    ends: str = ""
    tracked: bool = False
    tools: dict[str, Any] = {}
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


def as_written(text: str) -> str:
    """A text as it is stored: lines end with a newline, and nothing blank stands at its end.

    Stores and frameworks change both; what they do not change is found again as it was written.
    """
    return (_LINE_ENDING.sub("\n", text) if "\r" in text else text).rstrip()


def end_sum(text: str) -> str:
    """Checksum of a few characters, 8 hex digits (CRC-32): where it agrees, a digest decides."""
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def place_of(text: str) -> dict[str, Any]:
    """The fields of a mark by which its text is found again."""
    bare = text.lstrip("\n")
    return {
        "digest": text_digest(text),
        "chars": len(text),
        "lead": len(text) - len(bare),
        "ends": end_sum(bare[:END_CHARS]) + end_sum(bare[-END_CHARS:]),
    }


def new_mark(source: str, text: str, **fields: Any) -> Mark:  # noqa: ANN401 - fields of Mark
    """A mark for text that is about to be written, with a fresh id and the time in UTC."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Mark(source=source, id=str(uuid4()), created_at=now, **place_of(text), **fields)


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
