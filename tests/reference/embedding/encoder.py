"""The int8 BERT encoder in numpy, to the bit: what ext/encoder computes, operation by operation."""

from __future__ import annotations

import struct

import numpy as np

F = np.float32
LANES = 64  # of a sum over a row; folded in halves
BLOCK = 16  # lanes of a sum over keys
# x (Phi(x) - 1/2) as a polynomial in 2 (x / 4.5)^2 - 1, |x| <= 4.5.
GELU_REACH = F(4.5)
GELU_SCALE = F(float.fromhex("0x1.948b1p-4"))
GELU = [
    F(float.fromhex(value))
    for value in (
        *("0x1.4155e6p-3", "-0x1.3c18aap-4", "0x1.c112dep-5", "-0x1.4c3b9cp-5", "0x1.c4ae2p-6"),
        *("-0x1.12559ap-6", "0x1.900c76p-7", "-0x1.31ad76p-7", "0x1.b79356p-9"),
    )
]
EXP = [F(1) / F(value) for value in (720, 120, 24, 6, 2, 1)]  # Taylor, |x| <= ln(2) / 2


class Encoder:
    """Reads an encoder file; `encode(ids)` is the unit vector of one text's tokens."""

    def __init__(self, content: bytes) -> None:
        magic, *counts, epsilon = struct.unpack("<8s7If", content[:40])
        assert magic == b"PIRKENC1"
        self.layers, self.width, self.heads, self.inner, self.vocabulary, self.positions, strings = counts
        self.epsilon = F(epsilon)
        self._content, self._at = content, 64
        width = self.width
        self.tokens = self._take("i1", self.vocabulary, width)
        self.scales = self._take("<f4", self.vocabulary)
        self.rows = self._take("<f4", self.positions, width)
        self.norms = [self._norm()]
        self.products = []
        for _ in range(self.layers):
            self.products.append(self._product(3 * width, width))
            self.products.append(self._product(width, width))
            self.norms.append(self._norm())
            self.products.append(self._product(self.inner, width))
            self.products.append(self._product(width, self.inner))
            self.norms.append(self._norm())
        self.strings = bytes(self._take("u1", strings)).decode().split("\n")
        assert self._at == len(content)

    def _take(self, kind, *shape):
        kind = np.dtype(kind)
        size = int(np.prod(shape)) * kind.itemsize
        values = np.frombuffer(self._content, kind, int(np.prod(shape)), self._at).reshape(shape)
        self._at += size + -size % 64
        return values

    def _norm(self):
        return self._take("<f4", self.width), self._take("<f4", self.width)

    def _product(self, out, into):
        factor = self._take("<f4", into)
        lines = self._take("i1", out // 64, into // 4, 64, 4)
        weights = lines.transpose(0, 2, 1, 3).reshape(out, into).astype(np.int32)
        scale, sums, bias = self._take("<f4", out), self._take("<i4", out), self._take("<f4", out)
        assert (weights.sum(axis=1) == sums).all()
        return factor, weights, scale, sums, bias

    def encode(self, ids):
        """float32[width] of unit length."""
        hidden = self.hidden(ids)
        total = np.zeros(self.width, F)
        for row in hidden:
            total = total + row
        return total * (F(1) / np.sqrt(fold(total * total)))

    def hidden(self, ids):
        """The last hidden state, float32[tokens, width]."""
        ids = np.asarray(ids)
        hidden = self.tokens[ids].astype(F) * self.scales[ids, None] + self.rows[: len(ids)]
        hidden = norm(hidden, self.norms[0], self.epsilon)
        for layer in range(self.layers):
            qkv, mix, widen, narrow = self.products[4 * layer : 4 * layer + 4]
            attended = attention(product(hidden, qkv), self.heads)
            hidden = norm(product(attended, mix) + hidden, self.norms[2 * layer + 1], self.epsilon)
            active = gelu(product(hidden, widen))
            hidden = norm(product(active, narrow) + hidden, self.norms[2 * layer + 2], self.epsilon)
        return hidden


def fold(rows):
    """Sums of rows [..., a multiple of 64] in 64 lanes, which are then added up in halves."""
    lanes = rows.reshape(*rows.shape[:-1], -1, LANES)
    total = np.zeros_like(lanes[..., 0, :])
    for index in range(lanes.shape[-2]):
        total = total + lanes[..., index, :]
    return halves(total)


def halves(lanes):
    while lanes.shape[-1] > 1:
        half = lanes.shape[-1] // 2
        lanes = lanes[..., :half] + lanes[..., half:]
    return lanes[..., 0]


def norm(rows, weights, epsilon):
    scale, bias = weights
    share = F(1) / F(rows.shape[-1])
    centred = rows - (fold(rows) * share)[:, None]
    spread = F(1) / np.sqrt(fold(centred * centred) * share + epsilon)
    return centred * spread[:, None] * scale + bias


def quantised(rows):
    """uint8 rows with the scale and the zero point of each: value = scale * (row - zero)."""
    low, high = np.minimum(rows.min(axis=1), F(0)), np.maximum(rows.max(axis=1), F(0))
    scale = (high - low) * (F(1) / F(255))
    scale = np.where(scale > F(1e-30), scale, F(1e-30))
    inverse = F(1) / scale
    zero = np.rint(-low * inverse)
    codes = np.clip(np.rint(rows * inverse[:, None] + zero[:, None]), 0, 255)
    return codes.astype(np.int32), scale, zero.astype(np.int32)


def product(rows, weights):
    factor, matrix, scale, sums, bias = weights
    codes, row_scale, zero = quantised(rows * factor)
    exact = codes @ matrix.T - zero[:, None] * sums
    return exact.astype(F) * (row_scale[:, None] * scale) + bias


def exp(x):
    """e^x for x <= 0, float32."""
    x = np.maximum(x, F(-87))
    n = np.rint(x * F(1.44269504))
    r = x - n * F(0.693359375) - n * F(-2.12194440e-4)
    p = EXP[0]
    for coefficient in EXP[1:]:
        p = p * r + coefficient
    p = p * r + F(1)
    return p * ((n.astype(np.int32) + 127) << 23).view(F)


def gelu(x):
    """x Phi(x), with the error function as erf is exact in BERT's."""
    near = np.minimum(np.maximum(x, -GELU_REACH), GELU_REACH)
    t = near * near * GELU_SCALE - F(1)
    p = GELU[-1]
    for coefficient in GELU[-2::-1]:
        p = p * t + coefficient
    return x * (p * near + F(0.5))


def attention(qkv, heads):
    count, width = len(qkv), qkv.shape[1] // 3
    size = width // heads
    share = F(1) / np.sqrt(F(size))
    mixed = np.empty((count, width), F)
    for head in range(heads):
        query, key, value = (qkv[:, part * width + head * size :][:, :size] for part in range(3))
        scores = np.zeros((count, count), F)
        query = query * share
        for d in range(size):
            scores = scores + query[:, d, None] * key[None, :, d]
        weights = exp(scores - scores.max(axis=1, keepdims=True))
        padded = np.zeros((count, -(-count // BLOCK) * BLOCK), F)
        padded[:, :count] = weights
        total = np.zeros((count, BLOCK), F)
        for start in range(0, padded.shape[1], BLOCK):
            total = total + padded[:, start : start + BLOCK]
        context = np.zeros((count, size), F)
        for j in range(count):
            context = context + weights[:, j, None] * value[None, j]
        mixed[:, head * size : (head + 1) * size] = context * (F(1) / halves(total))[:, None]
    return mixed
