"""A BERT's forward pass over one text in float64, from its float weights; vectors are means over tokens."""

from __future__ import annotations

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def encode(weights, ids, *, layers, heads, epsilon=1e-12):
    """float64[width] of unit length."""

    def linear(name, rows):
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, rows):
        centred = rows - rows.mean(-1, keepdims=True)
        return (
            centred / np.sqrt(rows.var(-1, keepdims=True) + epsilon) * weights[f"{name}.weight"]
            + weights[f"{name}.bias"]
        )

    hidden = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    hidden += weights["embeddings.position_embeddings.weight"][: len(ids)]
    hidden = norm("embeddings.LayerNorm", hidden + weights["embeddings.token_type_embeddings.weight"][0])
    for index in range(layers):
        layer = f"encoder.layer.{index}"
        query, key, value = (
            linear(f"{layer}.attention.self.{part}", hidden).reshape(len(ids), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        mixed = linear(f"{layer}.attention.output.dense", mixed.transpose(1, 0, 2).reshape(len(ids), -1))
        hidden = norm(f"{layer}.attention.output.LayerNorm", hidden + mixed)
        wide = linear(f"{layer}.intermediate.dense", hidden)
        active = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
        hidden = norm(f"{layer}.output.LayerNorm", hidden + linear(f"{layer}.output.dense", active))
    mean = hidden.mean(axis=0)
    return mean / np.linalg.norm(mean)
