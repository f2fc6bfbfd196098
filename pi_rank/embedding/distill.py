"""Distils a transformer into a table of token vectors whose mean comes near its vector of the whole text.

1. Start: the teacher's vector of each token alone, centred, projected onto the first principal components of
   its vectors of the corpus, and weighted by a/(a + p), p the share of passages with the token: the smooth
   inverse frequency of Arora, Liang and Ma (2017), as model2vec starts.
2. Train on the corpus: maximise the cosine between the mean of a passage's token vectors and the teacher's
   vector of it, centred and projected likewise, by AdaGrad with one step size a token (Duchi, Hazan and
   Singer, 2011).
3. Round each token's vector to int8 with a scale of its own.

numpy only; the same corpus, teacher and seed give the same table on the same machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pi_rank.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pi_rank.embedding.encoder import EncoderEmbedder
    from pi_rank.embedding.onnx import OnnxEmbedder

    Teacher = EncoderEmbedder | OnnxEmbedder
    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

SMOOTHING = 3e-3  # a of a/(a + p)
EPOCHS = 6
STEP = 0.02  # of the mean vector's length; falls linearly to 0
PASSAGES_PER_STEP = 512
HELD_OUT = 0.02  # share of passages that are only measured on
PCA_PASSAGES = 20_000
MIN_WORDS, MAX_CHARACTERS = 4, 1_200  # of a passage
MIN_PASSAGES = 1_000


@dataclass(frozen=True)
class Distilled:
    """What `distill` made. `cosine`: mean cosine to the teacher's projected vectors on passages held out."""

    rows: NDArray[np.int8]
    scales: Floats
    cosine: float
    passages: int


@dataclass(frozen=True)
class _Passages:
    """Token ids of passages, one after the other; passage i is `ids[starts[i] : starts[i] + lengths[i]]`."""

    ids: Ints
    starts: Ints
    lengths: Ints


def read_passages(folder: Path) -> list[str]:
    """The paragraphs of all .txt and .md files below a folder, each once, in the order of the files' names.

    Those of fewer than MIN_WORDS words are left out, the others cut at MAX_CHARACTERS.
    """
    found: dict[str, None] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".txt", ".md")):
        for paragraph in re.split(r"\n\s*\n", path.read_text(encoding="utf-8", errors="replace")):
            words = paragraph.split()
            if len(words) >= MIN_WORDS:
                found.setdefault(" ".join(words)[:MAX_CHARACTERS])
    return list(found)


def distill(
    teacher: Teacher,
    passages: Sequence[str],
    *,
    dimension: int,
    seed: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> Distilled:
    """A table for `StaticEmbedder` with the teacher's tokenizer.

    :param progress: called with (what is being done, how far, of how much).
    :raises ModelError: there are fewer than MIN_PASSAGES passages, or more dimensions than the teacher's.
    """
    if len(passages) < MIN_PASSAGES:
        raise ModelError(f"{len(passages)} passages are too few to distil from: {MIN_PASSAGES:,} at least")
    if not 1 <= dimension <= teacher.dimension:
        raise ModelError(
            f"the dimension must be from 1 to the teacher's {teacher.dimension}, not {dimension}"
        )
    tell = progress or (lambda what, done, total: None)
    order = np.random.default_rng(seed).permutation(len(passages))
    texts, encoded = _encoded(teacher, [passages[index] for index in order])
    targets = teacher.embed_documents(texts, lambda done: tell("embedding passages", done, len(texts)))
    tokens = teacher.embed_tokens(lambda done, total: tell("embedding tokens", done, total))
    projection, centre = _principal(targets, dimension)
    targets = _unit(np.asarray((targets - centre) @ projection, np.float32))
    table = _start(tokens @ projection, encoded, len(texts))
    held = max(1, int(len(texts) * HELD_OUT))
    generator = np.random.default_rng(seed)
    for epoch in range(EPOCHS):
        trained = generator.permutation(np.arange(held, len(texts)))
        _epoch(table, encoded, targets, trained, epoch)
        tell("training", epoch + 1, EPOCHS)
    rows, scales = _rounded(table.vectors)
    means = _means((rows * scales[:, None]).astype(np.float32), encoded, np.arange(held))
    cosine = float((_unit(means) * targets[:held]).sum(axis=1).mean())
    return Distilled(rows, scales, cosine, len(texts))


@dataclass
class _Table:
    """Token vectors in training, and per token the sum of squared gradients so far."""

    vectors: Floats
    squares: Floats
    step: float


def _encoded(teacher: Teacher, texts: Sequence[str]) -> tuple[list[str], _Passages]:
    """The texts that have a token, and their tokens."""
    pairs = [(text, found) for text in texts if (found := teacher.plain_tokens(text))]
    ids = [found for _, found in pairs]
    lengths = np.array([len(row) for row in ids], np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    flat = np.concatenate([np.array(row, np.int64) for row in ids])
    return [text for text, _ in pairs], _Passages(flat, starts, lengths)


def _principal(targets: Floats, dimension: int) -> tuple[Floats, Floats]:
    """The first principal components, float32[teacher's dimension, dimension], and the mean."""
    centre = targets.mean(axis=0)
    _, _, components = np.linalg.svd(targets[:PCA_PASSAGES] - centre, full_matrices=False)
    return components[:dimension].T.astype(np.float32), centre


def _start(tokens: Floats, encoded: _Passages, count: int) -> _Table:
    vectors = tokens - tokens.mean(axis=0)
    owner = np.repeat(np.arange(count), encoded.lengths)
    distinct = np.unique(np.stack([owner, encoded.ids]), axis=1)[1]
    share = (np.bincount(distinct, minlength=len(tokens)) + 1) / count
    vectors *= (SMOOTHING / (SMOOTHING + share))[:, None]
    vectors /= np.linalg.norm(vectors, axis=1).mean()
    return _Table(vectors.astype(np.float32), np.zeros(len(tokens), np.float32), STEP)


def _epoch(table: _Table, encoded: _Passages, targets: Floats, passages: Ints, epoch: int) -> None:
    """One pass over the passages. The gradient of cos(m, y) for a mean m is (y/|y| - cos m/|m|)/|m|."""
    steps = [passages[at : at + PASSAGES_PER_STEP] for at in range(0, len(passages), PASSAGES_PER_STEP)]
    for number, chosen in enumerate(steps):
        means = _means(table.vectors, encoded, chosen)
        length = np.linalg.norm(means, axis=1, keepdims=True) + 1e-9
        unit = means / length
        cosine = (unit * targets[chosen]).sum(axis=1, keepdims=True)
        per_token = (targets[chosen] - cosine * unit) / length / encoded.lengths[chosen, None]
        done = (epoch + number / len(steps)) / EPOCHS
        _ascend(
            table,
            _token_ids(encoded, chosen),
            np.repeat(per_token, encoded.lengths[chosen], axis=0),
            1 - done,
        )


def _ascend(table: _Table, ids: Ints, gradients: Floats, share: float) -> None:
    """Adds each token's summed gradient, divided by the root of its squares so far."""
    order = np.argsort(ids, kind="stable")
    distinct, first = np.unique(ids[order], return_index=True)
    summed = np.add.reduceat(gradients[order], first, axis=0)
    table.squares[distinct] += (summed**2).mean(axis=1)
    table.vectors[distinct] += table.step * share * summed / np.sqrt(table.squares[distinct] + 1e-12)[:, None]


def _token_ids(encoded: _Passages, chosen: Ints) -> Ints:
    lengths = encoded.lengths[chosen]
    firsts = np.cumsum(lengths) - lengths
    found: Ints = encoded.ids[np.repeat(encoded.starts[chosen] - firsts, lengths) + np.arange(lengths.sum())]
    return found


def _means(vectors: Floats, encoded: _Passages, chosen: Ints) -> Floats:
    lengths = encoded.lengths[chosen]
    firsts = np.cumsum(lengths) - lengths
    sums: Floats = np.add.reduceat(vectors[_token_ids(encoded, chosen)], firsts, axis=0)
    return np.divide(sums, lengths[:, None], dtype=np.float32)


def _rounded(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    scales = (np.abs(vectors).max(axis=1) / 127).astype(np.float32)
    scales[scales == 0] = 1
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def _unit(vectors: Floats) -> Floats:
    unit: Floats = (vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)).astype(np.float32)
    return unit
