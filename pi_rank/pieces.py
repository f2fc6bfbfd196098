"""A memory file in pieces of whole lines, most of which stay what they are when a line changes.

A sync decodes only pieces that the last one did not see in that file, so that one new line among a hundred
thousand costs little more than reading the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

import msgspec

from pi_rank.errors import RecordError
from pi_rank.records import Layer, MemoryRecord, decode_record

# A piece is decoded again as a whole, and costs some microseconds even when it is not.
LINES_PER_PIECE = 64  # on average


class Piece(NamedTuple):
    """Lines that follow one another, without their ends, and SHA-256 over them."""

    digest: bytes
    lines: list[bytes]


class PieceContent(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What decoding a piece gave.

    `ids` has an entry for each line, None where it holds no record; `skipped` are the lines that are not
    blank and not usable, by their place in the piece, and why.
    """

    ids: list[str | None]
    skipped: list[tuple[int, str]]


def cut(data: bytes) -> list[Piece]:
    """A file's pieces in order.

    A piece ends with a line that its own checksum chooses. So it does not depend on what comes before, and a
    line that comes or goes changes one piece, or two.
    """
    if not data:
        return []
    lines = data.split(b"\n")
    ends = [number for number, checksum in enumerate(map(crc32, lines), 1) if not checksum % LINES_PER_PIECE]
    if not ends or ends[-1] != len(lines):
        ends.append(len(lines))
    return [_piece(lines[start:end]) for start, end in pairwise([0, *ends])]


def decode_piece(
    lines: Sequence[bytes], layer: Layer, project: str | None
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


def _piece(lines: list[bytes]) -> Piece:
    return Piece(hashlib.sha256(b"\n".join(lines)).digest(), lines)
