"""A provider-neutral view of a conversation, laid over the message dicts that the caller already has.

Nothing is converted: a `Message` is a window on one dict of Strands/Bedrock, Anthropic, OpenAI Chat or OpenAI
Responses shape, and `Message.raw` is that dict. Loading and dumping is therefore byte-identical, unknown keys
and unknown blocks included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import BlockKind, Dialect
from pi_rank.injection.history.marks import Mark, read_mark, text_digest

RawMessage = dict[str, Any]
Role = Literal["user", "assistant", "tool", "system", "other"]
# How often over marks may claim a string: each its own stretch, and the same length at the end.
MOST_CLAIMS = 4


class Block(msgspec.Struct, frozen=True):
    """One content block. `raw` is the caller's own dict, or None for a piece of a string content.

    `text` is the text of a text block, "" otherwise; `mark` tells an injected block from the user's words;
    `start` is the offset of a piece in its string content.
    """

    kind: BlockKind
    raw: Any
    text: str = ""
    mark: Mark | None = None
    start: int = 0


class Message:
    """A view of one message dict: role, blocks with their marks, metadata, tracking id."""

    __slots__ = ("dialect", "raw")

    def __init__(self, raw: RawMessage, dialect: Dialect) -> None:
        self.raw = raw
        self.dialect = dialect

    @property
    def role(self) -> Role:
        """Who speaks. `tool` is a message of OpenAI that carries nothing but a tool's output."""
        return role_of(self.raw)

    @property
    def tracking_id(self) -> str | None:
        """The message's UUID, if it has one."""
        value = self.raw.get("tracking_id") if isinstance(self.raw, dict) else None
        return value if isinstance(value, str) and value else None

    @property
    def metadata(self) -> dict[str, Any]:
        """The message's metadata; an empty dict when it has none. Never sent to a model."""
        return metadata_of(self.raw)

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks; a string content is one, or several where parts of it are injected."""
        return blocks_of(self.raw, self.dialect)

    def has(self, kind: BlockKind) -> bool:
        """Whether a block of this kind is in the message."""
        return any(block.kind == kind for block in self.blocks)

    def own_text(self) -> str:
        """The words of the message that nobody injected, text blocks joined by a newline."""
        return "\n".join(block.text for block in self.blocks if block.kind == "text" and block.mark is None)

    def trailing_injected(self) -> list[Block]:
        """The unbroken run of injected blocks at the end, in order; cache points are looked through."""
        run: list[Block] = []
        for block in reversed(self.blocks):
            if block.mark is not None:
                run.append(block)
            elif block.kind != "cache_point":
                break
        return run[::-1]


def view(messages: Sequence[Any], dialect: Dialect | None = None) -> list[Message]:
    """The conversation as views, its dialect found by looking at it unless it is given."""
    found = dialect or dialects.detect(messages)
    return [Message(raw, found) for raw in messages]


def role_of(raw: Any) -> Role:  # noqa: ANN401 - half-written histories hold anything
    """The role of a message dict or Responses item; `other` when it has none that is known."""
    if not isinstance(raw, dict):
        return "other"
    role = raw.get("role")
    if role in ("user", "assistant", "tool"):
        return role  # type: ignore[no-any-return]
    if role in ("system", "developer"):
        return "system"
    return dialects.ITEM_ROLES.get(str(raw.get("type")), "other") if role is None else "other"


def metadata_of(raw: Any) -> dict[str, Any]:  # noqa: ANN401
    """The `metadata` object of a message or block, {} where there is none."""
    value = raw.get("metadata") if isinstance(raw, dict) else None
    return value if isinstance(value, dict) else {}


def block_mark(raw: Any) -> Mark | None:  # noqa: ANN401
    """The mark that a block dict itself carries."""
    if not isinstance(raw, dict) or "metadata" not in raw:
        return None
    return read_mark(metadata_of(raw).get("injected"))


def message_marks(raw: Any) -> list[Mark]:  # noqa: ANN401
    """The marks that a message dict carries, in the order in which their blocks were written."""
    listed = metadata_of(raw).get("injected")
    if not isinstance(listed, list):
        return []
    return [mark for mark in map(read_mark, listed) if mark is not None]


def blocks_of(raw: Any, dialect: Dialect) -> list[Block]:  # noqa: ANN401
    """The blocks of a message dict. What is half-written has fewer blocks, never an error."""
    if not isinstance(raw, dict):
        return []
    if raw.get("role") == "tool":
        return [Block("tool_result", raw)]
    content = raw.get("content")
    marks = message_marks(raw) if "metadata" in raw else []
    if isinstance(content, list):
        blocks = _listed_blocks(content, dialect, marks)
    else:
        blocks = _string_blocks(content, marks) if isinstance(content, str) else []
    if "tool_calls" in raw or "role" not in raw:
        blocks += [Block(kind, part) for kind, part in dialects.outside_content(raw)]
    return blocks


def _listed_blocks(content: list[Any], dialect: Dialect, marks: list[Mark]) -> list[Block]:
    blocks = [_block(part, dialect) for part in content]
    if not marks:
        return blocks
    claimed = {block.mark.id for block in blocks if block.mark is not None}
    unclaimed = [mark for mark in marks if mark.id not in claimed]
    if not unclaimed:
        return blocks
    # A mark whose block was rebuilt without metadata finds it by digest, the last such block first: an
    # injected block stands at the end, and the same words earlier in the message are the user's.
    by_digest: dict[str, list[int]] = {}
    for index, block in enumerate(blocks):
        if block.kind == "text" and block.mark is None:
            by_digest.setdefault(text_digest(block.text), []).append(index)
    for mark in unclaimed:
        if places := by_digest.get(mark.digest):
            index = places.pop()
            blocks[index] = msgspec.structs.replace(blocks[index], mark=mark)
    return blocks


def _block(part: Any, dialect: Dialect) -> Block:  # noqa: ANN401
    kind = dialects.block_kind(part, dialect)
    if kind != "text":
        return Block(kind, part)
    if isinstance(part, str):
        return Block("text", part, part)
    return Block("text", part, part["text"], block_mark(part) if "metadata" in part else None)


def _string_blocks(content: str, marks: list[Mark]) -> list[Block]:
    """A string content cut where its marks say, each cut checked against the mark's digest."""
    if not marks:
        return [Block("text", None, content)] if content else []
    spans = sorted(_spans(content, marks), key=lambda span: span[0])
    blocks: list[Block] = []
    at = 0
    for start, mark in spans:
        if start < at:  # two marks claim one stretch: the first one has it
            continue
        if start > at:
            blocks.append(Block("text", None, content[at:start], None, at))
        at = start + mark.chars
        blocks.append(Block("text", None, content[start:at], mark, start))
    if at < len(content):
        blocks.append(Block("text", None, content[at:], None, at))
    return blocks


def _spans(content: str, marks: list[Mark]) -> Iterator[tuple[int, Mark]]:
    """Where marks' texts stand: where they were written, or at the end if the words before were edited.

    Texts that were written do not overlap: marks that claim more than the content holds are not all looked
    for.
    """
    digests: dict[tuple[int, int], str] = {}
    room = MOST_CLAIMS * len(content)
    for mark in marks:
        for start in (mark.start, len(content) - mark.chars):
            if not mark.chars or start < 0 or start + mark.chars > len(content):
                continue
            if (start, mark.chars) not in digests:
                room -= mark.chars
                if room < 0:
                    return
                digests[start, mark.chars] = text_digest(content[start : start + mark.chars])
            if digests[start, mark.chars] == mark.digest:
                yield start, mark
                break
