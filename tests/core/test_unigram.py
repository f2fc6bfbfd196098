"""The compiled unigram tokenizer against a plain one, and against `tokenizers` where it is installed."""

from __future__ import annotations

import random
import struct
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank._core.unigram import Unigram
from pi_rank.embedding.making.unigram_file import HEADER, Marks, tokenizers_file, unigram_file
from pi_rank.embedding.tokenizer import UnigramTokenizer
from tests.reference.embedding import unigram as reference

MARKS = Marks(first=0, last=1, unknown=2)
LETTERS = "ab▁é世😀"
PIECES = st.dictionaries(
    st.text(LETTERS, min_size=1, max_size=4),
    st.floats(-20, 0, width=32),
    min_size=1,
    max_size=40,
)


def vocabulary(scores):
    ids = {piece: 3 + index for index, piece in enumerate(scores)}
    return Unigram(unigram_file(scores, ids, MARKS)), ids


@settings(max_examples=500, deadline=None)
@given(PIECES, st.text(LETTERS + "x", max_size=30))
def test_the_plain_tokenizer_gives_the_same(scores, text):
    unigram, ids = vocabulary(scores)
    assert unigram.tokens(text.encode()).tolist() == reference.tokens(text, scores, ids, MARKS.unknown)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.binary(max_size=40))
def test_bytes_that_are_no_text_are_cut_all_the_same(scores, data):
    unigram, _ = vocabulary(scores)
    found = unigram.tokens(data).tolist()
    assert all(token in range(len(unigram)) for token in found) and bool(found) == bool(data)


def drawn_vocabulary(draw, alphabet, count):
    pieces = {"".join(draw.choices(alphabet, k=draw.randint(1, 5))) for _ in range(count)}
    pieces |= {"▁" + piece for piece in pieces} | {"▁"} | {2 * letter for letter in alphabet}
    return {piece: round(draw.uniform(-18, -2), 3) for piece in sorted(pieces)}


def test_tokenizers_gives_the_same_for_texts_in_many_scripts():
    tokenizers = pytest.importorskip("tokenizers", reason="the oracle is tokenizers (extra onnx)")
    draw = random.Random(11)
    alphabet = "abcdeéüßжщ日本語한국كتب0１ﬁ🙂 "
    scores = drawn_vocabulary(draw, alphabet.replace(" ", ""), 400)
    ids = {piece: 3 + index for index, piece in enumerate(scores)}
    content = unigram_file(scores, ids, MARKS)
    ours, oracle = UnigramTokenizer(content), tokenizers.Tokenizer.from_buffer(tokenizers_file(content))
    odd = alphabet + "\t\n\u200b\u3000\u00a0\x07\ufeff▁e\u0301"
    for _ in range(3_000):
        text = "".join(draw.choices(odd, k=draw.randint(1, 40)))
        if not text.split():
            continue  # tokenizers writes a space's piece for a text of spaces
        expected = oracle.encode(text).ids
        assert ours.encode([text], head=100, limit=400)[0].tolist() == expected, repr(text)
        assert ours.plain(text) == expected[1:-1]


def test_a_text_that_spells_a_mark_is_a_text():
    scores = {"▁": -2.0, "<": -3.0, "s": -3.0, ">": -3.0}
    unigram, _ = vocabulary(scores)
    assert MARKS.first not in unigram.tokens("▁<s>".encode()) and MARKS.unknown not in unigram.tokens(b"<s>")


def test_a_long_text_keeps_its_head_and_its_tail():
    unigram, ids = vocabulary({"a": -1.0, "b": -1.0})
    found, starts = unigram.encode([b"a" * 20 + b"b" * 20, b"", b"ab"], head=3, limit=8)
    a, b = ids["a"], ids["b"]
    assert found.tolist() == [0, a, a, b, b, b, b, 1, 0, 1, 0, a, b, 1] and starts.tolist() == [0, 8, 10, 14]


@pytest.mark.parametrize("head, limit", [(0, 8), (8, 8), (9, 8)])
def test_limits_that_leave_nothing_are_refused(head, limit):
    with pytest.raises(ValueError, match="head must be from 1"):
        vocabulary({"a": -1.0})[0].encode([b"a"], head=head, limit=limit)


def test_a_text_must_be_bytes():
    with pytest.raises(TypeError, match="must be bytes"):
        vocabulary({"a": -1.0})[0].encode(["a"], head=1, limit=8)


SOUND = unigram_file({"a": -1.0, "ab": -2.0, "b": -3.0}, {"a": 3, "ab": 4, "b": 5}, MARKS)
SCORES, IDS, PLACES = HEADER, HEADER + 12, HEADER + 24


def changed(at, form, value):
    content = bytearray(SOUND)
    struct.pack_into(f"<{form}", content, at, value)
    return bytes(content)


@pytest.mark.parametrize(
    "content, said",
    [
        (b"", "no unigram file"),
        (b"PIRKUNI2" + SOUND[8:], "no unigram file"),
        (SOUND[:-1], "cut short"),
        (SOUND + b"x", "longer than its header says"),
        (changed(8, "I", 0), "cut short"),
        (changed(8, "I", 2**31), "cut short"),
        (changed(16, "I", 2**31), "lacks a mark"),
        (changed(16, "I", 2**30), "an id that is none"),
        (changed(SCORES, "f", float("nan")), "a score that is none"),
        (changed(IDS, "i", -1), "an id that is none"),
        (changed(IDS, "i", 1 << 22), "an id that is none"),
        (changed(PLACES, "I", 1), "outside it"),
        (changed(PLACES + 4, "I", 0), "no length"),
        (changed(PLACES + 4, "I", 2**31), "no length|outside it"),
        (SOUND[:-4] + b"baab", "out of order"),
    ],
)
def test_a_damaged_file_is_refused(content, said):
    with pytest.raises(ValueError, match=said):
        Unigram(content)


def test_any_damage_is_refused_or_harmless():
    draw = random.Random(5)
    refused = 0
    for _ in range(3_000):
        content = bytearray(SOUND)
        for _ in range(draw.randint(1, 3)):
            content[draw.randrange(8, len(content))] = draw.randrange(256)
        try:
            unigram = Unigram(bytes(content))
        except ValueError:
            refused += 1
            continue
        unigram.encode([b"abba", bytes(draw.randrange(256) for _ in range(9))], head=2, limit=9)
    assert refused > 1_000


def test_a_file_that_lies_askew_is_refused():
    with pytest.raises(ValueError, match="multiple of 4"):
        Unigram(memoryview(b"x" + SOUND)[1:])


def test_many_threads_get_what_one_gets():
    draw = random.Random(3)
    unigram, _ = vocabulary(drawn_vocabulary(draw, "abcdefgh", 300))
    texts = ["".join(draw.choices("abcdefgh▁", k=200)).encode() for _ in range(200)]
    alone = [unigram.tokens(text).tolist() for text in texts]
    with ThreadPoolExecutor(8) as threads:
        assert [found.tolist() for found in threads.map(unigram.tokens, texts)] == alone


def test_a_run_of_pieces_takes_time_in_proportion():
    unigram, _ = vocabulary({"a" * length: -1.0 for length in range(1, 17)})
    ids = unigram.tokens(b"a" * 100_000)
    assert len(ids) == 100_000 // 16 and isinstance(ids, np.ndarray)
