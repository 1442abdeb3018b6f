"""Operators where plain formulas fail: ranges, rounding, fractions, and numbers that select nothing."""

import math

import numpy as np
import pytest
from onnx import helper

import ep.onnx
from ep.ops import copy_to_host


def computed(name, *inputs, opset=18, device="cpu", results=1, known=(), **attributes):
    """Return the results of a node; the first one if it has one. known: the numbers of inputs that are constants."""
    given = {f"i{k}": one for k, one in enumerate(inputs) if one is not None}
    kinds = {key: helper.np_dtype_to_tensor_dtype(one.dtype) for key, one in given.items()}
    names = ["" if one is None else f"i{k}" for k, one in enumerate(inputs)]
    outputs = [helper.make_tensor_value_info(f"y{k}", kinds["i0"], None) for k in range(results)]
    node = helper.make_node(name, names, [one.name for one in outputs], name="the_node", **attributes)
    values = [helper.make_tensor_value_info(key, kinds[key], [None] * one.ndim) for key, one in given.items()]
    graph = helper.make_graph([node], "one node", values, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    loaded = ep.onnx.load(model, device)
    for _ in range(2):  # a recorded run, and a repeated one
        found = [copy_to_host(one) for one in loaded.run(None, given)]
    return found[0] if results == 1 else found


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "int32", "int64"])
def test_shrink_of_negative_lambd(device, dtype):
    """The text compares with -lambd first."""
    x = np.array([-3, -1, 0, 1, 3], dtype)
    for lambd, expected in ((-2.0, [-2, 0, 1, 2, 2]), (-math.inf, x + 1), (math.inf, 0 * x), (math.nan, 0 * x)):
        y = computed("Shrink", x, device=device.type, lambd=lambd, bias=1.0)
        np.testing.assert_array_equal(y, np.array(expected, dtype), strict=True)
    y = computed("Shrink", np.array([0, 1, 2, 3], np.uint8), lambd=-2.5, bias=1.0)
    assert y.tolist() == [1, 2, 3, 2]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_gemm_of_integers_and_fractions(device, dtype):
    """The sum is without the part behind the point, not its numbers; whole numbers are modulo the range."""
    a, b, c = (np.array(one, dtype) for one in ([[2, 3]], [[2, 1], [3, 5]], [1, 5]))
    for given, expected in (
        ({"alpha": 0.5}, [7, 13]),
        ({"alpha": 0.5, "beta": 1.5}, [8, 16]),
        ({"beta": 0.5}, [13, 19]),
        ({"alpha": 3.0}, [40, 56]),
    ):
        y = computed("Gemm", a, b, c, device=device.type, **given)
        np.testing.assert_array_equal(y, np.array([expected], dtype), strict=True)
    bits = 8 * np.dtype(dtype).itemsize
    wide = [(13 * 3 * 10**9 + 1) % 2**bits, (17 * 3 * 10**9 + 5) % 2**bits]
    expected = np.array([wide], np.uint64).astype(dtype)
    np.testing.assert_array_equal(computed("Gemm", a, b, c, alpha=3e9), expected, strict=True)
    for name in ("alpha", "beta"):
        with pytest.raises(ValueError, match=f"{name} is inf; it must be finite"):
            computed("Gemm", a, b, c, **{name: math.inf})
