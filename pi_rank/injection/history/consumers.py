"""For everything that reads a conversation and is not the model: the conversation as the user had it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from pi_rank.injection.history.dialects import Dialect, detect, outside_content
from pi_rank.injection.history.live import may_hold_marks
from pi_rank.injection.history.messages import Block, Message, RawMessage, message_marks, metadata_of, view
from pi_rank.injection.history.objects import as_plain, kind_of

_WORD = re.compile(r"\w+")
SHINGLE_WORDS = 5  # shorter runs of words are shared by texts that have nothing to do with each other
ECHO_SHARE = 0.5
_EMPTY = object()


def strip_injected(messages: Sequence[Any], dialect: Dialect | None = None) -> list[Any]:
    """The conversation without injected text: for extraction, summaries, titles, previews, exports and
    replays.

    A new list; messages that hold nothing injected are the caller's own. They may be dicts or the message
    objects of a framework whose adapter is imported; these come back as objects. A message that held nothing
    else is left out; one with tool results keeps them, so that no tool call loses its answer.
    """
    kind = kind_of(messages)
    kept = []
    for given, message in zip(messages, view(messages, dialect), strict=True):
        stripped = _strip(message)
        if stripped is message.raw:
            kept.append(given)
        elif stripped is not _EMPTY:
            kept.append(stripped if kind is None else kind.rebuilt(given, stripped))
    return kept


def own_words(messages: Sequence[Any], dialect: Dialect | None = None) -> str:
    """What the user last said in his own words: the recall query, and what a guardrail should look at.

    Messages that hold only tool results or injected text are passed over.
    """
    kind = kind_of(messages[-1:])
    found = dialect or (detect(messages) if kind is None else kind.dialect)
    for raw in reversed(messages):
        message = Message(as_plain(raw) if kind is None else kind.view(raw), found)
        if message.role == "user" and (text := message.own_text().strip()):
            return text
    return ""


def guardrail_blocks(
    messages: Sequence[Any], *, include_injected: bool = False, dialect: Dialect | None = None
) -> tuple[int, list[Block]]:
    """The message that a guardrail on "the latest user text" should evaluate, and its blocks; (-1, []) for
    none.

    It is the latest user message with words or images of the user's own: a message of tool results does not
    take its place because it carries injected text. Injected blocks are left out unless they are asked for:
    they were checked when they were written, and a guardrail that trips on one is answered with `quarantine`.
    """
    views = view(messages, dialect)
    for index in range(len(views) - 1, -1, -1):
        blocks = [block for block in views[index].blocks if block.kind in ("text", "media")]
        if views[index].role == "user" and any(block.mark is None for block in blocks):
            return index, [block for block in blocks if include_injected or block.mark is None]
    return -1, []


def offloadable(raw: RawMessage, dialect: Dialect | None = None) -> list[int]:
    """Indexes in `content` of blocks that may be moved out of the history one by one; injected ones stay.

    Only the compaction of a whole message takes an injected block away: its records then count as absent.
    """
    content = raw.get("content")
    if not isinstance(content, list):
        return []
    blocks = view([raw], dialect)[0].blocks
    held = {id(block.raw) for block in blocks if block.mark is not None or block.kind == "cache_point"}
    return [index for index, part in enumerate(content) if id(part) not in held]


def echoes(candidate: str, messages: Sequence[Any], dialect: Dialect | None = None) -> bool:
    """Whether a text that is about to be extracted as the user's fact repeats what was injected.

    True when half of its runs of five words stand in an injected block (a shorter text: when the whole of it
    does), and the user's own words do not hold them too.
    """
    runs = _shingles(candidate)
    injected, own = set[tuple[str, ...]](), set[tuple[str, ...]]()
    size = len(next(iter(runs), ()))
    for message in view(messages, dialect):
        for block in message.blocks if message.role == "user" else ():
            if block.kind == "text":
                (own if block.mark is None else injected).update(_runs(block.text, size))
    return bool(runs) and len(runs & (injected - own)) >= ECHO_SHARE * len(runs)


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = len(_WORD.findall(text))
    return set(_runs(text, min(words, SHINGLE_WORDS)))


def _runs(text: str, size: int) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    if size:
        yield from (tuple(words[at : at + size]) for at in range(len(words) - size + 1))


def _strip(message: Message) -> Any:  # noqa: ANN401 - a message dict, or what stood in its place
    raw = message.raw
    if not isinstance(raw, dict) or not (message.role == "user" and may_hold_marks(raw)):
        return raw
    blocks = message.blocks
    kept = [block for block in blocks if block.mark is None]
    if len(kept) < len(blocks) and all(block.kind == "cache_point" for block in kept):
        return _EMPTY
    bare = _without_marks(raw)
    if any(mark.tracked for mark in message_marks(raw)):
        bare.pop("tracking_id", None)
    content = raw.get("content")
    if isinstance(content, str):
        return {**bare, "content": "".join(block.text for block in kept)}
    if not isinstance(content, list):
        return bare
    return {**bare, "content": list(_own_parts(blocks[: _inside(blocks, raw)]))}


def _inside(blocks: list[Block], raw: RawMessage) -> int:
    """How many of the blocks stand in `content`, and not beside it."""
    outside = {id(part) for _, part in outside_content(raw)}
    return len(blocks) - sum(id(block.raw) in outside for block in blocks)


def _own_parts(blocks: list[Block]) -> Iterator[Any]:
    """The parts of a content, each with the words in it that nobody injected."""
    for pieces in _by_part(blocks):
        part, kept = pieces[0].raw, [piece for piece in pieces if piece.mark is None]
        if len(kept) == len(pieces):
            yield _without_marks(part) if isinstance(part, dict) and "injected" in metadata_of(part) else part
        elif kept:
            text = "".join(piece.text for piece in kept)
            yield {**_without_marks(part), "text": text} if isinstance(part, dict) else text


def _by_part(blocks: list[Block]) -> Iterator[list[Block]]:
    """The blocks of each part: one, or the pieces of a text that is partly injected."""
    firsts = [index for index, block in enumerate(blocks) if not block.start]
    for first, after in pairwise([*firsts, len(blocks)]):
        yield blocks[first:after]


def _without_marks(raw: dict[str, Any]) -> dict[str, Any]:
    """A copy of a message or part without its marks; metadata that held nothing else goes too."""
    bare = dict(raw)
    metadata = {key: value for key, value in metadata_of(raw).items() if key != "injected"}
    if "injected" in metadata_of(raw):
        bare["metadata"] = metadata
        if not metadata:
            del bare["metadata"]
    return bare
