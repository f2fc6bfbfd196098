"""How large each input channel of a BERT's matrix products gets: a plain float64 forward pass over sentences.

A few channels of a BERT are many times larger than the rest, and an int8 scale that covers them leaves the
rest few steps. Dividing a channel by a constant and multiplying its weights by the same constant changes
nothing in exact arithmetic and evens them out (SmoothQuant, Xiao et al. 2023, equation 4). The constants are
rounded to a quarter of a power of two, so that the file does not depend on the last bits of somebody's BLAS.
Cosine to float over 100 queries at 7 bits: 0.9929 (worst 0.9875) without, 0.9970 (worst 0.9949) with.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Weights = Mapping[str, np.ndarray]

# Worst cosine to float of 100 queries at 0.6, 0.65, 0.7, 0.75, 0.8: 0.9930, 0.9939, 0.9947, 0.9944, 0.9908.
STRENGTH = 0.7
STEPS_PER_OCTAVE = 4
SENTENCES = (
    "The user prefers tabs over spaces in the parser code.",
    "How do I restart the billing service after a deploy?",
    "Never push to main without a review.",
    "Dana said the staging database moved to another region on Tuesday.",
    "effects of shock waves on laminar boundary layers",
    "what is the refund policy for annual plans?",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str' in load_config()",
    "Maria: we adopted a second dog last weekend, he is called Biscuit!",
    "pnpm-lock.yaml must be committed; the CI job fails with --frozen-lockfile otherwise",
    "hi",
    "ok",
    "yes, do it",
    "???",
    "...",
    "https://docs.python.org/3/library/os.html#os.path",
    "今日は天気がいいですね",
    "مرحبا بالعالم",
    "Grüße aus München, naïve façade",
    "0 1 2 3 42 99 1000",
    "aaaa bbbb aaaa bbbb",
    "SELECT * FROM t WHERE a = 'b';",
    '{"key": [1, 2, 3], "other": null}',
)

_erf = np.vectorize(math.erf, otypes=[np.float64])


def peaks(
    weights: Weights, sentences: Iterable[Sequence[int]], *, layers: int, heads: int, epsilon: float
) -> Weights:
    """Largest absolute value per input channel, by the product that reads it (".qkv" for all three)."""
    seen: dict[str, np.ndarray] = {}

    def product(name: str, source: str, value: np.ndarray) -> np.ndarray:
        peak = np.abs(value).max(axis=0)
        seen[source] = np.maximum(seen.get(source, peak), peak)
        return value @ weights[f"{name}.weight"].T.astype(np.float64) + weights[f"{name}.bias"]

    def norm(value: np.ndarray, name: str) -> np.ndarray:
        centred = value - value.mean(-1, keepdims=True)
        spread = np.sqrt(value.var(-1, keepdims=True) + epsilon)
        return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attend(hidden: np.ndarray, prefix: str) -> np.ndarray:
        query, key, value = (
            product(f"{prefix}.attention.self.{part}", f"{prefix}.qkv", hidden)
            .reshape(len(hidden), heads, -1)
            .transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        return mixed.transpose(1, 0, 2).reshape(len(hidden), -1)

    for tokens in sentences:
        table = weights["embeddings.word_embeddings.weight"][list(tokens)].astype(np.float64)
        table += weights["embeddings.position_embeddings.weight"][: len(tokens)]
        hidden = norm(table + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for index in range(layers):
            prefix = f"encoder.layer.{index}"
            names = [
                f"{prefix}.{part}"
                for part in ("attention.output.dense", "intermediate.dense", "output.dense")
            ]
            hidden = norm(
                hidden + product(names[0], names[0], attend(hidden, prefix)),
                f"{prefix}.attention.output.LayerNorm",
            )
            wide = product(names[1], names[1], hidden)
            active = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
            hidden = norm(hidden + product(names[2], names[2], active), f"{prefix}.output.LayerNorm")
    return seen


def divisors(peak: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Divisor per input channel of `matrix` [out, in], for inputs that reach `peak` [in]; float32 [in]."""
    balance = np.log2(peak) * STRENGTH - np.log2(np.abs(matrix).max(axis=0)) * (1 - STRENGTH)
    return np.exp2(np.rint((balance - balance.mean()) * STEPS_PER_OCTAVE) / STEPS_PER_OCTAVE).astype(
        np.float32
    )
