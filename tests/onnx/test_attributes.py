"""Attributes with values that ONNX does not have: a model with one is refused when it is loaded."""

import onnx
import pytest
from onnx import TensorProto, helper

import ep.onnx
from ep.onnx.table import OPERATORS

FREE_WORDS = {"equation", "value_string"}
NUMBERS = {
    "axis", "batch_axis", "batch_dims", "block_size", "blocksize", "dtype", "end", "group", "hidden_size",
    "ignore_index", "k", "kv_num_heads", "left_window_size", "num_groups", "num_heads", "num_outputs",
    "num_scan_inputs", "output_datatype", "output_dtype", "p", "precision", "q_num_heads", "qk_matmul_output_mode",
    "right_window_size", "rotary_embedding_dim", "seed", "size", "softmax_precision", "start", "stash_type",
    "time_axis", "to", "value_int",
}  # fmt: skip
"""The integers that are more than a choice of two."""
CASES = [
    (name, schema.since_version, attribute, value, {})
    for name, lines in OPERATORS.items()
    if not all(line.domain for line in lines)
    for schema in [onnx.defs.get_schema(name)]
    if not schema.deprecated
    for attribute, one in schema.attributes.items()
    for kind, free, values in (
        (onnx.defs.OpSchema.AttrType.STRING, FREE_WORDS, ["sideways", ""]),
        (onnx.defs.OpSchema.AttrType.INT, NUMBERS, [2, -1]),
    )
    if one.type == kind and attribute not in free
    for value in values
] + [
    ("Upsample", 9, "mode", "sideways", {}),
    ("Attention", 23, "qk_matmul_output_mode", 4, {}),
    *((name, 22, "clip", -0.5, {}) for name in ("LSTM", "GRU", "RNN")),
    ("LSTM", 22, "activations", ["Sigmoid", "Tanh", "Tanh", "Tanh"], {}),
    ("LSTM", 22, "activations", ["Sigmoid", "Tanh", "Tanh"] * 2, {}),
    ("GRU", 22, "activations", ["Sigmoid"], {}),
    ("GRU", 22, "activations", ["Sigmoid", "Tanh", "Tanh"], {}),
    ("RNN", 22, "activations", ["Relu", "Tanh"], {}),
    ("RNN", 22, "activations", ["Tanh"] * 3, {"direction": "bidirectional"}),
    ("RNN", 22, "activation_alpha", [0.5, 0.25], {"activations": ["LeakyRelu"]}),
    ("RNN", 22, "activation_beta", [0.5], {"activations": ["LeakyRelu"]}),
    ("LSTM", 22, "activation_alpha", [0.5], {}),
]


def loaded(name, opset, attributes):
    """Load a model of one node with inputs of unknown shapes."""
    schema = onnx.defs.get_schema(name, opset)
    fixed = {"to": 1, "blocksize": 2, "hidden_size": 3, "axis": 0, "kernel_shape": [2], "num_groups": 1, "size": 1}
    attributes = {key: one for key, one in fixed.items() if key in schema.attributes} | attributes
    names = [f"x{k}" for k in range(max(schema.min_input, 1 if schema.max_input else 0))]
    node = helper.make_node(name, names, [f"y{k}" for k in range(max(schema.min_output, 1))], "the node", **attributes)
    inputs = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in names]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)])
    return ep.onnx.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]} {case[2]} {case[3]}")
def test_values_that_there_are_not(case):
    name, opset, attribute, value, others = case
    with pytest.raises(ep.onnx.UnsupportedError, match=rf"'the node' \({name}\): {attribute} (is|has) .*; it must "):
        loaded(name, opset, {**others, attribute: value})


def test_values_that_there_are():
    """ONNX's default of RNN has one function more than a single direction has."""
    loaded("RNN", 22, {})
    loaded("RNN", 22, {"activations": ["Tanh", "Tanh"], "direction": "reverse"})
    loaded("RNN", 22, {"activations": ["LeakyRelu"], "activation_alpha": [0.5], "clip": 0.0})
    loaded("LSTM", 22, {"activations": ["HardSigmoid", "Tanh", "Affine"], "activation_alpha": [1.0, 2.0]})
