"""Quantized models that contradict themselves are refused when they are loaded, by an error that names the node."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import ep.onnx
from tests.onnx.quantized_models import node_of_runtime, pair, small

CONTRADICTIONS = {
    "a scale of another type": ("MatMulIntegerToFloat", {"bs": np.int32([1] * 7)}, "b_scale has dtype int32"),
    "a scale of another size": ("MatMulIntegerToFloat", {"bs": np.ones(6, np.float32)}, r"b_zero_point has shape"),
    "a zero point of another type": ("MatMulIntegerToFloat", {"bz": np.uint8([1] * 7)}, "b_zero_point has dtype uint8"),
    "a zero point of another size": ("QGemm", {"bz": np.int8([1] * 3)}, r"b_zero_point has shape \(3,\)"),
    "a sum that is no int32": ("MatMulIntegerToFloat", {"b": np.zeros((2**17, 7), np.int8)}, "k is 131072"),
    "an input that is missing": ("MatMulIntegerToFloat", {"bs": None}, "omits input b_scale"),
    "an attribute of another type": ("QGemm", {"transB": 1.0}, "attribute transB that is no int"),
    "an attribute that there is not": ("QGemm", {"delta": 1.0}, "unexpected keyword argument 'delta'"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictory_nodes_of_runtime(rng, name):
    """They are refused when the model is loaded, by an error that names the node."""
    operator, changes, words = CONTRADICTIONS[name]
    read = (
        ["a", "b", "xs", "bs", "xz", "bz"] if operator == "MatMulIntegerToFloat" else ["a", "xs", "xz", "b", "bs", "bz"]
    )
    constants = dict([*pair(rng, "x"), ("b", small(rng, (8, 7), np.int8)), *pair(rng, "b", np.int8, (7,))])
    attributes = {key: one for key, one in changes.items() if isinstance(one, float)}
    constants |= {key: one for key, one in changes.items() if key not in attributes}
    read = ["" if one in constants and constants[one] is None else one for one in read]
    given = [(key, one) for key, one in constants.items() if one is not None]
    model = node_of_runtime(operator, read, TensorProto.FLOAT, attributes, {"a": small(rng, (3, 8))}, given)
    with pytest.raises(ep.onnx.ModelError, match=f"'the_node'.*{words}"):
        ep.onnx.load(model)


def integer_node(name, read, constants, attributes=()):
    nodes = [helper.make_node(name, read, ["y"], name="the_node", **dict(attributes))]
    infos = [helper.make_tensor_value_info(one, kind, shape) for one, kind, shape in (
        ("x", TensorProto.FLOAT, None), ("a", TensorProto.UINT8, None)) if one in read]  # fmt: skip
    tensors = [numpy_helper.from_array(np.asarray(one), key) for key, one in constants.items()]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", TensorProto.INT32, None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


S, Z, M = np.float32(0.5), np.uint8(3), np.ones((8, 7), np.int8)
QLINEAR = ["a", "s", "z", "w", "ws", "wz", "s", "z"]
REFUSED = {
    "quantize: types": (
        "QuantizeLinear", ["x", "s", "z"], {"s": S, "z": np.float32(1)}, "y_zero_point has dtype float32"
    ),
    "quantize: sizes": (
        "QuantizeLinear", ["x", "s", "z"], {"s": np.ones(3, np.float32), "z": Z}, "y_zero_point has shape"
    ),
    "quantize: scale": ("QuantizeLinear", ["x", "s"], {"s": np.int8(1)}, "y_scale has dtype int8"),
    "dequantize: scale": ("DequantizeLinear", ["a", "s"], {"s": np.int8(1)}, "x_scale has dtype int8"),
    "dequantize: sizes": (
        "DequantizeLinear", ["a", "s", "z"], {"s": S, "z": np.uint8([1, 2])}, "x_zero_point has shape"
    ),
    "product: types": ("MatMulInteger", ["a", "w", "", "z"], {"w": M, "z": Z}, "b_zero_point has dtype uint8"),
    "product: sizes": ("MatMulInteger", ["a", "w", "", "z"], {"w": M, "z": np.int8([1] * 6)}, "b_zero_point has shape"),
    "product: sums": ("MatMulInteger", ["a", "w"], {"w": np.zeros((2**18, 1), np.int8)}, "k is 262144"),
    "convolution: sizes": (
        "ConvInteger", ["a", "w", "", "z"], {"w": np.ones((4, 2, 1, 1), np.int8), "z": np.int8([1] * 3)},
        "w_zero_point has shape",
    ),
    "convolution: sums": ("ConvInteger", ["a", "w"], {"w": np.zeros((1, 2**17, 2), np.int8)}, "k is 262144"),
    "quantized product: result": (
        "QLinearMatMul", QLINEAR, {"s": S, "z": Z, "w": M, "ws": np.ones(7, np.float32), "wz": np.zeros(6, np.int8)},
        "b_zero_point has shape",
    ),
    "quantized convolution: bias": (
        "QLinearConv", [*QLINEAR, "bias"],
        {"s": S, "z": Z, "w": np.ones((4, 2, 1), np.int8), "ws": S, "wz": np.int8(0), "bias": np.zeros(5, np.int32)},
        r"B has shape \(5,\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_contradictory_nodes(name):
    operator, read, constants, words = REFUSED[name]
    with pytest.raises(ep.onnx.ModelError, match=rf"node 'the_node' \({operator}\): {words}"):
        ep.onnx.load(integer_node(operator, read, constants))


def test_types_that_there_are_not():
    """They are refused when a model is loaded, with the name of the type."""
    for kind in ("INT4", "UINT4", "FLOAT8E4M3FN"):
        node = integer_node("QuantizeLinear", ["x", "s"], {"s": S}, {"output_dtype": getattr(TensorProto, kind)})
        with pytest.raises(ep.onnx.UnsupportedError, match=f"'the_node'.*type {kind} is not a DataType"):
            ep.onnx.load(node)
