"""Writes tests/embedding/tiny/: a real encoder file of 64 words whose hidden state is all but a table's row.

`python -m tests.embedding.make_tiny`. Its mean-pooled vector of a text is the mean of the rows, because the
matrices are next to nothing and the marks' rows are zero.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from models.calibrate import divisors
from pi_rank._core.encoder import checksum
from pi_rank.embedding.making.encoder_file import EncoderFile
from tests.support.encoder_files import random_weights

FOLDER = Path(__file__).parent / "tiny"
DIMENSION, RANK = 64, 16
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [f"word{number}" for number in range(64)]


def rows(count):
    """Of RANK dimensions, with a mean of zero, as a layer norm leaves them; those of the marks are zero."""
    draw = np.random.default_rng(0)
    basis = draw.standard_normal((DIMENSION, RANK))
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0]
    table = draw.standard_normal((count, RANK)) @ basis.T
    table[: len(MARKS)] = 0
    return table


def main():
    tokens = [*MARKS, *WORDS]
    weights = random_weights(layers=1, width=DIMENSION, inner=DIMENSION, vocabulary=len(tokens), positions=64)
    for name, value in weights.items():
        if "LayerNorm" in name:
            value[...] = name.endswith("weight")
        elif "word_embeddings" in name:
            value[...] = rows(len(tokens))
        else:
            value *= 1e-6
    parts = ("qkv", "attention.output.dense", "intermediate.dense", "output.dense")
    peaks = {f"encoder.layer.0.{part}": np.ones(DIMENSION) for part in parts}
    file = EncoderFile(
        weights, lambda inputs, matrix: divisors(peaks[inputs], matrix), layers=1, heads=2, epsilon=1e-12
    )
    content = file.content("\n".join(tokens).encode())
    files = {"encoder.bin": content, "LICENSE": b"The project's own licence.\n"}
    FOLDER.mkdir(exist_ok=True)
    for name, data in files.items():
        (FOLDER / name).write_bytes(data)
    digests = "".join(f'"{name}" = "{hashlib.sha256(data).hexdigest()}"\n' for name, data in files.items())
    card = f"""runtime = "bert-int8"
id = "tiny"
summary = "a table of 64 words, for tests"
source = "tests/embedding/make_tiny.py"
licence = "Apache-2.0"
directory = "tiny"
dimension = {DIMENSION}
max_tokens = 64
head_tokens = 32
checksum = "{checksum(content)}"

[files]
{digests}"""
    FOLDER.with_suffix(".toml").write_text(card, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
