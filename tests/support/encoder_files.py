"""Encoder files of random weights, for tests that need one of any shape and any contents."""

from __future__ import annotations

import numpy as np

from models.calibrate import divisors
from pi_rank.embedding.making.encoder_file import EncoderFile

PARTS = (
    *(f"attention.self.{part}" for part in ("query", "key", "value")),
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)


def random_weights(layers=2, width=64, inner=128, vocabulary=50, positions=40, seed=0):
    """Float32 weights of a BERT by name, a few channels larger than the rest, as real ones have them."""
    draw = np.random.default_rng(seed)

    def normal(*shape, scale=1.0):
        return (draw.standard_normal(shape) * scale).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": normal(vocabulary, width),
        "embeddings.position_embeddings.weight": normal(positions, width, scale=0.3),
        "embeddings.token_type_embeddings.weight": normal(2, width, scale=0.1),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}"
        for part in PARTS:
            out = inner if part == "intermediate.dense" else width
            into = inner if part == "output.dense" else width
            weights[f"{prefix}.{part}.weight"] = normal(out, into, scale=into**-0.5)
            weights[f"{prefix}.{part}.bias"] = normal(out, scale=0.1)
        norms += [f"{prefix}.attention.output.LayerNorm", f"{prefix}.output.LayerNorm"]
    for name in norms:
        weights[f"{name}.weight"] = 1 + normal(width, scale=0.2)
        weights[f"{name}.weight"][:2] *= 6
        weights[f"{name}.bias"] = normal(width, scale=0.2)
    return weights


def random_file(heads=2, strings=b"", seed=0, **shape):
    """The bytes of an encoder file; `shape` as in `random_weights`."""
    weights = random_weights(seed=seed, **shape)
    layers = sum(name.endswith("intermediate.dense.bias") for name in weights)
    draw = np.random.default_rng(seed)
    peaks = {}
    for layer in range(layers):
        for part in ("qkv", *PARTS[3:]):
            source = PARTS[0] if part == "qkv" else part
            into = weights[f"encoder.layer.{layer}.{source}.weight"].shape[1]
            peaks[f"encoder.layer.{layer}.{part}"] = draw.uniform(0.5, 8, into)
    file = EncoderFile(
        weights,
        lambda inputs, matrix: divisors(peaks[inputs], matrix),
        layers=layers,
        heads=heads,
        epsilon=1e-12,
    )
    return file.content(strings)
