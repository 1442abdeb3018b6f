"""permute, transpose and pad."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import ep.ops
from ep.include.primitive import ConstantPadFactory, PermuteFactory
from ep.testing.keys import needs_one_of

needs_permute = needs_one_of(PermuteFactory)
needs_pad = needs_one_of(ConstantPadFactory)


def numbers(shape, dtype=np.int32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@needs_permute
@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))), ids=str)
def test_every_order_of_three_axes(operate, axes):
    x = numbers((2, 3, 5))
    for given in (axes, [axis - 3 for axis in axes], iter(map(np.int16, axes))):
        result = operate("permute", x, given)
        assert np.array_equal(result, np.transpose(x, axes))


@needs_permute
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, ml_dtypes.bfloat16, np.float64, np.complex128])
def test_types(operate, dtype):
    x = numbers((3, 5), dtype)
    result = operate("transpose", x)
    assert result.dtype == dtype
    assert np.array_equal(result, x.T)


@needs_permute
def test_few_and_many_axes(operate):
    for shape, axes in (
        ((), ()),
        ((7,), (0,)),
        ((3, 0, 2), (2, 0, 1)),
        ((2, 1, 3, 1, 2, 1, 5, 1, 2), (6, 7, 8, 0, 1, 2, 3, 4, 5)),
        ((2,) * 9, (8, 0, 1, 2, 3, 4, 5, 6, 7)),
    ):
        x = numbers(shape)
        result = operate("permute", x, axes)
        assert result.shape == tuple(shape[axis] for axis in axes)
        assert np.array_equal(result, np.transpose(x, axes))
    assert operate("transpose", numbers((2, 3, 4)), (0, 2, 1)).shape == (2, 4, 3)


@needs_permute
def test_permute_refuses(operate):
    for axes, kind, message in (
        ((0,), ValueError, r"axes are \(0,\); each of the 2 axes of x must be there once"),
        ((0, -2), ValueError, r"axes are \(0, 0\); each of the 2 axes"),
        ((0, 2), ValueError, r"axes\[1\] is 2; it must be -2 ... 1"),
        ((0, 1.0), TypeError, r"axes\[1\] must be an integer"),
        (1, TypeError, "axes must be a sequence of integers, not 1"),
    ):
        with pytest.raises(kind, match=message):
            operate("permute", numbers((2, 3)), axes)
    with pytest.raises(ValueError, match=r"needs 9 axes where neighbours that stay together are one; at most 8"):
        operate("transpose", numbers((2,) * 9))


@needs_permute
def test_permute_to_out(on_device):
    x, out = on_device(numbers((2, 3))), on_device(np.zeros((3, 2), np.int32))
    assert ep.ops.transpose(x, out=out) is out
    assert ep.ops.copy_to_host(out).tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(ValueError, match="out is the memory of x"):
        ep.ops.permute(out, (1, 0), out=out.reshape(2, 3))


WIDTHS = [
    ((3, 5), 2),
    ((3, 5), (1, 2)),
    ((3, 5), ((0, 2), (4, 0))),
    ((4,), [[1, 3]]),
    ((), 3),
    ((0, 3), ((1, 1), (0, 2))),
    ((2, 1, 1, 3, 1, 1, 2, 1, 2), ((0, 0),) * 3 + ((1, 2),) + ((0, 0),) * 5),
]


@needs_pad
@pytest.mark.parametrize(("shape", "width"), WIDTHS, ids=str)
def test_pad(operate, shape, width):
    x = numbers(shape, np.float32)
    result, expected = operate("pad", x, width, constant_values=-1.5), np.pad(x, width, constant_values=-1.5)
    assert (result.dtype, result.shape) == (np.float32, expected.shape)
    assert np.array_equal(result, expected)


@needs_pad
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, ml_dtypes.bfloat16, np.complex64])
def test_pads_types(operate, dtype):
    x = numbers((3, 5), dtype)
    result = operate("pad", x, ((1, 0), (2, 3)), constant_values=1)
    assert result.dtype == dtype
    assert np.array_equal(result, np.pad(x, ((1, 0), (2, 3)), constant_values=dtype(1)))


@needs_pad
def test_negative_widths_crop(operate):
    x = numbers((4, 5))
    assert np.array_equal(operate("pad", x, -1), x[1:-1, 1:-1])
    expected = np.pad(x[1:], ((0, 2), (3, 0)), constant_values=9)[:, :-2]
    assert np.array_equal(operate("pad", x, ((-1, 2), (3, -2)), constant_values=9), expected)


@needs_pad
@pytest.mark.parametrize("width", [(), [], 2, (1, 2)])
def test_pad_of_an_array_without_axes(operate, width):
    result = operate("pad", np.array(7, np.int16), width)
    assert (result.dtype, result.shape, result.item()) == (np.int16, (), 7)


@needs_pad
def test_pad_refuses(operate):
    x = numbers((2, 3), np.int8)
    for width, options, kind, message in (
        ((1, 2, 3), {}, ValueError, r"pad_width is \(1, 2, 3\); it must be an integer, a pair of them, or a pair for"),
        (1.5, {}, TypeError, "pad_width must be an integer, not 1.5"),
        (-2, {}, ValueError, r"pad_width -2 leaves -2 elements of x, of shape \(2, 3\), at axis 0"),
        (1, {"constant_values": 300}, ValueError, "constant_values is 300, which int8 cannot hold"),
        (1, {"constant_values": [1]}, TypeError, r"constant_values must be a number, not \[1\]"),
    ):
        with pytest.raises(kind, match=message):
            operate("pad", x, width, **options)


@needs_pad
def test_pad_to_out(on_device):
    out = on_device(np.zeros((4,), np.int16))
    assert ep.ops.pad(on_device(np.array([7, 8], np.int16)), 1, constant_values=3, out=out) is out
    assert ep.ops.copy_to_host(out).tolist() == [3, 7, 8, 3]
