"""The shipped model: its vectors, odd texts, long texts, threads, and graphs of another layout."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.embedding import onnx, registry, texts
from pi_rank.errors import ModelError

TEXTS = [
    "The user prefers tabs over spaces.",
    "How do I restart the billing service?",
    "שלום עולם, מה שלומך היום?",
    "漢字とかなの混じった文",
    "x",
    "",
    "def f(a: int) -> str:\n    return str(a) * 2",
    "word " * 700,
]


def test_golden_vectors_of_sentence_transformers(default):
    """float32 vectors written by tests/embedding/test_sentence_transformers.py's model, torch, one by one."""
    golden = np.load(Path(__file__).parent / "golden.npz")
    cosines = [default.embed_query(str(text)) @ vector for text, vector in zip(*golden.values(), strict=True)]
    assert len(cosines) == 40
    assert min(cosines) > 0.99
    assert np.mean(cosines) > 0.995


def test_vectors_are_float32_of_unit_length_and_read_only(default):
    vector = default.embed_query("tabs")
    assert (vector.dtype, vector.shape, default.dimension) == (np.float32, (384,), 384)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 0


def test_a_text_has_one_vector_whatever_it_is_embedded_with(default):
    alone = [default.embed_query(text) for text in TEXTS]
    together = default.embed_documents(TEXTS * 6)
    for row, vector in enumerate(together):
        assert vector.tobytes() == alone[row % len(TEXTS)].tobytes()


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(codec=None), max_size=200), st.text(max_size=50))
def test_any_text_has_one_finite_vector(default, text, neighbour):
    vectors = default.embed_documents([text, neighbour, text])
    assert np.isfinite(vectors).all()
    assert vectors[0].tobytes() == vectors[2].tobytes() == default.embed_query(text).tobytes()


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("", "\0"),
        ("", " \n\t"),
        ("\ud83d\ude00 tabs", "😀 tabs"),
        ("tabs\ud800", "tabs\ufffd"),
        ("TABS", "tabs"),
    ],
)
def test_texts_that_the_model_cannot_tell_apart(default, text, same_as):
    assert (default.embed_query(text) == default.embed_query(same_as)).all()


@pytest.mark.parametrize("text", ["a" * 1_000_000, "word " * 200_000, "漢" * 1_000_000, "\u0378" * 1_000_000])
def test_a_megabyte_costs_no_more_tokens_than_the_limit(default, text):
    assert np.linalg.norm(default.embed_query(text)) == pytest.approx(1, abs=1e-6)
    assert len(default.tokens(texts.readable(text))) <= 128


def test_both_ends_of_a_long_text_count(default):
    filler = "shock wave boundary layer " * 300
    plain = default.embed_query(filler)
    assert plain @ default.embed_query(filler + "Which database do we deploy to?") < 0.99
    assert plain @ default.embed_query("Which database do we deploy to? " + filler) < 0.99


def test_a_long_text_keeps_its_first_and_last_tokens(default):
    everything = default._tokenizer.encode("one " * 300 + "two " * 300).ids
    kept = default.tokens("one " * 300 + "two " * 300)
    assert len(everything) == 602
    assert (kept[0], kept[-1], len(kept)) == (101, 102, 128)
    assert kept == everything[:32] + everything[-96:]


def test_documents_of_none_and_one(default):
    assert default.embed_documents([]).shape == (0, 384)
    assert default.embed_documents(["tabs"]).shape == (1, 384)


def test_progress_counts_up_to_all_in_the_callers_thread(default):
    heard = []
    default.embed_documents(["tabs"] * 50, lambda done: heard.append((done, threading.get_ident())))
    counts = [done for done, _ in heard]
    assert counts == sorted(counts)
    assert counts[-1] == 50
    assert {thread for _, thread in heard} == {threading.get_ident()}


def test_an_error_in_progress_stops_the_work(default):
    def stop(done):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        default.embed_documents(["tabs"] * 500, stop)
    assert threading.active_count() == before


def test_many_threads_get_the_vectors_that_one_gets(default):
    texts = [f"note {number} about the deploy script" for number in range(40)]
    expected = default.embed_documents(texts)
    embedder = onnx.OnnxEmbedder(registry.find_card("default"))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(embedder.embed_query, texts * 3))
    assert all((vector == expected[row % 40]).all() for row, vector in enumerate(found))


def test_a_repeated_query_is_answered_from_memory(default, monkeypatch):
    embedder = onnx.OnnxEmbedder(registry.find_card("default"))
    monkeypatch.setattr(texts, "CACHED_QUERIES", 2)
    first = embedder.embed_query("one")
    embedder.embed_query("two")
    assert embedder.embed_query("one") is first
    embedder.embed_query("three")  # pushes out "two", the one asked for longest ago
    assert embedder.embed_query("one") is first
    assert len(embedder._cache) == 2


def rewrite(card, change):
    """Loads the copied model after `change(model)`, with the card's sha256 set right."""
    model = pytest.importorskip("onnx", reason="changing a graph needs onnx")
    import hashlib

    path = Path(card).parent / "minilm-l6-int8" / "model.onnx"
    graph = model.load(path)
    change(graph)
    content = graph.SerializeToString()
    path.write_bytes(content)
    found = registry.read_card(Path(card))
    found.files["model.onnx"] = hashlib.sha256(content).hexdigest()
    return onnx.OnnxEmbedder(found)


def test_a_graph_with_other_inputs_is_refused(card):
    def rename(model):
        model.graph.input[0].name = "pixels"
        for node in model.graph.node:
            node.input[:] = ["pixels" if name == "input_ids" else name for name in node.input]

    with pytest.raises(ModelError, match="wants the inputs pixels"):
        rewrite(card, rename)


def test_a_dimension_that_is_not_the_cards_is_refused(card):
    text = Path(card).read_text(encoding="utf-8").replace("dimension = 384", "dimension = 512")
    Path(card).write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"gives \(1, 1, 384\) for one token, its card says \(1, 1, 512\)"):
        onnx.OnnxEmbedder(registry.read_card(Path(card)))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_its_card_describes_but_no_runtime_reads(card, name):
    import hashlib

    content = b'{"not": "a model"}'
    (Path(card).parent / "minilm-l6-int8" / name).write_bytes(content)
    found = registry.read_card(Path(card))
    found.files[name] = hashlib.sha256(content).hexdigest()
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        onnx.OnnxEmbedder(found)
