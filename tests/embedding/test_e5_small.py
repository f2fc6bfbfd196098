"""The model for other languages, where it was fetched: its tokens, and what it finds across languages."""

from __future__ import annotations

import random

import numpy as np
import pytest

from models.e5_small import read_texts
from pi_rank._core.encoder import kernels
from pi_rank.embedding import load_embedder
from pi_rank.embedding.encoder import EncoderEmbedder
from pi_rank.embedding.registry import find_card, verify
from tests.embedding.odd_texts import odd_text, readable

CARD = find_card("e5-small")
pytestmark = pytest.mark.skipif(
    not CARD.is_complete, reason="e5-small was not fetched: pi-rank models fetch e5-small"
)


@pytest.fixture(scope="module")
def embedder():
    return load_embedder("e5-small")


def test_its_files_are_as_in_its_card():
    verify(CARD)


def test_tokens_are_those_of_tokenizers(embedder):
    tokenizers = pytest.importorskip("tokenizers", reason="the oracle is tokenizers (extra onnx)")
    oracle = tokenizers.Tokenizer.from_buffer(embedder.tokenizer_file())
    draw = random.Random(23)
    texts = [text for row in read_texts() for text in (row["record"], row["question"])]
    texts += [readable(odd_text(draw)) for _ in range(2_000)]
    for text in texts:
        if text.split():  # of a text of spaces tokenizers makes a piece
            expected = oracle.encode(text, add_special_tokens=False).ids
            assert list(embedder.plain_tokens(text)) == expected, repr(text)


def test_a_text_has_one_vector_with_every_kernel_and_in_any_company(embedder, monkeypatch):
    texts = [row["record"] for row in read_texts()[:30]]
    together = embedder.embed_documents(texts)
    for kernel in kernels():
        monkeypatch.setenv("PI_RANK_KERNEL", kernel)
        alone = EncoderEmbedder(CARD).embed_documents(texts[7:8])
        assert alone.tobytes() == together[7:8].tobytes(), kernel


def test_a_question_finds_its_record_in_another_language(embedder):
    rows = read_texts()
    records = embedder.embed_documents([row["record"] for row in rows])
    facts = np.array([row["fact"] for row in rows])
    first = []
    for row in rows:
        scores = records @ embedder.embed_query(row["question"])
        scores[[other["language"] == row["language"] for other in rows]] = -1
        first.append(facts[scores.argmax()] == row["fact"])
    assert np.mean(first) > 0.85
