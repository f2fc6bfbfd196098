"""Writes a BERT encoder as the one file that the compiled core maps (ext/encoder/model.hpp reads it).

Quantisation: each output channel of a weight matrix, and each row of the token table, has its own scale (one
scale for a whole matrix costs 4 points of cosine to float). Activations get a scale and a zero point per
token while the encoder runs; where their channels differ much in size, divisors even them out first.

The file is little-endian. A header of 64 bytes: "PIRKENC1", then uint32 layers, width, heads, inner width,
vocabulary, positions, bytes of the token strings, then float32 epsilon of the layer norms, then zeros.
Sections follow, each from a multiple of 64 bytes on, in the order in which `EncoderFile` writes them. A
matrix [out, in] lies as int8[out / 64, in / 4, 64, 4]: a line of 64 bytes holds four inputs of sixteen
outputs, which is what one instruction of a kernel reads, and a pass over the inputs reads line after line.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.generic]
    Floats = NDArray[np.float32]
    Weights = Mapping[str, Floats]
    Divisors = Callable[[str, Floats], Floats]

MAGIC = b"PIRKENC1"
ALIGNMENT = 64
ROWS_AT_ONCE = 8192
LIMIT = 127  # largest int8 of a weight; -128 is never used


def quantise(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Symmetric int8 of a float matrix [rows, columns]: (values, float32 scales [rows])."""
    values, scales = np.empty(matrix.shape, np.int8), np.empty(len(matrix), np.float32)
    for first in range(0, len(matrix), ROWS_AT_ONCE):  # a vocabulary of 250,000 would fill a gigabyte else
        part = slice(first, first + ROWS_AT_ONCE)
        peak = np.abs(matrix[part]).max(axis=1)
        scales[part] = np.where(peak > 0, peak / LIMIT, 1)
        np.rint(matrix[part] / scales[part, None], out=values[part], casting="unsafe")
    return values, scales


def lines(matrix: NDArray[np.int8]) -> NDArray[np.int8]:
    """int8 [out, in] as int8 [out / 64, in / 4, 64, 4]."""
    out, into = matrix.shape
    return np.ascontiguousarray(matrix.reshape(out // 64, 64, into // 4, 4).transpose(0, 2, 1, 3))


def uneven(_: str, matrix: Floats) -> Floats:
    """No divisors: channels stay as they are."""
    return np.ones(matrix.shape[1], np.float32)


class EncoderFile:
    """Collects the sections of one encoder; `content()` returns the finished file.

    :param weights: a BERT's by name, float32: a matrix is [out, in].
    :param divisors: of the input channels of a matrix, float32[in], by the product that reads them (".qkv"
        for all three).
    """

    def __init__(
        self, weights: Weights, divisors: Divisors = uneven, *, layers: int, heads: int, epsilon: float
    ) -> None:
        self.weights, self.divisors = weights, divisors
        self.layers, self.heads, self.epsilon = layers, heads, epsilon
        self.sections: list[bytes] = []

    def add(self, values: Array) -> None:
        kind = np.dtype("<f4") if values.dtype.kind == "f" else values.dtype.newbyteorder("<")
        data = np.ascontiguousarray(values, kind).tobytes()
        self.sections.append(data + bytes(-len(data) % ALIGNMENT))

    def embeddings(self) -> None:
        """Token rows, their scales, and the positions, into which the only segment is folded."""
        values, scales = quantise(self.weights["embeddings.word_embeddings.weight"])
        segment = self.weights["embeddings.token_type_embeddings.weight"][0]
        self.add(values)
        self.add(scales)
        self.add(self.weights["embeddings.position_embeddings.weight"] + segment)
        self.norm("embeddings.LayerNorm")

    def norm(self, name: str) -> None:
        self.add(self.weights[f"{name}.weight"])
        self.add(self.weights[f"{name}.bias"])

    def product(self, inputs: str, *names: str) -> None:
        """Factors of the inputs, int8 weights, scales and sums of the outputs, bias; parts side by side."""
        matrix = np.concatenate([self.weights[f"{name}.weight"] for name in names])
        divisor = self.divisors(inputs, matrix)
        values, scales = quantise(matrix * divisor)
        self.add(1 / divisor)
        self.add(lines(values))
        self.add(scales)
        self.add(values.sum(axis=1, dtype=np.int32))
        self.add(np.concatenate([self.weights[f"{name}.bias"] for name in names]))

    def layer(self, prefix: str) -> None:
        parts = (f"{prefix}.attention.self.{part}" for part in ("query", "key", "value"))
        self.product(f"{prefix}.qkv", *parts)
        self.product(f"{prefix}.attention.output.dense", f"{prefix}.attention.output.dense")
        self.norm(f"{prefix}.attention.output.LayerNorm")
        self.product(f"{prefix}.intermediate.dense", f"{prefix}.intermediate.dense")
        self.product(f"{prefix}.output.dense", f"{prefix}.output.dense")
        self.norm(f"{prefix}.output.LayerNorm")

    def content(self, strings: bytes = b"") -> bytes:
        """The file, with the tokens' strings, a line each, or none where another tokenizer is needed."""
        self.sections = []
        self.embeddings()
        for index in range(self.layers):
            self.layer(f"encoder.layer.{index}")
        self.add(np.frombuffer(strings, np.uint8))
        vocabulary, width = self.weights["embeddings.word_embeddings.weight"].shape
        inner = self.weights["encoder.layer.0.intermediate.dense.weight"].shape[0]
        positions = self.weights["embeddings.position_embeddings.weight"].shape[0]
        counts = (self.layers, width, self.heads, inner, vocabulary, positions, len(strings))
        header = struct.pack("<8s7If", MAGIC, *counts, self.epsilon)
        return b"".join([header.ljust(ALIGNMENT, b"\0"), *self.sections])
