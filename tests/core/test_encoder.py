"""The compiled encoder against the same in numpy, to the bit, with each kernel of this processor."""

from __future__ import annotations

import math
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_rank._core.encoder import Encoder, checksum, kernels
from tests.reference.embedding import encoder as reference
from tests.support.encoder_files import random_file

SHAPES = [
    {"layers": 2, "width": 64, "inner": 128, "heads": 2},
    {"layers": 1, "width": 192, "inner": 256, "heads": 3},
    {"layers": 3, "width": 128, "inner": 64, "heads": 8},
]


@cache
def content(shape=0):
    return random_file(**SHAPES[shape], vocabulary=50, positions=40)


def encode(encoder, texts):
    ids = np.array([token for text in texts for token in text], np.int32)
    return encoder.encode(ids, np.cumsum([0, *map(len, texts)]).astype(np.int32))


TEXTS = st.lists(st.lists(st.integers(0, 49), min_size=1, max_size=40), min_size=1, max_size=6)


@pytest.mark.parametrize("kernel", kernels())
@settings(max_examples=25, deadline=None)
@given(TEXTS, st.integers(0, len(SHAPES) - 1))
def test_every_kernel_gives_the_bits_of_numpy(kernel, texts, shape):
    found = encode(Encoder(content(shape), kernel), texts)
    plain = reference.Encoder(content(shape))
    assert found.tobytes() == np.stack([plain.encode(text) for text in texts]).tobytes()


@pytest.mark.parametrize("kernel", kernels())
def test_a_text_has_one_vector_whatever_is_encoded_with_it(kernel):
    encoder = Encoder(content(), kernel)
    texts = [[1 + n % 7] * (1 + n) for n in range(40)]
    alone = [encode(encoder, [text])[0].tobytes() for text in texts]
    assert [row.tobytes() for row in encode(encoder, texts)] == alone
    assert [row.tobytes() for row in encode(encoder, texts[::-1])] == alone[::-1]


def test_eight_threads_get_what_one_gets():
    encoder = Encoder(content(1))
    draw = np.random.default_rng(0)
    batches = [[draw.integers(0, 50, draw.integers(1, 41)).tolist() for _ in range(5)] for _ in range(64)]
    expected = [encode(encoder, batch).tobytes() for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        assert [
            found.tobytes() for found in pool.map(lambda batch: encode(encoder, batch), batches)
        ] == expected


def test_the_gil_is_free_while_it_encodes():
    encoder = Encoder(random_file(layers=6, width=384, inner=1536, heads=12, positions=512), "plain")
    worker = threading.Thread(target=encode, args=(encoder, [[1] * 512]))  # some hundreds of milliseconds
    worker.start()
    turns = 0
    while worker.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 10


def test_approximations_of_the_reference():
    """Its polynomials, which the kernels share, against the functions themselves."""
    x = np.linspace(-12, 12, 100_001).astype(np.float32)
    phi = np.array([0.5 * (1 + math.erf(value / math.sqrt(2))) for value in x])
    assert np.abs(reference.gelu(x) - x * phi).max() < 6e-5
    assert np.abs(reference.gelu(x) - x * phi)[np.abs(x) < 8].max() < 4e-5
    low = np.linspace(-86, 0, 100_001).astype(np.float32)
    assert np.abs(reference.exp(low) / np.exp(low.astype(np.float64)) - 1).max() < 1e-6
    assert reference.exp(np.float32([-200]))[0] < 1e-37


def test_int8_is_near_to_float():
    """A pass in float64 over the dequantised weights: what quantised activations cost."""
    plain = reference.Encoder(content(2))
    for text in ([3], [1, 2, 3, 4, 5], list(range(40))):
        assert plain.encode(text) @ float_pass(plain, text) > 0.99


def float_pass(plain, ids):
    def norm(rows, weights):
        centred = rows - rows.mean(1, keepdims=True)
        return centred / np.sqrt(centred.var(1, keepdims=True) + plain.epsilon) * weights[0] + weights[1]

    def product(rows, weights):
        factor, matrix, scale, _, bias = weights
        return (rows * factor) @ (matrix * scale[:, None].astype(np.float64)).T + bias

    hidden = norm(
        plain.tokens[ids] * plain.scales[ids, None].astype(np.float64) + plain.rows[: len(ids)],
        plain.norms[0],
    )
    for layer in range(plain.layers):
        qkv, mix, widen, narrow = plain.products[4 * layer : 4 * layer + 4]
        query, key, value = product(hidden, qkv).reshape(len(ids), 3, plain.heads, -1).transpose(1, 2, 0, 3)
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        hidden = norm(
            product(mixed.transpose(1, 0, 2).reshape(len(ids), -1), mix) + hidden, plain.norms[2 * layer + 1]
        )
        wide = product(hidden, widen)
        active = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        hidden = norm(product(active, narrow) + hidden, plain.norms[2 * layer + 2])
    mean = hidden.mean(0)
    return mean / np.linalg.norm(mean)


def altered(at, new):
    data = bytearray(content())
    data[at : at + len(new)] = new
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"PIRK", "is no encoder file of this version"),
        (b"\x08\x07ir" * 50, "is no encoder file of this version"),
        (altered(0, b"PIRKENC2"), "is no encoder file of this version"),
        (content()[:-64], "is cut short"),
        (content()[:100], "is cut short"),
        (content() + bytes(64), "is longer than its header says"),
        (altered(12, struct.pack("<I", 63)), "is of an architecture that this version does not run"),
        (altered(12, struct.pack("<I", 0)), "is of an architecture that this version does not run"),
        (altered(16, struct.pack("<I", 5)), "is of an architecture that this version does not run"),
        (altered(24, struct.pack("<I", 2**32 - 1)), "is of an architecture that this version does not run"),
        (altered(24, struct.pack("<I", 2**21)), "is cut short"),
        (altered(36, struct.pack("<f", math.nan)), "is of an architecture that this version does not run"),
        (altered(64 + 50 * 64, struct.pack("<f", math.nan)), "holds a number that is not finite"),
        (altered(64 + 50 * 64, struct.pack("<f", -math.inf)), "holds a number that is not finite"),
    ],
)
def test_files_that_are_none(data, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Encoder(data)


@pytest.mark.parametrize("kernel", kernels())
@pytest.mark.parametrize("scale", [3e38, -3e38, 1e-45, 0.0])
def test_scales_that_overflow_end_in_no_undefined_behaviour(kernel, scale):
    """The vector may be no vector then; who encodes looks at that."""
    data = bytearray(content())
    plain = reference.Encoder(content())
    first = content().index(plain.products[0][2].tobytes())
    data[first : first + 4 * 64] = struct.pack("<f", scale) * 64
    assert encode(Encoder(bytes(data), kernel), [[1, 2, 3]]).shape == (1, 64)


@pytest.mark.parametrize(
    ("ids", "starts", "message"),
    [
        ([1], [], "starts must begin with 0"),
        ([1], [1, 1], "starts must begin with 0"),
        ([1], [0, 0, 1], "text 0 has 0 tokens"),
        ([1, 2], [0, 2, 1], "text 1 has -1 tokens"),
        ([1] * 41, [0, 41], "text 0 has 41 tokens, which must be from 1 to 40"),
        ([1, 2], [0, 1], "starts end at 1 of 2 ids"),
        ([1], [0, 2], "starts end at 2 of 1 ids"),
        ([50], [0, 1], r"ids\[0\] is 50, but there are 50 tokens"),
        ([-1], [0, 1], r"ids\[0\] is -1, but there are 50 tokens"),
    ],
)
def test_texts_that_are_none(ids, starts, message):
    with pytest.raises(ValueError, match=message):
        Encoder(content()).encode(np.array(ids, np.int32), np.array(starts, np.int32))


def test_no_texts():
    assert Encoder(content()).encode(np.zeros(0, np.int32), np.zeros(1, np.int32)).shape == (0, 64)


def test_an_unknown_kernel():
    with pytest.raises(ValueError, match=r"unknown kernel 'abacus'; this processor runs .*plain"):
        Encoder(content(), "abacus")


def reference_checksum(data):
    mask, factor = 2**64 - 1, 0x9E3779B97F4A7C15

    def step(state, word):
        x = (state ^ word) * factor & mask
        return (x << 29 | x >> 35) & mask

    chain = list(range(1, 9))
    padded = data + bytes(64 - len(data) % 64)
    for place, (word,) in enumerate(struct.iter_unpack("<Q", padded)):
        chain[place % 8] = step(chain[place % 8], word)
    found = [len(data), ~len(data) & mask]
    for at in range(8):
        found = [step(found[0], chain[at]), step(found[1], chain[7 - at])]
    return "".join(f"{x ^ x >> 32:016x}" for x in found)


@given(st.binary(max_size=300))
def test_the_checksum(data):
    assert checksum(data) == reference_checksum(data)


@given(st.binary(min_size=1, max_size=200), st.data())
def test_a_changed_bit_changes_the_checksum(data, pick):
    at = pick.draw(st.integers(0, 8 * len(data) - 1))
    other = bytearray(data)
    other[at // 8] ^= 1 << at % 8
    assert checksum(bytes(other)) != checksum(data)
