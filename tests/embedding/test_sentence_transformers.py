"""sentence-transformers models, by tiny ones made here, and the default's float original where it is at hand.

`PI_RANK_MINILM` names a folder of sentence-transformers/all-MiniLM-L6-v2; the wheel that models/build.py
fetches has one. Golden vectors are written from it by `python tests/embedding/test_sentence_transformers.py`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from pi_rank.embedding import load_embedder
from pi_rank.embedding.registry import read_card
from pi_rank.errors import ModelError

GOLDEN = Path(__file__).parent / "golden.npz"
GOLDEN_TEXTS = [
    "The user prefers tabs over spaces in the parser code.",
    "Never push to main without a review.",
    "Dana said that the staging database moved to another region on Tuesday.",
    "How do I restart the billing service after a deploy?",
    "what's the refund policy for annual plans",
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "pnpm-lock.yaml must be committed; CI runs with --frozen-lockfile",
    "Maria: we adopted a second dog last weekend, he is called Biscuit!",
    "hi",
    "ok",
    "Kubernetes ingress returns 502 when the readiness probe is slower than 30 s",
    "def parse(line: bytes) -> Record: return decoder.decode(line)",
    "Release notes go to CHANGELOG.md, newest first, one line per change.",
    "the meeting with the auditors was moved from March 3 to March 17",
    "Answer in German when the ticket is in German.",
    "Bitte keine Emojis in Commit-Nachrichten verwenden.",
    "漢字とかなの混じった文",
    "שלום עולם",
    "naïve café façade",
    "1234567890",
    "https://example.org/a/b?c=d&e=f",
    "SELECT id, statement FROM records WHERE status = 'active' ORDER BY id",
    "boundary layer transition on a blunt body at hypersonic speed",
    "laminar heat transfer near the stagnation point",
    "She is allergic to peanuts and takes an antihistamine in spring.",
    "The flight to Lisbon leaves at 6:40 from terminal 2.",
    "rm -rf build/ && python -m build --wheel",
    "Use the second account for anything above 500 euros.",
    "Which of the two caches should be flushed first?",
    "git rebase --onto main feature~3 feature",
    "The customer asked for a quote for 250 seats, invoiced yearly, net 60.",
    "I would rather have short answers with a source than long ones without.",
    "prefer httpx to requests in new code",
    "OOM in the worker pod after 40 minutes: heap grows by 12 MB a minute",
    "where did we put the onboarding checklist",
    "Caroline went to a support group on 7 May 2023.",
    "!!!",
    "a" * 150,
    "one two three four five six seven eight nine ten " * 8,
    "The office is closed between Christmas and New Year; the on-call phone is with the platform team.",
]


@pytest.fixture(scope="module")
def original():
    """The float model that the default was built from, through this package's own backend."""
    pytest.importorskip("sentence_transformers", reason="needs pip install 'pi-rank[sentence-transformers]'")
    folder = os.environ.get("PI_RANK_MINILM")
    if not folder:
        pytest.skip("PI_RANK_MINILM names no folder of all-MiniLM-L6-v2")
    return load_embedder(folder)


def test_the_golden_vectors_are_the_originals(original):
    golden = np.load(GOLDEN)
    assert [str(text) for text in golden["texts"]] == GOLDEN_TEXTS
    found = np.stack([original.embed_query(text) for text in GOLDEN_TEXTS])
    assert (found * golden["vectors"]).sum(axis=1).min() > 0.9999


def test_documents_in_batches_agree_with_queries_alone(original):
    documents = original.embed_documents(GOLDEN_TEXTS)
    alone = np.stack([original.embed_query(text) for text in GOLDEN_TEXTS])
    np.testing.assert_allclose(documents, alone, atol=1e-5)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folder of a static four-dimensional model with prompts, made from nothing."""
    library = pytest.importorskip(
        "sentence_transformers", reason="needs pip install 'pi-rank[sentence-transformers]'"
    )
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[UNK]", "query", "passage", "tabs", "spaces"]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    table = np.eye(5, 4, dtype=np.float32) + 0.1
    model = library.SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=table)],
        prompts={"query": "query ", "passage": "passage "},
        device="cpu",
    )
    folder = tmp_path_factory.mktemp("models") / "tiny"
    model.save(str(folder))
    return folder


def unit(*vector):
    return np.array(vector) / np.linalg.norm(vector)


def test_a_models_own_prompts_are_used(tiny):
    embedder = load_embedder(str(tiny))
    assert embedder.dimension == 4
    rows = np.eye(5, 4) + 0.1
    np.testing.assert_allclose(embedder.embed_query("tabs"), unit(*(rows[1] + rows[3])), atol=1e-6)
    np.testing.assert_allclose(embedder.embed_documents(["tabs"])[0], unit(*(rows[2] + rows[3])), atol=1e-6)


def test_a_card_cuts_the_dimension_and_gets_another_id(tiny, tmp_path):
    path = tmp_path / "short.toml"
    path.write_text(
        'runtime = "sentence-transformers"\nid = "short"\ntruncate_dimension = 2\n'
        f"source = {json.dumps(str(tiny))}\n",
        encoding="utf-8",
    )
    short, full = load_embedder(str(path)), load_embedder(str(tiny))
    assert (short.dimension, read_card(path).id) == (2, "short")
    assert np.linalg.norm(short.embed_query("tabs")) == pytest.approx(1, abs=1e-6)
    assert short.model_id != full.model_id


def test_other_weights_in_the_same_folder_are_another_model(tiny, tmp_path):
    import shutil

    copy = Path(shutil.copytree(tiny, tmp_path / "tiny"))
    before = load_embedder(str(copy)).model_id
    assert before == load_embedder(str(tiny)).model_id
    weights = next(copy.rglob("*.safetensors"))
    content = bytearray(weights.read_bytes())
    content[-2] ^= 1
    weights.write_bytes(content)
    assert load_embedder(str(copy)).model_id != before


def test_progress_and_no_texts(tiny):
    embedder, heard = load_embedder(str(tiny)), []
    assert embedder.embed_documents(["tabs"] * 40, heard.append).shape == (40, 4)
    assert heard == [32, 40]
    assert embedder.embed_documents([]).shape == (0, 4)


def test_lone_surrogates_are_replaced(tiny):
    assert np.isfinite(load_embedder(str(tiny)).embed_query("tabs \ud800")).all()


def test_a_folder_that_holds_no_model_is_refused(tiny, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="sentence-transformers cannot load"):
        load_embedder(str(tmp_path / "empty"))


def test_a_vector_that_is_not_finite_is_refused(tiny, tmp_path):
    import shutil

    from safetensors.numpy import load_file, save_file

    copy = Path(shutil.copytree(tiny, tmp_path / "tiny"))
    weights = next(copy.rglob("*.safetensors"))
    tensors = load_file(weights)
    save_file({name: np.full_like(value, np.nan) for name, value in tensors.items()}, weights)
    with pytest.raises(ModelError, match="not finite"):
        load_embedder(str(copy))


if __name__ == "__main__":
    model = load_embedder(os.environ["PI_RANK_MINILM"])
    vectors = np.stack([model.embed_query(text) for text in GOLDEN_TEXTS])
    np.savez_compressed(GOLDEN, texts=np.array(GOLDEN_TEXTS), vectors=vectors)
