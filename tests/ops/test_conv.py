"""ep.ops.conv, compared with sums of windows computed one by one in float64, and with SciPy if possible."""

import itertools

import numpy as np
import pytest
from ml_dtypes import bfloat16

import ep
import ep.ops
from ep.common.arrays.on_device import arrays_on
from ep.include.data_type import DataType
from ep.include.primitive import BroadcastMatmulFactory
from ep.ops.declare.operator import operator_named
from ep.ops.kernels import KernelContext
from ep.ops.kernels.registry import choose
from ep.testing.keys import needs_one_of

pytestmark = needs_one_of(BroadcastMatmulFactory)


def reference(x, w, bias=None, strides=None, pads=None, dilations=None, groups=1):
    """Return the convolution by its definition: for each window, the sum of its part of padded x times w."""
    num_axes = x.ndim - 2
    strides, dilations, pads = strides or (1,) * num_axes, dilations or (1,) * num_axes, pads or (0,) * 2 * num_axes
    x, w = np.asarray(x, np.float64), np.asarray(w, np.float64)
    x = np.pad(x, [(0, 0), (0, 0), *((pads[axis], pads[axis + num_axes]) for axis in range(num_axes))])
    counts = []
    for size, kernel, stride, dilation in zip(x.shape[2:], w.shape[2:], strides, dilations, strict=True):
        last = size - dilation * (kernel - 1) - 1
        counts.append(last // stride + 1 if last >= 0 else 0)
    result = np.zeros((x.shape[0], w.shape[0], *counts))
    of_group, filters = w.shape[1], w.shape[0] // groups
    for group, place in itertools.product(range(groups), itertools.product(*map(range, counts))):
        taken = x[:, group * of_group : (group + 1) * of_group]
        for axis, at in enumerate(place):
            rows = at * strides[axis] + dilations[axis] * np.arange(w.shape[axis + 2])
            taken = taken.take(rows, axis + 2)
        mine = slice(group * filters, (group + 1) * filters)
        axes = [*range(1, x.ndim)]
        result[(slice(None), mine, *place)] = np.tensordot(taken, w[mine], (axes, axes))
    return result if bias is None else result + np.asarray(bias, np.float64).reshape(-1, *(1,) * num_axes)


TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5, np.float16: 2e-3, bfloat16: 2e-2}


def near(found, expected, dtype):
    assert found.dtype == dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        np.asarray(found, np.float64), expected, rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype]
    )


def drawn(rng, dtype):
    """Return a random call of conv: sizes, groups and attributes."""
    groups, num_axes = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    batch, channels, filters = (int(rng.integers(1, 4)) for _ in range(3))
    channels += groups > 1 and channels == 1  # depthwise ones, whose kernels differ by the size of windows, are below
    strides, dilations, kernel = (tuple(map(int, rng.integers(1, 4, num_axes))) for _ in range(3))
    pads = tuple(map(int, rng.integers(0, 4, 2 * num_axes)))
    sizes = [int(far * (places - 1) + rng.integers(1, 7)) for far, places in zip(dilations, kernel, strict=True)]
    x = rng.normal(size=(batch, groups * channels, *sizes)).astype(dtype)
    w = rng.normal(size=(groups * filters, channels, *kernel)).astype(dtype)
    bias = rng.normal(size=groups * filters).astype(dtype) if rng.random() < 0.5 else None
    return x, w, bias, {"strides": strides, "pads": pads, "dilations": dilations, "groups": groups}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: np.dtype(dtype).name)
def test_against_the_definition(operate, dtype, rng):
    for _ in range(25):
        x, w, bias, given = drawn(rng, dtype)
        near(operate("conv", x, w, bias, **given), reference(x, w, bias, **given), dtype)


@pytest.mark.parametrize("shape", [(9,), (8, 7), (5, 6, 4)], ids=str)
def test_against_scipy(shape, rng):
    scipy_signal = pytest.importorskip("scipy.signal")
    x, w = rng.normal(size=shape), rng.normal(size=(3, 2, 3)[: len(shape)])
    near(ep.ops.conv(x[None, None], w[None, None])[0, 0], scipy_signal.correlate(x, w, "valid"), np.float64)


@pytest.mark.parametrize(
    ("x", "w", "given"),
    [
        ((2, 3, 9), (4, 3, 1), {}),
        ((2, 3, 9, 5), (4, 3, 1, 1), {"strides": (2, 3)}),
        ((2, 3, 4, 5), (4, 3, 1, 1), {"pads": (1, 0, 2, 3)}),
        ((2, 3, 12), (4, 3, 2), {"strides": (5,)}),
        ((1, 6, 5, 5), (6, 1, 3, 3), {"pads": (1, 1, 1, 1), "groups": 6}),
        ((1, 6, 5, 5), (12, 1, 3, 3), {"pads": (1, 1, 1, 1), "groups": 6}),
        ((0, 3, 5), (4, 3, 3), {}),
        ((2, 3, 5), (0, 3, 3), {}),
        ((2, 0, 5), (4, 0, 3), {"pads": (1, 1)}),
        ((2, 3, 0), (4, 3, 3), {"pads": (2, 3)}),
        ((2, 3, 0, 4), (4, 3, 3, 1), {}),
        ((2, 3, 4), (4, 3, 3), {"dilations": (2,)}),
        ((1, 1, 1), (1, 1, 1), {"pads": (7, 9), "strides": (11,)}),
        ((1, 64, 3, 300), (128, 64, 3, 3), {"pads": (1, 1, 1, 1)}),
    ],
    ids=str,
)
@pytest.mark.parametrize("with_bias", [False, True])
def test_shapes_that_are_odd(operate, x, w, given, with_bias, rng):
    x, w = rng.normal(size=x), rng.normal(size=w)
    bias = rng.normal(size=len(w)) if with_bias else None
    near(operate("conv", x, w, bias, **given), reference(x, w, bias, **given), np.float64)


DEPTHWISE = [
    ((2, 3, 9), (3, 1, 3), {"pads": (1, 2)}),
    ((2, 5, 6, 7), (10, 1, 3, 3), {"pads": (1, 0, 2, 1)}),
    ((1, 2, 5, 80), (2, 1, 3, 3), {"dilations": (2, 1), "pads": (2, 0, 2, 0)}),
    ((2, 3, 9, 8), (3, 1, 3, 3), {"strides": (2, 3)}),
    ((1, 3, 4, 5, 6), (3, 1, 1, 3, 3), {"pads": (0, 1, 1, 0, 1, 1)}),
    ((1, 3, 4, 5, 6), (6, 1, 3, 3, 1), {"strides": (2, 1, 1)}),
]
"""Windows of 3 or 9 places, as each number of places has its own kernel; long and short rows."""


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: np.dtype(dtype).name)
def test_each_channel_has_filters_of_its_own(operate, dtype, rng):
    for of_x, of_w, given in DEPTHWISE:
        x, w = rng.normal(size=of_x).astype(dtype), rng.normal(size=of_w).astype(dtype)
        near(operate("conv", x, w, groups=of_x[1], **given), reference(x, w, groups=of_x[1], **given), dtype)


def test_windows_of_more_places_than_a_launch_adds_up(operate, rng):
    x, w = rng.normal(size=(1, 2, 5, 9)), rng.normal(size=(2, 1, 4, 7))
    near(operate("conv", x, w, groups=2, pads=3), reference(x, w, groups=2, pads=(3,) * 4), np.float64)


def test_many_small_products_are_rounded_once(operate):
    """1 plus 27 products of a quarter of a unit: each product would be lost if they were added in float16."""
    x, w = np.full((1, 2, 4, 7), 2.0**-12, np.float16), np.ones((2, 1, 4, 7), np.float16)
    x[:, :, 0, 0] = 1
    assert operate("conv", x, w, groups=2).ravel().tolist() == [1 + 7 * 2.0**-10] * 2


@pytest.mark.parametrize(
    ("of_w", "groups", "chosen"),
    [
        ((6, 1, 3), 6, "DepthwiseKernel"),
        ((12, 1, 3), 6, "DepthwiseKernel"),
        ((30, 1, 3), 6, "ConvKernel"),
        ((6, 2, 3), 3, "ConvKernel"),
        ((6, 6, 3), 1, "ConvKernel"),
    ],
)
def test_the_kernel_that_is_chosen(of_w, groups, chosen):
    declared, x, w = operator_named("conv"), np.zeros((1, 6, 5)), np.zeros(of_w)
    types = [DataType.kDouble] * 2
    subject = declared.subject(ep.DeviceType.kCPU, types, declared.resolve(x, w, groups=groups))
    assert choose("conv", subject).name == chosen


def test_a_device_without_views_computes_products(monkeypatch, rng):
    declared, x, w = operator_named("conv"), rng.normal(size=(2, 3, 6)), rng.normal(size=(3, 1, 3))
    monkeypatch.setattr(type(arrays_on(ep.DeviceType.kCPU)), "has_views", False)
    subject = declared.subject(ep.DeviceType.kCPU, [DataType.kDouble] * 2, declared.resolve(x, w, groups=3))
    found = choose("conv", subject)
    assert found.name == "ConvKernel"
    out = np.empty((2, 3, 4))
    found.make(subject).compute(
        KernelContext(arrays_on(ep.DeviceType.kCPU), [x, w], [out], declared.resolve(x, w, groups=3))
    )
    near(out, reference(x, w, groups=3), np.float64)


def test_one_integer_stands_for_all_axes(operate, rng):
    x, w = rng.normal(size=(2, 4, 9, 8)), rng.normal(size=(4, 2, 2, 3))
    found = operate("conv", x, w, strides=2, pads=1, dilations=2, groups=2)
    near(found, reference(x, w, None, (2, 2), (1,) * 4, (2, 2), 2), np.float64)


@pytest.mark.parametrize("with_bias", [False, True])
def test_out_and_views(with_bias, rng):
    x, w = rng.normal(size=(5, 3, 2, 4)).transpose(2, 1, 3, 0), rng.normal(size=(4, 3, 6))[..., ::3]
    bias = rng.normal(size=8)[::2] if with_bias else None
    x, out = x[..., 0], np.full((2, 4, 3), np.nan)
    assert ep.ops.conv(x, w, bias, out=out) is out
    near(out, reference(x, w, bias), np.float64)
    near(ep.ops.conv(x.tolist(), w.tolist(), bias), reference(x, w, bias), np.float64)


X, W = np.ones((2, 4, 9), np.float32), np.ones((6, 4, 3), np.float32)


@pytest.mark.parametrize(
    ("arguments", "given", "error", "message"),
    [
        ((X, W.astype(np.float64)), {}, TypeError, "x has dtype float32, w has float64"),
        ((X, W, np.ones(6)), {}, TypeError, "bias has dtype float64, x has float32"),
        ((X, W, X[0, 0]), {}, ValueError, r"bias has shape \(9,\); w of shape \(6, 4, 3\) needs \(6,\)"),
        ((X[0], W[0]), {}, ValueError, r"x has shape \(4, 9\); it must have a batch axis"),
        ((X[..., None, None, None], W), {}, ValueError, r"x has shape \(2, 4, 9, 1, 1, 1\)"),
        ((X, W[0]), {}, ValueError, r"w has shape \(4, 3\); it must have 3 axes"),
        ((X, W[..., :0]), {}, ValueError, r"w has shape \(6, 4, 0\); a window must have one place"),
        ((X, W[:, :3]), {}, ValueError, r"x of shape \(2, 4, 9\) has 4 channels.*must have 3"),
        ((X, W[:, :1]), {"groups": 4}, ValueError, r"6 rows, which 4 groups do not divide"),
        ((X, W), {"groups": 0}, ValueError, "groups is 0; it must be 1 at least"),
        ((X, W), {"groups": 1.5}, TypeError, "groups"),
        ((X, W), {"strides": 0}, ValueError, r"strides\[0\] is 0; it must be 1 at least"),
        ((X, W), {"strides": (1, 1)}, ValueError, "strides has 2 values; it must be one integer, or 1 of them"),
        ((X, W), {"pads": (1,)}, ValueError, "pads has 1 values; it must be one integer, or 2 of them"),
        ((X, W), {"pads": (1, -1)}, ValueError, r"pads\[1\] is -1; it must be 0 at least"),
        ((X, W), {"dilations": (0,)}, ValueError, r"dilations\[0\] is 0; it must be 1 at least"),
        ((X, W), {"dilations": "2"}, TypeError, "dilations"),
    ],
)
def test_wrong_arguments(arguments, given, error, message):
    out = np.full((2, 6, 7), 7, np.float32)
    with pytest.raises(error, match=message):
        ep.ops.conv(*arguments, **given, out=out)
    assert (out == 7).all()


@pytest.mark.parametrize("with_bias", [False, True])
def test_an_out_that_does_not_fit(with_bias):
    bias = np.ones(6, np.float32) if with_bias else None
    with pytest.raises(ValueError, match="out"):
        ep.ops.conv(X, W, bias, out=np.empty((2, 6, 8), np.float32))


def test_an_out_that_is_read():
    x = np.ones((1, 6, 9), np.float32)
    with pytest.raises(ValueError, match="out is the memory of x"):
        ep.ops.conv(x, np.ones((6, 6, 1), np.float32), out=x)
    assert (x == 1).all()


@pytest.mark.parametrize("of_w", [(3, 1, 3), (3, 1, 27)], ids=str)
def test_an_out_over_operands_of_sums(of_w, rng):
    """Both are read before out is written."""
    memory = rng.normal(size=300)
    x, w = memory[:90].reshape(1, 3, 30), memory[100 : 100 + 3 * of_w[2]].reshape(of_w)
    expected = reference(x, w, groups=3)
    for begin in (101, 0):
        used = memory.copy()
        x, w = used[:90].reshape(x.shape), used[100 : 100 + w.size].reshape(of_w)
        out = used[begin : begin + expected.size].reshape(expected.shape)
        near(ep.ops.conv(x, w, groups=3, out=out), expected, np.float64)


def test_a_kernel_of_integers_is_missing():
    with pytest.raises(ep.UnsupportedPrimitiveError, match="dtype int32"):
        ep.ops.conv(X.astype(np.int32), W.astype(np.int32))


def test_fused_with_what_follows(rng):
    x, w, bias = (rng.normal(size=shape) for shape in ((2, 4, 9), (6, 4, 3), (6,)))

    @ep.fuse
    def layer(x, w, bias):
        return ep.ops.relu(ep.ops.conv(ep.ops.mul(x, 2.0), w, bias, pads=1))

    near(layer(x, w, bias), np.maximum(reference(2 * x, w, bias, pads=(1, 1)), 0), np.float64)


def test_gradients_of_a_function_with_a_bias(rng):
    x, w, bias = (rng.normal(size=shape) for shape in ((2, 4, 9), (6, 4, 3), (6,)))

    def loss(x, w, bias):
        return ep.ops.sum(ep.ops.conv(x, w, bias, strides=2))

    of_x, of_w, of_bias = ep.grad(loss, by=(0, 1, 2))(x, w, bias)
    np.testing.assert_allclose(of_bias, np.full(6, 2 * 4))
    for gradient, one in ((of_x, x), (of_w, w)):  # the loss is linear in each
        direction = rng.normal(size=one.shape)
        moved = [other + direction if other is one else other for other in (x, w, bias)]
        np.testing.assert_allclose(np.vdot(gradient, direction), loss(*moved) - loss(x, w, bias), rtol=1e-9)


DY = np.ones((2, 6, 7), np.float32)


@pytest.mark.parametrize(
    ("name", "arguments", "given", "error", "message"),
    [
        (
            "x",
            (DY, W[..., :2], (2, 4, 9)),
            {},
            ValueError,
            r"dy has shape \(2, 6, 7\); the result of conv has \(2, 6, 8\)",
        ),
        ("x", (DY, W.astype(np.float64), (2, 4, 9)), {}, TypeError, "dy has dtype float32, w has float64"),
        ("x", (DY, W, (2, 4, -9)), {}, ValueError, r"shape\[2\] is -9; it must not be negative"),
        ("x", (DY, W, (2, 5, 9)), {}, ValueError, "x of shape .* has 5 channels"),
        ("x", (DY, W, (2, 4, 9)), {"groups": 0}, ValueError, "groups is 0"),
        ("w", (DY, X, (6, 4, 2)), {}, ValueError, r"dy has shape \(2, 6, 7\); the result of conv has \(2, 6, 8\)"),
        ("w", (DY, X.astype(np.float16), (6, 4, 3)), {}, TypeError, "dy has dtype float32, x has float16"),
        ("w", (DY, X, (6, 4, 3.5)), {}, TypeError, "shape"),
        ("w", (DY, X, (6, 4)), {}, ValueError, "w has shape .*; it must have 3 axes"),
    ],
)
def test_wrong_arguments_of_gradients(name, arguments, given, error, message):
    with pytest.raises(error, match=message):
        getattr(ep.ops, f"conv_{name}_grad")(*arguments, **given)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: np.dtype(dtype).name)
def test_gradients_are_transposes(operate, dtype, rng):
    """conv is linear in x and in w: <dy, conv(x, w)> is <gradient by x, x>, and <gradient by w, w>."""
    for _ in range(12):
        x, w, _, given = drawn(rng, dtype)
        y = reference(x, w, **given)
        dy = rng.normal(size=y.shape).astype(dtype)
        of_x, of_w = operate("conv_x_grad", dy, w, x.shape, **given), operate("conv_w_grad", dy, x, w.shape, **given)
        size = np.linalg.norm(y) * np.linalg.norm(dy.astype(np.float64))
        for gradient, one in ((of_x, x), (of_w, w)):
            assert (gradient.dtype, gradient.shape) == (one.dtype, one.shape)
            found = np.vdot(gradient.astype(np.float64), one.astype(np.float64))
            assert abs(found - np.vdot(dy.astype(np.float64), y)) <= TOLERANCE[dtype] * max(size, 1)


@pytest.mark.parametrize(
    ("counts", "kernel", "groups"),
    [((5,), (3,), 1), ((4, 7), (2, 2), 1), ((3, 5), (1, 3), 2), ((2, 3, 5), (2, 1, 2), 3)],
)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=lambda dtype: np.dtype(dtype).name)
def test_the_gradient_of_windows_side_by_side(operate, dtype, rng, counts, kernel, groups):
    """Each element of x is in one window: its gradient is a sum over filters, at the place in the window."""
    filters, channels = 2 * groups, 3
    dy = rng.normal(size=(2, filters, *counts)).astype(dtype)
    w = rng.normal(size=(filters, channels, *kernel)).astype(dtype)
    sizes = tuple(count * places for count, places in zip(counts, kernel, strict=True))
    found = operate("conv_x_grad", dy, w, (2, groups * channels, *sizes), strides=kernel, groups=groups)
    expected = np.zeros(found.shape)
    for place in itertools.product(*map(range, sizes)):
        at = tuple(one // places for one, places in zip(place, kernel, strict=True))
        within = tuple(one % places for one, places in zip(place, kernel, strict=True))
        for channel in range(groups * channels):
            group, own = divmod(channel, channels)
            some = slice(2 * group, 2 * group + 2)
            of_w = w[(some, own, *within)].astype(np.float64)
            expected[(slice(None), channel, *place)] = dy[(slice(None), some, *at)].astype(np.float64) @ of_w
    near(found, expected, dtype)


def test_it_is_declared_as_others_are():
    declared = operator_named("conv")
    assert declared.input_names == ("x", "w")
    attributes = {"strides": (2, 1), "pads": (1, 0, 0, 2), "dilations": (1, 3), "groups": 2}
    assert declared.shape([(5, 4, 8, 9), (6, 2, 3, 2)], attributes) == [(5, 6, 4, 8)]
