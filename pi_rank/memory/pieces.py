"""A memory file in pieces of whole lines, most of which stay what they are when a line changes.

A sync decodes only pieces that the last one did not see in that file, so that one new line among a hundred
thousand costs little more than reading the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import msgspec

from pi_rank._core.pieces import piece_ends
from pi_rank.errors import RecordError
from pi_rank.memory.records import Layer, MemoryRecord, decode_record

# A piece is decoded again as a whole, and costs some microseconds even when it is not.
LINES_PER_PIECE = 64  # on average


class Piece(NamedTuple):
    """Lines that follow one another in a file, and SHA-256 over them."""

    digest: bytes
    text: memoryview

    def lines(self) -> list[bytes]:
        """The lines without their ends."""
        return bytes(self.text).removesuffix(b"\n").split(b"\n")


class PieceContent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What decoding a piece gave.

    `ids` has an entry for each line, None where it holds no record; `skipped` are the lines that are not
    blank and not usable, by their place in the piece, and why.
    """

    ids: list[str | None]
    skipped: list[tuple[int, str]]


def cut(data: bytes) -> Iterator[Piece]:
    """A file's pieces in order.

    A line that ends a piece does so by what is in it alone. So a line that comes or goes changes a piece or
    two, and the others stay what they are, wherever in the file that is then.
    """
    view = memoryview(data)
    for start, end in pairwise([0, *piece_ends(data, LINES_PER_PIECE)]):
        text = view[start:end]
        yield Piece(hashlib.sha256(text).digest(), text)


def decode_piece(
    lines: Iterable[bytes], layer: Layer, project: str | None
) -> tuple[PieceContent, list[MemoryRecord | None]]:
    """What a piece of a file of that layer, and project, holds; and the record of each of its lines."""
    records: list[MemoryRecord | None] = []
    skipped = []
    for place, line in enumerate(lines):
        record = None
        stripped = line.strip()
        if stripped:
            try:
                record = decode_record(stripped, layer=layer, project=project)
            except RecordError as error:
                skipped.append((place, str(error)))
        records.append(record)
    return PieceContent([None if record is None else record.id for record in records], skipped), records
