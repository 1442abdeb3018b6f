"""Operators where plain formulas fail: ranges, rounding, fractions, and numbers that select nothing."""

import math
import re

import numpy as np
import pytest
from onnx import helper, numpy_helper

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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lp_normalization_of_a_wide_range(device, dtype):
    """Neither the squares nor the sums must be in the range of the type."""
    most, least = np.finfo(dtype).max, np.finfo(dtype).tiny
    rows = np.array([[most / 2, most], [least, 2 * least], [0, 0], [3, -4], [np.inf, 1], [np.nan, 1]], dtype)
    root = math.sqrt(0.2)
    ends = {1: [[0, 0], [3 / 7, -4 / 7]], 2: [[0, 0], [0.6, -0.8]]}
    for p, row in ((1, [1 / 3, 2 / 3]), (2, [root, 2 * root])):
        expected = np.array([row, row, *ends[p], [np.nan, 0], [np.nan, np.nan]])
        y = computed("LpNormalization", rows, device=device.type, p=p, axis=1)
        np.testing.assert_allclose(y, expected.astype(dtype), rtol=4 * np.finfo(dtype).eps)
        y = computed("LpNormalization", np.zeros((0, 3), dtype), device=device.type, p=p, axis=0)
        assert y.shape == (0, 3)


@pytest.mark.parametrize("count", [3, 7, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_equal_numbers_have_no_deviation(device, dtype, count):
    """A rounded mean is not the number itself."""
    x = np.array([0.1, 1e4 / 3, -1.1, 7e-5, 1 / 7])[:, None].repeat(count, 1).astype(dtype)
    zero = np.zeros_like(x)
    np.testing.assert_array_equal(
        computed("MeanVarianceNormalization", x, device=device.type, axes=[1]), zero, strict=True
    )
    y = computed("LayerNormalization", x, zero[0] + 1, device=device.type, epsilon=0.0)
    assert np.isnan(y).all()  # 0 over 0
    y = computed("LayerNormalization", x, zero[0] + 1, device=device.type, epsilon=1e-30)
    np.testing.assert_array_equal(y, zero, strict=True)


def test_near_numbers_that_are_large(device):
    """Differences are as accurate as the numbers; the means are, too."""
    x = np.array([[1000000, 1000000.06, 1000000.19], [-3e6, -3e6 + 0.25, -3e6 + 0.5], [3e38, -3e38, 0]], np.float32)
    wide, one = x.astype(np.float64), np.ones(3, np.float32)
    mean = wide.mean(1, keepdims=True)
    rest = wide - mean
    inverse = 1 / np.sqrt((rest**2).mean(1, keepdims=True) + 1e-5)
    given = {"device": device.type, "results": 3}
    y, means, inverses = computed("LayerNormalization", x[:2], one, **given)
    np.testing.assert_allclose(y, (rest * inverse)[:2], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(means, mean[:2], rtol=1e-7)
    np.testing.assert_allclose(inverses, inverse[:2], rtol=1e-6)
    y, means, _ = computed("LayerNormalization", x[2:], one, **given)
    np.testing.assert_array_equal([*means[0], *y[0]], np.zeros(4, np.float32))  # the variance is infinite
    for name, shape, scales in (("InstanceNormalization", (1, 2, 3), 2), ("GroupNormalization", (1, 2, 3), 2)):
        more = {"num_groups": 2} if name == "GroupNormalization" else {}
        scale, opset = np.ones(scales, np.float32), 21 if more else 18
        y = computed(name, x[:2].reshape(shape), scale, 0 * scale, device=device.type, opset=opset, **more)
        np.testing.assert_allclose(y.reshape(2, 3), (rest * inverse)[:2], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_labels_of_no_class(device, name):
    """Negative labels do not count from the end, also in repeated runs, unless they are the ignored one."""
    x = np.array([[[0.5, 1], [2, 3], [4, 5]]], np.float32)
    given = {"device": device.type, "reduction": "sum"}
    argument = "target" if name.startswith("Neg") else "labels"
    argument = argument if device.type.tag == "cpu" else "indices"  # a later call raises it, which knows no node
    for weight in (None, np.ones(3, np.float32)):
        for label in (-1, -3, -4, 3, 2**31):
            with pytest.raises(
                IndexError, match=rf"{argument}(\.flat\[1\]|\[0, 1\]) is {label}; the axis holds 0 ... 2"
            ):
                computed(name, x, np.array([[2, label]]), weight, **given)
        found = computed(name, x, np.array([[2, -1]]), weight, ignore_index=-1, **given)
        assert found == (-4 if name.startswith("Neg") else pytest.approx(np.log(np.exp(x[0, :, 0]).sum()) - 4, 1e-6))


@pytest.mark.parametrize(
    ("words", "x", "cos", "sin", "ids", "given"),
    [
        ("sin_cache has shape (10, 1)", (1, 2, 3, 4), (10, 2), (10, 1), [[0, 1, 2]], {}),
        ("cos_cache has shape (10, 1)", (1, 2, 3, 4), (10, 1), (10, 1), [[0, 1, 2]], {}),
        ("sin_cache has shape (9, 2)", (1, 2, 3, 4), (10, 2), (9, 2), [[0, 1, 2]], {}),
        ("cos_cache has shape (1, 3, 2)", (2, 2, 3, 4), (1, 3, 2), (1, 3, 2), None, {}),
        ("cos_cache has shape (10, 2)", (1, 2, 3, 4), (10, 2), (10, 2), None, {}),
        ("cos_cache has shape (1, 3, 2)", (1, 2, 3, 4), (1, 3, 2), (10, 2), [[0, 1, 2]], {}),
        ("position_ids has shape (1, 3)", (2, 2, 3, 4), (10, 2), (10, 2), [[0, 1, 2]], {}),
        ("] is -1; the axis holds 0 ... 9", (1, 2, 3, 4), (10, 2), (10, 2), [[0, -1, 2]], {}),
        ("] is 10; the axis holds 0 ... 9", (1, 2, 3, 4), (10, 2), (10, 2), [[0, 1, 10]], {}),
        ("num_heads is 0", (1, 3, 8), (1, 3, 2), (1, 3, 2), None, {}),
        ("num_heads is 3", (1, 3, 8), (1, 3, 2), (1, 3, 2), None, {"num_heads": 3}),
        ("rotary_embedding_dim is 3", (1, 2, 3, 4), (1, 3, 1), (1, 3, 1), None, {"rotary_embedding_dim": 3}),
        ("rotary_embedding_dim is 6", (1, 2, 3, 4), (1, 3, 3), (1, 3, 3), None, {"rotary_embedding_dim": 6}),
        ("rotary_embedding_dim is 0", (1, 2, 3, 5), (1, 3, 2), (1, 3, 2), None, {}),
        ("X has shape (3, 4)", (3, 4), (1, 3, 2), (1, 3, 2), None, {}),
    ],
)
def test_caches_and_positions_that_do_not_fit(device, words, x, cos, sin, ids, given):
    arrays = [np.ones(shape, np.float32) for shape in (x, cos, sin)]
    ids = None if ids is None else np.array(ids)
    words = (
        re.escape(words) if words[0] != "]" else f"{'position_ids' if device.type.tag == 'cpu' else 'indices'}.*{words}"
    )
    with pytest.raises((ValueError, IndexError), match=words):
        computed("RotaryEmbedding", *arrays, ids, opset=23, device=device.type, **given)


@pytest.mark.parametrize(
    ("dtype", "filters", "x", "numbers", "epsilon", "expected"),
    [
        ("float16", [300], 0.01, (1, 0, 0, 0), 1e-5, [948.7]),
        ("float32", [1e30], 1e-22, (1, 0, 0, 1e-30), 0, [1e23]),
        ("float32", [1, 0], 2, (1, 3, 0, 0), 0, [math.inf, math.nan]),
        ("float32", [1e-30], 1e30, (1e-15, 0, 0, 1), 0, [1e-15]),
        ("float16", [1e-3, 0], 3e4, (1e-3, 0, 0, 1), 0, [0.03, 0]),
        ("float16", [1e-3], 0.5, (1, 0, 4, 1e-9), 0, [-math.inf]),
        ("float64", [1e-200], 1e300, (1e-150, 0, 0, 1), 0, [1e-50]),
        ("float32", [2, 3], 5, (0, 7, 1, 4), 0, [7, 7]),
        ("float32", [2, 3], 5, (3, 7, 1, 4), 0, [20.5, 28]),
    ],
)
def test_normalisation_after_a_convolution(device, dtype, filters, x, numbers, epsilon, expected):
    """It is right where the product of the filters and the factors is beyond the range of the type."""
    w = np.array(filters, dtype).reshape(-1, 1, 1)
    given = {"w": w} | {name: np.full(len(w), one, dtype) for name, one in zip("sbmv", numbers, strict=True)}
    kind = helper.np_dtype_to_tensor_dtype(w.dtype)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("BatchNormalization", ["c", *"sbmv"], ["y"], epsilon=float(epsilon)),
    ]
    infos = [[helper.make_tensor_value_info(name, kind, [1, None, 1])] for name in "xy"]
    tensors = [numpy_helper.from_array(one, name) for name, one in given.items()]
    graph = helper.make_graph(nodes, "two nodes", *infos, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=10)
    (y,) = ep.onnx.load(model, device.type).run(None, {"x": np.full((1, 1, 1), x, dtype)})
    np.testing.assert_allclose(copy_to_host(y).reshape(-1).astype(np.float64), expected, rtol=2e-3)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resized_integers(device, dtype, mode):
    """Sums are computed in float64, and elements that are repeated are not changed at all."""
    most = int(np.iinfo(dtype).max)
    column = np.array([[most], [most - 1], [most // 2 + 1], [7]], dtype)
    y = computed("Resize", column, None, np.array([1, 5], np.float32), device=device.type, mode=mode)
    np.testing.assert_array_equal(y, column.repeat(5, 1), strict=True)
    large = 2 ** (28 if np.dtype(dtype).itemsize == 4 else 40)
    row = np.array([large + 1, large + 4097, large + 8193, large + 12289], dtype)
    given = {"device": device.type, "mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    y = computed("Resize", row, None, np.array([2], np.float32), **given)
    expected = [large + 1 + 2048 * k for k in range(7)] + [large + 12289]
    np.testing.assert_array_equal(y, np.array(expected, dtype), strict=True)
    y = computed("Resize", row, None, np.array([0.5], np.float32), **given)
    np.testing.assert_array_equal(y, row[::2], strict=True)


def test_norms_of_a_wide_range(device):
    """The squares need not be in the range of the type."""
    most, least, dtype = 3e30, 3e-30, np.float32
    rows = np.array([[most, most / 3 * 4], [least, least / 3 * 4], [0, 0], [np.inf, 1], [np.nan, 1], [-3, 4]], dtype)
    expected = np.array([most / 3 * 5, least / 3 * 5, 0, np.inf, np.nan, 5], dtype)
    y = computed("ReduceL2", rows, np.array([1]), device=device.type, keepdims=0)
    np.testing.assert_allclose(y, expected, rtol=4 * np.finfo(dtype).eps)
    assert computed("ReduceL2", rows[:, :0], np.array([1]), device=device.type).tolist() == [[0]] * 6
    assert computed("ReduceL2", rows[0], np.array([0]), device=device.type, keepdims=0).shape == ()
