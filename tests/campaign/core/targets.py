"""For each compiled routine: a few calls with what a feed gives, held to its reference where there is one.

Arguments that a routine promises to refuse are given as well: it may raise what it says, and nothing else.
"""

from __future__ import annotations

import math

import numpy as np

from pi_rank._core import (
    alike,
    fusion,
    graph,
    history,
    names,
    negative_scope,
    overlap,
    pieces,
    postings,
    relevance,
)
from pi_rank._core.encoder import Encoder
from pi_rank._core.unigram import Unigram
from pi_rank._core.vectors import VectorTable
from pi_rank._core.wordpiece import WordPiece
from pi_rank.errors import VectorError
from pi_rank.ranking.analysis import pack_terms
from pi_rank.ranking.lexical import LexicalIndex
from tests.reference import bm25 as bm25_reference
from tests.reference import fusion as fusion_reference
from tests.reference import history as history_reference
from tests.reference import names as names_reference
from tests.reference import negative_scope as scope_reference
from tests.reference import vectors as vectors_reference
from tests.reference.embedding import wordpiece as wordpiece_reference
from tests.reference.pieces import plain_piece_ends
from tests.support.encoder_files import random_file

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
STEMS = [*"abcdefgh", "ü", "部署"]
NAMES = ["foo_bar", "#4521", "getUserName", "a/b.c", "the", "v1.2.3", "ÄB-12"]
MODEL = random_file(layers=1, width=64, inner=64, heads=2, vocabulary=20, positions=12)


def pieces_target(feed):
    data, lines = feed.bytes(2_000), feed.number(1, 9)
    assert pieces.piece_ends(data, lines) == plain_piece_ends(data, lines)


def wordpiece_target(feed):
    words = feed.list(12, lambda: feed.choice(["a", "##a", "b", "##b", "ab", "漢", "é"]))
    tokens = list(dict.fromkeys([*MARKS, *words]))
    made, text = WordPiece("\n".join(tokens).encode()), feed.text(200)
    if text.isascii():  # elsewhere this Python's Unicode may be another version
        expected = wordpiece_reference.tokens(text, {token: at for at, token in enumerate(tokens)})
        assert made.tokens(text).tolist() == expected
    try:
        made.encode([text, feed.text(50)], head=feed.number(0, 5), limit=feed.number(0, 20))
        WordPiece(feed.bytes(200))
    except ValueError:
        return


def unigram_target(feed):
    try:
        made = Unigram(feed.bytes(600))
        made.tokens(feed.bytes(200))
        made.encode([feed.bytes(90)], head=feed.number(0, 5), limit=feed.number(0, 20))
    except ValueError:
        return


def history_target(feed):
    messages = feed.list(4, feed.value)
    marks = [value for value in feed.list(4, feed.value) if isinstance(value, dict)]
    found, expected = history.gather_records(marks, "pi"), history_reference.gather_records(marks, "pi")
    assert repr(found) == repr(expected)
    looked = history.intact_marks(messages, set(), lambda message: [])
    assert looked == history_reference.intact_marks(messages, set(), lambda message: [])


def postings_target(feed):
    try:
        segment = postings.build(feed.list(6, lambda: feed.bytes(30)), feed.number(0, 2**31 - 1))
    except ValueError:
        segment = postings.build([_document(feed) for _ in range(5)])
    try:
        postings.selected(segment, feed.ints(feed.number(0, 5), 0, 6))
        postings.merge(segment, postings.build([_document(feed)], feed.number(0, 9)))
        postings.live_frequencies(segment, feed.ints(feed.number(0, 8), 0, 1, np.uint8))
    except ValueError:
        return


def bm25_target(feed):
    documents = feed.list(12, lambda: _document(feed))
    terms = tuple(feed.list(6, lambda: feed.choice([*STEMS, "the", "absent", ""])))
    index, k = LexicalIndex.build(documents), feed.number(0, 12)
    ties, live = feed.permutation(len(documents)), dict(enumerate(documents))
    eligible = feed.ints(len(documents), 0, 1, np.uint8)
    rows, scores = index.search(terms, k, eligible=eligible, tie_rank=ties)
    expected = bm25_reference.bm25(live, terms, k, eligible=eligible.tolist(), tie_rank=ties.tolist())
    assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == expected


def overlap_target(feed):
    rows = np.array(sorted({feed.number(0, 20) for _ in range(feed.number(0, 6))}), np.int32)
    documents = [_document(feed) for _ in range(feed.number(0, 6))]
    terms = tuple(dict.fromkeys(feed.list(5, lambda: feed.choice([*STEMS, "absent"]))))
    eligible, ties = feed.ints(feed.number(0, 22), 0, 1, np.uint8), feed.permutation(feed.number(0, 22))
    try:
        overlap.OverlapIndex(postings.build(documents), rows).best(
            terms, feed.number(0, 5), 0.1, eligible, ties
        )
    except ValueError:
        return


def fusion_target(feed):
    count = feed.number(0, 20)
    lists = [feed.ints(feed.number(0, 12), -2, count) for _ in range(feed.number(0, 4))]
    weights = tuple(feed.choice([0.0, 0.45, 3.0]) for _ in lists)
    ties, limit = feed.permutation(count), feed.number(0, 12)
    try:
        rows, scores = fusion.fuse(tuple(lists), weights, 60, limit, ties)
    except ValueError:
        assert any(((rows < -1) | (rows >= count)).any() for rows in lists)
        return
    plain = [rows.tolist() for rows in lists]
    expected = fusion_reference.weighted_rrf(plain, weights, 60, limit, ties.tolist())
    assert list(zip(rows.tolist(), scores.tolist(), strict=True)) == expected


def negative_scope_target(feed):
    phrases = feed.list(4, lambda: feed.list(2, lambda: feed.text(20)))
    words = [""] + [phrase for of_row in phrases for phrase in of_row]
    segments = feed.list(3, lambda: feed.text(60) + feed.choice(words))
    rows, indexes = negative_scope.PhraseAutomaton.build(phrases).match(segments)
    assert list(zip(rows.tolist(), indexes.tolist(), strict=True)) == scope_reference.match(phrases, segments)


def vectors_target(feed):
    vectors, row_node = _vectors(feed), feed.ints(feed.number(1, 20), -2, 12)
    eligible, ties = feed.ints(len(row_node), 0, 1, np.uint8), feed.permutation(len(row_node))
    query, k = vectors[feed.number(0, len(vectors) - 1)], feed.number(0, 25)
    try:
        table = VectorTable.build(vectors, row_node)
        found = table.search(query, k, tie_rank=ties, eligible=eligible)
        expected = vectors_reference.search(vectors, row_node, query, k, ties, eligible)
        assert list(zip(*(each.tolist() for each in found), strict=True)) == expected
        table.search(query[: feed.number(0, 33)], k, tie_rank=ties[: feed.number(0, 20)], eligible=eligible)
    except (VectorError, ValueError):
        return


def graph_target(feed):
    nodes = feed.number(0, 8)
    ground = feed.ints(nodes * 4, -2, nodes).reshape(nodes, 4)
    upper = feed.ints(feed.number(0, 6) * 4, -2, nodes).reshape(-1, 4)
    begin, top = feed.ints(feed.number(0, nodes + 2), -1, 7), feed.ints(feed.number(0, 3), -2, nodes)
    vectors = vectors_reference.unit_vectors(feed.number(0, 99), max(1, nodes), 8)
    try:
        links = graph.LinkGraph(ground, upper, begin, top)
        table = VectorTable.build(vectors, np.arange(len(vectors), dtype=np.int32))
        links.nearest(table, vectors[0], feed.number(0, 9))
    except (VectorError, ValueError):
        return


def names_target(feed):
    texts, query = feed.list(5, lambda: _named_text(feed)), _named_text(feed)
    for text in [*texts, query]:
        assert names.names_in(text) == names_reference.names_in(text)
    entries = names.build(texts)
    found = names.find((names.Segment(entries),), query, feed.ints(len(texts), 0, 1, np.uint8))
    assert found is None or all(0 <= row < len(texts) for row in found[0].tolist())
    names.merge(entries, names.build(texts[:2], len(texts)))


def encoder_target(feed):
    content = bytearray(MODEL)
    if feed.number(0, 3) == 1:
        for _ in range(feed.number(1, 4)):
            content[feed.number(0, 400)] = feed.number(0, 255)
        if feed.number(0, 3) == 1:
            del content[feed.number(0, len(content) - 1) :]
    try:
        made = Encoder(bytes(content))
        vectors = made.encode(feed.ints(feed.number(0, 30), -1, 20), feed.ints(feed.number(0, 5), 0, 31))
        assert np.isfinite(vectors).all() or bytes(content) != MODEL
    except ValueError:
        return


def relevance_target(feed):
    count = feed.number(0, 12)
    near, share, wanted = ([feed.number(-4, 4) / 4 for _ in range(count)] for _ in range(3))
    words, read, intercept, evidence, best = (feed.number(-8, 8) / 4 for _ in range(5))
    least, phrases = feed.choice([0.0, 0.2, 0.5, 1.0]), feed.choice([None, np.array(wanted, np.float64)])
    likely, places, most = relevance.relevance(
        np.array(near), np.array(share), phrases, words, read, intercept, evidence, best, least
    )
    speaks = [max(read * x + words * y, 0.02) for x, y in zip(near, share, strict=True)]
    if phrases is not None:
        speaks = [own + 0.5 * more for own, more in zip(speaks, wanted, strict=True)]
    if not speaks or min(speaks) <= 0:
        return
    top = math.log(max(speaks))
    plain = [_logistic(intercept + evidence * math.log(x) + best * (math.log(x) - top)) for x in speaks]
    assert math.isclose(most, _logistic(intercept + evidence * top), rel_tol=1e-9)
    assert places.tolist() == sorted(places.tolist())
    assert all(
        math.isclose(a, plain[at], rel_tol=1e-9) for a, at in zip(likely, places.tolist(), strict=True)
    )
    clear = {at for at, each in enumerate(plain) if each > least + 1e-9}
    assert clear <= set(places.tolist())
    assert all(plain[at] >= least - 1e-9 for at in places.tolist())


def _logistic(value):
    return 1 / (1 + math.exp(-value))


def alike_target(feed):
    vectors, row_node = _vectors(feed), feed.ints(feed.number(1, 20), -1, 11)
    try:
        table = VectorTable.build(vectors, row_node)
        first, second, _ = alike.alike(table, feed.ints(feed.number(0, 12), -1, 20), 0.5)
        assert (first < second).all()
    except (VectorError, ValueError):
        return


def _vectors(feed):
    nodes, dimension = feed.number(1, 12), feed.choice([1, 2, 7, 8, 32, 33])
    return vectors_reference.unit_vectors(feed.number(0, 2**32 - 1), nodes, dimension, max(1, nodes // 2))


def _document(feed):
    counts = {feed.choice(STEMS): feed.number(1, 5) for _ in range(feed.number(0, 5))}
    return pack_terms(counts, {"the": feed.number(1, 3)} if feed.number(0, 1) else {})


def _named_text(feed):
    made = feed.list(4, lambda: feed.choice(NAMES))
    return " ".join(made) + feed.text(30).encode("utf-8", "ignore").decode()


TARGETS = {
    name.removesuffix("_target"): target
    for name, target in list(globals().items())
    if name.endswith("_target")
}
