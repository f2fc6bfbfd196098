"""Distillation into a static model, the model it gives, and tables that are not one."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pi_rank.cli import main
from pi_rank.embedding import load_embedder
from pi_rank.embedding.distill import distill, read_passages
from pi_rank.embedding.registry import read_card
from pi_rank.errors import ModelError
from tests.embedding.make_tiny import WORDS

TINY = Path(__file__).parent / "tiny.toml"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A folder with 3,000 passages of the tiny model's words; common words are common."""
    random = np.random.default_rng(1)
    share = 1 / np.arange(1, len(WORDS) + 1)
    passages = [
        " ".join(random.choice(WORDS, random.integers(4, 16), p=share / share.sum())) for _ in range(3000)
    ]
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.txt").write_text("\n\n".join(passages[:1500]), encoding="utf-8")
    (folder / "deeper").mkdir()
    (folder / "deeper" / "b.md").write_text("\n\n".join(passages[1500:]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def card(corpus, tmp_path_factory):
    """Path of a static model's card, distilled by the command from the tiny transformer."""
    path = tmp_path_factory.mktemp("made") / "mine.toml"
    command = ["models", "distill", "--from", str(TINY), "--corpus", str(corpus), "--output", str(path)]
    assert main([*command, "--dimension", "16"]) == 0
    return path


def test_a_table_comes_near_a_teacher_that_is_one(card, corpus):
    """The order of a hundred texts' cosines is the teacher's, around the corpus's centre."""
    static, teacher = load_embedder(str(card)), load_embedder(str(TINY))
    passages = read_passages(corpus)
    theirs = teacher.embed_documents(passages)
    theirs = (theirs - theirs.mean(axis=0))[:100]
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    ours = static.embed_documents(passages[:100])
    above = np.triu_indices(100, 1)
    assert np.corrcoef((ours @ ours.T)[above], (theirs @ theirs.T)[above])[0, 1] > 0.85
    assert read_card(card).measured["cosine_to_teacher"]["mean"] > 0.9


def test_training_helps(corpus, monkeypatch):
    passages = read_passages(corpus)
    teacher = load_embedder(str(TINY))
    trained = distill(teacher, passages, dimension=8, seed=0)
    monkeypatch.setattr("pi_rank.embedding.distill.EPOCHS", 0)
    assert trained.cosine > distill(teacher, passages, dimension=8, seed=0).cosine + 0.01


def test_the_same_seed_gives_the_same_table_and_another_one_not(corpus):
    passages, teacher = read_passages(corpus)[:1200], load_embedder(str(TINY))
    first, again, other = (distill(teacher, passages, dimension=8, seed=seed) for seed in (0, 0, 1))
    assert (first.rows == again.rows).all()
    assert (first.scales == again.scales).all()
    assert (first.rows != other.rows).any()


def test_progress_names_the_work(corpus):
    heard = []
    passages = read_passages(corpus)[:1000]
    distill(
        load_embedder(str(TINY)), passages, dimension=4, seed=0, progress=lambda *step: heard.append(step)
    )
    assert [*dict.fromkeys(what for what, _, _ in heard)] == [
        "embedding passages",
        "embedding tokens",
        "training",
    ]
    assert heard[-1][1] == heard[-1][2]


def test_what_counts_as_a_passage(tmp_path):
    (tmp_path / "b.txt").write_text(
        "one two three\n\nfour five\nsix seven\n \nfour five six seven", encoding="utf-8"
    )
    (tmp_path / "a.md").write_bytes(b"caf\xe9 au lait s'il vous plait\n\n" + b"long " * 1000)
    (tmp_path / "c.py").write_text("this is not read at all", encoding="utf-8")
    assert read_passages(tmp_path) == [
        "caf\ufffd au lait s'il vous plait",
        ("long " * 240)[:1200],
        "four five six seven",
    ]


@pytest.mark.parametrize(
    ("passages", "dimension", "message"),
    [
        (["one two three four"] * 10, 8, "10 passages are too few to distil from: 1,000 at least"),
        (["one two three four"] * 1000, 65, "from 1 to the teacher's 64, not 65"),
    ],
)
def test_what_cannot_be_distilled(passages, dimension, message):
    with pytest.raises(ModelError, match=message):
        distill(load_embedder(str(TINY)), passages, dimension=dimension, seed=0)


def test_only_a_transformer_can_be_distilled(card, corpus, tmp_path, capsys):
    command = ["models", "distill", "--corpus", str(corpus), "--output"]
    assert main([*command, str(tmp_path / "x.toml"), "--from", str(card)]) == 1
    assert "mine cannot be distilled: only one with runtime bert-int8 or onnx can" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "x.json"), "--from", str(TINY)]) == 1
    assert "a model card is a .toml file" in capsys.readouterr().err


def test_a_model_that_cannot_be_written_says_so_before_the_work(corpus, tmp_path, capsys):
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    command = ["models", "distill", "--corpus", str(corpus), "--from", str(TINY), "--output"]
    assert main([*command, str(tmp_path / "taken" / "mine.toml")]) == 1
    assert "cannot be made: Not a directory" in capsys.readouterr().err
    assert main([*command, str(tmp_path / "taken.toml")]) == 1
    assert "cannot be made: File exists" in capsys.readouterr().err


def test_the_shipped_static_model_orders_as_its_teacher_does(default):
    """It needs neither onnxruntime nor torch, and finds the paraphrase that the transformer finds."""
    static = load_embedder("static-256")
    pairs = [
        ("How do I restart the billing service?", "Restarting the billing daemon after a deployment"),
        ("Which editor indentation does the user like?", "The user prefers tabs over spaces"),
        ("When is the office closed?", "The office is shut between Christmas and New Year"),
        ("where are database backups kept", "Backups of the database are stored in the archive bucket"),
        ("allergies", "She is allergic to peanuts"),
    ]
    queries = np.stack([static.embed_query(query) for query, _ in pairs])
    documents = static.embed_documents([document for _, document in pairs])
    assert (queries @ documents.T).argmax(axis=1).tolist() == [0, 1, 2, 3, 4]
    texts = [text for pair in pairs for text in pair]
    ours = static.embed_documents(texts) @ static.embed_documents(texts).T
    theirs = default.embed_documents(texts) @ default.embed_documents(texts).T
    above = np.triu_indices(len(texts), 1)
    assert np.corrcoef(ours[above], theirs[above])[0, 1] > 0.8


def test_the_static_model_needs_no_runtime(tmp_path):
    code = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "sys.modules['onnxruntime'] = sys.modules['tokenizers'] = None\n"
        "from pi_rank.embedding import load_embedder\n"
        "print(load_embedder('static-256').embed_query('tabs').shape)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (result.stdout, result.stderr) == ("(256,)\n", "")


def test_a_text_has_one_vector_whatever_it_is_embedded_with(card):
    static = load_embedder(str(card))
    texts = ["word1", "word2 word3", "", "nothing known", "word5 " * 3000, "\ud800 word7", "漢字"]
    together = static.embed_documents(texts * 50)
    for row, vector in enumerate(together):
        assert vector.tobytes() == static.embed_query(texts[row % len(texts)]).tobytes()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_vectors_are_read_only_and_progress_is_heard(card):
    static, heard = load_embedder(str(card)), []
    assert static.embed_documents(["word1"] * 300, heard.append).shape == (300, 16)
    assert (heard, static.embed_documents([]).shape) == ([256, 300], (0, 16))
    assert not static.embed_query("word1").flags.writeable


def test_a_text_without_tokens_has_a_vector(card):
    np.testing.assert_allclose(load_embedder(str(card)).embed_query(""), np.full(16, 0.25), atol=1e-6)


def test_a_query_costs_a_tenth_of_the_transformers(card, default):
    """The tiny table against the default model: what a query costs is the tokenizer, not the sum."""
    static = load_embedder(str(card))
    queries = [" ".join(WORDS[i % 64] for i in range(n, n + 12)) for n in range(64)]

    def seconds(embedder):
        best = []
        for _ in range(3):
            began = time.process_time()
            for query in queries:
                embedder.embed_query(query)
            best.append(time.process_time() - began)
            if hasattr(embedder, "_cache"):
                embedder._cache._vectors.clear()
        return min(best)

    assert seconds(static) < seconds(default) / 10


def rewritten(card, tmp_path, content):
    """A copy of the card whose table is `content`."""
    import shutil

    shutil.copytree(card.with_suffix(""), tmp_path / "mine")
    (tmp_path / "mine" / "table.npz").write_bytes(content)
    found = read_card(card)
    text = card.read_text(encoding="utf-8").replace(
        found.files["table.npz"], hashlib.sha256(content).hexdigest()
    )
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    return str(tmp_path / "mine.toml")


def table(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


ROWS, SCALES = np.ones((69, 16), np.int8), np.ones(69, np.float32)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no table of token vectors"),
        (b"PK\x03\x04 cut short", "no table of token vectors"),
        (table(rows=ROWS), "no table of token vectors"),
        (table(rows=np.array([object()]), scales=SCALES), "no table of token vectors"),
        (table(rows=ROWS[:60], scales=SCALES[:60]), r"rows int8\[60, 16\].*not int8\[69, 16\]"),
        (table(rows=ROWS[:, :8], scales=SCALES), r"rows int8\[69, 8\]"),
        (table(rows=ROWS.astype(np.float32), scales=SCALES), r"rows float32\[69, 16\]"),
        (table(rows=ROWS, scales=SCALES * np.nan), "a scale that is not finite"),
    ],
)
def test_a_table_that_cannot_be_used(card, tmp_path, content, message):
    with pytest.raises(ModelError, match=message):
        load_embedder(rewritten(card, tmp_path, content))


def test_an_altered_table_is_refused(card, tmp_path):
    path = rewritten(card, tmp_path, table(rows=ROWS, scales=SCALES))
    assert load_embedder(path).dimension == 16
    (tmp_path / "mine" / "table.npz").write_bytes(table(rows=ROWS, scales=SCALES * 2))
    with pytest.raises(ModelError, match=r"table\.npz is not the one its card describes"):
        load_embedder(path)


def test_another_table_is_another_model(card, tmp_path):
    assert read_card(Path(rewritten(card, tmp_path, b"other"))).model_id != read_card(card).model_id
