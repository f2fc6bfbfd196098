"""An encoder file's weights as an ONNX graph of onnxruntime's fused int8 operators, with a card to load it.

The oracle of the compiled encoder, and what the benchmarks measure beside it. One text runs at a time,
because the graph takes one scale for all activations of a run. Needs onnx to be written, and to run the
extra `onnx`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from pi_rank.embedding.registry import cards_folder
from tests.reference.embedding.encoder import Encoder

OPSET, IR_VERSION = 17, 9  # read by every onnxruntime since 1.16


class BertGraph:
    """Collects the nodes and constants of one encoder; `model()` returns the finished ONNX model."""

    def __init__(self, file: Encoder) -> None:
        self.file = file
        self.nodes, self.constants = [], {}

    def constant(self, name, value):
        self.constants[name] = np.ascontiguousarray(value)
        return name

    def add(self, operator, inputs, *outputs, domain="", **attributes):
        name = f"{operator}:{outputs[0]}"
        self.nodes.append(helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes))
        return outputs[0]

    def fused(self, operator, inputs, output, **attributes):
        return self.add(operator, inputs, output, domain="com.microsoft", **attributes)

    def weights(self, name, product):
        """Names of the int8 matrix [in, out], its scales and its zero points, both [out]."""
        _, matrix, scale, _, _ = product
        return (
            self.constant(f"{name}.int8", matrix.T.astype(np.int8)),
            self.constant(f"{name}.scale", scale),
            self.constant(f"{name}.zero", np.zeros(len(scale), np.int8)),
        )

    def embeddings(self):
        """Token rows are dequantised after the look-up."""
        file = self.file
        rows = self.add("Gather", [self.constant("tokens.int8", file.tokens), "input_ids"], "token_rows")
        scales = self.constant("tokens.scale", file.scales[:, None])
        row_scales = self.add("Gather", [scales, "input_ids"], "token_scales")
        floats = self.add("Cast", [rows], "token_floats", to=TensorProto.FLOAT)
        tokens = self.add("Mul", [floats, row_scales], "tokens")
        length = self.add("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self.constant("zero", np.zeros(1, np.int64))
        positions = self.constant("positions", file.rows)
        window = self.add("Slice", [positions, zero, length, zero], "position_rows")
        summed = self.add("Add", [tokens, window], "embedded")
        return self.add(
            "LayerNormalization", [summed, *self.norm(0)], "hidden.0", epsilon=float(file.epsilon)
        )

    def norm(self, index):
        scale, bias = self.file.norms[index]
        return self.constant(f"norm.{index}.scale", scale), self.constant(f"norm.{index}.bias", bias)

    def even(self, value, name, product):
        return self.add("Mul", [value, self.constant(f"{name}.factor", product[0])], f"{name}.even")

    def attention(self, hidden, name, product):
        values, scales, zeros = self.weights(name, product)
        source = [f"{name}.input", f"{name}.input.scale", f"{name}.input.zero"]
        self.add("DynamicQuantizeLinear", [self.even(hidden, name, product)], *source)
        bias, no_mask = self.constant(f"{name}.bias", product[4]), ""
        inputs = [source[0], values, bias, source[1], scales, no_mask, source[2], zeros]
        return self.fused("QAttention", inputs, f"{name}.context", num_heads=self.file.heads)

    def linear(self, value, name, product):
        """Matrix product without its bias, which the operator that follows adds."""
        inputs = [self.even(value, name, product), *self.weights(name, product)]
        return self.fused("DynamicQuantizeMatMul", inputs, f"{name}.product")

    def residual(self, value, skip, norm, product, output):
        """Adds bias and residual and normalises, in one operator."""
        bias = self.constant(f"{output}.bias", product[4])
        inputs = [value, skip, *self.norm(norm), bias]
        return self.fused("SkipLayerNormalization", inputs, output, epsilon=float(self.file.epsilon))

    def layer(self, hidden, index):
        name = f"layer.{index}"
        qkv, mix, widen, narrow = self.file.products[4 * index : 4 * index + 4]
        mixed = self.linear(self.attention(hidden, f"{name}.qkv", qkv), f"{name}.mix", mix)
        attended = self.residual(mixed, hidden, 2 * index + 1, mix, f"{name}.attended")
        wide = self.linear(attended, f"{name}.widen", widen)
        bias = self.constant(f"{name}.widen.bias", widen[4])
        active = self.fused("BiasGelu", [wide, bias], f"{name}.active")
        product = self.linear(active, f"{name}.narrow", narrow)
        return self.residual(product, attended, 2 * index + 2, narrow, f"hidden.{index + 1}")

    def model(self):
        """input_ids int64 [1, tokens] to last_hidden_state float32 [1, tokens, width], checked."""
        hidden = self.embeddings()
        for index in range(self.file.layers):
            hidden = self.layer(hidden, index)
        self.add("Identity", [hidden], "last_hidden_state")
        shape = [1, "tokens", self.file.width]
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(value, name) for name, value in sorted(self.constants.items())],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        checker.check_model(model)
        return model


def write_card(card, folder: Path) -> Path:
    """The path of an `OnnxCard` of an `EncoderCard`'s weights, written into `folder` with its files."""
    file = Encoder((card.folder / "encoder.bin").read_bytes())
    name = f"{card.id}-onnx"
    files = {
        "model.onnx": BertGraph(file).model().SerializeToString(),
        "tokenizer.json": (cards_folder() / "static-256" / "tokenizer.json").read_bytes(),
    }
    (folder / name).mkdir(parents=True)
    for file_name, content in files.items():
        (folder / name / file_name).write_bytes(content)
    digests = "".join(f'"{key}" = "{hashlib.sha256(data).hexdigest()}"\n' for key, data in files.items())
    fields = (
        f'runtime = "onnx"\nid = "{name}"\nsummary = "{card.id} in onnxruntime"\nsource = "{card.model_id}"\n'
    )
    fields += (
        f'licence = "{card.licence}"\ndirectory = "{name}"\ndimension = {card.dimension}\npooling = "mean"\n'
    )
    fields += f"max_tokens = {card.max_tokens}\nhead_tokens = {card.head_tokens}\n"
    path = folder / f"{name}.toml"
    path.write_text(f"{fields}\n[files]\n{digests}", encoding="utf-8", newline="\n")
    return path
