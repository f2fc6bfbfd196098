"""A provider-neutral view of a conversation, laid over the message dicts that the caller already has.

Nothing is converted: a `Message` is a window on one dict of Strands/Bedrock, Anthropic, OpenAI Chat or OpenAI
Responses shape, and `Message.raw` is that dict. Loading and dumping is therefore byte-identical, unknown keys
and unknown blocks included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from pi_rank.injection.history import dialects
from pi_rank.injection.history.dialects import BlockKind, Dialect
from pi_rank.injection.history.find import Place, is_whole, locate
from pi_rank.injection.history.marks import Mark, read_mark, text_digest
from pi_rank.injection.history.objects import as_plain, kind_of

RawMessage = dict[str, Any]
Role = Literal["user", "assistant", "tool", "system", "other"]


class Block(msgspec.Struct, frozen=True):
    """One content block. `raw` is the caller's own dict, or None for a piece of a string content.

    `text` is the text of a text block, "" otherwise; `mark` tells an injected block from the user's words,
    and
    `intact` whether all of its text is there. A text that holds both is several blocks of one `raw`, `start`
    being the offset of each.
    """

    kind: BlockKind
    raw: Any
    text: str = ""
    mark: Mark | None = None
    start: int = 0
    intact: bool = True

    @property
    def whole(self) -> bool:
        """Whether the block is all of its `raw`, and no piece of it."""
        text = self.raw.get("text") if isinstance(self.raw, dict) else self.raw
        return self.kind != "text" or self.text == text


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
    """The conversation as views, its dialect found by looking at it unless it is given.

    :raises TypeError: it holds objects of a framework whose adapter is not imported.
    """
    kind = kind_of(messages)
    if kind is not None:
        return [Message(kind.view(message), kind.dialect) for message in messages]
    found = dialect or dialects.detect(messages)
    return [Message(as_plain(raw), found) for raw in messages]


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
    elif isinstance(content, str) and content:
        whole = Block("text", None, content)
        blocks = _pieces(whole, locate([content], marks)[0]) if marks else [whole]
    else:
        blocks = []
    if "tool_calls" in raw or "role" not in raw:
        blocks += [Block(kind, part) for kind, part in dialects.outside_content(raw)]
    return blocks


def _listed_blocks(content: list[Any], dialect: Dialect, marks: list[Mark]) -> list[Block]:
    blocks = [_block(as_plain(part), dialect) for part in content]
    claimed = {block.mark.id for block in blocks if block.mark is not None}
    cut = any(block.mark is not None and not block.intact for block in blocks)
    unclaimed = [mark for mark in marks if mark.id not in claimed]
    if not unclaimed and not cut:
        return blocks
    free = [index for index, block in enumerate(blocks) if block.kind == "text" and block.mark is None]
    found = dict(zip(free, locate([blocks[index].text for index in free], unclaimed), strict=True))
    return [piece for index, block in enumerate(blocks) for piece in _placed(block, found.get(index))]


def _placed(block: Block, places: list[Place] | None) -> list[Block]:
    """A block as the pieces of it that marks claim. One whose own mark holds a part of it only is cut too."""
    if block.mark is not None and not block.intact and block.mark.ends:
        places = locate([block.text], [block.mark])[0]
        block = msgspec.structs.replace(block, mark=None, intact=True)
    return _pieces(block, places) if places else [block]


def _block(part: Any, dialect: Dialect) -> Block:  # noqa: ANN401
    kind = dialects.block_kind(part, dialect)
    if kind != "text":
        return Block(kind, part)
    if isinstance(part, str):
        return Block("text", part, part)
    text = part["text"]
    mark = block_mark(part) if "metadata" in part else None
    whole = mark is None or (text_digest(text) == mark.digest and is_whole(text, mark))
    return Block("text", part, text, mark, 0, whole)


def _pieces(block: Block, places: list[Place]) -> list[Block]:
    """A text cut where marks claim a stretch of it."""
    pieces: list[Block] = []
    at = 0
    for start, end, mark, intact in places:
        if start > at:
            pieces.append(Block("text", block.raw, block.text[at:start], None, at))
        pieces.append(Block("text", block.raw, block.text[start:end], mark, start, intact))
        at = end
    if at < len(block.text):
        pieces.append(Block("text", block.raw, block.text[at:], None, at))
    return pieces
