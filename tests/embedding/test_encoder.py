"""The shipped model in the compiled core: its vectors, odd texts, long texts, threads, kernels, bad files."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank._core.encoder import checksum, kernels
from pi_rank.embedding import load_embedder, registry, texts
from pi_rank.embedding.encoder import EncoderEmbedder
from pi_rank.errors import ModelError
from tests.reference.embedding import encoder as reference
from tests.support.encoder_files import random_file

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
    assert min(cosines) > 0.994
    assert np.mean(cosines) > 0.998


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
    assert len(default._tokenizer.encode([text], 32, 128)[0]) <= 128


def test_both_ends_of_a_long_text_count(default):
    filler = "shock wave boundary layer " * 300
    plain = default.embed_query(filler)
    assert plain @ default.embed_query(filler + "Which database do we deploy to?") < 0.99
    assert plain @ default.embed_query("Which database do we deploy to? " + filler) < 0.99


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
    embedder = EncoderEmbedder(registry.find_card("default"))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(embedder.embed_query, texts * 3))
    assert all((vector == expected[row % 40]).all() for row, vector in enumerate(found))


def test_a_repeated_query_is_answered_from_memory(default, monkeypatch):
    embedder = EncoderEmbedder(registry.find_card("default"))
    monkeypatch.setattr(texts, "CACHED_QUERIES", 2)
    first = embedder.embed_query("one")
    embedder.embed_query("two")
    assert embedder.embed_query("one") is first
    embedder.embed_query("three")  # pushes out "two", the one asked for longest ago
    assert embedder.embed_query("one") is first
    assert len(embedder._cache) == 2


def test_every_kernel_gives_the_bits_of_the_best(default, monkeypatch):
    expected = default.embed_documents(TEXTS)
    for kernel in kernels():
        monkeypatch.setenv("PI_RANK_KERNEL", kernel)
        embedder = load_embedder()
        assert embedder.kernel == kernel
        assert embedder.embed_documents(TEXTS).tobytes() == expected.tobytes()


def test_a_kernel_that_is_not_here(monkeypatch):
    monkeypatch.setenv("PI_RANK_KERNEL", "abacus")
    with pytest.raises(ModelError, match=r"PI_RANK_KERNEL is 'abacus'; this processor runs .*plain"):
        load_embedder()


def test_a_process_maps_its_weights_and_keeps_little_of_its_own():
    """In a process of its own: private memory before and after loading and a query."""
    psutil = pytest.importorskip("psutil")
    if not hasattr(psutil.Process().memory_full_info(), "uss"):
        pytest.skip("no unshared size here")
    code = (
        "import psutil, numpy\n"
        "from pi_rank.embedding import load_embedder, encoder\n"
        "before = psutil.Process().memory_full_info().uss\n"
        "model = load_embedder()\n"
        "model.embed_query('tabs ' * 100)\n"
        "print(psutil.Process().memory_full_info().uss - before)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 60e6  # the pages of the file count too where no other process has it mapped


def rewritten(card, content, **fields):
    """The copied model with another encoder.bin, its card's checksum set right, and other fields."""
    path = Path(card)
    (path.parent / "minilm-l6-int8" / "encoder.bin").write_bytes(content)
    found = msgspec.structs.replace(registry.read_card(path), checksum=checksum(content), **fields)
    return EncoderEmbedder(found)


def shipped():
    return (registry.cards_folder() / "minilm-l6-int8" / "encoder.bin").read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda: shipped()[:1_000_000], "is cut short"),
        (lambda: b"\x08\x07onnx" * 100, "is no encoder file of this version"),
        (lambda: shipped() + bytes(64), "is longer than its header says"),
        (
            lambda: random_file(vocabulary=20, positions=128, layers=1),
            "encoder.bin gives 64 dimensions, its card says 384",
        ),
        (
            lambda: random_file(vocabulary=20, positions=40, layers=1, width=384, heads=12),
            "encoder.bin reads 40 tokens at most, its card says max_tokens = 128",
        ),
        (
            lambda: random_file(vocabulary=20, positions=128, layers=1, width=384, heads=12),
            r"the vocabulary in encoder.bin has no token \[UNK\]",
        ),
        (
            lambda: random_file(
                vocabulary=5, positions=128, layers=1, width=384, heads=12, strings=STRINGS + b"\na"
            ),
            "its tokenizer has 6 tokens, encoder.bin 5",
        ),
    ],
)
def test_a_file_that_its_card_describes_but_no_kernel_runs(card, content, message):
    with pytest.raises(ModelError, match=message):
        rewritten(card, content())


STRINGS = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]"


def test_a_vector_that_is_not_finite_is_refused(card):
    """Scales so large that sums overflow: what a file of broken weights would give."""
    content = bytearray(
        random_file(vocabulary=5, positions=128, layers=1, width=384, heads=12, strings=STRINGS)
    )
    scales = 64 + 5 * 384
    content[scales : scales + 20] = np.full(5, 3e38, "<f4").tobytes()
    embedder = rewritten(card, bytes(content))
    with pytest.raises(ModelError, match=r"a vector that is not finite for tokens \[2, 1, 3\]"):
        embedder.embed_query("anything")


def test_a_model_with_a_tokenizers_file_needs_no_strings(card):
    """As models that are not BERT's have it; the same ids, whichever way they come."""
    source = registry.cards_folder() / "static-256" / "tokenizer.json"
    (Path(card).parent / "minilm-l6-int8" / "tokenizer.json").write_bytes(source.read_bytes())
    files = registry.read_card(Path(card)).files
    files["tokenizer.json"] = hashlib.sha256(source.read_bytes()).hexdigest()
    embedder = rewritten(card, shipped(), files=files)
    assert embedder.tokenizer_file() == source.read_bytes()
    assert embedder.model_id != registry.read_card(Path(card)).model_id
    assert embedder.embed_query("tabs").tobytes() == load_embedder().embed_query("tabs").tobytes()


def test_a_model_of_e5_smalls_shape(card):
    """Twelve layers: multilingual-e5-small but for its weights and a shorter vocabulary."""
    shape = {"layers": 12, "width": 384, "inner": 1536, "heads": 12, "positions": 512}
    content = random_file(vocabulary=5, strings=STRINGS, **shape)
    embedder = rewritten(card, content, max_tokens=512)
    expected = reference.Encoder(content).encode([2, 1, 1, 3])
    assert embedder.embed_query("two words").tobytes() == expected.tobytes()
