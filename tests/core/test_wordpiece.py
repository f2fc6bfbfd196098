"""The compiled WordPiece against a plain one, and against `tokenizers` where it is installed."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank._core.wordpiece import WordPiece
from tests.embedding.odd_texts import odd_text, readable
from tests.embedding.tokenizers_oracle import oracle, shipped_pieces, shipped_strings
from tests.reference.embedding import wordpiece as reference

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Scripts whose characters are what they are in every version of Unicode that a Python has.
STABLE = st.one_of(
    st.characters(max_codepoint=0x24F),
    st.characters(min_codepoint=0x391, max_codepoint=0x3CE),
    st.characters(min_codepoint=0x400, max_codepoint=0x4FF),
    st.characters(min_codepoint=0x5D0, max_codepoint=0x5EA),
    st.characters(
        min_codepoint=0x3041, max_codepoint=0x30FE, exclude_characters="\u3097\u3098\u3099\u309a\u309b\u309c"
    ),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5),
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
    st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF, categories=["Cs"]),
    st.sampled_from("\u0301\u0308\u200d\u3000\u2003\u2026\u2014\ue000\U0001f600\U0001d49c"),
)
TEXTS = st.lists(st.one_of(STABLE, st.sampled_from([*MARKS, "the ", "ing", "##", "[", " "]))).map("".join)


def small(*words):
    return WordPiece("\n".join([*MARKS, *words]).encode())


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_the_plain_tokenizer_gives_the_same(text):
    assert shipped_pieces().tokens(text).tolist() == reference.tokens(text, vocabulary())


def vocabulary():
    if not _ids:
        _ids.update({token: index for index, token in enumerate(shipped_strings().decode().split("\n"))})
    return _ids


_ids: dict[str, int] = {}


def test_thousands_of_odd_texts_against_tokenizers():
    pytest.importorskip("tokenizers", reason="the oracle is tokenizers (extra onnx)")
    draw = random.Random(7)
    for _ in range(6_000):
        text = odd_text(draw)
        expected = oracle().encode(readable(text), add_special_tokens=False).ids
        assert shipped_pieces().tokens(text).tolist() == expected, ascii(text)


def test_every_code_point_against_tokenizers():
    """In words of their own, many to a text: 1,112,064 of them in a second or two."""
    pytest.importorskip("tokenizers", reason="the oracle is tokenizers (extra onnx)")
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for start in range(0, len(codes), 4096):
        text = " ".join(f"a{chr(code)}b" for code in codes[start : start + 4096])
        assert shipped_pieces().tokens(text).tolist() == oracle().encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" \t\n\0\u200d", []),
        ("ab", [5, 6]),
        ("ABB", [5, 6, 6]),
        ("a" * 100, [5] + [7] * 99),
        ("a" * 101, [1]),
        ("ac", [1]),
        ("a\u0301b", [5, 6]),
        ("a[SEP]b", [5, 3, 1]),
        ("a[sep]", [5, 1, 1, 1]),
        ("\ud83d\ude00", [8]),
        ("a\ud83db", [5, 6]),
        ("漢a字", [9, 5, 1]),
    ],
)
def test_what_becomes_of(text, ids):
    assert small("a", "##b", "##a", "😀", "漢").tokens(text).tolist() == ids


def test_a_long_text_keeps_its_first_and_last_tokens():
    pieces = small("a", "b")
    ids, starts = pieces.encode(["a " * 300 + "b " * 300, "", "a"], head=4, limit=10)
    assert starts.tolist() == [0, 10, 12, 15]
    assert ids.tolist() == [2, 5, 5, 5, 6, 6, 6, 6, 6, 3, 2, 3, 2, 5, 3]


@pytest.mark.parametrize("text", ["a" * 1_000_000, "word " * 200_000, "漢" * 1_000_000, "\u0378" * 1_000_000])
def test_a_megabyte(text):
    ids, starts = shipped_pieces().encode([text], head=32, limit=128)
    assert len(ids) == starts[1] <= 128


def test_eight_threads_get_what_one_gets():
    draw = random.Random(1)
    texts = [odd_text(draw) for _ in range(400)]
    expected = [shipped_pieces().tokens(text).tolist() for text in texts]
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: shipped_pieces().encode(texts, head=1, limit=10_000), range(8)):
            ids, starts = found
            assert [ids[a + 1 : b - 1].tolist() for a, b in pairwise(starts)] == expected


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (b"", r"has no token \[UNK\]"),
        (b"[UNK]\n[CLS]\n[SEP]\n[PAD]", r"has no token \[MASK\]"),
        ("\n".join([*MARKS, "a", "a"]).encode(), "has a token twice: a"),
        ("\n".join([*MARKS, "", "a"]).encode(), "has an empty token"),
    ],
)
def test_vocabularies_that_are_none(lines, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        WordPiece(lines)


@pytest.mark.parametrize(("head", "limit"), [(0, 5), (5, 5), (1, 1)])
def test_limits_that_are_none(head, limit):
    with pytest.raises(ValueError, match="head must be from 1 to"):
        small().encode(["a"], head=head, limit=limit)


def test_a_text_that_is_no_string():
    with pytest.raises(TypeError, match="a text must be a str, not bytes"):
        small().encode([b"a"], head=1, limit=3)
