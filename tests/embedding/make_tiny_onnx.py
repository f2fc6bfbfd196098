"""Writes tests/embedding/tiny-onnx/: a real ONNX encoder of 64 words whose hidden state is a table's row.

Needs onnx: `python -m tests.embedding.make_tiny_onnx`. Its vector of a text is the mean of the rows.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "tiny-onnx"
DIMENSION = 16
MARKS = ["[CLS]", "[SEP]", "[UNK]"]
WORDS = [f"word{number}" for number in range(64)]


def main():
    from onnx import TensorProto, checker, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {token: index for index, token in enumerate([*MARKS, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    table = np.random.default_rng(0).standard_normal((len(vocabulary), DIMENSION)).astype(np.float32)
    table[: len(MARKS)] *= 0.1
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["hidden"])],
        "tiny-onnx",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "tokens", DIMENSION])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    FOLDER.mkdir(exist_ok=True)
    files = {
        "model.onnx": model.SerializeToString(),
        "tokenizer.json": json.dumps(json.loads(tokenizer.to_str()), indent=1).encode() + b"\n",
        "LICENSE": b"The project's own licence.\n",
    }
    for name, content in files.items():
        (FOLDER / name).write_bytes(content)
    digests = "".join(
        f'"{name}" = "{hashlib.sha256(content).hexdigest()}"\n' for name, content in files.items()
    )
    card = f"""runtime = "onnx"
id = "tiny-onnx"
summary = "a table of 64 words, for tests"
source = "tests/embedding/make_tiny_onnx.py"
licence = "Apache-2.0"
directory = "tiny-onnx"
dimension = {DIMENSION}
pooling = "mean"
max_tokens = 64
head_tokens = 32

[files]
{digests}"""
    FOLDER.with_suffix(".toml").write_text(card, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
