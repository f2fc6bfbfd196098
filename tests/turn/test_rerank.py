"""The reranked order against its definition, and a real cross-encoder, tiny and random, as the reranker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank.embedding.cross_encoder import CrossEncoderReranker
from pi_rank.errors import ModelError
from pi_rank.memory.records import embedded_text
from pi_rank.ranking.blend import Part
from pi_rank.snapshot.snapshot import load_snapshot
from pi_rank.turn.ranking import Ranking
from pi_rank.turn.rerank import RERANKED, RerankStage
from tests.support.memory import engine_on
from tests.support.snapshots import ChangingMemory


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    memory = ChangingMemory(tmp_path_factory.mktemp("rerank"), size=60)
    memory.sync(embed=False)
    memory.change(5)
    memory.sync(embed=False)
    return load_snapshot(memory.store, None)


class Given:
    """A reranker whose answer is known beforehand; it keeps what it was asked."""

    def __init__(self, scores):
        self.given = scores

    def scores(self, query, texts):
        self.asked = (query, texts)
        return self.given


@settings(deadline=None, max_examples=100)
@given(
    data=st.data(),
    count=st.integers(1, 50),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([list, np.float32, np.int64]),
)
def test_the_head_is_ordered_by_score_then_id_and_the_tail_stays(snapshot, data, count, seed, kind):
    random = np.random.default_rng(seed)
    rows = random.permutation(snapshot.order)[:count].astype(np.int32)
    scores = np.sort(random.random(count))[::-1]
    ranks = np.arange(1, count + 1, dtype=np.int32)
    parts = (Part(ranks, scores * 0.25), Part(ranks[::-1], scores * 0.75))
    numbers = st.lists(st.integers(-3, 3), min_size=min(count, RERANKED), max_size=min(count, RERANKED))
    given_scores = data.draw(numbers)
    reranker = Given(given_scores if kind is list else np.array(given_scores, kind))
    before = Ranking(rows, scores, "hybrid", (), None, parts)
    stage = RerankStage(reranker)
    after, status = stage.apply(snapshot, "query", before, None)
    stage.close()

    ids = [snapshot.ids[row] for row in rows]
    head = sorted(range(len(given_scores)), key=lambda place: (-given_scores[place], ids[place]))
    places = [*head, *range(len(head), count)]
    assert status == "ok"
    assert after.rows.tolist() == rows[places].tolist()
    assert after.scores.tolist() == scores[places].tolist()
    for one, other in zip(after.parts, parts, strict=True):
        assert one.ranks.tolist() == other.ranks[places].tolist()
        assert one.scores.tolist() == other.scores[places].tolist()
    assert before.rows is rows and reranker.asked == (
        "query",
        [embedded_text(snapshot.record(row)) for row in rows[:RERANKED].tolist()],
    )


WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "tabs",
    "spaces",
    "parser",
    "deploy",
    "friday",
    "cache",
]
TEXTS = ["tabs", "spaces parser", "deploy friday", "cache", "parser parser tabs"]


def make_model(folder, kind="BertForSequenceClassification", labels=1):
    """A BERT of one layer with random weights, as a folder."""
    pytest.importorskip("sentence_transformers", reason="needs pip install 'pi-rank[sentence-transformers]'")
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=32, **special)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        num_labels=labels,
        initializer_range=1.0,  # at BERT's own 0.02 all texts get almost the same score
    )
    torch.manual_seed(0)
    getattr(transformers, kind)(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


def test_a_cross_encoder_gives_what_the_model_gives(tiny):
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    model = AutoModelForSequenceClassification.from_pretrained(tiny).eval()
    with torch.no_grad():
        expected = [model(**tokenizer("tabs", text, return_tensors="pt")).logits.item() for text in TEXTS]
    found = CrossEncoderReranker(tiny).scores("tabs", TEXTS)
    assert (found.dtype, found.shape) == (np.float64, (5,))
    np.testing.assert_allclose(np.log(found / (1 - found)), expected, rtol=1e-4)  # the library adds a sigmoid
    assert len(set(np.round(found, 4))) == 5


def test_a_cross_encoder_reranks_an_engine(tiny, tmp_path):
    records = [{"id": f"mem_{number}", "statement": f"tabs {text}"} for number, text in enumerate(TEXTS)]
    reranker = CrossEncoderReranker(tiny)
    scores = reranker.scores("tabs", [record["statement"] for record in records])
    with engine_on(tmp_path, records, reranker=reranker) as engine:
        found = [hit.id for hit in engine.search("tabs")]
    assert found == [f"mem_{number}" for number in np.argsort(-scores)]


def test_any_text_gets_a_score_and_no_texts_get_none(tiny):
    reranker = CrossEncoderReranker(tiny, max_length=16)
    texts = ["", "tabs " * 200_000, "\ud800", "שלום 漢字", "\0\n"]
    assert np.isfinite(reranker.scores("tabs \udfff", texts)).all()
    assert reranker.scores("tabs", []).shape == (0,)


def test_threads_may_share_a_cross_encoder(tiny):
    reranker = CrossEncoderReranker(tiny)
    asked = [TEXTS[: 1 + number % 5] for number in range(40)]
    expected = [reranker.scores("tabs", texts) for texts in asked]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda texts: reranker.scores("tabs", texts), asked))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "labels", "message"),
    [
        ("BertForSequenceClassification", 3, "gives 3 scores for a text; a reranker needs one"),
        ("BertModel", 1, "is no cross-encoder: BertModel has no layer that scores a pair"),
        ("BertForMaskedLM", 1, "is no cross-encoder: BertForMaskedLM has no layer"),
    ],
)
def test_a_model_that_cannot_rerank_is_refused(tmp_path, kind, labels, message):
    with pytest.raises(ModelError, match=message):
        CrossEncoderReranker(make_model(tmp_path / "model", kind, labels))


def test_a_folder_without_a_model_is_refused(tmp_path):
    pytest.importorskip("sentence_transformers", reason="needs pip install 'pi-rank[sentence-transformers]'")
    with pytest.raises(ModelError, match=f"cannot load the cross-encoder .*{tmp_path.name}"):
        CrossEncoderReranker(tmp_path)


def test_without_sentence_transformers_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"needs: pip install 'pi-rank\[sentence-transformers\]'"):
        CrossEncoderReranker("any/model")
