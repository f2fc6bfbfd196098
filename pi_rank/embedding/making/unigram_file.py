"""Writes a unigram vocabulary as the one file that the compiled core reads (ext/unigram/unigram.hpp).

The file is little-endian. A header of 32 bytes: "PIRKUNI1", then uint32 pieces, bytes of their strings, ids
of the marks before and after a text, id of an unknown character, and zeros. Then, of all pieces in the order
of their bytes: float32 scores (logarithms of probability), int32 ids, uint32 places of the strings (one more
than pieces), and the strings. The marks are no pieces: a text that spells one is a text.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"PIRKUNI1"
HEADER = 32
SPACE = "▁"  # what SentencePiece writes before a word, U+2581
# What SentencePiece's rule nmt_nfkc does besides NFKC, by code point: control characters go, and what looks
# like nothing is a space. https://github.com/google/sentencepiece/blob/master/doc/normalization.md
CONTROLS = (*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)
SPACES = (0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD)


class Marks(NamedTuple):
    """Ids of what is put before and after a text, and of a character that no piece has."""

    first: int
    last: int
    unknown: int


def unigram_file(scores: Mapping[str, float], ids: Mapping[str, int], marks: Marks) -> bytes:
    """The file of a vocabulary: logarithms of probability and ids by piece."""
    pieces = sorted(scores, key=str.encode)
    strings = [piece.encode() for piece in pieces]
    header = struct.pack("<8s5I", MAGIC, len(pieces), sum(map(len, strings)), *marks)
    return b"".join(
        [
            header.ljust(HEADER, b"\0"),
            np.array([scores[piece] for piece in pieces], "<f4").tobytes(),
            np.array([ids[piece] for piece in pieces], "<i4").tobytes(),
            np.cumsum([0, *map(len, strings)]).astype("<u4").tobytes(),
            *strings,
        ]
    )


def tokenizers_file(content: bytes) -> bytes:
    """A tokenizers file that cuts texts as the compiled core does with a unigram file."""
    count, _, *ids = struct.unpack_from("<5I", content, len(MAGIC))
    marks = Marks(*ids)
    scores = np.frombuffer(content, "<f4", count, HEADER).tolist()
    numbers = np.frombuffer(content, "<i4", count, HEADER + 4 * count).tolist()
    places = np.frombuffer(content, "<u4", count + 1, HEADER + 8 * count)
    text = content[HEADER + 12 * count + 4 :]
    lowest = min(scores)
    vocabulary: list[list[object]] = [[f"<{id}>", lowest] for id in range(max(*numbers, *marks) + 1)]
    for piece, id in enumerate(numbers):
        vocabulary[id] = [text[places[piece] : places[piece + 1]].decode(), scores[piece]]
    names = {id: f"<{id}>" for id in marks}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    first, last = ({"SpecialToken": {"id": names[mark], "type_id": 0}} for mark in (marks.first, marks.last))
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [{"id": id, "content": name, **flags} for id, name in sorted(names.items())],
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    _replaced(_any_of(CONTROLS), ""),
                    _replaced(_any_of(SPACES), " "),
                    {"type": "NFKC"},
                    {"type": "Strip", "strip_left": True, "strip_right": True},
                    _replaced(" {2,}", " "),
                ],
            },
            "pre_tokenizer": {
                "type": "Metaspace",
                "replacement": SPACE,
                "prepend_scheme": "always",
                "split": True,
            },
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [first, {"Sequence": {"id": "A", "type_id": 0}}, last],
                "pair": [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"],
                "special_tokens": {
                    names[mark]: {"id": names[mark], "ids": [mark], "tokens": [names[mark]]}
                    for mark in (marks.first, marks.last)
                },
            },
            "decoder": {
                "type": "Metaspace",
                "replacement": SPACE,
                "prepend_scheme": "always",
                "split": True,
            },
            "model": {
                "type": "Unigram",
                "unk_id": marks.unknown,
                "vocab": vocabulary,
                "byte_fallback": False,
            },
        },
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode()


def _any_of(code_points: tuple[int, ...]) -> str:
    return "[" + "".join(f"\\x{{{code:04X}}}" for code in code_points) + "]"


def _replaced(pattern: str, by: str) -> dict[str, object]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": by}
