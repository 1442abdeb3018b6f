"""Product kernels of convolutions: maps of their values, computed block by block."""

import numpy as np
import pytest

import ep
from ep.include.data_type import DataType
from ep.include.primitive import ExpressionFactory, RequirePrimitive
from ep.include.primitive.binary_op import BinaryOp
from ep.include.primitive.structure import Convolution, Step, Structure
from tests.fuse.test_rows import check

ops = ep.ops
BFLOAT16 = ep.DataType.kBFloat16.dtype
CASES = [
    # the shapes of x and w, then attributes
    ((2, 6, 19, 33), (8, 3, 3, 3), {"pads": 1, "groups": 2}),
    ((1, 3, 41, 50), (17, 3, 7, 7), {"strides": 2, "pads": 3}),
    ((3, 5, 9, 11), (7, 5, 1, 1), {}),  # its windows are the elements of x
    ((1, 4, 301), (9, 4, 5), {"pads": (2, 3), "dilations": 2}),
    ((1, 2, 6, 7, 9), (3, 2, 2, 3, 2), {"pads": (1, 0, 1, 0, 1, 0)}),
    ((1, 3, 90, 300), (65, 3, 3, 3), {"pads": 1}),  # blocks of rows and of columns
    ((2, 3, 23, 37), (6, 1, 3, 5), {"pads": 1, "groups": 3, "strides": (1, 2)}),  # each channel has its own filters
    ((1, 2, 11, 1031), (2, 1, 3, 5), {"pads": 1, "groups": 2}),  # the same, in parts along rows and columns
    ((2, 6, 19, 33), (2, 3, 3, 5), {"pads": 1, "groups": 2}),  # one filter for each array
    ((1, 3, 170, 190), (1, 3, 3, 7), {"strides": (1, 2)}),
    ((1, 5, 90, 300), (1, 5, 1, 1), {}),
    ((1, 2, 13, 29), (1, 2, 3, 3), {"pads": 1, "strides": (5, 1)}),
    ((1, 0, 9, 9), (4, 0, 3, 3), {"pads": 1}),
    ((1, 0, 9, 9), (1, 0, 3, 3), {"pads": 1}),
    ((0, 3, 9, 9), (4, 3, 3, 3), {}),
]


def draw(rng, of_x, of_w, given, dtype):
    x, w, bias = (rng.normal(size=shape).astype(dtype) for shape in (of_x, of_w, (of_w[0],)))
    rest = rng.normal(size=ops.conv(x, w, **given).shape).astype(dtype)
    return x, w, bias, rest


@pytest.mark.parametrize("dtype", [np.float32, np.float64, BFLOAT16], ids=lambda one: np.dtype(one).name)
def test_the_bits_of_the_operators_one_by_one(dtype, rng, one_by_one):
    for of_x, of_w, given in CASES:
        arrays = draw(rng, of_x, of_w, given, dtype)

        def layer(x, w, bias, rest, given=given):
            return ops.leaky_relu(ops.conv(x, w, bias, **given), 0.1) + rest

        fused = ep.fuse(layer, round_each=True)
        assert "product kernel of conv add leaky_relu add" in fused.explain(*arrays)
        check(fused(*arrays), one_by_one(layer, *arrays, round_each=True))


def test_operands_that_change_along_some_spatial_axes(rng, one_by_one):
    """Blocks of some columns have no rows with constant distances for such operands: they have all columns."""
    x, w = rng.normal(size=(1, 8, 120, 130)).astype(np.float32), rng.normal(size=(70, 8, 3, 3)).astype(np.float32)
    for shape in ((120, 1), (130,), (1, 120, 130), (70, 1, 130)):
        other = rng.normal(size=shape).astype(np.float32)

        def layer(x, w, other):
            product = ops.conv(x, w, pads=1)
            return product, ops.relu(product * other)

        assert "product kernel of conv mul relu" in ep.fuse(layer).explain(x, w, other)
        check(ep.fuse(layer)(x, w, other), one_by_one(layer, x, w, other))


@pytest.mark.parametrize(
    ("sizes", "kernel", "filters"), [((40, 50), (3, 3), 1), ((37, 53), (13, 11), 2), ((5, 7, 41), (2, 3, 3), 1)]
)
@pytest.mark.parametrize("keeps_sums", [True, False])
def test_operands_of_depthwise_convolutions_that_change_along_some_spatial_axes(
    sizes, kernel, filters, keeps_sums, rng, one_by_one
):
    """Their maps are computed by whole planes."""
    x = rng.normal(size=(2, 3, *sizes)).astype(np.float32)
    w = rng.normal(size=(3 * filters, 1, *kernel)).astype(np.float32)
    x[0, 1], w[0] = 0, -abs(w[0])  # sums of -0.0
    pads = [size // 2 for size in kernel] + [(size - 1) // 2 for size in kernel]

    def layer(x, w, other):
        product = ops.conv(x, w, pads=pads, groups=3)
        result = ops.relu(product * other)
        return (product, result) if keeps_sums else result

    ones = [1] * len(sizes[1:])
    for shape in ((sizes[0], *ones), sizes[-1:], (1, *sizes), (3 * filters, *ones, sizes[-1])):
        other = rng.normal(size=shape).astype(np.float32)
        assert "product kernel of conv mul relu" in ep.fuse(layer).explain(x, w, other)
        check(ep.fuse(layer)(x, w, other), one_by_one(layer, x, w, other))


@pytest.mark.parametrize(
    ("of_w", "given"), [((4, 4, 3, 3), {"pads": 1}), ((4, 1, 3, 3), {"pads": 1, "groups": 4})], ids=["all", "depthwise"]
)
def test_results_in_the_place_of_operands(rng, of_w, given):
    of_x = (1, 4, 30, 31)
    x, w, bias, rest = draw(rng, of_x, of_w, given, np.float32)
    fused = ep.fuse(lambda x, w, bias, rest: ops.relu(ops.conv(x, w, bias, **given)) + rest)
    expected = fused(x, w, bias, rest)
    for k in (3, 0):  # x is read by other windows until the end
        arrays = [one.copy() for one in (x, w, bias, rest)]
        fused(*arrays, out=arrays[k])
        np.testing.assert_array_equal(arrays[k], expected)


def test_convolutions_with_kernels_of_their_own(rng):
    for of_x, of_w, given, why in (
        ((5, 3, 4, 5), (4, 3, 1, 1), {}, "few windows"),
        ((1, 3, 20, 210), (1, 3, 3, 3), {"strides": (1, 5)}, "one filter, and windows that are far apart"),
    ):
        arrays = draw(rng, of_x, of_w, given, np.float32)
        said = ep.fuse(lambda x, w, bias, rest, g=given: ops.conv(x, w, bias, **g) * rest).explain(*arrays)
        assert "operator of conv" in said
        assert why in said


def test_shapes_that_do_not_fit():
    real = DataType.kFloat
    op = Convolution((1, 1), (0, 0, 0, 0), (1, 1), 2)
    structure = Structure((real,) * 3, (), (Step(op, (0, 1), real), Step(BinaryOp.kAdd, (3, 2), real)), (4,))
    launch = RequirePrimitive(ExpressionFactory, ep.DeviceType.kCPU, structure).Launch
    stream = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU, 0).CreateStream()
    right = [np.ones(shape, np.float32) for shape in ((1, 6, 3, 3), (1, 4, 5, 5), (6, 2, 3, 3), (1,))]
    launch(stream, right[:1], right[1:])
    np.testing.assert_array_equal(right[0], 19)
    for k, shape, message in (
        (1, (4, 5, 5), r"sources\[0\] has shape \(4, 5, 5\); it must have 4 axes"),
        (1, (1, 6, 5, 5), r"sources\[1\] has shape .* it does not fit sources\[0\] of shape"),
        (2, (5, 2, 3, 3), r"sources\[1\] has shape"),
        (0, (1, 6, 3, 4), r"results\[0\] has shape \(1, 6, 3, 4\); the convolution has \(1, 6, 3, 3\)"),
        (3, (2,), r"sources\[2\] has shape \(2,\), which does not broadcast"),
    ):
        arrays = [*right]
        arrays[k] = np.ones(shape, np.float32)
        with pytest.raises(ValueError, match=message):
            launch(stream, arrays[:1], arrays[1:])
    with pytest.raises(ValueError, match="overlaps"):
        launch(stream, [right[1].reshape(-1)[:54].reshape(1, 6, 3, 3)], right[1:])
