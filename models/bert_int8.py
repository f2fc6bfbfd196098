"""Writes a BERT encoder as an ONNX graph of fused int8 operators, straight from its float32 weights.

The graph is written node by node instead of exported and optimised: it then depends on numpy and onnx only,
is the same bytes every time, and needs no torch. The fused operators are onnxruntime's ("com.microsoft").

Quantisation: each output channel of a weight matrix, and each row of the token table, has its own scale (one
scale for a whole matrix costs 4 points of cosine to float). Activations get one scale per tensor while the
graph runs, which is why a text must run alone; their channels are evened out first (calibrate.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from calibrate import divisors
from onnx import TensorProto, checker, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto, NodeProto

    Weights = Mapping[str, np.ndarray]

OPSET = 17
IR_VERSION = 9  # read by every onnxruntime since 1.16
# x86 processors without VNNI add the products of two neighbouring inputs in 16 bits, which saturates. Cosine
# to float there, emulated over 16 odd texts, mean and worst: 127 gives 0.992 and 0.985, 115 gives 0.995 and
# 0.990, 95 gives 0.995 and 0.986. With VNNI, 115 gives 0.997 and 0.994, as 127 does. Unsigned weights do not
# saturate and take 1.45 times as long.
WEIGHT_LIMIT = 115
TABLE_LIMIT = 127  # table rows are only looked up, never multiplied in int8


def quantise(matrix: np.ndarray, axis: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric int8: (values, float32 scales), one scale per slice that runs along `axis`."""
    peak = np.abs(matrix).max(axis=axis, keepdims=True)
    scale = np.where(peak > 0, peak / limit, 1).astype(np.float32)
    return np.rint(matrix / scale).astype(np.int8), scale.squeeze(axis)


class BertGraph:
    """Collects the nodes and constants of one encoder; `model()` returns the finished ONNX model."""

    def __init__(self, weights: Weights, peaks: Weights, *, layers: int, heads: int, epsilon: float) -> None:
        self.weights, self.peaks, self.layers, self.heads, self.epsilon = (
            weights,
            peaks,
            layers,
            heads,
            epsilon,
        )
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = np.ascontiguousarray(value)
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def add(
        self, operator: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: object
    ) -> str:
        name = f"{operator}:{outputs[0]}"
        self.nodes.append(helper.make_node(operator, inputs, outputs, name, domain=domain, **attributes))
        return outputs[0]

    def fused(self, operator: str, inputs: list[str], output: str, **attributes: object) -> str:
        return self.add(operator, inputs, output, domain="com.microsoft", **attributes)

    def int8_weight(self, name: str, matrix: np.ndarray) -> tuple[str, str, str]:
        """Names of the int8 matrix [in, out], its scales [out] and its zero points [out]."""
        values, scales = quantise(matrix.T, 0, WEIGHT_LIMIT)
        return (
            self.constant(f"{name}.int8", values),
            self.constant(f"{name}.scale", scales),
            self.constant(f"{name}.zero", np.zeros(len(scales), np.int8)),
        )

    def even_out(self, value: str, name: str, matrix: np.ndarray) -> tuple[str, np.ndarray]:
        """The input of product `name` divided per channel, and its matrix [out, in] multiplied to match."""
        divisor = divisors(self.peaks[name], matrix)
        factor = self.constant(f"{name}.factor", 1 / divisor)
        return self.add("Mul", [value, factor], f"{name}.even"), matrix * divisor

    def embeddings(self) -> str:
        """Token rows are dequantised after the look-up; the only segment is folded into the positions."""
        values, scales = quantise(self.weights["embeddings.word_embeddings.weight"], 1, TABLE_LIMIT)
        table, row_scale = (
            self.constant("tokens.int8", values),
            self.constant("tokens.scale", scales[:, None]),
        )
        segment = self.weights["embeddings.token_type_embeddings.weight"][0]
        positions = self.weights["embeddings.position_embeddings.weight"] + segment
        rows = self.add("Gather", [table, "input_ids"], "token_rows")
        row_scales = self.add("Gather", [row_scale, "input_ids"], "token_scales")
        floats = self.add("Cast", [rows], "token_floats", to=TensorProto.FLOAT)
        tokens = self.add("Mul", [floats, row_scales], "tokens")
        length = self.add("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self.constant("zero", np.zeros(1, np.int64))
        window = self.add(
            "Slice", [self.constant("positions", positions), zero, length, zero], "position_rows"
        )
        summed = self.add("Add", [tokens, window], "embedded")
        norm = [self.weight("embeddings.LayerNorm.weight"), self.weight("embeddings.LayerNorm.bias")]
        return self.add("LayerNormalization", [summed, *norm], "hidden.0", epsilon=self.epsilon)

    def attention(self, hidden: str, prefix: str) -> str:
        parts = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
        matrix = np.concatenate([self.weights[f"{part}.weight"] for part in parts])
        bias = np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        hidden, matrix = self.even_out(hidden, f"{prefix}.qkv", matrix)
        values, scales, zeros = self.int8_weight(f"{prefix}.qkv", matrix)
        source = [f"{prefix}.input", f"{prefix}.input.scale", f"{prefix}.input.zero"]
        quantised, scale, zero = source
        self.add("DynamicQuantizeLinear", [hidden], *source)
        bias_name, no_mask = self.constant(f"{prefix}.qkv.bias", bias), ""
        inputs = [quantised, values, bias_name, scale, scales, no_mask, zero, zeros]
        return self.fused("QAttention", inputs, f"{prefix}.context", num_heads=self.heads)

    def linear(self, value: str, name: str) -> str:
        """Matrix product without its bias, which the operator that follows adds."""
        matrix = self.weights[f"{name}.weight"]
        if (
            ".attention." not in name
        ):  # what attention mixes has no outlying channels (cosine 0.9998 as it is)
            value, matrix = self.even_out(value, name, matrix)
        weight = self.int8_weight(name, matrix)
        return self.fused("DynamicQuantizeMatMul", [value, *weight], f"{name}.product")

    def residual(self, value: str, skip: str, name: str, output: str) -> str:
        """Adds bias and residual and normalises, in one operator."""
        weights = ("LayerNorm.weight", "LayerNorm.bias", "dense.bias")
        inputs = [value, skip, *(self.weight(f"{name}.{weight}") for weight in weights)]
        return self.fused("SkipLayerNormalization", inputs, output, epsilon=self.epsilon)

    def layer(self, hidden: str, index: int) -> str:
        prefix = f"encoder.layer.{index}"
        context = self.attention(hidden, prefix)
        projected = self.linear(context, f"{prefix}.attention.output.dense")
        attended = self.residual(projected, hidden, f"{prefix}.attention.output", f"{prefix}.attended")
        wide = self.linear(attended, f"{prefix}.intermediate.dense")
        active = self.fused(
            "BiasGelu", [wide, self.weight(f"{prefix}.intermediate.dense.bias")], f"{prefix}.active"
        )
        narrow = self.linear(active, f"{prefix}.output.dense")
        return self.residual(narrow, attended, f"{prefix}.output", f"hidden.{index + 1}")

    def model(self, producer: str) -> ModelProto:
        """input_ids int64 [1, tokens] to last_hidden_state float32 [1, tokens, width], checked."""
        hidden = self.embeddings()
        for index in range(self.layers):
            hidden = self.layer(hidden, index)
        self.add("Identity", [hidden], "last_hidden_state")
        width = self.weights["embeddings.LayerNorm.weight"].shape[0]
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "tokens", width])],
            [numpy_helper.from_array(value, name) for name, value in sorted(self.constants.items())],
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, producer_name=producer, opset_imports=opsets, ir_version=IR_VERSION)
        checker.check_model(model)
        return model
