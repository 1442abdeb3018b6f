"""Products of dequantized bytes: they are products of bytes where this gives the same results."""

import numpy as np
import pytest
from onnx import TensorProto

import ep.onnx
from tests.onnx.quantized_models import pair, small
from tests.onnx.test_models import model_of
from tests.onnx.test_quantized import check

SHAPES = {"Conv": (2, 3, 6, 7), "MatMul": (3, 11), "Gemm": (3, 11)}


def products(kind, rng, *, relu=False, least=0, bias="int32", factor=1.0, several=True, quantizes=True, axis=None):
    """Return the nodes and constants of a product of dequantized bytes whose result y is quantized and dequantized."""
    shape, inner = ((5, 3, 3, 2), 0) if kind == "Conv" else ((11, 5), 1)
    attributes = {"pads": [1, 0, 1, 1], "strides": [1, 2]} if kind == "Conv" else {}
    scales = rng.uniform(0.01, 0.02, 5 if several else ()).astype(np.float32)
    weights = [("w", small(rng, shape, np.int8)), ("ws", scales), ("wz", np.zeros(scales.shape, np.int8))]
    constants = [*weights, *pair(rng, "x"), ("ys", np.float32(0.3)), ("yz", np.uint8(least))]
    of_x = dict(constants)["xs"]
    nodes = [
        ("DequantizeLinear", ["x", "xs", "xz"], ["a"]),
        ("DequantizeLinear", ["w", "ws", "wz"], ["b"], {"axis": inner if axis is None else axis}),
    ]
    read = ["a", "b"]
    if bias == "int32":
        constants += [("c", small(rng, (5,), np.int8).astype(np.int32) * 9), ("cs", np.float32(factor) * of_x * scales)]
        nodes.append(("DequantizeLinear", ["c", "cs"], ["bias"], {"axis": 0}))
        read.append("bias")
    elif bias == "float32":
        constants.append(("bias", rng.standard_normal(5, np.float32)))
        read.append("bias")
    nodes.append((kind, read, ["product"], attributes))
    last = "product"
    if relu:
        nodes.append(("Relu", [last], ["positive"]))
        last = "positive"
    if quantizes:
        nodes.append(("QuantizeLinear", [last, "ys", "yz"], ["y"]))
    else:
        nodes.append(("Identity", [last], ["y"]))
    return nodes, constants


def model(kind, rng, more=(), **options):
    """Return a model of a product, and its input. more: values that are results, too."""
    nodes, constants = products(kind, rng, **options)
    is_quantized = nodes[-1][0] == "QuantizeLinear"
    outputs = [("y", None, TensorProto.UINT8 if is_quantized else TensorProto.FLOAT), *((name, None) for name in more)]
    file = model_of(nodes, [("x", SHAPES[kind], TensorProto.UINT8)], outputs, constants, opset=17)
    return file, small(rng, SHAPES[kind])


def multiplies_bytes(file, x):
    """Return whether the model's product is of bytes."""
    text = str(ep.onnx.load(file).explain(x=x))
    return "_integer" in text or "converts int8 to int32" in text


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("Conv", {}),
        ("Conv", {"relu": True}),
        ("Conv", {"bias": None, "least": 7}),
        ("MatMul", {"bias": None}),
        ("MatMul", {"bias": None, "relu": True}),
        ("MatMul", {"bias": None, "quantizes": False}),
        ("Gemm", {"relu": True}),
        ("Gemm", {"bias": None}),
        ("Gemm", {"quantizes": False}),
    ],
    ids=str,
)
def test_products_of_bytes(rng, kind, options, several):
    file, x = model(kind, rng, several=several, **options)
    assert multiplies_bytes(file, x)
    check(file, {"x": x})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("Conv", {"quantizes": False}),
        ("Conv", {"relu": True, "least": 7}),
        ("Conv", {"bias": "float32"}),
        ("Conv", {"factor": 1.01}),
        ("Conv", {"more": ["product"]}),
        ("Conv", {"relu": True, "more": ["positive"]}),
        ("Gemm", {"bias": "float32"}),
        ("Gemm", {"factor": 0.99}),
    ],
    ids=str,
)
def test_products_that_stay_as_they_are(rng, kind, options):
    file, x = model(kind, rng, **options)
    assert not multiplies_bytes(file, x)
    check(file, {"x": x})


def test_dequantized_numbers_that_others_read(rng):
    file, x = model("MatMul", rng, ["a"], bias=None)
    assert multiplies_bytes(file, x)
    check(file, {"x": x})
