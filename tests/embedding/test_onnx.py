"""Graphs in onnxruntime: a tiny one, some of another layout, and the shipped weights as an oracle."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

from pi_rank.embedding import load_embedder, registry
from pi_rank.errors import ModelError

TINY = Path(__file__).parent / "tiny-onnx.toml"
TEXTS = [
    "The user prefers tabs over spaces.",
    "How do I restart the billing service?",
    "漢字とかなの混じった文",
    "",
    "def f(a: int) -> str:\n    return str(a) * 2",
    "word " * 700,
]


@pytest.fixture(autouse=True)
def runtime():
    for name in ("onnxruntime", "tokenizers"):
        pytest.importorskip(name, reason="graphs need the extra onnx")


@pytest.fixture
def card(tmp_path):
    """Path of a copy of the tiny model's card, its files beside it."""
    shutil.copytree(TINY.with_suffix(""), tmp_path / "tiny-onnx")
    return Path(shutil.copy(TINY, tmp_path / "copy.toml"))


def test_a_text_has_the_mean_of_its_tokens_vectors():
    embedder = load_embedder(str(TINY))
    assert embedder.embed_query("word1") @ embedder.embed_query("word1 word2") > 0.5
    together = embedder.embed_documents(["word1 word2", "word3", "\ud800 word4"] * 20)
    assert (together[0] == embedder.embed_query("word1 word2")).all()
    assert (together[3] == together[0]).all()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_a_long_text_keeps_its_first_and_last_tokens():
    embedder = load_embedder(str(TINY))
    kept = embedder._tokens("word1 " * 300 + "word2 " * 300)
    assert (kept[0], kept[1], kept[31], kept[32], kept[-2], kept[-1], len(kept)) == (0, 4, 4, 5, 5, 1, 64)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(ModelError, match=r"tiny-onnx needs onnxruntime, .* pip install 'pi-rank\[onnx\]'"):
        load_embedder(str(TINY))
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(ModelError, match=r"tiny-onnx needs tokenizers, .* pip install 'pi-rank\[onnx\]'"):
        load_embedder(str(TINY))


def rewrite(card, change):
    """Loads the copied model after `change(model)`, with the card's sha256 set right."""
    model = pytest.importorskip("onnx", reason="changing a graph needs onnx")
    path = card.parent / "tiny-onnx" / "model.onnx"
    graph = model.load(path)
    change(graph)
    content = graph.SerializeToString()
    path.write_bytes(content)
    text = card.read_text(encoding="utf-8")
    digest = registry.read_card(card).files["model.onnx"]
    card.write_text(text.replace(digest, hashlib.sha256(content).hexdigest()), encoding="utf-8")
    return load_embedder(str(card))


def test_a_graph_with_other_inputs_is_refused(card):
    def rename(model):
        model.graph.input[0].name = "pixels"
        for node in model.graph.node:
            node.input[:] = ["pixels" if name == "input_ids" else name for name in node.input]

    with pytest.raises(ModelError, match="wants the inputs pixels"):
        rewrite(card, rename)


def test_a_dimension_that_is_not_the_cards_is_refused(card):
    text = card.read_text(encoding="utf-8").replace("dimension = 16", "dimension = 32")
    card.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"gives \(1, 1, 16\) for one token, its card says \(1, 1, 32\)"):
        load_embedder(str(card))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_its_card_describes_but_no_runtime_reads(card, name):
    content = b'{"not": "a model"}'
    (card.parent / "tiny-onnx" / name).write_bytes(content)
    text = card.read_text(encoding="utf-8")
    digest = registry.read_card(card).files[name]
    card.write_text(text.replace(digest, hashlib.sha256(content).hexdigest()), encoding="utf-8")
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        load_embedder(str(card))


def test_the_shipped_weights_give_onnxruntimes_vectors(tmp_path, default):
    """The same int8 weights in onnxruntime's fused operators, which scale all activations alike."""
    pytest.importorskip("onnx", reason="writing a graph needs onnx")
    from tests.support.onnx_graph import write_card

    graph = load_embedder(str(write_card(registry.find_card("default"), tmp_path)))
    for text in TEXTS:
        assert default.embed_query(text) @ graph.embed_query(text) > 0.985
