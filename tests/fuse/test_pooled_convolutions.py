"""Kernels of convolutions that reduce the windows of their values, band by band."""

import numpy as np
import pytest

import ep
from ep.cpu.kernels import pooled_product
from ep.expressions import rules
from ep.include.data_type import DataType
from ep.include.primitive import ExpressionFactory, NewPrimitive, RequirePrimitive
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.structure import Convolution, MatrixProduct, MaxPool, Step, Structure
from tests.fuse.test_rows import check
from tests.ops import window_references

ops = ep.ops
CASES = [
    # the shapes of x and w, attributes of the convolution, then those of max_pool
    ((1, 1, 90, 61), (32, 1, 3, 3), {"pads": 1}, {"kernel": 2, "strides": 2}),  # rows of c are written first
    ((2, 3, 61, 90), (17, 3, 5, 3), {"pads": 1}, {"kernel": 3, "strides": 2, "pads": 1}),  # bands overlap
    ((1, 8, 67, 83), (70, 4, 3, 3), {"pads": 1, "groups": 2}, {"kernel": (2, 3), "strides": (3, 1)}),  # rows in none
    ((2, 5, 66, 71), (33, 5, 1, 1), {}, {"kernel": 3, "strides": (1, 2), "dilations": 2}),  # windows are x itself
    ((1, 4, 6007), (9, 4, 5), {"pads": (2, 3), "strides": 2}, {"kernel": 4, "strides": 3, "pads": (1, 2)}),
    ((1, 2, 13, 23, 29), (11, 2, 2, 3, 2), {}, {"kernel": (3, 1, 2), "strides": (2, 1, 2), "pads": (1, 0, 1, 0, 0, 0)}),
    ((1, 1, 41, 43), (5, 1, 3, 3), {}, {"kernel": 7, "pads": 9}),  # windows without elements
    ((1, 2, 3, 1009), (13, 2, 2, 9), {}, {"kernel": 2, "strides": 4, "ceil_mode": True}),
    ((2, 3, 43, 51), (1, 3, 3, 3), {"pads": 1}, {"kernel": 3, "strides": 2}),  # one row
    ((1, 6, 47, 31), (6, 2, 3, 3), {"groups": 3}, {"kernel": (1, 4), "strides": (1, 4)}),
]
REAL = DataType.kFloat


@pytest.fixture(params=["few", "many"])
def bands(monkeypatch, request):
    """Kernels for convolutions of any size, with as many bands as their sizes need, or as there may be."""
    monkeypatch.setattr(rules, "_LEAST_POOLED", 1)
    if request.param == "many":
        monkeypatch.setattr(pooled_product, "second_cache", lambda: 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=lambda case: "x".join(map(str, case[0])))
def test_the_bits_of_the_operators_one_by_one(case, dtype, bands, rng, one_by_one):
    of_x, of_w, given, pool = case
    x, w, bias = (rng.normal(size=shape).astype(dtype) for shape in (of_x, of_w, (of_w[0],)))
    x.flat[::97], x.flat[5::1013] = 0, np.nan
    of_rows = rng.normal(size=ops.conv(x, w, **given).shape[2:]).astype(dtype)

    def layer(x, w, bias, rest):
        return ops.max_pool(ops.leaky_relu(ops.conv(x, w, bias, **given), 0.1) + rest, **pool)

    def alone(x, w):
        return ops.max_pool(ops.conv(x, w, **given), **pool) * 2

    for rest in (of_rows, bias[-1], of_rows[..., :1]):  # the last one: a number for each row is no row of columns
        assert "product kernel of conv add leaky_relu add max_pool" in ep.fuse(layer).explain(x, w, bias, rest)
        check(ep.fuse(layer)(x, w, bias, rest), one_by_one(layer, x, w, bias, rest))
    assert "product kernel of conv max_pool" in ep.fuse(alone).explain(x, w)
    check(ep.fuse(alone)(x, w), one_by_one(alone, x, w))


def test_against_the_definition(bands, rng):
    x, w = rng.integers(-9, 9, (2, 3, 31, 37)).astype(np.float32), rng.integers(-9, 9, (19, 3, 3, 4)).astype(np.float32)
    pool = {"kernel": (3, 2), "strides": (2, 3), "pads": (1, 0, 1, 1), "dilations": (1, 2)}
    windows = window_references.unfold(x, (3, 4), (1, 1), (0, 0, 0, 0), (1, 1))
    expected = window_references.max_pool(np.einsum("ncijhw,mcij->nmhw", windows, w), **pool)
    found = ep.fuse(lambda x, w: ops.max_pool(ops.conv(x, w), **pool))
    assert "conv max_pool" in found.explain(x, w)
    np.testing.assert_array_equal(found(x, w), expected)


def test_nothing_outside_is_written(bands, rng):
    x, w = rng.normal(size=(2, 3, 23, 29)).astype(np.float32), rng.normal(size=(9, 3, 3, 3)).astype(np.float32)
    fused = ep.fuse(lambda x, w: ops.max_pool(ops.relu(ops.conv(x, w)), 3, strides=2))
    around = np.full((4, 9, 10, 13), 7, np.float32)
    fused(x, w, out=around[1:3])
    np.testing.assert_array_equal(around[1:3], fused(x, w))
    assert (around[0] == 7).all()
    assert (around[3] == 7).all()


def test_pools_with_launches_of_their_own(monkeypatch, rng):
    x, w = rng.normal(size=(1, 4, 20, 21)).astype(np.float32), rng.normal(size=(4, 4, 3, 3)).astype(np.float32)

    def explained(function, x=x, w=w):
        return ep.fuse(function).explain(x, w)

    def plain(x, w):
        return ops.max_pool(ops.conv(x, w), 2)

    assert f"reads {4 * 18 * 19} elements" in explained(plain)
    monkeypatch.setattr(rules, "_LEAST_POOLED", 1)
    of_halves = explained(plain, x.astype(np.float16), w.astype(np.float16))
    assert "reduces no such windows" in of_halves
    assert "reduces no such windows" in explained(lambda x, w: ops.max_pool(ops.conv(x, w), 2, strides=5))
    for function in (
        lambda x, w: [y := ops.relu(ops.conv(x, w)), ops.max_pool(y, 2)],  # another result
        lambda x, w: [y := ops.conv(x, w), ops.max_pool(ops.relu(y), 2)],
        lambda x, w: ops.max_pool(y := ops.relu(ops.conv(x, w)), 2)[..., :3, :3] + y[..., :3, :3],  # another reader
        lambda x, w: ops.max_pool(ops.conv(x, w[:, :1], groups=4), 2),  # each channel has its own filters
        lambda x, w: ops.max_pool(ops.relu(x), 2),
    ):
        said = explained(
            lambda x, w, function=function: tuple(found) if isinstance(found := function(x, w), list) else found
        )
        assert "operator of max_pool" in said
        assert "it does not read a convolution that nothing else reads" in said


def test_structures_without_a_kernel():
    convolution, pool = Convolution((1, 1), (0, 0, 0, 0), (1, 1), 1), MaxPool((2, 2), (2, 2), (0, 0, 0, 0), (1, 1))

    def made(product, op, data_type):
        steps = Step(product, (0, 1), data_type), Step(op, (2,), data_type)
        return NewPrimitive(ExpressionFactory, ep.DeviceType.kCPU, Structure((data_type,) * 2, (), steps, (3,)))

    assert made(convolution, pool, REAL) is not None
    assert made(convolution, pool, DataType.kBFloat16) is None
    assert made(convolution, pool._replace(strides=(2, 5)), REAL) is None
    assert made(MatrixProduct(False, False), pool, REAL) is None


def test_shapes_that_do_not_fit():
    steps = (
        Step(Convolution((1, 1), (0, 0, 0, 0), (1, 1), 1), (0, 1), REAL),
        Step(BinaryOp.kAdd, (3, 2), REAL),
        Step(MaxPool((2, 1), (2, 1), (0, 0, 2, 0), (1, 1)), (4,), REAL),
    )
    launch = RequirePrimitive(ExpressionFactory, ep.DeviceType.kCPU, Structure((REAL,) * 3, (), steps, (5,))).Launch
    stream = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0).CreateStream()
    right = [np.ones(shape, np.float32) for shape in ((1, 6, 2, 3), (1, 2, 5, 5), (6, 2, 3, 3), (3, 1))]
    right[3][2] = 5
    launch(stream, right[:1], right[1:])
    np.testing.assert_array_equal(right[0], np.broadcast_to([[19], [23]], (1, 6, 2, 3)))
    for k, shape, message in (
        (0, (1, 6, 3, 3), r"results\[0\] has shape \(1, 6, 3, 3\); it must be \(1, 6, 2, 3\)"),
        (3, (2, 1), r"sources\[2\] has shape \(2, 1\), which does not broadcast to \(1, 6, 3, 3\)"),
        (2, (6, 2, 6, 3), r"results\[0\] has windows of a convolution without elements, of shape \(1, 6, 0, 3\)"),
    ):
        arrays = [*right]
        arrays[k] = np.ones(shape, np.float32)
        if k == 2:
            arrays[0], arrays[3] = np.ones((1, 6, 1, 3), np.float32), np.ones((1,), np.float32)
        with pytest.raises(ValueError, match=message):
            launch(stream, arrays[:1], arrays[1:])
    with pytest.raises(ValueError, match=r"overlaps.*of which windows are read"):
        launch(stream, right[:1], [*right[1:3], right[0].reshape(-1)[:3].reshape(3, 1)])
    strided = np.ones((1, 6, 2, 6), np.float32)[..., ::2]
    with pytest.raises(ValueError, match=r"results\[0\] has strides .*; it must be C-contiguous"):
        launch(stream, [strided], right[1:])
